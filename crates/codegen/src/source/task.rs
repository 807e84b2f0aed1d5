//! Tasks that wait for each other, each kind as one function.

use std::collections::BTreeSet;

use super::error::Print;
use super::function::{Function, Returns};
use super::memory::{product, sum};
use super::text::Code;
use crate::interface::Status;
use crate::plan::{Declarations, TaskKind, Tasks};

impl<'w, 'p> Function<'w, 'p> {
    /// Runs tasks until all are done.
    pub(super) fn tasks(&mut self, tasks: &Tasks) -> Print<()> {
        self.program.use_runtime();
        self.uses_handle = true;
        let name = self.program.names.global(&format!("{}_tasks", self.program.plan.name));
        let Environment { fields, values, unpack } = self.environment(tasks)?;
        let environment = format!("{name}_environment");
        self.program.define(format!("typedef struct {environment} {{\n{fields}}} {environment};\n"));
        let mut kinds = Vec::new();
        for kind in &tasks.kinds {
            let function = self.task_function(kind, tasks, &environment, &unpack)?;
            let count = match &kind.dimension {
                None => Code::int(1),
                Some(dimension) => {
                    let begin = self.index(&dimension.begin)?;
                    self.extent(dimension, &begin)?
                }
            };
            let after: Vec<String> = kind.after.iter().map(usize::to_string).collect();
            kinds.push((function, count.text, after));
        }
        self.block("", |f| {
            let (captured, table, status) = (f.temporary(), f.temporary(), f.temporary());
            f.line(format!("const {environment} {captured} = {{ {} }};", values.join(", ")));
            let mut rows = Vec::with_capacity(kinds.len());
            for (function, count, after) in &kinds {
                let positions = if after.is_empty() {
                    "NULL".to_owned()
                } else {
                    let positions = f.temporary();
                    f.line(format!("static const int32_t {positions}[] = {{ {} }};", after.join(", ")));
                    positions
                };
                rows.push(format!("{{ {function}, {count}, {positions}, {} }}", after.len()));
            }
            f.line(format!("const sdfg_kind {table}[] = {{ {} }};", rows.join(", ")));
            f.line(format!(
                "const int32_t {status} = sdfg_tasks_run({table}, {}, &{captured}, &handle->status, {});",
                kinds.len(),
                f.task
            ));
            f.fail_if(
                &format!("{status} != SDFG_SUCCESS"),
                Status::OutOfMemory,
                "no memory for tasks that wait for each other",
            )
        })?;
        self.fail_as_others_did()
    }

    /// The values that the functions of tasks receive.
    fn environment(&mut self, tasks: &Tasks) -> Print<Environment> {
        let program = self.program;
        let handle = format!("{}_t *", program.plan.name);
        let mut environment = Environment {
            fields: format!("    {handle}handle;\n"),
            values: vec!["handle".to_owned()],
            unpack: vec![("handle".to_owned(), handle)],
        };
        for symbol in &tasks.captures.variables {
            self.note_read(symbol);
            let (name, ty) = (self.variable(symbol)?, program.scalar_type(self.variable_type(symbol)));
            environment.add(&format!("{ty} "), name, name.to_owned());
        }
        // Other tasks change the same elements while this one waits, so nothing is said of what overlaps.
        for captured in &tasks.captures.buffers {
            let id = captured.buffer;
            let ty = format!("{}{} *", program.constness(id), self.element_type(id));
            environment.add(&ty, program.names.buffer(id), self.address(id));
        }
        Ok(environment)
    }

    fn task_function(
        &mut self,
        kind: &TaskKind,
        tasks: &Tasks,
        environment: &str,
        unpack: &[(String, String)],
    ) -> Print<String> {
        let program = self.program;
        let word = if kind.label.is_empty() { "task" } else { kind.label.as_str() };
        let name = program.names.global(&format!("{}_{word}", program.plan.name));
        let mut task = Function::new(program, Returns::Nothing);
        task.task = "task";
        ["task", "number"].iter().for_each(|parameter| task.add_parameter(parameter));
        task.declare(
            "captured",
            format!("const {environment} *const captured = (const {environment} *)environment;"),
        );
        task.add_parameter("environment");
        let set = Declarations::of(&kind.body);
        let variables =
            set.variables.iter().map(|symbol| task.variable(symbol)).collect::<Print<Vec<_>>>()?;
        let written = |reference| program.plan.buffer(reference).defined;
        let references = set.references.iter().flat_map(|reference| [Some(*reference), written(*reference)]);
        let references = references.flatten().map(|reference| program.names.buffer(reference));
        let set: BTreeSet<&str> = variables.into_iter().chain(references).collect();
        for (name, ty) in unpack {
            let constness = if set.contains(name.as_str()) { "" } else { "const " };
            task.declare(name, format!("{ty}{constness}{name} = captured->{name};"));
        }
        tasks.captures.variables.iter().for_each(|symbol| task.take(symbol));
        for captured in &tasks.captures.buffers {
            task.bind(captured.buffer, super::function::Base::Pointer);
        }
        for local in &kind.locals {
            task.stack_buffer(*local)?;
        }
        task.declare_all(&kind.body)?;
        if let Some(dimension) = &kind.dimension {
            let (begin, step) = (task.index(&dimension.begin)?, task.index(&dimension.step)?);
            let value = sum(&begin, &product(&Code::atom("number"), &step));
            task.note_read(&dimension.variable);
            let (variable, value) =
                (task.variable(&dimension.variable)?, task.converted(&dimension.variable, &value)?);
            let ty = program.scalar_type(task.variable_type(&dimension.variable));
            task.line(format!("const {ty} {variable} = {};", value.text));
        }
        task.statements(&kind.body)?;
        program.define(task.finish(&format!(
            "static void {name}(const void *environment, int64_t number, sdfg_task *task)"
        )));
        Ok(name)
    }
}

/// A structure that is passed through the runtime.
struct Environment {
    /// Its fields, a line each.
    fields: String,
    /// Their values where it is made.
    values: Vec<String>,
    /// Their names and types.
    unpack: Vec<(String, String)>,
}

impl Environment {
    fn add(&mut self, ty: &str, name: &str, value: String) {
        self.fields.push_str(&format!("    {ty}{name};\n"));
        self.values.push(value);
        self.unpack.push((name.to_owned(), ty.to_owned()));
    }
}
