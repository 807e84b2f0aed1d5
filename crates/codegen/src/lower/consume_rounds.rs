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
        let unsupported = |what: String| LowerError::Unsupported { what, path: frame.at(label) };
        if consume.condition.is_some() {
            return Err(unsupported(format!("the condition of the consume scope `{label}` on a device")));
        }
        let timer = self.timer(TimerKind::Consume, &frame.at(label));
        let mut statements = vec![Statement::Comment(format!("consume {label}"))];
        let mut hidden = self.bind_connectors(frame, graph, entry, &mut statements)?;
        let queue = self.consumed_queue(frame, graph, entry, label)?;
        statements.extend(self.take_checks());
        let stream = self.plan.buffer(queue.buffer).clone();
        let unsupported = |what: String| LowerError::Unsupported { what, path: frame.at(label) };
        if !self.is_device_queue(queue.buffer) {
            let name = &stream.name;
            return Err(unsupported(format!(
                "the stream `{name}` in host memory, which the consume scope `{label}` on a device takes elements from,"
            )));
        }
        let elements = frame.translate(&consume.elements);
        let count = self.new_variable("round", ScalarType::I64);
        let number = Expr::symbol(count.clone());
        let taken = {
            let name = self.take_name(&format!("{label}_round"));
            let buffer = Buffer::new(name, stream.element, number.clone(), Allocation::Dynamic);
            self.push_buffer(buffer, RootShape::packed(vec![number.clone()]))
        };
        self.storages[taken.index()] = Storage::GpuGlobal;
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
            round: Some(Round { taken, count: count.clone(), elements: elements.clone() }),
        };
        let mut kernel = self.kernel(frame, &nest)?;
        let is_bounded = matches!(stream.allocation, Allocation::Queues { capacity: Some(_), .. });
        if is_bounded && pushes_to(&mut kernel, queue.buffer) {
            let what = format!(
                "the consume scope `{label}` on a device, which pushes to the stream `{}` with a capacity,",
                stream.name
            );
            return Err(LowerError::Unsupported { what, path: frame.at(label) });
        }
        while let Some((symbol, old)) = hidden.pop() {
            frame.unbind(&symbol, old);
        }
        let first = Location { buffer: taken, offset: Expr::zero() };
        let to = Row { first, count: number.clone(), stride: Expr::one() };
        let pop = Pop { label: label.clone(), queue: queue.clone(), to, waits: false, taken: None };
        let ask = || Statement::Set { variable: count.clone(), value: length_of(stream.element, &queue) };
        let mut body = vec![Statement::Allocate(taken), Statement::Pop(pop)];
        body.extend(kernel);
        body.push(Statement::Free(taken));
        statements.push(ask());
        statements.push(Statement::While(While {
            target: self.new_target(),
            // Without processing elements, nothing takes an element.
            condition: less(&Expr::zero(), &(number * elements)),
            test_after: false,
            body,
            update: vec![ask()],
            unroll: false,
        }));
        Ok(super::profile::timed(timer, statements))
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
