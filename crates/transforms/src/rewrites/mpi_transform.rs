//! [`MpiTransform`].

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::ScopeTree;
use sdfg::analysis::symbol_facts_at;
use sdfg::edit::{Cover, EditError, Editor, LeadingDimension, Partials};
use sdfg::ir::{
    Access, Blocks, ContainerId, Cut, Distribution, Edge, EdgeId, Flow, Lifetime, Map, Memlet, Node, NodeId,
    NodeKind, Parts, Schedule, ScheduleKind, StateId,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};
use serde::{Deserialize, Serialize};

use super::defined_before::cover;
use super::distribute_container::without_halos;
use super::fill::{Fill, neutral_of};
use super::map_tiling::MapTiling;
use super::moved_data::{Moved, check_contents, outer_edges, outermost_on_host};
use super::partition::{Accessed, Domain, fixed_symbols};
use super::{anchored, described, nested_maps};
use crate::engine::{Evidence, Group, Match, Metadata, Parameter, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Distributes the iterations of a map over ranks, and the data of the map with them.
///
/// The map is divided into `parts`, and a new map around it with the schedule `mpi` gives each rank one part:
/// ranks are numbered with the last divided dimension fastest. Containers of which a part needs only a piece
/// get a transient that is cut over the same grid of ranks, with halos where parts share elements. Copies
/// before and after the map move the data. Each rank accumulates what a conflict resolution combines over
/// divided dimensions in partial results of its own, which copies with that resolution combine.
///
/// # When it applies
///
/// The map is outside of all scopes. Each divided dimension selects the elements that are written, or is
/// combined over by a conflict resolution.
///
/// # Refusals
///
/// - The map is in a scope or a nested SDFG, has the schedule of a device, `mpi` or `simd`, or gets symbols from
///   data.
/// - There are more parts than dimensions, or a divided range depends on a parameter of the map.
/// - The map uses a stream, view, reference or constant from outside.
/// - Two parts may write one element, and no conflict resolution combines them.
/// - A conflict resolution has no neutral element.
/// - Two edges of the map write the same elements.
/// - An iteration reads an element after it wrote it, and would read another part than the one that it writes. One part serves both
///   if it is cut for the read as for the write, apart from halos.
/// - A node that the map waits for, or that waits for the map, touches its data at another access node.
/// - A part that is copied has no exact form. Arguments, and containers that an earlier state or counted loops set as a whole, may
///   be copied beyond what the map reads.
///
/// # Before
///
/// ```sdft
/// sdfg smooth {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///
///   state s {
///     access A
///     map m [i = 1:N - 1] {
///       tasklet t (l, r) -> (y) { y = l + r }
///       m.A -> t.l: A[i - 1]
///       m.A -> t.r: A[i + 1]
///       t.y -> m.B: B[i]
///     }
///     access B
///     A -> m.A
///     m.B -> B
///   }
/// }
/// ```
///
/// # After
///
/// With `parts=[4]`:
///
/// ```sdft
/// sdfg smooth {
///   symbol N: i64
///   array A: f64[N]
///   array B: f64[N]
///   transient array A_part0: f64[N] distribution(grid(4)[balanced(0, 1, N - 1) halo(1, 1)])
///   transient array B_part0: f64[N] distribution(grid(4)[balanced(0, 1, N - 1)])
///
///   state s {
///     access A
///     access B
///     access "m.local0" = A_part0
///     access "m.local1" = B_part0
///     map "m.tiles0" [i_tile0 = 0:4] schedule(mpi) {
///       map m [i = (N*i_tile0 - 2*i_tile0) // 4 + 1:(N*i_tile0 + N - 2*i_tile0 + 2) // 4] {
///         tasklet t (l, r) -> (y) { y = l + r }
///         m.A -> t.l: A_part0[i - 1]
///         m.A -> t.r: A_part0[i + 1]
///         t.y -> m.B: B_part0[i]
///       }
///       "m.tiles0".A_part0 -> m.A
///       m.B -> "m.tiles0".B_part0
///     }
///     A -> "m.local0"
///     "m.local1" -> B: B_part0[1:N - 1] -> B[1:N - 1]
///     "m.tiles0".B_part0 -> "m.local1"
///     "m.local0" -> "m.tiles0".A_part0
///   }
/// }
/// ```
///
/// # Soundness
///
/// Every iteration is in exactly one part. It reads the values that the container had before the map, and no
/// two iterations of a map exchange data. The refusals keep each copy in the place of the accesses that it
/// stands for, and what an iteration reads after it wrote it lies in the part that it writes. The copies write
/// exactly the elements that the map wrote. Partial results begin with the neutral element and are combined once
/// each; sums of floating-point numbers may differ in rounding.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MpiTransform {
    /// Number of parts of each dimension of the map, from the first; 0 and 1 leave a dimension whole.
    pub parts: Vec<u32>,
}

impl Default for MpiTransform {
    fn default() -> Self {
        MpiTransform::new([2])
    }
}

static METADATA: Metadata = Metadata {
    name: "MPITransform",
    group: Group::Hardware,
    summary: "Distributes a map and its data over ranks.",
    source: "paper, Table 4 and Appendix B; DESIGN, decision 23",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("mpi_transform.rs"),
    parameters: &[Parameter {
        name: "parts",
        ty: "list of integers",
        default: Some("[2]"),
        summary: "Number of parts of each dimension of the map, from the first; 0 and 1 leave a dimension whole.",
    }],
};

anchored!(MpiTransform);

impl MpiTransform {
    /// So many parts of each dimension.
    pub fn new(parts: impl IntoIterator<Item = u32>) -> Self {
        MpiTransform { parts: parts.into_iter().collect() }
    }

    /// The tiling that makes the parts: at least one dimension is divided, if only into one part.
    fn tiling(&self) -> MapTiling {
        let divided: Vec<i64> =
            self.parts.iter().map(|&parts| if parts > 1 { i64::from(parts) } else { 0 }).collect();
        if divided.iter().all(|parts| *parts == 0) {
            return MapTiling::in_parts([1]);
        }
        MapTiling::in_parts(divided)
    }

    /// Numbers of parts of the divided dimensions.
    fn divided(&self) -> Vec<u32> {
        let divided: Vec<u32> = self.parts.iter().copied().filter(|parts| *parts > 1).collect();
        if divided.is_empty() { vec![1] } else { divided }
    }
}

impl Transformation for MpiTransform {
    described!(METADATA);

    fn moves_between_ranks(&self) -> bool {
        true
    }

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (state, entry) = (site.state(), site.found.node(0));
        let (map, label) = (outermost_on_host(site)?, site.label(0));
        if map.params.is_empty() {
            return Err(Refusal::structure(label, "has no dimensions"));
        }
        if self.parts.len() > map.params.len() {
            let (parts, count) = (self.parts.len(), map.params.len());
            let reason = format!("there are more numbers ({parts}) than dimensions of the map ({count})");
            return Err(Refusal::Parameter { parameter: "parts", reason });
        }
        let evidence = self.tiling().check(site)?;
        check_contents(site, entry)?;
        for edge in outer_edges(state, entry) {
            let memlet = &state.edge(edge).memlet;
            for access in memlet.accesses() {
                let container = site.sdfg.container(access.container);
                if access.is_queue() || container.is_alias() || container.constant.is_some() {
                    return Err(Refusal::container(
                        &container.name,
                        "is a stream, view, reference or constant",
                    ));
                }
                if let Some(resolution) = memlet.resolution()
                    && neutral_of(resolution, container.element).is_none()
                {
                    let reason = "is combined by a conflict resolution without a neutral element";
                    return Err(Refusal::container(&container.name, reason));
                }
            }
        }
        Moved::of(site, entry).check(&|write, read| self.is_in_place(site, write, read))?;
        Moved::of(site, entry).check_copies()?;
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry) = (found.state(), found.node(0));
        let schedule = nested_maps::entry_map(editor, state, entry)?.schedule;
        let edges = outer_edges(editor.state(state)?, entry);
        let (domain, accessed) = self.foreseen(editor, found, &edges)?;
        let at = Distributed { state, entry, domain };
        let (mut held, mut combined) = (Vec::new(), Vec::new());
        // Edges that read come first.
        for (edge, inside) in edges.iter().zip(&accessed) {
            let memlet = &editor.state(state)?.edge(*edge).memlet;
            match &memlet.flow {
                Flow::Read(access) => {
                    let access = access.clone();
                    held.extend(at.read(editor, *edge, &access, inside)?);
                }
                Flow::Write { to, resolution: None } => {
                    let to = to.clone();
                    at.write(editor, *edge, &to, inside, &held)?;
                }
                Flow::Write { to, resolution: Some(_) } => {
                    let to = to.container;
                    let cover = cover(editor, state, to);
                    combined.push((editor.copied_over(state, *edge, cover)?, inside));
                }
                Flow::Order | Flow::Copy { .. } | Flow::Value | Flow::Bind(_) => {}
            }
        }
        let outer = self.tile(editor, found)?;
        let (tiles, part) =
            (nested_maps::entry_map(editor, state, outer)?, nested_maps::entry_map(editor, state, entry)?);
        let over_ranks = Map { schedule: Schedule::from(ScheduleKind::Mpi), ..tiles };
        editor.replace_node(state, outer, NodeKind::MapEntry(over_ranks))?;
        editor.replace_node(state, entry, NodeKind::MapEntry(Map { schedule, ..part }))?;
        for (access, inside) in combined {
            let graph = editor.state(state)?;
            let goes_there = |edge: &EdgeId| {
                let memlet = &graph.edge(*edge).memlet;
                memlet.resolution().is_some()
                    && memlet.write_access().is_some_and(|to| to.container == access.container)
            };
            let exit = graph.exit_of(outer).unwrap_or(outer);
            let Some(edge) = graph.out_edges(exit).into_iter().find(goes_there) else { continue };
            at.combine(editor, (outer, edge), &access, inside)?;
        }
        Ok(())
    }
}

impl MpiTransform {
    /// Divides the map. Gives the entry of the map over the parts.
    fn tile(&self, editor: &mut Editor<'_>, found: &Match) -> Result<NodeId, EditError> {
        let (state, entry) = (found.state(), found.node(0));
        self.tiling().apply(editor, found)?;
        let outer = ScopeTree::of(editor.state(state)?).scope_of(entry);
        outer.ok_or(EditError::NoNode(entry))
    }

    /// Whether a part of the map writes over one edge to the copy that it reads over another one. Then an iteration may read what it
    /// wrote before.
    fn is_in_place(&self, site: &Site<'_>, write: EdgeId, read: EdgeId) -> bool {
        let (state, entry) = (site.found.state(), site.found.node(0));
        let edges = outer_edges(site.state(), entry);
        let mut copy = site.sdfg.clone();
        let mut editor = Editor::of_draft(&mut copy);
        let Ok((domain, accessed)) = self.foreseen(&mut editor, site.found, &edges) else { return false };
        let at = Distributed { state, entry, domain };
        let mut reads: Vec<(EdgeId, ContainerId, Option<Distribution>)> = Vec::new();
        for (edge, inside) in edges.iter().zip(&accessed) {
            match &site.state().edge(*edge).memlet.flow {
                Flow::Read(access) => {
                    let needed = at.needed(&editor, access.container, inside);
                    reads.push((*edge, access.container, needed));
                }
                Flow::Write { to, resolution: None } if *edge == write => {
                    let blocks = at.written(&editor, to.container, inside).0;
                    let own = reads.iter().filter(|(_, id, _)| *id == to.container);
                    if site.sdfg.container(to.container).distribution == Distribution::Blocks(blocks.clone())
                    {
                        return own.clone().any(|(edge, _, needed)| *edge == read && needed.is_none());
                    }
                    let owns =
                        |needed: &Distribution| needed.blocks().map(without_halos).as_ref() == Some(&blocks);
                    let serving = own.clone().find(|(_, _, needed)| needed.as_ref().is_some_and(owns));
                    return serving.is_some_and(|(edge, ..)| *edge == read);
                }
                Flow::Write { .. } | Flow::Order | Flow::Copy { .. } | Flow::Value | Flow::Bind(_) => {}
            }
        }
        false
    }

    /// The parts of the map, and what one of them accesses over each of these edges. Nothing is changed.
    ///
    /// What is copied has to be taken from the memlets of the undivided map: those around the parts are less exact.
    fn foreseen(
        &self,
        editor: &mut Editor<'_>,
        found: &Match,
        edges: &[EdgeId],
    ) -> Result<(Domain, Vec<Subset>), EditError> {
        let state = found.state();
        let seen = editor.attempt(|editor| {
            let seen = self.tile(editor, found).and_then(|outer| {
                editor.propagate_pending();
                let params = nested_maps::entry_map(editor, state, outer)?.params;
                let graph = editor.state(state)?;
                let subset = |edge: &EdgeId| {
                    let access = graph.edge(*edge).memlet.accesses().next();
                    access.map_or_else(|| Subset(Vec::new()), |access| access.subset().clone())
                };
                Ok((Domain { params, parts: self.divided() }, edges.iter().map(subset).collect()))
            });
            // An error takes the edits back.
            Err::<(), _>(seen)
        });
        match seen {
            Ok(()) => Err(EditError::NoNode(found.node(0))),
            Err(seen) => seen,
        }
    }
}

/// A map that is divided over ranks.
struct Distributed {
    state: StateId,
    /// The map over one part.
    entry: NodeId,
    domain: Domain,
}

/// The part of a container that the ranks hold for their reads.
struct Held {
    original: ContainerId,
    part: ContainerId,
    /// Its cuts without halos.
    owned: Blocks,
}

impl Distributed {
    /// The distribution of the copy that ranks read, of which each accesses this part; `None` if they read the container itself.
    fn needed(&self, editor: &Editor<'_>, id: ContainerId, inside: &Subset) -> Option<Distribution> {
        let known = symbol_facts_at(editor.sdfg(), self.state, None);
        let container = editor.sdfg().container(id);
        let accessed = Accessed { subset: inside, shape: container.shape() };
        let needed = self.domain.for_reads(&accessed, &known);
        let needed = needed.map_or(Distribution::Replicated, Distribution::Blocks);
        let has_copies = needed.blocks().is_some_and(Blocks::has_copies);
        (container.distribution != needed || has_copies).then_some(needed)
    }

    /// The elements that each rank owns where it writes this part, and the dimensions of the grid that cut nothing.
    fn written(&self, editor: &Editor<'_>, id: ContainerId, inside: &Subset) -> (Blocks, Vec<usize>) {
        let known = symbol_facts_at(editor.sdfg(), self.state, None);
        let shape = editor.sdfg().container(id).shape();
        self.domain.for_writes(&Accessed { subset: inside, shape }, &known)
    }

    /// Lets the ranks read what they hold, and tells where if that is another container. `inside` is what one part accesses.
    fn read(
        &self,
        editor: &mut Editor<'_>,
        edge: EdgeId,
        access: &Access,
        inside: &Subset,
    ) -> Result<Option<Held>, EditError> {
        let Some(needed) = self.needed(editor, access.container, inside) else { return Ok(None) };
        let name = editor.sdfg().container(access.container).name.clone();
        let cover = cover(editor, self.state, access.container);
        let name = editor.derived_container_name(&name, "part");
        let (double, _) = editor.add_double(self.state, edge, &name, cover)?;
        let owned = needed.blocks().map(without_halos);
        distribute(editor, double, needed)?;
        Ok(owned.map(|owned| Held { original: access.container, part: double, owned }))
    }

    /// Lets each rank write to what it owns. A map that changes a container in place does so in the part that it reads: no
    /// iteration reads what another one writes.
    fn write(
        &self,
        editor: &mut Editor<'_>,
        edge: EdgeId,
        access: &Access,
        inside: &Subset,
        held: &[Held],
    ) -> Result<(), EditError> {
        let (blocks, idle) = self.written(editor, access.container, inside);
        let container = editor.sdfg().container(access.container);
        let name = container.name.clone();
        if idle.iter().any(|along| self.domain.parts[*along] > 1) {
            let reason = "may be written by several parts: no part is known to have elements of its own";
            return Err(EditError::Container { container: name, reason });
        }
        if container.distribution == Distribution::Blocks(blocks.clone()) {
            return Ok(());
        }
        let name = editor.derived_container_name(&name, "part");
        let (double, _) = editor.add_double(self.state, edge, &name, Cover::Exact)?;
        let in_place = held.iter().find(|held| held.original == access.container && held.owned == blocks);
        if let Some(held) = in_place {
            editor.replace_container(self.state, double, held.part)?;
            return editor.remove_container(double);
        }
        distribute(editor, double, Distribution::Blocks(blocks))
    }

    /// Lets each rank accumulate in partial results, which copies combine.
    fn combine(
        &self,
        editor: &mut Editor<'_>,
        (outer, edge): (NodeId, EdgeId),
        access: &Access,
        inside: &Subset,
    ) -> Result<(), EditError> {
        let known = symbol_facts_at(editor.sdfg(), self.state, None);
        let container = editor.sdfg().container(access.container);
        let (name, element) = (container.name.clone(), container.element);
        let accessed = Accessed { subset: inside, shape: container.shape() };
        let (mut blocks, idle) = self.domain.for_writes(&accessed, &known);
        let resolution = editor.state(self.state)?.edge(edge).memlet.resolution();
        let Some(neutral) = resolution.and_then(|resolution| neutral_of(resolution, element)) else {
            let reason = "is combined by a conflict resolution without a neutral element";
            return Err(EditError::Container { container: name, reason });
        };
        let leading: Vec<LeadingDimension> = idle
            .iter()
            .filter(|along| self.domain.parts[**along] > 1)
            .map(|along| LeadingDimension {
                extent: Expr::int(i64::from(self.domain.parts[*along])),
                index: Expr::symbol(self.domain.params[*along].clone()),
            })
            .collect();
        let partial = editor.derived_container_name(&name, "partial");
        let partials = editor.add_partials(self.state, edge, (&partial, access.subset()), &leading)?;
        let ranks = idle.iter().filter(|along| self.domain.parts[**along] > 1);
        let ranks = ranks.map(|along| Some(Cut::new(*along, Parts::Equal)));
        blocks.cuts = ranks.chain(std::mem::take(&mut blocks.cuts)).collect();
        distribute(editor, partials.container, Distribution::Blocks(blocks.clone()))?;
        let indices = leading.iter().map(|dim| Range::index(dim.index.clone()));
        let own = inside.0.iter().zip(&blocks.cuts[leading.len()..]).zip(&partials.access.subset().0);
        let own = own.map(|((inside, cut), whole)| self.owned(inside, cut.as_ref(), whole));
        let part = Subset(indices.chain(own).collect());
        let fill = Fill {
            container: partials.container,
            part: &part,
            value: &neutral,
            resolution: None,
            origin: &name,
        };
        let begun = fill.add(editor, self.state, Some(outer))?;
        editor.add_order(self.state, begun, self.entry)?;
        self.add_combining_copies(editor, &partials, &leading, &name)
    }

    /// The positions of a part that it owns, of those that are combined.
    fn owned(&self, inside: &Range, cut: Option<&Cut>, whole: &Range) -> Range {
        let Some(cut) = cut else { return whole.clone() };
        let param = &self.domain.params[cut.along];
        let Some((first, _)) = super::partition::ends(inside) else { return inside.clone() };
        let at = |part: Expr| first.substitute(&BTreeMap::from([(param.clone(), part)]));
        let end = at(&Expr::symbol(param.clone()) + &Expr::one());
        // Parts of a strided range may begin beyond its end.
        let ends_there = at(Expr::int(i64::from(self.domain.parts[cut.along]))) == whole.end;
        Range::new(first.clone(), if ends_there { end } else { Expr::min(&end, &whole.end) })
    }

    /// Copies that combine the partial results with the container, those of one index along the leading dimensions after the other.
    fn add_combining_copies(
        &self,
        editor: &mut Editor<'_>,
        partials: &Partials,
        leading: &[LeadingDimension],
        origin: &str,
    ) -> Result<(), EditError> {
        let mut params = Vec::new();
        for _ in leading {
            let name = editor.derived_container_name(&format!("k{}", params.len()), "rank");
            params.push(Symbol::of(&name));
        }
        let indices = params.iter().map(|param| Range::index(Expr::symbol(param.clone())));
        let subset = Subset(indices.chain(partials.access.subset().0.iter().cloned()).collect());
        let from = Access::elements(partials.container, subset);
        let flow = Flow::Copy { from, to: partials.access.clone(), resolution: partials.resolution.clone() };
        let memlet = Memlet { volume: partials.access.volume(), flow, declared: false };
        let mut source = partials.node;
        if !params.is_empty() {
            let label = editor.derived_label(self.state, origin, "partial")?;
            let kind = NodeKind::Access(partials.container);
            source = editor.add_node(self.state, Node { label, kind, loc: None })?;
            editor.add_order(self.state, partials.node, source)?;
        }
        let (src_connector, dst_connector) = (None, None);
        let edge =
            Edge { src: source, src_connector, dst: partials.target, dst_connector, memlet, loc: None };
        editor.add_edge(self.state, edge)?;
        if !params.is_empty() {
            let label = editor.derived_label(self.state, origin, "combine")?;
            let ranges = leading.iter().map(|dim| Range::new(Expr::zero(), dim.extent.clone()));
            let schedule = Schedule::from(ScheduleKind::Sequential);
            let map = Map { schedule, ..Map::new(params, Subset(ranges.collect())) };
            editor.wrap_in_map(self.state, &BTreeSet::from([source]), &label, map)?;
        }
        Ok(())
    }
}

fn distribute(
    editor: &mut Editor<'_>,
    container: ContainerId,
    distribution: Distribution,
) -> Result<(), EditError> {
    let fixed = fixed_symbols(editor.sdfg());
    let varies = |expr: &Expr| !expr.free_symbols().is_subset(&fixed);
    // Where symbols change while the program runs, each execution of the state has a distribution of its own.
    let is_brief = distribution.exprs().chain(editor.sdfg().container(container).shape()).any(varies);
    editor.change_container(container, |container| {
        container.distribution = distribution;
        if is_brief {
            container.lifetime = Lifetime::State;
        }
    })
}
