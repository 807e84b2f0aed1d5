//! The grammar of expressions and statements: source spans, lexer, syntax tree, parser and printer.
//!
//! Symbolic expressions, tasklet code, conditions and the text form of whole SDFGs share this lexer and
//! expression parser, so spans and messages are the same everywhere. The tree is untyped. `sdfg::tasklet`
//! gives it types and meaning, and `sdfg::symbolic` reads its integer part.
//!
//! The language is a subset of Python: its operators, precedences, conditional expressions, chained
//! comparisons and indented blocks, with `#` comments.
mod ast;
mod cursor;
mod dedent;
mod error;
mod expression;
mod lexer;
mod print;
mod replace;
mod rewrite;
mod span;
mod statement;
mod token;
mod visit;

#[cfg(test)]
pub(crate) mod arbitrary;
#[cfg(test)]
mod tests;

pub use ast::{
    AssignmentTarget, BinaryOp, Block, CompareOp, Expression, ExpressionKind, FloatLiteral, Index, Lambda,
    Name, Statement, StatementKind, UnaryOp,
};
pub use cursor::{Cursor, Mark};
pub use dedent::Dedented;
pub use error::{ParseError, ParseErrorKind, ParseResult};
pub use expression::{parse_expression, parse_index_list, parse_lambda};
pub use lexer::{find_matching_brace, is_name, quote, tokenize};
pub use print::print_block;
pub use rewrite::{map_block, map_expression};
pub use span::Span;
pub use statement::parse_block;
pub use token::{Punctuation, Token, TokenKind};
pub use visit::{
    names_in, subscripted_names, visit_block, visit_bound_names, visit_statements, visit_targets,
};
