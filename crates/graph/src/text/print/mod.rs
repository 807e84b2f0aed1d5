//! The printer of text programs: canonical, with the same bytes for equal graphs.
//!
//! It prints every graph, including invalid ones, because messages about them show them. Only for graphs that
//! pass the structural checks does the text read back to an equal graph.

mod block;
mod container;
mod edge;
mod node;
mod spans;

use std::fmt::Write;

pub use edge::{print_edge, print_ends, print_memlet};
use sdfg_language::syntax::Span;
pub use spans::SpanTable;

use super::names::written;
use crate::ir::sdfg::FloatMode;
use crate::ir::{NodeId, RegionId, Sdfg, StateId};
use crate::path::{ElementPlace, Target};

/// Options of printing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrintOptions {
    /// Whether edges whose memlets are derived show them, as comments behind the line.
    pub derived: bool,
}

/// A printed program.
#[derive(Clone, Debug)]
pub struct Printed {
    /// The text.
    pub text: String,
    /// Span of each element in it.
    pub spans: SpanTable,
}

/// The canonical text of an SDFG, ended by a line end.
pub fn print(sdfg: &Sdfg) -> String {
    print_with(sdfg, PrintOptions::default()).text
}

/// The canonical text, and where each element stands in it.
pub fn print_with_spans(sdfg: &Sdfg) -> (String, SpanTable) {
    let Printed { text, spans } = print_with(sdfg, PrintOptions::default());
    (text, spans)
}

/// As [`print_with_spans`], with options.
pub fn print_with(sdfg: &Sdfg, options: PrintOptions) -> Printed {
    let mut printer = Printer {
        text: String::new(),
        indent: 0,
        spans: SpanTable::default(),
        nested: Vec::new(),
        regions: Vec::new(),
        options,
    };
    printer.sdfg(sdfg);
    printer.text.push('\n');
    Printed { text: printer.text, spans: printer.spans }
}

/// The text so far and where the printer is.
struct Printer {
    text: String,
    indent: usize,
    spans: SpanTable,
    /// The calls that lead to the SDFG that is being printed, outermost first.
    nested: Vec<(StateId, NodeId)>,
    /// The regions that are being printed, each with the depth of calls it is in.
    regions: Vec<(usize, RegionId)>,
    options: PrintOptions,
}

impl Printer {
    /// `sdfg NAME { ... }` from the current column on.
    fn sdfg(&mut self, sdfg: &Sdfg) {
        let start = self.offset();
        self.push("sdfg ");
        self.push(&written(&sdfg.name));
        if sdfg.float_mode != FloatMode::default() {
            self.push(&format!(" float({})", sdfg.float_mode.name()));
        }
        self.record(start, Target::Sdfg);
        self.braces(|printer| {
            printer.declarations(sdfg);
            let empty = sdfg.get_region(sdfg.body()).is_none_or(|body| body.blocks.is_empty());
            let declares = sdfg.symbols().next().is_some() || sdfg.containers().next().is_some();
            if declares && !empty {
                printer.text.push('\n');
            }
            printer.region(sdfg, sdfg.body());
        });
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Begins a line and returns the offset of its first character behind the indentation.
    fn begin_line(&mut self) -> u32 {
        for _ in 0..self.indent {
            self.text.push_str("  ");
        }
        self.offset()
    }

    /// A whole line, which is where `element` stands.
    fn line(&mut self, text: &str, element: Target) {
        let start = self.begin_line();
        self.push(text);
        self.record(start, element);
        self.text.push('\n');
    }

    /// ` {`, the lines that `body` prints, and `}` without a line end; ` {}` if there are none.
    fn braces(&mut self, body: impl FnOnce(&mut Self)) {
        self.push(" {");
        let empty = self.text.len();
        self.text.push('\n');
        self.indent += 1;
        body(self);
        self.indent -= 1;
        if self.text.len() == empty + 1 {
            self.text.truncate(empty);
        } else {
            self.begin_line();
        }
        self.text.push('}');
    }

    fn offset(&self) -> u32 {
        u32::try_from(self.text.len()).unwrap_or(u32::MAX)
    }

    /// Says that `element` stands between `start` and the end of the text so far.
    fn record(&mut self, start: u32, element: Target) {
        let span = Span::new(start, self.offset());
        self.spans.insert(ElementPlace { calls: self.nested.clone(), target: element }, span);
    }

    /// Says that the code of a tasklet stands between `start` and the end of the text so far.
    fn record_code(&mut self, start: u32, state: StateId, id: NodeId) {
        let span = Span::new(start, self.offset());
        self.spans
            .insert_code(ElementPlace { calls: self.nested.clone(), target: Target::Node(state, id) }, span);
    }
}

/// `items` joined by commas.
fn list<T: std::fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for (i, item) in items.into_iter().enumerate() {
        let separator = if i > 0 { ", " } else { "" };
        // Writing to a string does not fail.
        let _ = write!(text, "{separator}{item}");
    }
    text
}
