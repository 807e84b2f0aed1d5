//! Steps of random programs at the corners of memory: copies within one container, small memory that threads share, writes
//! that are left out, sizes that the program computes.

use sdfg::dtype::ScalarType;

use super::expression::condition;
use super::generate::Generator;

impl Generator {
    /// A copy from one part of a container to another, which may overlap.
    pub(super) fn copy_in_place(&mut self) {
        let state = self.label("s");
        let memlet = self.rng.pick(&[
            "C[0:N - 1, 0:M] -> C[1:N, 0:M]",
            "C[1:N, 0:M] -> C[0:N - 1, 0:M]",
            "C[N - 1:-1:-1, 0:M] -> C[0:N, 0:M]",
            "C[0:N, M - 1:-1:-1] -> C[0:N, 0:M]",
            "C[0, 0:min(N, M)] -> C[0:min(N, M), 0]",
            "C[0:N:2, 0:M] -> C[0:N:2, M - 1:-1:-1]",
        ]);
        let resolution = self.rng.pick(&["", "", " wcr(max)", " wcr(min)"]);
        self.open(&format!("state {state}"));
        self.line("access x = C");
        self.line("access y = C");
        self.line(&format!("x -> y: {memlet}{resolution}"));
        self.close();
    }

    /// A small transient that all threads of a map read.
    pub(super) fn shared_memory(&mut self) {
        let (fill, state, map) = (self.label("s"), self.label("s"), self.label("m"));
        let schedule = self.schedule();
        let ty = self.others;
        self.open(&format!("state {fill}"));
        self.line("access total");
        self.line("access small");
        self.line("tasklet fill (n) -> (o) { o[0] = n; o[1] = 3; o[2] = n - 5 }");
        self.line("total -> fill.n: total[0]");
        self.line("fill.o -> small");
        self.close();
        self.open(&format!("state {state}"));
        self.line("access small");
        self.line("access src = W");
        self.line("access dst = W");
        self.open(&format!("map {map} [j = 0:M]{schedule}"));
        self.line(&format!("tasklet t (w, s) -> (o) {{ o = w - {ty}(s) }}"));
        self.line(&format!("{map}.W -> t.w: W[j]"));
        self.line(&format!("{map}.small -> t.s: small[j % 3]"));
        self.line(&format!("t.o -> {map}.W: W[j]"));
        self.close();
        self.line(&format!("src -> {map}.W"));
        self.line(&format!("small -> {map}.small"));
        self.line(&format!("{map}.W -> dst"));
        self.close();
    }

    /// Combinations that a condition may leave out, also all of them.
    pub(super) fn conditional(&mut self) {
        let (state, map) = (self.label("s"), self.label("m"));
        let schedule = self.schedule();
        let ty = self.others;
        let resolutions: &[&str] = if ty.is_float() {
            &["min", "max", "and", "or", "xor"]
        } else {
            &["sum", "min", "max", "and", "or", "xor", "bitand", "bitor", "bitxor"]
        };
        let resolution = self.rng.pick(resolutions);
        let target = self.rng.pick(&["hist[0]", "hist[(i + 2 * j) % 8]", "W[j]", "W[0]"]);
        let name = target.split('[').next().unwrap_or(target);
        let order = self.rng.pick(&["i = 0:N, j = 0:M", "j = 0:M, i = j:N", "i = N - 1:-1:-1, j = 0:M"]);
        let names = vec![("c".to_owned(), ty), ("i".to_owned(), ScalarType::I64)];
        let condition = condition(&mut self.rng, ty, &names);
        self.open(&format!("state {state}"));
        self.line("access src = C");
        self.line(&format!("access dst = {name}"));
        self.open(&format!("map {map} [{order}]{schedule}"));
        self.open("tasklet t (c) -> (o)");
        self.line(&format!("if {condition}:"));
        self.line("  o = c");
        self.close();
        self.line(&format!("{map}.C -> t.c: C[i, j]"));
        self.line(&format!("t.o -> {map}.out: {target} wcr({resolution}) atmost(1)"));
        self.close();
        self.line(&format!("src -> {map}.C"));
        self.line(&format!("{map}.out -> dst"));
        self.close();
    }

    /// A transient whose size is an assigned symbol.
    pub(super) fn computed_size(&mut self) {
        let (first, second) = (self.label("s"), self.label("s"));
        self.open(&format!("state {first}"));
        self.close();
        self.line(&format!("-> {second} with (size = M // 2 + 1)"));
        self.open(&format!("state {second}"));
        self.line("access x = W");
        self.line("access late");
        self.line("access y = W");
        self.line("x -> late: W[0:size] -> late[0:size]");
        self.line("late -> y: late[size - 1:-1:-1] -> W[M - size:M]");
        self.close();
    }
}
