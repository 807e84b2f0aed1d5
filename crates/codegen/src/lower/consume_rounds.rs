//! Consume scopes on a device: one kernel for each round, until the queue is empty.
//!
//! A round takes all elements of the queue to memory of the device. Its kernel has an iteration for each of them. Elements that
//! it pushes are those of the next round. A push thus happens before the iteration of its element, as the order by streams
//! demands. The numbers of processing elements go around.

use sdfg::dtype::ScalarType;
use sdfg::ir::{Consume, Map, Node, NodeId, Storage};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};

use super::Lowering;
use super::call_frame::CallFrame;
use super::dataflow::Graph;
use super::error::LowerError;
use super::memory::RootShape;
use super::profile::timed;
use super::scalar::less;
use super::scope::{Carrier, Nest};
use super::stream::length_of;
use crate::plan::{
    Allocation, Buffer, BufferId, Copy, Location, Pop, Resolved, Row, Statement, TimerKind, Touch, While,
    touches,
};

/// The elements of a round.
#[derive(Clone, Debug)]
pub(super) struct Round {
    /// Their memory.
    taken: BufferId,
    /// The variable with their number.
    count: Symbol,
    /// Number of processing elements.
    elements: Expr,
}

impl<'g> Lowering<'g> {
    /// Statements of a consume scope whose processing elements are threads of a device.
    pub(super) fn consume_on_device(
        &mut self,
        frame: &mut CallFrame<'g>,
        graph: Graph<'g, '_>,
        (entry, node, consume): (NodeId, &'g Node, &'g Consume),
    ) -> Result<Vec<Statement>, LowerError> {
        let label = &node.label;
        let timer = self.timer(TimerKind::Consume, &frame.at(label));
        let mut statements = vec![Statement::Comment(format!("consume {label}"))];
        let mut hidden = self.bind_connectors(frame, graph, entry, &mut statements)?;
        let queue = self.consumed_queue(frame, graph, entry, label)?;
        statements.extend(self.take_checks());
        let path = frame.at(label);
        let unsupported = |what| LowerError::Unsupported { what, path: path.clone() };
        self.takes_rounds(consume, &queue, label).map_err(unsupported)?;
        let round = self.round(frame, consume, &queue, label);
        let map = Map {
            params: vec![consume.element.clone()],
            ranges: Subset(vec![Range::index(Expr::zero())]),
            schedule: consume.schedule.clone(),
        };
        let nest = Nest {
            graph,
            entry,
            node,
            map: &map,
            carrier: Carrier::Kernel,
            nested: None,
            n_buffers: self.plan.buffers.len(),
            round: Some(round.clone()),
        };
        let mut kernel = self.kernel(frame, &nest)?;
        if pushes_to(&mut kernel, queue.buffer) {
            self.has_no_capacity(&queue, label).map_err(unsupported)?;
        }
        while let Some((symbol, old)) = hidden.pop() {
            frame.unbind(&symbol, old);
        }
        statements.extend(self.rounds(&round, queue, kernel, label));
        Ok(timed(timer, statements))
    }

    /// Memory for the elements of a round of a queue.
    fn round(&mut self, frame: &CallFrame<'g>, consume: &Consume, queue: &Location, label: &str) -> Round {
        let element = self.plan.buffer(queue.buffer).element;
        let count = self.new_variable("round", ScalarType::I64);
        let (name, size) = (self.take_name(&format!("{label}_round")), Expr::symbol(count.clone()));
        let buffer = Buffer::new(name, element, size.clone(), Allocation::Dynamic);
        let taken = self.push_buffer(buffer, RootShape::packed(vec![size]));
        self.storages[taken.index()] = Storage::GpuGlobal;
        Round { taken, count, elements: frame.translate(&consume.elements) }
    }

    /// Whether a consume scope can take the elements of a queue in rounds; the construct that it cannot run, as a noun phrase.
    fn takes_rounds(&self, consume: &Consume, queue: &Location, label: &str) -> Result<(), String> {
        if consume.condition.is_some() {
            return Err(format!("the condition of the consume scope `{label}` on a device"));
        }
        if !self.is_device_queue(queue.buffer) {
            let name = &self.plan.buffer(queue.buffer).name;
            return Err(format!(
                "the stream `{name}` in host memory, which the consume scope `{label}` on a device takes elements from,"
            ));
        }
        Ok(())
    }

    /// Refuses a queue that may be full in a round, though it has room when its elements are taken one after the other.
    fn has_no_capacity(&self, queue: &Location, label: &str) -> Result<(), String> {
        let stream = self.plan.buffer(queue.buffer);
        let Allocation::Queues { capacity: Some(_), .. } = &stream.allocation else { return Ok(()) };
        let name = &stream.name;
        Err(format!(
            "the consume scope `{label}` on a device, which pushes to the stream `{name}` with a capacity,"
        ))
    }

    /// Repeats a kernel as long as the queue has elements, which it takes before.
    fn rounds(
        &mut self,
        round: &Round,
        queue: Location,
        kernel: Vec<Statement>,
        label: &str,
    ) -> [Statement; 2] {
        let element = self.plan.buffer(queue.buffer).element;
        let (taken, count) = (round.taken, round.size());
        let ask = Statement::Set { variable: round.count.clone(), value: length_of(element, &queue) };
        let first = Location { buffer: taken, offset: Expr::zero() };
        let to = Row { first, count: count.clone(), stride: Expr::one() };
        let pop = Pop { label: label.to_owned(), queue, to, waits: false, taken: None };
        let mut body = vec![Statement::Allocate(taken), Statement::Pop(pop)];
        body.extend(kernel);
        body.push(Statement::Free(taken));
        let repeated = While {
            target: self.new_target(),
            // Without processing elements, nothing takes an element.
            condition: less(&Expr::zero(), &(count * &round.elements)),
            test_after: false,
            body,
            update: vec![ask.clone()],
            unroll: false,
        };
        [ask, Statement::While(repeated)]
    }

    /// The statements of a round's iteration at a position: they find the element in a cell of their own.
    pub(super) fn in_round(
        &mut self,
        frame: &mut CallFrame<'g>,
        nest: &Nest<'g, '_>,
        round: &Round,
    ) -> Result<Vec<Statement>, LowerError> {
        let Some(element) = nest.map.params.first() else { return self.inside(frame, nest) };
        let position = frame.translate(&Expr::symbol(element.clone()));
        let old = frame.bind(element, position.modulo(&round.elements));
        let ty = self.plan.buffer(round.taken).element;
        let cell = self.cell(&format!("{}_element", nest.node.label), ty);
        frame.consumed.insert(nest.entry, cell);
        let body = self.inside(frame, nest);
        frame.consumed.remove(&nest.entry);
        frame.unbind(element, old);
        let mut statements = vec![Statement::Copy(Copy {
            label: nest.node.label.clone(),
            from: Location { buffer: round.taken, offset: position },
            to: Location { buffer: cell, offset: Expr::zero() },
            dimensions: Vec::new(),
            write: Resolved::Store,
        })];
        statements.extend(body?);
        Ok(statements)
    }
}

impl Round {
    /// The number of iterations.
    pub(super) fn size(&self) -> Expr {
        Expr::symbol(self.count.clone())
    }
}

fn pushes_to(statements: &mut [Statement], stream: BufferId) -> bool {
    let mut found = false;
    touches(statements, &mut |touch| {
        found |= matches!(touch, Touch::PushTo(_)) && touch.buffer() == stream;
    });
    found
}
