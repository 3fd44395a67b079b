//! Measurements by case, ours and those of peers.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One case of ours.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ours {
    pub(crate) name: String,
    /// What is reported: a fraction of the copy, or a multiple of a raw launch; one a run.
    pub(crate) runs: Vec<f64>,
    /// Microseconds of the first run.
    pub(crate) us: f64,
    /// What the contract asks for.
    pub(crate) reach: Option<f64>,
}

/// All that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rows {
    /// Fractions of the copy, in the order of the suite.
    pub(crate) bandwidth: Vec<Ours>,
    /// GB/s by op, then elements.
    pub(crate) sizes: BTreeMap<String, Vec<(f64, f64)>>,
    /// Multiples of a raw launch.
    pub(crate) host: Vec<Ours>,
    /// Fractions of the copy by case and peer.
    pub(crate) peers: BTreeMap<String, BTreeMap<String, f64>>,
    /// Microseconds on the host by case and peer.
    pub(crate) peers_host: Vec<(String, String, f64)>,
}

impl Rows {
    pub(crate) fn read(files: &[PathBuf]) -> Result<Rows, String> {
        let mut rows = Rows::default();
        for file in files {
            let text =
                std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
            let is_peers = file.extension().is_some_and(|extension| extension == "jsonl");
            let read = if is_peers { rows.add_peers(&text) } else { rows.add_ours(&text) };
            read.map_err(|error| format!("{}: {error}", Path::new(file).display()))?;
        }
        Ok(rows)
    }

    fn add_ours(&mut self, text: &str) -> Result<(), String> {
        let report: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        for row in report["rows"].as_array().ok_or("no list of rows")? {
            let number = |name: &str| row[name].as_f64();
            let Some(name) = row["case"].as_str() else { continue };
            if let (Some(elements), Some(gbps)) = (number("elements"), number("gbps")) {
                let op = name.split_once("_2^").map_or(name, |(op, _)| op).to_owned();
                self.sizes.entry(op).or_default().push((elements, gbps));
            } else if let (Some(ratio), Some(us)) = (number("ratio"), number("us")) {
                add(&mut self.host, name, ratio, us, number("reach"));
            } else if let (Some(of_copy), Some(ms)) = (number("of_copy"), number("ms")) {
                add(&mut self.bandwidth, name, of_copy, ms * 1e3, number("reach"));
            }
        }
        Ok(())
    }

    fn add_peers(&mut self, text: &str) -> Result<(), String> {
        for line in text.lines().filter(|line| line.starts_with('{')) {
            let row: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
            let (Some(case), Some(peer)) = (row["case"].as_str(), row["peer"].as_str()) else { continue };
            if let Some(fraction) = row["vs_copy"].as_f64() {
                self.peers.entry(case.to_owned()).or_default().insert(peer.to_owned(), fraction);
            } else if let Some(us) = row["host_us"].as_f64() {
                self.peers_host.push((case.to_owned(), peer.to_owned(), us));
            }
        }
        Ok(())
    }
}

/// Adds a run of a case, or the case with its first run.
fn add(list: &mut Vec<Ours>, name: &str, run: f64, us: f64, reach: Option<f64>) {
    match list.iter_mut().find(|ours| ours.name == name) {
        Some(ours) => ours.runs.push(run),
        None => list.push(Ours { name: name.to_owned(), runs: vec![run], us, reach }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_apart_by_what_they_have() {
        let mut rows = Rows::default();
        let ours = r#"{"rows": [{"case": "a", "ms": 0.5, "of_copy": 0.9, "reach": 0.97},
            {"case": "add", "us": 3.5, "ratio": 1.1}, {"case": "add_2^10", "elements": 1024, "gbps": 7.0}]}"#;
        rows.add_ours(ours).unwrap();
        rows.add_ours(ours).unwrap();
        rows.add_peers("noise\n{\"case\": \"a\", \"peer\": \"torch\", \"vs_copy\": 0.5}").unwrap();
        let a = Ours { name: "a".into(), runs: vec![0.9, 0.9], us: 500.0, reach: Some(0.97) };
        assert_eq!(rows.bandwidth, [a]);
        assert_eq!(rows.host[0].runs, [1.1, 1.1]);
        assert_eq!(rows.sizes["add"], [(1024.0, 7.0); 2]);
        assert_eq!(rows.peers["a"]["torch"], 0.5);
        assert!(rows.add_ours("[]").is_err());
    }
}
