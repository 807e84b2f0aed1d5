//! Inputs and expected outputs of a program.

use std::collections::BTreeMap;
use std::path::Path;

use sdfg::dtype::{ElementType, ScalarType};
use sdfg::interpret::Arguments;
use sdfg::ir::Sdfg;
use sdfg::npy;
use sdfg::tasklet::arith::cast;
use sdfg::tensor::Tensor;
use sdfg::value::Value;
use serde_json::Value as Json;

/// Arguments of a call, with the expected results.
#[derive(Debug)]
pub(super) struct Data {
    pub(super) arguments: Arguments,
    pub(super) expected: BTreeMap<String, Tensor>,
    pub(super) tolerance: Tolerance,
    /// Elements of outputs may be in any order.
    pub(super) unordered: bool,
}

/// Permitted differences of outputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tolerance {
    pub(super) relative: f64,
    pub(super) absolute: f64,
    /// Outputs also pass if the norm of the differences, relative to the norm of the expected output, is below this.
    pub(super) norm: f64,
}

/// Reads the data of a program for the arguments that a graph has.
pub(super) fn read(folder: &Path, sdfg: &Sdfg) -> Result<Data, String> {
    let text =
        std::fs::read_to_string(folder.join("meta.json")).map_err(|error| format!("meta.json: {error}"))?;
    let meta: Json = serde_json::from_str(&text).map_err(|error| format!("meta.json: {error}"))?;
    let number = |name: &str, default| meta["tolerance"][name].as_f64().unwrap_or(default);
    let tolerance = Tolerance {
        relative: number("rtol", 1e-9),
        absolute: number("atol", 1e-12),
        norm: number("norm_error", 0.0),
    };
    let mut data = Data {
        arguments: Arguments::new(),
        expected: BTreeMap::new(),
        tolerance,
        unordered: meta["has_streams"].as_bool().unwrap_or(false),
    };
    for argument in meta["args"].as_array().into_iter().flatten() {
        let name = argument["name"].as_str().unwrap_or_default();
        let container =
            sdfg.find_container(name).map(|id| sdfg.container(id)).filter(|found| found.is_argument());
        let Some(container) = container else { continue };
        let shape = integers(&argument["shape"]);
        let load = |key: &str| match argument[key].as_str() {
            None => Ok(None),
            Some(file) => {
                let bytes = std::fs::read(folder.join(file)).map_err(|error| format!("{file}: {error}"))?;
                let tensor = npy::read(&bytes).map_err(|error| format!("{file}: {error}"))?;
                let raw = argument["layout"] == "raw";
                let tensor =
                    if raw { gathered(&tensor, &shape, &integers(&argument["strides"]))? } else { tensor };
                fitted(tensor, container.element, container.shape().len()).map(Some)
            }
        };
        let input = match (load("input")?, argument.get("value")) {
            (Some(tensor), _) => tensor,
            (None, Some(value)) if !value.is_null() => {
                let value = value.as_i64().map(Value::I64).or_else(|| value.as_f64().map(Value::F64));
                let value = value.or_else(|| argument["value"].as_bool().map(Value::Bool));
                scalar(
                    cast(value.ok_or("a value is no number")?, container.element.lane()),
                    container.shape().len(),
                )?
            }
            (None, _) => {
                let shape = if container.shape().is_empty() { Vec::new() } else { shape.clone() };
                Tensor::zeros(container.element, shape).map_err(|error| error.to_string())?
            }
        };
        data.arguments.set(name, input);
        if let Some(expected) = load("expected")? {
            data.expected.insert(name.to_owned(), expected);
        }
    }
    for (symbol, _) in sdfg.symbols() {
        let listed =
            meta["args"].as_array().into_iter().flatten().find(|found| found["name"] == symbol.as_str());
        let value = listed.map(|found| &found["value"]).filter(|value| integer(value).is_some());
        let value = value.or_else(|| meta["symbols"].get(symbol.as_str()));
        if let Some(value) = value.and_then(integer) {
            data.arguments.set_symbol(symbol.as_str(), value);
        }
    }
    Ok(data)
}

fn integers(list: &Json) -> Vec<i64> {
    list.as_array().into_iter().flatten().filter_map(Json::as_i64).collect()
}

/// The value of a symbol, which may be a truth value.
fn integer(value: &Json) -> Option<i64> {
    value.as_i64().or_else(|| value.as_bool().map(i64::from))
}

fn scalar(value: Value, rank: usize) -> Result<Tensor, String> {
    let mut bytes = vec![0; value.ty().size()];
    value.write(&mut bytes);
    Tensor::from_bytes(value.ty().into(), vec![1; rank], bytes).map_err(|error| error.to_string())
}

/// The elements of a flat buffer that an array with these strides has, in row-major order.
fn gathered(buffer: &Tensor, shape: &[i64], strides: &[i64]) -> Result<Tensor, String> {
    let size = buffer.element().size();
    let mut bytes = Vec::new();
    let mut index = vec![0_i64; shape.len()];
    if shape.iter().all(|extent| *extent > 0) {
        'elements: loop {
            let place: i64 = index.iter().zip(strides).map(|(index, stride)| index * stride).sum();
            let at = usize::try_from(place).map_err(|_| "a stride leads before the buffer")? * size;
            bytes.extend_from_slice(
                buffer.bytes().get(at..at + size).ok_or("a stride leads behind the buffer")?,
            );
            for dimension in (0..shape.len()).rev() {
                index[dimension] += 1;
                if index[dimension] < shape[dimension] {
                    continue 'elements;
                }
                index[dimension] = 0;
            }
            break;
        }
    }
    Tensor::from_bytes(buffer.element(), shape.to_vec(), bytes).map_err(|error| error.to_string())
}

/// A tensor with the rank and the element type of a container, whose numbers are the same.
fn fitted(tensor: Tensor, element: ElementType, rank: usize) -> Result<Tensor, String> {
    let tensor = match (tensor.shape().len(), rank) {
        (0, 1) => tensor.reshaped(vec![1]).map_err(|error| error.to_string())?,
        (1, 0) if tensor.len() == 1 => tensor.reshaped(Vec::new()).map_err(|error| error.to_string())?,
        _ => tensor,
    };
    if element.lanes() > 1 && tensor.element() == ElementType::scalar(element.lane()) {
        let mut shape = tensor.shape().to_vec();
        // Lanes are a last dimension in files, or vectors lie side by side along it.
        match shape.last_mut() {
            Some(last) if *last == i64::from(element.lanes()) && tensor.shape().len() > rank => {
                shape.pop();
            }
            Some(last) => *last /= i64::from(element.lanes()),
            None => {}
        }
        return Tensor::from_bytes(element, shape, tensor.bytes().to_vec())
            .map_err(|error| error.to_string());
    }
    if tensor.element() == element {
        return Ok(tensor);
    }
    let mut bytes = Vec::new();
    for value in tensor.values() {
        let value = cast(value, element.lane());
        let start = bytes.len();
        bytes.resize(start + ScalarType::size(value.ty()), 0);
        value.write(&mut bytes[start..]);
    }
    Tensor::from_bytes(element, tensor.shape().to_vec(), bytes).map_err(|error| error.to_string())
}
