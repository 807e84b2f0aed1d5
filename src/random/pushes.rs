//! Random programs whose maps push to streams, which become device queues. The order of the elements is not determined, so
//! programs count and combine them.

use sdfg_codegen::lower::Target;

use super::generate::{Generator, program, with_promises_kept};

/// At least as many elements as two maps push.
const MOST: &str = "4 * N * (M + 60)";

/// Text of the program of a seed.
pub(super) fn pushing(seed: u64) -> String {
    let text = program(seed, |generator| {
        for _ in 0..1 + generator.rng.below(3) {
            generator.pushed(2);
            if generator.rng.chance(30) {
                generator.step(0);
            }
        }
    });
    with_promises_kept(text, &Target::cuda())
}

/// The queues of a stream.
struct Queues {
    /// The stream.
    name: String,
    /// Its shape, and the index that an iteration chooses.
    shape: &'static str,
    index: &'static str,
    capacity: String,
}

impl Generator {
    /// Maps that push, in a loop or not; all elements are taken.
    fn pushed(&mut self, nesting: usize) {
        if nesting > 0 && self.rng.chance(30) {
            let (loop_label, counter) = (self.label("again"), self.label("round"));
            self.open(&format!("for {loop_label}: {counter} = 0:3"));
            self.pushed(nesting - 1);
            self.close();
            return;
        }
        let (shape, index) = self.rng.pick(&[("", ""), ("", ""), ("[2]", "[(i + j) % 2]"), ("[2]", "[1]")]);
        let name = self.label("queue");
        let is_tight = shape.is_empty() && self.rng.chance(25);
        let capacity = match (is_tight, self.rng.chance(30)) {
            (true, _) => " capacity(N * M)".to_owned(),
            (false, true) => format!(" capacity({MOST})"),
            (false, false) => String::new(),
        };
        let queues = Queues { name, shape, index, capacity };
        let Queues { name, shape, capacity, .. } = &queues;
        self.declare(&format!("transient stream {name}: i64{shape}{capacity}"));
        for _ in 0..if is_tight { 1 } else { 1 + self.rng.below(2) } {
            match self.rng.below(3) {
                _ if is_tight => self.pushing_map(&queues, "s = i64(c)"),
                0 => self.pushing_rows(&queues),
                _ => {
                    let code = self.pushing_code(!queues.capacity.is_empty());
                    self.pushing_map(&queues, code);
                }
            }
        }
        let parts: &[&str] = if queues.shape.is_empty() { &[""] } else { &["[0]", "[1]"] };
        for part in parts {
            let takes_some = self.rng.chance(30);
            if takes_some {
                self.take_to_array(&queues.name, part, " atmost(3)");
            }
            match self.rng.below(if parts.len() > 1 { 10 } else { 5 }) {
                4 => self.take_in_rounds(&queues.name, part, !takes_some),
                0 => self.take_by_consume_scope(&queues.name, part),
                1 => self.take_to_stream(&queues.name, part),
                _ => self.take_to_array(&queues.name, part, " dynamic"),
            }
        }
    }

    fn pushing_code(&mut self, has_capacity: bool) -> &'static str {
        let codes = [
            "s = i64(c)",
            "if i64(c) % 3 != 1:\n    s = i64(c)",
            "s = i64(c) + i\ns = j",
            "if j > 1:\n    s = i64(c)\n    s = 7\nelse:\n    s = i",
            "for k in range(3):\n    if k != j:\n        s = i64(c) + k",
        ];
        self.rng.pick(&codes[..if has_capacity { 5 } else { 4 }])
    }

    /// A map over `C` that pushes, as one map or as two, and may combine with elements, too.
    fn pushing_map(&mut self, queues: &Queues, code: &str) {
        let (queue, index) = (&queues.name, queues.index);
        let combines = self.rng.chance(30);
        let (outputs, ty) = (if combines { "s, h" } else { "s" }, self.others);
        let rows = self.rng.pick(&["0:N", "N - 1:-1:-1", "1:N", "0:N:2"]);
        let (state, map) = (self.label("s"), self.label("m"));
        let schedule = self.rng.pick(&["", " schedule(sequential)", " schedule(cpu_multicore)"]);
        let is_nested = self.rng.chance(50);
        self.open(&format!("state {state}"));
        self.line("access src = C");
        self.line(&format!("access {queue}"));
        let is_tight = queues.capacity.ends_with("(N * M)");
        // More iterations than a warp has threads.
        let columns = if is_nested && !is_tight { self.rng.pick(&["0:M", "i:M", "0:40"]) } else { "0:M" };
        if is_nested {
            self.open(&format!("map {map} [i = {rows}]{schedule}"));
            self.open(&format!("map inner [j = {columns}]"));
        } else {
            self.open(&format!("map {map} [i = {rows}, j = {columns}]{schedule}"));
        }
        let around = if is_nested { "inner".to_owned() } else { map.clone() };
        self.open(&format!("tasklet t (c) -> ({outputs})"));
        for line in code.lines() {
            self.line(line);
        }
        if combines {
            self.line(&format!("h = {ty}(1)"));
        }
        self.close();
        self.line(&format!("{around}.C -> t.c: C[i, j % M]"));
        self.line(&format!("t.s -> {around}.queue: {queue}{index} dynamic"));
        if combines {
            self.line(&format!("t.h -> {around}.hist: hist[(i + j) % 8] wcr(sum)"));
        }
        self.close();
        if is_nested {
            self.line(&format!("{map}.C -> inner.C"));
            self.line(&format!("inner.queue -> {map}.queue"));
            if combines {
                self.line(&format!("inner.hist -> {map}.hist"));
            }
            self.close();
        }
        self.line(&format!("src -> {map}.C"));
        self.line(&format!("{map}.queue -> {queue}"));
        if combines {
            self.line("access hist");
            self.line(&format!("{map}.hist -> hist"));
        }
        self.close();
    }

    /// A map whose iterations fill a row of their own and push it as a whole.
    fn pushing_rows(&mut self, queues: &Queues) {
        let index = if queues.index.is_empty() { "" } else { "[i % 2]" };
        let part = self.rng.pick(&["0:5", "4:-1:-1", "0:5:2"]);
        self.write(
            &[("queue", &queues.name), ("index", index), ("part", part)],
            "
            transient array $row: i64[5]
            state $s {
              access src = C
              access $queue
              map $m [i = 0:N] {
                access $row
                map inner [j = 0:5] {
                  tasklet t (c) -> (o) { o = i64(c) + j }
                  inner.C -> t.c: C[i, j % M]
                  t.o -> inner.row: $row[j]
                }
                $m.C -> inner.C
                inner.row -> $row
                $row -> $m.queue: $row[$part] -> $queue$index
              }
              src -> $m.C
              $m.queue -> $queue
            }",
        );
    }

    /// A copy to an array, and a map over the elements that arrived.
    fn take_to_array(&mut self, queue: &str, part: &str, volume: &str) {
        self.write(
            &[("queue", queue), ("part", part), ("volume", volume), ("most", MOST)],
            "
            transient array $taken: i64[2 * ($most)]
            state $s1 {}
            -> $s2 with ($before = len($queue$part))
            state $s2 {
              access $queue
              access $taken
              $queue -> $taken: $queue$part -> $taken[0:2 * ($most)]$volume
            }
            -> $s3 with ($number = $before - len($queue$part))
            state $s3 {
              access $taken
              access hist
              access total
              map $m [k = 0:$number] {
                tasklet t (x) -> (h, s) { h[x % 8] = $TY(1); s = x }
                $m.taken -> t.x: $taken[k]
                t.h -> $m.hist: hist[0:8] wcr(sum) volume(1)
                t.s -> $m.total: total[0] wcr(sum)
              }
              $taken -> $m.taken
              $m.hist -> hist
              $m.total -> total
            }",
        );
    }

    fn take_by_consume_scope(&mut self, queue: &str, part: &str) {
        self.write(
            &[("queue", queue), ("part", part)],
            "
            state $s {
              access $queue
              access hist
              access total
              consume $c [p = 0:2] {
                tasklet u (x) -> (h, s) { h[x % 8] = $TY(1); s = x }
                $c.stream -> u.x: $queue$part
                u.h -> $c.hist: hist[0:8] wcr(sum) volume(1)
                u.s -> $c.total: total[0] wcr(sum)
              }
              $queue -> $c.stream
              $c.hist -> hist
              $c.total -> total
            }",
        );
    }

    /// A copy to a stream of a consume scope on a device. If it has the same elements in any order, some push others to it.
    fn take_in_rounds(&mut self, queue: &str, part: &str, is_determined: bool) {
        let (work, again) = (self.label("work"), is_determined && self.rng.chance(70));
        let ty = self.others;
        self.declare(&format!("transient stream {work}: i64 storage(gpu_global)"));
        let (more, code) = if again {
            (
                ", more",
                "\n                  if x > 5 and x < 1000:\n                      more = x - 3\n                      more = x % 4",
            )
        } else {
            ("", "")
        };
        let edges = if again { "u.more -> $c.more: $work dynamic" } else { "" };
        let after = if again { "access $again = $work\n              $c.more -> $again" } else { "" };
        let text = format!(
            "
            transient array $bins: {ty}[8] storage(gpu_global)
            transient array $all: i64[1] storage(gpu_global)
            state $s {{
              access $queue
              access $work
              access in_h = hist
              access in_t = total
              access old_h = $bins
              access old_t = $all
              access new_h = $bins
              access new_t = $all
              access hist
              access total
              consume $c [p = 0:3] schedule(gpu_grid) {{
                tasklet u (x) -> (h, s{more}) {{
                  h[x % 8] = {ty}(1)
                  s = x{code}
                }}
                $c.stream -> u.x: $work
                u.h -> $c.hist: $bins[0:8] wcr(sum) volume(1)
                u.s -> $c.total: $all[0] wcr(sum)
                {edges}
              }}
              $queue -> $work: $queue$part -> $work dynamic
              in_h -> old_h
              in_t -> old_t
              order old_h -> $c
              order old_t -> $c
              $work -> $c.stream
              $c.hist -> new_h
              $c.total -> new_t
              new_h -> hist
              new_t -> total
              {after}
            }}"
        );
        self.write(&[("queue", queue), ("part", part), ("work", &work)], &text);
    }

    /// A copy to another stream, from which an array gets the elements.
    fn take_to_stream(&mut self, queue: &str, part: &str) {
        let other = self.label("other");
        self.declare(&format!("transient stream {other}: i64"));
        self.write(
            &[("queue", queue), ("part", part), ("other", &other)],
            "
            state $s {
              access $queue
              access $other
              $queue -> $other: $queue$part -> $other dynamic
            }",
        );
        self.take_to_array(&other, "", " dynamic");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::check::interprets;

    /// Programs are valid and run.
    #[test]
    fn programs_that_push_run() {
        let failures: Vec<String> =
            (0..60).filter_map(|seed| interprets(seed, &pushing(seed)).err()).collect();
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
}
