//! Parameters of a kernel, in order: the one list that both its text and its launch follow.

use crate::dtype::DType;
use crate::plan::{Access, Class, IndexWidth, KernelSpec, LaunchArgs};
use smallvec::SmallVec;

/// One parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The n-th input, by value, in its lane's dtype.
    Value(usize),
    /// The n-th input, a pointer.
    Input(usize),
    /// The n-th output, a pointer.
    Output(usize),
    /// Extents, then the strides of every strided input and output, in elements, all of the index width.
    Axes,
    /// Number of elements: u64, or u32 in a strided kernel with 32-bit indices.
    Numel,
}

/// The parameters of the kernel of `spec`.
pub fn parameters(spec: &KernelSpec) -> impl Iterator<Item = Parameter> + '_ {
    let inputs = spec.inputs.iter().enumerate().map(|(i, input)| match input.access {
        Access::Value => Parameter::Value(i),
        Access::Single | Access::Contiguous { .. } | Access::Strided => Parameter::Input(i),
    });
    let outputs = (0..spec.outputs.len()).map(Parameter::Output);
    let axes = matches!(spec.class, Class::Strided { .. }).then_some(Parameter::Axes);
    inputs.chain(outputs).chain(axes).chain([Parameter::Numel])
}

/// Arguments of one launch as bytes, each at its natural alignment.
#[derive(Clone, Debug, Default)]
pub struct Packed {
    /// The bytes of all arguments, in words so that they are aligned.
    words: SmallVec<[u64; 64]>,
    /// The word at which each argument begins.
    starts: SmallVec<[usize; 20]>,
}

impl Packed {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.starts.push(self.words.len());
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.words.push(u64::from_le_bytes(word));
        }
    }

    /// The address of each argument, for `cuLaunchKernel`.
    pub fn pointers(&mut self) -> SmallVec<[*mut std::ffi::c_void; 20]> {
        let words = &mut self.words;
        self.starts.iter().map(|&start| std::ptr::from_mut(&mut words[start]).cast()).collect()
    }
}

/// Packs the arguments of a launch.
///
/// `values[i]` are the bytes of input `i` where it is passed by value; `inputs` and `outputs` are byte addresses of
/// the first elements.
#[must_use]
pub fn pack(
    spec: &KernelSpec,
    args: &LaunchArgs,
    values: &[[u8; 16]],
    inputs: &[u64],
    outputs: &[u64],
) -> Packed {
    let mut packed = Packed::default();
    for parameter in parameters(spec) {
        match parameter {
            Parameter::Value(i) => packed.push(&values[i][..spec.inputs[i].lane.size()]),
            Parameter::Input(i) => packed.push(&inputs[i].to_le_bytes()),
            Parameter::Output(i) => packed.push(&outputs[i].to_le_bytes()),
            Parameter::Axes => packed.push(&axes(spec, args)),
            Parameter::Numel => match spec.class {
                Class::Strided { index: IndexWidth::I32, .. } => packed.push(&low_word(args.numel as u64)),
                Class::Strided { .. } | Class::Flat { .. } => packed.push(&(args.numel as u64).to_le_bytes()),
            },
        }
    }
    packed
}

/// The bytes of the `Axes` structure.
fn axes(spec: &KernelSpec, args: &LaunchArgs) -> SmallVec<[u8; 128]> {
    let extents = args.extents.iter().map(|&extent| extent as u64);
    let strides = strided(spec, args).flatten().map(|&stride| stride as i64 as u64);
    let words = extents.chain(strides);
    match spec.class {
        Class::Strided { index: IndexWidth::I32, .. } => words.flat_map(low_word).collect(),
        Class::Strided { .. } | Class::Flat { .. } => words.flat_map(u64::to_le_bytes).collect(),
    }
}

pub(super) fn low_word(word: u64) -> [u8; 4] {
    let bytes = word.to_le_bytes();
    [bytes[0], bytes[1], bytes[2], bytes[3]]
}

/// The strides of the strided operands, inputs first.
fn strided<'a>(
    spec: &'a KernelSpec,
    args: &'a LaunchArgs,
) -> impl Iterator<Item = &'a SmallVec<[isize; 6]>> + 'a {
    let inputs = spec.inputs.iter().map(|input| input.access).zip(&args.input_strides);
    let outputs = spec.outputs.iter().map(|output| output.access).zip(&args.output_strides);
    inputs.chain(outputs).filter(|(access, _)| *access == Access::Strided).map(|(_, strides)| strides)
}

/// The type in which a kernel reads and writes a dtype: bool is a byte of any value in memory.
pub(super) fn memory_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "u8",
        other => other.cuda_name(),
    }
}
