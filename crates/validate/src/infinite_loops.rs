//! Rule: loops that cannot end. The operands of their condition never change, or change away from the end.
//!
//! A loop is an error if it does not end whenever it is entered. A `break` of the loop, a `return` in its
//! body, and every change of an operand of the condition count as an exit, except changes of a counter.
//! A condition whose operands all keep their values makes a warning: it may be false for every input that a
//! caller has, and then nothing enters the loop.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use sdfg_graph::analysis::AccessSets;
use sdfg_graph::analysis::accesses::alias_targets;
use sdfg_graph::analysis::symbols::assigned_symbols_of;
use sdfg_graph::diagnostic::{Code, Severity};
use sdfg_graph::ir::{BlockId, BlockKind, ContainerId, Loop, RegionId, Sdfg};
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::{CompareOp, Expression, ExpressionKind};

use super::constant_conditions::{holds, is_wide, number};
use super::control_cycles;
use super::site::{Findings, Program, Shared};

/// For each alias the containers that it is bound to.
type Targets = BTreeMap<ContainerId, BTreeSet<ContainerId>>;

/// Checks the loops and the state machines of an SDFG.
pub(super) fn check(program: &Program<'_>, findings: &mut Findings) {
    control_cycles::check(program, program.sdfg.body(), findings);
    for (id, block) in program.sdfg.blocks() {
        for part in block.kind.regions() {
            control_cycles::check(program, part, findings);
        }
        if let BlockKind::Loop(repeated) = &block.kind
            && !leaves(program.sdfg, repeated.body, true)
            && let Some(reason) =
                endless(program.sdfg, repeated, &program.shared, &|| program.alias_targets())
        {
            let message = format!("`{}` never ends once it is entered: {reason}", block.label);
            let mut found = program.block_error(Code::EndlessLoop, id, message);
            if reason.is_constant {
                found.severity = Severity::Warning;
            }
            findings.push(found.suggest("change what the condition reads, or leave the loop with `break`"));
        }
    }
}

/// Whether the block is a loop that this check reports, if no arguments share memory.
pub fn never_ends(sdfg: &Sdfg, block: BlockId) -> bool {
    match &sdfg.block(block).kind {
        BlockKind::Loop(repeated) => {
            let targets = OnceCell::new();
            let aliases = || &**targets.get_or_init(|| alias_targets(sdfg));
            !leaves(sdfg, repeated.body, true) && endless(sdfg, repeated, &Shared::new(), &aliases).is_some()
        }
        BlockKind::State(_)
        | BlockKind::Branch(_)
        | BlockKind::Break
        | BlockKind::Continue
        | BlockKind::Return => false,
    }
}

/// Why a loop goes on for ever once it is entered.
struct Reason {
    text: String,
    /// Whether the condition has operands, and all of them keep their values.
    is_constant: bool,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Reason { text, is_constant: false }
    }
}

/// Why a loop without a way out in its body goes on for ever.
fn endless<'t>(
    sdfg: &Sdfg,
    repeated: &Loop,
    shared: &Shared,
    aliases: &dyn Fn() -> &'t Targets,
) -> Option<Reason> {
    let condition = &repeated.condition;
    if holds(condition, &|_| None) == Some(false) {
        return None;
    }
    let names = condition.names();
    if repeated.test_after && !names.is_empty() {
        // It is entered in any case, and ends after the first time if the condition does not hold.
        return None;
    }
    let assigned = assigned_symbols_of(sdfg, repeated.body);
    let written = changed_by(sdfg, AccessSets::of_region(sdfg, repeated.body), shared, aliases());
    let changes = |name: &str| {
        assigned.iter().any(|symbol| symbol.as_str() == name)
            || sdfg.find_container(name).is_some_and(|container| written.contains(&container))
    };
    let counter = repeated.symbol.as_ref().filter(|symbol| names.contains(symbol.as_str()));
    let Some((counter, update)) = counter.zip(repeated.update.as_ref()) else {
        if names.iter().any(|name| changes(name)) {
            return None;
        }
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        return Some(match names.as_slice() {
            [] => format!("`{condition}` is always true").into(),
            names => Reason {
                text: format!("nothing in it changes {}, on which `{condition}` depends", names.join(" or ")),
                is_constant: true,
            },
        });
    };
    let is_counter = |name: &str| name == counter.as_str();
    if names.iter().any(|name| !is_counter(name) && changes(name)) {
        return None;
    }
    let mut steps =
        if changes(counter.as_str()) { assignments_to(sdfg, repeated, counter)? } else { Vec::new() };
    steps.push(update);
    let shown: Vec<String> = steps.iter().map(|value| format!("`{counter} = {value}`")).collect();
    let shown = shown.join(" and ");
    let reads_changed =
        |value: &&Expression| value.names().iter().any(|name| !is_counter(name) && changes(name));
    if steps.iter().any(reads_changed) {
        return None;
    }
    let is_wide = is_wide(sdfg, counter);
    if is_wide && let Some(value) = repeating(repeated, counter, &steps) {
        return Some(format!("after {shown}, `{counter}` is {value} again").into());
    }
    let step = step(counter, &steps)?;
    if step == 0 {
        let verb = if steps.len() == 1 { "changes" } else { "together change" };
        return Some(format!("{shown} {verb} nothing").into());
    }
    // With large steps, too, the counter soon comes round to the other end of its values.
    if !is_wide || step.unsigned_abs() > u64::from(u32::MAX) {
        return None;
    }
    // The other side of the comparison stays as it is, as was found above; of itself it may not depend on the counter.
    let ExpressionKind::Compare { first, rest } = &condition.kind else { return None };
    let [(op, second)] = rest.as_slice() else { return None };
    let is_side = |side: &Expression| matches!(&side.kind, ExpressionKind::Name(name) if is_counter(name));
    let (op, bound) = match (is_side(first), is_side(second)) {
        (true, false) => (*op, second),
        (false, true) => (op.turned_around(), &**first),
        (true, true) | (false, false) => return None,
    };
    if bound.names().contains(counter.as_str()) {
        return None;
    }
    match op {
        CompareOp::Less | CompareOp::LessEqual if step < 0 => {}
        CompareOp::Greater | CompareOp::GreaterEqual if step > 0 => {}
        CompareOp::NotEqual => {
            let init = number(repeated.init.as_ref()?, &|_| None)?;
            let distance = number(bound, &|_| None)?.checked_sub(init)?;
            let is_hit = distance.checked_rem(step)? == 0 && distance.checked_div(step)? >= 0;
            return (!is_hit)
                .then(|| format!("from {init} on, {shown} never makes `{condition}` false").into());
        }
        CompareOp::Less
        | CompareOp::LessEqual
        | CompareOp::Greater
        | CompareOp::GreaterEqual
        | CompareOp::Equal => return None,
    }
    let verb = if steps.len() == 1 { "leads" } else { "together lead" };
    Some(format!("{shown} {verb} away from the end of `{condition}`").into())
}

/// The values that the body of a loop assigns to its counter, in order, if every iteration assigns them all: the
/// blocks of the body follow each other without a choice, and nothing inside of them assigns it.
fn assignments_to<'a>(sdfg: &'a Sdfg, repeated: &Loop, counter: &Symbol) -> Option<Vec<&'a Expression>> {
    let body = sdfg.region(repeated.body);
    let mut values = Vec::new();
    let mut waiting: BTreeSet<BlockId> = body.blocks.iter().copied().collect();
    let mut block = body.start;
    while let Some(current) = block {
        // A way that comes back does not end, or is not followed here.
        if !waiting.remove(&current) {
            return None;
        }
        let kind = &sdfg.block(current).kind;
        let inside = kind.regions();
        let is_counter = |symbol: &Symbol| symbol == counter;
        let assigns = inside.iter().any(|part| assigned_symbols_of(sdfg, *part).iter().any(is_counter))
            || matches!(kind, BlockKind::Loop(inner) if inner.symbol.as_ref() == Some(counter));
        let jumps = matches!(kind, BlockKind::Break | BlockKind::Continue | BlockKind::Return)
            || inside.iter().any(|part| continues(sdfg, *part));
        if assigns || jumps {
            return None;
        }
        block = match sdfg.transitions_from(current).as_slice() {
            [] => None,
            [only] => {
                let transition = sdfg.transition(*only);
                if transition.condition.is_some() {
                    return None;
                }
                let own = transition.assignments.iter().filter(|(symbol, _)| symbol == counter);
                values.extend(own.map(|(_, value)| value));
                Some(transition.dst)
            }
            [_, _, ..] => return None,
        };
    }
    Some(values)
}

/// A value that the counter of a loop has twice while the condition holds, where numbers alone decide. Few steps are
/// tried: most loops that come back do so at once.
fn repeating(repeated: &Loop, counter: &Symbol, steps: &[&Expression]) -> Option<i64> {
    const LIMIT: usize = 16;
    let mut value = number(repeated.init.as_ref()?, &|_| None)?;
    let mut seen = BTreeSet::new();
    while seen.len() < LIMIT {
        let now = |name: &str, value: i64| (name == counter.as_str()).then_some(value);
        if !holds(&repeated.condition, &|name| now(name, value))? {
            return None;
        }
        if !seen.insert(value) {
            return Some(value);
        }
        for step in steps {
            value = number(step, &|name| now(name, value))?;
        }
    }
    None
}

/// Sum that consecutive assignments add to their symbol, if it is a number.
fn step(counter: &Symbol, values: &[&Expression]) -> Option<i64> {
    let mut now = Expr::symbol(counter.clone());
    for value in values {
        now = Expr::from_expression(value).ok()?.with_symbol(counter, &now);
    }
    (now - Expr::symbol(counter.clone())).as_int()
}

/// Containers that accesses may change: what they write, directly, through an alias or as another argument, and streams
/// that they pop.
pub(super) fn changed_by(
    sdfg: &Sdfg,
    sets: AccessSets,
    shared: &Shared,
    aliases: &Targets,
) -> BTreeSet<ContainerId> {
    let mut written = sets.writes;
    written.extend(sets.reads.into_iter().filter(|id| sdfg.container(*id).is_stream()));
    loop {
        let before = written.len();
        for (alias, targets) in aliases {
            if written.contains(alias) {
                written.extend(targets);
            } else if !written.is_disjoint(targets) {
                written.insert(*alias);
            }
        }
        for (argument, others) in shared {
            if written.contains(argument) {
                written.extend(others);
            }
        }
        if written.len() == before {
            return written;
        }
    }
}

/// Whether a region has a `return`, or a `break` of the loop whose body it is.
pub(super) fn leaves(sdfg: &Sdfg, region: RegionId, breaks_count: bool) -> bool {
    sdfg.region(region).blocks.iter().any(|block| match &sdfg.block(*block).kind {
        BlockKind::Return => true,
        BlockKind::Break => breaks_count,
        BlockKind::Loop(inner) => leaves(sdfg, inner.body, false),
        kind @ BlockKind::Branch(_) => {
            kind.regions().into_iter().any(|part| leaves(sdfg, part, breaks_count))
        }
        BlockKind::State(_) | BlockKind::Continue => false,
    })
}

/// Whether a region has a `continue` of a loop around it.
pub(super) fn continues(sdfg: &Sdfg, region: RegionId) -> bool {
    sdfg.region(region).blocks.iter().any(|block| match &sdfg.block(*block).kind {
        BlockKind::Continue => true,
        kind @ BlockKind::Branch(_) => kind.regions().into_iter().any(|part| continues(sdfg, part)),
        BlockKind::State(_) | BlockKind::Loop(_) | BlockKind::Break | BlockKind::Return => false,
    })
}
