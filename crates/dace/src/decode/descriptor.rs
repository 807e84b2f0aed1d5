//! Decodes element types and data descriptors.

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::ir::{Lifetime, Storage};
use sdfg::symbolic::Expr;

use super::{ANYWHERE, Decoder};
use crate::model::{Descriptor, DescriptorKind, Dtype, StructType};
use crate::report::{Code, Failed};
use crate::text::symbolic;
use crate::wire::{Object, Place, Value};

/// The scalar type of a name of DaCe's.
fn scalar(name: &str) -> Option<ScalarType> {
    Some(match name {
        "bool" | "bool_" => ScalarType::Bool,
        "int8" => ScalarType::I8,
        "int16" => ScalarType::I16,
        "int32" => ScalarType::I32,
        "int64" => ScalarType::I64,
        "uint8" => ScalarType::U8,
        "uint16" => ScalarType::U16,
        "uint32" => ScalarType::U32,
        "uint64" => ScalarType::U64,
        "float16" => ScalarType::F16,
        "float32" => ScalarType::F32,
        "float64" => ScalarType::F64,
        "complex64" => ScalarType::Complex64,
        "complex128" => ScalarType::Complex128,
        _ => return None,
    })
}

/// The struct type that an object describes, if it describes one of real numbers.
pub(super) fn struct_type(value: Value<'_>) -> Option<StructType> {
    if value.get("type")?.as_text()? != "struct" {
        return None;
    }
    let field = |name: &str, ty: Value<'_>| {
        let ty = scalar(ty.as_text()?).filter(|ty| !ty.is_complex())?;
        Some((name.to_owned(), ty))
    };
    let fields: Vec<_> = match value.get("data")? {
        Value::List(pairs) => {
            let pair = |pair: Value<'_>| {
                let [name, ty] = pair.as_list()?.exactly()?;
                field(name.as_text()?, ty)
            };
            pairs.iter().map(pair).collect::<Option<_>>()?
        }
        // So wrote versions before 0.16.
        Value::Object(entries) => entries.iter().map(|(name, ty)| field(name, ty)).collect::<Option<_>>()?,
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Text(_) => return None,
    };
    let lanes = u16::try_from(fields.len()).ok().filter(|lanes| *lanes >= 2)?;
    ElementType::vector(ScalarType::F64, lanes)?;
    Some(StructType { name: value.get("name")?.as_text()?.to_owned(), fields })
}

/// The lane that holds every field of a struct: their type if it is one, else the float that is wide enough.
fn lane(record: &StructType) -> ScalarType {
    match record.fields.split_first() {
        Some(((_, first), rest)) if rest.iter().all(|(_, ty)| ty == first) => *first,
        _ => ScalarType::F64,
    }
}

/// The end of a message about a schedule or a storage that has the name of an accelerator in front.
pub(super) fn whose(name: &str) -> String {
    const ACCELERATORS: [&str; 6] = ["GPU", "FPGA", "SoftHier", "Ascend", "Snitch", "SVE"];
    match name.split_once('_') {
        Some((owner, _)) if ACCELERATORS.contains(&owner) => {
            format!(": it is one of an accelerator ({owner})")
        }
        Some(_) | None => String::new(),
    }
}

impl Decoder<'_> {
    /// An element type: a name, or an object for vectors, structs and what is not supported.
    pub(super) fn dtype(&self, value: Value<'_>, place: &Place<'_>) -> Result<Dtype, Failed> {
        let refuse = |what: &str| {
            Err(self.log.error(Code::Type, place, format!("elements of type `{what}` are not supported")))
        };
        if let Some(name) = value.as_text() {
            return scalar(name).map_or_else(|| refuse(name), |ty| Ok(Dtype::of(ty)));
        }
        let object = Object::of(value, *place, self.log)?;
        let kind = object.text("type")?;
        if kind == "vector" {
            let inner = self.dtype(object.required("dtype")?, &place.at("dtype"))?;
            let lanes = match object.required("elements")? {
                Value::Integer(lanes) => u16::try_from(lanes).ok(),
                Value::Text(text) => text.parse().ok(),
                Value::Null | Value::Bool(_) | Value::Float(_) | Value::List(_) | Value::Object(_) => None,
            };
            let vector = lanes.zip(inner.element.as_scalar());
            let vector = vector.and_then(|(lanes, scalar)| ElementType::vector(scalar, lanes));
            return vector.map_or_else(|| refuse("vector"), |element| Ok(Dtype::of(element)));
        }
        if kind == "callback" {
            let message = "it is a function of Python, which is no value: only tasklets can call it";
            return Err(self.log.error(Code::ForeignCode, place, message));
        }
        let name = object.optional_text("name")?.unwrap_or(kind);
        if name == "pyobject" || object.optional_text("ctype")? == Some("pyobject") {
            let message = "objects of Python are not supported; they are what a function gives that is called back (a symbol of type `callback`)";
            return Err(self.log.error(Code::Type, place, message));
        }
        let Some(record) = self.structs.0.get(name).filter(|_| kind == "struct") else { return refuse(name) };
        let wide = record.fields.iter().any(|(_, ty)| matches!(ty, ScalarType::I64 | ScalarType::U64));
        if wide && lane(record).is_float() {
            self.log.note(Code::Approximated, place, format!("integers of `{name}` are exact up to 2^53"));
        }
        let lanes = u16::try_from(record.fields.len()).unwrap_or(u16::MAX);
        match ElementType::vector(lane(record), lanes) {
            Some(element) => Ok(Dtype { element, fields: Some(record.clone()) }),
            None => refuse(name),
        }
    }

    /// The type of a connector: `null` and pointers say nothing that the container at the other end does not say.
    pub(super) fn connector_type(
        &self,
        value: Value<'_>,
        place: &Place<'_>,
    ) -> Result<Option<Dtype>, Failed> {
        match value {
            Value::Null => Ok(None),
            Value::Object(entries) => match entries.get("type").and_then(Value::as_text) {
                Some("pointer") => Ok(None),
                _ => self.dtype(value, place).map(Some),
            },
            other => self.dtype(other, place).map(Some),
        }
    }

    /// A list of symbolic texts.
    pub(super) fn expressions(&self, object: &Object<'_>, name: &str) -> Result<Option<Vec<Expr>>, Failed> {
        let Some(list) = object.get(name).and_then(Value::as_list) else { return Ok(None) };
        let parts =
            list.iter().enumerate().map(|(at, value)| self.size(value, &object.place.entry(name, at)));
        parts.collect::<Result<Vec<_>, _>>().map(Some)
    }

    /// A symbolic text, a number, or an object with an exact and an approximate text.
    pub(super) fn size(&self, value: Value<'_>, place: &Place<'_>) -> Result<Expr, Failed> {
        match value {
            Value::Integer(number) => Ok(Expr::int(number)),
            Value::Text(text) => self.symbolic(text, place),
            Value::Object(entries) if let Some(main) = entries.get("main") => match main {
                Value::Text(text) => self.symbolic(text, place),
                _ => Err(self.log.error(Code::Malformed, place, "`main` must be a text")),
            },
            other => {
                let message = format!("expected a symbolic expression, found {}", other.noun());
                Err(self.log.error(Code::Malformed, place, message))
            }
        }
    }

    /// The expression of a text, which is looked up if it stood elsewhere and there was nothing to say about it.
    fn symbolic(&self, text: &str, place: &Place<'_>) -> Result<Expr, Failed> {
        if let [digit @ b'0'..=b'9'] = text.as_bytes() {
            return Ok(Expr::int(i64::from(digit - b'0')));
        }
        if let Some(known) = self.sizes.borrow().get(text) {
            return Ok(known.clone());
        }
        let told = self.log.len();
        let found = symbolic(text, place, self.log)?;
        if self.log.len() == told {
            self.sizes.borrow_mut().insert(text.to_owned(), found.clone());
        }
        Ok(found)
    }

    fn optional_size(&self, object: &Object<'_>, name: &str) -> Result<Option<Expr>, Failed> {
        object.get(name).map(|value| self.size(value, &object.place.at(name))).transpose()
    }

    /// A container.
    pub(super) fn descriptor(&self, value: Value<'_>, place: Place<'_>) -> Result<Descriptor, Failed> {
        let object = Object::of(value, place, self.log)?;
        let kind = object.text("type")?;
        let attributes = Object::of(object.required("attributes")?, place, self.log)?;
        let by_reference = attributes.flag("_meta_scalar", false)?;
        let found = match kind {
            "Scalar" => DescriptorKind::Scalar,
            "Array" if by_reference => DescriptorKind::Scalar,
            "Array" => DescriptorKind::Array,
            "Stream" => {
                // On CPUs, DaCe's queues grow whatever their size says.
                attributes.ignore(&["buffer_size"]);
                DescriptorKind::Stream
            }
            "ArrayView" | "View" => DescriptorKind::View,
            "ArrayReference" | "Reference" => DescriptorKind::Reference,
            other => {
                let message = format!("containers of kind `{other}` are not supported");
                return Err(self.log.error(Code::Descriptor, &place, message));
            }
        };
        let dtype = match attributes.get("dtype") {
            Some(value) => self.dtype(value, &place.at("dtype"))?,
            None => Dtype::of(ScalarType::I32),
        };
        let shape = match found {
            DescriptorKind::Scalar => {
                attributes.ignore(&["shape"]);
                vec![Expr::one()]
            }
            _ => self.expressions(&attributes, "shape")?.unwrap_or_else(|| vec![Expr::one()]),
        };
        let packed = sdfg::ir::Layout::packed(shape.clone());
        let strides = self.expressions(&attributes, "strides")?.unwrap_or(packed.strides);
        let offset =
            self.expressions(&attributes, "offset")?.unwrap_or_else(|| vec![Expr::zero(); shape.len()]);
        if strides.len() != shape.len() || offset.len() != shape.len() {
            let message = format!(
                "the shape has {} dimensions, strides {}, offset {}",
                shape.len(),
                strides.len(),
                offset.len()
            );
            return Err(self.log.error(Code::Malformed, &place, message));
        }
        let descriptor = Descriptor {
            kind: found,
            dtype,
            total_size: self.optional_size(&attributes, "total_size")?.unwrap_or(packed.total_size),
            start_offset: self.optional_size(&attributes, "start_offset")?.unwrap_or_else(Expr::zero),
            shape,
            strides,
            offset,
            transient: attributes.flag("transient", false)?,
            storage: self.storage(&attributes)?,
            lifetime: self.lifetime(&attributes)?,
            by_reference,
        };
        attributes.ignore(&ANYWHERE);
        // Hints for aliasing, allocation and the Python side, which are derived or do not apply here.
        attributes.ignore(&["allow_conflicts", "may_alias", "alignment", "optional", "pool", "location"]);
        attributes.finish();
        Ok(descriptor)
    }

    pub(super) fn storage(&self, attributes: &Object<'_>) -> Result<Storage, Failed> {
        let name = attributes.optional_text("storage")?.unwrap_or("Default");
        Ok(match name {
            "Default" => Storage::Default,
            // Registers ask for constant indices here; a promise of speed that is found again from the graph.
            "Register" => Storage::Default,
            "CPU_Heap" => Storage::CpuHeap,
            "CPU_ThreadLocal" => Storage::CpuThreadLocal,
            "CPU_Pinned" => Storage::CpuPinned,
            "GPU_Global" => Storage::GpuGlobal,
            "GPU_Shared" => Storage::GpuShared,
            "FPGA_Global" => Storage::FpgaGlobal,
            "FPGA_Local" | "FPGA_ShiftRegister" => Storage::FpgaLocal,
            "FPGA_Registers" => Storage::FpgaRegister,
            other => {
                let message = format!("the storage `{other}` is not supported{}", whose(other));
                return Err(self.log.error(Code::Descriptor, &attributes.place, message));
            }
        })
    }

    pub(super) fn lifetime(&self, attributes: &Object<'_>) -> Result<Lifetime, Failed> {
        let name = attributes.optional_text("lifetime")?.unwrap_or("Scope");
        Ok(match name {
            "Scope" => Lifetime::Scope,
            "State" => Lifetime::State,
            "SDFG" => Lifetime::Sdfg,
            "Global" | "Persistent" => Lifetime::Persistent,
            "External" => {
                let message = "memory that the caller brings for transients is allocated here";
                self.log.note(Code::PropertyIgnored, &attributes.place, message);
                Lifetime::Persistent
            }
            other => {
                let message = format!("the lifetime `{other}` is not supported");
                return Err(self.log.error(Code::Descriptor, &attributes.place, message));
            }
        })
    }
}
