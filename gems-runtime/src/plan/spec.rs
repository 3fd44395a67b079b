//! A plan in two halves: what changes the kernel's code, and what does not.
//!
//! **Invariant:** [`KernelSpec`] holds no extent, no stride and no address. Calls that differ only in those share a
//! kernel. [`LaunchArgs`] holds all of them.

use crate::dtype::DType;
use crate::op::OpDef;
use crate::plan::{Program, policy};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Everything about a call that changes the code of its kernel.
#[derive(Clone, Debug)]
pub struct KernelSpec {
    /// What it computes for each element.
    pub body: Body,
    /// The parameters, in order.
    pub inputs: SmallVec<[OperandSpec; 8]>,
    /// The outputs, in order.
    pub outputs: SmallVec<[OutputSpec; 2]>,
    /// How elements are found and shared among threads.
    pub class: Class,
    /// Whether no output shares memory with an input, so that loads may be cached and reordered.
    pub disjoint: bool,
}

/// What a kernel computes for each element.
#[derive(Clone, Debug)]
pub enum Body {
    /// One op.
    Op {
        /// The op.
        op: &'static OpDef,
        /// What the type parameter of its function is.
        compute: DType,
    },
    /// Several ops, fused.
    Program(Arc<Program>),
}

impl Body {
    /// Name of the op or program.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Body::Op { op, .. } => op.name,
            Body::Program(program) => &program.name,
        }
    }

    /// Whether it calls several mathematical functions, so that a kernel's time is more than that of its bytes.
    #[must_use]
    pub fn is_heavy(&self) -> bool {
        let calls = match self {
            Body::Op { op, .. } => op.device.library_calls(),
            Body::Program(program) => program.nodes.iter().map(|node| node.op.device.library_calls()).sum(),
        };
        calls > 1
    }

    /// Names of the inputs, in order.
    #[must_use]
    pub fn input_names(&self) -> Vec<&str> {
        match self {
            Body::Op { op, .. } => op.params.iter().map(|param| param.name).collect(),
            Body::Program(program) => program.inputs.iter().map(|input| input.name.as_str()).collect(),
        }
    }

    /// Names of the outputs, in order.
    #[must_use]
    pub fn output_names(&self) -> Vec<&str> {
        match self {
            Body::Op { op, .. } => op.outputs.iter().map(|output| output.name).collect(),
            Body::Program(program) => program.outputs.iter().map(|output| output.name.as_str()).collect(),
        }
    }

    fn key(&self) -> impl Ord + Hash + '_ {
        match self {
            Body::Op { op, compute } => (Some((std::ptr::from_ref(*op), *compute)), None),
            Body::Program(program) => (None, Some(&**program)),
        }
    }
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperandSpec {
    /// How its value is reached.
    pub access: Access,
    /// The dtype in memory, or of the value passed.
    pub stored: DType,
    /// The common dtype that it is converted to first.
    pub joined: DType,
    /// The dtype that the function takes.
    pub lane: DType,
}

/// How the value of an operand is reached.
///
/// "Aligned" speaks of whole vectors: every vector that a kernel takes of the operand begins at a multiple of its bytes
/// (of 16, if it is longer).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// Passed by value with the launch.
    Value,
    /// One element in memory for the whole call.
    Single,
    /// Step 1 along the innermost axis.
    Contiguous {
        /// Every vector is aligned.
        aligned: bool,
    },
    /// Step −1 along the innermost axis.
    Reversed {
        /// Every vector is aligned.
        aligned: bool,
    },
    /// The same element all along the innermost axis.
    Repeated,
    /// By strides along each axis.
    Strided,
    /// Step 1 or −1 along the axis next to the innermost one; turned in shared memory.
    Tiled {
        /// The step is −1.
        reversed: bool,
        /// Every vector is aligned.
        aligned: bool,
    },
}

/// An output of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutputSpec {
    /// Contiguous or strided.
    pub access: Access,
    /// The dtype that the function gives.
    pub lane: DType,
    /// The result dtype that it is rounded to first.
    pub result: DType,
    /// The dtype in memory.
    pub stored: DType,
}

/// Kernel class: how elements are found and shared among threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// One flat index; every buffer is contiguous or a single element.
    Flat {
        /// Elements of one vector.
        width: u32,
        /// Vectors of one thread.
        vectors: u32,
        /// Threads of one block.
        threads: u32,
        /// Whether the first output begins between two aligned vectors, so that the first vector is a part.
        peeled: bool,
    },
    /// Rows along the innermost axis, taken vector by vector; any strides.
    Rows {
        /// Axes after merging.
        rank: u32,
        /// Width of indices and offsets.
        index: IndexWidth,
        /// Elements of one vector; 1 for elements one by one.
        width: u32,
        /// Vectors of one thread.
        vectors: u32,
        /// Threads of one block.
        threads: u32,
        /// Whether a vector may reach beyond its row.
        ragged: bool,
    },
    /// Tiles of the two innermost axes: some operand is turned in shared memory.
    Tiled {
        /// Axes after merging.
        rank: u32,
        /// Width of indices and offsets.
        index: IndexWidth,
        /// Elements of one vector.
        width: u32,
        /// Elements of a tile along the innermost axis, a power of two.
        across: u32,
        /// Elements of a tile along the axis next to it, a power of two.
        down: u32,
        /// Threads of one block.
        threads: u32,
    },
}

/// Width of element indices and offsets in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IndexWidth {
    /// Every index and offset fits 31 bits.
    I32,
    /// Some index or offset needs more.
    I64,
}

impl Class {
    /// What one block takes: elements of the flat index, vectors of rows, or one tile.
    #[must_use]
    pub const fn units_per_block(self) -> u32 {
        match self {
            Class::Flat { width, vectors, threads, .. } => width * vectors * threads,
            Class::Rows { vectors, threads, .. } => vectors * threads,
            Class::Tiled { .. } => 1,
        }
    }

    /// Elements that one block takes.
    #[must_use]
    pub const fn elements_per_block(self) -> u32 {
        match self {
            Class::Flat { width, vectors, threads, .. } | Class::Rows { width, vectors, threads, .. } => {
                width * vectors * threads
            }
            Class::Tiled { across, down, .. } => across * down,
        }
    }

    /// Threads of one block.
    #[must_use]
    pub const fn threads(self) -> u32 {
        match self {
            Class::Flat { threads, .. } | Class::Rows { threads, .. } | Class::Tiled { threads, .. } => {
                threads
            }
        }
    }

    /// Elements of one vector.
    #[must_use]
    pub const fn width(self) -> u32 {
        match self {
            Class::Flat { width, .. } | Class::Rows { width, .. } | Class::Tiled { width, .. } => width,
        }
    }

    /// Width of indices and offsets.
    #[must_use]
    pub const fn index(self) -> IndexWidth {
        match self {
            Class::Flat { .. } => IndexWidth::I64,
            Class::Rows { index, .. } | Class::Tiled { index, .. } => index,
        }
    }
}

/// Everything about a call that does not change the code of its kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchArgs {
    /// Number of elements of each output.
    pub numel: usize,
    /// Extents after merging, outermost first, in elements.
    pub extents: SmallVec<[usize; 6]>,
    /// Strides of the inputs along those axes, in elements; empty for values and single elements.
    pub input_strides: SmallVec<[SmallVec<[isize; 6]>; 8]>,
    /// Strides of the outputs along those axes, in elements.
    pub output_strides: SmallVec<[SmallVec<[isize; 6]>; 2]>,
    /// The grid of units that the kernel's index runs over: vectors of a row or tiles instead of elements along the
    /// axes that are cut; `extents` where nothing is cut.
    pub units: SmallVec<[usize; 6]>,
    /// Elements from the aligned vector in which the first output begins to its first element.
    pub lead: u32,
    /// Blocks of the launch.
    pub blocks: u64,
}

/// How a call runs: the kernel and its arguments.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What to compile.
    pub spec: KernelSpec,
    /// What to launch it with.
    pub args: LaunchArgs,
}

impl Access {
    /// Whether it has strides: memory for each element, or for each row.
    #[must_use]
    pub const fn has_strides(self) -> bool {
        !matches!(self, Access::Value | Access::Single)
    }

    const fn has_vectors(self) -> bool {
        matches!(self, Access::Contiguous { .. } | Access::Reversed { .. } | Access::Tiled { .. })
    }
}

impl KernelSpec {
    /// Blocks from which on a call counts as streaming, so that lines that it loads leave L2 last; `None` for a kernel
    /// that loads no vectors.
    #[must_use]
    pub fn streaming_blocks(&self) -> Option<u64> {
        let is_flat = matches!(self.class, Class::Flat { .. });
        let loads_vectors = self.inputs.iter().any(|input| input.access.has_vectors());
        if !loads_vectors || (self.class.width() == 1 && !is_flat) {
            return None;
        }
        let inputs = self.inputs.iter().map(|input| (input.access, input.stored));
        let outputs = self.outputs.iter().map(|output| (output.access, output.stored));
        let in_memory = inputs.chain(outputs).filter(|(access, _)| access.has_strides());
        let bytes: u64 = in_memory.map(|(_, dtype)| dtype.size() as u64).sum();
        Some(policy::STREAMING_BYTES.div_ceil(bytes * u64::from(self.class.elements_per_block())))
    }

    fn key(&self) -> impl Ord + Hash + '_ {
        (self.body.key(), &self.inputs, &self.outputs, self.class, self.disjoint)
    }
}

impl PartialEq for KernelSpec {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for KernelSpec {}

impl PartialOrd for KernelSpec {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KernelSpec {
    /// An order for maps; it has no other meaning.
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Hash for KernelSpec {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl fmt::Display for KernelSpec {
    /// The kernel's name: op, dtypes in memory (inputs, then outputs), class; readable in a profile.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.body.name())?;
        for input in &self.inputs {
            write!(f, "_{}", input.stored)?;
        }
        for output in &self.outputs {
            write!(f, "_{}", output.stored)?;
        }
        let bits = |index| if index == IndexWidth::I32 { "i32" } else { "i64" };
        match self.class {
            Class::Flat { width, .. } => write!(f, "_v{width}"),
            Class::Rows { rank, index, width, .. } => write!(f, "_r{rank}_v{width}_{}", bits(index)),
            Class::Tiled { rank, index, across, down, .. } => {
                write!(f, "_r{rank}_t{down}x{across}_{}", bits(index))
            }
        }
    }
}
