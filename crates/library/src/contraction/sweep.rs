//! Loops that read `B` once in the order of memory, for products with few rows, in the `fast` expansion.
//!
//! With one row, each element of `B` takes part in one product: the speed of memory is the limit. With few rows and a large `B`,
//! it is, too, and tiles that walk down the columns of `B` wait for each of its rows. These
//! loops go through [`TOGETHER`] rows of `B` at a time, side by side, and add their products to each row of the result. A chunk of these
//! rows stays in the first-level cache while the rows of `A` pass.

use super::blocks::{Blocks, Store};
use super::thin::Destination;
use crate::error::ExpandErrorKind;
use crate::template::{Template, converted};

/// Rows of `B` whose products are added to the result at a time. Each addition loads and stores the result.
pub(super) const TOGETHER: i64 = 8;
/// Columns of a chunk. Threads share chunks.
const CHUNK: i64 = 512;

impl Blocks<'_> {
    /// Appends the states. `B` must have neighbours along its rows.
    pub(super) fn sweep(
        &self,
        template: &mut Template,
        Destination { target, outer: sums, store }: Destination<'_>,
    ) -> Result<(), ExpandErrorKind> {
        let this = self.contraction;
        if store == Store::First {
            this.start_in(template, target, "scale_sweep")?;
        }
        for (label, (param, range)) in sums.iter().zip(this.dimensions(template, sums)) {
            template.blocks(&format!("for __sweep_sum{label}: {param} = {range} {{\n"));
        }
        let (left, right) = (&self.operand(self.left).connector, &self.operand(self.right).connector);
        let (rows, columns) = (self.extent(template, self.row), self.extent(template, self.column));
        let depth = self.extent(template, self.depth);
        let mut outer = self.outer(template, &self.around());
        outer.push(format!("__chunk = 0:{}", self.parts(template, self.column, CHUNK)));
        let together = (0..TOGETHER).map(|number| format!("{TOGETHER} * __k + {number}")).collect();
        let blocks = self.swept(target.container(), "together", together)?;
        let rest = self.swept(target.container(), "rest", vec!["__k".to_owned()])?;
        let chunk = format!("{CHUNK} * __chunk:min({CHUNK} * __chunk + {CHUNK}, {columns})");
        let maps = |name: &str, range: &str, compute: &str| {
            format!(
                "map __{name} [__k = {range}] schedule(sequential) {{
map __{name}_rows [__r = 0:{rows}] schedule(sequential) {{
map __{name}_lanes [__j = {chunk}] schedule(simd) {{
{compute}}}
__{name}_rows.{left} -> __{name}_lanes.{left}
__{name}_rows.{right} -> __{name}_lanes.{right}
__{name}_lanes.__out -> __{name}_rows.__out
}}
__{name}.{left} -> __{name}_rows.{left}
__{name}.{right} -> __{name}_rows.{right}
__{name}_rows.__out -> __{name}.__out
}}
__chunks.{left} -> __{name}.{left}
__chunks.{right} -> __{name}.{right}
__{name}.__out -> __chunks.__{name}
"
            )
        };
        template.blocks(&format!(
            "state sweep {{
access {left}
access {right}
access __out = {to}
map __chunks [{outer}] collapse({shared}) {{
{together}{rest}order __together -> __rest
}}
{left} -> __chunks.{left}
{right} -> __chunks.{right}
__chunks.__together -> __out
__chunks.__rest -> __out
}}
",
            to = target.container(),
            outer = outer.join(", "),
            shared = outer.len(),
            together = maps("together", &format!("0:{depth} // {TOGETHER}"), &blocks),
            rest = maps("rest", &format!("{TOGETHER} * ({depth} // {TOGETHER}):{depth}"), &rest),
        ));
        sums.iter().for_each(|_| template.blocks("}\n"));
        Ok(())
    }

    /// The tasklet that adds the products of these rows of `B` to an element, with its edges.
    fn swept(&self, to: &str, name: &str, places: Vec<String>) -> Result<String, ExpandErrorKind> {
        let ty = self.element();
        let (left, right) = (self.operand(self.left), self.operand(self.right));
        let (mut inputs, mut products, mut edges) = (Vec::new(), Vec::new(), String::new());
        for (number, place) in places.iter().enumerate() {
            let a = self.element_at(left, self.left, &[(self.row, "__r"), (self.depth, place)]);
            let b = self.element_at(right, self.right, &[(self.column, "__j"), (self.depth, place)]);
            for (connector, operand, element) in [("__a", left, a), ("__b", right, b)] {
                let from = &operand.connector;
                edges.push_str(&format!(
                    "__{name}_lanes.{from} -> __{name}_add.{connector}{number}: {}\n",
                    element.text()
                ));
                inputs.push(format!("{connector}{number}"));
            }
            let factor = |connector: &str, from| converted(&format!("{connector}{number}"), from, ty);
            products.push(format!("{} * {}", factor("__a", left.element), factor("__b", right.element)));
        }
        let output = &self.contraction.signature.output;
        let places = [(self.row, "__r"), (self.column, "__j")];
        let c = self.element_of(output, to, &self.contraction.output, &places).text();
        let alpha = &self.contraction.alpha;
        let scale = if alpha.is_one() { String::new() } else { format!("{} * ", alpha.code(ty)?) };
        Ok(format!(
            "tasklet __{name}_add ({inputs}) -> (__o) {{ __o = {scale}({sum}) }}
{edges}__{name}_add.__o -> __{name}_lanes.__out: {c} wcr(sum)
",
            inputs = inputs.join(", "),
            sum = products.join(" + "),
        ))
    }
}
