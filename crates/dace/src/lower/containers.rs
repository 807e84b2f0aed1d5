//! Lowers containers and constants.

use std::collections::BTreeMap;

use sdfg::ir::draft::DraftSdfg;
use sdfg::ir::{Container, ContainerId, ContainerKind, Layout};
use sdfg::symbolic::{Expr, Symbol};
use sdfg::syntax::{Expression, ExpressionKind, FloatLiteral};
use sdfg::value::Value;

use super::SdfgLowering;
use super::extents::Extents;
use crate::model::{Constant, Descriptor, DescriptorKind};

impl<'a> SdfgLowering<'a> {
    /// Declares the containers: arguments in the order of the Python function, then those that it does not name by name,
    /// as DaCe's own interface has them; then transients. Arguments of a nested SDFG have the extents that are given. They
    /// and views have room for all of their elements: what DaCe says of their size binds nobody, as it passes pointers.
    pub(super) fn declare_containers(&mut self, extents: Option<&Extents>) {
        self.declare_numbers();
        let program = self.program;
        let mut names: Vec<&String> =
            program.containers.iter().filter(|(_, found)| !found.transient).map(|(name, _)| name).collect();
        let place = |name: &str| program.arg_names.iter().position(|argument| argument == name);
        names.sort_by_key(|name| (place(name).unwrap_or(usize::MAX), name.as_str()));
        names.extend(program.containers.iter().filter(|(_, found)| found.transient).map(|(name, _)| name));
        for name in names {
            let Some(descriptor) = program.containers.get(name) else { continue };
            let id = self.declare(name, descriptor);
            let found = extents.and_then(|extents| extents.found.get(name));
            // Callers pass memory with room for all elements, whatever the size of the file says.
            let is_argument = !descriptor.transient;
            match &mut self.sdfg.container_mut(id).kind {
                ContainerKind::Array(layout) if is_argument => extend(layout, found),
                ContainerKind::View(layout) | ContainerKind::Reference(layout) => extend(layout, None),
                ContainerKind::Array(_) | ContainerKind::Scalar | ContainerKind::Stream { .. } => {}
            }
        }
    }

    /// Scalar constants stand for their values wherever they are named.
    fn declare_numbers(&mut self) {
        for (name, constant) in &self.constants {
            let is_scalar = constant.descriptor.kind == DescriptorKind::Scalar;
            let [value] = constant.values.as_slice() else { continue };
            if !is_scalar || self.program.containers.contains_key(name) {
                continue;
            }
            self.literals.insert(name.clone(), literal(*value));
            if let (Some(number), Ok(symbol)) = (integer(*value), Symbol::new(name)) {
                self.numbers.insert(symbol, Expr::int(number));
            }
        }
    }

    fn declare(&mut self, name: &str, descriptor: &'a Descriptor) -> ContainerId {
        let mut container = Container::new(name, descriptor.dtype.element, self.kind(descriptor));
        container.transient = descriptor.transient || container.is_alias();
        container.storage = descriptor.storage;
        container.lifetime = descriptor.lifetime;
        if let Some(Constant { values, .. }) = self.constants.get(name) {
            container.constant = Some(values.clone());
            container.transient = false;
        }
        let id = self.sdfg.add_container(container);
        self.containers.insert(name.to_owned(), (id, descriptor));
        id
    }

    /// The container of a constant that code names, which is declared when it is needed first.
    pub(super) fn constant_container(&mut self, name: &str) -> Option<(ContainerId, &'a Descriptor)> {
        if let Some(found) = self.containers.get(name) {
            return Some(*found);
        }
        let constant = *self.constants.get(name)?;
        let id = self.declare(name, &constant.descriptor);
        Some((id, &constant.descriptor))
    }

    fn kind(&self, descriptor: &Descriptor) -> ContainerKind {
        match &descriptor.kind {
            DescriptorKind::Scalar => ContainerKind::Scalar,
            DescriptorKind::Array => ContainerKind::Array(self.layout(descriptor)),
            DescriptorKind::View => ContainerKind::View(self.layout(descriptor)),
            DescriptorKind::Reference => ContainerKind::Reference(self.layout(descriptor)),
            DescriptorKind::Stream => ContainerKind::Stream {
                shape: queue_shape(descriptor).iter().map(|extent| self.size(extent)).collect(),
                capacity: None,
            },
        }
    }

    /// Offsets of single dimensions are added to indices where these occur.
    fn layout(&self, descriptor: &Descriptor) -> Layout {
        let sizes = |list: &[Expr]| list.iter().map(|expr| self.size(expr)).collect::<Vec<_>>();
        Layout {
            shape: sizes(&descriptor.shape),
            strides: sizes(&descriptor.strides),
            offset: self.size(&descriptor.start_offset),
            total_size: self.size(&descriptor.total_size),
        }
    }
}

/// Gives a layout the extents that are told, and room for all of its elements where it lacks some.
fn extend(layout: &mut Layout, extents: Option<&BTreeMap<usize, Expr>>) {
    for (dimension, extent) in extents.into_iter().flatten() {
        if let Some(found) = layout.shape.get_mut(*dimension) {
            *found = extent.clone();
        }
    }
    if extents.is_none() && layout.total_size.as_int().is_none() {
        return;
    }
    let places = layout.shape.iter().zip(&layout.strides).map(|(extent, stride)| (extent - 1) * stride);
    let needed = places.fold(Expr::one() + &layout.offset, |sum, place| sum + place);
    let lacking = (&needed - &layout.total_size).as_int();
    if lacking.is_some_and(|lacking| lacking > 0) {
        layout.total_size = needed;
    }
}

/// Extents of an array of queues; a single queue has none.
pub(super) fn queue_shape(descriptor: &Descriptor) -> &[Expr] {
    match descriptor.shape.as_slice() {
        [extent] if extent.is_one() => &[],
        several => several,
    }
}

/// Number of dimensions of a container in our graph.
pub(super) fn rank(descriptor: &Descriptor) -> usize {
    match descriptor.kind {
        DescriptorKind::Scalar => 0,
        DescriptorKind::Stream => queue_shape(descriptor).len(),
        DescriptorKind::Array | DescriptorKind::View | DescriptorKind::Reference => descriptor.shape.len(),
    }
}

fn integer(value: Value) -> Option<i64> {
    match value {
        Value::I8(value) => Some(value.into()),
        Value::I16(value) => Some(value.into()),
        Value::I32(value) => Some(value.into()),
        Value::I64(value) => Some(value),
        Value::U8(value) => Some(value.into()),
        Value::U16(value) => Some(value.into()),
        Value::U32(value) => Some(value.into()),
        Value::U64(value) => i64::try_from(value).ok(),
        Value::Bool(_)
        | Value::F16(_)
        | Value::F32(_)
        | Value::F64(_)
        | Value::Complex64(_)
        | Value::Complex128(_) => None,
    }
}

/// The literal of a value. Types other than the widest keep theirs by a conversion.
fn literal(value: Value) -> Expression {
    let float = |value: f64| Expression::float(value);
    let complex = |re: f64, im: f64| {
        let part = FloatLiteral::new(im.abs()).map(|part| Expression {
            kind: ExpressionKind::Imaginary(part),
            span: sdfg::syntax::Span::default(),
        });
        let im = part.unwrap_or_else(|| float(im));
        Expression::call("complex128", vec![Expression::binary(sdfg::syntax::BinaryOp::Add, float(re), im)])
    };
    match value {
        Value::Bool(value) => Expression::bool(value),
        Value::F64(value) => float(value),
        Value::F32(value) => Expression::call("float32", vec![float(value.into())]),
        Value::F16(value) => Expression::call("float16", vec![float(value.into())]),
        Value::Complex64(value) => complex(value.re.into(), value.im.into()),
        Value::Complex128(value) => complex(value.re, value.im),
        Value::I8(_)
        | Value::I16(_)
        | Value::I32(_)
        | Value::I64(_)
        | Value::U8(_)
        | Value::U16(_)
        | Value::U32(_)
        | Value::U64(_) => {
            let number = Expression::integer(integer(value).unwrap_or(i64::MAX));
            if matches!(value, Value::I64(_)) {
                number
            } else {
                Expression::call(value.ty().name(), vec![number])
            }
        }
    }
}
