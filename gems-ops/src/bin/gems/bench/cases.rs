//! The cases of the bandwidth contract: what runs, on which operands, and what must be reached.
//!
//! Pure data. Operands are in the notation of the tool, so that a case can be typed by hand.

use super::program;
use gems_ops::plan::Program;

/// One measured call.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) what: What,
    /// One a parameter: numbers, or `dtype[shape]` with views behind it.
    pub(crate) operands: &'static [&'static str],
    /// The output's layout where the op would choose another one.
    pub(crate) out: Option<&'static str>,
    /// The fraction of a copy that must be reached; none for rows that are measured for their time.
    pub(crate) reach: Option<f64>,
}

/// What a case computes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// An op of the registry.
    Op(&'static str),
    /// Several ops in one kernel.
    Fused(fn() -> Program),
}

const fn op(name: &'static str, op: &'static str, operands: &'static [&'static str], reach: f64) -> Case {
    Case { name, what: What::Op(op), operands, out: None, reach: Some(reach) }
}

const fn into(case: Case, out: &'static str) -> Case {
    Case { out: Some(out), ..case }
}

const fn fused(
    name: &'static str,
    program: fn() -> Program,
    operands: &'static [&'static str],
    reach: f64,
) -> Case {
    Case { name, what: What::Fused(program), operands, out: None, reach: Some(reach) }
}

const fn timed(name: &'static str, op: &'static str, operands: &'static [&'static str]) -> Case {
    Case { name, what: What::Op(op), operands, out: None, reach: None }
}

const F32: &str = "f32[268435456]";
const BF16: &str = "bf16[536870912]";
const BF16_HALF: &str = "bf16[268435456]";
const EIGHTH: &str = "f32[134217728]";
const SQUARE: &str = "f32[16384,16384]";

/// All cases, in the order of the report.
pub(crate) const CASES: &[Case] = &[
    op("copy_f32", "copy", &[F32], 1.00),
    op("tanh_f32", "tanh", &[F32], 1.00),
    op("sin_f32", "sin", &[F32], 1.00),
    op("exp_f64", "exp", &["f64[134217728]"], 0.97),
    op("tanh_bf16", "tanh", &[BF16], 0.98),
    op("abs_i8", "abs", &["i8[1073741824]"], 0.97),
    into(op("cast_f32_bf16", "copy", &[F32], 1.03), BF16_HALF),
    op("add_f32", "add", &[F32, F32], 1.05),
    op("add_bf16", "add", &[BF16, BF16], 1.05),
    op("add_bf16_f32", "add", &[BF16_HALF, F32], 0.97),
    op("eq_bf16", "eq", &[BF16, BF16], 1.06),
    op("gelu_and_mul_f32", "gelu_and_mul", &[F32, F32], 0.98),
    op("gelu_and_mul_bf16", "gelu_and_mul", &[BF16, BF16], 0.97),
    op("gelu_and_mul_backward_bf16", "gelu_and_mul_backward", &[BF16_HALF, BF16_HALF, BF16_HALF], 0.97),
    op("where_f32", "where", &["bool[268435456]", F32, F32], 1.05),
    op("addcmul_f32", "addcmul", &[F32, F32, F32, "0.5"], 1.05),
    op("scalar0d_f32", "mul", &[F32, "f32[]"], 0.97),
    op("row_f32", "add", &[SQUARE, "f32[16384]"], 0.97),
    op("col_f32", "add", &[SQUARE, "f32[16384,1]"], 0.97),
    op("outer_f32", "add", &["f32[16384,1]", "f32[1,16384]"], 0.97),
    op("addT_f32", "add", &[SQUARE, "f32[16384,16384].t()"], 0.99),
    op("addT_bf16", "add", &["bf16[16384,16384]", "bf16[16384,16384].t()"], 0.97),
    into(op("copyT_f32", "tanh", &["f32[16384,16384].t()"], 0.97), SQUARE),
    into(op("perm4_f32", "tanh", &["f32[128,128,128,128].permute(3,1,2,0)"], 0.97), "f32[128,128,128,128]"),
    op("nhwc_bf16", "add", &["bf16[64,256,112,112]", "bf16[64,112,112,256].permute(0,3,1,2)"], 0.97),
    op("slice2_f32", "tanh", &["f32[16384,16384].slice(1,0,16384,2)"], 0.97),
    op("oddrows_f32", "tanh", &["f32[16384,16384].narrow(1,0,16381)"], 0.97),
    op(
        "misalign_f32",
        "add",
        &["f32[268435456].narrow(0,1,268435452)", "f32[268435456].narrow(0,3,268435452)"],
        1.00,
    ),
    op(
        "misalign_bf16",
        "add",
        &["bf16[536870912].narrow(0,1,536870908)", "bf16[536870912].narrow(0,3,536870908)"],
        0.97,
    ),
    op("flip_f32", "tanh", &["f32[16384,16384].flip(-1)"], 0.97),
    op("strided5_f32", "tanh", &["f32[64,64,64,32,32].slice(1,0,64,2).slice(3,0,32,2)"], 0.97),
    fused("seedF_f32", program::seed_f32, &[F32, F32], 0.99),
    fused("seedF_bf16", program::seed_bf16, &[BF16, BF16], 0.97),
    fused("seedF_backward_f32", program::seed_backward_f32, &[F32, F32, F32], 0.97),
    fused("adamw_f32", program::adamw_f32, &[EIGHTH, EIGHTH, EIGHTH, EIGHTH], 0.97),
    op("add_i8_4g", "add", &["i8[4294967296]", "i8[4294967296]"], 0.97),
    timed("tanh_bf16_2^20", "tanh", &["bf16[1048576]"]),
    timed("tanh_bf16_2^22", "tanh", &["bf16[4194304]"]),
    timed("tanh_bf16_2^24", "tanh", &["bf16[16777216]"]),
    timed("neg_bf16_2^20", "neg", &["bf16[1048576]"]),
    timed("neg_bf16_2^22", "neg", &["bf16[4194304]"]),
    timed("neg_bf16_2^24", "neg", &["bf16[16777216]"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_case_has_its_own_name_and_an_op_that_exists() {
        let names: BTreeSet<_> = CASES.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), CASES.len());
        for case in CASES {
            if let What::Op(name) = case.what {
                let op = gems_ops::REGISTRY.get(name).unwrap_or_else(|| panic!("{name}"));
                assert_eq!(op.params.len(), case.operands.len(), "{}", case.name);
            }
        }
    }
}
