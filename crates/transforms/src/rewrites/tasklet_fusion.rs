//! [`TaskletFusion`].

use std::collections::{BTreeMap, BTreeSet};

use sdfg::analysis::symbols::{assigned_symbols, bound_symbols};
use sdfg::analysis::{ScopeTree, node_leads_to};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    Connector, ContainerId, EdgeId, Flow, Memlet, NodeId, NodeKind, Sdfg, State, StateId, Tasklet,
    TaskletBody,
};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::{Expression, Name, Statement, StatementKind, names_in};
use sdfg::tasklet::Code;
use serde::{Deserialize, Serialize};

use super::map_fusion::is_one_element;
use super::map_pair::private_transient;
use super::{anchored, described};
use crate::engine::{Evidence, Group, Match, Metadata, Refusal, Site, Soundness, Transformation};
use crate::pattern::{NodeClass, Pattern};

/// Makes one tasklet of two, if the first one computes a scalar that only the second one reads.
///
/// # When it applies
///
/// The code of the first tasklet is a list of assignments. The last one computes its only output, a transient
/// scalar that nothing else uses. The scalar becomes a local of the second tasklet, of the same type.
///
/// # Refusals
///
/// - The first tasklet has branches, loops or several outputs, or a tasklet is a foreign function.
/// - Another node, condition or assignment uses the scalar, or a tasklet converts it.
/// - The tasklets are written in different languages, or have more than 16 statements together.
/// - The second tasklet waits for a node that waits for the first one.
/// - The second tasklet gives another meaning to a name that the first one takes from outside.
///
/// # Before
///
/// ```sdft
/// sdfg scaled_sum {
///   symbol N: i64
///   array A: f64[N + 1]
///   array B: f64[N + 1]
///   transient scalar s: f64
///
///   state main {
///     access A
///     tasklet scale (x) -> (y) { y = 2.0 * x }
///     access s
///     tasklet add (x) -> (y) { y = x + 1.0 }
///     access B
///     A -> scale.x: A[0]
///     scale.y -> s: s
///     s -> add.x: s
///     add.y -> B: B[N]
///   }
/// }
/// ```
///
/// # After
///
/// ```sdft
/// sdfg scaled_sum {
///   symbol N: i64
///   array A: f64[N + 1]
///   array B: f64[N + 1]
///
///   state main {
///     access A
///     tasklet add (x_1) -> (y) {
///       s: f64 = 2.0 * x_1
///       y = s + 1.0
///     }
///     access B
///     A -> add.x_1: A[0]
///     add.y -> B: B[N]
///   }
/// }
/// ```
///
/// # Soundness
///
/// The local has the type of the scalar, so it holds the same value. The inputs of the first tasklet are read
/// when the second one begins. Nodes that waited for the first one or for the scalar wait for the second one,
/// so a node that changes an input after the first tasklet still does.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TaskletFusion {}

static METADATA: Metadata = Metadata {
    name: "TaskletFusion",
    group: Group::Data,
    summary: "Makes one tasklet of two, if the first one computes a scalar that only the second one reads.",
    source: "DaCe, TaskletFusion",
    soundness: Soundness::Always,
    is_strict: true,
    file: include_str!("tasklet_fusion.rs"),
    parameters: &[],
};

anchored!(TaskletFusion);

/// The most statements of the new code: longer code would make a chain of tasklets take quadratic time.
const MOST_STATEMENTS: usize = 16;

impl Transformation for TaskletFusion {
    described!(METADATA);

    fn pattern(&self) -> Pattern {
        Pattern::path([
            ("first", NodeClass::Tasklet),
            ("scalar", NodeClass::Access),
            ("second", NodeClass::Tasklet),
        ])
    }

    fn check(&self, site: &Site<'_>) -> Result<Evidence, Refusal> {
        let (state, scalar) = (site.state(), site.found.node(1));
        let pair = Pair::of(site.sdfg, state, &site.scopes(), site.found)?;
        private_transient(site, pair.id, scalar)?;
        if let Some(other) = pair.waiting.iter().find(|other| node_leads_to(state, **other, pair.second)) {
            let reason =
                format!("waits for `{}`, which waits for the first tasklet", state.node(*other).label);
            return Err(Refusal::structure(site.label(2), reason));
        }
        Ok(Evidence::of_structure())
    }

    fn apply(&self, editor: &mut Editor<'_>, found: &Match) -> Result<(), EditError> {
        let state = found.state();
        let graph = editor.state(state)?;
        let pair = Pair::of(editor.sdfg(), graph, &ScopeTree::of(graph), found);
        let pair = pair.map_err(|_| EditError::NoNode(found.node(0)))?;
        let Pair { first, scalar, second, id, tasklet, connections, waiting, before } = pair;
        let NodeKind::Tasklet(old) = &graph.node(second).kind else { return Err(EditError::NoNode(second)) };
        // Until its edges are gone, the connector of the scalar stays.
        let mut both = tasklet.clone();
        let is_old = |own: &&Connector| both.inputs.iter().all(|input| input.name != own.name);
        let left: Vec<Connector> = old.inputs.iter().filter(is_old).cloned().collect();
        both.inputs.extend(left);
        editor.replace_node(state, second, NodeKind::Tasklet(both))?;
        for (edge, connector) in connections {
            editor.redirect_destination(state, edge, second, Some(&connector))?;
        }
        for (from, to) in before
            .into_iter()
            .map(|node| (node, second))
            .chain(waiting.into_iter().map(|node| (second, node)))
        {
            editor.add_order(state, from, to)?;
        }
        remove(editor, state, [scalar, first])?;
        editor.replace_node(state, second, NodeKind::Tasklet(tasklet))?;
        editor.remove_container(id)
    }
}

/// Removes nodes that are still there: an access node goes with its last edge.
fn remove(editor: &mut Editor<'_>, state: StateId, nodes: [NodeId; 2]) -> Result<(), EditError> {
    for node in nodes {
        if editor.state(state)?.get_node(node).is_some() {
            editor.remove_node(state, node)?;
        }
    }
    Ok(())
}

/// Two tasklets and the scalar between them.
struct Pair {
    first: NodeId,
    scalar: NodeId,
    second: NodeId,
    id: ContainerId,
    /// Both in one.
    tasklet: Tasklet,
    /// Edges into the first one, with the connectors that take them. Those that the second one has already are left out.
    connections: Vec<(EdgeId, String)>,
    /// Nodes that wait for the first tasklet or the scalar, without data of theirs.
    waiting: BTreeSet<NodeId>,
    /// Nodes for which the first tasklet or the scalar waits, without data of theirs.
    before: BTreeSet<NodeId>,
}

impl Pair {
    fn of(sdfg: &Sdfg, state: &State, tree: &ScopeTree, found: &Match) -> Result<Pair, Refusal> {
        let [first, scalar, second] = [0, 1, 2].map(|at| found.node(at));
        let refused = |node: NodeId, reason: &str| Refusal::structure(&state.node(node).label, reason);
        let Some(id) = state.node(scalar).kind.container() else {
            return Err(refused(scalar, "is no access node"));
        };
        let container = sdfg.container(id);
        let is_one = container.shape().iter().all(Expr::is_one);
        let Some(element) = container.element.as_scalar().filter(|_| is_one) else {
            return Err(Refusal::container(&container.name, "is no scalar of a plain type"));
        };
        let [one, two] = [code_of(state, first)?, code_of(state, second)?];
        let is_typed = |own: &Connector| own.element.is_none_or(|own| own == container.element);
        let ([output], Some((last, others))) = (&one.tasklet.outputs[..], one.code.block().split_last())
        else {
            return Err(refused(first, "has several outputs"));
        };
        let is_assigned = |statement: &Statement| matches!(&statement.kind, StatementKind::Assign { target, .. } if target.indices.is_empty());
        let StatementKind::Assign { target, value, annotation: None } = &last.kind else {
            return Err(refused(first, "does not end with an assignment"));
        };
        let mut names = names_in(others);
        names.extend(value.names());
        let is_straight = others.iter().all(is_assigned) && target.indices.is_empty();
        if !is_straight || target.name.text != output.name || names.contains(output.name.as_str()) {
            return Err(refused(first, "is no list of assignments that ends with its output"));
        }
        if one.code.dialect() != two.code.dialect() {
            return Err(refused(second, "is written in another language than the first tasklet"));
        }
        if one.code.block().len() + two.code.block().len() > MOST_STATEMENTS {
            return Err(refused(second, "would have too many statements"));
        }
        let mut pair = Pair {
            first,
            scalar,
            second,
            id,
            tasklet: two.tasklet.clone(),
            connections: Vec::new(),
            waiting: BTreeSet::new(),
            before: BTreeSet::new(),
        };
        let read = pair.edges(state)?;
        let taken = two.tasklet.inputs.iter().filter(|input| read.contains(&input.name));
        if !is_typed(output) || !taken.clone().all(is_typed) {
            return Err(refused(second, "converts the scalar"));
        }
        let around = tree.enclosing_scope(tree.scope_of(second));
        let mut symbols: Vec<Symbol> = around.flat_map(|entry| bound_symbols(state, entry)).collect();
        symbols.extend(assigned_symbols(sdfg));
        symbols.extend(sdfg.symbols().map(|(symbol, _)| symbol.clone()));
        let mut names = Names::of(&one, &two, &symbols)
            .ok_or_else(|| refused(second, "gives another meaning to a name that the first tasklet uses"))?;
        let local = names.free(&container.name);
        pair.join(state, (&one, &two), &mut names, &read);
        let begin = one.code.replace_names(&names.renamed);
        let scalars = read.iter().map(|name| (name.clone(), Expression::name(&*local))).collect();
        let (Ok(begin), Ok(end)) = (begin, two.code.replace_names(&scalars)) else {
            return Err(refused(second, "has code that cannot be joined"));
        };
        let mut block = begin.block().to_vec();
        if let Some(Statement { kind: StatementKind::Assign { target, annotation, .. }, .. }) =
            block.last_mut()
        {
            let span = target.name.span;
            target.name.text = local;
            *annotation = Some(Name { text: element.name().to_owned(), span });
        }
        block.extend(end.block().iter().cloned());
        let code = Code::from_block(&block, two.code.dialect())
            .map_err(|_| refused(second, "has code that cannot be joined"))?;
        pair.tasklet.body = TaskletBody::Code(code);
        Ok(pair)
    }

    /// Checks the edges at the first tasklet and at the scalar; the connectors of the second tasklet that read the scalar.
    fn edges(&mut self, state: &State) -> Result<BTreeSet<String>, Refusal> {
        let label = |node: NodeId| &state.node(node).label;
        let is_one = |memlet: &Memlet| {
            !memlet.declared && memlet.accesses().all(|access| is_one_element(memlet, access))
        };
        let (mut writes, mut read) = (0, BTreeSet::new());
        for (_, edge) in state.each_out_edge(self.first).chain(state.each_out_edge(self.scalar)) {
            match (&edge.memlet.flow, &edge.dst_connector) {
                (Flow::Order, _) => {
                    self.waiting.insert(edge.dst);
                }
                (Flow::Write { resolution: None, .. }, _)
                    if edge.dst == self.scalar && is_one(&edge.memlet) =>
                {
                    writes += 1;
                }
                (Flow::Read(_), Some(connector)) if edge.dst == self.second && is_one(&edge.memlet) => {
                    read.insert(connector.clone());
                }
                _ => {
                    return Err(Refusal::structure(
                        label(self.scalar),
                        "is not all that goes to the second tasklet",
                    ));
                }
            }
        }
        for (_, edge) in state.each_in_edge(self.first).chain(state.each_in_edge(self.scalar)) {
            match &edge.memlet.flow {
                Flow::Order => {
                    self.before.insert(edge.src);
                }
                Flow::Read(access) if !access.is_queue() && edge.dst == self.first => {}
                Flow::Write { .. } if edge.src == self.first => {}
                _ => {
                    return Err(Refusal::structure(
                        label(self.scalar),
                        "is not the result of the first tasklet alone",
                    ));
                }
            }
        }
        let own = [self.first, self.scalar, self.second];
        self.waiting.retain(|node| !own.contains(node));
        self.before.retain(|node| !own.contains(node));
        if writes != 1 || read.is_empty() {
            return Err(Refusal::structure(label(self.scalar), "is written or read in another way"));
        }
        Ok(read)
    }

    /// Gives the second tasklet the inputs of the first one.
    fn join(
        &mut self,
        state: &State,
        (one, two): (&Coded<'_>, &Coded<'_>),
        names: &mut Names,
        read: &BTreeSet<String>,
    ) {
        self.tasklet.inputs.retain(|input| !read.contains(&input.name));
        for input in &one.tasklet.inputs {
            let edge = state
                .each_in_edge(self.first)
                .find(|(_, edge)| edge.dst_connector.as_ref() == Some(&input.name));
            // The second tasklet may have the same element.
            let same = edge.and_then(|(_, edge)| {
                let is_same = |other: &sdfg::ir::Edge| {
                    (other.src, &other.src_connector, &other.memlet)
                        == (edge.src, &edge.src_connector, &edge.memlet)
                };
                let (_, other) = state.each_in_edge(self.second).find(|(_, other)| is_same(other))?;
                let is_own = |own: &&Connector| Some(&own.name) == other.dst_connector.as_ref();
                two.tasklet.inputs.iter().find(is_own).filter(|own| own.element == input.element)
            });
            let name = match same {
                Some(own) => own.name.clone(),
                None => {
                    let name = names.free(&input.name);
                    self.tasklet.inputs.push(Connector { name: name.clone(), ..input.clone() });
                    self.connections.extend(edge.map(|(id, _)| (id, name.clone())));
                    name
                }
            };
            names.renamed.insert(input.name.clone(), Expression::name(name));
        }
    }
}

/// A tasklet with code.
struct Coded<'p> {
    tasklet: &'p Tasklet,
    code: &'p Code,
}

fn code_of(state: &State, node: NodeId) -> Result<Coded<'_>, Refusal> {
    let kind = &state.node(node).kind;
    if let NodeKind::Tasklet(tasklet) = kind
        && let TaskletBody::Code(code) = &tasklet.body
    {
        return Ok(Coded { tasklet, code });
    }
    Err(Refusal::structure(&state.node(node).label, "is no tasklet with code"))
}

/// The names of the joined code.
struct Names {
    /// Those that mean something already.
    taken: BTreeSet<String>,
    /// New names of connectors and locals of the first tasklet.
    renamed: BTreeMap<String, Expression>,
}

impl Names {
    /// `None` if the second tasklet binds a name that the first one takes from outside.
    fn of(one: &Coded<'_>, two: &Coded<'_>, symbols: &[Symbol]) -> Option<Names> {
        let connectors = |coded: &Coded<'_>| -> BTreeSet<String> {
            coded.tasklet.inputs.iter().chain(&coded.tasklet.outputs).map(|own| own.name.clone()).collect()
        };
        let owned =
            |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect::<BTreeSet<String>>();
        let (locals, all) = (owned(one.code.names_assigned()), owned(names_in(one.code.block())));
        let (own, bound) = (connectors(one), &connectors(two) | &owned(two.code.names_assigned()));
        let is_outer = |name: &&String| !own.contains(*name) && !locals.contains(*name);
        if all.iter().filter(is_outer).any(|name| bound.contains(name)) {
            return None;
        }
        let mut taken = &bound | &owned(names_in(two.code.block()));
        taken.extend(all.iter().filter(is_outer).cloned());
        taken.extend(symbols.iter().map(|symbol| symbol.as_str().to_owned()));
        let mut names = Names { taken, renamed: BTreeMap::new() };
        for local in locals.difference(&own) {
            let new = names.free(local);
            names.renamed.insert(local.clone(), Expression::name(new));
        }
        Some(names)
    }

    /// A name that means nothing yet.
    fn free(&mut self, wanted: &str) -> String {
        let numbered = (1..).map(|count: u32| format!("{wanted}_{count}"));
        let mut all = std::iter::once(wanted.to_owned()).chain(numbered);
        let found = all.find(|name| !self.taken.contains(name)).unwrap_or_default();
        self.taken.insert(found.clone());
        found
    }
}
