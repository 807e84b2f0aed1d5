//! Random programs whose maps read neighbours of what the maps before wrote: stencils in loops, of one to three dimensions, which
//! several ranks compute with halos.

use std::fmt::Write;

use super::rng::Rng;

/// Elements at each end of a dimension that no map writes.
const MARGIN: i64 = 2;

/// Text of the program of a seed. Its symbol is `N`.
pub(super) fn halos(seed: u64) -> String {
    let mut rng = Rng::new(seed ^ 0x4a10);
    let dimensions = [1, 1, 2, 2, 3][rng.below(5)];
    let shape = vec![format!("N + {}", 2 * MARGIN); dimensions].join(", ");
    let mut text = String::from("sdfg halos {\n  symbol N: i64\n");
    let transient = if rng.chance(20) { "transient " } else { "" };
    for (name, kind) in [("A", ""), ("B", transient), ("C", ""), ("D", "")] {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "  {kind}array {name}: f64[{shape}]");
    }
    if !transient.is_empty() {
        text.push_str("  state copied {\n    access A\n    access B\n    A -> B\n  }\n");
    }
    let ranges = ranges(&mut rng, dimensions);
    for number in 0..1 + rng.below(2) {
        let _ = writeln!(text, "  for l{number}: t{number} = 0:{} {{", 1 + rng.below(3));
        // Each step reads what the step before wrote, and sometimes two maps read it.
        let names = [["A", "B"], ["B", "A"], ["A", "C"], ["C", "B"]];
        // A single step reads what never changes, which is copied before the loop.
        let steps = if rng.chance(15) { 1 } else { 2 + rng.below(2) };
        for step in 0..steps {
            let [from, to] = if step < 2 { names[step] } else { names[2 + rng.below(2)] };
            let label = format!("{number}_{step}");
            let _ = writeln!(text, "    state s{label} {{\n      access {from}\n      access {to}");
            let coefficient = rng.chance(25);
            if coefficient {
                let _ = writeln!(text, "      access D");
            }
            // Maps over the same elements cut arrays alike, so that copies refresh halos; some leave a part out.
            let ranges = if rng.chance(10) { self::ranges(&mut rng, dimensions) } else { ranges.clone() };
            stencil(&mut text, &mut rng, &ranges, (from, to), coefficient);
            text.push_str("    }\n");
        }
        text.push_str("  }\n");
    }
    text + "}\n"
}

/// Ranges of a map: the elements that are not in the margin, or most of them.
fn ranges(rng: &mut Rng, dimensions: usize) -> Vec<&'static str> {
    (0..dimensions).map(|_| ["2:N + 2", "2:N + 2", "2:N + 2", "2:N + 1", "3:N + 2"][rng.below(5)]).collect()
}

/// A map with these ranges, which reads some neighbours.
fn stencil(text: &mut String, rng: &mut Rng, ranges: &[&str], (from, to): (&str, &str), coefficient: bool) {
    let dimensions = ranges.len();
    let params = &["i", "j", "k"][..dimensions];
    let ranges: Vec<String> =
        params.iter().zip(ranges).map(|(param, range)| format!("{param} = {range}")).collect();
    let reach = 1 + rng.below(MARGIN as usize) as i64;
    // Stars, boxes, and neighbours at one end alone.
    let form = rng.below(4);
    let mut offsets = Vec::new();
    for _ in 0..2 + rng.below(3) {
        let mut offset = vec![0; dimensions];
        let distance = |rng: &mut Rng| match form {
            0 => -reach,
            1 => reach,
            _ => rng.below(2 * reach as usize + 1) as i64 - reach,
        };
        if form == 3 {
            offset.iter_mut().for_each(|at| *at = distance(rng));
        } else {
            offset[rng.below(dimensions)] = distance(rng);
        }
        offsets.push(offset);
    }
    let mut names: Vec<String> = (0..offsets.len()).map(|at| format!("v{at}")).collect();
    let mut value = names.iter().map(|name| format!("0.25 * {name}")).collect::<Vec<_>>().join(" + ");
    let own = params.join(", ");
    let mut edges = String::new();
    for (name, offset) in names.iter().zip(&offsets) {
        let at = |(param, offset): (&&str, &i64)| match offset {
            0 => (*param).to_owned(),
            1.. => format!("{param} + {offset}"),
            _ => format!("{param} - {}", -offset),
        };
        let index: Vec<String> = params.iter().zip(offset).map(at).collect();
        let _ = writeln!(edges, "        m.p -> f.{name}: {from}[{}]", index.join(", "));
    }
    if coefficient {
        names.push("c".to_owned());
        value.push_str(" + 0.5 * c");
        let _ = writeln!(edges, "        m.c -> f.c: D[{own}]");
    }
    let _ = writeln!(
        text,
        "      map m [{}] {{
        tasklet f ({}) -> (y) {{ y = {value} }}
{edges}        f.y -> m.q: {to}[{own}]
      }}
      {from} -> m.p
      m.q -> {to}",
        ranges.join(", "),
        names.join(", "),
    );
    if coefficient {
        text.push_str("      D -> m.c\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check::interprets;
    use crate::random::rewrites::check_distributed;

    #[test]
    fn programs_are_valid_and_run() {
        for seed in 0..40 {
            let text = halos(seed);
            interprets(seed, &text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        }
    }

    #[test]
    fn interiors_are_computed_while_halos_travel() {
        let mut overlapped = 0;
        for seed in (2..66).step_by(4) {
            let counts = check_distributed(seed).unwrap_or_else(|failure| panic!("{failure}"));
            overlapped += u64::from(counts.get("HaloOverlap").is_some_and(|outcomes| outcomes.applied > 0));
        }
        // Of 16 programs. Where maps leave parts out, or loops change nothing that they read, copies refresh no halos in a state of a map.
        assert!(overlapped >= 8, "{overlapped} programs");
    }
}
