//! Propagation of the segments outside of one scope.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use sdfg_language::subset::{Approx, Range, Subset};
use sdfg_language::symbolic::{Assumptions, Atom, Expr, Symbol, Term};
use sdfg_language::workspace::Eliminations;

use super::nested::footprint;
use crate::analysis::enter_scope;
use crate::analysis::symbols::scope_parameters;
use crate::ir::{
    Access, ConflictResolution, EdgeId, Flow, Memlet, NodeId, NodeKind, Port, Sdfg, State, Volume,
};

/// Operands of the minimum or maximum that a bound may become. What many indices that do not compare have for a bound
/// tells nobody anything, and each further one would be compared with all of them.
const MOST_OPERANDS: usize = 4;

/// A scope with the symbols that it defines.
pub struct Scope<'a> {
    sdfg: &'a Sdfg,
    state: &'a State,
    entry: NodeId,
    exit: NodeId,
    /// Iteration symbols with their ranges, outermost first.
    parameters: Vec<(Symbol, Range)>,
    /// Symbols that get their value from data at the entry.
    from_data: BTreeSet<Symbol>,
    /// Whether every iteration is run exactly once.
    counted: bool,
    /// Facts about symbols around the scope.
    around: Assumptions,
    /// Facts about symbols inside the scope, on demand.
    known: OnceCell<Assumptions>,
    /// Elimination of the parameters from subsets and sums.
    eliminations: Rc<Eliminations>,
}

impl<'a> Scope<'a> {
    /// The scope of an entry, with what is known of symbols around it; `None` if it has no exit.
    pub fn of(sdfg: &'a Sdfg, state: &'a State, entry: NodeId, around: Assumptions) -> Option<Self> {
        let exit = state.exit_of(entry)?;
        let from_data = state
            .each_in_edge(entry)
            .filter_map(|(_, edge)| edge.given_symbol())
            .filter_map(|name| Symbol::new(name).ok())
            .collect();
        let counted = matches!(state.node(entry).kind, NodeKind::MapEntry(_));
        let parameters = scope_parameters(state, entry);
        let eliminations = Eliminations::of(&parameters, &around);
        Some(Scope {
            sdfg,
            state,
            entry,
            exit,
            parameters,
            from_data,
            counted,
            around,
            known: OnceCell::new(),
            eliminations,
        })
    }

    /// Facts about symbols inside the scope.
    fn known(&self) -> &Assumptions {
        self.known.get_or_init(|| {
            let mut known = self.around.clone();
            enter_scope(self.state, self.entry, &mut known);
            known
        })
    }

    /// Derived memlets of the edges outside at the connectors that are wanted, each with whether it is exact. `inner` tells it
    /// of the edges inside.
    pub fn segments(
        &self,
        inner: &BTreeMap<EdgeId, bool>,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Vec<(EdgeId, Memlet, bool)> {
        let mut segments = Vec::new();
        for edge in self.state.in_edges(self.entry) {
            let Some(name) = self.state.edge(edge).in_port().filter(|name| wanted(name)) else { continue };
            let inside = self.state.edges_at(self.entry, Port::Out(name));
            if let Some((access, volume, exact)) = self.union(inside, false, inner) {
                segments.push((edge, Flow::Read(access), volume, exact));
            }
        }
        for edge in self.state.out_edges(self.exit) {
            let Some(name) = self.state.edge(edge).out_port().filter(|name| wanted(name)) else { continue };
            let inside = self.state.edges_at(self.exit, Port::In(name));
            if let Some((to, volume, exact)) = self.union(inside, true, inner) {
                segments.push((edge, Flow::Write { to, resolution: self.resolution(inside) }, volume, exact));
            }
        }
        segments
            .into_iter()
            .filter(|(edge, ..)| !self.state.edge(*edge).memlet.declared)
            .map(|(edge, flow, volume, exact)| (edge, Memlet { flow, volume, declared: false }, exact))
            .collect()
    }

    /// The conflict resolution that all edges have.
    fn resolution(&self, edges: &[EdgeId]) -> Option<ConflictResolution> {
        let mut all = edges.iter().map(|edge| self.state.edge(*edge).memlet.resolution());
        let first = all.next().flatten()?;
        all.all(|other| other == Some(first)).then(|| first.clone())
    }

    /// Everything that the accesses reach in all iterations, how many elements move, and whether that is exact.
    fn union(
        &self,
        edges: &[EdgeId],
        writes: bool,
        inner: &BTreeMap<EdgeId, bool>,
    ) -> Option<(Access, Volume, bool)> {
        let found: Vec<(Access, bool)> =
            edges.iter().filter_map(|edge| self.inner_access(*edge, writes)).collect();
        let accesses: Vec<&Access> = found.iter().map(|(access, _)| access).collect();
        let first = *accesses.first()?;
        let same =
            |access: &&Access| access.container == first.container && access.is_queue() == first.is_queue();
        if accesses.len() != edges.len() || !accesses.iter().all(same) {
            return None;
        }
        let shape = self.sdfg.get_container(first.container)?.shape();
        let mut exact = edges.iter().all(|edge| inner.get(edge).copied().unwrap_or(true));
        let reached = self.reached(&accesses, shape);
        exact &= reached.is_exact() && found.iter().all(|(_, exact)| *exact);
        // A dynamic access may touch less than its subset.
        exact &= edges.iter().all(|edge| !self.state.edge(*edge).memlet.volume.is_dynamic());
        exact &= self.counted;
        let mut access = (*first).clone();
        *access.subset_mut() = reached.into_inner();
        Some((access, self.volume(edges), exact))
    }

    /// Reads or writes of an inner edge, and their exactness: at a nested SDFG, its accesses to the memory.
    fn inner_access(&self, edge: EdgeId, writes: bool) -> Option<(Access, bool)> {
        let edge = self.state.edge(edge);
        let (access, node, connector) = if writes {
            (edge.memlet.write_access()?, edge.src, &edge.src_connector)
        } else {
            (edge.memlet.read_access()?, edge.dst, &edge.dst_connector)
        };
        let NodeKind::Nested(nested) = &self.state.node(node).kind else {
            return Some((access.clone(), true));
        };
        let footprint = connector.as_deref().and_then(|name| footprint(nested, name, access, writes));
        let footprint = footprint.unwrap_or_else(|| Approx::Over(access.clone()));
        let exact = footprint.is_exact();
        Some((footprint.into_inner(), exact))
    }

    /// All elements that the accesses name in any iteration.
    ///
    /// The image of their union is the better bound where they adjoin, as in a stencil; the union of their images where
    /// they do not meet within one iteration.
    fn reached(&self, accesses: &[&Access], shape: &[Expr]) -> Approx<Subset> {
        // Validation tells of a subset that has other dimensions than its container.
        if accesses.iter().any(|access| access.subset().rank() != shape.len()) {
            return Approx::Over(Subset::full(shape));
        }
        if let [access] = accesses {
            return self.image(access.subset(), shape);
        }
        let subsets = accesses.iter().map(|access| Approx::Exact(access.subset().clone()));
        let joined = join(subsets, shape, self.known());
        if !joined.is_exact() && !shape.is_empty() && *joined.as_inner() == Subset::full(shape) {
            return joined;
        }
        let image = self.image(joined.as_inner(), shape);
        let first = Approx::new(image.as_inner().clone(), joined.is_exact() && image.is_exact());
        if first.is_exact() {
            return first;
        }
        let outer = &self.around;
        let second = join(accesses.iter().map(|access| self.image(access.subset(), shape)), shape, outer);
        if second.is_exact() { second } else { first }
    }

    /// All elements that a subset names in any iteration. What data decides may be anywhere.
    fn image(&self, subset: &Subset, shape: &[Expr]) -> Approx<Subset> {
        let image = self.eliminations.image(subset).unwrap_or_else(|| Approx::Over(Subset::full(shape)));
        let mut exact = image.is_exact();
        let mut image = image.into_inner();
        for (range, extent) in image.0.iter_mut().zip(shape) {
            if range.mentions(&mut |symbol| self.is_inside(symbol)) {
                *range = Range::new(Expr::zero(), extent.clone());
                exact = false;
            }
        }
        Approx::new(image, exact)
    }

    /// Whether a symbol has its value only within the scope.
    fn is_inside(&self, symbol: &Symbol) -> bool {
        self.parameters.iter().any(|(own, _)| own == symbol) || self.from_data.contains(symbol)
    }

    /// The sum over all iterations and edges.
    fn volume(&self, edges: &[EdgeId]) -> Volume {
        let mut total = Expr::zero();
        let mut bound = false;
        for edge in edges {
            let volume = &self.state.edge(*edge).memlet.volume;
            bound |= volume.is_dynamic();
            let Some(sum) = volume.bound().and_then(|each| self.sum(each)) else { return Volume::Dynamic };
            total = &total + &sum;
        }
        match (self.counted, bound) {
            (false, _) => Volume::Dynamic,
            (true, true) => Volume::AtMost(total),
            (true, false) => Volume::Exact(total),
        }
    }

    /// Sum of a number over all iterations; `None` without a closed form that is known to hold.
    fn sum(&self, each: &Expr) -> Option<Expr> {
        let sum = self.eliminations.sum(each)?;
        let is_from_data = sum.mentions(&mut |symbol| self.from_data.contains(symbol));
        (!is_from_data).then_some(sum)
    }
}

/// The bounding union of several subsets of a container. A dimension whose bounds go beyond [`MOST_OPERANDS`] is all of it.
fn join(
    subsets: impl Iterator<Item = Approx<Subset>>,
    shape: &[Expr],
    known: &Assumptions,
) -> Approx<Subset> {
    let mut given_up = vec![false; shape.len()];
    let whole = |subset: Approx<Subset>, given_up: &[bool]| {
        let exact = subset.is_exact() && !given_up.contains(&true);
        let mut subset = subset.into_inner();
        for ((range, extent), _) in
            subset.0.iter_mut().zip(shape).zip(given_up).filter(|(_, given_up)| **given_up)
        {
            *range = Range::new(Expr::zero(), extent.clone());
        }
        Approx::new(subset, exact)
    };
    let union = |a: Approx<Subset>, b: Approx<Subset>| {
        let union = a.union(&whole(b, &given_up), known);
        for (range, given_up) in union.as_inner().0.iter().zip(&mut given_up) {
            *given_up |= is_crowded(&range.begin) || is_crowded(&range.end);
        }
        whole(union, &given_up)
    };
    subsets.reduce(union).unwrap_or_else(|| Approx::Over(Subset(Vec::new())))
}

/// Whether a summand is the least or greatest of too many operands.
fn is_crowded(bound: &Expr) -> bool {
    bound.view().terms.iter().flat_map(Term::factors).any(|(atom, _)| {
        matches!(atom, Atom::Min(_) | Atom::Max(_)) && atom.operands().count() > MOST_OPERANDS
    })
}
