//! Transforms of any length (Bluestein's chirp z-transform): a convolution, computed by transforms whose
//! length has small factors.
//!
//! As `k * n = (k * k + n * n - (k - n) * (k - n)) / 2`, with `chirp[k] = root(2 * N) ** (k * k)`,
//!
//! ```text
//! out[k] = chirp[k] * sum(inp[n] * chirp[n] * conj(chirp[k - n]) for n < N)
//! ```
//!
//! This is a part of the cyclic convolution of any length from `2 * N - 1` on. The transform of the
//! conjugates (the kernel) and the transform of `inp * chirp` are multiplied. The inverse transform is
//! `conj(transform(conj(product))) / length`. All three transforms use the same passes, in rounds. Squares
//! are reduced modulo `2 * N` as integers, so angles are equally exact for all `k`.
//!
//! If only the call determines the length, the number of rounds is decided at run time: lengths with small
//! factors run only the last round.

use sdfg::dtype::ScalarType;

use super::passes::{ODD, WORK, transformed};
use super::{Fourier, element};
use crate::error::ExpandErrorKind;
use crate::operation::Target;
use crate::template::{Element, Elementwise, Template, converted};

/// The length of what passes transform: the length itself, or a larger one.
const LENGTH: &str = "__length";
const FOUND: &str = "__found";
const CHIRP: &str = "__chirp";
/// The transform of the conjugates.
const KERNEL: &str = "__kernel";

/// Whether a length has no factors but those of passes.
pub(super) fn has_passes(count: i64) -> bool {
    let factors = std::iter::once(2).chain(ODD.map(|radix| radix as i64));
    let rest = factors.fold(count, |mut rest, factor| {
        while rest > 0 && rest % factor == 0 {
            rest /= factor;
        }
        rest
    });
    rest <= 1
}

impl Fourier {
    /// Appends the states of a transform that passes alone are perhaps not enough for.
    pub(super) fn expand_as_chirp(
        &self,
        template: &mut Template,
        target: &Target,
    ) -> Result<(), ExpandErrorKind> {
        let ty = self.output.element;
        let count = template.extent(self.input.size(self.input.fit(1)?[0]));
        let all = format!("0:{count}");
        find_length(template, &count);
        self.roots(template, LENGTH);
        template.transient(CHIRP, ty, std::slice::from_ref(&count));
        template.transient(KERNEL, ty, &[LENGTH.to_owned()]);
        template.blocks(&format!(
            "state kind {{}}
-> rounds if {LENGTH} > {count} with (__first = 0)
-> rounds with (__first = 2)
for rounds: __round = __first:3 {{
if begin: {LENGTH} == {count} {{
"
        ));
        let input = || ("__x".to_owned(), element(&self.input, &self.input.connector, "__k"));
        let x = converted("__x", self.input.element, ty);
        template.elementwise(compute("start", &all, vec![input()], x.clone(), at("__k")));
        template.blocks("} elif __round == 0 {\n");
        let root = self.root("__k * __k", &format!("(2 * {count})"));
        template.elementwise(compute("chirp", &all, Vec::new(), root, chirp("__k")));
        start_kernel(template, ty, &count);
        template.blocks("} elif __round == 1 {\n");
        let chirped = vec![input(), ("__c".to_owned(), chirp("__k"))];
        template.elementwise(compute("chirped", &all, chirped, format!("{x} * __c"), at("__k")));
        let beyond = format!("{count}:{LENGTH}");
        template.elementwise(compute("padding", &beyond, Vec::new(), format!("{ty}(0)"), at("__k")));
        template.blocks("} else {\n");
        let whole = format!("0:{LENGTH}");
        let factors = vec![("__x".to_owned(), transformed()), ("__b".to_owned(), kernel("__k"))];
        template.elementwise(compute("product", &whole, factors, "conj(__x * __b)".to_owned(), at("__k")));
        template.blocks("}\n");
        self.passes(template, LENGTH);
        template.blocks("if end_of_round: __round == 0 {\n");
        let kept = vec![("__x".to_owned(), transformed())];
        template.elementwise(compute("keep", &whole, kept, "__x".to_owned(), kernel("__k")));
        template.blocks("}\n}\n");
        template.blocks(&format!("if end: {LENGTH} == {count} {{\n"));
        let scale = self.scale()?;
        let to = || element(&self.output, target.container(), "__k");
        let finish = |label, reads, value| {
            let state = compute(label, &all, reads, value, to());
            Elementwise { adds: target.adds, ..state }
        };
        let of_transform = || ("__x".to_owned(), transformed());
        template.elementwise(finish("finish", vec![of_transform()], format!("{scale}__x")));
        template.blocks("} else {\n");
        let value = format!("{scale}{ty}(1.0 / {LENGTH}) * __c * conj(__x)");
        let reads = vec![of_transform(), ("__c".to_owned(), chirp("__k"))];
        template.elementwise(finish("unchirped", reads, value));
        template.blocks("}\n");
        Ok(())
    }
}

/// Appends the state that finds the length of what passes transform.
///
/// Five or six eighths of a power of two are taken where they are enough.
fn find_length(template: &mut Template, count: &str) {
    template.transient(FOUND, ScalarType::I64, &[]);
    let divisions: String = std::iter::once(2)
        .chain(ODD)
        .map(|factor| {
            format!("while __cofactor > 0 and __cofactor % {factor} == 0:\n    __cofactor = __cofactor // {factor}\n")
        })
        .collect();
    template.blocks(&format!(
        "state find_length {{
access {FOUND}
tasklet __search () -> (__o) {{
__cofactor = {count}
{divisions}__fit = {count}
if __cofactor > 1:
    __least = 2 * {count} - 1
    __power = 8
    while __power < __least:
        __power = 2 * __power
    __fit = __power
    if __power // 8 * 5 >= __least:
        __fit = __power // 8 * 5
    elif __power // 8 * 6 >= __least:
        __fit = __power // 8 * 6
__o = __fit
}}
__search.__o -> {FOUND}
}}
-> length with ({LENGTH} = {FOUND})
state length {{}}
"
    ));
}

/// Appends the states that write the conjugates, those of negative positions at the end.
fn start_kernel(template: &mut Template, ty: ScalarType, count: &str) {
    let conjugates = || vec![("__c".to_owned(), chirp("__k"))];
    let value = || "conj(__c)".to_owned();
    template.elementwise(compute("kernel", &format!("0:{count}"), conjugates(), value(), at("__k")));
    let mirrored = at(&format!("{LENGTH} - __k"));
    template.elementwise(compute("mirrored", &format!("1:{count}"), conjugates(), value(), mirrored));
    let between = format!("{count}:{LENGTH} - {count} + 1");
    template.elementwise(compute("between", &between, Vec::new(), format!("{ty}(0)"), at("__k")));
}

/// A state that writes one element for each `__k` of the range.
fn compute<'a>(
    label: &'a str,
    range: &str,
    reads: Vec<(String, Element)>,
    value: String,
    write: Element,
) -> Elementwise<'a> {
    let dimensions = vec![("__k".to_owned(), range.to_owned())];
    Elementwise { label, dimensions, reads, value, write, adds: false }
}

/// An element of what passes begin with.
fn at(index: &str) -> Element {
    Element::new(WORK, vec!["0".to_owned(), index.to_owned()])
}

fn chirp(index: &str) -> Element {
    Element::new(CHIRP, vec![index.to_owned()])
}

fn kernel(index: &str) -> Element {
    Element::new(KERNEL, vec![index.to_owned()])
}
