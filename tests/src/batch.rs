//! Several kernels in one program, for compilers whose fixed cost is more than that of a kernel.

use gems_runtime::emit::Source;

/// The kernels, each in a namespace of its own, `k0`, `k1` and so on.
///
/// Their `extern "C"` names must differ, as those of kernels of different ops or dtypes do.
#[must_use]
pub fn program(kernels: &[Source]) -> String {
    let member = |(i, kernel): (usize, &Source)| {
        let text = kernel.text.replace(" ::math", &format!(" ::k{i}::math"));
        format!("namespace k{i} {{\n{text}\n}}\n")
    };
    kernels.iter().enumerate().map(member).collect()
}
