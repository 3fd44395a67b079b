//! Every setting of the runtime with its default, and the only place that reads environment variables.
//!
//! Guarantees: the environment is read once, at the first use; a value that makes no sense is reported through
//! `tracing` and replaced by the default, never a panic.
//! Does not look at the file system and loads nothing: it says where others may look.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The variables that gems reads, with the default and the meaning of each.
pub const VARIABLES: &[(&str, &str, &str)] = &[
    ("GEMS_NVRTC", "searched", "path of the NVRTC library, or of the folder that holds it"),
    ("GEMS_CACHE", "on", "`on`, `off`, `readonly`, or `verify` (compile on a hit too and compare)"),
    ("GEMS_CACHE_DIR", "the user's cache folder", "where compiled kernels are kept"),
    ("GEMS_CACHE_SIZE", "1G", "cap of the kernel cache in bytes; `K`, `M` and `G` are powers of 1024"),
    ("CUDA_PATH, CUDA_HOME", "unset", "roots of a CUDA toolkit, searched for NVRTC"),
    ("CONDA_PREFIX, VIRTUAL_ENV", "unset", "environments whose packages are searched for NVRTC"),
    ("PATH", "unset", "each Python on it may have a package that holds NVRTC"),
    ("LD_LIBRARY_PATH", "unset", "the loader's own; what is known of an NVRTC counts for one value of it"),
];

const DEFAULT_CACHE_BYTES: u64 = 1 << 30;

/// What the disk cache may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheMode {
    /// Read and write.
    #[default]
    On,
    /// Neither read nor write.
    Off,
    /// Read only: for a cache that was built ahead and shipped.
    ReadOnly,
    /// Read and write, and compile on a hit too: an entry that differs from the fresh binary is a fault.
    Verify,
}

/// Words that `GEMS_CACHE` accepts.
const CACHE_MODES: &[(&str, CacheMode)] = &[
    ("on", CacheMode::On),
    ("off", CacheMode::Off),
    ("readonly", CacheMode::ReadOnly),
    ("verify", CacheMode::Verify),
];

/// The settings of one process; tests make their own with [`Config::from_lookup`] or by filling the fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Mode of the disk cache.
    pub cache: CacheMode,
    /// Folder of the disk cache; `None` if neither the setting nor a home folder exists.
    pub cache_dir: Option<PathBuf>,
    /// Cap of the disk cache, in bytes.
    pub cache_bytes: u64,
    /// The NVRTC library that the user named, or its folder.
    pub nvrtc: Option<PathBuf>,
    /// Places where a CUDA toolkit or a Python package may be.
    pub places: Places,
}

/// Where NVRTC may be, apart from an explicit setting and the loader's own path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Toolkit roots named by variables, with the variable's name.
    pub toolkits: Vec<(&'static str, PathBuf)>,
    /// Prefixes of Python environments named by variables, with the variable's name.
    pub prefixes: Vec<(&'static str, PathBuf)>,
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
    /// Folders whose `cuda*` entries are toolkit roots.
    pub system: Vec<PathBuf>,
    /// Where the loader looks first, as it reads it.
    pub loader: OsString,
}

impl Config {
    /// The settings of this process, read from the environment at the first call.
    pub fn get() -> &'static Config {
        static CONFIG: OnceLock<Config> = OnceLock::new();
        CONFIG.get_or_init(|| Config::from_lookup(|name| std::env::var_os(name)))
    }

    /// Settings from any source of variables; an empty value counts as unset.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<OsString>) -> Config {
        let value = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let text = |name: &str| value(name).map(|value| value.to_string_lossy().into_owned());
        let named = |names: [&'static str; 2]| {
            names.into_iter().filter_map(|name| Some((name, PathBuf::from(value(name)?)))).collect()
        };
        Config {
            cache: parsed("GEMS_CACHE", text("GEMS_CACHE"), parse_cache_mode),
            cache_dir: value("GEMS_CACHE_DIR").map(PathBuf::from).or_else(user_cache_dir),
            cache_bytes: parsed("GEMS_CACHE_SIZE", text("GEMS_CACHE_SIZE"), |text| {
                parse_bytes(text).map(Bytes)
            })
            .0,
            nvrtc: value("GEMS_NVRTC").map(PathBuf::from),
            places: Places {
                toolkits: named(["CUDA_PATH", "CUDA_HOME"]),
                prefixes: named(["CONDA_PREFIX", "VIRTUAL_ENV"]),
                path: value("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default(),
                system: vec!["/usr/local".into(), "/opt".into()],
                loader: value("LD_LIBRARY_PATH").unwrap_or_default(),
            },
        }
    }
}

/// A cap in bytes, so that the default stands at the type like the other defaults.
struct Bytes(u64);

impl Default for Bytes {
    fn default() -> Bytes {
        Bytes(DEFAULT_CACHE_BYTES)
    }
}

/// The parsed value, or the default with a warning when there is a value without meaning.
fn parsed<T: Default>(name: &str, text: Option<String>, parse: impl Fn(&str) -> Option<T>) -> T {
    let Some(text) = text else { return T::default() };
    parse(text.trim()).unwrap_or_else(|| {
        let expected = VARIABLES.iter().find(|row| row.0 == name).map_or("", |row| row.2);
        tracing::warn!("{name}={text} has no meaning and is ignored; expected {expected}");
        T::default()
    })
}

fn parse_cache_mode(text: &str) -> Option<CacheMode> {
    CACHE_MODES.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|(_, mode)| *mode)
}

/// `123`, `64K`, `512M`, `2G`, with an optional `B` or `iB` behind the unit.
fn parse_bytes(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn user_cache_dir() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("gems"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(variables: &[(&str, &str)]) -> Config {
        Config::from_lookup(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn an_empty_environment_gives_the_defaults() {
        let config = config(&[]);
        assert_eq!(config.cache, CacheMode::On);
        assert_eq!(config.cache_bytes, 1 << 30);
        assert_eq!(config.nvrtc, None);
        assert!(config.places.toolkits.is_empty() && config.places.path.is_empty());
    }

    #[test]
    fn each_variable_reaches_its_field() {
        let config = config(&[
            ("GEMS_NVRTC", "/n/libnvrtc.so"),
            ("GEMS_CACHE", "ReadOnly"),
            ("GEMS_CACHE_DIR", "/c"),
            ("GEMS_CACHE_SIZE", "64 MiB"),
            ("CUDA_HOME", "/cuda"),
            ("VIRTUAL_ENV", "/venv"),
        ]);
        assert_eq!(config.nvrtc, Some("/n/libnvrtc.so".into()));
        assert_eq!(config.cache, CacheMode::ReadOnly);
        assert_eq!(config.cache_dir, Some("/c".into()));
        assert_eq!(config.cache_bytes, 64 << 20);
        assert_eq!(config.places.toolkits, [("CUDA_HOME", "/cuda".into())]);
        assert_eq!(config.places.prefixes, [("VIRTUAL_ENV", "/venv".into())]);
    }

    #[test]
    fn a_value_without_meaning_becomes_the_default() {
        for size in ["many", "-1", "12X", "99999999999G", "G"] {
            assert_eq!(config(&[("GEMS_CACHE_SIZE", size)]).cache_bytes, 1 << 30, "{size}");
        }
        assert_eq!(config(&[("GEMS_CACHE", "sometimes")]).cache, CacheMode::On);
        assert_eq!(config(&[("GEMS_NVRTC", "")]).nvrtc, None);
    }

    #[test]
    fn every_cache_mode_has_a_word_in_the_table_of_variables() {
        let row = VARIABLES.iter().find(|row| row.0 == "GEMS_CACHE").unwrap();
        for (word, _) in CACHE_MODES {
            assert!(row.2.contains(word), "{word}");
        }
    }
}
