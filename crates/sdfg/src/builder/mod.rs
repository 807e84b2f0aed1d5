//! Building SDFGs in Rust.
//!
//! A [`SdfgBuilder`] declares symbols and containers and adds control flow; inside a state, a [`StateBuilder`] adds
//! dataflow. Scopes, loops and branches are closures. Sizes, ranges, memlets and conditions are short texts of the same
//! grammar as the text form, or typed values. `build()` derives the outer memlets, checks everything and reports all
//! mistakes at once, each with the line of the call.
//!
//! **Program order per container.** Within a state the calls mean what they say in sequence: an access to a container
//! is ordered after the earlier ones that it could disturb. Reads of one container share an access node until it is
//! written; a write makes a new access node; where data does not order two accesses, an edge that only orders does. The
//! same holds inside each scope for one iteration; iterations of one scope are not ordered. What does not depend on
//! each other stays unordered.
//!
//! ```
//! use sdfg::builder::SdfgBuilder;
//! use sdfg::dtype::ScalarType::F64;
//!
//! let mut b = SdfgBuilder::new("laplace");
//! b.symbol("N");
//! b.symbol("T");
//! b.array("A", F64, ["2", "N"]);
//! b.for_loop("steps", "t", "0:T", |b| {
//!     b.state("step", |s| {
//!         s.map("cells", [("i", "1:N - 1")], |s| {
//!             s.tasklet("lap")
//!                 .input("l", "A[t % 2, i - 1]")
//!                 .input("c", "A[t % 2, i]")
//!                 .input("r", "A[t % 2, i + 1]")
//!                 .output("o", "A[(t + 1) % 2, i]")
//!                 .code("o = l - 2.0 * c + r");
//!         });
//!     });
//! });
//! let program = b.build()?;
//! assert_eq!(program.sdfg().name, "laplace");
//! # Ok::<(), sdfg::validate::Rejected>(())
//! ```

mod control;
mod input;
mod node;
mod order;
mod scope;
mod state;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use control::TransitionBuilder;
pub use input::{InputError, IntoAccess, IntoContainer, IntoExpr, IntoExpression, IntoNested, IntoRange};
pub use node::{CodeNodeBuilder, LibraryBody, NestedBody, ReduceBuilder, TaskletBuilderBody};
pub use scope::{ConsumeBuilder, MapBuilder};
pub use state::StateBuilder;

use crate::diagnostic::{Code, Diagnostic, Element, ElementPath};
use crate::dtype::{ElementType, ScalarType};
use crate::ir::{
    BlockId, Container, ContainerId, ContainerKind, FloatMode, Layout, RegionId, Sdfg, SourceLoc,
};
use crate::propagate::propagate;
use crate::symbolic::{Expr, Symbol};
use crate::syntax::Expression;
use crate::validate::{Rejected, Validated, validate};
use crate::value::Value;

/// No connectors: the inputs of a mapped tasklet that only writes.
pub const NO_CONNECTORS: [(&str, &str); 0] = [];

/// Builds one SDFG.
#[derive(Debug)]
pub struct SdfgBuilder {
    sdfg: Sdfg,
    errors: Vec<Diagnostic>,
    /// The regions that are open, the body of the SDFG first.
    regions: Vec<OpenRegion>,
}

/// A region to which blocks are added, and what its blocks go on with.
#[derive(Debug)]
struct OpenRegion {
    region: RegionId,
    /// Blocks in the order of the calls.
    blocks: Vec<BlockId>,
    /// Blocks with transitions that the user gave, and blocks that end the region.
    explicit: BTreeSet<BlockId>,
    /// Assignments on the way from a block to the next one.
    pending: BTreeMap<BlockId, Vec<(Symbol, Expression)>>,
}

impl OpenRegion {
    fn new(region: RegionId) -> Self {
        OpenRegion { region, blocks: Vec::new(), explicit: BTreeSet::new(), pending: BTreeMap::new() }
    }
}

impl SdfgBuilder {
    /// A program without containers and with an empty body.
    #[track_caller]
    pub fn new(name: impl Into<String>) -> Self {
        let mut sdfg = Sdfg::new(name);
        sdfg.loc = Some(SourceLoc::caller());
        let body = OpenRegion::new(sdfg.body());
        SdfgBuilder { sdfg, errors: Vec::new(), regions: vec![body] }
    }

    /// Declares an `i64` symbol that the caller gives a value.
    #[track_caller]
    pub fn symbol(&mut self, name: &str) -> Expr {
        self.symbol_of_type(name, ScalarType::I64)
    }

    /// Declares a symbol of another integer type.
    #[track_caller]
    pub fn symbol_of_type(&mut self, name: &str, ty: ScalarType) -> Expr {
        let symbol = self.checked(input::symbol(name), || Symbol::of("unnamed"));
        self.sdfg.declare_symbol(symbol.clone(), ty);
        Expr::symbol(symbol)
    }

    /// Declares an array that the caller passes, packed in row-major order; see [`configure`](SdfgBuilder::configure)
    /// for other properties.
    #[track_caller]
    pub fn array(
        &mut self,
        name: &str,
        element: impl Into<ElementType>,
        shape: impl IntoIterator<Item = impl IntoExpr>,
    ) -> ContainerId {
        let shape = self.shape(shape);
        self.declare(name, element.into(), ContainerKind::Array(Layout::packed(shape)))
    }

    /// Declares one element that the caller passes.
    #[track_caller]
    pub fn scalar(&mut self, name: &str, element: impl Into<ElementType>) -> ContainerId {
        self.declare(name, element.into(), ContainerKind::Scalar)
    }

    /// Declares an array that lives inside the program.
    #[track_caller]
    pub fn transient(
        &mut self,
        name: &str,
        element: impl Into<ElementType>,
        shape: impl IntoIterator<Item = impl IntoExpr>,
    ) -> ContainerId {
        let id = self.array(name, element, shape);
        self.sdfg.container_mut(id).transient = true;
        id
    }

    /// Declares one element that lives inside the program.
    #[track_caller]
    pub fn transient_scalar(&mut self, name: &str, element: impl Into<ElementType>) -> ContainerId {
        let id = self.scalar(name, element);
        self.sdfg.container_mut(id).transient = true;
        id
    }

    /// Declares one unbounded transient queue.
    #[track_caller]
    pub fn queue(&mut self, name: &str, element: impl Into<ElementType>) -> ContainerId {
        self.stream(name, element, std::iter::empty::<Expr>())
    }

    /// Declares a transient array of unbounded queues.
    #[track_caller]
    pub fn stream(
        &mut self,
        name: &str,
        element: impl Into<ElementType>,
        shape: impl IntoIterator<Item = impl IntoExpr>,
    ) -> ContainerId {
        let shape = self.shape(shape);
        let id = self.declare(name, element.into(), ContainerKind::Stream { shape, capacity: None });
        self.sdfg.container_mut(id).transient = true;
        id
    }

    /// Declares a view; [`StateBuilder::bind`] says in each state what it views.
    #[track_caller]
    pub fn view(
        &mut self,
        name: &str,
        element: impl Into<ElementType>,
        shape: impl IntoIterator<Item = impl IntoExpr>,
    ) -> ContainerId {
        let shape = self.shape(shape);
        let id = self.declare(name, element.into(), ContainerKind::View(Layout::packed(shape)));
        self.sdfg.container_mut(id).transient = true;
        id
    }

    /// Declares an array with constant contents, in row-major order.
    #[track_caller]
    pub fn constant(
        &mut self,
        name: &str,
        element: impl Into<ElementType>,
        shape: impl IntoIterator<Item = impl IntoExpr>,
        values: impl IntoIterator<Item = impl Into<Value>>,
    ) -> ContainerId {
        let id = self.transient(name, element, shape);
        self.sdfg.container_mut(id).constant = Some(values.into_iter().map(Into::into).collect());
        id
    }

    /// Changes properties of a container: storage, lifetime, layout, distribution, capacity.
    pub fn configure(&mut self, container: ContainerId, change: impl FnOnce(&mut Container)) {
        change(self.sdfg.container_mut(container));
    }

    /// Says how floating-point arithmetic may be carried out.
    pub fn float_mode(&mut self, mode: FloatMode) {
        self.sdfg.float_mode = mode;
    }

    /// The graph as it is so far; transitions between successive blocks are made when their region is complete.
    pub fn sdfg(&self) -> &Sdfg {
        &self.sdfg
    }

    /// Derives outer memlets and checks the program.
    ///
    /// # Errors
    /// Every mistake in the calls; or if there is none, everything that validation finds.
    pub fn build(self) -> Result<Validated, Rejected> {
        self.finish().and_then(validate)
    }

    /// As [`build`](SdfgBuilder::build) without validation, for programs that are wrong on purpose.
    ///
    /// # Errors
    /// Every mistake in the calls.
    pub fn finish(mut self) -> Result<Sdfg, Rejected> {
        self.close_body();
        if self.errors.is_empty() {
            propagate(&mut self.sdfg);
            Ok(self.sdfg)
        } else {
            Err(Rejected { diagnostics: self.errors, sdfg: Box::new(self.sdfg) })
        }
    }

    fn close_body(&mut self) {
        if let Some(body) = self.regions.pop() {
            self.close_region(body);
        }
    }

    #[track_caller]
    fn declare(&mut self, name: &str, element: ElementType, kind: ContainerKind) -> ContainerId {
        let taken = Symbol::new(name).is_ok_and(|symbol| self.sdfg.symbol_type(&symbol).is_some());
        if self.sdfg.find_container(name).is_some() || taken {
            self.note(Element::Container(name.to_owned()), InputError::NameTaken { name: name.to_owned() });
        }
        let mut container = Container::new(name, element, kind);
        container.loc = Some(SourceLoc::caller());
        self.sdfg.add_container(container)
    }

    #[track_caller]
    fn shape(&mut self, shape: impl IntoIterator<Item = impl IntoExpr>) -> Vec<Expr> {
        let mut extents = Vec::new();
        for extent in shape {
            extents.push(self.checked(extent.into_expr(), Expr::one));
        }
        extents
    }

    /// The value, or a stand-in and a note of the mistake.
    #[track_caller]
    fn checked<T>(&mut self, result: Result<T, InputError>, stand_in: impl FnOnce() -> T) -> T {
        match result {
            Ok(value) => value,
            Err(error) => {
                self.note(Element::Scope, error);
                stand_in()
            }
        }
    }

    #[track_caller]
    fn note(&mut self, element: Element, error: InputError) {
        self.note_at(element, error, &SourceLoc::caller());
    }

    fn note_at(&mut self, element: Element, error: InputError, loc: &SourceLoc) {
        let code = match &error {
            InputError::Syntax { .. }
            | InputError::NotSymbolic { .. }
            | InputError::NotAMemlet { .. }
            | InputError::NotALoopRange { .. }
            | InputError::ForeignAttribute(_)
            | InputError::NoConnector => Code::Syntax,
            InputError::InvalidName { .. } => Code::InvalidName,
            InputError::UnknownContainer { .. } => Code::UnknownReference,
            InputError::CopyPassesThrough => Code::FlowMismatch,
            InputError::NameTaken { .. } => Code::DuplicateName,
        };
        let path = ElementPath::sdfg(&self.sdfg.name).to(element);
        let mut diagnostic = Diagnostic::error(code, path, error.to_string()).at(Some(loc));
        diagnostic.suggestion = error.suggestion();
        self.errors.push(diagnostic);
    }
}
