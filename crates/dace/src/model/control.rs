//! Control flow of the model: regions of blocks joined by edges, as in the file.

use sdfg::ir::Schedule;
use sdfg::syntax::Expression;

use super::{NodeKind, State};

/// Blocks joined by edges.
#[derive(Clone, Debug, Default)]
pub(crate) struct Region {
    pub(crate) blocks: Vec<Block>,
    /// In the order of the file, in which those of one block are tried.
    pub(crate) edges: Vec<InterstateEdge>,
    /// The block that runs first; `None` if there are none.
    pub(crate) start: Option<usize>,
}

impl Region {
    /// Calls `visit` for every state of the region and of the regions in it, but not of nested programs.
    pub(crate) fn visit_states<'a>(&'a self, visit: &mut dyn FnMut(&'a State)) {
        for block in &self.blocks {
            match &block.kind {
                BlockKind::State(state) => visit(state),
                BlockKind::Loop(repeated) => repeated.body.visit_states(visit),
                BlockKind::Conditional(branches) => {
                    branches.iter().for_each(|(_, part)| part.visit_states(visit));
                }
                BlockKind::Group { body, .. } => body.visit_states(visit),
                BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
            }
        }
    }

    /// Whether the region, or a program nested in it, has iterations that the threads of a team around it share.
    pub(crate) fn has_shared_iterations(&self) -> bool {
        let mut found = false;
        self.visit_states(&mut |state| {
            found |= state.nodes.iter().any(|node| match &node.kind {
                NodeKind::MapEntry(map) => map.schedule != Schedule::Sequential,
                // DaCe expands them to maps.
                NodeKind::ConsumeEntry(_) | NodeKind::Library { .. } => true,
                NodeKind::Nested { program, .. } => program.body.has_shared_iterations(),
                NodeKind::Access { .. }
                | NodeKind::Tasklet { .. }
                | NodeKind::MapExit(_)
                | NodeKind::ConsumeExit(_) => false,
            });
        });
        found
    }
}

/// One step of control flow.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) label: String,
    pub(crate) kind: BlockKind,
}

/// The kinds of blocks.
#[derive(Clone, Debug)]
pub(crate) enum BlockKind {
    State(State),
    Loop(Box<LoopRegion>),
    /// Regions with their conditions; one without is taken if no other is.
    Conditional(Vec<(Option<Expression>, Region)>),
    /// A region that only groups blocks. If it is a function's call, `arguments` are the values of its parameters.
    Group {
        body: Region,
        arguments: Vec<(String, String)>,
    },
    Break,
    Continue,
    Return,
}

/// An edge between two blocks.
#[derive(Clone, Debug)]
pub(crate) struct InterstateEdge {
    pub(crate) src: usize,
    pub(crate) dst: usize,
    /// `None` is always.
    pub(crate) condition: Option<Expression>,
    /// Take effect one after the other.
    pub(crate) assignments: Vec<(String, Expression)>,
    /// Position in the file.
    pub(crate) path: String,
}

/// A repeated region.
#[derive(Clone, Debug)]
pub(crate) struct LoopRegion {
    pub(crate) variable: Option<String>,
    pub(crate) init: Option<Expression>,
    pub(crate) condition: Expression,
    pub(crate) update: Option<Expression>,
    /// Whether the body runs before the first test.
    pub(crate) inverted: bool,
    /// Of an inverted loop, whether the update comes before the test.
    pub(crate) update_before_condition: bool,
    pub(crate) unroll: bool,
    pub(crate) body: Region,
    /// Position in the file.
    pub(crate) path: String,
}
