//! Shared libraries, built by a C compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{SourceError, SourceOptions, c_flags, c_source, cuda_driver_source, opencl_source};
use crate::link::{Externals, Form, Library, LinkError, Output, run_program};
use crate::load::{Library as LoadedLibrary, LoadError};
use crate::object::Requirements;
use crate::plan::Plan;

/// A compiler of C with gcc's command line, OpenMP and atomic functions: gcc or clang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CCompiler {
    program: PathBuf,
    arguments: Vec<String>,
    device: Option<DeviceApi>,
}

/// The interface by which compiled programs use a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeviceApi {
    OpenCl,
    Cuda,
}

/// Why C source did not become a library.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The plan has no C source.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The compiler or linker failed, or a file could not be written.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The library cannot be opened.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl CCompiler {
    /// The compiler with this command, with arguments besides those that the source needs: a level, a processor, warnings.
    pub fn new(program: impl Into<PathBuf>, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        CCompiler { program: program.into(), arguments, device: None }
    }

    /// For plans for [`Target::opencl`](crate::lower::Target::opencl), whose kernels run on a device of OpenCL.
    pub fn with_opencl(mut self) -> Self {
        self.device = Some(DeviceApi::OpenCl);
        self
    }

    /// For plans for [`Target::cuda`](crate::lower::Target::cuda), whose kernels run on a device of CUDA by way of its driver.
    pub fn with_cuda(mut self) -> Self {
        self.device = Some(DeviceApi::Cuda);
        self
    }

    /// Its command.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Writes the shared library of a plan to `path`, with what its external tasklets need.
    ///
    /// # Errors
    /// [`BuildError`], with what the compiler says.
    pub fn shared_library(
        &self,
        plan: &Plan,
        options: &SourceOptions,
        path: &Path,
    ) -> Result<(), BuildError> {
        let text = match self.device {
            None => c_source(plan, options),
            Some(DeviceApi::OpenCl) => opencl_source(plan, options),
            Some(DeviceApi::Cuda) => cuda_driver_source(plan, options),
        }?;
        let unwritten = |source| LinkError::Write { path: std::env::temp_dir(), source };
        let folder = tempfile::Builder::new().prefix("sdfg-").tempdir().map_err(unwritten)?;
        let source = folder.path().join(format!("{}.c", plan.name));
        std::fs::write(&source, text).map_err(unwritten)?;
        let requirements = Requirements { externals: plan.externals.clone(), ..Requirements::default() };
        let externals = Externals::prepare(&requirements, Form::Object)?;
        let mut command = Command::new(&self.program);
        command.args(["-shared", "-fPIC"]).args(c_flags(options.floats.unwrap_or(plan.float_mode)));
        command.args(&self.arguments).arg(&source).args(&externals.objects);
        for library in &externals.libraries {
            match library {
                Library::Found(path) => command.arg(path),
                Library::Named(name) => command.arg(format!("-l{name}")),
            };
        }
        command.args(externals.needs_cpp.then_some("-lstdc++")).arg("-lm");
        // Where the C library does not have `dlopen` itself.
        command.args(self.device.map(|_| "-ldl"));
        let output = Output::new(path)?;
        command.arg("-o").arg(output.temporary());
        run_program(&self.program, command)?;
        Ok(output.persist()?)
    }

    /// Compiles a plan and opens the library in this process, where it stays.
    ///
    /// # Safety
    /// The compiler, and the sources and libraries that the plan's external tasklets name, are run as they are.
    ///
    /// # Errors
    /// [`BuildError`], with what the compiler or the loader says.
    pub unsafe fn load(&self, plan: &Plan, options: &SourceOptions) -> Result<LoadedLibrary, BuildError> {
        let interface = plan.interface().map_err(SourceError::from)?;
        let unwritten = |source| LinkError::Write { path: std::env::temp_dir(), source };
        let folder = tempfile::Builder::new().prefix("sdfg-").tempdir().map_err(unwritten)?;
        let path = folder.path().join(format!("lib{}.so", plan.name));
        self.shared_library(plan, options, &path)?;
        // SAFETY: the file was just made for this interface, in a folder of this process; the caller vouches for the rest.
        Ok(unsafe { LoadedLibrary::open(&path, interface) }?)
    }
}
