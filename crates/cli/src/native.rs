//! Path from a validated program to native code, shared by `compile` and `run`: options, expansion and
//! lowering.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

use clap::{Args, Parser, ValueEnum};
use sdfg::edit::Editor;
use sdfg::ir::{FloatMode, Sdfg};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::validate::{Rejected, Validated, validate};
use sdfg_codegen::cache::Cache;
use sdfg_codegen::interface::{DeviceInterface, Interface, InterfaceError};
use sdfg_codegen::link::{LINKER_VARIABLE, LinkError};
use sdfg_codegen::llvm::{CompileOptions, Cpu, Level as CpuLevel, LlvmError, OptLevel, compile};
use sdfg_codegen::load::Library;
use sdfg_codegen::lower::{LowerOptions, Target, lower};
use sdfg_codegen::object::ObjectCode;
use sdfg_codegen::plan::Plan;
use sdfg_codegen::ranks::{RankLibrary, is_distributed, localise};
use sdfg_codegen::source::{Architecture, BuildError, CCompiler, SourceError, SourceOptions};

use crate::blas::BlasOption;
use crate::crash::{Running, report_stack_overflows};
use crate::data::{DataOptions, Exposed, SymbolValue, argument, check_symbols, with_dumps};
use crate::failure::{Failure, did_you_mean};
use crate::interpret::calls_c;
use crate::output::unwritten;
use crate::retarget::RetargetOption;
use crate::source::Source;
use crate::terminal::Terminal;

/// Options of native compilation.
#[derive(Args, Debug)]
pub(crate) struct NativeOptions {
    /// The optimisation level; `fast` has the shortest compile time that still gives fast code.
    #[arg(short = 'O', long = "opt", value_enum, default_value = "3", value_name = "LEVEL")]
    level: Level,
    /// The processor, by LLVM's name (x86-64-v3, znver4, ...); `host` is this machine. With several levels of x86-64, as in
    /// `x86-64-v2,x86-64-v4`, the code has a version for each level and selects the best supported one at run time.
    #[arg(long, default_value = "host", value_name = "NAMES", value_delimiter = ',')]
    cpu: Vec<String>,
    /// Processor features to add or remove, as in `+avx2,-fma`; needs --cpu.
    #[arg(long, default_value = "", value_name = "LIST", allow_hyphen_values = true)]
    features: String,
    /// Another name for the program, the prefix of all exported functions.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The floating-point mode; the default is the mode of the program.
    #[arg(long, value_enum, value_name = "MODE")]
    float_mode: Option<Floats>,
    /// The number of threads of parallel maps; the default is the choice of the OpenMP runtime.
    #[arg(long, value_name = "N", value_parser = positive)]
    threads: Option<NonZeroU32>,
    /// Compile for one value of a symbol. The symbol is no longer an argument.
    #[arg(long, value_name = "SYMBOL=VALUE")]
    specialize: Vec<SymbolValue>,
    /// Give the same bits with every number of threads, by combining partial sums in a fixed order.
    #[arg(long)]
    reproducible: bool,
    /// Check every access at run time. An access out of bounds, a read of an undefined element or an index overflow ends the run with a
    /// message. The code is several times slower.
    #[arg(long)]
    checked: bool,
    /// Run independent parts of a state one after the other. By default, each may run on a thread, if the parts start no threads
    /// and have enough work.
    #[arg(long)]
    serial_components: bool,
    /// Let every map of schedule `cpu_multicore` inside another parallel map start a team of at most N threads. By default,
    /// only maps with the attribute `nested` do. With 1, none does.
    #[arg(long, value_name = "N", value_parser = positive)]
    nested_threads: Option<NonZeroU32>,
    /// Arguments for which callers may pass overlapping memory, as in `A,B`. Calls with other overlaps are refused. Less can be proved
    /// about such code, which may make it slower.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    may_overlap: Vec<String>,
    /// The machine that runs the program. A device of CUDA or OpenCL runs maps of schedule `gpu_grid` as kernels; the variable SDFG_DEVICE
    /// selects it (see `sdfg devices`). The C compiler `cc` then compiles the rest.
    #[arg(long, value_enum, default_value = "host", value_name = "MACHINE")]
    target: TargetMachine,
    /// Architectures of CUDA for which a library of --target cuda has its kernels: `sm_90` is code for devices of one major version,
    /// `compute_90` for these and later ones, by way of the driver. NVRTC compiles them now. On other devices, it does so when the program
    /// runs first.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    cuda_arch: Vec<Architecture>,
    /// The most streams of a device to which independent kernels and copies go, side by side. With 1, the device runs them in order, and the
    /// host waits for each copy.
    #[arg(long, default_value_t = LowerOptions::DEVICE_STREAMS, value_name = "N", value_parser = positive)]
    device_streams: NonZeroU32,
    /// Do not use the cache (see `sdfg cache`).
    #[arg(long)]
    no_cache: bool,
    /// Permit external code: compile, load and run C and C++ sources and libraries of the program.
    #[arg(long)]
    allow_external: bool,
    #[command(flatten)]
    retarget: RetargetOption,
    #[command(flatten)]
    blas: BlasOption,
}

/// The machine of `--target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TargetMachine {
    /// The processor.
    Host,
    /// The processor with a device of OpenCL.
    Opencl,
    /// The processor with a device of CUDA, by way of its driver. NVRTC compiles the kernels when the program runs first.
    Cuda,
}

/// A number that is not zero.
pub(crate) fn positive(text: &str) -> Result<NonZeroU32, String> {
    let wrong = |_| format!("expected a number from 1 to {}", u32::MAX);
    text.trim().parse().map_err(wrong)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Level {
    #[value(name = "0")]
    O0,
    #[value(name = "1")]
    O1,
    #[value(name = "2")]
    O2,
    #[value(name = "3")]
    O3,
    Fast,
}

/// The floating-point mode of `--float-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Floats {
    /// Every operation is rounded separately, in program order.
    Strict,
    /// A product may be fused with the sum that uses it.
    Contract,
    /// As `contract`, with reassociation and approximate functions.
    Fast,
}

/// The machine that a program is lowered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    /// The processor that the options name.
    Host,
    /// A processor with a CUDA device.
    CudaDevice,
    /// A processor with a device of OpenCL.
    OpenClDevice,
}

/// A lowered program and how it is compiled.
pub(crate) struct Lowered {
    pub(crate) plan: Plan,
    pub(crate) options: CompileOptions,
    pub(crate) machine: Machine,
    /// Architectures of CUDA for which a library has images of its kernels.
    architectures: Vec<Architecture>,
    /// Whether kernels are kept in the cache.
    caches: bool,
    /// Whether the program has sources or libraries of its own. Calls of a BLAS that the user asked for are none.
    brings_code: bool,
    /// Whether the code calls C or C++ functions, also those of a BLAS.
    calls_out: bool,
    /// The library around the plan, if that is the program of a rank.
    library: Option<RankLibrary>,
}

/// The options alone, for [`NativeOptions::of`].
#[derive(Parser)]
struct Alone {
    #[command(flatten)]
    native: NativeOptions,
}

impl NativeOptions {
    /// The defaults with a number of threads and a floating-point mode.
    pub(crate) fn of(
        threads: Option<NonZeroU32>,
        float_mode: Option<Floats>,
        allow_external: bool,
    ) -> Result<Self, Failure> {
        let Alone { native } = Alone::try_parse_from(["sdfg"]).map_err(Failure::usage)?;
        Ok(NativeOptions { threads, float_mode, allow_external, ..native })
    }

    pub(crate) fn threads(&self) -> Option<NonZeroU32> {
        self.threads
    }

    /// The machine that `--target` names.
    pub(crate) fn machine(&self) -> Machine {
        match self.target {
            TargetMachine::Host => Machine::Host,
            TargetMachine::Opencl => Machine::OpenClDevice,
            TargetMachine::Cuda => Machine::CudaDevice,
        }
    }

    pub(crate) fn retarget(&self) -> RetargetOption {
        self.retarget
    }

    pub(crate) fn allow_external(&self) -> bool {
        self.allow_external
    }

    /// Checks, expands and lowers a program for the host.
    pub(crate) fn lower(
        &self,
        source: &Source,
        lowering: &LowerOptions,
        data: &DataOptions,
        terminal: Terminal,
    ) -> Result<(Exposed, Lowered), Failure> {
        self.check_architectures(self.machine())?;
        let options = self.compile_options()?;
        let exposed = with_dumps(self.read(source, data, terminal)?, data)?;
        let lowered = self.lower_program(self.machine(), &exposed.program, lowering, options)?;
        lowered.note_without_kernels(terminal);
        Ok((exposed, lowered))
    }

    /// Checks a program, and inserts the values of symbols that have one for good.
    pub(crate) fn read(
        &self,
        source: &Source,
        data: &DataOptions,
        terminal: Terminal,
    ) -> Result<Validated, Failure> {
        if let Some(twice) = self.specialize.iter().find(|given| data.sets(&given.name)) {
            return Err(Failure::usage(format_args!("symbol `{}` is set twice", twice.name))
                .at(format_args!("--specialize {}={}, --set {0}=...", twice.name, twice.value))
                .help("--specialize gives the symbol its value for good: leave --set out"));
        }
        self.specialized(source, source.validated(terminal)?, terminal)
    }

    /// Expands and lowers a program that a transformation rewrote.
    pub(crate) fn lower_rewritten(&self, program: &Validated) -> Result<Lowered, Failure> {
        self.lower_program(self.machine(), program, &LowerOptions::default(), self.compile_options()?)
    }

    /// Checks, expands and lowers a program for a library, a distributed one for the ranks of MPI.
    pub(crate) fn lower_library(
        &self,
        machine: Machine,
        source: &Source,
        lowering: &LowerOptions,
        terminal: Terminal,
    ) -> Result<Lowered, Failure> {
        self.check_architectures(machine)?;
        let validated = self.specialized(source, source.validated(terminal)?, terminal)?;
        if !is_distributed(validated.sdfg()) {
            let lowered = self.lower_program(machine, &validated, lowering, self.compile_options()?)?;
            lowered.note_without_kernels(terminal);
            return Ok(lowered);
        }
        let program = localise(validated.sdfg()).map_err(Failure::program)?;
        let mut lowered = self.lower_for_ranks(
            &program.validated().map_err(|rejected| invalid_for_ranks(&rejected))?,
            lowering,
        )?;
        lowered.library = Some(RankLibrary::new(&program, &mut lowered.plan).map_err(Failure::program)?);
        Ok(lowered)
    }

    /// Expands and lowers the program that each rank runs.
    pub(crate) fn lower_for_ranks(
        &self,
        program: &Validated,
        lowering: &LowerOptions,
    ) -> Result<Lowered, Failure> {
        // Calls that move data have one order on all ranks.
        let lowering = LowerOptions { serial_components: true, ..lowering.clone() };
        let options = CompileOptions { serial_components: true, ..self.compile_options()? };
        self.lower_program(Machine::Host, program, &lowering, options)
    }

    fn lower_program(
        &self,
        machine: Machine,
        program: &Validated,
        lowering: &LowerOptions,
        options: CompileOptions,
    ) -> Result<Lowered, Failure> {
        let expanded = self.blas.expanded(program)?;
        let overlapping = self.overlapping(expanded.sdfg())?;
        let LowerOptions { instrumentation, debug, apart, .. } = lowering.clone();
        let device_streams = self.device_streams;
        let mut lowering =
            LowerOptions { instrumentation, debug, apart, overlapping, device_streams, ..options.lowering() };
        let target = match machine {
            Machine::Host => options.target(),
            Machine::CudaDevice => {
                // One thread of the host starts kernels.
                lowering.serial_components = true;
                Target::cuda()
            }
            Machine::OpenClDevice => {
                lowering.serial_components = true;
                Target::opencl()
            }
        };
        let mut plan = lower(&expanded, &target, &lowering).map_err(Failure::program)?;
        if let Some(name) = &self.name {
            plan.name.clone_from(name);
            if let Err(error @ (InterfaceError::Name { .. } | InterfaceError::Reserved { .. })) =
                plan.interface()
            {
                return Err(Failure::usage(error).at(format_args!("--name {name}")));
            }
        }
        let brings_code = calls_c(program.sdfg());
        let calls_out = calls_c(expanded.sdfg());
        let (architectures, caches) = (self.cuda_arch.clone(), !self.no_cache);
        Ok(Lowered { plan, options, machine, architectures, caches, brings_code, calls_out, library: None })
    }

    /// Refuses architectures of CUDA for another machine.
    fn check_architectures(&self, machine: Machine) -> Result<(), Failure> {
        if self.cuda_arch.is_empty() || machine == Machine::CudaDevice {
            return Ok(());
        }
        Err(Failure::usage("--cuda-arch is for kernels of CUDA").help("add --target cuda, or leave it out"))
    }

    /// Refuses kernels of a device, which ranks do not run.
    pub(crate) fn only_host(&self) -> Result<(), Failure> {
        self.check_architectures(self.machine())?;
        match self.machine() {
            Machine::Host => Ok(()),
            Machine::OpenClDevice | Machine::CudaDevice => {
                Err(Failure::usage("--target names a device, and ranks run the code of processors")
                    .help("leave --target out"))
            }
        }
    }

    /// The arguments that may overlap.
    fn overlapping(&self, sdfg: &Sdfg) -> Result<Vec<String>, Failure> {
        for name in &self.may_overlap {
            argument(sdfg, name).map_err(|failure| failure.at(format_args!("--may-overlap {name}")))?;
        }
        Ok(self.may_overlap.clone())
    }

    /// The program with symbols that have values for good. What is wrong for these values is told now.
    fn specialized(
        &self,
        source: &Source,
        program: Validated,
        terminal: Terminal,
    ) -> Result<Validated, Failure> {
        if self.specialize.is_empty() {
            return Ok(program);
        }
        check_symbols(program.sdfg(), "--specialize", &self.specialize)?;
        let value = |given: &SymbolValue| Some((Symbol::new(&given.name).ok()?, Expr::int(given.value)));
        let values: BTreeMap<Symbol, Expr> = self.specialize.iter().filter_map(value).collect();
        let mut sdfg = program.sdfg().clone();
        // Validation tells of what comes of it, below.
        let mut editor = Editor::of_draft(&mut sdfg);
        editor.substitute(&values).and_then(|()| editor.commit()).map_err(|error| {
            Failure::usage(error).at("--specialize").help("symbols that the program assigns cannot be given")
        })?;
        validate(sdfg).map_err(|rejected| Failure::findings(source.render(&rejected.diagnostics, terminal)))
    }

    fn processor(&self) -> Result<Cpu, Failure> {
        if let [one] = self.cpu.as_slice() {
            return match (Cpu::named(one), self.features.as_str()) {
                (cpu, "") => Ok(cpu),
                (Cpu::Named { name, .. }, features) => Ok(Cpu::Named { name, features: features.to_owned() }),
                (Cpu::Host | Cpu::Levels(_), _) => Err(Failure::usage(
                    "--features needs --cpu with the name of a processor: `host` is this machine's with all its features",
                )
                .help("name the processor that the features are added to, as in `--cpu x86-64-v3 --features +avx2`")),
            };
        }
        if !self.features.is_empty() {
            return Err(Failure::usage("--features cannot be given for several processors")
                .help("leave it out, or name one processor with --cpu"));
        }
        let levels: Result<Vec<CpuLevel>, LlvmError> =
            self.cpu.iter().map(|name| CpuLevel::named(name)).collect();
        levels.map(Cpu::levels).map_err(|error| uncompiled(&error))
    }

    fn compile_options(&self) -> Result<CompileOptions, Failure> {
        let cpu = self.processor()?;
        Ok(CompileOptions {
            level: match self.level {
                Level::O0 => OptLevel::O0,
                Level::O1 => OptLevel::O1,
                Level::O2 => OptLevel::O2,
                Level::O3 => OptLevel::O3,
                Level::Fast => OptLevel::Quick,
            },
            cpu,
            floats: self.float_mode.map(|mode| match mode {
                Floats::Strict => FloatMode::Strict,
                Floats::Contract => FloatMode::Contract,
                Floats::Fast => FloatMode::Fast,
            }),
            threads: self.threads,
            reproducible: self.reproducible,
            checked: self.checked,
            serial_components: self.serial_components,
            nested_threads: self.nested_threads,
            ..CompileOptions::default()
        })
    }

    /// The cache of object code, if the user has one and wants it to be used.
    pub(crate) fn cache(&self) -> Option<Cache> {
        Cache::of_user().filter(|_| !self.no_cache)
    }

    /// The object code of a lowered program, from the cache if it is there.
    pub(crate) fn compile(&self, lowered: &Lowered) -> Result<ObjectCode, Failure> {
        self.compile_in(lowered, self.cache().as_ref())
    }

    /// The same with a given cache.
    pub(crate) fn compile_in(&self, lowered: &Lowered, cache: Option<&Cache>) -> Result<ObjectCode, Failure> {
        let Lowered { plan, options, library, .. } = lowered;
        let object = cache.map_or_else(|| compile(plan, options), |cache| cache.compile(plan, options));
        let object = object.map_err(|error| uncompiled(&error))?;
        Ok(match library {
            Some(library) => library.object(object),
            None => object,
        })
    }

    /// The object code that a lowered program has in a cache.
    pub(crate) fn find(&self, lowered: &Lowered, cache: &Cache) -> Result<Option<ObjectCode>, Failure> {
        let Lowered { plan, options, library, .. } = lowered;
        let object = cache.find(plan, options).map_err(|error| uncompiled(&error))?;
        Ok(object.map(|object| match library {
            Some(library) => library.object(object),
            None => object,
        }))
    }

    /// Loads object code into this process. The user consented to code of the program's own.
    pub(crate) fn open(&self, object: &ObjectCode) -> Result<Library, Failure> {
        // SAFETY: code of the program's own is there only if the user allows it, who vouches for it so.
        unsafe { Library::load_external(object) }.map_err(Failure::usage)
    }

    /// Loads a lowered program into this process. The user consented to code of the program's own.
    pub(crate) fn load(&self, lowered: &Lowered) -> Result<Library, Failure> {
        if lowered.machine != Machine::Host {
            // SAFETY: code of the program's own is there only if the user allows it, who vouches for it so.
            return unsafe { lowered.device_code() };
        }
        let object = self.compile(lowered)?;
        if object.requirements().openmp {
            report_stack_overflows(self.threads);
        }
        self.open(&object)
    }

    /// Values of symbols that are inserted for good.
    pub(crate) fn fixed(&self) -> impl Iterator<Item = (&str, i64)> {
        self.specialize.iter().map(|given| (given.name.as_str(), given.value))
    }

    /// The options that decide how fast a program is, as words of the command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                words.extend([name.to_owned(), value]);
            }
        };
        let name = |value: Option<clap::builder::PossibleValue>| Some(value?.get_name().to_owned());
        add("--opt", name(self.level.to_possible_value()).filter(|_| self.level != Level::O3));
        add("--cpu", Some(self.cpu.join(",")).filter(|names| names != "host"));
        add("--features", Some(self.features.clone()).filter(|list| !list.is_empty()));
        add("--float-mode", self.float_mode.and_then(|mode| name(mode.to_possible_value())));
        add("--threads", self.threads.map(|threads| threads.to_string()));
        add("--nested-threads", self.nested_threads.map(|threads| threads.to_string()));
        let is_host = self.target == TargetMachine::Host;
        let has_others = !is_host && self.device_streams != LowerOptions::DEVICE_STREAMS;
        add("--device-streams", Some(self.device_streams.to_string()).filter(|_| has_others));
        add("--target", name(self.target.to_possible_value()).filter(|_| !is_host));
        let given = [
            (self.reproducible, "--reproducible"),
            (self.checked, "--checked"),
            (self.serial_components, "--serial-components"),
        ];
        words.extend(given.iter().filter(|(is_given, _)| *is_given).map(|(_, name)| (*name).to_owned()));
        words
    }

    /// Refuses programs with sources or libraries of their own, unless the user allows them.
    pub(crate) fn consent(&self, lowered: &Lowered) -> Result<(), Failure> {
        if !lowered.brings_code || self.allow_external { Ok(()) } else { Err(brings_code()) }
    }
}

/// A program with sources or libraries of its own, which the user did not allow.
pub(crate) fn brings_code() -> Failure {
    Failure::usage("the program brings code of its own: C sources or libraries")
        .help("if you trust it, add --allow-external")
}

/// A program of a rank that is not valid.
pub(crate) fn invalid_for_ranks(rejected: &Rejected) -> Failure {
    Failure::program(format_args!("the program of a rank is not valid: {rejected}"))
        .help("this is a defect of the compiler: please report it with the program")
}

impl Lowered {
    /// The interface of the code.
    pub(crate) fn interface(&self) -> Result<Interface, Failure> {
        let interface = match &self.library {
            Some(library) => library.interface().clone(),
            None => self.plan.interface().map_err(Failure::program)?,
        };
        Ok(match self.machine {
            Machine::Host => interface,
            Machine::CudaDevice => interface.with_device_interface(DeviceInterface::Cuda),
            Machine::OpenClDevice => interface.with_device_interface(DeviceInterface::OpenCl),
        })
    }

    /// Tells a user who asked for a device that it has nothing to do: the host runs the program, with the same results.
    fn note_without_kernels(&self, terminal: Terminal) {
        if self.machine != Machine::Host && !self.plan.has_kernels() {
            terminal.note(&format!(
                "`{}` has no kernels, so the host runs all of it: the transformation GPUTransform makes maps kernels",
                self.plan.name
            ));
        }
    }

    /// Whether the program is distributed over the ranks of MPI.
    pub(crate) fn is_for_ranks(&self) -> bool {
        self.library.is_some()
    }

    /// The C compiler of the host's part of a program with kernels, and options of its source.
    fn host_part(&self) -> (CCompiler, SourceOptions) {
        let level = if self.optimises() { "-O3" } else { "-O0" };
        let mut arguments = vec![level, "-march=native"];
        // Compiled programs look for a cache of kernels by themselves.
        arguments.extend((!self.caches).then_some("-DSDFG_DEVICE_CACHE=\"\""));
        let compiler = CCompiler::new("cc", &arguments);
        let compiler = match self.machine {
            Machine::Host | Machine::OpenClDevice => compiler.with_opencl(),
            Machine::CudaDevice => compiler.with_cuda(),
        };
        (compiler, self.source_options())
    }

    /// Options of the program's source.
    pub(crate) fn source_options(&self) -> SourceOptions {
        SourceOptions {
            floats: self.options.floats,
            threads: self.options.threads,
            architectures: self.architectures.clone(),
        }
    }

    /// Writes the shared library of a program with kernels of a device.
    pub(crate) fn device_library(&self, path: &Path) -> Result<(), Failure> {
        let (compiler, options) = self.host_part();
        compiler.shared_library(&self.plan, &options, path).map_err(|error| unbuilt(&error))
    }

    /// Loads a program with kernels of a device.
    ///
    /// # Safety
    /// Code of the program's own is run as it is.
    pub(crate) unsafe fn device_code(&self) -> Result<Library, Failure> {
        let (compiler, options) = self.host_part();
        // SAFETY: the caller vouches for code of the program's own.
        unsafe { compiler.load(&self.plan, &options) }.map_err(|error| unbuilt(&error))
    }

    pub(crate) fn optimises(&self) -> bool {
        self.options.level != OptLevel::O0
    }

    /// What the code is to those who look for a fault of it.
    pub(crate) fn running(&self) -> Running {
        Running { checked: self.options.checked, external: self.calls_out }
    }
}

/// An error of the back end: what a program asks for, or what the user chose.
pub(crate) fn uncompiled(error: &LlvmError) -> Failure {
    match error {
        LlvmError::UnknownCpu { name, known } => {
            let similar = did_you_mean(name, known.iter().map(String::as_str));
            let what = format_args!("`{name}` is not a processor that code can be generated for{similar}");
            Failure::usage(what).help(format_args!("give --cpu host, {}", known.join(", ")))
        }
        LlvmError::RequiredFeature { .. } => {
            Failure::usage(error).at("--features").help("leave it out of the list")
        }
        LlvmError::UnknownFeature { .. }
        | LlvmError::NoLevel { .. }
        | LlvmError::NoLevels { .. }
        | LlvmError::UnsupportedHost { .. }
        | LlvmError::NoTarget { .. } => Failure::usage(error),
        // The others are about the program.
        _ => Failure::program(error),
    }
}

/// An error of printing source.
pub(crate) fn unprinted(error: &SourceError) -> Failure {
    match error {
        SourceError::Image(_) => Failure::usage(error).at("--cuda-arch"),
        SourceError::Interface(_) | SourceError::Unsupported { .. } | SourceError::Defect(_) => {
            Failure::program(error)
        }
    }
}

/// An error of building a library from source.
fn unbuilt(error: &BuildError) -> Failure {
    match error {
        BuildError::Source(error) => unprinted(error),
        BuildError::Link(error) => unlinked(error),
        BuildError::Load(error) => Failure::usage(error),
    }
}

/// An error of linking: tools and files.
pub(crate) fn unlinked(error: &LinkError) -> Failure {
    let failure = Failure::usage(error);
    match error {
        LinkError::Write { .. } => unwritten(error),
        LinkError::NotRunnable { .. } => failure.help(format_args!(
            "set the variable {LINKER_VARIABLE} to a linker or C compiler, or unset it to have one looked for"
        )),
        // These say themselves what to do.
        _ => failure,
    }
}
