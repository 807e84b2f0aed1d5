//! C++ code that is compiled unchanged: one translation unit per file, with a function for each tasklet.
//!
//! The tasklets of a file share one unit because they share the C++ code beside the graph and its variables.
//! The function of a tasklet receives values, pointers and symbols that the code names. Line directives refer
//! to the original file, so that compiler messages point to the user's code.

mod parameter;

use std::cell::RefCell;
use std::fmt::Write as _;

use indexmap::IndexMap;
use sdfg::analysis::TaskletConnectors;
use sdfg::dtype::ScalarType;
use sdfg::ir::draft::{DraftSdfg, DraftState};
use sdfg::ir::{Connector, NodeKind, Sdfg, StateId, Tasklet, TaskletBody};
use sdfg::symbolic::Symbol;
use sdfg::syntax::Expression;
use sdfg::tasklet::{ExternalCall, ExternalOrigin};

use self::parameter::{Parameter, ctype, number};
use super::SdfgLowering;
use super::state::Graph;
use crate::model::{self, DescriptorKind};
use crate::report::{Code, Failed, Log};
use crate::text::{Structs, free_names};

/// Headers that DaCe includes.
const PRELUDE: &str = include_str!("prelude.hpp");

/// Headers that cost as much time as all others together, for code that names the standard library.
const STANDARD_HEADERS: [&str; 11] = [
    "algorithm",
    "array",
    "fstream",
    "iostream",
    "map",
    "memory",
    "mutex",
    "numeric",
    "string",
    "tuple",
    "vector",
];

/// The C++ of a file.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    /// Code beside the graph with its place in the file, in the order in which it is met.
    globals: RefCell<IndexMap<String, String>>,
    /// Functions of tasklets by their names.
    functions: RefCell<IndexMap<String, Function>>,
}

/// The function of one tasklet.
#[derive(Debug)]
struct Function {
    label: String,
    /// Position of the tasklet in the file.
    path: String,
    /// The code of the tasklet.
    code: String,
    /// The whole function.
    text: String,
}

impl Unit {
    /// Adds code that stands beside the graph.
    pub(super) fn add_global(&self, place: &str, code: &str) {
        self.globals.borrow_mut().insert(place.to_owned(), code.to_owned());
    }

    /// Gives all external tasklets of a graph the unit, if there are any; each is noted.
    pub(crate) fn settle(&self, sdfg: &mut Sdfg, structs: &Structs, log: &Log) {
        let (globals, functions) = (self.globals.borrow(), self.functions.borrow());
        for Function { label, path, .. } in functions.values() {
            let message =
                format!("the C++ code of `{label}` is compiled as it is, and may do whatever you may");
            log.note(Code::External, path, message);
        }
        if functions.is_empty() {
            for place in globals.keys() {
                log.note(Code::PropertyIgnored, place, "C++ code that no tasklet needs is left out");
            }
            return;
        }
        let all_globals = globals.iter();
        for (place, header) in all_globals.filter_map(|(place, code)| Some((place, header_of_dace(code)?))) {
            let message = format!("it includes DaCe's header `{header}`, which does not exist here");
            log.error(Code::ForeignCode, place, message);
        }
        let mut text = format!("#line 1 \"generated\"\n{PRELUDE}\n");
        let all = globals.values().chain(functions.values().map(|function| &function.code));
        if all.into_iter().any(|code| code.contains("std")) {
            STANDARD_HEADERS.iter().for_each(|name| text.push_str(&format!("#include <{name}>\n")));
        }
        for record in structs.0.values() {
            let fields = record.fields.iter().map(|(name, ty)| format!("{} {name}; ", ctype(*ty)));
            let _ = writeln!(text, "struct {} {{ {}}};", record.name, fields.collect::<String>());
        }
        for (place, code) in globals.iter() {
            let _ = writeln!(text, "{}{code}", line(place));
        }
        functions.values().for_each(|function| text.push_str(&function.text));
        give(sdfg, &text);
    }
}

/// The header of DaCe that code includes, if there is one.
fn header_of_dace(code: &str) -> Option<&str> {
    code.lines().find_map(|line| {
        let header = line.trim().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim();
        let header = header.trim_start_matches(['"', '<']).split(['"', '>']).next()?;
        header.starts_with("dace/").then_some(header)
    })
}

/// Gives the external tasklets of a graph, and of those in it, the source of their functions.
fn give(sdfg: &mut Sdfg, text: &str) {
    let states: Vec<StateId> = sdfg.states().map(|(id, _)| id).collect();
    for id in states {
        let state = sdfg.state_mut(id);
        let nodes: Vec<_> = state.nodes().map(|(id, _)| id).collect();
        for node in nodes {
            match &mut state.node_mut(node).kind {
                NodeKind::Tasklet(Tasklet { body: TaskletBody::External(call), .. }) => {
                    call.origin = ExternalOrigin::Cpp(text.to_owned());
                }
                NodeKind::Nested(nested) => give(&mut nested.sdfg, text),
                NodeKind::Tasklet(_)
                | NodeKind::Access(_)
                | NodeKind::MapEntry(_)
                | NodeKind::MapExit(_)
                | NodeKind::ConsumeEntry(_)
                | NodeKind::ConsumeExit(_)
                | NodeKind::Reduce(_)
                | NodeKind::Library(_) => {}
            }
        }
    }
}

/// The directive after which lines are those of a place in the file.
fn line(place: &str) -> String {
    format!("\n#line 1 {place:?}\n")
}

impl<'a> SdfgLowering<'a> {
    /// A tasklet whose code is left to a C++ compiler; its call follows when all edges are known.
    pub(super) fn foreign_tasklet(node: &model::Node) -> NodeKind {
        let connectors = |names: &IndexMap<String, _>| names.keys().map(Connector::new).collect::<Vec<_>>();
        let body = TaskletBody::External(call_of(String::new(), Vec::new()));
        NodeKind::Tasklet(Tasklet {
            inputs: connectors(&node.inputs),
            outputs: connectors(&node.outputs),
            body,
        })
    }

    /// Writes the functions of tasklets whose code is left to a C++ compiler, and the calls of them.
    pub(super) fn finish_foreign(&self, graph: &mut Graph<'a>) -> Result<(), Failed> {
        for at in std::mem::take(&mut graph.foreign) {
            self.finish_foreign_tasklet(graph, at)?;
        }
        Ok(())
    }

    fn finish_foreign_tasklet(&self, graph: &mut Graph<'a>, at: usize) -> Result<(), Failed> {
        let (node, id) = (&graph.model.nodes[at], graph.nodes[at]);
        let model::NodeKind::Tasklet { code, foreign, .. } = &node.kind else { return Ok(()) };
        let NodeKind::Tasklet(tasklet) = &graph.state.node(id).kind else { return Ok(()) };
        if code.contains("__state") {
            let message = format!(
                "the C++ code of `{}` uses the state of DaCe's generated program, which is not supported",
                node.label
            );
            return Err(self.log().error(Code::ForeignCode, &node.path, message));
        }
        let connectors = TaskletConnectors::of(&self.sdfg, &graph.state, id, tasklet, []);
        let mut parameters = Vec::new();
        for ((name, connector), edges) in connectors.environment.connectors().zip(&connectors.edges) {
            let memlet = edges.first().map(|edge| &graph.state.edge(*edge).memlet);
            let access = memlet.and_then(|memlet| memlet.read_access().or(memlet.write_access()));
            let descriptor = access.and_then(|access| {
                self.containers.values().find(|(id, _)| *id == access.container).map(|(_, found)| *found)
            });
            let declared = node.inputs.get(name).or_else(|| node.outputs.get(name)).and_then(Option::as_ref);
            let is_scalar = descriptor.is_none_or(|found| found.kind == DescriptorKind::Scalar);
            let is_one = access.is_none_or(|access| {
                access.subset().sizes().into_iter().product::<sdfg::symbolic::Expr>().is_one()
            });
            let is_vector = declared.is_some_and(|ty| ty.element.lanes() > 1);
            let seen = parameter::Seen {
                declared,
                fields: descriptor.and_then(|found| found.dtype.fields.as_deref()),
                is_pointer: foreign.pointers.contains(name) || !(is_scalar || is_one || is_vector),
                stream: memlet.filter(|_| descriptor.is_some_and(|found| found.kind_is_stream())),
            };
            let parameter = Parameter::of_connector(name, connector, &seen);
            parameters
                .push(parameter.map_err(|message| self.log().error(Code::Language, &node.path, message))?);
        }
        let names = free_names(code);
        let own = |name: &str| node.inputs.contains_key(name) || node.outputs.contains_key(name);
        let mut constants = String::new();
        for name in names.iter().filter(|name| !own(name)) {
            if let Some(ty) = self.symbol_type(graph, at, name) {
                parameters.push(Parameter::of_symbol(name, ty));
            } else if let Some(constant) = self.constants.get(name) {
                constants.push_str(&constant_of(name, constant));
            }
        }
        let symbol = symbol_of(&node.label, &node.path.to_string(), code);
        let mut function = format!("\n#line 1 \"generated\"\nextern \"C\" void {symbol}(");
        let declared: Vec<&str> =
            parameters.iter().flat_map(|parameter| &parameter.declared).map(String::as_str).collect();
        let _ = writeln!(function, "{}) {{", declared.join(", "));
        parameters.iter().for_each(|parameter| function.push_str(&parameter.before));
        let _ = write!(
            function,
            "{constants}{{{}{code}\n}}\n#line 1 \"generated\"\n",
            line(&format!("tasklet `{}` at {}", node.label, node.path))
        );
        parameters.iter().for_each(|parameter| function.push_str(&parameter.after));
        function.push_str("}\n");
        let function = Function {
            label: node.label.clone(),
            path: node.path.to_string(),
            code: code.clone(),
            text: function,
        };
        self.shared.unit.functions.borrow_mut().insert(symbol.clone(), function);
        if !foreign.global.trim().is_empty() {
            self.shared.unit.add_global(&format!("{}/code_global", node.path), &foreign.global);
        }
        let arguments = parameters.into_iter().flat_map(|parameter| parameter.arguments).collect();
        if let NodeKind::Tasklet(tasklet) = &mut graph.state.node_mut(id).kind {
            tasklet.body = TaskletBody::External(call_of(symbol, arguments));
        }
        Ok(())
    }

    /// The type that DaCe gives a symbol that a node may name; `None` if it is no symbol there.
    fn symbol_type(&self, graph: &Graph<'_>, node: usize, name: &str) -> Option<ScalarType> {
        let mut scope = graph.paths.scope_of(node);
        while let Some(entry) = scope {
            let found = &graph.model.nodes[entry];
            match &found.kind {
                model::NodeKind::MapEntry(map) => {
                    let range =
                        map.params.iter().zip(&map.ranges.0).find(|(param, _)| param.as_str() == name);
                    if let Some((_, range)) = range {
                        // The variable has the type of the first value.
                        let wide = |symbol: &Symbol| self.declared_type(symbol.as_str()).size() > 4;
                        let is_wide = range.begin.free_symbols().iter().any(wide);
                        return Some(if is_wide { ScalarType::I64 } else { ScalarType::I32 });
                    }
                    if found.inputs.contains_key(name) {
                        return Some(ScalarType::I64);
                    }
                }
                model::NodeKind::ConsumeEntry(consume) if consume.element.as_str() == name => {
                    return Some(ScalarType::I32);
                }
                _ => {}
            }
            scope = graph.paths.scope_of(entry);
        }
        let is_symbol = self.program.symbols.contains_key(name) || self.assigned.contains(name);
        (is_symbol && !self.numbers.keys().any(|known| known.as_str() == name))
            .then(|| self.declared_type(name))
    }

    fn declared_type(&self, symbol: &str) -> ScalarType {
        self.program.symbols.get(symbol).map_or(ScalarType::I64, |ty| ty.element.lane())
    }
}

fn call_of(symbol: String, arguments: Vec<Expression>) -> ExternalCall {
    ExternalCall { symbol, arguments, result: None, origin: ExternalOrigin::Cpp(String::new()) }
}

/// The definition of a constant in C++.
fn constant_of(name: &str, constant: &model::Constant) -> String {
    let ty = ctype(constant.descriptor.dtype.element.lane());
    let values: Vec<String> = constant.values.iter().map(|value| number(*value)).collect();
    match (constant.descriptor.kind == DescriptorKind::Scalar, values.as_slice()) {
        (true, [value]) => format!("const {ty} {name} = {value};\n"),
        _ => format!("static const {ty} {name}[] = {{{}}};\n", values.join(", ")),
    }
}

/// The name of a function, which no other tasklet with other code has, in this program or another.
fn symbol_of(label: &str, path: &str, code: &str) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in path.bytes().chain([0]).chain(code.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let label: String = label.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("sdfg_tasklet_{label}_{hash:016x}")
}
