//! Gradients of random traced functions: the bits of eager calls, in every way to compute them, and slopes.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::prelude::*;
use gems_runtime::layout::Layout;
use gems_runtime::op::{self, OpDef, Operand};
use gems_tests::compare::{Bound, compare};
use gems_tests::random::{Random, Range};

/// Ops of random functions, the second operand if that is a number, and how many operands they take.
const OPS: [(&OpDef, Option<f64>, usize); 12] = [
    (add::DEF, None, 2),
    (mul::DEF, None, 2),
    (sub::DEF, None, 2),
    (maximum::DEF, None, 2),
    (atan2::DEF, None, 2),
    (hypot::DEF, None, 2),
    (mul::DEF, Some(0.75), 2),
    (sub::DEF, Some(0.5), 2),
    (tanh::DEF, None, 1),
    (sigmoid::DEF, None, 1),
    (sin::DEF, None, 1),
    (gelu_and_mul::DEF, None, 2),
];

/// A random function of three inputs: ops on earlier values, the first operand mirrored in some.
#[derive(Clone, Debug)]
struct Program {
    steps: Vec<Step>,
    results: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    op: usize,
    a: usize,
    b: usize,
    mirrored: bool,
}

impl Step {
    fn with_operands<B: Buffer, T>(
        self,
        values: &[B],
        act: impl FnOnce(&'static OpDef, &[Operand<'_, B>]) -> Result<T>,
    ) -> Result<T> {
        let (op, number, arity) = OPS[self.op];
        let first = if self.mirrored { values[self.a].flip(&[-1])? } else { values[self.a].clone() };
        let second = number.map_or(Operand::Buffer(&values[self.b]), Operand::from);
        act(op, &[Operand::Buffer(&first), second][..arity])
    }
}

impl Program {
    fn new(random: &mut Random) -> Program {
        let n = 1 + random.below(10);
        let step = |i: usize, random: &mut Random| Step {
            op: random.below(OPS.len()),
            a: random.below(3 + i),
            b: random.below(3 + i),
            mirrored: random.chance(15),
        };
        let steps = (0..n).map(|i| step(i, random)).collect();
        let results = (0..1 + random.below(2)).map(|_| 3 + random.below(n)).collect();
        Program { steps, results }
    }

    /// All values, the inputs first.
    fn values<B: Buffer>(&self, inputs: &[B; 3]) -> Result<Vec<B>> {
        let mut values: Vec<B> = inputs.to_vec();
        for step in &self.steps {
            let [result] = step.with_operands(&values, |op, operands| B::call(op, operands))?;
            values.push(result);
        }
        Ok(values)
    }

    fn run<B: Buffer>(&self, inputs: &[B; 3]) -> Result<Vec<B>> {
        let values = self.values(inputs)?;
        Ok(self.results.iter().map(|&index| values[index].clone()).collect())
    }

    /// The gradients of the inputs, by eager calls of the ops' derivatives.
    fn backward(
        &self,
        inputs: &[StridedBuffer; 3],
        cotangents: &[StridedBuffer],
    ) -> Result<Vec<StridedBuffer>> {
        let values = self.values(inputs)?;
        let mut gradients: Vec<Option<StridedBuffer>> = vec![None; values.len()];
        let accumulate = |slot: &mut Option<StridedBuffer>, gradient: StridedBuffer| -> Result<()> {
            *slot = Some(match slot.take() {
                Some(sum) => add(&sum, &gradient)?,
                None => gradient,
            });
            Ok(())
        };
        for (&index, cotangent) in self.results.iter().zip(cotangents) {
            accumulate(&mut gradients[index], cotangent.clone())?;
        }
        for (position, step) in self.steps.iter().enumerate().rev() {
            let Some(cotangent) = gradients[3 + position].take() else { continue };
            let back =
                step.with_operands(&values, |op, operands| op::vjp(op, &[&cotangent], operands, None))?;
            for ((operand, mirrored), gradient) in
                [(step.a, step.mirrored), (step.b, false)].into_iter().zip(back)
            {
                if let Some(gradient) = gradient {
                    let gradient = if mirrored { gradient.flip(&[-1])? } else { gradient };
                    accumulate(&mut gradients[operand], gradient)?;
                }
            }
        }
        let zeros =
            |input: &StridedBuffer| StridedBuffer::zeros(input.dtype(), input.shape(), input.device());
        gradients
            .into_iter()
            .take(3)
            .zip(inputs)
            .map(|(gradient, input)| gradient.map_or_else(|| zeros(input), Ok))
            .collect()
    }
}

/// A function with inputs of a few elements each, the third one perhaps a row, and gradients of its results.
struct Case {
    program: Program,
    inputs: [StridedBuffer; 3],
    cotangents: Vec<StridedBuffer>,
}

impl Case {
    fn new(random_values: &mut Random, dtype: DType, range: Range) -> Case {
        let program = Program::new(random_values);
        let shape = [2 + random_values.below(3), 2 + random_values.below(4)];
        let row = random_values.chance(30);
        let mut buffer =
            |shape: &[usize]| random_values.buffer(dtype, &Layout::contiguous(shape).unwrap(), range);
        let inputs = [buffer(&shape), buffer(&shape), buffer(if row { &shape[1..] } else { &shape })];
        let results = program.run(&inputs).unwrap();
        let cotangents = results.iter().map(|result| buffer(result.shape())).collect();
        Case { program, inputs, cotangents }
    }

    /// The same on another device.
    #[cfg(feature = "gpu")]
    fn on(self, device: Device) -> Case {
        let there = |buffer: StridedBuffer| buffer.to_device(device).unwrap();
        let cotangents = self.cotangents.into_iter().map(there).collect();
        Case { inputs: self.inputs.map(there), cotangents, ..self }
    }

    fn vjp(
        &self,
    ) -> Vjp<3, 3, Vec<SymbolicBuffer>, impl Fn([SymbolicBuffer; 3]) -> Result<Vec<SymbolicBuffer>>> {
        let program = self.program.clone();
        vjp(move |inputs: [SymbolicBuffer; 3]| program.run(&inputs))
    }

    /// Every way to the gradients gives the bits of eager calls.
    fn check_bits(&self) {
        let want = self.program.backward(&self.inputs, &self.cotangents).unwrap();
        let cotangents: Vec<&StridedBuffer> = self.cotangents.iter().collect();
        let inputs = self.inputs.each_ref();
        for fusion in [Fusion::On, Fusion::Off] {
            let f = self.vjp().with_fusion(fusion);
            self.check("at once", &f.gradients(&cotangents, inputs).unwrap(), &want);
            for saving in [Saving::FewestBytes, Saving::Nothing, Saving::Everything] {
                let f = self.vjp().with_fusion(fusion).with_saving(saving);
                let (results, saved) = f.forward(inputs).unwrap();
                for (want, got) in self.program.run(&self.inputs).unwrap().iter().zip(&results) {
                    compare(want, got, Bound::Exact).unwrap();
                }
                self.check("in two passes", &f.backward(&cotangents, &saved).unwrap(), &want);
            }
        }
    }

    fn check(&self, what: &str, got: &[StridedBuffer; 3], want: &[StridedBuffer]) {
        for (want, got) in want.iter().zip(got) {
            assert_eq!(
                (want.dtype(), want.shape()),
                (got.dtype(), got.shape()),
                "{what}: {:?}",
                self.program
            );
            compare(want, got, Bound::Exact).unwrap_or_else(|difference| {
                let cotangents: Vec<&StridedBuffer> = self.cotangents.iter().collect();
                let explained = self.vjp().explain(&cotangents, self.inputs.each_ref()).unwrap();
                panic!("{what}: {difference}\n{:?}\n{explained}", self.program)
            });
        }
    }
}

#[test]
fn gradients_of_random_functions_are_the_bits_of_eager_calls() {
    let turns = if cfg!(debug_assertions) { 120 } else { 2000 };
    let mut values = Random::new(27);
    for turn in 0..turns {
        let dtype = [DType::F32, DType::BF16, DType::F16, DType::F64][turn % 4];
        Case::new(&mut values, dtype, Range::All).check_bits();
    }
}

#[cfg(feature = "gpu")]
#[test]
fn gradients_of_random_functions_are_the_bits_of_eager_calls_on_the_gpu() {
    let mut values = Random::new(29);
    for turn in 0..40 {
        let dtype = [DType::F32, DType::BF16, DType::F16, DType::F64][turn % 4];
        Case::new(&mut values, dtype, Range::All).on(Device::Cuda(0)).check_bits();
    }
}

#[test]
fn gradients_of_random_functions_are_slopes() {
    let mut values = Random::new(28);
    let (mut checked, mut kinks) = (0, 0);
    for _ in 0..100 {
        let case = Case::new(&mut values, DType::F64, Range::Moderate);
        let cotangents: Vec<&StridedBuffer> = case.cotangents.iter().collect();
        let gradients = case.vjp().gradients(&cotangents, case.inputs.each_ref()).unwrap();
        for (position, gradient) in gradients.iter().enumerate() {
            for (element, got) in gradient.to_vec::<f64>().unwrap().into_iter().enumerate() {
                let at = |step: f64| -> f64 {
                    let mut inputs = case.inputs.clone();
                    let mut moved = inputs[position].to_vec::<f64>().unwrap();
                    moved[element] += step;
                    inputs[position] = StridedBuffer::from_slice(&moved, inputs[position].shape()).unwrap();
                    let weighted = |(result, weight): (StridedBuffer, &StridedBuffer)| -> f64 {
                        mul(&result, weight).unwrap().to_vec::<f64>().unwrap().iter().sum()
                    };
                    case.program.run(&inputs).unwrap().into_iter().zip(&case.cotangents).map(weighted).sum()
                };
                let slope = |h: f64| (at(-2.0 * h) - 8.0 * at(-h) + 8.0 * at(h) - at(2.0 * h)) / (12.0 * h);
                let (slope, nearer) = (slope(1e-4), slope(3e-5));
                // Where two steps differ there is a kink or a pole between.
                if (slope - nearer).abs() > 1e-7 * (1.0 + slope.abs()) {
                    kinks += 1;
                    continue;
                }
                checked += 1;
                assert!(
                    (got - slope).abs() < 1e-6 * (1.0 + slope.abs()),
                    "{:?}: input {position}, element {element}: {got}, differences give {slope}",
                    case.program
                );
            }
        }
    }
    assert!(checked > 20 * kinks, "{checked} slopes were compared, {kinks} were at kinks");
}
