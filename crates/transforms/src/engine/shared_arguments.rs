//! Arguments of called SDFGs that share memory: names of the same elements, of which checks of dependences know nothing.
//!
//! The caller may pass parts of one container as two arguments, or a container and a view of it. Where one of them is written,
//! an access to it orders accesses to the other one. Checks compare accesses of one container only, so the engine refuses
//! those that rely on it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sdfg::analysis::{Use, Uses, bound_alias};
use sdfg::ir::{ContainerId, NestedSdfg, NodeId, NodeKind, Sdfg, StateId};
use sdfg::path::{ElementPlace, Target};
use sdfg::subset::Subset;

use super::{Evidence, Refusal, Site, Tables, Transformation, magnitude};

/// The arguments of an SDFG that may share elements.
#[derive(Debug, Default)]
pub(super) struct SharedArguments {
    /// For each argument the others with which it may share elements.
    others: BTreeMap<ContainerId, BTreeSet<ContainerId>>,
    /// Two of them, of which the second is written.
    conflict: Option<[String; 2]>,
}

impl SharedArguments {
    /// The arguments with which one may share elements.
    pub(super) fn others_of(&self, id: ContainerId) -> BTreeSet<ContainerId> {
        self.others.get(&id).cloned().unwrap_or_default()
    }
}

/// The check of a transformation, where names of containers tell memory apart and the parameters are no numbers whose products
/// could exceed 64 bits.
///
/// # Errors
/// The reason for which the transformation does not apply.
pub fn checked(transformation: &dyn Transformation, site: &Site<'_>) -> Result<Evidence, Refusal> {
    magnitude::check(transformation)?;
    if transformation.tells_containers_apart()
        && let Some([one, written]) = &site.shared_arguments().conflict
    {
        let reason = format!("is written, and may share elements with `{one}`, another argument of the call");
        return Err(Refusal::container(written, reason));
    }
    transformation.check(site)
}

/// The arguments of the SDFG behind some calls.
pub(super) fn shared_arguments(
    program: &Sdfg,
    calls: &[(StateId, NodeId)],
    tables: &Tables,
) -> Arc<SharedArguments> {
    let Some((&(state, node), outer)) = calls.split_last() else { return Arc::default() };
    let place = ElementPlace { calls: outer.to_vec(), target: Target::Sdfg };
    let Some(caller) = place.sdfg(program) else { return Arc::default() };
    let NodeKind::Nested(nested) = &caller.state(state).node(node).kind else { return Arc::default() };
    let call = Call { caller, calls: outer, state, node, tables };
    let around = tables.shared_arguments(program, outer);
    Arc::new(call.shared(nested, &around))
}

/// A call of an SDFG.
struct Call<'p> {
    caller: &'p Sdfg,
    calls: &'p [(StateId, NodeId)],
    state: StateId,
    node: NodeId,
    tables: &'p Tables,
}

impl Call<'_> {
    fn shared(&self, nested: &NestedSdfg, around: &SharedArguments) -> SharedArguments {
        let graph = self.caller.state(self.state);
        let mut parts: BTreeMap<ContainerId, BTreeSet<(ContainerId, Subset)>> = BTreeMap::new();
        let ends = graph.each_in_edge(self.node).map(|(_, edge)| (edge, &edge.dst_connector));
        for (edge, connector) in
            ends.chain(graph.each_out_edge(self.node).map(|(_, edge)| (edge, &edge.src_connector)))
        {
            let argument = connector.as_deref().and_then(|name| nested.sdfg.find_container(name));
            let (Some(argument), Some(access)) = (argument, edge.memlet.accesses().next()) else { continue };
            parts.entry(argument).or_default().insert((access.container, access.subset().clone()));
        }
        let uses = self.tables.uses(self.calls, self.caller);
        let mut owners: BTreeMap<ContainerId, Vec<ContainerId>> = BTreeMap::new();
        for (argument, bound) in &parts {
            for memory in bound
                .iter()
                .flat_map(|(id, _)| same_memory(self.caller, &uses, around, *id))
                .collect::<BTreeSet<_>>()
            {
                owners.entry(memory).or_default().push(*argument);
            }
        }
        let mut found = SharedArguments::default();
        let is_written = |id: ContainerId| {
            let name = &nested.sdfg.container(id).name;
            nested.outputs.iter().any(|output| output.name == *name)
        };
        for arguments in owners.values().filter(|arguments| arguments.len() > 1) {
            for (at, one) in arguments.iter().enumerate() {
                for other in &arguments[at + 1..] {
                    if self.are_apart(&parts[one], &parts[other]) {
                        continue;
                    }
                    found.others.entry(*one).or_default().insert(*other);
                    found.others.entry(*other).or_default().insert(*one);
                    let pair = if is_written(*other) { [*one, *other] } else { [*other, *one] };
                    if found.conflict.is_none() && is_written(pair[1]) {
                        found.conflict = Some(pair.map(|id| nested.sdfg.container(id).name.clone()));
                    }
                }
            }
        }
        found
    }

    /// Whether two arguments are different parts of one container.
    fn are_apart(
        &self,
        one: &BTreeSet<(ContainerId, Subset)>,
        other: &BTreeSet<(ContainerId, Subset)>,
    ) -> bool {
        let tree = self.tables.scopes(self.calls, self.caller, self.state);
        let facts = self.tables.facts(self.calls, self.caller);
        let known = facts.at(self.caller, self.state, &tree, tree.scope_of(self.node));
        one.iter().all(|(id, part)| {
            other.iter().all(|(own, rest)| id == own && part.disjoint(rest, &known).is_proved())
        })
    }
}

/// The containers that may share elements with a container, itself among them: what it is bound to, other views and references
/// of these, and arguments that share memory.
pub(super) fn same_memory(
    sdfg: &Sdfg,
    uses: &Uses,
    around: &SharedArguments,
    id: ContainerId,
) -> BTreeSet<ContainerId> {
    let (mut found, mut waiting) = (BTreeSet::new(), vec![id]);
    while let Some(next) = waiting.pop() {
        if !found.insert(next) {
            continue;
        }
        waiting.extend(around.others.get(&next).into_iter().flatten());
        // A container that no alias names is asked for as often as it is used: nothing here looks at all of its uses.
        for used in uses.bindings_of(next) {
            if let Use::Memlet(state, edge) = *used {
                waiting.extend(bound_alias(sdfg.state(state), edge).map(|(alias, _)| alias));
            }
        }
        if !sdfg.container(next).is_alias() {
            continue;
        }
        for used in uses.of(next) {
            if let Use::Access(state, node) = *used {
                let graph = sdfg.state(state);
                let edges = graph.each_in_edge(node).chain(graph.each_out_edge(node));
                let bound = edges.filter_map(|(edge, _)| bound_alias(graph, edge));
                let own = bound.filter(|(alias, _)| *alias == next);
                waiting.extend(own.map(|(_, target)| target.container));
            }
        }
    }
    found
}
