//! Memory table of `sdfg info`: memory that native code allocates for transients, and the transients that
//! share it.

use std::collections::BTreeMap;

use sdfg::symbolic::Expr;
use sdfg::validate::{Validated, validate};
use sdfg_codegen::lower::{LowerOptions, Target, lower};
use sdfg_codegen::plan::{BufferId, Plan};
use sdfg_library::{BuiltIn, expand};

use super::costs::Values;

/// Lines about the memory of a program; none if its transients are small, so that they lie on the stack.
pub(super) fn lines(program: &Validated, values: &Values) -> Vec<String> {
    match planned(program) {
        Ok(plan) => of_plan(&plan, values),
        Err(why) => vec![format!("memory: not known, as there is no native code of this program: {why}")],
    }
}

pub(super) fn planned(program: &Validated) -> Result<Plan, String> {
    let expanded = expand(program.sdfg(), &BuiltIn).map_err(|error| error.to_string())?;
    let expanded = validate(expanded).map_err(|rejected| rejected.to_string())?;
    let planned = |target: &Target| lower(&expanded, target, &LowerOptions::default());
    // A program with kernels allocates memory of the host and of the device.
    planned(&Target::cpu())
        .or_else(|error| planned(&Target::cuda()).map_err(|_| error))
        .map_err(|error| error.to_string())
}

fn of_plan(plan: &Plan, values: &Values) -> Vec<String> {
    let replacements: BTreeMap<_, _> =
        values.iter().map(|(symbol, value)| (symbol.clone(), Expr::int(*value))).collect();
    let shown = |bytes: &Expr| bytes.substitute(&replacements).to_string();
    let name = |id: &BufferId| plan.buffer(*id).name.as_str();
    let usage = plan.memory_use();
    let mut lines = Vec::new();
    if !plan.slots.is_empty() || !usage.persistent.is_zero() {
        let total = &usage.arena + &usage.persistent;
        let apart = &usage.unshared + &usage.persistent;
        let reuse =
            if total == apart { String::new() } else { format!(" (without reuse {})", shown(&apart)) };
        lines.push(format!("memory: {} bytes at most for transients{reuse}", shown(&total)));
    }
    for (slot, bytes) in plan.slots.iter().zip(&usage.slots) {
        let names: Vec<&str> = slot.buffers.iter().map(name).collect();
        let turns = if names.len() > 1 { ", in turns" } else { "" };
        lines.push(format!("  {} bytes: {}{turns}", shown(bytes), names.join(", ")));
    }
    if !usage.persistent.is_zero() {
        lines.push(format!("  {} bytes are persistent", shown(&usage.persistent)));
    }
    for (id, bytes) in &usage.each_thread {
        lines.push(format!(
            "memory of each thread while it is at work: {} bytes: {}",
            shown(bytes),
            name(id)
        ));
    }
    if !usage.uncounted.is_empty() {
        let names: Vec<&str> = usage.uncounted.iter().map(name).collect();
        lines.push(format!(
            "memory that is not counted, as only a run decides its size: {}",
            names.join(", ")
        ));
    }
    lines
}
