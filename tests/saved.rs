//! Functions that are saved, run in another process, and refused where the file is not what was saved.
#![expect(clippy::unwrap_used, reason = "the helpers are parts of tests")]

use gems_ops::{REGISTRY, prelude::*};
use gems_runtime::op::OpDef;
use gems_runtime::trace::Loaded;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A function of the user's own.
#[pointwise_dynamic(promote = default(x, y))]
fn halfway<T: Float>(x: T, y: T) -> T {
    0.5 * (x + y)
}

/// Another function of that name.
mod changed {
    use gems_ops::prelude::*;

    #[pointwise_dynamic(promote = default(x, y))]
    pub(super) fn halfway<T: Float>(x: T, y: T) -> T {
        x + 0.5 * (y - x)
    }
}

fn buffer(n: usize, seed: f32) -> StridedBuffer {
    let values: Vec<f32> = (0..n).map(|i| (i as f32 * 0.37 + seed).sin()).collect();
    StridedBuffer::from_vec(values, &[n]).unwrap()
}

/// A saved function of two vectors, and its results for some size.
fn saved(folder: &TempDir, n: usize) -> (PathBuf, Vec<Vec<u32>>) {
    let f = compile(|[mut x, y]: [SymbolicBuffer; 2]| {
        let gated = gelu_and_mul(&tanh(&y)?, &sub(&x, &y)?)?;
        add::inplace(&mut x, &gated)?;
        Ok([gated, mul(&x.flip(&[0])?, 2)?])
    });
    let results = f.call([&buffer(n, 0.1), &buffer(n, 0.2)]).unwrap();
    let path = folder.path().join("function.gems");
    f.save(&path).unwrap();
    let bits =
        |result: &StridedBuffer| result.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect();
    (path, results.iter().map(bits).collect())
}

fn run_saved(path: &Path, n: usize) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_run_saved"));
    program.arg(path).arg("cpu").arg(n.to_string());
    let output = program.env("GEMS_NVRTC", "/nonexistent").env("GEMS_CACHE", "off").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn refused(path: &Path, kind: ErrorKind, because: &str) {
    let error = Loaded::from_file(path, REGISTRY.iter()).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(because), "{error}");
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
}

#[test]
fn another_process_runs_it_without_driver_and_compiler() {
    let folder = TempDir::new().unwrap();
    let (path, bits) = saved(&folder, 40);
    let lines: Vec<String> = bits.iter().map(|bits| format!("{bits:?}")).collect();
    let expected = [&lines[..], &lines[..]].concat().join("\n");
    assert_eq!(run_saved(&path, 40), format!("{expected}\nNVRTC loaded: false\ndriver loaded: false\n"));
    // Other sizes of the form need no other file.
    let other = saved(&TempDir::new().unwrap(), 7).1;
    assert!(run_saved(&path, 7).starts_with(&format!("{:?}\n{:?}\n", other[0], other[1])));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn kernels_that_copy_an_operand_first_and_those_of_inputs_that_share_memory_are_saved() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("function.gems");
    let saved = |f: &dyn Fn(&Path) -> Result<()>, kernel: &str| {
        f(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        bytes.windows(kernel.len()).any(|window| window == kernel.as_bytes())
    };
    let f = compile(|[x, mut y]: [SymbolicBuffer; 2]| {
        let even = x.slice(0, 0, isize::MAX, 2)?;
        maximum::out(&even, 0, &mut even.flip(&[0])?)?;
        sub::inplace(&mut y, 1)
    });
    f.call([&buffer(9, 0.1), &buffer(4, 0.2)]).unwrap();
    for kernel in ["// maximum: (f32, f32) -> f32", "// sub: (f32, f32) -> f32"] {
        assert!(saved(&|path| f.save(path), kernel), "{kernel}");
    }
    let f = compile(|[mut x, y]: [SymbolicBuffer; 2]| {
        let product = mul(&x, &y)?;
        add::inplace(&mut x, &product)
    });
    let x = buffer(9, 0.1);
    f.call([&x, &x]).unwrap();
    for kernel in ["// mul: (f32, f32) -> f32", "// add: (f32, f32) -> f32"] {
        assert!(saved(&|path| f.save(path), kernel), "{kernel}");
    }
}

#[test]
fn damage_of_any_kind_is_refused() {
    let folder = TempDir::new().unwrap();
    let (path, _) = saved(&folder, 5);
    let whole = std::fs::read(&path).unwrap();
    let damaged = folder.path().join("damaged.gems");
    for at in (0..whole.len()).step_by(1 + whole.len() / 97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&damaged, &bytes).unwrap();
        refused(&damaged, ErrorKind::Value, "save");
        std::fs::write(&damaged, &whole[..at]).unwrap();
        refused(&damaged, ErrorKind::Value, "save");
    }
    std::fs::write(&damaged, b"not a function").unwrap();
    refused(&damaged, ErrorKind::Value, "is no saved function of this format");
    assert!(run_saved(&damaged, 5).starts_with("Value: "));
    refused(&folder.path().join("absent.gems"), ErrorKind::Io, "cannot be read");
}

/// The file with one text in place of another of the same length, and a checksum that fits.
fn forged(path: &Path, from: &str, to: &str) -> PathBuf {
    assert_eq!(from.len(), to.len());
    let mut bytes = std::fs::read(path).unwrap();
    bytes.truncate(bytes.len() - 32);
    let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    sealed(path, bytes)
}

/// A file of these bytes beside another one, with a checksum that fits.
fn sealed(path: &Path, mut bytes: Vec<u8>) -> PathBuf {
    let checksum = blake3::hash(&bytes);
    bytes.extend_from_slice(checksum.as_bytes());
    let forged = path.with_file_name("forged.gems");
    std::fs::write(&forged, bytes).unwrap();
    forged
}

#[test]
fn other_versions_and_unknown_ops_are_refused_with_the_way_out() {
    let folder = TempDir::new().unwrap();
    let (path, _) = saved(&folder, 5);
    let version = env!("CARGO_PKG_VERSION");
    let other = version.replace('1', "9");
    let because = format!("was saved by gems {other}, and this is {version}; save the function again");
    refused(&forged(&path, version, &other), ErrorKind::Value, &because);
    refused(&forged(&path, "fusion on,", "fusion up,"), ErrorKind::Value, "unknown options");
    let unknown =
        "op `tanj` is not among those given; add its `DEF`, as in `REGISTRY.iter().chain([tanj::DEF])`";
    refused(&forged(&path, "op tanh", "op tanj"), ErrorKind::Value, unknown);
    refused(
        &forged(&path, "op tanh = ", "op tanh = ").with_file_name("absent"),
        ErrorKind::Io,
        "give a path",
    );
}

#[test]
fn a_view_that_leaves_its_memory_is_an_error_at_every_size() {
    let folder = TempDir::new().unwrap();
    let (path, _) = saved(&folder, 5);
    let start = "+(x0.shape[0], -1)";
    let beyond = forged(&path, start, "+(x0.shape[0],  0)");
    refused(&beyond, ErrorKind::Value, "reaches beyond its memory");
    // It fits the size that was traced, so only a call with another size shows it.
    let fixed = forged(&path, start, &format!("{:17})", "+(4"));
    let loaded = Loaded::from_file(fixed, REGISTRY.iter()).unwrap();
    assert!(loaded.call(&[&buffer(5, 0.1), &buffer(5, 0.2)]).is_ok());
    let error = loaded.call(&[&buffer(7, 0.1), &buffer(7, 0.2)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Shape);
    assert!(error.to_string().contains("leaves f32[7]"), "{error}");
}

/// A file with this graph in place of another one.
fn with_graph(path: &Path, text: &str) -> PathBuf {
    let known = Loaded::from_file(path, REGISTRY.iter()).unwrap().graphs()[0].to_string();
    let mut bytes = std::fs::read(path).unwrap();
    bytes.truncate(bytes.len() - 32);
    let at = bytes.windows(known.len()).position(|window| window == known.as_bytes()).unwrap();
    bytes.splice(at..at + known.len(), text.bytes());
    bytes[at - 8..at].copy_from_slice(&(text.len() as u64).to_le_bytes());
    sealed(path, bytes)
}

#[test]
fn offsets_beyond_the_address_space_are_errors_at_every_size() {
    let folder = TempDir::new().unwrap();
    let path = with_graph(
        &saved(&folder, 5).0,
        "size n = 4\nsize m = 4\nsize s2 = n - 4\nsize s3 = m - 4\ninput x0: u8[n]\ninput x1: u8[m]\n\
         a: u8[4] = gradient_copy(x0[4]@(1)+(9223372036854775804*s2, 9223372036854775804*s3)) in u8\nreturn a\n",
    );
    let loaded = Loaded::from_file(path, REGISTRY.iter()).unwrap();
    let x = |n: usize| StridedBuffer::from_vec(vec![7_u8; n + 1], &[n + 1]).unwrap().narrow(0, 1, n).unwrap();
    assert_eq!(loaded.call(&[&x(4), &x(4)]).unwrap()[0].to_vec::<u8>().unwrap(), [7; 4]);
    for (n, m) in [(5, 4), (4, 5), (5, 5), (6, 7)] {
        assert_eq!(loaded.call(&[&x(n), &x(m)]).unwrap_err().kind(), ErrorKind::Shape);
    }
}

#[test]
fn ops_of_the_user_are_given_by_the_caller() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("mine.gems");
    let f = compile(|[x, y]: [SymbolicBuffer; 2]| halfway(&tanh(&x)?, &y));
    let (x, y) = (buffer(9, 0.3), buffer(9, 0.4));
    let expected = f.call([&x, &y]).unwrap().to_vec::<f32>().unwrap();
    f.save(&path).unwrap();
    let with = |mine: Option<&'static OpDef>| Loaded::from_file(&path, REGISTRY.iter().chain(mine));
    let loaded = with(Some(halfway::DEF)).unwrap();
    assert_eq!(loaded.call(&[&x, &y]).unwrap()[0].to_vec::<f32>().unwrap(), expected);
    let error = with(None).unwrap_err().to_string();
    assert!(error.contains("op `halfway` is not among those given; add its `DEF`"), "{error}");
    let error = with(Some(changed::halfway::DEF)).unwrap_err().to_string();
    assert!(error.contains("op `halfway` has another formula"), "{error}");
}

#[test]
fn a_loaded_function_says_which_inputs_it_knows() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("function.gems");
    let f = compile(|[x]: [SymbolicBuffer; 1]| tanh(&x));
    assert_eq!(f.save(&path).unwrap_err().kind(), ErrorKind::Value);
    f.call([&buffer(4, 0.0)]).unwrap();
    f.save(&path).unwrap();
    let loaded = Loaded::from_file(&path, REGISTRY.iter()).unwrap();
    assert_eq!(loaded.graphs(), [f.graph([&buffer(4, 0.0)]).unwrap()]);
    let matrix = StridedBuffer::zeros(DType::F32, &[2, 2], Device::Cpu).unwrap();
    let error = loaded.call(&[&matrix]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Guard);
    assert!(error.to_string().contains("saved for 1 forms, and f32[2, 2] on cpu is of none"), "{error}");
    assert_eq!(loaded.call(&[]).unwrap_err().kind(), ErrorKind::Guard);
    assert_eq!(f.save("/nonexistent/folder/f.gems").unwrap_err().kind(), ErrorKind::Io);
}
