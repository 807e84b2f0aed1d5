//! Consume scopes: processing elements that take elements from a stream until the scope is done.
//!
//! A processing element is an iteration of a loop that threads share. Each thread runs its processing
//! elements one after the other. The first of them ends only when the whole scope is done, so processing
//! elements never wait for a free thread, even if they outnumber the threads. If they may wait for each other
//! at streams, each one becomes a task.

use std::collections::BTreeSet;

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::ir::{Consume, Node, NodeId, Port, Schedule};
use sdfg::symbolic::Expr;
use sdfg::value::Value;

use super::Lowering;
use super::accumulator::set_constant;
use super::alias::{references_of_iterations, sets_outer_references};
use super::call_frame::CallFrame;
use super::conflict::Accumulators;
use super::dataflow::Graph;
use super::error::LowerError;
use super::memory::RootShape;
use super::profile::timed;
use super::scope::Carrier;
use crate::plan::{
    Allocation, Buffer, BufferId, Consume as ConsumeStatement, Level, Location, Loop, LoopDimension,
    Statement, Team, TimerKind,
};

impl<'g> Lowering<'g> {
    /// Statements of a consume scope.
    pub(super) fn consume(
        &mut self,
        frame: &mut CallFrame<'g>,
        graph: Graph<'g, '_>,
        entry: NodeId,
        node: &'g Node,
        consume: &'g Consume,
    ) -> Result<Vec<Statement>, LowerError> {
        let label = &node.label;
        if matches!(consume.schedule, Schedule::GpuGrid(_))
            && self.carrier(frame, &consume.schedule, false, label)? == Carrier::Kernel
        {
            return self.consume_on_device(frame, graph, (entry, node, consume));
        }
        // A condition may wait for what other nodes of the state do.
        let waits = graph.has_blocking_iterations(frame, entry)
            || (consume.condition.is_some()
                && graph.has_blocking_nodes(frame.sdfg, graph.tree.scope_of(entry)));
        let carrier = if waits {
            Carrier::Tasks
        } else {
            let by_one = sets_outer_references(frame, graph, entry) || graph.calls_back_inside(entry);
            match self.carrier(frame, &consume.schedule, by_one, label)? {
                Carrier::Kernel | Carrier::Block => {
                    let what = format!("the consume scope `{label}` on a device");
                    return Err(LowerError::Unsupported { what, path: frame.at(label) });
                }
                carrier @ (Carrier::Threads | Carrier::Tasks | Carrier::OneThread { .. }) => carrier,
            }
        };
        let set = references_of_iterations(frame, graph, entry);
        let set = if carrier == Carrier::Tasks { set } else { BTreeSet::new() };
        let timer = self.timer(TimerKind::Consume, &frame.at(label));
        let part = match carrier {
            Carrier::Threads => self.timer(TimerKind::Part, &frame.at(label)),
            Carrier::Kernel | Carrier::Block | Carrier::Tasks | Carrier::OneThread { .. } => None,
        };
        let mut statements = vec![Statement::Comment(format!("consume {label}"))];
        let mut hidden = self.bind_connectors(frame, graph, entry, &mut statements)?;
        let queue = self.consumed_queue(frame, graph, entry, label)?;
        if self.is_device_queue(queue.buffer) {
            let stream = &self.plan.buffer(queue.buffer).name;
            let what = format!(
                "the consume scope `{label}` over the stream `{stream}` in memory of a device (copy its elements to a stream of the host)"
            );
            return Err(LowerError::Unsupported { what, path: frame.at(label) });
        }
        statements.extend(self.take_checks());
        let scope = self.shared_state(label, &mut statements);

        let variable = self.new_variable(consume.element.as_str(), ScalarType::I64);
        let end = frame.translate(&consume.elements);
        let dimension = LoopDimension { variable, begin: Expr::zero(), end, step: Expr::one() };
        let first_variable = self.plan.variables.len() - 1;
        hidden.push((
            consume.element.clone(),
            frame.bind(&consume.element, Expr::symbol(dimension.variable.clone())),
        ));
        let sharing = self.share_references(frame, &set);
        match carrier {
            Carrier::Tasks => self.open_tasks(&dimension),
            Carrier::Kernel | Carrier::Block | Carrier::Threads => {
                self.open_loop(&dimension, first_variable, true)
            }
            Carrier::OneThread { .. } => self.open_loop(&dimension, first_variable, false),
        }
        let place = (queue, scope);
        let mut body = self.processing_element(frame, graph, (entry, node, consume), place, carrier)?;
        let code = match carrier {
            Carrier::Tasks => self.close_tasks(label, dimension, body),
            Carrier::OneThread { unroll } => {
                let (_, before, after) = self.close_loop(&mut body);
                let mut repeated = Loop::sequential(dimension.clone(), body);
                if unroll {
                    repeated.level = Level::Unrolled;
                }
                self.enclosed(&dimension, before, Statement::Loop(repeated), after)
            }
            Carrier::Kernel | Carrier::Block | Carrier::Threads => {
                let closed = self.close_shared(1, &mut body, Accumulators::OfThreads);
                let of_schedule = consume.schedule.team().cloned().unwrap_or_default();
                let translate = |expr: &Option<Expr>| expr.as_ref().map(|expr| frame.translate(expr));
                // One processing element needs no team.
                let work = dimension.end.is_one().then(Expr::zero);
                let sharing = of_schedule.sharing;
                let (start, in_order) =
                    self.ordered(&mut body, &closed, work, (sharing, of_schedule.chunk.is_some()));
                let team = Team {
                    label: label.clone(),
                    sharing,
                    chunk: translate(&of_schedule.chunk),
                    threads: translate(&of_schedule.threads),
                    start,
                    privates: closed.privates,
                    collected: closed.collected,
                    in_order,
                    locals: closed.locals,
                    communicated: closed.communicated,
                    part,
                    ..Team::default()
                };
                vec![Statement::Loop(Loop::shared(vec![dimension], team, body))]
            }
        };
        statements.extend(self.end_sharing(sharing, code));
        while let Some((symbol, old)) = hidden.pop() {
            frame.unbind(&symbol, old);
        }
        Ok(timed(timer, statements))
    }

    /// The queue that a scope consumes.
    pub(super) fn consumed_queue(
        &mut self,
        frame: &CallFrame<'g>,
        graph: Graph<'g, '_>,
        entry: NodeId,
        label: &str,
    ) -> Result<Location, LowerError> {
        let edges = graph.state.in_edges(entry).into_iter().map(|edge| graph.state.edge(edge));
        let stream = edges.filter(|edge| edge.in_port() == Some(Consume::PORT));
        let access = stream.filter_map(|edge| edge.memlet.read_access()).next();
        let access = access.ok_or_else(|| LowerError::Invalid {
            what: format!("a consume scope without a stream at `{}`", Port::In(Consume::PORT)),
            path: frame.at(label),
        })?;
        let (queues, _) = self.resolve(frame, access, label)?;
        if queues.axes.iter().any(|axis| !axis.extent.is_one()) {
            return Err(LowerError::Invalid {
                what: "a consume scope over several queues".to_owned(),
                path: frame.at(label),
            });
        }
        Ok(queues.origin)
    }

    /// Shared state of processing elements: two numbers, initially zero.
    fn shared_state(&mut self, label: &str, statements: &mut Vec<Statement>) -> Location {
        let name = self.take_name(&format!("{label}_scope"));
        let (element, size) = (ElementType::scalar(ScalarType::I64), Expr::int(2));
        let root = RootShape::packed(vec![size.clone()]);
        let buffer = self.push_buffer(Buffer::new(name, element, size, Allocation::Stack), root);
        for offset in [Expr::zero(), Expr::one()] {
            statements.push(set_constant(&Location { buffer, offset }, Value::I64(0), element));
        }
        Location { buffer, offset: Expr::zero() }
    }

    /// One processing element.
    fn processing_element(
        &mut self,
        frame: &mut CallFrame<'g>,
        graph: Graph<'g, '_>,
        (entry, node, consume): (NodeId, &'g Node, &'g Consume),
        (queue, scope): (Location, Location),
        carrier: Carrier,
    ) -> Result<Vec<Statement>, LowerError> {
        let (mut condition, mut recalls) = (None, Vec::new());
        if let Some(tested) = &consume.condition {
            recalls = self.recalls_of_condition(frame, tested);
            condition = Some(self.condition(frame, tested, &node.label)?);
        }
        let element = self.plan.buffer(queue.buffer).element;
        let n_buffers = self.plan.buffers.len();
        let cell = self.cell(&format!("{}_element", node.label), element);
        // With a condition, which is tested before each element, and where elements wait for each other, one is taken at a time.
        let is_free = condition.is_none() && carrier != Carrier::Tasks;
        let batch = if is_free { self.batch(consume, element, &node.label) } else { None };
        frame.consumed.insert(entry, cell);
        let (mut body, after) = self.allocate_for_scope(frame, graph.id, entry)?;
        body.extend(self.nodes_in(frame, graph, Some(entry))?);
        body.extend(after);
        frame.consumed.remove(&entry);
        let element = Location { buffer: cell, offset: Expr::zero() };
        let label = node.label.clone();
        let gathers = is_free
            && self.collected(&mut body, n_buffers).iter().any(|collected| collected.stream == queue.buffer);
        let consume =
            ConsumeStatement { label, queue, scope, element, batch, gathers, condition, recalls, body };
        Ok(vec![Statement::Consume(consume)])
    }

    /// Memory for the elements that are taken at a time. Iterations are not ordered, so nobody sees whether
    /// it is more than the chunk, which is 1 where nothing is said.
    fn batch(&mut self, consume: &Consume, element: ElementType, label: &str) -> Option<BufferId> {
        let batch = i64::from(self.target.team.batch);
        let most = consume.chunk.as_int().filter(|chunk| *chunk > 1).map_or(batch, |chunk| chunk.min(batch));
        let room = i64::try_from(self.target.stack.transient).ok()? / i64::try_from(element.size()).ok()?;
        let size = most.min(room);
        if size < 2 {
            return None;
        }
        let (name, size) = (self.take_name(&format!("{label}_batch")), Expr::int(size));
        let root = RootShape::packed(vec![size.clone()]);
        let buffer = Buffer::new(name, element, size, Allocation::Stack);
        Some(self.push_buffer(buffer, root))
    }
}
