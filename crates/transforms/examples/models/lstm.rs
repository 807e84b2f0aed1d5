//! A language model with two layers of long short-term memory (Hochreiter and Schmidhuber, 1997; used as in
//! Zaremba, Sutskever and Vinyals, 2014): a loop over words, then the probabilities of each next word.

use sdfg::builder::SdfgBuilder;
use sdfg::validate::{Rejected, Validated, Warnings};

use crate::network::{Layer, arguments, softmax, symbols, transients};

/// Symbols with the sizes of the "large" model: sequences of a batch, words of each, size of an embedded word, size of a layer, words of
/// the vocabulary.
pub(crate) const SIZES: &[(&str, i64)] = &[("B", 20), ("T", 35), ("D", 1500), ("H", 1500), ("V", 10_000)];

/// From embedded words `X` to probabilities `O`; `h1`, `c1`, `h2` and `c2` are the states, before and after.
pub(crate) fn lstm() -> Result<(Validated, Warnings), Rejected> {
    let mut b = SdfgBuilder::new("lstm");
    symbols(&mut b, &["B", "T", "D", "H", "V"]);
    arguments(&mut b, &["X[T, B, D]", "Wv[V, H]", "bv[V]", "O[T, B, V]"]);
    for n in [1, 2] {
        let size = if n == 1 { "D" } else { "H" };
        arguments(
            &mut b,
            &[
                &format!("W{n}[4, H, {size}]"),
                &format!("U{n}[4, H, H]"),
                &format!("b{n}[4, H]"),
                &format!("h{n}[B, H]"),
                &format!("c{n}[B, H]"),
            ],
        );
        transients(&mut b, &[&format!("G{n}[B, 4, H]")]);
    }
    transients(&mut b, &["Y[T, B, H]", "L[T, B, V]"]);
    b.for_loop("words", "t", "0:T", |b| {
        cells(b, 1, "X[t, b, d]", "D");
        cells(b, 2, "h1[b, d]", "H");
        let inputs = &[("h", "h2[b, k]")];
        Layer { name: "keep", domain: "b: B, k: H", inputs, code: "o = h", output: "Y[t, b, k]" }.each(b);
    });
    let inputs = &[("w", "bv[v]")];
    Layer { name: "words_bias", domain: "n: T, b: B, v: V", inputs, code: "o = w", output: "L[n, b, v]" }
        .each(&mut b);
    let inputs = &[("y", "Y[n, b, k]"), ("w", "Wv[v, k]")];
    Layer {
        name: "words_product",
        domain: "n: T, b: B, v: V, k: H",
        inputs,
        code: "o = y * w",
        output: "L[n, b, v]",
    }
    .sum(&mut b);
    softmax(&mut b, "softmax", ("n: T, b: B", "n, b", "T, B"), "V", ("L", "O"));
    b.build()
}

/// A layer for one word: gates 0 to 3 are input, forget, candidate and output.
fn cells(b: &mut SdfgBuilder, n: u32, word: &str, size: &str) {
    let (gate, bias) = (format!("G{n}[b, g, k]"), format!("b{n}[g, k]"));
    let gates = "b: B, g: 4, k: H";
    let inputs = [("w", bias.as_str())];
    Layer { name: &format!("bias{n}"), domain: gates, inputs: &inputs, code: "o = w", output: &gate }.each(b);
    let inputs = [("x", word), ("w", &format!("W{n}[g, k, d]"))];
    let domain = format!("{gates}, d: {size}");
    Layer { name: &format!("input{n}"), domain: &domain, inputs: &inputs, code: "o = x * w", output: &gate }
        .sum(b);
    let inputs = [("h", &*format!("h{n}[b, d]")), ("w", &format!("U{n}[g, k, d]"))];
    let domain = format!("{gates}, d: H");
    Layer { name: &format!("state{n}"), domain: &domain, inputs: &inputs, code: "o = h * w", output: &gate }
        .sum(b);
    let (cell, hidden) = (format!("c{n}[b, k]"), format!("h{n}[b, k]"));
    let [i, f, a, e] = [0, 1, 2, 3].map(|g| format!("G{n}[b, {g}, k]"));
    let inputs = [("c", cell.as_str()), ("i", &i), ("f", &f), ("a", &a)];
    let code = "o = c / (1.0 + exp(-f)) + tanh(a) / (1.0 + exp(-i))";
    Layer { name: &format!("cell{n}"), domain: "b: B, k: H", inputs: &inputs, code, output: &cell }.each(b);
    let inputs = [("c", cell.as_str()), ("e", &e)];
    let code = "o = tanh(c) / (1.0 + exp(-e))";
    Layer { name: &format!("hidden{n}"), domain: "b: B, k: H", inputs: &inputs, code, output: &hidden }
        .each(b);
}
