//! Parameters of a C++ tasklet's function: one for each connector or symbol, with its declaration in the
//! code.

use std::fmt::Write as _;

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::ir::{Memlet, Volume};
use sdfg::syntax::Expression;
use sdfg::tasklet::{Connector, ConnectorKind, Direction};
use sdfg::value::Value;

use crate::model::{Dtype, StructType};

/// Parameters for one name of the code.
#[derive(Debug, Default)]
pub(super) struct Parameter {
    /// Declarations.
    pub(super) declared: Vec<String>,
    /// Kind of the parameter.
    pub(super) arguments: Vec<Expression>,
    /// Statements that define the name.
    pub(super) before: String,
    /// Statements that bring its value back.
    pub(super) after: String,
}

/// Declaration of a connector in the file.
pub(super) struct Seen<'a> {
    /// The type that it declares.
    pub(super) declared: Option<&'a Dtype>,
    /// The fields of an element.
    pub(super) fields: Option<&'a StructType>,
    /// Whether the name is a pointer in the code.
    pub(super) is_pointer: bool,
    /// The memlet, if it leads to or from a stream.
    pub(super) stream: Option<&'a Memlet>,
}

impl Parameter {
    /// A symbol, of the type that the code sees.
    pub(super) fn of_symbol(name: &str, ty: ScalarType) -> Self {
        let ty = ctype(ty);
        Parameter {
            declared: vec![format!("std::int64_t sdfg_symbol_{name}")],
            arguments: vec![Expression::call("i64", vec![Expression::name(name)])],
            before: format!("const {ty} {name} = static_cast<{ty}>(sdfg_symbol_{name});\n"),
            after: String::new(),
        }
    }

    /// A connector. The error says what is not supported.
    pub(super) fn of_connector(name: &str, connector: &Connector, seen: &Seen<'_>) -> Result<Self, String> {
        if let Some(memlet) = seen.stream {
            let is_one = matches!(&memlet.volume, Volume::Exact(count) if count.is_one());
            if connector.direction == Direction::Out || !is_one {
                let verb = if connector.direction == Direction::Out { "pushes to" } else { "pops from" };
                return Err(format!(
                    "C++ code that {verb} a stream is not supported (`{name}`): write the tasklet in Python"
                ));
            }
        }
        let element = connector.element;
        let Some(ty) = type_of(element, seen.fields) else {
            return Err(format!("C++ code cannot have `{name}`, whose elements are of type `{element}`"));
        };
        let is_value = connector.kind == ConnectorKind::Value;
        if let (Some(fields), true) = (seen.fields, seen.is_pointer || !is_value)
            && fields.fields.iter().any(|(_, field)| *field != element.lane())
        {
            return Err(format!(
                "a pointer to structs with fields of different types (`{name}`) is not supported"
            ));
        }
        // Vectors over plain arrays, and values that are converted.
        let local = match seen.declared.filter(|_| seen.fields.is_none() && !seen.is_pointer) {
            Some(declared) if declared.element != element => type_of(declared.element, None),
            _ => None,
        };
        let address = format!("sdfg_address_{name}");
        let mut parameter = Parameter::default();
        if is_value && connector.direction == Direction::In {
            parameter.value(name, element, &ty, seen);
            let target = local.as_deref().unwrap_or(&ty);
            let _ = if seen.is_pointer {
                writeln!(parameter.before, "{ty}* {name} = &sdfg_value_{name};")
            } else {
                writeln!(parameter.before, "{target} {name} = {target}(sdfg_value_{name});")
            };
            return Ok(parameter);
        }
        parameter.arguments.push(Expression::name(name));
        parameter.declared.push(format!(
            "{}* {address}",
            if seen.fields.is_some() { ctype(element.lane()).to_owned() } else { ty.clone() }
        ));
        let (before, after) = (&mut parameter.before, &mut parameter.after);
        let is_output = connector.direction == Direction::Out;
        let is_mixed = seen.fields.filter(|_| !seen.is_pointer && is_output);
        let _ = match (is_mixed, local) {
            _ if seen.is_pointer => writeln!(before, "{ty}* {name} = reinterpret_cast<{ty}*>({address});"),
            (Some(record), _) => {
                for (lane, (field, _)) in record.fields.iter().enumerate() {
                    let _ = writeln!(after, "{address}[{lane}] = {name}.{field};");
                }
                writeln!(before, "{ty} {name}{{}};")
            }
            (None, Some(local)) if seen.declared.is_some_and(|declared| declared.element.lanes() > 1) => {
                if is_output {
                    let _ = writeln!(after, "std::memcpy({address}, &{name}, sizeof {name});");
                }
                writeln!(before, "{local} {name}; std::memcpy(&{name}, {address}, sizeof {name});")
            }
            (None, Some(local)) => {
                if is_output {
                    let _ = writeln!(after, "*{address} = static_cast<{ty}>({name});");
                }
                writeln!(before, "{local} {name} = static_cast<{local}>(*{address});")
            }
            (None, None) => writeln!(before, "{ty}& {name} = *reinterpret_cast<{ty}*>({address});"),
        };
        Ok(parameter)
    }

    /// A value: C passes real numbers only, so others come in parts.
    fn value(&mut self, name: &str, element: ElementType, ty: &str, seen: &Seen<'_>) {
        let lane = element.lane();
        let part = lane.component();
        let mut lanes = Vec::new();
        for at in 0..element.lanes() {
            let mut value = Expression::name(name);
            if element.lanes() > 1 {
                value = Expression::call("lane", vec![value, Expression::integer(i64::from(at))]);
            }
            let halves: &[&str] = match lane {
                _ if lane.is_complex() => &["real", "imag"],
                // C has no way to pass half a float that all compilers share.
                ScalarType::F16 => &["f32"],
                _ => &[""],
            };
            let mut parts = Vec::new();
            for half in halves {
                let parameter = format!("sdfg_part_{name}_{at}{half}");
                let ty = if *half == "f32" { "float" } else { ctype(part) };
                self.declared.push(format!("{ty} {parameter}"));
                let value = value.clone();
                self.arguments.push(if half.is_empty() {
                    value
                } else {
                    Expression::call(half, vec![value])
                });
                parts.push(parameter);
            }
            lanes.push(format!("{}({})", ctype(lane), parts.join(", ")));
        }
        let value = match (seen.fields, lanes.as_slice()) {
            (Some(record), _) => {
                let fields = record
                    .fields
                    .iter()
                    .zip(&lanes)
                    .map(|((_, field), lane)| format!("{}({lane})", ctype(*field)));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
            }
            (None, [one]) => format!("= {one}"),
            (None, several) => format!("{{{}}}", several.join(", ")),
        };
        let _ = writeln!(self.before, "{ty} sdfg_value_{name} {value};");
    }
}

/// An element in C++.
fn type_of(element: ElementType, fields: Option<&StructType>) -> Option<String> {
    match (fields, element.as_scalar()) {
        (Some(record), _) => Some(record.name.clone()),
        (None, Some(scalar)) => Some(ctype(scalar).to_owned()),
        (None, None) if element.lane().is_complex() => None,
        (None, None) => Some(format!("dace::vec<{}, {}>", ctype(element.lane()), element.lanes())),
    }
}

/// A scalar type in C++.
pub(super) const fn ctype(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "bool",
        ScalarType::I8 => "dace::int8",
        ScalarType::I16 => "dace::int16",
        ScalarType::I32 => "dace::int32",
        ScalarType::I64 => "dace::int64",
        ScalarType::U8 => "dace::uint8",
        ScalarType::U16 => "dace::uint16",
        ScalarType::U32 => "dace::uint32",
        ScalarType::U64 => "dace::uint64",
        ScalarType::F16 => "dace::float16",
        ScalarType::F32 => "dace::float32",
        ScalarType::F64 => "dace::float64",
        ScalarType::Complex64 => "dace::complex64",
        ScalarType::Complex128 => "dace::complex128",
    }
}

/// A number in C++.
pub(super) fn number(value: Value) -> String {
    let float = |value: f64| match value {
        _ if value.is_nan() => "NAN".to_owned(),
        _ if value.is_infinite() => if value > 0.0 { "INFINITY" } else { "-INFINITY" }.to_owned(),
        _ => format!("{value:e}"),
    };
    let ty = ctype(value.ty());
    match value {
        Value::Bool(value) => value.to_string(),
        Value::I8(value) => format!("{ty}({value})"),
        Value::I16(value) => format!("{ty}({value})"),
        Value::I32(value) => format!("{ty}({value}LL)"),
        Value::I64(i64::MIN) => "INT64_MIN".to_owned(),
        Value::I64(value) => format!("{ty}({value}LL)"),
        Value::U8(value) => format!("{ty}({value})"),
        Value::U16(value) => format!("{ty}({value})"),
        Value::U32(value) => format!("{ty}({value}U)"),
        Value::U64(value) => format!("{ty}({value}ULL)"),
        Value::F16(value) => format!("{ty}({})", float(value.into())),
        Value::F32(value) => format!("{ty}({})", float(value.into())),
        Value::F64(value) => format!("{ty}({})", float(value)),
        Value::Complex64(value) => format!("{ty}({}, {})", float(value.re.into()), float(value.im.into())),
        Value::Complex128(value) => format!("{ty}({}, {})", float(value.re), float(value.im)),
    }
}
