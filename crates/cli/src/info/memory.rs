//! Memory table of `sdfg info`: memory of the host and of a device that native code allocates for transients, the transients that
//! share it, and memory of blocks.

use std::collections::BTreeMap;

use sdfg::symbolic::Expr;
use sdfg::validate::{Validated, validate};
use sdfg_codegen::lower::{LowerOptions, Target, lower};
use sdfg_codegen::plan::{BlockMemory, BufferId, Plan};
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
    let names = |ids: &mut dyn Iterator<Item = &BufferId>| ids.map(name).collect::<Vec<_>>().join(", ");
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
        let turns = if slot.buffers.len() > 1 { ", in turns" } else { "" };
        lines.push(format!("  {} bytes: {}{turns}", shown(bytes), names(&mut slot.buffers.iter())));
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
    let device = plan.device_memory();
    if !device.pool.is_empty() || !device.persistent.is_zero() {
        let total = &device.most + &device.persistent;
        let apart = &device.unshared + &device.persistent;
        let reuse =
            if total == apart { String::new() } else { format!(" (without reuse {})", shown(&apart)) };
        lines.push(format!("memory of the device: {} bytes at most for transients{reuse}", shown(&total)));
    }
    for (id, bytes) in &device.pool {
        lines.push(format!("  {} bytes: {}", shown(bytes), name(id)));
    }
    if !device.persistent.is_zero() {
        lines.push(format!("  {} bytes are persistent", shown(&device.persistent)));
    }
    for BlockMemory { kernel, buffers, bytes } in &device.blocks {
        let names = names(&mut buffers.iter());
        lines.push(format!("memory of each block of the kernel {kernel}: {} bytes: {names}", shown(bytes)));
    }
    if !usage.uncounted.is_empty() {
        let names = names(&mut usage.uncounted.iter());
        lines.push(format!("memory that is not counted, as only a run decides its size: {names}"));
    }
    lines
}
