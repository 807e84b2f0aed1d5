//! Random loops that repeat a copy: `CopyHoisting`.

use super::rng::Rng;
use super::seldom::Program;

/// Loops, some without an iteration; `$B` is the body.
const LOOPS: [&str; 7] = [
    "for l#: t# = 0:3 { $B }",
    "for l#: t# = 0:N { $B }",
    "for l#: t# = 0:N { $B }",
    "for l#: t# = 2:N { $B }",
    "for l#: t# = N - 1:0:-1 { $B }",
    "do l#: t# = 0; t# = t# + 1 { $B } while t# < N",
    "for o#: u# = 0:2 { for l#: t# = u#:N - 1 { $B } }",
];

/// The copied elements.
const PARTS: [&str; 6] = [
    "V -> L",
    "V -> L",
    "V -> L: V[0:N] -> L#[2:N + 2]",
    "V -> L: V[N // 2:N + 4:2] -> L#[N // 2:N + 4:2]",
    "V -> L: V[1] -> L#[0]",
    "V -> L: V[t#] -> L#[t#]",
];

impl Program {
    /// A loop that copies a vector and reads the copy: mostly, every iteration copies the same before it reads.
    pub(super) fn repeated_copy(&mut self, rng: &mut Rng) {
        let n = self.number;
        self.container(&format!("transient array L{n}: f64[N + 4]"));
        let mixed = |label: &str, from: &str, to: &str| {
            format!(
                "state {label} {{ access F = {from}; access T = {to}; access X = {to}; map m [i = 0:N + 4] {{ \
                 tasklet t (x, z) -> (y) {{ y = 0.5 * x + 0.25 * z }}; m.F -> t.x: {from}[i]; m.T -> t.z: {to}[i]; \
                 t.y -> m.X: {to}[i] }}; F -> m.F; T -> m.T; m.X -> X }}"
            )
        };
        let wcr = if rng.chance(10) { " wcr(max)" } else { "" };
        let mut part = rng.pick(&PARTS).to_owned();
        if !wcr.is_empty() {
            part = format!("V -> L: V[0:N] -> L#[0:N]{wcr}");
        }
        let mut copy = format!("state c# {{ access V; access L = L#; {part} }}");
        if rng.chance(10) {
            copy = format!("if b#: t# != 1 {{ {copy} }}");
        }
        let mut body = Vec::new();
        if rng.chance(10) {
            body.push("if a#: t# > 1 { break x# }".to_owned());
        }
        if rng.chance(15) {
            body.push(mixed("before#", "L#", "W"));
        }
        body.push(copy);
        body.push(mixed("use#", "L#", "W"));
        for (label, target) in [("source#", "V"), ("target#", "L#")] {
            if rng.chance(12) {
                body.push(mixed(label, "W", target));
            }
        }
        let repeated = rng.pick(&LOOPS).replace("$B", &format!("\n{}\n", body.join("\n")));
        self.add(&format!(
            "state f# {{ access W; access L = L#; W -> L }}\n{repeated}\n{}",
            mixed("end#", "L#", "V")
        ));
    }
}
