//! What an NVRTC library said of itself in an earlier process, so that a hit in the disk cache neither searches nor loads it.
//!
//! Guarantees: a record counts only for the same settings and the same file, by path, length and time of change; a record
//! that is missing, damaged or of another file costs no more than a search. Where the same settings lead to another library
//! by now, because one was installed or `PATH` has another Python, binaries of the old one are used while its file is
//! there, which run as well; what they lack is compiled by the new one.
//! Takes no version from a file name.

use super::binary::Arch;
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

/// What the library that these settings led to said of itself.
pub(super) fn recall(disk: &DiskCache, config: &Config, driver_major: Option<u32>) -> Option<Remembered> {
    parse(&disk.noted(&name(config, driver_major))?)
}

/// Notes what the library that these settings led to said; a failure is no error.
pub(super) fn note(
    disk: &DiskCache,
    config: &Config,
    driver_major: Option<u32>,
    library: &Path,
    what: &Remembered,
) {
    if let Some(text) = loaded_from(library).and_then(|library| text(&library, what)) {
        disk.note(&name(config, driver_major), &text);
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

/// The file that a path leads to, with its length and time of change.
fn identity(library: &Path) -> Option<String> {
    let path = fs::canonicalize(library).ok()?;
    let meta = fs::metadata(&path).ok()?;
    let changed = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    Some(format!("{} {changed} {}", meta.len(), path.display()))
}

/// Under which name the library of these settings is noted: all that leads to one counts, but for `PATH`, which differs
/// from shell to shell.
fn name(config: &Config, driver_major: Option<u32>) -> String {
    let Config { nvrtc, places, .. } = config;
    let what = (nvrtc, &places.toolkits, &places.prefixes, &places.system, &places.loader, driver_major);
    let hash = blake3::hash(format!("{what:?}").as_bytes());
    format!("nvrtc-{}", &hash.to_hex()[..16])
}

fn text(library: &Path, what: &Remembered) -> Option<String> {
    let identity = identity(library)?;
    let archs: Vec<_> = what.archs.iter().map(|arch| arch.number().to_string()).collect();
    let Version { major, minor } = what.version;
    Some(format!("{}\n{identity}\n{major} {minor}\n{}\n", library.to_str()?, archs.join(" ")))
}

fn parse(text: &str) -> Option<Remembered> {
    let mut lines = text.lines();
    let library = Path::new(lines.next()?);
    if lines.next()? != identity(library)? {
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

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_elsewhere_by_now_is_another_library() {
        let folder = tempfile::tempdir().unwrap();
        let [old, new, link] = ["old", "new", "libnvrtc.so"].map(|name| folder.path().join(name));
        fs::write(&old, b"one").unwrap();
        fs::write(&new, b"two").unwrap();
        std::os::unix::fs::symlink(&old, &link).unwrap();
        let what =
            Remembered { version: Version { major: 13, minor: 0 }, archs: vec![Arch::from_number(90)] };
        let cache = cache(folder.path(), CacheMode::On);
        let config = Config { nvrtc: Some(link.clone()), ..Config::from_lookup(|_| None) };
        note(&cache, &config, Some(13), &link, &what);
        assert_eq!(recall(&cache, &config, Some(13)), Some(what));
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&new, &link).unwrap();
        assert_eq!(recall(&cache, &config, Some(13)), None);
    }

    #[test]
    fn every_setting_that_leads_to_a_library_counts() {
        let base = || Config::from_lookup(|_| None);
        let of = |name: &str| Config::from_lookup(|asked| (asked == name).then(|| "/x".into()));
        let settings =
            ["GEMS_NVRTC", "CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX", "VIRTUAL_ENV", "LD_LIBRARY_PATH"];
        let mut names: Vec<_> = settings.iter().map(|setting| name(&of(setting), Some(13))).collect();
        names.extend([name(&base(), Some(13)), name(&base(), Some(12)), name(&base(), None)]);
        names.sort();
        names.dedup();
        assert_eq!(names.len(), settings.len() + 3);
        assert_eq!(name(&base(), None), name(&of("PATH"), None));
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
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libnvrtc.so.13");
        fs::write(&library, b"one").unwrap();
        let archs = vec![Arch::from_number(75), Arch::from_number(80)];
        let what = Remembered { version: Version { major: 13, minor: 0 }, archs };
        let whole = text(&library, &what).unwrap();
        assert_eq!(parse(&whole), Some(what));
        let lines: Vec<_> = whole.lines().collect();
        for cut in 0..lines.len() {
            assert_eq!(parse(&lines[..cut].join("\n")), None, "{cut} lines");
            let mut damaged = lines.clone();
            damaged[cut] = "x";
            assert_eq!(parse(&damaged.join("\n")), None, "line {cut}");
        }
    }
}
