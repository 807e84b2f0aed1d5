//! The tables that describe a distributed program to `ranked.h`, and the functions that are exported.

use std::fmt::Write as _;

use sdfg::dtype::ScalarType;
use sdfg::ir::Blocks;
use sdfg::symbolic::{Expr, Symbol};

use super::super::parts::Whole;
use super::super::{CONTEXT, RankProgram};
use super::LibraryError;
use crate::header::{c_type, parameter, parameter_name};
use crate::interface::{Argument, ArgumentKind, EntryPoint, Interface, RankEntry};
use crate::mpi::MoveKind;
use crate::plan::Plan;
use crate::source::{IntegerFunction, integer_functions};

/// Moves in the order of `SDFG_RANKED_REFRESH` and those behind it.
const MOVES: [(Whole, &str); 3] =
    [(Whole::Refresh, "refresh"), (Whole::Scatter, "scatter"), (Whole::Gather, "gather")];

pub(super) struct Tables<'a> {
    pub(super) program: &'a RankProgram,
    /// Of the program of a rank.
    pub(super) plan: &'a Plan,
    /// The interface of the program of a rank.
    pub(super) code: &'a Interface,
    /// The interface of the library.
    pub(super) interface: &'a Interface,
}

/// A row of the table of arguments, with the functions that it names.
struct Row {
    text: String,
    functions: Vec<IntegerFunction>,
}

impl Tables<'_> {
    pub(super) fn text(&self) -> Result<String, LibraryError> {
        let mut functions = vec![self.held()];
        let mut rows = String::new();
        for (at, argument) in self.interface.arguments().iter().enumerate() {
            let row = self.row(at, argument)?;
            rows.push_str(&row.text);
            functions.extend(row.functions);
        }
        let symbols: Vec<Symbol> = self.symbols().chain(self.program.rank_symbols()).cloned().collect();
        let mut text = integer_functions(self.plan, &symbols, &functions)?;
        // Writing to a string cannot fail, here and below.
        let _ = write!(
            text,
            "\nstatic const sdfg_ranked_argument sdfg_arguments[] = {{\n{rows}    {{.name = NULL}}\n}};\n\n{}{}{}",
            self.code_functions(),
            self.table(),
            self.entries()
        );
        Ok(text)
    }

    /// The symbols of the program, in the order of its arguments.
    fn symbols(&self) -> impl Iterator<Item = &Symbol> {
        let is_symbol = |symbol: &&Symbol| {
            let position = self.interface.position(symbol.as_str());
            position
                .is_some_and(|at| matches!(self.interface.arguments()[at].kind, ArgumentKind::Symbol { .. }))
        };
        self.plan.symbols.iter().map(|symbol| &symbol.name).filter(is_symbol)
    }

    /// The values of the symbols of boxes, which follow from the coordinates of the rank.
    fn held(&self) -> IntegerFunction {
        let values = self.program.held.iter().map(|(symbol, value)| (Some(symbol.clone()), value.clone()));
        IntegerFunction { name: "sdfg_held".to_owned(), values: values.collect() }
    }

    fn row(&self, at: usize, argument: &Argument) -> Result<Row, LibraryError> {
        let name = &argument.name;
        let bytes = argument.element().size();
        let part = self.program.arguments.get(name);
        let mut row = Row { text: String::new(), functions: Vec::new() };
        let (passed, is_signed) = match &argument.kind {
            ArgumentKind::Symbol { ty } => (
                "SYMBOL",
                u8::from(!matches!(ty, ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64)),
            ),
            _ if !argument.by_pointer() => ("VALUE", 0),
            _ if part.is_some() => ("PART", 0),
            _ => ("WHOLE", 0),
        };
        let mut fields = String::new();
        if argument.by_pointer() {
            let values = self.bounds(argument);
            let _ = write!(fields, ", .dimensions = {}, .bounds = sdfg_bounds_{at}", (values.len() - 1) / 4);
            let values = values.into_iter().map(|value| (None, value)).collect();
            row.functions.push(IntegerFunction { name: format!("sdfg_bounds_{at}"), values });
        }
        if let Some(container) = part {
            let mut functions = Vec::new();
            let mut counts = Vec::new();
            for (whole, word) in MOVES {
                let words = self.program.moving(name, whole)?.unwrap_or_default();
                let function = format!("sdfg_{word}_{at}");
                counts.push(words.len().to_string());
                let values = words.into_iter().map(|word| (None, word)).collect();
                functions.push(function.clone());
                row.functions.push(IntegerFunction { name: function, values });
            }
            let _ = write!(
                fields,
                ", .has_copies = {}, .words = {{{}}}, .n_words = {{{}}}",
                u8::from(container.distribution.blocks().is_some_and(Blocks::has_copies)),
                functions.join(", "),
                counts.join(", ")
            );
        }
        row.text = format!(
            "    {{.name = \"{name}\", .passed = SDFG_RANKED_{passed}, .is_written = {}, .is_signed = {is_signed}, .bytes = {bytes}{fields}}},\n",
            u8::from(argument.is_written()),
        );
        Ok(row)
    }

    /// For each dimension of an argument the four bounds of `ranked.h`, then the number of elements in memory.
    fn bounds(&self, argument: &Argument) -> Vec<Expr> {
        if let Some(container) = self.program.arguments.get(&argument.name) {
            let bounds = self.program.bounds(container);
            let mut elements = Expr::one();
            let mut values = Vec::new();
            for (bounds, _) in bounds {
                let own = Expr::max(&Expr::zero(), &(&bounds.end - &bounds.first));
                elements = &elements * &bounds.extent;
                values.extend([bounds.low, bounds.extent, bounds.first, own]);
            }
            values.push(elements);
            return values;
        }
        let ArgumentKind::Array { shape, elements, .. } = &argument.kind else { return vec![Expr::one()] };
        let mut values = Vec::new();
        for extent in shape {
            values.extend([Expr::zero(), extent.clone(), Expr::zero(), extent.clone()]);
        }
        values.push(elements.clone());
        values
    }

    /// Declarations of the functions of the program of a rank.
    fn code_functions(&self) -> String {
        let symbol = |entry| self.code.symbol(entry);
        let mut text = format!(
            "int32_t {}(const void *config, void **handle);\n\
             int32_t {}(void *handle, void **arguments);\n\
             const char *{}(const void *handle);\n\
             void {}(void *handle);\n",
            symbol(EntryPoint::Create),
            symbol(EntryPoint::Invoke),
            symbol(EntryPoint::Error),
            symbol(EntryPoint::Destroy)
        );
        if !self.code.callbacks().is_empty() {
            let _ = writeln!(text, "void {}(void *handle, const char *message);", symbol(EntryPoint::Stop));
        }
        if self.code.has_profile() {
            let _ =
                writeln!(text, "const char *{}(void *handle, int32_t format);", symbol(EntryPoint::Profile));
        }
        text + "\n"
    }

    /// `sdfg_rank_symbols` and the table of the program.
    fn table(&self) -> String {
        let (name, symbol) = (self.interface.name(), |entry| self.code.symbol(entry));
        let n_symbols = self.symbols().count();
        let n_rank_symbols = self.program.rank_symbols().count();
        let number = |argument: &Argument| {
            if argument.name == CONTEXT {
                return -1 - (n_symbols + n_rank_symbols) as i64;
            }
            let mut of_rank = self.program.rank_symbols();
            match of_rank.position(|symbol| symbol.as_str() == argument.name) {
                Some(at) => -1 - (n_symbols + at) as i64,
                None => self.interface.position(&argument.name).map_or(0, |at| at as i64),
            }
        };
        let passed: Vec<String> =
            self.code.arguments().iter().map(|argument| number(argument).to_string()).collect();
        let kind = |name: &str| {
            let own = self.program.moves.iter().find(|(own, _)| own == name);
            own.map_or(0, |(_, kind)| match kind {
                MoveKind::Move => 0,
                MoveKind::Combine => 1,
                MoveKind::Together(count) => *count,
                MoveKind::Begin(count) => 4 + *count,
                MoveKind::Finish(count) => 8 + *count,
            })
        };
        let functions: Vec<String> =
            self.code.callbacks().iter().map(|callback| kind(&callback.name).to_string()).collect();
        let stop = if functions.is_empty() { "NULL".to_owned() } else { symbol(EntryPoint::Stop) };
        format!(
            "static void sdfg_rank_symbols(int64_t rank, int64_t *symbols) {{\n    int64_t rest;\n    (void)rest;\n{}    \
             sdfg_held(symbols, symbols + {held});\n}}\n\n\
             static const int64_t sdfg_passed[] = {{{passed}}};\n\
             static const int32_t sdfg_functions[] = {{{function_list}}};\n\n\
             static const sdfg_ranked_program sdfg_program = {{\n    \
             .name = \"{name}\", .least_ranks = {least}, .n_arguments = {n}, .arguments = sdfg_arguments,\n    \
             .n_symbols = {n_symbols}, .n_rank_symbols = {n_rank_symbols}, .rank_symbols = sdfg_rank_symbols,\n    \
             .n_passed = {n_passed}, .passed = sdfg_passed, .n_functions = {n_functions}, .functions = sdfg_functions,\n    \
             .code = {{{}, {}, {}, {}, {stop}}}\n}};\n\n",
            self.coordinates(n_symbols),
            symbol(EntryPoint::Create),
            symbol(EntryPoint::Invoke),
            symbol(EntryPoint::Error),
            symbol(EntryPoint::Destroy),
            held = n_symbols + n_rank_symbols - self.program.held.len(),
            passed = listed(&passed),
            function_list = listed(&functions),
            least = self.program.ranks(),
            n = self.interface.arguments().len(),
            n_passed = passed.len(),
            n_functions = functions.len(),
        )
    }

    /// Statements that find the place of a rank in each grid, in row-major order, as [`RankProgram::local`] does.
    fn coordinates(&self, first: usize) -> String {
        let mut text = String::new();
        let mut at = first;
        for grid in &self.program.grids {
            let n = grid.extents.len();
            text.push_str("    rest = rank;\n");
            for (dimension, extent) in grid.extents.iter().enumerate().rev() {
                let place = at + dimension;
                let _ = writeln!(text, "    symbols[{place}] = rest % {extent};\n    rest /= {extent};");
            }
            let _ = writeln!(text, "    symbols[{}] = rest == 0;", at + n);
            at += n + 1;
        }
        text
    }

    /// The exported functions.
    fn entries(&self) -> String {
        let name = self.interface.name();
        let arguments = self.interface.arguments();
        let parameters: Vec<String> = arguments.iter().map(parameter).collect();
        let with_handle = [format!("{name}_t *handle")].into_iter().chain(parameters.iter().cloned());
        let with_handle = with_handle.collect::<Vec<_>>().join(", ");
        let one_shot = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
        let pointer = |argument: &Argument| {
            let name = parameter_name(&argument.name);
            if argument.by_pointer() { format!("(void *){name}") } else { format!("(void *)&{name}") }
        };
        let pointers: Vec<String> = arguments.iter().map(pointer).collect();
        let pointers = format!("void *sdfg_pointers[] = {{{}}};", listed(&pointers));
        let names: Vec<String> = arguments.iter().map(|argument| parameter_name(&argument.name)).collect();
        let forwarded: String = names.iter().map(|name| format!(", {name}")).collect();
        let mut text = format!(
            "int32_t {name}_create(const {name}_config *config, {name}_t **handle) {{\n    \
             return sdfg_ranked_create(&sdfg_program, (const sdfg_ranked_config *)config, (sdfg_ranked **)handle);\n}}\n\n\
             const char *{name}_error(const {name}_t *handle) {{\n    return sdfg_ranked_error((const sdfg_ranked *)handle);\n}}\n\n\
             void {name}_destroy({name}_t *handle) {{\n    sdfg_ranked_destroy((sdfg_ranked *)handle);\n}}\n\n\
             int32_t {name}__invoke({name}_t *handle, void **arguments) {{\n    return sdfg_ranked_run((sdfg_ranked *)handle, arguments);\n}}\n\n\
             int32_t {name}__invoke_whole({name}_t *handle, void **arguments) {{\n    return sdfg_ranked_run_whole((sdfg_ranked *)handle, arguments);\n}}\n\n\
             int32_t {name}_run({with_handle}) {{\n    {pointers}\n    return sdfg_ranked_run((sdfg_ranked *)handle, sdfg_pointers);\n}}\n\n\
             int32_t {name}_run_whole({with_handle}) {{\n    {pointers}\n    return sdfg_ranked_run_whole((sdfg_ranked *)handle, sdfg_pointers);\n}}\n\n\
             int32_t {name}({one_shot}) {{\n    {name}_t *sdfg_handle;\n    int32_t sdfg_status = {name}_create(NULL, &sdfg_handle);\n    \
             if (sdfg_status == 0) {{\n        sdfg_status = {name}_run(sdfg_handle{forwarded});\n        {name}_destroy(sdfg_handle);\n    }}\n    \
             return sdfg_status;\n}}\n\n\
             int64_t {name}_rank(const {name}_t *handle) {{\n    return ((const sdfg_ranked *)handle)->rank;\n}}\n\n\
             int64_t {name}_ranks(const {name}_t *handle) {{\n    return ((const sdfg_ranked *)handle)->ranks;\n}}\n\n\
             int64_t {name}__bound({name}_t *handle, const char *argument, int32_t dimension, const int64_t *symbols, int32_t which) {{\n    \
             return sdfg_ranked_bound((sdfg_ranked *)handle, argument, dimension, symbols, which);\n}}\n"
        );
        if self.interface.has_profile() {
            let _ = write!(
                text,
                "\nconst char *{name}_profile({name}_t *handle, int32_t format) {{\n    return {}(((sdfg_ranked *)handle)->code, format);\n}}\n",
                self.code.symbol(EntryPoint::Profile)
            );
        }
        for (which, entry) in RankEntry::BOUNDS.into_iter().enumerate() {
            let symbols: Vec<String> = self
                .symbols()
                .map(|symbol| format!("(int64_t){}", parameter_name(symbol.as_str())))
                .collect();
            let _ = write!(
                text,
                "\nint64_t {name}{}({}) {{\n    const int64_t sdfg_symbols[] = {{{}}};\n    \
                 return sdfg_ranked_bound((sdfg_ranked *)handle, argument_, dimension_, sdfg_symbols, {which});\n}}\n",
                entry.suffix(),
                bound_parameters(self.interface),
                listed(&symbols),
            );
        }
        text
    }
}

/// Parameters of the functions that tell positions.
pub(crate) fn bound_parameters(interface: &Interface) -> String {
    let name = interface.name();
    let mut text = format!("{name}_t *handle, const char *argument_, int32_t dimension_");
    for argument in interface.arguments() {
        if let ArgumentKind::Symbol { ty } = &argument.kind {
            let _ = write!(text, ", {} {}", c_type(*ty), parameter_name(&argument.name));
        }
    }
    text
}

/// A list for an initialiser, which C does not let be empty.
fn listed(items: &[String]) -> String {
    if items.is_empty() { "0".to_owned() } else { items.join(", ") }
}
