//! Transforms in passes, one for each factor of the length (Cooley and Tukey, in Stockham's order, which
//! needs no permutation).
//!
//! With `rest * stride` elements in total, and `rest = radix * part`, a pass writes for `p < part`,
//! `k < radix` and `q < stride`
//!
//! ```text
//! to[(radix * p + k) * stride + q] = sum(from[(p + t * part) * stride + q] * root(rest) ** (k * (p + t * part)) for t < radix)
//! ```
//!
//! and the next pass continues with `part`. Each of the factors 4, 2, 3, 5 and 7 has a state.
//! [`super::chirp`] handles lengths with other factors.

use sdfg::dtype::ScalarType;

use super::{Direction, Fourier, element};
use crate::error::ExpandErrorKind;
use crate::operation::Target;
use crate::template::{Element, Elementwise, Template, converted};

/// Two vectors, of which passes read one and write the other.
pub(super) const WORK: &str = "__work";
const ROOTS: &str = "__roots";
/// Odd factors with a state of their own; each costs every compilation, the more the
/// larger it is, as conflicts between any two of its elements have to be excluded.
pub(super) const ODD: [usize; 3] = [3, 5, 7];

impl Fourier {
    /// Appends the states of a transform in passes alone, whose length has no other factors.
    pub(super) fn expand_in_passes(
        &self,
        template: &mut Template,
        target: &Target,
    ) -> Result<(), ExpandErrorKind> {
        let ty = self.output.element;
        let count = template.extent(self.input.size(self.input.fit(1)?[0]));
        let all = || vec![("__k".to_owned(), format!("0:{count}"))];
        self.roots(template, &count);
        template.elementwise(Elementwise {
            label: "start",
            dimensions: all(),
            reads: vec![("__x".to_owned(), element(&self.input, &self.input.connector, "__k"))],
            value: converted("__x", self.input.element, ty),
            write: Element::new(WORK, vec!["0".to_owned(), "__k".to_owned()]),
            adds: false,
        });
        self.passes(template, &count);
        template.elementwise(Elementwise {
            label: "finish",
            dimensions: all(),
            reads: vec![("__x".to_owned(), transformed())],
            value: format!("{}__x", self.scale()?),
            write: element(&self.output, target.container(), "__k"),
            adds: target.adds,
        });
        Ok(())
    }

    /// Declares the containers of passes over `count` elements, and appends the state that computes the roots of unity.
    pub(super) fn roots(&self, template: &mut Template, count: &str) {
        let ty = self.output.element;
        template.transient(WORK, ty, &["2".to_owned(), count.to_owned()]);
        template.transient(ROOTS, ty, &[count.to_owned()]);
        template.elementwise(Elementwise {
            label: "roots",
            dimensions: vec![("__k".to_owned(), format!("0:{count}"))],
            reads: Vec::new(),
            value: self.root("__k", count),
            write: Element::new(ROOTS, vec!["__k".to_owned()]),
            adds: false,
        });
    }

    /// Appends the passes that transform `count` elements in row 0 of [`WORK`]; they end in row `__side`.
    pub(super) fn passes(&self, template: &mut Template, count: &str) {
        let odd: String = ODD[1..].iter().rev().fold(ODD[0].to_string(), |rest, radix| {
            format!("({radix} if __rest % {radix} == 0 else {rest})")
        });
        template.blocks(&format!(
            "state first {{}}
-> passes with (__stride = 1, __side = 0)
loop passes: __rest = {count}; __rest > 1; __rest = __part {{
state find {{}}
-> split with (__radix = 4 if __rest % 4 == 0 else (2 if __rest % 2 == 0 else {odd}))
state split {{}}
-> butterfly with (__part = __rest // __radix)
if butterfly: __radix == 4 {{
{}}} elif __radix == 2 {{
{}",
            butterfly("four", 4, &self.four()),
            butterfly("two", 2, "__y0 = __x0 + __x1\n__y1 = (__x0 - __x1) * __w1\n"),
        ));
        for radix in ODD {
            let state = butterfly(&format!("odd{radix}"), radix, &self.odd(radix));
            template.blocks(&format!("}} elif __radix == {radix} {{\n{state}"));
        }
        template.blocks("}\nstate next {}\n-> more with (__stride = __stride * __radix, __side = 1 - __side)\nstate more {}\n}\n");
    }

    /// The code of a pass for a factor of 4.
    fn four(&self) -> String {
        let ty = self.output.element;
        // A quarter turn, without a product.
        let turned = match self.direction {
            Direction::Forward => "imag(__d), -real(__d)",
            Direction::Inverse => "-imag(__d), real(__d)",
        };
        format!(
            "__a = __x0 + __x2
__b = __x0 - __x2
__c = __x1 + __x3
__d = __x1 - __x3
__e = {ty}(complex({turned}))
__y0 = __a + __c
__y1 = (__b + __e) * __w1
__y2 = (__a - __c) * __w2
__y3 = (__b - __e) * __w3
"
        )
    }

    /// The code of a pass for an odd factor.
    ///
    /// Elements `t` and `radix - t` have roots that are conjugates: their sum is multiplied by the real part and their difference by the imaginary
    /// one, for two results at once. It is written in parts, as products of real and complex numbers would be complex ones.
    fn odd(&self, radix: usize) -> String {
        let ty = self.output.element;
        let real = if ty == ScalarType::Complex64 { ScalarType::F32 } else { ScalarType::F64 };
        let half = radix / 2;
        let mut code = String::new();
        for t in 0..radix {
            code.push_str(&format!("__r{t} = real(__x{t})\n__m{t} = imag(__x{t})\n"));
        }
        for (t, other) in (1..=half).map(|t| (t, radix - t)) {
            for part in ["r", "m"] {
                code.push_str(&format!("__a{part}{t} = __{part}{t} + __{part}{other}\n"));
                code.push_str(&format!("__b{part}{t} = __{part}{t} - __{part}{other}\n"));
            }
        }
        let all = |part: &str| -> String { (1..=half).map(|t| format!(" + __a{part}{t}")).collect() };
        code.push_str(&format!("__y0 = {ty}(complex(__r0{}, __m0{}))\n", all("r"), all("m")));
        for k in 1..=half {
            let angle = |t: usize| std::f64::consts::TAU * (t * k % radix) as f64 / radix as f64;
            let terms = |letter: &str, part: &str, of: fn(f64) -> f64| -> Vec<String> {
                (1..=half).map(|t| format!("{real}({:?}) * __{letter}{part}{t}", of(angle(t)))).collect()
            };
            for part in ["r", "m"] {
                let (sums, differences) = (terms("a", part, f64::cos), terms("b", part, f64::sin));
                code.push_str(&format!("__c{part}{k} = __{part}0 + {}\n", sums.join(" + ")));
                code.push_str(&format!("__s{part}{k} = {}\n", differences.join(" + ")));
            }
            let (plus, minus) = match self.direction {
                Direction::Forward => (k, radix - k),
                Direction::Inverse => (radix - k, k),
            };
            code.push_str(&format!(
                "__y{plus} = {ty}(complex(__cr{k} + __sm{k}, __cm{k} - __sr{k})) * __w{plus}
__y{minus} = {ty}(complex(__cr{k} - __sm{k}, __cm{k} + __sr{k})) * __w{minus}
"
            ));
        }
        code
    }
}

/// The element `__k` of what passes are done with.
pub(super) fn transformed() -> Element {
    Element::new(WORK, vec!["__side".to_owned(), "__k".to_owned()])
}

/// A state that reads `radix` elements, `__x0` and so on, and roots, `__w1` and so on, and writes `__y0` and so on.
fn butterfly(label: &str, radix: usize, code: &str) -> String {
    let (mut connectors, mut outputs, mut edges) = (Vec::new(), Vec::new(), String::new());
    for k in 0..radix {
        connectors.push(format!("__x{k}"));
        outputs.push(format!("__y{k}"));
        edges.push_str(&format!(
            "__elements.__in -> __compute.__x{k}: {WORK}[__side, (__p + {k} * __part) * __stride + __q]
__compute.__y{k} -> __elements.__out: {WORK}[1 - __side, ({radix} * __p + {k}) * __stride + __q]
"
        ));
    }
    for k in 1..radix {
        connectors.push(format!("__w{k}"));
        edges.push_str(&format!("__elements.{ROOTS} -> __compute.__w{k}: {ROOTS}[{k} * __p * __stride]\n"));
    }
    format!(
        "state {label} {{
access __in = {WORK}
access __out = {WORK}
access {ROOTS}
map __elements [__p = 0:__part, __q = 0:__stride] {{
tasklet __compute ({}) -> ({}) {{
{code}}}
{edges}}}
__in -> __elements.__in
{ROOTS} -> __elements.{ROOTS}
__elements.__out -> __out
}}
",
        connectors.join(", "),
        outputs.join(", ")
    )
}
