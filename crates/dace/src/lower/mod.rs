//! Lowers DaCe's model to our graph.
//!
//! A [`SdfgLowering`] for each SDFG holds the meaning of its names. Lowering creates containers first, then control
//! flow block by block. Finally it declares the symbols that turn out to be free, because DaCe does not state
//! which symbols a caller provides.

mod caller_symbols;
mod containers;
mod control;
mod conversion;
mod deferred_bounds;
pub(crate) mod dynamic_sizes;
mod expression;
mod extents;
mod external;
mod fill;
mod hazards;
mod indirect;
mod lanes;
mod lifetimes;
mod nested;
mod node;
mod outputs;
mod overwritten;
pub(crate) mod paths;
mod races;
mod self_copies;
mod sequence;
pub(crate) mod sequential;
mod state;
mod stencil;
mod tasklet;
mod unroll;
mod views;

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use sdfg::analysis::symbols::free_symbols_of_state;
use sdfg::dtype::ScalarType;
use sdfg::ir::draft::DraftSdfg;
use sdfg::ir::{BlockId, BlockKind as OurBlockKind, ContainerId, Flow, RegionId, Sdfg, State, Transition};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::Expression;

use self::external::Unit;
use crate::Options;
use crate::decode::{Decoded, Version};
use crate::model::{BlockKind, Constant, Descriptor, Program, Region};
use crate::report::{Code, Failed, Log};
use crate::text::{Structs, from_name};
use extents::Extents;

/// State shared by the whole file.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a> {
    pub(crate) log: &'a Log,
    pub(crate) structs: &'a Structs,
    pub(crate) options: &'a Options,
    pub(crate) version: Version,
    /// Code that is left to a C++ compiler.
    pub(crate) unit: &'a Unit,
}

/// One SDFG on its way from the one form to the other.
pub(crate) struct SdfgLowering<'a> {
    pub(crate) shared: Shared<'a>,
    pub(crate) program: &'a Program,
    pub(crate) sdfg: Sdfg,
    /// Containers of the file, and constants that code names.
    pub(crate) containers: IndexMap<String, (ContainerId, &'a Descriptor)>,
    /// Constants of this SDFG and those around it.
    pub(crate) constants: IndexMap<String, &'a Constant>,
    /// Values of scalar constants, for code.
    pub(crate) literals: BTreeMap<String, Expression>,
    /// Values of integer constants, for sizes and bounds.
    pub(crate) numbers: BTreeMap<Symbol, Expr>,
    /// Transients that are zero when they are allocated.
    pub(crate) zeroed: BTreeSet<ContainerId>,
    /// Arguments of the function call that is lowered.
    pub(crate) arguments: &'a [(String, String)],
    /// Symbols that this SDFG assigns, or that those around it have for it without a mapping.
    pub(crate) assigned: BTreeSet<String>,
    /// Arguments that are the same part of a container in all iterations of a map around the call.
    pub(crate) passed_alike: BTreeSet<String>,
    labels: Labels,
}

/// Makes a graph of a program.
pub(crate) fn lower(decoded: &Decoded, options: &Options, log: &Log) -> Result<Sdfg, Failed> {
    let unit = Unit::default();
    let shared = Shared { log, structs: &decoded.structs, options, version: decoded.version, unit: &unit };
    let mut sdfg = lower_program(&decoded.program, shared, &IndexMap::new(), &[], None)?;
    unit.settle(&mut sdfg, &decoded.structs, log);
    Ok(sdfg)
}

/// Makes a graph of one SDFG; `outer` are the constants of those around it, `mapping` the values that a caller gives to symbols,
/// `extents` those of its arguments that are not as it declares them, if something calls it.
fn lower_program<'a>(
    program: &'a Program,
    shared: Shared<'a>,
    outer: &IndexMap<String, &'a Constant>,
    mapping: &[(String, String)],
    extents: Option<&Extents>,
) -> Result<Sdfg, Failed> {
    let sdfg = lower_with(program, shared, outer, mapping, (extents, &BTreeSet::new()))?;
    let is_container = |symbol: &&Symbol| sdfg.find_container(symbol.as_str()).is_some();
    let mut read: BTreeSet<Symbol> =
        sdfg.symbols().map(|(symbol, _)| symbol).filter(is_container).cloned().collect();
    read.extend(node::scalars_of_properties(&sdfg));
    // Scalars whose names stand in sizes and indices are found only now.
    if read.is_empty() { Ok(sdfg) } else { lower_with(program, shared, outer, mapping, (extents, &read)) }
}

/// As [`lower_program`], where sizes and indices name scalars: symbols with their values stand for them.
fn lower_with<'a>(
    program: &'a Program,
    shared: Shared<'a>,
    outer: &IndexMap<String, &'a Constant>,
    mapping: &[(String, String)],
    (extents, read): (Option<&Extents>, &BTreeSet<Symbol>),
) -> Result<Sdfg, Failed> {
    let mut constants = outer.clone();
    constants.extend(program.constants.iter().map(|(name, constant)| (name.clone(), constant)));
    let mut lowering = SdfgLowering {
        shared,
        program,
        sdfg: Sdfg::new(program.name.clone()),
        containers: IndexMap::new(),
        constants,
        literals: BTreeMap::new(),
        numbers: BTreeMap::new(),
        zeroed: BTreeSet::new(),
        arguments: &[],
        assigned: BTreeSet::new(),
        passed_alike: extents.map_or_else(BTreeSet::new, |found| found.passed_alike.clone()),
        labels: Labels::default(),
    };
    lowering.sdfg.float_mode = program.float_mode;
    program.globals.iter().for_each(|(place, code)| shared.unit.add_global(place, code));
    lowering.note_assigned(&program.body);
    for scalar in read {
        if let Ok(value) = Symbol::new(&format!("__value_of_{scalar}")) {
            lowering.numbers.insert(scalar.clone(), Expr::symbol(value));
        }
    }
    lowering.declare_containers(extents);
    let body = lowering.sdfg.body();
    lowering.region(&program.body, body)?;
    lowering.read_scalars(read)?;
    lowering.zero_maybe_unwritten();
    lowering.extend_lifetimes();
    let zeroed = std::mem::take(&mut lowering.zeroed);
    lowering.fill_with_zeros(&zeroed);
    for symbol in caller_symbols::caller_symbols(&lowering.sdfg, mapping) {
        lowering.sdfg.declare_symbol(symbol, ScalarType::I64);
    }
    Ok(lowering.sdfg)
}

impl<'a> SdfgLowering<'a> {
    pub(crate) fn log(&self) -> &'a Log {
        self.shared.log
    }

    /// Notes what a region assigns, with all regions in it.
    fn note_assigned(&mut self, region: &'a Region) {
        for edge in &region.edges {
            self.assigned.extend(edge.assignments.iter().map(|(name, _)| name.clone()));
        }
        for block in &region.blocks {
            match &block.kind {
                BlockKind::Loop(repeated) => {
                    self.assigned.extend(repeated.variable.clone());
                    self.note_assigned(&repeated.body);
                }
                BlockKind::Conditional(branches) => {
                    branches.iter().for_each(|(_, part)| self.note_assigned(part))
                }
                BlockKind::Group { body, .. } => self.note_assigned(body),
                BlockKind::State(_) | BlockKind::Break | BlockKind::Continue | BlockKind::Return => {}
            }
        }
    }

    /// Gives symbols the values of scalars: before anything runs, and again behind each state that writes one.
    fn read_scalars(&mut self, read: &BTreeSet<Symbol>) -> Result<(), Failed> {
        let mut first = Vec::new();
        for scalar in read {
            let Some(value) = self.numbers.get(scalar).and_then(Expr::as_symbol).cloned() else { continue };
            let Some(id) = self.sdfg.find_container(scalar.as_str()) else { continue };
            let refuse = |what: &str| {
                let message = format!("`{scalar}` stands in an index, size or bound, and {what}");
                Err(self.log().error(Code::Symbol, &self.sdfg.name, message))
            };
            let sized = self.sdfg.arguments().find(|(_, argument)| {
                argument.shape().iter().any(|extent| extent.free_symbols().contains(&value))
            });
            if let Some((_, argument)) = sized {
                let argument = &argument.name;
                return refuse(&format!(
                    "sizes the argument `{argument}`, whose size is that at the call, and the program writes it: copy it to a transient first"
                ));
            }
            let lane = self.sdfg.container(id).element.lane();
            if !lane.is_integer() && lane != ScalarType::Bool {
                return refuse("is no integer");
            }
            let writes = |state: &State| {
                let mut into = state.accesses_of(id).flat_map(|node| state.in_edges(node));
                into.any(|edge| state.edge(edge).memlet.flow != Flow::Order)
            };
            let mut writers = Vec::new();
            for (block, found) in self.sdfg.blocks() {
                let OurBlockKind::State(state) = found.kind else { continue };
                let state = self.sdfg.state(state);
                if !writes(state) {
                    continue;
                }
                if free_symbols_of_state(state).contains(&value) {
                    return refuse("is written in the same state");
                }
                writers.push((block, found.region));
            }
            let assignment = (value, Expression::name(scalar.as_str()));
            if writers.is_empty() || !self.sdfg.container(id).transient {
                first.push(assignment.clone());
            }
            for (block, region) in writers {
                self.assign_behind(block, region, &assignment);
            }
        }
        let body = self.sdfg.body();
        let Some(dst) = self.sdfg.region(body).start.filter(|_| !first.is_empty()) else { return Ok(()) };
        let label = self.fresh_label("read_scalars");
        let (src, _) = self.sdfg.add_state(body, State::new(label));
        self.sdfg.add_transition(Transition { src, dst, condition: None, assignments: first, loc: None });
        self.sdfg.region_mut(body).start = Some(src);
        Ok(())
    }

    /// Adds an assignment to all ways that lead on from a block.
    fn assign_behind(&mut self, src: BlockId, region: RegionId, assignment: &(Symbol, Expression)) {
        let next = self.sdfg.transitions_from(src);
        for id in &next {
            self.sdfg.transition_mut(*id).assignments.push(assignment.clone());
        }
        if next.is_empty() {
            let label = self.fresh_label("read_scalar");
            let (dst, _) = self.sdfg.add_state(region, State::new(label));
            let assignments = vec![assignment.clone()];
            self.sdfg.add_transition(Transition { src, dst, condition: None, assignments, loc: None });
        }
    }

    /// A label that no block has yet, near to the one that is wanted.
    pub(crate) fn fresh_label(&mut self, wanted: &str) -> String {
        fresh(&mut self.labels, wanted)
    }

    /// An expression over symbols, with constants put in.
    pub(crate) fn size(&self, expr: &Expr) -> Expr {
        if self.numbers.is_empty() { expr.clone() } else { expr.substitute(&self.numbers) }
    }
}

/// Labels in use.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    taken: BTreeSet<String>,
    /// Of each label that was wanted more than once, the numbers below this are taken.
    next: BTreeMap<String, usize>,
}

/// A label that is not in the set yet, made of `wanted`, and is in it from now on.
pub(crate) fn fresh(labels: &mut Labels, wanted: &str) -> String {
    let wanted: String =
        wanted.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    let wanted = from_name(&wanted);
    if labels.taken.insert(wanted.clone()) {
        return wanted;
    }
    let next = labels.next.entry(wanted.clone()).or_insert(1);
    loop {
        let label = format!("{wanted}_{next}");
        *next += 1;
        if labels.taken.insert(label.clone()) {
            return label;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Labels, fresh};

    #[test]
    fn labels_get_the_first_number_that_is_free() {
        let mut labels = Labels::default();
        let wanted = ["a", "a_2", "a", "a", "a", "a_2", "b", "a_1", "a.b", "a_b"];
        let found: Vec<String> = wanted.iter().map(|label| fresh(&mut labels, label)).collect();
        assert_eq!(found, ["a", "a_2", "a_1", "a_3", "a_4", "a_2_1", "b", "a_1_1", "a_b", "a_b_1"]);
    }
}
