//! Runs one graph: reading, validation, execution and comparison.

use std::cell::RefCell;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sdfg::interpret::{Arguments, Interpreter, Options, RunError};
use sdfg::ir::{NodeKind, Sdfg};
use sdfg::validate::{Validated, validate};
use sdfg_codegen::llvm::{self, CompileOptions};
use sdfg_codegen::lower::{LowerError, LowerOptions, lower};
use sdfg_library::{BuiltIn, expand, operations};
use sdfg_transforms::rewrites::GpuTransform;
use sdfg_transforms::{Transformation, fixed_point};

use super::Outcome;
use super::compare::compare;
use super::data::{self, Data};
use crate::random::Device;
use crate::survey::Oracle;
use crate::trusted::{self, Compiler};

/// Time that DaCe may take to compile and run a graph.
const DACE_LIMIT: Duration = Duration::from_secs(500);

/// The way to run a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The reference interpreter.
    Interpreter,
    /// Native code in this process.
    Native,
    /// Native code by way of C source and gcc.
    Gcc,
    /// Native code by way of C source and clang.
    Clang,
    /// CUDA source of maps as kernels, on threads of this processor.
    Cuda,
    /// C source with maps as kernels for the driver of CUDA, on threads of this processor.
    CudaDriver,
    /// OpenCL source of maps as kernels, on a device of OpenCL.
    OpenCl,
    /// DaCe, which loads, compiles and runs the graph as it is written for it. `SDFG_DACE_PYTHON` names its Python.
    Dace,
}

impl Engine {
    /// Every engine.
    pub const ALL: [Engine; 8] = [
        Engine::Interpreter,
        Engine::Native,
        Engine::Gcc,
        Engine::Clang,
        Engine::Cuda,
        Engine::CudaDriver,
        Engine::OpenCl,
        Engine::Dace,
    ];

    /// Its name on the command line and in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Engine::Interpreter => "interpreter",
            Engine::Native => "native",
            Engine::Gcc => "gcc",
            Engine::Clang => "clang",
            Engine::Cuda => "cuda",
            Engine::CudaDriver => "cuda-driver",
            Engine::OpenCl => "opencl",
            Engine::Dace => "dace",
        }
    }
}

/// Reads a graph, runs it on the inputs beside it and compares its outputs.
pub fn check(graph: &Path, engine: Engine) -> Outcome {
    match attempt(graph, engine) {
        Ok(()) => Outcome::Passed,
        Err(outcome) => outcome,
    }
}

pub(super) fn failed(what: impl ToString) -> Outcome {
    Outcome::Failed(what.to_string())
}

fn attempt(graph: &Path, engine: Engine) -> Result<(), Outcome> {
    let loaded = Loaded::read(graph)?;
    loaded.check(&loaded.program, engine)
}

/// A graph with its data.
pub(super) struct Loaded {
    pub(super) program: Validated,
    data: Data,
    /// The folder of the data.
    io: PathBuf,
    /// DaCe, once a run has asked it.
    dace: RefCell<Option<Oracle>>,
}

impl Loaded {
    /// Reads a graph and the data beside it.
    pub(super) fn read(graph: &Path) -> Result<Self, Outcome> {
        let bytes = std::fs::read(graph).map_err(failed)?;
        let import = sdfg_dace::read(&bytes, &sdfg_dace::Options::default()).map_err(|refused| {
            let (code, reason) = first_error(&refused.report);
            Outcome::Refused { code, reason }
        })?;
        let io = graph.parent().unwrap_or(graph).join("io");
        let data = data::read(&io, &import.sdfg).map_err(failed)?;
        if let Some(operation) = unknown_library_node(&import.sdfg) {
            let reason = format!("the library node {operation} has no meaning here yet");
            return Err(Outcome::Refused { code: "D105".to_owned(), reason });
        }
        Ok(Loaded { program: checked(import.sdfg).map_err(failed)?, data, io, dace: RefCell::new(None) })
    }

    /// Runs the graph, or what was made of it, and compares the outputs.
    pub(super) fn check(&self, program: &Validated, engine: Engine) -> Result<(), Outcome> {
        let mut arguments = self.data.arguments.clone();
        match engine {
            Engine::Interpreter => interpret(program, &mut arguments)?,
            Engine::Native => native(program, &mut arguments, None)?,
            Engine::Gcc => native(program, &mut arguments, Some(Compiler::Gcc))?,
            Engine::Clang => native(program, &mut arguments, Some(Compiler::Clang))?,
            Engine::Cuda => on_device(program, &mut arguments, Device::Cuda)?,
            Engine::CudaDriver => on_device(program, &mut arguments, Device::CudaDriver)?,
            Engine::OpenCl => on_device(program, &mut arguments, Device::OpenCl)?,
            Engine::Dace => return self.in_dace(program),
        }
        self.compare(&arguments)
    }

    /// The arguments of its call.
    pub(super) fn arguments(&self) -> &Arguments {
        &self.data.arguments
    }

    /// Compares the arguments after a run with the expected outputs.
    pub(super) fn compare(&self, found: &Arguments) -> Result<(), Outcome> {
        let data = &self.data;
        for (name, expected) in &data.expected {
            let found = found.get(name).ok_or_else(|| failed(format!("`{name}` is no argument")))?;
            compare(name, expected, found, data.tolerance, data.unordered).map_err(Outcome::Failed)?;
        }
        Ok(())
    }

    /// Writes the graph for DaCe, which loads, validates, compiles and runs it and compares the outputs.
    fn in_dace(&self, program: &Validated) -> Result<(), Outcome> {
        let written = sdfg_dace::write(program.sdfg(), sdfg_dace::Form::Plain).map_err(|refused| {
            let (code, reason) = first_error(&refused.report);
            Outcome::Refused { code, reason }
        })?;
        let python = std::env::var_os("SDFG_DACE_PYTHON")
            .ok_or_else(|| failed("SDFG_DACE_PYTHON names no Python with DaCe 1.0.2"))?;
        let file = tempfile::Builder::new().suffix(".sdfg").tempfile().map_err(failed)?;
        std::fs::write(file.path(), written).map_err(failed)?;
        let mut dace = self.dace.borrow_mut();
        let dace = dace.get_or_insert_with(|| Oracle::new(Path::new(&python), DACE_LIMIT));
        let answer = dace.ask(file.path(), &self.io);
        match answer.reached.as_str() {
            "same" => Ok(()),
            reached => Err(failed(format!("DaCe comes to `{reached}`, then: {}", answer.why))),
        }
    }
}

/// The code of the first error of a report, and its place with the message.
fn first_error(report: &sdfg_dace::Report) -> (String, String) {
    let first = report.errors().next();
    let code = first.map_or("", |found| found.code.name()).to_owned();
    (code, first.map_or_else(String::new, |found| format!("{}: {}", found.path, found.message)))
}

/// Validates a program.
///
/// # Errors
/// The first error.
pub(super) fn checked(program: Sdfg) -> Result<Validated, String> {
    validate(program).map_err(|rejected| {
        let first = rejected.diagnostics.iter().find(|found| found.is_error());
        first.map_or_else(String::new, ToString::to_string)
    })
}

fn interpret(program: &Validated, arguments: &mut Arguments) -> Result<(), Outcome> {
    let mut interpreter = Interpreter::new(program).map_err(failed)?;
    let options = Options { step_limit: Some(200_000_000), libraries: Some(&BuiltIn), ..Options::default() };
    interpreter.run(arguments, &options).map(|_| ()).map_err(|error| match error {
        RunError::Trap(trap) => failed(format!("trap: {trap}")),
        RunError::Arguments(error) => failed(error),
    })
}

fn native(
    program: &Validated,
    arguments: &mut Arguments,
    through_c: Option<Compiler>,
) -> Result<(), Outcome> {
    let expanded = expand(program.sdfg(), &BuiltIn).map_err(failed)?;
    let expanded = validate(expanded).map_err(|rejected| failed(format!("expanded: {rejected}")))?;
    let options = CompileOptions { parallel_threshold: 0, ..CompileOptions::default() };
    let plan = lower(&expanded, &options.target(), &options.lowering())
        .map_err(|error| failed(format!("not lowered: {error}")))?;
    let library = match through_c {
        Some(compiler) => trusted::through_c(&plan, compiler).map_err(failed)?,
        None => {
            let object = llvm::compile(&plan, &options);
            let object = object.map_err(|error| failed(format!("not compiled: {error}")))?;
            trusted::load(&object).map_err(|error| failed(format!("not loaded: {error}")))?
        }
    };
    trusted::run(&library, arguments, NonZeroU32::new(2)).map_err(|error| failed(format!("native: {error}")))
}

/// Runs a program after `GPUTransform` of every map that it takes.
fn on_device(program: &Validated, arguments: &mut Arguments, device: Device) -> Result<(), Outcome> {
    let mut expanded = expand(program.sdfg(), &BuiltIn).map_err(failed)?;
    let transformation: Box<dyn Transformation> = Box::new(GpuTransform::default());
    fixed_point(&mut expanded, &[transformation], None);
    let moved = validate(expanded).map_err(|rejected| failed(format!("on the device: {rejected}")))?;
    let options = LowerOptions { serial_components: true, threshold: 0, ..LowerOptions::default() };
    let plan = lower(&moved, &device.target(), &options).map_err(|error| match error {
        LowerError::Unsupported { .. } => {
            Outcome::Refused { code: "T004".to_owned(), reason: error.to_string() }
        }
        error => failed(format!("not lowered: {error}")),
    })?;
    let library = device.load(&plan).map_err(failed)?;
    trusted::run(&library, arguments, NonZeroU32::new(2)).map_err(|error| failed(format!("device: {error}")))
}

/// The operation of a library node that nothing can compute or expand.
fn unknown_library_node(sdfg: &Sdfg) -> Option<String> {
    let mut waiting = vec![sdfg];
    while let Some(sdfg) = waiting.pop() {
        for (_, node) in sdfg.states().flat_map(|(_, state)| state.nodes()) {
            match &node.kind {
                NodeKind::Library(library) if !operations().any(|known| known == library.operation) => {
                    return Some(library.operation.clone());
                }
                NodeKind::Nested(nested) => waiting.push(&nested.sdfg),
                _ => {}
            }
        }
    }
    None
}
