//! [`MapReduceFusion`].

use sdfg::analysis::{ScopeTree, Use, node_leads_to};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    Access, ConflictResolution, ContainerId, ContainerKind, EdgeId, Flow, Memlet, NodeId, NodeKind, Reduce,
    State,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::Expr;
use serde::{Deserialize, Serialize};

use super::fill::Fill;
use super::map_pair::private_transient;
use super::redundant_read_slice::binds_any;
use super::sole_write::SoleWrite;
use super::{anchored, described, nested_maps};
use crate::engine::{Claim, Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Lets a map write the result of a reduction with a conflict resolution, instead of a transient that the
/// reduction reads.
///
/// # When it applies
///
/// Each iteration of the map, and of maps in it, writes one element of the transient. The reduction reads
/// exactly the elements that all iterations write. If the reduction has an identity, a map before writes it
/// to the result.
///
/// # Refusals
///
/// - Something else uses the transient.
/// - The reduction reads other elements than the map writes.
/// - The map, or a node that is not behind the reduction, uses the container of the result.
/// - The result of the resolution depends on the order of elements: `replace`, `custom`.
/// - The map writes the transient with another resolution than that of the reduction.
/// - The element of the result cannot be named by the parameters of the map alone.
/// - A parameter of the map has the name of a symbol in the size of the result.
///
/// # Before
///
/// ```sdft
/// sdfg row_sums {
///   symbol N: i64
///   array A: f64[N, N]
///   array B: f64[N]
///   transient array T: f64[N, N]
///
///   state s {
///     access A
///     access T
///     map square [i = 0:N, j = 0:N] {
///       tasklet t (x) -> (y) { y = x * x }
///       square.A -> t.x: A[i, j]
///       t.y -> square.T: T[i, j]
///     }
///     reduce rows wcr(sum) axes(1)
///     access B
///     A -> square.A
///     square.T -> T
///     T -> rows: T[0:N, 0:N]
///     rows -> B: B[0:N]
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg row_sums {
///   symbol N: i64
///   array A: f64[N, N]
///   array B: f64[N]
///
///   state s {
///     access A
///     map square [i = 0:N, j = 0:N] {
///       tasklet t (x) -> (y) { y = x * x }
///       square.A -> t.x: A[i, j]
///       t.y -> square.T: B[i] wcr(sum)
///     }
///     access B
///     A -> square.A
///     square.T -> B
///   }
/// }
/// ```
///
/// # Soundness
///
/// Every written element is combined once, as by the reduction, and no element remains that the reduction
/// read and the map did not write. The identity is there before the first combination. The order of
/// combinations changes, so sums may differ in rounding.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapReduceFusion {}

static METADATA: Metadata = Metadata {
    name: "MapReduceFusion",
    group: Group::Map,
    summary: "Lets a map write the result of a reduction with a conflict resolution.",
    source: "paper, Table 4, Fig. 11a and section 6.2",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("map_reduce_fusion.rs"),
    parameters: &[],
};

anchored!(MapReduceFusion);

impl Transformation for MapReduceFusion {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([
            ("map", NodeClass::MapExit),
            ("between", NodeClass::Access),
            ("reduce", NodeClass::Reduce),
        ])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let tree = site.scopes();
        let pair = Pair::of(site.state(), &tree, site.found)?;
        let mut evidence = Evidence::default();
        pair.check_transient(site, &mut evidence)?;
        pair.check_result(site)?;
        let sizes = site.sdfg.container(pair.to.container).kind.size_symbols();
        if binds_any(site.state(), pair.entry, &sizes) {
            let reason = "has a parameter of the name of a symbol in the size of the result";
            return Err(Refusal::structure(site.label(0), reason));
        }
        nested_maps::no_declared_memlets(site, &pair.write.entries)?;
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, between, reduce) = (found.state(), found.node(1), found.node(2));
        let graph = editor.state(state)?;
        let tree = ScopeTree::of(graph);
        let Ok(pair) = Pair::of(graph, &tree, found) else { return Err(EditError::NoNode(reduce)) };
        let target = pair.target();
        let Pair { entry, into, outside, .. } = pair;
        let (to, path) = (pair.to.clone(), pair.write.path.clone());
        let (transient, scope) = (pair.write.container(), tree.scope_of(entry));
        let (operation, outer) = (pair.operation.clone(), pair.outer.cloned());
        let origin = graph.node(into).label.clone();
        for segment in path {
            let access = Access::elements(to.container, target.clone());
            let volume = editor.state(state)?.edge(segment).memlet.volume.clone();
            let flow = Flow::Write { to: access, resolution: Some(operation.resolution.clone()) };
            editor.set_memlet(state, segment, Memlet { flow, volume, declared: false })?;
        }
        editor.redirect_destination(state, outside, into, None)?;
        editor.remove_node(state, reduce)?;
        if editor.state(state)?.get_node(between).is_some() {
            editor.remove_node(state, between)?;
        }
        editor.remove_container(transient)?;
        if let Some(identity) = operation.identity {
            let value = identity.to_string();
            let fill = Fill {
                container: to.container,
                part: to.subset(),
                value: &value,
                resolution: outer.as_ref(),
                origin: &origin,
            };
            let begun = fill.add(editor, state, scope)?;
            editor.add_order(state, begun, entry)?;
        }
        Ok(())
    }
}

/// The nodes of a match.
struct Pair<'p> {
    entry: NodeId,
    between: NodeId,
    operation: &'p Reduce,
    /// The edge from the map to the transient.
    outside: EdgeId,
    write: SoleWrite<'p>,
    /// The elements that the reduction reads.
    from: &'p Subset,
    /// The elements that it writes.
    to: &'p Access,
    /// How it combines them with what is there.
    outer: Option<&'p ConflictResolution>,
    /// The access node that it writes.
    into: NodeId,
    /// For each dimension of the result the axis of the transient with the same coordinate.
    axes: Vec<Option<usize>>,
}

impl<'p> Pair<'p> {
    fn of(state: &'p State, tree: &ScopeTree, found: &Match) -> Result<Self, Refusal> {
        let [exit, between, reduce] = [0, 1, 2].map(|at| found.node(at));
        let label = |node: NodeId| state.node(node).label.as_str();
        let NodeKind::Reduce(operation) = &state.node(reduce).kind else {
            return Err(Refusal::structure(label(reduce), "is no reduction"));
        };
        let entry = state.node(exit).kind.exit_of();
        let entry = entry.ok_or_else(|| Refusal::structure(label(exit), "is the exit of no map"))?;
        let ([outside], [read], [own]) =
            (&state.in_edges(between)[..], &state.out_edges(between)[..], &state.in_edges(reduce)[..])
        else {
            let by = "another node than the map and the reduction".to_owned();
            return Err(Refusal::UsedElsewhere { container: label(between).to_owned(), by });
        };
        let [out] = state.out_edges(reduce)[..] else {
            return Err(Refusal::structure(label(reduce), "has several edges out"));
        };
        if state.edge(*outside).src != exit || read != own {
            return Err(Refusal::structure(label(between), "does not lead from the map to the reduction"));
        }
        let write = SoleWrite::behind(state, tree, *outside)?;
        if write.resolution.is_some() {
            let reason = "combines what it writes to the transient with what is there";
            return Err(Refusal::structure(label(exit), reason));
        }
        let (Flow::Read(from), Flow::Write { to, resolution: outer }) =
            (&state.edge(*read).memlet.flow, &state.edge(out).memlet.flow)
        else {
            return Err(Refusal::structure(label(reduce), "does not simply read and write"));
        };
        if outer.as_ref().is_some_and(|outer| *outer != operation.resolution) {
            return Err(Refusal::structure(label(reduce), "writes with another resolution than its own"));
        }
        let into = state.edge(out).dst;
        if state.node(into).kind.container() != Some(to.container) {
            let reason = "writes through the exit of a scope: let it write a transient first";
            return Err(Refusal::structure(label(reduce), reason));
        }
        let axes = axes(from.subset(), to.subset(), operation)
            .ok_or_else(|| Refusal::structure(label(reduce), "has a result of another shape"))?;
        Ok(Pair {
            entry,
            between,
            operation,
            outside: *outside,
            write,
            from: from.subset(),
            to,
            outer: outer.as_ref(),
            into,
            axes,
        })
    }

    /// The element of the result that an iteration of the map combines with.
    fn target(&self) -> Subset {
        let index = |(range, axis): (&Range, &Option<usize>)| match axis {
            None => range.begin.clone(),
            Some(axis) => {
                let distance = &self.write.access.subset().0[*axis].begin - &self.from.0[*axis].begin;
                &range.begin + &(&range.step * &distance)
            }
        };
        let indices: Vec<Expr> = self.to.subset().0.iter().zip(&self.axes).map(index).collect();
        Subset::element(&indices)
    }

    /// Nothing else uses the transient, and the reduction reads all elements of it that the map writes, and no others.
    fn check_transient(&self, site: &Site<'_>, evidence: &mut Evidence) -> Result<(), Refusal> {
        let id = self.write.container();
        private_transient(site, id, self.between)?;
        let (container, result) = (site.sdfg.container(id), site.sdfg.container(self.to.container));
        let name = container.name.as_str();
        evidence.note(name, Claim::NoOtherUse);
        if container.storage != result.storage {
            let reason = format!("lies in another memory than `{}`", result.name);
            return Err(Refusal::container(name, reason));
        }
        let known = site.known_in(site.scopes().scope_of(self.entry));
        let Some(written) = self.write.part(&known) else {
            let needed = format!("the map writes all of `{name}[{}]`", self.from);
            return Err(Refusal::Unproved { about: name.to_owned(), needed });
        };
        for (outer, inner) in [(self.from, &written), (&written, self.from)] {
            if !outer.covers(inner, &known).is_proved() {
                return Err(Refusal::Conflict {
                    container: name.to_owned(),
                    first: format!("the writes [{written}]"),
                    second: format!("the read [{}]", self.from),
                    reason: "are not the same elements",
                });
            }
            evidence.note(name, Claim::Covers { outer: outer.clone(), inner: inner.clone() });
        }
        let outer = self.to.subset().free_symbols();
        if let Some((symbol, _)) = self.write.parameters.iter().find(|(symbol, _)| outer.contains(symbol)) {
            let reason = format!("names the element of its result by `{symbol}`, a parameter of the map");
            return Err(Refusal::structure(site.label(2), reason));
        }
        Ok(())
    }

    /// The map does not touch the result, and nothing else does that runs neither before the map nor after the reduction.
    fn check_result(&self, site: &Site<'_>) -> Result<(), Refusal> {
        let (state, id) = (site.state(), self.to.container);
        let result = site.sdfg.container(id);
        let is_plain = matches!(result.kind, ContainerKind::Array(_) | ContainerKind::Scalar);
        if !is_plain || result.constant.is_some() {
            return Err(Refusal::container(&result.name, "is a view, reference, stream or constant"));
        }
        if matches!(self.operation.resolution, ConflictResolution::Replace | ConflictResolution::Custom(_)) {
            let reason = "combines elements by a function whose result may depend on their order";
            return Err(Refusal::structure(site.label(2), reason));
        }
        let touches = |edge: &EdgeId| names(&state.edge(*edge).memlet, id);
        if site.edges_within(self.entry).iter().any(touches) || state.in_edges(self.entry).iter().any(touches)
        {
            return Err(Refusal::container(&result.name, "is used by the map that would combine into it"));
        }
        if state.in_edges(self.into).len() != 1 {
            return Err(self.elsewhere(site, "another node that writes the same access node"));
        }
        let fills = self.operation.identity.is_some();
        for used in site.uses().in_state(id, site.found.state()) {
            match used {
                Use::Access(_, node) if node == self.into || node_leads_to(state, self.into, node) => {}
                Use::Access(_, node) if !fills && node_leads_to(state, node, self.entry) => {}
                Use::Access(..) => {
                    return Err(self.elsewhere(site, "a node that is not behind the reduction"));
                }
                Use::Memlet(_, edge) if matches!(state.edge(edge).memlet.flow, Flow::Bind(_)) => {
                    return Err(self.elsewhere(site, "a view"));
                }
                Use::Memlet(..) | Use::Condition(..) | Use::Block(_) | Use::Transition(_) => {}
            }
        }
        Ok(())
    }

    fn elsewhere(&self, site: &Site<'_>, by: &str) -> Refusal {
        let container = site.sdfg.container(self.to.container).name.clone();
        Refusal::UsedElsewhere { container, by: by.to_owned() }
    }
}

fn names(memlet: &Memlet, id: ContainerId) -> bool {
    memlet.accesses().any(|access| access.container == id)
}

/// For each dimension of the result its axis of the input: dimensions of one element may be there or not on either side, the
/// others that the reduction keeps pair in order. `None` if they do not, or if the input has strides.
fn axes(from: &Subset, to: &Subset, reduce: &Reduce) -> Option<Vec<Option<usize>>> {
    let is_kept = |axis: &usize| reduce.axes.as_ref().is_some_and(|axes| !axes.contains(axis));
    let is_long = |range: &Range| !range.size().is_one();
    let mut kept = (0..from.rank()).filter(is_kept).filter(|axis| is_long(&from.0[*axis]));
    let mut found = Vec::new();
    for range in &to.0 {
        let axis = if is_long(range) { Some(kept.next()?) } else { None };
        let is_plain = axis.is_none_or(|axis| from.0[axis].step.is_one());
        if !is_plain || !range.tile.is_one() {
            return None;
        }
        found.push(axis);
    }
    (kept.next().is_none() && from.0.iter().all(|range| range.tile.is_one())).then_some(found)
}

#[cfg(test)]
mod tests {
    use sdfg::ir::{ConflictResolution, ScheduleKind};

    use super::*;

    /// Axes that the reduction keeps pair with the dimensions of the result.
    #[test]
    fn axes_of_the_result_are_those_that_are_kept() {
        let subset = |text: &str| text.parse::<Subset>().unwrap_or_else(|error| panic!("{text}: {error}"));
        let of = |from: &str, to: &str| {
            let (resolution, schedule) = (ConflictResolution::Sum, ScheduleKind::Default);
            let reduce = Reduce { axes: Some(vec![1]), resolution, identity: None, schedule };
            axes(&subset(from), &subset(to), &reduce)
        };
        assert_eq!(of("0:N, 0:M", "0:N"), Some(vec![Some(0)]));
        assert_eq!(of("0:N, 0:M, 0:K", "0:N, 4, 0:K"), Some(vec![Some(0), None, Some(2)]));
        // The result lacks an axis, or has one too many.
        assert_eq!(of("0:N, 0:M", "4"), None);
        assert_eq!(of("0:N, 0:M", "0:N, 0:N"), None);
        // Strides, and tiles of which several elements are read at each step.
        assert_eq!(of("0:N:2, 0:M", "0:N"), None);
        assert_eq!(of("0:N, 0:M:2:2", "0:N"), None);
    }
}
