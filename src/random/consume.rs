//! Random consume scopes: with a condition, with several elements at a time, or draining.

use super::generate::Generator;

impl Generator {
    /// A scope that ends after a number of elements, all of which are equal.
    pub(super) fn consume_until(&mut self) {
        // A queue of one element must be emptied, because its producer would wait for ever.
        let (capacity, count) =
            self.rng.pick(&[(" capacity(1)", "M"), ("", "M"), ("", "M // 2"), ("", "min(N, M)"), ("", "0")]);
        let chunk = self.rng.pick(&["", "", " chunk(1)"]);
        self.write(
            &[("capacity", capacity), ("count", count), ("chunk", chunk)],
            "
            transient stream $queue: i64$capacity
            transient scalar $taken: i64
            state $clear {
              access $taken
              tasklet zero () -> (o) { o = 0 }
              zero.o -> $taken
            }
            state $work {
              access W
              access $queue
              access source = $queue
              access $taken
              map $feed [j = 0:M]$SCHEDULE {
                tasklet one (w) -> (s) { s = 1 }
                $feed.W -> one.w: W[j]
                one.s -> $feed.queue: $queue
              }
              W -> $feed.W
              $feed.queue -> $queue
              consume $c [p = 0:1] condition($taken >= $count)$chunk$SCHEDULE {
                tasklet add (x) -> (o) { o = x }
                $c.stream -> add.x: $queue
                add.o -> $c.taken: $taken wcr(sum)
              }
              source -> $c.stream
              $c.taken -> $taken
            }
            state $tell {
              access $taken
              access total
              tasklet t (x) -> (o) { o = 3 * x }
              $taken -> t.x
              t.o -> total: total[0] wcr(sum)
            }",
        );
    }

    /// Elements that a tasklet takes several at a time, and a loop while there are more.
    pub(super) fn batches(&mut self) {
        let (volume, value) = self.rng.pick(&[
            ("volume(M)", "v[0] - v[M - 1]"),
            ("atmost(3)", "v[0]"),
            ("volume(1)", "v"),
            ("dynamic", "v[0] + v[M // 2]"),
        ]);
        self.write(
            &[("volume", volume), ("value", value)],
            "
            transient stream $queue: $TY
            state $s1 {
              access C
              access $queue
              C -> $queue: C[0:N, 0:M] -> $queue
            }
            state $s2 {
              access $queue
              access W
              tasklet t (v) -> (o) { o = $value }
              $queue -> t.v: $queue $volume
              t.o -> W: W[M - 1]
            }
            while $more: len($queue) > 0 {
              state $s3 {
                access $queue
                access hist
                tasklet t (v) -> (o) { o = v }
                $queue -> t.v: $queue
                t.o -> hist: hist[6] wcr(max)
              }
            }",
        );
    }
}
