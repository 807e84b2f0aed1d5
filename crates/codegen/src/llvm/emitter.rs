//! State shared by the emission of one module: types, attributes, declared functions and constants.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::debug_info::debug_metadata_version;
use inkwell::intrinsics::Intrinsic;
use inkwell::module::{Linkage, Module};
use inkwell::types::{
    BasicMetadataTypeEnum, BasicType, BasicTypeEnum, FloatType, FunctionType, IntType, PointerType,
};
use inkwell::values::{ArrayValue, FastMathFlags, FunctionValue, GlobalValue, IntValue, PointerValue};
use sdfg::dtype::{ElementType, ScalarKind, ScalarType};
use sdfg::ir::FloatMode;

use super::debug::Debug;
use super::error::LlvmError;
use super::level::Level;
use super::machine::Machine;
use super::options::CompileOptions;
use crate::interface::{EntryPoint, InterfaceError};
use crate::plan::Plan;

/// Bytes of the registers that LLVM prefers where nothing is said.
const PREFERRED: u64 = 32;

/// The result of an emission step.
pub(super) type Emit<T> = Result<T, LlvmError>;

/// One module that is being written.
pub(super) struct Emitter<'ctx> {
    pub(super) context: &'ctx Context,
    /// Debug information of the module until it is finished; it is dropped before the module.
    pub(super) debug: RefCell<Option<Debug<'ctx>>>,
    pub(super) module: Module<'ctx>,
    pub(super) plan: &'ctx Plan,
    pub(super) options: &'ctx CompileOptions,
    machine: &'ctx Machine,
    /// The level that functions are written for now, if it is not the processor of the module.
    pub(super) level: Cell<Option<Level>>,
    /// Whether a function of the OpenMP runtime was declared.
    openmp: Cell<bool>,
    /// Declared functions that the optimiser may call, by name.
    pub(super) kept: RefCell<BTreeMap<String, FunctionValue<'ctx>>>,
    /// Number of emitted calls that may become calls of vector functions.
    pub(super) vector_calls: Cell<usize>,
    /// Whether a function of this project's runtime was declared.
    runtime: Cell<bool>,
    /// Parallel regions emitted so far, for unique names.
    regions: Cell<u32>,
    /// A function of other libraries that the program calls, and that would have the name of one of its own.
    collision: RefCell<Option<String>>,
}

impl<'ctx> Emitter<'ctx> {
    /// An empty module for `plan`.
    pub(super) fn new(
        context: &'ctx Context,
        machine: &'ctx Machine,
        plan: &'ctx Plan,
        options: &'ctx CompileOptions,
    ) -> Self {
        let module = context.create_module(&plan.name);
        machine.prepare(&module);
        let debug = plan.debug.as_ref().map(|info| {
            let version = context.i32_type().const_int(u64::from(debug_metadata_version()), false);
            Debug::new(&module, info, options.level, version)
        });
        Emitter {
            context,
            module,
            plan,
            options,
            machine,
            level: Cell::new(None),
            openmp: Cell::new(false),
            runtime: Cell::new(false),
            kept: RefCell::default(),
            vector_calls: Cell::new(0),
            regions: Cell::new(0),
            collision: RefCell::default(),
            debug: RefCell::new(debug),
        }
    }

    /// Whether the module calls the OpenMP runtime.
    pub(super) fn uses_openmp(&self) -> bool {
        self.openmp.get()
    }

    /// Whether the module calls this project's runtime.
    pub(super) fn uses_runtime(&self) -> bool {
        self.runtime.get()
    }

    /// Notes that the module calls this project's runtime.
    pub(super) fn need_runtime(&self) {
        self.runtime.set(true);
    }

    /// A number that no earlier parallel region of the module got.
    pub(super) fn next_region(&self) -> u32 {
        self.regions.replace(self.regions.get() + 1)
    }

    pub(super) fn i1(&self) -> IntType<'ctx> {
        self.context.bool_type()
    }

    pub(super) fn i8(&self) -> IntType<'ctx> {
        self.context.i8_type()
    }

    pub(super) fn i32(&self) -> IntType<'ctx> {
        self.context.i32_type()
    }

    pub(super) fn i64(&self) -> IntType<'ctx> {
        self.context.i64_type()
    }

    pub(super) fn pointer(&self) -> PointerType<'ctx> {
        self.context.ptr_type(AddressSpace::default())
    }

    /// The constant `value` of 64 bits.
    pub(super) fn constant(&self, value: i64) -> IntValue<'ctx> {
        self.i64().const_int(value as u64, true)
    }

    /// The type of an integer or `bool` in registers; floats and complex numbers have none.
    pub(super) fn int_type(&self, ty: ScalarType) -> Emit<IntType<'ctx>> {
        Ok(match ty {
            ScalarType::Bool => self.i1(),
            ScalarType::I8 | ScalarType::U8 => self.i8(),
            ScalarType::I16 | ScalarType::U16 => self.context.i16_type(),
            ScalarType::I32 | ScalarType::U32 => self.i32(),
            ScalarType::I64 | ScalarType::U64 => self.i64(),
            ScalarType::F16
            | ScalarType::F32
            | ScalarType::F64
            | ScalarType::Complex64
            | ScalarType::Complex128 => return Err(self.defect(format!("{ty} is no integer type"))),
        })
    }

    /// The type of a float, or of the components of a complex number.
    pub(super) fn float_type(&self, ty: ScalarType) -> Emit<FloatType<'ctx>> {
        Ok(match ty.component() {
            ScalarType::F16 => self.context.f16_type(),
            ScalarType::F32 => self.context.f32_type(),
            ScalarType::F64 => self.context.f64_type(),
            ScalarType::Bool
            | ScalarType::I8
            | ScalarType::I16
            | ScalarType::I32
            | ScalarType::I64
            | ScalarType::U8
            | ScalarType::U16
            | ScalarType::U32
            | ScalarType::U64
            | ScalarType::Complex64
            | ScalarType::Complex128 => return Err(self.defect(format!("{ty} is no float type"))),
        })
    }

    /// The type in memory of one component: a `bool` is a byte, a complex number two of its components.
    pub(super) fn component_type(&self, ty: ScalarType) -> Emit<BasicTypeEnum<'ctx>> {
        match ty.kind() {
            ScalarKind::Bool => Ok(self.i8().into()),
            ScalarKind::Signed | ScalarKind::Unsigned => Ok(self.int_type(ty)?.into()),
            ScalarKind::Float | ScalarKind::Complex => Ok(self.float_type(ty)?.into()),
        }
    }

    /// The type in memory of one element: a component, or an array of them.
    pub(super) fn element_type(&self, element: ElementType) -> Emit<BasicTypeEnum<'ctx>> {
        let component = self.component_type(element.lane())?;
        let count = components(element);
        Ok(if count == 1 { component } else { component.array_type(count).into() })
    }

    /// An emission error: the emitter met something that the plan's rules exclude.
    pub(super) fn defect(&self, message: impl ToString) -> LlvmError {
        LlvmError::Malformed { program: self.plan.name.clone(), message: message.to_string() }
    }

    /// The floating-point mode.
    pub(super) fn float_mode(&self) -> FloatMode {
        self.options.floats.unwrap_or(self.plan.float_mode)
    }

    /// Whether the code is for x86-64.
    pub(super) fn is_x86_64(&self) -> bool {
        self.machine.is_x86_64()
    }

    /// Keeps a declared function that nothing calls yet: the optimiser may.
    pub(super) fn keep_declared(&self, function: FunctionValue<'ctx>) {
        let name = function.get_name().to_string_lossy().into_owned();
        self.kept.borrow_mut().insert(name, function);
    }

    /// Whether the module may call functions of vectors of glibc's libmvec.
    pub(super) fn uses_vector_mathematics(&self) -> bool {
        !self.kept.borrow().is_empty()
    }

    /// Fast-math flags of an ordinary operation.
    pub(super) fn float_flags(&self) -> FastMathFlags {
        match self.float_mode() {
            FloatMode::Strict => FastMathFlags::empty(),
            FloatMode::Contract => FastMathFlags::AllowContract,
            FloatMode::Fast => FastMathFlags::all(),
        }
    }

    /// A function of this module, with what every function has.
    pub(super) fn define(&self, name: &str, ty: FunctionType<'ctx>, linkage: Linkage) -> FunctionValue<'ctx> {
        let function = self.module.add_function(name, ty, Some(linkage));
        self.attribute(function, AttributeLoc::Function, "nounwind", 0);
        self.mark_instrumented(function);
        for (key, value) in [
            // The target machine's own setting does not reach everything: inlining compares these.
            ("target-cpu", self.level.get().map_or(self.machine.cpu(), |level| level.name())),
            ("target-features", self.machine.features()),
        ] {
            if !value.is_empty() {
                let attribute = self.context.create_string_attribute(key, value);
                function.add_attribute(AttributeLoc::Function, attribute);
            }
        }
        function
    }

    /// Keeps LLVM from turning loops of a function that copy elements into calls of `memcpy`: vectors that the program asks for
    /// are often few, and such a call takes longer than ten of them.
    pub(super) fn keep_copies(&self, function: FunctionValue<'ctx>) {
        let attribute = self.context.create_string_attribute("no-builtin-memcpy", "");
        function.add_attribute(AttributeLoc::Function, attribute);
    }

    /// Lets vectors of a function be cut into registers as wide as the processor prefers, but of no fewer bytes than any loop of the
    /// function asks for: registers of 512 bits are slower than two of 256 on many.
    pub(super) fn prefer_registers(&self, function: FunctionValue<'ctx>, bytes: u64) {
        const NAME: &str = "min-legal-vector-width";
        let wanted = if bytes > PREFERRED { bytes * 8 } else { 0 };
        let known = function.get_string_attribute(AttributeLoc::Function, NAME);
        let known = known.and_then(|known| known.get_string_value().to_str().ok()?.parse().ok());
        if known.is_none_or(|known: u64| known < wanted) {
            let attribute = self.context.create_string_attribute(NAME, &wanted.to_string());
            function.add_attribute(AttributeLoc::Function, attribute);
        }
    }

    /// Marks a function that runs once a call or once a parallel region: it is not worth the optimiser's time.
    pub(super) fn mark_cold(&self, function: FunctionValue<'ctx>) {
        for name in ["noinline", "optnone"] {
            self.attribute(function, AttributeLoc::Function, name, 0);
        }
    }

    /// The function `name` of another library.
    pub(super) fn declare(
        &self,
        name: &str,
        result: Option<BasicTypeEnum<'ctx>>,
        parameters: &[BasicMetadataTypeEnum<'ctx>],
    ) -> FunctionValue<'ctx> {
        let is_own = |entry: &EntryPoint| name.strip_suffix(entry.suffix()) == Some(self.plan.name.as_str());
        if EntryPoint::ALL.iter().any(is_own) {
            *self.collision.borrow_mut() = Some(name.to_owned());
        }
        if let Some(function) = self.module.get_function(name) {
            return function;
        }
        if name.starts_with("GOMP_") || name.starts_with("omp_") {
            self.openmp.set(true);
        }
        let ty = match result {
            Some(result) => result.fn_type(parameters, false),
            None => self.context.void_type().fn_type(parameters, false),
        };
        let function = self.module.add_function(name, ty, None);
        self.attribute(function, AttributeLoc::Function, "nounwind", 0);
        function
    }

    /// The mathematical function `name`: it only computes a value, so that calls can be moved and shared.
    pub(super) fn declare_pure(
        &self,
        name: &str,
        ty: BasicTypeEnum<'ctx>,
        arity: usize,
    ) -> FunctionValue<'ctx> {
        let parameters = vec![ty.into(); arity];
        let function = self.declare(name, Some(ty), &parameters);
        // `memory(none)` is encoded as 0.
        self.attribute(function, AttributeLoc::Function, "memory", 0);
        self.attribute(function, AttributeLoc::Function, "willreturn", 0);
        function
    }

    /// LLVM's intrinsic function `name` for `types`.
    pub(super) fn intrinsic(&self, name: &str, types: &[BasicTypeEnum<'ctx>]) -> Emit<FunctionValue<'ctx>> {
        Intrinsic::find(name)
            .and_then(|intrinsic| intrinsic.get_declaration(&self.module, types))
            .ok_or_else(|| self.defect(format!("LLVM has no intrinsic {name}")))
    }

    /// Adds the attribute `name` to a function or parameter.
    pub(super) fn attribute(
        &self,
        function: FunctionValue<'ctx>,
        place: AttributeLoc,
        name: &str,
        value: u64,
    ) {
        let kind = Attribute::get_named_enum_kind_id(name);
        debug_assert_ne!(kind, 0, "LLVM knows the attribute {name}");
        function.add_attribute(place, self.context.create_enum_attribute(kind, value));
    }

    /// A private constant with the bytes of `text` and a final NUL.
    pub(super) fn text(&self, text: &str) -> PointerValue<'ctx> {
        let bytes = self.context.const_string(text.as_bytes(), true);
        let global = self.module.add_global(bytes.get_type(), None, "text");
        global.set_initializer(&bytes);
        global.set_unnamed_addr(true);
        private_constant(global).as_pointer_value()
    }

    /// A private constant with these bytes, aligned for `element`.
    pub(super) fn bytes(&self, name: &str, bytes: &[u8]) -> PointerValue<'ctx> {
        let bytes = self.context.const_string(bytes, false);
        let global = self.module.add_global(bytes.get_type(), None, name);
        global.set_initializer(&bytes);
        global.set_alignment(64);
        private_constant(global).as_pointer_value()
    }

    /// A private constant.
    pub(super) fn constant_table(&self, name: &str, value: &ArrayValue<'ctx>) -> PointerValue<'ctx> {
        let global = self.module.add_global(value.get_type(), None, name);
        global.set_initializer(value);
        private_constant(global).as_pointer_value()
    }

    /// Verifies the finished module: it exports nothing that it calls, and it is well-formed.
    pub(super) fn verify(&self) -> Emit<()> {
        if let Some(symbol) = self.collision.borrow().clone() {
            return Err(InterfaceError::Reserved { name: self.plan.name.clone(), symbol }.into());
        }
        self.module.verify().map_err(|error| self.defect(error))
    }
}

fn private_constant(global: GlobalValue<'_>) -> GlobalValue<'_> {
    global.set_linkage(Linkage::Private);
    global.set_constant(true);
    global
}

/// Components of an element: lanes, twice for complex numbers.
pub(super) fn components(element: ElementType) -> u32 {
    u32::from(element.lanes()) * if element.lane().is_complex() { 2 } else { 1 }
}
