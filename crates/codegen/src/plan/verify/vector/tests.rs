//! Tests with a correct vector loop, and one change that breaks each rule.

use sdfg::dtype::ScalarType;
use sdfg::ir::{ConflictResolution, FloatMode};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::{
    Code, Dialect, Environment, TypedCode, TypedExpression, TypedExpressionKind, TypedStatement, typecheck,
};
use sdfg::value::Value;

use crate::plan::verify::PlanError;
use crate::plan::verify::tests::{broken, dimension, of_level, plan, touch};
use crate::plan::{
    Allocation, Binding, BufferId, Compute, Copy, CopyDimension, Fold, LaneAccess, Level, LevelKind,
    Location, Loop, LoopDimension, Plan, Realisation, Resolved, Statement, Stride, Strided, SymbolArgument,
    Vector, VectorCompute,
};

const N_LANES: u32 = 4;

fn i() -> Expr {
    Expr::sym("i")
}

fn at(buffer: u32, offset: Expr) -> Location {
    Location { buffer: BufferId(buffer), offset }
}

/// Two elements from the start of a buffer on, of which code chooses one.
fn part(buffer: u32) -> Strided {
    let strides = vec![Stride::Even(Expr::one())];
    Strided { origin: at(buffer, Expr::zero()), extents: vec![Expr::int(2)], strides }
}

fn combine(realisation: Realisation) -> Resolved {
    Resolved::Combine { resolution: ConflictResolution::Sum, custom: None, realisation }
}

fn load(offset: Expr) -> Binding {
    Binding::Load(at(0, offset))
}

fn store(offset: Expr) -> Binding {
    Binding::Store { to: at(1, offset), write: Resolved::Store }
}

fn sum(offset: Expr) -> Binding {
    Binding::Store { to: at(1, offset), write: combine(Realisation::Plain) }
}

/// A tasklet `t` with connectors `c0`, `c1`, ...
fn tasklet(bindings: Vec<(Binding, LaneAccess)>) -> VectorCompute {
    let mut environment = Environment::new();
    let (bindings, accesses): (Vec<_>, _) = bindings.into_iter().unzip();
    for number in 0..bindings.len() {
        environment.input(format!("c{number}"), ScalarType::I64);
    }
    let code = TypedCode { environment, locals: Vec::new(), body: Vec::new() };
    let (symbols, checks) = (Vec::new(), Vec::new());
    VectorCompute { compute: Compute { label: "t".to_owned(), code, bindings, symbols, checks }, accesses }
}

/// Lanes of vectors for `i = 0:end`; each iteration that is left over copies from buffer 0 to buffer 1.
fn vectors(end: Expr, lanes: Vec<VectorCompute>) -> Plan {
    let (label, dimensions, write) = (String::new(), Vec::new(), Resolved::Store);
    let rest = vec![Statement::Copy(Copy { label, from: at(0, i()), to: at(1, i()), dimensions, write })];
    let level = Level::Vector(Box::new(Vector { width: N_LANES, rest, ..Vector::default() }));
    let body = lanes.into_iter().map(Statement::Lanes).collect();
    let dimension = LoopDimension { end, ..dimension("i") };
    let each = Loop { level, ..Loop::sequential(dimension, body) };
    let mut plan = plan(vec![Allocation::Persistent, Allocation::Persistent], vec![Statement::Loop(each)]);
    let (name, ty) = (Symbol::of("N"), ScalarType::I64);
    plan.variables.insert(name.clone(), ty);
    plan.symbols = vec![SymbolArgument { name, ty, non_negative: true }];
    plan
}

/// `b1[i] = b0[i]`.
fn right() -> Plan {
    vectors(
        Expr::sym("N"),
        vec![tasklet(vec![(load(i()), LaneAccess::Contiguous), (store(i()), LaneAccess::Contiguous)])],
    )
}

fn each(plan: &mut Plan) -> &mut Loop {
    match &mut plan.body[0] {
        Statement::Loop(each) => each,
        other => panic!("{other:?}"),
    }
}

fn vector(plan: &mut Plan) -> &mut Vector {
    match &mut each(plan).level {
        Level::Vector(vector) => vector,
        other => panic!("{other:?}"),
    }
}

fn lanes(plan: &mut Plan) -> &mut VectorCompute {
    match &mut each(plan).body[0] {
        Statement::Lanes(lanes) => lanes,
        other => panic!("{other:?}"),
    }
}

/// The rules that the right plan breaks after a change.
fn after(change: impl FnOnce(&mut Plan)) -> Vec<PlanError> {
    let mut plan = right();
    assert_eq!(broken(&plan), []);
    change(&mut plan);
    broken(&plan)
}

/// The rules that a loop breaks whose tasklet has these connectors; buffer 2 is each lane's own, buffer 3 the cell of a fold.
fn of_accesses(bindings: Vec<(Binding, LaneAccess)>) -> Vec<PlanError> {
    let mut plan = vectors(Expr::int(8), vec![tasklet(bindings)]);
    for name in ["b2", "b3"] {
        let mut buffer = plan.buffers[0].clone();
        (buffer.name, buffer.allocation) = (name.to_owned(), Allocation::Stack);
        buffer.space = crate::plan::Space::Stack;
        plan.buffers.push(buffer);
    }
    let vector = vector(&mut plan);
    vector.rest.clear();
    vector.privates = vec![BufferId(2)];
    vector.folds = vec![Fold { cell: BufferId(3), resolution: ConflictResolution::Sum }];
    broken(&plan)
}

fn wrong(connector: &str, what: &'static str) -> Vec<PlanError> {
    vec![PlanError::LaneAccess { label: "t".to_owned(), connector: connector.to_owned(), what }]
}

/// The rules that one connector breaks.
fn of_access(binding: Binding, way: LaneAccess) -> Vec<PlanError> {
    of_accesses(vec![(binding, way)])
}

fn allocation(buffer: &str, what: &'static str) -> PlanError {
    PlanError::Allocation { buffer: buffer.to_owned(), what }
}

#[test]
fn lanes_are_those_of_vectors() {
    assert_eq!(after(|plan| each(plan).body.push(touch(Expr::zero()))), [PlanError::Lanes]);
    assert_eq!(after(|plan| each(plan).level = Level::Unrolled), [PlanError::Lanes]);
    let moved = after(|plan| {
        let lanes = each(plan).body.clone();
        vector(plan).rest.extend(lanes);
    });
    assert_eq!(moved, [PlanError::Lanes]);
    assert_eq!(after(|plan| lanes(plan).accesses.truncate(1)), [PlanError::Lanes]);
    // One connector stands for nothing.
    let unbound = |plan: &mut Plan| lanes(plan).compute.code.environment = Environment::new();
    assert_eq!(after(unbound), [PlanError::Lanes]);
    let symbol = |plan: &mut Plan| lanes(plan).compute.symbols.push(Expr::one());
    assert_eq!(after(symbol), [PlanError::Lanes]);
    let inner = after(|plan| vector(plan).rest.push(of_level(Level::Unrolled, vec![])));
    let nested = PlanError::Nesting { inner: LevelKind::Unrolled, outer: Some(LevelKind::Vector) };
    assert_eq!(inner, [nested]);
}

#[test]
fn lanes_stay_together() {
    let condition = || TypedExpression {
        kind: TypedExpressionKind::Constant(Value::Bool(false)),
        ty: ScalarType::Bool.into(),
        span: sdfg::syntax::Span::default(),
    };
    let of = |body| after(|plan| lanes(plan).compute.code.body = body);
    let decides = |then| TypedStatement::If { condition: condition(), then, otherwise: Vec::new() };
    assert_eq!(of(vec![decides(Vec::new())]), []);
    let repeats = TypedStatement::While { condition: condition(), body: Vec::new() };
    assert_eq!(of(vec![decides(vec![repeats])]), [PlanError::Lanes]);
    let counts = |code: &str| {
        after(|plan| {
            let compute = &mut lanes(plan).compute;
            let code = Code::parse(code, Dialect::Python).unwrap();
            compute.code = typecheck(&code, &compute.code.environment).unwrap();
        })
    };
    assert_eq!(counts("for k in range(1, 9, 2):\n  if c0 > k:\n    for l in range(k): x = l"), []);
    for bounds in ["c0", "1, c0 + 2", "1, 2, c0", "1, y"] {
        let code = format!("y = c0\nfor k in range({bounds}): x = k");
        assert_eq!(counts(&code), [PlanError::Lanes], "{code}");
    }
}

#[test]
fn every_iteration_is_run() {
    for width in [0, 1] {
        assert_eq!(after(|plan| vector(plan).width = width), [PlanError::Width { width }]);
    }
    let alone = |change: &dyn Fn(&mut LoopDimension)| {
        after(|plan| {
            vector(plan).rest.clear();
            change(&mut each(plan).dimensions[0]);
        })
    };
    assert_eq!(alone(&|_| {}), [PlanError::LeftOver]);
    assert_eq!(alone(&|dimension| dimension.end = Expr::int(8)), []);
    assert_eq!(alone(&|dimension| dimension.end = Expr::int(7)), [PlanError::LeftOver]);
    // An iteration that is left over does what a lane does.
    let other = after(|plan| vector(plan).rest = vec![touch(i())]);
    assert_eq!(other, [PlanError::Rest { buffer: "b1".to_owned() }]);
    let nothing = CopyDimension { extent: Expr::zero(), from_stride: Expr::one(), to_stride: Expr::one() };
    let nothing = after(|plan| match &mut vector(plan).rest[0] {
        Statement::Copy(copy) => copy.dimensions = vec![nothing],
        other => panic!("{other:?}"),
    });
    let rest = |buffer: &str| PlanError::Rest { buffer: buffer.to_owned() };
    assert_eq!(nothing, [rest("b0"), rest("b1")]);
}

#[test]
fn checked_plans_have_no_lanes() {
    assert_eq!(after(|plan| plan.checked = true), [PlanError::UncheckedLanes]);
}

#[test]
fn variables_of_lanes_are_set() {
    let unset = vec![PlanError::BeforeSet { variable: Symbol::of("j") }];
    let moved = i() + Expr::sym("j");
    assert_eq!(of_access(load(moved.clone()), LaneAccess::Contiguous), unset);
    let strided = i() * &Expr::sym("j");
    // Once for the offset, once for the stride.
    assert_eq!(of_access(load(strided), LaneAccess::Strided(Expr::sym("j"))), unset);
    let mut set = right();
    lanes(&mut set).compute.bindings[0] = load(moved);
    set.body.insert(0, Statement::Let { variable: Symbol::of("j"), value: Expr::one() });
    assert_eq!(broken(&set), []);
    // The variable of the loop has no value behind it.
    let behind = after(|plan| plan.body.push(touch(i())));
    assert_eq!(behind, [PlanError::BeforeSet { variable: Symbol::of("i") }]);
}

#[test]
fn each_lane_has_memory_of_its_own() {
    let own = |offset| Binding::Load(at(2, offset));
    assert_eq!(of_access(own(Expr::one()), LaneAccess::Own), []);
    assert_eq!(of_access(own(i()), LaneAccess::OwnIndexed), []);
    assert_eq!(of_access(own(i()), LaneAccess::Own), wrong("c0", "look elsewhere for their elements"));
    assert_eq!(
        of_access(own(i()), LaneAccess::Contiguous),
        wrong("c0", "share memory of which each has its own")
    );
    assert_eq!(
        of_access(load(Expr::one()), LaneAccess::Own),
        wrong("c0", "have no such memory of their own")
    );

    let with = |change: &dyn Fn(&mut Plan)| {
        after(|plan| {
            plan.buffers[0].allocation = Allocation::Stack;
            vector(plan).privates = vec![BufferId(0)];
            let lanes = lanes(plan);
            lanes.compute.bindings[0] = load(Expr::zero());
            lanes.accesses[0] = LaneAccess::Own;
            change(plan);
        })
    };
    assert_eq!(with(&|_| {}), []);
    let is_not = [allocation("b0", "one of each lane's own")];
    assert_eq!(with(&|plan| plan.buffers[0].size = Expr::int(6)), is_not);
    assert_eq!(with(&|plan| plan.buffers[0].allocation = Allocation::Persistent), is_not);
    let outside = [PlanError::Outside { buffer: "b0".to_owned() }];
    assert_eq!(with(&|plan| plan.body.push(touch(Expr::zero()))), outside);
}

#[test]
fn folds_are_whole() {
    let into = |offset, write| Binding::Store { to: at(3, offset), write };
    let plain = || combine(Realisation::Plain);
    assert_eq!(of_access(into(Expr::zero(), plain()), LaneAccess::Fold(0)), []);
    let is_not = wrong("c0", "do not combine as the fold does");
    assert_eq!(of_access(into(Expr::zero(), plain()), LaneAccess::Fold(1)), is_not);
    assert_eq!(of_access(sum(Expr::zero()), LaneAccess::Fold(0)), is_not);
    assert_eq!(of_access(into(Expr::zero(), Resolved::Store), LaneAccess::Fold(0)), is_not);
    let (resolution, custom, realisation) = (ConflictResolution::Max, None, Realisation::Plain);
    let largest = Resolved::Combine { resolution, custom, realisation };
    assert_eq!(of_access(into(Expr::zero(), largest), LaneAccess::Fold(0)), is_not);
    let elsewhere = wrong("c0", "look elsewhere for their elements");
    assert_eq!(of_access(into(Expr::one(), plain()), LaneAccess::Fold(0)), elsewhere);
    let in_registers = wrong("c0", "access what is in the registers of a fold");
    assert_eq!(of_access(Binding::Load(at(3, Expr::zero())), LaneAccess::Uniform), in_registers);
    assert_eq!(of_access(into(Expr::zero(), plain()), LaneAccess::InOrder), in_registers);

    let folded = |resolution: ConflictResolution, n, change: &dyn Fn(&mut Plan)| {
        let write = Resolved::Combine { resolution, custom: None, realisation: Realisation::Plain };
        after(|plan| {
            let Resolved::Combine { resolution, .. } = &write else { return };
            vector(plan).folds = vec![Fold { cell: BufferId(1), resolution: resolution.clone() }; n];
            let lanes = lanes(plan);
            lanes.compute.bindings[1] = Binding::Store { to: at(1, Expr::zero()), write };
            lanes.accesses[1] = LaneAccess::Fold(0);
            change(plan);
        })
    };
    assert_eq!(folded(ConflictResolution::Sum, 1, &|_| {}), []);
    assert_eq!(folded(ConflictResolution::Sum, 2, &|_| {}), [allocation("b1", "folded twice")]);
    let replaced = folded(ConflictResolution::Replace, 1, &|_| {});
    assert_eq!(replaced, [allocation("b1", "folded by what has no identity")]);
    let of_floats = |mode| {
        move |plan: &mut Plan| {
            plan.buffers[1].element = ScalarType::F64.into();
            plan.float_mode = mode;
        }
    };
    let strict = "folded in a strict program: its results are rounded in the order of iterations";
    let is_strict = of_floats(FloatMode::Strict);
    assert_eq!(folded(ConflictResolution::Sum, 1, &is_strict), [allocation("b1", strict)]);
    assert_eq!(folded(ConflictResolution::Max, 1, &is_strict), []);
    assert_eq!(folded(ConflictResolution::Sum, 1, &of_floats(FloatMode::Fast)), []);
}

#[test]
fn lane_accesses_lead_to_the_elements_of_the_plan() {
    let elsewhere = || wrong("c0", "look elsewhere for their elements");
    let twice = || i() * &Expr::int(2);
    let stride = |n| LaneAccess::Strided(Expr::int(n));
    for (offset, way) in [
        (Expr::one(), LaneAccess::Uniform),
        (i(), LaneAccess::Contiguous),
        (Expr::int(7) - i(), LaneAccess::Reversed),
        (twice(), stride(2)),
        (i() * &Expr::sym("N"), LaneAccess::Strided(Expr::sym("N"))),
        (&i() * &i(), LaneAccess::Indexed),
    ] {
        assert_eq!(of_access(load(offset), way), []);
    }
    for (offset, way) in [
        (i(), LaneAccess::Uniform),
        (twice(), LaneAccess::Contiguous),
        (Expr::one(), LaneAccess::Contiguous),
        (i(), LaneAccess::Reversed),
        (twice(), stride(3)),
        (Expr::one(), stride(0)),
        (&i() * &i(), LaneAccess::Contiguous),
    ] {
        assert_eq!(of_access(load(offset), way), elsewhere());
    }
    // The step of the loop counts, too.
    let stepped = after(|plan| each(plan).dimensions[0].step = Expr::int(2));
    assert_eq!(
        stepped,
        [wrong("c0", "look elsewhere for their elements"), wrong("c1", "look elsewhere for their elements")]
            .concat()
    );
}

#[test]
fn lane_accesses_are_those_of_their_connectors() {
    let as_writes = wrong("c0", "read as only writes do");
    assert_eq!(of_access(load(i()), LaneAccess::InOrder), as_writes);
    assert_eq!(of_access(load(i()), LaneAccess::Fold(0)), as_writes);
    let by_indices = wrong("c0", "do not choose their elements by indices");
    assert_eq!(of_access(Binding::View(part(0)), LaneAccess::Indexed), []);
    assert_eq!(of_access(Binding::View(part(0)), LaneAccess::Uniform), by_indices);
    assert_eq!(of_access(Binding::View(part(0)), LaneAccess::InOrder), by_indices);
    let write = |buffer, write| Binding::ViewMut { to: part(buffer), write };
    assert_eq!(of_access(write(1, Resolved::Store), LaneAccess::Indexed), []);
    assert_eq!(of_access(write(1, Resolved::Store), LaneAccess::InOrder), []);
    assert_eq!(of_access(write(1, Resolved::Store), LaneAccess::Contiguous), by_indices);
    let at_once = wrong("c0", "may combine into one element at once");
    let plain = || combine(Realisation::Plain);
    assert_eq!(of_access(write(1, plain()), LaneAccess::InOrder), []);
    assert_eq!(of_access(write(2, plain()), LaneAccess::OwnIndexed), []);
    assert_eq!(of_access(write(1, plain()), LaneAccess::Indexed), at_once);
    assert_eq!(
        of_access(Binding::Push(at(0, Expr::zero())), LaneAccess::InOrder),
        wrong("c0", "use a queue")
    );
}

#[test]
fn lanes_write_different_elements() {
    assert_eq!(of_access(store(Expr::zero()), LaneAccess::InOrder), []);
    assert_eq!(of_access(store(Expr::zero()), LaneAccess::Uniform), wrong("c0", "write one element at once"));
    let at_once = wrong("c0", "may combine into one element at once");
    assert_eq!(of_access(sum(i()), LaneAccess::Contiguous), []);
    assert_eq!(of_access(sum(Expr::zero()), LaneAccess::InOrder), []);
    assert_eq!(of_access(sum(Expr::zero()), LaneAccess::Uniform), at_once);
    assert_eq!(of_access(sum(i()), LaneAccess::Indexed), at_once);
    let unknown = sum(i() * &Expr::sym("N"));
    assert_eq!(of_access(unknown, LaneAccess::Strided(Expr::sym("N"))), at_once);
    let contested = wrong("c0", "combine at once what other threads change");
    for realisation in [Realisation::Atomic, Realisation::Locked] {
        let into = || Binding::Store { to: at(1, i()), write: combine(realisation) };
        assert_eq!(of_access(into(), LaneAccess::InOrder), []);
        assert_eq!(of_access(into(), LaneAccess::Contiguous), contested);
    }
}

#[test]
fn lanes_do_not_meet() {
    let meet = [PlanError::LanesMeet { buffer: "b1".to_owned() }];
    let read = |distance| Binding::Load(at(1, i() + Expr::int(distance)));
    let both = |distance| {
        of_accesses(vec![(read(distance), LaneAccess::Contiguous), (store(i()), LaneAccess::Contiguous)])
    };
    assert_eq!((both(0), both(4), both(-4)), (vec![], vec![], vec![]));
    for distance in [1, 3, -3] {
        assert_eq!(both(distance), meet);
    }
    let reads = vec![(read(0), LaneAccess::Contiguous), (read(1), LaneAccess::Contiguous)];
    assert_eq!(of_accesses(reads), []);
    // Elements between those of the other one.
    let twice = |distance| i() * &Expr::int(2) + Expr::int(distance);
    let between = |distance| {
        let read = Binding::Load(at(1, twice(distance)));
        let way = || LaneAccess::Strided(Expr::int(2));
        of_accesses(vec![(read, way()), (store(twice(0)), way())])
    };
    assert_eq!(between(1), []);
    assert_eq!(between(2), meet);
    // Combinations of one kind may come in any order; others and stores may not.
    let sums = vec![(sum(i()), LaneAccess::Contiguous), (sum(i() + Expr::one()), LaneAccess::Contiguous)];
    assert_eq!(of_accesses(sums), []);
    let mixed = vec![(sum(i()), LaneAccess::Contiguous), (store(i() + Expr::one()), LaneAccess::Contiguous)];
    assert_eq!(of_accesses(mixed), meet);
    // All lanes of the first have written when those of the second begin.
    let in_turn = || (store(Expr::zero()), LaneAccess::InOrder);
    assert_eq!(of_accesses(vec![in_turn(), in_turn()]), meet);
    // Memory of each lane's own is no other lane's.
    let own = |offset| (Binding::Store { to: at(2, offset), write: Resolved::Store }, LaneAccess::OwnIndexed);
    assert_eq!(of_accesses(vec![own(i()), own(i() + Expr::one())]), []);
}
