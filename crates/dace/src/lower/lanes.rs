//! Vector connectors over plain arrays, and subscripts with more dimensions than our pointers have.
//!
//! Vectorised tasklets of DaCe name several neighbouring elements as one value, and index a tiled memlet by
//! tile and by position in the tile. In our graph, the code runs once for each lane, and the elements of a
//! tile are numbered consecutively. DaCe's code may also index every dimension of a container, whereas our
//! pointers have only the dimensions in which the memlet has more than one index.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::ir::{Access, ConflictResolution};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::Expr;
use sdfg::syntax::{
    AssignmentTarget, BinaryOp, Expression, ExpressionKind, Index, Lambda, Name, Span, Statement,
    StatementKind,
};

use super::SdfgLowering;
use super::state::{End, Graph};
use crate::model::{self, DescriptorKind};
use crate::report::{Code, Failed};
use crate::text::{map_block, map_expression, resolution};

/// The variable that counts lanes.
const LANE: &str = "__lane";

/// Memlets of some connectors of a tasklet, as code sees them.
#[derive(Clone, Debug, Default)]
pub(super) struct Shapes {
    /// Connectors that are vectors of so many neighbours.
    pub(super) vectors: BTreeMap<String, u16>,
    /// Connectors of single elements that are vectors themselves.
    wide: BTreeSet<String>,
    /// Connectors that are vectors of so many lanes, all of which a function resolves into one element.
    folded: BTreeMap<String, (u16, Lambda)>,
    /// Tiles of the dimensions that code indexes, of connectors where one is longer than one element.
    pub(super) tiles: BTreeMap<String, Vec<Expression>>,
    /// Dimensions that are single indices, for connectors that have one.
    single: BTreeMap<String, Vec<bool>>,
    /// Extents of packed memlets that code in C++ indexes as it does a pointer, with one index.
    packed: BTreeMap<String, Vec<i64>>,
}

impl<'a> SdfgLowering<'a> {
    /// Notes how the code of a tasklet sees the memlet at one of its connectors. A vector that begins at one element is
    /// made of that and its neighbours, which the memlet then covers, too.
    pub(super) fn note_shape(
        &self,
        graph: &mut Graph<'a>,
        edge: &'a model::Edge,
        end: End<'_>,
        reads: bool,
        access: &mut Access,
    ) {
        let node = if reads { edge.dst } else { edge.src };
        let found = &graph.model.nodes[node];
        let (connector, types) =
            if reads { (&edge.dst_connector, &found.inputs) } else { (&edge.src_connector, &found.outputs) };
        let (Some(connector), model::NodeKind::Tasklet { .. }) = (connector, &found.kind) else { return };
        if let model::NodeKind::Tasklet { language, .. } = &found.kind
            && language == "CPP"
            && let Some(extents) = self.packed_extents(access)
        {
            graph.shapes.entry(node).or_default().packed.insert(connector.clone(), extents);
        }
        let lanes = types.get(connector).and_then(Option::as_ref).map_or(1, |ty| ty.element.lanes());
        let element = self.sdfg.container(access.container).element.lanes();
        let is_array = !matches!(end.descriptor.kind, DescriptorKind::Scalar | DescriptorKind::Stream);
        if lanes > 1 && element == 1 && is_array && access.subset().is_element() {
            let mut dimensions = end.descriptor.strides.iter().zip(&end.descriptor.shape);
            let along = dimensions.rposition(|(stride, extent)| stride.is_one() && !extent.is_one());
            if let Some(range) = along.and_then(|along| access.subset_mut().0.get_mut(along)) {
                *range = Range::new(range.begin.clone(), &range.begin + &Expr::int(i64::from(lanes)));
                graph.widened.insert(node);
            }
        }
        graph.shapes.entry(node).or_default().note(connector, lanes, element, access.subset());
    }

    /// The extents of a memlet that is all of a packed container with several dimensions.
    fn packed_extents(&self, access: &Access) -> Option<Vec<i64>> {
        let layout = self.sdfg.container(access.container).kind.layout()?;
        let is_all = !access.is_queue() && *access.subset() == Subset::full(&layout.shape);
        let extents = layout.shape.iter().map(Expr::as_int).collect::<Option<Vec<i64>>>()?;
        let is_long = extents.len() > 1 && extents.iter().all(|extent| *extent > 1);
        (is_all && is_long && layout.is_packed()).then_some(extents)
    }

    /// Notes a vector of which a memlet with a conflict resolution writes one element: all lanes are resolved into it, one
    /// after the other. Whether it is one.
    ///
    /// # Errors
    /// Where the lanes cannot be resolved among themselves first.
    pub(super) fn note_folded(
        &self,
        graph: &mut Graph<'a>,
        edge: &'a model::Edge,
        access: &Access,
    ) -> Result<bool, Failed> {
        let node = &graph.model.nodes[edge.src];
        let (Some(connector), model::NodeKind::Tasklet { .. }) = (&edge.src_connector, &node.kind) else {
            return Ok(false);
        };
        let lanes = node.outputs.get(connector).and_then(Option::as_ref).map_or(1, |ty| ty.element.lanes());
        let Some(function) = edge.memlet.resolution.as_ref().filter(|_| lanes > 1) else { return Ok(false) };
        if self.sdfg.container(access.container).element.lanes() > 1 || !access.subset().is_element() {
            return Ok(false);
        }
        let others = node.outputs.iter().filter(|(name, _)| *name != connector);
        let has_others = others.filter_map(|(_, ty)| ty.as_ref()).any(|ty| ty.element.lanes() > 1)
            || graph
                .model
                .edges
                .iter()
                .filter(|other| other.src == edge.src && other.src_connector.is_some())
                .count()
                > node.outputs.len();
        if has_others {
            let message = format!(
                "beside `{connector}`, whose {lanes} lanes become one element, the code has other vectors"
            );
            return Err(self.log().error(Code::Memlet, &edge.path, message));
        }
        if matches!(resolution(function), ConflictResolution::Custom(_)) {
            let message = format!(
                "the {lanes} lanes of `{connector}` become one element by a function that may not be associative"
            );
            return Err(self.log().error(Code::Memlet, &edge.path, message));
        }
        let shapes = graph.shapes.entry(edge.src).or_default();
        shapes.folded.insert(connector.clone(), (lanes, function.clone()));
        Ok(true)
    }
}

impl Shapes {
    /// Notes the subset of a memlet at a connector of so many lanes over elements of so many.
    pub(super) fn note(&mut self, connector: &str, lanes: u16, element_lanes: u16, subset: &Subset) {
        if lanes > 1 && element_lanes == 1 && !subset.is_element() {
            self.vectors.insert(connector.to_owned(), lanes);
        }
        if element_lanes > 1 && subset.is_element() {
            self.wide.insert(connector.to_owned());
        }
        let single: Vec<bool> = subset.0.iter().map(Range::is_index).collect();
        if single.len() > 1 && single.contains(&true) {
            self.single.insert(connector.to_owned(), single);
        }
        let indexed: Vec<&Range> = subset.0.iter().filter(|range| !range.is_index()).collect();
        if indexed.iter().any(|range| !range.tile.is_one()) {
            let tiles = indexed.iter().map(|range| range.tile.to_expression());
            if let Some(tiles) = tiles.collect::<Option<Vec<_>>>() {
                self.tiles.insert(connector.to_owned(), tiles);
            }
        }
    }

    /// The code in terms of elements.
    pub(super) fn apply(&self, block: Vec<Statement>) -> Vec<Statement> {
        let mut block = block;
        if !self.packed.is_empty() {
            block = map_block(block, &mut |part| match part.kind {
                ExpressionKind::Subscript { base, indices } => {
                    let indices = self.unpacked(&base.text, indices);
                    Expression { kind: ExpressionKind::Subscript { base, indices }, span: part.span }
                }
                _ => part,
            });
            retarget(&mut block, &|target| {
                target.indices = self.unpacked(&target.name.text, std::mem::take(&mut target.indices));
            });
        }
        if !self.single.is_empty() {
            block = map_block(block, &mut |part| self.squeezed(part));
            retarget(&mut block, &|target| {
                target.indices =
                    self.squeezed_indices(&target.name.text, std::mem::take(&mut target.indices));
            });
        }
        if !self.tiles.is_empty() {
            block = map_block(block, &mut |part| self.flat(part));
            retarget(&mut block, &|target| self.flat_target(target));
        }
        let folded = self.folded.values().map(|(lanes, _)| lanes);
        let Some(lanes) = self.vectors.values().chain(folded).max() else { return block };
        let lane = || vec![Index::Point(Expression::name(LANE))];
        block = map_block(block, &mut |part| match &part.kind {
            ExpressionKind::Name(name) if self.vectors.contains_key(name) => {
                let base = Name::new(name.clone());
                Expression { kind: ExpressionKind::Subscript { base, indices: lane() }, span: part.span }
            }
            ExpressionKind::Name(name) if self.folded.contains_key(name) => {
                Expression::name(one_lane_of(name))
            }
            _ => part,
        });
        retarget(&mut block, &|target| {
            if self.vectors.contains_key(&target.name.text) && target.indices.is_empty() {
                target.indices = lane();
            } else if self.folded.contains_key(&target.name.text) {
                target.name = Name::new(one_lane_of(&target.name.text));
            }
        });
        if !self.folded.is_empty() {
            return self.fold(*lanes, &block);
        }
        let kind = StatementKind::For {
            variable: Name::new(LANE),
            begin: None,
            end: Expression::integer(i64::from(*lanes)),
            step: None,
            body: block,
        };
        vec![Statement { kind, span: Span::default() }]
    }

    /// Code for one lane after the other that resolves each with what came before it.
    fn fold(&self, lanes: u16, block: &[Statement]) -> Vec<Statement> {
        let mut all_lanes = Vec::new();
        for lane in 0..i64::from(lanes) {
            all_lanes.extend(map_block(block.to_vec(), &mut |part| match &part.kind {
                ExpressionKind::Name(name) if name == LANE => Expression::integer(lane),
                ExpressionKind::Name(name) if self.wide.contains(name) => {
                    Expression::call("lane", vec![part, Expression::integer(lane)])
                }
                _ => part,
            }));
            for (connector, (_, function)) in &self.folded {
                let [all, one] = [all_lanes_of(connector), one_lane_of(connector)].map(Expression::name);
                let [old, new] = [0, 1].map(|at| function.parameters.get(at).map(|name| &name.text));
                let mut resolved = |part: Expression| match &part.kind {
                    ExpressionKind::Name(name) if Some(name) == old => all.clone(),
                    ExpressionKind::Name(name) if Some(name) == new => one.clone(),
                    _ => part,
                };
                let value = match lane {
                    0 => one.clone(),
                    _ => map_expression(function.body.clone(), &mut resolved),
                };
                all_lanes.push(assign(&all_lanes_of(connector), value));
            }
        }
        let last = self.folded.keys();
        all_lanes.extend(last.map(|connector| assign(connector, Expression::name(all_lanes_of(connector)))));
        all_lanes
    }

    /// The index of each dimension in the place of one that counts all elements.
    fn unpacked(&self, connector: &str, indices: Vec<Index>) -> Vec<Index> {
        let (Some(extents), [Index::Point(place)]) = (self.packed.get(connector), indices.as_slice()) else {
            return indices;
        };
        let mut found = Vec::new();
        let mut stride = 1_i64;
        for (dimension, extent) in extents.iter().enumerate().rev() {
            let number = |value: i64| Expression::integer(value);
            let row = match stride {
                1 => place.clone(),
                _ => Expression::binary(BinaryOp::FloorDivide, place.clone(), number(stride)),
            };
            found.push(Index::Point(match dimension {
                0 => row,
                _ => Expression::binary(BinaryOp::Modulo, row, number(*extent)),
            }));
            stride = stride.saturating_mul(*extent);
        }
        found.reverse();
        found
    }

    fn squeezed(&self, part: Expression) -> Expression {
        let ExpressionKind::Subscript { base, indices } = part.kind else { return part };
        let indices = self.squeezed_indices(&base.text, indices);
        Expression { kind: ExpressionKind::Subscript { base, indices }, span: part.span }
    }

    /// Indices of all dimensions without those of dimensions with a single index, which can be 0 only.
    fn squeezed_indices(&self, connector: &str, indices: Vec<Index>) -> Vec<Index> {
        let Some(single) = self.single.get(connector) else { return indices };
        if indices.len() != single.len() {
            return indices;
        }
        if !single.contains(&false) {
            return vec![Index::Point(Expression::integer(0))];
        }
        indices.into_iter().zip(single).filter(|(_, single)| !**single).map(|(index, _)| index).collect()
    }

    fn flat(&self, part: Expression) -> Expression {
        let ExpressionKind::Subscript { base, indices } = part.kind else { return part };
        let indices = self.flat_indices(&base.text, indices);
        Expression { kind: ExpressionKind::Subscript { base, indices }, span: part.span }
    }

    fn flat_target(&self, target: &mut AssignmentTarget) {
        target.indices = self.flat_indices(&target.name.text, std::mem::take(&mut target.indices));
    }

    /// Indices of tiles come last; each is added to that of its dimension.
    fn flat_indices(&self, connector: &str, indices: Vec<Index>) -> Vec<Index> {
        let Some(tiles) = self.tiles.get(connector) else { return indices };
        let is_tiled = |tile: &Expression| tile.kind != ExpressionKind::Integer(1);
        if indices.len() != tiles.len() + tiles.iter().filter(|tile| is_tiled(tile)).count() {
            return indices;
        }
        let points: Vec<Expression> = indices
            .iter()
            .filter_map(|index| if let Index::Point(at) = index { Some(at.clone()) } else { None })
            .collect();
        if points.len() != indices.len() {
            return indices;
        }
        let mut within = points[tiles.len()..].iter();
        let flat = tiles.iter().zip(&points).map(|(tile, at)| {
            match is_tiled(tile).then(|| within.next()).flatten() {
                Some(place) => {
                    let begin = Expression::binary(BinaryOp::Multiply, at.clone(), tile.clone());
                    Index::Point(Expression::binary(BinaryOp::Add, begin, place.clone()))
                }
                None => Index::Point(at.clone()),
            }
        });
        flat.collect()
    }
}

/// The variable for one lane of what is resolved.
fn one_lane_of(connector: &str) -> String {
    format!("__one_{connector}")
}

/// The variable for the lanes of what is resolved so far.
fn all_lanes_of(connector: &str) -> String {
    format!("__all_{connector}")
}

fn assign(target: &str, value: Expression) -> Statement {
    let target = AssignmentTarget { name: Name::new(target), indices: Vec::new() };
    Statement { kind: StatementKind::Assign { target, annotation: None, value }, span: Span::default() }
}

/// Changes every left side of an assignment.
fn retarget(block: &mut [Statement], change: &dyn Fn(&mut AssignmentTarget)) {
    for statement in block {
        match &mut statement.kind {
            StatementKind::Assign { target, .. } | StatementKind::Augmented { target, .. } => change(target),
            StatementKind::If { branches, otherwise } => {
                branches.iter_mut().for_each(|(_, block)| retarget(block, change));
                retarget(otherwise, change);
            }
            StatementKind::For { body, .. } | StatementKind::While { body, .. } => retarget(body, change),
            StatementKind::Pass => {}
        }
    }
}
