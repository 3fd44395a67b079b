//! The file of a saved function.
//!
//! ```text
//! magic (8) | version | count of forms (u32) | forms | count of kernels (u32) | kernels | blake3 of all before (32)
//! form   = options | graph                             as text
//! kernel = entry | source | arch | binary              the binary as `Binary::to_bytes` writes it, empty if none
//! ```
//!
//! Texts and binaries have their length before them (u64); all numbers are little endian.
//! Guarantees: `decode` gives what was encoded, or says what is wrong; no length is trusted before it was compared with
//! what is there. Does not authenticate, so what it gives is verified as if somebody had made it up.

use crate::compile::{Arch, Binary};

/// Eight bytes that name the format; a change of the format changes them.
const MAGIC: &[u8; 8] = b"gemsfun1";
const CHECKSUM_BYTES: usize = 32;

/// What is in a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) version: String,
    pub(super) forms: Vec<FormText>,
    pub(super) kernels: Vec<KernelImage>,
}

/// One form: how it is run, and its graph.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FormText {
    pub(super) options: String,
    pub(super) graph: String,
}

/// One kernel.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KernelImage {
    pub(super) entry: String,
    pub(super) source: String,
    /// What it was compiled for, if it was.
    pub(super) binary: Option<(Arch, Binary)>,
}

/// Why bytes are no saved function, as the end of a sentence.
pub(super) type Fault = &'static str;

const DAMAGED: Fault = "is damaged: its checksum does not match; copy it again, or save the function again";
const FOREIGN: Fault =
    "is no saved function of this format; save the function again with this version of gems";
const MALFORMED: Fault = "has parts that do not fit; save the function again";

/// The bytes of the file.
pub(super) fn encode(content: &Content) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    put(&mut file, content.version.as_bytes());
    put_count(&mut file, content.forms.len());
    for form in &content.forms {
        put(&mut file, form.options.as_bytes());
        put(&mut file, form.graph.as_bytes());
    }
    put_count(&mut file, content.kernels.len());
    for kernel in &content.kernels {
        let (arch, binary) = match &kernel.binary {
            Some((arch, binary)) => (arch.to_string(), binary.to_bytes()),
            None => Default::default(),
        };
        for part in [kernel.entry.as_bytes(), kernel.source.as_bytes(), arch.as_bytes(), &binary] {
            put(&mut file, part);
        }
    }
    let checksum = blake3::hash(&file);
    file.extend_from_slice(checksum.as_bytes());
    file
}

/// What the bytes of a file say.
pub(super) fn decode(file: &[u8]) -> Result<Content, Fault> {
    if !file.starts_with(MAGIC) {
        return Err(FOREIGN);
    }
    let (body, checksum) = file.split_at(file.len().checked_sub(CHECKSUM_BYTES).ok_or(DAMAGED)?);
    if blake3::hash(body).as_bytes() != checksum {
        return Err(DAMAGED);
    }
    let mut rest = Rest(body.get(MAGIC.len()..).ok_or(DAMAGED)?);
    let version = rest.text()?;
    let mut content = Content { version, ..Content::default() };
    for _ in 0..rest.count()? {
        content.forms.push(FormText { options: rest.text()?, graph: rest.text()? });
    }
    for _ in 0..rest.count()? {
        let (entry, source, arch) = (rest.text()?, rest.text()?, rest.text()?);
        let binary = match (arch.as_str(), rest.bytes()?) {
            ("", []) => None,
            (arch, bytes) => {
                Some((arch.parse().map_err(|_| MALFORMED)?, Binary::from_bytes(bytes).ok_or(MALFORMED)?))
            }
        };
        content.kernels.push(KernelImage { entry, source, binary });
    }
    if rest.0.is_empty() { Ok(content) } else { Err(MALFORMED) }
}

fn put(file: &mut Vec<u8>, part: &[u8]) {
    file.extend_from_slice(&(part.len() as u64).to_le_bytes());
    file.extend_from_slice(part);
}

fn put_count(file: &mut Vec<u8>, count: usize) {
    file.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

/// What was not read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(MALFORMED)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        self.take(N)?.try_into().map_err(|_| MALFORMED)
    }

    fn count(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_le_bytes)
    }

    fn bytes(&mut self) -> Result<&'a [u8], Fault> {
        let length = u64::from_le_bytes(self.array()?);
        self.take(usize::try_from(length).map_err(|_| MALFORMED)?)
    }

    fn text(&mut self) -> Result<String, Fault> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| MALFORMED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::BinaryKind;

    fn content() -> Content {
        let binary = Binary { kind: BinaryKind::Cubin, bytes: vec![1, 2, 3] };
        let kernel =
            |entry: &str, binary| KernelImage { entry: entry.to_owned(), source: "code".to_owned(), binary };
        Content {
            version: "1.2.3".to_owned(),
            forms: vec![FormText { options: "fusion on".to_owned(), graph: "input x: f32[2]\n".to_owned() }],
            kernels: vec![kernel("f", Some((Arch { major: 9, minor: 0 }, binary))), kernel("g", None)],
        }
    }

    #[test]
    fn decode_gives_what_was_encoded() {
        assert_eq!(decode(&encode(&content())), Ok(content()));
        assert_eq!(decode(&encode(&Content::default())), Ok(Content::default()));
    }

    #[test]
    fn every_truncation_and_every_flipped_bit_is_a_fault() {
        let mut file = encode(&content());
        for length in 0..file.len() {
            assert!(decode(&file[..length]).is_err(), "{length}");
        }
        for byte in 0..file.len() {
            for bit in 0..8 {
                file[byte] ^= 1 << bit;
                assert!(decode(&file).is_err(), "{byte}.{bit}");
                file[byte] ^= 1 << bit;
            }
        }
        assert!(decode(&[file.as_slice(), b"x"].concat()).is_err());
    }

    #[test]
    fn wrong_lengths_under_a_right_checksum_are_faults() {
        let file = encode(&content());
        let body = &file[..file.len() - CHECKSUM_BYTES];
        for at in MAGIC.len()..body.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = body.to_vec();
                changed[at] = value;
                let checksum = blake3::hash(&changed);
                changed.extend_from_slice(checksum.as_bytes());
                // Whatever it says, it is read without a panic and without a large allocation.
                let _ = decode(&changed);
            }
        }
        let longer = [body, &[0]].concat();
        let checksum = blake3::hash(&longer);
        assert_eq!(decode(&[longer.as_slice(), checksum.as_bytes()].concat()), Err(MALFORMED));
    }
}
