//! Products of matrices and vectors as calls of `gemm`, `gemv`, `ger`, `dot` or `axpy`, selected by the
//! labels of the contraction.
//!
//! The summand is stored in the output first, so that each call adds to the existing values.

use super::{COLUMN_MAJOR, CallState, Called, Calls, ROW_MAJOR, int, letter, transposition};
use crate::contraction::{Addend, Contraction, Label, Term};
use crate::error::ExpandErrorKind;
use crate::operand::Operand;
use crate::operation::Target;
use crate::template::{Element, Template};

/// The labels of a product: rows are those of the first factor, columns of the second one; sums run over the depth.
#[derive(Clone, Copy, Default)]
struct Product {
    row: Option<Label>,
    column: Option<Label>,
    depth: Option<Label>,
}

/// One call and what it is made of.
struct Call<'c, 'g> {
    contraction: &'c Contraction,
    calls: &'c Calls<'g>,
    target: &'c Target,
    letter: char,
    /// The labels that are dimensions of matrices and vectors.
    used: Vec<Label>,
}

impl Contraction {
    /// Appends states that call BLAS, if there is a call.
    pub(crate) fn call_blas(
        &self,
        template: &mut Template,
        target: &Target,
        calls: &Calls<'_>,
    ) -> Result<Called, ExpandErrorKind> {
        let output = &self.signature.output;
        let Some(letter) = letter(output.element) else {
            return Ok(Called::No(format!("elements of type {} are none of BLAS's here", output.element)));
        };
        if let Some(other) = self.terms.iter().find(|term| self.operand_of(term).element != output.element) {
            let operand = self.operand_of(other);
            return Ok(Called::No(format!(
                "`{}` is of type {}, the output of type {}",
                operand.connector, operand.element, output.element
            )));
        }
        let Some(product) = self.product() else {
            return Ok(Called::No("it is no product of matrices and vectors, and no `Axpy`".to_owned()));
        };
        let sums = !self.reduced().is_empty();
        if !sums && self.beta.is_zero() && !target.adds {
            return Ok(Called::No("BLAS adds to a product without sums what was there before".to_owned()));
        }
        let used = [product.row, product.column, product.depth].into_iter().flatten().collect();
        let call = Call { contraction: self, calls, target, letter, used };
        let state = match (&self.terms[..], product) {
            ([x], Product { depth: Some(i), .. }) => call.axpy(template, x, i)?,
            ([a, b], Product { row: Some(m), column: Some(n), depth: Some(k) }) => {
                call.gemm(template, [a, b], [m, n, k])?
            }
            ([a, x], Product { row: Some(m), column: None, depth: Some(n) }) => {
                call.gemv(template, a, x, [m, n])?
            }
            ([x, a], Product { row: None, column: Some(m), depth: Some(n) }) => {
                call.gemv(template, a, x, [m, n])?
            }
            ([x, y], Product { row: Some(m), column: Some(n), depth: None }) => {
                call.ger(template, x, y, [m, n])?
            }
            ([x, y], Product { row: None, column: None, depth: Some(k) }) => call.dot(template, x, y, k)?,
            _ => return Ok(Called::No("it is no product of matrices and vectors".to_owned())),
        };
        self.start(template, target)?;
        let outer: Vec<Label> =
            self.reduced().into_iter().filter(|label| !call.used.contains(label)).collect();
        for (label, (param, range)) in outer.iter().zip(self.dimensions(template, &outer)) {
            template.blocks(&format!("for __sum{label}: {param} = {range} {{\n"));
        }
        match state {
            State::Call(state) => state.append(template),
            State::Dot(text) => template.blocks(&text),
        }
        outer.iter().for_each(|_| template.blocks("}\n"));
        Ok(Called::Yes)
    }

    fn operand_of(&self, term: &Term) -> &Operand {
        &self.signature.inputs[term.input]
    }

    /// The labels of the call that this is.
    fn product(&self) -> Option<Product> {
        let once = |term: &Term, label: Label| term.labels.iter().filter(|l| **l == Some(label)).count() == 1;
        let is_kept = |label: Label| self.output.contains(&Some(label));
        if let [term] = &self.terms[..] {
            let is_axpy = matches!(self.addend, Addend::Term(_)) && self.reduced().is_empty();
            let last = self.output.last().copied().flatten().filter(|label| once(term, *label));
            return last
                .filter(|_| is_axpy)
                .map(|label| Product { depth: Some(label), ..Product::default() });
        }
        let [left, right] = &self.terms[..] else { return None };
        let has = |term: &Term, label: Label| term.labels.contains(&Some(label));
        let labels = |term: &Term| term.labels.iter().copied().flatten().rev().collect::<Vec<Label>>();
        let own = |term: &Term, other: &Term| {
            let mut found = labels(term).into_iter().filter(|label| is_kept(*label) && once(term, *label));
            found.find(|label| !has(other, *label))
        };
        let mut sums = labels(right).into_iter().filter(|label| !is_kept(*label));
        let depth = sums.find(|label| once(left, *label) && once(right, *label));
        Some(Product { row: own(left, right), column: own(right, left), depth })
    }
}

/// A state with a call.
enum State<'c> {
    Call(Box<CallState<'c>>),
    Dot(String),
}

impl<'c> Call<'c, '_> {
    fn function(&self, name: &str) -> String {
        format!("cblas_{}{name}", self.letter)
    }

    fn position(labels: &[Option<Label>], label: Label) -> usize {
        labels.iter().position(|known| *known == Some(label)).unwrap_or(0)
    }

    fn extent(&self, template: &mut Template, label: Label) -> String {
        int(&template.extent(&self.contraction.extents[label]))
    }

    fn alpha(&self) -> Result<String, ExpandErrorKind> {
        self.contraction.alpha.code(self.contraction.signature.output.element)
    }

    /// The part of an operand that the call is about.
    fn memlet(
        &self,
        template: &mut Template,
        operand: &Operand,
        container: &str,
        labels: &[Option<Label>],
    ) -> String {
        let mut element: Element = self.contraction.element(operand, container, labels);
        for (index, position) in element.indices.iter_mut().zip(operand.seen()) {
            if let Some(label) = labels[position].filter(|label| self.used.contains(label)) {
                *index = format!("0:{}", template.extent(&self.contraction.extents[label]));
            }
        }
        element.text()
    }

    fn read(&self, template: &mut Template, name: &'c str, term: &Term) -> (&'c str, String, String) {
        let operand = self.contraction.operand_of(term);
        let memlet = self.memlet(template, operand, &operand.connector, &term.labels);
        (name, operand.connector.clone(), memlet)
    }

    fn output(&self, template: &mut Template) -> (&'c str, String, String) {
        let container = self.target.container();
        let output = &self.contraction.signature.output;
        let memlet = self.memlet(template, output, container, &self.contraction.output);
        ("__c", container.to_owned(), memlet)
    }

    fn state(
        &self,
        template: &mut Template,
        terms: &[(&'c str, &Term)],
        function: &str,
        arguments: Vec<String>,
    ) -> State<'c>
    where
        Self: 'c,
    {
        let kept = self.contraction.kept().into_iter().filter(|label| !self.used.contains(label));
        let kept: Vec<Label> = kept.collect();
        State::Call(Box::new(CallState {
            label: "call",
            dimensions: self.contraction.dimensions(template, &kept),
            reads: terms.iter().map(|(name, term)| self.read(template, name, term)).collect(),
            writes: vec![self.output(template)],
            before: true,
            result: None,
            function: self.function(function),
            arguments,
            library: &self.calls.blas.library,
        }))
    }

    /// The distance of neighbours of a vector.
    fn vector(&self, template: &mut Template, term: &Term, label: Label) -> Result<String, ExpandErrorKind> {
        let operand = self.contraction.operand_of(term);
        let stride = self.calls.stride(template, operand, None, Self::position(&term.labels, label))?;
        Ok(int(&stride))
    }

    /// The same of the output.
    fn result(&self, template: &mut Template, label: Label) -> Result<String, ExpandErrorKind> {
        let output = &self.contraction.signature.output;
        let position = Self::position(&self.contraction.output, label);
        Ok(int(&self.calls.stride(template, output, Some(self.target), position)?))
    }

    fn gemm(
        &self,
        template: &mut Template,
        [a, b]: [&Term; 2],
        [m, n, k]: [Label; 3],
    ) -> Result<State<'c>, ExpandErrorKind> {
        let output = &self.contraction.signature.output;
        let at = |term: &Term, labels: [Label; 2]| labels.map(|label| Self::position(&term.labels, label));
        let place = [m, n].map(|label| Self::position(&self.contraction.output, label));
        let c = self.calls.matrix(template, output, Some(self.target), place)?;
        let left = self.calls.matrix(template, self.contraction.operand_of(a), None, at(a, [m, k]))?;
        let right = self.calls.matrix(template, self.contraction.operand_of(b), None, at(b, [k, n]))?;
        let arguments = vec![
            if c.by_rows { ROW_MAJOR } else { COLUMN_MAJOR }.to_owned(),
            transposition(left.by_rows != c.by_rows),
            transposition(right.by_rows != c.by_rows),
            self.extent(template, m),
            self.extent(template, n),
            self.extent(template, k),
            self.alpha()?,
            "__a".to_owned(),
            int(&left.leading),
            "__b".to_owned(),
            int(&right.leading),
            self.one(),
            "__c".to_owned(),
            int(&c.leading),
        ];
        Ok(self.state(template, &[("__a", a), ("__b", b)], "gemm", arguments))
    }

    fn one(&self) -> String {
        format!("{}(1)", self.contraction.signature.output.element)
    }

    fn gemv(
        &self,
        template: &mut Template,
        a: &Term,
        x: &Term,
        [m, n]: [Label; 2],
    ) -> Result<State<'c>, ExpandErrorKind> {
        let place = [m, n].map(|label| Self::position(&a.labels, label));
        let matrix = self.calls.matrix(template, self.contraction.operand_of(a), None, place)?;
        let arguments = vec![
            if matrix.by_rows { ROW_MAJOR } else { COLUMN_MAJOR }.to_owned(),
            transposition(false),
            self.extent(template, m),
            self.extent(template, n),
            self.alpha()?,
            "__a".to_owned(),
            int(&matrix.leading),
            "__b".to_owned(),
            self.vector(template, x, n)?,
            self.one(),
            "__c".to_owned(),
            self.result(template, m)?,
        ];
        Ok(self.state(template, &[("__a", a), ("__b", x)], "gemv", arguments))
    }

    fn ger(
        &self,
        template: &mut Template,
        x: &Term,
        y: &Term,
        [m, n]: [Label; 2],
    ) -> Result<State<'c>, ExpandErrorKind> {
        let place = [m, n].map(|label| Self::position(&self.contraction.output, label));
        let output = &self.contraction.signature.output;
        let c = self.calls.matrix(template, output, Some(self.target), place)?;
        let arguments = vec![
            if c.by_rows { ROW_MAJOR } else { COLUMN_MAJOR }.to_owned(),
            self.extent(template, m),
            self.extent(template, n),
            self.alpha()?,
            "__a".to_owned(),
            self.vector(template, x, m)?,
            "__b".to_owned(),
            self.vector(template, y, n)?,
            "__c".to_owned(),
            int(&c.leading),
        ];
        Ok(self.state(template, &[("__a", x), ("__b", y)], "ger", arguments))
    }

    fn axpy(&self, template: &mut Template, x: &Term, i: Label) -> Result<State<'c>, ExpandErrorKind> {
        let arguments = vec![
            self.extent(template, i),
            self.alpha()?,
            "__a".to_owned(),
            self.vector(template, x, i)?,
            "__c".to_owned(),
            self.result(template, i)?,
        ];
        Ok(self.state(template, &[("__a", x)], "axpy", arguments))
    }

    /// The function returns the sum, which a tasklet adds.
    fn dot(
        &self,
        template: &mut Template,
        x: &Term,
        y: &Term,
        k: Label,
    ) -> Result<State<'c>, ExpandErrorKind> {
        let ty = self.contraction.signature.output.element;
        template.transient("__dot", ty, &[]);
        let (count, one, other) =
            (self.extent(template, k), self.vector(template, x, k)?, self.vector(template, y, k)?);
        let reads = [self.read(template, "__a", x), self.read(template, "__b", y)];
        let (_, container, memlet) = self.output(template);
        let kept = self.contraction.kept();
        let mut dimensions: Vec<String> = self
            .contraction
            .dimensions(template, &kept)
            .into_iter()
            .map(|(param, range)| format!("{param} = {range}"))
            .collect();
        if dimensions.is_empty() {
            dimensions.push("__once = 0:1".to_owned());
        }
        let mut text = "state call {\n".to_owned();
        for (name, from, _) in &reads {
            text.push_str(&format!("access {name}_from = {from}\n{name}_from -> __calls.{name}_from\n"));
        }
        text.push_str(&format!(
            "access __out = {container}
map __calls [{}] schedule(sequential) {{
access __dot
tasklet __call (__a, __b) -> (__r) external __r = {}({count}, __a, {one}, __b, {other}) from library \"{}\"
tasklet __add (__r) -> (__o) {{ __o = {} * __r }}
",
            dimensions.join(", "),
            self.function("dot"),
            self.calls.blas.library,
            self.alpha()?,
        ));
        for (name, _, part) in &reads {
            text.push_str(&format!("__calls.{name}_from -> __call.{name}: {part}\n"));
        }
        text.push_str(&format!(
            "__call.__r -> __dot\n__dot -> __add.__r\n__add.__o -> __calls.__out: {memlet} wcr(sum)\n}}\n__calls.__out -> __out\n}}\n"
        ));
        Ok(State::Dot(text))
    }
}
