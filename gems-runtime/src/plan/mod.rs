//! From operands to a kernel and its arguments, without touching memory.
//!
//! [`infer`] answers what a call gives (dtypes, shape, strides) and is all that tracing needs. [`schedule`] answers
//! how it runs. Both are pure functions of dtypes, layouts, devices and addresses as plain integers: nothing in this
//! module can dereference anything, and nothing here knows CUDA, files or threads.

mod explain;
mod infer;
mod overlap;
pub mod policy;
mod preview;
mod program;
mod reduce;
mod schedule;
mod spec;

pub use explain::explain;
pub use infer::{Argument, Inference, Input, Outputs, Source, arguments, infer};
pub use overlap::{Placed, check_outputs, sharing};
pub use preview::{preview, representative};
pub use program::{Arg, Node, NodeResult, Program, ProgramInput, ProgramOutput, ValueRef};
pub use reduce::{ReduceSpec, Reduction, infer_sum, infer_zeros, needs_sum, reduce};
pub use schedule::{
    Placement, Request, RequestedInput, RequestedOutput, needs_i64_index, schedule, schedule_request,
};
pub use spec::{Access, Body, Class, IndexWidth, KernelSpec, LaunchArgs, OperandSpec, OutputSpec, Plan};
