//! Resolution of dataflow: the items of a state or scope, and their order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sdfg_graph::analysis::is_leaf;
use sdfg_graph::diagnostic::{Element, ElementPath, End};
use sdfg_graph::ir::ids::Id;
use sdfg_graph::ir::{Access, ContainerKind, EdgeId, Flow, NodeId, NodeKind};

use super::super::program::{BindCode, Body, Item, ItemForm, ItemPlace, Memory, PartCode};
use super::super::shadow::AccessKind;
use super::ends::Accessing;
use super::{Context, ResolveError, Resolver, StateContext};

/// Items: a node with its exit, or an edge that is a step of its own.
///
/// Copies are items of their own, because nothing orders two copies out of one access node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    Node(NodeId),
    Copy(EdgeId),
    Set(EdgeId),
}

/// The units of a body with what orders them.
#[derive(Default)]
struct Units {
    after: BTreeMap<Unit, BTreeSet<Unit>>,
    before: BTreeMap<Unit, BTreeSet<Unit>>,
}

impl Units {
    fn add(&mut self, unit: Unit) {
        self.after.entry(unit).or_default();
        self.before.entry(unit).or_default();
    }

    fn order(&mut self, first: Unit, then: Unit) {
        self.after.entry(first).or_default().insert(then);
        self.before.entry(then).or_default().insert(first);
    }

    /// The units such that every order goes forward, the smallest id first among those that are ready.
    fn sorted(&self, key: impl Fn(Unit) -> (usize, usize)) -> Option<Vec<Unit>> {
        let mut waits: BTreeMap<Unit, usize> = self.before.iter().map(|(unit, b)| (*unit, b.len())).collect();
        let ready = waits.iter().filter(|(_, n)| **n == 0).map(|(unit, _)| (key(*unit), *unit));
        let mut ready: BTreeSet<((usize, usize), Unit)> = ready.collect();
        let mut sorted = Vec::with_capacity(waits.len());
        while let Some((_, unit)) = ready.pop_first() {
            sorted.push(unit);
            for follower in &self.after[&unit] {
                if let Some(n) = waits.get_mut(follower) {
                    *n -= 1;
                    if *n == 0 {
                        ready.insert((key(*follower), *follower));
                    }
                }
            }
        }
        (sorted.len() == waits.len()).then_some(sorted)
    }
}

/// Whether an item has no items of its own.
fn is_plain(form: &ItemForm) -> bool {
    match form {
        ItemForm::Access
        | ItemForm::Copy(_)
        | ItemForm::Tasklet(_)
        | ItemForm::Reduce(_)
        | ItemForm::Library(_)
        | ItemForm::Set(_) => true,
        ItemForm::Map(_) | ItemForm::Consume(_) | ItemForm::Call(_) => false,
    }
}

impl Resolver {
    /// Resolves the dataflow of a state (`None`) or scope that a device runs; the answer is the number of the body.
    pub(super) fn body(
        &mut self,
        context: &mut Context<'_>,
        inner: &mut StateContext<'_>,
        scope: Option<NodeId>,
        device: Memory,
    ) -> Result<usize, ResolveError> {
        let number = self.program.bodies.len();
        self.program.bodies.push(Body::default());
        let units = units(context, inner, scope);
        let edge_key = |edge: EdgeId| (inner.state.edge(edge).src.index(), 1 + edge.index());
        let sorted = units.sorted(|unit| match unit {
            Unit::Node(node) => (node.index(), 0),
            Unit::Copy(edge) | Unit::Set(edge) => edge_key(edge),
        });
        let Some(sorted) = sorted else {
            let what = "a state with a cycle".to_owned();
            return Err(ResolveError::Malformed { path: Box::new(inner.path.clone()), what });
        };
        let place: BTreeMap<Unit, usize> = sorted.iter().enumerate().map(|(i, unit)| (*unit, i)).collect();
        let first_item = self.program.items.len();
        for (index, unit) in sorted.iter().enumerate() {
            let site = Arc::new(self.unit_path(inner, *unit));
            self.program.items.push(ItemPlace { body: number, index, site });
        }
        let mut body =
            Body { allocate: inner.lifetimes.remove(&scope).unwrap_or_default(), ..Body::default() };
        body.views = self.views(context, inner, scope, first_item as u32, device)?;
        if scope.is_some() {
            let own = body.allocate.iter().copied().chain(body.views.iter().map(|view| view.alias));
            self.size_containers(context, own, device);
        }
        for (index, unit) in sorted.iter().enumerate() {
            let by = Accessing { item: (first_item + index) as u32, device, is_copy: false };
            let (form, waits_for_streams) = match unit {
                Unit::Node(node) => self.node(context, inner, by, *node)?,
                Unit::Copy(edge) => self.copy(context, inner, by, *edge)?,
                Unit::Set(edge) => (ItemForm::Set(Box::new(self.binding(context, inner, by, *edge)?)), false),
            };
            body.waits_for_streams |= waits_for_streams;
            body.items.push(Item { form, number: by.item, waits_for_streams });
            body.waits.push(units.before[unit].len() as u32);
            body.followers.push(units.after[unit].iter().map(|unit| place[unit] as u32).collect());
        }
        body.reach = reach(&body.followers);
        body.is_plain = !body.waits_for_streams && body.items.iter().all(|item| is_plain(&item.form));
        self.program.bodies[number] = body;
        Ok(number)
    }

    fn unit_path(&self, inner: &StateContext<'_>, unit: Unit) -> ElementPath {
        match unit {
            Unit::Node(node) => inner.path.to(Element::Node(End::node(inner.state.node(node).label.clone()))),
            Unit::Copy(edge) | Unit::Set(edge) => self.edge_path(inner, edge),
        }
    }

    /// The views that are bound in a body, those that others view first.
    fn views(
        &mut self,
        context: &mut Context<'_>,
        inner: &StateContext<'_>,
        scope: Option<NodeId>,
        item: u32,
        device: Memory,
    ) -> Result<Vec<BindCode>, ResolveError> {
        let mut waiting = Vec::new();
        for (edge, _) in inner.state.edges() {
            let is_here = inner.tree.scope_of_edge(inner.state, edge) == scope;
            if is_here && is_bind_of(context, inner, edge, false) {
                waiting.push(self.binding(
                    context,
                    inner,
                    Accessing { item, device, is_copy: false },
                    edge,
                )?);
            }
        }
        let mut views: Vec<BindCode> = Vec::new();
        while !waiting.is_empty() {
            let aliases: BTreeSet<usize> = waiting.iter().map(|view| view.alias).collect();
            let (ready, later): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|view| !aliases.contains(&view.target.end.container));
            if ready.is_empty() {
                let what = "views that view each other".to_owned();
                return Err(ResolveError::Malformed { path: Box::new(inner.path.clone()), what });
            }
            views.extend(ready);
            waiting = later;
        }
        Ok(views)
    }

    /// Resolves an edge that makes an alias name something.
    fn binding(
        &mut self,
        context: &mut Context<'_>,
        inner: &StateContext<'_>,
        by: Accessing,
        edge: EdgeId,
    ) -> Result<BindCode, ResolveError> {
        let Flow::Bind(target) = &inner.state.edge(edge).memlet.flow else {
            return Err(self.malformed(inner, edge, "an edge that should bind"));
        };
        let Some(alias) = alias_of(inner, edge, target).and_then(|id| context.containers.get(&id).copied())
        else {
            return Err(self.malformed(inner, edge, "a bind edge without a view or reference"));
        };
        // A reference outlives the state that sets it, so what it names is looked at there.
        let is_dynamic = inner.state.edge(edge).memlet.volume.is_dynamic();
        let is_window = is_dynamic && is_bind_of(context, inner, edge, false);
        let end = self.end(context, inner, by, edge, target, AccessKind::READ)?;
        let target = PartCode { end, is_window };
        Ok(BindCode { alias, target })
    }
}

fn alias_of(inner: &StateContext<'_>, edge: EdgeId, target: &Access) -> Option<sdfg_graph::ir::ContainerId> {
    let edge = inner.state.edge(edge);
    let ends = [edge.dst, edge.src].map(|end| inner.state.node(end).kind.container());
    ends.into_iter().flatten().find(|container| *container != target.container)
}

/// Whether an edge binds a view, or a reference.
fn is_bind_of(context: &Context<'_>, inner: &StateContext<'_>, edge: EdgeId, reference: bool) -> bool {
    let Flow::Bind(target) = &inner.state.edge(edge).memlet.flow else { return false };
    let alias = alias_of(inner, edge, target).and_then(|id| context.sdfg.get_container(id));
    alias.is_some_and(|alias| matches!(alias.kind, ContainerKind::Reference(_)) == reference)
}

/// The units of a state or scope.
fn units(context: &Context<'_>, inner: &StateContext<'_>, scope: Option<NodeId>) -> Units {
    let mut units = Units::default();
    // An exit is a part of the unit of its entry.
    let unit_of = |node: NodeId| Unit::Node(inner.state.node(node).kind.exit_of().unwrap_or(node));
    for &node in inner.tree.children(scope) {
        units.add(unit_of(node));
    }
    let exit = scope.and_then(|entry| inner.tree.exit_of(entry));
    for (id, edge) in inner.state.edges() {
        if inner.tree.scope_of_edge(inner.state, id) != scope {
            continue;
        }
        let src = (Some(edge.src) != scope).then(|| unit_of(edge.src));
        let dst = (Some(edge.dst) != exit).then(|| unit_of(edge.dst));
        let is_access = |node: NodeId| matches!(inner.state.node(node).kind, NodeKind::Access(_));
        let is_copy = matches!(edge.memlet.flow, Flow::Copy { .. })
            && is_leaf(inner.state, id)
            && (is_access(edge.src) || is_access(edge.dst));
        let own = if is_copy {
            Some(Unit::Copy(id))
        } else {
            is_bind_of(context, inner, id, true).then_some(Unit::Set(id))
        };
        match (src, own, dst) {
            (src, Some(own), dst) => {
                units.add(own);
                if let Some(src) = src {
                    units.order(src, own);
                }
                if let Some(dst) = dst {
                    units.order(own, dst);
                }
            }
            (Some(src), None, Some(dst)) => units.order(src, dst),
            (None, None, _) | (_, None, None) => {}
        }
    }
    units
}

/// Reachable items of each item, as bits. Successors come after their item.
fn reach(followers: &[Vec<u32>]) -> Vec<u64> {
    let n = followers.len();
    let mut bits = vec![0_u64; (n * n).div_ceil(64)];
    let bit = |a: usize, b: usize| (a * n + b) / 64;
    let mask = |a: usize, b: usize| 1_u64 << ((a * n + b) % 64);
    for a in (0..n).rev() {
        for &next in &followers[a] {
            let next = next as usize;
            bits[bit(a, next)] |= mask(a, next);
            for b in next + 1..n {
                if bits[bit(next, b)] & mask(next, b) != 0 {
                    bits[bit(a, b)] |= mask(a, b);
                }
            }
        }
    }
    bits
}
