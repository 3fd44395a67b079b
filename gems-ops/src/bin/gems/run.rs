//! `gems run`: one op on .npy files and numbers.

use crate::RunArgs;
use crate::failure::{Failure, Outcome, find_op};
use crate::list::signature;
use crate::{notation, npy};
use gems_ops::buffer::{Buffer, StridedBuffer};
use gems_ops::device::Device;
use gems_ops::dtype::Scalar;
use gems_ops::op::Operand;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// An operand that is kept alive for the call.
enum Argument {
    Buffer(StridedBuffer),
    Number(Scalar),
}

pub(crate) fn run(args: &RunArgs, out: &mut impl Write) -> Outcome {
    let op = find_op(&args.op)?;
    if args.operands.len() != op.params.len() {
        let message =
            format!("{} takes {} operands, got {}", signature(op), op.params.len(), args.operands.len());
        return Err(Failure::new(message));
    }
    let arguments: Vec<_> =
        args.operands.iter().map(|text| argument(text, args.device)).collect::<Outcome<_>>()?;
    let operands: Vec<_> = arguments
        .iter()
        .map(|argument| match argument {
            Argument::Buffer(buffer) => Operand::Buffer(buffer),
            Argument::Number(number) => Operand::Scalar(*number),
        })
        .collect();
    let results = StridedBuffer::run(op, &operands, None)?;
    for (i, result) in results.iter().enumerate() {
        let result = result.to_device(Device::Cpu)?;
        match &args.out {
            None => writeln!(out, "{result}")?,
            Some(path) => {
                let path = if results.len() == 1 { path.clone() } else { numbered(path, i) };
                let bytes = npy::encode(&result).map_err(|what| Failure::of_file(&path, what))?;
                fs::write(&path, bytes).map_err(|error| Failure::of_file(&path, error))?;
                writeln!(out, "{}: {}", path.display(), result.meta())?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn argument(text: &str, device: Device) -> Outcome<Argument> {
    if let Some(number) = notation::number(text) {
        return Ok(Argument::Number(number));
    }
    let path = Path::new(text);
    let bytes = fs::read(path).map_err(|error| Failure::of_file(path, error))?;
    let buffer = npy::decode(&bytes).map_err(|what| Failure::of_file(path, what))?;
    Ok(Argument::Buffer(buffer.to_device(device)?))
}

/// `out.npy` → `out.1.npy`.
fn numbered(path: &Path, i: usize) -> PathBuf {
    let stem = match path.extension() {
        Some(extension) if extension == "npy" => path.with_extension(""),
        _ => path.to_owned(),
    };
    let mut name = stem.into_os_string();
    name.push(format!(".{i}.npy"));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_results_are_numbered_before_the_extension() {
        assert_eq!(numbered(Path::new("a/out.npy"), 1), Path::new("a/out.1.npy"));
        assert_eq!(numbered(Path::new("a.b"), 0), Path::new("a.b.0.npy"));
    }
}
