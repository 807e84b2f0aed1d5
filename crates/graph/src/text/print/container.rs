//! Printer of declarations: symbols and containers.

use std::fmt;

use super::super::names::written;
use super::super::values::print_value;
use super::{Printer, list};
use crate::ir::{
    Blocks, Container, ContainerKind, Cut, Distribution, Layout, Lifetime, Parts, Sdfg, Storage,
};
use crate::path::Target;

impl Printer {
    pub(super) fn declarations(&mut self, sdfg: &Sdfg) {
        for (symbol, ty) in sdfg.symbols() {
            self.line(&format!("symbol {symbol}: {ty}"), Target::Symbol(symbol.clone()));
        }
        for (id, container) in sdfg.containers() {
            self.line(&declaration(container), Target::Container(id));
        }
    }
}

/// `transient array A: f64[N, M] storage(register)`.
fn declaration(container: &Container) -> String {
    let mut text = String::new();
    if container.transient && !container.is_alias() {
        text.push_str("transient ");
    }
    if container.constant.is_some() {
        text.push_str("constant ");
    }
    let word = match &container.kind {
        ContainerKind::Scalar => "scalar",
        ContainerKind::Array(_) => "array",
        ContainerKind::Stream { .. } => "stream",
        ContainerKind::View(_) => "view",
        ContainerKind::Reference(_) => "reference",
    };
    text.push_str(&format!("{word} {}: {}", written(&container.name), container.element));
    match &container.kind {
        ContainerKind::Scalar => {}
        ContainerKind::Stream { shape, capacity } => {
            if !shape.is_empty() {
                text.push_str(&format!("[{}]", list(shape)));
            }
            if let Some(capacity) = capacity {
                text.push_str(&format!(" capacity({capacity})"));
            }
        }
        ContainerKind::Array(layout) | ContainerKind::View(layout) | ContainerKind::Reference(layout) => {
            text.push_str(&format!("[{}]", list(&layout.shape)));
            push_layout(&mut text, layout);
        }
    }
    push_properties(&mut text, container);
    if let Some(values) = &container.constant {
        let values: Vec<String> = values.iter().map(|value| print_value(*value)).collect();
        match (&container.kind, values.as_slice()) {
            (ContainerKind::Scalar, [value]) => text.push_str(&format!(" = {value}")),
            _ => text.push_str(&format!(" = [{}]", list(&values))),
        }
    }
    text
}

/// Differences from the packed layout of the shape.
fn push_layout(text: &mut String, layout: &Layout) {
    let packed = Layout::packed(layout.shape.clone());
    if layout.strides != packed.strides {
        text.push_str(&format!(" strides({})", list(&layout.strides)));
    }
    if layout.offset != packed.offset {
        text.push_str(&format!(" offset({})", layout.offset));
    }
    if layout.total_size != packed.total_size {
        text.push_str(&format!(" size({})", layout.total_size));
    }
}

fn push_properties(text: &mut String, container: &Container) {
    if container.storage != Storage::default() {
        text.push_str(&format!(" storage({})", container.storage.name()));
    }
    if container.lifetime != Lifetime::default() {
        text.push_str(&format!(" lifetime({})", container.lifetime.name()));
    }
    match &container.distribution {
        Distribution::Replicated => {}
        Distribution::Local => text.push_str(" distribution(local)"),
        Distribution::Blocks(blocks) => text.push_str(&format!(" distribution({blocks})")),
    }
}

/// As the text form writes a distribution: `grid(2, 3)[balanced(0) halo(1, 1), whole]`.
impl fmt::Display for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grid = list(&self.grid);
        if self.is_plain() {
            return write!(f, "block({grid})");
        }
        write!(f, "grid({grid})[{}]", list(self.cuts.iter().map(cut)))
    }
}

/// `whole`, `balanced(0) halo(1, 1)`.
fn cut(cut: &Option<Cut>) -> String {
    let Some(Cut { along, parts, halo }) = cut else { return "whole".to_owned() };
    let word = match parts {
        Parts::Equal => "equal",
        Parts::Balanced(_) => "balanced",
        Parts::Starts(_) => "starts",
    };
    let numbers: String = parts.exprs().iter().map(|number| format!(", {number}")).collect();
    let halo = match cut {
        Some(cut) if cut.has_halo() => format!(" halo({})", list(halo)),
        Some(_) | None => String::new(),
    };
    format!("{word}({along}{numbers}){halo}")
}
