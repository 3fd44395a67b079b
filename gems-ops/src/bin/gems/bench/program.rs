//! Fused programs of the contract, built by hand: what tracing records for them.

use gems_ops::dtype::DType;
use gems_ops::op::{OpDef, TypeRef};
use gems_ops::plan::{Arg, Node, NodeResult, Program, ProgramInput, ProgramOutput, ValueRef};

/// A straight line of ops on values of one dtype; halves are computed in f32 and rounded after each op.
struct Line {
    dtype: DType,
    program: Program,
}

impl Line {
    fn new(name: &str, dtype: DType, inputs: &[&str]) -> Line {
        let inputs = inputs.iter().map(|&name| ProgramInput { name: name.to_owned(), dtype }).collect();
        Line {
            dtype,
            program: Program { name: name.to_owned(), inputs, nodes: Vec::new(), outputs: Vec::new() },
        }
    }

    /// Adds an input that is a number of the computation dtype.
    fn number(&mut self, name: &str) -> ValueRef {
        self.program.inputs.push(ProgramInput { name: name.to_owned(), dtype: self.compute() });
        ValueRef::Input(self.program.inputs.len() - 1)
    }

    fn compute(&self) -> DType {
        if self.dtype.size() < 4 { DType::F32 } else { self.dtype }
    }

    fn dtype_of(&self, value: ValueRef) -> DType {
        match value {
            ValueRef::Input(index) => self.program.inputs[index].dtype,
            ValueRef::Result { .. } => self.dtype,
        }
    }

    /// Adds a call; gives its first result.
    fn call(&mut self, op: &'static OpDef, args: &[ValueRef]) -> ValueRef {
        let compute = self.compute();
        let node = self.program.nodes.len();
        let lane = |ty: TypeRef| ty.resolve(compute);
        let args = args
            .iter()
            .zip(op.params)
            .map(|(&value, param)| {
                let own = self.dtype_of(value);
                Arg { value, chain: [own, own, lane(param.ty)] }
            })
            .collect();
        let results = op
            .outputs
            .iter()
            .map(|output| NodeResult {
                name: format!("{}_{node}", output.name),
                chain: [lane(output.ty), self.dtype, self.dtype],
            })
            .collect();
        self.program.nodes.push(Node { op, compute, args, results });
        ValueRef::Result { node, output: 0 }
    }

    fn finish(mut self, outputs: &[(&str, ValueRef)]) -> Program {
        let dtype = self.dtype;
        let outputs =
            outputs.iter().map(|&(name, value)| ProgramOutput { name: name.to_owned(), value, dtype });
        self.program.outputs = outputs.collect();
        self.program
    }
}

const X: ValueRef = ValueRef::Input(0);
const Y: ValueRef = ValueRef::Input(1);

/// gelu_and_mul(tanh(y), x − y).
fn seed(dtype: DType) -> Program {
    let mut line = Line::new("seed", dtype, &["x", "y"]);
    let tanh = line.call(gems_ops::tanh::DEF, &[Y]);
    let difference = line.call(gems_ops::sub::DEF, &[X, Y]);
    let result = line.call(gems_ops::gelu_and_mul::DEF, &[tanh, difference]);
    line.finish(&[("z", result)])
}

pub(crate) fn seed_f32() -> Program {
    seed(DType::F32)
}

pub(crate) fn seed_bf16() -> Program {
    seed(DType::BF16)
}

/// The gradients of that function: (dz, x, y) → (dx, dy).
pub(crate) fn seed_backward_f32() -> Program {
    let mut line = Line::new("seed_backward", DType::F32, &["dz", "x", "y"]);
    let [dz, x, y] = [0, 1, 2].map(ValueRef::Input);
    let gate = line.call(gems_ops::tanh::DEF, &[y]);
    let difference = line.call(gems_ops::sub::DEF, &[x, y]);
    let d_gate = line.call(gems_ops::gelu_and_mul_backward::DEF, &[dz, gate, difference]);
    let dx = match d_gate {
        ValueRef::Result { node, .. } => ValueRef::Result { node, output: 1 },
        ValueRef::Input(_) => d_gate,
    };
    let through_gate = line.call(gems_ops::tanh_backward::DEF, &[d_gate, gate]);
    let dy = line.call(gems_ops::sub::DEF, &[through_gate, dx]);
    line.finish(&[("dx", dx), ("dy", dy)])
}

/// The numbers of one step of AdamW, in the order in which [`adamw_f32`] takes them behind its buffers.
pub(crate) const ADAMW_NUMBERS: [f64; 8] =
    [0.9, 0.1, 0.999, 0.001, 1.0 - 1e-5, 1e-8, 1e-3 / 0.1, 1.0 / 0.001];

/// One step of AdamW: (p, g, m, v) → (p, m, v).
pub(crate) fn adamw_f32() -> Program {
    use gems_ops::{add, mul, sqrt, sub};
    let mut line = Line::new("adamw", DType::F32, &["p", "g", "m", "v"]);
    let [p, g, m, v] = [0, 1, 2, 3].map(ValueRef::Input);
    let [beta1, rest1, beta2, rest2, keep, eps, rate, unbias] =
        ["beta1", "rest1", "beta2", "rest2", "keep", "eps", "rate", "unbias"].map(|name| line.number(name));
    let m_kept = line.call(mul::DEF, &[m, beta1]);
    let g_part = line.call(mul::DEF, &[g, rest1]);
    let m_new = line.call(add::DEF, &[m_kept, g_part]);
    let v_kept = line.call(mul::DEF, &[v, beta2]);
    let square = line.call(mul::DEF, &[g, g]);
    let v_part = line.call(mul::DEF, &[square, rest2]);
    let v_new = line.call(add::DEF, &[v_kept, v_part]);
    let unbiased = line.call(mul::DEF, &[v_new, unbias]);
    let root = line.call(sqrt::DEF, &[unbiased]);
    let divisor = line.call(add::DEF, &[root, eps]);
    let step = line.call(mul::DEF, &[m_new, rate]);
    let scaled = line.call(gems_ops::div::DEF, &[step, divisor]);
    let decayed = line.call(mul::DEF, &[p, keep]);
    let p_new = line.call(sub::DEF, &[decayed, scaled]);
    line.finish(&[("p_new", p_new), ("m_new", m_new), ("v_new", v_new)])
}
