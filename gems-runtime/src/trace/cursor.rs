//! A place in a line of a graph's text, and the words and numbers that may stand there.

use crate::device::Device;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, ErrorKind, Result};
use num_complex::Complex;

pub(super) fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Value, message)
}

/// Names of ops are those of functions, in which letters of any script may stand, and marks on them.
pub(super) fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || !c.is_ascii()
}

/// A place in a line.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) rest: &'a str,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(line: &'a str) -> Cursor<'a> {
        Cursor { rest: line }
    }

    pub(super) fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    pub(super) fn eats(&mut self, token: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    pub(super) fn eats_word(&mut self, word: &str) -> bool {
        let mut ahead = *self;
        let found = ahead.eats(word) && ahead.rest.starts_with(' ');
        if found {
            *self = ahead;
        }
        found
    }

    pub(super) fn expect(&mut self, token: &str) -> Result<()> {
        if self.eats(token) { Ok(()) } else { Err(wrong(format!("`{token}` expected at `{}`", self.rest))) }
    }

    pub(super) fn end(&mut self) -> Result<()> {
        self.skip();
        if self.rest.is_empty() { Ok(()) } else { Err(wrong(format!("`{}` is too much", self.rest))) }
    }

    pub(super) fn take_all(&mut self) -> &'a str {
        self.skip();
        std::mem::take(&mut self.rest).trim_end()
    }

    /// The longest start of the rest of such characters; at least one.
    pub(super) fn take(&mut self, what: &str, belongs: impl Fn(char) -> bool) -> Result<&'a str> {
        self.skip();
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at(end);
        if token.is_empty() {
            return Err(wrong(format!("{what} expected at `{}`", self.rest)));
        }
        self.rest = rest;
        Ok(token)
    }

    pub(super) fn word(&mut self) -> Result<&'a str> {
        let word = self.take("a name", in_word)?;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            Err(wrong(format!("`{word}` is no name")))
        } else {
            Ok(word)
        }
    }

    /// `neg` or `neg.2`.
    pub(super) fn op_name(&mut self) -> Result<&'a str> {
        self.take("the name of an op", |c| in_word(c) || c == '.')
    }

    /// `n` or `x0.shape[1]`.
    pub(super) fn size_name(&mut self) -> Result<&'a str> {
        self.skip();
        let start = self.rest;
        self.word()?;
        if self.rest.starts_with('.') {
            self.take("a name", |c| in_word(c) || c == '.')?;
            self.expect("[")?;
            self.number::<usize>()?;
            self.expect("]")?;
        }
        Ok(&start[..start.len() - self.rest.len()])
    }

    pub(super) fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        let text = self.take("a number", |c| c.is_ascii_digit() || c == '-')?;
        text.parse().map_err(|_| wrong(format!("`{text}` is no number that fits")))
    }

    pub(super) fn dtype(&mut self) -> Result<DType> {
        let name = self.word()?;
        DType::from_name(name).ok_or_else(|| wrong(format!("`{name}` is no dtype")))
    }

    pub(super) fn as_dtype(&mut self) -> Result<Option<DType>> {
        if self.eats_word("as") { self.dtype().map(Some) } else { Ok(None) }
    }

    pub(super) fn device(&mut self) -> Result<Device> {
        if self.eats("cuda:") {
            self.number().map(Device::Cuda)
        } else {
            self.expect("cpu").map(|()| Device::Cpu)
        }
    }

    /// A number with its kind; none where a name stands.
    pub(super) fn scalar(&mut self) -> Result<Option<Scalar>> {
        if self.eats("(") {
            let re = self.float()?;
            self.expect(",")?;
            let im = self.float()?;
            self.expect(")")?;
            return Ok(Some(Scalar::C128(Complex::new(re, im))));
        }
        let mut ahead = *self;
        let token = ahead.take("an argument", |c| in_word(c) || matches!(c, '.' | '-' | '+' | ':'))?;
        let begins = |c: char| c.is_ascii_digit() || c == '-';
        let number = match token {
            "true" => Scalar::Bool(true),
            "false" => Scalar::Bool(false),
            _ if token == "inf" || token.starts_with("NaN") || token.starts_with("-inf") => {
                return self.float().map(|value| Some(Scalar::F64(value)));
            }
            _ if !token.starts_with(begins) => return Ok(None),
            _ if token.contains(['.', 'e']) => return self.float().map(|value| Some(Scalar::F64(value))),
            _ => match token.strip_suffix('u') {
                Some(digits) => Scalar::U64(parsed(digits)?),
                None => Scalar::I64(parsed(token)?),
            },
        };
        *self = ahead;
        Ok(Some(number))
    }

    pub(super) fn float(&mut self) -> Result<f64> {
        let token = self.take("a number", |c| in_word(c) || matches!(c, '.' | '-' | '+' | ':'))?;
        match token.strip_prefix("NaN:") {
            Some(bits) => match u64::from_str_radix(bits, 16) {
                Ok(bits) if f64::from_bits(bits).is_nan() => Ok(f64::from_bits(bits)),
                _ => Err(wrong(format!("`{token}` is no number"))),
            },
            None => parsed(token),
        }
    }

    pub(super) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eats(",") {
            items.push(item(self)?);
        }
        Ok(items)
    }
}

fn parsed<T: std::str::FromStr>(text: &str) -> Result<T> {
    text.parse().map_err(|_| wrong(format!("`{text}` is no number that fits")))
}
