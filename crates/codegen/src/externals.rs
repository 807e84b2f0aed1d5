//! External functions for the interpreter, called natively.
//!
//! Each call becomes a plan with one statement, so that only the back end knows C's calling convention. Code
//! that a program names runs only with the user's consent. Users consent by constructing a
//! [`NativeExternals`], which is `unsafe`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use sdfg::dtype::ElementType;
use sdfg::interpret::{ExternalArgument as Passed, ExternalMemory, Externals};
use sdfg::ir::FloatMode;
use sdfg::symbolic::{Expr, Symbol};
use sdfg::tasklet::{
    Environment, ExternalCall, ExternalOrigin, TypedExpression, TypedExpressionCode, TypedExpressionKind,
};
use sdfg::value::Value;

use crate::cache::Cache;
use crate::llvm::{self, CompileOptions, OptLevel};
use crate::load::{ArgumentBuffer, Library};
use crate::lower::{LowerError, capture};
use crate::plan::{
    Allocation, Argument, Binding, Buffer, BufferId, ExternalArgument, ExternalCompute, Location, PassedAs,
    Plan, Scalar, Statement, SymbolArgument,
};

/// Calls the C functions of external tasklets in this process, with what they can do: all that the process may.
#[derive(Debug)]
pub struct NativeExternals {
    /// Compiled calls, by function and types.
    compiled: Mutex<BTreeMap<String, Library>>,
    /// The folder of compiled C++ sources.
    cache: Option<Cache>,
}

impl NativeExternals {
    /// Calls the functions of any program that is interpreted with it. With a cache, compiled sources in C++ are kept there.
    ///
    /// # Safety
    /// Every C or C++ function that such a program names, the source that it brings and the libraries that it names are run as they are. They must fit their
    /// tasklets: take arguments of these types, stay within the memory behind pointers, and not write what is only read.
    pub unsafe fn new(cache: Option<Cache>) -> Self {
        NativeExternals { compiled: Mutex::default(), cache }
    }
}

impl Externals for NativeExternals {
    fn call(
        &self,
        call: &ExternalCall,
        arguments: &[Passed],
        memory: &mut [ExternalMemory],
        result: Option<ElementType>,
    ) -> Result<Option<Value>, String> {
        if call.origin == ExternalOrigin::Callback {
            return Err("it is a callback, which the caller of the program passes".to_owned());
        }
        let plan = plan_of(call, arguments, memory, result).verified();
        let plan = plan.map_err(|broken| LowerError::Broken(broken).to_string())?;
        let key = format!("{call} {plan}");
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if !compiled.contains_key(&key) {
            let options = CompileOptions { level: OptLevel::Quick, ..CompileOptions::default() };
            let mut object = llvm::compile(&plan, &options).map_err(|error| error.to_string())?;
            object.requirements.source_cache = self.cache.as_ref().map(|cache| cache.folder().to_owned());
            // SAFETY: whoever made this value vouches for what the functions' origins hold.
            let library = unsafe { Library::load_external(&object) }.map_err(|error| error.to_string())?;
            compiled.insert(key.clone(), library);
        }
        let Some(library) = compiled.get(&key) else { return Ok(None) };
        let mut values: Vec<(String, ElementType, Vec<u8>)> = Vec::new();
        for (position, argument) in arguments.iter().enumerate() {
            if let Passed::Value(value) = argument {
                let ty = value.ty();
                values.push((value_name(position), ty.into(), value.to_bytes()[..ty.size()].to_vec()));
            }
        }
        let mut answer = result.map(|element| vec![0u8; element.size()]);
        let mut native = library.call();
        for (position, part) in memory.iter_mut().enumerate() {
            let elements = part.data.len() / part.element.size();
            native = native.buffer(
                &memory_name(position),
                ArgumentBuffer::new_mut(part.element, &mut part.data, &[elements]),
            );
        }
        for (name, element, bytes) in &values {
            native = native.buffer(name, ArgumentBuffer::new(*element, bytes, &[]));
        }
        if let (Some(element), Some(bytes)) = (result, answer.as_mut()) {
            native = native.buffer("result", ArgumentBuffer::new_mut(element, bytes, &[1]));
        }
        // SAFETY: the plan does nothing but the call, for which whoever made this value vouches.
        unsafe { native.run() }.map_err(|error| error.to_string())?;
        Ok(result.zip(answer).and_then(|(element, bytes)| Value::read(element.lane(), &bytes)))
    }
}

fn memory_name(position: usize) -> String {
    format!("memory_{position}")
}

fn value_name(position: usize) -> String {
    format!("value_{position}")
}

/// A program that only makes the call: memory, then values, then the result are its arguments.
fn plan_of(
    call: &ExternalCall,
    arguments: &[Passed],
    memory: &[ExternalMemory],
    result: Option<ElementType>,
) -> Plan {
    let mut plan = Plan::new("external", FloatMode::Strict);
    plan.externals.push(call.origin.clone());
    let places: Vec<Location> = memory
        .iter()
        .enumerate()
        .map(|(position, part)| {
            let size = Symbol::of(&format!("size_{position}"));
            let ty = sdfg::dtype::ScalarType::I64;
            plan.variables.insert(size.clone(), ty);
            plan.symbols.push(SymbolArgument { name: size.clone(), ty, non_negative: true });
            argument(&mut plan, memory_name(position), part.element, Some(Expr::symbol(size)))
        })
        .collect();
    let mut passed = Vec::with_capacity(arguments.len());
    for (position, one) in arguments.iter().enumerate() {
        passed.push(match one {
            Passed::Memory(index) => match places.get(*index) {
                Some(place) => ExternalArgument::Pointer(place.clone()),
                None => continue,
            },
            Passed::Value(value) => {
                let element = ElementType::scalar(value.ty());
                let place = argument(&mut plan, value_name(position), element, None);
                let mut environment = Environment::new();
                let kind = TypedExpressionKind::Input(environment.input("value", element));
                let expression = TypedExpression { kind, ty: element, span: sdfg::syntax::Span::default() };
                let code = TypedExpressionCode { environment, expression };
                ExternalArgument::Value(Scalar {
                    code,
                    bindings: vec![Binding::Load(place)],
                    symbols: Vec::new(),
                    checks: Vec::new(),
                })
            }
        });
    }
    let result =
        result.map(|element| (element, argument(&mut plan, "result".to_owned(), element, Some(Expr::one()))));
    plan.body.push(Statement::External(ExternalCompute {
        label: call.symbol.clone(),
        symbol: call.symbol.clone(),
        callback: None,
        arguments: passed,
        result,
    }));
    capture(&mut plan);
    plan
}

/// Adds an array argument of `size` elements, or a scalar by value.
fn argument(plan: &mut Plan, name: String, element: ElementType, size: Option<Expr>) -> Location {
    let buffer = BufferId(u32::try_from(plan.buffers.len()).unwrap_or(u32::MAX));
    let allocation = Allocation::Argument(plan.arguments.len());
    let scalar = size.is_none();
    let size = size.unwrap_or(Expr::one());
    plan.buffers.push(Buffer::new(name.clone(), element, size.clone(), allocation));
    let (shape, strides) =
        if scalar { (Vec::new(), Vec::new()) } else { (vec![size.clone()], vec![Expr::one()]) };
    plan.arguments.push(Argument {
        name,
        element,
        shape,
        strides,
        offset: Expr::zero(),
        size,
        kind: if scalar { PassedAs::Scalar } else { PassedAs::Array },
        by_value: scalar && !element.lane().is_complex(),
        read: true,
        written: !scalar,
        buffer,
    });
    Location { buffer, offset: Expr::zero() }
}

#[cfg(test)]
mod tests {
    use sdfg::interpret::{Arguments, Interpreter, Options};
    use sdfg::tensor::Tensor;
    use sdfg::validate::validate;

    use super::*;

    #[test]
    fn the_interpreter_calls_c() {
        let source = r#"sdfg p {
  array A: f64[4]
  scalar n: i32
  array B: f64[4]
  scalar total: f64
  state s {
    access A
    access n
    access B
    access total
    tasklet t (a, k) -> (b, r) external r = scale(a, k, 2.5, b) from source "double scale(const double *a, int k, double f, double *b) { double s = 0; for (int i = 0; i < k; i++) { b[i] = f * a[i]; s += b[i]; } return s; }"
    A -> t.a
    n -> t.k
    t.b -> B
    t.r -> total
  }
}"#;
        let program = validate(sdfg::text::parse("p.sdft", source).unwrap()).unwrap();
        let mut arguments = Arguments::new()
            .with("A", Tensor::vector(&[1.0, 2.0, 3.0, 4.0]))
            .with("n", Tensor::scalar(3i32))
            .with("B", Tensor::vector(&[9.0; 4]))
            .with("total", Tensor::scalar(0.0));
        // SAFETY: the function of this program stays within its arguments.
        let externals = unsafe { NativeExternals::new(None) };
        let options = Options { externals: Some(&externals), ..Options::default() };
        Interpreter::new(&program).unwrap().run(&mut arguments, &options).unwrap();
        assert_eq!(arguments.get("B").unwrap().to_vec::<f64>().unwrap(), [2.5, 5.0, 7.5, 9.0]);
        assert_eq!(arguments.get("total").unwrap().to_vec::<f64>().unwrap(), [15.0]);
    }
}
