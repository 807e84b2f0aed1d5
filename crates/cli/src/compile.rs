//! `sdfg compile`: writes native code to files.

use std::path::Path;

use clap::{Args, ValueEnum};
use sdfg::ir::structure::CallerStructure;
use sdfg_codegen::fortran::fortran_module;
use sdfg_codegen::header::c_header;
use sdfg_codegen::json::json_interface;
use sdfg_codegen::link::{relocatable, shared_library, static_library, write_file};
use sdfg_codegen::llvm::{Sanitizer, assembly, llvm_ir};
use sdfg_codegen::lower::LowerOptions;
use sdfg_codegen::mpi::Mpi;
use sdfg_codegen::package::{check_package, write_package};
use sdfg_codegen::plan::Plan;
use sdfg_codegen::source::{
    SourceError, SourceOptions, c_source, cuda_driver_source, cuda_source, opencl_source,
};

use crate::failure::Failure;
use crate::mpi_library::{MPI_LIBRARY, write_mpi_library};
use crate::native::{Lowered, Machine, NativeOptions, uncompiled, unlinked, unprinted};
use crate::output::{Destination, refuse_program, unwritten};
use crate::profile::Level;
use crate::source::Source;
use crate::terminal::Terminal;

/// Compile a program for the CPU: plans, LLVM IR, assembly, object code, libraries, and interfaces for other languages and build
/// systems.
#[derive(Args)]
#[command(after_help = "Examples:\n  sdfg compile laplace.sdft --emit so -o liblaplace.so\n  \
                        sdfg compile laplace.sdft --emit header -o laplace.h\n  \
                        sdfg compile laplace.sdft --emit package --specialize N=4096 -o /opt/laplace\n  \
                        sdfg compile laplace.sdft --emit c -o laplace.c\n  \
                        sdfg compile gpu.sdft --emit cuda -o gpu.cu\n  \
                        sdfg compile gpu.sdft --target opencl -o libgpu.so\n  \
                        sdfg compile gpu.sdft --target cuda --cuda-arch sm_80,sm_90 -o libgpu.so\n  \
                        sdfg compile laplace.sdft --emit asm -O2 --cpu x86-64-v3\n  \
                        sdfg compile laplace.sdft --emit plan --checked")]
pub(crate) struct Compile {
    /// The program; `-` is the standard input.
    #[arg(value_name = "PROGRAM")]
    program: String,
    /// The kind of output.
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    emit: Emit,
    /// The output file. By default, texts go to the standard output, libraries and objects to `libNAME.so`, `libNAME.a` or
    /// `NAME.o` in this folder, and a package to the folder `NAME` in it.
    #[arg(long, short, value_name = "FILE")]
    output: Option<String>,
    /// Add timers to parts of the program. The function NAME_profile of the library returns their results.
    #[arg(long, value_enum, value_name = "LEVEL")]
    instrument: Option<Level>,
    /// Count page faults, cycles, instructions and cache misses of timed parts, as far as the machine supports it.
    #[arg(long, requires = "instrument")]
    counters: bool,
    /// Add debug information: lines of the program, and its tasklets, maps, states and copies as functions. If the program is not a
    /// text file, its text form is written beside the output as NAME.debug.sdft.
    #[arg(short = 'g')]
    debug: bool,
    /// Add the C source to a package, as src/NAME.c.
    #[arg(long)]
    with_source: bool,
    /// Instrument the code for a sanitizer. Link the process that uses it with `clang -fsanitize=address` or `thread`. The code is
    /// several times slower.
    #[arg(long, value_enum, value_name = "SANITIZER")]
    sanitize: Option<Sanitize>,
    #[command(flatten)]
    native: NativeOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sanitize {
    /// AddressSanitizer: detects accesses outside of allocated memory.
    Address,
    /// ThreadSanitizer: detects data races. Needs LLVM's OpenMP runtime and its tool Archer.
    Thread,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// The lowered program as text: the decisions between the graph and the back end.
    Plan,
    /// C11 source with OpenMP, for other compilers and for readers; its first lines name the flags it needs.
    C,
    /// CUDA source: kernels of the maps of schedule `gpu_grid`, and host code; its first lines name the flags of nvcc it needs.
    Cuda,
    /// C source with kernels in OpenCL C of the maps of schedule `gpu_grid`; the driver of OpenCL compiles them when the program runs first.
    Opencl,
    /// LLVM's intermediate representation; with -O0, as generated.
    LlvmIr,
    /// Assembly text.
    Asm,
    /// A relocatable object file.
    Obj,
    /// A shared library.
    #[default]
    So,
    /// A static library.
    A,
    /// The C header of the libraries.
    Header,
    /// A Fortran module that calls the libraries.
    Fortran,
    /// The interface as JSON, for callers in other languages.
    Interface,
    /// A folder with both libraries, C header, Fortran module, JSON interface, and files for pkg-config and CMake.
    Package,
}

impl Emit {
    /// The file for the program `name` when the user names none; texts have none.
    fn default_file(self, name: &str) -> Option<String> {
        match self {
            Emit::Plan
            | Emit::C
            | Emit::Cuda
            | Emit::Opencl
            | Emit::LlvmIr
            | Emit::Asm
            | Emit::Header
            | Emit::Fortran
            | Emit::Interface => None,
            Emit::Obj => Some(format!("{name}.o")),
            Emit::So => Some(format!("lib{name}.so")),
            Emit::A => Some(format!("lib{name}.a")),
            Emit::Package => Some(name.to_owned()),
        }
    }
}

impl Compile {
    pub(crate) fn execute(&self, terminal: Terminal) -> Result<(), Failure> {
        if self.output.as_deref() == Some("-") && matches!(self.emit, Emit::So | Emit::A | Emit::Package) {
            return Err(Failure::usage("libraries are written to files only").help("name one with -o FILE"));
        }
        if self.with_source && self.emit != Emit::Package {
            let message = "only a package takes a source along";
            return Err(Failure::usage(message)
                .help("`--emit package --with-source`, or `--emit c` for the source alone"));
        }
        if self.emits_source() && self.sanitize.is_some() {
            let help = "give `-fsanitize=` to the compiler of the source";
            return Err(Failure::usage("source has no instrumentation for sanitizers").help(help));
        }
        self.check_output()?;
        let instrumentation = self.instrument.map(|level| level.instrumentation(self.counters));
        let sanitizer = self.sanitize.map(|asked| match asked {
            Sanitize::Address => Sanitizer::Address,
            Sanitize::Thread => Sanitizer::Thread,
        });
        let apart = sanitizer == Some(Sanitizer::Address);
        let debug = self.debug_folder()?;
        let lowering = LowerOptions { instrumentation, debug, apart, ..LowerOptions::default() };
        let source = self.source(terminal)?;
        let target = match self.emit {
            Emit::Cuda => Machine::CudaDevice,
            Emit::Opencl => Machine::OpenClDevice,
            _ => self.native.machine(),
        };
        self.check_target(target)?;
        let mut lowered = self.native.lower_library(target, &source, &lowering, terminal)?;
        lowered.options.sanitizer = sanitizer;
        if lowered.is_for_ranks() && self.emit == Emit::Obj {
            return Err(Failure::usage(
                "an object of a distributed program is the program of a rank alone, which nobody can call",
            )
            .help("write a library, with --emit so or a"));
        }
        let path = match &self.output {
            Some(path) => Some(path.clone()),
            None => self.emit.default_file(lowered.interface()?.name()),
        };
        self.write(&lowered, source.structures(), path.as_deref())?;
        self.write_communication(&lowered, path.as_deref(), terminal)
    }

    /// Refuses an output that cannot be written before anything is compiled for it.
    fn check_output(&self) -> Result<(), Failure> {
        let Some(path) = &self.output else { return Ok(()) };
        refuse_program(&self.program, Some(path))?;
        if path.is_empty() {
            return Destination::new(Some(path)).check();
        }
        if self.emit == Emit::Package {
            return check_package(Path::new(path)).map_err(|error| unwritten(&error));
        }
        Destination::new(Some(path)).check()
    }

    /// The folder that names of source files are relative to, if debug information is requested.
    fn debug_folder(&self) -> Result<Option<String>, Failure> {
        if self.emits_source() {
            // Comments of C source tell the program's lines; no debugger looks for the folder.
            return Ok(Some(String::new()));
        }
        if !self.debug {
            return Ok(None);
        }
        let folder = std::env::current_dir().map_err(|error| {
            Failure::usage(format_args!("this folder has no path for debuggers: {error}"))
        })?;
        Ok(Some(folder.display().to_string()))
    }

    /// The program. What debuggers could not show the lines of, JSON and the standard input, is written beside the output in the text form.
    fn source(&self, terminal: Terminal) -> Result<Source, Failure> {
        let source =
            Source::read(&self.program, self.native.allow_external())?.retargeted(self.native.retarget());
        if !self.debug || source.has_lines() {
            return Ok(source);
        }
        let sdfg = source.parse(terminal)?;
        let folder = self.output.as_deref().and_then(|path| Path::new(path).parent());
        let path = folder.unwrap_or(Path::new("")).join(format!("{}.debug.sdft", sdfg.name));
        let text = sdfg::text::print(&sdfg);
        write_file(&path, text.as_bytes()).map_err(|error| unwritten(&error))?;
        Ok(Source::from_text(path.display().to_string(), text))
    }

    /// Whether the output has C source.
    fn emits_source(&self) -> bool {
        matches!(self.emit, Emit::C | Emit::Cuda | Emit::Opencl)
    }

    /// Refuses outputs that do not exist for a device.
    fn check_target(&self, target: Machine) -> Result<(), Failure> {
        let is_of_device = match self.emit {
            Emit::Plan
            | Emit::Cuda
            | Emit::Opencl
            | Emit::So
            | Emit::Header
            | Emit::Fortran
            | Emit::Interface => true,
            Emit::C | Emit::LlvmIr | Emit::Asm | Emit::Obj | Emit::A | Emit::Package => false,
        };
        let (machine, source) = match target {
            Machine::Host => return Ok(()),
            Machine::OpenClDevice => ("opencl", "opencl"),
            Machine::CudaDevice => ("cuda", "c"),
        };
        if is_of_device || (target == Machine::CudaDevice && self.emit == Emit::C) {
            return Ok(());
        }
        Err(Failure::usage(format_args!("--target {machine} has no output of this kind"))
            .help(format_args!("write a shared library with --emit so, or the source with --emit {source}")))
    }

    /// Writes the library of communication beside the library of a distributed program, which looks for it there.
    fn write_communication(
        &self,
        lowered: &Lowered,
        path: Option<&str>,
        terminal: Terminal,
    ) -> Result<(), Failure> {
        let folder = match self.emit {
            _ if !lowered.is_for_ranks() => return Ok(()),
            Emit::Package => Path::new(path.unwrap_or_default()).join("lib"),
            Emit::So | Emit::A => {
                Path::new(path.unwrap_or_default()).parent().unwrap_or(Path::new("")).to_owned()
            }
            _ => return Ok(()),
        };
        match Mpi::find() {
            Ok(mpi) => write_mpi_library(&mpi, &folder.join(MPI_LIBRARY)),
            Err(missing) => {
                let library = folder.join(MPI_LIBRARY);
                terminal.note(&format!(
                    "{missing}\nOn the machine of the ranks, write the library of communication with `sdfg mpi-library -o {}`.",
                    library.display()
                ));
                Ok(())
            }
        }
    }

    fn write(
        &self,
        lowered: &Lowered,
        structures: Vec<CallerStructure>,
        path: Option<&str>,
    ) -> Result<(), Failure> {
        let Lowered { plan, options, .. } = lowered;
        let file = Path::new(path.unwrap_or_default());
        let failed = |error| uncompiled(&error);
        let destination = Destination::new(path);
        match self.emit {
            Emit::Plan => destination.write(plan.to_string().as_bytes()),
            Emit::C if lowered.machine == Machine::CudaDevice => {
                destination.write(source_of(lowered, cuda_driver_source)?.as_bytes())
            }
            Emit::C => destination.write(source_of(lowered, c_source)?.as_bytes()),
            Emit::Cuda => destination.write(source_of(lowered, cuda_source)?.as_bytes()),
            Emit::Opencl => destination.write(source_of(lowered, opencl_source)?.as_bytes()),
            Emit::LlvmIr => {
                let text = llvm_ir(plan, options, lowered.optimises()).map_err(failed)?;
                destination.write(text.as_bytes())
            }
            Emit::Asm => destination.write(assembly(plan, options).map_err(failed)?.as_bytes()),
            Emit::Header => {
                let interface = lowered.interface()?.with_structures(structures);
                destination.write(c_header(&interface).as_bytes())
            }
            Emit::Fortran => {
                let interface = lowered.interface()?;
                destination.write(fortran_module(&interface).as_bytes())
            }
            Emit::Interface => {
                let interface = lowered.interface()?;
                destination.write(json_interface(&interface).as_bytes())
            }
            Emit::Obj => {
                let object = self.native.compile(lowered)?;
                destination.write(&relocatable(&object).map_err(|error| unlinked(&error))?)
            }
            Emit::So if lowered.machine != Machine::Host => {
                self.native.consent(lowered)?;
                lowered.device_library(file)
            }
            Emit::So => {
                self.native.consent(lowered)?;
                let object = self.native.compile(lowered)?;
                shared_library(&object, file).map_err(|error| unlinked(&error))
            }
            Emit::A => {
                self.native.consent(lowered)?;
                let object = self.native.compile(lowered)?;
                static_library(&object, file).map_err(|error| unlinked(&error))
            }
            Emit::Package => {
                self.native.consent(lowered)?;
                let source = if self.with_source { Some(source_of(lowered, c_source)?) } else { None };
                let object = self.native.compile(lowered)?.with_structures(structures);
                write_package(&object, source.as_deref(), file).map_err(|error| unlinked(&error))
            }
        }
    }
}

/// The source of a program, as one of the printers writes it.
fn source_of(
    lowered: &Lowered,
    print: fn(&Plan, &SourceOptions) -> Result<String, SourceError>,
) -> Result<String, Failure> {
    print(&lowered.plan, &lowered.source_options()).map_err(|error| unprinted(&error))
}
