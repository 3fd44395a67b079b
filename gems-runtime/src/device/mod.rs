//! Devices: the CPU, and CUDA devices by ordinal.

#[cfg(feature = "cuda")]
pub mod cuda;

use std::fmt;

/// Where memory is and kernels run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Device {
    /// Host memory and the CPU back end.
    #[default]
    Cpu,
    /// The CUDA device with this ordinal.
    Cuda(u32),
}

impl Device {
    /// The first CUDA device if the machine has one that can be used, else the CPU.
    #[must_use]
    pub fn best() -> Device {
        #[cfg(feature = "cuda")]
        if cuda::device_count().is_ok_and(|count| count > 0) {
            return Device::Cuda(0);
        }
        Device::Cpu
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu => f.pad("cpu"),
            Device::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
        }
    }
}
