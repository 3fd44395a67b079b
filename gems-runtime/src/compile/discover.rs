//! Where the NVRTC library may be.
//!
//! Guarantees: a pure function of the settings and the file system; candidates come best first and each once, a
//! library of the driver's own major before an older one before a newer one; it never starts Python nor loads anything.
//! Does not judge what a file is: a candidate's name is a hint, its version is asked when it is loaded.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::config::Config;

/// Majors that we can work with, newest first.
pub(super) const MAJORS: [u32; 2] = [13, 12];

/// Folders of a toolkit root that may hold the library.
const TOOLKIT_FOLDERS: &[&str] =
    &["lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib", "bin", "bin/x64"];
/// Folders of a Python `site-packages` that may hold it.
const PACKAGE_FOLDERS: &[&str] =
    &["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", "nvidia/cu13/bin", "nvidia/cuda_nvrtc/bin"];

/// A library that may be NVRTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// A path, or a bare name for the loader to search.
    pub path: PathBuf,
    /// Which setting or convention led there.
    pub origin: String,
    /// The CUDA major in its name.
    pub major: Option<u32>,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.path.display(), self.origin)
    }
}

/// What a search found, and where it looked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// Libraries to try, best first.
    pub candidates: Vec<Candidate>,
    /// Every place that was looked at and held none, with its origin.
    pub empty: Vec<String>,
}

impl Search {
    /// Looks in all places; `driver_major` is the CUDA major of the driver, when known.
    #[must_use]
    pub fn run(config: &Config, driver_major: Option<u32>) -> Search {
        let mut search = Search::default();
        if let Some(named) = &config.nvrtc {
            // Whoever names a library wants that one or an error, not another one in its place.
            search.look(named, "GEMS_NVRTC");
            return search;
        }
        for name in loader_names() {
            let major = major_in(&name);
            search.candidates.push(Candidate { path: name.into(), origin: "loader path".into(), major });
        }
        for (origin, root) in toolkits(config) {
            search.look_in(&root, TOOLKIT_FOLDERS, &origin);
        }
        for (origin, prefix) in &config.places.prefixes {
            search.look(&prefix.join("lib"), origin);
        }
        for (origin, packages) in python_packages(config) {
            search.look_in(&packages, PACKAGE_FOLDERS, &origin);
        }
        search.keep_first_of_each_file();
        search.candidates.sort_by_key(|candidate| preference(candidate.major, driver_major));
        search
    }

    /// Looks for the library in those of `folders` that exist below `root`.
    fn look_in(&mut self, root: &Path, folders: &[&str], origin: &str) {
        let existing: Vec<_> =
            folders.iter().map(|folder| root.join(folder)).filter(|path| path.is_dir()).collect();
        if existing.is_empty() {
            self.empty.push(format!("{} ({origin})", root.display()));
        }
        for folder in existing {
            self.look(&folder, origin);
        }
    }

    /// Takes the file, or the libraries in the folder; notes the place if there is none.
    fn look(&mut self, place: &Path, origin: &str) {
        let files = if place.is_dir() { libraries_in(place) } else { vec![place.to_owned()] };
        let before = self.candidates.len();
        for path in files.into_iter().filter(|path| path.is_file()) {
            let real = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            let major = major_in(&file_name(&path)).or_else(|| major_in(&file_name(&real)));
            self.candidates.push(Candidate { path, origin: origin.to_owned(), major });
        }
        if self.candidates.len() == before {
            self.empty.push(format!("{} ({origin})", place.display()));
        }
    }

    fn keep_first_of_each_file(&mut self) {
        let mut seen = BTreeSet::new();
        self.candidates.retain(|candidate| {
            seen.insert(fs::canonicalize(&candidate.path).unwrap_or_else(|_| candidate.path.clone()))
        });
    }
}

/// Order in which majors are tried: the driver's, then older ones, which it runs too, then newer ones, whose binaries
/// it may refuse; without a known driver the newest first.
fn preference(major: Option<u32>, driver: Option<u32>) -> (u8, u32) {
    let newest_first = |major: u32| u32::MAX - major;
    match (major, driver) {
        (None, _) => (3, 0),
        (Some(major), None) => (0, newest_first(major)),
        (Some(major), Some(driver)) if major == driver => (0, 0),
        (Some(major), Some(driver)) if major < driver => (1, newest_first(major)),
        (Some(major), Some(_)) => (2, major),
    }
}

/// Bare names, for `LD_LIBRARY_PATH`, the loader's cache and the standard folders.
fn loader_names() -> Vec<String> {
    let names = |major: u32| {
        if cfg!(windows) { format!("nvrtc64_{major}0_0.dll") } else { format!("libnvrtc.so.{major}") }
    };
    let plain = if cfg!(windows) { "nvrtc.dll" } else { "libnvrtc.so" };
    MAJORS.into_iter().map(names).chain([plain.to_owned()]).collect()
}

/// Toolkit roots: those of the variables, then `cuda*` in the system's folders, the highest number first.
fn toolkits(config: &Config) -> Vec<(String, PathBuf)> {
    let named = config.places.toolkits.iter().map(|(name, root)| ((*name).to_owned(), root.clone()));
    let system = config.places.system.iter().flat_map(|folder| {
        let mut roots = entries(folder, |name| name.starts_with("cuda"));
        roots.reverse();
        // A folder without any is still named in the error, by the name that one would expect there.
        if roots.is_empty() {
            roots.push(folder.join("cuda"));
        }
        roots.into_iter().map(|root| ("system".to_owned(), root))
    });
    named.chain(system).collect()
}

/// `site-packages` of the named environments and of each Python on the path.
fn python_packages(config: &Config) -> Vec<(String, PathBuf)> {
    let named = config.places.prefixes.iter().map(|(name, prefix)| ((*name).to_owned(), prefix.clone()));
    let on_path = config.places.path.iter().filter(|folder| holds_python(folder)).flat_map(|folder| {
        let origin = format!("Python in {}", folder.display());
        // The prefix is beside the link, as in a virtual environment, or beside what it leads to.
        let beside_link = folder.parent().map(Path::to_owned);
        let target =
            fs::canonicalize(folder.join("python3")).or_else(|_| fs::canonicalize(folder.join("python")));
        let beside_target = target.ok().and_then(|python| Some(python.parent()?.parent()?.to_owned()));
        [beside_link, beside_target].into_iter().flatten().map(move |prefix| (origin.clone(), prefix))
    });
    let mut seen = BTreeSet::new();
    let prefixes = named.chain(on_path).filter(|(_, prefix)| seen.insert(prefix.clone()));
    prefixes
        .flat_map(|(origin, prefix)| site_packages(&prefix).into_iter().map(move |p| (origin.clone(), p)))
        .collect()
}

fn holds_python(folder: &Path) -> bool {
    ["python3", "python", "python.exe"].iter().any(|name| folder.join(name).is_file())
}

/// `lib/python3*/site-packages`, `lib/python3*/dist-packages` and `Lib/site-packages` that exist under a prefix.
fn site_packages(prefix: &Path) -> Vec<PathBuf> {
    let versions =
        ["lib", "lib64"].into_iter().flat_map(|lib| entries(&prefix.join(lib), |n| n.starts_with("python3")));
    let unix = versions.flat_map(|python| [python.join("site-packages"), python.join("dist-packages")]);
    unix.chain([prefix.join("Lib/site-packages")]).filter(|path| path.is_dir()).collect()
}

/// Libraries in one folder; names with a version, the highest first, else the plain name.
fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let mut versioned = entries(folder, |name| major_in(name).is_some());
    versioned.reverse();
    let plain = ["libnvrtc.so", "nvrtc.dll"].map(|name| folder.join(name));
    if versioned.is_empty() { plain.into_iter().filter(|path| path.is_file()).collect() } else { versioned }
}

/// The preload set of a library: what it will ask the loader for by bare name.
pub(crate) fn builtins_beside(library: &Path) -> Vec<PathBuf> {
    let Some(folder) = library.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Vec::new();
    };
    entries(folder, |name| name.starts_with("libnvrtc-builtins.so") || name.starts_with("nvrtc-builtins64"))
}

/// Entries of a folder whose name passes, sorted by name.
fn entries(folder: &Path, passes: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = found
        .filter(|entry| passes(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

/// The CUDA major in `libnvrtc.so.13`, `libnvrtc.so.12.8.93` or `nvrtc64_130_0.dll`, if it is one that we know.
fn major_in(name: &str) -> Option<u32> {
    let unix = name.strip_prefix("libnvrtc.so.").and_then(|rest| rest.split('.').next()?.parse().ok());
    let windows = || {
        let digits = name.strip_prefix("nvrtc64_")?.strip_suffix("_0.dll")?;
        Some(digits.parse::<u32>().ok()? / 10)
    };
    unix.or_else(windows).filter(|major| MAJORS.contains(major))
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Places;
    use tempfile::TempDir;

    struct Machine(TempDir);

    impl Machine {
        fn new(files: &[&str]) -> Machine {
            let machine = Machine(TempDir::new().unwrap());
            for file in files {
                let path = machine.path(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, b"").unwrap();
            }
            machine
        }

        fn path(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        fn config(&self) -> Config {
            let mut config = Config::from_lookup(|_| None);
            config.places =
                Places { system: vec![self.path("usr/local"), self.path("opt")], ..Places::default() };
            config
        }

        /// The candidates below this machine's root, bare names left out.
        fn found(&self, config: &Config, driver: Option<u32>) -> Vec<String> {
            let candidates = Search::run(config, driver).candidates;
            let below =
                |c: &Candidate| Some(c.path.strip_prefix(self.0.path()).ok()?.to_string_lossy().into_owned());
            candidates.iter().filter_map(below).collect()
        }
    }

    #[test]
    fn an_explicit_library_or_folder_is_the_only_candidate() {
        let machine = Machine::new(&["mine/libnvrtc.so.12", "usr/local/cuda/lib64/libnvrtc.so.13"]);
        for named in ["mine", "mine/libnvrtc.so.12"] {
            let config = Config { nvrtc: Some(machine.path(named)), ..machine.config() };
            let search = Search::run(&config, Some(13));
            assert_eq!(search.candidates.len(), 1, "{named}");
            assert_eq!(machine.found(&config, Some(13)), ["mine/libnvrtc.so.12"]);
        }
        let config = Config { nvrtc: Some(machine.path("absent")), ..machine.config() };
        let search = Search::run(&config, None);
        assert!(search.candidates.is_empty() && search.empty[0].ends_with("absent (GEMS_NVRTC)"));
    }

    #[test]
    fn every_place_is_searched() {
        let machine = Machine::new(&[
            "path/lib64/libnvrtc.so.13",
            "home/targets/x86_64-linux/lib/libnvrtc.so.13",
            "usr/local/cuda-13.1/lib64/libnvrtc.so.13.1.80",
            "opt/cuda/lib64/libnvrtc.so",
            "conda/lib/libnvrtc.so.13",
            "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
            "py/bin/python3",
            "py/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
        ]);
        let mut config = machine.config();
        config.places.toolkits =
            vec![("CUDA_PATH", machine.path("path")), ("CUDA_HOME", machine.path("home"))];
        config.places.prefixes =
            vec![("CONDA_PREFIX", machine.path("conda")), ("VIRTUAL_ENV", machine.path("venv"))];
        config.places.path = vec![machine.path("no/bin"), machine.path("py/bin")];
        assert_eq!(
            machine.found(&config, None),
            [
                "path/lib64/libnvrtc.so.13",
                "home/targets/x86_64-linux/lib/libnvrtc.so.13",
                "usr/local/cuda-13.1/lib64/libnvrtc.so.13.1.80",
                "conda/lib/libnvrtc.so.13",
                "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
                "py/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
                "opt/cuda/lib64/libnvrtc.so",
            ]
        );
    }

    #[test]
    fn the_major_of_the_driver_comes_first_and_newer_ones_last() {
        let machine =
            Machine::new(&["usr/local/cuda-12.8/lib64/libnvrtc.so.12", "opt/cuda/lib64/libnvrtc.so.13"]);
        let majors = |driver| {
            let candidates = Search::run(&machine.config(), driver).candidates;
            candidates.iter().map(|candidate| candidate.major).collect::<Vec<_>>()
        };
        let (newest, plain) = (Some(13), None);
        assert_eq!(majors(None), [newest, newest, Some(12), Some(12), plain]);
        assert_eq!(majors(Some(13)), [newest, newest, Some(12), Some(12), plain]);
        assert_eq!(majors(Some(12)), [Some(12), Some(12), newest, newest, plain]);
        assert_eq!(majors(Some(14)), [newest, newest, Some(12), Some(12), plain]);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_with_several_names_is_one_candidate_with_the_major_of_its_target() {
        let machine = Machine::new(&["usr/local/cuda-12.8/lib64/libnvrtc.so.12.8.93"]);
        let lib = machine.path("usr/local/cuda-12.8/lib64");
        std::os::unix::fs::symlink("libnvrtc.so.12.8.93", lib.join("libnvrtc.so.12")).unwrap();
        std::os::unix::fs::symlink("libnvrtc.so.12", lib.join("libnvrtc.so")).unwrap();
        std::os::unix::fs::symlink("cuda-12.8", machine.path("usr/local/cuda")).unwrap();
        assert_eq!(machine.found(&machine.config(), None).len(), 1);

        let machine = Machine::new(&["real/libnvrtc.so.12.8.93"]);
        fs::create_dir_all(machine.path("opt/cuda/lib")).unwrap();
        let link = machine.path("opt/cuda/lib/libnvrtc.so");
        std::os::unix::fs::symlink(machine.path("real/libnvrtc.so.12.8.93"), link).unwrap();
        let candidates = Search::run(&machine.config(), None).candidates;
        let linked = candidates.iter().find(|candidate| candidate.origin == "system").unwrap();
        assert_eq!(linked.major, Some(12));
    }

    #[test]
    fn places_without_a_library_are_listed_with_their_origin() {
        let machine = Machine::new(&["conda/lib/other.so", "usr/local/cuda/lib64/libcudart.so"]);
        let mut config = machine.config();
        config.places.toolkits = vec![("CUDA_PATH", machine.path("gone"))];
        config.places.prefixes = vec![("CONDA_PREFIX", machine.path("conda"))];
        let search = Search::run(&config, None);
        let empty = search.empty.join("\n");
        for place in [
            "gone (CUDA_PATH)",
            "conda/lib (CONDA_PREFIX)",
            "usr/local/cuda/lib64 (system)",
            "opt/cuda (system)",
        ] {
            assert!(empty.contains(place), "{place} in {empty}");
        }
        assert!(search.candidates.iter().all(|candidate| candidate.origin == "loader path"));
    }

    #[test]
    fn names_tell_majors_that_we_know() {
        for (name, major) in [
            ("libnvrtc.so.13", Some(13)),
            ("libnvrtc.so.12.8.93", Some(12)),
            ("nvrtc64_130_0.dll", Some(13)),
            ("nvrtc64_120_0.dll", Some(12)),
            ("libnvrtc.so.11.2", None),
            ("libnvrtc.so", None),
            ("libnvrtc-builtins.so.12.8", None),
            ("libnvrtc.alt.so.12", None),
        ] {
            assert_eq!(major_in(name), major, "{name}");
        }
    }

    #[test]
    fn builtins_are_those_of_the_same_folder() {
        let machine =
            Machine::new(&["a/libnvrtc.so.12", "a/libnvrtc-builtins.so.12.8", "b/libnvrtc-builtins.so.13"]);
        let found = builtins_beside(&machine.path("a/libnvrtc.so.12"));
        assert_eq!(found, [machine.path("a/libnvrtc-builtins.so.12.8")]);
        assert!(builtins_beside(Path::new("libnvrtc.so.12")).is_empty());
    }
}
