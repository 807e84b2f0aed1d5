//! The promise of the schedule `simd`: contents of a map that the lanes of a vector unit can run together.
//!
//! Back ends prove no dependences of the whole program for it: they look at the iterations of one map, and refuse programs
//! whose maps break the promise.

use std::collections::BTreeMap;

use sdfg::analysis::bound_alias;
use sdfg::ir::{
    Access, ConflictResolution, Container, ContainerId, ContainerKind, FloatMode, NodeKind, TaskletBody,
};
use sdfg::subset::Range;
use sdfg::symbolic::{Assumptions, Expr, Symbol, Truth};
use sdfg::syntax::{Expression, Statement, StatementKind, visit_targets};

use crate::engine::{Refusal, Site};

/// The most bytes of a transient of which each lane has its own.
const PRIVATE_BYTES: i64 = 1 << 10;
/// The most elements of a copy within an iteration.
const COPIED: i64 = 64;

/// Refuses the map of a site, without maps in it, if the iterations of its last dimension cannot run on lanes.
pub(crate) fn run_on_lanes(site: &Site<'_>) -> Result<(), Refusal> {
    let map = site.map(0)?;
    let (Some(lane), Some(range)) = (map.params.last(), map.ranges.0.last()) else { return Ok(()) };
    contents(site, lane)?;
    let roots = roots(site)?;
    let mut by_root: BTreeMap<ContainerId, Vec<Touch<'_>>> = BTreeMap::new();
    let (state, sdfg) = (site.state(), site.sdfg);
    for edge in site.edges_within(site.found.node(0)) {
        let memlet = &state.edge(edge).memlet;
        let ends = [(memlet.read_access(), None), (memlet.write_access(), Some(memlet.resolution()))];
        let ends = ends.into_iter().filter_map(|(access, written)| Some((access?, written)));
        for (access, written) in ends {
            let container = sdfg.container(access.container);
            if container.is_stream() {
                return Err(Refusal::structure(
                    site.label(0),
                    format!("uses the stream `{}`", container.name),
                ));
            }
            let root = roots.get(&access.container).copied().unwrap_or(access.container);
            by_root.entry(root).or_default().push(Touch { access, written });
        }
        if memlet.read_access().is_some() && memlet.write_access().is_some() {
            let many = memlet.accesses().find(|access| !access.subset().0.iter().all(is_short));
            if let Some(access) = many {
                let name = &sdfg.container(access.container).name;
                return Err(Refusal::structure(
                    site.label(0),
                    format!("copies elements of `{name}` whose number is no small constant"),
                ));
            }
        }
    }
    let private = private(site)?;
    let known = site.known_in(Some(site.found.node(0)));
    for (root, touches) in by_root.iter().filter(|(root, _)| !private.contains(root)) {
        apart(site, sdfg.container(*root), touches, (lane, range), &known)?;
    }
    Ok(())
}

/// An end of a memlet in the map; of a write, its resolution.
struct Touch<'g> {
    access: &'g Access,
    written: Option<Option<&'g ConflictResolution>>,
}

/// Refuses contents other than tasklets whose lanes stay together, copies, and containers that nothing rebinds.
fn contents(site: &Site<'_>, lane: &Symbol) -> Result<(), Refusal> {
    let (state, tree) = (site.state(), site.scopes());
    for id in tree.children(Some(site.found.node(0))) {
        let node = state.node(*id);
        let refused = |reason: &str| Err(Refusal::structure(&node.label, reason));
        match &node.kind {
            NodeKind::Tasklet(tasklet) => match &tasklet.body {
                TaskletBody::External(_) => return refused("calls a foreign function, which lanes cannot"),
                TaskletBody::Code(code) => {
                    let connectors = tasklet.inputs.iter().chain(&tasklet.outputs);
                    let mut own: Vec<&str> = connectors.map(|connector| connector.name.as_str()).collect();
                    own.push(lane.as_str());
                    visit_targets(code.block(), &mut |target| own.push(target.name.text.as_str()));
                    if code.block().iter().any(|statement| parts_lanes(statement, &own)) {
                        return refused("has a loop that lanes would leave at different times");
                    }
                }
            },
            NodeKind::Access(_) => {
                if state.each_in_edge(*id).any(|(edge, _)| bound_alias(state, edge).is_some()) {
                    return refused("is a view or reference that each iteration sets");
                }
            }
            NodeKind::MapExit(_) => {}
            NodeKind::MapEntry(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_)
            | NodeKind::Nested(_)
            | NodeKind::Reduce(_)
            | NodeKind::Library(_) => {
                return refused("is no tasklet, and lanes run only tasklets and copies");
            }
        }
    }
    Ok(())
}

/// Whether lanes may leave a loop of a statement at different times: its bounds name what differs from lane to lane.
fn parts_lanes(statement: &Statement, own: &[&str]) -> bool {
    let any = |block: &[Statement]| block.iter().any(|statement| parts_lanes(statement, own));
    let differs = |bound: &Expression| bound.names().iter().any(|name| own.contains(name));
    match &statement.kind {
        StatementKind::While { .. } => true,
        StatementKind::For { begin, end, step, body, .. } => {
            begin.iter().chain([end]).chain(step).any(differs) || any(body)
        }
        StatementKind::If { branches, otherwise } => {
            branches.iter().any(|(_, block)| any(block)) || any(otherwise)
        }
        StatementKind::Assign { .. } | StatementKind::Augmented { .. } | StatementKind::Pass => false,
    }
}

/// The containers that the views of the state name parts of. Refuses references: which memory they name is known at run time.
fn roots(site: &Site<'_>) -> Result<BTreeMap<ContainerId, ContainerId>, Refusal> {
    let (state, sdfg) = (site.state(), site.sdfg);
    let edges = site.edges_within(site.found.node(0));
    let mut accesses = edges.iter().flat_map(|edge| state.edge(*edge).memlet.accesses());
    let mut roots = BTreeMap::new();
    // Most maps use no alias, and most states have many maps: only for an alias all edges are looked at.
    if !accesses.any(|access| sdfg.container(access.container).is_alias()) {
        return Ok(roots);
    }
    let bound: BTreeMap<ContainerId, ContainerId> = state
        .edges()
        .filter_map(|(edge, _)| bound_alias(state, edge))
        .map(|(alias, target)| (alias, target.container))
        .collect();
    for access in edges.iter().flat_map(|edge| state.edge(*edge).memlet.accesses()) {
        let chain = std::iter::successors(Some(access.container), |id| bound.get(id).copied());
        // A chain of views is no longer than there are views.
        let chain: Vec<ContainerId> = chain.take(bound.len() + 1).collect();
        let is_reference =
            |id: &&ContainerId| matches!(sdfg.container(**id).kind, ContainerKind::Reference(_));
        if let Some(id) = chain.iter().find(is_reference) {
            let reason = "is a reference: which memory its elements have is known at run time".to_owned();
            return Err(Refusal::Container { container: sdfg.container(*id).name.clone(), reason });
        }
        roots.extend(chain.last().map(|root| (access.container, *root)));
    }
    Ok(roots)
}

/// The transients of which each iteration has its own. Refuses those of other than a small constant size.
fn private(site: &Site<'_>) -> Result<Vec<ContainerId>, Refusal> {
    let here = (site.found.state(), site.found.node(0));
    let owners = site.owning_scopes();
    let mut found = Vec::new();
    for (id, _) in owners.iter().filter(|(_, owner)| **owner == here) {
        let container = site.sdfg.container(*id);
        if !container.transient || container.is_alias() {
            continue;
        }
        let count = container
            .shape()
            .iter()
            .map(Expr::as_int)
            .try_fold(1_i64, |count, extent| count.checked_mul(extent?));
        let bytes = count.and_then(|count| count.checked_mul(container.element.size() as i64));
        if bytes.is_none_or(|bytes| bytes > PRIVATE_BYTES) {
            let reason = "is a transient of each iteration, and its size is no small constant".to_owned();
            return Err(Refusal::Container { container: container.name.clone(), reason });
        }
        found.push(*id);
    }
    Ok(found)
}

/// Refuses a container of which one lane may write what another one accesses, unless the order of lanes is that of iterations or
/// makes no difference.
fn apart(
    site: &Site<'_>,
    container: &Container,
    touches: &[Touch<'_>],
    lanes: (&Symbol, &Range),
    known: &Assumptions,
) -> Result<(), Refusal> {
    // Elements at the positions of a view have others in the container that it names a part of.
    // Ranges of tiles have no single range that contains just them.
    let same_space = touches.windows(2).all(|pair| pair[0].access.container == pair[1].access.container)
        && touches.iter().all(|touch| touch.access.subset().0.iter().all(|range| range.tile.is_one()));
    let meet = |first: &Touch<'_>, second: &Touch<'_>| {
        let mut ranges = first.access.subset().0.iter().zip(&second.access.subset().0);
        let writes = first.written.is_some() || second.written.is_some();
        writes && !(same_space && ranges.any(|(a, b)| is_apart_along(a, b, lanes, known)))
    };
    let pairs = touches
        .iter()
        .enumerate()
        .flat_map(|(at, first)| touches[at..].iter().map(move |second| (first, second)));
    let Some((first, second)) = pairs.into_iter().find(|(first, second)| meet(first, second)) else {
        return Ok(());
    };
    let resolutions: Option<Vec<&ConflictResolution>> =
        touches.iter().map(|touch| touch.written.flatten()).collect();
    let is_allowed = match (touches, resolutions.as_deref()) {
        // Lanes store in the order of iterations.
        ([only], _) if only.access.subset().0.iter().all(Range::is_index) => {
            only.written.flatten().is_some() || only.access.subset().free_symbols().contains(lanes.0)
        }
        (_, Some([one, rest @ ..])) if rest.iter().all(|other| other == one) => match one {
            ConflictResolution::Custom(_) | ConflictResolution::Replace => false,
            ConflictResolution::Sum | ConflictResolution::Product => {
                let lane = container.element.lane();
                let rounds = lane.is_float() || lane.is_complex();
                !rounds || site.program.float_mode != FloatMode::Strict
            }
            ConflictResolution::Min
            | ConflictResolution::Max
            | ConflictResolution::And
            | ConflictResolution::Or
            | ConflictResolution::Xor
            | ConflictResolution::BitAnd
            | ConflictResolution::BitOr
            | ConflictResolution::BitXor
            | ConflictResolution::MinLocation
            | ConflictResolution::MaxLocation => true,
        },
        _ => false,
    };
    if is_allowed {
        return Ok(());
    }
    let text = |touch: &Touch<'_>| {
        let name = &site.sdfg.container(touch.access.container).name;
        format!("`{name}[{}]`", touch.access.subset())
    };
    Err(Refusal::Conflict {
        container: container.name.clone(),
        first: text(first),
        second: text(second),
        reason: "may touch the same element on different lanes",
    })
}

/// Whether ranges of one dimension, in two different iterations, have no index in common.
fn is_apart_along(a: &Range, b: &Range, (lane, lanes): (&Symbol, &Range), known: &Assumptions) -> bool {
    let (Some((c, first)), Some((other, second))) = (a.begin.linear_in(lane), b.begin.linear_in(lane)) else {
        return false;
    };
    let length = |range: &Range| (&range.end - &range.begin).as_int().filter(|length| *length > 0);
    let (Some(c), true) = (c.as_int(), c == other) else { return false };
    if c == 0 {
        let before = |a: &Range, b: &Range| a.end.le(&b.begin, known) == Truth::Proved;
        return before(a, b) || before(b, a);
    }
    let (Some(distance), Some(a), Some(b)) = ((&second - &first).as_int(), length(a), length(b)) else {
        return false;
    };
    let Some(step) = lanes.step.as_int().and_then(|step| step.checked_mul(c)) else {
        // Iterations are at least one index apart.
        return distance == 0 && a <= c.abs() && b <= c.abs();
    };
    let count = lanes.steps().as_int().unwrap_or(i64::MAX);
    // `k` iterations later, the second range begins at `distance + k * step` behind the first.
    let (least, most) = ((-b - distance) / step, (a - distance) / step);
    let near = least.min(most)..=least.max(most);
    let meets = |k: i64| {
        let begin = distance + k * step;
        k != 0 && k.abs() < count && begin > -b && begin < a
    };
    !near.into_iter().any(meets)
}

/// Whether a range has a small constant number of elements.
fn is_short(range: &Range) -> bool {
    range.is_index() || range.steps().as_int().is_some_and(|count| count <= COPIED)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A view names elements of its container: a write of one and a read of the other may meet on different lanes.
    #[test]
    fn views_are_the_memory_that_they_name() {
        let refusal = |target: &str| {
            let text = format!(
                "sdfg p {{
  symbol N: i64
  symbol K: i64
  array A: f64[N + K]
  array B: f64[N + K]
  view V: f64[N + K]
  state s {{
    access from = {target}
    access V
    access to = A
    map m [i = 0:N] {{
      tasklet t (x) -> (y) {{ y = x + 1.0 }}
      m.V -> t.x: V[i + K]
      t.y -> m.A: A[i]
    }}
    bind from -> V: {target}[0:N + K]
    V -> m.V
    m.A -> to
  }}
}}"
            );
            let mut program =
                sdfg::text::parse("p.sdft", &text).unwrap_or_else(|errors| panic!("{errors:?}"));
            let vectorization = crate::rewrites::Vectorization::default();
            let found = crate::places(&program, &vectorization).remove(0);
            crate::apply(&mut program, &vectorization, &found).err().map(|error| error.to_string())
        };
        assert_eq!(refusal("B"), None);
        let message = refusal("A").expect("a refusal");
        assert!(message.contains("may touch the same element on different lanes"), "{message}");
    }

    /// A range of `length` elements that begins at `factor * i + first`.
    fn moving(factor: i64, first: i64, length: i64) -> Range {
        let begin = &(&Expr::int(factor) * &Expr::sym("i")) + &Expr::int(first);
        Range::new(begin.clone(), &begin + &Expr::int(length))
    }

    /// The values of `i`. A large number stands for the symbol `N`.
    fn values(lanes: &Range) -> Vec<i64> {
        let number = |expr: &Expr| expr.eval(&|_: &Symbol| Some(40)).expect("a number");
        let (begin, end, step) = (number(&lanes.begin), number(&lanes.end), number(&lanes.step));
        let at = std::iter::successors(Some(begin), |at| Some(at + step));
        at.take_while(|at| if step > 0 { *at < end } else { *at > end }).collect()
    }

    fn lanes(text: &str) -> Range {
        let subset: sdfg::subset::Subset = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        subset.0[0].clone()
    }

    /// Ranges are apart if and only if no two different iterations have an index in common, by trying all.
    #[test]
    fn ranges_are_apart_if_no_two_iterations_meet() {
        let (symbol, known) = (Symbol::of("i"), Assumptions::new());
        let meet = |values: &[i64], a: (i64, i64, i64), b: (i64, i64, i64)| {
            let begin = |(factor, first, _): (i64, i64, i64), i: i64| factor * i + first;
            let pairs = values.iter().flat_map(|one| values.iter().map(move |other| (*one, *other)));
            pairs.filter(|(one, other)| one != other).any(|(one, other)| {
                begin(a, one) < begin(b, other) + b.2 && begin(b, other) < begin(a, one) + a.2
            })
        };
        for text in ["0:N", "0:2", "0:3", "1:8:2", "5:-1:-1", "7:0:-3"] {
            let lanes = lanes(text);
            let values = values(&lanes);
            for (factor, length, other) in
                (-3..=3).flat_map(|f| (1..4).flat_map(move |a| (1..4).map(move |b| (f, a, b))))
            {
                for distance in -8..=8 {
                    let (a, b) = ((factor, 1, length), (factor, 1 + distance, other));
                    let [first, second] = [a, b].map(|(factor, first, length)| moving(factor, first, length));
                    let found = is_apart_along(&first, &second, (&symbol, &lanes), &known);
                    assert_eq!(found, !meet(&values, a, b), "{first} and {second} for i = {lanes}");
                }
            }
        }
    }

    /// Iterations whose distance is a symbol are at least one index apart.
    #[test]
    fn ranges_no_longer_than_one_step_are_apart_for_any_step() {
        let (symbol, known, lanes) = (Symbol::of("i"), Assumptions::new(), lanes("0:N:S"));
        let is_apart = |factor, distance, length, other| {
            let (a, b) = (moving(factor, 0, length), moving(factor, distance, other));
            is_apart_along(&a, &b, (&symbol, &lanes), &known)
        };
        for (factor, distance, length, other, expected) in [
            (1, 0, 1, 1, true),
            (-2, 0, 2, 2, true),
            (2, 0, 3, 2, false),
            (2, 0, 2, 3, false),
            (3, 1, 1, 1, false),
            (0, 1, 1, 1, true),
            (0, 0, 1, 1, false),
        ] {
            assert_eq!(
                is_apart(factor, distance, length, other),
                expected,
                "{factor} {distance} {length} {other}"
            );
        }
        let other_factor = is_apart_along(&moving(1, 0, 1), &moving(2, 100, 1), (&symbol, &lanes), &known);
        let empty = is_apart_along(&moving(1, 0, 0), &moving(1, 0, 1), (&symbol, &lanes), &known);
        assert!(!other_factor && !empty);
    }
}
