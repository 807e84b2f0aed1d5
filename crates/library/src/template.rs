//! Expansions as text: a nested SDFG is assembled from a few kinds of states and parsed by the text parser.
//!
//! Names of the expansion begin with two underscores, so they never collide with connectors of the node or
//! symbols of the caller.

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::ScopeTree;
use sdfg::analysis::symbols::symbol_types_in;
use sdfg::dtype::ScalarType;
use sdfg::ir::draft::{DraftSdfg, DraftState};
use sdfg::ir::{ConflictResolution, Flow, LibraryNode, NestedSdfg, Sdfg};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::Expression;

use crate::error::ExpandErrorKind;
use crate::extents::Extents;
use crate::operand::Operand;
use crate::registry::Context;

/// The parts of a nested SDFG.
#[derive(Debug)]
pub(crate) struct Template {
    extents: Extents,
    header: String,
    states: String,
    /// Symbols of properties that an expansion has by another name, with that first.
    renamed: Renamed,
}

/// Names within an expansion and those outside.
pub(crate) type Renamed = Vec<(Symbol, Symbol)>;

/// Elements of a container: its name, and an index for each dimension.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub(crate) container: String,
    pub(crate) indices: Vec<String>,
}

/// A state that computes one element at each point of a map.
pub(crate) struct Elementwise<'a> {
    /// The state's label.
    pub(crate) label: &'a str,
    /// The dimensions of the map, the outermost first: parameter and range.
    pub(crate) dimensions: Vec<(String, String)>,
    /// Inputs, with the tasklet's connectors.
    pub(crate) reads: Vec<(String, Element)>,
    /// The value of the element, with the connectors.
    pub(crate) value: String,
    /// Output.
    pub(crate) write: Element,
    /// Whether the value is added to the element.
    pub(crate) adds: bool,
}

/// The dimensions of a map over all elements of an operand.
pub(crate) struct Over {
    /// A parameter for each dimension that the expansion sees.
    pub(crate) params: Vec<String>,
    /// The parameters with their ranges.
    pub(crate) dimensions: Vec<(String, String)>,
    /// An index for every dimension: 0 for those that the expansion does not see, which have one element.
    pub(crate) indices: Vec<String>,
}

impl Element {
    pub(crate) fn new(container: &str, indices: Vec<String>) -> Self {
        Element { container: container.to_owned(), indices }
    }

    pub(crate) fn container(&self) -> &str {
        &self.container
    }

    /// The element as a memlet.
    pub(crate) fn text(&self) -> String {
        if self.indices.is_empty() {
            return self.container.clone();
        }
        format!("{}[{}]", self.container, self.indices.join(", "))
    }
}

impl Template {
    pub(crate) fn new(renamed: Renamed) -> Self {
        Template { extents: Extents::new("__n"), header: String::new(), states: String::new(), renamed }
    }

    /// A node with other names for the symbols in its properties that may be those of a connector or of the expansion itself,
    /// which begin with two underscores.
    pub(crate) fn renamed(node: &LibraryNode, context: Context<'_>) -> (LibraryNode, Renamed) {
        let mut node = node.clone();
        let connectors: BTreeSet<String> =
            node.inputs.iter().chain(&node.outputs).map(|connector| connector.name.clone()).collect();
        let is_like = |name: &str| name.starts_with("__") || connectors.contains(name);
        let is_value = |property: &str| LibraryNode::assigned(property).is_none();
        let values = node.properties.iter().filter(|(property, _)| is_value(property));
        let names: BTreeSet<Symbol> = values
            .flat_map(|(_, value)| value.names())
            .filter(|name| is_like(name))
            .filter_map(|name| Symbol::new(name).ok())
            .collect();
        if names.is_empty() {
            return (node, Vec::new());
        }
        let types = types_at(context);
        let known = names.into_iter().filter(|name| types.contains_key(name)).enumerate();
        let renamed: Renamed = known.map(|(at, name)| (Symbol::of(&format!("__p{at}")), name)).collect();
        let names = renamed.iter();
        let names = names.map(|(new, old)| (old.to_string(), Expression::name(new.as_str()))).collect();
        for (_, value) in node.properties.iter_mut().filter(|(property, _)| is_value(property)) {
            *value = value.replace_names(&names);
        }
        (node, renamed)
    }

    /// The text of an extent: a constant or a symbol that stands for it.
    pub(crate) fn extent(&mut self, size: &Expr) -> String {
        self.extents.name(size.clone()).to_string()
    }

    /// The extents of an operand, as an expansion sees it.
    pub(crate) fn shape(&mut self, operand: &Operand) -> Vec<String> {
        operand.seen().into_iter().map(|position| self.extent(operand.size(position))).collect()
    }

    /// A map over all elements of an operand.
    pub(crate) fn over(&mut self, operand: &Operand) -> Over {
        let shape = self.shape(operand);
        let params: Vec<String> = (0..shape.len()).map(|position| format!("__i{position}")).collect();
        let mut indices = vec!["0".to_owned(); operand.dimensions.len()];
        for (position, param) in operand.seen().into_iter().zip(&params) {
            indices[position].clone_from(param);
        }
        let ranges = shape.iter().map(|size| format!("0:{size}"));
        let dimensions = params.iter().cloned().zip(ranges).collect();
        Over { params, dimensions, indices }
    }

    /// Declares the container of a connector.
    pub(crate) fn argument(&mut self, operand: &Operand) {
        let shape = self.shape(operand);
        self.container("", &operand.connector, operand.element, &shape);
    }

    /// Declares a container of the expansion's own.
    pub(crate) fn transient(&mut self, name: &str, element: ScalarType, shape: &[String]) {
        self.container("transient ", name, element, shape);
    }

    fn container(&mut self, prefix: &str, name: &str, element: ScalarType, shape: &[String]) {
        let declaration = match shape {
            [] => format!("{prefix}scalar {name}: {element}\n"),
            shape => format!("{prefix}array {name}: {element}[{}]\n", shape.join(", ")),
        };
        self.header.push_str(&declaration);
    }

    /// Appends blocks.
    pub(crate) fn blocks(&mut self, text: &str) {
        self.states.push_str(text);
    }

    /// Appends a state with a map.
    pub(crate) fn elementwise(&mut self, state: Elementwise<'_>) {
        self.states.push_str(&state.text());
    }

    /// The nested SDFG in the place of a node. Writes in the states with these labels have the resolutions.
    pub(crate) fn finish(
        self,
        node: &LibraryNode,
        context: Context<'_>,
        resolutions: &[(&str, &ConflictResolution)],
    ) -> Result<NestedSdfg, ExpandErrorKind> {
        let mut symbols: BTreeMap<Symbol, ScalarType> = BTreeMap::new();
        symbols.extend(self.extents.symbols().map(|symbol| (symbol.clone(), ScalarType::I64)));
        // What is no symbol is a word, or in code a connector or a value.
        let names = node.properties.iter().flat_map(|(property, value)| {
            let is_code = LibraryNode::assigned(property).is_some();
            value.names().into_iter().filter(move |name| !(is_code && node.binds(name)))
        });
        let names: Vec<Symbol> = names.filter_map(|name| Symbol::new(name).ok()).collect();
        if !names.is_empty() {
            let types = types_at(context);
            let outside = |name: &Symbol| {
                let renamed = self.renamed.iter().find(|(new, _)| new == name);
                renamed.map_or(name, |(_, old)| old).clone()
            };
            symbols.extend(
                names.into_iter().filter_map(|name| Some((name.clone(), *types.get(&outside(&name))?))),
            );
        }
        let symbols: String = symbols.iter().map(|(symbol, ty)| format!("symbol {symbol}: {ty}\n")).collect();
        let text = format!("sdfg expansion {{\n{symbols}{}{}}}\n", self.header, self.states);
        let mut inner = sdfg::text::parse("expansion.sdft", &text)
            .map_err(|errors| defect(&text, errors.first().map(ToString::to_string)))?;
        inner.name.clone_from(&context.state.node(context.node).label);
        inner.float_mode = context.sdfg.float_mode;
        for (label, resolution) in resolutions {
            resolve(&mut inner, label, resolution);
        }
        Ok(NestedSdfg {
            sdfg: inner,
            inputs: node.inputs.clone(),
            outputs: node.outputs.clone(),
            symbol_mapping: {
                let renamed = self.renamed.into_iter().map(|(new, old)| (new, Expr::symbol(old)));
                self.extents.into_mapping().into_iter().chain(renamed).collect()
            },
        })
    }
}

/// The types of the symbols that have a value where a node is.
fn types_at(context: Context<'_>) -> BTreeMap<Symbol, ScalarType> {
    let tree = ScopeTree::of(context.state);
    symbol_types_in(context.sdfg, context.state, &tree, tree.scope_of(context.node)).into_iter().collect()
}

fn defect(text: &str, reason: Option<String>) -> ExpandErrorKind {
    ExpandErrorKind::Template { text: text.to_owned(), reason: reason.unwrap_or_default() }
}

fn resolve(inner: &mut Sdfg, label: &str, resolution: &ConflictResolution) {
    let found = inner.states().find(|(_, state)| state.label == label).map(|(id, _)| id);
    let Some(state) = found else { return };
    let state = inner.state_mut(state);
    let edges: Vec<_> = state.edges().map(|(id, _)| id).collect();
    for edge in edges {
        if let Flow::Write { resolution: own, .. } = &mut state.memlet_mut(edge).flow {
            *own = Some(resolution.clone());
        }
    }
}

impl Elementwise<'_> {
    fn text(&self) -> String {
        let dimensions: Vec<String> =
            self.dimensions.iter().map(|(param, range)| format!("{param} = {range}")).collect();
        let dimensions =
            if dimensions.is_empty() { "__once = 0:1".to_owned() } else { dimensions.join(", ") };
        let connectors: Vec<&str> = self.reads.iter().map(|(connector, _)| connector.as_str()).collect();
        let mut accesses = String::new();
        let mut leaves = String::new();
        let mut known: Vec<&str> = Vec::new();
        for (connector, element) in &self.reads {
            let from = element.container.as_str();
            if !known.contains(&from) {
                accesses.push_str(&format!("access {from}\n{from} -> __elements.{from}\n"));
                known.push(from);
            }
            leaves.push_str(&format!("__elements.{from} -> __compute.{connector}: {}\n", element.text()));
        }
        let adds = if self.adds { " wcr(sum)" } else { "" };
        format!(
            "state {} {{
access __out = {}
map __elements [{dimensions}] {{
tasklet __compute ({}) -> (__o) {{ __o = {} }}
{leaves}__compute.__o -> __elements.__out: {}{adds}
}}
{accesses}__elements.__out -> __out
}}
",
            self.label,
            self.write.container,
            connectors.join(", "),
            self.value,
            self.write.text(),
        )
    }
}

/// The code for a connector's value in another type.
pub(crate) fn converted(connector: &str, from: ScalarType, to: ScalarType) -> String {
    if from == to { connector.to_owned() } else { format!("{to}({connector})") }
}
