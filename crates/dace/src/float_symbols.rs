//! Converts symbols that are not integers to scalar containers.
//!
//! Symbols of DaCe may be floats, for example a value that an interstate edge reads from data and that code
//! uses later. Our symbols are integers. Therefore such a symbol becomes a scalar of the model before
//! lowering: its assignments become states with a tasklet, code that names it gets a connector, and nested
//! SDFGs receive it as an argument.

mod bindings;
mod integral;

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use sdfg::dtype::ScalarType;
use sdfg::ir::{Lifetime, Port};
use sdfg::symbolic::Expr;
use sdfg::syntax::{BinaryOp, Expression, ExpressionKind, Index};

use self::bindings::{Binding, VIEWS};
use crate::model::{
    Block, BlockKind, Descriptor, Dtype, Edge, Foreign, InterstateEdge, Memlet, Node, NodeKind, Program,
    Region, State,
};
use crate::report::{Code, Failed, Log};
use crate::text::map_expression;
use crate::wire::{Json, Path};

/// Makes scalars of the symbols of a program, and of those of its nested SDFGs, that are no integers.
pub(crate) fn to_scalars(program: &mut Program, log: &Log) -> Result<(), Failed> {
    let mut floats = floats(program);
    let assigned: BTreeSet<String> = assignments(&program.body).map(|(name, _)| name.clone()).collect();
    let mut used = BTreeSet::new();
    if !floats.is_empty() {
        collect_names(&program.body, &mut used);
    }
    for name in integral::integral(program, &floats, &used) {
        floats.remove(&name);
        program.symbols.insert(name, Dtype::of(ScalarType::I64));
    }
    for (name, dtype) in &floats {
        program.symbols.shift_remove(name);
        // Tables of symbols list what was there before a program was simplified, too.
        if !used.contains(name) && !assigned.contains(name) {
            continue;
        }
        program.containers.insert(name.clone(), scalar(dtype.clone(), assigned.contains(name)));
    }
    let names: BTreeSet<&str> = floats.keys().map(String::as_str).collect();
    let known = Known { bindings: bindings::of(program), containers: &program.containers };
    let mut values = Vec::new();
    region(&mut program.body, &known, &names, &mut values, log)?;
    program.containers.extend(values);
    Ok(())
}

/// The declarations of a program.
struct Known<'a> {
    containers: &'a IndexMap<String, Descriptor>,
    /// For each view that has the same meaning everywhere, the edge that binds it.
    bindings: BTreeMap<String, Binding>,
}

/// Names in conditions, values and code of a region.
fn collect_names(region: &Region, found: &mut BTreeSet<String>) {
    let mut add = |expression: &Expression| found.extend(expression.names().into_iter().map(str::to_owned));
    for edge in &region.edges {
        edge.condition.iter().chain(edge.assignments.iter().map(|(_, value)| value)).for_each(&mut add);
    }
    for block in &region.blocks {
        match &block.kind {
            BlockKind::Loop(repeated) => {
                [Some(&repeated.condition), repeated.init.as_ref(), repeated.update.as_ref()]
                    .into_iter()
                    .flatten()
                    .for_each(&mut add);
            }
            BlockKind::Conditional(branches) => {
                branches.iter().flat_map(|(condition, _)| condition).for_each(&mut add)
            }
            BlockKind::State(_)
            | BlockKind::Group { .. }
            | BlockKind::Break
            | BlockKind::Continue
            | BlockKind::Return => {}
        }
    }
    for block in &region.blocks {
        if let BlockKind::State(state) = &block.kind {
            for node in &state.nodes {
                match &node.kind {
                    NodeKind::Tasklet { code, .. } => found.extend(words(code).map(str::to_owned)),
                    NodeKind::Nested { mapping, .. } => {
                        found.extend(mapping.iter().flat_map(|(_, value)| words(value)).map(str::to_owned));
                    }
                    NodeKind::Library { properties, .. } => {
                        found.extend(words(library_code(properties)).map(str::to_owned));
                    }
                    NodeKind::Access { .. }
                    | NodeKind::MapEntry(_)
                    | NodeKind::MapExit(_)
                    | NodeKind::ConsumeEntry(_)
                    | NodeKind::ConsumeExit(_) => {}
                }
            }
        }
        parts(&block.kind).into_iter().for_each(|part| collect_names(part, found));
    }
}

/// A scalar of a type; one that nothing inside assigns comes from the caller.
fn scalar(dtype: Dtype, transient: bool) -> Descriptor {
    Descriptor { transient, ..Descriptor::scalar(dtype) }
}

/// Symbols with a type that is no integer: declared so, or not declared and assigned a value that is none.
fn floats(program: &Program) -> BTreeMap<String, Dtype> {
    let is_real = |ty: ScalarType| ty.is_float() || ty.is_complex();
    let declared = program.symbols.iter().filter(|(_, ty)| is_real(ty.element.lane()));
    let mut floats: BTreeMap<String, Dtype> = declared.map(|(name, ty)| (name.clone(), ty.clone())).collect();
    loop {
        let mut found = Vec::new();
        for (name, value) in assignments(&program.body) {
            if program.symbols.contains_key(name) || floats.contains_key(name) {
                continue;
            }
            if let Some(ty) = type_of(value, program, &floats).filter(|ty| is_real(*ty)) {
                found.push((name.clone(), Dtype::of(ty)));
            }
        }
        if found.is_empty() {
            return floats;
        }
        floats.extend(found);
    }
}

/// Every assignment between blocks of a region, with the regions in it.
pub(crate) fn assignments(region: &Region) -> Box<dyn Iterator<Item = &(String, Expression)> + '_> {
    let own = region.edges.iter().flat_map(|edge| &edge.assignments);
    let inner = region.blocks.iter().flat_map(|block| parts(&block.kind)).flat_map(assignments);
    Box::new(own.chain(inner))
}

fn parts(kind: &BlockKind) -> Vec<&Region> {
    match kind {
        BlockKind::Loop(repeated) => vec![&repeated.body],
        BlockKind::Conditional(branches) => branches.iter().map(|(_, part)| part).collect(),
        BlockKind::Group { body, .. } => vec![body],
        BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => Vec::new(),
    }
}

/// The widest type of what a value is made of; `None` if that is integers and symbols only.
fn type_of(value: &Expression, program: &Program, floats: &BTreeMap<String, Dtype>) -> Option<ScalarType> {
    let named = |name: &str| {
        let container = program.containers.get(name).map(|found| found.dtype.element.lane());
        container.or_else(|| floats.get(name).map(|ty| ty.element.lane()))
    };
    let widest = |types: &mut dyn Iterator<Item = Option<ScalarType>>| {
        types.flatten().max_by_key(|ty| (ty.kind(), ty.size()))
    };
    let of = |value: &Expression| type_of(value, program, floats);
    match &value.kind {
        ExpressionKind::Integer(_) | ExpressionKind::Bool(_) | ExpressionKind::Compare { .. } => None,
        ExpressionKind::Float(_) => Some(ScalarType::F64),
        ExpressionKind::Imaginary(_) => Some(ScalarType::Complex128),
        ExpressionKind::Name(name) => named(name),
        ExpressionKind::Subscript { base, .. } => named(&base.text),
        ExpressionKind::Unary { operand, .. } => of(operand),
        ExpressionKind::Binary { op: BinaryOp::And | BinaryOp::Or, .. } => None,
        ExpressionKind::Binary { left, right, .. } => widest(&mut [of(left), of(right)].into_iter()),
        ExpressionKind::Conditional { then, otherwise, .. } => {
            widest(&mut [of(then), of(otherwise)].into_iter())
        }
        ExpressionKind::Call { function, arguments } => {
            let name = function.text.rsplit('.').next().unwrap_or_default();
            if ["int", "uint", "bool"].iter().any(|kind| name.starts_with(kind)) {
                return None;
            }
            if let Some(ty) = named(name) {
                return Some(ty);
            }
            let rounded =
                matches!(name, "min" | "max" | "Min" | "Max" | "abs" | "Abs" | "floor" | "ceil" | "ceiling");
            let own = widest(&mut arguments.iter().map(of));
            own.or_else(|| (!rounded && name.starts_with("float")).then_some(ScalarType::F64))
        }
    }
}

/// Changes the states and edges of a region.
fn region(
    found: &mut Region,
    known: &Known<'_>,
    floats: &BTreeSet<&str>,
    values: &mut Vec<(String, Descriptor)>,
    log: &Log,
) -> Result<(), Failed> {
    for block in &mut found.blocks {
        match &mut block.kind {
            BlockKind::State(found) => state(found, known.containers, floats, values, log)?,
            BlockKind::Loop(repeated) => region(&mut repeated.body, known, floats, values, log)?,
            BlockKind::Conditional(branches) => {
                for (_, part) in branches {
                    region(part, known, floats, values, log)?;
                }
            }
            BlockKind::Group { body, .. } => region(body, known, floats, values, log)?,
            BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        }
    }
    for at in 0..found.edges.len() {
        split(found, at, known, floats);
    }
    Ok(())
}

/// Makes states of the assignments of an edge to scalars; what comes between them stays on edges.
fn split(region: &mut Region, at: usize, known: &Known<'_>, floats: &BTreeSet<&str>) {
    let edge = &mut region.edges[at];
    if !edge.assignments.iter().any(|(name, _)| floats.contains(name.as_str())) {
        return;
    }
    let (last, path) = (edge.dst, edge.path.clone());
    // The list of edges grows at its end, so that the edge keeps its turn.
    let mut current = at;
    for (name, value) in std::mem::take(&mut edge.assignments) {
        if !floats.contains(name.as_str()) {
            region.edges[current].assignments.push((name, value));
            continue;
        }
        let block = region.blocks.len();
        let kind = BlockKind::State(assignment(&name, &value, known, &Path::from(path.as_str())));
        region.blocks.push(Block { label: format!("assign_{name}"), kind });
        region.edges[current].dst = block;
        current = region.edges.len();
        region.edges.push(InterstateEdge {
            src: block,
            dst: last,
            condition: None,
            assignments: Vec::new(),
            path: path.clone(),
        });
    }
}

/// A state that computes a scalar.
fn assignment(name: &str, value: &Expression, known: &Known<'_>, path: &Path) -> State {
    let containers = known.containers;
    let mut reads: BTreeSet<String> = BTreeSet::new();
    let value = map_expression(value.clone(), &mut |part| {
        let part = element(part, containers);
        reads.extend(part.own_name().filter(|name| containers.contains_key(*name)).map(str::to_owned));
        part
    });
    let access = |data: &str| access(data, path);
    let mut tasklet = computed(&value.to_string(), path);
    tasklet.inputs = reads.iter().map(|name| (name.clone(), None)).collect();
    let mut state = State { nodes: vec![tasklet, access(name)], edges: Vec::new() };
    state.edges.push(edge((0, Some("__out")), (1, None), name, path));
    for read in reads {
        let mut source = access(&read);
        let at = state.nodes.len();
        state.edges.push(edge((at, None), (0, Some(&read)), &read, path));
        let Some(binding) = known.bindings.get(&read) else {
            state.nodes.push(source);
            continue;
        };
        source.inputs.insert(VIEWS.to_owned(), None);
        state.nodes.extend([source, access(&binding.target)]);
        state.edges.push(Edge {
            memlet: binding.memlet.clone(),
            ..edge((at + 1, None), (at, Some(VIEWS)), &binding.target, path)
        });
    }
    state
}

/// A tasklet that writes a value to its output `__out`.
pub(crate) fn computed(value: &str, path: &Path) -> Node {
    let (code, language) = (format!("__out = {value}"), "Python".to_owned());
    Node {
        label: "assign".to_owned(),
        kind: NodeKind::Tasklet { code, language, is_pythonic: false, foreign: Foreign::default() },
        inputs: IndexMap::new(),
        outputs: IndexMap::from([("__out".to_owned(), None)]),
        path: path.clone(),
    }
}

/// An access node.
pub(crate) fn access(data: &str, path: &Path) -> Node {
    Node {
        label: data.to_owned(),
        kind: NodeKind::Access { data: data.to_owned(), setzero: false },
        inputs: IndexMap::new(),
        outputs: IndexMap::new(),
        path: path.clone(),
    }
}

/// A read of an element as the code of a tasklet has it that is given the whole container.
fn element(part: Expression, containers: &IndexMap<String, Descriptor>) -> Expression {
    let span = part.span;
    let (base, indices) = match part.kind {
        ExpressionKind::Subscript { base, indices } => (base, indices),
        ExpressionKind::Call { function, arguments } if containers.contains_key(&function.text) => {
            (function, arguments.into_iter().map(Index::Point).collect())
        }
        kind => return Expression { kind, span },
    };
    let Some(descriptor) = containers.get(&base.text) else {
        return Expression { kind: ExpressionKind::Subscript { base, indices }, span };
    };
    let long = |(index, extent): (Index, &Expr)| (!extent.is_one()).then_some(index);
    let kept: Vec<Index> = indices.into_iter().zip(&descriptor.shape).filter_map(long).collect();
    let kind = if kept.is_empty() {
        ExpressionKind::Name(base.text)
    } else {
        ExpressionKind::Subscript { base, indices: kept }
    };
    Expression { kind, span }
}

/// An edge that moves all of a container.
pub(crate) fn edge(src: (usize, Option<&str>), dst: (usize, Option<&str>), data: &str, path: &Path) -> Edge {
    Edge {
        src: src.0,
        src_connector: src.1.map(str::to_owned),
        dst: dst.0,
        dst_connector: dst.1.map(str::to_owned),
        memlet: Memlet { data: Some(data.to_owned()), ..Memlet::default() },
        path: path.clone(),
    }
}

/// Connects code of a state that names scalars which were symbols, and nested SDFGs that ask for them.
///
/// `values` gets the scalars for what nested SDFGs are given that is no symbol.
fn state(
    state: &mut State,
    containers: &IndexMap<String, Descriptor>,
    floats: &BTreeSet<&str>,
    values: &mut Vec<(String, Descriptor)>,
    log: &Log,
) -> Result<(), Failed> {
    let mut wanted: Vec<(usize, String, String)> = Vec::new();
    let mut computed: Vec<(usize, String, String, Dtype)> = Vec::new();
    for (at, node) in state.nodes.iter_mut().enumerate() {
        match &mut node.kind {
            NodeKind::Tasklet { code, .. } => {
                wanted.extend(named(code, floats, &node.inputs, &node.outputs, at))
            }
            NodeKind::Library { properties, .. } => {
                let code = library_code(properties);
                wanted.extend(named(code, floats, &node.inputs, &node.outputs, at));
            }
            NodeKind::Nested { program, mapping } => {
                to_scalars(program, log)?;
                for (name, value) in mapping.iter() {
                    let own = program.containers.get(name).filter(|found| !found.transient);
                    let Some(own) = own.filter(|_| !node.inputs.contains_key(name)) else { continue };
                    if floats.contains(value.as_str()) {
                        wanted.push((at, name.clone(), value.clone()));
                        continue;
                    }
                    if let Some(data) =
                        words(value).find(|word| containers.contains_key(*word) && !floats.contains(word))
                    {
                        let message = format!(
                            "the symbol `{name}` is no integer and gets `{value}`, which reads the data `{data}`"
                        );
                        return Err(log.error(Code::Symbol, &node.path, message));
                    }
                    computed.push((at, name.clone(), value.clone(), own.dtype.clone()));
                }
            }
            NodeKind::Access { .. }
            | NodeKind::MapEntry(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_) => {}
        }
    }
    for (at, connector, data) in wanted {
        let scopes = scopes_around(state, at);
        pass(state, scopes, at, &connector, &data);
    }
    for (at, connector, value, dtype) in computed {
        let mut data = format!("__value_of_{connector}_{}", values.len());
        while containers.contains_key(&data) {
            data.push('_');
        }
        compute(state, at, &connector, &value, &data, floats);
        values.push((data, Descriptor { lifetime: Lifetime::Scope, ..scalar(dtype, true) }));
    }
    Ok(())
}

/// Brings a value of scalars and integers to a connector of a node: a tasklet in the scope of the node computes it.
fn compute(
    state: &mut State,
    node: usize,
    connector: &str,
    value: &str,
    data: &str,
    floats: &BTreeSet<&str>,
) {
    let scopes = scopes_around(state, node);
    let path = state.nodes[node].path.clone();
    let (code, language) = (format!("__out = {value}"), "Python".to_owned());
    let kind = NodeKind::Tasklet { code, language, is_pythonic: false, foreign: Foreign::default() };
    let outputs = IndexMap::from([("__out".to_owned(), None)]);
    let (tasklet, access) = (state.nodes.len(), state.nodes.len() + 1);
    state.nodes.push(Node {
        label: format!("compute_{connector}"),
        kind,
        inputs: IndexMap::new(),
        outputs,
        path: path.clone(),
    });
    state.nodes.push(Node {
        label: data.to_owned(),
        kind: NodeKind::Access { data: data.to_owned(), setzero: false },
        inputs: IndexMap::new(),
        outputs: IndexMap::new(),
        path: path.clone(),
    });
    let names: BTreeSet<&str> = words(value).filter(|word| floats.contains(word)).collect();
    for name in &names {
        pass(state, scopes.clone(), tasklet, name, name);
    }
    if let (true, Some(entry)) = (names.is_empty(), scopes.first()) {
        let memlet = Memlet::default();
        let ordered = Edge { memlet, ..edge((*entry, None), (tasklet, None), data, &path) };
        state.edges.push(ordered);
    }
    state.edges.push(edge((tasklet, Some("__out")), (access, None), data, &path));
    state.edges.push(edge((access, None), (node, Some(connector)), data, &path));
    state.nodes[node].inputs.insert(connector.to_owned(), None);
}

/// The scalars that the code of node number `at` names and has no connector for, with connectors of the same names.
fn named(
    code: &str,
    floats: &BTreeSet<&str>,
    inputs: &IndexMap<String, Option<Dtype>>,
    outputs: &IndexMap<String, Option<Dtype>>,
    at: usize,
) -> Vec<(usize, String, String)> {
    let is_own = |name: &str| inputs.contains_key(name) || outputs.contains_key(name);
    let names: BTreeSet<&str> = words(code).filter(|word| floats.contains(word) && !is_own(word)).collect();
    names.into_iter().map(|name| (at, name.to_owned(), name.to_owned())).collect()
}

/// The code of a library node; empty for those that have none.
fn library_code(properties: &IndexMap<String, Json>) -> &str {
    let code = properties.get("code");
    code.and_then(|code| code.as_text().or_else(|| code.get("string_data")?.as_text())).unwrap_or_default()
}

/// Brings a scalar to a connector of a node, through the scopes around it, the innermost first.
fn pass(state: &mut State, scopes: Vec<usize>, node: usize, connector: &str, data: &str) {
    let path = state.nodes[node].path.clone();
    state.nodes.push(access(data, &path));
    let mut from = (state.nodes.len() - 1, None);
    for entry in scopes.into_iter().rev() {
        let name = format!("{data}_{}", state.edges.len());
        state.edges.push(edge(
            (from.0, from.1.as_deref()),
            (entry, Some(&Port::In(&name).to_string())),
            data,
            &path,
        ));
        from = (entry, Some(Port::Out(&name).to_string()));
    }
    state.edges.push(edge((from.0, from.1.as_deref()), (node, Some(connector)), data, &path));
    state.nodes[node].inputs.insert(connector.to_owned(), None);
}

/// The entries of the scopes around a node, the innermost first: each is the nearest entry before it that is not closed.
fn scopes_around(state: &State, node: usize) -> Vec<usize> {
    let (mut scopes, mut at, mut steps) = (Vec::new(), node, 0);
    while let Some(edge) = state.edges.iter().find(|edge| edge.dst == at) {
        match &state.nodes[edge.src].kind {
            NodeKind::MapEntry(_) | NodeKind::ConsumeEntry(_) => {
                scopes.push(edge.src);
                at = edge.src;
            }
            NodeKind::MapExit(entry) | NodeKind::ConsumeExit(entry) => at = *entry,
            NodeKind::Access { .. }
            | NodeKind::Tasklet { .. }
            | NodeKind::Nested { .. }
            | NodeKind::Library { .. } => {
                at = edge.src;
            }
        }
        // A graph with a cycle is refused later.
        steps += 1;
        if steps > state.nodes.len() {
            break;
        }
    }
    scopes
}

/// The identifiers of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}
