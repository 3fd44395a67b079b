//! From CUDA C++ to a binary: finding NVRTC, calling it, and keeping what it made.
//!
//! Guarantees: one compilation for one (source, options, architecture, NVRTC version), across the threads of a process
//! and, where the file system has locks, across processes and runs.
//! Knows no operands, no extents and no driver: a kernel can be compiled on a machine without a GPU.

mod binary;
#[cfg(feature = "cuda")]
mod discover;
mod disk;
mod entry;
mod key;
#[cfg(feature = "cuda")]
pub(crate) mod library;
mod memory;
#[cfg(feature = "cuda")]
mod nvrtc;
#[cfg(feature = "cuda")]
mod remembered;

pub use binary::{Arch, Binary, BinaryKind, Target};
#[cfg(feature = "cuda")]
pub use discover::{Candidate, Search};
pub use disk::{DiskCache, DiskStats};
pub(crate) use disk::{publish, write_synced};
pub use key::Key;
pub use memory::SingleFlight;
#[cfg(feature = "cuda")]
pub use nvrtc::{Nvrtc, Version};

#[cfg(feature = "cuda")]
use remembered::Remembered;

use std::sync::{Arc, LazyLock};

use crate::config::Config;
#[cfg(feature = "cuda")]
use crate::error::{Error, Result};

/// A compiler with its caches; a process has one, and tests and tools make their own.
#[derive(Debug)]
pub struct Compiler {
    memory: SingleFlight<[u8; 32], Arc<Binary>>,
    disk: DiskCache,
    /// Whether the disk has been told what NVRTC says of itself.
    #[cfg(feature = "cuda")]
    told: std::sync::Once,
    /// What an earlier process noted of the library; asked once.
    #[cfg(feature = "cuda")]
    recalled: std::sync::OnceLock<Option<Remembered>>,
}

/// The CUDA major of the driver, if it is loaded.
#[cfg(feature = "cuda")]
fn driver_major() -> Option<u32> {
    crate::device::cuda::Driver::loaded().map(|driver| driver.version() / 1000)
}

/// What a compiler did since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompileStats {
    /// Binaries held in memory.
    pub in_memory: usize,
    /// The disk cache's counts; its misses are the compilations.
    pub disk: DiskStats,
}

impl Compiler {
    /// The compiler of this process, with the settings of the environment.
    pub fn get() -> &'static Compiler {
        static COMPILER: LazyLock<Compiler> = LazyLock::new(|| Compiler::new(Config::get()));
        &COMPILER
    }

    /// A compiler with these settings; loads nothing and touches no file.
    #[must_use]
    pub fn new(config: &Config) -> Compiler {
        Compiler {
            memory: SingleFlight::new(),
            disk: DiskCache::new(config),
            #[cfg(feature = "cuda")]
            told: std::sync::Once::new(),
            #[cfg(feature = "cuda")]
            recalled: std::sync::OnceLock::new(),
        }
    }

    /// The disk cache.
    #[must_use]
    pub fn disk(&self) -> &DiskCache {
        &self.disk
    }

    /// Counts since the process began.
    #[must_use]
    pub fn stats(&self) -> CompileStats {
        CompileStats { in_memory: self.memory.count(), disk: self.disk.stats() }
    }

    /// The binary of a source for a device, from memory, from disk, or compiled now; `entry` names the kernel in
    /// messages. Without NVRTC, a binary that any NVRTC left on disk will do.
    ///
    /// # Errors
    /// No NVRTC and no binary; a source that NVRTC rejects, with its log and where the source was kept.
    #[cfg(feature = "cuda")]
    pub fn binary(&self, source: &str, entry: &str, arch: Arch) -> Result<Arc<Binary>> {
        if let Some(binary) = self.shipped(source, arch).or_else(|| self.without_nvrtc(source, arch)) {
            return Ok(binary);
        }
        let nvrtc = match Nvrtc::get() {
            Ok(nvrtc) => nvrtc,
            Err(error) => return self.left_by_another(source, arch).ok_or(error),
        };
        self.told.call_once(|| {
            let what = Remembered { version: nvrtc.version(), archs: nvrtc.supported_archs().to_vec() };
            remembered::note(&self.disk, Config::get(), driver_major(), nvrtc.path(), &what);
        });
        let target = nvrtc.target(arch)?;
        let key = key(source, nvrtc.version(), target);
        self.memory.get_or_build(&key.hash(), || {
            let compile = || self.compile(nvrtc, source, entry, target);
            let bytes = self.disk.get_or_build(&key, || compile().map(|binary| binary.to_bytes()))?;
            // An intact entry that is no binary: only a foreign writer makes one, and it must not stop the program.
            Binary::from_bytes(&bytes).map_or_else(compile, Ok).map(Arc::new)
        })
    }

    /// Takes a binary that came with a program, for devices of its architecture and later ones of the same major.
    #[cfg(feature = "cuda")]
    pub fn ship(&self, source: &str, arch: Arch, binary: Binary) {
        // Building cannot fail; a binary that is there already stays.
        let _ = self.memory.get_or_build(&shipped_key(source, arch).hash(), || Ok(Arc::new(binary)));
    }

    /// A binary that was shipped for a device.
    #[cfg(feature = "cuda")]
    fn shipped(&self, source: &str, arch: Arch) -> Option<Arc<Binary>> {
        let of = |minor| self.memory.get(&shipped_key(source, Arch { minor, ..arch }).hash());
        (0..=arch.minor).rev().find_map(of)
    }

    /// A binary on disk that the library would have made which is not loaded yet: loading takes longer than all else.
    #[cfg(feature = "cuda")]
    fn without_nvrtc(&self, source: &str, arch: Arch) -> Option<Arc<Binary>> {
        if Nvrtc::is_loaded() || !self.disk.is_trusted() {
            return None;
        }
        let recall = || remembered::recall(&self.disk, Config::get(), driver_major());
        let known = self.recalled.get_or_init(recall).as_ref()?;
        let key = key(source, known.version, Target::choose(&known.archs, arch)?);
        if let Some(binary) = self.memory.get(&key.hash()) {
            return Some(binary);
        }
        let binary = Arc::new(Binary::from_bytes(&self.disk.get(&key)?)?);
        self.memory.get_or_build(&key.hash(), || Ok(binary)).ok()
    }

    /// Machine code for the device that is on disk, whichever NVRTC compiled it: for a cache that was built ahead and
    /// shipped to a machine without NVRTC.
    #[cfg(feature = "cuda")]
    fn left_by_another(&self, source: &str, arch: Arch) -> Option<Arc<Binary>> {
        let newest_major = driver_major().unwrap_or(discover::MAJORS[0]);
        Version::candidates(newest_major).find_map(|version| {
            (0..=arch.minor).rev().find_map(|minor| {
                let target = Target { arch: Arch { minor, ..arch }, kind: BinaryKind::Cubin };
                let bytes = self.disk.get(&key(source, version, target))?;
                Binary::from_bytes(&bytes).map(Arc::new)
            })
        })
    }

    /// Compiles, and on failure keeps the source and says where.
    #[cfg(feature = "cuda")]
    fn compile(&self, nvrtc: &Nvrtc, source: &str, entry: &str, target: Target) -> Result<Binary> {
        let started = std::time::Instant::now();
        let result = nvrtc.compile_for(source, entry, target);
        tracing::debug!("compiled {entry} for {} in {} ms", target.arch, started.elapsed().as_millis());
        result.map_err(|error| {
            let kept = match self.disk.keep_source(entry, source) {
                Some(path) => format!("the source is kept in {}", path.display()),
                None => {
                    "the source is kept when the kernel cache is on and its folder can be written".to_owned()
                }
            };
            Error::new(error.kind(), format!("{error}\n{kept}"))
        })
    }
}

/// What a shipped binary is found by.
#[cfg(feature = "cuda")]
fn shipped_key(source: &str, arch: Arch) -> Key {
    Key::new([("source", source.to_owned()), ("shipped for", arch.to_string())])
}

/// All that decides a binary.
#[cfg(feature = "cuda")]
fn key(source: &str, nvrtc: Version, target: Target) -> Key {
    Key::new([
        ("source", source.to_owned()),
        ("options", nvrtc.options(target).join(" ")),
        ("nvrtc", nvrtc.to_string()),
    ])
}

/// The binary of a source for a device, by the compiler of this process.
///
/// # Errors
/// As [`Compiler::binary`].
#[cfg(feature = "cuda")]
pub fn binary(source: &str, entry: &str, arch: Arch) -> Result<Arc<Binary>> {
    Compiler::get().binary(source, entry, arch)
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::*;
    use crate::config::CacheMode;

    #[test]
    fn a_shipped_binary_serves_later_minors_of_its_major() {
        let compiler = Compiler::new(&Config { cache: CacheMode::Off, ..Config::from_lookup(|_| None) });
        let binary = Binary { kind: BinaryKind::Cubin, bytes: vec![1, 2, 3] };
        compiler.ship("code", Arch { major: 8, minor: 6 }, binary.clone());
        let found = |source, major, minor| compiler.shipped(source, Arch { major, minor });
        assert_eq!(found("code", 8, 6).as_deref(), Some(&binary));
        assert_eq!(found("code", 8, 9).as_deref(), Some(&binary));
        assert!(found("code", 8, 0).is_none() && found("code", 9, 6).is_none());
        assert!(found("other code", 8, 6).is_none());
        // It is found before any library is looked for.
        assert_eq!(compiler.binary("code", "f", Arch { major: 8, minor: 9 }).unwrap(), Arc::new(binary));
    }
}
