//! The file format of one cache entry.
//!
//! ```text
//! magic (8) | count of parts (u32) | count × (name length u32, name, value length u64, value)
//!           | payload length (u64) | payload | blake3 of all that stands before (32)        little endian
//! ```
//!
//! Guarantees: `decode` returns a payload only if the file is whole, of this format and of exactly this key; any other
//! file is a [`Fault`], never a panic, and no length in it is trusted before it was compared with what is there.
//! Does not authenticate: who can write the cache folder can write entries.

use std::fmt;

use super::key::Key;

/// Eight bytes that name the format and its version; a change of the format changes them.
pub(crate) const MAGIC: &[u8; 8] = b"gemsbin1";

const CHECKSUM_BYTES: usize = 32;

/// Why a file is no entry of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Cut off, or shorter than a length in it says.
    Truncated,
    /// Another format or version.
    Foreign,
    /// The checksum does not match.
    Damaged,
    /// An intact entry of another key.
    OtherKey,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Truncated => "it is truncated",
            Fault::Foreign => "it has another format or version",
            Fault::Damaged => "its checksum does not match",
            Fault::OtherKey => "it belongs to another key",
        })
    }
}

/// The bytes of the file.
pub(crate) fn encode(key: &Key, payload: &[u8]) -> Vec<u8> {
    let mut file = header(key);
    file.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    file.extend_from_slice(payload);
    let checksum = blake3::hash(&file);
    file.extend_from_slice(checksum.as_bytes());
    file
}

/// The payload in the bytes of the file.
pub(crate) fn decode(key: &Key, file: &[u8]) -> Result<Vec<u8>, Fault> {
    if file.len() < MAGIC.len() + CHECKSUM_BYTES {
        return Err(Fault::Truncated);
    }
    if !file.starts_with(MAGIC) {
        return Err(Fault::Foreign);
    }
    let (body, checksum) = file.split_at(file.len() - CHECKSUM_BYTES);
    if blake3::hash(body).as_bytes() != checksum {
        return Err(Fault::Damaged);
    }
    let rest = body.strip_prefix(header(key).as_slice()).ok_or(Fault::OtherKey)?;
    let (length, payload) = rest.split_first_chunk().ok_or(Fault::Truncated)?;
    match u64::from_le_bytes(*length) == payload.len() as u64 {
        true => Ok(payload.to_vec()),
        false => Err(Fault::Truncated),
    }
}

/// All that stands before the payload's length; the same bytes for the same key.
fn header(key: &Key) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    let parts = key.parts();
    header.extend_from_slice(&u32::try_from(parts.len()).unwrap_or(u32::MAX).to_le_bytes());
    for (name, value) in parts {
        header.extend_from_slice(&u32::try_from(name.len()).unwrap_or(u32::MAX).to_le_bytes());
        header.extend_from_slice(name.as_bytes());
        header.extend_from_slice(&(value.len() as u64).to_le_bytes());
        header.extend_from_slice(value.as_bytes());
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(source: &str) -> Key {
        Key::new([("source", source.to_owned()), ("arch", "sm_90".to_owned())])
    }

    #[test]
    fn decode_returns_what_was_encoded() {
        for payload in [&b""[..], b"x", &[0; 1000]] {
            assert_eq!(decode(&key("s"), &encode(&key("s"), payload)).as_deref(), Ok(payload));
        }
    }

    #[test]
    fn every_truncation_is_a_fault() {
        let file = encode(&key("s"), b"payload");
        for length in 0..file.len() {
            assert!(decode(&key("s"), &file[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn every_flipped_bit_is_a_fault() {
        let mut file = encode(&key("s"), b"payload");
        for byte in 0..file.len() {
            for bit in 0..8 {
                file[byte] ^= 1 << bit;
                assert!(decode(&key("s"), &file).is_err(), "{byte}.{bit}");
                file[byte] ^= 1 << bit;
            }
        }
        assert!(decode(&key("s"), &file).is_ok());
    }

    #[test]
    fn appended_bytes_a_foreign_version_and_another_key_are_faults() {
        let file = encode(&key("s"), b"payload");
        assert_eq!(decode(&key("t"), &file), Err(Fault::OtherKey));
        assert_eq!(decode(&key("s"), &[file.as_slice(), b"x"].concat()), Err(Fault::Damaged));
        let mut foreign = file.clone();
        foreign[7] = b'2';
        assert_eq!(decode(&key("s"), &foreign), Err(Fault::Foreign));
        assert_eq!(decode(&key("s"), &[0; 100]), Err(Fault::Foreign));
    }

    #[test]
    fn a_wrong_length_under_a_right_checksum_is_a_fault() {
        let key = key("s");
        for length in [0, 6, 8, u64::MAX] {
            let mut file = header(&key);
            file.extend_from_slice(&u64::to_le_bytes(length));
            file.extend_from_slice(b"payload");
            let checksum = blake3::hash(&file);
            file.extend_from_slice(checksum.as_bytes());
            assert_eq!(decode(&key, &file), Err(Fault::Truncated), "{length}");
        }
    }
}
