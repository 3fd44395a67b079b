//! GPU architectures and the binaries compiled for them.
//!
//! Guarantees: an [`Arch`] prints and parses as `sm_90`; a [`Binary`] survives [`Binary::to_bytes`] unchanged.
//! Knows neither the compiler nor the driver.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind};

/// Compute capability of a GPU; ordered by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Arch {
    /// The 9 of `sm_90`.
    pub major: u32,
    /// The 0 of `sm_90`, one digit.
    pub minor: u32,
}

impl Arch {
    /// From NVRTC's way of writing it: 90 for `sm_90`.
    #[must_use]
    pub const fn from_number(number: u32) -> Arch {
        Arch { major: number / 10, minor: number % 10 }
    }

    /// 90 for `sm_90`.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.major * 10 + self.minor
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("sm_{}", self.number()))
    }
}

impl FromStr for Arch {
    type Err = Error;

    fn from_str(text: &str) -> Result<Arch, Error> {
        let digits = text.strip_prefix("sm_").unwrap_or(text);
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.parse() {
            Ok(number @ 10..=999) if plain => Ok(Arch::from_number(number)),
            _ => Err(Error::new(
                ErrorKind::Value,
                format!("`{text}` is no architecture; write one like sm_90"),
            )),
        }
    }
}

/// What a [`Binary`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryKind {
    /// Machine code of one architecture; runs on it and on later ones of the same major.
    Cubin,
    /// Text that the driver compiles, for devices that are newer than NVRTC.
    Ptx,
}

/// A compiled program.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Binary {
    /// Machine code or text.
    pub kind: BinaryKind,
    /// As the driver takes it; a PTX text ends with a zero byte.
    pub bytes: Vec<u8>,
}

const KINDS: [(BinaryKind, u8); 2] = [(BinaryKind::Cubin, b'c'), (BinaryKind::Ptx, b'p')];

impl Binary {
    /// One byte for the kind, then the bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let tag = KINDS.iter().find(|(kind, _)| *kind == self.kind).map(|(_, tag)| *tag);
        tag.into_iter().chain(self.bytes.iter().copied()).collect()
    }

    /// The reverse of [`Binary::to_bytes`]; `None` for bytes that it did not make.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Binary> {
        let (tag, bytes) = bytes.split_first()?;
        let kind = KINDS.iter().find(|(_, known)| known == tag)?.0;
        Some(Binary { kind, bytes: bytes.to_vec() })
    }
}

impl fmt::Debug for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {} bytes", self.kind, self.bytes.len())
    }
}

/// For what to compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The architecture of the code.
    pub arch: Arch,
    /// Its form.
    pub kind: BinaryKind,
}

impl Target {
    /// The best target for a device that the compiler supports: machine code for exactly this architecture, else for
    /// the highest lower minor of the same major, else text for the highest architecture not above the device.
    pub fn choose(supported: &[Arch], device: Arch) -> Option<Target> {
        let not_above = || supported.iter().copied().filter(|arch| *arch <= device);
        let machine_code = not_above().filter(|arch| arch.major == device.major).max();
        let text = || not_above().max().map(|arch| Target { arch, kind: BinaryKind::Ptx });
        machine_code.map(|arch| Target { arch, kind: BinaryKind::Cubin }).or_else(text)
    }

    /// The compiler's option for it: `sm_90` for machine code, `compute_90` for text.
    #[must_use]
    pub fn option(self) -> String {
        let prefix = match self.kind {
            BinaryKind::Cubin => "sm",
            BinaryKind::Ptx => "compute",
        };
        format!("--gpu-architecture={prefix}_{}", self.arch.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arch_prints_as_it_parses() {
        for text in ["sm_75", "sm_90", "sm_103", "sm_120"] {
            assert_eq!(text.parse::<Arch>().unwrap().to_string(), text);
        }
        assert_eq!("90".parse::<Arch>().unwrap(), Arch { major: 9, minor: 0 });
        for text in ["", "sm_", "sm_9", "sm_+90", "compute_90", "sm_90x", "sm_99999"] {
            assert_eq!(text.parse::<Arch>().unwrap_err().kind(), ErrorKind::Value, "{text}");
        }
    }

    #[test]
    fn a_target_is_machine_code_of_the_same_major_or_text() {
        let supported = [75, 80, 86, 89, 90, 100, 103].map(Arch::from_number);
        for (device, expected) in [
            (90, "--gpu-architecture=sm_90"),
            (87, "--gpu-architecture=sm_86"),
            (110, "--gpu-architecture=compute_103"),
            (121, "--gpu-architecture=compute_103"),
            (104, "--gpu-architecture=sm_103"),
            (99, "--gpu-architecture=sm_90"),
        ] {
            let target = Target::choose(&supported, Arch::from_number(device)).unwrap();
            assert_eq!(target.option(), expected, "{device}");
        }
        assert_eq!(Target::choose(&supported, Arch::from_number(70)), None);
        assert_eq!(Target::choose(&[], Arch::from_number(90)), None);
    }

    #[test]
    fn a_binary_survives_its_bytes() {
        for kind in [BinaryKind::Cubin, BinaryKind::Ptx] {
            let binary = Binary { kind, bytes: vec![1, 2, 3] };
            assert_eq!(Binary::from_bytes(&binary.to_bytes()), Some(binary));
        }
        assert_eq!(Binary::from_bytes(b""), None);
        assert_eq!(Binary::from_bytes(b"x123"), None);
    }
}
