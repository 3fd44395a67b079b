//! Traces with open sizes against the same calls with numbers: at the sizes seen, and at others that satisfy the guards.
#![expect(clippy::unwrap_used, reason = "what fails here is a failing test")]

use flate2::read::GzDecoder;
use gems_ops::prelude::*;
use gems_runtime::buffer::Meta;
use gems_runtime::layout::Layout;
use gems_runtime::op::{OpDef, Operand};
use gems_runtime::plan::{self, Outputs};
use gems_runtime::trace::{Dim, Guards, Policy, Relation, Scope};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

/// A buffer of numbers that is nothing but its metadata.
#[derive(Clone, Debug)]
struct Plain(Meta);

impl Buffer for Plain {
    type Size = usize;

    fn meta(&self) -> &Meta {
        &self.0
    }

    fn shape(&self) -> &[usize] {
        self.0.layout.shape()
    }

    fn with_layout(&self, layout: Layout) -> Result<Plain> {
        Ok(Plain(Meta { layout, ..self.0.clone() }))
    }

    fn unset(&self, layout: Layout) -> Result<Plain> {
        self.with_layout(layout)
    }

    fn run(
        op: &'static OpDef,
        operands: &[Operand<'_, Plain>],
        dtype: Option<DType>,
    ) -> Result<smallvec::SmallVec<[Plain; 2]>> {
        let inference = plan::infer(op, &plan::arguments(operands), Outputs::New { dtype })?;
        Ok(inference.outputs.into_iter().map(Plain).collect())
    }

    fn call_out(_: &'static OpDef, _: &[Operand<'_, Plain>], _: &mut [&mut Plain]) -> Result<()> {
        Err(Error::new(ErrorKind::Unsupported, "results are new here"))
    }

    fn zeros_like(&self) -> Result<Plain> {
        Ok(self.clone())
    }

    fn sum_like(&self, like: &Plain) -> Result<Plain> {
        Ok(like.clone())
    }
}

fn plain(layout: Layout) -> Plain {
    Plain(Meta { dtype: DType::F32, device: Device::Cpu, layout })
}

/// The op of this many buffers.
fn call<B: Buffer>(buffers: &[B]) -> Result<B> {
    let mut operands: Vec<Operand<'_, B>> = buffers.iter().map(Operand::from).collect();
    let op = match operands.len() {
        1 => tanh::DEF,
        2 => add::DEF,
        _ => {
            operands.push(Operand::from(1.0));
            addcmul::DEF
        }
    };
    B::call::<1>(op, &operands).map(|[result]| result)
}

/// Whether equal sizes of a case are one symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Symbols {
    Apart,
    Shared,
}

/// The buffers with every size above 1 open.
fn open(buffers: &[Plain], symbols: Symbols, scope: &Scope) -> Vec<SymbolicBuffer> {
    let mut known: BTreeMap<usize, Dim> = BTreeMap::new();
    let mut size = |name: String, size: usize| match symbols {
        Symbols::Apart => scope.symbol(&name, size),
        Symbols::Shared => {
            known.entry(size).or_insert_with(|| scope.symbol(&format!("n{size}"), size)).clone()
        }
    };
    let buffers = buffers.iter().enumerate().map(|(i, buffer)| {
        let shape: Vec<Dim> = (0..)
            .zip(buffer.shape())
            .map(|(axis, &extent)| size(format!("x{i}.shape[{axis}]"), extent))
            .collect();
        SymbolicBuffer::like_with_dims(&buffer.0, &shape, &format!("x{i}"), scope).unwrap()
    });
    buffers.collect()
}

fn layouts(opened: &[SymbolicBuffer]) -> Vec<&Layout<Dim>> {
    opened.iter().map(|buffer| &Buffer::meta(buffer).layout).collect()
}

/// Shape and strides of a symbolic result for these sizes.
fn at(guards: &Guards, bindings: &[usize], result: &SymbolicBuffer) -> (Vec<usize>, Vec<isize>) {
    let values = guards.values(bindings);
    let layout = &Buffer::meta(result).layout;
    let shape = layout.shape().iter().map(|dim| values.of(dim).unsigned_abs()).collect();
    (shape, layout.strides().iter().map(|dim| values.of(dim)).collect())
}

fn parts(buffer: &Plain) -> (Vec<usize>, Vec<isize>) {
    (buffer.0.layout.shape().to_vec(), buffer.0.layout.strides().to_vec())
}

fn numbers(list: &Value) -> impl Iterator<Item = i64> {
    list.as_array().unwrap().iter().map(|number| number.as_i64().unwrap())
}

fn recorded(case: &Value) -> Layout {
    let shape: Vec<usize> = numbers(&case["shape"]).map(|extent| extent.try_into().unwrap()).collect();
    let strides: Vec<isize> = numbers(&case["strides"]).map(|stride| stride.try_into().unwrap()).collect();
    Layout::new(&shape, &strides, 0).unwrap()
}

#[test]
fn recorded_layouts_come_out_of_symbolic_calls() {
    let file = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/data/layout-cases.jsonl.gz")).unwrap();
    let mut n_cases = 0;
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let line = line.unwrap();
        let case: Value = serde_json::from_str(&line).unwrap();
        let inputs: Vec<Plain> =
            case["args"].as_array().unwrap().iter().map(|arg| plain(recorded(arg))).collect();
        let expected = recorded(&case["out"]);
        for symbols in [Symbols::Apart, Symbols::Shared] {
            let scope = Scope::new(Policy::Guard);
            let opened = open(&inputs, symbols, &scope);
            let result = call(&opened).unwrap();
            assert_eq!(result.seen().layout, expected, "{line}");

            let guards = scope.guards().unwrap();
            let actual: Vec<&Layout> = inputs.iter().map(|input| &input.0.layout).collect();
            let bindings =
                guards.bind(&layouts(&opened), &actual).expect("a buffer fits its own description");
            assert_eq!(guards.check(&bindings), Ok(()), "{line}");
            assert_eq!(at(&guards, &bindings, &result), parts(&plain(expected.clone())), "{line}");
        }
        n_cases += 1;
    }
    assert_eq!(n_cases, 20_000);
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % limit as u64).unwrap()
    }

    fn signed(&mut self, low: isize, high: isize) -> isize {
        low + isize::try_from(self.below((high - low + 1).unsigned_abs())).unwrap()
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// One step of a traced function, with arguments that do not depend on sizes.
#[derive(Clone, Debug)]
enum Step {
    Permute(Vec<isize>),
    Transpose(isize, isize),
    T,
    Slice(isize, isize, isize, usize),
    Flip(Vec<isize>),
    Narrow(isize, isize, usize),
    Select(isize, isize),
    Split(isize, usize, usize),
    Chunk(isize, usize, usize),
    Expand(Vec<isize>),
    ExpandLike,
    Unsqueeze(isize),
    Squeeze(isize),
    SqueezeAll,
    Reshape(Vec<isize>),
    ReverseDims,
    Flatten(isize, isize),
    Diagonal(isize, isize, isize),
    Unfold(isize, usize, usize),
    /// Host code that looks at the shape.
    Branch(usize, usize),
    Call,
}

impl Step {
    fn random(random: &mut Random, shape: &[usize]) -> Step {
        let rank = isize::try_from(shape.len()).unwrap();
        let axis = |random: &mut Random| random.signed(-rank, (rank - 1).max(0));
        match random.below(22) {
            0 => {
                let mut axes: Vec<isize> = (0..rank).collect();
                for i in (1..axes.len()).rev() {
                    axes.swap(i, random.below(i + 1));
                }
                Step::Permute(axes)
            }
            1 => Step::Transpose(axis(random), axis(random)),
            2 => Step::T,
            3 | 4 => {
                let end = if random.chance(40) { isize::MAX } else { random.signed(-4, 6) };
                Step::Slice(axis(random), random.signed(-5, 3), end, random.pick(&[1, 1, 1, 2, 3]))
            }
            5 => Step::Flip(vec![axis(random)]),
            6 => Step::Narrow(axis(random), random.signed(-3, 2), random.below(4)),
            7 => Step::Select(axis(random), random.signed(-3, 2)),
            8 => Step::Split(axis(random), 1 + random.below(4), random.below(4)),
            9 => Step::Chunk(axis(random), 1 + random.below(4), random.below(4)),
            10 => {
                let mut target: Vec<isize> =
                    shape.iter().map(|&size| if size == 1 { random.signed(-1, 4) } else { -1 }).collect();
                if random.chance(50) {
                    target.insert(0, random.signed(0, 4));
                }
                Step::Expand(target)
            }
            11 => Step::ExpandLike,
            12 => Step::Unsqueeze(random.signed(-rank - 1, rank)),
            13 => Step::Squeeze(axis(random)),
            14 => Step::SqueezeAll,
            15 => {
                let mut target = vec![-1];
                for _ in 0..random.below(3) {
                    target.insert(random.below(target.len() + 1), random.pick(&[1, 1, 2, 3, 4, 5]));
                }
                Step::Reshape(target)
            }
            16 => Step::ReverseDims,
            17 => Step::Flatten(axis(random), axis(random)),
            18 => Step::Diagonal(random.signed(-2, 2), axis(random), axis(random)),
            19 => Step::Unfold(axis(random), random.below(4), 1 + random.below(3)),
            20 => Step::Branch(random.below(4), 2 + random.below(4)),
            _ => Step::Call,
        }
    }

    fn apply<B: Buffer>(&self, x: &B) -> Result<B> {
        let piece = |pieces: Vec<B>, choice: usize| Ok(pieces[choice % pieces.len()].clone());
        match self {
            Step::Permute(axes) => x.permute(axes),
            Step::Transpose(a, b) => x.transpose(*a, *b),
            Step::T => x.t(),
            Step::Slice(axis, start, end, step) => x.slice(*axis, *start, *end, *step),
            Step::Flip(axes) => x.flip(axes),
            Step::Narrow(axis, start, len) => x.narrow(*axis, *start, *len),
            Step::Select(axis, index) => x.select(*axis, *index),
            Step::Split(axis, size, choice) => piece(x.split(*axis, *size)?, *choice),
            Step::Chunk(axis, pieces, choice) => piece(x.chunk(*axis, *pieces)?, *choice),
            Step::Expand(shape) => x.expand(shape),
            Step::ExpandLike => {
                let mut shape = x.dims().to_vec();
                shape.insert(0, shape.first().cloned().unwrap_or(B::Size::from(3)));
                x.broadcast_to_dims(&shape)
            }
            Step::Unsqueeze(axis) => x.unsqueeze(*axis),
            Step::Squeeze(axis) => x.squeeze(*axis),
            Step::SqueezeAll => x.squeeze_all(),
            Step::Reshape(shape) => x.reshape(shape),
            Step::ReverseDims => {
                let mut shape = x.dims().to_vec();
                shape.reverse();
                x.reshape_dims(&shape)
            }
            Step::Flatten(start, end) => x.flatten(*start, *end),
            Step::Diagonal(offset, a, b) => x.diagonal(*offset, *a, *b),
            Step::Unfold(axis, size, step) => x.unfold(*axis, *size, *step),
            Step::Branch(axis, limit) => match x.shape().get(*axis) {
                Some(size) if size > limit => x.narrow(0, 0, 1),
                _ => Ok(x.clone()),
            },
            Step::Call => call(std::slice::from_ref(x)),
        }
    }
}

/// A traced function: views of each input, one op over all, views of its result.
#[derive(Clone, Debug)]
struct Program {
    before: Vec<Vec<Step>>,
    after: Vec<Step>,
}

impl Program {
    fn run<B: Buffer>(&self, inputs: &[B]) -> Result<B> {
        let through = |x: &B, steps: &[Step]| steps.iter().try_fold(x.clone(), |x, step| step.apply(&x));
        let viewed = inputs.iter().zip(&self.before).map(|(x, steps)| through(x, steps));
        let viewed: Vec<B> = viewed.collect::<Result<_>>()?;
        through(&call(&viewed)?, &self.after)
    }
}

/// Inputs of one call, and what is done with them.
fn random_case(random: &mut Random) -> (Vec<Plain>, Program) {
    let rank = random.below(5);
    let sizes: Vec<usize> = (0..rank).map(|_| random.pick(&[1, 2, 2, 3, 4, 5, 6, 8])).collect();
    let n_inputs = 1 + random.below(3);
    let mut inputs = Vec::new();
    let mut before = Vec::new();
    for _ in 0..n_inputs {
        let skipped = if random.chance(20) { random.below(rank + 1) } else { 0 };
        let one = |random: &mut Random, size: usize| if random.chance(10) { 1 } else { size };
        let shape: Vec<usize> = sizes[skipped..].iter().map(|&size| one(random, size)).collect();
        let mut x = plain(random_layout(random, &shape));
        inputs.push(x.clone());
        // Views that keep broadcasting likely: few, and only sometimes.
        let n_views = if n_inputs == 1 || random.chance(20) { random.below(3) } else { 0 };
        let mut steps = Vec::new();
        for _ in 0..n_views {
            (steps, x) = extended(random, steps, x);
        }
        before.push(steps);
    }
    let mut program = Program { before, after: Vec::new() };
    if let Ok(mut x) = program.run(&inputs) {
        for _ in 0..random.below(4) {
            (program.after, x) = extended(random, program.after, x);
        }
    }
    (inputs, program)
}

/// One more step; mostly one that works.
fn extended(random: &mut Random, mut steps: Vec<Step>, x: Plain) -> (Vec<Step>, Plain) {
    for _ in 0..4 {
        let step = Step::random(random, x.shape());
        match step.apply(&x) {
            Ok(next) => {
                steps.push(step);
                return (steps, next);
            }
            Err(_) if random.chance(5) => {
                steps.push(step);
                return (steps, x);
            }
            Err(_) => {}
        }
    }
    (steps, x)
}

/// Dense in some order of axes, perhaps with padding, steps, broadcast axes and backward ones.
fn random_layout(random: &mut Random, shape: &[usize]) -> Layout {
    let mut order: Vec<usize> = (0..shape.len()).rev().collect();
    if random.chance(40) {
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i + 1));
        }
    }
    let padded = random.chance(30);
    let mut run = if random.chance(10) { 2 } else { 1 };
    let mut strides = vec![0isize; shape.len()];
    for axis in order {
        strides[axis] = match random.below(20) {
            0 => 0,
            1 => -run,
            _ => run,
        };
        run *= isize::try_from(shape[axis]).unwrap();
        if padded && random.chance(30) {
            run += random.signed(1, 3);
        }
    }
    Layout::new(shape, &strides, 0).unwrap()
}

/// Other sizes for the same description; equal ones mostly stay equal.
fn other_bindings(random: &mut Random, bindings: &[usize]) -> Vec<usize> {
    let mut replaced: BTreeMap<usize, usize> = BTreeMap::new();
    let kept = random.chance(30);
    bindings
        .iter()
        .map(|&size| {
            let fresh = if random.chance(30) { size } else { 2 + random.below(11) };
            let common = *replaced.entry(size).or_insert(if kept && size < 4 { size } else { fresh });
            if random.chance(15) { fresh } else { common }
        })
        .collect()
}

/// The inputs of a trace with other sizes.
fn rebound(opened: &[SymbolicBuffer], guards: &Guards, bindings: &[usize]) -> Vec<Plain> {
    let fixed = opened.iter().map(|x| {
        let (shape, strides) = at(guards, bindings, x);
        plain(Layout::new(&shape, &strides, 0).unwrap())
    });
    fixed.collect()
}

#[test]
fn traces_hold_for_all_sizes_that_satisfy_their_guards() {
    let n_traces = 40_000;
    let mut random = Random(7);
    let (mut n_replays, mut n_failing_traces) = (0, 0);
    for trace in 0..n_traces {
        let (inputs, program) = random_case(&mut random);
        let symbols = random.pick(&[Symbols::Apart, Symbols::Shared]);
        let scope = Scope::new(Policy::Guard);
        let opened = open(&inputs, symbols, &scope);
        let traced = program.run(&opened);
        let guards = scope.guards().unwrap();
        let actual: Vec<&Layout> = inputs.iter().map(|input| &input.0.layout).collect();
        let seen = guards.bind(&layouts(&opened), &actual).unwrap();
        assert_eq!(guards.check(&seen), Ok(()), "trace {trace}");
        n_failing_traces += usize::from(traced.is_err());

        let mut check = |bindings: &[usize]| {
            let replayed = program.run(&rebound(&opened, &guards, bindings));
            let context = || format!("trace {trace} at {bindings:?}: {inputs:?} {program:?}\n{guards}");
            match (&traced, &replayed) {
                (Ok(traced), Ok(replayed)) => {
                    assert_eq!(at(&guards, bindings, traced), parts(replayed), "{}", context());
                }
                (Err(_), Err(_)) => {}
                _ => panic!("{traced:?} but {replayed:?} in {}", context()),
            }
            n_replays += 1;
        };
        check(&seen);
        let mut checked = 0;
        for _ in 0..60 {
            let bindings = other_bindings(&mut random, &seen);
            if bindings != seen.as_slice() && guards.check(&bindings).is_ok() {
                check(&bindings);
                checked += 1;
                if checked == 4 {
                    break;
                }
            }
        }
    }
    // Most traces are replayed at other sizes, and most succeed.
    assert!(n_replays > 3 * n_traces, "{n_replays} replays");
    assert!(n_failing_traces < n_traces / 4, "{n_failing_traces} failing traces");
}

#[test]
fn contiguous_operands_need_only_the_equalities_between_them() {
    let mut random = Random(11);
    for _ in 0..2_000 {
        let rank = random.below(7);
        let shape: Vec<usize> = (0..rank).map(|_| random.pick(&[1, 2, 3, 3, 4])).collect();
        let inputs: Vec<Plain> =
            (0..=random.below(3)).map(|_| plain(Layout::contiguous(&shape).unwrap())).collect();
        let n_open = shape.iter().filter(|&&size| size > 1).count();

        let scope = Scope::new(Policy::Guard);
        let opened = open(&inputs, Symbols::Apart, &scope);
        let result = call(&opened).unwrap();
        assert!(result.t().is_ok() == (rank <= 2) && result.flatten(0, -1).is_ok());
        let guards = scope.guards().unwrap();
        assert_eq!(guards.len(), n_open * (inputs.len() - 1), "{guards}");
        for guard in &guards {
            assert_eq!((guard.relation(), &*guard.why().step), (Relation::Equal, "broadcasting"));
            assert!(guard.dims().0 == guard.dims().1, "known to be equal from then on");
        }

        // A trace may be strict if equal sizes are the same symbol.
        let scope = Scope::new(Policy::Strict);
        let shared = open(&inputs, Symbols::Shared, &scope);
        call(&shared).unwrap();
        let permuted: Vec<isize> = (0..rank).rev().map(|axis| axis.try_into().unwrap()).collect();
        let permuted: Vec<_> = shared.iter().map(|x| x.permute(&permuted).unwrap()).collect();
        call(&permuted).unwrap();
        assert!(scope.guards().unwrap().is_empty());
    }
}

/// A matrix of two open sizes.
fn matrix(scope: &Scope, names: [&str; 2], seen: [usize; 2]) -> SymbolicBuffer {
    let shape = [scope.symbol(names[0], seen[0]), scope.symbol(names[1], seen[1])];
    SymbolicBuffer::symbolic(DType::F32, &shape, Device::Cpu).unwrap()
}

#[test]
fn guards_name_sizes_axis_operand_and_op() {
    let scope = Scope::new(Policy::Guard);
    let x = matrix(&scope, ["b", "n"], [4, 6]);
    let y = SymbolicBuffer::symbolic(DType::F32, &[scope.symbol("m", 6)], Device::Cpu).unwrap();
    let z = gelu_and_mul(&x, &y).unwrap();
    assert_eq!(z.to_string(), "f32[b, n]");
    let guards = scope.guards().unwrap();
    assert_eq!(guards.to_string(), "n == m, from broadcasting axis 1 of `y` in gelu_and_mul");
    assert_eq!(guards.check(&[9, 5, 5]), Ok(()));
    let failed = guards.check(&[9, 5, 6]).unwrap_err();
    assert_eq!(failed.to_string(), "n == m, from broadcasting axis 1 of `y` in gelu_and_mul");
    assert_eq!(guards.check(&[1, 5, 5]).unwrap_err().to_string(), "2 <= b, from the bounds of the symbol");
    assert!(guards.check(&[9]).is_err());
}

#[test]
fn strict_scopes_refuse_and_name_both_sizes() {
    let scope = Scope::new(Policy::Strict);
    let x = matrix(&scope, ["b", "n"], [4, 6]);
    let y = SymbolicBuffer::symbolic(DType::F32, &[scope.symbol("m", 6)], Device::Cpu).unwrap();
    assert_eq!(tanh(&x).unwrap().to_string(), "f32[b, n]");
    let error = gelu_and_mul(&x, &y).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Guard);
    assert_eq!(
        error.to_string(),
        "gelu_and_mul: the trace holds only if n == m (6 and 6 in this run), from broadcasting axis 1 of `y` in gelu_and_mul; give \
         sizes that must agree the same symbol, make the size a number, or trace with Policy::Guard"
    );
    // What came after a refusal is no trace.
    assert_eq!(scope.guards().unwrap_err().kind(), ErrorKind::Guard);
    assert_eq!(tanh(&x).unwrap_err().kind(), ErrorKind::Guard);

    let scope = Scope::new(Policy::Strict);
    let x = matrix(&scope, ["b", "n"], [4, 6]);
    assert!(
        x.narrow(0, 0, 3)
            .unwrap_err()
            .to_string()
            .contains("only if 3 <= b (3 and 4 in this run), from narrowing axis 0")
    );

    let scope = Scope::new(Policy::Strict);
    let x = matrix(&scope, ["b", "n"], [4, 6]);
    let seen_by_the_host = x.shape()[1];
    let error = x.flatten(0, 1).unwrap_err().to_string();
    assert!(
        seen_by_the_host == 6
            && error.contains("only if b == 4 (4 and 4 in this run), from the host reading axis 0"),
        "{error}"
    );
    assert_eq!(x.extent(0).unwrap_err().kind(), ErrorKind::Guard);
}

#[test]
fn guards_of_gradients_name_the_op() {
    let scope = Scope::new(Policy::Guard);
    let [x, y, grad] = [["b", "n"], ["c", "m"], ["d", "k"]].map(|names| matrix(&scope, names, [4, 6]));
    mul::vjp(&grad, &x, &y).unwrap();
    let guards = scope.guards().unwrap().to_string();
    let expected = [
        "b == c, from broadcasting axis 0 of `other` in mul",
        "n == m, from broadcasting axis 1 of `other` in mul",
        "d == b, from comparing a gradient with its result axis 0 in mul",
        "k == n, from comparing a gradient with its result axis 1 in mul",
    ];
    assert_eq!(guards.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn sums_report_refused_guards_at_once() {
    let scope = Scope::new(Policy::Strict);
    let x = matrix(&scope, ["b", "n"], [4, 6]);
    let row = SymbolicBuffer::symbolic(DType::F32, &[scope.symbol("m", 6)], Device::Cpu).unwrap();
    let error = x.sum_like(&row).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Guard);
    let text = error.to_string();
    assert!(text.starts_with("sum_to: the trace holds only if m == n (6 and 6 in this run)"), "{text}");
    assert!(text.contains("from summing a gradient axis 0 in sum_to"), "{text}");
}

#[test]
fn numbers_that_the_host_reads_are_guarded() {
    let scope = Scope::new(Policy::Guard);
    let x = matrix(&scope, ["b", "n"], [4, 6]);
    assert_eq!((x.rank(), x.dims().len(), x.seen().layout.numel()), (2, 2, 24));
    assert!(scope.guards().unwrap().is_empty());
    assert_eq!(x.extent(-1).unwrap(), 6);
    assert_eq!(scope.guards().unwrap().to_string(), "n == 6, from the host reading axis 1");
    assert_eq!(x.to_string(), "f32[b, 6]");
    assert_eq!(x.numel(), 24);
    assert_eq!(Buffer::shape(&x), [4, 6]);
    assert_eq!(x.strides(), [6, 1]);
    // 6·b = 24 is asked as b = 4, and answers the last two.
    assert_eq!(scope.guards().unwrap().len(), 2);
    assert!(x.extent(2).is_err());
}

#[test]
fn sizes_of_two_scopes_do_not_meet() {
    let (here, there) = (Scope::new(Policy::Guard), Scope::new(Policy::Guard));
    let (x, y) = (matrix(&here, ["b", "n"], [4, 6]), matrix(&there, ["b", "n"], [4, 6]));
    let error = add(&x, &y).unwrap_err();
    assert_eq!(error.to_string(), "add: sizes of two scopes meet; make all symbols of a trace in one scope");
    assert!(here.guards().is_ok() && there.guards().is_ok());
    assert!(
        SymbolicBuffer::symbolic(DType::F32, &[x.dims()[0].clone(), y.dims()[0].clone()], Device::Cpu)
            .is_err()
    );
    // A view takes sizes too; there is no result, and no guards.
    assert_eq!(x.reshape_dims(y.dims()).unwrap_err().kind(), ErrorKind::Guard);
    assert!(here.guards().is_err() && there.guards().is_err());
}

#[test]
fn derived_sizes_print_as_what_they_are() {
    let scope = Scope::new(Policy::Guard);
    let x = matrix(&scope, ["b", "n"], [9, 16]);
    let check =
        |view: Result<SymbolicBuffer>, expected: &str| assert_eq!(view.unwrap().to_string(), expected);
    check(x.slice(1, 1, isize::MAX, 1), "f32[b, n - 1]@(n, 1)");
    check(x.slice(1, 1, -2, 1), "f32[b, n - 3]@(n, 1)");
    check(x.slice(1, -3, isize::MAX, 1), "f32[b, 3]@(n, 1)");
    check(x.slice(0, 0, isize::MAX, 2), "f32[ceil(b / 2), n]@(2*n, 1)");
    check(x.unfold(1, 4, 1), "f32[b, n - 3, 4]@(n, 1, 1)");
    check(x.reshape(&[-1]), "f32[b*n]");
    check(x.reshape(&[-1, 8]), "f32[ceil(b*n / 8), 8]");
    check(x.flip(&[0]), "f32[b, n]@(-n, 1)");
    check(x.slice(1, 1, isize::MAX, 1).and_then(|x| x.unsqueeze(0)), "f32[1, b, n - 1]@(b*n, n, 1)");
    check(x.slice(1, 1, isize::MAX, 1).and_then(|x| tanh(&x)), "f32[b, n - 1]");
    check(x.diagonal(0, 0, 1), "f32[b]@(n + 1)");
    check(x.select(0, -1), "f32[n]");
}

#[test]
fn the_same_view_twice_has_the_same_sizes() {
    let scope = Scope::new(Policy::Guard);
    let x = matrix(&scope, ["b", "n"], [9, 16]);
    let halves = x.chunk(1, 2).unwrap();
    let before = scope.guards().unwrap().len();
    let again = x.slice(0, 1, isize::MAX, 1).unwrap();
    assert_eq!(add(&again, &x.slice(0, 1, isize::MAX, 1).unwrap()).unwrap().dims(), again.dims());
    assert_eq!(x.chunk(1, 2).unwrap()[0].dims(), halves[0].dims());
    let guards = scope.guards().unwrap();
    assert_eq!(guards.len(), before + 1, "only that b - 1 is at least 2: {guards}");
}

#[test]
fn layouts_bind_the_sizes_that_a_trace_left_open() {
    let scope = Scope::new(Policy::Guard);
    let padded = Layout::new(&[3, 5], &[8, 1], 0).unwrap();
    let x = SymbolicBuffer::like_symbolic(&plain(padded).0, "x", &scope).unwrap();
    assert_eq!(x.to_string(), "f32[x.shape[0], x.shape[1]]@(x.strides[0], 1)");
    let guards = scope.guards().unwrap();
    let bind = |shape: &[usize], strides: &[isize]| {
        guards.bind(&layouts(std::slice::from_ref(&x)), &[&Layout::new(shape, strides, 0).unwrap()])
    };
    assert_eq!(bind(&[4, 2], &[7, 1]).unwrap().as_slice(), [4, 2, 7]);
    assert_eq!(bind(&[4, 2], &[7, 2]), None);
    assert_eq!(bind(&[4, 2], &[-7, 1]), None);
    assert_eq!(bind(&[4], &[1]), None);

    let scope = Scope::new(Policy::Guard);
    let x = matrix(&scope, ["b", "n"], [4, 6]).t().unwrap();
    let guards = scope.guards().unwrap();
    let bind = |shape: &[usize], strides: &[isize]| {
        guards.bind(&layouts(std::slice::from_ref(&x)), &[&Layout::new(shape, strides, 0).unwrap()])
    };
    assert_eq!(bind(&[7, 3], &[1, 7]).unwrap().as_slice(), [3, 7]);
    assert_eq!(bind(&[7, 3], &[3, 1]), None);
    assert_eq!(bind(&[7, 1], &[1, 7]).map(|sizes| guards.check(&sizes).is_err()), Some(true));
}

#[test]
fn views_share_memory_and_results_do_not() {
    let scope = Scope::new(Policy::Guard);
    let x = matrix(&scope, ["b", "n"], [4, 6]);
    let view = x.t().unwrap().select(0, 0).unwrap();
    assert!(view.shares_memory(&x) && !tanh(&x).unwrap().shares_memory(&x));
    let mut out = tanh(&x).unwrap();
    let before = out.clone();
    tanh::out(&x, &mut out).unwrap();
    assert!(out.shares_memory(&before));
    let mut empty = SymbolicBuffer::new(DType::F32, &[0], Device::Cpu).unwrap();
    let before = empty.clone();
    tanh::out(&x, &mut empty).unwrap();
    assert!(!empty.shares_memory(&before) && empty == x);
}

#[test]
fn bounds_settle_questions() {
    let scope = Scope::new(Policy::Strict);
    let shape = [scope.symbol_within("b", 40, 32..=64).unwrap(), scope.symbol("n", 16)];
    let x = SymbolicBuffer::symbolic(DType::F32, &shape, Device::Cpu).unwrap();
    assert_eq!(x.narrow(0, 0, 32).unwrap().to_string(), "f32[32, n]");
    assert_eq!(x.slice(0, 0, 64, 1).unwrap().to_string(), "f32[b, n]");
    assert_eq!(x.slice(0, 30, isize::MAX, 1).unwrap().to_string(), "f32[b - 30, n]");
    assert!(x.narrow(0, 0, 33).is_err());
    let error = scope.symbol_within("c", 1, 2..=3).unwrap_err().to_string();
    assert_eq!(error, "1 is not within 2..=3; give symbol `c` a size inside its bounds");
    assert!(scope.guards().unwrap_err().to_string().contains("33 <= b"));
    assert_eq!(scope.symbol("one", 1), Dim::from(1usize));
}

#[test]
fn overlaps_are_refused_as_by_real_calls() {
    let real = StridedBuffer::zeros(DType::F32, &[4, 4], Device::Cpu).unwrap();
    let symbolic = SymbolicBuffer::like(&real);
    let scope = Scope::new(Policy::Guard);
    let shape = [scope.symbol("n", 4), Dim::from(4usize)];
    let open = SymbolicBuffer::symbolic(DType::F32, &shape, Device::Cpu).unwrap();

    fn partly<B: Buffer>(x: &B) -> Result<()> {
        B::call_out(tanh::DEF, &[Operand::from(x)], &mut [&mut x.t()?])
    }
    fn onto_itself<B: Buffer>(x: &B) -> Result<()> {
        let mut out = x.select(0, 0)?.expand(&[4, 4])?;
        B::call_out(tanh::DEF, &[Operand::from(x)], &mut [&mut out])
    }
    fn in_place<B: Buffer>(x: &B) -> Result<()> {
        B::call_out(tanh::DEF, &[Operand::from(x)], &mut [&mut x.clone()])
    }
    fn next_row<B: Buffer>(x: &B) -> Result<()> {
        B::call_out(tanh::DEF, &[Operand::from(&x.select(0, 0)?)], &mut [&mut x.select(0, 1)?])
    }
    let text = |result: Result<()>| result.map_err(|error| error.to_string());
    assert_eq!(text(partly(&symbolic)), text(partly(&real)));
    assert_eq!(partly(&symbolic).unwrap_err().kind(), ErrorKind::Overlap);
    assert_eq!(text(onto_itself(&symbolic)), text(onto_itself(&real)));
    assert_eq!(onto_itself(&symbolic).unwrap_err().kind(), ErrorKind::Overlap);
    for result in
        [in_place(&symbolic), in_place(&open), next_row(&symbolic), next_row(&open), next_row(&real)]
    {
        assert_eq!(text(result), Ok(()));
    }
}
