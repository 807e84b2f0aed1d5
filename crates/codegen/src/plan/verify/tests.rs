//! Plans with one broken rule each: the verifier names it, and accepts the plan without it.

use indexmap::IndexMap;
use sdfg::dtype::ScalarType;
use sdfg::ir::FloatMode;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::{Environment, TypedCode};

use super::PlanError;
use crate::plan::{
    Allocation, Buffer, BufferId, Compute, Copy, Extents, JumpTarget, Level, LevelKind, Location, Loop,
    LoopDimension, Plan, Resolved, Slot, Space, Statement, Team, Vector, VectorCompute, Way,
};

/// A plan whose buffer number `k` is called `bk`.
fn plan(allocations: Vec<Allocation>, body: Vec<Statement>) -> Plan {
    let buffer =
        |(k, allocation)| Buffer::new(format!("b{k}"), ScalarType::I64.into(), Expr::int(8), allocation);
    Plan {
        buffers: allocations.into_iter().enumerate().map(buffer).collect(),
        variables: ["i", "j"]
            .map(|name| (Symbol::of(name), ScalarType::I64))
            .into_iter()
            .collect::<IndexMap<_, _>>(),
        body,
        ..Plan::new("p", FloatMode::Strict)
    }
}

fn broken(plan: &Plan) -> Vec<PlanError> {
    plan.verify().err().unwrap_or_default()
}

/// Element `at` of buffer 0 to the same buffer.
fn touch(at: Expr) -> Statement {
    let at = Location { buffer: BufferId(0), offset: at };
    let (from, to) = (at.clone(), at);
    Statement::Copy(Copy { label: String::new(), from, to, dimensions: Vec::new(), write: Resolved::Store })
}

fn dimension(name: &str) -> LoopDimension {
    LoopDimension { variable: Symbol::of(name), begin: Expr::zero(), end: Expr::int(8), step: Expr::one() }
}

fn of_level(level: Level, body: Vec<Statement>) -> Statement {
    Statement::Loop(Loop { level, ..Loop::sequential(dimension("i"), body) })
}

fn team(locals: Vec<BufferId>, body: Vec<Statement>) -> Statement {
    let team = Team { locals, ..Team::default() };
    Statement::Loop(Loop::shared(vec![dimension("i")], team, body))
}

#[test]
fn jumps_stay_in_their_loops() {
    let target = JumpTarget(0);
    let block = |body| Statement::Block { target, body };
    assert_eq!(broken(&plan(vec![], vec![block(vec![Statement::Leave(target)])])), []);
    assert_eq!(broken(&plan(vec![], vec![Statement::Leave(target)])), [PlanError::Jump { target: 0 }]);
    let across = block(vec![team(vec![], vec![Statement::Leave(target)])]);
    assert_eq!(broken(&plan(vec![], vec![across])), [PlanError::Jump { target: 0 }]);
    let repeated = block(vec![Statement::Repeat(target)]);
    assert_eq!(broken(&plan(vec![], vec![repeated])), [PlanError::Entry { target: 0 }]);
    let dispatch =
        |case| Statement::Dispatch { target, cases: vec![vec![Statement::Goto { target, case }], vec![]] };
    assert_eq!(broken(&plan(vec![], vec![dispatch(1)])), []);
    assert_eq!(broken(&plan(vec![], vec![dispatch(2)])), [PlanError::Entry { target: 0 }]);
    assert_eq!(
        broken(&plan(vec![], vec![block(vec![]), block(vec![])])),
        [PlanError::TwoTargets { target: 0 }]
    );
}

#[test]
fn levels_are_nested_as_in_the_machine() {
    let units = Extents::default;
    let lane = |body| of_level(Level::Lane, body);
    let block = |body| of_level(Level::Block(units()), body);
    let grid = |body| of_level(Level::Grid(units()), body);
    let of = |statement| broken(&plan(vec![], vec![statement]));
    assert_eq!(of(grid(vec![block(vec![lane(vec![])])])), []);
    assert_eq!(of(team(vec![], vec![grid(vec![])])), []);
    let missing = |inner| [PlanError::Nesting { inner, outer: None }];
    assert_eq!(of(block(vec![])), missing(LevelKind::Block));
    assert_eq!(of(grid(vec![lane(vec![])])), missing(LevelKind::Lane));
    let inside = |inner, outer| [PlanError::Nesting { inner, outer: Some(outer) }];
    assert_eq!(of(team(vec![], vec![team(vec![], vec![])])), inside(LevelKind::Team, LevelKind::Team));
    assert_eq!(of(grid(vec![team(vec![], vec![])])), inside(LevelKind::Team, LevelKind::Grid));
    assert_eq!(
        of(of_level(Level::Unrolled, vec![of_level(Level::Rank, vec![])])),
        inside(LevelKind::Rank, LevelKind::Unrolled)
    );
    let mut flat = Loop::sequential(dimension("i"), vec![]);
    flat.dimensions.push(dimension("j"));
    let level = LevelKind::Sequential;
    assert_eq!(of(Statement::Loop(flat)), [PlanError::Dimensions { level, n: 2 }]);
}

#[test]
fn code_reaches_the_memory_that_it_uses() {
    let in_space = |space, statement| {
        let mut plan = plan(vec![Allocation::Persistent], vec![statement]);
        plan.buffers[0].space = space;
        broken(&plan)
    };
    let touched = || touch(Expr::zero());
    let grid = || of_level(Level::Grid(Extents::default()), vec![touched()]);
    for space in [Space::HostHeap, Space::Stack, Space::RankLocal] {
        assert_eq!(in_space(space, touched()), []);
        let buffer = "b0".to_owned();
        let error = PlanError::Unreachable { buffer, space, level: Some(LevelKind::Grid) };
        assert_eq!(in_space(space, grid()), [error]);
    }
    for space in [Space::DeviceGlobal, Space::BlockShared, Space::Register] {
        assert_eq!(in_space(space, grid()), []);
        let error = PlanError::Unreachable { buffer: "b0".to_owned(), space, level: None };
        assert_eq!(in_space(space, touched()), [error]);
    }
    for space in [Space::Pinned, Space::Constant] {
        assert_eq!((in_space(space, touched()), in_space(space, grid())), (vec![], vec![]));
    }
}

#[test]
fn memory_is_made_before_it_is_used() {
    let (id, buffer) = (BufferId(0), "b0".to_owned());
    let dynamic = |body| broken(&plan(vec![Allocation::Dynamic], body));
    let (allocate, used) = (|| Statement::Allocate(id), || touch(Expr::zero()));
    assert_eq!(dynamic(vec![allocate(), used(), Statement::Free(id)]), []);
    let missing = [PlanError::BeforeMade { buffer: buffer.clone() }];
    assert_eq!(dynamic(vec![used()]), missing);
    assert_eq!(dynamic(vec![used(), allocate()]), missing);
    // The next iteration finds it.
    assert_eq!(dynamic(vec![of_level(Level::Unrolled, vec![used(), allocate()])]), []);
    let reference = Allocation::Reference([BufferId(1)].into());
    let two = |body| broken(&plan(vec![reference.clone(), Allocation::Stack], body));
    assert_eq!(two(vec![Statement::Point { reference: id, to: BufferId(1) }, used()]), []);
    assert_eq!(two(vec![used()]), missing);

    let thread = |body| broken(&plan(vec![Allocation::Thread], body));
    assert_eq!(thread(vec![team(vec![id], vec![used()])]), []);
    let outside = [PlanError::Outside { buffer: buffer.clone() }];
    assert_eq!(thread(vec![team(vec![], vec![used()])]), outside);
    let stack = |body| broken(&plan(vec![Allocation::Stack], body));
    assert_eq!(stack(vec![used()]), []);
    assert_eq!(stack(vec![team(vec![id], vec![used()]), used()]), outside);

    let mut handle = plan(vec![Allocation::Handle], vec![used()]);
    assert_eq!(broken(&handle), [PlanError::Slots { buffer: buffer.clone(), n: 0 }]);
    handle.slots = vec![Slot { buffers: vec![id] }];
    assert_eq!(broken(&handle), []);
    handle.slots.push(Slot { buffers: vec![id] });
    assert_eq!(broken(&handle), [PlanError::Slots { buffer, n: 2 }]);
}

#[test]
fn variables_are_set_before_they_are_used() {
    let of = |body| broken(&plan(vec![Allocation::Stack], body));
    let used = |name: &str| touch(Expr::sym(name));
    let set = |name: &str| Statement::Let { variable: Symbol::of(name), value: Expr::one() };
    let unset = |name: &str| [PlanError::BeforeSet { variable: Symbol::of(name) }];
    assert_eq!(of(vec![set("j"), used("j")]), []);
    assert_eq!(of(vec![used("j"), set("j")]), unset("j"));
    assert_eq!(of(vec![of_level(Level::Unrolled, vec![used("i")])]), []);
    assert_eq!(of(vec![of_level(Level::Unrolled, vec![]), used("i")]), unset("i"));
    assert_eq!(of(vec![set("k")]), [PlanError::Untyped { variable: Symbol::of("k") }]);
}

/// A tasklet without connectors on lanes, with these ways.
fn lanes(ways: Vec<Way>) -> Statement {
    let code = TypedCode { environment: Environment::new(), locals: Vec::new(), body: Vec::new() };
    let (bindings, symbols, checks) = (Vec::new(), Vec::new(), Vec::new());
    let compute = Compute { label: String::new(), code, bindings, symbols, checks };
    Statement::Lanes(VectorCompute { compute, ways })
}

#[test]
fn lanes_are_those_of_vectors() {
    let of_vector = |body, rest| {
        let vector = Vector { width: 4, rest, ..Vector::default() };
        plan(vec![Allocation::Stack], vec![of_level(Level::Vector(Box::new(vector)), body)])
    };
    let alone = || vec![touch(Expr::zero())];
    assert_eq!(broken(&of_vector(vec![lanes(vec![])], alone())), []);
    assert_eq!(broken(&of_vector(alone(), vec![])), [PlanError::Lanes]);
    assert_eq!(broken(&of_vector(vec![lanes(vec![])], vec![lanes(vec![])])), [PlanError::Lanes]);
    assert_eq!(broken(&of_vector(vec![lanes(vec![Way::Uniform])], vec![])), [PlanError::Lanes]);
    assert_eq!(broken(&plan(vec![], vec![lanes(vec![])])), [PlanError::Lanes]);
    let inner = || of_level(Level::Unrolled, vec![]);
    let nested = PlanError::Nesting { inner: LevelKind::Unrolled, outer: Some(LevelKind::Vector) };
    assert!(broken(&of_vector(vec![inner()], vec![])).contains(&nested));
}
