//! Copies between containers of different element types.
//!
//! DaCe converts each element during the copy. Our memlets move bytes, so a tasklet converts each element.

use sdfg::ir::draft::DraftState;
use sdfg::ir::{
    Access, AccessedPart, ConflictResolution, Connector, Flow, Map, Memlet, NodeId, NodeKind, Port,
    ScopeExit, Tasklet, TaskletBody,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::{Code as TaskletCode, Dialect};

use super::SdfgLowering;
use super::state::Graph;

/// An end of an edge: a node with its connector, if it has one there.
type Joint<'c> = (NodeId, Option<&'c str>);

impl<'a> SdfgLowering<'a> {
    /// Adds a copy that converts elements, if the types of the two ends differ and their extents are the same one by one;
    /// otherwise nothing.
    pub(super) fn converting_copy(
        &self,
        graph: &mut Graph<'a>,
        copy: &Memlet,
        source: Joint<'_>,
        target: Joint<'_>,
    ) -> Option<()> {
        let Flow::Copy { from, to, resolution } = &copy.flow else { return None };
        let element = |access: &Access| self.sdfg.container(access.container).element;
        let (AccessedPart::Elements(read), AccessedPart::Elements(written)) = (&from.place, &to.place) else {
            return None;
        };
        let types = [element(from), element(to)];
        if types[0] == types[1] || types.iter().any(|ty| ty.lanes() != 1) {
            return None;
        }
        let sizes = long(read);
        if sizes != long(written) {
            return None;
        }
        let params: Vec<Symbol> = (0..sizes.len()).map(|at| Symbol::of(&format!("__copy{at}"))).collect();
        let inner = |access: &Access, subset: &Subset| {
            Access::elements(access.container, element_of(subset, &params))
        };
        let (read, written) = (inner(from, read), inner(to, written));
        let code = TaskletCode::parse("o = i", Dialect::C).ok()?;
        let tasklet = graph.add(
            "convert",
            NodeKind::Tasklet(Tasklet {
                inputs: vec![Connector::new("i")],
                outputs: vec![Connector::new("o")],
                body: TaskletBody::Code(code),
            }),
        );
        if params.is_empty() {
            graph.join(source, (tasklet, Some("i")), Memlet::read(read));
            graph.join((tasklet, Some("o")), target, write(written, resolution.clone()));
            return Some(());
        }
        let ranges = Subset(sizes.into_iter().map(|size| Range::new(0, size)).collect());
        let entry = graph.add("convert_each", NodeKind::MapEntry(Map::new(params, ranges)));
        let exit = graph.add("convert_each", NodeKind::MapExit(ScopeExit { entry }));
        graph.state.node_mut(exit).label = graph.state.node(entry).label.clone();
        let [into, out_of] = [Port::In("i"), Port::Out("i")].map(String::from);
        graph.join(source, (entry, Some(&into)), Memlet::read(from.clone()));
        graph.join((entry, Some(&out_of)), (tasklet, Some("i")), Memlet::read(read));
        let [into, out_of] = [Port::In("o"), Port::Out("o")].map(String::from);
        graph.join((tasklet, Some("o")), (exit, Some(&into)), write(written, resolution.clone()));
        graph.join((exit, Some(&out_of)), target, write(to.clone(), resolution.clone()));
        Some(())
    }
}

fn write(access: Access, wanted: Option<ConflictResolution>) -> Memlet {
    let mut memlet = Memlet::write(access);
    if let Flow::Write { resolution, .. } = &mut memlet.flow {
        *resolution = wanted;
    }
    memlet
}

/// Whether a range is more than one index.
fn is_long(range: &Range) -> bool {
    !range.is_index() && !range.size().is_one()
}

/// The extents of a subset that are more than one index.
fn long(subset: &Subset) -> Vec<Expr> {
    subset.0.iter().filter(|range| is_long(range)).map(Range::size).collect()
}

/// The element of a subset at a position in its long dimensions.
fn element_of(subset: &Subset, position: &[Symbol]) -> Subset {
    let mut position = position.iter();
    let mut index = |range: &Range| match if is_long(range) { position.next() } else { None } {
        Some(symbol) => &range.begin + &(Expr::symbol(symbol.clone()) * &range.step),
        None => range.begin.clone(),
    };
    let indices: Vec<Expr> = subset.0.iter().map(&mut index).collect();
    Subset::element(&indices)
}
