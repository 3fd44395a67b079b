//! The main job end to end: z = gelu_and_mul(tanh(y), x − y), its gradients, and an op of one's own.
//!
//! First without memory, on symbolic buffers; then on the GPU if there is one, else on the CPU. Every value is
//! checked against plain Rust loops.
#![expect(clippy::print_stdout, reason = "the example shows what it computes")]

use gems_ops::prelude::*;
use half::bf16;

/// Rational softsign gate: x / (1 + |x|) · y.
#[pointwise_dynamic(promote = default(x, y))]
pub fn softsign_gate<T: Float>(x: T, y: T) -> T {
    x / (1 + x.abs()) * y
}

/// The function of the tour: four ops, written once for buffers with and without memory.
fn gated<B: Buffer>(x: &B, y: &B) -> Result<B> {
    gelu_and_mul(&tanh(y)?, &sub(x, y)?)
}

/// Its gradients for x and y, chained by hand.
fn gated_backward<B: Buffer>(dz: &B, x: &B, y: &B) -> Result<(B, B)> {
    let t = tanh(y)?;
    let d = sub(x, y)?;
    let (dt, dd) = gelu_and_mul_backward(dz, &t, &d)?;
    let dy = sub(&tanh_backward(&dt, &t)?, &dd)?;
    Ok((dd, dy))
}

fn main() -> Result<()> {
    let device = Device::best();
    println!("running on {device}\n");

    const ROWS: usize = 6;
    const COLUMNS: usize = 8;
    // x is a row that broadcasts, y is stored transposed.
    let x_values: Vec<f32> = (0..COLUMNS).map(|i| i as f32 * 0.4 - 1.5).collect();
    let y_values: Vec<f32> = (0..ROWS * COLUMNS).map(|i| (i as f32 * 0.37).sin() * 2.0).collect();

    // Without memory: dtype, shape and strides of every step.
    let x = SymbolicBuffer::new(DType::BF16, &[COLUMNS], device)?;
    let y = SymbolicBuffer::new(DType::BF16, &[COLUMNS, ROWS], device)?.t()?;
    let promised = gated(&x, &y)?;
    println!("symbolic   x {x}, y {y}  ->  z {promised}");

    // With memory: the same function.
    let x = StridedBuffer::from_slice(&round(&x_values), &[COLUMNS])?.to_device(device)?;
    let y = StridedBuffer::from_slice(&round(&y_values), &[COLUMNS, ROWS])?.to_device(device)?.t()?;
    let z = gated(&x, &y)?;
    println!("real       x {:?}, y {:?}  ->  z {:?}", x.meta(), y.meta(), z.meta());
    assert_eq!(z.meta(), promised.meta(), "a traced call promises what the real one gives");

    let x = StridedBuffer::from_slice(&x_values, &[COLUMNS])?.to_device(device)?;
    let y = StridedBuffer::from_slice(&y_values, &[COLUMNS, ROWS])?.to_device(device)?.t()?;
    let z = gated(&x, &y)?;
    let expected = loops(&x_values, &y_values, ROWS, reference);
    let error = check(&z.to_vec()?, &expected, 2e-6);
    println!("f32        z agrees with plain loops to {error:.1e}");
    println!("           z[0] = {}", z.select(0, 0)?);

    // Traced without memory and fused: one kernel instead of three, and the same bits.
    let fused = compile(|[x, y]| gated(&x, &y));
    assert_eq!(fused.call([&x, &y])?.to_vec::<f32>()?, z.to_vec::<f32>()?, "fusing changes no bit");
    println!("           fused, it has the same bits");

    let dz = StridedBuffer::full(DType::F32, &[ROWS, COLUMNS], 1.0, device)?;
    let (dx, dy) = gated_backward(&dz, &x, &y)?;
    let step = 1e-5;
    let slope_x = loops(&x_values, &y_values, ROWS, |x, y| {
        (reference(x + step, y) - reference(x - step, y)) / (2.0 * step)
    });
    let slope_y = loops(&x_values, &y_values, ROWS, |x, y| {
        (reference(x, y + step) - reference(x, y - step)) / (2.0 * step)
    });
    println!("           dx agrees with central differences to {:.1e}", check(&dx.to_vec()?, &slope_x, 1e-5));
    println!("           dy agrees with central differences to {:.1e}", check(&dy.to_vec()?, &slope_y, 1e-5));

    let own = softsign_gate(&x, &y)?;
    let expected = loops(&x_values, &y_values, ROWS, |x, y| x / (1.0 + x.abs()) * y);
    println!("           softsign_gate agrees to {:.1e}\n", check(&own.to_vec()?, &expected, 2e-6));

    println!("what softsign_gate became on the GPU:\n");
    println!("{}", softsign_gate::DEF.cuda_source()?);
    Ok(())
}

/// erf is not in std: the integral of its density by Simpson's rule, good to 1e-12 on the range used here.
fn erf(x: f64) -> f64 {
    let steps = 400;
    let width = x / f64::from(steps);
    let density = |i: i32| (-(f64::from(i) * width).powi(2)).exp();
    let inner: f64 = (1..steps).map(|i| density(i) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
    (density(0) + inner + density(steps)) * width / 3.0 * std::f64::consts::FRAC_2_SQRT_PI
}

fn reference(x: f64, y: f64) -> f64 {
    let t = y.tanh();
    0.5 * t * (1.0 + erf(t * std::f64::consts::FRAC_1_SQRT_2)) * (x - y)
}

/// `function` over a broadcast row x and a transposed y, in row-major order of the result.
fn loops(x: &[f32], y: &[f32], rows: usize, function: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    let mut values = Vec::new();
    for row in 0..rows {
        for (column, &x) in x.iter().enumerate() {
            values.push(function(f64::from(x), f64::from(y[column * rows + row])));
        }
    }
    values
}

fn round(values: &[f32]) -> Vec<bf16> {
    values.iter().map(|&value| bf16::from_f32(value)).collect()
}

/// The largest difference; stops the example if it is above `most`.
fn check(got: &[f32], expected: &[f64], most: f64) -> f64 {
    assert_eq!(got.len(), expected.len());
    let error = got.iter().zip(expected).map(|(&g, e)| (f64::from(g) - e).abs()).fold(0.0, f64::max);
    assert!(error <= most, "largest difference {error:e} is above {most:e}");
    error
}
