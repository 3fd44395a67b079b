//! CUDA C++ text of a kernel, from its spec.
//!
//! Pure and deterministic: the same [`KernelSpec`] gives the same text. The text includes no header and holds
//! nothing that the kernel does not use. Knows no extent, stride or address, and does no I/O.

mod abi;
mod body;
mod flat;
mod function;
mod names;
mod operand;
pub mod prelude;
mod rows;
mod sum;
mod tiled;
mod uses;
mod writer;

pub(crate) use abi::pack;
pub use abi::{Packed, Parameter, parameters};
pub use sum::{pack_sum, sum_source};
pub use uses::{Need, Uses};

use crate::error::Result;
use crate::plan::{Body, Class, KernelSpec};
use body::BodyText;
use function::Lines;
use std::fmt;
use writer::Writer;

/// A kernel as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name of the `extern "C"` kernel.
    pub entry: String,
    /// The whole translation unit.
    pub text: String,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The kernel of `spec`.
///
/// # Errors
/// The op's function calls something that the prelude does not have for these dtypes.
pub fn source(spec: &KernelSpec) -> Result<Source> {
    write(spec, Lines::Omit)
}

/// The kernel of `spec` with `#line` directives, so that a compiler's errors point at the Rust source.
///
/// # Errors
/// As [`source`].
pub fn source_with_lines(spec: &KernelSpec) -> Result<Source> {
    write(spec, Lines::Rust)
}

fn write(spec: &KernelSpec, lines: Lines) -> Result<Source> {
    let entry = names::valid(&spec.to_string());
    let body = BodyText::new(spec);
    let mut kernel = Writer::new();
    let mut uses = body.uses();
    for dtype in spec.inputs.iter().map(|input| input.stored).chain(spec.outputs.iter().map(|o| o.stored)) {
        uses.offer("type", [dtype]);
    }
    match spec.class {
        Class::Flat { width, vectors, threads, peeled } => {
            let shape = flat::Shape { width, vectors, threads, peeled };
            flat::write(&mut kernel, &mut uses, spec, &entry, &body.entry(), shape);
        }
        Class::Rows { rank, index, width, vectors, threads, ragged } => {
            let shape = rows::Shape { rank, index, width, vectors, threads, ragged };
            rows::write(&mut kernel, &mut uses, spec, &entry, &body.entry(), shape);
        }
        Class::Tiled { rank, index, width, across, down, threads } => {
            let shape = tiled::Shape { rank, index, width, across, down, threads };
            tiled::write(&mut kernel, &mut uses, spec, &entry, &body.entry(), shape);
        }
    }
    let mut text = Writer::new();
    text.line(&format!("// {}", headline(spec)));
    text.blank();
    text.raw(&prelude::closure(&uses).map_err(|error| error.in_op(spec.body.name()))?);
    text.blank();
    body.write(&mut text, lines);
    text.blank();
    text.raw(kernel.as_str());
    Ok(Source { entry, text: text.into_string() })
}

/// `gelu_and_mul: (bf16, bf16) -> bf16, computed in f32`.
fn headline(spec: &KernelSpec) -> String {
    let inputs: Vec<_> = spec.inputs.iter().map(|input| input.stored.name()).collect();
    let outputs: Vec<_> = spec.outputs.iter().map(|output| output.stored.name()).collect();
    let mut text =
        format!("{}: ({}) -> {}", names::valid(spec.body.name()), inputs.join(", "), outputs.join(", "));
    if let Body::Op { compute, .. } = spec.body
        && spec.inputs.iter().any(|input| input.stored != compute)
    {
        text.push_str(&format!(", computed in {compute}"));
    }
    text
}
