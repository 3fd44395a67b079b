//! Formulas in the flat index `i`, by which long recorded tensors are written.
//!
//! Integers with Python's `+ - * // %`, unary minus and parentheses; `//` and `%` round toward negative infinity.

/// A parsed formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Formula {
    Index,
    Number(i64),
    Negative(Box<Formula>),
    Binary(Operation, Box<Formula>, Box<Formula>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Parentheses and signs may be nested this deep.
const MAX_DEPTH: usize = 64;

impl Formula {
    pub(super) fn parse(text: &str) -> Result<Formula, String> {
        let mut parser = Parser { rest: text.trim_start(), depth: 0 };
        let formula = parser.sum().ok_or_else(|| format!("`{text}` is no formula in i"))?;
        match parser.rest {
            "" => Ok(formula),
            rest => Err(format!("`{text}` has `{rest}` where a formula in i should end")),
        }
    }

    /// The value at an index; `None` on overflow and division by zero.
    pub(super) fn at(&self, i: i64) -> Option<i64> {
        match self {
            Formula::Index => Some(i),
            Formula::Number(number) => Some(*number),
            Formula::Negative(x) => x.at(i)?.checked_neg(),
            Formula::Binary(operation, x, y) => {
                let (x, y) = (x.at(i)?, y.at(i)?);
                match operation {
                    Operation::Add => x.checked_add(y),
                    Operation::Subtract => x.checked_sub(y),
                    Operation::Multiply => x.checked_mul(y),
                    Operation::Divide => {
                        let quotient = x.checked_div(y)?;
                        Some(quotient - i64::from(x % y != 0 && (x < 0) != (y < 0)))
                    }
                    Operation::Remainder => {
                        let remainder = x.checked_rem(y)?;
                        Some(if remainder != 0 && (remainder < 0) != (y < 0) {
                            remainder + y
                        } else {
                            remainder
                        })
                    }
                }
            }
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn take(&mut self, token: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(token) else { return false };
        self.rest = rest.trim_start();
        true
    }

    /// The first of these operations that comes next.
    fn operation(&mut self, tokens: &[(&str, Operation)]) -> Option<Operation> {
        tokens.iter().find(|(token, _)| self.take(token)).map(|(_, operation)| *operation)
    }

    /// `product (+ product)*`.
    fn sum(&mut self) -> Option<Formula> {
        let mut left = self.product()?;
        while let Some(operation) = self.operation(&[("+", Operation::Add), ("-", Operation::Subtract)]) {
            left = Formula::Binary(operation, Box::new(left), Box::new(self.product()?));
        }
        Some(left)
    }

    /// `factor (* factor)*`.
    fn product(&mut self) -> Option<Formula> {
        const TOKENS: &[(&str, Operation)] =
            &[("*", Operation::Multiply), ("//", Operation::Divide), ("%", Operation::Remainder)];
        let mut left = self.factor()?;
        while let Some(operation) = self.operation(TOKENS) {
            left = Formula::Binary(operation, Box::new(left), Box::new(self.factor()?));
        }
        Some(left)
    }

    /// A number, the index, a sign or parentheses.
    fn factor(&mut self) -> Option<Formula> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let formula = if self.take("-") {
            Formula::Negative(Box::new(self.factor()?))
        } else if self.take("(") {
            let inside = self.sum()?;
            self.take(")").then_some(inside)?
        } else if self.take("i") {
            Formula::Index
        } else {
            let digits = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let (number, rest) = self.rest.split_at(digits);
            self.rest = rest.trim_start();
            Formula::Number(number.parse().ok()?)
        };
        self.depth -= 1;
        Some(formula)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, i: i64, value: i64) {
        assert_eq!(Formula::parse(text).unwrap().at(i), Some(value), "{text} at {i}");
    }

    #[test]
    fn formulas_follow_pythons_precedence() {
        check("i % 128", 130, 2);
        check("-((i+1) % 128)", 130, -3);
        check("1 + 2 * 3", 0, 7);
        check("(1 + 2) * 3", 0, 9);
        check("10 - 3 - 2", 0, 5);
        check("-i % 5", 3, 2);
        check("--i", 3, 3);
        check("i//8192*3", 8193, 3);
        check("((i//(32*8192*8192))*8192 + (i//8192)%8192) % 251", 2_147_483_648 + 8192, 161);
    }

    #[test]
    fn division_rounds_down() {
        check("-7 // 2", 0, -4);
        check("7 // -2", 0, -4);
        check("-8 // 2", 0, -4);
        check("-7 % 3", 0, 2);
        check("7 % -3", 0, -2);
        check("-6 % 3", 0, 0);
    }

    #[test]
    fn what_is_no_formula_is_refused() {
        for text in [
            "",
            "i i",
            "j",
            "(i",
            "i)",
            "1 +",
            "* 2",
            "2.5",
            "i / 2",
            "9999999999999999999999999999999999999999",
        ] {
            assert!(Formula::parse(text).is_err(), "{text}");
        }
        assert!(Formula::parse(&"(".repeat(100_000)).is_err());
    }

    #[test]
    fn overflow_and_division_by_zero_have_no_value() {
        assert_eq!(Formula::parse("i % 0").unwrap().at(1), None);
        assert_eq!(Formula::parse("i // 0").unwrap().at(1), None);
        assert_eq!(Formula::parse("i * i").unwrap().at(i64::MAX), None);
    }
}
