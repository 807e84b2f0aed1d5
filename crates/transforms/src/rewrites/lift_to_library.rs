//! [`LiftToLibrary`].

use std::collections::BTreeSet;

use sdfg::analysis::ScopeTree;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    Access, ConflictResolution, Connector, Container, ContainerId, ContainerKind, Edge, EdgeId, Flow, Layout,
    LibraryNode, Map, Memlet, Node, NodeId, NodeKind, Port, State, StateId, Tasklet, TaskletBody, Volume,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Assumptions, Expr, Sign, Symbol};
use sdfg::syntax::{Expression, parse_expression};
use sdfg::tasklet::{Code, Dialect};
use serde::{Deserialize, Serialize};

use super::fill::{Initial, counter};
use super::sole_write::SoleWrite;
use super::{anchored, described, nested_maps};
use crate::engine::{
    Claim, Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Tables, Transformation,
};
use crate::pattern::{NodeClass, Pattern};

/// Replaces a map that sums up products of two elements by the library node `MatMul`.
///
/// Back ends choose among the expansions of the node, or call BLAS. A product before a reduction becomes such
/// a sum by `MapReduceFusion`. Zeros in front of the map disappear if only the map uses them, and if they are
/// proved to be exactly the elements of the result: then the product overwrites the result.
///
/// # When it applies
///
/// The map adds the product of an element of one array and an element of another to an element of a third
/// one. The product may have a number as a further factor, or an element that is the same in all iterations:
/// the left matrix is multiplied by that first. Each index is a parameter of the map: rows, columns and summands one each, and any number of further
/// ones, first in the result and in at least one factor, for batches of matrices. Matrices may be transposed, also the result.
/// It is known which way ranges lead, and all elements have one type.
///
/// # Refusals
///
/// - The map has a schedule of a device: the node runs on the host.
/// - The map contains more than one tasklet, or the tasklet computes no product of two elements.
/// - More than one factor is the same in all iterations, or a number multiplies integers.
/// - The product is not added with `wcr(sum)`.
/// - The result may have elements of a factor.
/// - An index is no parameter of the map, or has another form.
/// - Element types differ, or the elements are vectors.
///
/// # Before
///
/// ```sdft
/// sdfg product {
///   symbol N: i64
///   array A: f64[N, N]
///   array B: f64[N, N]
///   array C: f64[N, N]
///
///   state s {
///     access A
///     access B
///     map pairs [i = 0:N, j = 0:N, k = 0:N] {
///       tasklet times (a, b) -> (c) { c = a * b }
///       pairs.A -> times.a: A[i, k]
///       pairs.B -> times.b: B[j, k]
///       times.c -> pairs.C: C[i, j] wcr(sum)
///     }
///     access C
///     A -> pairs.A
///     B -> pairs.B
///     pairs.C -> C
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg product {
///   symbol N: i64
///   array A: f64[N, N]
///   array B: f64[N, N]
///   array C: f64[N, N]
///
///   state s {
///     access A
///     access B
///     access C
///     library "pairs.product0": MatMul (_a, _b) -> (_c) { transB = True }
///     A -> "pairs.product0"._a: A[0:N, 0:N]
///     B -> "pairs.product0"._b: B[0:N, 0:N]
///     "pairs.product0"._c -> C: C[0:N, 0:N] wcr(sum)
///   }
/// }
/// ```
///
/// # Soundness
///
/// The node has the meaning of the map: each element of the result gets the sum of the same products,
/// combined with the value that it had. Expansions may add in another order, so results may differ in
/// rounding. They begin with 0.0, so an element that is -0.0 becomes 0.0 where the sum is empty or zero.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LiftToLibrary {}

static METADATA: Metadata = Metadata {
    name: "LiftToLibrary",
    group: Group::Map,
    summary: "Replaces a map that sums up products by a matrix product of the library.",
    source: "DaCe, LiftEinsum; paper, section 6.2",
    soundness: Soundness::ChangesRounding,
    is_strict: false,
    file: include_str!("lift_to_library.rs"),
    parameters: &[],
};

anchored!(LiftToLibrary);

impl Transformation for LiftToLibrary {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("map", NodeClass::MapEntry)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let tree = site.scopes();
        let product = Product::of(site.state(), &tree, site.found.node(0))?;
        nested_maps::on_host(site, product.map)?;
        let label = site.label(0);
        let result = site.sdfg.container(product.write.container());
        for (number, id) in product.containers().into_iter().enumerate() {
            let container = site.sdfg.container(id);
            // A common factor may be a scalar; it is the last one.
            let is_element = number == 3 && matches!(container.kind, ContainerKind::Scalar);
            if !is_element && !matches!(container.kind, ContainerKind::Array(_)) {
                return Err(Refusal::container(&container.name, "is no array"));
            }
            if container.element != result.element || container.element.lanes() != 1 {
                return Err(Refusal::container(&container.name, "has elements of another type, or vectors"));
            }
        }
        if !product.alpha.is_empty() && !result.element.lane().is_float() {
            return Err(Refusal::structure(label, "multiplies integers by a number"));
        }
        let known = site.known_in(tree.scope_of(site.found.node(0)));
        let mut evidence = Evidence::default();
        product.check_result(site, &known)?;
        for (symbol, range) in product.map.params.iter().zip(&product.map.ranges.0) {
            if !range.tile.is_one() {
                return Err(Refusal::structure(label, format!("has a range of `{symbol}` in tiles")));
            }
            nested_maps::independent(&Subset(vec![range.clone()]), &product.map.params)?;
            let ends = match range.step.sign(&known) {
                Sign::Positive => [&range.begin, &range.end],
                Sign::Negative => [&range.end, &range.begin],
                Sign::NonPositive | Sign::Zero | Sign::NonNegative | Sign::Unknown => {
                    let needed = format!("the step {} is positive, or that it is negative", range.step);
                    return Err(Refusal::Unproved { about: symbol.to_string(), needed });
                }
            };
            // A range that ends before it begins has no size.
            if !ends[0].le(ends[1], &known).is_proved() {
                let needed = format!("{} <= {}", ends[0], ends[1]);
                return Err(Refusal::Unproved { about: symbol.to_string(), needed });
            }
            evidence.note(symbol.as_str(), Claim::Positive(&(ends[1] - ends[0]) + 1));
        }
        nested_maps::no_declared_memlets(site, &[site.found.node(0)])?;
        if let Some((_, initial)) = product.zeros(site) {
            let (part, filled) = (product.part(product.write.access), initial.write.part(&known));
            let name = &result.name;
            if let Some(filled) = filled {
                evidence.note(name, Claim::Covers { outer: filled.clone(), inner: part.clone() });
                evidence.note(name, Claim::Covers { outer: part, inner: filled });
            }
        }
        Ok(evidence)
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let (state, entry) = (found.state(), found.node(0));
        let here = Match { calls: Vec::new(), elements: found.elements.clone() };
        let tables = Tables::new();
        let zeros = Site::of(editor.sdfg(), &here, &tables).and_then(|site| {
            let (graph, tree) = (site.state(), site.scopes());
            let (node, initial) = Product::of(graph, &tree, entry).ok()?.zeros(&site)?;
            Some((node, initial.outermost(), initial.before(graph, tree.scope_of(entry))))
        });
        let graph = editor.state(state)?;
        let tree = ScopeTree::of(graph);
        let Ok(product) = Product::of(graph, &tree, entry) else { return Err(EditError::NoNode(entry)) };
        let origin = graph.node(entry).label.clone();
        let exit = graph.exit_of(entry).unwrap_or(entry);
        let order = |edge: &Edge| matches!(edge.memlet.flow, Flow::Order);
        let before: Vec<NodeId> =
            graph.each_in_edge(entry).filter(|(_, edge)| order(edge)).map(|(_, edge)| edge.src).collect();
        let after: Vec<NodeId> =
            graph.each_out_edge(exit).filter(|(_, edge)| order(edge)).map(|(_, edge)| edge.dst).collect();
        let part = |access: &Access| product.part(access);
        let read = |factor: &Factor<'_>| {
            let outside = graph.edge(factor.outside);
            let memlet = Memlet::read(Access::elements(factor.access.container, part(factor.access)));
            (outside.src, outside.src_connector.clone(), memlet)
        };
        let mut reads = [read(&product.left), read(&product.right)];
        let scale = product.scale.as_ref().map(|scale| {
            let outside = graph.edge(scale.outside);
            let memlet = Memlet::read(scale.access.clone());
            Scaling { factor: (outside.src, outside.src_connector.clone(), memlet), before: before.clone() }
        });
        let outside = graph.edge(product.outside);
        let target = (outside.dst, outside.dst_connector.clone());
        let to = product.write.access;
        let mut write = Memlet::write(Access::elements(to.container, part(to)));
        if let Flow::Write { resolution, .. } = &mut write.flow {
            *resolution = zeros.is_none().then_some(ConflictResolution::Sum);
        }
        let flag = |name: &str, is_set: bool| is_set.then(|| (name.to_owned(), Expression::bool(true)));
        let alpha = parse_expression(&product.alpha).ok().map(|number| ("alpha".to_owned(), number));
        let properties =
            [flag("transA", product.left.is_transposed), flag("transB", product.right.is_transposed), alpha];
        let node = LibraryNode {
            operation: "MatMul".to_owned(),
            inputs: ["_a", "_b"].map(Connector::new).to_vec(),
            outputs: vec![Connector::new("_c")],
            properties: properties.into_iter().flatten().collect(),
            expansion: None,
        };
        if let Some(scaling) = scale {
            reads[0] = scaling.add(editor, state, &origin, &reads[0])?;
        }
        let label = editor.derived_label(state, &origin, "product")?;
        let node = editor.add_node(state, Node { label, kind: NodeKind::Library(node), loc: None })?;
        for ((src, src_connector, memlet), connector) in reads.into_iter().zip(["_a", "_b"]) {
            let dst_connector = Some(connector.to_owned());
            editor
                .add_edge(state, Edge { src, src_connector, dst: node, dst_connector, memlet, loc: None })?;
        }
        let src_connector = Some("_c".to_owned());
        let (dst, dst_connector) = target;
        editor.add_edge(
            state,
            Edge { src: node, src_connector, dst, dst_connector, memlet: write, loc: None },
        )?;
        let is_zeros = |node: &NodeId| zeros.as_ref().is_some_and(|(zeros, _, _)| zeros == node);
        for src in before.into_iter().filter(|node| !is_zeros(node)) {
            editor.add_order(state, src, node)?;
        }
        for dst in after {
            editor.add_order(state, node, dst)?;
        }
        editor.remove_node(state, entry)?;
        let Some((zeros, fill, before)) = zeros else { return Ok(()) };
        editor.remove_node(state, fill)?;
        if editor.state(state)?.get_node(zeros).is_some() {
            editor.remove_node(state, zeros)?;
        }
        for src in before {
            editor.add_order(state, src, node)?;
        }
        Ok(())
    }
}

/// The source of an edge, its connector, and the memlet.
type Read = (NodeId, Option<String>, Memlet);

/// A map that multiplies a matrix by a factor.
struct Scaling {
    factor: Read,
    /// The nodes that it comes after.
    before: Vec<NodeId>,
}

impl Scaling {
    /// Adds the map, with a transient for what it computes. Gives the way to read that in place of the matrix.
    fn add(
        self,
        editor: &mut Editor<'_>,
        state: StateId,
        origin: &str,
        (src, src_connector, matrix): &Read,
    ) -> Result<Read, EditError> {
        let Flow::Read(from) = &matrix.flow else { return Err(EditError::NoNode(*src)) };
        let (mut params, mut shape, mut element, mut scaled) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (dimension, range) in from.subset().0.iter().enumerate() {
            let (param, at) = counter(editor, dimension, range);
            element.push(at);
            scaled.push(Expr::symbol(param.clone()));
            shape.push(range.steps());
            params.push(param);
        }
        let original = editor.sdfg().container(from.container).clone();
        let name = editor.derived_container_name(&original.name, "scaled");
        let mut container =
            Container::new(name, original.element, ContainerKind::Array(Layout::packed(shape.clone())));
        (container.transient, container.storage) = (true, original.storage);
        let container = editor.add_container(container)?;
        let access = editor.derived_label(state, origin, "scaled")?;
        let access =
            editor.add_node(state, Node { label: access, kind: NodeKind::Access(container), loc: None })?;
        let Ok(code) = Code::parse("y = f * x", Dialect::Python) else {
            return Err(EditError::NoNode(access));
        };
        let inputs = ["f", "x"].map(Connector::new).to_vec();
        let tasklet = Tasklet { inputs, outputs: vec![Connector::new("y")], body: TaskletBody::Code(code) };
        let label = editor.derived_label(state, origin, "factor")?;
        let tasklet = editor.add_node(state, Node { label, kind: NodeKind::Tasklet(tasklet), loc: None })?;
        let one = Memlet::read(Access::elements(from.container, Subset::element(&element)));
        for ((src, src_connector, memlet), connector) in
            [(self.factor, "f"), ((*src, src_connector.clone(), one), "x")]
        {
            let dst_connector = Some(connector.to_owned());
            editor.add_edge(
                state,
                Edge { src, src_connector, dst: tasklet, dst_connector, memlet, loc: None },
            )?;
        }
        let memlet = Memlet::write(Access::elements(container, Subset::element(&scaled)));
        let src_connector = Some("y".to_owned());
        editor.add_edge(
            state,
            Edge { src: tasklet, src_connector, dst: access, dst_connector: None, memlet, loc: None },
        )?;
        let ranges: Subset = shape.iter().map(|extent| Range::new(Expr::zero(), extent.clone())).collect();
        let label = editor.derived_label(state, origin, "scale")?;
        let inside = BTreeSet::from([tasklet]);
        let entry = editor.wrap_in_map(state, &inside, &label, Map::new(params, ranges.clone()))?;
        for src in self.before {
            editor.add_order(state, src, entry)?;
        }
        Ok((access, None, Memlet::read(Access::elements(container, ranges))))
    }
}

/// A factor of the product.
struct Factor<'p> {
    /// The edge that brings the array to the map.
    outside: EdgeId,
    /// The element.
    access: &'p Access,
    /// Whether the summands are the rows of the left matrix, or the columns of the right one.
    is_transposed: bool,
}

/// An element that all products have as a factor.
struct Scale<'p> {
    /// The edge that brings it to the map.
    outside: EdgeId,
    access: &'p Access,
}

/// A map that sums up products.
struct Product<'p> {
    map: &'p Map,
    left: Factor<'p>,
    right: Factor<'p>,
    /// A factor that is the same in all iterations.
    scale: Option<Scale<'p>>,
    /// A number in the product, or nothing.
    alpha: String,
    /// The edge from the map to the result.
    outside: EdgeId,
    write: SoleWrite<'p>,
}

impl<'p> Product<'p> {
    fn of(state: &'p State, tree: &ScopeTree, entry: NodeId) -> Result<Self, Refusal> {
        let label = &state.node(entry).label;
        let refuse = |reason: &str| Refusal::structure(label, reason);
        let (NodeKind::MapEntry(map), Some(exit)) = (&state.node(entry).kind, state.exit_of(entry)) else {
            return Err(refuse("is no map"));
        };
        let moves = |edge: &Edge| !matches!(edge.memlet.flow, Flow::Order);
        let out: Vec<EdgeId> =
            state.each_out_edge(exit).filter(|(_, edge)| moves(edge)).map(|(id, _)| id).collect();
        let [outside] = out[..] else { return Err(refuse("has not one result")) };
        let write = SoleWrite::behind(state, tree, outside)?;
        if write.resolution != Some(&ConflictResolution::Sum) {
            return Err(refuse("computes no sum"));
        }
        let inside = tree.children(Some(entry));
        if write.entries != [entry] || inside.iter().any(|node| *node != write.node && *node != exit) {
            return Err(refuse("contains more than one tasklet"));
        }
        let Some(alpha) = product_of_inputs(write.tasklet) else {
            return Err(Refusal::structure(&state.node(write.node).label, "is no product of two elements"));
        };
        // The factors of a product may change places: connectors do not matter.
        let factor = |edge: &'p Edge| {
            let Flow::Read(access) = &edge.memlet.flow else { return None };
            let is_one = matches!(&edge.memlet.volume, Volume::Exact(volume) if volume.is_one());
            let port = edge.out_port().filter(|_| edge.src == entry && is_one && !access.is_queue())?;
            let [outside] = state.edges_at(entry, Port::In(port)) else { return None };
            Some((*outside, access))
        };
        let factors: Vec<&'p Edge> =
            state.each_in_edge(write.node).map(|(_, edge)| edge).filter(|edge| moves(edge)).collect();
        let factors: Option<Vec<(EdgeId, &Access)>> = factors.into_iter().map(factor).collect();
        let Some(factors) = factors else { return Err(refuse("does not read one element of each factor")) };
        let is_fixed = |access: &Access| {
            let symbols = access.subset().free_symbols();
            map.params.iter().all(|param| !symbols.contains(param))
        };
        let (fixed, factors): (Vec<_>, Vec<_>) =
            factors.into_iter().partition(|(_, access)| is_fixed(access));
        let [first, second] = factors[..] else { return Err(refuse("has not two factors")) };
        let scale = match fixed[..] {
            [] => None,
            [(outside, access)] => Some(Scale { outside, access }),
            _ => return Err(refuse("has more than one factor that is the same in all iterations")),
        };
        let indices = |access: &Access| {
            let index = |range: &Range| range.begin.as_symbol().filter(|_| range.is_index()).cloned();
            let found: Option<Vec<Symbol>> = access.subset().0.iter().map(index).collect();
            let distinct = |found: &Vec<Symbol>| found.iter().collect::<BTreeSet<_>>().len() == found.len();
            found.filter(|found| distinct(found) && found.iter().all(|symbol| map.params.contains(symbol)))
        };
        let (Some(a), Some(b), Some(c)) = (indices(first.1), indices(second.1), indices(write.access)) else {
            return Err(refuse("has an index that is no parameter of it, or one twice"));
        };
        let no_product = || refuse("has not the indices of a matrix product");
        // The result is the product of the factors in one order, or in the other one.
        let [left, right] = Self::transposed(map, &a, &b, &c)
            .map(|flags| [(first, flags[0]), (second, flags[1])])
            .or_else(|| {
                Self::transposed(map, &b, &a, &c).map(|flags| [(second, flags[0]), (first, flags[1])])
            })
            .ok_or_else(no_product)?;
        let factor = |((outside, access), is_transposed)| Factor { outside, access, is_transposed };
        Ok(Product { map, left: factor(left), right: factor(right), scale, alpha, outside, write })
    }

    /// Whether the left and the right matrix are transposed; `None` if the indices are not those of a product.
    fn transposed<'s>(map: &Map, a: &'s [Symbol], b: &'s [Symbol], c: &[Symbol]) -> Option<[bool; 2]> {
        let batches = c.len().checked_sub(2)?;
        // A matrix without indices of batches is a factor in all of them.
        let matrix = |factor: &'s [Symbol]| {
            let (own, matrix) = factor.split_at_checked(factor.len().checked_sub(2)?)?;
            (own.is_empty() || *own == c[..batches]).then_some(matrix)
        };
        let is_batched = a.len().max(b.len()) == c.len();
        if !is_batched || map.params.len() != c.len() + 1 {
            return None;
        }
        let [row, column] = [&c[batches], &c[batches + 1]];
        let inner = map.params.iter().find(|param| !c.contains(param))?;
        let order = |pair: &[Symbol], plain: [&Symbol; 2]| match pair {
            [x, y] if [x, y] == plain => Some(false),
            [x, y] if [y, x] == plain => Some(true),
            _ => None,
        };
        Some([order(matrix(a)?, [row, inner])?, order(matrix(b)?, [inner, column])?])
    }

    /// The access node in front of the map whose only purpose is to hold zeros for exactly the elements of the result.
    fn zeros(&self, site: &Site<'p>) -> Option<(NodeId, Initial<'p>)> {
        let (state, tree, entry) = (site.state(), site.scopes(), site.found.node(0));
        let known = site.known_in(tree.scope_of(entry));
        let part = self.part(self.write.access);
        let is_same = |filled: &Subset| {
            filled.covers(&part, &known).is_proved() && part.covers(filled, &known).is_proved()
        };
        let before = state.each_in_edge(entry).map(|(_, edge)| edge.src);
        let mut before =
            before.filter(|node| state.node(*node).kind.container() == Some(self.write.container()));
        before.find_map(|node| {
            let initial = Initial::of(state, &tree, (node, entry), "0").ok()?;
            initial.write.part(&known).is_some_and(|filled| is_same(&filled)).then_some((node, initial))
        })
    }

    /// No factor has an element of the result.
    fn check_result(&self, site: &Site<'_>, known: &Assumptions) -> Result<(), Refusal> {
        let to = self.write.access;
        let result = self.part(to);
        let scale = self.scale.as_ref().map(|scale| scale.access);
        for access in [self.left.access, self.right.access].into_iter().chain(scale) {
            let factor = self.part(access);
            if access.container == to.container && !result.disjoint(&factor, known).is_proved() {
                let name = &site.sdfg.container(to.container).name;
                return Err(Refusal::Conflict {
                    container: name.clone(),
                    first: format!("the factor `{name}[{factor}]`"),
                    second: format!("the result `{name}[{result}]`"),
                    reason: "may have the same elements",
                });
            }
        }
        Ok(())
    }

    /// The containers, the result first.
    fn containers(&self) -> Vec<ContainerId> {
        let scale = self.scale.as_ref().map(|scale| scale.access.container);
        let all = [self.write.container(), self.left.access.container, self.right.access.container];
        all.into_iter().chain(scale).collect()
    }

    /// The elements that an access names in all iterations.
    fn part(&self, access: &Access) -> Subset {
        let range = |index: &Range| {
            let at = self.map.params.iter().position(|param| index.begin.as_symbol() == Some(param));
            at.map_or_else(|| index.clone(), |at| self.map.ranges.0[at].clone())
        };
        access.subset().0.iter().map(range).collect()
    }
}

/// The number in the product that a tasklet assigns to its output, empty if there is none; `None` if the tasklet does
/// anything but to multiply each of its inputs once, and a number.
fn product_of_inputs(tasklet: &Tasklet) -> Option<String> {
    let [output] = &tasklet.outputs[..] else { return None };
    let TaskletBody::Code(code) = &tasklet.body else { return None };
    let text: String = code.to_string().split_whitespace().collect();
    let product = text.strip_prefix(output.name.as_str())?.strip_prefix('=')?;
    let is_input = |factor: &&str| tasklet.inputs.iter().any(|input| input.name == **factor);
    let (inputs, others): (Vec<&str>, Vec<&str>) = product.split('*').partition(is_input);
    let each_once = inputs.iter().collect::<BTreeSet<_>>().len() == inputs.len();
    if !each_once || inputs.len() != tasklet.inputs.len() {
        return None;
    }
    match others[..] {
        [] => Some(String::new()),
        [number] if number.starts_with(|c: char| c.is_ascii_digit()) && number.parse::<f64>().is_ok() => {
            Some(number.to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(names: &str) -> Vec<Symbol> {
        names.chars().map(|name| Symbol::of(&name.to_string())).collect()
    }

    /// The leading indices of both factors and of the result are those of a batch.
    #[test]
    fn indices_of_a_product_decide_which_factor_is_transposed() {
        let transposed = |params: &str, a: &str, b: &str, c: &str| {
            let ranges = params.chars().map(|_| Range::new(Expr::int(0), Expr::int(2))).collect();
            let map = Map::new(symbols(params), Subset(ranges));
            Product::transposed(&map, &symbols(a), &symbols(b), &symbols(c))
        };
        assert_eq!(transposed("ijk", "ik", "kj", "ij"), Some([false, false]));
        assert_eq!(transposed("ijk", "ki", "jk", "ij"), Some([true, true]));
        assert_eq!(transposed("bijk", "bik", "bjk", "bij"), Some([false, true]));
        // One factor is the same in all batches.
        assert_eq!(transposed("bijk", "bik", "jk", "bij"), Some([false, true]));
        assert_eq!(transposed("bijk", "ki", "bkj", "bij"), Some([true, false]));
        assert_eq!(transposed("abijk", "aik", "abkj", "abij"), None);
        assert_eq!(transposed("bijk", "ik", "kj", "bij"), None);
        // Only the last two indices of the first factor are those of a product.
        assert_eq!(transposed("bijk", "jik", "bkj", "bij"), None);
        assert_eq!(transposed("bijk", "bik", "ikj", "bij"), None);
        assert_eq!(transposed("ijkl", "ik", "kj", "ij"), None);
    }
}
