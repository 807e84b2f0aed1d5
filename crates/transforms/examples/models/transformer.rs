//! A Transformer (Vaswani et al., 2017): an encoder layer, a decoder layer that attends to it, and the
//! probabilities of words.

use sdfg::builder::SdfgBuilder;
use sdfg::validate::{Rejected, Validated, Warnings};

use crate::network::{Layer, arguments, softmax, symbols, transients};

/// Symbols with the sizes of the base model: sentences of a batch, words of a source and of a target, heads, size of a head, size of the
/// feed-forward layer, words of the vocabulary.
pub(crate) const SIZES: &[(&str, i64)] =
    &[("B", 64), ("N", 256), ("M", 256), ("H", 8), ("K", 64), ("F", 2048), ("V", 32_000)];

/// From embedded words `X` of a source and `Z` of a target to probabilities `O` of the target's next words.
pub(crate) fn transformer() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("transformer");
    symbols(&mut b, &["B", "N", "M", "H", "K", "F", "V"]);
    arguments(
        &mut b,
        &["X[B, N, H * K]", "Z[B, M, H * K]", "scale[1]", "Wv[V, H * K]", "bv[V]", "O[B, M, V]"],
    );
    transients(&mut b, &["L[B, M, V]"]);
    attention(&mut b, "encode", ("X", "N"), ("X", "N"), false);
    feed_forward(&mut b, "encode", "N");
    attention(&mut b, "decode", ("Z", "M"), ("Z", "M"), true);
    attention(&mut b, "cross", ("decode_attended", "M"), ("encode_done", "N"), false);
    feed_forward(&mut b, "cross", "M");
    let inputs = &[("w", "bv[v]")];
    Layer { name: "words_bias", domain: "b: B, n: M, v: V", inputs, code: "o = w", output: "L[b, n, v]" }
        .each(&mut b);
    let inputs = &[("y", "cross_done[b, n, d]"), ("w", "Wv[v, d]")];
    let domain = "b: B, n: M, v: V, d: H * K";
    Layer { name: "words", domain, inputs, code: "o = y * w", output: "L[b, n, v]" }.sum(&mut b);
    softmax(&mut b, "softmax", ("b: B, n: M", "b, n", "B, M"), "V", ("L", "O"));
    b.build()
}

/// Attention of each word of `to` to those of `from`, with what is attended from added and normalised: `NAME_attended`. Masked, a word
/// does not attend to those after it.
fn attention(b: &mut SdfgBuilder, name: &str, (to, n): (&str, &str), (from, m): (&str, &str), masked: bool) {
    for (role, words, length) in [("query", to, n), ("key", from, m), ("value", from, m)] {
        let whole = format!("{name}_{role}");
        arguments(b, &[&format!("W_{whole}[H, K, H * K]"), &format!("b_{whole}[H, K]")]);
        transients(b, &[&format!("{whole}[B, H, {length}, K]")]);
        let inputs = [("x", &*format!("{words}[b, n, d]")), ("w", &format!("W_{whole}[h, k, d]"))];
        let (domain, output) = (format!("b: B, h: H, n: {length}, k: K"), format!("{whole}[b, h, n, k]"));
        product(b, &whole, &domain, "d: H * K", &format!("b_{whole}[h, k]"), &inputs, &output);
    }
    let [scores, weights, context, mixed] =
        ["scores", "weights", "context", "mixed"].map(|role| format!("{name}_{role}"));
    transients(
        b,
        &[
            &format!("{scores}[B, H, {n}, {m}]"),
            &format!("{weights}[B, H, {n}, {m}]"),
            &format!("{context}[B, H, {n}, K]"),
            &format!("{mixed}[B, {n}, H * K]"),
        ],
    );
    let (domain, output) = (format!("b: B, h: H, n: {n}, m: {m}"), format!("{scores}[b, h, n, m]"));
    let code = if masked { "o = 0.0 if m <= n else -1.0e9" } else { "o = 0.0" };
    Layer { name: &format!("{scores}_mask"), domain: &domain, inputs: &[], code, output: &output }.each(b);
    let inputs = [
        ("q", &*format!("{name}_query[b, h, n, k]")),
        ("k0", &format!("{name}_key[b, h, m, k]")),
        ("s", "scale[0]"),
    ];
    let inner = format!("{domain}, k: K");
    Layer { name: &scores, domain: &inner, inputs: &inputs, code: "o = q * k0 * s", output: &output }.sum(b);
    let rows = (&*format!("b: B, h: H, n: {n}"), "b, h, n", &*format!("B, H, {n}"));
    softmax(b, &format!("{name}_softmax"), rows, m, (&scores, &weights));
    let (domain, output) = (format!("b: B, h: H, n: {n}, k: K"), format!("{context}[b, h, n, k]"));
    Layer {
        name: &format!("{context}_zero"),
        domain: &domain,
        inputs: &[],
        code: "o = 0.0",
        output: &output,
    }
    .each(b);
    let inputs = [("p", &*format!("{weights}[b, h, n, m]")), ("v", &format!("{name}_value[b, h, m, k]"))];
    let domain = format!("{domain}, m: {m}");
    Layer { name: &context, domain: &domain, inputs: &inputs, code: "o = p * v", output: &output }.sum(b);
    arguments(b, &[&format!("W_{mixed}[H, K, H * K]"), &format!("b_{mixed}[H * K]")]);
    let inputs = [("c", &*format!("{context}[b, h, n, k]")), ("w", &format!("W_{mixed}[h, k, d]"))];
    let (domain, output) = (format!("b: B, n: {n}, d: H * K"), format!("{mixed}[b, n, d]"));
    product(b, &mixed, &domain, "h: H, k: K", &format!("b_{mixed}[d]"), &inputs, &output);
    add_and_normalise(b, &format!("{name}_attended"), n, to, &mixed);
}

/// Two dense layers for each word, with what they take added and normalised: `NAME_done` from `NAME_attended`.
fn feed_forward(b: &mut SdfgBuilder, name: &str, n: &str) {
    let (wide, narrow, from) = (format!("{name}_wide"), format!("{name}_narrow"), format!("{name}_attended"));
    arguments(
        b,
        &[
            &format!("W_{wide}[F, H * K]"),
            &format!("b_{wide}[F]"),
            &format!("W_{narrow}[H * K, F]"),
            &format!("b_{narrow}[H * K]"),
        ],
    );
    transients(b, &[&format!("{wide}[B, {n}, F]"), &format!("{narrow}[B, {n}, H * K]")]);
    let inputs = [("x", &*format!("{from}[b, n, d]")), ("w", &format!("W_{wide}[f, d]"))];
    let (domain, output) = (format!("b: B, n: {n}, f: F"), format!("{wide}[b, n, f]"));
    product(b, &wide, &domain, "d: H * K", &format!("b_{wide}[f]"), &inputs, &output);
    let inputs = [("x", &*format!("{wide}[b, n, f]")), ("w", &format!("W_{narrow}[d, f]"))];
    let (domain, output) = (format!("b: B, n: {n}, d: H * K"), format!("{narrow}[b, n, d]"));
    let inner = format!("{domain}, f: F");
    let bias = [("w", &*format!("b_{narrow}[d]"))];
    Layer { name: &format!("{narrow}_bias"), domain: &domain, inputs: &bias, code: "o = w", output: &output }
        .each(b);
    Layer { name: &narrow, domain: &inner, inputs: &inputs, code: "o = max(x, 0.0) * w", output: &output }
        .sum(b);
    add_and_normalise(b, &format!("{name}_done"), n, &from, &narrow);
}

/// A bias, and the sum of the products of two inputs over more dimensions.
fn product(
    b: &mut SdfgBuilder,
    name: &str,
    domain: &str,
    reduced: &str,
    bias: &str,
    inputs: &[(&str, &str)],
    output: &str,
) {
    let names: Vec<&str> = inputs.iter().map(|(connector, _)| *connector).collect();
    let biases = [("w", bias)];
    Layer { name: &format!("{name}_bias"), domain, inputs: &biases, code: "o = w", output }.each(b);
    let (domain, code) = (format!("{domain}, {reduced}"), format!("o = {}", names.join(" * ")));
    Layer { name, domain: &domain, inputs, code: &code, output }.sum(b);
}

/// The sum of two, with mean 0 and variance 1 in each word, times a gain, plus a bias.
fn add_and_normalise(b: &mut SdfgBuilder, name: &str, n: &str, first: &str, second: &str) {
    let [added, mean, variance] = ["added", "mean", "variance"].map(|role| format!("{name}_{role}"));
    arguments(b, &[&format!("gain_{name}[H * K]"), &format!("bias_{name}[H * K]")]);
    transients(
        b,
        &[
            &format!("{name}[B, {n}, H * K]"),
            &format!("{added}[B, {n}, H * K]"),
            &format!("{mean}[B, {n}]"),
            &format!("{variance}[B, {n}]"),
        ],
    );
    let (words, all) = (format!("b: B, n: {n}"), format!("b: B, n: {n}, d: H * K"));
    let at = |array: &str| format!("{array}[b, n, d]");
    let of_word = |array: &str| format!("{array}[b, n]");
    let inputs = [("x", &*at(first)), ("y", &*at(second))];
    Layer { name: &added, domain: &all, inputs: &inputs, code: "o = x + y", output: &at(&added) }.each(b);
    for (result, code) in [(&mean, "o = x / (H * K)"), (&variance, "o = (x - m) * (x - m) / (H * K)")] {
        let zero = format!("{result}_zero");
        Layer { name: &zero, domain: &words, inputs: &[], code: "o = 0.0", output: &of_word(result) }.each(b);
        let inputs = [("x", &*at(&added)), ("m", &*of_word(&mean))];
        let used = if result == &mean { &inputs[..1] } else { &inputs[..] };
        Layer { name: result, domain: &all, inputs: used, code, output: &of_word(result) }.sum(b);
    }
    let inputs = [
        ("x", &*at(&added)),
        ("m", &*of_word(&mean)),
        ("v", &*of_word(&variance)),
        ("g", &*format!("gain_{name}[d]")),
        ("c", &*format!("bias_{name}[d]")),
    ];
    let code = "o = (x - m) / sqrt(v + 1.0e-5) * g + c";
    Layer { name, domain: &all, inputs: &inputs, code, output: &at(name) }.each(b);
}
