//! The order of commands: their streams, and what each stream and the host are known to follow.
//!
//! Commands have numbers in the order of the text. A clock has, for each stream, the last command that is known to be complete: with it,
//! all earlier ones of the stream. A command follows what came before it in its stream, what it waits for, and what the host waited for.
//! At a *join*, a command of stream 0 follows all others, and stands for them from then on. A *gathering* command of stream 0 stands for those of a
//! construct with control flow.

use std::collections::{BTreeMap, BTreeSet};

use super::memory::{Piece, Use, Uses};

/// The number of a command. Number 0 is none, and 1 stands for what the caller did before the run.
pub(super) type CommandId = usize;

/// The last complete command of each stream.
type Clock = Vec<CommandId>;

struct Command {
    stream: usize,
    /// What is complete when it is.
    clock: Clock,
}

/// Commands that use a piece of memory, since the last join.
#[derive(Clone, Debug, Default)]
struct Users {
    write: Option<CommandId>,
    /// Reads behind the write.
    reads: Vec<CommandId>,
}

#[derive(Clone, Debug)]
struct Stream {
    clock: Clock,
    /// The last command that takes time; none since the last join.
    last: Option<CommandId>,
    n_commands: usize,
}

/// What is known at a place of the text.
#[derive(Clone, Debug)]
pub(super) struct State {
    streams: Vec<Stream>,
    host: Clock,
    users: BTreeMap<Piece, Users>,
    /// The last join.
    joined: CommandId,
    /// Streams other than 0 with commands since then.
    active: BTreeSet<usize>,
    /// Memory that is allocated in the stream of its first user, by the number of the allocation.
    allocated: BTreeMap<Piece, CommandId>,
}

/// The stream of a command, as far as its kind decides it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wish {
    /// Any stream that starts it early. Without predecessors, that of this command if it is the last one of its stream.
    Early(Option<CommandId>),
    /// The stream of the last predecessor: it takes no time.
    Behind,
}

pub(super) struct Order {
    commands: Vec<Command>,
    /// Commands whose events something waits for.
    awaited: BTreeSet<CommandId>,
    /// Copies to the device.
    copies: BTreeSet<CommandId>,
    pub(super) state: State,
}

impl Order {
    /// The order at the beginning of a run, for so many streams.
    pub(super) fn new(streams: usize) -> Self {
        let idle = Stream { clock: vec![0; streams], last: None, n_commands: 0 };
        let state = State {
            streams: vec![idle; streams],
            host: vec![0; streams],
            users: BTreeMap::new(),
            joined: 0,
            active: BTreeSet::new(),
            allocated: BTreeMap::new(),
        };
        let none = Command { stream: 0, clock: vec![0; streams] };
        let mut order =
            Order { commands: vec![none], awaited: BTreeSet::new(), copies: BTreeSet::new(), state };
        order.join(Uses::new());
        order
    }

    /// The number of commands so far.
    pub(super) fn n_commands(&self) -> usize {
        self.commands.len()
    }

    pub(super) fn stream(&self, command: CommandId) -> usize {
        self.commands[command].stream
    }

    /// Whether something waits for the event of a command.
    pub(super) fn is_awaited(&self, command: CommandId) -> bool {
        self.awaited.contains(&command)
    }

    /// The last join.
    pub(super) fn joined(&self) -> CommandId {
        self.state.joined
    }

    /// Streams other than 0 with commands since the last join.
    pub(super) fn active(&self) -> BTreeSet<usize> {
        self.state.active.clone()
    }

    /// Streams other than 0 of the commands from a number on.
    pub(super) fn used_since(&self, first: usize) -> BTreeSet<usize> {
        self.commands[first..].iter().map(|command| command.stream).filter(|stream| *stream != 0).collect()
    }

    /// Whether the host has waited for a command.
    fn is_complete(&self, command: CommandId) -> bool {
        self.state.host[self.commands[command].stream] >= command
    }

    /// Predecessors among the users of memory, the last one first.
    fn predecessors(&self, uses: &Uses) -> Vec<CommandId> {
        let mut found = BTreeSet::new();
        for (piece, kind) in uses {
            let Some(users) = self.state.users.get(piece) else { continue };
            found.extend(users.write);
            if *kind == Use::Write {
                found.extend(&users.reads);
            }
        }
        found.into_iter().rev().collect()
    }

    /// The commands that the host waits for before it uses memory.
    pub(super) fn host_waits(&mut self, uses: &Uses) -> Vec<CommandId> {
        let mut waits = Vec::new();
        for command in self.predecessors(uses) {
            if !self.is_complete(command) {
                self.host_follows(command);
                self.awaited.insert(command);
                waits.push(command);
            }
        }
        waits.reverse();
        waits
    }

    /// Notes that the host has waited for a command.
    pub(super) fn host_follows(&mut self, command: CommandId) {
        follow(&mut self.state.host, &self.commands[command].clock);
    }

    /// Notes that a command is a copy to the device.
    pub(super) fn is_copy(&mut self, command: CommandId) {
        self.copies.insert(command);
    }

    /// Notes that something waits for the event of a command.
    pub(super) fn await_event(&mut self, command: CommandId) {
        self.awaited.insert(command);
    }

    /// A command that uses memory, with those that it waits for.
    pub(super) fn issue(&mut self, uses: &Uses, wish: Wish) -> (CommandId, Vec<CommandId>) {
        let before = self.predecessors(uses);
        // All commands follow the last join.
        let chosen: Vec<CommandId> =
            before.iter().copied().filter(|command| *command > self.state.joined).collect();
        let stream = self.choose(&chosen, wish);
        self.issue_in(stream, uses, before, matches!(wish, Wish::Early(_)))
    }

    /// A command of stream 0 that follows the commands of some streams, and uses memory: it stands for the commands of a construct with control
    /// flow, whatever path was taken. With it are the commands that it waits for, besides the ends of the streams.
    pub(super) fn gather(&mut self, streams: &BTreeSet<usize>, uses: &Uses) -> (CommandId, Vec<CommandId>) {
        let (id, waits) = self.issue_in(0, uses, self.predecessors(uses), true);
        for at in streams {
            let stream = &mut self.state.streams[*at];
            stream.last = Some(id);
            let clock = &mut self.commands[id].clock;
            follow(clock, &stream.clock);
            clock[*at] = id;
            self.state.active.remove(at);
        }
        self.state.streams[0].clock.clone_from(&self.commands[id].clock);
        (id, waits)
    }

    /// A command of a stream that uses memory behind its predecessors, with those that it waits for.
    fn issue_in(
        &mut self,
        stream: usize,
        uses: &Uses,
        before: Vec<CommandId>,
        takes_time: bool,
    ) -> (CommandId, Vec<CommandId>) {
        let mut uses = uses.clone();
        for (piece, kind) in &mut uses {
            if let Some(allocation) = self.state.allocated.remove(piece) {
                self.commands[allocation].stream = stream;
                // Others follow this command, and so the allocation.
                *kind = Use::Write;
            }
        }
        let mut clock = self.state.streams[stream].clock.clone();
        follow(&mut clock, &self.state.host);
        let mut waits = Vec::new();
        for command in before.into_iter().chain([self.state.joined]) {
            let Command { stream: of, clock: its } = &self.commands[command];
            if *of != stream && clock[*of] < command {
                waits.push(command);
            }
            follow(&mut clock, its);
        }
        self.awaited.extend(&waits);
        waits.reverse();
        let id = self.commands.len();
        clock[stream] = id;
        self.note(id, stream, clock, &uses, takes_time);
        (id, waits)
    }

    /// Adds a command to its stream and to the users of its memory.
    fn note(&mut self, id: CommandId, stream: usize, clock: Clock, uses: &Uses, takes_time: bool) {
        let at = &mut self.state.streams[stream];
        at.clock.clone_from(&clock);
        at.n_commands += 1;
        if takes_time {
            at.last = Some(id);
        }
        if stream != 0 {
            self.state.active.insert(stream);
        }
        self.commands.push(Command { stream, clock });
        for (piece, kind) in uses {
            let users = self.state.users.entry(*piece).or_default();
            match kind {
                Use::Write => *users = Users { write: Some(id), reads: Vec::new() },
                Use::Read => {
                    let commands = &self.commands;
                    users.reads.retain(|earlier| commands[*earlier].stream != stream);
                    users.reads.push(id);
                }
            }
        }
    }

    /// The copy to the device that wrote memory, if it is the last command of its stream.
    pub(super) fn last_copy(&self, piece: Piece) -> Option<CommandId> {
        let write = self.state.users.get(&piece)?.write?;
        (self.copies.contains(&write) && self.state.streams[self.stream(write)].last == Some(write))
            .then_some(write)
    }

    /// The stream of a command with predecessors, the last one first.
    fn choose(&self, before: &[CommandId], wish: Wish) -> usize {
        let streams = &self.state.streams;
        let is_last = |command: CommandId| streams[self.stream(command)].last == Some(command);
        match (wish, before) {
            (Wish::Behind, _) => return before.first().map_or(0, |last| self.stream(*last)),
            (Wish::Early(Some(beside)), []) if is_last(beside) => return self.stream(beside),
            (Wish::Early(_), _) => {}
        }
        if let Some(last) = before.iter().find(|command| is_last(**command)) {
            return self.stream(*last);
        }
        // A stream all of whose commands come before anyway.
        let mut clock = vec![0; streams.len()];
        before.iter().for_each(|command| follow(&mut clock, &self.commands[*command].clock));
        let is_before = |(at, stream): &(usize, &Stream)| stream.last.is_some_and(|last| last <= clock[*at]);
        if let Some((at, _)) = streams.iter().enumerate().find(is_before) {
            return at;
        }
        let is_idle = |stream: &Stream| stream.last.is_none_or(|last| last == self.state.joined);
        if let Some(idle) = streams.iter().position(is_idle) {
            return idle;
        }
        match before.first() {
            Some(last) => self.stream(*last),
            None => (0..streams.len()).min_by_key(|at| (streams[*at].n_commands, *at)).unwrap_or(0),
        }
    }

    /// The allocation of memory, in the stream of its first user.
    pub(super) fn allocate(&mut self, piece: Piece) -> CommandId {
        let id = self.commands.len();
        let clock = vec![0; self.state.streams.len()];
        self.commands.push(Command { stream: 0, clock });
        self.state.users.remove(&piece);
        self.state.allocated.insert(piece, id);
        id
    }

    /// The end of one stream at a join, whose event stream 0 waits for.
    pub(super) fn end_of(&mut self, stream: usize) -> CommandId {
        let clock = vec![0; self.state.streams.len()];
        self.commands.push(Command { stream, clock });
        self.awaited.insert(self.commands.len() - 1);
        self.commands.len() - 1
    }

    /// Allocates memory without a user yet in stream 0. Users in other streams wait for it: its memory may be that of an earlier command.
    pub(super) fn settle_allocations(&mut self) {
        for (piece, allocation) in std::mem::take(&mut self.state.allocated) {
            self.commands[allocation].clock[0] = allocation;
            self.state.users.insert(piece, Users { write: Some(allocation), reads: Vec::new() });
        }
    }

    /// A command of stream 0 that follows all others; the host may have to wait for it before it uses the memory in `pending`.
    pub(super) fn join(&mut self, pending: Uses) -> CommandId {
        let id = self.commands.len();
        let n = self.state.streams.len();
        self.commands.push(Command { stream: 0, clock: vec![id; n] });
        for (at, stream) in self.state.streams.iter_mut().enumerate() {
            let clock = if at == 0 { vec![id; n] } else { vec![0; n] };
            *stream = Stream { clock, last: (at == 0).then_some(id), n_commands: 0 };
        }
        let users = |kind| match kind {
            Use::Write => Users { write: Some(id), reads: Vec::new() },
            Use::Read => Users { write: None, reads: vec![id] },
        };
        self.state.users = pending.into_iter().map(|(piece, kind)| (piece, users(kind))).collect();
        self.state.joined = id;
        self.state.active.clear();
        // Allocations without a user are in stream 0, before this command.
        self.state.allocated.clear();
        id
    }
}

/// What follows `other`, too.
fn follow(clock: &mut Clock, other: &Clock) {
    clock.iter_mut().zip(other).for_each(|(own, other)| *own = (*own).max(*other));
}
