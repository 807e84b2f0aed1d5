//! Random steps over streams. Results do not depend on the order of unordered pushes: elements in arbitrary
//! order are combined, and ordered elements pass through order-preserving chains.

use super::generate::Generator;

impl Generator {
    /// Elements that a map pushes, some of them, are consumed and combined; an element may beget others.
    pub(super) fn filter_and_consume(&mut self) {
        let (state, map, consume) = (self.label("s"), self.label("m"), self.label("c"));
        let (queue, again) = (self.label("queue"), self.label("queue"));
        let (schedule, inside) = (self.schedule(), self.schedule());
        let ty = self.others;
        let begets = self.rng.chance(40);
        // A stream of the caller is consumed too.
        let lives = if self.rng.chance(30) { "" } else { "transient " };
        self.declare(&format!("{lives}stream {queue}: i64"));
        self.open(&format!("state {state}"));
        self.line("access src = W");
        self.line(&format!("access {queue}"));
        if begets {
            self.line(&format!("access {again} = {queue}"));
        }
        self.line("access hist");
        self.line("access total");
        self.open(&format!("map {map} [j = 0:M]{schedule}"));
        let (twice, condition) =
            (self.rng.chance(30), self.rng.pick(&["True", "w > 0", "i64(w) % 3 != 1", "j > 2"]));
        self.open("tasklet t (w) -> (s)");
        self.line(&format!("if {condition}:"));
        self.line("    s = i64(w)");
        if twice {
            self.line("    s = j");
        }
        self.close();
        self.line(&format!("{map}.W -> t.w: W[j]"));
        self.line(&format!("t.s -> {map}.{queue}: {queue} dynamic"));
        self.close();
        let elements = self.rng.pick(&["1", "3", "N"]);
        let chunk = self.rng.pick(&["", " chunk(4)"]);
        self.open(&format!("consume {consume} [p = 0:{elements}]{chunk}{inside}"));
        let more = if begets { ", more" } else { "" };
        self.open(&format!("tasklet u (x) -> (h, t{more})"));
        self.line(&format!("h[x % 8] = {ty}(1)"));
        self.line("t = x");
        if begets {
            for line in ["if x > 5 and x < 1000:", "    more = x - 3", "    more = x % 4"] {
                self.line(line);
            }
        }
        self.close();
        self.line(&format!("{consume}.stream -> u.x: {queue}"));
        self.line(&format!("u.h -> {consume}.hist: hist[0:8] wcr(sum) volume(1)"));
        let resolution = self.rng.pick(&["sum", "max", "bitxor"]);
        self.line(&format!("u.t -> {consume}.total: total[0] wcr({resolution})"));
        if begets {
            self.line(&format!("u.more -> {consume}.more: {queue} dynamic"));
        }
        self.close();
        self.line(&format!("src -> {map}.W"));
        self.line(&format!("{map}.{queue} -> {queue}"));
        self.line(&format!("{queue} -> {consume}.stream"));
        self.line(&format!("{consume}.hist -> hist"));
        self.line(&format!("{consume}.total -> total"));
        if begets {
            self.line(&format!("{consume}.more -> {again}"));
        }
        self.close();
    }

    /// A chain of processing elements, which run concurrently with each other, their producer and their consumer.
    pub(super) fn chain(&mut self) {
        let (state, map, pipe) = (self.label("s"), self.label("m"), self.label("pipe"));
        let (nested, ty) = (self.label("element"), self.others);
        let length = self.rng.pick(&["1", "3", "N"]);
        let capacity = self.rng.pick(&["", " capacity(1)", " capacity(3)"]);
        let schedule = self.rng.pick(&["", " schedule(sequential)", " schedule(unrolled)"]);
        self.declare(&format!("transient stream {pipe}: {ty}[{length} + 1]{capacity}"));
        self.open(&format!("state {state}"));
        self.line("access src = W");
        self.line("access dst = C");
        self.line(&format!("access tail = {pipe}"));
        self.line(&format!("access given = {pipe}"));
        self.line(&format!("access taken = {pipe}"));
        self.line(&format!("access head = {pipe}"));
        self.line(&format!("tail -> dst: {pipe}[{length}] -> C[N - 1, 0:M]"));
        self.open(&format!("map {map} [p = 0:{length}]{schedule}"));
        self.open(&format!("nested {nested} (from) -> (to) with (m = M) sdfg inner"));
        for line in ["symbol m: i64".to_owned(), "symbol p: i64".to_owned()] {
            self.line(&line);
        }
        self.line(&format!("stream from: {ty}"));
        self.line(&format!("stream to: {ty}"));
        self.open("for each: k = 0:m");
        self.open("state one");
        self.line("access from");
        self.line("access to");
        let value =
            self.rng.pick(&["x + TY(p)", "x - TY(k)", "max(x, TY(p))"]).replace("TY", &ty.to_string());
        self.line(&format!("tasklet add (x) -> (y) {{ y = {value} }}"));
        self.line("from -> add.x: from");
        self.line("add.y -> to: to");
        self.close();
        self.close();
        self.close();
        self.line(&format!("{map}.pipe -> {nested}.from: {pipe}[p] volume(M)"));
        self.line(&format!("{nested}.to -> {map}.pipe: {pipe}[p + 1] volume(M)"));
        self.close();
        self.line(&format!("taken -> {map}.pipe"));
        self.line(&format!("{map}.pipe -> given"));
        self.line(&format!("src -> head: W[0:M] -> {pipe}[0]"));
        self.close();
    }

    /// Copies through queues: of parts, of the available elements, and alternating.
    pub(super) fn queues(&mut self) {
        let (fill, rest) = (self.label("s"), self.label("s"));
        let (first, second) = (self.label("queue"), self.label("queue"));
        let ty = self.others;
        let is_argument = self.rng.chance(30);
        let lives = if is_argument { "" } else { "transient " };
        self.declare(&format!("{lives}stream {first}: {ty}[2]"));
        self.declare(&format!("transient stream {second}: {ty}"));
        self.open(&format!("state {fill}"));
        self.line("access C");
        self.line(&format!("access {first}"));
        self.line(&format!("access {second}"));
        let from = self.rng.pick(&["C[0:N, 0:M]", "C[0:N, M - 1:-1:-1]", "C[N - 1:-1:-1, 0:M:2]"]);
        let to = self.rng.pick(&["[0]", "[0:2]"]);
        self.line(&format!("C -> {first}: {from} -> {first}{to}"));
        // The caller's elements and those of `C` together may be more than `C` has room for.
        let [some, all] =
            if is_argument { [" atmost(min(2, N * M))"; 2] } else { [" atmost(3)", " dynamic"] };
        let volume = self.rng.pick(&[some, all, " volume(1)"]);
        self.line(&format!("{first} -> {second}: {first}[0] -> {second}{volume}"));
        self.close();
        self.open(&format!("state {rest}"));
        self.line(&format!("access {second}"));
        self.line(&format!("access left = {first}"));
        self.line("access dst = C");
        self.line("access after = C");
        let most = self.rng.pick(&["dynamic", "atmost(2)"]);
        self.line(&format!("{second} -> dst: {second} -> C[0:N, 0:M] {most}"));
        self.line(&format!("left -> after: {first}[0] -> C[N - 1, 0:M] atmost(M)"));
        self.line("order dst -> left");
        self.close();
    }
}
