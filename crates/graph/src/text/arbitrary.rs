//! Random graphs of the whole IR for property tests of both forms. Their structure is valid (scopes are
//! closed, paths lead from access node to access node), but most of their computations are meaningless. Outer
//! segments are not derived.

use std::collections::BTreeSet;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use sdfg_language::dtype::{ElementType, ScalarType};
use sdfg_language::subset::{Range, Subset};
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::{BinaryOp, CompareOp, Expression, Lambda, Name, UnaryOp};
use sdfg_language::value::Value;

use super::syntax_arbitrary as arbitrary;
use crate::ir::sdfg::FloatMode;
use crate::ir::{
    Block, BlockKind, Blocks, Branch, ConflictResolution, Connector, Container, ContainerKind, Cut,
    Distribution, Layout, Lifetime, Loop, OpenMpSchedule, Parts, RegionId, Schedule, ScheduleKind, Sdfg,
    State, Storage, Team, Transition,
};

mod coverage;
mod graph;

/// A random graph; equal seeds give equal graphs.
pub(crate) fn arbitrary_sdfg(seed: u64) -> Sdfg {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut random = Random {
        state: seed ^ 0x9e37_79b9_7f4a_7c15,
        runner: TestRunner::new_with_rng(Config::default(), rng),
        labels: ["N", "M", "end"].map(str::to_owned).into(),
    };
    random.sdfg(2)
}

/// Names that need quotes, or look like words of the text form.
const ODD_NAMES: [&str; 16] = [
    "state_0 copy",
    "for",
    "else",
    "order",
    "bind",
    "map",
    "état",
    "a.b",
    "1st",
    "q\"uote",
    "tab\t",
    "-> end",
    "start",
    "Ärger 1",
    "access",
    "lambda",
];

struct Random {
    state: u64,
    runner: TestRunner,
    /// Names that are given already; one table for all kinds of names keeps them apart everywhere.
    labels: BTreeSet<String>,
}

impl Random {
    /// A number below `n` (xorshift64*).
    fn below(&mut self, n: usize) -> usize {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        ((self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize) % n
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    fn maybe<T>(&mut self, percent: usize, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.chance(percent).then(|| value(self))
    }

    fn several<T>(&mut self, least: usize, most: usize, mut value: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..least + self.below(most - least + 1)).map(|_| value(self)).collect()
    }

    /// A new name; now and then one that needs quotes.
    fn label(&mut self, prefix: &str) -> String {
        let mut label = if self.chance(8) { self.pick(&ODD_NAMES).to_owned() } else { prefix.to_owned() };
        let wanted = label.clone();
        while !self.labels.insert(label.clone()) {
            label = format!("{wanted}{}", self.labels.len());
        }
        label
    }

    fn symbol(&mut self) -> Symbol {
        Symbol::of(self.pick(&["N", "M", "i", "j", "_k", "end", "state"]))
    }

    fn symbolic(&mut self) -> Expr {
        self.symbolic_of_depth(4)
    }

    /// Deeper ones grow beyond the size up to which an expression has one form, whichever way it was made.
    fn symbolic_of_depth(&mut self, depth: usize) -> Expr {
        let symbol = Expr::symbol(self.symbol());
        let number = Expr::int(self.below(9) as i64 - 2);
        let inner = |of: &mut Self| of.symbolic_of_depth(depth - 1);
        match self.below(if depth == 0 { 4 } else { 9 }) {
            0 => symbol,
            1 => number,
            2 => symbol + number,
            3 => symbol * number,
            4 => inner(self) + inner(self),
            5 => inner(self) * inner(self),
            6 => inner(self).floor_div(&Expr::int(3)),
            7 => Expr::max(&inner(self), &symbol),
            _ => inner(self).modulo(&Expr::int(4)),
        }
    }

    fn blocks(&mut self) -> Blocks {
        let grid = self.symbolics(1, 3);
        let cuts = self.several(0, 3, |random| random.maybe(70, Self::cut));
        Blocks { grid, cuts }
    }

    fn cut(&mut self) -> Cut {
        let parts = match self.below(4) {
            0 => Parts::Equal,
            1 => Parts::Balanced(None),
            2 => Parts::Balanced(Some([self.symbolic(), self.symbolic()])),
            _ => Parts::Starts(self.symbolics(0, 4)),
        };
        let mut cut = Cut::new(self.below(3), parts);
        if self.chance(50) {
            cut.halo = [self.symbolic(), self.symbolic()];
        }
        cut
    }

    fn symbolics(&mut self, least: usize, most: usize) -> Vec<Expr> {
        self.several(least, most, Self::symbolic)
    }

    fn range(&mut self) -> Range {
        if self.chance(40) {
            return Range::index(self.symbolic());
        }
        let mut range = Range::new(self.symbolic(), self.symbolic());
        if self.chance(30) {
            range = range.with_step([1, 2, -1, -3][self.below(4)]);
        }
        if self.chance(20) { range.with_tile(4) } else { range }
    }

    fn subset(&mut self, rank: usize) -> Subset {
        (0..rank).map(|_| self.range()).collect()
    }

    fn expression(&mut self) -> Expression {
        let tree = arbitrary::expression().new_tree(&mut self.runner).expect("the strategy does not reject");
        tree.current()
    }

    fn assignments(&mut self) -> Vec<(Symbol, Expression)> {
        self.several(0, 2, |random| (random.symbol(), random.expression()))
    }

    fn resolution(&mut self) -> ConflictResolution {
        if self.chance(20) {
            let parameters = vec![Name::new("old"), Name::new("new")];
            return ConflictResolution::Custom(Lambda { parameters, body: self.expression() });
        }
        self.pick(&ConflictResolution::NAMED)
    }

    fn element(&mut self) -> ElementType {
        let lanes = self.pick(&[1, 1, 1, 2, 4, 64]);
        ElementType::vector(self.pick(&ScalarType::ALL), lanes).expect("few lanes")
    }

    fn connectors(&mut self) -> Vec<Connector> {
        self.several(0, 3, |random| Connector {
            name: random.label("c"),
            element: random.maybe(40, Self::element),
        })
    }

    fn schedule(&mut self) -> Schedule {
        let mut schedule = Schedule::from(self.pick(&ScheduleKind::ALL));
        match &mut schedule {
            Schedule::Default(team) | Schedule::CpuMulticore(team) => {
                *team = Team {
                    sharing: self.pick(&OpenMpSchedule::ALL),
                    chunk: self.maybe(30, Self::symbolic),
                    threads: self.maybe(30, Self::symbolic),
                    collapse: self.maybe(30, |random| random.below(4) as u32),
                    nested: self.maybe(30, Self::symbolic),
                };
            }
            Schedule::GpuGrid(block) | Schedule::GpuBlock(block) => {
                block.extents = self.several(0, 3, Self::symbolic);
            }
            Schedule::Sequential
            | Schedule::Unrolled
            | Schedule::Simd
            | Schedule::FpgaDevice
            | Schedule::FpgaReplicated
            | Schedule::Mpi => {}
        }
        schedule
    }

    fn sdfg(&mut self, depth: usize) -> Sdfg {
        let mut sdfg = Sdfg::new(self.label("program"));
        sdfg.float_mode = self.pick(&FloatMode::ALL);
        for name in ["N", "M", "end"].into_iter().take(self.below(4)) {
            let ty = self.pick(&[ScalarType::I64, ScalarType::I32, ScalarType::U8]);
            sdfg.declare_symbol(Symbol::of(name), ty);
        }
        for kind in 0..10 {
            let container = self.container(kind);
            let id = sdfg.add_container(container);
            // Ids need not be dense.
            if kind >= 7 {
                sdfg.remove_container(id);
            }
        }
        let body = sdfg.body();
        self.region(&mut sdfg, body, depth);
        sdfg
    }

    /// A container of each kind in turn.
    fn container(&mut self, kind: usize) -> Container {
        let kind = match kind % 7 {
            0 => ContainerKind::Scalar,
            1 | 2 => ContainerKind::Array(self.layout()),
            3 => ContainerKind::Stream { shape: Vec::new(), capacity: self.maybe(50, Self::symbolic) },
            4 => ContainerKind::Stream { shape: self.symbolics(1, 2), capacity: None },
            5 => ContainerKind::View(self.layout()),
            _ => ContainerKind::Reference(self.layout()),
        };
        let mut container = Container::new(self.label("C"), self.element(), kind);
        container.transient = container.is_alias() || self.chance(40);
        container.storage = self.pick(&Storage::ALL);
        container.lifetime = self.pick(&Lifetime::ALL);
        container.distribution = match self.below(4) {
            0 => Distribution::Local,
            1 if self.chance(40) => Distribution::block(self.symbolics(0, 2)),
            1 => Distribution::Blocks(self.blocks()),
            _ => Distribution::Replicated,
        };
        if self.chance(30) {
            let ty = container.element.lane();
            container.constant = Some(self.several(0, 4, |random| random.value(ty)));
        }
        container
    }

    fn value(&mut self, ty: ScalarType) -> Value {
        let bytes: Vec<u8> = (0..16).map(|_| self.below(256) as u8).collect();
        Value::read(ty, &bytes).expect("16 bytes are enough")
    }

    fn layout(&mut self) -> Layout {
        let mut layout = Layout::packed(self.symbolics(0, 3));
        if self.chance(30) {
            layout.strides = layout.shape.iter().map(|_| self.symbolic()).collect();
        }
        if self.chance(20) {
            layout.offset = self.symbolic();
        }
        if self.chance(20) {
            layout.total_size = self.symbolic();
        }
        layout
    }

    /// Fills a region with blocks of every kind.
    fn region(&mut self, sdfg: &mut Sdfg, region: RegionId, depth: usize) {
        for _ in 0..self.below(5) {
            let label = self.label("b");
            let kind = match if depth == 0 { 3 + self.below(4) } else { self.below(8) } {
                0 => self.loop_block(sdfg, depth),
                1 => {
                    let arms = self.several(1, 3, |random| {
                        let inner = sdfg.add_region();
                        random.region(sdfg, inner, depth - 1);
                        (random.expression(), inner)
                    });
                    let otherwise = self.maybe(50, |random| {
                        let inner = sdfg.add_region();
                        random.region(sdfg, inner, depth - 1);
                        inner
                    });
                    BlockKind::Branch(Branch { arms, otherwise })
                }
                2 => self.pick(&[BlockKind::Break, BlockKind::Continue, BlockKind::Return]),
                _ => {
                    let graph = self.state(sdfg, label, depth);
                    sdfg.add_state(region, graph);
                    continue;
                }
            };
            sdfg.add_block(region, Block { label, kind, region, loc: None });
        }
        let blocks = sdfg.region(region).blocks.clone();
        for _ in 0..self.below(2 * blocks.len() + 1) {
            let (src, dst) = (self.pick(&blocks), self.pick(&blocks));
            let condition = self.maybe(50, Self::expression);
            let assignments = self.assignments();
            sdfg.add_transition(Transition { src, dst, condition, assignments, loc: None });
        }
        if !blocks.is_empty() && self.chance(30) {
            let start = self.pick(&blocks);
            sdfg.region_mut(region).start = Some(start);
        }
    }

    fn loop_block(&mut self, sdfg: &mut Sdfg, depth: usize) -> BlockKind {
        let body = sdfg.add_region();
        self.region(sdfg, body, depth - 1);
        let (test_after, unroll) = (self.chance(30), self.chance(30));
        let symbol = self.maybe(80, Self::symbol);
        let (mut init, mut update) = (None, None);
        let mut condition = self.expression();
        if let Some(symbol) = &symbol {
            init = self.maybe(70, Self::expression);
            update = self.maybe(70, Self::expression);
            if self.chance(60) {
                // What `for` stands for, and what almost is it.
                let name = || Expression::name(symbol.as_str());
                let step = self.expression();
                let step = if self.chance(30) { Expression::unary(UnaryOp::Negate, step) } else { step };
                let (compare, op) = self.pick(&[
                    (CompareOp::Less, BinaryOp::Add),
                    (CompareOp::Greater, BinaryOp::Subtract),
                    (CompareOp::Greater, BinaryOp::Add),
                ]);
                condition = Expression::compare(compare, name(), self.expression());
                update = Some(Expression::binary(op, name(), step));
            }
        }
        BlockKind::Loop(Loop { symbol, init, condition, update, test_after, unroll, body })
    }

    fn state(&mut self, sdfg: &Sdfg, label: String, depth: usize) -> State {
        graph::GraphBuilder::new(self, sdfg, State::new(label)).fill(depth)
    }
}
