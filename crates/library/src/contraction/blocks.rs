//! The `fast` expansion of a contraction that contains a matrix product, `C[i, j] += A[i, k] * B[k, j]`.
//!
//! A tasklet keeps a block of four rows and four columns of `A` in registers. Its innermost loop, which back
//! ends vectorise, runs along four rows of `B` and of `C`. It computes sixteen products for eight loads and
//! four stores, all in first-level caches. The outer loops cut `B` into panels that fit into second-level
//! caches. Threads share the blocks of rows and columns of `C`. Panels of a transposed `B` are copied into
//! the order of their accesses. An additional state computes the elements that fill no block.
//!
//! All other labels become enclosing loops: labels of output dimensions become dimensions of the parallel
//! map, and summed labels become control-flow loops.

use sdfg::dtype::ScalarType;

use super::expand::param;
use super::{Contraction, Label, Term};
use crate::error::ExpandErrorKind;
use crate::operand::Operand;
use crate::operation::Target;
use crate::template::{Element, Elementwise, Template, converted};

/// Rows of a block, and products of each of its elements.
const BLOCK: usize = 4;
/// Rows of a panel of `B`; a multiple of [`BLOCK`].
const DEPTH: usize = 128;
/// Bytes of a row of a panel: a panel has 512 KiB, and blocks of `C` and `B` have 32 KiB together.
const ROW_BYTES: usize = 4096;
/// Products of matrices of constant extents with no more multiplications than this are not worth blocks.
const SMALL: i64 = 512;
/// The panel.
const PANEL: &str = "__panel";

/// A contraction with the labels that make it a product of matrices.
pub(super) struct Blocks<'c> {
    contraction: &'c Contraction,
    /// `A` and `B`.
    left: &'c Term,
    right: &'c Term,
    row: Label,
    depth: Label,
    column: Label,
}

impl Contraction {
    /// The product of matrices in this contraction, if there is one whose blocks pay.
    pub(super) fn blocks(&self) -> Option<Blocks<'_>> {
        if !matches!(self.signature.output.element, ScalarType::F32 | ScalarType::F64) {
            return None;
        }
        let [one, other] = self.terms.as_slice() else { return None };
        // Neighbours in the output are columns: of both operands, `B` is the one that has them.
        let column = self.output.last().copied().flatten()?;
        let has = |term: &Term, label: Label| term.labels.contains(&Some(label));
        let (left, right) = match (has(one, column), has(other, column)) {
            (false, true) => (one, other),
            (true, false) => (other, one),
            (true, true) | (false, false) => return None,
        };
        // Diagonals are no matrices.
        let once = |term: &Term, label: Label| term.labels.iter().filter(|l| **l == Some(label)).count() == 1;
        let long = |label: &Label| self.extents[*label].as_int().is_none_or(|n| n >= BLOCK as i64);
        let kept = self.kept();
        let row = kept.iter().copied().rfind(|l| once(left, *l) && !has(right, *l) && long(l))?;
        let sums: Vec<Label> = self.reduced();
        let sums = sums.into_iter().filter(|l| once(left, *l) && once(right, *l) && long(l));
        let last = |term: &Term| term.labels.last().copied().flatten();
        let depth = sums.max_by_key(|l| (last(right) == Some(*l), last(left) == Some(*l), *l))?;
        let constants: Option<Vec<i64>> =
            [row, depth, column].iter().map(|label| self.extents[*label].as_int()).collect();
        let is_small = constants.is_some_and(|n| n.iter().copied().fold(1, i64::saturating_mul) <= SMALL);
        let fits = once(right, column) && long(&column) && !is_small;
        fits.then_some(Blocks { contraction: self, left, right, row, depth, column })
    }
}

impl Blocks<'_> {
    /// Appends the states.
    pub(super) fn states(&self, template: &mut Template, target: &Target) -> Result<(), ExpandErrorKind> {
        let this = self.contraction;
        this.start(template, target)?;
        let outer: Vec<Label> = this.reduced().into_iter().filter(|label| *label != self.depth).collect();
        for (label, (param, range)) in outer.iter().zip(this.dimensions(template, &outer)) {
            template.blocks(&format!("for __sum{label}: {param} = {range} {{\n"));
        }
        let depth = self.extent(template, self.depth);
        let rows = self.extent(template, self.row);
        let next = if self.is_packed() { "pack" } else { "multiply" };
        // Bounds by name: minima and quotients in each of them would keep proofs about accesses busy.
        template.blocks(&format!(
            "for __depth: __first = 0:{depth}:{DEPTH} {{
state bounds {{}}
-> {next} with (__end = min(__first + {DEPTH}, {depth}), __last = min(__first + {DEPTH}, {depth}) // {BLOCK} * {BLOCK}, __rows = {rows} // {BLOCK})
"
        ));
        if self.is_packed() {
            self.pack(template);
        }
        self.multiply(template, target)?;
        template.blocks("}\n");
        self.rest(template, target)?;
        outer.iter().for_each(|_| template.blocks("}\n"));
        Ok(())
    }

    fn extent(&self, template: &mut Template, label: Label) -> String {
        template.extent(&self.contraction.extents[label])
    }

    /// Columns of a panel.
    fn width(&self) -> usize {
        ROW_BYTES / self.operand(self.right).element.size()
    }

    fn operand(&self, term: &Term) -> &Operand {
        &self.contraction.signature.inputs[term.input]
    }

    /// Whether columns are no neighbours in `B`.
    fn is_packed(&self) -> bool {
        self.right.labels.last().copied().flatten() != Some(self.column)
    }

    /// The labels of the output that are no dimension of a block.
    fn around(&self) -> Vec<Label> {
        let kept = self.contraction.kept().into_iter();
        kept.filter(|label| *label != self.row && *label != self.column).collect()
    }

    /// Those of them that `B` has.
    fn around_panels(&self) -> Vec<Label> {
        self.around().into_iter().filter(|label| self.right.labels.contains(&Some(*label))).collect()
    }

    /// Appends the state that copies the rows of panels from `__first` on.
    fn pack(&self, template: &mut Template) {
        let (operand, width) = (self.operand(self.right).clone(), self.width());
        let columns = self.extent(template, self.column);
        let around = self.contraction.dimensions(template, &self.around_panels());
        let mut shape: Vec<String> =
            self.around_panels().iter().map(|label| self.extent(template, *label)).collect();
        shape.extend([format!("ceil_div({columns}, {width})"), DEPTH.to_string(), width.to_string()]);
        template.transient(PANEL, operand.element, &shape);
        let (column, k) = (param(self.column), param(self.depth));
        let mut dimensions = around;
        let of = |param: &str, range: String| (param.to_owned(), range);
        dimensions.push(of("__panels", format!("0:ceil_div({columns}, {width})")));
        let first = format!("{width} * __panels");
        dimensions.push(of(&column, format!("{first}:min({first} + {width}, {columns})")));
        dimensions.push(of(&k, "__first:__end".to_owned()));
        let mut indices: Vec<String> = self.around_panels().into_iter().map(param).collect();
        indices.extend(["__panels".to_owned(), format!("{k} - __first"), format!("{column} - {first}")]);
        let element = self.contraction.element(&operand, &operand.connector, &self.right.labels);
        template.elementwise(Elementwise {
            label: "pack",
            dimensions,
            reads: vec![("__x".to_owned(), element)],
            value: "__x".to_owned(),
            write: Element::new(PANEL, indices),
            adds: false,
        });
    }

    /// Appends the state that adds the products of whole blocks from `__first` on.
    fn multiply(&self, template: &mut Template, target: &Target) -> Result<(), ExpandErrorKind> {
        let width = self.width();
        let columns = self.extent(template, self.column);
        let mut around: Vec<String> = self
            .contraction
            .dimensions(template, &self.around())
            .into_iter()
            .map(|(param, range)| format!("{param} = {range}"))
            .collect();
        around.push(format!("__panels = 0:ceil_div({columns}, {width})"));
        around.push("__block = 0:__rows".to_owned());
        let output = &self.contraction.signature.output;
        let left = self.operand(self.left);
        let a = self.memlet(left, &left.connector, &self.left.labels);
        let c = self.memlet(output, target.container(), &self.contraction.output);
        let (right, b) = if self.is_packed() {
            let mut indices: Vec<String> = self.around_panels().into_iter().map(param).collect();
            let first = "__k - __first";
            indices.extend([
                "__panels".to_owned(),
                format!("{first}:{first} + {BLOCK}"),
                format!("{} - {width} * __panels", param(self.column)),
            ]);
            (PANEL, Element::new(PANEL, indices))
        } else {
            let right = self.operand(self.right);
            (right.connector.as_str(), self.memlet(right, &right.connector, &self.right.labels))
        };
        let first = format!("{width} * __panels");
        let (from, to) = (left.connector.as_str(), target.container());
        template.blocks(&format!(
            "state multiply {{
access {from}
access {right}
access __out = {to}
map __blocks [{around}] collapse({shared}) {{
map __depths [__k = __first:__last:{BLOCK}] schedule(sequential) {{
map __columns [{column} = {first}:min({first} + {width}, {columns})] schedule(sequential) {{
tasklet __products (__a, __b) -> (__c) {{ {code} }}
__columns.{from} -> __products.__a: {a}
__columns.{right} -> __products.__b: {b}
__products.__c -> __columns.__out: {c} wcr(sum)
}}
__depths.{from} -> __columns.{from}
__depths.{right} -> __columns.{right}
__columns.__out -> __depths.__out
}}
__blocks.{from} -> __depths.{from}
__blocks.{right} -> __depths.{right}
__depths.__out -> __blocks.__out
}}
{from} -> __blocks.{from}
{right} -> __blocks.{right}
__blocks.__out -> __out
}}
",
            around = around.join(", "),
            // There may be fewer panels than threads.
            shared = around.len(),
            column = param(self.column),
            code = self.code()?,
            a = a.text(),
            b = b.text(),
            c = c.text(),
        ));
        Ok(())
    }

    /// The part of an operand that a block takes at a column.
    fn memlet(&self, operand: &Operand, container: &str, labels: &[Option<Label>]) -> Element {
        let mut element = self.contraction.element(operand, container, labels);
        for (index, position) in element.indices.iter_mut().zip(operand.seen()) {
            let first = match labels[position] {
                Some(label) if label == self.row => format!("{BLOCK} * __block"),
                Some(label) if label == self.depth => "__k".to_owned(),
                Some(_) | None => continue,
            };
            *index = format!("{first}:{first} + {BLOCK}");
        }
        element
    }

    /// The sums of products of a block.
    fn code(&self) -> Result<String, ExpandErrorKind> {
        let (ty, alpha) = (self.contraction.signature.output.element, &self.contraction.alpha);
        let scale = if alpha.is_one() { String::new() } else { format!("{} * ", alpha.code(ty)?) };
        let place = |label: Label| self.left.labels.iter().position(|l| *l == Some(label));
        let is_turned = place(self.depth) < place(self.row);
        let mut statements = Vec::new();
        for row in 0..BLOCK {
            let products = (0..BLOCK).map(|k| {
                let (first, second) = if is_turned { (k, row) } else { (row, k) };
                let a = converted(&format!("__a[{first}, {second}]"), self.operand(self.left).element, ty);
                let b = converted(&format!("__b[{k}]"), self.operand(self.right).element, ty);
                // What does not change along the row is multiplied first.
                format!("{scale}{a} * {b}")
            });
            statements.push(format!("__c[{row}] = {}", products.collect::<Vec<_>>().join(" + ")));
        }
        Ok(statements.join("; "))
    }

    /// Appends the state for rows behind the last whole block, and for the last products of the others.
    fn rest(&self, template: &mut Template, target: &Target) -> Result<(), ExpandErrorKind> {
        let this = self.contraction;
        let whole = |label: Label| this.extents[label].as_int().is_some_and(|n| n % BLOCK as i64 == 0);
        if whole(self.row) && whole(self.depth) {
            return Ok(());
        }
        let mut dimensions = this.dimensions(template, &self.around());
        dimensions.extend(this.dimensions(template, &[self.row, self.depth, self.column]));
        let [rows, depth] = [self.row, self.depth].map(|label| self.extent(template, label));
        let k = dimensions.len() - 2;
        // The quotient is positive in rows that are in blocks, and 0 behind them.
        let (in_blocks, done) =
            (format!("{BLOCK} * ({rows} // {BLOCK})"), format!("{BLOCK} * ({depth} // {BLOCK})"));
        let is_in_block = format!("min(1, {in_blocks} // ({} + 1))", param(self.row));
        dimensions[k].1 = format!("{done} * {is_in_block}:{depth}");
        template.elementwise(this.products("rest", dimensions, target, true)?);
        Ok(())
    }
}
