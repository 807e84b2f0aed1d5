//! Encodes element types and data descriptors.

use sdfg::dtype::ScalarType;
use sdfg::ir::{Lifetime, Storage};
use sdfg::symbolic::{Assumptions, Expr};
use sdfg::value::Value;

use super::{Attributes, object, string, text};
use crate::model::{Constant, Descriptor, DescriptorKind, Dtype};
use crate::wire::Json;

/// DaCe's name of a scalar type.
pub(crate) const fn scalar(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "bool",
        ScalarType::I8 => "int8",
        ScalarType::I16 => "int16",
        ScalarType::I32 => "int32",
        ScalarType::I64 => "int64",
        ScalarType::U8 => "uint8",
        ScalarType::U16 => "uint16",
        ScalarType::U32 => "uint32",
        ScalarType::U64 => "uint64",
        ScalarType::F16 => "float16",
        ScalarType::F32 => "float32",
        ScalarType::F64 => "float64",
        ScalarType::Complex64 => "complex64",
        ScalarType::Complex128 => "complex128",
    }
}

/// An element type.
pub(super) fn dtype(ty: &Dtype) -> Json {
    match ty.element.as_scalar() {
        Some(single) => string(scalar(single)),
        None => object([
            ("type", string("vector")),
            ("dtype", string(scalar(ty.element.lane()))),
            ("elements", string(ty.element.lanes())),
        ]),
    }
}

fn texts(list: &[Expr], known: &Assumptions) -> Json {
    Json::List(list.iter().map(|expr| string(text(expr, known))).collect())
}

/// A container.
pub(super) fn descriptor(found: &Descriptor, known: &Assumptions) -> Json {
    let mut attributes = Attributes::new();
    attributes.set("dtype", dtype(&found.dtype));
    attributes.set("shape", texts(&found.shape, known));
    let kind = match found.kind {
        // It can be written only by reference, and is read as what it was.
        DescriptorKind::Scalar if found.by_reference => {
            attributes.set("_meta_scalar", Json::Bool(true));
            "Array"
        }
        DescriptorKind::Scalar => "Scalar",
        DescriptorKind::Array => "Array",
        DescriptorKind::Stream => "Stream",
        DescriptorKind::View => "ArrayView",
        DescriptorKind::Reference => "ArrayReference",
    };
    match found.kind {
        DescriptorKind::Array | DescriptorKind::View | DescriptorKind::Reference => {
            attributes.set("strides", texts(&found.strides, known));
            attributes.set("total_size", string(text(&found.total_size, known)));
            attributes.set("offset", texts(&found.offset, known));
            let starts_later = found.start_offset != Expr::zero();
            attributes.set_if(starts_later, "start_offset", || string(text(&found.start_offset, known)));
        }
        DescriptorKind::Stream => attributes.set("offset", texts(&found.offset, known)),
        DescriptorKind::Scalar => {}
    }
    attributes.set_if(found.transient, "transient", || Json::Bool(true));
    let storage = match found.storage {
        Storage::CpuHeap => Some("CPU_Heap"),
        Storage::CpuThreadLocal => Some("CPU_ThreadLocal"),
        Storage::CpuPinned => Some("CPU_Pinned"),
        Storage::GpuGlobal => Some("GPU_Global"),
        Storage::GpuShared => Some("GPU_Shared"),
        Storage::Default
        | Storage::Register
        | Storage::FpgaGlobal
        | Storage::FpgaLocal
        | Storage::FpgaRegister
        | Storage::File => None,
    };
    if let Some(storage) = storage {
        attributes.set("storage", string(storage));
    }
    let lifetime = match found.lifetime {
        Lifetime::State => Some("State"),
        Lifetime::Sdfg => Some("SDFG"),
        Lifetime::Persistent => Some("Persistent"),
        Lifetime::Scope | Lifetime::External => None,
    };
    if let Some(lifetime) = lifetime {
        attributes.set("lifetime", string(lifetime));
    }
    object([("type", string(kind)), ("attributes", attributes.json())])
}

/// A constant: its descriptor and its elements.
pub(super) fn constant(found: &Constant, known: &Assumptions) -> Json {
    let number = |value: &Value| match value {
        Value::Bool(value) => Json::Bool(*value),
        Value::F16(value) => Json::Float(value.to_f64()),
        Value::F32(value) => Json::Float(f64::from(*value)),
        Value::F64(value) => Json::Float(*value),
        Value::Complex64(value) => Json::Float(f64::from(value.re)),
        Value::Complex128(value) => Json::Float(value.re),
        Value::I8(_)
        | Value::I16(_)
        | Value::I32(_)
        | Value::I64(_)
        | Value::U8(_)
        | Value::U16(_)
        | Value::U32(_)
        | Value::U64(_) => Json::Integer(value.to_i64().unwrap_or(i64::MAX)),
    };
    let value = match (found.descriptor.kind == DescriptorKind::Scalar, found.values.as_slice()) {
        (true, [single]) => number(single),
        _ => {
            let shape: Vec<usize> = found.descriptor.shape.iter().map(extent).collect();
            let mut values = found.values.iter().map(number);
            object([
                ("type", string("ndarray")),
                ("data", nested(&shape, &mut values)),
                ("dtype", string(scalar(found.descriptor.dtype.element.lane()))),
            ])
        }
    };
    Json::List(vec![descriptor(&found.descriptor, known), value])
}

/// The extents of constants are constant.
fn extent(extent: &Expr) -> usize {
    extent.as_int().and_then(|extent| usize::try_from(extent).ok()).unwrap_or_default()
}

/// Elements in row-major order as lists of lists.
fn nested(shape: &[usize], values: &mut dyn Iterator<Item = Json>) -> Json {
    match shape.split_first() {
        None => values.next().unwrap_or(Json::Null),
        Some((extent, inner)) => Json::List((0..*extent).map(|_| nested(inner, values)).collect()),
    }
}
