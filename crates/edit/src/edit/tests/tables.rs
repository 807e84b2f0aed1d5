//! Tables of analyses that are kept through edits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sdfg_graph::analysis::Analyses;
use sdfg_graph::ir::draft::DraftSdfg;
use sdfg_graph::ir::{Memlet, Sdfg, StateId};

use crate::edit::Editor;

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
    sdfg_graph::text::parse("p.sdft", &text).unwrap()
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
    let old = analyses.clone();
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
    drop(old);
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
    let next = sdfg_language::subset::Subset::element(&[sdfg_language::symbolic::Expr::sym("i") + 1]);
    let memlet = Memlet::write(sdfg_graph::ir::Access::elements(container, next));
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
