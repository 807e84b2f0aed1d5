//! A step of training AlexNet: the forward pass, the gradients of the cross entropy by all weights, and the step against them.
//!
//! Gradients of convolved maps have a border of zeros, so that those of their images are convolutions, too.

use sdfg::builder::SdfgBuilder;
use sdfg::validate::{Rejected, Validated, Warnings};

use crate::alexnet;
use crate::network::{Layer, arguments, transients};

/// How a convolution goes on.
#[derive(Clone, Copy)]
enum Activation {
    /// The greatest of windows and zero: side of the result, and its border.
    Pooled(&'static str, u32),
    /// The greater of each element and zero, in a border of one.
    Rectified,
}

/// A convolution of the forward pass.
#[derive(Clone, Copy)]
struct Convolution {
    n: u32,
    from: &'static str,
    from_channels: &'static str,
    channels: &'static str,
    side: &'static str,
    kernel: &'static str,
    stride: u32,
    /// The border of the images, and of the gradient of the result.
    border: u32,
    activation: Activation,
}

const CONVOLUTIONS: [Convolution; 5] = {
    const fn one(
        n: u32,
        [from, from_channels, channels, side, kernel]: [&'static str; 5],
        (stride, border): (u32, u32),
        activation: Activation,
    ) -> Convolution {
        Convolution { n, from, from_channels, channels, side, kernel, stride, border, activation }
    }
    use Activation::{Pooled, Rectified};
    [
        one(1, ["I", "3", "3 * C", "8 * Q + 7", "R"], (4, 0), Pooled("4 * Q + 3", 2)),
        one(2, ["P1", "3 * C", "8 * C", "4 * Q + 3", "5"], (1, 2), Pooled("2 * Q + 1", 1)),
        one(3, ["P2", "8 * C", "12 * C", "2 * Q + 1", "3"], (1, 1), Rectified),
        one(4, ["P3", "12 * C", "12 * C", "2 * Q + 1", "3"], (1, 1), Rectified),
        one(5, ["P4", "12 * C", "8 * C", "2 * Q + 1", "3"], (1, 1), Pooled("Q", 0)),
    ]
};

/// The step, from images `I` and the probabilities `Y` that they should have to probabilities `O` and changed weights. The step has the
/// length `rate`.
pub(crate) fn training() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("alexnet_training");
    alexnet::forward(&mut b);
    arguments(&mut b, &["Y[B, K]", "rate[1]"]);
    transients(&mut b, &["gD8[B, K]"]);
    let inputs = [("o1", "O[b, f]"), ("y", "Y[b, f]")];
    each(&mut b, "loss", "b: B, f: K", &inputs, "o = o1 - y", "gD8[b, f]");
    dense(&mut b, 8, "K");
    dense(&mut b, 7, "F");
    first_dense(&mut b);
    for convolution in CONVOLUTIONS.iter().rev() {
        convolution.gradient(&mut b);
    }
    for Convolution { n, from_channels, channels, kernel, .. } in CONVOLUTIONS {
        let filters = format!("k: {channels}, c: {from_channels}, p: {kernel}, q: {kernel}");
        step(&mut b, &format!("W{n}"), &filters);
        step(&mut b, &format!("b{n}"), &format!("k: {channels}"));
    }
    step(&mut b, "W6", "f: F, k: 8 * C, y: Q, x: Q");
    for (n, size) in [(7, "F"), (8, "K")] {
        step(&mut b, &format!("W{n}"), &format!("f: {size}, g: F"));
    }
    for (n, size) in [(6, "F"), (7, "F"), (8, "K")] {
        step(&mut b, &format!("b{n}"), &format!("f: {size}"));
    }
    b.build()
}

type Inputs<'i> = &'i [(&'i str, &'i str)];

fn each(b: &mut SdfgBuilder, name: &str, domain: &str, inputs: Inputs<'_>, code: &str, output: &str) {
    Layer { name, domain, inputs, code, output }.each(b);
}

/// A sum from zero on: `own` is the domain of its result, and `over` that of its terms beside it.
fn sum(
    b: &mut SdfgBuilder,
    name: &str,
    (own, over): (&str, &str),
    inputs: Inputs<'_>,
    code: &str,
    output: &str,
) {
    each(b, &format!("{name}_zero"), own, &[], "o = 0.0", output);
    Layer { name, domain: &format!("{own}, {over}"), inputs, code, output }.sum(b);
}

/// The gradients of a dense layer of the rectified result of the one before.
fn dense(b: &mut SdfgBuilder, n: u32, size: &str) {
    let before = n - 1;
    transients(b, &[&format!("gW{n}[{size}, F]"), &format!("gb{n}[{size}]"), &format!("gD{before}[B, F]")]);
    let (gradient, input) = (format!("gD{n}[b, f]"), format!("D{before}[b, g]"));
    let own = format!("f: {size}");
    let inputs = [("d", gradient.as_str()), ("a", &input)];
    let rows = format!("{own}, g: F");
    let to = format!("gW{n}[f, g]");
    sum(b, &format!("dense{n}_weights"), (&rows, "b: B"), &inputs, "o = d * max(a, 0.0)", &to);
    let to = format!("gb{n}[f]");
    sum(b, &format!("dense{n}_offsets"), (&own, "b: B"), &inputs[..1], "o = d", &to);
    let inputs = [("d", gradient.as_str()), ("a", &input), ("w", &format!("W{n}[f, g]"))];
    let code = "o = d * w if a > 0.0 else 0.0";
    let to = format!("gD{before}[b, g]");
    sum(b, &format!("dense{n}_inputs"), ("b: B, g: F", &own), &inputs, code, &to);
}

/// Those of the dense layer of images.
fn first_dense(b: &mut SdfgBuilder) {
    transients(b, &["gW6[F, 8 * C, Q, Q]", "gb6[F]", "gP5[B, 8 * C, Q, Q]"]);
    let image = "k: 8 * C, y: Q, x: Q";
    let inputs = [("d", "gD6[b, f]"), ("a", "P5[b, k, y, x]")];
    let rows = format!("f: F, {image}");
    sum(b, "dense6_weights", (&rows, "b: B"), &inputs, "o = d * a", "gW6[f, k, y, x]");
    sum(b, "dense6_offsets", ("f: F", "b: B"), &inputs[..1], "o = d", "gb6[f]");
    let inputs = [inputs[0], ("w", "W6[f, k, y, x]")];
    let images = format!("b: B, {image}");
    sum(b, "dense6_inputs", (&images, "f: F"), &inputs, "o = d * w", "gP5[b, k, y, x]");
}

impl Convolution {
    /// Its gradients: of the result from that of the activated result, of filters and offsets, and of the images but for the first ones.
    fn gradient(self, b: &mut SdfgBuilder) {
        let Convolution { n, from, from_channels, channels, side, kernel, stride, border, activation } = self;
        let wide = format!("{side} + {}", 2 * border);
        let filters = format!("{channels}, {from_channels}, {kernel}, {kernel}");
        transients(
            b,
            &[
                &format!("gA{n}[B, {channels}, {wide}, {wide}]"),
                &format!("gW{n}[{filters}]"),
                &format!("gb{n}[{channels}]"),
            ],
        );
        let (all, to) = (format!("b: B, k: {channels}, y: {wide}, x: {wide}"), format!("gA{n}[b, k, y, x]"));
        each(b, &format!("zero_gradient{n}"), &all, &[], "o = 0.0", &to);
        match activation {
            Activation::Pooled(pooled, around) => {
                let domain = format!("b: B, k: {channels}, y: {pooled}, x: {pooled}, p: 3, q: 3");
                let greatest = format!("P{n}[b, k, y + {around}, x + {around}]");
                let inputs = [
                    ("a", &*format!("A{n}[b, k, 2 * y + p, 2 * x + q]")),
                    ("m", &greatest),
                    ("d", &format!("gP{n}[b, k, y, x]")),
                ];
                let code = "o = d if a > 0.0 and a == m else 0.0";
                let output = format!("gA{n}[b, k, 2 * y + p + {border}, 2 * x + q + {border}]");
                let name = format!("pool{n}_gradient");
                Layer { name: &name, domain: &domain, inputs: &inputs, code, output: &output }.sum(b);
            }
            Activation::Rectified => {
                let domain = format!("b: B, k: {channels}, y: {side}, x: {side}");
                let inputs = [("a", &*format!("A{n}[b, k, y, x]")), ("d", &format!("gP{n}[b, k, y, x]"))];
                let output = format!("gA{n}[b, k, y + {border}, x + {border}]");
                let code = "o = d if a > 0.0 else 0.0";
                each(b, &format!("rectify{n}_gradient"), &domain, &inputs, code, &output);
            }
        }
        let pixels = format!("b: B, y: {side}, x: {side}");
        let inputs = [
            ("d", &*format!("gA{n}[b, k, y + {border}, x + {border}]")),
            ("a", &format!("{from}[b, c, {stride} * y + p, {stride} * x + q]")),
        ];
        let own = format!("k: {channels}, c: {from_channels}, p: {kernel}, q: {kernel}");
        let to = format!("gW{n}[k, c, p, q]");
        sum(b, &format!("convolution{n}_weights"), (&own, &pixels), &inputs, "o = d * a", &to);
        let (own, to) = (format!("k: {channels}"), format!("gb{n}[k]"));
        sum(b, &format!("convolution{n}_offsets"), (&own, &pixels), &inputs[..1], "o = d", &to);
        if n > 1 {
            let before = n - 1;
            transients(b, &[&format!("gP{before}[B, {from_channels}, {side}, {side}]")]);
            let own = format!("b: B, c: {from_channels}, y: {side}, x: {side}");
            let over = format!("k: {channels}, p: {kernel}, q: {kernel}");
            let ahead = 2 * border;
            let inputs = [
                ("d", &*format!("gA{n}[b, k, y + {ahead} - p, x + {ahead} - q]")),
                ("w", &format!("W{n}[k, c, p, q]")),
            ];
            let to = format!("gP{before}[b, c, y, x]");
            sum(b, &format!("convolution{n}_inputs"), (&own, &over), &inputs, "o = d * w", &to);
        }
    }
}

/// A step of weights against their gradient.
fn step(b: &mut SdfgBuilder, name: &str, domain: &str) {
    let at: Vec<&str> = domain.split(", ").filter_map(|one| one.split_once(": ")).map(|(at, _)| at).collect();
    let (own, gradient) = (format!("{name}[{}]", at.join(", ")), format!("g{name}[{}]", at.join(", ")));
    let inputs = [("w", own.as_str()), ("g", &gradient), ("r", "rate[0]")];
    each(b, &format!("step_{name}"), domain, &inputs, "o = w - r * g", &own);
}
