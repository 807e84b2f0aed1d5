//! Tests with plans that break one rule each: the verifier names the rule, and accepts the plan without the
//! violation.

use indexmap::IndexMap;
use sdfg::dtype::ScalarType;
use sdfg::ir::{ConflictResolution, FloatMode};
use sdfg::symbolic::{Expr, Symbol};

use super::PlanError;
use crate::lower::capture;
use crate::plan::{
    Allocation, Buffer, BufferId, Captures, Copy, JumpTarget, Level, LevelKind, Location, Loop,
    LoopDimension, Plan, PrivateAccumulator, QueueOwner, Realisation, Resolved, Slot, Space, Statement,
    Strided, SymbolArgument, Team, Threads,
};

/// A plan whose buffer number `k` is called `bk`.
pub(super) fn plan(allocations: Vec<Allocation>, body: Vec<Statement>) -> Plan {
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

/// The rules that a plan breaks whose functions are given what they use.
pub(super) fn broken(plan: &Plan) -> Vec<PlanError> {
    let mut plan = plan.clone();
    capture(&mut plan);
    plan.verify().err().unwrap_or_default()
}

/// Element `at` of buffer 0 to the same buffer.
pub(super) fn touch(at: Expr) -> Statement {
    let at = Location { buffer: BufferId(0), offset: at };
    let (from, to) = (at.clone(), at);
    Statement::Copy(Copy { label: String::new(), from, to, dimensions: Vec::new(), write: Resolved::Store })
}

pub(super) fn dimension(name: &str) -> LoopDimension {
    LoopDimension { variable: Symbol::of(name), begin: Expr::zero(), end: Expr::int(8), step: Expr::one() }
}

pub(super) fn of_level(level: Level, body: Vec<Statement>) -> Statement {
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
    let lane = |body| of_level(Level::Lane, body);
    let block = |body| of_level(Level::Block(Threads::default()), body);
    let grid = |body| of_level(Level::Grid(Box::default()), body);
    let of = |statement| broken(&plan(vec![], vec![statement]));
    assert_eq!(of(grid(vec![block(vec![lane(vec![])])])), []);
    assert_eq!(of(team(vec![], vec![grid(vec![])])), []);
    assert_eq!(of(grid(vec![Statement::Barrier])), []);
    assert_eq!(of(grid(vec![block(vec![Statement::Barrier])])), [PlanError::Barrier]);
    assert_eq!(of(Statement::Barrier), [PlanError::Barrier]);
    let missing = |inner| [PlanError::Nesting { inner, outer: None }];
    assert_eq!(of(block(vec![])), missing(LevelKind::Block));
    assert_eq!(of(grid(vec![lane(vec![])])), missing(LevelKind::Lane));
    let inside = |inner, outer| [PlanError::Nesting { inner, outer: Some(outer) }];
    assert_eq!(of(team(vec![], vec![team(vec![], vec![])])), inside(LevelKind::Team, LevelKind::Team));
    assert_eq!(of(grid(vec![team(vec![], vec![])])), inside(LevelKind::Team, LevelKind::Grid));
    // A team with a limit is inside of another one, and nowhere else.
    let nested = || {
        let nested = Team { nested: Some(Expr::int(2)), ..Team::default() };
        Statement::Loop(Loop::shared(vec![dimension("j")], nested, vec![]))
    };
    assert_eq!(of(team(vec![], vec![nested()])), []);
    assert_eq!(of(nested()), missing(LevelKind::Team));
    assert_eq!(of(grid(vec![team(vec![], vec![nested()])]))[0], inside(LevelKind::Team, LevelKind::Grid)[0]);
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
    let grid = || of_level(Level::Grid(Box::default()), vec![touched()]);
    for space in [Space::HostHeap, Space::Stack, Space::RankLocal] {
        assert_eq!(in_space(space, touched()), []);
        let buffer = "b0".to_owned();
        let error = PlanError::Unreachable { buffer, space, level: Some(LevelKind::Grid) };
        assert_eq!(in_space(space, grid()), [error]);
    }
    let combined = || match touched() {
        Statement::Copy(mut copy) => {
            let (resolution, realisation) = (ConflictResolution::Sum, Realisation::Plain);
            copy.write = Resolved::Combine { resolution, custom: None, realisation };
            Statement::Copy(copy)
        }
        other => other,
    };
    for space in [Space::DeviceGlobal, Space::BlockShared, Space::Register] {
        assert_eq!(in_space(space, grid()), []);
        let error = PlanError::Unreachable { buffer: "b0".to_owned(), space, level: None };
        assert_eq!(in_space(space, combined()), std::slice::from_ref(&error));
        // Copies of the host move data to a device and back.
        let expected = if space == Space::DeviceGlobal { vec![] } else { vec![error] };
        assert_eq!(in_space(space, touched()), expected);
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

    let mut handle = plan(vec![Allocation::Handle], vec![Statement::Begin(id), used()]);
    // What is nowhere is not given to functions either.
    let nowhere = PlanError::BufferNotGiven { buffer: buffer.clone() };
    assert_eq!(broken(&handle), [PlanError::Slots { buffer: buffer.clone(), n: 0 }, nowhere]);
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

#[test]
fn memory_comes_from_where_it_can() {
    let (id, other) = (BufferId(0), BufferId(1));
    let is_not = |what| [PlanError::Allocation { buffer: "b0".to_owned(), what }];
    let of = |allocation: Allocation, body| broken(&plan(vec![allocation, Allocation::Stack], body));
    let mut begun = plan(vec![Allocation::Handle], vec![Statement::Begin(id), touch(Expr::zero())]);
    begun.slots = vec![Slot { buffers: vec![id] }];
    assert_eq!(broken(&begun), []);
    begun.body.reverse();
    assert_eq!(broken(&begun), [PlanError::BeforeBegun { buffer: "b0".to_owned() }]);
    assert_eq!(of(Allocation::Stack, vec![Statement::Begin(id)]), is_not("begun"));
    // Nor is it given to the function.
    let owned = of(Allocation::Persistent, vec![team(vec![id], vec![])]);
    assert_eq!(owned[..1], is_not("one of each thread's own"));
    let point = Statement::Point { reference: id, to: other };
    assert_eq!(of(Allocation::Stack, vec![point.clone()]), is_not("set to name another buffer"));
    let elsewhere = [PlanError::Allocation { buffer: "b1".to_owned(), what: "what this reference names" }];
    let another = Allocation::Reference([id].into());
    assert_eq!(of(another, vec![point]), elsewhere);
    assert_eq!(
        of(Allocation::Constant(Vec::new()), vec![]),
        is_not("constant: it has another number of values")
    );
    assert_eq!(of(Allocation::Argument(0), vec![]), is_not("this argument"));
    let mut sized = plan(vec![Allocation::Stack], vec![]);
    sized.buffers[0].size = Expr::sym("i");
    assert_eq!(broken(&sized), is_not("on the stack: its size is no constant"));
    sized.buffers[0].allocation = Allocation::Handle;
    assert_eq!(broken(&sized), is_not("in the arena: its size is not known to the caller"));
    let mut twice = plan(vec![Allocation::Stack, Allocation::Stack], vec![]);
    twice.buffers[1].name = "b0".to_owned();
    assert_eq!(broken(&twice), is_not("called as another buffer is"));
    let mut slot = plan(vec![Allocation::Stack], vec![]);
    slot.slots = vec![Slot { buffers: vec![id] }];
    assert_eq!(broken(&slot), is_not("in a slot of the arena"));
    // The size of what each thread has is known before the loop.
    let mut own = plan(vec![Allocation::Thread], vec![team(vec![id], vec![])]);
    own.buffers[0].size = Expr::sym("i");
    assert_eq!(broken(&own), [PlanError::BeforeSet { variable: Symbol::of("i") }]);
    // So is the capacity of queues that are made, and the size of what checked code looks at.
    let owner = QueueOwner::Statements;
    let queues = Allocation::Queues { capacity: Some(Expr::sym("i")), owner };
    let unset = [PlanError::BeforeSet { variable: Symbol::of("i") }];
    assert_eq!(of(queues, vec![Statement::Allocate(id)]), unset);
    let mut looked_at = plan(vec![Allocation::Persistent], vec![touch(Expr::zero())]);
    looked_at.buffers[0].size = Expr::sym("i");
    assert_eq!(broken(&looked_at), []);
    looked_at.checked = true;
    assert_eq!(broken(&looked_at), unset);
}

#[test]
fn loops_count_alone() {
    let set = |name: &str| Statement::Let { variable: Symbol::of(name), value: Expr::one() };
    let of = |body| broken(&plan(vec![Allocation::Stack], vec![of_level(Level::Unrolled, body)]));
    assert_eq!(of(vec![set("j")]), []);
    assert_eq!(of(vec![set("i")]), [PlanError::SetsCounter { variable: Symbol::of("i") }]);
    // Bounds are found before the first iteration.
    let bounded = LoopDimension { end: Expr::sym("i"), ..dimension("i") };
    let bounded = Statement::Loop(Loop::sequential(bounded, vec![]));
    assert_eq!(broken(&plan(vec![], vec![bounded])), [PlanError::BeforeSet { variable: Symbol::of("i") }]);
    // What a thread sets is not there after the loop of its team.
    let shared = plan(vec![Allocation::Stack], vec![team(vec![], vec![set("j")]), touch(Expr::sym("j"))]);
    assert_eq!(broken(&shared), [PlanError::BeforeSet { variable: Symbol::of("j") }]);
}

#[test]
fn functions_are_given_what_they_use() {
    let set = Statement::Let { variable: Symbol::of("j"), value: Expr::one() };
    let inside = || team(vec![], vec![touch(Expr::sym("j") + Expr::sym("i"))]);
    let mut whole = plan(vec![Allocation::Stack], vec![set, inside()]);
    capture(&mut whole);
    assert_eq!(whole.verify(), Ok(()));
    let given = |whole: &Plan| match &whole.body[1] {
        Statement::Loop(each) => each.team().map(|team| team.captures.clone()).unwrap_or_default(),
        other => panic!("{other:?}"),
    };
    let with = |change: &dyn Fn(&mut Captures)| {
        let (mut broken, mut captures) = (whole.clone(), given(&whole));
        change(&mut captures);
        if let Statement::Loop(each) = &mut broken.body[1]
            && let Some(team) = each.team_mut()
        {
            team.captures = captures;
        }
        broken.verify().err().unwrap_or_default()
    };
    assert_eq!(with(&|_| {}), []);
    let variable = Symbol::of("j");
    assert_eq!(with(&|given| given.variables.clear()), [PlanError::VariableNotGiven { variable }]);
    let buffer = || "b0".to_owned();
    assert_eq!(with(&|given| given.buffers.clear()), [PlanError::BufferNotGiven { buffer: buffer() }]);
    let mut program = whole.clone();
    program.captures.stack.clear();
    assert_eq!(program.verify(), Err(vec![PlanError::BufferNotGiven { buffer: buffer() }]));

    // What the caller passes is not everywhere either.
    let mut passed = plan(vec![Allocation::Stack], vec![team(vec![], vec![touch(Expr::sym("N"))])]);
    passed.symbols = vec![SymbolArgument { name: Symbol::of("N"), ty: ScalarType::I64, non_negative: false }];
    // Where it is used it has a type.
    assert_eq!(broken(&passed), [PlanError::Untyped { variable: Symbol::of("N") }]);
    passed.variables.insert(Symbol::of("N"), ScalarType::I64);
    capture(&mut passed);
    assert_eq!(passed.verify(), Ok(()));
    passed.captures.variables.clear();
    assert_eq!(passed.verify(), Err(vec![PlanError::VariableNotGiven { variable: Symbol::of("N") }]));

    // Each thread combines its accumulator into the same element.
    let target = Strided {
        origin: Location { buffer: BufferId(0), offset: Expr::zero() },
        extents: vec![],
        strides: vec![],
    };
    let resolution = ConflictResolution::Sum;
    let private = PrivateAccumulator { buffer: BufferId(1), copies: None, target, resolution };
    let team = Team { privates: vec![private], ..Team::default() };
    let sum = Statement::Loop(Loop::shared(vec![dimension("i")], team, vec![]));
    let mut sum = plan(vec![Allocation::Stack, Allocation::Stack], vec![sum]);
    capture(&mut sum);
    assert_eq!(sum.verify(), Ok(()));
    if let Statement::Loop(each) = &mut sum.body[0]
        && let Some(team) = each.team_mut()
    {
        team.captures.buffers[0].contested = false;
    }
    assert_eq!(sum.verify(), Err(vec![PlanError::Contested { buffer: buffer() }]));
}
