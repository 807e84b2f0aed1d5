//! Tests with small plans whose sharing is known, and with random plans that run on shared memory: every read
//! must find the value that was written to its own buffer.

use sdfg::dtype::ScalarType;
use sdfg::ir::FloatMode;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::{Connector, ConnectorKind, Dialect, Direction, Environment, typecheck_expression};

use super::assign_slots;
use crate::plan::{
    Allocation, Binding, Buffer, BufferId, Copy, If, JumpTarget, Location, Loop, LoopDimension, Plan,
    Resolved, Scalar, Statement, SymbolArgument, Team, While,
};

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// A plan with a buffer in the arena for each size.
fn plan(sizes: &[&str], body: Vec<Statement>) -> Plan {
    let symbol =
        |name: &str| SymbolArgument { name: Symbol::of(name), ty: ScalarType::I64, non_negative: true };
    let buffer = |(at, size): (usize, &&str)| {
        let (name, element) = (NAMES[at].to_owned(), ScalarType::I64.into());
        Buffer::new(name, element, size.parse().unwrap(), Allocation::Handle)
    };
    let mut plan = Plan {
        symbols: vec![symbol("N"), symbol("M")],
        buffers: sizes.iter().enumerate().map(buffer).collect(),
        body,
        ..Plan::new("shared", FloatMode::Strict)
    };
    assign_slots(&mut plan, false);
    plan
}

fn at(buffer: usize, element: usize) -> Location {
    Location { buffer: BufferId(buffer as u32), offset: Expr::int(element as i64) }
}

/// A statement that reads an element and writes another one.
fn copy_element(from: Location, to: Location) -> Statement {
    Statement::Copy(Copy { label: String::new(), from, to, dimensions: Vec::new(), write: Resolved::Store })
}

fn copy(from: usize, to: usize) -> Statement {
    copy_element(at(from, 0), at(to, 0))
}

fn begin(buffer: usize) -> Statement {
    Statement::Begin(BufferId(buffer as u32))
}

/// A condition that reads an element.
fn condition(location: Location) -> Scalar {
    let mut environment = Environment::new();
    let (element, kind, direction) = (ScalarType::I64.into(), ConnectorKind::Value, Direction::In);
    environment.add_connector("c", Connector { element, kind, direction });
    let parsed = sdfg::syntax::parse_expression("c > 0").unwrap();
    Scalar {
        code: typecheck_expression(&parsed, Dialect::Python, &environment).unwrap(),
        bindings: vec![Binding::Load(location)],
        symbols: Vec::new(),
        checks: Vec::new(),
    }
}

fn choice(arms: Vec<(Scalar, Vec<Statement>)>, otherwise: Vec<Statement>) -> Statement {
    Statement::If(If { arms, otherwise })
}

fn dimension() -> LoopDimension {
    let variable = Symbol::of("i");
    LoopDimension { variable, begin: Expr::zero(), end: Expr::sym("N"), step: Expr::one() }
}

fn repeated(independent: bool, body: Vec<Statement>) -> Statement {
    Statement::Loop(Loop { independent, ..Loop::sequential(dimension(), body) })
}

fn shared(body: Vec<Statement>) -> Statement {
    Statement::Loop(Loop::shared(vec![dimension()], Team::default(), body))
}

/// The slots as names.
fn slots(plan: &Plan) -> Vec<String> {
    let name = |id: &BufferId| plan.buffer(*id).name.as_str();
    plan.slots.iter().map(|slot| slot.buffers.iter().map(name).collect()).collect()
}

#[test]
fn links_of_a_chain_take_turns() {
    let chain = || vec![copy(0, 1), copy(1, 2), copy(2, 3)];
    // Nobody writes `a`, so it holds nothing.
    assert_eq!(slots(&plan(&["N"; 4], chain())), ["ac", "bd"]);
    // In a loop each still holds something when the next iteration begins ...
    assert_eq!(slots(&plan(&["N"; 4], vec![repeated(false, chain())])), ["ac", "b", "d"]);
    // ... unless its lifetime begins with each.
    let mut fresh: Vec<Statement> = (0..4).map(begin).collect();
    fresh.extend(chain());
    assert_eq!(slots(&plan(&["N"; 4], vec![repeated(false, fresh.clone())])), ["ac", "bd"]);
    // Iterations without an order are no turns.
    assert_eq!(slots(&plan(&["N"; 4], vec![repeated(true, fresh.clone())])), ["a", "b", "c", "d"]);
    assert_eq!(slots(&plan(&["N"; 4], vec![shared(fresh)])), ["a", "b", "c", "d"]);
}

#[test]
fn what_is_read_later_keeps_its_place() {
    let program = vec![copy(0, 1), copy(1, 2), copy(2, 3), copy(1, 3)];
    assert_eq!(slots(&plan(&["N"; 4], program)), ["ac", "b", "d"]);
}

#[test]
fn arms_of_a_choice_share_and_what_is_read_behind_it_does_not() {
    let arms = |then: Vec<Statement>, otherwise| choice(vec![(condition(at(0, 0)), then)], otherwise);
    let apart = vec![copy(0, 0), arms(vec![copy(0, 1), copy(1, 0)], vec![copy(0, 2), copy(2, 0)])];
    assert_eq!(slots(&plan(&["N"; 3], apart)), ["a", "bc"]);
    let behind = vec![copy(0, 1), arms(vec![copy(0, 2), copy(2, 0)], vec![]), copy(1, 0)];
    assert_eq!(slots(&plan(&["N"; 3], behind)), ["a", "b", "c"]);
}

#[test]
fn the_largest_come_first_and_like_sizes_join() {
    let disjoint = |at| [copy(at, at), copy(at, at)];
    let body: Vec<Statement> = (0..4).flat_map(disjoint).collect();
    let shared = plan(&["M", "N*M", "N", "N*M"], body);
    assert_eq!(slots(&shared), ["bdac"]);
    assert_eq!(shared.memory_use().arena.to_string(), "max(8*M*N, 8*M, 8*N)");
    assert_eq!(shared.memory_use().unshared.to_string(), "16*M*N + 8*M + 8*N");
    let both = vec![copy(0, 1), copy(1, 0), copy(2, 3), copy(3, 2)];
    let joined = plan(&["N", "N*M", "N*M", "N"], both);
    assert_eq!(slots(&joined), ["bc", "ad"]);
    assert_eq!(joined.memory_use().arena.to_string(), "8*M*N + 8*N");
}

/// A sequence of pseudo-random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

/// Elements of each buffer.
const ELEMENTS: usize = 2;

/// Random statements.
struct Generator {
    random: Random,
    n_buffers: usize,
    n_targets: u32,
    /// Loops, blocks and dispatches around: what each can be jumped at with.
    around: Vec<Vec<Statement>>,
}

impl Generator {
    fn location(&mut self) -> Location {
        at(self.random.below(self.n_buffers), self.random.below(ELEMENTS))
    }

    fn body(&mut self, depth: usize, length: usize) -> Vec<Statement> {
        (0..1 + self.random.below(length)).map(|_| self.statement(depth)).collect()
    }

    fn condition(&mut self) -> Scalar {
        condition(self.location())
    }

    fn target(&mut self) -> JumpTarget {
        self.n_targets += 1;
        JumpTarget(self.n_targets)
    }

    fn inside(&mut self, jumps: Vec<Statement>, depth: usize) -> Vec<Statement> {
        self.around.push(jumps);
        let body = self.body(depth - 1, 4);
        self.around.pop();
        body
    }

    fn statement(&mut self, depth: usize) -> Statement {
        let kind = self.random.below(if depth > 0 { 16 } else { 8 });
        match kind {
            0..4 => copy_element(self.location(), self.location()),
            4 | 5 => begin(self.random.below(self.n_buffers)),
            6 | 7 => {
                let jumps: Vec<Statement> = self.around.concat();
                if jumps.is_empty() {
                    return copy_element(self.location(), self.location());
                }
                let jump = jumps[self.random.below(jumps.len())].clone();
                choice(vec![(self.condition(), vec![jump])], Vec::new())
            }
            8 | 9 => {
                let arms = (0..1 + self.random.below(2)).map(|_| (self.condition(), self.body(depth - 1, 3)));
                let arms = arms.collect();
                choice(arms, if self.random.below(2) == 0 { Vec::new() } else { self.body(depth - 1, 3) })
            }
            10 | 11 => {
                let target = self.target();
                let condition = self.condition();
                let jumps = vec![Statement::Leave(target), Statement::Repeat(target)];
                let body = self.inside(jumps, depth);
                let update = self.body(0, 1);
                let test_after = self.random.below(2) == 0;
                Statement::While(While { target, condition, test_after, body, update, unroll: false })
            }
            12 => repeated(false, self.body(depth - 1, 3)),
            13 => {
                // Jumps do not leave threads.
                let around = std::mem::take(&mut self.around);
                let body = self.body(0, 3);
                self.around = around;
                if self.random.below(2) == 0 { repeated(true, body) } else { shared(body) }
            }
            14 => {
                let target = self.target();
                Statement::Block { target, body: self.inside(vec![Statement::Leave(target)], depth) }
            }
            _ => {
                let target = self.target();
                let n = 2 + self.random.below(2);
                let mut jumps: Vec<Statement> = (0..n).map(|case| Statement::Goto { target, case }).collect();
                jumps.push(Statement::Leave(target));
                let cases = (0..n).map(|_| self.inside(jumps.clone(), depth)).collect();
                Statement::Dispatch { target, cases }
            }
        }
    }
}

/// Ends of statements.
enum End {
    Behind,
    Leave(JumpTarget),
    Repeat(JumpTarget),
    Goto(JumpTarget, usize),
    /// Long enough.
    Stop,
}

/// A run on shared memory, with conditions at random.
struct Machine<'p> {
    plan: &'p Plan,
    random: Random,
    steps_left: usize,
    slot_of: Vec<usize>,
    /// Elements that were written since the lifetime of their buffer began.
    defined: Vec<[bool; ELEMENTS]>,
    /// Elements over which no other buffer has been written since.
    intact: Vec<[bool; ELEMENTS]>,
    /// Defined elements that were read, and in how many cases another buffer of the slot had been written over them.
    reads: usize,
    lost: usize,
}

fn element(location: &Location) -> (usize, usize) {
    (location.buffer.index(), location.offset.as_int().unwrap() as usize)
}

impl<'p> Machine<'p> {
    fn new(plan: &'p Plan, seed: u64) -> Self {
        let n = plan.buffers.len();
        let mut slot_of = vec![usize::MAX; n];
        for (at, slot) in plan.slots.iter().enumerate() {
            slot.buffers.iter().for_each(|buffer| slot_of[buffer.index()] = at);
        }
        Machine {
            plan,
            random: Random(seed),
            steps_left: 200,
            slot_of,
            defined: vec![[false; ELEMENTS]; n],
            intact: vec![[false; ELEMENTS]; n],
            reads: 0,
            lost: 0,
        }
    }

    fn read(&mut self, location: &Location) {
        let (buffer, element) = element(location);
        if self.defined[buffer][element] {
            self.reads += 1;
            self.lost += usize::from(!self.intact[buffer][element]);
        }
    }

    fn write(&mut self, location: &Location) {
        let (buffer, element) = element(location);
        assert!(self.slot_of[buffer] < self.plan.slots.len(), "a buffer has no slot");
        for other in 0..self.plan.buffers.len() {
            if other != buffer && self.slot_of[other] == self.slot_of[buffer] {
                self.intact[other] = [false; ELEMENTS];
            }
        }
        self.defined[buffer][element] = true;
        self.intact[buffer][element] = true;
    }

    fn holds(&mut self, condition: &Scalar) -> bool {
        let [Binding::Load(location)] = condition.bindings.as_slice() else { panic!("another condition") };
        self.read(location);
        self.random.below(2) == 0
    }

    fn all(&mut self, body: &[Statement]) -> End {
        for statement in body {
            match self.one(statement) {
                End::Behind => {}
                other => return other,
            }
        }
        End::Behind
    }

    fn one(&mut self, statement: &Statement) -> End {
        if self.steps_left == 0 {
            return End::Stop;
        }
        self.steps_left -= 1;
        match statement {
            Statement::Copy(copy) => {
                self.read(&copy.from);
                self.write(&copy.to);
                End::Behind
            }
            Statement::Begin(buffer) => {
                self.defined[buffer.index()] = [false; ELEMENTS];
                End::Behind
            }
            Statement::If(choice) => {
                for (condition, body) in &choice.arms {
                    if self.holds(condition) {
                        return self.all(body);
                    }
                }
                self.all(&choice.otherwise)
            }
            Statement::Loop(repeated) if !repeated.independent && repeated.team().is_none() => {
                for _ in 0..self.random.below(3) {
                    match self.all(&repeated.body) {
                        End::Behind => {}
                        other => return other,
                    }
                }
                End::Behind
            }
            Statement::Loop(Loop { body, .. }) => self.in_any_order(body),
            Statement::While(repeated) => self.repeat(repeated),
            Statement::Block { target, body } => match self.all(body) {
                End::Leave(to) if to == *target => End::Behind,
                other => other,
            },
            Statement::Dispatch { target, cases } => {
                let mut case = 0;
                loop {
                    match self.all(&cases[case]) {
                        End::Goto(to, next) if to == *target => case = next,
                        End::Leave(to) if to == *target => return End::Behind,
                        other => return other,
                    }
                }
            }
            Statement::Leave(target) => End::Leave(*target),
            Statement::Repeat(target) => End::Repeat(*target),
            Statement::Goto { target, case } => End::Goto(*target, *case),
            other => panic!("not generated: {other:?}"),
        }
    }

    fn repeat(&mut self, repeated: &While) -> End {
        let mut first = repeated.test_after;
        loop {
            if !std::mem::take(&mut first) && !self.holds(&repeated.condition) {
                return End::Behind;
            }
            match self.all(&repeated.body) {
                End::Behind => {}
                End::Leave(to) if to == repeated.target => return End::Behind,
                End::Repeat(to) if to == repeated.target => {}
                other => return other,
            }
            match self.all(&repeated.update) {
                End::Behind => {}
                other => return other,
            }
        }
    }

    /// Several iterations at once: their statements in any order. A lifetime that begins in one of them says nothing of others.
    fn in_any_order(&mut self, body: &[Statement]) -> End {
        let is_step = |statement: &&Statement| !matches!(statement, Statement::Begin(_));
        let mut waiting: Vec<&Statement> = body.iter().chain(body).filter(is_step).collect();
        while !waiting.is_empty() {
            let next = waiting.swap_remove(self.random.below(waiting.len()));
            if let End::Stop = self.one(next) {
                return End::Stop;
            }
        }
        End::Behind
    }
}

#[test]
fn reads_of_random_plans_find_what_was_written() {
    let (mut shared, mut reads) = (0, 0);
    for seed in 0..3000 {
        let n_buffers = 2 + seed as usize % (NAMES.len() - 1);
        let mut generator = Generator { random: Random(seed), n_buffers, n_targets: 0, around: Vec::new() };
        let body = generator.body(3, 8);
        let plan = plan(&vec!["N"; n_buffers], body);
        shared += usize::from(plan.slots.len() < n_buffers);
        for run in 0..10 {
            let mut machine = Machine::new(&plan, seed * 1000 + run);
            machine.all(&plan.body);
            assert_eq!(machine.lost, 0, "seed {seed}, run {run}: {plan}");
            reads += machine.reads;
        }
    }
    // The plans are not such that nothing is shared or read.
    assert!(shared > 1000 && reads > 50_000, "{shared} plans share, {reads} reads");
}
