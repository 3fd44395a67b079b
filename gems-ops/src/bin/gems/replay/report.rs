//! What became of the cases: a table per op, the failing ones with their reasons, and a closing line.

use crate::failure::Outcome;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// What became of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    /// With what differs.
    Failed(String),
    /// A listed departure, with its reason; everything that is not listed agrees.
    Known(String),
    /// With what is not there.
    Unsupported(String),
}

/// A case as the report names it.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub(super) id: String,
    pub(super) op: String,
    pub(super) dtype: String,
    pub(super) source: String,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    passed: usize,
    failed: usize,
    known: usize,
    unsupported: usize,
}

/// The outcomes of one run.
#[derive(Debug, Default)]
pub(super) struct Report {
    cases: Vec<(Label, Verdict)>,
}

impl Report {
    pub(super) fn add(&mut self, label: Label, verdict: Verdict) {
        self.cases.push((label, verdict));
    }

    /// The ids of the cases that failed.
    pub(super) fn failed(&self) -> BTreeSet<String> {
        let failed = self.cases.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Failed(_)));
        failed.map(|(label, _)| label.id.clone()).collect()
    }

    /// The table, the failing cases, the closing line.
    pub(super) fn print(&self, out: &mut impl Write) -> Outcome<()> {
        let mut rows: BTreeMap<&str, Counts> = BTreeMap::new();
        for (label, verdict) in &self.cases {
            rows.entry(&label.op).or_default().count(verdict);
        }
        let width = rows.keys().map(|op| op.len()).max().unwrap_or(0).max(2);
        writeln!(out, "{:width$}  passed  failed   known  unsupported", "op")?;
        for (op, counts) in rows {
            let Counts { passed, failed, known, unsupported } = counts;
            writeln!(out, "{op:width$}  {passed:6}  {failed:6}  {known:6}  {unsupported:11}")?;
        }
        for (label, verdict) in &self.cases {
            if let Verdict::Failed(reason) = verdict {
                let Label { id, op, dtype, source } = label;
                writeln!(out, "failed {id} ({op}, {dtype}, {source}): {reason}")?;
            }
        }
        let Counts { passed, failed, known, unsupported } = self.total();
        writeln!(out, "{passed} passed, {failed} failed, {known} known, {unsupported} unsupported")?;
        Ok(())
    }

    /// Every case with its outcome.
    pub(super) fn to_json(&self) -> serde_json::Value {
        let cases: Vec<_> = self
            .cases
            .iter()
            .map(|(label, verdict)| {
                let (outcome, reason) = verdict.parts();
                json!({
                    "id": label.id,
                    "op": label.op,
                    "dtype": label.dtype,
                    "source": label.source,
                    "outcome": outcome,
                    "reason": reason,
                })
            })
            .collect();
        let Counts { passed, failed, known, unsupported } = self.total();
        json!({
            "passed": passed,
            "failed": failed,
            "known": known,
            "unsupported": unsupported,
            "cases": cases,
        })
    }

    fn total(&self) -> Counts {
        let mut total = Counts::default();
        self.cases.iter().for_each(|(_, verdict)| total.count(verdict));
        total
    }
}

impl Counts {
    fn count(&mut self, verdict: &Verdict) {
        *match verdict {
            Verdict::Passed => &mut self.passed,
            Verdict::Failed(_) => &mut self.failed,
            Verdict::Known(_) => &mut self.known,
            Verdict::Unsupported(_) => &mut self.unsupported,
        } += 1;
    }
}

impl Verdict {
    fn parts(&self) -> (&str, Option<&str>) {
        match self {
            Verdict::Passed => ("passed", None),
            Verdict::Failed(reason) => ("failed", Some(reason)),
            Verdict::Known(reason) => ("known", Some(reason)),
            Verdict::Unsupported(reason) => ("unsupported", Some(reason)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_ends_with_the_four_counts() {
        let mut report = Report::default();
        let label = |id: &str, op: &str| Label {
            id: id.into(),
            op: op.into(),
            dtype: "f32".into(),
            source: "s".into(),
        };
        report.add(label("a", "add"), Verdict::Passed);
        report.add(label("b", "add"), Verdict::Unsupported("x".into()));
        report.add(label("c", "mul"), Verdict::Known("y".into()));
        assert!(report.failed().is_empty());
        report.add(label("d", "mul"), Verdict::Failed("element 3: got 1.0, expected 2.0".into()));
        assert!(!report.failed().is_empty());
        let mut text = Vec::new();
        report.print(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("\nfailed d (mul, f32, s): element 3: got 1.0, expected 2.0\n"), "{text}");
        assert!(text.ends_with("\n1 passed, 1 failed, 1 known, 1 unsupported\n"), "{text}");
        let row = text.lines().find(|line| line.starts_with("mul")).unwrap();
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["mul", "0", "1", "1", "0"]);
        assert_eq!(report.to_json()["cases"][3]["outcome"], "failed");
    }
}
