//! The kernels that snapshots, NVRTC and the host run all cover: arity × dtype × layout class × rank.

use gems_ops::prelude::*;
use gems_runtime::buffer::Meta;
use gems_runtime::layout::Layout;
use gems_runtime::op::{OpDef, Role};
use gems_runtime::plan::{Argument, Plan, preview};

/// One kernel: an op with operands of certain dtypes and layouts.
#[derive(Debug)]
pub struct Case {
    /// Name of the snapshot.
    pub name: String,
    /// The op.
    pub op: &'static OpDef,
    /// One an argument that may be a buffer.
    pub operands: Vec<Meta>,
    /// Value of the arguments that are numbers.
    pub number: Scalar,
}

impl Case {
    /// The plan of the call.
    ///
    /// # Errors
    /// The case is no valid call.
    pub fn plan(&self) -> Result<Plan> {
        let mut buffers = self.operands.iter();
        let arguments: Vec<Argument<'_>> = self
            .op
            .params
            .iter()
            .filter_map(|param| match param.role {
                Role::Tensor => buffers.next().map(Argument::Buffer),
                Role::Number => Some(Argument::Number(self.number)),
            })
            .collect();
        Ok(preview(self.op, &arguments)?.1)
    }
}

/// A layout of a view of contiguous memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Row-major without gaps.
    Contiguous,
    /// The last two axes swapped.
    Transposed,
    /// Every second element of the last axis.
    Stepped,
    /// Reversed along the last axis.
    Flipped,
    /// One row for all.
    Row,
    /// One column for all.
    Column,
    /// One element for all.
    Element,
    /// One element of storage beyond the start: not aligned to a vector.
    Shifted,
    /// Reversed along the axis that is fastest, then the last two axes swapped.
    TurnedFlipped,
    /// Rows of a wider buffer, with three elements between them.
    Cropped,
}

impl View {
    /// The view with this shape.
    ///
    /// # Errors
    /// The view does not fit the rank.
    pub fn layout(self, shape: &[usize]) -> Result<Layout> {
        let (outer, last) = shape.split_at(shape.len().saturating_sub(1));
        let with_last = |last: usize| [outer, &[last]].concat();
        match self {
            View::Contiguous => Layout::contiguous(shape),
            View::Transposed => {
                let mut swapped = shape.to_vec();
                let rank = swapped.len();
                swapped.swap(rank - 1, rank - 2);
                Layout::contiguous(&swapped)?.transpose(-1, -2)
            }
            View::Stepped => Layout::contiguous(&with_last(last[0] * 2))?.slice(-1, 0, isize::MAX, 2),
            View::Flipped => Layout::contiguous(shape)?.flip(&[-1]),
            View::Row => Layout::contiguous(last),
            View::Column => Layout::contiguous(&with_last(1)),
            View::Element => Layout::contiguous(&vec![1; shape.len()]),
            View::TurnedFlipped => {
                let mut swapped = shape.to_vec();
                let rank = swapped.len();
                swapped.swap(rank - 1, rank - 2);
                Layout::contiguous(&swapped)?.flip(&[-1])?.transpose(-1, -2)
            }
            View::Cropped => Layout::contiguous(&with_last(last[0] + 3))?.narrow(-1, 1, last[0]),
            View::Shifted => {
                let strides = Layout::contiguous(shape)?;
                Layout::new(shape, strides.strides(), 1)
            }
        }
    }
}

fn case(op: &'static OpDef, shape: &[usize], operands: &[(DType, View)]) -> Case {
    let mut name = op.name.to_owned();
    for (dtype, view) in operands {
        name.push_str(&format!("_{dtype}_{}", format!("{view:?}").to_lowercase()));
    }
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    name.push_str(&format!("_{}", extents.join("x")));
    let meta = |&(dtype, view): &(DType, View)| Meta {
        dtype,
        device: Device::Cpu,
        layout: view.layout(shape).expect("cases have ranks that fit their views"),
    };
    Case { name, op, operands: operands.iter().map(meta).collect(), number: Scalar::I64(2) }
}

/// All cases, in the order of their snapshots.
#[must_use]
pub fn all() -> Vec<Case> {
    use DType::{BF16, Bool, C64, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    use View::{
        Column, Contiguous, Cropped, Element, Flipped, Row, Shifted, Stepped, Transposed, TurnedFlipped,
    };
    let flat: &[usize] = &[1000];
    let plane: &[usize] = &[24, 36];
    let cube: &[usize] = &[5, 6, 8];
    let mut cases = Vec::new();
    // Unary, over dtypes and layouts.
    for dtype in [F32, F64, F16, BF16] {
        cases.push(case(tanh::DEF, flat, &[(dtype, Contiguous)]));
    }
    for dtype in [I8, I32, I64, U8, Bool] {
        cases.push(case(abs::DEF, flat, &[(dtype, Contiguous)]));
        cases.push(case(exp::DEF, flat, &[(dtype, Contiguous)]));
    }
    for dtype in [F16, BF16, F32, I16] {
        cases.push(case(neg::DEF, flat, &[(dtype, Contiguous)]));
    }
    for view in [Stepped, Flipped, Transposed] {
        cases.push(case(relu::DEF, plane, &[(F32, view)]));
        cases.push(case(copy::DEF, plane, &[(BF16, view)]));
    }
    cases.push(case(sqrt::DEF, flat, &[(F32, Shifted)]));
    cases.push(case(gelu::DEF, flat, &[(BF16, Contiguous)]));
    cases.push(case(gelu_tanh::DEF, flat, &[(F32, Contiguous)]));
    cases.push(case(silu::DEF, flat, &[(F16, Contiguous)]));
    cases.push(case(isnan::DEF, flat, &[(F16, Contiguous)]));
    cases.push(case(logical_not::DEF, flat, &[(F64, Contiguous)]));
    cases.push(case(sign::DEF, flat, &[(I32, Contiguous)]));
    // Binary, over dtypes, mixed dtypes and layouts.
    for dtype in [F32, F64, BF16, I8, U16, U32, U64, Bool] {
        cases.push(case(add::DEF, flat, &[(dtype, Contiguous), (dtype, Contiguous)]));
    }
    cases.push(case(add::DEF, flat, &[(BF16, Contiguous), (F32, Contiguous)]));
    cases.push(case(add::DEF, flat, &[(I8, Contiguous), (U8, Contiguous)]));
    cases.push(case(add::DEF, flat, &[(F32, Contiguous), (F32, Shifted)]));
    cases.push(case(add::DEF, flat, &[(F32, Contiguous), (F32, Element)]));
    for view in [Row, Column, Transposed, Flipped] {
        cases.push(case(add::DEF, plane, &[(F32, Contiguous), (F32, view)]));
        cases.push(case(add::DEF, cube, &[(F32, Contiguous), (F32, view)]));
    }
    cases.push(case(mul::DEF, plane, &[(F32, Column), (F32, Row)]));
    cases.push(case(sub::DEF, plane, &[(BF16, Transposed), (BF16, Row)]));
    for dtype in [I32, I64, F32] {
        cases.push(case(remainder::DEF, flat, &[(dtype, Contiguous), (dtype, Contiguous)]));
        cases.push(case(div_floor::DEF, flat, &[(dtype, Contiguous), (dtype, Contiguous)]));
    }
    cases.push(case(div_trunc::DEF, flat, &[(I8, Contiguous), (I8, Contiguous)]));
    cases.push(case(pow::DEF, flat, &[(I32, Contiguous), (I32, Contiguous)]));
    cases.push(case(pow::DEF, flat, &[(F32, Contiguous), (F32, Contiguous)]));
    cases.push(case(eq::DEF, flat, &[(BF16, Contiguous), (BF16, Contiguous)]));
    cases.push(case(lt::DEF, plane, &[(I64, Contiguous), (F32, Row)]));
    cases.push(case(maximum::DEF, flat, &[(F32, Contiguous), (F32, Contiguous)]));
    cases.push(case(logical_and::DEF, flat, &[(F32, Contiguous), (Bool, Contiguous)]));
    cases.push(case(bitwise_and::DEF, flat, &[(I16, Contiguous), (I16, Contiguous)]));
    cases.push(case(bitwise_left_shift::DEF, flat, &[(I8, Contiguous), (I8, Contiguous)]));
    cases.push(case(tanh_backward::DEF, flat, &[(BF16, Contiguous), (BF16, Contiguous)]));
    cases.push(case(gelu_and_mul::DEF, flat, &[(BF16, Contiguous), (BF16, Contiguous)]));
    cases.push(case(gelu_and_mul::DEF, plane, &[(F32, Transposed), (F32, Contiguous)]));
    cases.push(case(silu_and_mul::DEF, cube, &[(F16, Stepped), (F16, Row)]));
    // Ternary, numbers, several outputs.
    cases.push(case(where_::DEF, flat, &[(Bool, Contiguous), (F32, Contiguous), (F32, Contiguous)]));
    cases.push(case(where_::DEF, plane, &[(Bool, Column), (BF16, Contiguous), (BF16, Row)]));
    cases.push(case(clamp::DEF, flat, &[(I32, Contiguous), (I32, Element), (I32, Element)]));
    cases.push(case(lerp::DEF, flat, &[(F32, Contiguous), (F32, Contiguous), (F32, Contiguous)]));
    cases.push(case(addcmul::DEF, flat, &[(F32, Contiguous), (F32, Contiguous), (F32, Contiguous)]));
    cases.push(case(addcmul::DEF, cube, &[(I32, Contiguous), (I32, Row), (I32, Transposed)]));
    cases.push(case(add_scaled::DEF, flat, &[(F16, Contiguous), (F16, Contiguous)]));
    for (shape, view) in [(flat, Contiguous), (plane, Transposed)] {
        for dtype in [F32, BF16] {
            let operands = [(dtype, Contiguous), (dtype, view), (dtype, Contiguous)];
            cases.push(case(gelu_and_mul_backward::DEF, shape, &operands));
        }
    }
    // Every way to reach memory, with every size of element: parts of vectors, shifted lines, tiles with ends.
    let odd: &[usize] = &[7, 133];
    let large: &[usize] = &[70, 84];
    let batch: &[usize] = &[3, 40, 5, 33];
    for dtype in [F32, BF16, I8, F64] {
        cases.push(case(add::DEF, flat, &[(dtype, Shifted), (dtype, Contiguous)]));
        cases.push(case(add::DEF, odd, &[(dtype, Cropped), (dtype, Contiguous)]));
        cases.push(case(add::DEF, odd, &[(dtype, Flipped), (dtype, Column)]));
        cases.push(case(add::DEF, large, &[(dtype, Contiguous), (dtype, Transposed)]));
        cases.push(case(add::DEF, batch, &[(dtype, Contiguous), (dtype, Transposed)]));
    }
    cases.push(case(add::DEF, large, &[(F32, Contiguous), (F32, TurnedFlipped)]));
    cases.push(case(add::DEF, large, &[(BF16, Transposed), (F32, Contiguous)]));
    cases.push(case(lerp::DEF, large, &[(F32, Contiguous), (F32, Transposed), (F32, TurnedFlipped)]));
    cases.push(case(add::DEF, large, &[(I8, Contiguous), (F64, Transposed)]));
    cases.push(case(relu::DEF, odd, &[(BF16, Stepped)]));
    cases.push(case(copy::DEF, odd, &[(C64, Cropped)]));
    let operands = [(BF16, Contiguous), (BF16, Transposed), (BF16, Contiguous)];
    cases.push(case(gelu_and_mul_backward::DEF, large, &operands));
    cases
}
