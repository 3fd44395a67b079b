//! The table of docs/numerics.md, from what was measured.

use crate::failure::{Failure, Outcome};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What stands around the table in a page.
const START: &str = "<!-- accuracy: made by `gems accuracy --markdown` -->\n";
const END: &str = "<!-- end of accuracy -->\n";

const DTYPES: [&str; 4] = ["f16", "bf16", "f32", "f64"];

/// What one device measured: a cell for each op and dtype.
struct Device {
    name: String,
    cells: BTreeMap<(String, String), Cell>,
}

struct Cell {
    max: f64,
    p999: f64,
    bound: String,
    of_bound: f64,
    is_met: bool,
}

/// Replaces the table between the marks of a page.
pub(super) fn insert(table: &str, page: &Path) -> Outcome<()> {
    let text = std::fs::read_to_string(page).map_err(|error| Failure::of_file(page, error))?;
    let parts = text.split_once(START).and_then(|(head, rest)| Some((head, rest.split_once(END)?.1)));
    let (head, tail) =
        parts.ok_or_else(|| Failure::of_file(page, format!("no table between {START:?} and {END:?}")))?;
    std::fs::write(page, format!("{head}{START}{table}{END}{tail}"))
        .map_err(|error| Failure::of_file(page, error))
}

/// A row an op, and for each file the largest and the 99.9th-percentile error of each dtype.
pub(super) fn write(files: &[PathBuf], out: &mut impl Write) -> Outcome<()> {
    let mut ops: Vec<String> = Vec::new();
    let devices = files.iter().map(|file| read(file, &mut ops)).collect::<Outcome<Vec<_>>>()?;
    let columns: Vec<_> = devices.iter().flat_map(|device| DTYPES.map(|dtype| (device, dtype))).collect();
    write!(out, "| op |")?;
    for (device, dtype) in &columns {
        write!(out, " {} {dtype} |", device.name)?;
    }
    writeln!(out, " bound f32 | bound f64 |")?;
    writeln!(out, "|---|{}---|---|", "---|".repeat(columns.len()))?;
    for op in &ops {
        write!(out, "| `{op}` |")?;
        for (device, dtype) in &columns {
            write!(out, " {} |", device.cell(op, dtype).map_or(String::new(), Cell::to_string))?;
        }
        for dtype in ["f32", "f64"] {
            let bound =
                devices.iter().find_map(|device| device.cell(op, dtype)).map(|cell| cell.bound.as_str());
            write!(out, " {} |", bound.unwrap_or_default().replace('|', "\\|"))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

impl Device {
    fn cell(&self, op: &str, dtype: &str) -> Option<&Cell> {
        self.cells.get(&(op.to_owned(), dtype.to_owned()))
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} / {}", short(self.max), short(self.p999))?;
        // Where ulps are not what is bounded.
        if self.bound.contains('·') {
            write!(f, " ({})", short(self.of_bound))?;
        }
        if self.is_met { Ok(()) } else { f.write_str(" **missed**") }
    }
}

/// Three digits.
fn short(ulps: f64) -> String {
    if ulps < 1e3 { format!("{ulps:.2}") } else { format!("{ulps:.1e}") }
}

/// Reads a file of `--json`; notes its ops in their order.
fn read(path: &PathBuf, ops: &mut Vec<String>) -> Outcome<Device> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::of_file(path, error))?;
    let file: Value = serde_json::from_str(&text).map_err(|error| Failure::of_file(path, error))?;
    let wrong = || Failure::of_file(path, "not a file that `gems accuracy --json` wrote");
    let mut device =
        Device { name: file["device"].as_str().ok_or_else(wrong)?.to_owned(), cells: BTreeMap::new() };
    for row in file["rows"].as_array().ok_or_else(wrong)? {
        let text = |key: &str| row[key].as_str().map(str::to_owned).ok_or_else(wrong);
        // JSON has no infinity: null stands for one.
        let number = |key: &str| row[key].as_f64().unwrap_or(f64::INFINITY);
        let op = text("op")?;
        if !ops.contains(&op) {
            ops.push(op.clone());
        }
        let cell = Cell {
            max: number("max_ulp"),
            p999: number("p999_ulp"),
            bound: text("bound")?,
            of_bound: number("of_bound"),
            is_met: row["met"].as_bool().ok_or_else(wrong)?,
        };
        device.cells.insert((op, text("dtype")?), cell);
    }
    Ok(device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_page_is_that_of_the_measurements() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        let mut files: Vec<_> =
            std::fs::read_dir(docs.join("accuracy")).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let mut table = Vec::new();
        write(&files, &mut table).unwrap();
        let page = std::fs::read_to_string(docs.join("numerics.md")).unwrap();
        let table = format!("{START}{}{END}", String::from_utf8(table).unwrap());
        assert!(
            page.contains(&table),
            "gems accuracy --markdown docs/accuracy/*.json --into docs/numerics.md"
        );
    }

    #[test]
    fn a_file_of_something_else_is_refused() {
        let path = std::env::temp_dir().join(format!("gems-accuracy-{}.json", std::process::id()));
        std::fs::write(&path, "{}").unwrap();
        let outcome = write(std::slice::from_ref(&path), &mut Vec::new());
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(outcome, Err(Failure::Message(_))));
    }
}
