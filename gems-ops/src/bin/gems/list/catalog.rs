//! `gems list --markdown`: all ops as a page, which `docs/ops.md` is.

use super::{dtypes, kind, matched, signature};
use gems_ops::ALIASES;
use gems_ops::op::OpDef;
use std::fmt::{self, Write};

const HEAD: &str = "\
# Operations

All ops of `gems-ops`, by the file that has them.
This page is written by `cargo gems list --markdown`; the same texts are the ops' documentation in Rust.

A result has the dtype that the kind of promotion gives; [the guide](guide.md#options) explains the kinds, and
[numerics](numerics.md) the rules that hold for all ops.
Every op runs on CPU and CUDA, eagerly, traced and fused, into new buffers or given ones.

Of a derivative only the factor of the incoming gradient is given; r is the result.
Accuracies of f16, bf16 and 8-bit floats are those of f32, rounded once.
";

/// The page.
pub(super) fn page(ops: &[&OpDef]) -> Result<String, fmt::Error> {
    let mut text = String::from(HEAD);
    let mut files: Vec<&str> = Vec::new();
    for op in ops {
        if !files.contains(&op.device.module) {
            files.push(op.device.module);
        }
    }
    for file in files {
        let path: Vec<&str> = file.split("::").skip(1).collect();
        writeln!(text, "\n## {}", path.join("/"))?;
        for op in ops.iter().filter(|op| op.device.module == file) {
            section(&mut text, op)?;
        }
    }
    writeln!(text, "\n{} ops, {} other names.", ops.len(), ALIASES.len())?;
    Ok(text)
}

/// The documentation of an op, and what is not in its text.
fn section(text: &mut String, op: &OpDef) -> fmt::Result {
    writeln!(text, "\n### {}\n\n`{}`\n", op.name, signature(op))?;
    for line in op.doc.trim().lines() {
        let line = without_links(line.trim());
        // A heading of the text is none of the page.
        match line.strip_prefix("# ") {
            Some(heading) => writeln!(text, "{heading}:")?,
            None => writeln!(text, "{line}")?,
        }
    }
    let derivative = if op.vjp.is_some() { "yes" } else { "none" };
    let pytorch = matched(op).map_or_else(|| "none".to_owned(), |name| format!("`{name}`"));
    write!(
        text,
        "\n- Promotion: `{}`; dtypes: {}; derivative: {derivative}; in PyTorch: {pytorch}",
        kind(op),
        dtypes(op.dtypes)
    )?;
    let others: Vec<String> =
        ALIASES.iter().filter(|row| row.1 == op.name).map(|row| format!("`{}`", row.0)).collect();
    if !others.is_empty() {
        write!(text, "; other names: {}", others.join(", "))?;
    }
    writeln!(text)
}

/// Links to items, with or without a target, as the names alone.
fn without_links(line: &str) -> String {
    let mut parts = line.split("[`");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("`]").unwrap_or((part, ""));
        let rest = match rest.strip_prefix('(') {
            Some(target) => target.split_once(')').map_or("", |(_, rest)| rest),
            None => rest,
        };
        plain.push_str(&format!("`{}`{rest}", name.trim_end_matches("()")));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_up_to_date() {
        let ops: Vec<_> = gems_ops::REGISTRY.iter().collect();
        let page = page(&ops).unwrap();
        let written =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/ops.md")).unwrap();
        let differs = written.lines().zip(page.lines()).find(|(old, new)| old != new);
        assert!(written == page, "stale from {differs:?}; run `cargo gems list --markdown > docs/ops.md`");
    }

    #[test]
    fn links_of_rust_are_no_links_of_the_page() {
        assert_eq!(without_links("as [`a`](fn@a), [`b()`] and [`c`](fn@c)."), "as `a`, `b` and `c`.");
        assert_eq!(without_links("[0, 1]"), "[0, 1]");
    }
}
