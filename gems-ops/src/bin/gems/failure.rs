//! Why a command stopped.

use gems_ops::error::Error;
use gems_ops::op::OpDef;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// How a command ends.
pub(crate) type Outcome<T = ExitCode> = Result<T, Failure>;

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What is wrong, and the way out.
    Message(String),
    /// Nobody reads the output any more.
    ClosedPipe,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Failure {
        Failure::Message(message.into())
    }

    /// A failure that belongs to a file.
    pub(crate) fn of_file(path: &Path, what: impl std::fmt::Display) -> Failure {
        Failure::Message(format!("{}: {what}", path.display()))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Message(error.to_string())
    }
}

impl From<io::Error> for Failure {
    /// Errors of standard output; those of files name the file instead.
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Message(format!("cannot write: {error}")),
        }
    }
}

/// The op of this name, or a failure that lists similar ones.
pub(crate) fn find_op(name: &str) -> Outcome<&'static OpDef> {
    if let Some(op) = gems_ops::REGISTRY.get(name) {
        return Ok(op);
    }
    let similar: Vec<_> =
        gems_ops::REGISTRY.iter().map(|op| op.name).filter(|known| is_similar(known, name)).collect();
    let hint = match similar.as_slice() {
        [] => "`gems list` shows all".to_owned(),
        names => format!("did you mean {}?", names.join(", ")),
    };
    Err(Failure::new(format!("no op `{name}`; {hint}")))
}

/// One name holds the other, or they differ by one letter.
fn is_similar(known: &str, name: &str) -> bool {
    let holds = name.len().min(known.len()) >= 3 && (known.contains(name) || name.contains(known));
    let prefix = known.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let suffix = known.bytes().rev().zip(name.bytes().rev()).take_while(|(a, b)| a == b).count();
    holds || (name.len() >= 3 && prefix + suffix + 1 >= known.len().max(name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_one_wrong_letter_is_similar() {
        for (known, name) in
            [("gelu", "gellu"), ("sigmoid", "sigmoyd"), ("remainder", "remaindr"), ("gelu_tanh", "gelu")]
        {
            assert!(is_similar(known, name), "{known} {name}");
        }
        for (known, name) in [("gelu", "abs"), ("add", "mul"), ("exp", "zz"), ("ge", "gellu")] {
            assert!(!is_similar(known, name), "{known} {name}");
        }
    }

    #[test]
    fn a_closed_pipe_is_not_an_error() {
        assert!(matches!(Failure::from(io::Error::from(io::ErrorKind::BrokenPipe)), Failure::ClosedPipe));
        assert!(matches!(Failure::from(io::Error::from(io::ErrorKind::StorageFull)), Failure::Message(_)));
    }
}
