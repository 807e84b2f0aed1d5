//! The side tables of an SDFG, computed when they are first asked for and again after the graph has changed.
//!
//! Apart from the graph, so that nothing in the graph can go stale, and apart from the analyses, so that each of them stays
//! a function of a borrowed graph. Whether the graph changed is told by its [`Revision`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::control_graph::ControlGraph;
use super::cost::Costs;
use super::dominators::DominatorTree;
use super::footprint::Footprint;
use super::known::Known;
use super::liveness::Liveness;
use super::memlet_tree::MemletTrees;
use super::reaching::{ReachingDefinitions, ReachingSymbols};
use super::region_graph::RegionGraph;
use super::scope_tree::ScopeTree;
use super::touched::Touched;
use super::uses::Uses;
use crate::ir::{BlockKind, NodeId, RegionId, Revision, Sdfg, StateId};

/// Side tables of one SDFG, each computed on first request for its current revision.
///
/// A table is shared: whoever holds it may go on to edit the graph, and then holds the table of the graph before the
/// edit. Tables of states depend on that state alone and survive changes elsewhere. Those of the program survive a series of edits that
/// did not touch what they tell of, if they are told of it by [`follow`](Analyses::follow). A nested SDFG has tables of its own;
/// using one of these for several SDFGs in turn is right, but computes everything anew each time.
#[derive(Debug, Default)]
pub struct Analyses {
    revision: Revision,
    program: ProgramTables,
    states: BTreeMap<Revision, StateTables>,
}

/// Tables that any change of the SDFG invalidates, unless it is known what the change is.
#[derive(Clone, Debug, Default)]
struct ProgramTables {
    known: Option<Arc<Known>>,
    region_graphs: BTreeMap<RegionId, Arc<RegionGraph>>,
    dominators: BTreeMap<RegionId, Arc<DominatorTree>>,
    post_dominators: BTreeMap<RegionId, Arc<DominatorTree>>,
    control_graph: Option<Arc<ControlGraph>>,
    footprints: BTreeMap<StateId, Arc<Footprint>>,
    region_footprints: BTreeMap<RegionId, Arc<Footprint>>,
    liveness: Option<Arc<Liveness>>,
    reaching: Option<Arc<ReachingDefinitions>>,
    reaching_symbols: Option<Arc<ReachingSymbols>>,
    costs: Option<Arc<Costs>>,
    uses: Option<Arc<Uses>>,
}

/// Tables of one state.
#[derive(Clone, Debug, Default)]
struct StateTables {
    scopes: Option<Arc<ScopeTree>>,
    trees: Option<Arc<MemletTrees>>,
    order: Option<Arc<Option<Vec<NodeId>>>>,
}

impl Analyses {
    /// No tables yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The control-flow graph of a region.
    pub fn region_graph(&mut self, sdfg: &Sdfg, region: RegionId) -> Arc<RegionGraph> {
        let tables = &mut self.current(sdfg).region_graphs;
        tables.entry(region).or_insert_with(|| Arc::new(RegionGraph::of(sdfg, region))).clone()
    }

    /// The dominators of the blocks of a region.
    pub fn dominators(&mut self, sdfg: &Sdfg, region: RegionId) -> Arc<DominatorTree> {
        let graph = self.region_graph(sdfg, region);
        let tables = &mut self.program.dominators;
        tables.entry(region).or_insert_with(|| Arc::new(DominatorTree::dominators(&graph))).clone()
    }

    /// The post-dominators of the blocks of a region.
    pub fn post_dominators(&mut self, sdfg: &Sdfg, region: RegionId) -> Arc<DominatorTree> {
        let graph = self.region_graph(sdfg, region);
        let tables = &mut self.program.post_dominators;
        tables.entry(region).or_insert_with(|| Arc::new(DominatorTree::post_dominators(&graph))).clone()
    }

    /// The control flow of the whole SDFG, flattened.
    pub fn control_graph(&mut self, sdfg: &Sdfg) -> Arc<ControlGraph> {
        let table = &mut self.current(sdfg).control_graph;
        table.get_or_insert_with(|| Arc::new(ControlGraph::of(sdfg))).clone()
    }

    /// What is known of symbols at all places.
    pub fn known(&mut self, sdfg: &Sdfg) -> Arc<Known> {
        let table = &mut self.current(sdfg).known;
        table.get_or_insert_with(|| Arc::new(Known::of(sdfg))).clone()
    }

    /// What one execution of a state reads and writes.
    pub fn footprint(&mut self, sdfg: &Sdfg, state: StateId) -> Arc<Footprint> {
        let known = self.known(sdfg);
        let tables = &mut self.program.footprints;
        let compute = || Arc::new(Footprint::of_state_among(sdfg, &known, state));
        tables.entry(state).or_insert_with(compute).clone()
    }

    /// What one execution of a region reads and writes.
    pub fn region_footprint(&mut self, sdfg: &Sdfg, region: RegionId) -> Arc<Footprint> {
        let tables = &mut self.current(sdfg).region_footprints;
        tables.entry(region).or_insert_with(|| Arc::new(Footprint::of_region(sdfg, region))).clone()
    }

    /// Which containers are live where.
    pub fn liveness(&mut self, sdfg: &Sdfg) -> Arc<Liveness> {
        let table = &mut self.current(sdfg).liveness;
        table.get_or_insert_with(|| Arc::new(Liveness::of(sdfg))).clone()
    }

    /// Which writes reach which reads.
    pub fn reaching_definitions(&mut self, sdfg: &Sdfg) -> Arc<ReachingDefinitions> {
        let table = &mut self.current(sdfg).reaching;
        table.get_or_insert_with(|| Arc::new(ReachingDefinitions::of(sdfg))).clone()
    }

    /// Which assignments of symbols reach which steps of control.
    pub fn reaching_symbols(&mut self, sdfg: &Sdfg) -> Arc<ReachingSymbols> {
        let table = &mut self.current(sdfg).reaching_symbols;
        table.get_or_insert_with(|| Arc::new(ReachingSymbols::of(sdfg))).clone()
    }

    /// Where containers are used.
    pub fn uses(&mut self, sdfg: &Sdfg) -> Arc<Uses> {
        let table = &mut self.current(sdfg).uses;
        table.get_or_insert_with(|| Arc::new(Uses::of_program(sdfg))).clone()
    }

    /// Bytes moved and arithmetic work.
    pub fn costs(&mut self, sdfg: &Sdfg) -> Arc<Costs> {
        let table = &mut self.current(sdfg).costs;
        table.get_or_insert_with(|| Arc::new(Costs::of(sdfg))).clone()
    }

    /// The memlet trees of a state.
    pub fn memlet_trees(&mut self, sdfg: &Sdfg, state: StateId) -> Arc<MemletTrees> {
        let tables = self.of_state(sdfg, state);
        tables.trees.get_or_insert_with(|| Arc::new(MemletTrees::of(sdfg.state(state)))).clone()
    }

    /// The nodes of a state such that every edge goes forward, the smallest id first among those that are ready; `None` if
    /// there is a cycle.
    pub fn topological_order(&mut self, sdfg: &Sdfg, state: StateId) -> Arc<Option<Vec<NodeId>>> {
        let tables = self.of_state(sdfg, state);
        tables.order.get_or_insert_with(|| Arc::new(sdfg.state(state).topological_order())).clone()
    }

    /// The scopes of a state.
    pub fn scopes(&mut self, sdfg: &Sdfg, state: StateId) -> Arc<ScopeTree> {
        let tables = self.of_state(sdfg, state);
        tables.scopes.get_or_insert_with(|| Arc::new(ScopeTree::of(sdfg.state(state)))).clone()
    }

    /// Keeps the tables that a change of the SDFG did not touch, such as a series of edits that was committed. Without this, or if
    /// the tables are not those of the SDFG before the change, all of them but those of states are computed anew.
    ///
    /// ```
    /// use sdfg::{analysis::Analyses, edit::Editor};
    ///
    /// let text = "sdfg p {\n array A: f64[4]\n state s {\n access A\n }\n state t {\n access A\n }\n}";
    /// let mut program = sdfg::text::parse("p.sdft", text).expect("a program");
    /// let states: Vec<_> = program.states().map(|(id, _)| id).collect();
    /// let mut analyses = Analyses::new();
    /// let before = analyses.footprint(&program, states[0]);
    ///
    /// let mut editor = Editor::new(&mut program);
    /// let node = editor.find(states[1], "A").expect("a node");
    /// editor.remove_node(states[1], node)?;
    /// let changes = editor.commit()?;
    /// analyses.follow(&program, changes.touched());
    /// assert!(std::sync::Arc::ptr_eq(&before, &analyses.footprint(&program, states[0])));
    /// # Ok::<(), sdfg::edit::EditError>(())
    /// ```
    pub fn follow(&mut self, sdfg: &Sdfg, touched: &Touched) {
        if touched.before == touched.after
            || (self.revision, sdfg.revision()) != (touched.before, touched.after)
        {
            return;
        }
        let old = std::mem::take(&mut self.program);
        self.begin(sdfg);
        if touched.is_more {
            return;
        }
        let of_region = |region: &RegionId| !touched.regions.contains(region);
        self.program.region_graphs = old.region_graphs;
        self.program.region_graphs.retain(|region, _| of_region(region));
        self.program.dominators = old.dominators;
        self.program.dominators.retain(|region, _| of_region(region));
        self.program.post_dominators = old.post_dominators;
        self.program.post_dominators.retain(|region, _| of_region(region));
        if touched.is_in_states() {
            let around = regions_around(sdfg, &touched.states);
            self.program.known = old.known;
            self.program.control_graph = old.control_graph;
            self.program.footprints = old.footprints;
            self.program.footprints.retain(|state, _| !touched.states.contains(state));
            self.program.region_footprints = old.region_footprints;
            self.program.region_footprints.retain(|region, _| !around.contains(region));
        }
    }

    /// The tables of the SDFG as it is now; those of an earlier revision are dropped.
    fn current(&mut self, sdfg: &Sdfg) -> &mut ProgramTables {
        if self.revision != sdfg.revision() {
            self.program = ProgramTables::default();
            self.begin(sdfg);
        }
        &mut self.program
    }

    /// Goes on to another revision.
    fn begin(&mut self, sdfg: &Sdfg) {
        self.revision = sdfg.revision();
        let present: BTreeSet<Revision> = sdfg.states().map(|(_, state)| state.revision()).collect();
        self.states.retain(|revision, _| present.contains(revision));
    }

    fn of_state(&mut self, sdfg: &Sdfg, state: StateId) -> &mut StateTables {
        self.current(sdfg);
        self.states.entry(sdfg.state(state).revision()).or_default()
    }
}

/// The regions that hold some of the states.
fn regions_around(sdfg: &Sdfg, states: &BTreeSet<StateId>) -> BTreeSet<RegionId> {
    let mut found = BTreeSet::new();
    for (_, block) in sdfg.blocks() {
        if !matches!(block.kind, BlockKind::State(state) if states.contains(&state)) {
            continue;
        }
        let mut at = Some(block.region);
        while let Some(region) = at.filter(|region| found.insert(*region)) {
            let parent = sdfg.get_region(region).and_then(|found| found.parent);
            at = parent.and_then(|block| sdfg.get_block(block)).map(|block| block.region);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::Editor;
    use crate::ir::Memlet;

    /// Ten states, five of them in a loop, each with a map.
    fn program() -> Sdfg {
        let state = |name: &str, index: &str| {
            format!(
                "state {name} {{\n access A\n map m [i = 0:N] {{\n tasklet t () -> (y) {{ y = 1 }}\n t.y -> m.A: A[{index}]\n }}\n m.A -> A\n }}\n"
            )
        };
        let outside: String = (0..5).map(|at| state(&format!("s{at}"), "i")).collect();
        let inside: String = (0..5).map(|at| state(&format!("l{at}"), "i + k")).collect();
        let text = format!(
            "sdfg p {{\n symbol N: i64\n array A: f64[N + 8]\n{outside} for l: k = 0:8 {{\n {inside} }}\n}}\n"
        );
        crate::text::parse("p.sdft", &text).unwrap()
    }

    /// Every table that [`Analyses`] keeps, by what it tells of; computed where it is not there.
    fn all(analyses: &mut Analyses, sdfg: &Sdfg) -> BTreeMap<String, usize> {
        fn address<T>(table: &Arc<T>) -> usize {
            Arc::as_ptr(table).cast::<u8>() as usize
        }
        let mut found = BTreeMap::new();
        for (id, state) in sdfg.states() {
            let name = &state.label;
            found.insert(format!("footprint {name}"), address(&analyses.footprint(sdfg, id)));
            found.insert(format!("scopes {name}"), address(&analyses.scopes(sdfg, id)));
            found.insert(format!("order {name}"), address(&analyses.topological_order(sdfg, id)));
            found.insert(format!("trees {name}"), address(&analyses.memlet_trees(sdfg, id)));
        }
        let regions = sdfg.blocks().flat_map(|(_, block)| block.kind.regions());
        for region in regions.chain([sdfg.body()]) {
            found.insert(format!("graph {region}"), address(&analyses.region_graph(sdfg, region)));
            found.insert(format!("dominators {region}"), address(&analyses.dominators(sdfg, region)));
            found.insert(format!("post {region}"), address(&analyses.post_dominators(sdfg, region)));
            found.insert(format!("region {region}"), address(&analyses.region_footprint(sdfg, region)));
        }
        found.insert("known".to_owned(), address(&analyses.known(sdfg)));
        found.insert("control".to_owned(), address(&analyses.control_graph(sdfg)));
        found.insert("uses".to_owned(), address(&analyses.uses(sdfg)));
        found.insert("costs".to_owned(), address(&analyses.costs(sdfg)));
        found.insert("liveness".to_owned(), address(&analyses.liveness(sdfg)));
        found
    }

    /// The tables that are computed again after an edit; `old` keeps the earlier ones alive, so that no address comes again.
    fn recomputed(program: &mut Sdfg, edit: impl FnOnce(&mut Editor<'_>)) -> BTreeSet<String> {
        let mut analyses = Analyses::new();
        let before = all(&mut analyses, program);
        let old = (std::mem::take(&mut analyses.program), std::mem::take(&mut analyses.states));
        analyses.program = old.0.clone();
        analyses.states = old.1.clone();
        let mut editor = Editor::new(program);
        edit(&mut editor);
        let changes = editor.commit().unwrap();
        analyses.follow(program, changes.touched());
        let after = all(&mut analyses, program);
        // What was kept is what would be computed.
        let mut fresh = Analyses::new();
        for (id, _) in program.states() {
            assert_eq!(analyses.footprint(program, id), fresh.footprint(program, id));
        }
        let regions = program.blocks().flat_map(|(_, block)| block.kind.regions());
        for region in regions.chain([program.body()]) {
            assert_eq!(analyses.region_footprint(program, region), fresh.region_footprint(program, region));
            assert_eq!(analyses.region_graph(program, region), fresh.region_graph(program, region));
        }
        after.into_iter().filter(|(name, at)| before.get(name) != Some(at)).map(|(name, _)| name).collect()
    }

    fn state(editor: &Editor<'_>, label: &str) -> StateId {
        editor.sdfg().states().find(|(_, state)| state.label == label).unwrap().0
    }

    /// Lets the tasklet of a state write the next element.
    fn write_next(editor: &mut Editor<'_>, label: &str) {
        let state = state(editor, label);
        let t = editor.find(state, "t").unwrap();
        let (edge, found) = editor.state(state).unwrap().each_out_edge(t).next().unwrap();
        let container = found.memlet.write_access().unwrap().container;
        let next = crate::subset::Subset::element(&[crate::symbolic::Expr::sym("i") + 1]);
        let memlet = Memlet::write(crate::ir::Access::elements(container, next));
        editor.set_memlet(state, edge, memlet).unwrap();
    }

    #[test]
    fn an_edit_of_a_state_costs_the_tables_of_that_state() {
        let mut program = program();
        let body = program.body();
        let again = recomputed(&mut program, |editor| write_next(editor, "s3"));
        let of_state = ["footprint", "scopes", "order", "trees"].map(|table| format!("{table} s3"));
        let of_all = ["uses", "costs", "liveness"].map(str::to_owned);
        let expected: BTreeSet<String> =
            of_state.into_iter().chain(of_all).chain([format!("region {body}")]).collect();
        assert_eq!(again, expected);
    }

    #[test]
    fn an_edit_of_control_flow_keeps_what_states_tell() {
        let mut program = program();
        let inner = program.blocks().flat_map(|(_, block)| block.kind.regions()).next().unwrap();
        let again = recomputed(&mut program, |editor| {
            let block = editor.sdfg().find_block("s0").unwrap();
            editor.insert_state_before(block).unwrap();
        });
        for kept in [format!("graph {inner}"), format!("post {inner}"), "scopes s0".to_owned()] {
            assert!(!again.contains(&kept), "{kept} in {again:?}");
        }
        assert!(again.contains("known") && again.contains("footprint l2") && again.contains("control"));
    }

    #[test]
    fn tables_of_another_revision_do_not_follow() {
        let mut program = program();
        let mut analyses = Analyses::new();
        let id = program.states().next().unwrap().0;
        let before = analyses.footprint(&program, id);
        // A change that nobody tells of, and then one that is told.
        program.state_mut(id);
        let mut editor = Editor::new(&mut program);
        write_next(&mut editor, "s4");
        let changes = editor.commit().unwrap();
        analyses.follow(&program, changes.touched());
        assert!(!Arc::ptr_eq(&before, &analyses.footprint(&program, id)));
    }
}
