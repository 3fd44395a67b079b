//! Tables in Markdown.

use crate::rows::{Ours, Rows};

/// The peers of the table, by their names in the files and on the page.
pub(crate) const PEERS: [(&str, &str); 4] =
    [("torch", "PyTorch"), ("inductor", "Inductor"), ("flaggems", "FlagGems"), ("cub", "CUB")];

/// Puts each table between its marks.
pub(crate) fn replace(text: &str, tables: &[(&str, String)]) -> Result<String, String> {
    let mut text = text.to_owned();
    for (name, table) in tables {
        let mark = format!("<!-- table {name} -->\n");
        let begin =
            text.find(&mark).ok_or_else(|| format!("the page has no mark `{}`", mark.trim()))? + mark.len();
        let end =
            text[begin..].find("<!-- end -->").ok_or_else(|| format!("table {name} has no end"))? + begin;
        text.replace_range(begin..end, &format!("\n{table}\n"));
    }
    Ok(text)
}

/// Fractions of a copy: ours by run, and the peers'.
pub(crate) fn bandwidth(rows: &Rows) -> String {
    let peers: Vec<_> =
        PEERS.iter().filter(|(peer, _)| rows.peers.values().any(|row| row.contains_key(*peer))).collect();
    let mut table = String::from("| case | µs | of copy | reach |");
    peers.iter().for_each(|(_, title)| table.push_str(&format!(" {title} |")));
    table.push_str("\n|---|---:|---:|---:|");
    table.push_str(&"---:|".repeat(peers.len()));
    for ours in &rows.bandwidth {
        let reach = ours.reach.map_or("–".to_owned(), |reach| format!("{reach:.2}"));
        table.push_str(&format!(
            "\n| `{}` | {:.1} | {} | {reach} |",
            ours.name,
            ours.us,
            runs(ours, at_least)
        ));
        for (peer, _) in &peers {
            let value = rows.peers.get(&ours.name).and_then(|row| row.get(*peer));
            let value = value.map_or("–".to_owned(), |value| format!("{value:.2}"));
            table.push_str(&format!(" {value} |"));
        }
    }
    table.push('\n');
    table
}

/// Multiples of a raw launch.
pub(crate) fn host(rows: &Rows) -> String {
    let mut table =
        String::from("| call, 1,024 f32 elements | µs | of a raw launch | reach |\n|---|---:|---:|---:|");
    for ours in &rows.host {
        let reach = ours.reach.map_or("–".to_owned(), |reach| format!("{reach:.2}"));
        table.push_str(&format!("\n| {} | {:.2} | {} | {reach} |", ours.name, ours.us, runs(ours, at_most)));
    }
    for (case, peer, us) in &rows.peers_host {
        table.push_str(&format!("\n| {case} ({peer}) | {us:.2} | – | – |"));
    }
    table.push('\n');
    table
}

fn at_least(run: f64, reach: f64) -> bool {
    (run * 100.0).round() >= (reach * 100.0).round()
}

fn at_most(run: f64, reach: f64) -> bool {
    run <= reach
}

/// The runs, in bold where they miss.
fn runs(ours: &Ours, reached: fn(f64, f64) -> bool) -> String {
    let run = |run: &f64| match ours.reach {
        Some(reach) if !reached(*run, reach) => format!("**{run:.3}**"),
        _ => format!("{run:.3}"),
    };
    ours.runs.iter().map(run).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_replace_what_is_between_their_marks() {
        let page = "a\n<!-- table x -->\nold\n<!-- end -->\nb";
        let new = replace(page, &[("x", "new".into())]).unwrap();
        assert_eq!(new, "a\n<!-- table x -->\n\nnew\n<!-- end -->\nb");
        assert!(replace(page, &[("y", String::new())]).is_err());
    }

    #[test]
    fn runs_that_miss_are_bold() {
        let ours = Ours { name: "a".into(), runs: vec![0.964, 0.966], us: 1.0, reach: Some(0.97) };
        assert_eq!(runs(&ours, at_least), "**0.964**, 0.966");
    }
}
