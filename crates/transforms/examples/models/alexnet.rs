//! AlexNet (Krizhevsky, Sutskever and Hinton, 2012) on one device: five convolutions, three of them with
//! pooling, and three dense layers.
//!
//! A rectified linear unit before a pooling layer is the maximum with zero, which initialises the pooled
//! array. Arrays that a padded convolution reads have a border of zeros.

use sdfg::builder::SdfgBuilder;
use sdfg::validate::{Rejected, Validated, Warnings};

use crate::network::{Layer, arguments, softmax, symbols, transients};

/// Symbols with the sizes of the paper: images of a batch, side of the last maps (of images of 227 by 227), channels by 32, side of the
/// first filters, width of the dense layers, classes.
pub(crate) const SIZES: &[(&str, i64)] =
    &[("B", 128), ("Q", 6), ("C", 32), ("R", 11), ("F", 4096), ("K", 1000)];

/// A convolution: its number, the array it reads with its channels, its own channels, side of its result, side and stride of filters.
type Convolution<'c> = (u32, &'c str, &'c str, &'c str, &'c str, &'c str, u32);

/// The forward pass, from images `I` to probabilities `O`.
pub(crate) fn alexnet() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("alexnet");
    forward(&mut b);
    b.build()
}

/// Adds the forward pass to a program.
pub(crate) fn forward(b: &mut SdfgBuilder) {
    symbols(b, &["B", "Q", "C", "R", "F", "K"]);
    arguments(b, &["I[B, 3, 32 * Q + 24 + R, 32 * Q + 24 + R]"]);
    convolve(b, (1, "I", "3", "3 * C", "8 * Q + 7", "R", 4));
    pool(b, 1, "3 * C", "4 * Q + 3", 2);
    convolve(b, (2, "P1", "3 * C", "8 * C", "4 * Q + 3", "5", 1));
    pool(b, 2, "8 * C", "2 * Q + 1", 1);
    convolve(b, (3, "P2", "8 * C", "12 * C", "2 * Q + 1", "3", 1));
    rectify(b, 3, "12 * C");
    convolve(b, (4, "P3", "12 * C", "12 * C", "2 * Q + 1", "3", 1));
    rectify(b, 4, "12 * C");
    convolve(b, (5, "P4", "12 * C", "8 * C", "2 * Q + 1", "3", 1));
    pool(b, 5, "8 * C", "Q", 0);
    arguments(b, &["W6[F, 8 * C, Q, Q]", "b6[F]", "O[B, K]"]);
    transients(b, &["D6[B, F]"]);
    Layer {
        name: "dense6_bias",
        domain: "b: B, f: F",
        inputs: &[("w", "b6[f]")],
        code: "o = w",
        output: "D6[b, f]",
    }
    .each(b);
    Layer {
        name: "dense6",
        domain: "b: B, f: F, k: 8 * C, y: Q, x: Q",
        inputs: &[("a", "P5[b, k, y, x]"), ("w", "W6[f, k, y, x]")],
        code: "o = a * w",
        output: "D6[b, f]",
    }
    .sum(b);
    dense(b, 7, "F");
    dense(b, 8, "K");
    softmax(b, "softmax", ("b: B", "b", "B"), "K", ("D8", "O"));
}

fn convolve(b: &mut SdfgBuilder, (n, from, from_channels, channels, side, kernel, stride): Convolution<'_>) {
    let (name, result, bias) = (format!("convolution{n}"), format!("A{n}[b, k, y, x]"), format!("b{n}[k]"));
    arguments(
        b,
        &[&format!("W{n}[{channels}, {from_channels}, {kernel}, {kernel}]"), &format!("b{n}[{channels}]")],
    );
    transients(b, &[&format!("A{n}[B, {channels}, {side}, {side}]")]);
    let domain = format!("b: B, k: {channels}, y: {side}, x: {side}");
    let inputs = [("w", bias.as_str())];
    Layer { name: &format!("{name}_bias"), domain: &domain, inputs: &inputs, code: "o = w", output: &result }
        .each(b);
    let domain = format!("{domain}, c: {from_channels}, p: {kernel}, q: {kernel}");
    let image = format!("{from}[b, c, {stride} * y + p, {stride} * x + q]");
    let inputs = [("a", image.as_str()), ("w", &format!("W{n}[k, c, p, q]"))];
    Layer { name: &name, domain: &domain, inputs: &inputs, code: "o = a * w", output: &result }.sum(b);
}

/// An array of zeros for the result, with a border of so many.
fn zeros(b: &mut SdfgBuilder, n: u32, channels: &str, side: &str, border: u32) {
    let side = format!("{side} + {}", 2 * border);
    transients(b, &[&format!("P{n}[B, {channels}, {side}, {side}]")]);
    let domain = format!("b: B, k: {channels}, y: {side}, x: {side}");
    let (name, output) = (format!("zeros{n}"), format!("P{n}[b, k, y, x]"));
    Layer { name: &name, domain: &domain, inputs: &[], code: "o = 0.0", output: &output }.each(b);
}

/// The greatest of three by three, every second one, and zero.
fn pool(b: &mut SdfgBuilder, n: u32, channels: &str, side: &str, border: u32) {
    zeros(b, n, channels, side, border);
    let domain = format!("b: B, k: {channels}, y: {side}, x: {side}, p: 3, q: 3");
    let inputs = [("a", &*format!("A{n}[b, k, 2 * y + p, 2 * x + q]"))];
    let output = format!("P{n}[b, k, y + {border}, x + {border}]");
    Layer { name: &format!("pool{n}"), domain: &domain, inputs: &inputs, code: "o = a", output: &output }
        .greatest(b);
}

/// The greater of each element and zero, in a border of one zero.
fn rectify(b: &mut SdfgBuilder, n: u32, channels: &str) {
    zeros(b, n, channels, "2 * Q + 1", 1);
    let domain = format!("b: B, k: {channels}, y: 2 * Q + 1, x: 2 * Q + 1");
    let (inputs, output) = ([("a", &*format!("A{n}[b, k, y, x]"))], format!("P{n}[b, k, y + 1, x + 1]"));
    Layer {
        name: &format!("rectify{n}"),
        domain: &domain,
        inputs: &inputs,
        code: "o = max(a, 0.0)",
        output: &output,
    }
    .each(b);
}

/// A dense layer of the rectified result of the one before, which has `F` elements.
fn dense(b: &mut SdfgBuilder, n: u32, size: &str) {
    arguments(b, &[&format!("W{n}[{size}, F]"), &format!("b{n}[{size}]")]);
    transients(b, &[&format!("D{n}[B, {size}]")]);
    let (domain, output) = (format!("b: B, f: {size}"), format!("D{n}[b, f]"));
    let inputs = [("w", &*format!("b{n}[f]"))];
    Layer {
        name: &format!("dense{n}_bias"),
        domain: &domain,
        inputs: &inputs,
        code: "o = w",
        output: &output,
    }
    .each(b);
    let inputs = [("a", &*format!("D{}[b, g]", n - 1)), ("w", &format!("W{n}[f, g]"))];
    let domain = format!("{domain}, g: F");
    Layer {
        name: &format!("dense{n}"),
        domain: &domain,
        inputs: &inputs,
        code: "o = max(a, 0.0) * w",
        output: &output,
    }
    .sum(b);
}
