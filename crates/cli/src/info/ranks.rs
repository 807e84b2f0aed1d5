//! Memory of the ranks of a distributed program, and the bytes that they receive.

use std::collections::BTreeMap;

use sdfg::ir::Sdfg;
use sdfg::symbolic::{EvalError, Expr, Symbol};
use sdfg::validate::Validated;
use sdfg_codegen::interface::ArgumentKind;
use sdfg_codegen::plan::Plan;
use sdfg_codegen::ranks::{CopyTraffic, RankProgram, Traffic, is_distributed, localise};

use super::costs::Values;
use super::memory::planned;
use crate::failure::Failure;

/// Bytes that a rank holds while the program runs.
struct Held {
    arguments: i64,
    transients: i64,
}

/// One line for each rank, one for the largest, and one for each copy that may move data.
///
/// # Errors
/// If the program is not distributed, is divided over more ranks, or a size has no value.
pub(super) fn lines(program: &Validated, values: &Values, ranks: u32) -> Result<Vec<String>, Failure> {
    if !is_distributed(program.sdfg()) {
        return Err(Failure::usage("the program is not distributed")
            .at("--ranks")
            .help("`sdfg distribute` divides it over ranks"));
    }
    let local = localise(program.sdfg()).map_err(Failure::program)?;
    if ranks < local.ranks() {
        return Err(Failure::usage(format_args!("the program is divided over {} ranks", local.ranks()))
            .at(format_args!("--ranks {ranks}"))
            .help(format_args!("give --ranks {} or more", local.ranks())));
    }
    let plan = local.validated().map_err(|rejected| rejected.to_string()).and_then(|valid| planned(&valid));
    let plan = plan.map_err(Failure::program)?;
    let mut lines = Vec::new();
    let mut largest = 0;
    let parts = local.ranks();
    for rank in 0..parts {
        let Held { arguments, transients } = held(&local, &plan, rank, values).map_err(without_value)?;
        largest = largest.max(arguments + transients);
        lines.push(format!("rank {rank}: {arguments} bytes of arguments, {transients} bytes of transients"));
    }
    if ranks > parts {
        // They run the same code, and hold what no rank divides.
        let Held { arguments, transients } = held(&local, &plan, parts, values).map_err(without_value)?;
        largest = largest.max(arguments + transients);
        let others = if ranks - parts == 1 {
            format!("rank {parts} holds no part")
        } else {
            format!("ranks {parts} to {} hold no part", ranks - 1)
        };
        lines.push(format!("{others}: {arguments} bytes of arguments, {transients} bytes of transients"));
    }
    lines.push(format!("memory of the largest rank: {largest} bytes"));
    match Traffic::of(program.sdfg(), values, ranks) {
        Ok(traffic) => {
            lines.extend(traffic.copies.iter().map(copy_line));
            let most = traffic.received().into_iter().max().unwrap_or(0);
            lines.push(format!("received by the rank that receives most: {most} bytes"));
        }
        Err(error) => lines.push(format!("received bytes: unknown ({error})")),
    }
    Ok(lines)
}

fn without_value(error: EvalError) -> Failure {
    Failure::usage(format_args!("the memory of a rank has no value: {error}"))
        .help("set all symbols that occur in sizes with --set")
}

/// `copy A -> B in state s: 3 times, at most 80 bytes received by a rank, 240 by all`.
fn copy_line(copy: &CopyTraffic) -> String {
    let CopyTraffic { state, source, target, combines, times, received, hidden_by, .. } = copy;
    let (most, all) = (received.iter().max().copied().unwrap_or(0), received.iter().sum::<u64>());
    let verb = if *combines { "combination" } else { "copy" };
    let meanwhile = match hidden_by.is_empty() {
        true => String::new(),
        false => format!(", while `{}` runs", hidden_by.join("` and `")),
    };
    format!(
        "{verb} {source} -> {target} in state {state}: {times} time{}, {most} bytes received by one rank at most, {all} by all{meanwhile}",
        if *times == 1 { "" } else { "s" }
    )
}

/// Bytes of the rank that holds most; `None` if they have no value, or there is no native code.
pub(crate) fn bytes_of_largest_rank(program: &Sdfg, values: &Values, ranks: u32) -> Option<i64> {
    let local = localise(program).ok()?;
    let plan = planned(&local.validated().ok()?).ok()?;
    let bytes = |rank| held(&local, &plan, rank, values).map(|held| held.arguments + held.transients);
    (0..ranks.clamp(1, local.ranks().saturating_add(1)))
        .map(bytes)
        .try_fold(0, |most, bytes| Some(bytes.ok()?.max(most)))
}

fn held(program: &RankProgram, plan: &Plan, rank: u32, values: &Values) -> Result<Held, EvalError> {
    let mut symbols: BTreeMap<Symbol, i64> = program.symbols(rank, values)?;
    symbols.extend(values.iter().map(|(symbol, value)| (symbol.clone(), *value)));
    let value = |expr: &Expr| expr.eval(&|name| symbols.get(name).copied());
    let mut arguments = 0;
    for argument in plan.interface().iter().flat_map(|interface| interface.arguments().to_vec()) {
        if let ArgumentKind::Array { elements, element, .. } = &argument.kind {
            arguments += value(elements)? * element.size() as i64;
        }
    }
    let usage = plan.memory_use();
    Ok(Held { arguments, transients: value(&usage.arena)? + value(&usage.persistent)? })
}
