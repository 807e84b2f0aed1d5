//! [`ScalarToSymbol`].

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::callbacks::calls_back;
use sdfg::analysis::symbols::{UNDECLARED_SYMBOL, bound_symbols};
use sdfg::analysis::{ScopeTree, control_code_of, is_leaf};
use sdfg::dtype::ElementType;
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    BlockId, BlockKind, Connector, ContainerId, ContainerKind, Edge, EdgeId, Flow, Lifetime, Map, NodeId,
    NodeKind, Sdfg, State, StateId, Tasklet, TaskletBody,
};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::{
    BinaryOp, Expression, ExpressionKind, Index, Name, StatementKind, UnaryOp, visit_block, visit_bound_names,
};
use sdfg::tasklet::Dialect;
use serde::{Deserialize, Serialize};

use super::{anchored, described};
use crate::engine::{
    Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Tables, Transformation, state_of,
};
use crate::pattern::{NodeClass, Pattern};

/// Makes a symbol of an integer scalar.
///
/// So bounds that the scalar decides are known to later checks. A write becomes an assignment of the
/// transition after its state. Nodes of the state that do not come before the write move to the state after
/// it.
///
/// # When it applies
///
/// The scalar is a transient of type `i64`. Its writes are copies of elements, and tasklets of one assignment
/// with integer arithmetic over elements and symbols of type `i64`. They stand outside of scopes, at most one
/// in a state. Its reads are those of control flow, inputs of tasklets, and symbols that maps get from data.
/// Each read comes after a write.
///
/// # Refusals
///
/// - The container is no transient scalar of type `i64`.
/// - The scalar may be read before it is written, is never written, or is written several times in a state or
///   in a scope.
/// - A node reads the scalar beside the write of its state, without an order among the two.
/// - A write computes more than integer arithmetic of elements and symbols.
/// - A node that comes before the scalar, but not before what writes it, changes an element of its value.
/// - A reader is a foreign function, or gives another meaning to the name.
/// - The code of a tasklet has a variable of the name.
///
/// # Before
///
/// ```sdft
/// sdfg first_rows {
///   symbol N: i64
///   array sizes: i64[1]
///   array A: f64[N]
///   transient scalar n: i64
///
///   state size {
///     access sizes
///     access n
///     tasklet add (s) -> (m) { m = s + 1 }
///     sizes -> add.s: sizes[0]
///     add.m -> n: n
///   }
///   for rows: i = 0:n {
///     state row {
///       access A
///       tasklet zero () -> (a) { a = 0.0 }
///       zero.a -> A: A[i]
///     }
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg first_rows {
///   symbol N: i64
///   array sizes: i64[1]
///   array A: f64[N]
///
///   state size {}
///   -> "size.after0" with (n = sizes[0] + 1)
///   for rows: i = 0:n {
///     state row {
///       access A
///       tasklet zero () -> (a) { a = 0.0 }
///       zero.a -> A: A[i]
///     }
///   }
///   -> end
///   state "size.after0" {}
///   -> rows
/// }
/// ```
///
/// # Soundness
///
/// A transition evaluates the assignment after the state and before every later read. The inputs of the write
/// keep their values until then, because all nodes that remain in the state come before the write.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScalarToSymbol {}

static METADATA: Metadata = Metadata {
    name: "ScalarToSymbol",
    group: Group::ControlFlow,
    summary: "Makes a symbol of an integer scalar.",
    source: "DaCe, ScalarToSymbolPromotion",
    soundness: Soundness::Always,
    is_strict: false,
    file: include_str!("scalar_to_symbol.rs"),
    parameters: &[],
};

anchored!(ScalarToSymbol);

/// A write of the scalar.
struct Written {
    block: BlockId,
    state: StateId,
    /// The access node.
    node: NodeId,
    /// The tasklet that computes the value; `None` for a copy.
    code: Option<NodeId>,
    /// The value, in names of control flow.
    value: Expression,
    /// The nodes that stay in the state: those that come before the access node, and itself.
    before: BTreeSet<NodeId>,
}

/// A read of the scalar by a node.
struct Read {
    state: StateId,
    edge: EdgeId,
    node: NodeId,
    connector: String,
}

/// The writes and reads of a scalar.
struct Uses {
    id: ContainerId,
    writes: Vec<Written>,
    reads: Vec<Read>,
}

fn uses(site: &Site<'_>) -> Result<Uses, Refusal> {
    let sdfg = site.sdfg;
    let Some(id) = site.state().node(site.found.node(0)).kind.container() else {
        return Err(Refusal::structure(site.label(0), "is no access node"));
    };
    let container = sdfg.container(id);
    let refuse = |reason: &str| Err(Refusal::container(&container.name, reason));
    let dies = match container.lifetime {
        Lifetime::Scope | Lifetime::State | Lifetime::Sdfg => true,
        Lifetime::Persistent | Lifetime::External => false,
    };
    if !container.transient || container.constant.is_some() || !dies {
        return refuse("is no transient that one run alone sees");
    }
    if !matches!(container.kind, ContainerKind::Scalar) || !is_index(container.element) {
        return refuse("is no scalar of type `i64`");
    }
    let start = sdfg.region(sdfg.body()).start;
    if start.is_none_or(|start| site.liveness().before(start).contains(id)) {
        return refuse("may be read before it is written");
    }
    let mut uses = Uses { id, writes: Vec::new(), reads: Vec::new() };
    for (block, state) in sdfg.blocks().filter_map(|(block, _)| Some((block, state_of(sdfg, block)?))) {
        in_state(site, &mut uses, block, state)?;
    }
    if uses.writes.is_empty() {
        return refuse("is never written");
    }
    if sdfg.states().any(|(_, state)| has_variable(state, &container.name)) {
        return refuse("has the name of a variable in the code of a tasklet");
    }
    Ok(uses)
}

/// Whether the code of a tasklet of a state has a variable of this name.
fn has_variable(state: &State, name: &str) -> bool {
    state.nodes().any(
        |(_, node)| matches!(&node.kind, NodeKind::Tasklet(tasklet) if tasklet.variables().contains(name)),
    )
}

fn is_index(element: ElementType) -> bool {
    element == ElementType::from(UNDECLARED_SYMBOL)
}

/// Adds the writes and reads of a state.
fn in_state(site: &Site<'_>, uses: &mut Uses, block: BlockId, id: StateId) -> Result<(), Refusal> {
    let (sdfg, state) = (site.sdfg, site.sdfg.state(id));
    let container = sdfg.container(uses.id);
    let refuse = |reason: &str| Refusal::container(&container.name, reason);
    if state.accesses_of(uses.id).next().is_none() {
        return Ok(());
    }
    let tree = site.scopes_of(id);
    let mut written = None;
    for (edge, content) in state.edges().filter(|(edge, _)| is_leaf(state, *edge)) {
        let memlet = &content.memlet;
        if memlet.write_access().is_some_and(|access| access.container == uses.id) {
            let found = write(site, &tree, (block, id), edge)?;
            if written.replace(found).is_some() {
                return Err(refuse("is written several times in a state"));
            }
        }
        if memlet.read_access().is_some_and(|access| access.container == uses.id) {
            uses.reads.push(read(sdfg, &tree, id, edge)?);
        }
    }
    let consumes = |kind: &NodeKind| matches!(kind, NodeKind::ConsumeEntry(consume) if consume.condition.as_ref().is_some_and(|condition| condition.names().contains(&container.name.as_str())));
    if state.nodes().any(|(_, node)| consumes(&node.kind)) {
        return Err(refuse("is read by the condition of a consume scope"));
    }
    let Some(written) = written else { return Ok(()) };
    let after = joined(state, [written.node], true);
    for other in state.accesses_of(uses.id).filter(|node| *node != written.node) {
        // It reads the value from before: that is known where it stays, and gone where it moves.
        let moves = !written.before.contains(&other) && !after.contains(&other);
        let is_late = state.each_out_edge(other).any(|(_, edge)| !written.before.contains(&edge.dst));
        if moves || is_late {
            return Err(refuse("is read beside the write of its state"));
        }
    }
    uses.writes.push(written);
    Ok(())
}

/// Some nodes and those before them, or after them.
fn joined(state: &State, nodes: impl IntoIterator<Item = NodeId>, forward: bool) -> BTreeSet<NodeId> {
    let mut waiting: Vec<NodeId> = nodes.into_iter().collect();
    let mut found = BTreeSet::new();
    while let Some(node) = waiting.pop() {
        if !found.insert(node) {
            continue;
        }
        if forward {
            waiting.extend(state.each_out_edge(node).map(|(_, edge)| edge.dst));
        } else {
            waiting.extend(state.each_in_edge(node).map(|(_, edge)| edge.src));
        }
    }
    found
}

/// A write as an assignment.
fn write(
    site: &Site<'_>,
    tree: &ScopeTree,
    (block, id): (BlockId, StateId),
    edge: EdgeId,
) -> Result<Written, Refusal> {
    let sdfg = site.sdfg;
    let state = sdfg.state(id);
    let content = state.edge(edge);
    let (src, node) = (content.src, content.dst);
    let label = &state.node(src).label;
    let refuse = |reason: &str| Refusal::structure(label, reason);
    if tree.scope_of(node).is_some()
        || tree.scope_of(src).is_some()
        || state.node(src).kind.exit_of().is_some()
    {
        return Err(refuse("writes the scalar in a scope"));
    }
    let before = joined(state, [node], false);
    let done = |code, value| {
        // The transition reads behind all that comes before the scalar, and not only behind what the write waits for.
        match changed_late(site, state, &value, [src, node], &before) {
            Some(name) => {
                Err(refuse(&format!("reads `{name}`, which is changed before the scalar is written")))
            }
            None => Ok(Written { block, state: id, node, code, value, before }),
        }
    };
    match (&state.node(src).kind, &content.memlet.flow) {
        (NodeKind::Access(_), Flow::Copy { .. }) => {
            let value =
                element(sdfg, state, edge).ok_or_else(|| refuse("is no element that a transition reads"))?;
            done(None, value)
        }
        (NodeKind::Tasklet(tasklet), Flow::Write { resolution: None, .. }) => {
            let value = computed(sdfg, state, src, tasklet).ok_or_else(|| {
                refuse("computes more than a transition: one integer of elements and symbols")
            })?;
            done(Some(src), value)
        }
        _ => Err(refuse("writes the scalar in another way than a tasklet or a copy")),
    }
}

/// A container of a value that nodes may change which come before the scalar, but not before the node that writes it.
fn changed_late(
    site: &Site<'_>,
    state: &State,
    value: &Expression,
    [src, node]: [NodeId; 2],
    before: &BTreeSet<NodeId>,
) -> Option<String> {
    let early = joined(state, [src], false);
    let late: Vec<NodeId> = before.difference(&early).copied().filter(|late| *late != node).collect();
    let read = value.names().into_iter().filter_map(|name| site.sdfg.find_container(name));
    let is_changed = |id: ContainerId| {
        let same = site.same_memory(id);
        let writes = |edge: &Edge| edge.memlet.write_access().is_some_and(|to| same.contains(&to.container));
        late.iter().any(|late| {
            calls_back(&state.node(*late).kind) || state.each_in_edge(*late).any(|(_, edge)| writes(edge))
        })
    };
    read.into_iter().find(|id| is_changed(*id)).map(|id| site.sdfg.container(id).name.clone())
}

/// The element that an edge reads, in control flow.
fn element(sdfg: &Sdfg, state: &State, edge: EdgeId) -> Option<Expression> {
    let access = state.edge(edge).memlet.read_access()?;
    let container = sdfg.container(access.container);
    let lasts = container.lifetime != Lifetime::State;
    if access.is_queue() || container.is_alias() || !is_index(container.element) || !lasts {
        return None;
    }
    let name = Expression::name(container.name.as_str());
    if matches!(container.kind, ContainerKind::Scalar) {
        return Some(name);
    }
    let index = |range: &sdfg::subset::Range| {
        range.is_index().then(|| control_code_of(sdfg, &range.begin).map(Index::Point)).flatten()
    };
    let indices = access.subset().0.iter().map(index).collect::<Option<Vec<_>>>()?;
    let base = Name { text: container.name.clone(), span: name.span };
    Some(Expression { kind: ExpressionKind::Subscript { base, indices }, span: name.span })
}

/// The value of a tasklet of one assignment, in control flow.
fn computed(sdfg: &Sdfg, state: &State, node: NodeId, tasklet: &Tasklet) -> Option<Expression> {
    let TaskletBody::Code(code) = &tasklet.body else { return None };
    let [statement] = code.block() else { return None };
    let StatementKind::Assign { target, annotation: None, value } = &statement.kind else { return None };
    let [output] = tasklet.outputs.as_slice() else { return None };
    let is_plain = |connector: &Connector| connector.element.is_none_or(is_index);
    let is_own = target.name.text == output.name && target.indices.is_empty();
    if !is_own || !tasklet.inputs.iter().chain([output]).all(is_plain) {
        return None;
    }
    if state.each_out_edge(node).filter(|(_, edge)| !matches!(edge.memlet.flow, Flow::Order)).count() != 1 {
        return None;
    }
    let mut values = BTreeMap::new();
    for (edge, content) in state.each_in_edge(node) {
        match (&content.memlet.flow, &content.dst_connector) {
            (Flow::Read(_), Some(connector)) => {
                values.insert(connector.clone(), element(sdfg, state, edge)?);
            }
            (Flow::Order, _) => {}
            _ => return None,
        }
    }
    let is_known = |name: &str| {
        values.contains_key(name)
            || Symbol::new(name).is_ok_and(|symbol| {
                sdfg.symbol_type(&symbol).unwrap_or(UNDECLARED_SYMBOL) == UNDECLARED_SYMBOL
                    && sdfg.find_container(name).is_none()
            })
    };
    let rounds_down = code.dialect() == Dialect::Python;
    (is_integer(value, rounds_down) && value.names().into_iter().all(is_known))
        .then(|| value.replace_names(&values))
}

/// Whether an expression is made of integers by operations that tasklets and control flow evaluate alike.
fn is_integer(value: &Expression, rounds_down: bool) -> bool {
    match &value.kind {
        ExpressionKind::Integer(_) | ExpressionKind::Name(_) => true,
        ExpressionKind::Unary { op: UnaryOp::Negate, operand } => is_integer(operand, rounds_down),
        ExpressionKind::Binary { op, left, right } => {
            let is_exact = match op {
                BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply => true,
                BinaryOp::FloorDivide | BinaryOp::Modulo => rounds_down,
                BinaryOp::Divide
                | BinaryOp::Power
                | BinaryOp::ShiftLeft
                | BinaryOp::ShiftRight
                | BinaryOp::BitAnd
                | BinaryOp::BitOr
                | BinaryOp::BitXor
                | BinaryOp::And
                | BinaryOp::Or => false,
            };
            is_exact && is_integer(left, rounds_down) && is_integer(right, rounds_down)
        }
        ExpressionKind::Unary { .. }
        | ExpressionKind::Float(_)
        | ExpressionKind::Imaginary(_)
        | ExpressionKind::Bool(_)
        | ExpressionKind::Compare { .. }
        | ExpressionKind::Conditional { .. }
        | ExpressionKind::Call { .. }
        | ExpressionKind::Subscript { .. } => false,
    }
}

/// A read by a tasklet, or of a symbol of a map.
fn read(sdfg: &Sdfg, tree: &ScopeTree, id: StateId, edge: EdgeId) -> Result<Read, Refusal> {
    let state = sdfg.state(id);
    let content = state.edge(edge);
    let node = content.dst;
    let access = content.memlet.read_access();
    let name = access.map(|access| sdfg.container(access.container).name.as_str()).unwrap_or_default();
    let label = &state.node(node).label;
    let refuse = |reason: &str| Refusal::structure(label, format!("{reason} `{name}`"));
    let bound = tree.enclosing_scope(tree.scope_of(node)).chain([node]);
    if bound.flat_map(|entry| bound_symbols(state, entry)).any(|symbol| symbol.as_str() == name) {
        return Err(refuse("gives another meaning to the name"));
    }
    let connector = content.dst_connector.clone().ok_or_else(|| refuse("copies"))?;
    match &state.node(node).kind {
        NodeKind::Tasklet(tasklet) => {
            let TaskletBody::Code(code) = &tasklet.body else {
                return Err(refuse("is a foreign function that reads"));
            };
            let input = tasklet.inputs.iter().find(|input| input.name == connector);
            if input.is_none_or(|input| input.element.is_some_and(|element| !is_index(element))) {
                return Err(refuse("converts"));
            }
            let mut names: BTreeSet<String> =
                tasklet.inputs.iter().chain(&tasklet.outputs).map(|own| own.name.clone()).collect();
            let mut assigns = false;
            visit_bound_names(code.block(), &mut |own| {
                assigns |= own.text == connector;
                names.insert(own.text.clone());
            });
            visit_block(code.block(), &mut |read| names.extend(read.own_name().map(str::to_owned)));
            if assigns || tasklet.outputs.iter().any(|output| output.name == connector) {
                return Err(refuse("gives another value to the connector that reads"));
            }
            if names.contains(name) && connector != name {
                return Err(refuse("gives another meaning to the name"));
            }
            Ok(Read { state: id, edge, node, connector })
        }
        NodeKind::MapEntry(_) => Ok(Read { state: id, edge, node, connector }),
        NodeKind::Access(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Nested(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => Err(refuse("is no tasklet or map and reads")),
    }
}

impl Transformation for ScalarToSymbol {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([("scalar", NodeClass::Access)])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        uses(site).map(|_| Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let here = Match { calls: Vec::new(), elements: found.elements.clone() };
        let tables = Tables::new();
        let found = Site::of(editor.sdfg(), &here, &tables).and_then(|site| uses(&site).ok());
        let Some(Uses { id, writes, reads }) = found else { return Err(EditError::NoNode(here.node(0))) };
        let name = editor.sdfg().container(id).name.clone();
        // The name means the container until that is gone.
        let symbol = editor.derived_container_name(&name, "symbol");
        let symbol = Symbol::new(&symbol).map_err(|_| EditError::InvalidName { name: symbol })?;
        for read in reads {
            take_symbol(editor, read, &symbol)?;
        }
        for written in writes {
            assign(editor, written, &symbol)?;
        }
        for state in editor.sdfg().states().map(|(state, _)| state).collect::<Vec<_>>() {
            for node in editor.accesses_of(state, id) {
                editor.remove_node(state, node)?;
            }
        }
        editor.remove_container(id)?;
        read_in_control(editor, &name, &symbol)?;
        editor.rename_symbol(&symbol, &name)
    }
}

/// Lets control flow read the symbol instead of a container with a name.
fn read_in_control(editor: &mut Editor<'_>, name: &str, symbol: &Symbol) -> Result<(), EditError> {
    let values = BTreeMap::from([(name.to_owned(), Expression::name(symbol.as_str()))]);
    for block in editor.sdfg().blocks().map(|(block, _)| block).collect::<Vec<_>>() {
        if editor.sdfg().block(block).kind.regions().is_empty() {
            continue;
        }
        editor.change_block(block, |block| match &mut block.kind {
            BlockKind::Loop(repeated) => {
                repeated.condition = repeated.condition.replace_names(&values);
                for value in repeated.init.iter_mut().chain(&mut repeated.update) {
                    *value = value.replace_names(&values);
                }
            }
            BlockKind::Branch(branch) => {
                for (condition, _) in &mut branch.arms {
                    *condition = condition.replace_names(&values);
                }
            }
            BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
        })?;
    }
    for transition in editor.sdfg().transitions().map(|(id, _)| id).collect::<Vec<_>>() {
        editor.change_transition(transition, |transition| {
            for value in transition.expressions_mut() {
                *value = value.replace_names(&values);
            }
        })?;
    }
    Ok(())
}

/// Lets a node take the symbol instead of what it reads.
fn take_symbol(editor: &mut Editor<'_>, read: Read, symbol: &Symbol) -> Result<(), EditError> {
    let Read { state, edge, node, connector } = read;
    editor.remove_edge(state, edge)?;
    match editor.state(state)?.node(node).kind.clone() {
        NodeKind::Tasklet(mut tasklet) => {
            tasklet.inputs.retain(|input| input.name != connector);
            if let TaskletBody::Code(code) = &mut tasklet.body {
                let values = BTreeMap::from([(connector, Expression::name(symbol.as_str()))]);
                let label = editor.state(state)?.node(node).label.clone();
                *code = code.replace_names(&values).map_err(|_| EditError::InvalidName { name: label })?;
            }
            editor.replace_node(state, node, NodeKind::Tasklet(tasklet))?;
        }
        NodeKind::MapEntry(map) => {
            let own = Symbol::new(&connector).map_err(|_| EditError::InvalidName { name: connector })?;
            let values = BTreeMap::from([(own, Expr::symbol(symbol.clone()))]);
            let ranges = map.ranges.substitute(&values);
            editor.replace_node(state, node, NodeKind::MapEntry(Map { ranges, ..map }))?;
            editor.substitute_in_scope(state, Some(node), &values)?;
        }
        NodeKind::Access(_)
        | NodeKind::MapExit(_)
        | NodeKind::ConsumeEntry(_)
        | NodeKind::ConsumeExit(_)
        | NodeKind::Nested(_)
        | NodeKind::Reduce(_)
        | NodeKind::Library(_) => {}
    }
    Ok(())
}

/// Sets the symbol where the scalar was written.
fn assign(editor: &mut Editor<'_>, written: Written, symbol: &Symbol) -> Result<(), EditError> {
    let Written { block, state, node, code, value, before } = written;
    let is_there = |editor: &Editor<'_>, node: &NodeId| {
        editor.sdfg().get_state(state).is_some_and(|graph| graph.get_node(*node).is_some())
    };
    // Reads that were removed may have taken access nodes along.
    let first: BTreeSet<NodeId> = before.iter().copied().filter(|node| is_there(editor, node)).collect();
    let others = editor.state(state)?.nodes().any(|(id, _)| !first.contains(&id));
    let after = if others { editor.split_state(block, &first)? } else { editor.insert_state_after(block)? };
    for node in code.into_iter().chain([node]) {
        // The access node goes with the tasklet if it has no other edges.
        if is_there(editor, &node) {
            editor.remove_node(state, node)?;
        }
    }
    for id in editor.sdfg().transitions_from(block) {
        debug_assert_eq!(editor.sdfg().transition(id).dst, after, "a state goes on to its second part");
        editor.change_transition(id, |found| found.assignments.push((symbol.clone(), value.clone())))?;
    }
    Ok(())
}
