//! Converts scalar arguments that size other arguments to symbols.
//!
//! DaCe takes the name of a scalar in an extent for the scalar's value at the call. Extents of our arguments consist
//! of symbols. Therefore such a scalar becomes a symbol of the model before lowering. Where the graph reads it as
//! data, a transient that the first state sets stands for it. A scalar that the graph writes stays as it is, and
//! lowering refuses the extent.

use std::collections::BTreeSet;

use sdfg::syntax::{Expression, ExpressionKind};

use crate::float_symbols::{access, computed, edge};
use crate::model::{
    Block, BlockKind, Descriptor, DescriptorKind, InterstateEdge, NodeKind, Program, Region, State,
};
use crate::text::map_expression;
use crate::wire::Path;

/// Makes symbols of the integer scalars that size arguments of a program, unless the program writes them.
pub(crate) fn to_symbols(program: &mut Program) {
    for name in sizing(program) {
        let accesses = Accesses::of(&program.body, &name);
        if accesses.written {
            continue;
        }
        let Some(scalar) = program.containers.shift_remove(&name) else { continue };
        program.symbols.insert(name.clone(), scalar.dtype.clone());
        if accesses.read {
            read_as_data(program, &name, scalar);
        }
    }
}

/// Names of integer scalar arguments that stand in the extents or strides of other arguments.
fn sizing(program: &Program) -> Vec<String> {
    let arguments = || program.containers.iter().filter(|(_, found)| !found.transient);
    let named: BTreeSet<String> = arguments()
        .filter(|(_, found)| found.kind != DescriptorKind::Scalar)
        .flat_map(|(_, found)| found.shape.iter().chain(&found.strides).chain([&found.total_size]))
        .flat_map(|extent| extent.free_symbols())
        .map(|symbol| symbol.as_str().to_owned())
        .collect();
    let is_integer = |found: &Descriptor| {
        found.kind == DescriptorKind::Scalar
            && found.dtype.fields.is_none()
            && found.dtype.element.lane().is_integer()
    };
    let sizes = arguments().filter(|(name, found)| named.contains(*name) && is_integer(found));
    sizes.map(|(name, _)| name.clone()).collect()
}

/// Uses of a container as data.
#[derive(Debug, Default)]
struct Accesses {
    read: bool,
    written: bool,
}

impl Accesses {
    fn of(region: &Region, name: &str) -> Self {
        let mut found = Accesses::default();
        for block in &region.blocks {
            match &block.kind {
                BlockKind::State(state) => found.add(state, name),
                BlockKind::Loop(repeated) => found.join(&Accesses::of(&repeated.body, name)),
                BlockKind::Conditional(branches) => {
                    branches.iter().for_each(|(_, part)| found.join(&Accesses::of(part, name)));
                }
                BlockKind::Group { body, .. } => found.join(&Accesses::of(body, name)),
                BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
            }
        }
        found
    }

    fn add(&mut self, state: &State, name: &str) {
        for (at, node) in state.nodes.iter().enumerate() {
            if matches!(&node.kind, NodeKind::Access { data, .. } if data == name) {
                self.read = true;
                self.written |= state.edges.iter().any(|edge| edge.dst == at);
            }
        }
    }

    fn join(&mut self, other: &Accesses) {
        self.read |= other.read;
        self.written |= other.written;
    }
}

/// Adds a transient with the value of a symbol, and lets every access of the scalar `name` access it.
fn read_as_data(program: &mut Program, name: &str, scalar: Descriptor) {
    let is_taken =
        |wanted: &str| program.containers.contains_key(wanted) || program.symbols.contains_key(wanted);
    let mut transient = format!("{name}_value");
    while is_taken(&transient) {
        transient.push('_');
    }
    rename(&mut program.body, name, &transient);
    program.containers.insert(transient.clone(), Descriptor { transient: true, ..scalar });
    let path = Path::from(program.name.as_str());
    let mut state =
        State { nodes: vec![computed(name, &path), access(&transient, &path)], edges: Vec::new() };
    state.edges.push(edge((0, Some("__out")), (1, None), &transient, &path));
    let first = program.body.blocks.len();
    program.body.blocks.push(Block { label: format!("read_{name}"), kind: BlockKind::State(state) });
    if let Some(dst) = program.body.start.replace(first) {
        let path = path.to_string();
        program.body.edges.push(InterstateEdge {
            src: first,
            dst,
            condition: None,
            assignments: Vec::new(),
            path,
        });
    }
}

/// Lets states access `new` in the place of `old`. Expressions between states keep the name, which is a symbol now.
fn rename(region: &mut Region, old: &str, new: &str) {
    for edge in &mut region.edges {
        let values = edge.assignments.iter_mut().map(|(_, value)| value);
        edge.condition.iter_mut().chain(values).for_each(|value| as_symbol(value, old));
    }
    for block in &mut region.blocks {
        match &mut block.kind {
            BlockKind::State(state) => {
                for node in &mut state.nodes {
                    if let NodeKind::Access { data, .. } = &mut node.kind
                        && data == old
                    {
                        new.clone_into(data);
                    }
                }
                let memlets = state.edges.iter_mut().filter_map(|edge| edge.memlet.data.as_mut());
                memlets.filter(|data| *data == old).for_each(|data| new.clone_into(data));
            }
            BlockKind::Loop(repeated) => {
                [Some(&mut repeated.condition), repeated.init.as_mut(), repeated.update.as_mut()]
                    .into_iter()
                    .flatten()
                    .for_each(|value| as_symbol(value, old));
                rename(&mut repeated.body, old, new);
            }
            BlockKind::Conditional(branches) => {
                for (condition, part) in branches {
                    condition.iter_mut().for_each(|value| as_symbol(value, old));
                    rename(part, old, new);
                }
            }
            BlockKind::Group { body, .. } => rename(body, old, new),
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        }
    }
}

/// The value of a scalar that an expression indexes, as in `N[0]`, is the symbol.
fn as_symbol(value: &mut Expression, name: &str) {
    let found = std::mem::replace(value, Expression::name(name));
    *value = map_expression(found, &mut |part| match &part.kind {
        ExpressionKind::Subscript { base, .. } if base.text == name => Expression::name(name),
        _ => part,
    });
}
