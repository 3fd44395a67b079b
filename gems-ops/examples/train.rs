//! A small network that learns to tell three species of iris apart, on Fisher's measurements.
//!
//! Everything pointwise is gems: activation, loss and update, with biases that broadcast, fused, and all their
//! gradients. Matrix products are plain Rust loops, since gems leaves them to others. Ends with an error unless the loss
//! falls and the flowers are told apart.
#![expect(clippy::print_stdout, reason = "the example shows how it learns")]

use gems_ops::prelude::*;

const FEATURES: usize = 4;
const HIDDEN: usize = 12;
const SPECIES: [&str; 3] = ["setosa", "versicolor", "virginica"];
const STEPS: usize = 400;
const RATE: f64 = 0.004;

/// x above 0 and x / (1 − x) below, which joins it smoothly and never falls under −1.
#[pointwise_dynamic(promote = default(x), grad)]
pub fn bend<T: Float>(x: T) -> T {
    if x > 0 { x } else { x / (1 - x) }
}

/// A row-major matrix.
struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f32>,
}

impl Matrix {
    fn new(rows: usize, columns: usize, value: impl Fn(usize, usize) -> f32) -> Matrix {
        let values = (0..rows * columns).map(|i| value(i / columns, i % columns)).collect();
        Matrix { rows, columns, values }
    }

    fn at(&self, row: usize, column: usize) -> f32 {
        self.values[row * self.columns + column]
    }

    fn times(&self, other: &Matrix) -> Matrix {
        let dot = |i, j| (0..self.columns).map(|k| self.at(i, k) * other.at(k, j)).sum();
        Matrix::new(self.rows, other.columns, dot)
    }

    fn transposed(&self) -> Matrix {
        Matrix::new(self.columns, self.rows, |i, j| self.at(j, i))
    }

    fn to_buffer(&self, device: Device) -> Result<StridedBuffer> {
        StridedBuffer::from_slice(&self.values, &[self.rows, self.columns])?.to_device(device)
    }

    fn from_buffer(buffer: &StridedBuffer) -> Result<Matrix> {
        let [rows, columns] = buffer.shape().try_into().unwrap_or([1, buffer.numel()]);
        Ok(Matrix { rows, columns, values: buffer.to_vec()? })
    }
}

/// The measurements, each scaled to mean 0 and deviation 1, and the species as a row of a one and zeros.
fn flowers() -> Result<(Matrix, Matrix)> {
    let wrong = |line: &str| Error::new(ErrorKind::Value, format!("`{line}` is no flower"));
    let mut measured = Vec::new();
    let mut species = Vec::new();
    for line in include_str!("data/iris.csv").lines().filter(|line| !line.starts_with('#')) {
        let (numbers, name) = line.rsplit_once(',').ok_or_else(|| wrong(line))?;
        for number in numbers.split(',') {
            measured.push(number.parse::<f32>().map_err(|_| wrong(line))?);
        }
        species.push(SPECIES.iter().position(|&known| known == name).ok_or_else(|| wrong(line))?);
    }
    let count = species.len();
    let raw = Matrix { rows: count, columns: FEATURES, values: measured };
    let moments = |j: usize| {
        let column = || (0..count).map(|i| raw.at(i, j));
        let mean = column().sum::<f32>() / count as f32;
        (mean, (column().map(|x| (x - mean) * (x - mean)).sum::<f32>() / count as f32).sqrt())
    };
    let moments: Vec<(f32, f32)> = (0..FEATURES).map(moments).collect();
    let scaled = Matrix::new(count, FEATURES, |i, j| (raw.at(i, j) - moments[j].0) / moments[j].1);
    let targets = Matrix::new(count, SPECIES.len(), |i, j| if species[i] == j { 1.0 } else { 0.0 });
    Ok((scaled, targets))
}

/// The weights of a layer: an even spread that differs from place to place.
fn weights(rows: usize, columns: usize) -> Matrix {
    Matrix::new(rows, columns, |i, j| ((i * columns + j) as f32 * 2.399).sin() / (rows as f32).sqrt())
}

/// The share of flowers whose species has the highest score.
fn accuracy(scores: &Matrix, targets: &Matrix) -> f32 {
    let best = |matrix: &Matrix, i: usize| {
        (0..matrix.columns).max_by(|&a, &b| matrix.at(i, a).total_cmp(&matrix.at(i, b)))
    };
    let right = (0..scores.rows).filter(|&i| best(scores, i) == best(targets, i)).count();
    right as f32 / scores.rows as f32
}

fn main() -> Result<()> {
    let device = Device::best();
    println!("running on {device}");
    let (inputs, targets) = flowers()?;
    let wanted = targets.to_buffer(device)?;

    // What stands between and behind the matrix products, each with its gradients.
    let hidden = vjp(|[sums, bias]| bend(&add(&sums, &bias)?));
    let loss = grad(|[sums, bias, wanted]| binary_cross_entropy_with_logits(&add(&sums, &bias)?, &wanted));
    let loss = loss.wrt([0, 1]);
    let step = compile(|[weights, slope]| sub(&weights, &mul(&slope, RATE)?));

    let mut first = weights(FEATURES, HIDDEN).to_buffer(device)?;
    let mut second = weights(HIDDEN, SPECIES.len()).to_buffer(device)?;
    let mut first_bias = StridedBuffer::zeros(DType::F32, &[HIDDEN], device)?;
    let mut second_bias = StridedBuffer::zeros(DType::F32, &[SPECIES.len()], device)?;
    let mut losses = Vec::new();
    for turn in 0..=STEPS {
        let first_sums = inputs.times(&Matrix::from_buffer(&first)?).to_buffer(device)?;
        let (activated, saved) = hidden.forward([&first_sums, &first_bias])?;
        let activated = Matrix::from_buffer(&activated)?;
        let second_matrix = Matrix::from_buffer(&second)?;
        let second_sums = activated.times(&second_matrix).to_buffer(device)?;
        let (each, [d_second_sums, d_second_bias]) =
            loss.with_results([&second_sums, &second_bias, &wanted])?;
        let mean = each.to_vec::<f32>()?.iter().sum::<f32>() / inputs.rows as f32;
        losses.push(mean);
        if turn % 100 == 0 {
            let scores = Matrix::from_buffer(&add(&second_sums, &second_bias)?)?;
            println!("step {turn}: loss {mean:.4}, {:.1} % right", 100.0 * accuracy(&scores, &targets));
        }
        if turn == STEPS {
            println!("\n{}", hidden.explain_passes([&first_sums, &first_bias])?);
            let right = accuracy(&Matrix::from_buffer(&add(&second_sums, &second_bias)?)?, &targets);
            return learned(&losses, right);
        }

        let d_sums = Matrix::from_buffer(&d_second_sums)?;
        let d_second = activated.transposed().times(&d_sums).to_buffer(device)?;
        let d_activated = d_sums.times(&second_matrix.transposed()).to_buffer(device)?;
        let [d_first_sums, d_first_bias] = hidden.backward(&[&d_activated], &saved)?;
        let d_first = inputs.transposed().times(&Matrix::from_buffer(&d_first_sums)?).to_buffer(device)?;

        first = step.call([&first, &d_first])?;
        first_bias = step.call([&first_bias, &d_first_bias])?;
        second = step.call([&second, &d_second])?;
        second_bias = step.call([&second_bias, &d_second_bias])?;
    }
    Ok(())
}

/// An error unless the loss fell, nearly always from step to step, and the flowers are told apart.
fn learned(losses: &[f32], right: f32) -> Result<()> {
    let falls = losses.windows(2).filter(|pair| pair[1] < pair[0]).count();
    let (start, end) = (losses[0], losses[losses.len() - 1]);
    if end < 0.2 * start && falls * 100 > losses.len() * 95 && right > 0.95 {
        return Ok(());
    }
    let message = format!(
        "loss went from {start} to {end}, falling {falls} times, and {right} of the flowers are right"
    );
    Err(Error::new(ErrorKind::Value, message))
}
