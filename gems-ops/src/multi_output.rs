//! Ops of several results: parts of floats, values with what their gradient needs, pairs of gradients, gated cells.
//!
//! The forms of one buffer take its pieces along an axis as views.

use crate::gated::halves;
use crate::prelude::*;
use crate::quantization::{nearest_step, quantization_range};
use gems_runtime::layout::{Extent, Place};

/// x as mantissa·2^exponent with the mantissa in [½, 1): exact, subnormal numbers too; ±0, ±∞ and NaN give (x, 0).
///
/// Matches `torch.frexp`.
///
/// Accuracy: exact. Derivative: 2^−exponent for the mantissa.
#[pointwise_dynamic(promote = default(input), outputs(mantissa, exponent), grad(order = 2))]
pub fn frexp<T: Float>(input: T) -> (T, i32) {
    input.frexp()
}

/// sin x and cos x, by one reading of x.
///
/// Integers become floats first; ±∞ gives NaN twice. Own addition; the values of `torch.sin` and `torch.cos`.
///
/// Accuracy: 2 ulp; complex 8 ulp of the magnitude. Derivative: cos x and −sin x.
#[pointwise_dynamic(
    promote = int_to_float(input), dtypes(bool, int, float, complex), outputs(sine, cosine), grad(order = 2)
)]
pub fn sincos<T: Analytic>(input: T) -> (T, T) {
    (input.sin(), input.cos())
}

/// The parts of [`polar`](fn@polar) in two buffers: (abs·cos θ, abs·sin θ).
///
/// Own addition; `torch.polar` in two buffers.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp. Derivative: that of the formula, for both.
#[pointwise_dynamic(promote = default(abs, angle), outputs(real_part, imag_part), grad(order = 2))]
pub fn polar_parts<T: Float>(abs: T, angle: T) -> (T, T) {
    (abs * angle.cos(), abs * angle.sin())
}

/// [`log_sigmoid`](fn@log_sigmoid) and exp(−|x|), which its gradient may use.
///
/// Matches `aten::log_sigmoid_forward`.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp. Derivative: by the formula.
#[pointwise_dynamic(promote = default(input), outputs(output, buffer), grad)]
pub fn log_sigmoid_forward<T: Float>(input: T) -> (T, T) {
    (log_sigmoid::scalar(input), (-input.abs()).exp())
}

/// [`fake_quantize_per_tensor_affine`](fn@fake_quantize_per_tensor_affine), and whether no bound was met.
///
/// Matches `torch.fake_quantize_per_tensor_affine_cachemask`, but for NaN (lost there).
///
/// Accuracy: every written step is rounded correctly, alike on all devices. Derivative: by the formula.
#[pointwise_dynamic(promote = default(input), vote(input), outputs(output, mask), check = quantization_range, grad)]
pub fn fake_quantize_per_tensor_affine_cachemask<T: Float>(
    input: T,
    scale: T,
    zero_point: T,
    #[param] quant_min: T,
    #[param] quant_max: T,
) -> (T, bool) {
    let step = nearest_step(input, scale, zero_point);
    let output = fake_quantize_per_tensor_affine::scalar(input, scale, zero_point, quant_min, quant_max);
    (output, step >= quant_min && step <= quant_max)
}

/// The gradients of [`glu_kernel`](fn@glu_kernel): (dz·σ(b), dz·a·σ(b)(1 − σ(b))).
///
/// Matches `aten::glu_backward`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, input, gate), outputs(grad_input, grad_gate), grad)]
pub fn glu_backward_kernel<T: Float>(grad_output: T, input: T, gate: T) -> (T, T) {
    let open = sigmoid::scalar(gate);
    (grad_output * open, grad_output * input * open * sigmoid::scalar(-gate))
}

/// The gradient of [`glu`], both halves in one buffer.
///
/// Matches `aten::glu_backward`.
///
/// # Errors
/// `Shape` if the axis is out of range or of odd size, or `grad_output` does not fit a half; else as
/// [`glu_backward_kernel`](fn@glu_backward_kernel).
pub fn glu_backward<B: Buffer>(grad_output: &B, input: &B, dim: isize) -> Result<B> {
    let (value, gate) = halves(input, dim, "glu_backward")?;
    let grad = copy(input)?;
    let (mut grad_value, mut grad_gate) = halves(&grad, dim, "glu_backward")?;
    glu_backward_kernel::out(grad_output, &value, &gate, &mut grad_value, &mut grad_gate)?;
    Ok(grad)
}

/// The gradients of [`prelu_kernel`](fn@prelu_kernel), element by element: (x > 0 ? dz : w·dz, x > 0 ? 0 : x·dz).
///
/// Matches `aten::_prelu_kernel_backward`.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, input, weight), outputs(grad_input, grad_weight), grad)]
pub fn prelu_kernel_backward<T: Float>(grad_output: T, input: T, weight: T) -> (T, T) {
    if input > 0 { (grad_output, 0) } else { (weight * grad_output, input * grad_output) }
}

/// The gradients of [`silu_and_mul`](fn@silu_and_mul) for x and y: (dz·y·silu′(x), dz·silu(x)).
///
/// Matches FlagGems' `silu_and_mul` backward.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: that of the formula.
#[pointwise_dynamic(promote = default(grad_output, x, y), outputs(dx, dy), grad)]
pub fn silu_and_mul_backward<T: Float>(grad_output: T, x: T, y: T) -> (T, T) {
    (silu_backward::scalar(grad_output * y, x), grad_output * silu::scalar(x))
}

/// The gradients of [`silu_and_mul_with_clamp`](fn@silu_and_mul_with_clamp) for x and y: 0 beyond a bound, as without
/// bounds elsewhere.
///
/// Matches FlagGems' `silu_and_mul_with_clamp` backward.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded; functions of the library have 2
/// ulp. Derivative: by the formula.
#[pointwise_dynamic(promote = default(grad_output, x, y), outputs(dx, dy), grad)]
pub fn silu_and_mul_with_clamp_backward<T: Float>(grad_output: T, x: T, y: T, #[param] limit: T) -> (T, T) {
    let gate = clamp_max::scalar(x, limit);
    let up = clamp::scalar(y, -limit, limit);
    let dx = if x > limit { 0 } else { silu_backward::scalar(grad_output * up, gate) };
    let dy = if y < -limit || y > limit { 0 } else { grad_output * silu::scalar(gate) };
    (dx, dy)
}

/// The plane of (x1, x2) turned: (x1·cos − x2·sin, x2·cos + x1·sin).
///
/// Halves or interleaved pairs of one buffer are views of it. Matches FlagGems' rotary embedding.
///
/// Special values: IEEE 754's, step by step. Accuracy: every written step is rounded correctly, alike on all devices.
/// Derivative: the same turn backward.
#[pointwise_dynamic(promote = default(x1, x2, cos, sin), outputs(y1, y2), vote(x1, x2), grad(order = 2))]
pub fn rotary_embedding<T: Float>(x1: T, x2: T, cos: T, sin: T) -> (T, T) {
    (x1 * cos - x2 * sin, x2 * cos + x1 * sin)
}

/// [`rotary_embedding`](fn@rotary_embedding) in place.
///
/// # Errors
/// Operands that do not broadcast to x1 and x2, or do not promote to their dtype; a device that fails.
pub fn rotary_embedding_<B: Buffer>(x1: &mut B, x2: &mut B, cos: &B, sin: &B) -> Result<()> {
    let (first, second) = (x1.clone(), x2.clone());
    rotary_embedding::out(&first, &second, cos, sin, x1, x2)
}

/// The cell of an LSTM behind its matrix products, one sum for each gate: (hy, cy, and the open gates i, f, g, o).
#[device_fn(grad)]
fn lstm_gates<T: Float>(i: T, f: T, g: T, o: T, cx: T) -> (T, T, T, T, T, T) {
    let (i, f, g, o) = (sigmoid::scalar(i), sigmoid::scalar(f), g.tanh(), sigmoid::scalar(o));
    let cy = f * cx + i * g;
    (o * cy.tanh(), cy, i, f, g, o)
}

/// cy = σ(f)·cx + σ(i)·tanh(g); hy = σ(o)·tanh(cy); and the four gates, which the gradient needs.
///
/// The formula of [`lstm_cell_pointwise`] for gates in buffers of their own.
///
/// Matches `aten::_thnn_fused_lstm_cell`.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of each factor, every sum and product rounded.
/// Derivative: by the formula.
#[pointwise_dynamic(
    promote = default(input_i, input_f, input_g, input_o, hidden_i, hidden_f, hidden_g, hidden_o, cx),
    outputs(hy, cy, gate_i, gate_f, gate_g, gate_o), vote(cx), grad
)]
pub fn lstm_cell_kernel<T: Float>(
    input_i: T,
    input_f: T,
    input_g: T,
    input_o: T,
    hidden_i: T,
    hidden_f: T,
    hidden_g: T,
    hidden_o: T,
    cx: T,
) -> (T, T, T, T, T, T) {
    lstm_gates(input_i + hidden_i, input_f + hidden_f, input_g + hidden_g, input_o + hidden_o, cx)
}

/// [`lstm_cell_kernel`](fn@lstm_cell_kernel) with the two biases of each gate added behind its two products.
///
/// Matches `aten::_thnn_fused_lstm_cell` with biases.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of each factor, every sum and product rounded.
/// Derivative: by the formula.
#[pointwise_dynamic(
    promote = default(
        input_i, input_f, input_g, input_o, hidden_i, hidden_f, hidden_g, hidden_o, cx, bias_i, bias_f, bias_g,
        bias_o, hidden_bias_i, hidden_bias_f, hidden_bias_g, hidden_bias_o
    ),
    outputs(hy, cy, gate_i, gate_f, gate_g, gate_o), vote(cx), grad
)]
pub fn lstm_cell_biased_kernel<T: Float>(
    input_i: T,
    input_f: T,
    input_g: T,
    input_o: T,
    hidden_i: T,
    hidden_f: T,
    hidden_g: T,
    hidden_o: T,
    cx: T,
    bias_i: T,
    bias_f: T,
    bias_g: T,
    bias_o: T,
    hidden_bias_i: T,
    hidden_bias_f: T,
    hidden_bias_g: T,
    hidden_bias_o: T,
) -> (T, T, T, T, T, T) {
    let i = input_i + hidden_i + bias_i + hidden_bias_i;
    let f = input_f + hidden_f + bias_f + hidden_bias_f;
    let g = input_g + hidden_g + bias_g + hidden_bias_g;
    let o = input_o + hidden_o + bias_o + hidden_bias_o;
    lstm_gates(i, f, g, o, cx)
}

/// The cell of an LSTM behind its matrix products: (hy, cy, and the gates σ(i), σ(f), tanh(g), σ(o)).
///
/// `input_gates` and `hidden_gates` hold i, f, g and o side by side along the last axis; so do the biases, if given.
/// Matches `aten::_thnn_fused_lstm_cell`, whose third result holds the gates side by side.
///
/// # Errors
/// `Shape` if a last axis has no quarters; else as [`lstm_cell_kernel`](fn@lstm_cell_kernel).
pub fn lstm_cell_pointwise<B: Buffer>(
    input_gates: &B,
    hidden_gates: &B,
    cx: &B,
    biases: Option<(&B, &B)>,
) -> Result<(B, B, [B; 4])> {
    let [ii, fi, gi, oi] = pieces(input_gates, "lstm_cell_pointwise")?;
    let [ih, fh, gh, oh] = pieces(hidden_gates, "lstm_cell_pointwise")?;
    let (hy, cy, i, f, g, o) = match biases {
        None => lstm_cell_kernel(&ii, &fi, &gi, &oi, &ih, &fh, &gh, &oh, cx)?,
        Some((input_bias, hidden_bias)) => {
            let [bi, bf, bg, bo] = pieces(input_bias, "lstm_cell_pointwise")?;
            let [ci, cf, cg, co] = pieces(hidden_bias, "lstm_cell_pointwise")?;
            lstm_cell_biased_kernel(
                &ii, &fi, &gi, &oi, &ih, &fh, &gh, &oh, cx, &bi, &bf, &bg, &bo, &ci, &cf, &cg, &co,
            )?
        }
    };
    Ok((hy, cy, [i, f, g, o]))
}

/// r = σ(r), z = σ(z), n = tanh(input n + r·hidden n), hy = n + z·(hx − n): (hy, r, z, n).
#[device_fn(grad)]
fn gru_gates<T: Float>(r: T, z: T, input_n: T, hidden_n: T, hx: T) -> (T, T, T, T) {
    let (r, z) = (sigmoid::scalar(r), sigmoid::scalar(z));
    let n = (input_n + r * hidden_n).tanh();
    (n + z * (hx - n), r, z, n)
}

/// n = tanh(input n + σ(r)·hidden n); hy = n + σ(z)·(hx − n); and the three gates, which the gradient needs.
///
/// The formula of [`gru_cell_pointwise`] for gates in buffers of their own.
///
/// Matches `aten::_thnn_fused_gru_cell`.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of each factor, every sum and product rounded.
/// Derivative: that of the formula.
#[pointwise_dynamic(
    promote = default(input_r, input_z, input_n, hidden_r, hidden_z, hidden_n, hx),
    outputs(hy, gate_r, gate_z, gate_n), vote(hx),
    grad
)]
pub fn gru_cell_kernel<T: Float>(
    input_r: T,
    input_z: T,
    input_n: T,
    hidden_r: T,
    hidden_z: T,
    hidden_n: T,
    hx: T,
) -> (T, T, T, T) {
    gru_gates(input_r + hidden_r, input_z + hidden_z, input_n, hidden_n, hx)
}

/// [`gru_cell_kernel`](fn@gru_cell_kernel) with biases: both added behind both products of r and z, each to its own
/// product of n.
///
/// Matches `aten::_thnn_fused_gru_cell` with biases.
///
/// Special values: IEEE 754's, step by step. Accuracy: 4 ulp of each factor, every sum and product rounded.
/// Derivative: by the formula.
#[pointwise_dynamic(
    promote = default(
        input_r, input_z, input_n, hidden_r, hidden_z, hidden_n, hx, bias_r, bias_z, bias_n, hidden_bias_r,
        hidden_bias_z, hidden_bias_n
    ),
    outputs(hy, gate_r, gate_z, gate_n), vote(hx), grad
)]
pub fn gru_cell_biased_kernel<T: Float>(
    input_r: T,
    input_z: T,
    input_n: T,
    hidden_r: T,
    hidden_z: T,
    hidden_n: T,
    hx: T,
    bias_r: T,
    bias_z: T,
    bias_n: T,
    hidden_bias_r: T,
    hidden_bias_z: T,
    hidden_bias_n: T,
) -> (T, T, T, T) {
    let r = input_r + hidden_r + bias_r + hidden_bias_r;
    let z = input_z + hidden_z + bias_z + hidden_bias_z;
    gru_gates(r, z, input_n + bias_n, hidden_n + hidden_bias_n, hx)
}

/// The cell of a GRU behind its matrix products: (hy, and the gates σ(r), σ(z), n).
///
/// `input_gates` and `hidden_gates` hold r, z and n side by side along the last axis; so do the biases, if given.
/// Matches `aten::_thnn_fused_gru_cell`, whose second result holds the gates and two operands side by side.
///
/// # Errors
/// `Shape` if a last axis has no thirds; else as [`gru_cell_kernel`](fn@gru_cell_kernel).
pub fn gru_cell_pointwise<B: Buffer>(
    input_gates: &B,
    hidden_gates: &B,
    hx: &B,
    biases: Option<(&B, &B)>,
) -> Result<(B, [B; 3])> {
    let [ri, zi, ni] = pieces(input_gates, "gru_cell_pointwise")?;
    let [rh, zh, nh] = pieces(hidden_gates, "gru_cell_pointwise")?;
    let (hy, r, z, n) = match biases {
        None => gru_cell_kernel(&ri, &zi, &ni, &rh, &zh, &nh, hx)?,
        Some((input_bias, hidden_bias)) => {
            let [br, bz, bn] = pieces(input_bias, "gru_cell_pointwise")?;
            let [cr, cz, cn] = pieces(hidden_bias, "gru_cell_pointwise")?;
            gru_cell_biased_kernel(&ri, &zi, &ni, &rh, &zh, &nh, hx, &br, &bz, &bn, &cr, &cz, &cn)?
        }
    };
    Ok((hy, [r, z, n]))
}

/// `N` equal pieces of the last axis.
fn pieces<B: Buffer, const N: usize>(gates: &B, op: &str) -> Result<[B; N]> {
    let place = Place::new("taking equal pieces").axis(gates.dims().len().saturating_sub(1));
    let size = gates.dims().last().map_or(1, |size| size.number(place));
    let refused = || {
        let message = format!("the last axis of {} has no {N} equal pieces; give one a gate", gates.meta());
        Error::new(ErrorKind::Shape, message).in_op(op)
    };
    if !size.is_multiple_of(N) {
        return Err(refused());
    }
    gates.chunk(-1, N)?.try_into().map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(values: &[f64], shape: &[usize]) -> StridedBuffer {
        StridedBuffer::from_slice(values, shape).unwrap()
    }

    fn values(buffer: &StridedBuffer) -> Vec<f64> {
        buffer.to_vec::<f64>().unwrap()
    }

    #[test]
    fn frexp_splits_bits() {
        assert_eq!(frexp::scalar(1e-45f32), (0.5, -148));
        assert_eq!((frexp::scalar(-3.0f64), frexp::scalar(0.0f64)), ((-0.75, 2), (0.0, 0)));
        assert_eq!(frexp::scalar(f64::INFINITY), (f64::INFINITY, 0));
        let (mantissa, exponent) =
            frexp(&StridedBuffer::full(DType::F16, &[1], 6.0, Device::Cpu).unwrap()).unwrap();
        assert_eq!((mantissa.dtype(), exponent.dtype()), (DType::F16, DType::I32));
    }

    #[test]
    fn masks_tell_where_no_bound_was_met() {
        let (output, mask) =
            fake_quantize_per_tensor_affine_cachemask(&buffer(&[-9.0, 0.6, 9.0], &[3]), 0.5, 1, -4, 4)
                .unwrap();
        assert_eq!(values(&output), [-2.5, 0.5, 1.5]);
        assert_eq!(mask.to_vec::<bool>().unwrap(), [false, true, false]);
        assert!(!fake_quantize_per_tensor_affine_cachemask::scalar(f64::NAN, 1.0, 0.0, -4.0, 4.0).1);
    }

    #[test]
    fn glu_gradients_fill_both_halves() {
        let input = buffer(&[3.0, 0.0, -1.0, 2.0, 0.0, 0.0, 0.0, 0.0], &[2, 4]);
        let grad = glu_backward(&buffer(&[2.0, 1.0, 1.0, 1.0], &[2, 2]), &input, -1).unwrap();
        let gate = |x: f64| 1.0 / (1.0 + (-x).exp());
        let (low, high) = (gate(-1.0), gate(2.0));
        let expected = [2.0 * low, high, 6.0 * low * (1.0 - low), 0.0, 0.5, 0.5, 0.0, 0.0];
        let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-15;
        assert!(values(&grad).iter().zip(&expected).all(close));
        assert_eq!(glu_backward(&input, &input, 5).unwrap_err().kind(), ErrorKind::Shape);
    }

    #[test]
    fn gradients_stop_at_bounds() {
        assert_eq!(prelu_kernel_backward::scalar(2.0f64, -3.0, 0.5), (1.0, -6.0));
        assert_eq!(prelu_kernel_backward::scalar(2.0f64, 3.0, 0.5), (2.0, 0.0));
        let bounded = silu_and_mul_with_clamp_backward::scalar;
        assert_eq!(bounded(1.0f64, 5.0, 1.0, 4.0).0, 0.0);
        assert_eq!(bounded(1.0f64, 1.0, 5.0, 4.0).1, 0.0);
        assert_eq!(bounded(2.0f64, 1.0, -3.0, 4.0), silu_and_mul_backward::scalar(2.0, 1.0, -3.0));
    }

    #[test]
    fn rotation_in_place_reads_before_it_writes() {
        let (mut x1, mut x2) = (buffer(&[1.0, 2.0], &[2]), buffer(&[3.0, 4.0], &[2]));
        rotary_embedding_(&mut x1, &mut x2, &buffer(&[0.0, 1.0], &[2]), &buffer(&[1.0, 0.0], &[2])).unwrap();
        assert_eq!((values(&x1), values(&x2)), (vec![-3.0, 2.0], vec![1.0, 4.0]));
    }

    #[test]
    fn lstm_gates_open_by_quarters() {
        let gates = buffer(&[0.0, 30.0, 0.5, 30.0], &[1, 4]);
        let (hy, cy, [i, _, g, o]) =
            lstm_cell_pointwise(&gates, &buffer(&[0.0; 4], &[1, 4]), &buffer(&[2.0], &[1, 1]), None).unwrap();
        let c = 2.0 + 0.5 * 0.5f64.tanh();
        assert!((values(&cy)[0] - c).abs() < 1e-11 && (values(&hy)[0] - c.tanh()).abs() < 1e-11);
        assert_eq!((values(&i)[0], values(&g)[0]), (0.5, 0.5f64.tanh()));
        assert!(values(&o)[0] > 0.999);
        let biases = (&buffer(&[1.0, 0.0, 0.0, 0.0], &[4]), &buffer(&[-1.0, 0.0, 0.0, 0.0], &[4]));
        let biased =
            lstm_cell_pointwise(&gates, &buffer(&[0.0; 4], &[1, 4]), &buffer(&[2.0], &[1, 1]), Some(biases));
        assert_eq!(values(&biased.unwrap().1), values(&cy));
        let odd = buffer(&[0.0; 3], &[1, 3]);
        assert_eq!(lstm_cell_pointwise(&odd, &gates, &hy, None).unwrap_err().kind(), ErrorKind::Shape);
    }

    #[test]
    fn gru_gates_open_by_thirds() {
        let input = buffer(&[0.0, 0.0, 0.25], &[1, 3]);
        let hidden = buffer(&[0.0, 0.0, 0.5], &[1, 3]);
        let (hy, [r, z, n]) = gru_cell_pointwise(&input, &hidden, &buffer(&[2.0], &[1, 1]), None).unwrap();
        let new = 0.5f64.tanh();
        assert_eq!((values(&r)[0], values(&z)[0], values(&n)[0]), (0.5, 0.5, new));
        assert_eq!(values(&hy)[0], new + 0.5 * (2.0 - new));
        let biases = (&buffer(&[0.0, 0.0, 0.5], &[3]), &buffer(&[0.0, 0.0, -1.0], &[3]));
        let (_, [_, _, n]) =
            gru_cell_pointwise(&input, &hidden, &buffer(&[2.0], &[1, 1]), Some(biases)).unwrap();
        assert_eq!(values(&n)[0], 0.5f64.tanh());
    }
}
