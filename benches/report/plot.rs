//! Plots as SVG, drawn by hand: bars, lines and their axes are all there is.

use crate::rows::Rows;
use crate::table::PEERS;

const OURS: &str = "#1f6f54";
const COLORS: [&str; 4] = ["#c0504d", "#e0a030", "#7f7f7f", "#4f81bd"];

/// An SVG of this size around a body.
fn svg(width: f64, height: f64, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
    )
}

fn rect(body: &mut String, [x, y, width, height]: [f64; 4], fill: &str) {
    body.push_str(&format!(
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>\n"
    ));
}

fn line(body: &mut String, [x1, y1, x2, y2]: [f64; 4], stroke: &str) {
    body.push_str(&format!(
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{stroke}\"/>\n"
    ));
}

fn circle(body: &mut String, [x, y]: [f64; 2], fill: &str) {
    body.push_str(&format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{fill}\"/>\n"));
}

fn text(body: &mut String, [x, y]: [f64; 2], anchor: &str, content: &str) {
    body.push_str(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{content}</text>\n"));
}

/// A legend of colors and names in one line.
fn legend(body: &mut String, [mut x, y]: [f64; 2], names: &[(&str, &str)]) {
    for (color, name) in names {
        rect(body, [x, y - 10.0, 12.0, 12.0], color);
        text(body, [x + 17.0, y], "start", name);
        x += 40.0 + 7.0 * f64::from(u32::try_from(name.len()).unwrap_or(0));
    }
}

/// A row a case: ours as a bar, peers as dots, what is to be reached as a stroke.
pub(crate) fn bandwidth(rows: &Rows) -> String {
    const LEFT: f64 = 220.0;
    const ROW: f64 = 20.0;
    const UNIT: f64 = 480.0;
    let mut body = String::new();
    let height = 60.0 + ROW * f64::from(u32::try_from(rows.bandwidth.len()).unwrap_or(0));
    let mut names = vec![(OURS, "gems")];
    names.extend(PEERS.iter().zip(COLORS).map(|((_, title), color)| (color, *title)));
    legend(&mut body, [LEFT, 20.0], &names);
    for tenth in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let x = LEFT + tenth * UNIT;
        line(&mut body, [x, 32.0, x, height - 20.0], "#ddd");
        text(&mut body, [x, height - 6.0], "middle", &format!("{tenth:.2}"));
    }
    let mut y = 36.0;
    for ours in &rows.bandwidth {
        let value = ours.runs.first().copied().unwrap_or(0.0);
        text(&mut body, [LEFT - 8.0, y + 12.0], "end", &ours.name);
        rect(&mut body, [LEFT, y + 2.0, value * UNIT, ROW - 6.0], OURS);
        if let Some(reach) = ours.reach {
            line(&mut body, [LEFT + reach * UNIT, y, LEFT + reach * UNIT, y + ROW - 2.0], "black");
        }
        if let Some(peers) = rows.peers.get(&ours.name) {
            for ((peer, _), color) in PEERS.iter().zip(COLORS) {
                if let Some(value) = peers.get(*peer) {
                    circle(&mut body, [LEFT + value * UNIT, y + ROW / 2.0 - 1.0], color);
                }
            }
        }
        y += ROW;
    }
    svg(LEFT + 1.15 * UNIT, height, &body)
}

/// GB/s over the number of elements, both axes logarithmic.
pub(crate) fn sizes(rows: &Rows) -> String {
    const LEFT: f64 = 60.0;
    const BOTTOM: f64 = 360.0;
    let x = |elements: f64| LEFT + (elements.log2() - 10.0) * 32.0;
    let y = |gbps: f64| BOTTOM - gbps.max(1.0).log10() * 80.0;
    let mut body = String::new();
    for exponent in (10..=28).step_by(2) {
        let at = x(2f64.powi(exponent));
        line(&mut body, [at, 40.0, at, BOTTOM], "#ddd");
        text(&mut body, [at, BOTTOM + 18.0], "middle", &format!("2^{exponent}"));
    }
    for gbps in [1.0, 10.0, 100.0, 1000.0, 10000.0] {
        line(&mut body, [LEFT, y(gbps), x(2f64.powi(28)), y(gbps)], "#ddd");
        text(&mut body, [LEFT - 6.0, y(gbps) + 4.0], "end", &format!("{gbps}"));
    }
    text(&mut body, [LEFT - 6.0, 24.0], "middle", "GB/s");
    let colors = [OURS, COLORS[0], COLORS[3], COLORS[1]];
    let names: Vec<(&str, &str)> =
        colors.iter().copied().zip(rows.sizes.keys().map(String::as_str)).collect();
    legend(&mut body, [LEFT + 40.0, 24.0], &names);
    for (points, color) in rows.sizes.values().zip(colors) {
        let list: Vec<String> =
            points.iter().map(|(elements, gbps)| format!("{:.1},{:.1}", x(*elements), y(*gbps))).collect();
        body.push_str(&format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>\n",
            list.join(" ")
        ));
        points.iter().for_each(|(elements, gbps)| circle(&mut body, [x(*elements), y(*gbps)], color));
    }
    svg(x(2f64.powi(28)) + 30.0, BOTTOM + 30.0, &body)
}

/// Microseconds on the host, ours and the peers'.
pub(crate) fn host(rows: &Rows) -> String {
    const LEFT: f64 = 220.0;
    const ROW: f64 = 22.0;
    let ours = rows.host.iter().map(|ours| (ours.name.clone(), ours.us, OURS));
    let peers = rows.peers_host.iter().map(|(case, peer, us)| (format!("{case} ({peer})"), *us, COLORS[0]));
    let bars: Vec<_> = ours.chain(peers).collect();
    let most = bars.iter().map(|bar| bar.1).fold(1.0, f64::max);
    let mut body = String::new();
    let mut y = 10.0;
    for (name, us, color) in &bars {
        text(&mut body, [LEFT - 8.0, y + 13.0], "end", name);
        rect(&mut body, [LEFT, y + 2.0, us / most * 400.0, ROW - 6.0], color);
        text(&mut body, [LEFT + us / most * 400.0 + 6.0, y + 13.0], "start", &format!("{us:.1} µs"));
        y += ROW;
    }
    svg(LEFT + 480.0, y + 10.0, &body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Ours;

    #[test]
    fn plots_are_well_formed_and_show_each_row() {
        let mut rows = Rows::default();
        rows.bandwidth.push(Ours { name: "add".into(), runs: vec![1.0], us: 5.0, reach: Some(0.97) });
        rows.host.push(Ours { name: "tanh".into(), runs: vec![1.1], us: 3.0, reach: None });
        rows.sizes.insert("neg".into(), vec![(1024.0, 3.0), (4096.0, 9.0)]);
        for (svg, name) in [(bandwidth(&rows), "add"), (host(&rows), "tanh"), (sizes(&rows), "neg")] {
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains(name), "{svg}");
            assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
        }
    }
}
