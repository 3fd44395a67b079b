//! Criterion benches of the host side. Kernels are measured by `gems bench`, which needs a device.
