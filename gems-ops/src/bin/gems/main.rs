//! The command line tool: looks at ops, runs them on files, replays recorded cases, and says what the machine offers.
//!
//! Guarantees: bad arguments and files give one line on stderr and exit code 2, never a panic; a closed pipe ends the
//! tool in silence. Computes nothing itself: every command calls the library.

mod accuracy;
mod bench;
mod cache;
mod doctor;
mod elements;
mod failure;
mod list;
mod notation;
mod npy;
mod replay;
mod run;
mod show;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use failure::{Failure, Outcome};
use gems_ops::device::Device;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Pointwise ops on strided buffers: look at them, run them, check them.
#[derive(Debug, Parser)]
#[command(name = "gems", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the ops, or those whose name or documentation has a word.
    List(ListArgs),
    /// Show what an op became for some operands: results, plan, kernel.
    Show(ShowArgs),
    /// Run an op on .npy files and numbers.
    Run(RunArgs),
    /// Replay recorded cases and compare.
    Replay(ReplayArgs),
    /// Say what the machine offers, what is missing and how to mend it.
    Doctor,
    /// Measure how far results are from the exact ones.
    Accuracy(accuracy::AccuracyArgs),
    /// Measure kernels, launches, first uses and the CPU back end.
    Bench(bench::BenchArgs),
    /// The cache of compiled kernels.
    Cache {
        #[command(subcommand)]
        action: CacheAction,
    },
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Only ops whose name, other names or documentation have this word.
    word: Option<String>,
    /// As JSON.
    #[arg(long)]
    json: bool,
    /// As a page of Markdown.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
struct ShowArgs {
    /// Name of the op.
    op: String,
    /// Numbers, or `dtype[shape]` with views behind it: `bf16[64,256].t()`; left out: contiguous `f32[1024]`.
    operands: Vec<String>,
    /// Architecture to compile for.
    #[arg(long, default_value = "sm_90")]
    arch: String,
    /// The op that computes the gradients, instead of the op itself.
    #[arg(long)]
    grad: bool,
    /// Only this: the CUDA source, its PTX, the kernel's name, or the plan.
    #[arg(long, value_enum)]
    emit: Option<Emit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Emit {
    Cuda,
    Ptx,
    Spec,
    Plan,
}

#[derive(Debug, clap::Args)]
#[command(allow_negative_numbers = true)]
struct RunArgs {
    /// Name of the op.
    op: String,
    /// .npy files and numbers, one a parameter.
    #[arg(required = true)]
    operands: Vec<String>,
    /// Write the result to this .npy file; several results get .0.npy, .1.npy, and so on.
    #[arg(long)]
    out: Option<PathBuf>,
    /// `cpu` or `cuda:N`.
    #[arg(long, default_value = "cpu", value_parser = parse_device)]
    device: Device,
}

#[derive(Debug, clap::Args)]
struct ReplayArgs {
    /// Files of cases, plain or gzip.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// `cpu` or `cuda:N`.
    #[arg(long, default_value = "cpu", value_parser = parse_device)]
    device: Device,
    /// Compute and compare values, or only infer dtype, shape and strides.
    #[arg(long, value_enum, default_value = "eager")]
    mode: replay::Mode,
    /// Compare gradients, of the cases that have them, instead of results: eager, or traced as forward and backward.
    #[arg(long)]
    grad: bool,
    /// Only cases of these ops, by PyTorch's name or ours.
    #[arg(long, value_delimiter = ',')]
    ops: Vec<String>,
    /// Only cases of these dtypes.
    #[arg(long, value_delimiter = ',')]
    dtypes: Vec<String>,
    /// Only cases of these sources.
    #[arg(long, value_delimiter = ',')]
    source: Vec<String>,
    /// Write every case's outcome to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Known differences; default: known-differences.toml next to each file of cases.
    #[arg(long)]
    known: Option<PathBuf>,
    /// Cases that fail so far, an id a line with a remark: succeed if exactly these fail. They count as failed.
    #[arg(long)]
    open: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum CacheAction {
    /// Print the folder.
    Path,
    /// Count the entries and their bytes.
    Stats,
    /// Delete every entry.
    Clear,
    /// Compile kernels of these ops ahead of their first use.
    Bake(BakeArgs),
}

#[derive(Debug, clap::Args)]
struct BakeArgs {
    /// Names of ops.
    #[arg(required = true)]
    ops: Vec<String>,
    /// Architectures to compile for.
    #[arg(long, value_delimiter = ',', default_value = "sm_90")]
    arch: Vec<String>,
    /// Dtypes of the operands.
    #[arg(long, value_delimiter = ',', default_value = "f32")]
    dtypes: Vec<String>,
}

/// What clap calls the help that it prints where a command is missing.
const HELP_WITHOUT_ARGUMENTS: ErrorKind = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;

fn parse_device(text: &str) -> Result<Device, String> {
    let ordinal = text
        .strip_prefix("cuda")
        .map(|rest| rest.strip_prefix(':').unwrap_or(if rest.is_empty() { "0" } else { rest }));
    match (text, ordinal.map(str::parse)) {
        ("cpu", _) => Ok(Device::Cpu),
        (_, Some(Ok(ordinal))) => Ok(Device::Cuda(ordinal)),
        _ => Err("expected `cpu` or `cuda:N`".to_owned()),
    }
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if !error.use_stderr() || error.kind() == HELP_WITHOUT_ARGUMENTS => error.exit(),
        Err(error) => return report(&Failure::Message(first_paragraph(&error.to_string()))),
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    let outcome = dispatch(cli.command, &mut out).and_then(|code| {
        out.flush()?;
        Ok(code)
    });
    outcome.unwrap_or_else(|failure| report(&failure))
}

fn dispatch(command: Command, out: &mut impl Write) -> Outcome {
    match command {
        Command::List(args) => list::list(&args, out),
        Command::Show(args) => show::show(&args, out),
        Command::Run(args) => run::run(&args, out),
        Command::Replay(args) => replay::replay(&args, out),
        Command::Doctor => doctor::doctor(out),
        Command::Accuracy(args) => accuracy::accuracy(&args, out),
        Command::Bench(args) => bench::bench(&args, out),
        Command::Cache { action } => cache::cache(&action, out),
    }
}

fn report(failure: &Failure) -> ExitCode {
    match failure {
        Failure::Message(message) => {
            // A closed stderr leaves nobody to tell.
            let lines: Vec<_> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            let _ = writeln!(io::stderr(), "gems: {}", lines.join("; "));
            ExitCode::from(2)
        }
        Failure::ClosedPipe => ExitCode::SUCCESS,
    }
}

/// The part of a message of clap that says what is wrong, on one line.
fn first_paragraph(text: &str) -> String {
    let lines = text.lines().map(str::trim).take_while(|line| !line.is_empty());
    let paragraph = lines.collect::<Vec<_>>().join(" ");
    paragraph.strip_prefix("error: ").unwrap_or(&paragraph).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_of_all_commands_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn devices_are_cpu_and_numbered_cuda() {
        assert_eq!(parse_device("cpu"), Ok(Device::Cpu));
        assert_eq!(parse_device("cuda"), Ok(Device::Cuda(0)));
        assert_eq!(parse_device("cuda:3"), Ok(Device::Cuda(3)));
        for text in ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "cpu:0"] {
            assert!(parse_device(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_wrong_option_is_explained_on_one_line() {
        let error = Cli::try_parse_from(["gems", "replay", "x", "--mode", "lazy"]).unwrap_err();
        let line = first_paragraph(&error.to_string());
        assert!(line.starts_with("invalid value 'lazy' for '--mode <MODE>'"), "{line}");
        assert!(!line.contains('\n'));
    }

    #[test]
    fn negative_numbers_are_operands() {
        let cli = Cli::try_parse_from(["gems", "run", "add", "x.npy", "-2.5"]).unwrap();
        let Command::Run(args) = cli.command else { panic!("another command") };
        assert_eq!(args.operands, ["x.npy", "-2.5"]);
    }

    /// The exit code and output of a command line.
    fn gems(arguments: &[&str]) -> (ExitCode, String) {
        let cli = Cli::try_parse_from([&["gems"], arguments].concat()).unwrap();
        let mut out = Vec::new();
        let code = dispatch(cli.command, &mut out).unwrap();
        (code, String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_replay_without_failures_succeeds() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/promotion.json");
        let (code, text) = gems(&["replay", path]);
        assert_eq!(text.lines().last(), Some("738 passed, 0 failed, 6 known, 0 unsupported"));
        assert_eq!(code, ExitCode::SUCCESS);
        let (_, text) = gems(&["replay", path, "--ops", "elementwise"]);
        assert_eq!(text.lines().last(), Some("72 passed, 0 failed, 0 known, 0 unsupported"));
    }

    #[test]
    fn a_failing_case_gives_exit_code_1() {
        let path = std::env::temp_dir().join(format!("gems-failing-{}.json", std::process::id()));
        std::fs::write(&path, r#"{"elementwise": {"f16:DEFAULT": ["f16", "f16"]}}"#).unwrap();
        let (code, text) = gems(&["replay", path.to_str().unwrap()]);
        std::fs::remove_file(&path).unwrap();
        assert!(
            text.contains("failed f16:DEFAULT (elementwise, , promotion): got f32, f16, expected f16, f16"),
            "{text}"
        );
        assert!(text.ends_with("0 passed, 1 failed, 0 known, 0 unsupported\n"), "{text}");
        assert_eq!(code, ExitCode::FAILURE);
    }

    #[test]
    fn a_plan_is_shown_without_a_gpu() {
        let (_, text) = gems(&["show", "add", "bf16[64,256].t()", "2", "--emit", "plan"]);
        assert!(text.contains("kernel   add_bf16_"), "{text}");
        let (_, text) = gems(&["show", "abs"]);
        assert!(text.contains("extern \"C\" __global__"), "{text}");
    }

    #[test]
    fn missing_files_and_ops_are_failures() {
        for arguments in
            [&["run", "add", "/nowhere.npy", "1"][..], &["show", "nothing"], &["replay", "/nowhere.json"]]
        {
            let cli = Cli::try_parse_from([&["gems"], arguments].concat()).unwrap();
            let failure = dispatch(cli.command, &mut Vec::new());
            assert!(matches!(failure, Err(Failure::Message(_))), "{arguments:?}");
        }
    }
}
