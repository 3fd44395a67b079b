//! What an NVRTC library said of itself in an earlier process, so that a hit in the disk cache need not load it.
//!
//! Guarantees: a record counts only for the same search and the same file, by path, length and time of change; a record
//! that is missing, damaged or of another file costs no more than loading the library. If a name for the loader leads to
//! another library by now, binaries of the old one are used, which run as well; what they lack is compiled by the new one.
//! Takes no version from a file name.

use super::binary::Arch;
use super::discover::Search;
use super::disk::DiskCache;
use super::nvrtc::Version;
use crate::config::Config;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Version and architectures of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remembered {
    pub(super) version: Version,
    pub(super) archs: Vec<Arch>,
}

/// What the library that this search led to said of itself.
pub(super) fn recall(disk: &DiskCache, config: &Config, driver_major: Option<u32>) -> Option<Remembered> {
    let text = disk.noted(&name(&Search::run(config, driver_major)))?;
    let library = text.lines().next()?.rsplitn(3, ' ').nth(2)?;
    parse(&text, &identity(Path::new(library))?)
}

/// Notes what the library that a search led to said; a failure is no error.
pub(super) fn note(
    disk: &DiskCache,
    config: &Config,
    driver_major: Option<u32>,
    library: &Path,
    what: &Remembered,
) {
    if let Some(identity) = loaded_from(library).as_deref().and_then(identity) {
        disk.note(&name(&Search::run(config, driver_major)), &text(&identity, what));
    }
}

/// The file of a library that is loaded: where its name is one that the loader searched, the file of that name which is
/// mapped into this process.
fn loaded_from(library: &Path) -> Option<PathBuf> {
    if library.is_absolute() {
        return Some(library.to_owned());
    }
    let name = library.to_str()?;
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let files = maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])));
    let is_it = |file: &&Path| file.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name));
    files.into_iter().find(is_it).map(Path::to_owned)
}

/// Path, length and time of change of a file.
fn identity(library: &Path) -> Option<String> {
    let path = fs::canonicalize(library).ok()?;
    let meta = fs::metadata(&path).ok()?;
    let changed = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    Some(format!("{} {} {changed}", path.display(), meta.len()))
}

/// Under which name the outcome of a search is noted: all that it would try counts.
fn name(search: &Search) -> String {
    let mut hasher = blake3::Hasher::new();
    for candidate in &search.candidates {
        hasher.update(candidate.path.as_os_str().as_encoded_bytes()).update(b"\0");
    }
    format!("nvrtc-{}", &hasher.finalize().to_hex()[..16])
}

fn text(identity: &str, what: &Remembered) -> String {
    let archs: Vec<_> = what.archs.iter().map(|arch| arch.number().to_string()).collect();
    format!("{identity}\n{} {}\n{}\n", what.version.major, what.version.minor, archs.join(" "))
}

fn parse(text: &str, identity: &str) -> Option<Remembered> {
    let mut lines = text.lines();
    if lines.next()? != identity {
        return None;
    }
    let (major, minor) = lines.next()?.split_once(' ')?;
    let version = Version { major: major.parse().ok()?, minor: minor.parse().ok()? };
    let archs = lines.next()?.split(' ').map(|number| number.parse().ok().map(Arch::from_number));
    Some(Remembered { version, archs: archs.collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CacheMode;

    fn cache(folder: &Path, cache: CacheMode) -> DiskCache {
        let cache_dir = Some(folder.join("cache"));
        DiskCache::new(&Config { cache, cache_dir, ..Config::from_lookup(|_| None) })
    }

    #[test]
    fn a_record_counts_for_its_own_file_only() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libnvrtc.so.13");
        fs::write(&library, b"one").unwrap();
        let what = Remembered {
            version: Version { major: 13, minor: 1 },
            archs: vec![Arch::from_number(75), Arch::from_number(100)],
        };
        let cache = cache(folder.path(), CacheMode::On);
        let config = Config { nvrtc: Some(library.clone()), ..Config::from_lookup(|_| None) };
        assert_eq!(recall(&cache, &config, None), None);
        note(&cache, &config, None, &library, &what);
        assert_eq!(recall(&cache, &config, None), Some(what));
        fs::write(&library, b"another").unwrap();
        assert_eq!(recall(&cache, &config, None), None);
    }

    /// As where the loader has no library of its own, so that a toolkit's is taken.
    #[test]
    fn a_library_behind_names_for_the_loader_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("lib64/libnvrtc.so.13");
        fs::create_dir(folder.path().join("lib64")).unwrap();
        fs::write(&library, b"one").unwrap();
        let what =
            Remembered { version: Version { major: 13, minor: 0 }, archs: vec![Arch::from_number(90)] };
        let mut config = Config::from_lookup(|_| None);
        config.places.system.clear();
        config.places.toolkits = vec![("CUDA_HOME", folder.path().to_owned())];
        let first = Search::run(&config, Some(13)).candidates.into_iter().next().unwrap();
        assert!(!first.path.is_absolute(), "{first}");
        let cache = cache(folder.path(), CacheMode::On);
        note(&cache, &config, Some(13), &library, &what);
        assert_eq!(recall(&cache, &config, Some(13)), Some(what));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_loaded_library_is_found_by_its_bare_name() {
        let file = loaded_from(Path::new("libc.so.6")).unwrap();
        assert!(file.is_absolute() && file.ends_with("libc.so.6"), "{}", file.display());
        assert_eq!(loaded_from(Path::new("libabsent.so")), None);
    }

    #[test]
    fn a_damaged_record_is_none() {
        for text in ["", "id", "id\n13", "id\n13 x\n75", "id\n13 0\n75 x", "other\n13 0\n75"] {
            assert_eq!(parse(text, "id"), None, "{text}");
        }
        assert!(parse("id\n13 0\n75 80\n", "id").is_some());
    }
}
