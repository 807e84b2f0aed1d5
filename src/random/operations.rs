//! Random library nodes that move elements. Each has two implementations that are compared: one for the
//! interpreter, and an expansion for native code.

use sdfg::interpret::{Libraries, LibraryOperand};
use sdfg::ir::{Connector, LibraryNode, NestedSdfg};
use sdfg::symbolic::{Expr, Symbol};
use sdfg_library::{BuiltIn, Context, ExpandErrorKind, Registry};

use super::generate::Generator;

/// The operations: `Rotated (a) -> (b)`, whose element `k` is the one that comes 2 later, and `Mixed (a, c) -> (b)`, whose
/// elements are in turn those of `a` and `c`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Operations;

/// Names of the operations.
const NAMES: [&str; 2] = ["Rotated", "Mixed"];

impl Libraries for Operations {
    fn compute(
        &self,
        node: &LibraryNode,
        inputs: &[LibraryOperand],
        outputs: &mut [LibraryOperand],
    ) -> Result<(), String> {
        if !NAMES.contains(&node.operation.as_str()) {
            return BuiltIn.compute(node, inputs, outputs);
        }
        let ([first, ..], [out]) = (inputs, outputs) else { return Err("an operand is missing".to_owned()) };
        let second = inputs.last().unwrap_or(first);
        let size = out.element.size();
        let count = out.data.len() / size;
        for k in 0..count {
            let (from, at) = match node.operation.as_str() {
                "Rotated" => (first, (k + 2) % count),
                "Mixed" if k % 2 == 0 => (first, k),
                "Mixed" => (second, k),
                other => return Err(format!("the operation `{other}` is not known")),
            };
            let element = from.data.get(at * size..(at + 1) * size).ok_or("the operands differ in size")?;
            out.data[k * size..(k + 1) * size].copy_from_slice(element);
        }
        Ok(())
    }
}

impl Registry for Operations {
    fn expand(&self, library: &LibraryNode, context: Context<'_>) -> Result<NestedSdfg, ExpandErrorKind> {
        let body = match library.operation.as_str() {
            "Rotated" => "tasklet t (x) -> (y) { y = x }; m.a -> t.x: a[(k + 2) % K]",
            "Mixed" => {
                "tasklet t (x, z) -> (y) { y = x if k % 2 == 0 else z }; m.a -> t.x: a[k]; m.c -> t.z: c[k]"
            }
            // Transformations make nodes of the library.
            _ => return BuiltIn.expand(library, context),
        };
        let edge = context.state.in_edges(context.node).first().map(|edge| context.state.edge(*edge));
        let access = edge.and_then(|edge| edge.memlet.read_access()).ok_or_else(|| unknown(library))?;
        let element = context.sdfg.container(access.container).element;
        let count: Expr = access.subset().sizes().into_iter().product();
        let inputs: Vec<&str> = library.inputs.iter().map(|input| input.name.as_str()).collect();
        let arrays: String = inputs.iter().map(|name| format!("array {name}: {element}[K]\n")).collect();
        let nodes: String =
            inputs.iter().map(|name| format!("access {name}\n{name} -> m.{name}\n")).collect();
        let text = format!(
            "sdfg expansion {{
symbol K: i64
{arrays}array b: {element}[K]
state s {{
access b
map m [k = 0:K] {{ {body}; t.y -> m.b: b[k] }}
{nodes}m.b -> b
}}
}}"
        );
        let sdfg = sdfg::text::parse("expansion.sdft", &text).map_err(|_| unknown(library))?;
        let connectors = |of: &[Connector]| of.iter().map(|one| Connector::new(&one.name)).collect();
        Ok(NestedSdfg {
            sdfg,
            inputs: connectors(&library.inputs),
            outputs: connectors(&library.outputs),
            symbol_mapping: vec![(Symbol::of("K"), count)],
        })
    }
}

fn unknown(library: &LibraryNode) -> ExpandErrorKind {
    let known = NAMES.map(str::to_owned).to_vec();
    ExpandErrorKind::UnknownOperation { operation: library.operation.clone(), known }
}

impl Generator {
    /// Successive operations on rows, columns and the elements between.
    pub(super) fn library_nodes(&mut self) {
        let rows = self.rng.pick(&["C[0, 0:M]", "C[N - 1, M - 1:-1:-1]"]);
        self.write(
            &[("rows", rows)],
            "
            transient array $between: $TY[M]
            state $s {
              access W
              access C
              access $between
              access dst = W
              library rotate: Rotated (a) -> (b)
              library mix: Mixed (a, c) -> (b)
              W -> rotate.a
              rotate.b -> $between
              $between -> mix.a
              C -> mix.c: $rows
              mix.b -> dst
            }",
        );
    }
}
