//! Random programs with what transformations of loops, states and calls look for: time loops over stencils, integers that
//! decide bounds, and calls of several blocks.

use std::fmt::Write;

use super::rng::Rng;

/// Vectors of `N + 4` elements, arguments.
const VECTORS: [&str; 3] = ["A", "B", "C"];

/// Text of the program of a seed. Its symbol is `N`.
pub(super) fn repeated(seed: u64) -> String {
    let mut rng = Rng::new(seed ^ 0x57e9);
    let mut text = String::from("sdfg repeated {\n  symbol N: i64\n");
    for name in VECTORS {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "  array {name}: f64[N + 4]");
    }
    text.push_str("  transient scalar n: i64\n  transient array R: i64[3]\n");
    let _ = writeln!(text, "  state first {{\n    access R\n    access n");
    for at in 0..3 {
        let _ = writeln!(
            text,
            "    tasklet r{at} () -> (y) {{ y = {} }}\n    r{at}.y -> R: R[{at}]",
            rng.below(4)
        );
    }
    text.push_str("    tasklet z () -> (y) { y = 1 }\n    z.y -> n\n  }\n");
    for number in 0..1 + rng.below(3) {
        let part = match rng.below(3) {
            0 => sweeps(&mut rng, number),
            1 => integer(&mut rng, number),
            _ => call(&mut rng, number),
        };
        text.push_str(&part);
    }
    text + "}\n"
}

/// Two different vectors.
fn pair(rng: &mut Rng) -> [&'static str; 2] {
    let first = rng.below(3);
    [VECTORS[first], VECTORS[(first + 1 + rng.below(2)) % 3]]
}

/// A loop over states with a stencil each.
fn sweeps(rng: &mut Rng, number: usize) -> String {
    let mut text = format!("  for l{number}: t{number} = {}:{} {{\n", rng.below(2), 2 + rng.below(3));
    for at in 0..1 + rng.below(3) {
        let [from, to] = pair(rng);
        let range = ["2:N + 2", "2:N + 1", "3:N + 2", "2:min(N + 2, 5)", "2:N + 2 - t"][rng.below(5)];
        let range = range.replace("- t", &format!("- t{number}"));
        let offsets = [rng.below(5), rng.below(5)];
        let second = if rng.chance(80) { format!("i + {} - 2", offsets[1]) } else { "N + 3 - i".to_owned() };
        let _ = writeln!(
            text,
            "    state s{number}_{at} {{
      access {from}
      access X = {to}
      map m [i = {range}] {{
        tasklet f (x, z) -> (y) {{ y = x - 0.5 * z }}
        m.p -> f.x: {from}[i + {} - 2]
        m.p -> f.z: {from}[{second}]
        f.y -> m.q: {to}[i]
      }}
      {from} -> m.p
      m.q -> X
    }}",
            offsets[0]
        );
    }
    text + "  }\n"
}

/// An integer and what it decides.
fn integer(rng: &mut Rng, number: usize) -> String {
    let value = ["x", "x + 1", "2 * x - 1", "x // 2", "x % 3", "x * x"][rng.below(6)];
    let source = if rng.chance(60) {
        format!("access R\n    R -> w.x: R[{}]", rng.below(3))
    } else {
        "access old = n\n    old -> w.x".to_owned()
    };
    let mut text = format!(
        "  state w{number} {{
    access n
    tasklet w (x) -> (y) {{ y = {value} }}
    {source}
    w.y -> n
"
    );
    let [from, to] = pair(rng);
    if rng.chance(40) {
        let _ = writeln!(
            text,
            "    access {from}\n    access X = {to}\n    tasklet v (x, k) -> (y) {{ y = x + 0.5 * k }}
    {from} -> v.x: {from}[0]\n    n -> v.k\n    v.y -> X: {to}[1]"
        );
    }
    text.push_str("  }\n");
    let inner = format!(
        "    state b{number} {{
      access {from}
      access X = {to}
      access n
      tasklet v (x, k) -> (y) {{ y = x - k }}
      {from} -> v.x: {from}[INDEX]
      n -> v.k
      v.y -> X: {to}[INDEX]
    }}
"
    );
    let _ = match rng.below(3) {
        0 => write!(
            text,
            "  for l{number}: i{number} = 0:min(n, 4) {{\n{}  }}\n",
            inner.replace("INDEX", &format!("i{number}"))
        ),
        1 => write!(text, "  if c{number}: n > 1 {{\n{}  }}\n", inner.replace("INDEX", "1")),
        _ => write!(
            text,
            "  state b{number} {{
    access X = {to}
    access n
    map m [i = 0:min(k, 4)] {{
      tasklet v () -> (y) {{ y = i + k }}
      v.y -> m.q: {to}[i]
    }}
    n -> m@k: n
    m.q -> X
  }}
"
        ),
    };
    text
}

/// A call of several blocks over a part of a vector.
fn call(rng: &mut Rng, number: usize) -> String {
    let [of, other] = pair(rng);
    let begin = rng.below(2);
    let step = |label: &str, index: &str| {
        format!(
            "      state {label} {{
        access x
        access X = x
        tasklet f (a) -> (y) {{ y = 0.5 * a + 1 }}
        x -> f.a: x[{index}]
        f.y -> X: x[{index}]
      }}
"
        )
    };
    let mut blocks = String::new();
    for at in 0..1 + rng.below(3) {
        let label = format!("s{at}");
        let _ = match rng.below(4) {
            0 => write!(blocks, "      for l{at}: i = 0:3 {{\n{}      }}\n", step(&label, "i")),
            1 => write!(
                blocks,
                "      if b{at}: x[{}] > K {{\n{}      }}\n",
                rng.below(3),
                step(&label, "K % 3")
            ),
            2 => {
                let next = if rng.chance(50) { " if x[2] > 0" } else { " with (k = K + 1)" };
                write!(blocks, "{}      -> e{at}{next}\n{}", step(&label, "1"), step(&format!("e{at}"), "2"))
            }
            _ => write!(blocks, "{}", step(&label, "0")),
        };
    }
    let returns = if rng.chance(20) { "      return r\n" } else { "" };
    let beside = if rng.chance(30) {
        format!("    access Y = {other}\n    tasklet u () -> (y) {{ y = 3 }}\n    u.y -> Y: {other}[2]\n")
    } else {
        String::new()
    };
    format!(
        "  for o{number}: K = 0:2 {{
    state c{number} {{
    access {of}
    access X = {of}
    nested call (x) -> (x) with (K = K) sdfg inner {{
      symbol K: i64
      array x: f64[3]
{blocks}{returns}    }}
    {of} -> call.x: {of}[{begin}:{begin} + 3]
    call.x -> X: {of}[{begin}:{begin} + 3]
{beside}    }}
  }}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check::interprets;

    #[test]
    fn programs_are_valid_and_run() {
        for seed in 0..40 {
            let text = repeated(seed);
            interprets(seed, &text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        }
    }
}
