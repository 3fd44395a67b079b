//! Indented lines of text.

/// Text under construction, with a current indentation.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    text: String,
    depth: usize,
}

impl Writer {
    pub(crate) fn new() -> Writer {
        Writer::default()
    }

    /// One line at the current indentation.
    pub(crate) fn line(&mut self, line: &str) {
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A line at the margin: preprocessor directives.
    pub(crate) fn directive(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A block: `head {`, the lines that `body` writes, `}`.
    pub(crate) fn block(&mut self, head: &str, body: impl FnOnce(&mut Writer)) {
        self.line(&format!("{head} {{"));
        self.depth += 1;
        body(self);
        self.depth -= 1;
        self.line("}");
    }

    /// `head {`, lines, `} else {`, lines, `}`.
    pub(crate) fn either(
        &mut self,
        head: &str,
        then: impl FnOnce(&mut Writer),
        otherwise: impl FnOnce(&mut Writer),
    ) {
        self.line(&format!("{head} {{"));
        self.depth += 1;
        then(self);
        self.depth -= 1;
        self.line("} else {");
        self.depth += 1;
        otherwise(self);
        self.depth -= 1;
        self.line("}");
    }

    /// An unrolled loop over `0..count`.
    pub(crate) fn unrolled(&mut self, index: &str, count: u32, body: impl FnOnce(&mut Writer)) {
        self.directive("#pragma unroll");
        self.block(&format!("for (u32 {index} = 0; {index} < {count}; ++{index})"), body);
    }

    /// An empty line, unless the text ends with one.
    pub(crate) fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    /// Finished text.
    pub(crate) fn raw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn into_string(self) -> String {
        self.text
    }
}
