//! Target machines of LLVM: the host's architecture, optimisation and emission.
//!
//! The module needs options, but no program, so it is independent of the emitter.

use std::sync::Once;

use inkwell::OptimizationLevel;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{
    CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple,
};

use super::error::LlvmError;
use super::joined_pointers::forbid_vectorisation;
use super::level::Level;
use super::multiply_add::form_multiply_adds;
use super::options::{CompileOptions, Cpu, OptLevel, Sanitizer};
use super::passes::{Passes, passes};
use super::process;
use super::processor::{check_features, check_name};
use super::recurrence::{has_relaxed, shorten_recurrences};
use super::sanitizer;

/// The version of the LLVM library that this process runs with.
pub(crate) fn llvm_version() -> [u32; 3] {
    let (major, minor, patch) = inkwell::support::get_llvm_version();
    [major, minor, patch]
}

/// A target machine together with what must be written on every function for it.
pub(crate) struct Machine {
    target: TargetMachine,
    triple: TargetTriple,
    cpu: String,
    features: String,
    level: OptLevel,
    sanitizer: Option<Sanitizer>,
    unit_strides: bool,
}

impl Machine {
    /// The target machine for `options` on this machine's architecture.
    pub(crate) fn new(options: &CompileOptions) -> Result<Self, LlvmError> {
        let triple = host_triple()?;
        let no_target = |message: String| LlvmError::NoTarget { triple: triple_text(&triple), message };
        let (cpu, features) = match &options.cpu {
            Cpu::Host => (
                TargetMachine::get_host_cpu_name().to_string(),
                sorted_features(&TargetMachine::get_host_cpu_features().to_string()),
            ),
            Cpu::Named { name, features } => {
                check_name(&triple_text(&triple), name)?;
                check_features(&triple_text(&triple), features)?;
                (name.clone(), sorted_features(features))
            }
            Cpu::Levels(levels) => {
                if levels.is_empty() || !triple_text(&triple).starts_with("x86_64") {
                    return Err(LlvmError::NoLevels { triple: triple_text(&triple) });
                }
                // What finds the right version runs on every processor.
                (Level::V1.name().to_owned(), String::new())
            }
        };
        let target = Target::from_triple(&triple)
            .map_err(|error| no_target(error.to_string()))?
            .create_target_machine(
                &triple,
                &cpu,
                &features,
                codegen_level(options.level),
                RelocMode::PIC,
                CodeModel::Default,
            )
            .ok_or_else(|| no_target("it refused the processor".to_owned()))?;
        let (level, sanitizer) = (options.level, options.sanitizer);
        Ok(Machine { target, triple, cpu, features, level, sanitizer, unit_strides: false })
    }

    /// The machine for a program of which some strides may be one, although it does not say so.
    pub(super) fn with_unit_strides(self, unit_strides: bool) -> Self {
        Machine { unit_strides, ..self }
    }

    /// LLVM's name of the processor.
    pub(crate) fn cpu(&self) -> &str {
        &self.cpu
    }

    /// The feature list, sorted.
    pub(crate) fn features(&self) -> &str {
        &self.features
    }

    /// Whether the code is for x86-64.
    pub(super) fn is_x86_64(&self) -> bool {
        triple_text(&self.triple).starts_with("x86_64")
    }

    /// Gives `module` this machine's triple and data layout.
    pub(super) fn prepare(&self, module: &Module<'_>) {
        module.set_triple(&self.triple);
        module.set_data_layout(&self.target.get_target_data().get_data_layout());
    }

    /// Runs the passes of the optimisation level that look at the program as a whole over `module`.
    pub(super) fn optimise_program(&self, module: &Module<'_>) -> Result<(), LlvmError> {
        match passes(self.level).and_then(|passes| passes.program) {
            // Functions that are declared in another module keep what is known of them.
            Some(program) => self.run_passes(module, &format!("{program},cgscc(function-attrs)")),
            None => Ok(()),
        }
    }

    /// Runs the passes that follow [`Machine::optimise_program`] over `module`, a part of the program.
    pub(super) fn optimise_part(&self, module: &Module<'_>) -> Result<(), LlvmError> {
        // Copies of helpers and texts that this part does not use.
        self.run_passes(module, "globaldce")?;
        match passes(self.level) {
            None => self.run_passes(module, "default<O0>")?,
            Some(passes) => {
                self.run_passes(module, &passes.before)?;
                self.optimise_loops(module, passes)?;
            }
        }
        self.form_multiply_adds(module)
    }

    /// Runs the passes of the optimisation level over `module`, then those of the sanitizer.
    pub(super) fn optimise(&self, module: &Module<'_>) -> Result<(), LlvmError> {
        match passes(self.level) {
            None => self.run_passes(module, "default<O0>")?,
            // Wide accesses are none that the sanitizer sees; LLVM's own lists can leave them out.
            Some(_) if self.sanitizer == Some(Sanitizer::Thread) => {
                let list = format!("default<O{}>", self.level.of_sources());
                self.run_passes(module, &list)?;
            }
            Some(passes) => {
                self.run_passes(module, &passes.until_vectorisation())?;
                self.optimise_loops(module, passes)?;
            }
        }
        self.form_multiply_adds(module)?;
        self.sanitizer.map_or(Ok(()), |sanitizer| self.run_passes(module, sanitizer::passes(sanitizer)))
    }

    /// Vectorises, where nothing forbids it, and runs the passes after that.
    fn optimise_loops(&self, module: &Module<'_>, passes: Passes) -> Result<(), LlvmError> {
        let passes = match forbid_vectorisation(module)? {
            0 => passes,
            _ => passes.without_reuse(),
        };
        if !has_relaxed(module) {
            return self.run_passes(module, &passes.since_vectorisation());
        }
        let [vectorisation, after] = passes.around_cut();
        self.run_passes(module, &vectorisation)?;
        shorten_recurrences(module)?;
        self.run_passes(module, &after)
    }

    fn form_multiply_adds(&self, module: &Module<'_>) -> Result<(), LlvmError> {
        if self.level == OptLevel::Quick { form_multiply_adds(module) } else { Ok(()) }
    }

    /// Runs the passes named by `passes` (the syntax of `opt -passes`) over `module`.
    pub(super) fn run_passes(&self, module: &Module<'_>, passes: &str) -> Result<(), LlvmError> {
        let options = PassBuilderOptions::create();
        let vectorises = self.sanitizer != Some(Sanitizer::Thread);
        options.set_loop_vectorization(vectorises);
        options.set_loop_slp_vectorization(vectorises);
        options.set_loop_unrolling(true);
        options.set_loop_interleaving(true);
        let _settings = process::enter(self.level, self.unit_strides);
        module
            .run_passes(passes, &self.target, options)
            .map_err(|error| LlvmError::Passes { program: module_name(module), message: error.to_string() })
    }

    /// The object file of `module`.
    pub(super) fn object(&self, module: &Module<'_>) -> Result<Vec<u8>, LlvmError> {
        self.emit(module, FileType::Object)
    }

    /// The assembly text of `module`.
    pub(super) fn assembly(&self, module: &Module<'_>) -> Result<String, LlvmError> {
        let mut bytes = self.emit(module, FileType::Assembly)?;
        // LLVM ends text buffers with a NUL that is not part of the text.
        while bytes.last() == Some(&0) {
            bytes.pop();
        }
        String::from_utf8(bytes)
            .map_err(|error| LlvmError::Emission { program: module_name(module), message: error.to_string() })
    }

    fn emit(&self, module: &Module<'_>, kind: FileType) -> Result<Vec<u8>, LlvmError> {
        let _settings = process::enter(self.level, self.unit_strides);
        let buffer = self.target.write_to_memory_buffer(module, kind).map_err(|error| {
            LlvmError::Emission { program: module_name(module), message: error.to_string() }
        })?;
        Ok(buffer.as_slice().to_vec())
    }
}

fn module_name(module: &Module<'_>) -> String {
    module.get_name().to_string_lossy().into_owned()
}

fn triple_text(triple: &TargetTriple) -> String {
    triple.as_str().to_string_lossy().into_owned()
}

/// The triple of this machine, after LLVM's part for it was initialised once in this process.
fn host_triple() -> Result<TargetTriple, LlvmError> {
    static INITIALISED: Once = Once::new();
    INITIALISED.call_once(|| {
        let config = InitializationConfig::default();
        Target::initialize_x86(&config);
        Target::initialize_aarch64(&config);
    });
    let triple = TargetMachine::get_default_triple();
    let text = triple_text(&triple);
    let architecture = text.split('-').next().unwrap_or_default();
    if matches!(architecture, "x86_64" | "aarch64") {
        Ok(triple)
    } else {
        Err(LlvmError::UnsupportedHost { triple: text })
    }
}

/// Effort of the machine code generator. The quick level uses its shortest path with the register allocator
/// of the other levels ([`process`]): a third of the instructions, and loops that are slower by a tenth
/// instead of twice as slow.
fn codegen_level(level: OptLevel) -> OptimizationLevel {
    match level {
        OptLevel::O0 | OptLevel::Quick => OptimizationLevel::None,
        OptLevel::O1 => OptimizationLevel::Less,
        OptLevel::O2 => OptimizationLevel::Default,
        OptLevel::O3 => OptimizationLevel::Aggressive,
    }
}

/// The features in alphabetical order: LLVM lists the host's in the order of a hash table.
fn sorted_features(features: &str) -> String {
    let mut list: Vec<&str> = features.split(',').map(str::trim).filter(|f| !f.is_empty()).collect();
    // The sign is no part of the name, so that `+a,-a` keeps the order that the user gave.
    list.sort_by_key(|feature| feature.trim_start_matches(['+', '-']));
    list.join(",")
}
