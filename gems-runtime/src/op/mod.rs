//! What the macro leaves in the program for each annotated function.

pub(crate) mod builtin;
mod cpu;
mod def;
mod device_fn;
mod operand;
mod registry;
mod vjp;

pub use builtin::BUILTIN;
pub use cpu::{CpuKernel, Lane, Pointwise, cpu_kernel};
pub use def::{Check, Compute, Numbers, OpDef, OutputDef, ParamDef, Promote, Role, Seen, TypeRef};
pub use device_fn::{DeviceFn, Instance, LIBRARY, Piece, Use};
pub use operand::Operand;
pub use registry::Registry;
pub use vjp::{Gradient, VjpDef, VjpSource, gradients, vjp};
