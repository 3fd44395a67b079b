//! Known differences: cases whose answer is known to differ from PyTorch's, element by element.
//!
//! An entry names one case and a departure of the specification's section 4, never a pattern. What it does not list
//! must still agree.

use crate::failure::{Failure, Outcome};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry as Place};
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the file next to recorded cases.
const FILE: &str = "known-differences.toml";
/// The project's own, for cases without one next to them.
const PROJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/known-differences.toml");
/// Departures are numbered from 1 to this.
const DEPARTURES: u32 = 32;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    difference: Vec<Entry>,
}

/// A result of a case that differs; entries of several departures become one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    case: String,
    /// Which result of the case.
    #[serde(default)]
    output: usize,
    departure: u32,
    reason: String,
    /// Row-major indices of the elements that differ.
    #[serde(default)]
    elements: BTreeSet<usize>,
    /// Our dtype, shape or layout in words, where that differs.
    gives: Option<String>,
    /// Departures and reasons of all entries.
    #[serde(skip)]
    why: String,
}

/// The entries of one file.
#[derive(Debug, Default)]
pub(super) struct Known {
    entries: BTreeMap<(String, usize), Entry>,
}

impl Known {
    /// The given file, else the one next to the cases, else the project's, else none.
    pub(super) fn load(given: Option<&Path>, cases: &Path) -> Outcome<Known> {
        let beside = cases.with_file_name(FILE);
        let path = match given {
            Some(path) => path.to_owned(),
            None => match [beside, PathBuf::from(PROJECT)].into_iter().find(|path| path.is_file()) {
                Some(path) => path,
                None => return Ok(Known::default()),
            },
        };
        let text = fs::read_to_string(&path).map_err(|error| Failure::of_file(&path, error))?;
        Known::parse(&text).map_err(|what| Failure::of_file(&path, what))
    }

    pub(super) fn parse(text: &str) -> Result<Known, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut entries: BTreeMap<(String, usize), Entry> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for mut entry in file.difference {
            let Entry { case, output, departure, .. } = &entry;
            if !(1..=DEPARTURES).contains(departure) {
                return Err(format!("case {case}: departure {departure} is not one of 1 to {DEPARTURES}"));
            }
            if entry.reason.trim().is_empty() || entry.reason.contains('\n') {
                return Err(format!("case {case}: the reason must be one line"));
            }
            if entry.elements.is_empty() && entry.gives.is_none() {
                return Err(format!(
                    "case {case}: list the elements that differ, or what the op gives instead"
                ));
            }
            if !seen.insert((case.clone(), *output, *departure)) {
                return Err(format!("case {case}: output {output} is listed twice"));
            }
            let key = (case.clone(), *output);
            entry.why = format!("departure {departure}: {}", entry.reason);
            match entries.entry(key) {
                Place::Vacant(place) => {
                    place.insert(entry);
                }
                Place::Occupied(mut known) => known.get_mut().join(entry)?,
            }
        }
        Ok(Known { entries })
    }

    /// The entry for a result of a case.
    pub(super) fn entry(&self, case: &str, output: usize) -> Option<&Entry> {
        self.entries.get(&(case.to_owned(), output))
    }
}

impl Entry {
    /// Takes in another departure of the same result.
    fn join(&mut self, other: Entry) -> Result<(), String> {
        let case = &other.case;
        if let Some(element) = self.elements.intersection(&other.elements).next() {
            return Err(format!("case {case}: element {element} is listed twice"));
        }
        if self.gives.is_some() && other.gives.is_some() {
            return Err(format!("case {case}: what the op gives is listed twice"));
        }
        self.elements.extend(other.elements);
        self.gives = self.gives.take().or(other.gives);
        self.why = format!("{}; {}", self.why, other.why);
        Ok(())
    }

    /// Whether the element may differ.
    pub(super) fn lists(&self, element: usize) -> bool {
        self.elements.contains(&element)
    }

    /// Whether this is the dtype, shape or layout that is known to differ.
    pub(super) fn expects(&self, gives: &str) -> bool {
        self.gives.as_deref() == Some(gives)
    }

    /// Why it differs.
    pub(super) fn why(&self) -> String {
        self.why.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        [[difference]]
        case = "a1"
        departure = 7
        reason = "the larger zero"
        elements = [3, 5]

        [[difference]]
        case = "a1"
        output = 1
        departure = 28
        reason = "the vote"
        gives = "f32[2, 3]@(1, 2)"
    "#;

    #[test]
    fn an_entry_covers_its_elements_of_its_result_only() {
        let known = Known::parse(GOOD).unwrap();
        let entry = known.entry("a1", 0).unwrap();
        assert!(entry.lists(3) && entry.lists(5) && !entry.lists(4));
        assert!(!entry.expects("f32[2, 3]@(1, 2)"));
        assert_eq!(entry.why(), "departure 7: the larger zero");
        let entry = known.entry("a1", 1).unwrap();
        assert!(entry.expects("f32[2, 3]@(1, 2)") && !entry.lists(3));
        assert!(known.entry("a2", 0).is_none());
    }

    #[test]
    fn departures_of_one_result_are_joined() {
        let other = "[[difference]]\ncase = \"a1\"\ndeparture = 8\nreason = \"the limit\"\nelements = [4]";
        let known = Known::parse(&format!("{GOOD}{other}")).unwrap();
        let entry = known.entry("a1", 0).unwrap();
        assert!(entry.lists(3) && entry.lists(4) && !entry.lists(6));
        assert_eq!(entry.why(), "departure 7: the larger zero; departure 8: the limit");
        let overlapping = Known::parse(&format!("{GOOD}{}", other.replace('4', "5"))).unwrap_err();
        assert_eq!(overlapping, "case a1: element 5 is listed twice");
    }

    #[test]
    fn careless_entries_are_refused() {
        let entry = |rest: &str| format!("[[difference]]\ncase = \"a\"\n{rest}");
        for (text, message) in [
            (entry("departure = 33\nreason = \"x\"\nelements = [1]"), "departure 33 is not one of 1 to 32"),
            (entry("departure = 3\nreason = \" \"\nelements = [1]"), "the reason must be one line"),
            (entry("departure = 3\nreason = \"x\""), "list the elements"),
            (entry("departure = 3\nelements = [1]"), "missing field `reason`"),
            (entry("departure = 3\nreason = \"x\"\nelements = [1]\nop = \"add\""), "unknown field `op`"),
            (
                format!(
                    "{GOOD}{}",
                    entry("departure = 7\nreason = \"x\"\nelements = [1]").replace("\"a\"", "\"a1\"")
                ),
                "listed twice",
            ),
        ] {
            let error = Known::parse(&text).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn the_projects_own_file_is_sound() {
        assert!(!Known::load(None, Path::new("nowhere/cases.json")).unwrap().entries.is_empty());
    }

    #[test]
    fn an_empty_file_has_no_entries() {
        assert!(Known::parse("").unwrap().entries.is_empty());
    }
}
