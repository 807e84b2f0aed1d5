//! The Rust builder of SDFGs.
//!
//! A [`SdfgBuilder`] declares symbols and containers and adds control flow. Inside a state, a
//! [`StateBuilder`] adds dataflow. Scopes, loops and branches are closures. Sizes, ranges, memlets and
//! conditions are short texts of the same grammar as the text form, or typed values. `build()` derives the
//! outer memlets, validates everything and reports all errors at once, each with the line of the call.
//!
//! **Program order per container.** Within a state, the calls have sequential meaning: an access to a
//! container is ordered after earlier accesses that it could affect. Reads of one container share an access
//! node until it is written. A write creates a new access node. If data does not order two accesses, an order
//! edge does. The same holds inside each scope for one iteration; iterations of one scope are unordered.
//! Independent calls stay unordered.
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
//! let (program, warnings) = b.build()?;
//! assert_eq!(program.sdfg().name, "laplace");
//! assert!(warnings.is_empty(), "{warnings}");
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

pub use control::{BranchBuilder, TransitionBuilder};
pub use input::{InputError, IntoAccess, IntoContainer, IntoExpr, IntoExpression, IntoNested, IntoRange};
pub use node::{CodeNodeBuilder, LibraryBody, NestedBody, ReduceBuilder, TaskletBuilderBody};
use order::ScopeFrame;
pub use scope::{ConsumeBuilder, MapBuilder};
use sdfg_graph::diagnostic::{Code, Diagnostic, Element, ElementPath};
use sdfg_graph::ir::draft::DraftSdfg;
use sdfg_graph::ir::{
    BlockId, Container, ContainerId, ContainerKind, FloatMode, Layout, RegionId, Sdfg, SourceLoc, StateId,
};
use sdfg_graph::propagate::propagate;
use sdfg_language::dtype::{ElementType, ScalarType};
use sdfg_language::symbolic::{Expr, Symbol};
use sdfg_language::syntax::Expression;
use sdfg_language::value::Value;
use sdfg_validate::{Rejected, Validated, Warnings, validate};
pub use state::StateBuilder;

/// No connectors: the inputs of a mapped tasklet that only writes.
pub const NO_CONNECTORS: [(&str, &str); 0] = [];

/// Builds one SDFG.
#[derive(Debug)]
pub struct SdfgBuilder {
    sdfg: Sdfg,
    errors: Vec<Diagnostic>,
    /// The regions that are open, the body of the SDFG first.
    regions: Vec<OpenRegion>,
    /// State of each state's builder after its calls, for calls that extend it; `None` while a closure uses
    /// it.
    closed: BTreeMap<StateId, Option<ScopeFrame>>,
    /// Target of each reference, as set by calls in any state.
    targets: BTreeMap<ContainerId, BTreeSet<ContainerId>>,
}

/// A region to which blocks are added, and what its blocks go on with.
#[derive(Debug)]
struct OpenRegion {
    region: RegionId,
    /// Blocks in the order of the calls.
    blocks: Vec<BlockId>,
    /// Blocks with transitions that the user gave, and blocks that end the region.
    explicit: BTreeSet<BlockId>,
    /// The assignment on the way from a block to the next one, with the call that made it.
    pending: BTreeMap<BlockId, (Symbol, Expression, SourceLoc)>,
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
        SdfgBuilder {
            sdfg,
            errors: Vec::new(),
            regions: vec![body],
            closed: BTreeMap::new(),
            targets: BTreeMap::new(),
        }
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
        let id = self.stream_argument(name, element, shape);
        self.sdfg.container_mut(id).transient = true;
        id
    }

    /// Declares one queue that the caller passes: it begins with the elements that the call gives, and what it holds at
    /// the end is a result.
    ///
    /// ```
    /// use sdfg::builder::SdfgBuilder;
    /// use sdfg::dtype::ScalarType::F64;
    /// use sdfg::interpret::{Arguments, Interpreter, Options};
    /// use sdfg::tensor::Tensor;
    ///
    /// let mut b = SdfgBuilder::new("halves");
    /// b.queue_argument("numbers", F64);
    /// b.state("halve", |s| {
    ///     s.tasklet("halve").input("x", "numbers").output("y", "numbers").code("y = x / 2.0");
    /// });
    /// let (program, _) = b.build()?;
    /// let mut arguments = Arguments::new().with("numbers", Tensor::new(&[2], &[3.0, 4.0])?);
    /// Interpreter::new(&program)?.run(&mut arguments, &Options::default())?;
    /// let left: Vec<f64> = arguments.get("numbers").unwrap().to_vec()?;
    /// assert_eq!(left, [4.0, 1.5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn queue_argument(&mut self, name: &str, element: impl Into<ElementType>) -> ContainerId {
        self.stream_argument(name, element, std::iter::empty::<Expr>())
    }

    /// Declares an array of queues that the caller passes, each with the elements that the call gives and those that are left
    /// ([`queue_names`](crate::interpret::queue_names)).
    #[track_caller]
    pub fn stream_argument(
        &mut self,
        name: &str,
        element: impl Into<ElementType>,
        shape: impl IntoIterator<Item = impl IntoExpr>,
    ) -> ContainerId {
        let shape = self.shape(shape);
        self.declare(name, element.into(), ContainerKind::Stream { shape, capacity: None })
    }

    /// Declares a reference, which names whatever part of a container [`StateBuilder::set`] said last while running.
    ///
    /// ```
    /// use sdfg::builder::SdfgBuilder;
    /// use sdfg::dtype::ScalarType::{F64, I64};
    /// use sdfg::interpret::{Arguments, Interpreter, Options};
    /// use sdfg::tensor::Tensor;
    ///
    /// let mut b = SdfgBuilder::new("larger_half");
    /// b.array("A", F64, ["8"]);
    /// b.scalar("second", I64);
    /// b.scalar("first", F64);
    /// b.reference("half", F64, ["4"]);
    /// b.state("front", |s| {
    ///     s.set("half", "A[0:4]");
    /// });
    /// b.if_then("choose", "second > 0", |b| {
    ///     b.state("back", |s| {
    ///         s.set("half", "A[4:8]");
    ///     });
    /// });
    /// b.state("read", |s| {
    ///     s.tasklet("read").input("x", "half[0]").output("y", "first").code("y = x");
    /// });
    /// let (program, _) = b.build()?;
    /// let numbers: Vec<f64> = (0..8).map(f64::from).collect();
    /// let mut arguments = Arguments::new()
    ///     .with("A", Tensor::new(&[8], &numbers)?)
    ///     .with("second", Tensor::new(&[], &[1_i64])?)
    ///     .with("first", Tensor::new(&[], &[0.0])?);
    /// Interpreter::new(&program)?.run(&mut arguments, &Options::default())?;
    /// let first: Vec<f64> = arguments.get("first").unwrap().to_vec()?;
    /// assert_eq!(first, [4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn reference(
        &mut self,
        name: &str,
        element: impl Into<ElementType>,
        shape: impl IntoIterator<Item = impl IntoExpr>,
    ) -> ContainerId {
        let shape = self.shape(shape);
        let id = self.declare(name, element.into(), ContainerKind::Reference(Layout::packed(shape)));
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

    /// Derives outer memlets and checks the program; with it come the warnings, which printing shows with carets.
    ///
    /// ```
    /// use sdfg::builder::SdfgBuilder;
    /// use sdfg::dtype::ScalarType::F64;
    ///
    /// let mut b = SdfgBuilder::new("unset");
    /// b.transient_scalar("x", F64);
    /// b.scalar("y", F64);
    /// b.state("copy", |s| s.copy("x", "y"));
    /// let (program, warnings) = b.build()?;
    /// assert_eq!(program.sdfg().name, "unset");
    /// assert!(warnings.to_string().contains("`x` is read, but nothing writes it"));
    /// # Ok::<(), sdfg::validate::Rejected>(())
    /// ```
    ///
    /// # Errors
    /// Every mistake in the calls; or if there is none, everything that validation finds.
    pub fn build(self) -> Result<(Validated, Warnings), Rejected> {
        let program = self.finish().and_then(validate)?;
        let warnings = Warnings::of(&program);
        Ok((program, warnings))
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
        self.check_name(name, || Element::Container(name.to_owned()));
        let taken = Symbol::new(name).is_ok_and(|symbol| self.sdfg.symbol_type(&symbol).is_some());
        if self.sdfg.find_container(name).is_some() || taken {
            self.note(Element::Container(name.to_owned()), InputError::NameTaken { name: name.to_owned() });
        }
        let mut container = Container::new(name, element, kind);
        container.loc = Some(SourceLoc::caller());
        self.sdfg.add_container(container)
    }

    /// Notes a name that no text form could hold.
    #[track_caller]
    fn check_name(&mut self, name: &str, element: impl FnOnce() -> Element) {
        if Symbol::new(name).is_err() {
            self.note(element(), InputError::InvalidName { name: name.to_owned() });
        }
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
            InputError::UnknownContainer { .. } | InputError::NotAState { .. } => Code::UnknownReference,
            InputError::CopyPassesThrough
            | InputError::ResolutionOnInput { .. }
            | InputError::ValueConnector { .. }
            | InputError::NotAReference { .. } => Code::FlowMismatch,
            InputError::StateIsOpen { .. } | InputError::NoArms => Code::MalformedRegion,
            InputError::NameTaken { .. } => Code::DuplicateName,
        };
        let path = ElementPath::sdfg(&self.sdfg.name).to(element);
        let mut diagnostic = Diagnostic::error(code, path, error.to_string()).at(Some(loc));
        diagnostic.suggestion = error.suggestion();
        self.errors.push(diagnostic);
    }
}
