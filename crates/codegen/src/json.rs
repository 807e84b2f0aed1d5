//! Interface of a compiled program as JSON, for callers that read neither C nor Fortran, such as the Python
//! package.
//!
//! The text depends only on the [`Interface`]; `docs/command-line.md` describes it. The types in this module
//! define the JSON form separately, so that a change of [`Interface`] cannot change the files silently.

use std::collections::BTreeMap;

use sdfg::ir::Layout;
use sdfg::symbolic::Expr;
use serde::Serialize;

use crate::interface::{
    Access, Argument, ArgumentKind, Callback, CallbackParameter, DeviceInterface, Interface, Status,
};

/// The version of the description: readers refuse others. Members may be added without another version.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Description<'i> {
    sdfg_interface: u32,
    program: &'i str,
    arguments: Vec<ArgumentDescription<'i>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    callbacks: Vec<CallbackDescription<'i>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<RanksDescription<'i>>,
    /// Of a program that uses a device: the arguments in its memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<&'i [String]>,
    /// The driver of the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    device_interface: Option<&'static str>,
    statuses: Vec<StatusDescription>,
}

#[derive(Serialize)]
struct ArgumentDescription<'i> {
    name: &'i str,
    kind: &'static str,
    /// Of one lane.
    #[serde(rename = "type")]
    ty: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lanes: Option<u16>,
    access: &'static str,
    by_pointer: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<LayoutDescription>,
}

/// Of a program that runs on the ranks of MPI.
#[derive(Serialize)]
struct RanksDescription<'i> {
    least: u32,
    /// The distributions of arguments of which each rank passes its part.
    parts: &'i BTreeMap<String, String>,
}

/// A function that the caller passes.
#[derive(Serialize)]
struct CallbackDescription<'i> {
    name: &'i str,
    parameters: Vec<ParameterDescription>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'static str>,
}

#[derive(Serialize)]
struct ParameterDescription {
    #[serde(rename = "type")]
    ty: &'static str,
    by_pointer: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    lanes: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strides: Option<Vec<String>>,
}

/// Expressions over the symbols, in the syntax of the text form.
#[derive(Serialize)]
struct LayoutDescription {
    dense: bool,
    shape: Vec<String>,
    strides: Vec<String>,
    offset: String,
    elements: String,
}

#[derive(Serialize)]
struct StatusDescription {
    code: i32,
    name: String,
    message: &'static str,
}

/// The text of the JSON document for `interface`.
pub fn json_interface(interface: &Interface) -> String {
    let status = |status: Status| StatusDescription {
        code: status.code(),
        name: status.constant_suffix().to_ascii_lowercase(),
        message: status.message(),
    };
    let description = Description {
        sdfg_interface: VERSION,
        program: interface.name(),
        arguments: interface.arguments().iter().map(argument_description).collect(),
        callbacks: interface.callbacks().iter().map(callback_description).collect(),
        ranks: interface.ranks().map(|ranks| RanksDescription { least: ranks.least, parts: &ranks.parts }),
        device: interface.has_device().then(|| interface.device_arguments()),
        device_interface: interface.device_interface().map(DeviceInterface::name),
        statuses: Status::ALL.map(status).into(),
    };
    // Lists of structures with texts and numbers always have a text.
    let mut text = serde_json::to_string_pretty(&description).unwrap_or_default();
    text.push('\n');
    text
}

fn argument_description(argument: &Argument) -> ArgumentDescription<'_> {
    let texts = |list: &[Expr]| list.iter().map(ToString::to_string).collect();
    let (kind, access, layout) = match &argument.kind {
        ArgumentKind::Array { shape, strides, offset, elements, access, .. } => {
            let layout = LayoutDescription {
                dense: argument.is_dense(),
                shape: texts(shape),
                strides: texts(strides),
                offset: offset.to_string(),
                elements: elements.to_string(),
            };
            ("array", *access, Some(layout))
        }
        ArgumentKind::Scalar { access, .. } => ("scalar", *access, None),
        ArgumentKind::Queue { shape, .. } => {
            let packed = Layout::packed(shape.clone());
            let layout = LayoutDescription {
                dense: true,
                shape: texts(&packed.shape),
                strides: texts(&packed.strides),
                offset: packed.offset.to_string(),
                elements: packed.total_size.to_string(),
            };
            ("queue", Access::ReadWrite, (!shape.is_empty()).then_some(layout))
        }
        ArgumentKind::Symbol { .. } => ("symbol", Access::Read, None),
    };
    let element = argument.element();
    ArgumentDescription {
        name: &argument.name,
        kind,
        ty: element.lane().name(),
        lanes: (element.lanes() > 1).then_some(element.lanes()),
        access: access_word(access),
        by_pointer: argument.by_pointer(),
        layout,
    }
}

fn access_word(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::ReadWrite => "read_write",
    }
}

fn callback_description(callback: &Callback) -> CallbackDescription<'_> {
    let texts = |list: &[Expr]| list.iter().map(ToString::to_string).collect();
    let parameter = |parameter: &CallbackParameter| match parameter {
        CallbackParameter::Value(ty) => ParameterDescription {
            ty: ty.name(),
            by_pointer: false,
            lanes: None,
            access: None,
            shape: None,
            strides: None,
        },
        CallbackParameter::Memory { element, access, layout } => ParameterDescription {
            ty: element.lane().name(),
            by_pointer: true,
            lanes: (element.lanes() > 1).then_some(element.lanes()),
            access: Some(access_word(*access)),
            shape: layout.as_ref().map(|(extents, _)| texts(extents)),
            strides: layout.as_ref().map(|(_, strides)| texts(strides)),
        },
    };
    CallbackDescription {
        name: &callback.name,
        parameters: callback.parameters.iter().map(parameter).collect(),
        result: callback.result.map(|ty| ty.name()),
    }
}

#[cfg(test)]
mod tests {
    use sdfg::dtype::{ElementType, ScalarType};

    use super::*;

    #[test]
    fn every_kind_of_argument_is_described() {
        let n = Expr::sym("N");
        let array = ArgumentKind::Array {
            element: ElementType::vector(ScalarType::F32, 4).unwrap(),
            shape: vec![n.clone(), Expr::int(3)],
            strides: vec![Expr::int(4), Expr::one()],
            offset: Expr::one(),
            elements: n * Expr::int(4) + Expr::one(),
            access: Access::Write,
        };
        let element = ElementType::scalar(ScalarType::Complex64);
        let scalar = ArgumentKind::Scalar { element, access: Access::ReadWrite };
        let symbol = ArgumentKind::Symbol { ty: ScalarType::I32 };
        let queue = |shape| ArgumentKind::Queue { element: ScalarType::U8.into(), shape };
        let (queue, queues) = (queue(Vec::new()), queue(vec![Expr::int(2), Expr::sym("N")]));
        let argument = |name: &str, kind| Argument { name: name.to_owned(), kind };
        let arguments = [("A", array), ("c", scalar), ("S", queue), ("Q", queues), ("N", symbol)];
        let arguments = arguments.map(|(name, kind)| argument(name, kind)).into();
        let text = json_interface(&Interface::new("p", arguments).unwrap());
        let words: Vec<&str> = text.split_whitespace().collect();
        let expected = [
            r#"{ "sdfg_interface": 1, "program": "p", "arguments": ["#,
            r#"{ "name": "A", "kind": "array", "type": "f32", "lanes": 4, "access": "write", "by_pointer": true,"#,
            r#""layout": { "dense": false, "shape": [ "N", "3" ], "strides": [ "4", "1" ], "offset": "1","#,
            r#""elements": "4*N + 1" } },"#,
            r#"{ "name": "c", "kind": "scalar", "type": "complex64", "access": "read_write", "by_pointer": true },"#,
            r#"{ "name": "S", "kind": "queue", "type": "u8", "access": "read_write", "by_pointer": true },"#,
            r#"{ "name": "Q", "kind": "queue", "type": "u8", "access": "read_write", "by_pointer": true,"#,
            r#""layout": { "dense": true, "shape": [ "2", "N" ], "strides": [ "N", "1" ], "offset": "0","#,
            r#""elements": "2*N" } },"#,
            r#"{ "name": "N", "kind": "symbol", "type": "i32", "access": "read", "by_pointer": false } ],"#,
            r#""statuses": [ { "code": 0, "name": "success", "message": "success" },"#,
        ];
        let (text, expected) = (words.join(" "), expected.join(" "));
        assert!(text.starts_with(&expected), "{text}\n{expected}");
    }

    #[test]
    fn devices_are_described_with_their_driver() {
        let interface =
            Interface::new("p", Vec::new()).unwrap().with_device_interface(DeviceInterface::OpenCl);
        assert!(!json_interface(&interface).contains("device_interface"), "the program uses no device");
        let text = json_interface(&interface.with_device(true).with_device_arguments(vec!["A".to_owned()]));
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains(r#""device": [ "A" ], "device_interface": "opencl","#), "{text}");
    }
}
