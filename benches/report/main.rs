//! Turns measurements of `gems bench --json` and of peers into the tables and plots of docs/performance.md.
//!
//! ```sh
//! cargo run -p gems-benches --bin report -- docs benches/data/h200/*.json*
//! ```
//!
//! A `.json` file is a report of `gems bench`; a `.jsonl` file has one row of a peer a line: `case`, `peer`, and `vs_copy`
//! or `host_us`. Tables replace what stands between `<!-- table NAME -->` and `<!-- end -->`; plots go to `plots/`.
#![expect(clippy::print_stderr, reason = "a command line tool")]

mod plot;
mod rows;
mod table;

use rows::Rows;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let Some(docs) = arguments.next() else {
        eprintln!("usage: report DOCS FILE…");
        return ExitCode::from(2);
    };
    match report(&docs, &arguments.collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn report(docs: &Path, files: &[PathBuf]) -> Result<(), String> {
    let rows = Rows::read(files)?;
    let page = docs.join("performance.md");
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(&page).map_err(|error| failed(&page, error))?;
    let text =
        table::replace(&text, &[("bandwidth", table::bandwidth(&rows)), ("host", table::host(&rows))])?;
    std::fs::write(&page, text).map_err(|error| failed(&page, error))?;
    let plots = docs.join("plots");
    std::fs::create_dir_all(&plots).map_err(|error| failed(&plots, error))?;
    let drawn = [
        ("bandwidth.svg", plot::bandwidth(&rows)),
        ("sizes.svg", plot::sizes(&rows)),
        ("host.svg", plot::host(&rows)),
    ];
    for (name, svg) in drawn {
        let path = plots.join(name);
        std::fs::write(&path, svg).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}
