//! References that tasks share: kept in memory, from which each task takes them.
//!
//! A function has variables for the address and the layout of each reference that it uses. Tasks that set a
//! reference for others keep these in memory, and tasks that use it recall them.

use sdfg::symbolic::Expr;

use super::buffer::BufferId;
use super::parts::Part;

/// A reference with the memory in which tasks keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptReference {
    /// The reference.
    pub reference: BufferId,
    /// 64-bit integers: its address, that of what says which elements were written, and the variables.
    pub place: BufferId,
    /// The variables of its layout.
    pub variables: Vec<Expr>,
}

impl KeptReference {
    /// Number of addresses in the memory, before the variables.
    pub const ADDRESSES: usize = 2;

    /// Parts of the statement that writes the memory.
    pub(super) fn parts_of_keep<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.variables.iter().for_each(|variable| visit(Part::Evaluates(variable)));
        self.parts(visit);
    }

    /// Parts of the statement that reads the memory.
    pub(super) fn parts_of_recall<'a>(&'a self, visit: &mut dyn FnMut(Part<'a>)) {
        self.variables.iter().filter_map(Expr::as_symbol).for_each(|variable| visit(Part::Sets(variable)));
        self.parts(visit);
    }

    fn parts<'a>(&self, visit: &mut dyn FnMut(Part<'a>)) {
        visit(Part::Points { reference: self.reference, to: None });
        visit(Part::Touches(self.place));
    }
}
