//! NVRTC through our own table of its functions.
//!
//! Guarantees: a missing or unsuitable library is an error that lists every place tried, never a panic; the version is
//! what the loaded library reports; a program object is destroyed on every way out.
//! Needs no driver and no GPU. Does not cache: that is the caller's part.
#![expect(unsafe_code, reason = "calls into a C library that is loaded at run time")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;

use super::binary::{Arch, Binary, BinaryKind, Target};
use super::discover::{Candidate, Search, builtins_beside};
use super::library::{functions, open};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};

/// Options of every compilation, apart from the architecture.
///
/// Contraction and fast math stay off, so that +, −, ×, ÷ and sqrt give the same bits as on the CPU.
const OPTIONS: &[&str] =
    &["--std=c++17", "--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false"];

/// Leaves out declarations that kernels without headers do not use. The code is the same, and a small kernel compiles
/// an eighth faster (NVRTC 12.8 and 13.5 for sm_90: 23.4 to 20.5 ms); 12.0 does not know it.
const MINIMAL: (Version, &str) = (Version { major: 12, minor: 8 }, "--minimal");

/// The lowest version that we accept.
const OLDEST: Version = Version { major: 12, minor: 0 };

/// Version of an NVRTC library, as it reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The 13 of 13.1.
    pub major: u32,
    /// The 1 of 13.1.
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Version {
    /// Versions that may have filled a cache, newest first, up to a CUDA major; not all of them exist.
    pub(super) fn candidates(newest_major: u32) -> impl Iterator<Item = Version> {
        let majors = (OLDEST.major..=newest_major).rev();
        majors.flat_map(|major| (0..10).rev().map(move |minor| Version { major, minor }))
    }

    /// The options with which a library of this version compiles for a target.
    #[must_use]
    pub fn options(self, target: Target) -> Vec<String> {
        let (since, minimal) = MINIMAL;
        let minimal = (self >= since).then_some(minimal);
        OPTIONS.iter().copied().chain(minimal).map(str::to_owned).chain([target.option()]).collect()
    }
}

/// An opaque program object of NVRTC.
type Program = *mut c_void;
/// `nvrtcResult`; 0 is success.
type Status = c_int;

functions! {
    version: "nvrtcVersion" = fn(*mut c_int, *mut c_int) -> Status;
    error_string: "nvrtcGetErrorString" = fn(Status) -> *const c_char;
    arch_count: "nvrtcGetNumSupportedArchs" = fn(*mut c_int) -> Status;
    archs: "nvrtcGetSupportedArchs" = fn(*mut c_int) -> Status;
    create: "nvrtcCreateProgram"
        = fn(*mut Program, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char) -> Status;
    compile: "nvrtcCompileProgram" = fn(Program, c_int, *const *const c_char) -> Status;
    destroy: "nvrtcDestroyProgram" = fn(*mut Program) -> Status;
    log_size: "nvrtcGetProgramLogSize" = fn(Program, *mut usize) -> Status;
    log: "nvrtcGetProgramLog" = fn(Program, *mut c_char) -> Status;
    cubin_size: "nvrtcGetCUBINSize" = fn(Program, *mut usize) -> Status;
    cubin: "nvrtcGetCUBIN" = fn(Program, *mut c_char) -> Status;
    ptx_size: "nvrtcGetPTXSize" = fn(Program, *mut usize) -> Status;
    ptx: "nvrtcGetPTX" = fn(Program, *mut c_char) -> Status;
}

/// A function that gives a size, and the one that fills a buffer of that size.
type Pair = (
    unsafe extern "C" fn(Program, *mut usize) -> Status,
    unsafe extern "C" fn(Program, *mut c_char) -> Status,
);

/// A loaded NVRTC; it stays loaded until the process ends.
pub struct Nvrtc {
    functions: Functions,
    version: Version,
    archs: Vec<Arch>,
    origin: String,
    path: PathBuf,
}

impl fmt::Debug for Nvrtc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NVRTC {} from {}", self.version, self.origin)
    }
}

/// The library of this process, or why there is none.
static NVRTC: OnceLock<Result<Nvrtc>> = OnceLock::new();

impl Nvrtc {
    /// Whether the library of this process was loaded, or found missing.
    pub(super) fn is_loaded() -> bool {
        NVRTC.get().is_some()
    }

    /// The library of this process, searched and loaded at the first call; a failure is remembered too.
    ///
    /// # Errors
    /// No suitable library; the text lists every place tried.
    pub fn get() -> Result<&'static Nvrtc> {
        let loaded = NVRTC.get_or_init(|| Nvrtc::find(Config::get(), super::driver_major()));
        loaded.as_ref().map_err(Clone::clone)
    }

    /// Searches and loads a library; `driver_major` is the CUDA major of the driver, when known.
    ///
    /// # Errors
    /// No suitable library; the text lists every place tried.
    pub fn find(config: &Config, driver_major: Option<u32>) -> Result<Nvrtc> {
        let search = Search::run(config, driver_major);
        let mut tried = Vec::new();
        for candidate in &search.candidates {
            match Nvrtc::load(candidate) {
                Ok(nvrtc) => {
                    tracing::debug!("loaded {nvrtc:?}");
                    return Ok(nvrtc);
                }
                Err(reason) => tried.push(format!("{candidate}: {reason}")),
            }
        }
        tried.extend(search.empty.iter().map(|place| format!("{place}: no library")));
        let message = format!(
            "no NVRTC, which compiles kernels; install it (`pip install nvidia-cuda-nvrtc`, or a CUDA toolkit of version \
             {OLDEST} or later), set GEMS_NVRTC to the library, or use the CPU back end; tried\n  {}",
            tried.join("\n  ")
        );
        Err(Error::new(ErrorKind::Compile, message))
    }

    fn load(candidate: &Candidate) -> Result<Nvrtc, String> {
        // NVRTC asks the loader for its built-ins by bare name; packages of CUDA 12 do not say where they are.
        let builtins = builtins_beside(&candidate.path);
        let mut libraries: Vec<_> = builtins.iter().filter_map(|path| open(path).ok()).collect();
        let library = open(&candidate.path).map_err(|error| error.to_string())?;
        let functions = Functions::of(&library).map_err(|error| error.to_string())?;
        libraries.push(library);
        let version = Version { major: 0, minor: 0 };
        let mut nvrtc = Nvrtc {
            functions,
            version,
            archs: Vec::new(),
            origin: candidate.to_string(),
            path: candidate.path.clone(),
        };
        nvrtc.version = nvrtc.ask_version()?;
        if nvrtc.version < OLDEST {
            return Err(format!("it is version {}, older than {OLDEST}", nvrtc.version));
        }
        nvrtc.archs = nvrtc.ask_archs()?;
        // Never closed: the table points into the library for ever.
        std::mem::forget(libraries);
        Ok(nvrtc)
    }

    /// The version that the library reports.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The architectures that it can compile for, oldest first.
    #[must_use]
    pub fn supported_archs(&self) -> &[Arch] {
        &self.archs
    }

    /// Its path, or a bare name that the loader searched.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Which library this is, and which setting or convention led to it.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The best target for a device.
    ///
    /// # Errors
    /// A device older than all that this NVRTC knows.
    pub fn target(&self, device: Arch) -> Result<Target> {
        Target::choose(&self.archs, device).ok_or_else(|| {
            let oldest = self.archs.first().map_or("nothing".to_owned(), Arch::to_string);
            let message = format!(
                "NVRTC {} compiles for {oldest} and later, not for {device}; set GEMS_NVRTC to an older NVRTC",
                self.version
            );
            Error::new(ErrorKind::Compile, message)
        })
    }

    /// Compiles `source` for the best target of `arch`; `name` names the kernel in messages.
    ///
    /// # Errors
    /// What the compiler says, in full, and an architecture that it does not know.
    pub fn compile(&self, source: &str, name: &str, arch: Arch) -> Result<Binary> {
        self.compile_for(source, name, self.target(arch)?)
    }

    /// Compiles `source` for this target; `name` names the kernel in messages.
    ///
    /// # Errors
    /// What the compiler says, in full.
    pub fn compile_for(&self, source: &str, name: &str, target: Target) -> Result<Binary> {
        let arch = target.arch;
        let rejected = |text: &str| {
            let message = format!("NVRTC {} rejected {name} for {arch}: {}", self.version, text.trim());
            Error::new(ErrorKind::Compile, message)
        };
        let text = |what: &str, text: &str| {
            CString::new(text).map_err(|_| rejected(&format!("its {what} holds a zero byte")))
        };
        let (source, file) = (text("source", source)?, text("name", &format!("{name}.cu"))?);
        let program = Owned::create(self, &source, &file).map_err(|reason| rejected(&reason))?;
        let compiled = program.compile(target);
        let log = program.read((self.functions.log_size, self.functions.log)).unwrap_or_default();
        let log = String::from_utf8_lossy(log.strip_suffix(b"\0").unwrap_or(&log)).into_owned();
        compiled.map_err(|reason| rejected(if log.trim().is_empty() { &reason } else { &log }))?;
        if !log.trim().is_empty() {
            tracing::debug!("NVRTC on {name} for {arch}: {log}");
        }
        let get = match target.kind {
            BinaryKind::Cubin => (self.functions.cubin_size, self.functions.cubin),
            BinaryKind::Ptx => (self.functions.ptx_size, self.functions.ptx),
        };
        let bytes = program.read(get).map_err(|reason| rejected(&reason))?;
        if bytes.is_empty() {
            return Err(rejected("it gave an empty binary"));
        }
        Ok(Binary { kind: target.kind, bytes })
    }

    fn ask_version(&self) -> Result<Version, String> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are to live integers.
        self.check(unsafe { (self.functions.version)(&mut major, &mut minor) })?;
        let number =
            |value: c_int| u32::try_from(value).map_err(|_| format!("it reports the version {value}"));
        Ok(Version { major: number(major)?, minor: number(minor)? })
    }

    fn ask_archs(&self) -> Result<Vec<Arch>, String> {
        let mut count = 0;
        // SAFETY: the pointer is to a live integer.
        self.check(unsafe { (self.functions.arch_count)(&mut count) })?;
        let mut numbers = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: the buffer holds as many integers as the library said it would write.
        self.check(unsafe { (self.functions.archs)(numbers.as_mut_ptr()) })?;
        let mut archs: Vec<_> =
            numbers.into_iter().filter_map(|n| u32::try_from(n).ok()).map(Arch::from_number).collect();
        archs.sort_unstable();
        Ok(archs)
    }

    /// The library's text for a status that is no success.
    fn check(&self, status: Status) -> Result<(), String> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the function takes any number and returns a static string or null.
        let text = unsafe { (self.functions.error_string)(status) };
        if text.is_null() {
            return Err(format!("NVRTC status {status}"));
        }
        // SAFETY: not null, and NVRTC's error strings are static and end with a zero byte.
        Err(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
}

/// A program object, destroyed with this value.
struct Owned<'a> {
    nvrtc: &'a Nvrtc,
    program: Program,
}

impl Owned<'_> {
    fn create<'a>(nvrtc: &'a Nvrtc, source: &CStr, file: &CStr) -> Result<Owned<'a>, String> {
        let mut program = ptr::null_mut();
        // SAFETY: both strings end with a zero byte and live through the call; zero headers need no arrays.
        let status = unsafe {
            (nvrtc.functions.create)(
                &mut program,
                source.as_ptr(),
                file.as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        };
        nvrtc.check(status)?;
        Ok(Owned { nvrtc, program })
    }

    fn compile(&self, target: Target) -> Result<(), String> {
        let options = self.nvrtc.version.options(target).into_iter();
        let options =
            options.map(CString::new).collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        let pointers: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).map_err(|error| error.to_string())?;
        // SAFETY: the program is live, and `pointers` are `count` strings that live through the call.
        self.nvrtc.check(unsafe { (self.nvrtc.functions.compile)(self.program, count, pointers.as_ptr()) })
    }

    /// The log, machine code or text.
    fn read(&self, (size, fill): Pair) -> Result<Vec<u8>, String> {
        let mut bytes = 0;
        // SAFETY: the program is live and the pointer is to a live integer.
        self.nvrtc.check(unsafe { size(self.program, &mut bytes) })?;
        let mut buffer = vec![0; bytes];
        if bytes > 0 {
            // SAFETY: the buffer has the size that the library asked for.
            self.nvrtc.check(unsafe { fill(self.program, buffer.as_mut_ptr().cast()) })?;
        }
        Ok(buffer)
    }
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        // SAFETY: the program was created by this library and is destroyed only here.
        if let Err(reason) = self.nvrtc.check(unsafe { (self.nvrtc.functions.destroy)(&mut self.program) }) {
            tracing::warn!("NVRTC could not destroy a program: {reason}");
        }
    }
}
