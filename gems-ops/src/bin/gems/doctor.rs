//! `gems doctor`: what the machine offers, what is missing, and how to mend it.
//!
//! Ends with success if the CPU back end works; a GPU may be missing.

use crate::cache::usage;
use crate::failure::Outcome;
use gems_ops::buffer::StridedBuffer;
use gems_ops::compile::Compiler;
use gems_ops::device::Device;
use gems_runtime::config::{Config, VARIABLES};
use std::io::Write;
use std::process::ExitCode;
use std::thread;

/// What was found of one part, or why it cannot be used.
type Finding = Result<String, String>;

pub(crate) fn doctor(out: &mut impl Write) -> Outcome {
    let cpu = try_device(Device::Cpu);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    say(
        out,
        "gems",
        &Ok(format!("{}, built with CUDA: {}", env!("CARGO_PKG_VERSION"), cfg!(feature = "cuda"))),
    )?;
    say(out, "CPU", &cpu.clone().map(|works| format!("{threads} threads; {works}")))?;
    cuda(out)?;
    say(out, "cache", &cache())?;
    let config = Config::get();
    writeln!(out, "\nsettings (variable, default, meaning)")?;
    for (name, default, meaning) in VARIABLES {
        writeln!(out, "  {name:26} {default:24} {meaning}")?;
    }
    let folder = config.cache_dir.as_ref().map_or("none".into(), |path| path.display().to_string());
    let nvrtc = config.nvrtc.as_ref().map_or("searched".into(), |path| path.display().to_string());
    writeln!(
        out,
        "in force: cache {:?} in {folder}, at most {} bytes; NVRTC {nvrtc}",
        config.cache, config.cache_bytes
    )?;
    Ok(if cpu.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn say(out: &mut impl Write, part: &str, finding: &Finding) -> Outcome<()> {
    let (mark, text) = match finding {
        Ok(text) => ("ok", text),
        Err(text) => ("--", text),
    };
    writeln!(out, "{mark} {part:9} {}", text.replace('\n', "\n             "))?;
    Ok(())
}

/// Computes something on a device.
fn try_device(device: Device) -> Finding {
    let sum = || {
        let x = StridedBuffer::from_slice(&[1.0f32, 2.0, 3.0], &[3])?.to_device(device)?;
        gems_ops::add(&x, 0.5)?.to_vec::<f32>()
    };
    match sum() {
        Ok(sum) if sum == [1.5, 2.5, 3.5] => Ok("a sum is right".into()),
        Ok(sum) => {
            Err(format!("[1, 2, 3] + 0.5 gave {sum:?}; report this as a bug of gems or of the machine"))
        }
        Err(error) => Err(error.to_string()),
    }
}

fn cache() -> Finding {
    let path = Compiler::get().disk().path();
    let path = path.ok_or("off: every process compiles its kernels anew; GEMS_CACHE=on turns it on")?;
    let (entries, bytes) = usage(path);
    let writable = std::fs::create_dir_all(path).and_then(|()| tempfile_in(path));
    match writable {
        Ok(()) => Ok(format!("{entries} entries, {bytes} bytes in {}", path.display())),
        Err(error) => Err(format!(
            "{} cannot be written ({error}); set GEMS_CACHE_DIR to a folder that can, or GEMS_CACHE=readonly",
            path.display()
        )),
    }
}

/// Whether files can be made in a folder.
fn tempfile_in(path: &std::path::Path) -> std::io::Result<()> {
    let probe = path.join(format!("doctor-{}.tmp", std::process::id()));
    std::fs::write(&probe, b"")?;
    std::fs::remove_file(probe)
}

#[cfg(feature = "cuda")]
fn cuda(out: &mut impl Write) -> Outcome<()> {
    use gems_ops::compile::Nvrtc;
    use gems_ops::device::cuda::{Context, Driver, device_count};

    let driver = Driver::get().map(|driver| {
        let version = driver.version();
        format!("supports CUDA {}.{}", version / 1000, version % 1000 / 10)
    });
    say(out, "driver", &driver.map_err(|error| error.to_string()))?;
    let nvrtc = Nvrtc::get().map(|nvrtc| {
        let archs = nvrtc.supported_archs();
        let range = archs.first().zip(archs.last()).map(|(first, last)| format!(", for {first} to {last}"));
        format!("{}{} from {}", nvrtc.version(), range.unwrap_or_default(), nvrtc.origin())
    });
    say(out, "NVRTC", &nvrtc.map_err(|error| error.to_string()))?;
    // Without a driver, its line has said so.
    let Ok(count) = device_count() else { return Ok(()) };
    if count == 0 {
        let missing =
            "the driver sees no device; look at `nvidia-smi` and CUDA_VISIBLE_DEVICES, or use the CPU";
        return say(out, "device", &Err(missing.into()));
    }
    for ordinal in 0..count {
        let described = Context::get(ordinal).map_err(|error| error.to_string()).and_then(|context| {
            let properties = context.properties();
            let (free, total) = context.memory_info().map_err(|error| error.to_string())?;
            let (name, arch) = (&properties.name, properties.arch);
            Ok(format!("{name}, {arch}, {} of {} MiB free", free >> 20, total >> 20))
        });
        let finding = described.and_then(|text| {
            let works = try_device(Device::Cuda(ordinal)).map_err(|reason| format!("{text}; {reason}"))?;
            Ok(format!("{text}; {works}"))
        });
        say(out, &format!("cuda:{ordinal}"), &finding)?;
    }
    Ok(())
}

#[cfg(not(feature = "cuda"))]
fn cuda(out: &mut impl Write) -> Outcome<()> {
    say(out, "CUDA", &Err("not built in; enable the feature `cuda`".into()))
}
