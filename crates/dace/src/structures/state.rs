//! Flattens the dataflow of one state.
//!
//! Edges decide: an edge to a member gets an access node of the member's container, an edge that binds a view of
//! a structure disappears, and an edge that passes a structure becomes one edge for each member. In the end, the
//! nodes of structures are gone, and order edges stand for the ways through them.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use sdfg::ir::Port;
use sdfg::subset::Subset;

use super::place::{Place, Target, behind};
use super::{Flattening, Passed};
use crate::lower::paths::Paths;
use crate::model::{DescriptorKind, Edge, Memlet, Node, NodeKind, State};
use crate::report::{Code, Failed};
use crate::text::{Named, with_members};

/// The reason against edges that copy structures.
const COPIED: &str = "a structure is copied as a whole";

/// One state while it is flattened.
struct Work<'w, 'a> {
    flattening: &'w Flattening<'a>,
    state: State,
    /// The places of the nodes that are structures or views of them.
    places: BTreeMap<usize, Place>,
    /// Access nodes of members by the node of the structure and the container.
    split: BTreeMap<(usize, String), usize>,
    /// The ends of the way of each edge, through scopes.
    ends: Vec<(usize, usize)>,
    /// Edges between structures, which bind views or order accesses.
    bindings: Vec<(usize, usize)>,
    /// Members that passages of scopes already carry, by edge and container.
    carried: BTreeSet<(usize, String)>,
    /// The edges of the result.
    edges: Vec<Edge>,
}

/// A member that goes to or comes from the connector of a node.
struct Member {
    connector: String,
    container: String,
    subset: Subset,
    dynamic: bool,
}

impl Flattening<'_> {
    /// Flattens a state; `passed` are the members of the arguments of its nested programs, by node.
    pub(super) fn state(
        &mut self,
        state: &mut State,
        passed: &BTreeMap<usize, Vec<Passed>>,
    ) -> Result<(), Failed> {
        let is_concerned = |data: &str| self.structures.all.contains_key(root_of(data));
        let names = state.nodes.iter().filter_map(|node| match &node.kind {
            NodeKind::Access { data, .. } => Some(data.as_str()),
            _ => None,
        });
        if !names.chain(state.edges.iter().filter_map(|edge| edge.memlet.data.as_deref())).any(is_concerned) {
            return Ok(());
        }
        let places = self.places(state)?;
        for (node, place) in &places {
            if let NodeKind::Access { data, .. } = &state.nodes[*node].kind
                && place.root != *data
            {
                let known = self.views.entry(data.clone()).or_default();
                if !known.contains(place) {
                    known.push(place.clone());
                }
            }
        }
        let paths = Paths::of(state);
        let ends = state.edges.iter().map(|edge| (paths.source(edge), paths.destination(edge))).collect();
        let mut work = Work {
            flattening: self,
            ends,
            state: std::mem::take(state),
            places,
            split: BTreeMap::new(),
            bindings: Vec::new(),
            carried: BTreeSet::new(),
            edges: Vec::new(),
        };
        work.rename_members()?;
        for at in 0..work.state.edges.len() {
            work.edge(at, passed)?;
        }
        *state = work.finish();
        Ok(())
    }

    fn refuse(&self, place: &dyn std::fmt::Display, access: &str, why: &str) -> Failed {
        let message = format!("the structure is not flattened because of `{access}`: {why}");
        self.log.error(Code::Descriptor, place, message)
    }

    /// The places of the nodes that are structures as a whole, through views of views.
    fn places(&self, state: &State) -> Result<BTreeMap<usize, Place>, Failed> {
        let paths = Paths::of(state);
        let whole = |node: usize| match &state.nodes[node].kind {
            NodeKind::Access { data, .. } => {
                self.structures.all.get(data).map(|found| (data.as_str(), found))
            }
            _ => None,
        };
        let mut places = BTreeMap::new();
        let mut waiting = Vec::new();
        for node in 0..state.nodes.len() {
            let Some((name, structure)) = whole(node) else { continue };
            if !structure.is_view {
                places.insert(node, Place::of(name, structure));
                continue;
            }
            // The connector `views` marks the edge that binds; files of programs built by hand lack it.
            let into =
                || state.edges.iter().filter(|edge| edge.dst == node && whole(paths.source(edge)).is_some());
            let out_of = || {
                state.edges.iter().filter(|edge| edge.src == node && whole(paths.destination(edge)).is_some())
            };
            let marked = |connector: &Option<String>| connector.as_deref() == Some("views");
            let bound = into().find(|edge| marked(&edge.dst_connector)).map(|edge| (edge, true));
            let bound =
                bound.or_else(|| out_of().find(|edge| marked(&edge.src_connector)).map(|edge| (edge, false)));
            let bound = bound.or_else(|| into().next().map(|edge| (edge, true)));
            let bound = bound.or_else(|| out_of().next().map(|edge| (edge, false)));
            match bound {
                Some((edge, true)) => waiting.push((node, paths.source(edge), edge)),
                Some((edge, false)) => waiting.push((node, paths.destination(edge), edge)),
                None => return Err(self.refuse(&state.nodes[node].path, name, "no edge binds the view")),
            }
        }
        // Views of views wait for what they show; a circle never ends the wait.
        while !waiting.is_empty() {
            let before = waiting.len();
            let mut still = Vec::new();
            for (node, other, edge) in waiting {
                let Some(place) = places.get(&other) else {
                    still.push((node, other, edge));
                    continue;
                };
                let (other_name, data) =
                    (whole(other).map_or("", |(name, _)| name), edge.memlet.data.as_deref());
                let found = match data.and_then(|data| member_names(data, other_name)) {
                    Some(names) => place.member(&names, edge.memlet.subset.as_ref(), self.structures),
                    // The memlet names the view itself.
                    None => place.member(&[], edge.memlet.other_subset.as_ref(), self.structures),
                };
                match found {
                    Ok(Target::Structure(found)) => places.insert(node, found),
                    Ok(Target::Leaf { .. }) => {
                        return Err(self.refuse(
                            &edge.path,
                            data.unwrap_or_default(),
                            "a view of a structure shows numbers",
                        ));
                    }
                    Err(why) => return Err(self.refuse(&edge.path, data.unwrap_or_default(), why)),
                };
            }
            if still.len() == before {
                let (node, ..) = still[0];
                return Err(self.refuse(
                    &state.nodes[node].path,
                    whole(node).map_or("", |found| found.0),
                    "views show each other",
                ));
            }
            waiting = still;
        }
        Ok(places)
    }
}

/// The name of the structure in `structure.member.member`.
fn root_of(data: &str) -> &str {
    data.split('.').next().unwrap_or(data)
}

/// The names behind that of a structure; `None` if the data is of another container.
fn member_names<'d>(data: &'d str, root: &str) -> Option<Vec<&'d str>> {
    let mut names = data.split('.');
    (names.next()? == root).then(|| names.collect())
}

impl Work<'_, '_> {
    /// Access nodes that name a member become those of its container.
    fn rename_members(&mut self) -> Result<(), Failed> {
        for at in 0..self.state.nodes.len() {
            let NodeKind::Access { data, .. } = &self.state.nodes[at].kind else { continue };
            let root = root_of(data);
            if root.len() == data.len() || !self.flattening.structures.all.contains_key(root) {
                continue;
            }
            let (root, data) = (root.to_owned(), data.clone());
            let place = self.named_place(&root, &data, at)?;
            let names = member_names(&data, &root).unwrap_or_default();
            let found = match place.member(&names, None, self.flattening.structures) {
                Ok(Target::Leaf { root, path, indices }) if indices.is_empty() => {
                    self.flattening.structures.name(&root, &path).map(str::to_owned)
                }
                Ok(Target::Leaf { .. }) => None,
                Ok(Target::Structure(_)) => {
                    return Err(self.flattening.refuse(
                        &self.state.nodes[at].path,
                        &data,
                        "a node names a structure within a structure",
                    ));
                }
                Err(why) => return Err(self.flattening.refuse(&self.state.nodes[at].path, &data, why)),
            };
            let Some(found) = found else {
                let why = "a node names a member of one element of an array of structures";
                return Err(self.flattening.refuse(&self.state.nodes[at].path, &data, why));
            };
            for edge in self.state.edges.iter_mut().filter(|edge| edge.src == at || edge.dst == at) {
                if edge.memlet.data.as_deref() == Some(&data) {
                    edge.memlet.data = Some(found.clone());
                }
            }
            // Edges within scopes around the node carry the same data.
            let node = &mut self.state.nodes[at];
            node.label.clone_from(&found);
            if let NodeKind::Access { data, .. } = &mut node.kind {
                *data = found;
            }
        }
        Ok(())
    }

    /// The place of a structure that is only named: itself, or what the view of this name shows in this state.
    fn named_place(&self, root: &str, access: &str, node: usize) -> Result<Place, Failed> {
        let structures = self.flattening.structures;
        if let Some(found) = structures.all.get(root).filter(|found| !found.is_view) {
            return Ok(Place::of(root, found));
        }
        let mut shown: Vec<&Place> = Vec::new();
        for (at, place) in &self.places {
            if matches!(&self.state.nodes[*at].kind, NodeKind::Access { data, .. } if data == root)
                && !shown.contains(&place)
            {
                shown.push(place);
            }
        }
        match shown.as_slice() {
            [only] => Ok((*only).clone()),
            _ => {
                let place = &self.state.nodes[node].path;
                Err(self.flattening.refuse(place, access, "it is open which structure the view shows"))
            }
        }
    }

    /// The node of a structure at one end of the way of an edge: whether it is the source, and the node.
    fn owner(&self, at: usize, root: &str) -> Option<(bool, usize)> {
        let is_root = |node: usize| {
            let kind = &self.state.nodes[node].kind;
            matches!(kind, NodeKind::Access { data, .. } if data == root) && self.places.contains_key(&node)
        };
        let (source, destination) = self.ends[at];
        if is_root(source) {
            return Some((true, source));
        }
        is_root(destination).then_some((false, destination))
    }

    fn edge(&mut self, at: usize, passed: &BTreeMap<usize, Vec<Passed>>) -> Result<(), Failed> {
        let edge = self.state.edges[at].clone();
        let (from_whole, to_whole) =
            (self.places.contains_key(&edge.src), self.places.contains_key(&edge.dst));
        let Some(data) = edge
            .memlet
            .data
            .clone()
            .filter(|data| self.flattening.structures.all.contains_key(root_of(data)))
        else {
            return self.other_edge(edge);
        };
        let root = root_of(&data).to_owned();
        let owner = self.owner(at, &root);
        let place = match owner {
            Some((_, node)) => self.places[&node].clone(),
            None => self.named_place(&root, &data, edge.src)?,
        };
        let names = member_names(&data, &root).unwrap_or_default();
        let target = place
            .member(&names, edge.memlet.subset.as_ref(), self.flattening.structures)
            .map_err(|why| self.flattening.refuse(&edge.path, &data, why))?;
        match target {
            Target::Leaf { root, path, indices } => {
                let Some(container) = self.flattening.structures.name(&root, &path).map(str::to_owned) else {
                    return Err(self.flattening.refuse(
                        &edge.path,
                        &data,
                        "the structure has no such member",
                    ));
                };
                let subset =
                    edge.memlet.subset.clone().unwrap_or_else(|| self.full(&root, &path, indices.len()));
                let subset = self.own_subset(&root, &path, &indices, subset);
                let memlet =
                    Memlet { data: Some(container.clone()), subset: Some(subset), ..edge.memlet.clone() };
                let src = if from_whole { self.leaf_node(edge.src, &container) } else { edge.src };
                let dst = if to_whole { self.leaf_node(edge.dst, &container) } else { edge.dst };
                self.edges.push(Edge { src, dst, memlet, ..edge });
                Ok(())
            }
            Target::Structure(_) if from_whole && to_whole => {
                // Views are bound to what holds them; everything else moves elements and numbers.
                if !self.places[&edge.src].holds_or_is_held(&self.places[&edge.dst]) {
                    return Err(self.flattening.refuse(&edge.path, &data, COPIED));
                }
                self.bindings.push((edge.src, edge.dst));
                Ok(())
            }
            Target::Structure(place) => self.pass(at, &place, owner, passed),
        }
    }

    /// An edge whose memlet is about no structure.
    fn other_edge(&mut self, edge: Edge) -> Result<(), Failed> {
        let concerned = [edge.src, edge.dst].into_iter().find(|node| self.places.contains_key(node));
        match (concerned, &edge.memlet.data) {
            (None, _) => self.edges.push(edge),
            // An edge of order alone.
            (Some(_), None) => self.bindings.push((edge.src, edge.dst)),
            (Some(_), Some(data)) => {
                return Err(self.flattening.refuse(
                    &edge.path,
                    data,
                    "the memlet does not name the member of the structure at its other end",
                ));
            }
        }
        Ok(())
    }

    /// All of a member, in its own dimensions.
    fn full(&self, root: &str, path: &[String], outer: usize) -> Subset {
        let found = self.flattening.structures.descriptor(root, path);
        found.map_or_else(
            || Subset(Vec::new()),
            |found| Subset::full(found.shape.get(outer..).unwrap_or_default()),
        )
    }

    /// The subset of a member's container. A scalar in an array of structures has no dimensions of its own.
    fn own_subset(
        &self,
        root: &str,
        path: &[String],
        indices: &[sdfg::symbolic::Expr],
        subset: Subset,
    ) -> Subset {
        let rank = self.flattening.structures.descriptor(root, path).map_or(0, |found| found.shape.len());
        if indices.len() == rank { behind(indices, Subset(Vec::new())) } else { behind(indices, subset) }
    }

    /// The access node of a member's container beside the node of its structure.
    fn leaf_node(&mut self, node: usize, container: &str) -> usize {
        if let Some(found) = self.split.get(&(node, container.to_owned())) {
            return *found;
        }
        let path = self.state.nodes[node].path.clone();
        let kind = NodeKind::Access { data: container.to_owned(), setzero: false };
        let label = container.to_owned();
        self.state.nodes.push(Node { label, kind, inputs: IndexMap::new(), outputs: IndexMap::new(), path });
        let found = self.state.nodes.len() - 1;
        self.split.insert((node, container.to_owned()), found);
        found
    }

    /// Passes a structure to a nested program or a tasklet, member by member. Edges between scopes wait for the edge
    /// at the node.
    fn pass(
        &mut self,
        at: usize,
        place: &Place,
        owner: Option<(bool, usize)>,
        passed: &BTreeMap<usize, Vec<Passed>>,
    ) -> Result<(), Failed> {
        let edge = self.state.edges[at].clone();
        let data = edge.memlet.data.clone().unwrap_or_default();
        let Some((is_input, owner)) = owner else {
            return Err(self.flattening.refuse(&edge.path, &data, "no node of the structure is at its ends"));
        };
        let node = if is_input { edge.dst } else { edge.src };
        let connector = if is_input { &edge.dst_connector } else { &edge.src_connector };
        let connector = connector.clone().unwrap_or_default();
        let members = match &self.state.nodes[node].kind {
            NodeKind::MapEntry(_)
            | NodeKind::MapExit(_)
            | NodeKind::ConsumeEntry(_)
            | NodeKind::ConsumeExit(_) => {
                return Ok(());
            }
            NodeKind::Nested { .. } => {
                let members = passed.get(&node).map_or(&[][..], Vec::as_slice);
                self.nested_members(node, &connector, is_input, place, members)?
            }
            NodeKind::Tasklet { .. } => self.tasklet_members(node, &connector, place)?,
            NodeKind::Access { .. } | NodeKind::Library { .. } => {
                return Err(self.flattening.refuse(&edge.path, &data, COPIED));
            }
        };
        let own = &mut self.state.nodes[node];
        let connectors = if is_input { &mut own.inputs } else { &mut own.outputs };
        connectors.shift_remove(&connector);
        connectors.extend(members.iter().map(|member| (member.connector.clone(), None)));
        let way = way(&self.state, at, is_input);
        for member in members {
            let end = self.leaf_node(owner, &member.container);
            for step in &way {
                if self.carried.insert((*step, member.container.clone())) || *step == at {
                    self.carry(*step, at, &member, (is_input, end));
                }
            }
        }
        Ok(())
    }

    /// Adds the edge of a member beside an edge on the way of its structure.
    fn carry(&mut self, step: usize, last: usize, member: &Member, (is_input, end): (bool, usize)) {
        let mut edge = self.state.edges[step].clone();
        let passage = |connector: &Option<String>| {
            connector.as_deref().and_then(Port::parse).map(|port| match port {
                Port::In(name) => Port::In(&format!("{name}_{}", member.container)).to_string(),
                Port::Out(name) => Port::Out(&format!("{name}_{}", member.container)).to_string(),
            })
        };
        let (src, dst) = (passage(&edge.src_connector), passage(&edge.dst_connector));
        edge.src_connector = src;
        edge.dst_connector = dst;
        if step == last {
            let connector = if is_input { &mut edge.dst_connector } else { &mut edge.src_connector };
            *connector = Some(member.connector.clone());
        }
        if self.places.contains_key(&edge.src) && is_input {
            edge.src = end;
        }
        if self.places.contains_key(&edge.dst) && !is_input {
            edge.dst = end;
        }
        edge.memlet = Memlet {
            data: Some(member.container.clone()),
            subset: Some(member.subset.clone()),
            dynamic: member.dynamic,
            ..Memlet::default()
        };
        for (node, connector, is_out) in
            [(edge.src, &edge.src_connector, true), (edge.dst, &edge.dst_connector, false)]
        {
            if let Some(name) = connector.as_ref().filter(|name| Port::parse(name).is_some()) {
                let own = &mut self.state.nodes[node];
                let connectors = if is_out { &mut own.outputs } else { &mut own.inputs };
                connectors.insert(name.clone(), None);
            }
        }
        self.edges.push(edge);
    }

    /// The members that a nested program uses of an argument.
    fn nested_members(
        &self,
        node: usize,
        connector: &str,
        is_input: bool,
        place: &Place,
        passed: &[Passed],
    ) -> Result<Vec<Member>, Failed> {
        let own = &self.state.nodes[node];
        let has_both = (own.inputs.contains_key(connector), own.outputs.contains_key(connector));
        let mut members = Vec::new();
        for inner in passed.iter().filter(|inner| inner.root == connector) {
            if !is_input && !inner.writes {
                continue;
            }
            if is_input && !inner.reads && has_both.1 {
                continue;
            }
            let access = format!("{connector}.{}", inner.path.join("."));
            if is_input && inner.writes && !has_both.1 && !is_passed_out(&self.state, node, connector) {
                return Err(self.flattening.refuse(
                    &own.path,
                    &access,
                    "it is written in an argument that is only passed in",
                ));
            }
            let path: Vec<String> = place.path.iter().chain(&inner.path).cloned().collect();
            let Some(container) = self.flattening.structures.name(&place.root, &path) else {
                return Err(self.flattening.refuse(
                    &own.path,
                    &access,
                    "the structure that is passed has no such member",
                ));
            };
            let subset = self.full(&place.root, &path, place.indices.len());
            members.push(Member {
                connector: inner.name.clone(),
                container: container.to_owned(),
                subset: self.own_subset(&place.root, &path, &place.indices, subset),
                dynamic: false,
            });
        }
        Ok(members)
    }

    /// The members that a tasklet uses of a connector, whose code gets connectors of its own for them.
    fn tasklet_members(
        &mut self,
        node: usize,
        connector: &str,
        place: &Place,
    ) -> Result<Vec<Member>, Failed> {
        let structures = self.flattening.structures;
        let path = self.state.nodes[node].path.clone();
        let Some(structure) = place.structure(structures) else { return Ok(Vec::new()) };
        let single = crate::model::Structure { extents: Vec::new(), ..structure.clone() };
        let structure = if place.is_single { &single } else { structure };
        let NodeKind::Tasklet { code, language, .. } = &mut self.state.nodes[node].kind else {
            return Ok(Vec::new());
        };
        if language != "Python" && language != "CPP" {
            return Err(self.flattening.refuse(
                &path,
                connector,
                "code in another language uses the structure",
            ));
        }
        if language == "CPP" {
            *code = without_arrows(code, connector);
        }
        let mut named: Vec<Vec<String>> = Vec::new();
        let mut name = |found: &Named| {
            if !named.contains(&found.path) {
                named.push(found.path.clone());
            }
            Some(format!("{connector}_{}", found.path.join("_")))
        };
        let known = |word: &str| (word == connector).then_some(structure);
        let flat = with_members(code, &known, &mut name)
            .map_err(|unnamed| self.flattening.refuse(&path, &unnamed.access, unnamed.why))?;
        *code = flat;
        let mut members = Vec::new();
        for inner in named {
            let path: Vec<String> = place.path.iter().chain(&inner).cloned().collect();
            let container = structures.name(&place.root, &path).map(str::to_owned);
            let (Some(container), Some(descriptor)) = (container, structures.descriptor(&place.root, &path))
            else {
                continue;
            };
            let subset = self.full(&place.root, &path, place.indices.len());
            members.push(Member {
                connector: format!("{connector}_{}", inner.join("_")),
                container,
                subset: self.own_subset(&place.root, &path, &place.indices, subset),
                // Code writes some elements of an array.
                dynamic: descriptor.kind != DescriptorKind::Scalar,
            });
        }
        Ok(members)
    }

    /// The state without the nodes of structures. Order edges replace the ways through them.
    fn finish(mut self) -> State {
        self.order();
        // The order of nodes in the file decides where edges do not, so members stand where their structure did.
        let of_structures = self.split.len();
        let first_member = self.state.nodes.len() - of_structures;
        let mut order: Vec<usize> = Vec::new();
        for at in 0..first_member {
            if self.places.contains_key(&at) {
                let mut own: Vec<usize> =
                    self.split.iter().filter(|((node, _), _)| *node == at).map(|(_, found)| *found).collect();
                own.sort_unstable();
                order.extend(own);
            } else {
                order.push(at);
            }
        }
        let mut numbers = vec![0; self.state.nodes.len()];
        let mut old: Vec<Option<Node>> = self.state.nodes.into_iter().map(Some).collect();
        let mut nodes = Vec::new();
        for at in order {
            numbers[at] = nodes.len();
            nodes.extend(old[at].take());
        }
        for node in &mut nodes {
            if let NodeKind::MapExit(entry) | NodeKind::ConsumeExit(entry) = &mut node.kind {
                *entry = numbers[*entry];
            }
        }
        let mut edges = self.edges;
        for edge in &mut edges {
            (edge.src, edge.dst) = (numbers[edge.src], numbers[edge.dst]);
        }
        // Connectors of passages that no edge uses any more are those of structures.
        for (at, node) in nodes.iter_mut().enumerate() {
            if matches!(
                node.kind,
                NodeKind::MapEntry(_)
                    | NodeKind::MapExit(_)
                    | NodeKind::ConsumeEntry(_)
                    | NodeKind::ConsumeExit(_)
            ) {
                node.inputs.retain(|name, _| {
                    edges.iter().any(|edge| edge.dst == at && edge.dst_connector.as_ref() == Some(name))
                });
                node.outputs.retain(|name, _| {
                    edges.iter().any(|edge| edge.src == at && edge.src_connector.as_ref() == Some(name))
                });
            }
        }
        State { nodes, edges }
    }

    /// Order edges between the accesses of one container that a way through nodes of structures connected.
    fn order(&mut self) {
        let ends = |node: usize, container: Option<&str>| -> Vec<usize> {
            let own = self
                .split
                .iter()
                .filter(|((at, name), _)| *at == node && container.is_none_or(|wanted| wanted == name));
            own.map(|(_, found)| *found).collect()
        };
        let mut ways = BTreeSet::new();
        let starts: BTreeSet<usize> = self.bindings.iter().map(|(src, _)| *src).collect();
        for start in starts {
            let sources: Vec<(usize, Option<String>)> = if self.places.contains_key(&start) {
                self.split
                    .iter()
                    .filter(|((at, _), _)| *at == start)
                    .map(|((_, name), found)| (*found, Some(name.clone())))
                    .collect()
            } else {
                vec![(start, None)]
            };
            for (source, container) in sources {
                let (mut waiting, mut seen) = (vec![start], BTreeSet::new());
                while let Some(node) = waiting.pop() {
                    for (_, next) in self.bindings.iter().filter(|(src, _)| *src == node) {
                        if !seen.insert(*next) {
                            continue;
                        }
                        if !self.places.contains_key(next) {
                            ways.insert((source, *next));
                            continue;
                        }
                        let reached = ends(*next, container.as_deref());
                        ways.extend(reached.iter().map(|end| (source, *end)));
                        if reached.is_empty() || container.is_none() {
                            waiting.push(*next);
                        }
                    }
                }
            }
        }
        for (src, dst) in ways {
            let path = self.state.nodes[src].path.clone();
            let memlet = Memlet::default();
            self.edges.push(Edge { src, src_connector: None, dst, dst_connector: None, memlet, path });
        }
    }
}

/// C++ code in which a dot stands for the arrow behind a connector, which is a pointer where the struct is written.
fn without_arrows(code: &str, connector: &str) -> String {
    let mut parts = code.split("->");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let before = out.trim_end();
        let word = before.rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).map_or(0, |at| at + 1);
        let is_member = before[..word].trim_end().ends_with('.');
        out.push_str(if &before[word..] == connector && !is_member { "." } else { "->" });
        out.push_str(part);
    }
    out
}

/// Whether a node passes a structure out again.
fn is_passed_out(state: &State, node: usize, connector: &str) -> bool {
    state.edges.iter().any(|edge| edge.src == node && edge.src_connector.as_deref() == Some(connector))
}

/// The edges from the node of a structure to an edge, through scopes; or from an edge to the node of the structure.
fn way(state: &State, at: usize, is_input: bool) -> Vec<usize> {
    let mut found = vec![at];
    let mut current = &state.edges[at];
    // A way passes each edge once, unless the graph is cyclic.
    for _ in 0..state.edges.len() {
        let next = if is_input {
            let Some(Port::Out(name)) = current.src_connector.as_deref().and_then(Port::parse) else { break };
            let wanted = Port::In(name).to_string();
            state
                .edges
                .iter()
                .position(|edge| edge.dst == current.src && edge.dst_connector.as_ref() == Some(&wanted))
        } else {
            let Some(Port::In(name)) = current.dst_connector.as_deref().and_then(Port::parse) else { break };
            let wanted = Port::Out(name).to_string();
            state
                .edges
                .iter()
                .position(|edge| edge.src == current.dst && edge.src_connector.as_ref() == Some(&wanted))
        };
        let Some(next) = next else { break };
        found.push(next);
        current = &state.edges[next];
    }
    found
}
