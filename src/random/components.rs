//! Random states with independent parts, which may run side by side.

use super::expression::expression;
use super::generate::Generator;

impl Generator {
    /// Two to five parts, each of which writes a container that no other uses.
    pub(super) fn components(&mut self) {
        let names = |name: &str| vec![(name.to_owned(), self.others)];
        let (w, c) = (names("w"), names("c"));
        let first = expression(&mut self.rng, self.others, &w, 2);
        let second = expression(&mut self.rng, self.others, &c, 2);
        let parts = [
            "
            access src = W
            access dst = W
            map $m [j = 0:M]$SCHEDULE { tasklet $t (w) -> (o) { o = $first }; $m.W -> $t.w: W[j]; $t.o -> $m.W: W[j] }
            src -> $m.W
            $m.W -> dst",
            "
            access src2 = C
            access dst2 = C
            map $m [i = 0:N, j = M - 1:-1:-1]$SCHEDULE { tasklet $t (c) -> (o) { o = $second }; $m.C -> $t.c: C[i, j]; $t.o -> $m.C: C[i, j] }
            src2 -> $m.C
            $m.C -> dst2",
            "
            access A
            access V
            A -> V: A[N - 1:-1:-1, 0] -> V[0:N]",
            "
            access alpha
            access hist
            map $m [k = 0:8:3]$SCHEDULE { tasklet $t (x) -> (o) { o = x + $TY(k) }; $m.alpha -> $t.x: alpha; $t.o -> $m.hist: hist[k] }
            alpha -> $m.alpha
            $m.hist -> hist",
            "
            access old = total
            access new = total
            tasklet $t (x) -> (o) { o = x // 2 + N }
            old -> $t.x: total[0]
            $t.o -> new: total[0]",
        ];
        let count = 2 + self.rng.below(4);
        let state = self.label("s");
        self.open(&format!("state {state}"));
        let from = self.rng.below(parts.len());
        for part in 0..count {
            let text = parts[(from + part) % parts.len()];
            self.write(&[("first", &first), ("second", &second)], text);
        }
        self.close();
    }
}
