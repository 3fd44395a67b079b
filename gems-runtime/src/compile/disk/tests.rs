//! Faults, races and limits of the disk cache, each brought about on purpose.

use super::*;
use crate::error::{Error, ErrorKind};
use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;
use tempfile::TempDir;

fn cache_in(folder: &Path, mode: CacheMode, cap_bytes: u64) -> DiskCache {
    let mut config = Config::from_lookup(|_| None);
    (config.cache, config.cache_dir, config.cache_bytes) = (mode, Some(folder.to_owned()), cap_bytes);
    DiskCache::new(&config)
}

fn cache() -> (TempDir, DiskCache) {
    let folder = TempDir::new().unwrap();
    let cache = cache_in(folder.path(), CacheMode::On, 1 << 30);
    (folder, cache)
}

fn key(source: &str) -> Key {
    Key::new([("source", source.to_owned())])
}

fn get(cache: &DiskCache, source: &str, built: &[u8]) -> Vec<u8> {
    cache.get_or_build(&key(source), || Ok(built.to_vec())).unwrap()
}

fn leftovers(cache: &DiskCache) -> Vec<&'static str> {
    cache.files().iter().map(|file| file.extension).filter(|e| *e != ENTRY).collect()
}

#[test]
fn a_second_call_reads_what_the_first_built() {
    let (folder, cache) = cache();
    assert_eq!(get(&cache, "a", b"built"), b"built");
    assert_eq!(get(&cache, "a", b"other"), b"built");
    let warm = cache_in(folder.path(), CacheMode::On, 1 << 30);
    assert_eq!(get(&warm, "a", b"other"), b"built");
    assert_eq!(cache.stats(), DiskStats { hits: 1, misses: 1, stores: 1, ..DiskStats::default() });
    assert_eq!(warm.stats(), DiskStats { hits: 1, ..DiskStats::default() });
    assert!(leftovers(&cache).is_empty());
}

#[test]
fn a_truncated_entry_of_any_length_is_rebuilt() {
    let (_folder, cache) = cache();
    get(&cache, "a", b"first");
    let path = cache.entry_path(&key("a")).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(get(&cache, "a", b"again"), b"again", "{length}");
        assert_eq!(get(&cache, "a", b"third"), b"again", "{length}");
    }
    assert_eq!(cache.stats().faults, whole.len() as u64);
}

#[test]
fn a_flipped_byte_anywhere_is_rebuilt() {
    let (_folder, cache) = cache();
    get(&cache, "a", b"first");
    let path = cache.entry_path(&key("a")).unwrap();
    let whole = fs::read(&path).unwrap();
    for byte in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[byte] ^= 0xff;
        fs::write(&path, &damaged).unwrap();
        assert_eq!(get(&cache, "a", b"again"), b"again", "{byte}");
    }
    assert_eq!(cache.stats().faults, whole.len() as u64);
}

#[test]
fn an_entry_of_another_key_is_rebuilt() {
    let (_folder, cache) = cache();
    get(&cache, "a", b"a");
    get(&cache, "b", b"b");
    fs::copy(cache.entry_path(&key("a")).unwrap(), cache.entry_path(&key("b")).unwrap()).unwrap();
    assert_eq!(get(&cache, "b", b"b"), b"b");
    assert_eq!(cache.stats().faults, 1);
}

#[test]
fn a_folder_in_place_of_an_entry_is_a_fault_and_no_error() {
    let (_folder, cache) = cache();
    fs::create_dir_all(cache.entry_path(&key("a")).unwrap()).unwrap();
    assert_eq!(get(&cache, "a", b"a"), b"a");
    assert!(cache.stats().faults > 0);
}

#[test]
fn a_folder_that_cannot_be_made_costs_no_result() {
    let folder = TempDir::new().unwrap();
    let in_the_way = folder.path().join("file");
    fs::write(&in_the_way, b"").unwrap();
    let cache = cache_in(&in_the_way.join("below"), CacheMode::On, 1 << 30);
    for built in [b"1", b"2"] {
        assert_eq!(get(&cache, "a", built), built);
    }
    assert_eq!(cache.stats(), DiskStats { misses: 2, ..DiskStats::default() });
    assert_eq!(cache.keep_source("f", "source"), None);
    assert!(cache.complained.is_completed());
}

#[test]
fn a_full_or_read_only_disk_costs_no_result_and_leaves_no_file() {
    let full: WriteFn = |file, bytes| {
        file.write_all(&bytes[..bytes.len() / 2])?;
        Err(io::ErrorKind::StorageFull.into())
    };
    let read_only: WriteFn = |_, _| Err(io::ErrorKind::ReadOnlyFilesystem.into());
    for write in [full, read_only] {
        let (_folder, mut cache) = cache();
        cache.write = write;
        for built in [b"1", b"2"] {
            assert_eq!(get(&cache, "a", built), built);
        }
        assert_eq!(cache.stats(), DiskStats { misses: 2, ..DiskStats::default() });
        assert!(cache.files().is_empty() && cache.complained.is_completed());
    }
}

#[test]
fn off_and_read_only_modes_write_nothing() {
    let folder = TempDir::new().unwrap();
    for mode in [CacheMode::Off, CacheMode::ReadOnly] {
        let cache = cache_in(folder.path(), mode, 1 << 30);
        assert_eq!(get(&cache, "a", b"1"), b"1");
        assert_eq!(cache.keep_source("f", "source"), None);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{mode:?}");
    }
    get(&cache_in(folder.path(), CacheMode::On, 1 << 30), "a", b"shipped");
    let reader = cache_in(folder.path(), CacheMode::ReadOnly, 1 << 30);
    assert_eq!(get(&reader, "a", b"built"), b"shipped");
    let path = reader.entry_path(&key("a")).unwrap();
    fs::write(&path, b"damaged").unwrap();
    assert_eq!(get(&reader, "a", b"built"), b"built");
    assert_eq!((reader.stats().faults, fs::read(&path).unwrap()), (1, b"damaged".to_vec()));
}

#[test]
fn verify_mode_finds_an_entry_that_a_fresh_build_contradicts() {
    let folder = TempDir::new().unwrap();
    get(&cache_in(folder.path(), CacheMode::On, 1 << 30), "a", b"old");
    let cache = cache_in(folder.path(), CacheMode::Verify, 1 << 30);
    assert_eq!(get(&cache, "a", b"new"), b"new");
    assert_eq!(cache.stats().faults, 1);
    assert_eq!(get(&cache, "a", b"new"), b"new");
    assert_eq!(cache.stats().faults, 1);
}

#[test]
fn a_failing_build_leaves_nothing_and_is_tried_again() {
    let (_folder, cache) = cache();
    let failed = cache.get_or_build(&key("a"), || Err(Error::new(ErrorKind::Compile, "no")));
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Compile);
    assert!(cache.files().is_empty());
    assert_eq!(get(&cache, "a", b"yes"), b"yes");
}

#[test]
fn the_least_recently_used_entries_leave_above_the_cap() {
    let folder = TempDir::new().unwrap();
    let payload = [0; 1000];
    let cache = cache_in(folder.path(), CacheMode::On, 10_000);
    let age = |source: &str, seconds| {
        let file = File::open(cache.entry_path(&key(source)).unwrap()).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    };
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        get(&cache, name, &payload);
        age(name, 100);
    }
    age("b", 200);
    age("a", 300);
    get(&cache, "a", b"used, and so the youngest now");
    for name in ["i", "j"] {
        get(&cache, name, &payload);
    }
    let kept = |source: &str| cache.entry_path(&key(source)).unwrap().exists();
    assert!(kept("a") && !kept("b") && kept("j"));
    let total: u64 = cache.files().iter().map(|file| file.bytes).sum();
    assert!((7_000..=9_000).contains(&total), "{total}");
    assert!(cache.stats().evictions >= 1);
}

#[test]
fn files_of_dead_processes_leave_and_files_of_others_stay() {
    let (_folder, cache) = cache();
    get(&cache, "a", b"a");
    let shard = cache.entry_path(&key("a")).unwrap().parent().unwrap().to_owned();
    for (name, age, stays) in
        [("x.tmp", 2, false), ("x.lock", 2, false), ("y.tmp", 0, true), ("notes.txt", 2, true)]
    {
        let path = shard.join(name);
        let file = File::create(&path).unwrap();
        file.set_modified(SystemTime::now() - STALE * age).unwrap();
        *cache.used_bytes.lock().unwrap() = None;
        get(&cache, name, b"a store scans the folder");
        assert_eq!(path.exists(), stays, "{name}");
    }
    let files = cache.files().len() as u64;
    assert_eq!(cache.clear().unwrap(), files);
    assert!(shard.join("notes.txt").exists() && cache.files().is_empty());
    assert_eq!(get(&cache, "a", b"rebuilt"), b"rebuilt");
}

#[test]
fn a_kept_source_is_where_it_says() {
    let (_folder, cache) = cache();
    let path = cache.keep_source("gelu/../f32", "__global__").unwrap();
    assert!(path.starts_with(cache.path().unwrap()));
    assert_eq!(fs::read_to_string(path).unwrap(), "__global__");
}

#[test]
fn eight_threads_on_one_cold_key_build_once() {
    let (_folder, cache) = cache();
    let (builds, start) = (AtomicUsize::new(0), Barrier::new(8));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                let build = || {
                    builds.fetch_add(1, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(50));
                    Ok(b"built".to_vec())
                };
                assert_eq!(cache.get_or_build(&key("a"), build).unwrap(), b"built");
            });
        }
    });
    assert_eq!(builds.load(Ordering::SeqCst), 1);
    assert!(leftovers(&cache).is_empty());
}

/// Also runs as each of its own children, which know their folder from this variable.
const RACE_FOLDER: &str = "GEMS_TEST_RACE_FOLDER";

#[test]
fn eight_processes_of_eight_threads_build_each_key_once() {
    if let Ok(folder) = std::env::var(RACE_FOLDER) {
        return race(Path::new(&folder));
    }
    let folder = TempDir::new().unwrap();
    let spawn = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "compile::disk::tests::eight_processes_of_eight_threads_build_each_key_once"])
            .env(RACE_FOLDER, folder.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..8).map(|_| spawn()).collect();
    while fs::read_dir(folder.path()).unwrap().count() < 8 {
        thread::sleep(Duration::from_millis(1));
    }
    fs::write(folder.path().join("start"), b"").unwrap();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(fs::read_to_string(folder.path().join("builds")).unwrap().lines().count(), RACE_KEYS);
}

const RACE_KEYS: usize = 4;

/// One child: says that it is there, waits for the start, and asks for all keys from eight threads.
fn race(folder: &Path) {
    fs::write(folder.join(format!("ready-{}", std::process::id())), b"").unwrap();
    while !folder.join("start").exists() {
        thread::sleep(Duration::from_millis(1));
    }
    let cache = cache_in(&folder.join("cache"), CacheMode::On, 1 << 30);
    let build = |name: &str| {
        let mut builds = OpenOptions::new().append(true).create(true).open(folder.join("builds")).unwrap();
        builds.write_all(format!("{name} in {}\n", std::process::id()).as_bytes()).unwrap();
        thread::sleep(Duration::from_millis(20));
        Ok(name.as_bytes().to_vec())
    };
    thread::scope(|scope| {
        for thread in 0..8 {
            let (cache, build) = (&cache, &build);
            scope.spawn(move || {
                for step in 0..RACE_KEYS {
                    let name = format!("key {}", (step + thread) % RACE_KEYS);
                    assert_eq!(cache.get_or_build(&key(&name), || build(&name)).unwrap(), name.as_bytes());
                }
            });
        }
    });
    assert_eq!(cache.stats().faults, 0);
}
