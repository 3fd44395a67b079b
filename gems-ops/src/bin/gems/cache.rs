//! `gems cache`: where compiled kernels are kept, what is there, and kernels compiled ahead of their first use.

use crate::failure::{Failure, Outcome, find_op};
use crate::{BakeArgs, CacheAction, notation};
use gems_ops::buffer::Meta;
use gems_ops::compile::{Arch, Compiler};
use gems_ops::device::Device;
use gems_ops::dtype::{DType, Scalar};
use gems_ops::emit::{self, Source};
use gems_ops::layout::{Layout, contiguous_strides};
use gems_ops::op::{OpDef, ParamDef, Role, TypeRef};
use gems_ops::plan::{self, Argument};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Ranks after merging for which strided kernels are baked; 0 is the flat kernel.
const RANKS: std::ops::RangeInclusive<usize> = 0..=4;
/// Extents of operands: enough that no vector is cut off, few enough for 31-bit indices.
const EXTENT: usize = 32;

pub(crate) fn cache(action: &CacheAction, out: &mut impl Write) -> Outcome {
    let disk = Compiler::get().disk();
    let off = || {
        Failure::new("the kernel cache is off; GEMS_CACHE=on and a home folder or GEMS_CACHE_DIR turn it on")
    };
    match action {
        CacheAction::Path => writeln!(out, "{}", disk.path().ok_or_else(off)?.display())?,
        CacheAction::Stats => {
            let path = disk.path().ok_or_else(off)?;
            let (entries, bytes) = usage(path);
            writeln!(out, "{entries} entries, {bytes} bytes in {}", path.display())?;
        }
        CacheAction::Clear => {
            let path = disk.path().ok_or_else(off)?;
            let removed = disk.clear().map_err(|error| Failure::of_file(path, error))?;
            writeln!(out, "{removed} files deleted in {}", path.display())?;
        }
        CacheAction::Bake(args) => {
            let path = disk.path().ok_or_else(off)?;
            bake(args, out)?;
            let stats = disk.stats();
            let at = path.display();
            writeln!(
                out,
                "{} compiled, {} were there, {} stored in {at}",
                stats.misses, stats.hits, stats.stores
            )?;
            if stats.stores < stats.misses {
                return Err(Failure::new(format!("{at}: not every kernel could be stored; is it writable?")));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Number of entries below a folder of the cache, and their bytes.
pub(crate) fn usage(path: &Path) -> (u64, u64) {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    entries(path)
        .flat_map(|shard| entries(&shard.path()))
        .filter(|file| file.path().extension().is_some_and(|extension| extension == "bin"))
        .filter_map(|file| file.metadata().ok())
        .fold((0, 0), |(count, bytes), file| (count + 1, bytes + file.len()))
}

/// Compiles the flat kernel and strided ones of each op, dtype and architecture.
fn bake(args: &BakeArgs, out: &mut impl Write) -> Outcome<()> {
    let ops: Vec<_> = args.ops.iter().map(|name| find_op(name)).collect::<Outcome<_>>()?;
    let archs: Vec<Arch> = args.arch.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
    let dtypes: Vec<DType> =
        args.dtypes.iter().map(|name| notation::dtype(name).map_err(Failure::new)).collect::<Outcome<_>>()?;
    for op in ops {
        for &dtype in &dtypes {
            for rank in RANKS {
                let source = source(op, dtype, rank)?;
                for &arch in &archs {
                    compile(&source, arch)?;
                    writeln!(out, "{} for {arch}", source.entry)?;
                }
            }
        }
    }
    Ok(())
}

/// The kernel of an op for operands of this dtype whose axes do not merge; contiguous ones for rank 0.
fn source(op: &'static OpDef, dtype: DType, rank: usize) -> Outcome<Source> {
    let layout = if rank == 0 {
        Layout::contiguous(&[EXTENT * EXTENT])?
    } else {
        // Every axis has a gap behind it, so no two are one.
        let strides: Vec<isize> =
            contiguous_strides(&vec![EXTENT + 1; rank]).iter().map(|stride| stride * 2).collect();
        Layout::new(&vec![EXTENT; rank], &strides, 0)?
    };
    let meta = |(position, param): (usize, &ParamDef)| -> Outcome<Meta> {
        let dtype = match param.ty {
            TypeRef::Fixed(fixed) if !param.promotes => fixed,
            _ => dtype,
        };
        let layout = if op.is_one_value(position) { Layout::contiguous(&[])? } else { layout.clone() };
        Ok(Meta { dtype, device: Device::Cpu, layout })
    };
    let metas = op.params.iter().enumerate().map(meta).collect::<Outcome<Vec<Meta>>>()?;
    let arguments: Vec<_> = op
        .params
        .iter()
        .zip(&metas)
        .map(|(param, meta)| match param.role {
            Role::Tensor => Argument::Buffer(meta),
            Role::Number => Argument::Number(Scalar::I64(1)),
        })
        .collect();
    let (_, plan) = plan::preview(op, &arguments)?;
    Ok(emit::source(&plan.spec)?)
}

#[cfg(feature = "cuda")]
fn compile(source: &Source, arch: Arch) -> Outcome<()> {
    gems_ops::compile::binary(&source.text, &source.entry, arch)?;
    Ok(())
}

#[cfg(not(feature = "cuda"))]
fn compile(_: &Source, _: Arch) -> Outcome<()> {
    Err(without_cuda())
}

/// The PTX of a kernel.
#[cfg(feature = "cuda")]
pub(crate) fn ptx(source: &Source, arch: &str) -> Outcome<String> {
    use gems_ops::compile::{BinaryKind, Nvrtc, Target};
    let target = Target { arch: arch.parse()?, kind: BinaryKind::Ptx };
    let binary = Nvrtc::get()?.compile_for(&source.text, &source.entry, target)?;
    let text = String::from_utf8_lossy(&binary.bytes);
    Ok(text.trim_end_matches('\0').to_owned())
}

/// The PTX of a kernel.
#[cfg(not(feature = "cuda"))]
pub(crate) fn ptx(_: &Source, _: &str) -> Outcome<String> {
    Err(without_cuda())
}

#[cfg(not(feature = "cuda"))]
fn without_cuda() -> Failure {
    Failure::new("built without CUDA; enable the feature `cuda`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_kernel_and_one_of_each_rank_are_baked() {
        for (op, dtype) in [("abs", DType::F32), ("where", DType::BF16), ("add_scaled", DType::I32)] {
            let op = gems_ops::REGISTRY.get(op).unwrap();
            let sources: Vec<Source> = RANKS.map(|rank| source(op, dtype, rank).unwrap()).collect();
            let entries: std::collections::BTreeSet<&str> =
                sources.iter().map(|source| source.entry.as_str()).collect();
            assert_eq!(entries.len(), sources.len(), "each is a kernel of its own: {entries:?}");
            assert!(sources.iter().all(|source| source.text.contains(&source.entry)));
        }
    }

    #[test]
    fn entries_are_counted_below_their_folders() {
        let folder = std::env::temp_dir().join(format!("gems-cache-usage-{}", std::process::id()));
        fs::create_dir_all(folder.join("ab")).unwrap();
        for (name, bytes) in [("x.bin", 3), ("y.bin", 4), ("z.lock", 5)] {
            fs::write(folder.join("ab").join(name), vec![0; bytes]).unwrap();
        }
        assert_eq!(usage(&folder), (2, 7));
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(usage(&folder), (0, 0));
    }
}
