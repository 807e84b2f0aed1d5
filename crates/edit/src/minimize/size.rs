//! Size of a program: the measure that every step of a reduction decreases.

use std::fmt;

use sdfg_graph::ir::{NodeKind, Sdfg};
use sdfg_graph::text;
use sdfg_language::syntax::{TokenKind, tokenize};

use super::step::places;

/// The size of a program with everything nested in it, compared part by part from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Size {
    /// States, loops, branches and jumps.
    pub blocks: usize,
    /// Dataflow nodes; a scope has two.
    pub nodes: usize,
    /// Dataflow edges and transitions.
    pub edges: usize,
    /// Containers and declared symbols.
    pub names: usize,
    /// Dimensions of containers and parameters of maps.
    pub dimensions: usize,
    /// Tokens of the text form: names weigh more than numbers, and greater numbers more than smaller ones.
    pub weight: usize,
}

impl Size {
    /// The size of a program.
    pub fn of(sdfg: &Sdfg) -> Self {
        Size::with_text(sdfg, &text::print(sdfg))
    }

    /// The size of a program whose text form is known.
    pub(super) fn with_text(sdfg: &Sdfg, text: &str) -> Self {
        let mut size = Size { weight: weight(text), ..Size::default() };
        for (_, inner) in places(sdfg) {
            size.blocks += inner.blocks().count();
            size.edges += inner.transitions().count();
            size.names += inner.containers().count() + inner.symbols().count();
            size.dimensions +=
                inner.containers().map(|(_, container)| container.shape().len()).sum::<usize>();
            for (_, state) in inner.states() {
                size.nodes += state.n_nodes();
                size.edges += state.n_edges();
                for (_, node) in state.nodes() {
                    if let NodeKind::MapEntry(map) = &node.kind {
                        size.dimensions += map.params.len();
                    }
                }
            }
        }
        size
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |count: usize, noun: &str| {
            let plural = if count == 1 { "" } else { "s" };
            format!("{count} {noun}{plural}")
        };
        let parts = [counted(self.blocks, "block"), counted(self.nodes, "node"), counted(self.edges, "edge")];
        write!(f, "{}", parts.join(", "))
    }
}

/// More than any number, so that a number in the place of a name is a simplification.
const NAME: usize = 2 * u64::BITS as usize;

fn weight(text: &str) -> usize {
    let (tokens, _) = tokenize(text, 0);
    let weigh = |token: &sdfg_language::syntax::Token| {
        let text = token.span.slice(text).unwrap_or_default();
        match token.kind {
            TokenKind::Identifier if matches!(text, "True" | "False") => 2,
            TokenKind::Identifier | TokenKind::String => NAME,
            TokenKind::Integer => {
                let bits = text.parse::<u64>().map_or(u64::BITS, |value| u64::BITS - value.leading_zeros());
                1 + bits as usize
            }
            TokenKind::Float | TokenKind::Imaginary if text.parse() == Ok(0.0) => 3,
            TokenKind::Float | TokenKind::Imaginary if text.parse() == Ok(1.0) => 4,
            // Longer fractions are larger, up to a name.
            TokenKind::Float | TokenKind::Imaginary => (4 + text.len()).min(NAME - 1),
            // `a += b` is more than `a = b`.
            TokenKind::Punctuation(_) => text.len(),
            TokenKind::Newline | TokenKind::End => 0,
        }
    };
    tokens.iter().map(weigh).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simplifications_of_code_weigh_less() {
        let heavier = [
            ("x", "1000"),
            ("x", "0.125"),
            ("x", "True"),
            ("9", "1"),
            ("1", "0"),
            ("0.5", "1.0"),
            ("1.0", "0.0"),
            ("a += b", "a = b"),
            ("a[0] = b", "a = b"),
            ("f64(0)", "0"),
            ("-a", "a"),
            ("a if b else c", "c"),
        ];
        for (more, less) in heavier {
            assert!(weight(more) > weight(less), "{more} and {less}");
        }
    }

    #[test]
    fn nested_sdfgs_count_and_the_first_difference_decides() {
        let inner = "nested c () -> () sdfg inner { state t { map m [i = 0:2, j = 0:2] {} } }";
        let [with, without] = [inner, ""].map(|call| {
            let source =
                format!("sdfg p {{\n  symbol N: i64\n  array A: f64[N, N]\n  state s {{\n{call}\n}}\n}}");
            Size::of(&text::parse("test", &source).unwrap())
        });
        assert_eq!([with.blocks, with.nodes, with.names, with.dimensions], [2, 3, 2, 4]);
        assert_eq!([without.blocks, without.nodes, without.names, without.dimensions], [1, 0, 2, 2]);
        assert!(without < with);
        assert!(Size { blocks: 1, nodes: 9, ..with } < Size { blocks: 2, nodes: 0, ..with });
        assert_eq!(with.to_string(), "2 blocks, 3 nodes, 1 edge");
    }
}
