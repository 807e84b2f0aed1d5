//! Copies that may move data between ranks become calls of functions that the caller passes.

use sdfg::analysis::ScopeTree;
use sdfg::dtype::{ElementType, ScalarType};
use sdfg::edit::{EditError, Editor};
use sdfg::ir::{
    Access, BlockId, BlockKind, ConflictResolution, Connector, Container, ContainerId, ContainerKind,
    Distribution, Edge, EdgeId, Flow, Layout, Memlet, Node, NodeId, NodeKind, Sdfg, State, StateId, Tasklet,
    TaskletBody,
};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::Expr;
use sdfg::syntax::Expression;
use sdfg::tasklet::{Code, Dialect, ExternalCall, ExternalOrigin};

use super::overlap::{early_maps, put_between};
use super::together::groups;
use super::words::{End, Moved, flags};
use super::{CONTEXT, LocaliseError, Localising, unsupported};
use crate::mpi::{Combination, Flags, MoveKind};

/// Names of the functions begin with this.
pub(super) const PREFIX: &str = "ranks_";

/// A copy that becomes a call.
pub(super) struct Copied {
    /// What the call replaces: an edge, the map around it, or nothing.
    gone: Gone,
    pub(super) from: (NodeId, ContainerId, Subset),
    pub(super) to: (NodeId, ContainerId, Subset),
    pub(super) resolution: Option<ConflictResolution>,
    /// Extents of the leading dimensions that are combined.
    combined: Vec<Expr>,
    /// Whether rank 0 gives all ranks its values of a container that each has as a whole.
    is_broadcast: bool,
}

impl Copied {
    /// Whether it only moves values: it neither combines them nor gives all ranks those of one.
    pub(super) fn is_plain_move(&self) -> bool {
        matches!(self.gone, Gone::Edge(_)) && self.resolution.is_none() && !self.is_broadcast
    }
}

enum Gone {
    Edge(EdgeId),
    Map(NodeId),
    Nothing,
}

impl Localising {
    /// Replaces the copies of a state that may move data between ranks.
    pub(super) fn copies(&mut self, editor: &mut Editor<'_>, state: StateId) -> Result<(), LocaliseError> {
        let graph = editor.state(state)?;
        let found = groups(graph, self.found(graph));
        found.into_iter().try_for_each(|copies| self.call(editor, state, copies))
    }

    /// The copies of a state that may move data between ranks.
    pub(super) fn found(&self, graph: &State) -> Vec<Copied> {
        let tree = ScopeTree::of(graph);
        let mut found = Vec::new();
        for (id, edge) in graph.edges() {
            let Flow::Copy { from, to, resolution } = &edge.memlet.flow else { continue };
            if !self.boxes.contains_key(&from.container) && !self.boxes.contains_key(&to.container) {
                continue;
            }
            let plain = tree.scope_of_edge(graph, id).is_none();
            if !plain {
                continue;
            }
            found.push(Copied {
                gone: Gone::Edge(id),
                from: (edge.src, from.container, from.subset().clone()),
                to: (edge.dst, to.container, to.subset().clone()),
                resolution: resolution.clone(),
                combined: Vec::new(),
                is_broadcast: false,
            });
        }
        for entry in tree.children(None) {
            found.extend(self.combined(graph, &tree, *entry));
        }
        found
    }

    /// A map that combines partial results: it has one copy from an access node in it to its exit, for each index along
    /// leading dimensions.
    fn combined(&self, graph: &State, tree: &ScopeTree, entry: NodeId) -> Option<Copied> {
        let NodeKind::MapEntry(map) = &graph.node(entry).kind else { return None };
        let exit = graph.exit_of(entry)?;
        let inner = tree.children(Some(entry)).iter().copied().filter(|node| *node != exit);
        let [node] = inner.collect::<Vec<_>>()[..] else { return None };
        let mut out = graph.each_out_edge(node).filter(|(_, edge)| edge.dst == exit);
        let (_, edge) = out.next()?;
        let Flow::Copy { from, to, resolution: Some(resolution) } = &edge.memlet.flow else { return None };
        self.boxes.contains_key(&from.container).then_some(())?;
        let leading = map.params.len();
        let is_index = |(range, param): (&Range, &sdfg::symbolic::Symbol)| {
            range.is_index() && range.begin == Expr::symbol(param.clone())
        };
        if !from.subset().0.iter().zip(&map.params).all(is_index) {
            return None;
        }
        let source = graph.each_in_edge(entry).map(|(_, edge)| edge.src);
        let is_source = |node: &NodeId| graph.node(*node).kind.container() == Some(from.container);
        let target = graph.each_out_edge(exit).find(|(_, edge)| !matches!(edge.memlet.flow, Flow::Order))?;
        Some(Copied {
            gone: Gone::Map(entry),
            from: (source.into_iter().find(is_source)?, from.container, from.subset().clone()),
            to: (target.1.dst, to.container, to.subset().clone()),
            resolution: Some(resolution.clone()),
            combined: map.ranges.0[..leading].iter().map(Range::steps).collect(),
            is_broadcast: false,
        })
    }

    /// Adds a state after a block, in which rank 0 gives all ranks its values of a container.
    pub(super) fn broadcast(
        &mut self,
        editor: &mut Editor<'_>,
        block: BlockId,
        id: ContainerId,
    ) -> Result<(), LocaliseError> {
        let after = editor.insert_state_after(block)?;
        let BlockKind::State(state) = editor.sdfg().block(after).kind else { return Ok(()) };
        let all = Subset::full(editor.sdfg().container(id).shape());
        if !all.volume().is_one() {
            let ends = [add_access(editor, state, id)?, add_access(editor, state, id)?];
            return self.broadcast_between(editor, state, id, ends);
        }
        let [value, result] = [add_access(editor, state, id)?, add_access(editor, state, id)?];
        let name = format!("__move{}_value", self.sites);
        let (packed, buffer) = packed(editor, state, (value, id), name)?;
        let spread = add_access(editor, state, buffer)?;
        let first = Subset(all.0.iter().map(|range| Range::index(range.begin.clone())).collect());
        let of_buffer = Access::elements(buffer, Subset(vec![Range::index(Expr::zero())]));
        let of_result = Access::elements(id, first);
        connect(editor, state, (spread, None), (result, None), Memlet::copy(of_buffer, of_result))?;
        self.broadcast_between(editor, state, buffer, [packed, spread])
    }

    /// Broadcasts all of a container between two of its access nodes.
    fn broadcast_between(
        &mut self,
        editor: &mut Editor<'_>,
        state: StateId,
        id: ContainerId,
        [from, to]: [NodeId; 2],
    ) -> Result<(), LocaliseError> {
        let all = Subset::full(editor.sdfg().container(id).shape());
        let copied = Copied {
            gone: Gone::Nothing,
            from: (from, id, all.clone()),
            to: (to, id, all),
            resolution: None,
            combined: Vec::new(),
            is_broadcast: true,
        };
        self.call(editor, state, vec![copied])
    }

    /// What a copy moves in a program.
    pub(super) fn moved<'a>(&self, sdfg: &'a Sdfg, copied: &'a Copied) -> Result<Moved<'a>, LocaliseError> {
        let (source, target) = (sdfg.container(copied.from.1), sdfg.container(copied.to.1));
        let combination = match &copied.resolution {
            None => Combination::Assign,
            Some(resolution) => match Combination::of(resolution) {
                Some(found) if found.is_defined(source.element.lane()) => found,
                Some(_) | None => {
                    return unsupported(format!("the conflict resolution of a copy to `{}`", target.name));
                }
            },
        };
        for container in [source, target] {
            if container.distribution != Distribution::Replicated && container.shape().is_empty() {
                return unsupported(format!("the distributed scalar `{}`", container.name));
            }
            // Words of moves know extents, and no strides.
            if !container.kind.layout().is_none_or(Layout::is_packed) {
                return unsupported(format!("a move of `{}`, which is no packed array,", container.name));
            }
        }
        if source.shape().is_empty() {
            let kind = if source.is_stream() { "stream" } else { "scalar" };
            return unsupported(format!("a copy of the {kind} `{}` to parts of a container", source.name));
        }
        Ok(Moved {
            source: End { container: source, subset: &copied.from.2 },
            target: End { container: target, subset: &copied.to.2 },
            combined: copied.combined.clone(),
            combination,
            flags: match copied.is_broadcast {
                true => Flags { is_target_everywhere: true, is_in_place: true, ..Flags::default() },
                false => flags(source, target, self.only_copied.contains(&copied.from.1)),
            },
        })
    }

    /// Puts a call in the place of copies that travel together.
    fn call(
        &mut self,
        editor: &mut Editor<'_>,
        state: StateId,
        copies: Vec<Copied>,
    ) -> Result<(), LocaliseError> {
        let (mut words, mut elements, mut kind) = (Vec::new(), Vec::<(String, bool)>::new(), MoveKind::Move);
        let mut verb = "move";
        for copied in &copies {
            let moved = self.moved(editor.sdfg(), copied)?;
            let own = moved.words()?;
            if copies.len() > 1 {
                words.push(Expr::int(own.len() as i64));
            }
            words.extend(own);
            elements.push((moved.source.container.element.to_string(), moved.flags.is_in_place));
            (verb, kind) = match (copied.is_broadcast, copied.resolution.is_some()) {
                (true, _) => ("broadcast", MoveKind::Move),
                (false, true) => ("combine", MoveKind::Combine),
                (false, false) => ("move", MoveKind::Move),
            };
        }
        if copies.len() > 1 {
            words.insert(0, Expr::int(copies.len() as i64));
            (verb, kind) = ("together", MoveKind::Together(copies.len()));
        }
        let site = self.sites;
        self.sites += 1;
        let described = self.words(editor, state, site, &words)?;
        let early = early_maps(editor.sdfg(), state, &copies);
        let mut ends: Vec<[NodeId; 2]> = copies.iter().map(|copied| [copied.from.0, copied.to.0]).collect();
        for (at, ([source, _], copied)) in ends.iter_mut().zip(&copies).enumerate() {
            if !self.all(editor.sdfg(), copied.from.1).volume().is_one() {
                continue;
            }
            if copied.from.1 == copied.to.1 {
                let name = &editor.sdfg().container(copied.from.1).name;
                return unsupported(format!("a copy of the only element of `{name}` to itself"));
            }
            let name = format!("__move{site}_value{at}");
            *source = packed(editor, state, (*source, copied.from.1), name)?.0;
        }
        let mut add = |editor: &mut Editor<'_>, verb: &str, kind: MoveKind, ends: &[[NodeId; 2]]| {
            let name = function_name(verb, &elements);
            self.moves.insert((name.clone(), kind));
            let node = call_node(editor, state, site, (&name, words.len(), copies.len()))?;
            self.connect_call(editor, (state, node), (described, words.len()), (&copies, ends))?;
            Ok::<NodeId, LocaliseError>(node)
        };
        if early.is_empty() {
            add(editor, verb, kind, &ends)?;
        } else {
            // The first call leads to access nodes of its own, from which the maps read that run until the second one.
            let begun = copies.iter().map(|copied| add_access(editor, state, copied.to.1));
            let begun = begun.collect::<Result<Vec<NodeId>, EditError>>()?;
            let pairs = |from: &[NodeId], to: &[NodeId]| -> Vec<[NodeId; 2]> {
                from.iter().zip(to).map(|(from, to)| [*from, *to]).collect()
            };
            let [sources, targets] = [0, 1].map(|end| ends.iter().map(|ends| ends[end]).collect::<Vec<_>>());
            add(editor, "begin", MoveKind::Begin(copies.len()), &pairs(&sources, &begun))?;
            let finish = add(editor, "finish", MoveKind::Finish(copies.len()), &pairs(&begun, &targets))?;
            for map in early {
                for (target, begun) in targets.iter().zip(&begun) {
                    put_between(editor, state, map, (*target, *begun), finish)?;
                }
            }
        }
        for copied in copies {
            match copied.gone {
                Gone::Edge(edge) => editor.remove_edge(state, edge)?,
                Gone::Map(entry) => editor.remove_node(state, entry)?,
                Gone::Nothing => {}
            }
        }
        Ok(())
    }

    /// Connects a call with the words of its moves, and with the arrays at access nodes.
    fn connect_call(
        &self,
        editor: &mut Editor<'_>,
        (state, node): (StateId, NodeId),
        (described, n_words): ((NodeId, ContainerId), usize),
        (copies, nodes): (&[Copied], &[[NodeId; 2]]),
    ) -> Result<(), LocaliseError> {
        let all = Subset(vec![Range::new(Expr::zero(), Expr::int(n_words as i64))]);
        let words = Memlet::read(Access::elements(described.1, all));
        connect(editor, state, (described.0, None), (node, Some("words")), words)?;
        for (at, (copied, [from, to])) in copies.iter().zip(nodes).enumerate() {
            let [source, target] = ends(copies.len(), at);
            // A single element is read from where it was packed.
            let source_id = editor.state(state)?.node(*from).kind.container().unwrap_or(copied.from.1);
            let read = Access::elements(source_id, self.all(editor.sdfg(), source_id));
            let written = Access::elements(copied.to.1, self.all(editor.sdfg(), copied.to.1));
            connect(editor, state, (*from, None), (node, Some(&source)), Memlet::read(read))?;
            connect(editor, state, (node, Some(&target)), (*to, None), Memlet::write(written))?;
        }
        Ok(())
    }

    /// A tasklet that writes the words of a move to a transient. Gives the access node and the transient.
    fn words(
        &self,
        editor: &mut Editor<'_>,
        state: StateId,
        site: i64,
        words: &[Expr],
    ) -> Result<(NodeId, ContainerId), LocaliseError> {
        let count = Expr::int(words.len() as i64);
        let kind = ContainerKind::Array(Layout::packed(vec![count.clone()]));
        let element = ElementType::scalar(ScalarType::I64);
        let mut container = Container::new(format!("__move{site}_words"), element, kind);
        container.transient = true;
        let container = editor.add_container(container)?;
        let lines: Vec<String> =
            words.iter().enumerate().map(|(at, word)| format!("w[{at}] = {word}")).collect();
        let Ok(code) = Code::parse(&lines.join("\n"), Dialect::Python) else {
            return unsupported("the description of a move");
        };
        let tasklet =
            Tasklet { inputs: Vec::new(), outputs: vec![Connector::new("w")], body: TaskletBody::Code(code) };
        let label = editor.fresh_label(state, &format!("move{site}_describe"))?;
        let tasklet = editor.add_node(state, Node { label, kind: NodeKind::Tasklet(tasklet), loc: None })?;
        let label = editor.fresh_label(state, &format!("move{site}_words"))?;
        let access = editor.add_node(state, Node { label, kind: NodeKind::Access(container), loc: None })?;
        let all = Subset(vec![Range::new(Expr::zero(), count)]);
        connect(
            editor,
            state,
            (tasklet, Some("w")),
            (access, None),
            Memlet::write(Access::elements(container, all)),
        )?;
        Ok((access, container))
    }
}

/// Puts the only element of a container into a transient of two: code gets a single element by its value, and the library needs an
/// address. Gives the access node of the transient.
fn packed(
    editor: &mut Editor<'_>,
    state: StateId,
    (value, id): (NodeId, ContainerId),
    name: String,
) -> Result<(NodeId, ContainerId), LocaliseError> {
    let container = editor.sdfg().container(id);
    let (element, all) = (container.element, Subset::full(container.shape()));
    let kind = ContainerKind::Array(Layout::packed(vec![Expr::int(2)]));
    let buffer = Container { transient: true, ..Container::new(name, element, kind) };
    let buffer = editor.add_container(buffer)?;
    let Ok(code) = Code::parse("b[0] = v\nb[1] = v", Dialect::Python) else {
        return unsupported("the move of a value");
    };
    let (inputs, outputs) = (vec![Connector::new("v")], vec![Connector::new("b")]);
    let pack = Tasklet { inputs, outputs, body: TaskletBody::Code(code) };
    let label = editor.fresh_label(state, "pack")?;
    let pack = editor.add_node(state, Node { label, kind: NodeKind::Tasklet(pack), loc: None })?;
    let packed = add_access(editor, state, buffer)?;
    let first = Subset(all.0.iter().map(|range| Range::index(range.begin.clone())).collect());
    let pair = Access::elements(buffer, Subset(vec![Range::new(Expr::zero(), Expr::int(2))]));
    let read = Memlet::read(Access::elements(id, first));
    connect(editor, state, (value, None), (pack, Some("v")), read)?;
    connect(editor, state, (pack, Some("b")), (packed, None), Memlet::write(pair))?;
    Ok((packed, buffer))
}

/// The name of the function of a call: all that its signature depends on is in it. These are the types of the elements, and whether a
/// function writes what it reads. The verb tells the number of arrays with them.
fn function_name(verb: &str, elements: &[(String, bool)]) -> String {
    let part = |(element, is_in_place): &(String, bool)| match is_in_place {
        true => format!("_{element}_in_place"),
        false => format!("_{element}"),
    };
    let parts: String = elements.iter().map(part).collect();
    format!("{PREFIX}{verb}{parts}").replace(['<', '>'], "_")
}

/// Names of the connectors of one of several moves.
fn ends(count: usize, at: usize) -> [String; 2] {
    match count {
        1 => ["source", "target"].map(str::to_owned),
        _ => ["source", "target"].map(|end| format!("{end}{at}")),
    }
}

/// A call of a function for so many moves, which a number of words describes.
fn call_node(
    editor: &mut Editor<'_>,
    state: StateId,
    site: i64,
    (name, words, count): (&str, usize, usize),
) -> Result<NodeId, EditError> {
    let number = |value: i64| Expression::call("i64", vec![Expression::integer(value)]);
    let (sources, targets): (Vec<String>, Vec<String>) =
        (0..count).map(|at| ends(count, at)).map(|[source, target]| (source, target)).unzip();
    let mut arguments =
        vec![Expression::name(CONTEXT), number(site), Expression::name("words"), number(words as i64)];
    arguments.extend(sources.iter().chain(&targets).map(Expression::name));
    let call =
        ExternalCall { symbol: name.to_owned(), arguments, result: None, origin: ExternalOrigin::Callback };
    let connectors = |names: Vec<String>| names.into_iter().map(Connector::new);
    let tasklet = Tasklet {
        inputs: [Connector::new("words")].into_iter().chain(connectors(sources)).collect(),
        outputs: connectors(targets).collect(),
        body: TaskletBody::External(call),
    };
    let label = editor.fresh_label(state, &format!("move{site}"))?;
    editor.add_node(state, Node { label, kind: NodeKind::Tasklet(tasklet), loc: None })
}

/// Adds an access node of a container.
fn add_access(editor: &mut Editor<'_>, state: StateId, id: ContainerId) -> Result<NodeId, EditError> {
    let name = editor.sdfg().container(id).name.clone();
    let label = editor.fresh_label(state, &name)?;
    editor.add_node(state, Node { label, kind: NodeKind::Access(id), loc: None })
}

type Port<'a> = (NodeId, Option<&'a str>);

fn connect(
    editor: &mut Editor<'_>,
    state: StateId,
    (src, src_connector): Port<'_>,
    (dst, dst_connector): Port<'_>,
    memlet: Memlet,
) -> Result<(), EditError> {
    let edge = Edge {
        src,
        src_connector: src_connector.map(str::to_owned),
        dst,
        dst_connector: dst_connector.map(str::to_owned),
        memlet,
        loc: None,
    };
    editor.add_edge(state, edge).map(|_| ())
}
