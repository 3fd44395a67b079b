//! What an NVRTC library said of itself in an earlier process, so that a hit in the disk cache need not load it.
//!
//! Guarantees: a record counts only for the same file, by path, length and time of change; a record that is missing,
//! damaged or of another file costs no more than loading the library.
//! Takes no version from a file name.

use super::binary::Arch;
use super::discover::Search;
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

/// What the library that would be loaded first said of itself; `folder` is the cache's.
pub(super) fn recall(folder: &Path, config: &Config, driver_major: Option<u32>) -> Option<Remembered> {
    let library = Search::run(config, driver_major).candidates.into_iter().next()?.path;
    parse(&fs::read_to_string(record(folder, &library)).ok()?, &identity(&library)?)
}

/// Notes what a library said; a failure is no error.
pub(super) fn note(folder: &Path, library: &Path, what: &Remembered) {
    let Some(identity) = identity(library) else { return };
    let path = record(folder, library);
    let text = text(&identity, what);
    if fs::read_to_string(&path).is_ok_and(|known| known == text) {
        return;
    }
    // Written whole or not at all, as the cache's entries are.
    let temporary = path.with_extension(std::process::id().to_string());
    let written = fs::create_dir_all(folder)
        .and_then(|()| fs::write(&temporary, text))
        .and_then(|()| fs::rename(&temporary, &path));
    if let Err(error) = written {
        tracing::debug!("cannot note the version of {}: {error}", library.display());
    }
}

/// Path, length and time of change of a file; none for a bare name that the loader searches.
fn identity(library: &Path) -> Option<String> {
    let path = fs::canonicalize(library).ok().filter(|_| library.is_absolute())?;
    let meta = fs::metadata(&path).ok()?;
    let changed = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    Some(format!("{} {} {changed}", path.display(), meta.len()))
}

fn record(folder: &Path, library: &Path) -> PathBuf {
    let hash = blake3::hash(library.as_os_str().as_encoded_bytes()).to_hex();
    folder.join(format!("nvrtc-{}", &hash[..16]))
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

    #[test]
    fn a_record_counts_for_its_own_file_only() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libnvrtc.so.13");
        fs::write(&library, b"one").unwrap();
        let what = Remembered {
            version: Version { major: 13, minor: 1 },
            archs: vec![Arch::from_number(75), Arch::from_number(100)],
        };
        let config = Config { nvrtc: Some(library.clone()), ..Config::from_lookup(|_| None) };
        let cache = folder.path().join("cache");
        assert_eq!(recall(&cache, &config, None), None);
        note(&cache, &library, &what);
        assert_eq!(recall(&cache, &config, None), Some(what));
        fs::write(&library, b"another").unwrap();
        assert_eq!(recall(&cache, &config, None), None);
    }

    #[test]
    fn a_damaged_record_is_none() {
        for text in ["", "id", "id\n13", "id\n13 x\n75", "id\n13 0\n75 x", "other\n13 0\n75"] {
            assert_eq!(parse(text, "id"), None, "{text}");
        }
        assert!(parse("id\n13 0\n75 80\n", "id").is_some());
    }
}
