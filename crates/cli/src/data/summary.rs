//! One-line summary of a result, sufficient to compare two runs.

use sdfg::tensor::Tensor;

use super::generate::hash;

/// Elements that are shown.
const SHOWN: usize = 6;

/// `A: f64[2, 10] checksum 9ae16a3b2f90404f: 0.5, 0.25, ...`.
///
/// The checksum is FNV-1a over the bytes in row-major order.
pub(super) fn summary(name: &str, tensor: &Tensor) -> String {
    let shape: Vec<String> = tensor.shape().iter().map(ToString::to_string).collect();
    let shape = if shape.is_empty() { String::new() } else { format!("[{}]", shape.join(", ")) };
    let lanes = usize::from(tensor.element().lanes());
    let values = tensor.values().enumerate().take(SHOWN);
    let mut shown: Vec<String> = values
        .map(
            |(index, value)| {
                if tensor.is_defined(index / lanes) { value.to_string() } else { "undefined".to_owned() }
            },
        )
        .collect();
    if tensor.len() * lanes > SHOWN {
        shown.push("...".to_owned());
    }
    let checksum = hash(tensor.bytes());
    format!("{name}: {}{shape} checksum {checksum:016x}: {}", tensor.element(), shown.join(", "))
}
