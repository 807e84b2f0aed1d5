//! Command streams of a device: independent kernels and copies go to different streams, and events order those that depend on each other.
//!
//! This step follows the text of a plan once. A command goes to the stream of a predecessor that nothing follows yet, else to an idle one.
//! It waits for the events of its predecessors in other streams, except for those that it is known to follow. The host waits for an
//! event only before it uses memory that a command uses in a conflicting way. Dependence is that of whole buffers; buffers that share
//! memory count as one (`memory`). `order` knows what follows what.
//!
//! Where paths of control flow meet, the streams with commands on these paths gather: stream 0 waits for them. This point stands for the whole
//! construct: it uses the memory that commands of the construct use, so that only what depends on one of them follows it. The host does not wait
//! there. A loop gathers the streams that its body uses at the beginning of each iteration, and what its commands depend on before it; a
//! body that uses stream 0 alone needs no event. A run ends where all streams join stream 0, for which the host waits.

mod memory;
mod order;

use std::collections::BTreeSet;

use memory::{Memory, Piece, Use, Uses};
use order::{CommandId, Order, State, Wish};

use crate::plan::{
    Allocation, BufferId, Commands, Copy, EventId, If, JumpTarget, Level, Loop, Plan, Space, Statement,
    While, any_statement,
};

/// Statements behind a copy in which its first user is looked for.
const LOOK_AHEAD: usize = 64;

/// Distributes the commands of a plan to at most so many streams of the device.
pub(super) fn assign_streams(plan: &mut Plan, limit: usize) {
    let memory = Memory::of(plan);
    if limit < 2 || plan.checked || !plan.body.iter().any(|statement| memory.has_commands(statement)) {
        return;
    }
    let mut placement = Placement { memory, order: Order::new(limit), copied: BTreeSet::new() };
    let mut body = vec![placement.joined()];
    body.extend(placement.statements(std::mem::take(&mut plan.body)));
    let active = placement.order.active();
    body.extend(placement.join(active, Uses::new()));
    for buffer in &placement.copied {
        let buffer = &mut plan.buffers[buffer.index()];
        if buffer.allocation == Allocation::Handle {
            buffer.space = Space::Pinned;
        }
    }
    let numbers = Numbers::of(&placement.order);
    plan.body = numbers.statements(&placement.order, body);
    plan.events = numbers.events.len() as u32;
    plan.command_streams = 1 + largest_stream(&plan.body);
}

fn largest_stream(body: &[Statement]) -> u32 {
    let inside = |statement: &Statement| {
        let own = if let Statement::Commands(commands) = statement { commands.stream } else { 0 };
        statement.bodies().into_iter().map(largest_stream).fold(own, u32::max)
    };
    body.iter().map(inside).max().unwrap_or(0)
}

struct Placement {
    memory: Memory,
    order: Order,
    /// Buffers from or to which the device copies. Copies of memory that is pinned run beside kernels.
    copied: BTreeSet<BufferId>,
}

/// A construct with control flow, before its statements.
struct Scope {
    /// The number of its first command.
    first: usize,
    state: State,
    /// Memory that commands inside of it use.
    uses: Uses,
}

impl Placement {
    fn statements(&mut self, body: Vec<Statement>) -> Vec<Statement> {
        self.statements_before(body, &mut [])
    }

    /// Places statements; `behind` are those that follow, the next one last.
    fn statements_before(&mut self, body: Vec<Statement>, behind: &mut [Statement]) -> Vec<Statement> {
        let mut placed = Vec::with_capacity(body.len());
        let mut rest = body;
        rest.reverse();
        while let Some(statement) = rest.pop() {
            let next = if rest.is_empty() { &mut *behind } else { &mut rest[..] };
            self.statement(statement, next, &mut placed);
        }
        placed
    }

    /// Places a statement; `rest` are those behind it, the next one last.
    fn statement(&mut self, mut statement: Statement, rest: &mut [Statement], placed: &mut Vec<Statement>) {
        if self.memory.is_command(&statement) {
            self.command(statement, rest, placed);
            return;
        }
        if !self.memory.has_commands(&statement) {
            let uses = self.memory.uses(std::slice::from_mut(&mut statement));
            self.host_waits(&uses, placed);
            placed.push(statement);
            return;
        }
        match statement {
            Statement::Located { location, body } => {
                let body = self.statements_before(body, rest);
                placed.push(Statement::Located { location, body });
            }
            Statement::Timed { timer, body } => {
                let body = self.statements_before(body, rest);
                placed.push(Statement::Timed { timer, body });
            }
            Statement::Block { target, body } => self.block(target, body, placed),
            Statement::If(choice) => self.choice(choice, placed),
            Statement::Loop(each) if matches!(each.level, Level::Sequential { .. } | Level::Unrolled) => {
                self.repeated(each, placed);
            }
            Statement::While(each) => self.while_loop(each, placed),
            Statement::Dispatch { target, cases } => self.dispatch(target, cases, placed),
            other => self.in_order(other, placed),
        }
    }

    /// A command goes to a stream.
    fn command(&mut self, mut statement: Statement, rest: &mut [Statement], placed: &mut Vec<Statement>) {
        let event = match statement {
            Statement::Allocate(buffer) => match self.memory.piece(buffer) {
                Some(piece) => (self.order.allocate(piece), Vec::new()),
                None => return placed.push(statement),
            },
            _ => {
                let mut uses = self.memory.uses(std::slice::from_mut(&mut statement));
                if self.memory.is_of_host_too(&statement) {
                    self.host_waits(&uses, placed);
                }
                if let Statement::Loop(_) = &statement {
                    // The kernel has values of the host when it is launched: later changes of them do not wait for it.
                    uses.retain(|piece, _| {
                        !matches!(piece, Piece::Buffer(_)) || !self.memory.is_of_host(*piece)
                    });
                }
                let wish = match &statement {
                    Statement::Free(_) => Wish::Behind,
                    Statement::Copy(copy) if self.memory.is_copy_to_device(&statement) => {
                        Wish::Early(self.copy_beside(copy, rest))
                    }
                    _ => Wish::Early(None),
                };
                self.order.issue(&uses, wish)
            }
        };
        let (command, after) = event;
        if self.memory.is_copy_to_device(&statement) {
            self.order.is_copy(command);
        }
        if let Statement::Copy(copy) = &statement {
            let ends = [copy.from.buffer, copy.to.buffer].into_iter();
            self.copied.extend(ends.filter(|end| !self.memory.is_on_device(*end)));
        }
        placed.push(marked(command, &after, vec![statement]));
    }

    /// A copy to the device for the first user of another one, if it is known. A device carries out one after the other anyway.
    fn copy_beside(&self, copy: &Copy, rest: &mut [Statement]) -> Option<CommandId> {
        let target = self.memory.piece(copy.to.buffer)?;
        for next in rest.iter_mut().rev().take(LOOK_AHEAD) {
            let next = alone(next);
            if !self.memory.is_command(next) {
                if next.bodies().is_empty() {
                    continue;
                }
                // Streams join at control flow.
                return None;
            }
            let uses = self.memory.uses(std::slice::from_mut(next));
            if !uses.contains_key(&target) {
                continue;
            }
            let others = uses.keys().filter(|piece| **piece != target);
            return others.filter_map(|piece| self.order.last_copy(*piece)).max();
        }
        None
    }

    /// The host waits for what it needs.
    fn host_waits(&mut self, uses: &Uses, placed: &mut Vec<Statement>) {
        let uses = uses.iter().filter(|(piece, _)| self.memory.is_of_host(**piece));
        let waits = self.order.host_waits(&uses.map(|(piece, kind)| (*piece, *kind)).collect());
        if !waits.is_empty() {
            placed.push(Statement::Await(waits.into_iter().map(mark).collect()));
        }
    }

    /// Statements that jumps may leave, or not.
    fn block(&mut self, target: JumpTarget, mut body: Vec<Statement>, placed: &mut Vec<Statement>) {
        let is_left = any_statement(&body, &|inner| matches!(inner, Statement::Leave(to) if *to == target));
        let scope = is_left.then(|| self.enter(&mut body));
        let body = self.statements(body);
        placed.push(Statement::Block { target, body });
        if let Some(scope) = scope {
            self.leave(scope, placed);
        }
    }

    fn choice(&mut self, mut choice: If, placed: &mut Vec<Statement>) {
        for (condition, _) in &mut choice.arms {
            let uses = self.memory.uses_of_scalar(condition);
            self.host_waits(&uses, placed);
        }
        let mut whole = [Statement::If(choice)];
        let scope = self.enter(&mut whole);
        let [Statement::If(mut choice)] = whole else { return };
        for (_, body) in &mut choice.arms {
            *body = self.arm(&scope, std::mem::take(body));
        }
        choice.otherwise = self.arm(&scope, std::mem::take(&mut choice.otherwise));
        placed.push(Statement::If(choice));
        self.leave(scope, placed);
    }

    fn arm(&mut self, scope: &Scope, body: Vec<Statement>) -> Vec<Statement> {
        self.order.state = scope.state.clone();
        self.statements(body)
    }

    fn repeated(&mut self, mut each: Loop, placed: &mut Vec<Statement>) {
        let scope = self.enter_loop(&mut each.body, placed);
        let head = self.order.gather(&BTreeSet::new(), &self.in_turn(&scope.uses));
        let body = self.statements(each.body);
        let used = self.order.used_since(scope.first);
        each.body = self.ends(used, head);
        each.body.extend(body);
        placed.push(Statement::Loop(each));
        self.leave(scope, placed);
    }

    fn while_loop(&mut self, mut each: While, placed: &mut Vec<Statement>) {
        let condition = self.memory.uses_of_scalar(&mut each.condition);
        if !each.test_after {
            self.host_waits(&condition, placed);
        }
        let mut whole = [Statement::While(each)];
        let scope = self.enter_loop(&mut whole, placed);
        let [Statement::While(mut each)] = whole else { return };
        let head = self.order.gather(&BTreeSet::new(), &self.in_turn(&scope.uses));
        let begun = self.order.state.clone();
        let repeats =
            any_statement(&each.body, &|inner| matches!(inner, Statement::Repeat(to) if *to == each.target));
        let body = self.statements(each.body);
        let mut update = Vec::new();
        if repeats {
            self.order.state = begun;
            update = self.gather(self.order.used_since(scope.first), &scope.uses);
        }
        update.extend(self.statements(each.update));
        self.host_waits(&condition, &mut update);
        let used = self.order.used_since(scope.first);
        each.body = self.ends(used, head);
        each.body.extend(body);
        each.update = update;
        placed.push(Statement::While(each));
        self.leave(scope, placed);
    }

    fn dispatch(&mut self, target: JumpTarget, cases: Vec<Vec<Statement>>, placed: &mut Vec<Statement>) {
        let mut whole = [Statement::Dispatch { target, cases }];
        let scope = self.enter_loop(&mut whole, placed);
        let [Statement::Dispatch { target, cases }] = whole else { return };
        let mut bodies = Vec::new();
        for case in cases {
            self.order.state = scope.state.clone();
            let head = self.order.gather(&BTreeSet::new(), &self.in_turn(&scope.uses));
            bodies.push((head, self.statements(case)));
        }
        // Any case may come before any other.
        let used = self.order.used_since(scope.first);
        let mut cases = Vec::new();
        for (head, body) in bodies {
            let mut case = self.ends(used.clone(), head);
            case.extend(body);
            cases.push(case);
        }
        placed.push(Statement::Dispatch { target, cases });
        self.leave(scope, placed);
    }

    /// A statement whose commands have no streams: the host waits before it and in it, and everything follows it.
    fn in_order(&mut self, statement: Statement, placed: &mut Vec<Statement>) {
        let mut whole = [statement];
        let mut pending = self.memory.uses_of_commands(&mut whole);
        pending.retain(|piece, _| self.memory.is_of_host(*piece));
        placed.extend(self.join(self.order.active(), Uses::new()));
        let before = self.order.joined();
        self.order.await_event(before);
        placed.push(Statement::Await(vec![mark(before)]));
        self.order.host_follows(before);
        placed.extend(whole);
        placed.extend(self.join(BTreeSet::new(), pending));
    }

    /// The beginning of a construct with control flow.
    fn enter(&mut self, body: &mut [Statement]) -> Scope {
        // Paths would choose different streams for them.
        self.order.settle_allocations();
        let uses = self.memory.uses_of_commands(body);
        Scope { first: self.order.n_commands(), state: self.order.state.clone(), uses }
    }

    /// The beginning of a construct whose commands run several times: before it, stream 0 waits for what they depend on.
    fn enter_loop(&mut self, body: &mut [Statement], placed: &mut Vec<Statement>) -> Scope {
        let Scope { uses, .. } = self.enter(body);
        placed.extend(self.gather(BTreeSet::new(), &self.in_turn(&uses)));
        Scope { first: self.order.n_commands(), state: self.order.state.clone(), uses }
    }

    /// What the beginning of an iteration uses, so that commands follow those of the iteration before: of the device, all memory alike, as
    /// commands that only read would otherwise wait for the writes before the loop again and again.
    fn in_turn(&self, uses: &Uses) -> Uses {
        let kind = |piece: Piece, kind: Use| if self.memory.is_of_host(piece) { kind } else { Use::Write };
        uses.iter().map(|(piece, of)| (*piece, kind(*piece, *of))).collect()
    }

    /// The end of a construct with control flow, which several paths reach.
    fn leave(&mut self, scope: Scope, placed: &mut Vec<Statement>) {
        let streams = self.order.used_since(scope.first);
        self.order.state = scope.state;
        placed.extend(self.gather(streams, &scope.uses));
    }

    /// Lets stream 0 wait for some streams, and for what else uses some memory.
    fn gather(&mut self, streams: BTreeSet<usize>, uses: &Uses) -> Vec<Statement> {
        let gathered = self.order.gather(&streams, uses);
        self.ends(streams, gathered)
    }

    /// Joins all streams with stream 0; these have commands that it does not follow.
    fn join(&mut self, streams: BTreeSet<usize>, pending: Uses) -> Vec<Statement> {
        let joined = self.order.join(pending);
        self.ends(streams, (joined, Vec::new()))
    }

    /// The last join, which waits for nothing.
    fn joined(&self) -> Statement {
        marked(self.order.joined(), &[], Vec::new())
    }

    /// The events of streams that a command of stream 0 waits for besides others, and the command.
    fn ends(
        &mut self,
        streams: BTreeSet<usize>,
        (joined, mut after): (CommandId, Vec<CommandId>),
    ) -> Vec<Statement> {
        let ends: Vec<CommandId> = streams.into_iter().map(|stream| self.order.end_of(stream)).collect();
        let mut statements: Vec<Statement> = ends.iter().map(|end| marked(*end, &[], Vec::new())).collect();
        after.extend(ends);
        statements.push(marked(joined, &after, Vec::new()));
        statements
    }
}

/// The statement in the place of its source, if it is alone there but for comments.
fn alone(statement: &mut Statement) -> &mut Statement {
    let Some(at) = position_alone(statement) else { return statement };
    match statement {
        Statement::Located { body, .. } | Statement::Timed { body, .. } => alone(&mut body[at]),
        other => other,
    }
}

/// The position of the only statement of a source that is no comment.
fn position_alone(statement: &Statement) -> Option<usize> {
    let (Statement::Located { body, .. } | Statement::Timed { body, .. }) = statement else { return None };
    let mut others = body.iter().enumerate().filter(|(_, inner)| !matches!(inner, Statement::Comment(_)));
    let (at, _) = others.next()?;
    others.next().is_none().then_some(at)
}

/// A command in the place of its event, until events have numbers.
fn mark(command: CommandId) -> EventId {
    EventId(command as u32)
}

/// Commands whose stream and events have no numbers yet.
fn marked(command: CommandId, after: &[CommandId], body: Vec<Statement>) -> Statement {
    let after = after.iter().copied().map(mark).collect();
    Statement::Commands(Commands { stream: 0, after, body, event: Some(mark(command)) })
}

/// The numbers of events.
struct Numbers {
    events: Vec<CommandId>,
}

impl Numbers {
    fn of(order: &Order) -> Self {
        Numbers { events: (0..order.n_commands()).filter(|command| order.is_awaited(*command)).collect() }
    }

    fn number(&self, mark: EventId) -> Option<EventId> {
        self.events.binary_search(&mark.index()).ok().map(|at| EventId(at as u32))
    }

    /// Statements with streams and events in the place of commands, neighbours of one stream together.
    fn statements(&self, order: &Order, body: Vec<Statement>) -> Vec<Statement> {
        let mut numbered: Vec<Statement> = Vec::with_capacity(body.len());
        for mut statement in body {
            match &mut statement {
                Statement::Commands(commands) => {
                    let command = commands.event.map_or(0, EventId::index);
                    commands.stream = order.stream(command) as u32;
                    commands.after = commands.after.iter().filter_map(|after| self.number(*after)).collect();
                    commands.event = commands.event.and_then(|event| self.number(event));
                    if commands.body.is_empty() && commands.after.is_empty() && commands.event.is_none() {
                        continue;
                    }
                    if let Some(Statement::Commands(last)) = numbered.last_mut()
                        && last.stream == commands.stream
                        && last.event.is_none()
                        && commands.after.is_empty()
                    {
                        last.body.append(&mut commands.body);
                        last.event = commands.event;
                        continue;
                    }
                }
                Statement::Await(waits) => {
                    *waits = waits.iter().filter_map(|wait| self.number(*wait)).collect();
                }
                other => other.bodies_mut(&mut |body| {
                    *body = self.statements(order, std::mem::take(body));
                }),
            }
            numbered.push(statement);
        }
        numbered
    }
}
