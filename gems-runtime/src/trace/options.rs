//! How a traced function is run.

/// How a traced function is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether ops are joined.
    pub fusion: Fusion,
    /// What becomes of intermediates.
    pub rounding: Rounding,
}

/// Whether ops are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fusion {
    /// Ops over the same sizes share a kernel.
    #[default]
    On,
    /// A kernel an op, as eager calls run.
    Off,
}

/// What becomes of an intermediate of a 1- or 2-byte float that a kernel computes and does not store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rounding {
    /// It is rounded to the dtype that the eager op would have stored: the bits of eager calls.
    #[default]
    Exact,
    /// It stays in the dtype of the computation, which is f32: nearer to the exact result, with fewer instructions, and
    /// other bits than eager calls give. Which intermediates stay wide depends on what is joined.
    ///
    /// Results that are stored are rounded, and read as they are stored; a conversion that the function asks for, as
    /// `cast` does, rounds too.
    Wide,
}

const FUSION: [(Fusion, &str); 2] = [(Fusion::On, "fusion on"), (Fusion::Off, "fusion off")];
const ROUNDING: [(Rounding, &str); 2] =
    [(Rounding::Exact, "rounding exact"), (Rounding::Wide, "rounding wide")];

impl Options {
    /// `fusion on, rounding exact`.
    pub(super) fn to_text(self) -> String {
        let fusion = FUSION.iter().find(|(fusion, _)| *fusion == self.fusion).map_or("", |(_, text)| text);
        let rounding =
            ROUNDING.iter().find(|(rounding, _)| *rounding == self.rounding).map_or("", |(_, text)| text);
        format!("{fusion}, {rounding}")
    }

    /// The options that a text describes.
    pub(super) fn from_text(text: &str) -> Option<Options> {
        let (fusion, rounding) = text.split_once(", ")?;
        Some(Options {
            fusion: FUSION.iter().find(|(_, text)| *text == fusion)?.0,
            rounding: ROUNDING.iter().find(|(_, text)| *text == rounding)?.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_survive_their_text() {
        for (fusion, _) in FUSION {
            for (rounding, _) in ROUNDING {
                let options = Options { fusion, rounding };
                assert_eq!(Options::from_text(&options.to_text()), Some(options));
            }
        }
        assert_eq!(Options::default().to_text(), "fusion on, rounding exact");
        assert_eq!(Options::from_text("fusion on, rounding up"), None);
    }
}
