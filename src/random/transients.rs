//! Random chains of transients, so that lifetimes of some end before others begin.

use sdfg::dtype::ScalarType;

use super::expression::expression;
use super::generate::Generator;

impl Generator {
    /// A chain of transients between `C` and `C`: each is made of the one before, and sometimes of an earlier one.
    pub(super) fn relay(&mut self) {
        let links: Vec<String> = (0..2 + self.rng.below(4)).map(|_| self.label("link")).collect();
        for link in &links {
            let size = self.rng.pick(&["N, M", "N, M", "N, M", "N + 1, M"]);
            let lifetime = self.rng.pick(&["", "", " lifetime(sdfg)"]);
            let ty = self.others;
            self.declare(&format!("transient array {link}: {ty}[{size}]{lifetime}"));
        }
        if self.rng.chance(40) {
            return self.relay_in_one_state(&links);
        }
        // States from here on allocate transients repeatedly. Transients from before the loop remain readable in it.
        let from = self.rng.below(links.len());
        let repeats = self.rng.chance(40);
        for at in 0..links.len() {
            if repeats && at == from {
                let label = self.label("loop");
                let symbol = self.label("t");
                self.open(&format!("for {label}: {symbol} = 0:3"));
            }
            self.link_state(&links, at);
        }
        self.link_state(&links, links.len());
        if repeats {
            self.close();
        }
    }

    /// A state that makes one link, or `C` of the last.
    fn link_state(&mut self, links: &[String], at: usize) {
        let state = self.label("s");
        self.open(&format!("state {state}"));
        let target = links.get(at).map_or("C", String::as_str);
        let source = at.checked_sub(1).map_or("C", |before| links[before].as_str());
        let earlier = if at >= 2 && self.rng.chance(40) { Some(self.rng.below(at - 1)) } else { None };
        let earlier = earlier.map(|earlier| links[earlier].as_str());
        self.line(&format!("access {source}"));
        earlier.into_iter().for_each(|earlier| self.line(&format!("access {earlier}")));
        self.line(&format!("access out = {target}"));
        self.link(source, earlier, "out", target);
        // A second write to a part. The other elements keep their values.
        if at > 0 && at < links.len() && self.rng.chance(25) {
            self.close();
            let again = self.label("s");
            self.open(&format!("state {again}"));
            self.line(&format!("access {source}"));
            self.line(&format!("access out = {target}"));
            self.line(&format!("{source} -> out: {source}[0, 0:M] -> {target}[N - 1, 0:M]"));
        }
        self.close();
    }

    fn relay_in_one_state(&mut self, links: &[String]) {
        let state = self.label("s");
        self.open(&format!("state {state}"));
        self.line("access C");
        links.iter().for_each(|link| self.line(&format!("access {link}")));
        self.line("access out = C");
        for at in 0..=links.len() {
            let source = at.checked_sub(1).map_or("C", |before| links[before].as_str());
            let earlier = if at >= 2 && self.rng.chance(30) { Some(self.rng.below(at - 1)) } else { None };
            let earlier = earlier.map(|earlier| links[earlier].as_str());
            match links.get(at) {
                Some(link) => self.link(source, earlier, link, link),
                None => self.link(source, earlier, "out", "C"),
            }
        }
        self.close();
    }

    /// A copy or a map from one or two containers, whose nodes have their names, to `node` of `target`.
    fn link(&mut self, source: &str, earlier: Option<&str>, node: &str, target: &str) {
        if earlier.is_none() && self.rng.chance(40) {
            let rows = self.rng.pick(&["0:N", "N - 1:-1:-1"]);
            self.line(&format!("{source} -> {node}: {source}[{rows}, 0:M] -> {target}[0:N, 0:M]"));
            return;
        }
        let (map, tasklet) = (self.label("m"), self.label("t"));
        let schedule = self.schedule();
        let ty = self.others;
        self.open(&format!("map {map} [i = 0:N, j = 0:M]{schedule}"));
        let mut names: Vec<(String, ScalarType)> = vec![("a".to_owned(), ty)];
        if earlier.is_some() {
            names.push(("b".to_owned(), ty));
        }
        let connectors = if earlier.is_some() { "a, b" } else { "a" };
        let value = expression(&mut self.rng, ty, &names, 2);
        self.line(&format!("tasklet {tasklet} ({connectors}) -> (o) {{ o = {value} }}"));
        let index = self.rng.pick(&["i, j", "N - 1 - i, j", "i, M - 1 - j"]);
        self.line(&format!("{map}.a -> {tasklet}.a: {source}[{index}]"));
        if let Some(earlier) = earlier {
            self.line(&format!("{map}.b -> {tasklet}.b: {earlier}[{index}]"));
        }
        self.line(&format!("{tasklet}.o -> {map}.o: {target}[i, j]"));
        self.close();
        self.line(&format!("{source} -> {map}.a"));
        earlier.into_iter().for_each(|earlier| self.line(&format!("{earlier} -> {map}.b")));
        self.line(&format!("{map}.o -> {node}"));
    }
}
