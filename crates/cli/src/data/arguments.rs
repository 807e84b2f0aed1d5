//! Converts options to the arguments of a call, and its results to files.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

use sdfg::analysis::AccessSets;
use sdfg::dtype::{ElementType, ScalarKind};
use sdfg::interpret::{Arguments, queue_names, stream_of};
use sdfg::ir::{Container, ContainerId, ContainerKind, Edge, Flow, Sdfg};
use sdfg::npy;
use sdfg::symbolic::Symbol;
use sdfg::tensor::Tensor;

use super::dump::Exposed;
use super::file::{InputFile, listing};
use super::generate::Pattern;
use super::options::{Contents, DataOptions, Dump, Output, SymbolValue};
use super::parts::{EveryElement, Parts};
use super::summary::summary;
use crate::failure::{Failure, did_you_mean};
use crate::output::{self, Destination, place};
use crate::terminal::Terminal;

/// Inputs of a run, and the destinations of its results.
#[derive(Debug)]
pub(crate) struct RunData {
    /// Tensors and symbols, as the program asks for them.
    pub(crate) arguments: Arguments,
    /// Arguments that the program writes, in order of declaration, without those that are dumped.
    written: Vec<String>,
    outputs: Vec<Output>,
    /// Containers to show, with the arguments that hold them.
    dumps: Vec<(Dump, String)>,
}

impl RunData {
    /// Reads and generates everything that a run of the program needs.
    pub(crate) fn prepare(
        exposed: &Exposed,
        options: &DataOptions,
        terminal: Terminal,
    ) -> Result<Self, Failure> {
        RunData::prepare_parts(exposed, options, &EveryElement, terminal)
    }

    /// Reads and generates the elements that this process holds of everything that a run needs.
    pub(crate) fn prepare_parts(
        exposed: &Exposed,
        options: &DataOptions,
        parts: &dyn Parts,
        terminal: Terminal,
    ) -> Result<Self, Failure> {
        let sdfg = exposed.program.sdfg();
        check_names(sdfg, options)?;
        check_paths(options)?;
        let accesses = AccessSets::of_region(sdfg, sdfg.body()).through_aliases(sdfg);
        let mut files: BTreeMap<&str, InputFile<'_>> = BTreeMap::new();
        for input in &options.inputs {
            if let Contents::File(path) = &input.contents {
                let container = argument(sdfg, &input.name)?;
                let file = InputFile::open(path, container, parts.is_part(&container.name))?;
                files.insert(input.name.as_str(), file);
            }
        }
        let Symbols { values: symbols, givers } = symbols(sdfg, options, &files)?;
        let mut arguments = Arguments::new();
        for (symbol, value) in &symbols {
            arguments.set_symbol(symbol.as_str(), *value);
        }
        for (id, container) in sdfg.arguments() {
            let shape = shape(container, &symbols)?;
            if container.is_stream() {
                let is_read = accesses.reads.contains(&id);
                for (name, tensor) in queues(container, &shape, options, &mut files)? {
                    let tensor = match tensor {
                        Some(tensor) => tensor,
                        None => {
                            if is_read {
                                terminal.note(&format!("`{name}` begins empty"));
                            }
                            Tensor::undefined(container.element, vec![0])
                                .map_err(|error| unmade(container, &error))?
                        }
                    };
                    arguments.set(name, tensor);
                }
                continue;
            }
            let held = parts.held(&container.name, &symbols)?;
            let all = || shape.iter().map(|extent| 0..*extent).collect();
            let positions: Vec<Range<i64>> = held.unwrap_or_else(all);
            let tensor = match files.remove(container.name.as_str()) {
                Some(file) => {
                    check_shape(container, (file.path, &file.shape), &shape, &symbols, &givers)?;
                    file.part(container, &positions)?
                }
                None if exposed.added.contains(&container.name) => {
                    Tensor::undefined(container.element, shape).map_err(|error| unmade(container, &error))?
                }
                None => {
                    let chosen = options.inputs.iter().find(|input| input.name == container.name);
                    let pattern = match chosen.map(|input| &input.contents) {
                        Some(Contents::Generated(pattern)) => pattern.clone(),
                        Some(Contents::File(_)) | None => {
                            let pattern = default_pattern(container.element);
                            let is_input = accesses.reads.contains(&id);
                            if is_input {
                                terminal.note(&format!("`{}` is filled with `{pattern}`", container.name));
                            }
                            if is_input { pattern } else { Pattern::Zeros }
                        }
                    };
                    let filling = pattern.of(container.element).map_err(|what| {
                        Failure::usage(what)
                            .at(format_args!("--input {}={pattern}", container.name))
                            .help("give a number that the elements can be")
                    })?;
                    filling
                        .part(&container.name, container.element, &shape, &positions)
                        .map_err(|error| unmade(container, &error))?
                }
            };
            arguments.set(&container.name, tensor);
        }
        let is_shown = |name: &String| exposed.shown.contains(name);
        // What is taken from a stream is no longer there.
        let is_written = |id: &ContainerId| accesses.writes.contains(id) && !only_refreshed(sdfg, *id);
        let written = sdfg.arguments().filter(|(id, container)| is_written(id) || container.is_stream());
        let names = |(_, container): (_, &Container)| {
            let tensors = arguments.tensors().map(|(name, _)| name.to_owned());
            let of_it = tensors.filter(|name| stream_of(name).unwrap_or(name) == container.name);
            of_it.collect::<Vec<String>>()
        };
        let written: Vec<String> = written.flat_map(names).filter(|name| !is_shown(name)).collect();
        let dumps = options.dumps.iter().cloned().zip(exposed.shown.iter().cloned()).collect();
        Ok(RunData { arguments, written, outputs: options.outputs.clone(), dumps })
    }

    /// The results that are wanted, each with its file; without any files, those that are summed up.
    pub(crate) fn results(&self) -> Vec<(&str, Option<&str>)> {
        if self.outputs.is_empty() {
            return self.written.iter().map(|name| (name.as_str(), None)).collect();
        }
        self.outputs.iter().map(|output| (output.name.as_str(), Some(output.path.as_str()))).collect()
    }

    /// Writes the results that were asked for, as far as they are given, and sums up the others.
    pub(crate) fn finish(&self, results: &Arguments) -> Result<(), Failure> {
        for output in &self.outputs {
            let Some(tensor) = results.get(&output.name) else { continue };
            Destination::new(Some(&output.path)).write(&npy::write(tensor))?;
        }
        let written = if self.outputs.is_empty() { self.written.as_slice() } else { &[] };
        let mut shown: Vec<(String, &String)> = written.iter().map(|name| (name.clone(), name)).collect();
        for (dump, argument) in &self.dumps {
            match &dump.path {
                None => shown.push((dump.text(), argument)),
                Some(path) => {
                    let Some(tensor) = results.get(argument) else { continue };
                    Destination::new(Some(path)).write(&npy::write(tensor))?;
                }
            }
        }
        let tensors = shown.into_iter().filter_map(|(name, argument)| Some((name, results.get(argument)?)));
        let lines: String = tensors.map(|(name, tensor)| summary(&name, tensor) + "\n").collect();
        output::print(lines.as_bytes())
    }
}

/// Whether nothing writes a container but copies of a part of it to itself, which refresh halos and keep all values.
fn only_refreshed(sdfg: &Sdfg, id: ContainerId) -> bool {
    let is_other = |edge: &Edge| match &edge.memlet.flow {
        Flow::Copy { from, to, resolution } if to.container == id => {
            from.container != id || from.subset() != to.subset() || resolution.is_some()
        }
        Flow::Write { to, .. } => to.container == id,
        Flow::Copy { .. } | Flow::Read(_) | Flow::Order | Flow::Value | Flow::Bind(_) => false,
    };
    let mut edges = sdfg.states().flat_map(|(_, state)| state.edges());
    let aliases = sdfg.containers().any(|(_, container)| container.is_alias());
    !aliases && !edges.any(|(_, edge)| is_other(edge))
}

/// The names of the queues of a stream, each with the tensor of its file.
fn queues(
    container: &Container,
    extents: &[i64],
    options: &DataOptions,
    files: &mut BTreeMap<&str, InputFile<'_>>,
) -> Result<Vec<(String, Option<Tensor>)>, Failure> {
    let names: Vec<String> = queue_names(&container.name, extents).collect();
    let stream = &container.name;
    let is_of_it = |name: &str| stream_of(name).unwrap_or(name) == stream;
    let inputs = options.inputs.iter().map(|input| ("--input", &input.name));
    let outputs = options.outputs.iter().map(|output| ("--output", &output.name));
    for (option, name) in inputs.chain(outputs).filter(|(_, name)| is_of_it(name)) {
        if !names.contains(name) {
            let what = if extents.is_empty() {
                format!("`{stream}` is one stream, no array of streams")
            } else {
                format!("`{stream}` is an array of streams with the extents {extents:?}")
            };
            let failure = Failure::usage(what).at(format_args!("{option} {name}=..."));
            return Err(match names.first() {
                Some(first) => failure.help(format_args!("name a queue, such as `{first}`")),
                None => failure,
            });
        }
    }
    for input in options.inputs.iter().filter(|input| is_of_it(&input.name)) {
        if let Contents::Generated(_) = input.contents {
            return Err(Failure::usage(format!(
                "`{stream}` is a stream, which begins with the elements of a file or empty: patterns have no number of elements"
            )));
        }
    }
    let mut tensor = |name: &String| files.remove(name.as_str()).and_then(InputFile::into_tensor);
    Ok(names.into_iter().map(|name| (name.clone(), tensor(&name))).collect())
}

/// A container for which there is no memory.
fn unmade(container: &Container, error: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format_args!("cannot make `{}`: {error}", container.name))
        .help("set smaller sizes with --set")
}

/// Every symbol that an option gives a value is one of the program's, once.
pub(crate) fn check_symbols(sdfg: &Sdfg, option: &str, symbols: &[SymbolValue]) -> Result<(), Failure> {
    let known = sdfg.symbols().map(|(symbol, _)| symbol.to_string()).collect();
    check_known(known, option, symbols)?;
    for SymbolValue { name, value } in symbols {
        let ty = Symbol::new(name).ok().and_then(|symbol| sdfg.symbol_type(&symbol));
        if let Some(ty) = ty.filter(|ty| !ty.holds(*value)) {
            return Err(Failure::usage(format_args!(
                "symbol `{name}` = {value} does not fit in {}",
                ty.name()
            ))
            .at(format_args!("{option} {name}={value}")));
        }
    }
    Ok(())
}

/// The same for a cost model, which also takes values of scalar arguments.
pub(crate) fn check_sizes(sdfg: &Sdfg, option: &str, sizes: &[SymbolValue]) -> Result<(), Failure> {
    let scalars = sdfg.arguments().filter(|(_, container)| is_integer(container));
    let known = sdfg.symbols().map(|(symbol, _)| symbol.to_string());
    check_known(known.chain(scalars.map(|(_, scalar)| scalar.name.clone())).collect(), option, sizes)
}

fn is_integer(container: &Container) -> bool {
    matches!(container.kind, ContainerKind::Scalar) && container.element.lane().is_integer()
}

fn check_known(known: Vec<String>, option: &str, symbols: &[SymbolValue]) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    for SymbolValue { name, value } in symbols {
        if !known.contains(name) {
            let similar = did_you_mean(name, known.iter().map(String::as_str));
            return Err(Failure::usage(format_args!("the program has no symbol `{name}`{similar}"))
                .at(format_args!("{option} {name}={value}"))
                .help(listed("symbols", &known)));
        }
        if !seen.insert(name) {
            return Err(Failure::usage(format_args!("symbol `{name}` is set twice"))
                .at(format_args!("{option} {name}={value}")));
        }
    }
    Ok(())
}

/// No extent of an argument is negative, as far as these values tell.
pub(crate) fn check_extents(sdfg: &Sdfg, values: &BTreeMap<Symbol, i64>) -> Result<(), Failure> {
    for (_, container) in sdfg.arguments() {
        for extent in container.shape() {
            let value = extent.eval(&|symbol| values.get(symbol).copied());
            if let Ok(value) = value
                && value < 0
            {
                let name = &container.name;
                return Err(Failure::usage(format!(
                    "the extent `{extent}` of `{name}` is {value}, which is negative"
                ))
                .at("--set"));
            }
        }
    }
    Ok(())
}

/// Every name on the command line is one of the program's, once.
fn check_names(sdfg: &Sdfg, options: &DataOptions) -> Result<(), Failure> {
    check_symbols(sdfg, "--set", &options.symbols)?;
    for (option, names) in [
        ("--input", options.inputs.iter().map(|input| &input.name).collect::<Vec<_>>()),
        ("--output", options.outputs.iter().map(|output| &output.name).collect()),
    ] {
        let mut seen = BTreeSet::new();
        for name in names {
            argument(sdfg, name).map_err(|failure| failure.at(format_args!("{option} {name}=...")))?;
            if !seen.insert(name) {
                return Err(Failure::usage(format_args!("{option} names `{name}` twice")));
            }
        }
    }
    Ok(())
}

/// No two results go to one file, and each can be written.
fn check_paths(options: &DataOptions) -> Result<(), Failure> {
    let mut seen: BTreeMap<PathBuf, String> = BTreeMap::new();
    let dumped = options.dumps.iter().filter_map(|dump| Some(("--dump", dump.text(), dump.path.as_ref()?)));
    let outputs = options.outputs.iter().map(|output| ("--output", output.name.clone(), &output.path));
    for (option, name, path) in outputs.chain(dumped) {
        if let Some(first) = seen.insert(place(path), name.clone()) {
            return Err(Failure::usage(format_args!(
                "`{first}` and `{name}` cannot both be written to `{path}`"
            ))
            .at(format_args!("{option} {name}={path}"))
            .help("give each a file of its own"));
        }
        Destination::new(Some(path))
            .check()
            .map_err(|failure| failure.at(format_args!("{option} {name}={path}")))?;
    }
    Ok(())
}

pub(super) fn listed(noun: &str, names: &[String]) -> String {
    if names.is_empty() {
        format!("it has no {noun}")
    } else {
        format!("its {noun} are {}", names.join(", "))
    }
}

/// The argument of this name, or with the queue of this name.
pub(crate) fn argument<'g>(sdfg: &'g Sdfg, name: &str) -> Result<&'g Container, Failure> {
    let (queue, name) = (stream_of(name), stream_of(name).unwrap_or(name));
    if let Some((_, container)) = sdfg.arguments().find(|(_, container)| container.name == name) {
        if queue.is_some() && !container.is_stream() {
            return Err(Failure::usage(format_args!("`{name}` is no stream, so it has no queues")));
        }
        return Ok(container);
    }
    let known: Vec<String> = sdfg.arguments().map(|(_, container)| container.name.clone()).collect();
    let similar = did_you_mean(name, known.iter().map(String::as_str));
    let hidden = if sdfg.find_container(name).is_some() { "; it is transient" } else { "" };
    Err(Failure::usage(format_args!("the program has no argument `{name}`{similar}{hidden}"))
        .help(listed("arguments", &known)))
}

/// Values of symbols.
struct Symbols {
    values: BTreeMap<Symbol, i64>,
    /// The source of each value, for messages.
    givers: BTreeMap<Symbol, String>,
}

/// Values of all symbols: those that were set, and those that are an extent of a file.
fn symbols(
    sdfg: &Sdfg,
    options: &DataOptions,
    files: &BTreeMap<&str, InputFile<'_>>,
) -> Result<Symbols, Failure> {
    let mut values: BTreeMap<Symbol, i64> = BTreeMap::new();
    let mut givers: BTreeMap<Symbol, String> = BTreeMap::new();
    for (symbol, _) in sdfg.symbols() {
        if let Some(set) = options.symbols.iter().find(|set| set.name == symbol.as_str()) {
            values.insert(symbol.clone(), set.value);
            givers.insert(symbol.clone(), "--set".to_owned());
        }
    }
    for (_, container) in sdfg.arguments() {
        let Some(file) = files.get(container.name.as_str()) else { continue };
        for (dimension, (extent, found)) in container.shape().iter().zip(&file.shape).enumerate() {
            if let Some(symbol) = extent.as_symbol().filter(|symbol| !values.contains_key(*symbol)) {
                values.insert(symbol.clone(), *found);
                givers.insert(symbol.clone(), format!("dimension {dimension} of `{}`", container.name));
            }
        }
    }
    let missing: Vec<String> = sdfg
        .symbols()
        .filter(|(symbol, _)| !values.contains_key(symbol))
        .map(|(s, _)| s.to_string())
        .collect();
    match missing.as_slice() {
        [] => Ok(Symbols { values, givers }),
        [first, ..] => {
            let what = if missing.len() == 1 { "symbol" } else { "symbols" };
            Err(Failure::usage(format_args!("{what} without a value: {}", missing.join(", "))).help(
                format_args!("add `--set {first}=VALUE`, or an input file whose shape has it as an extent"),
            ))
        }
    }
}

fn shape(container: &Container, symbols: &BTreeMap<Symbol, i64>) -> Result<Vec<i64>, Failure> {
    let mut shape = Vec::with_capacity(container.shape().len());
    for (dimension, extent) in container.shape().iter().enumerate() {
        let place = format!("dimension {dimension} of `{}`", container.name);
        let value = extent.eval(&|symbol| symbols.get(symbol).copied()).map_err(|error| {
            Failure::usage(format_args!("the extent `{extent}` has no value: {error}")).at(&place)
        })?;
        if value < 0 {
            return Err(Failure::usage(format_args!("the extent `{extent}` is {value}, which is negative"))
                .at(&place)
                .help("set larger sizes with --set"));
        }
        shape.push(value);
    }
    Ok(shape)
}

fn check_shape(
    container: &Container,
    (path, found): (&str, &[i64]),
    wanted: &[i64],
    symbols: &BTreeMap<Symbol, i64>,
    givers: &BTreeMap<Symbol, String>,
) -> Result<(), Failure> {
    let one_element = wanted.is_empty() && found.iter().all(|extent| *extent == 1);
    if found == wanted || one_element {
        return Ok(());
    }
    let free: BTreeSet<Symbol> = container.shape().iter().flat_map(|extent| extent.free_symbols()).collect();
    let value = |symbol: &Symbol| {
        let by = givers.get(symbol).map(|giver| format!(" by {giver}")).unwrap_or_default();
        Some(format!("{symbol} = {}{by}", symbols.get(symbol)?))
    };
    let values: Vec<String> = free.iter().filter_map(value).collect();
    let with = if values.is_empty() { String::new() } else { format!(" with {}", values.join(", ")) };
    Err(Failure::usage(format_args!(
        "`{}` has shape {}, the file {}",
        container.name,
        listing(wanted),
        listing(found)
    ))
    .at(format_args!("--input {}={path}", container.name))
    .help(format_args!(
        "it is declared as {}{with}: set other sizes with --set, or give a file of this shape",
        listing(container.shape())
    )))
}

/// Numbers are random; integers are zero, since they may be indices.
fn default_pattern(element: ElementType) -> Pattern {
    match element.lane().kind() {
        ScalarKind::Float | ScalarKind::Complex => Pattern::Random(0),
        ScalarKind::Bool | ScalarKind::Unsigned | ScalarKind::Signed => Pattern::Zeros,
    }
}
