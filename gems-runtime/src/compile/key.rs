//! The key of a compiled kernel: named parts and their hash.
//!
//! Guarantees: equal parts in equal order give the same hash in every process, build and machine; a byte that moves
//! from one part to the next changes it.
//! Holds nothing that varies by itself: no time, no path, no build id of the program.

use std::fmt;

/// What decides a kernel's binary, part by part.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    parts: Vec<(&'static str, String)>,
    hash: [u8; 32],
}

impl Key {
    /// The key of these parts, each a name and a value; the order counts.
    pub fn new(parts: impl IntoIterator<Item = (&'static str, String)>) -> Key {
        let parts: Vec<_> = parts.into_iter().collect();
        let mut hasher = blake3::Hasher::new();
        for (name, value) in &parts {
            for text in [*name, value.as_str()] {
                hasher.update(&(text.len() as u64).to_le_bytes());
                hasher.update(text.as_bytes());
            }
        }
        Key { hash: *hasher.finalize().as_bytes(), parts }
    }

    /// The parts in their order.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = (&'static str, &str)> {
        self.parts.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// The hash of all parts.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        self.hash
    }

    /// The hash as 64 hexadecimal digits.
    #[must_use]
    pub fn hex(&self) -> String {
        blake3::Hash::from_bytes(self.hash).to_hex().to_string()
    }
}

impl fmt::Debug for Key {
    /// The start of the hash and each part with its length, so that a miss can be explained without the whole source.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", &self.hex()[..16])?;
        for (name, value) in &self.parts {
            match value.len() {
                0..=80 => write!(f, " {name}={value}")?,
                bytes => write!(f, " {name}=({bytes} bytes)")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(parts: &[(&'static str, &str)]) -> Key {
        Key::new(parts.iter().map(|(name, value)| (*name, (*value).to_owned())))
    }

    #[test]
    fn a_hash_is_the_same_in_every_process() {
        // Computed once and written down: if it changes, every cache in the world goes cold.
        let key = key(&[("source", "x"), ("arch", "sm_90")]);
        assert_eq!(key.hex(), "6bc9681124710e5efdb8a47dbc46380c59492dff38f791c4f4e4a0c3749a867f");
        assert_eq!(key.hex().len(), 64);
    }

    #[test]
    fn every_part_and_every_boundary_counts() {
        let reference = key(&[("a", "bc"), ("d", "")]);
        for other in [
            key(&[("a", "bd"), ("d", "")]),
            key(&[("ab", "c"), ("d", "")]),
            key(&[("a", "bcd"), ("", "")]),
            key(&[("d", ""), ("a", "bc")]),
            key(&[("a", "bc")]),
            key(&[("a", "bc"), ("d", ""), ("", "")]),
        ] {
            assert_ne!(reference.hash(), other.hash(), "{other:?}");
        }
        assert_eq!(reference, key(&[("a", "bc"), ("d", "")]));
    }

    #[test]
    fn debug_names_short_parts_and_measures_long_ones() {
        let text = format!("{:?}", key(&[("arch", "sm_90"), ("source", &"x".repeat(81))]));
        assert!(text.ends_with(" arch=sm_90 source=(81 bytes)"), "{text}");
    }
}
