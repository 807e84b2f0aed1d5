//! The library of a distributed program: its functions take the parts of a rank, or whole arrays on rank 0.
//!
//! The program of a rank is compiled like any other, under the name `NAME_of_rank`. A generated C source around it has the functions
//! of the program's own name. It finds out where a rank lies in the grids of processes, checks that all ranks pass the same symbols, and
//! gives the library of communication to the program. Its fixed part is `ranked.h` of `sdfg-runtime`; [`tables`] describes the
//! program to it.

mod tables;

use std::collections::BTreeMap;

use sdfg::ir::{Container, Layout};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::ExternalOrigin;
use thiserror::Error;

use super::{CONTEXT, LocaliseError, RankProgram};
use crate::header::c_header;
use crate::interface::{Argument, ArgumentKind, Interface, InterfaceError, Ranks};
use crate::object::ObjectCode;
use crate::plan::Plan;
use crate::source::SourceError;
pub(crate) use tables::bound_parameters;

/// Why a distributed program has no library.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// The arguments are no interface.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// A size has no C.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// An argument cannot be moved as a whole.
    #[error(transparent)]
    Move(#[from] LocaliseError),
    /// An argument is passed in a way that libraries on several ranks do not have.
    #[error("{what} of a distributed program has no library on several ranks; {remedy}")]
    Argument {
        /// Another way.
        remedy: &'static str,
        /// The argument, with its kind.
        what: String,
    },
}

/// The library of a distributed program before it is compiled.
#[derive(Clone, Debug)]
pub struct RankLibrary {
    interface: Interface,
    source: String,
}

impl RankLibrary {
    /// The library of a program of a rank, whose plan gets the name of the program of a rank.
    ///
    /// # Errors
    /// [`LibraryError`].
    pub fn new(program: &RankProgram, plan: &mut Plan) -> Result<Self, LibraryError> {
        let name = plan.name.clone();
        plan.name = format!("{name}_of_rank");
        let code = plan.interface()?;
        let interface = interface_of(program, &name, &code)?;
        let tables = tables::Tables { program, plan, code: &code, interface: &interface }.text()?;
        let source = format!(
            "#define _GNU_SOURCE\n{}\n{}\n{tables}",
            c_header(&interface),
            sdfg_runtime::RANKED_SOURCE
        );
        Ok(RankLibrary { interface, source })
    }

    /// The interface of the library.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// The C11 source around the program of a rank.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The library's code, out of that of the program of a rank.
    #[must_use]
    pub fn object(&self, code: ObjectCode) -> ObjectCode {
        let ObjectCode { files, mut requirements, hazard, .. } = code;
        requirements.externals.push(ExternalOrigin::Source(self.source.clone()));
        ObjectCode { interface: self.interface.clone(), files, requirements, hazard }
    }
}

/// The interface for callers: arguments have the extents of the whole, and nothing depends on the rank.
fn interface_of(program: &RankProgram, name: &str, code: &Interface) -> Result<Interface, LibraryError> {
    let of_rank: Vec<&Symbol> = program.rank_symbols().collect();
    let mut arguments = Vec::new();
    let mut parts = BTreeMap::new();
    for argument in code.arguments() {
        let is_of_rank =
            argument.name == CONTEXT || of_rank.iter().any(|symbol| symbol.as_str() == argument.name);
        if matches!(argument.kind, ArgumentKind::Symbol { .. }) && is_of_rank {
            continue;
        }
        if matches!(argument.kind, ArgumentKind::Queue { .. }) {
            let what = format!("the stream `{}`", argument.name);
            let remedy = "run it by `sdfg run --ranks`, or let it take the elements from an array";
            return Err(LibraryError::Argument { what, remedy });
        }
        let mut argument = argument.clone();
        if let Some(container) = program.arguments.get(&argument.name) {
            parts.insert(argument.name.clone(), distribution(container));
            argument = whole(&argument, container);
        }
        arguments.push(argument);
    }
    let is_own = |name: &str| program.moves.iter().any(|(own, _)| own == name);
    if let Some(callback) = code.callbacks().iter().find(|callback| !is_own(&callback.name)) {
        let what = format!("the callback `{}`", callback.name);
        return Err(LibraryError::Argument {
            what,
            remedy: "pass the function to `RankProgram::run` in Rust",
        });
    }
    let ranks = Ranks { least: program.ranks(), parts };
    Ok(Interface::new(name, arguments)?.with_profile(code.has_profile()).with_ranks(ranks))
}

fn distribution(container: &Container) -> String {
    container.distribution.blocks().map_or_else(String::new, ToString::to_string)
}

/// The argument with the extents of the whole.
fn whole(argument: &Argument, container: &Container) -> Argument {
    let mut whole = argument.clone();
    if let ArgumentKind::Array { shape, strides, offset, elements, .. } = &mut whole.kind {
        let packed = Layout::packed(container.shape().to_vec());
        (*shape, *strides, *offset, *elements) =
            (packed.shape, packed.strides, Expr::zero(), packed.total_size);
    }
    whole
}
