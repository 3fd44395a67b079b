//! The disk cache of compiled kernels.
//!
//! Guarantees: an entry is seen whole or not at all (unique temporary name in the same folder, sync, rename); an entry
//! that is damaged, cut off, foreign or of another key is counted, deleted and rebuilt; a folder that is missing,
//! read-only or full costs one warning and no result, since what was built is used, never read back; threads and
//! processes that miss one key at the same time build it once where the file system has locks, and each for itself
//! where it has none. The total size stays about the cap: the entries that were used least recently go first.
//! Does not know what it stores, and does not guard against somebody with write access to the folder.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::entry;
use super::key::Key;
use crate::config::{CacheMode, Config};
use crate::error::Result;

/// How long a process waits for another one that builds the same key before it builds by itself.
const LOCK_PATIENCE: Duration = Duration::from_secs(60);
/// Age at which a temporary or lock file is taken for one whose process died.
const STALE: Duration = Duration::from_secs(3600);

const ENTRY: &str = "bin";
const LOCK: &str = "lock";
const TEMPORARY: &str = "tmp";
const SOURCE: &str = "cu";
const NOTE: &str = "note";

/// Kernel binaries in a folder, by [`Key`].
pub struct DiskCache {
    root: Option<PathBuf>,
    mode: CacheMode,
    cap_bytes: u64,
    write: WriteFn,
    /// Bytes in the folder, as far as known; `None` before the first scan.
    used_bytes: Mutex<Option<u64>>,
    complained: Once,
    counters: Counters,
}

/// Writes a whole file; tests put a full disk here.
type WriteFn = fn(&mut File, &[u8]) -> io::Result<()>;

#[derive(Default)]
struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
    faults: AtomicU64,
    stores: AtomicU64,
    evictions: AtomicU64,
}

/// What a cache did since the process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskStats {
    /// Entries that were found and used.
    pub hits: u64,
    /// Keys that had to be built.
    pub misses: u64,
    /// Entries that could not be used and were deleted.
    pub faults: u64,
    /// Entries that were written.
    pub stores: u64,
    /// Entries that were deleted to stay under the cap.
    pub evictions: u64,
}

impl std::fmt::Debug for DiskCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stats = self.stats();
        f.debug_struct("DiskCache").field("path", &self.path()).field("stats", &stats).finish_non_exhaustive()
    }
}

impl DiskCache {
    /// The cache that the settings describe; touches no file.
    #[must_use]
    pub fn new(config: &Config) -> DiskCache {
        let root = match config.cache {
            CacheMode::Off => None,
            CacheMode::On | CacheMode::ReadOnly | CacheMode::Verify => config.cache_dir.clone(),
        };
        DiskCache {
            root: root.map(|folder| folder.join("kernels")),
            mode: config.cache,
            cap_bytes: config.cache_bytes,
            write: write_synced,
            used_bytes: Mutex::new(None),
            complained: Once::new(),
            counters: Counters::default(),
        }
    }

    /// The folder of the entries, or `None` if the cache is off.
    pub fn path(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Whether an entry is used without compiling it again to compare.
    #[cfg(feature = "cuda")]
    pub(super) fn is_trusted(&self) -> bool {
        self.mode != CacheMode::Verify
    }

    /// Counts since the process began.
    pub fn stats(&self) -> DiskStats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        DiskStats {
            hits: get(&self.counters.hits),
            misses: get(&self.counters.misses),
            faults: get(&self.counters.faults),
            stores: get(&self.counters.stores),
            evictions: get(&self.counters.evictions),
        }
    }

    /// The entry of `key`, if there is one.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        self.read(key, &self.entry_path(key)?)
    }

    /// The entry of `key`, or what `build` makes of it, which is then stored.
    ///
    /// # Errors
    /// Only those of `build`: a cache that cannot be read or written is no error.
    pub fn get_or_build(&self, key: &Key, build: impl FnOnce() -> Result<Vec<u8>>) -> Result<Vec<u8>> {
        let Some(path) = self.entry_path(key) else { return self.build(build) };
        if let Some(found) = self.read(key, &path) {
            return if self.mode == CacheMode::Verify {
                self.verify(key, &path, found, build)
            } else {
                Ok(found)
            };
        }
        tracing::debug!("no cache entry for {key:?}");
        if self.mode == CacheMode::ReadOnly {
            return self.build(build);
        }
        let folder_made = path.parent().map_or(Ok(()), fs::create_dir_all);
        if let Err(error) = folder_made {
            self.complain(&path, &error);
            return self.build(build);
        }
        let _lock = KeyLock::acquire(&path);
        // Whoever held the lock before has published before letting go.
        if let Some(found) = self.read(key, &path) {
            return Ok(found);
        }
        let built = self.build(build)?;
        self.publish(key, &path, &built);
        Ok(built)
    }

    /// Keeps the source of a kernel that did not compile; `None` if that was not possible.
    pub fn keep_source(&self, name: &str, source: &str) -> Option<PathBuf> {
        let safe: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(100).collect();
        let hash = blake3::hash(source.as_bytes()).to_hex();
        self.keep(&format!("failed/{safe}-{}.{SOURCE}", &hash[..8]), source)
    }

    /// The text that was noted under a name; it may be of any age, or another program's.
    #[cfg(feature = "cuda")]
    pub(super) fn noted(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.root.as_deref()?.join(note_path(name))).ok()
    }

    /// Notes a text under a name, for later processes; where that is not possible, nothing is noted.
    #[cfg(feature = "cuda")]
    pub(super) fn note(&self, name: &str, text: &str) {
        if self.noted(name).is_none_or(|known| known != text) {
            self.keep(&note_path(name), text);
        }
    }

    /// Writes a file beside the entries, unless the cache is only read.
    fn keep(&self, name: &str, text: &str) -> Option<PathBuf> {
        let root = self.root.as_deref().filter(|_| self.mode != CacheMode::ReadOnly)?;
        let path = root.join(name);
        fs::create_dir_all(path.parent()?).ok()?;
        self.replace(&path, text.as_bytes()).ok()?;
        Some(path)
    }

    /// Deletes all entries, notes and kept sources; returns how many files went.
    ///
    /// # Errors
    /// A file that cannot be deleted.
    pub fn clear(&self) -> io::Result<u64> {
        let mut removed = 0;
        for file in self.files() {
            match fs::remove_file(&file.path) {
                Ok(()) => removed += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        *self.used_bytes.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(removed)
    }

    fn build(&self, build: impl FnOnce() -> Result<Vec<u8>>) -> Result<Vec<u8>> {
        count(&self.counters.misses);
        build()
    }

    /// `kernels/ab/cdef….bin`: 256 folders, since one flat folder gets slow.
    fn entry_path(&self, key: &Key) -> Option<PathBuf> {
        let hex = key.hex();
        let (shard, name) = hex.split_at(2);
        Some(self.root.as_deref()?.join(shard).join(format!("{name}.{ENTRY}")))
    }

    /// A usable entry; one that is not is counted and deleted.
    fn read(&self, key: &Key, path: &Path) -> Option<Vec<u8>> {
        let read = || {
            let mut file = File::open(path)?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            // The time of last use, for eviction; a folder that does not allow it is still a cache.
            let _ = file.set_modified(SystemTime::now());
            Ok(bytes)
        };
        let reason = match read() {
            Ok(bytes) => match entry::decode(key, &bytes) {
                Ok(payload) => {
                    count(&self.counters.hits);
                    return Some(payload);
                }
                Err(fault) => fault.to_string(),
            },
            Err(error) if is_absence(&error) => return None,
            Err(error) => error.to_string(),
        };
        self.fault(path, &reason);
        None
    }

    fn fault(&self, path: &Path, reason: &str) {
        count(&self.counters.faults);
        tracing::warn!("cache entry {} is not used: {reason}", path.display());
        if self.mode != CacheMode::ReadOnly {
            let _ = fs::remove_file(path);
        }
    }

    fn verify(
        &self,
        key: &Key,
        path: &Path,
        found: Vec<u8>,
        build: impl FnOnce() -> Result<Vec<u8>>,
    ) -> Result<Vec<u8>> {
        let built = build()?;
        if built != found {
            self.fault(path, "a fresh build gives other bytes");
            self.publish(key, path, &built);
        }
        Ok(built)
    }

    fn publish(&self, key: &Key, path: &Path, payload: &[u8]) {
        let file = entry::encode(key, payload);
        match self.replace(path, &file) {
            Ok(()) => {
                count(&self.counters.stores);
                self.keep_under_cap(file.len() as u64);
            }
            Err(error) => self.complain(path, &error),
        }
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        publish(path, |file| (self.write)(file, bytes))
    }

    fn complain(&self, path: &Path, error: &io::Error) {
        self.complained.call_once(|| {
            tracing::warn!(
                "kernels are not cached, because {} cannot be written: {error}; set GEMS_CACHE_DIR to a folder \
                 that can, or GEMS_CACHE=readonly or off",
                path.display()
            );
        });
    }

    /// Counts `added` bytes; above the cap deletes the least recently used files until a tenth is free.
    fn keep_under_cap(&self, added: u64) {
        let mut used = self.used_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &mut *used {
            *known = known.saturating_add(added);
            if *known <= self.cap_bytes {
                return;
            }
        }
        let mut files = self.files();
        files.sort_by_key(|file| file.modified);
        let now = SystemTime::now();
        let mut total: u64 = files.iter().map(|file| file.bytes).sum();
        let target =
            if total > self.cap_bytes { self.cap_bytes - self.cap_bytes / 10 } else { self.cap_bytes };
        for file in &files {
            let in_progress = matches!(file.extension, LOCK | TEMPORARY);
            let stale = now.duration_since(file.modified).is_ok_and(|age| age > STALE);
            let goes = if in_progress { stale } else { total > target };
            if goes && fs::remove_file(&file.path).is_ok() {
                total = total.saturating_sub(file.bytes);
                if !in_progress {
                    count(&self.counters.evictions);
                }
            }
        }
        *used = Some(total);
    }

    /// Our files: those with our endings one folder below the root, so nothing else is ever deleted.
    fn files(&self) -> Vec<CacheFile> {
        let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
        let Some(root) = self.root.as_deref() else { return Vec::new() };
        entries(root)
            .flat_map(|shard| entries(&shard.path()))
            .filter_map(|file| CacheFile::of(&file))
            .collect()
    }
}

/// Writes a whole file, and waits until the disk has it.
pub(crate) fn write_synced(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()
}

/// Puts a file in place in one step, so that nobody sees a part of it.
pub(crate) fn publish(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    // A bare file name has an empty parent.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let (prefix, suffix) = (format!("{}-", std::process::id()), format!(".{TEMPORARY}"));
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(&suffix);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Readable for others as far as the umask allows, so that a cache can be shipped.
        builder.permissions(fs::Permissions::from_mode(0o644));
    }
    let mut file = builder.tempfile_in(folder)?;
    write(file.as_file_mut())?;
    file.persist(path)?;
    Ok(())
}

struct CacheFile {
    path: PathBuf,
    extension: &'static str,
    bytes: u64,
    modified: SystemTime,
}

impl CacheFile {
    fn of(file: &fs::DirEntry) -> Option<CacheFile> {
        let path = file.path();
        let extension = [ENTRY, LOCK, TEMPORARY, SOURCE, NOTE]
            .into_iter()
            .find(|e| path.extension() == Some(e.as_ref()))?;
        let meta = file.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(CacheFile { path, extension, bytes: meta.len(), modified: meta.modified().ok()? })
    }
}

/// A lock on one key across processes, held while its entry is built; the file goes with it.
///
/// Only an optimization: nothing is wrong if two processes hold it, they build the same entry twice.
struct KeyLock {
    path: PathBuf,
    _file: File,
}

impl KeyLock {
    /// Waits for the lock; `None` where there are no locks, or when the holder takes too long.
    fn acquire(entry: &Path) -> Option<KeyLock> {
        let path = entry.with_extension(LOCK);
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).ok()?;
        let (start, mut pause) = (Instant::now(), Duration::from_millis(1));
        while start.elapsed() < LOCK_PATIENCE {
            match file.try_lock() {
                Ok(()) => return Some(KeyLock { path, _file: file }),
                Err(TryLockError::WouldBlock) if entry.exists() => return None,
                Err(TryLockError::WouldBlock) => thread::sleep(pause),
                Err(TryLockError::Error(_)) => return None,
            }
            pause = (pause * 2).min(Duration::from_millis(16));
        }
        None
    }
}

impl Drop for KeyLock {
    fn drop(&mut self) {
        // Before the lock goes with the file handle; who waits for it looks for the entry next.
        let _ = fs::remove_file(&self.path);
    }
}

/// In a folder of their own, one below the root as every file of the cache.
#[cfg(feature = "cuda")]
fn note_path(name: &str) -> String {
    format!("notes/{name}.{NOTE}")
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests;
