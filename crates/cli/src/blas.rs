//! Treatment of library nodes, shared by `compile`, `run`, `interpret` and `print`: expansion into maps, or
//! calls of a BLAS on request.

use clap::Args;
use sdfg::validate::{Validated, validate};
use sdfg_codegen::link::BlasLibraries;
use sdfg_library::{Blas, BuiltIn, Registry, expand};

use crate::failure::Failure;

/// Whether a BLAS is called.
#[derive(Args, Debug)]
pub(crate) struct BlasOption {
    /// Call a BLAS for products of matrices and vectors, and LAPACK for `Cholesky` and `Solve`. The name selects the library, as in
    /// `--blas=openblas`; the default is the first one found. Without this option, no BLAS is called.
    #[arg(long, value_name = "LIB", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    blas: Option<String>,
}

impl BlasOption {
    pub(crate) fn is_given(&self) -> bool {
        self.blas.is_some()
    }

    /// Treatment of library nodes.
    pub(crate) fn registry(&self) -> Result<Box<dyn Registry>, Failure> {
        let Some(name) = &self.blas else { return Ok(Box::new(BuiltIn)) };
        let found = match name.as_str() {
            "" => BlasLibraries::find().ok_or_else(|| {
                Failure::usage("no BLAS was found").at("--blas").help(
                    "install one with the C interface (Debian: `apt-get install libopenblas-dev liblapacke-dev`), add its folder to LIBRARY_PATH, or name it, as in `--blas=openblas`",
                )
            })?,
            name => BlasLibraries::named(name),
        };
        Ok(Box::new(Blas::new(found.blas, found.lapack)))
    }

    /// The program without library nodes.
    pub(crate) fn expanded(&self, program: &Validated) -> Result<Validated, Failure> {
        let registry = self.registry()?;
        let expanded = expand(program.sdfg(), registry.as_ref()).map_err(Failure::program)?;
        // Graphs of one revision have the same contents.
        if expanded.revision() == program.sdfg().revision() {
            return Ok(program.clone());
        }
        validate(expanded).map_err(|rejected| {
            Failure::program(format_args!("an expansion is not valid: {rejected}"))
                .help("this is a defect of the compiler: please report it with the program")
        })
    }
}
