//! [`DoubleBuffering`].

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::dependence::{AccessMode, IteratedAccess, Iteration, Iterations, meets};
use sdfg::analysis::symbols::bound_symbols;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    BlockId, BlockKind, ContainerId, ContainerKind, Flow, Layout, Lifetime, NodeId, NodeKind, Sdfg, StateId,
    Transition,
};
use sdfg::subset::Range;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::{CompareOp, Expression};
use serde::{Deserialize, Serialize};

use super::relayout::sees_strides;
use super::{anchored, described, iterations};
use crate::engine::{
    Claim, Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Tables, Transformation,
    state_of,
};
use crate::loops::{Counted, accesses_of_state, plain_state};
use crate::pattern::{BlockClass, Pattern};

/// Gives a transient that each iteration of a loop fills and then processes two buffers: the next iteration's
/// is filled while the current one is processed.
///
/// A map becomes such a loop by `MapToForLoop`, and `LocalStorage` makes the transient.
///
/// # When it applies
///
/// The loop counts, and its body is one state with one access node of the transient. The nodes that lead to
/// this node are the *filling* part of the state, the others the *processing* part. The transient is used in
/// the loop alone, and each iteration writes the elements of it that it reads.
///
/// # Refusals
///
/// - The body has several blocks, or the loop may be left early.
/// - The transient may keep elements from one iteration to another, is used elsewhere, or is passed on as a
///   whole.
/// - Data passes from the filling to the processing part and not through the transient.
/// - The processing part of an iteration and the filling part of the next one may touch the same element of
///   another container, and one of them writes it.
///
/// # Before
///
/// ```sdft
/// sdfg pipeline {
///   symbol N: i64
///   array A: f64[N, 8]
///   array B: f64[N, 8]
///   transient array T: f64[8]
///
///   for rows: i = 0:N {
///     state s {
///       access A
///       access T
///       access B
///       map m [j = 0:8] {
///         tasklet f (x) -> (y) { y = 2 * x }
///         m.T -> f.x: T[7 - j]
///         f.y -> m.B: B[i, j]
///       }
///       A -> T: A[i, 0:8] -> T[0:8]
///       T -> m.T
///       m.B -> B
///     }
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg pipeline {
///   symbol N: i64
///   array A: f64[N, 8]
///   array B: f64[N, 8]
///   transient array T: f64[2, 8] lifetime(sdfg)
///
///   if "rows.case0": 0 < N {
///     start "s.copy0"
///     for rows: i = 0:N - 1 {
///       state "s.after0" {
///         access B
///         map m [j = 0:8] {
///           tasklet f (x) -> (y) { y = 2 * x }
///           m.T -> f.x: T[i % 2, 7 - j]
///           f.y -> m.B: B[i, j]
///         }
///         access T
///         access A
///         access T_1 = T
///         T -> m.T
///         m.B -> B
///         A -> T_1: A[i + 1, 0:8] -> T[(i + 1) % 2, 0:8]
///       }
///     }
///     -> "s.after0.copy0"
///     state "s.copy0" {
///       access A
///       access T
///       A -> T: A[0, 0:8] -> T[0, 0:8]
///     }
///     -> rows
///     state "s.after0.copy0" {
///       access B
///       map m [j = 0:8] {
///         tasklet f (x) -> (y) { y = 2 * x }
///         m.T -> f.x: T[(N + 1) % 2, 7 - j]
///         f.y -> m.B: B[N - 1, j]
///       }
///       access T
///       T -> m.T
///       m.B -> B
///     }
///   }
/// }
/// ```
///
/// # Soundness
///
/// The first buffer is filled before the loop, and the last one processed after it. In between, the
/// processing part of iteration `i` and the filling part of iteration `i + 1` have no order. They touch no
/// common element: the transient's iterations take turns in the two buffers, and the check proves it for
/// every other container.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DoubleBuffering {
    /// The transient; empty takes the first that passes.
    pub array: String,
}

static METADATA: Metadata = Metadata {
    name: "DoubleBuffering",
    group: Group::Data,
    summary: "Fills a buffer for the next iteration of a loop while the current one is processed.",
    source: "paper, Table 4 and Appendix B.2",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("double_buffering.rs"),
    parameters: &[Parameter {
        name: "array",
        ty: "name of a container",
        default: Some("\"\""),
        summary: "The transient; empty takes the first that passes.",
    }],
};

anchored!(DoubleBuffering);

/// The parts of the body, by structure alone.
struct Parts {
    state_block: BlockId,
    state: StateId,
    container: ContainerId,
    /// The access node of the transient and all before it.
    filling: BTreeSet<NodeId>,
}

impl Parts {
    fn of(site: &Site<'_>, counted: &Counted<'_>, id: ContainerId) -> Result<Self, Refusal> {
        let sdfg = site.sdfg;
        let label = &sdfg.block(counted.block).label;
        let [state_block] = sdfg.region(counted.repeated.body).blocks[..] else {
            return Err(Refusal::structure(label, "has a body of several blocks"));
        };
        let Some(state) = state_of(sdfg, state_block) else {
            return Err(Refusal::structure(label, "has a body that is no state"));
        };
        let (graph, tree) = (sdfg.state(state), site.scopes_of(state));
        let container = sdfg.container(id);
        let name = container.name.as_str();
        if !container.transient || !matches!(container.kind, ContainerKind::Array(_) | ContainerKind::Scalar)
        {
            return Err(Refusal::container(name, "is no transient array or scalar"));
        }
        let nodes: Vec<NodeId> = graph.accesses_of(id).collect();
        let [node] = nodes[..] else {
            return Err(Refusal::container(name, "has not exactly one access node in the body"));
        };
        if tree.scope_of(node).is_some() {
            return Err(Refusal::container(name, "is in a scope"));
        }
        if graph.in_edges(node).is_empty() || graph.out_edges(node).is_empty() {
            return Err(Refusal::container(name, "is not filled and then read in the body"));
        }
        let named = |edge: &sdfg::ir::Edge| edge.memlet.accesses().any(|access| access.container == id);
        let passed = graph.edges().filter(|(_, edge)| named(edge)).flat_map(|(_, edge)| [edge.src, edge.dst]);
        let needs_rank = |node: &NodeId| {
            sees_strides(graph, *node) || matches!(graph.node(*node).kind, NodeKind::Reduce(_))
        };
        if let Some(node) = passed.into_iter().find(needs_rank) {
            let label = &graph.node(node).label;
            return Err(Refusal::container(name, format!("is passed to `{label}` as a whole")));
        }
        let (mut filling, mut waiting) = (BTreeSet::new(), vec![node]);
        while let Some(next) = waiting.pop() {
            if filling.insert(next) {
                waiting.extend(graph.each_in_edge(next).map(|(_, edge)| edge.src));
                waiting.extend(tree.children(Some(next)));
                waiting.extend(graph.exit_of(next));
            }
        }
        let passes_by = |edge: &sdfg::ir::Edge| {
            filling.contains(&edge.src)
                && !filling.contains(&edge.dst)
                && graph.node(edge.src).kind.container().is_none()
                && !matches!(edge.memlet.flow, Flow::Order)
        };
        if let Some((_, edge)) = graph.edges().find(|(_, edge)| passes_by(edge)) {
            let reason = format!("passes data to `{}` and not through `{name}`", graph.node(edge.dst).label);
            return Err(Refusal::structure(&graph.node(edge.src).label, reason));
        }
        Ok(Parts { state_block, state, container: id, filling })
    }

    /// Proves that the processing part of an iteration and the filling part of the next one share nothing that one writes.
    fn check_overlap(
        &self,
        site: &Site<'_>,
        counted: &Counted<'_>,
        evidence: &mut Evidence,
    ) -> Result<(), Refusal> {
        let (sdfg, graph) = (site.sdfg, site.sdfg.state(self.state));
        let tree = site.scopes_of(self.state);
        let range = &counted.range;
        let known = site.facts().whenever(sdfg, counted.block);
        let next = BTreeMap::from([(counted.symbol.clone(), self.next(counted))]);
        let Some(mut iterations) = Iterations::of_loop(sdfg, counted.block) else { return Ok(()) };
        // The last iteration has no next one.
        iterations.symbols =
            vec![(counted.symbol.clone(), Range { end: &range.end - &range.step, ..range.clone() })];
        let accesses = accesses_of_state(sdfg, self.state);
        let fills = |edge| self.filling.contains(&graph.edge(edge).dst);
        for first in
            accesses.iter().filter(|access| !fills(access.edge) && access.container != self.container)
        {
            for second in accesses.iter().filter(|access| fills(access.edge)) {
                if first.container != second.container || !(first.writes() || second.writes()) {
                    continue;
                }
                let iterated = |edge, mode: AccessMode| IteratedAccess::of_edge(graph, &tree, edge, mode);
                let (own, other) = (iterated(first.edge, first.mode), iterated(second.edge, second.mode));
                let is_apart = own.zip(other).is_some_and(|(mut own, mut other)| {
                    other.subset = other.subset.substitute(&next);
                    for around in &mut other.around {
                        around.symbols.iter_mut().for_each(|(_, range)| *range = range.substitute(&next));
                    }
                    own.around.insert(0, iterations.clone());
                    other.around.insert(0, iterations.clone());
                    meets(&own, &other, 1, Iteration::Same(1), &known).is_refuted()
                });
                let name = &sdfg.container(first.container).name;
                if !is_apart {
                    return Err(Refusal::Conflict {
                        container: name.clone(),
                        first: format!("`{name}[{}]` of an iteration", first.subset),
                        second: format!(
                            "`{name}[{}]`, which fills the buffer of the next one,",
                            second.subset
                        ),
                        reason: "may be the same element",
                    });
                }
                let claim = Claim::Disjoint {
                    symbol: counted.symbol.clone(),
                    range: iterations.symbols[0].1.clone(),
                    first: first.subset.clone(),
                    second: second.subset.substitute(&next),
                };
                evidence.note(name.clone(), claim);
            }
        }
        Ok(())
    }

    fn next(&self, counted: &Counted<'_>) -> Expr {
        &Expr::symbol(counted.symbol.clone()) + &counted.range.step
    }
}

impl DoubleBuffering {
    /// The transient, with the parts of the body: that of the parameter, or the first of which `passes` holds.
    fn parts(
        &self,
        site: &Site<'_>,
        counted: &Counted<'_>,
        passes: &mut dyn FnMut(&Parts) -> Result<(), Refusal>,
    ) -> Result<Parts, Refusal> {
        let mut refused = None;
        let wanted = |name: &str| self.array.is_empty() || self.array == name;
        for (id, _) in site.sdfg.containers().filter(|(_, found)| found.transient && wanted(&found.name)) {
            match Parts::of(site, counted, id).and_then(|parts| passes(&parts).map(|()| parts)) {
                Ok(parts) => return Ok(parts),
                Err(refusal) => refused = refused.or(Some(refusal)),
            }
        }
        let label = &site.sdfg.block(counted.block).label;
        Err(refused.unwrap_or_else(|| match self.array.is_empty() {
            true => Refusal::structure(label, "fills no transient"),
            false => Refusal::Parameter {
                parameter: "array",
                reason: format!("there is no transient `{}`", self.array),
            },
        }))
    }

    fn legal(&self, site: &Site<'_>) -> Result<(Parts, Evidence), Refusal> {
        let counted = Counted::of(site)?;
        counted.symbols_die(site)?;
        if counted.range.is_empty(&site.facts().whenever(site.sdfg, counted.block)).is_proved() {
            return Err(Refusal::structure(&site.sdfg.block(counted.block).label, "has no iterations"));
        }
        let mut evidence = Evidence::default();
        let private = counted.private(site);
        let parts = self.parts(site, &counted, &mut |parts| {
            plain_state(site.sdfg, parts.state)?;
            let (graph, name) = (site.sdfg.state(parts.state), &site.sdfg.container(parts.container).name);
            let binds = |(node, _): &(NodeId, _)| bound_symbols(graph, *node).contains(&counted.symbol);
            if let Some((_, node)) = graph.nodes().find(binds) {
                return Err(Refusal::structure(&node.label, "hides the symbol of the loop"));
            }
            if !private.contains(&parts.container) {
                let reason = "may keep elements from one iteration to another, or is used elsewhere";
                return Err(Refusal::container(name, reason));
            }
            let mut found = Evidence::default();
            found.note(name.clone(), Claim::NoOtherUse);
            parts.check_overlap(site, &counted, &mut found)?;
            evidence = found;
            Ok(())
        })?;
        Ok((parts, evidence))
    }
}

impl Transformation for DoubleBuffering {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::block("loop", BlockClass::Loop)
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        self.legal(site).map(|(_, evidence)| evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let block = found.block(0);
        let here = Match { calls: Vec::new(), elements: found.elements.clone() };
        let tables = Tables::new();
        let known = Site::of(editor.sdfg(), &here, &tables).and_then(|site| {
            let counted = Counted::of(&site).ok()?;
            let legal = self.legal(&site).map(|(parts, _)| parts);
            let parts = legal.or_else(|_| self.parts(&site, &counted, &mut |_| Ok(()))).ok()?;
            let known = site.facts().whenever(site.sdfg, block);
            let runs = counted.range.is_empty(&known).is_refuted();
            Some((parts, counted.symbol, counted.range, counted.repeated.body, runs))
        });
        let Some((parts, symbol, range, body, runs)) = known else { return Err(EditError::NoBlock(block)) };
        let label = editor.sdfg().block(block).label.clone();
        let written = |sdfg: &Sdfg, value: &Expr| iterations::bound(sdfg, &label, value);
        let fill = parts.state_block;
        // A buffer is filled in one execution of the state and read in the next one.
        editor.change_container(parts.container, |container| container.lifetime = Lifetime::Sdfg)?;
        let process = editor.split_state(fill, &parts.filling)?;
        let process_state = state_of(editor.sdfg(), process).ok_or(EditError::NoBlock(process))?;
        // Iterations take turns in the two buffers.
        let counter = Expr::symbol(symbol.clone());
        let ascends = range.step.as_int().is_some_and(|step| step > 0);
        let number = if ascends {
            (&counter - &range.begin).floor_div(&range.step)
        } else {
            (&range.begin - &counter).floor_div(&-&range.step)
        };
        for state in [parts.state, process_state] {
            choose_buffer(editor, state, parts.container, &number.modulo(&Expr::int(2)))?;
        }
        editor.change_container(parts.container, |container| {
            container.kind = ContainerKind::Array(twice(&container.kind));
        })?;
        // Without iterations, nothing is filled.
        let goes_on = if ascends { CompareOp::Less } else { CompareOp::Greater };
        let is_there = Expression::compare(
            goes_on,
            written(editor.sdfg(), &range.begin)?,
            written(editor.sdfg(), &range.end)?,
        );
        if !runs {
            editor.guard_block(block, &is_there, false)?;
        }
        let first = copied(editor, fill, block, (&symbol, &range.begin))?;
        let end = &range.begin + &(&range.step * &(&range.steps() - &Expr::one()));
        let last = copied(editor, process, block, (&symbol, &end))?;
        let next = BTreeMap::from([(symbol.clone(), &counter + &range.step)]);
        editor.substitute_in_scope(parts.state, None, &next)?;
        editor.copy_nodes(parts.state, process_state)?;
        editor.remove_block(fill)?;
        editor.change_region(body, |region| region.start = Some(process))?;
        let bound = written(editor.sdfg(), &(&range.end - &range.step))?;
        editor.change_block(block, |found| {
            if let BlockKind::Loop(repeated) = &mut found.kind {
                repeated.condition = Expression::compare(goes_on, Expression::name(symbol.as_str()), bound);
            }
        })?;
        iterations::redirect_to(editor, block, first)?;
        for id in editor.sdfg().transitions_from(block) {
            editor.change_transition(id, |transition| transition.src = last)?;
        }
        for (src, dst) in [(first, block), (block, last)] {
            editor.add_transition(Transition {
                src,
                dst,
                condition: None,
                assignments: Vec::new(),
                loc: None,
            })?;
        }
        Ok(())
    }
}

/// The layout of two buffers, one behind the other.
fn twice(kind: &ContainerKind) -> Layout {
    let mut layout = kind.layout().cloned().unwrap_or_else(|| Layout::packed(Vec::new()));
    layout.shape.insert(0, Expr::int(2));
    layout.strides.insert(0, layout.total_size.clone());
    layout.total_size = &layout.total_size * &Expr::int(2);
    layout
}

/// Lets all accesses of a container in a state be those of one of its buffers.
fn choose_buffer(
    editor: &mut Editor<'_>,
    state: StateId,
    container: ContainerId,
    buffer: &Expr,
) -> Result<(), EditError> {
    let memlets: Vec<_> = editor.state(state)?.edges().map(|(id, edge)| (id, edge.memlet.clone())).collect();
    for (edge, mut memlet) in memlets {
        let mut is_named = false;
        for access in memlet.accesses_mut().filter(|access| access.container == container) {
            access.subset_mut().0.insert(0, Range::index(buffer.clone()));
            is_named = true;
        }
        if is_named {
            editor.set_memlet(state, edge, memlet)?;
        }
    }
    Ok(())
}

/// A copy of a block of the body for one value of the symbol, in the region of the loop.
fn copied(
    editor: &mut Editor<'_>,
    block: BlockId,
    repeated: BlockId,
    (symbol, value): (&Symbol, &Expr),
) -> Result<BlockId, EditError> {
    // A branch gives the block a region of its own for a while.
    let branch = editor.guard_block(block, &Expression::bool(true), false)?;
    let (from, into) = (editor.sdfg().block(block).region, editor.sdfg().block(repeated).region);
    let copies = editor.copy_region(from, into, &BTreeMap::from([(symbol.clone(), value.clone())]))?;
    editor.take_arm(branch)?;
    copies.get(&block).copied().ok_or(EditError::NoBlock(block))
}
