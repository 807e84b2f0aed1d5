//! Typing of calls: casts by type names, other spellings of operators, and the mathematical functions.

use super::super::code::Dialect;
use super::super::environment::ConnectorKind;
use super::super::error::TypeErrorKind;
use super::super::function::{MathFunction, Rule, without_module};
use super::super::promote::arithmetic;
use super::super::typed::{BinaryOperation, TypedExpressionKind};
use super::operand::{Operand, with_lanes};
use super::{Checker, Type};
use crate::dtype::{ElementType, ScalarType};
use crate::syntax::{Expression, Index, Name, Span};
use crate::value::Value;

/// The type that a name means, in the spellings of this project, NumPy, DaCe, Python and C.
pub(super) fn type_name(name: &str, dialect: Dialect) -> Option<ScalarType> {
    let short = without_module(name);
    let is_c = dialect == Dialect::C;
    Some(match short {
        "bool_" => ScalarType::Bool,
        "int" if is_c => ScalarType::I32,
        "int" => ScalarType::I64,
        "uint" if is_c => ScalarType::U32,
        "uint" => ScalarType::U64,
        "int8" | "int8_t" => ScalarType::I8,
        "int16" | "int16_t" => ScalarType::I16,
        "int32" | "int32_t" => ScalarType::I32,
        "int64" | "int64_t" => ScalarType::I64,
        "uint8" | "uint8_t" => ScalarType::U8,
        "uint16" | "uint16_t" => ScalarType::U16,
        "uint32" | "uint32_t" => ScalarType::U32,
        "uint64" | "uint64_t" => ScalarType::U64,
        "float16" => ScalarType::F16,
        "float32" => ScalarType::F32,
        "float" if is_c => ScalarType::F32,
        "float" | "float64" | "double" => ScalarType::F64,
        "char" if is_c => ScalarType::I8,
        "short" if is_c => ScalarType::I16,
        _ => return ScalarType::ALL.into_iter().find(|ty| ty.name() == short),
    })
}

/// The float type beside this type: integers and `bool` become `f64`.
fn to_float(ty: ScalarType) -> ScalarType {
    if ty.is_float() || ty.is_complex() { ty } else { ScalarType::F64 }
}

/// The complex type whose component holds this type.
fn to_complex(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::Complex64 | ScalarType::F32 | ScalarType::F16 => ScalarType::Complex64,
        _ => ScalarType::Complex128,
    }
}

impl Checker<'_> {
    pub(super) fn call(&mut self, span: Span, function: &Name, arguments: &[Expression]) -> Option<Operand> {
        let name = function.text.as_str();
        // Some tools print the elements of arrays as calls.
        if let Some((_, connector)) = self.environment.connector(name)
            && matches!(connector.kind, ConnectorKind::Pointer { .. })
        {
            let indices = arguments.iter().cloned().map(Index::Point).collect();
            let kind = crate::syntax::ExpressionKind::Subscript { base: function.clone(), indices };
            return self.expression(&Expression { kind, span });
        }
        if name == "len" {
            return self.length(span, arguments);
        }
        let operands: Vec<Option<Operand>> = arguments.iter().map(|e| self.expression(e)).collect();
        let short = without_module(name);
        if let Some(ty) = type_name(name, self.dialect)
            && !(ty.is_complex() && arguments.len() == 2)
        {
            let [operand] = self.arguments(span, name, "one argument", operands)?;
            let ty = with_lanes(ty, operand.lanes());
            return self.convert(operand, ty).map(|expression| Operand { expression, weak: false });
        }
        if let Some(formula) = self.complex_formula(short, &operands, arguments) {
            return self.expression(&formula);
        }
        // NumPy's remainder rounds the quotient down; `math.remainder` rounds it to nearest.
        let numpy = name.starts_with("np.") || name.starts_with("numpy.");
        match short {
            "min" | "Min" | "minimum" => self.extremum(span, BinaryOperation::Minimum, short, operands),
            "max" | "Max" | "maximum" => self.extremum(span, BinaryOperation::Maximum, short, operands),
            "complex" if operands.len() == 1 => {
                let [operand] = self.arguments(span, name, "one or two arguments", operands)?;
                let (ty, weak) = (with_lanes(to_complex(operand.lane()), operand.lanes()), operand.weak);
                self.convert(operand, ty).map(|expression| Operand { expression, weak })
            }
            "lanes" => self.lanes(span, operands),
            "lane" => {
                let [vector, lane] = self.arguments(span, name, "two arguments", operands)?;
                self.lane(span, vector, &lane, arguments)
            }
            "square" => {
                let [base] = self.arguments(span, name, "one argument", operands)?;
                self.power(span, base, Operand::literal(Value::I64(2), span))
            }
            "reciprocal" => {
                let [operand] = self.arguments(span, name, "one argument", operands)?;
                self.reciprocal(span, operand)
            }
            "rad2deg" | "degrees" => self.scaled(span, name, 180.0 / std::f64::consts::PI, operands),
            "deg2rad" | "radians" => self.scaled(span, name, std::f64::consts::PI / 180.0, operands),
            "clip" => {
                let [value, low, high] = self.arguments(span, name, "three arguments", operands)?;
                let raised =
                    self.extremum(span, BinaryOperation::Maximum, short, vec![Some(value), Some(low)])?;
                self.extremum(span, BinaryOperation::Minimum, short, vec![Some(raised), Some(high)])
            }
            "pow" | "power" => {
                let [base, exponent] = self.arguments(span, name, "two arguments", operands)?;
                self.power(span, base, exponent)
            }
            "float_power" | "np_float_pow" => {
                let [base, exponent] = self.arguments(span, name, "two arguments", operands)?;
                let mut ty = self.common(&base, &exponent, true)?;
                ty.element = with_lanes(to_float(ty.element.lane()), ty.element.lanes());
                self.operate(span, BinaryOperation::Power, name, ty, base, exponent)
            }
            "py_floor" | "floor_divide" | "int_floor" | "floor_div" => {
                self.two(span, BinaryOperation::FloorDivide, name, operands)
            }
            "py_mod" | "mod" | "Mod" => self.two(span, BinaryOperation::FloorModulo, name, operands),
            "remainder" if numpy => self.two(span, BinaryOperation::FloorModulo, name, operands),
            "cpp_mod" => self.two(span, BinaryOperation::TruncateModulo, name, operands),
            _ => match MathFunction::from_name(short) {
                Some(function) => self.function(span, function, short, operands),
                None => {
                    self.error(span, TypeErrorKind::UnknownFunction { name: name.to_owned() });
                    None
                }
            },
        }
    }

    /// Exactly `N` operands.
    fn arguments<const N: usize>(
        &mut self,
        span: Span,
        function: &str,
        expected: &'static str,
        operands: Vec<Option<Operand>>,
    ) -> Option<[Operand; N]> {
        let found = operands.len();
        if found != N {
            let function = function.to_owned();
            self.error(span, TypeErrorKind::WrongArgumentCount { function, expected, found });
            return None;
        }
        operands.into_iter().collect::<Option<Vec<_>>>()?.try_into().ok()
    }

    fn two(
        &mut self,
        span: Span,
        operation: BinaryOperation,
        name: &str,
        operands: Vec<Option<Operand>>,
    ) -> Option<Operand> {
        let [a, b] = self.arguments(span, name, "two arguments", operands)?;
        self.arithmetic(span, operation, name, a, b)
    }

    /// The least or greatest of one or more operands, from left to right.
    fn extremum(
        &mut self,
        span: Span,
        operation: BinaryOperation,
        name: &str,
        operands: Vec<Option<Operand>>,
    ) -> Option<Operand> {
        if operands.is_empty() {
            let (function, expected) = (name.to_owned(), "at least one argument");
            self.error(span, TypeErrorKind::WrongArgumentCount { function, expected, found: 0 });
            return None;
        }
        let mut operands = operands.into_iter().collect::<Option<Vec<_>>>()?.into_iter();
        let mut result = operands.next()?;
        for operand in operands {
            let ty = self.common(&result, &operand, self.dialect == Dialect::C)?;
            result = self.operate(span, operation, name, ty, result, operand)?;
        }
        Some(result)
    }

    /// `lanes(a, b, ...)`: the vector of these scalars, in their common type.
    fn lanes(&mut self, span: Span, operands: Vec<Option<Operand>>) -> Option<Operand> {
        let found = operands.len();
        let count = u16::try_from(found).ok().filter(|count| *count >= 2);
        let Some(lanes) = count.filter(|count| *count <= ElementType::MAX_LANES) else {
            let (function, expected) = ("lanes".to_owned(), "2 to 64 arguments");
            self.error(span, TypeErrorKind::WrongArgumentCount { function, expected, found });
            return None;
        };
        let operands = operands.into_iter().collect::<Option<Vec<_>>>()?;
        let vector = operands.iter().find(|operand| operand.lanes() > 1);
        if let Some((at, found)) = vector.map(|operand| (operand.span(), operand.expression.ty)) {
            self.error(at, TypeErrorKind::ExpectedScalar { found });
            return None;
        }
        let ty = self.common_of_all(&operands)?;
        let parts: Vec<_> = operands.into_iter().map(|operand| self.convert(operand, ty.element)).collect();
        let parts = parts.into_iter().collect::<Option<Vec<_>>>()?;
        let element = with_lanes(ty.element.lane(), lanes);
        Some(Operand::new(TypedExpressionKind::Lanes(parts), element, span).with_weakness(ty.weak))
    }

    /// `lane(v, k)`: one lane of a vector, which a literal tells.
    fn lane(
        &mut self,
        span: Span,
        vector: Operand,
        lane: &Operand,
        arguments: &[Expression],
    ) -> Option<Operand> {
        let ty = vector.expression.ty;
        let chosen = lane.integer_literal().and_then(|lane| u16::try_from(lane).ok());
        let Some(chosen) = chosen.filter(|chosen| *chosen < ty.lanes()) else {
            let lane_text = arguments.get(1).map(ToString::to_string).unwrap_or_default();
            self.error(lane.span(), TypeErrorKind::NoLane { ty, lane: lane_text });
            return None;
        };
        if ty.lanes() == 1 {
            return Some(vector);
        }
        let weak = vector.weak;
        let kind = TypedExpressionKind::Lane { operand: Box::new(vector.expression), lane: chosen };
        Some(Operand::new(kind, ty.lane(), span).with_weakness(weak))
    }

    /// `1 / x`; of an integer its integer part, as NumPy has it.
    fn reciprocal(&mut self, span: Span, operand: Operand) -> Option<Operand> {
        let lane = arithmetic(operand.lane(), self.dialect);
        let operation =
            if lane.is_integer() { BinaryOperation::TruncateDivide } else { BinaryOperation::Divide };
        let ty = Type { element: with_lanes(lane, operand.lanes()), weak: operand.weak };
        self.operate(span, operation, "reciprocal", ty, Self::one(lane, span), operand)
    }

    /// A float times a constant.
    fn scaled(
        &mut self,
        span: Span,
        name: &str,
        factor: f64,
        operands: Vec<Option<Operand>>,
    ) -> Option<Operand> {
        let [operand] = self.arguments(span, name, "one argument", operands)?;
        let factor = Operand::literal(Value::F64(factor), span);
        let ty = self.common(&operand, &factor, true)?;
        self.operate(span, BinaryOperation::Multiply, name, ty, operand, factor)
    }

    /// A function of the table, typed by its rule.
    fn function(
        &mut self,
        span: Span,
        function: MathFunction,
        name: &str,
        operands: Vec<Option<Operand>>,
    ) -> Option<Operand> {
        let expected = match function.arity() {
            1 => "one argument",
            2 => "two arguments",
            _ => "three arguments",
        };
        if operands.len() != function.arity() {
            let (function, found) = (name.to_owned(), operands.len());
            self.error(span, TypeErrorKind::WrongArgumentCount { function, expected, found });
            return None;
        }
        let operands = operands.into_iter().collect::<Option<Vec<_>>>()?;
        let ty = self.common_of_all(&operands)?;
        let lane = ty.element.lane();
        let forced_float = name == "fabs" && !lane.is_complex();
        let (argument, result) = match function.rule() {
            _ if forced_float => (to_float(lane), to_float(lane)),
            Rule::Float | Rule::FloatOrComplex => (to_float(lane), to_float(lane)),
            Rule::Real | Rule::Magnitude => {
                let computed = if lane == ScalarType::Bool { arithmetic(lane, self.dialect) } else { lane };
                (computed, computed.component())
            }
            Rule::FloatTest | Rule::Test => (to_float(lane), ScalarType::Bool),
            Rule::Integers => (arithmetic(lane, self.dialect), arithmetic(lane, self.dialect)),
            Rule::MakeComplex => (to_complex(lane).component(), to_complex(lane)),
            Rule::Part => (to_complex(lane), to_complex(lane).component()),
            Rule::Complex => (to_complex(lane), to_complex(lane)),
        };
        let real_only = matches!(
            function.rule(),
            Rule::Float | Rule::Real | Rule::FloatTest | Rule::Integers | Rule::MakeComplex
        );
        if (real_only && lane.is_complex()) || (function.rule() == Rule::Integers && !argument.is_integer()) {
            let operation = name.to_owned();
            self.error(span, TypeErrorKind::UndefinedOperation { operation, ty: ty.element });
            return None;
        }
        if let Some(unchanged) = self.unchanged(function, &operands, span) {
            return Some(unchanged);
        }
        let lanes = ty.element.lanes();
        let weak = ty.weak && result != ScalarType::Bool;
        let to = with_lanes(argument, lanes);
        let arguments: Vec<_> = operands.into_iter().map(|operand| self.convert(operand, to)).collect();
        let arguments = arguments.into_iter().collect::<Option<Vec<_>>>()?;
        let kind = TypedExpressionKind::Call { function, arguments };
        Some(Operand::new(kind, with_lanes(result, lanes), span).with_weakness(weak))
    }

    /// The result of a function that changes nothing for the type of its argument.
    fn unchanged(&self, function: MathFunction, operands: &[Operand], span: Span) -> Option<Operand> {
        let [operand] = operands else { return None };
        let lane = operand.lane();
        match function {
            MathFunction::Floor | MathFunction::Ceil | MathFunction::Round | MathFunction::Trunc
                if lane.is_integer() =>
            {
                Some(operand.clone())
            }
            MathFunction::Real | MathFunction::Conj if lane.is_integer() || lane.is_float() => {
                Some(operand.clone())
            }
            MathFunction::Imag if (lane.is_integer() || lane.is_float()) && operand.lanes() == 1 => {
                Some(Operand::constant(Value::zero(lane), span).with_weakness(operand.weak))
            }
            _ => None,
        }
    }

    fn common_of_all(&mut self, operands: &[Operand]) -> Option<Type> {
        let (first, rest) = operands.split_first()?;
        let mut ty = first.ty();
        let mut literal = first.integer_literal();
        for operand in rest {
            ty = self.common_type(
                ty,
                operand.ty(),
                [literal, operand.integer_literal()],
                false,
                operand.span(),
            )?;
            literal = None;
        }
        Some(Type { element: ElementType::vector(ty.element.lane(), ty.element.lanes())?, weak: ty.weak })
    }
}
