//! Mutation of graphs by bytes: each mutation consumes a few bytes for its kind, position and value. Every
//! byte sequence is a list of mutations, so the fuzzer can split and join them.

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::ir::draft::{DraftSdfg, DraftState};
use sdfg::ir::{
    AccessedPart, BlockId, BlockKind, ConflictResolution, ContainerId, ContainerKind, EdgeId, Flow, Layout,
    Lifetime, Memlet, NodeId, NodeKind, ScheduleKind, Sdfg, State, StateId, Storage, TaskletBody, Transition,
    Volume,
};
use sdfg::subset::Range;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::Expression;
use sdfg::tasklet::{Code, Dialect};

/// The bytes that are left.
struct Bytes<'d>(&'d [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first)
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> Option<T> {
        let at = self.next();
        if items.is_empty() { None } else { Some(items[at % items.len()].clone()) }
    }

    fn symbol(&mut self) -> Symbol {
        const NAMES: [&str; 12] = ["N", "M", "K", "i", "j", "k", "t", "p", "A", "x", "n", "fresh"];
        Symbol::of(NAMES[self.next() % NAMES.len()])
    }

    /// A small expression, often with extreme numbers.
    fn symbolic(&mut self, depth: usize) -> Expr {
        const NUMBERS: [i64; 12] = [0, 1, 2, 3, 4, 7, -1, -2, i64::MAX, i64::MIN, 1 << 32, 1 << 62];
        match self.next() % if depth == 0 { 2 } else { 9 } {
            0 => Expr::int(NUMBERS[self.next() % NUMBERS.len()]),
            1 => Expr::symbol(self.symbol()),
            2 => self.symbolic(depth - 1) + self.symbolic(depth - 1),
            3 => self.symbolic(depth - 1) - self.symbolic(depth - 1),
            4 => self.symbolic(depth - 1) * self.symbolic(depth - 1),
            5 => self.symbolic(depth - 1).floor_div(&self.symbolic(depth - 1)),
            6 => self.symbolic(depth - 1).modulo(&self.symbolic(depth - 1)),
            7 => Expr::min(&self.symbolic(depth - 1), &self.symbolic(depth - 1)),
            _ => Expr::max(&self.symbolic(depth - 1), &self.symbolic(depth - 1)),
        }
    }

    fn range(&mut self) -> Range {
        match self.next() % 4 {
            0 => Range::index(self.symbolic(2)),
            1 => Range::new(self.symbolic(1), self.symbolic(2)),
            2 => {
                let step = self.symbolic(1);
                Range::new(self.symbolic(1), self.symbolic(1)).with_step(step)
            }
            _ => {
                let (step, tile) = (self.symbolic(0), self.symbolic(0));
                Range::new(self.symbolic(0), self.symbolic(1)).with_step(step).with_tile(tile)
            }
        }
    }

    fn expression(&mut self) -> Expression {
        const TEXTS: [&str; 14] = [
            "True",
            "i < 3",
            "x > 0",
            "N",
            "i + 1",
            "A[i]",
            "A[0, i] > 1.5",
            "1 / 0",
            "N // 0",
            "-N",
            "i == i",
            "not x",
            "9223372036854775807 + i",
            "nan",
        ];
        let text = TEXTS[self.next() % TEXTS.len()];
        sdfg::syntax::parse_expression(text).unwrap_or_else(|_| Expression::bool(true))
    }

    fn element(&mut self) -> ElementType {
        let scalar = ScalarType::ALL[self.next() % ScalarType::ALL.len()];
        ElementType::vector(scalar, [1, 1, 2, 4][self.next() % 4]).unwrap_or(scalar.into())
    }

    fn code(&mut self) -> Option<Code> {
        const TEXTS: [&str; 14] = [
            "y = x",
            "y = x + 1",
            "o = a / b",
            "y = x // 0",
            "y = x[i]",
            "y[0] = x[1]",
            "while True: y = x",
            "for k in range(1000000): y = k",
            "y = x if x > 0 else -x",
            "y = x ** x",
            "y = x << 70",
            "pass",
            "z = x; y = z % z",
            "y = sqrt(x) + min(x, i)",
        ];
        let dialect = [Dialect::Python, Dialect::C][self.next() % 2];
        Code::parse(TEXTS[self.next() % TEXTS.len()], dialect).ok()
    }
}

/// A graph of the list, changed as the bytes say.
pub fn mutated(graphs: &[Sdfg], data: &[u8]) -> Sdfg {
    let mut bytes = Bytes(data);
    let at = bytes.next() + 256 * (bytes.next() % 2);
    let Some(mut sdfg) = graphs.get(at % graphs.len().max(1)).cloned() else { return Sdfg::new("empty") };
    for _ in 0..16 {
        if bytes.0.is_empty() {
            break;
        }
        change(&mut sdfg, &mut bytes);
    }
    // Most changes of inner memlets only meet derived outer ones that no longer fit.
    if !bytes.next().is_multiple_of(4) {
        sdfg::propagate::propagate(&mut sdfg);
    }
    sdfg
}

fn change(sdfg: &mut Sdfg, bytes: &mut Bytes<'_>) {
    let states: Vec<StateId> = sdfg.states().map(|(id, _)| id).collect();
    let containers: Vec<ContainerId> = sdfg.containers().map(|(id, _)| id).collect();
    match bytes.next() % 8 {
        0 => {
            if let Some(id) = bytes.pick(&containers) {
                change_container(sdfg, id, bytes);
            }
        }
        1 => change_control(sdfg, bytes),
        2 => {
            let (symbol, what) = (bytes.symbol(), bytes.next());
            if what.is_multiple_of(4) {
                sdfg.undeclare_symbol(&symbol);
            } else {
                sdfg.declare_symbol(symbol, ScalarType::ALL[what % ScalarType::ALL.len()]);
            }
        }
        3 => {
            if let Some(state) = bytes.pick(&states) {
                change_node(sdfg.state_mut(state), &containers, bytes);
            }
        }
        _ => {
            if let Some(state) = bytes.pick(&states) {
                change_edge(sdfg.state_mut(state), &containers, bytes);
            }
        }
    }
}

fn change_container(sdfg: &mut Sdfg, id: ContainerId, bytes: &mut Bytes<'_>) {
    let what = bytes.next() % 12;
    if what == 0 {
        sdfg.remove_container(id);
        return;
    }
    let container = sdfg.container_mut(id);
    match what {
        1 => container.element = bytes.element(),
        2 => container.transient = !container.transient,
        3 => container.storage = Storage::ALL[bytes.next() % Storage::ALL.len()],
        4 => container.lifetime = Lifetime::ALL[bytes.next() % Lifetime::ALL.len()],
        5 => container.kind = ContainerKind::Scalar,
        6 => {
            let capacity = bytes.next().is_multiple_of(2).then(|| bytes.symbolic(0));
            let shape = (0..bytes.next() % 2).map(|_| bytes.symbolic(0)).collect();
            container.kind = ContainerKind::Stream { shape, capacity };
        }
        7 | 8 => {
            let shape = (0..bytes.next() % 4).map(|_| bytes.symbolic(1)).collect();
            let layout = Layout::packed(shape);
            container.kind = match bytes.next() % 4 {
                0 => ContainerKind::View(layout),
                1 => ContainerKind::Reference(layout),
                _ => ContainerKind::Array(layout),
            };
        }
        9 => {
            if let Some(layout) = container.kind.layout_mut() {
                match bytes.next() % 3 {
                    0 => layout.offset = bytes.symbolic(1),
                    1 => layout.total_size = bytes.symbolic(1),
                    _ => layout.strides = layout.strides.iter().map(|_| bytes.symbolic(1)).collect(),
                }
            }
        }
        10 => {
            if let Some(extent) = container.kind.layout_mut().and_then(|layout| layout.shape.first_mut()) {
                *extent = bytes.symbolic(1);
            }
        }
        _ => container.constant = None,
    }
}

fn change_control(sdfg: &mut Sdfg, bytes: &mut Bytes<'_>) {
    let blocks: Vec<BlockId> = sdfg.blocks().map(|(id, _)| id).collect();
    let (Some(first), Some(second)) = (bytes.pick(&blocks), bytes.pick(&blocks)) else { return };
    match bytes.next() % 6 {
        0 => {
            let condition = bytes.next().is_multiple_of(2).then(|| bytes.expression());
            let assignments = vec![(bytes.symbol(), bytes.expression())];
            // Both ends lie in one region, as the graph asks for where it is built.
            if sdfg.block(first).region == sdfg.block(second).region {
                sdfg.add_transition(Transition {
                    src: first,
                    dst: second,
                    condition,
                    assignments,
                    loc: None,
                });
            }
        }
        1 => {
            let transitions: Vec<_> = sdfg.transitions().map(|(id, _)| id).collect();
            if let Some(id) = bytes.pick(&transitions) {
                sdfg.transition_mut(id).condition = Some(bytes.expression());
            }
        }
        2 => {
            let transitions: Vec<_> = sdfg.transitions().map(|(id, _)| id).collect();
            if let Some(id) = bytes.pick(&transitions) {
                let assignment = (bytes.symbol(), bytes.expression());
                sdfg.transition_mut(id).assignments.push(assignment);
            }
        }
        3 => {
            let region = sdfg.block(first).region;
            sdfg.region_mut(region).start = (!bytes.next().is_multiple_of(3)).then_some(second);
        }
        4 => sdfg.block_mut(first).label = sdfg.block(second).label.clone(),
        _ => {
            let (symbol, value) = (bytes.symbol(), bytes.expression());
            match &mut sdfg.block_mut(first).kind {
                BlockKind::Loop(repeated) => match bytes.next() % 5 {
                    0 => repeated.symbol = Some(symbol),
                    1 => repeated.init = Some(value),
                    2 => repeated.condition = value,
                    3 => repeated.update = Some(value),
                    _ => repeated.test_after = !repeated.test_after,
                },
                BlockKind::Branch(branch) => branch.arms.iter_mut().for_each(|arm| arm.0 = value.clone()),
                kind @ (BlockKind::Break | BlockKind::Continue | BlockKind::Return) => {
                    *kind =
                        [BlockKind::Break, BlockKind::Continue, BlockKind::Return][bytes.next() % 3].clone();
                }
                BlockKind::State(_) => {}
            }
        }
    }
}

fn change_node(state: &mut State, containers: &[ContainerId], bytes: &mut Bytes<'_>) {
    let nodes: Vec<NodeId> = state.nodes().map(|(id, _)| id).collect();
    let (Some(id), Some(other)) = (bytes.pick(&nodes), bytes.pick(&nodes)) else { return };
    match bytes.next() % 8 {
        0 => {
            state.remove_node(id);
            return;
        }
        1 => {
            let copy = state.node(id).clone();
            state.add_node(copy);
            return;
        }
        _ => {}
    }
    match &mut state.node_mut(id).kind {
        NodeKind::Access(container) => *container = bytes.pick(containers).unwrap_or(*container),
        NodeKind::Tasklet(tasklet) => match bytes.next() % 4 {
            0 => tasklet.outputs = tasklet.inputs.clone(),
            1 => tasklet.inputs.iter_mut().for_each(|input| input.element = Some(bytes.element())),
            2 => tasklet.outputs.iter_mut().for_each(|output| output.element = Some(bytes.element())),
            _ => tasklet.body = bytes.code().map_or_else(|| tasklet.body.clone(), TaskletBody::Code),
        },
        NodeKind::MapEntry(map) => match bytes.next() % 5 {
            0 => map.schedule = ScheduleKind::ALL[bytes.next() % ScheduleKind::ALL.len()].into(),
            1 => map.params.push(bytes.symbol()),
            2 => {
                map.params.push(bytes.symbol());
                map.ranges.0.push(bytes.range());
            }
            3 => map.schedule.expressions_mut().into_iter().for_each(|expr| *expr = bytes.symbolic(1)),
            _ => map.ranges.0.iter_mut().for_each(|range| *range = bytes.range()),
        },
        NodeKind::ConsumeEntry(consume) => match bytes.next() % 4 {
            0 => consume.chunk = bytes.symbolic(1),
            1 => consume.elements = bytes.symbolic(1),
            2 => consume.condition = Some(bytes.expression()),
            _ => consume.element = bytes.symbol(),
        },
        NodeKind::MapExit(exit) | NodeKind::ConsumeExit(exit) => exit.entry = other,
        NodeKind::Reduce(reduce) => match bytes.next() % 3 {
            0 => reduce.axes = Some((0..bytes.next() % 4).map(|_| bytes.next() % 4).collect()),
            1 => reduce.resolution = resolution(bytes),
            _ => reduce.identity = Some(bytes.expression()),
        },
        NodeKind::Nested(nested) => match bytes.next() % 4 {
            0 => nested.symbol_mapping.push((bytes.symbol(), bytes.symbolic(2))),
            1 => nested.outputs = nested.inputs.clone(),
            _ => change(&mut nested.sdfg, bytes),
        },
        NodeKind::Library(library) => library.outputs.clear(),
    }
}

fn resolution(bytes: &mut Bytes<'_>) -> ConflictResolution {
    ConflictResolution::NAMED[bytes.next() % ConflictResolution::NAMED.len()].clone()
}

fn change_edge(state: &mut State, containers: &[ContainerId], bytes: &mut Bytes<'_>) {
    let nodes: Vec<NodeId> = state.nodes().map(|(id, _)| id).collect();
    let edges: Vec<EdgeId> = state.edges().map(|(id, _)| id).collect();
    let Some(id) = bytes.pick(&edges) else { return };
    match bytes.next() % 14 {
        0 => {
            state.remove_edge(id);
        }
        1 | 2 => {
            let mut copy = state.edge(id).clone();
            if bytes.next().is_multiple_of(2) {
                copy.dst = bytes.pick(&nodes).unwrap_or(copy.dst);
            } else {
                copy.src = bytes.pick(&nodes).unwrap_or(copy.src);
            }
            if bytes.next().is_multiple_of(2) {
                state.remove_edge(id);
            }
            state.add_edge(copy);
        }
        3 => {
            let mut copy = state.edge(id).clone();
            std::mem::swap(&mut copy.src_connector, &mut copy.dst_connector);
            state.remove_edge(id);
            state.add_edge(copy);
        }
        4 => {
            let moved = [Memlet::order(), Memlet::value()];
            *state.memlet_mut(id) = moved[bytes.next() % 2].clone();
        }
        5 => state.memlet_mut(id).declared ^= true,
        6 => {
            state.memlet_mut(id).volume = match bytes.next() % 3 {
                0 => Volume::Dynamic,
                1 => Volume::Exact(bytes.symbolic(1)),
                _ => Volume::AtMost(bytes.symbolic(1)),
            };
        }
        7 => {
            if let Flow::Write { resolution, .. } | Flow::Copy { resolution, .. } =
                &mut state.memlet_mut(id).flow
            {
                *resolution =
                    if bytes.next().is_multiple_of(4) { None } else { Some(self::resolution(bytes)) };
            }
        }
        8 => {
            let container = bytes.pick(containers);
            for access in state.memlet_mut(id).accesses_mut() {
                access.container = container.unwrap_or(access.container);
            }
        }
        9 => {
            for access in state.memlet_mut(id).accesses_mut() {
                access.place = match bytes.next() % 2 {
                    0 => AccessedPart::Queues(access.subset().clone()),
                    _ => AccessedPart::Elements(access.subset().clone()),
                };
            }
        }
        10 => {
            for access in state.memlet_mut(id).accesses_mut() {
                let range = bytes.range();
                if bytes.next().is_multiple_of(2) {
                    access.subset_mut().0.push(range)
                } else {
                    drop(access.subset_mut().0.pop())
                }
            }
        }
        _ => {
            for access in state.memlet_mut(id).accesses_mut() {
                for range in &mut access.subset_mut().0 {
                    *range = bytes.range();
                }
            }
        }
    }
}
