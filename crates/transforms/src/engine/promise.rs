//! The promise of maps of schedule `simd`: rewrites leave only such maps that lanes can run.
//!
//! `Vectorization` and `MapSchedule` check it once. A later rewrite may make another dimension that of the lanes, or put other
//! contents into the map, and native code would refuse the program. The engine takes back such a rewrite. Where lanes could not
//! run a map before, nothing is lost, and the rewrite stays.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::edit::{Editor, TouchedPart};
use sdfg::ir::{NodeId, NodeKind, Schedule, Sdfg, StateId};

use super::{Match, Matched, Refusal, Site, Tables};
use crate::lanes::run_on_lanes;

/// The calls that lead from a program to an SDFG.
type Calls = Vec<(StateId, NodeId)>;

/// States to look at, each with the calls in it whose SDFGs are new or changed as a whole.
#[derive(Debug, Default)]
pub(super) struct TouchedStates(BTreeMap<Calls, BTreeMap<StateId, BTreeSet<NodeId>>>);

impl TouchedStates {
    /// The states that edits touched after a position of a series.
    pub(super) fn since(editor: &Editor<'_>, position: usize) -> Self {
        let mut found = TouchedStates::default();
        for (calls, part) in editor.touched_since(position) {
            let (state, node) = match part {
                TouchedPart::Node(state, node) => (state, Some(node)),
                TouchedPart::Edge(state, _) | TouchedPart::State(state) => (state, None),
                TouchedPart::Block(_)
                | TouchedPart::Transition(_)
                | TouchedPart::Container(_)
                | TouchedPart::Other => continue,
            };
            found.0.entry(calls.to_vec()).or_default().entry(state).or_default().extend(node);
        }
        found
    }

    /// Refuses the first map of schedule `simd` in these states that lanes cannot run.
    ///
    /// # Errors
    /// [`Refusal::Structure`] with the reason.
    pub(super) fn keep_promises(&self, program: &Sdfg) -> Result<(), Refusal> {
        let tables = Tables::new();
        for (calls, states) in &self.0 {
            let place = Match { calls: calls.clone(), elements: Matched::Sdfg };
            // A call that is gone has no states.
            let Some(sdfg) = Site::of(program, &place, &tables).map(|site| site.sdfg) else { continue };
            for (state, nodes) in states.iter().filter(|(state, _)| sdfg.get_state(**state).is_some()) {
                in_state(program, (sdfg, calls, *state), &|node| nodes.contains(&node), &tables)?;
            }
        }
        Ok(())
    }
}

/// Whether a program, or an SDFG that it calls, has a map of schedule `simd`.
pub(super) fn is_made(program: &Sdfg) -> bool {
    let nodes = program.states().flat_map(|(_, state)| state.nodes());
    nodes.into_iter().any(|(_, node)| match &node.kind {
        NodeKind::MapEntry(map) => map.schedule == Schedule::Simd,
        NodeKind::Nested(nested) => is_made(&nested.sdfg),
        NodeKind::MapExit(_)
        | NodeKind::Access(_)
        | NodeKind::Tasklet(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => false,
    })
}

/// As [`TouchedStates::keep_promises`], for all states of a program.
///
/// # Errors
/// [`Refusal::Structure`] with the reason.
pub(super) fn keep_promises(program: &Sdfg) -> Result<(), Refusal> {
    in_sdfg(program, (program, &[]), &Tables::new())
}

fn in_sdfg(
    program: &Sdfg,
    (sdfg, calls): (&Sdfg, &[(StateId, NodeId)]),
    tables: &Tables,
) -> Result<(), Refusal> {
    sdfg.states().try_for_each(|(state, _)| in_state(program, (sdfg, calls, state), &|_| true, tables))
}

/// The maps of a state, and those of the calls in it that are wanted.
fn in_state(
    program: &Sdfg,
    (sdfg, calls, state): (&Sdfg, &[(StateId, NodeId)], StateId),
    is_wanted: &dyn Fn(NodeId) -> bool,
    tables: &Tables,
) -> Result<(), Refusal> {
    for (id, node) in sdfg.state(state).nodes() {
        match &node.kind {
            NodeKind::MapEntry(map) if map.schedule == Schedule::Simd => {
                let found = Match { calls: calls.to_vec(), elements: Matched::Nodes(state, vec![id]) };
                let Some(site) = Site::of(program, &found, tables) else { continue };
                run_on_lanes(&site).map_err(|refusal| {
                    let reason = refusal.shown(&site);
                    let reason = format!("has the schedule `simd`, and lanes could not run it: {reason}");
                    Refusal::structure(&node.label, reason)
                })?;
            }
            NodeKind::Nested(nested) if is_wanted(id) => {
                let inside: Calls = calls.iter().copied().chain([(state, id)]).collect();
                in_sdfg(program, (&nested.sdfg, &inside), tables)?;
            }
            NodeKind::MapEntry(_)
            | NodeKind::MapExit(_)
            | NodeKind::Nested(_)
            | NodeKind::Access(_)
            | NodeKind::Tasklet(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use sdfg::ir::Sdfg;

    use crate::rewrites::{MapInterchange, NestSdfg, Vectorization};
    use crate::{Transformation, apply, fixed_point, matches};

    /// A tasklet whose loop has as many rounds on all lanes along `j`, and others on lanes along `i`.
    fn program(outer: &str, inner: &str) -> Sdfg {
        let text = format!(
            "sdfg p {{
  symbol N: i64
  array A: f64[N, N]
  array B: f64[N, N]
  state s {{
    access A
    access B
    map m [{outer} = 0:N] {{
      map lanes [{inner} = 0:N] schedule(simd) {{
        tasklet t (x) -> (y) {{
          sum = 0.0
          for k in range(i):
              sum = sum + x
          y = sum
        }}
        lanes.A -> t.x: A[i, j]
        t.y -> lanes.B: B[i, j]
      }}
      m.A -> lanes.A
      lanes.B -> m.B
    }}
    A -> m.A
    m.B -> B
  }}
}}"
        );
        sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}"))
    }

    fn first(program: &mut Sdfg, transformation: &dyn Transformation) -> Result<(), String> {
        let found = matches(program, transformation).into_iter().next().expect("a match");
        apply(program, transformation, &found).map(|_| ()).map_err(|error| error.to_string())
    }

    fn in_series(program: &mut Sdfg) -> usize {
        let interchange: Box<dyn Transformation> = Box::new(MapInterchange::default());
        fixed_point(program, &[interchange], Some(1)).iter().map(|tally| tally.applications).sum()
    }

    #[test]
    fn rewrites_after_which_lanes_cannot_run_a_map_are_taken_back() {
        let before = program("i", "j");
        let mut after = before.clone();
        let message = first(&mut after, &MapInterchange::default()).expect_err("a refusal");
        assert!(
            message.contains("lanes could not run it") && message.contains("leave at different"),
            "{message}"
        );
        assert_eq!(in_series(&mut after), 0);
        assert_eq!(sdfg::text::print(&after), sdfg::text::print(&before));
        // Also in a called SDFG, and next to a map that lanes still run.
        first(&mut after, &NestSdfg::default()).expect("a nested SDFG");
        let nested = sdfg::text::print(&after);
        first(&mut after, &MapInterchange::default()).expect_err("a refusal");
        assert_eq!(in_series(&mut after), 0);
        assert_eq!(sdfg::text::print(&after), nested);
    }

    #[test]
    fn maps_that_lanes_could_not_run_before_refuse_nothing() {
        let before = program("j", "i");
        let mut after = before.clone();
        first(&mut after, &MapInterchange::default()).expect("an application");
        assert!(sdfg::text::print(&after).contains("map lanes [j = 0:N] schedule(simd)"));
        let mut after = before.clone();
        assert_eq!(in_series(&mut after), 1);
        let mut after = before;
        first(&mut after, &NestSdfg::default()).expect("a map in a called SDFG that lanes cannot run");
        assert!(matches(&after, &Vectorization::default()).is_empty());
    }
}
