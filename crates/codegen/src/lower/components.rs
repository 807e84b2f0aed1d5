//! Independent parts of a state, each run by one thread.
//!
//! A component is a set of nodes that edges connect. An access node at the start of the state does not
//! connect components, so two readers of one array remain separate. Components that touch memory which
//! another one writes are merged. The analysis works on the lowered statements, where views, references and
//! connectors are resolved. The calling thread keeps every component that starts a team, waits at a stream or
//! calls a C function, and every component with little work: nested teams would compete for processors, and
//! the order of external calls may be observable.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::unionfind::UnionFind;
use sdfg::dtype::ScalarType;
use sdfg::ir::{NodeId, NodeKind, OpenMpSchedule};
use sdfg::symbolic::Expr;

use super::Lowering;
use super::dataflow::Graph;
use super::scalar::less;
use crate::plan::{BufferId, If, Loop, LoopDimension, Plan, Start, Statement, Team, any_statement, touches};

/// The nodes of a state, each with its statements, in topological order.
pub(super) type Lowered = Vec<(NodeId, Vec<Statement>)>;

/// Work that may be worth a thread.
enum Work {
    /// A number of innermost steps.
    Steps(Expr),
    /// A loop until something holds.
    Unknown,
}

/// The work of the nodes of a component.
#[derive(Default)]
struct Load {
    /// Whether the calling thread has to run something of it.
    stays: bool,
    /// Innermost steps of the nodes whose number is known.
    steps: Option<Expr>,
    /// Whether the number is not known of a node, and whether that has a loop around its tasklets.
    unknown: bool,
    repeats: bool,
}

impl Load {
    fn add(&mut self, body: &[Statement], work: impl FnOnce() -> Option<Expr>) {
        if !any_statement(body, &|statement| !matches!(statement, Statement::Comment(_))) {
            return;
        }
        self.stays |= any_statement(body, &stays);
        match work() {
            Some(steps) => self.steps = Some(self.steps.take().unwrap_or_else(Expr::zero) + steps),
            None => {
                self.unknown = true;
                self.repeats |= any_statement(body, &repeats);
            }
        }
    }

    /// The work, if the component may run beside others and may have as many steps to do as `least`.
    fn worth(self, least: u64) -> Option<Work> {
        if self.stays {
            return None;
        }
        if self.unknown {
            // Else it is a tasklet with a loop of its own.
            return (self.repeats || least == 0).then_some(Work::Unknown);
        }
        let steps = self.steps?;
        let is_little = steps.as_int().is_some_and(|n| u64::try_from(n).unwrap_or(0) < least);
        (!is_little).then_some(Work::Steps(steps))
    }
}

impl<'g> Lowering<'g> {
    /// The statements of a state's nodes, where it pays as a team whose threads run a component each; the plan had `fixed` variables
    /// before them.
    pub(super) fn components(
        &mut self,
        graph: Graph<'g, '_>,
        label: &str,
        mut nodes: Lowered,
        fixed: usize,
    ) -> Vec<Statement> {
        if self.options.serial_components || self.in_parallel() || self.n_tasks > 0 {
            return in_order(nodes);
        }
        let least = self.options.threshold;
        let numbers = component_numbers(&self.plan, graph, &mut nodes);
        let mut loads: BTreeMap<usize, Load> = BTreeMap::new();
        for (number, (_, body)) in numbers.iter().zip(&nodes) {
            loads.entry(*number).or_default().add(body, || self.work(&[], &[], body, fixed));
        }
        let worth =
            |(number, load): (usize, Load)| load.worth(least).map(|work| (number, (work, Vec::new())));
        let mut shared: BTreeMap<usize, (Work, Vec<Statement>)> =
            loads.into_iter().filter_map(worth).collect();
        if shared.len() < 2 {
            return in_order(nodes);
        }
        let mut rest = Vec::new();
        for (number, (_, body)) in numbers.into_iter().zip(nodes) {
            shared.get_mut(&number).map_or(&mut rest, |(_, shared)| shared).extend(body);
        }
        let mut statements = vec![self.side_by_side(label, shared.into_values().collect())];
        statements.extend(rest);
        statements
    }

    /// A team for components, each with its work.
    fn side_by_side(&mut self, label: &str, shared: Vec<(Work, Vec<Statement>)>) -> Statement {
        let variable = self.new_variable("component", ScalarType::I64);
        let number = Expr::symbol(variable.clone());
        let end = Expr::int(shared.len() as i64);
        let start = saved(shared.iter().map(|(work, _)| work)).map_or(Start::Always, Start::Worth);
        let mut bodies: Vec<Vec<Statement>> = shared.into_iter().map(|(_, body)| body).collect();
        let otherwise = bodies.pop().unwrap_or_default();
        let arm = |(k, body)| (less(&number, &Expr::int(k as i64 + 1)), body);
        let arms = bodies.into_iter().enumerate().map(arm).collect();
        // A thread that is done takes the next one.
        let (label, sharing) = (format!("{label}_components"), OpenMpSchedule::Dynamic);
        let team = Team { label, sharing, start, ..Team::default() };
        let dimension = LoopDimension { variable, begin: Expr::zero(), end, step: Expr::one() };
        let body = vec![Statement::If(If { arms, otherwise })];
        Statement::Loop(Loop::shared(vec![dimension], team, body))
    }
}

fn in_order(nodes: Lowered) -> Vec<Statement> {
    nodes.into_iter().flat_map(|(_, statements)| statements).collect()
}

/// Steps that need not be waited for when each component has a thread: all but those of the longest one. `None` where two take a number
/// that is not known.
fn saved<'w>(works: impl Iterator<Item = &'w Work>) -> Option<Expr> {
    let (mut sum, mut longest, mut unknown) = (Expr::zero(), Expr::zero(), 0);
    for work in works {
        match work {
            Work::Unknown => unknown += 1,
            Work::Steps(steps) => {
                sum = sum + steps;
                longest = Expr::max(&longest, steps);
            }
        }
    }
    match unknown {
        0 => Some(sum - longest),
        // It is taken for the longest one.
        1 => Some(sum),
        _ => None,
    }
}

/// Whether it takes a number of steps that is not known.
fn repeats(statement: &Statement) -> bool {
    matches!(statement, Statement::While(_) | Statement::Dispatch { .. })
}

/// Whether it is to be run by the calling thread.
fn stays(statement: &Statement) -> bool {
    let is_shared = matches!(statement, Statement::Loop(each) if each.team().is_some());
    is_shared
        || matches!(
            statement,
            Statement::Tasks(_)
                | Statement::Consume(_)
                | Statement::Push(_)
                | Statement::Pop(_)
                | Statement::External(_)
                | Statement::Point { .. }
                | Statement::Keep(_)
                | Statement::Recall(_)
        )
}

/// For each of the nodes a number that those of its component have in common.
fn component_numbers(plan: &Plan, graph: Graph<'_, '_>, nodes: &mut Lowered) -> Vec<usize> {
    let position: BTreeMap<NodeId, usize> =
        nodes.iter().enumerate().map(|(position, (node, _))| (*node, position)).collect();
    // What is inside of a scope, and its exit, counts as its entry.
    let position_of = |node: NodeId| {
        let entry = graph.state.node(node).kind.exit_of().unwrap_or(node);
        position.get(&graph.tree.enclosing(entry).last().unwrap_or(entry)).copied()
    };
    let begins = |node: NodeId| {
        matches!(graph.state.node(node).kind, NodeKind::Access(_)) && graph.state.in_edges(node).is_empty()
    };
    let mut components = UnionFind::new(nodes.len());
    for (_, edge) in graph.state.edges().filter(|(_, edge)| !begins(edge.src)) {
        if let Some((from, to)) = position_of(edge.src).zip(position_of(edge.dst)) {
            components.union(from, to);
        }
    }
    let mut users: BTreeMap<BufferId, Users> = BTreeMap::new();
    for (position, (_, statements)) in nodes.iter_mut().enumerate() {
        touches(statements, &mut |touch| {
            let mut memory = plan.owners(touch.buffer());
            if memory.iter().any(|buffer| plan.overlapping.contains(buffer)) {
                memory.extend(&plan.overlapping);
            }
            for buffer in memory {
                let users = users.entry(buffer).or_default();
                users.positions.insert(position);
                users.written |= !touch.reads();
            }
        });
    }
    for users in users.into_values().filter(|users| users.written) {
        for (one, next) in users.positions.iter().zip(users.positions.iter().skip(1)) {
            components.union(*one, *next);
        }
    }
    components.into_labeling()
}

/// Positions of nodes that touch a buffer.
#[derive(Default)]
struct Users {
    positions: BTreeSet<usize>,
    written: bool,
}
