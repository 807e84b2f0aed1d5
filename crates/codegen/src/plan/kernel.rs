//! Kernels: loops whose iterations the threads of a device share.

use std::fmt;

use sdfg::symbolic::Expr;

use super::buffer::BufferId;
use super::capture::Captures;
use super::parts::{Part, PartMut};
use super::print::Printer;

/// Attributes of a loop of level grid: one function on a device, whose threads take one iteration each, or several if a
/// device has fewer threads than the loop has iterations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernel {
    /// Label of the scope, for the name of the function.
    pub label: String,
    /// Threads of a block in the innermost dimensions, innermost last; empty if the back end chooses.
    pub block: Vec<Expr>,
    /// Memory of each thread, in registers or in memory that it alone reaches.
    pub locals: Vec<BufferId>,
    /// Values and addresses that the kernel is given.
    pub captures: Captures,
}

impl Kernel {
    pub(super) fn parts<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.block.iter().for_each(|extent| visit(Part::Evaluates(extent)));
        self.locals.iter().for_each(|local| visit(Part::Owns(*local)));
        visit(Part::Outlined(&self.captures));
    }

    pub(super) fn parts_mut(&mut self, visit: &mut dyn FnMut(PartMut<'_>)) {
        visit(PartMut::Outlined(&mut self.captures));
    }

    /// The first line of its loop.
    pub(super) fn heading(&self, ranges: &str, independent: &str) -> String {
        let mut text = format!("grid {} {ranges}{independent}", self.label);
        if !self.block.is_empty() {
            let extents: Vec<String> = self.block.iter().map(Expr::to_string).collect();
            text.push_str(&format!(" blocks of {}", extents.join(", ")));
        }
        text
    }

    /// Memory of each thread, one line each.
    pub(super) fn print(&self, to: &mut Printer<'_, '_, '_>) -> fmt::Result {
        to.captures(&self.captures)?;
        for local in &self.locals {
            let name = to.name(*local);
            to.line(format_args!("local {name}"))?;
        }
        Ok(())
    }
}
