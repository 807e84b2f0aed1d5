//! Parser of declarations: symbols and containers.

use sdfg_language::symbolic::Expr;
use sdfg_language::syntax::{Name, Punctuation, Span, Token, TokenKind};
use sdfg_language::value::Value;

use super::super::error::ParseErrorKind;
use super::super::values::parse_value;
use super::{Fault, Parsed, Parser};
use crate::ir::{
    Blocks, Container, ContainerKind, Cut, Distribution, Layout, Lifetime, Parts, Sdfg, Storage,
};

/// Words that start a declaration.
pub(super) const DECLARATIONS: [&str; 8] =
    ["symbol", "scalar", "array", "stream", "view", "reference", "transient", "constant"];

/// The parts of a layout that a text may override.
#[derive(Default)]
struct LayoutParts {
    strides: Option<Vec<Expr>>,
    offset: Option<Expr>,
    total_size: Option<Expr>,
}

impl Parser<'_> {
    pub(super) fn at_declaration(&self) -> bool {
        DECLARATIONS.iter().any(|word| self.cursor.at_word(word))
    }

    /// `symbol N: i64`, `transient array A: f64[N] storage(register)`, ...
    pub(super) fn declaration(&mut self, sdfg: &mut Sdfg) -> Parsed<()> {
        if self.cursor.eat_word("symbol") {
            return self.symbol_declaration(sdfg);
        }
        let start = self.cursor.peek().span.start;
        let mut transient = false;
        let mut constant = false;
        loop {
            if self.cursor.eat_word("transient") {
                transient = true;
            } else if self.cursor.eat_word("constant") {
                constant = true;
            } else {
                break;
            }
        }
        let (name, mut container) = self.container_header()?;
        let mut layout = LayoutParts::default();
        while !self.cursor.at(Punctuation::Assign) && self.expect_statement_end().is_err() {
            self.container_property(&mut container, &mut layout)?;
        }
        if let Some(parts) = container.kind.layout_mut() {
            layout.apply(parts);
        }
        if constant {
            self.cursor.expect(Punctuation::Assign)?;
            container.constant = Some(self.constant_values(&container)?);
        }
        container.transient = transient || container.is_alias();
        container.loc = Some(self.loc_from(start));
        let taken = sdfg.find_container(&name.text).is_some()
            || sdfg.symbols().any(|(symbol, _)| symbol.as_str() == name.text);
        if taken {
            let kind = ParseErrorKind::Duplicate { what: "container or symbol", name: name.text };
            return Err(Fault::new(name.span, kind));
        }
        sdfg.add_container(container);
        Ok(())
    }

    fn symbol_declaration(&mut self, sdfg: &mut Sdfg) -> Parsed<()> {
        let start = self.cursor.peek().span;
        let symbol = self.symbol()?;
        self.cursor.expect(Punctuation::Colon)?;
        let span = self.cursor.peek().span;
        let ty = self.element_type()?;
        let Some(scalar) = ty.as_scalar().filter(|ty| ty.is_integer()) else {
            let (symbol, ty) = (symbol.to_string(), ty.to_string());
            return Err(Fault::new(span, ParseErrorKind::SymbolType { symbol, ty }));
        };
        let taken = sdfg.symbol_type(&symbol).is_some() || sdfg.find_container(symbol.as_str()).is_some();
        if taken {
            let name = symbol.to_string();
            return Err(Fault::new(start, ParseErrorKind::Duplicate { what: "container or symbol", name }));
        }
        sdfg.declare_symbol(symbol, scalar);
        Ok(())
    }

    /// `array A: f64[N, M]`.
    fn container_header(&mut self) -> Parsed<(Name, Container)> {
        let word = self.cursor.expect_name()?;
        let name = self.name()?;
        self.cursor.expect(Punctuation::Colon)?;
        let element = self.element_type()?;
        let shape = if self.cursor.at(Punctuation::OpenBracket) {
            Some(self.in_brackets(Self::symbolic)?)
        } else {
            None
        };
        let missing_shape =
            |what| Fault::new(name.span, ParseErrorKind::MissingShape { what, name: name.text.clone() });
        let layout = |what| shape.clone().map(Layout::packed).ok_or_else(|| missing_shape(what));
        let kind = match word.text.as_str() {
            "scalar" if shape.is_none() => ContainerKind::Scalar,
            "scalar" => return Err(self.shape_of_scalar(&name)),
            "array" => ContainerKind::Array(layout("array")?),
            "view" => ContainerKind::View(layout("view")?),
            "reference" => ContainerKind::Reference(layout("reference")?),
            "stream" => ContainerKind::Stream { shape: shape.clone().unwrap_or_default(), capacity: None },
            _ => {
                let known = vec!["scalar", "array", "stream", "view", "reference"];
                let kind = ParseErrorKind::UnknownWord { what: "kind of container", word: word.text, known };
                return Err(Fault::new(word.span, kind));
            }
        };
        let container = Container::new(name.text.clone(), element, kind);
        Ok((name, container))
    }

    fn shape_of_scalar(&self, name: &Name) -> Fault {
        let known = vec!["array"];
        let kind =
            ParseErrorKind::UnknownWord { what: "container with a shape", word: "scalar".to_owned(), known };
        Fault::new(name.span, kind)
    }

    fn container_property(&mut self, container: &mut Container, layout: &mut LayoutParts) -> Parsed<()> {
        let word = self.cursor.expect_name()?;
        let has_layout = container.kind.layout().is_some();
        match (word.text.as_str(), &mut container.kind) {
            ("capacity", ContainerKind::Stream { capacity, .. }) => {
                *capacity = Some(self.argument(Self::symbolic)?);
            }
            ("strides", _) if has_layout => layout.strides = Some(self.parenthesized(Self::symbolic)?),
            ("offset", _) if has_layout => layout.offset = Some(self.argument(Self::symbolic)?),
            ("size", _) if has_layout => layout.total_size = Some(self.argument(Self::symbolic)?),
            ("storage", _) => {
                container.storage = self.argument(|p| p.word("storage", &Storage::ALL, |s| s.name()))?;
            }
            ("lifetime", _) => {
                container.lifetime = self.argument(|p| p.word("lifetime", &Lifetime::ALL, |l| l.name()))?;
            }
            ("distribution", _) => container.distribution = self.argument(Self::distribution)?,
            (_, kind) => {
                let mut known = match kind {
                    ContainerKind::Stream { .. } => vec!["capacity"],
                    ContainerKind::Scalar => Vec::new(),
                    ContainerKind::Array(_) | ContainerKind::View(_) | ContainerKind::Reference(_) => {
                        vec!["strides", "offset", "size"]
                    }
                };
                known.extend(["storage", "lifetime", "distribution"]);
                let what = "property of this container";
                return Err(Fault::new(
                    word.span,
                    ParseErrorKind::UnknownWord { what, word: word.text, known },
                ));
            }
        }
        Ok(())
    }

    fn distribution(&mut self) -> Parsed<Distribution> {
        let word = self.cursor.expect_name()?;
        match word.text.as_str() {
            "replicated" => Ok(Distribution::Replicated),
            "local" => Ok(Distribution::Local),
            "block" => Ok(Distribution::block(self.parenthesized(Self::symbolic)?)),
            "grid" => {
                let grid = self.parenthesized(Self::symbolic)?;
                Ok(Distribution::Blocks(Blocks { grid, cuts: self.in_brackets(Self::cut)? }))
            }
            _ => {
                let known = vec!["replicated", "block", "grid", "local"];
                let kind = ParseErrorKind::UnknownWord { what: "distribution", word: word.text, known };
                Err(Fault::new(word.span, kind))
            }
        }
    }

    /// `whole`, `equal(0)`, `balanced(0, 1, N - 1) halo(1, 1)`, `starts(0, 4, 8)`: the first number is a dimension of the grid.
    fn cut(&mut self) -> Parsed<Option<Cut>> {
        let word = self.cursor.expect_name()?;
        if word.text == "whole" {
            return Ok(None);
        }
        let start = self.cursor.peek().span.start;
        let mut numbers = self.parenthesized(Self::symbolic)?.into_iter();
        let span = self.cursor.span_from(start);
        let along = numbers.next().and_then(|along| usize::try_from(along.as_int()?).ok());
        let numbers: Vec<Expr> = numbers.collect();
        let parts = match (word.text.as_str(), <[Expr; 2]>::try_from(numbers)) {
            ("equal", Err(rest)) if rest.is_empty() => Parts::Equal,
            ("balanced", Err(rest)) if rest.is_empty() => Parts::Balanced(None),
            ("balanced", Ok(range)) => Parts::Balanced(Some(range)),
            ("starts", Ok(starts)) => Parts::Starts(starts.into()),
            ("starts", Err(starts)) => Parts::Starts(starts),
            ("equal" | "balanced", Ok(_) | Err(_)) => return Err(Self::no_cut(self, span)),
            (_, Ok(_) | Err(_)) => {
                let known = vec!["whole", "equal", "balanced", "starts"];
                let kind = ParseErrorKind::UnknownWord { what: "cut of a dimension", word: word.text, known };
                return Err(Fault::new(word.span, kind));
            }
        };
        let mut cut = Cut::new(along.ok_or_else(|| self.no_cut(span))?, parts);
        if self.cursor.eat_word("halo") {
            let start = self.cursor.peek().span.start;
            let widths = self.parenthesized(Self::symbolic)?;
            let span = self.cursor.span_from(start);
            cut.halo = <[Expr; 2]>::try_from(widths).map_err(|_| self.no_cut(span))?;
        }
        Ok(Some(cut))
    }

    /// The numbers of a cut are not those that it needs.
    fn no_cut(&self, span: Span) -> Fault {
        let text = span.slice(self.cursor.source()).unwrap_or("").to_owned();
        let ty = "a cut, such as `balanced(0)`, `balanced(0, 1, N - 1)`, `starts(0, 4, 8)` or `halo(1, 1)`"
            .to_owned();
        Fault::new(span, ParseErrorKind::InvalidValue { text, ty })
    }

    /// `[1.0, 2.0]`, or one value without brackets.
    fn constant_values(&mut self, container: &Container) -> Parsed<Vec<Value>> {
        if self.cursor.at(Punctuation::OpenBracket) {
            self.in_brackets(|parser| parser.constant_value(container))
        } else {
            Ok(vec![self.constant_value(container)?])
        }
    }

    fn constant_value(&mut self, container: &Container) -> Parsed<Value> {
        let start = self.cursor.peek().span.start;
        let ty = container.element.lane();
        if self.cursor.at(Punctuation::OpenParenthesis) {
            self.parenthesized(|parser| {
                parser.number();
                Ok(())
            })?;
        } else {
            self.number();
        }
        let span = self.cursor.span_from(start);
        let text = span.slice(self.cursor.source()).unwrap_or("");
        parse_value(ty, text).ok_or_else(|| {
            let kind = ParseErrorKind::InvalidValue { text: text.to_owned(), ty: ty.to_string() };
            Fault::new(span, kind)
        })
    }

    /// Passes `-` and one token that is not punctuation; whether it is a number is seen from its text.
    fn number(&mut self) {
        self.cursor.eat(Punctuation::Minus);
        let token: Token = self.cursor.peek();
        match token.kind {
            TokenKind::Identifier | TokenKind::Integer | TokenKind::Float | TokenKind::Imaginary => {
                self.cursor.advance();
            }
            TokenKind::String | TokenKind::Punctuation(_) | TokenKind::Newline | TokenKind::End => {}
        }
    }
}

impl LayoutParts {
    fn apply(self, layout: &mut Layout) {
        if let Some(strides) = self.strides {
            layout.strides = strides;
        }
        if let Some(offset) = self.offset {
            layout.offset = offset;
        }
        if let Some(total_size) = self.total_size {
            layout.total_size = total_size;
        }
    }
}
