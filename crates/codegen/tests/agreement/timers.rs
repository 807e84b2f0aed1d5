//! The agreement programs with timers around everything and with debug information: results stay the same,
//! and counts equal those of the interpreter.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use sdfg::interpret::{Arguments, Report};
use sdfg::tensor::Tensor;
use sdfg::validate::Validated;
use sdfg_codegen::interface::ProfileFormat;
use sdfg_codegen::llvm::{self, CompileOptions, OptLevel};
use sdfg_codegen::load::{ArgumentBuffer, Library};
use sdfg_codegen::lower::{Instrumentation, LowerOptions, ProfileLevel, lower};

use super::harness::{difference, options};

/// Number of executions of each region, by kind and path.
type Counts = BTreeMap<(String, String), u64>;

/// Runs a program with timers, which must give what the interpreter gave and count what its report counts.
pub(crate) fn agree_when_timed(
    program: &Validated,
    arguments: &Arguments,
    expected: &Arguments,
    report: &Report,
) -> Result<(), String> {
    let mut actual = arguments.clone();
    let (result, counts) = run_timed(program, &mut actual, 3)?;
    result.map_err(|error| format!("with timers: {error}"))?;
    if let Some(difference) = difference(expected, &actual) {
        return Err(format!("with timers, {difference}"));
    }
    let blocks: BTreeMap<String, u64> =
        report.blocks.iter().map(|(path, count)| (path.to_string(), *count)).collect();
    for ((kind, path), count) in &counts {
        let expected = blocks.get(path).copied().unwrap_or(0);
        if kind == "block" && *count != expected {
            return Err(format!("`{path}` ran {expected} times, its timer {count} times"));
        }
    }
    let tasklets: u64 =
        counts.iter().filter(|((kind, _), _)| kind == "tasklet").map(|(_, count)| count).sum();
    // Those on the lanes of one vector are timed together.
    let on_lanes = sdfg::text::print(program.sdfg()).contains("schedule(simd)");
    if tasklets != report.tasklets && !(on_lanes && (1..report.tasklets).contains(&tasklets)) {
        return Err(format!("{} tasklets ran, their timers {tasklets} times", report.tasklets));
    }
    if counts.get(&("program".to_owned(), program.sdfg().name.clone())) != Some(&1) {
        return Err(format!("the program ran once, not so in {counts:?}"));
    }
    Ok(())
}

/// Runs a program with timers around everything; how it ended and what was counted.
pub(crate) fn run_timed(
    program: &Validated,
    arguments: &mut Arguments,
    threads: u32,
) -> Result<(Result<(), String>, Counts), String> {
    let instrumentation = Some(Instrumentation { level: ProfileLevel::Tasklet, counters: false });
    let options = CompileOptions { level: OptLevel::Quick, ..options() };
    let lowering = LowerOptions { instrumentation, debug: Some("/".to_owned()), ..options.lowering() };
    let plan = lower(program, &options.target(), &lowering).map_err(|e| e.to_string())?;
    let object = llvm::compile(&plan, &options).map_err(|error| error.to_string())?;
    let library = Library::load(&object).map_err(|error| error.to_string())?;

    let names: Vec<String> = arguments.tensors().map(|(name, _)| name.to_owned()).collect();
    let mut tensors: Vec<(String, Tensor)> =
        names.into_iter().filter_map(|name| Some((name.clone(), arguments.take(&name)?))).collect();
    let mut call = library.call();
    if let Some(threads) = NonZeroU32::new(threads) {
        call = call.threads(threads);
    }
    for (name, value) in arguments.symbols() {
        call = call.symbol(name, value);
    }
    for (name, tensor) in &mut tensors {
        call = call.buffer(name, ArgumentBuffer::from_tensor_mut(tensor));
    }
    let mut prepared = call.prepare().map_err(|error| error.to_string())?;
    // SAFETY: the interpreter brought the program to an end on these arguments.
    let result = unsafe { prepared.run() }.map_err(|error| error.to_string());
    let table = prepared.profile(ProfileFormat::Table).ok_or("there is no profile")?;
    drop(prepared);
    for (name, tensor) in tensors {
        arguments.set(&name, tensor);
    }
    Ok((result, counts(&table)))
}

/// The first two columns of a table, and the last.
fn counts(table: &str) -> Counts {
    let rows = table.lines().skip(1).filter(|line| !line.starts_with('*'));
    let columns = rows.map(|row| row.split_whitespace().collect::<Vec<_>>());
    columns
        .filter_map(|columns| {
            let [kind, count, .., path] = columns.as_slice() else { return None };
            Some((((*kind).to_owned(), (*path).to_owned()), count.parse().ok()?))
        })
        .collect()
}
