//! Random functions of buffers: ops of the whole library, views, conversions and writes in place.
//!
//! A function is a list of steps that do not depend on the kind of buffer, so it runs eagerly and traced.

use crate::agree::{self, EXACT_OPS};
use crate::compare::Bound;
use crate::random::{Random, Range};
use gems_ops::{REGISTRY, prelude::*};
use gems_runtime::layout::{Layout, Quantity};
use gems_runtime::op::{OpDef, Operand, Role};
use std::sync::LazyLock;

/// A function of buffers.
#[derive(Clone)]
pub struct Dag {
    /// Dtypes and layouts of the inputs.
    pub inputs: Vec<(DType, Layout)>,
    steps: Vec<Step>,
    results: Vec<usize>,
}

/// One step; values are counted from the inputs on.
#[derive(Clone)]
enum Step {
    Call(&'static OpDef, Vec<Arg>),
    Into(&'static OpDef, Vec<Arg>, Vec<usize>),
    Cast(usize, DType),
    Sum(usize, usize),
    Permute(usize, Vec<isize>),
    Slice(usize, isize, isize, isize, usize),
    Flip(usize, isize),
    Expand(usize, usize),
    Select(usize, isize),
    Diagonal(usize, isize),
    Unfold(usize, isize, usize),
    Unsqueeze(usize, isize),
    Flatten(usize),
}

impl std::fmt::Debug for Dag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a function of {} ops of {:?}", self.ops(), self.inputs)
    }
}

/// What is passed for a parameter.
#[derive(Clone, Copy)]
enum Arg {
    Value(usize),
    Number(Scalar),
}

/// Which ops and dtypes a function is made of.
#[derive(Clone, Copy, Debug)]
pub struct Taste {
    /// Most ops.
    pub ops: usize,
    /// The ops that every second step takes, so that most functions are deep.
    pub plain: &'static [&'static OpDef],
    /// The ops of the others.
    pub library: &'static LazyLock<Vec<&'static OpDef>>,
    /// The dtypes of inputs.
    pub dtypes: &'static LazyLock<Vec<DType>>,
    /// Whether there are sums over axes, which each back end adds up in an order of its own.
    pub sums: bool,
    /// Where the inputs are; calls of numbers alone are on the host.
    pub device: Device,
}

impl Taste {
    /// All ops on all dtypes.
    pub const ALL: Taste =
        Taste { ops: 30, plain: &PLAIN, library: &LIBRARY, dtypes: &DTYPES, sums: true, device: Device::Cpu };

    /// All ops that give the same bits whoever computes them, since they call no mathematical library.
    pub const EXACT: Taste = Taste { plain: EXACT_PLAIN, library: &EXACT_LIBRARY, sums: false, ..Taste::ALL };

    /// Sums and a few other ops, so that calls of one op share kernels.
    pub const FEW: Taste = Taste { plain: EXACT_PLAIN, library: &FEW_LIBRARY, ..Taste::ALL };
}

static LIBRARY: LazyLock<Vec<&OpDef>> = LazyLock::new(|| REGISTRY.iter().collect());
static EXACT_LIBRARY: LazyLock<Vec<&OpDef>> =
    LazyLock::new(|| REGISTRY.iter().filter(|op| agree::bound(op) == Bound::Exact).collect());
static FEW_LIBRARY: LazyLock<Vec<&OpDef>> = LazyLock::new(|| EXACT_OPS.iter().map(|(op, _)| *op).collect());

/// All of them, the more usual ones twice.
static DTYPES: LazyLock<Vec<DType>> = LazyLock::new(|| {
    let usual = [DType::F32, DType::F32, DType::BF16, DType::F16, DType::F64, DType::I64];
    DType::ALL.into_iter().chain(usual).collect()
});

const PLAIN: [&OpDef; 12] = [
    add::DEF,
    sub::DEF,
    mul::DEF,
    maximum::DEF,
    where_::DEF,
    lt::DEF,
    neg::DEF,
    abs::DEF,
    relu::DEF,
    div::DEF,
    lerp::DEF,
    tanh::DEF,
];
/// Those that call no mathematical library.
const EXACT_PLAIN: &[&OpDef] = PLAIN.split_at(PLAIN.len() - 1).0;

impl Dag {
    /// A random function whose inputs broadcast to one shape, small but for an axis now and then.
    pub fn new(random: &mut Random, taste: Taste) -> Dag {
        const EXTENTS: [usize; 16] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 33, 70];
        let shape: Vec<usize> = (0..random.below(4)).map(|_| EXTENTS[random.below(EXTENTS.len())]).collect();
        let dtype = taste.dtypes[random.below(taste.dtypes.len())];
        let inputs = (0..1 + random.below(4)).map(|_| {
            let other = taste.dtypes[random.below(taste.dtypes.len())];
            let dtype = if random.chance(25) { other } else { dtype };
            (dtype, random.layout(&shape))
        });
        let mut dag = Dag { inputs: inputs.collect(), steps: Vec::new(), results: Vec::new() };
        let mut values = dag.symbolic(taste.device);
        let (n_ops, mut made) = (1 + random.below(taste.ops), 0);
        for _ in 0..4 * n_ops {
            let step = dag.random_step(random, taste, values.len());
            if let Ok(value) = step.run(&values)
                && value.seen().layout.numel() <= 4096
            {
                made += usize::from(step.is_op());
                values.push(value);
                dag.steps.push(step);
            }
            if made == n_ops {
                break;
            }
        }
        let n_results = if random.chance(5) { 12 } else { 1 + random.below(4) };
        dag.results = (0..n_results).map(|_| random.recent(values.len())).collect();
        dag
    }

    fn symbolic(&self, device: Device) -> Vec<SymbolicBuffer> {
        let symbolic = |(dtype, layout): &(DType, Layout)| {
            let meta = gems_runtime::buffer::Meta { dtype: *dtype, device, layout: layout.clone() };
            SymbolicBuffer::with_meta(meta)
        };
        self.inputs.iter().map(symbolic).collect()
    }

    fn random_step(&self, random: &mut Random, taste: Taste, n: usize) -> Step {
        let value = random.recent(n);
        let axis = |random: &mut Random| random.below(7).cast_signed() - 3;
        match random.below(20) {
            0 => Step::Permute(value, [&[1, 0][..], &[0, 2, 1], &[2, 0, 1]][random.below(3)].to_vec()),
            1 => {
                let (start, end) = (axis(random), if random.chance(50) { isize::MAX } else { axis(random) });
                Step::Slice(value, axis(random), start, end, 1 + random.below(2))
            }
            2 => Step::Flip(value, axis(random)),
            3 => Step::Expand(value, 1 + random.below(3)),
            4 => match random.below(5) {
                0 => Step::Select(value, axis(random)),
                1 => Step::Unsqueeze(value, axis(random)),
                2 => Step::Diagonal(value, axis(random)),
                3 => Step::Unfold(value, axis(random), 1 + random.below(3)),
                _ => Step::Flatten(value),
            },
            5 if taste.sums && random.chance(30) => Step::Sum(value, random.recent(n)),
            5 => Step::Cast(value, DTYPES[random.below(DTYPES.len())]),
            choice => {
                let ops = if random.chance(50) { taste.plain } else { taste.library };
                let op = ops[random.below(ops.len())];
                let args = op.params.iter().map(|param| {
                    if param.role == Role::Number || random.chance(10) {
                        Arg::Number(number(random))
                    } else {
                        Arg::Value(random.recent(n))
                    }
                });
                let args: Vec<Arg> = args.collect();
                if choice < 8 {
                    let others = op.outputs[1..].iter().map(|_| random.recent(n));
                    Step::Into(op, args, std::iter::once(value).chain(others).collect())
                } else {
                    Step::Call(op, args)
                }
            }
        }
    }

    /// Inputs with random values.
    pub fn fill(&self, random: &mut Random) -> Vec<StridedBuffer> {
        self.inputs.iter().map(|(dtype, layout)| random.buffer(*dtype, layout, Range::All)).collect()
    }

    /// Runs the function.
    ///
    /// # Errors
    /// Those of its ops and views.
    pub fn run<B: Buffer>(&self, inputs: &[B]) -> Result<Vec<B>> {
        let mut values = inputs.to_vec();
        for step in &self.steps {
            let value = step.run(&values)?;
            values.push(value);
        }
        Ok(self.results.iter().map(|&value| values[value].clone()).collect())
    }

    /// Number of ops.
    #[must_use]
    pub fn ops(&self) -> usize {
        self.steps.iter().filter(|step| step.is_op()).count()
    }
}

impl Step {
    fn is_op(&self) -> bool {
        matches!(self, Step::Call(..) | Step::Into(..) | Step::Cast(..) | Step::Sum(..))
    }

    /// The value that the step adds; the first one of ops that have several.
    fn run<B: Buffer>(&self, values: &[B]) -> Result<B> {
        let operands = |args: &[Arg]| -> Vec<Operand<'_, B>> {
            let operand = |arg: &Arg| match arg {
                Arg::Value(value) => Operand::Buffer(&values[*value]),
                Arg::Number(number) => Operand::Scalar(*number),
            };
            args.iter().map(operand).collect()
        };
        match self {
            Step::Call(op, args) => B::run(op, &operands(args), None).map(|results| results[0].clone()),
            Step::Into(op, args, targets) => {
                let mut outs: Vec<B> = targets.iter().map(|target| values[*target].clone()).collect();
                B::call_out(op, &operands(args), &mut outs.iter_mut().collect::<Vec<_>>())?;
                Ok(outs.swap_remove(0))
            }
            Step::Cast(x, dtype) => cast(&values[*x], *dtype),
            Step::Sum(x, like) => values[*x].sum_like(&values[*like]),
            Step::Permute(x, axes) => values[*x].permute(axes),
            Step::Slice(x, axis, start, end, step) => values[*x].slice(*axis, *start, *end, *step),
            Step::Flip(x, axis) => values[*x].flip(&[*axis]),
            Step::Expand(x, size) => {
                let mut shape = values[*x].dims().to_vec();
                match shape.iter_mut().find(|dim| dim.is(1)) {
                    Some(one) => *one = B::Size::from(*size),
                    None => shape.insert(0, B::Size::from(*size)),
                }
                values[*x].broadcast_to_dims(&shape)
            }
            Step::Select(x, axis) => values[*x].select(*axis, -1),
            Step::Diagonal(x, offset) => values[*x].diagonal(*offset, -2, -1),
            Step::Unfold(x, axis, size) => values[*x].unfold(*axis, *size, 1),
            Step::Unsqueeze(x, axis) => values[*x].unsqueeze(*axis),
            Step::Flatten(x) => values[*x].reshape(&[-1]),
        }
    }
}

fn number(random: &mut Random) -> Scalar {
    match random.below(6) {
        0 => Scalar::Bool(random.chance(50)),
        1 => Scalar::F64(0.5),
        2 => Scalar::F64(-1.5),
        3 => Scalar::I64(300),
        _ => Scalar::I64(random.below(4).cast_signed() as i64 - 1),
    }
}
