//! From CUDA C++ to a binary: finding NVRTC, calling it, and keeping what it made.
//!
//! Guarantees: one compilation for one (source, options, architecture, NVRTC version), across the threads of a process
//! and, where the file system has locks, across processes and runs.
//! Knows no operands, no extents and no driver: a kernel can be compiled on a machine without a GPU.

mod binary;
mod discover;
mod disk;
mod entry;
mod key;
#[cfg(feature = "cuda")]
pub(crate) mod library;
mod memory;
#[cfg(feature = "cuda")]
mod nvrtc;

pub use binary::{Arch, Binary, BinaryKind, Target};
pub use discover::{Candidate, Search};
pub use disk::{DiskCache, DiskStats};
pub use key::Key;
pub use memory::SingleFlight;
#[cfg(feature = "cuda")]
pub use nvrtc::{Nvrtc, OPTIONS, Version};

use std::sync::{Arc, LazyLock};

use crate::config::Config;
#[cfg(feature = "cuda")]
use crate::error::{Error, Result};

/// What compilation did since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompileStats {
    /// Binaries held in memory.
    pub in_memory: usize,
    /// The disk cache's counts; its misses are the compilations.
    pub disk: DiskStats,
}

static DISK: LazyLock<DiskCache> = LazyLock::new(|| DiskCache::new(Config::get()));
static MEMORY: SingleFlight<[u8; 32], Arc<Binary>> = SingleFlight::new();

/// The disk cache of this process.
#[must_use]
pub fn disk_cache() -> &'static DiskCache {
    &DISK
}

/// Counts since the process began.
#[must_use]
pub fn stats() -> CompileStats {
    CompileStats { in_memory: MEMORY.count(), disk: DISK.stats() }
}

/// The binary of a source for a device, from memory, from disk, or compiled now; `entry` names the kernel in messages.
///
/// # Errors
/// No NVRTC; a source that it rejects, with its log and where the source was kept.
#[cfg(feature = "cuda")]
pub fn binary(source: &str, entry: &str, arch: Arch) -> Result<Arc<Binary>> {
    let nvrtc = Nvrtc::get()?;
    binary_from(nvrtc, &MEMORY, &DISK, source, entry, arch)
}

#[cfg(feature = "cuda")]
fn binary_from(
    nvrtc: &Nvrtc,
    memory: &SingleFlight<[u8; 32], Arc<Binary>>,
    disk: &DiskCache,
    source: &str,
    entry: &str,
    arch: Arch,
) -> Result<Arc<Binary>> {
    let target = nvrtc.target(arch)?;
    let key = Key::new([
        ("source", source.to_owned()),
        ("options", OPTIONS.join(" ")),
        ("target", target.option()),
        ("nvrtc", nvrtc.version().to_string()),
    ]);
    memory.get_or_build(&key.hash(), || {
        let bytes =
            disk.get_or_build(&key, || compile(nvrtc, disk, source, entry, arch).map(|b| b.to_bytes()))?;
        match Binary::from_bytes(&bytes) {
            Some(binary) => Ok(Arc::new(binary)),
            // An intact entry that is no binary: only a foreign writer makes one, and it must not stop the program.
            None => compile(nvrtc, disk, source, entry, arch).map(Arc::new),
        }
    })
}

/// Compiles, and on failure keeps the source and says where.
#[cfg(feature = "cuda")]
fn compile(nvrtc: &Nvrtc, disk: &DiskCache, source: &str, entry: &str, arch: Arch) -> Result<Binary> {
    let started = std::time::Instant::now();
    let result = nvrtc.compile(source, entry, arch);
    tracing::debug!("compiled {entry} for {arch} in {} ms", started.elapsed().as_millis());
    result.map_err(|error| {
        let kept = match disk.keep_source(entry, source) {
            Some(path) => format!("the source is kept in {}", path.display()),
            None => "the source is kept when the kernel cache is on and its folder can be written".to_owned(),
        };
        Error::new(error.kind(), format!("{error}\n{kept}"))
    })
}
