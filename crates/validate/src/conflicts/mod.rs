//! Rule: unordered accesses of one element (`docs/semantics.md`, "Conflicts"), in different iterations of a
//! scope or in nodes of a state that no path joins.
//!
//! [`touch`] lists the accesses of the leaves of memlet trees, with aliases resolved to their memory
//! ([`alias`]) and calls replaced by their accesses ([`call`]). The dependence analysis then examines each
//! pair. A conflict that happens whenever the state runs, for all values of the surrounding symbols, is an
//! error. An undecided pair is a warning, one for each container and scope, so that a program with a
//! data-dependent index gets one warning.

mod alias;
mod call;
mod order;
mod overlap_cache;
mod report;
mod touch;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use order::Paths;
pub(super) use overlap_cache::OverlapCache;
use sdfg_graph::analysis::dependence::Iteration;
use sdfg_graph::analysis::executions::Frequency;
use sdfg_graph::diagnostic::Diagnostic;
use sdfg_graph::ir::{ContainerId, EdgeId, NodeId};
use sdfg_language::symbolic::{Assumptions, Truth};
use touch::Touch;

use super::sample::may_run;
use super::scope_context::{ScopeContext, ScopeContexts};
use super::site::{Findings, Program, Site};

/// Pairs of accesses of one container that are looked at, and those among them that nothing orders, of which the
/// dependence analysis is asked. Of a state with more, the rest is left to the interpreter, with a warning: time stays
/// bounded.
const MOST_PAIRS: usize = 200_000;
const MOST_QUESTIONS: usize = 2000;

/// Questions without an answer, which take the longest, after which no more are asked about a container: what is warned of
/// has to be looked at anyway.
const MOST_UNDECIDED: usize = 4;

/// Reasons for which two accesses are unordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Between {
    /// Iterations of the scope of this entry.
    Iterations(NodeId),
    /// Nodes in one iteration of all scopes that they have in common.
    Nodes,
}

/// Checks every pair of accesses of a state.
pub(super) fn check(program: &Program<'_>, site: &Site<'_>, frames: &ScopeContexts, findings: &mut Findings) {
    let touches = touch::touches(program, site, frames);
    let has_conflict =
        |all: &Vec<Touch<'_>>| all.iter().any(|own| all.iter().any(|other| own.clashes_with(other)));
    if !touches.values().any(has_conflict) {
        return;
    }
    let paths = Paths::of(site.state, site.topological_order().as_deref());
    if paths.is_left_out(site.state) {
        findings.push(report::too_many_nodes(site));
    }
    let state = StateQuestion {
        program,
        site,
        frames,
        known: &frames.top().assumptions,
        paths,
        runs: always_runs(program, site),
    };
    for (container, touches) in touches {
        state.check(container, &touches, findings);
    }
}

/// Whether each point of the loops around a state runs it once, so that a program without conflicts cannot pass it by.
fn always_runs(program: &Program<'_>, site: &Site<'_>) -> bool {
    let Some(block) = program.block_of(site.id) else { return false };
    program.executions().of_block(site.sdfg, block).frequency == Frequency::Once
}

/// The scopes that two accesses have in common.
struct Common {
    /// Their number.
    scopes: usize,
    /// Those whose iterations share the container.
    open: Range<usize>,
    /// Whether paths order the accesses in one iteration of all of them.
    is_ordered: bool,
}

/// Queries about pairs of accesses of one state.
struct StateQuestion<'a> {
    program: &'a Program<'a>,
    site: &'a Site<'a>,
    frames: &'a ScopeContexts,
    known: &'a Assumptions,
    paths: Paths,
    runs: bool,
}

impl StateQuestion<'_> {
    /// Compares the accesses of one container.
    fn check(&self, container: ContainerId, touches: &[Touch<'_>], findings: &mut Findings) {
        let owner = self.program.owning_scope(container);
        let mut proved: BTreeMap<(Between, EdgeId), Diagnostic> = BTreeMap::new();
        let mut undecided: BTreeMap<Between, Diagnostic> = BTreeMap::new();
        let clashing = touches.iter().enumerate().flat_map(|(at, own)| {
            touches.iter().skip(at).filter(|other| own.clashes_with(other)).map(move |other| (own, other))
        });
        let (mut n_undecided, mut n_questions) = (0, 0);
        let mut left_out = None;
        for (n_pairs, (own, other)) in clashing.enumerate() {
            let common = self.common(own, other, owner);
            if n_pairs < MOST_PAIRS && common.is_ordered && common.open.is_empty() {
                continue;
            }
            if n_pairs == MOST_PAIRS || n_questions == MOST_QUESTIONS {
                left_out = Some((own, other));
                break;
            }
            n_questions += 1;
            if self.frame_of(own).never_runs || self.frame_of(other).never_runs {
                continue;
            }
            let Some((between, exists)) = self.conflict(own, other, &common) else { continue };
            let found =
                report::Found { site: self.site, frames: self.frames, container, own, other, between };
            let may_happen = || may_run(self.frame_of(own)) && may_run(self.frame_of(other));
            if exists.is_proved() && self.runs && may_happen() {
                proved.entry((between, own.edge)).or_insert_with(|| found.error());
            } else {
                undecided.entry(between).or_insert_with(|| found.warning(exists));
                n_undecided += 1;
            }
            if n_undecided == MOST_UNDECIDED {
                break;
            }
        }
        let told: BTreeSet<Between> = proved.keys().map(|(between, _)| *between).collect();
        findings.extend(proved.into_values());
        let left = undecided.into_iter().filter(|(between, _)| !told.contains(between));
        findings.extend(left.map(|(_, warning)| warning));
        if let Some((own, other)) = left_out {
            findings.push(report::left_out(self.site, container, own, other, touches.len()));
        }
    }

    /// Facts where an access is made.
    fn frame_of(&self, touch: &Touch<'_>) -> &ScopeContext {
        self.frames.inside(touch.scopes.last().copied())
    }

    /// Elements that two accesses share.
    fn common(&self, own: &Touch<'_>, other: &Touch<'_>, owner: Option<NodeId>) -> Common {
        let scopes = own.scopes.iter().zip(&other.scopes).take_while(|(a, b)| a == b).count();
        // Each iteration of its owning scope has a container of its own.
        let private =
            own.scopes.iter().position(|scope| Some(*scope) == owner).map_or(0, |position| position + 1);
        Common { scopes, open: private..scopes, is_ordered: self.paths.are_ordered(own, other, scopes) }
    }

    /// Reason for a conflict of two accesses that is not refuted: preferably a proved one, then the
    /// innermost.
    fn conflict(&self, own: &Touch<'_>, other: &Touch<'_>, common: &Common) -> Option<(Between, Truth)> {
        let levels = common.open.clone().rev().filter_map(|level| {
            Some((Between::Iterations(*own.scopes.get(level)?), Iteration::Different(level)))
        });
        let nodes = (!common.is_ordered).then_some((Between::Nodes, Iteration::Same(common.scopes)));
        let mut undecided = None;
        for (between, iteration) in nodes.into_iter().chain(levels) {
            match self.meet(own, other, common.scopes, iteration) {
                Truth::Proved => return Some((between, Truth::Proved)),
                Truth::Unknown => undecided = undecided.or(Some((between, Truth::Unknown))),
                Truth::Refuted => {}
            }
        }
        undecided
    }

    /// Whether two accesses touch a common element.
    fn meet(&self, own: &Touch<'_>, other: &Touch<'_>, n_common: usize, iteration: Iteration) -> Truth {
        let level = match iteration {
            Iteration::Same(level) | Iteration::Different(level) | Iteration::Later(level) => level,
        };
        // Through one binding of an alias, places of the alias are compared: that says more where its shape differs.
        let through = match (&own.through, &other.through) {
            (Some(own), Some(other)) if own.binding == other.binding && own.depth <= level => {
                Some((&own.access, &other.access))
            }
            (Some(_) | None, Some(_) | None) => None,
        };
        let (first, second) = through.unwrap_or((&own.access, &other.access));
        self.program.overlap_cache.meet(first, second, n_common, iteration, self.known)
    }
}
