//! Properties of library nodes. A list `p` of DaCe is one property for each entry: `p_0`, `p_1` and so on.
//! The text `ij,jk->ik` is the word `ij_jk_to_ik`.

use sdfg::dtype::ScalarType;
use sdfg::ir::LibraryNode;
use sdfg::syntax::{Expression, ExpressionKind};
use sdfg::tasklet::{CompiledCode, Dialect, Environment, NoAccess, arith, typecheck_expression};
use sdfg::value::Value;

use crate::error::ExpandErrorKind;

/// The properties of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Properties<'n>(pub(crate) &'n LibraryNode);

/// A number that an operation multiplies by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Factor {
    expression: Expression,
    /// `None` if it depends on symbols.
    value: Option<Value>,
}

impl<'n> Properties<'n> {
    /// Refuses a property that is not one of these, or an entry of one. Every operation takes the name of DaCe's expansion.
    pub(crate) fn check(self, known: &[&str]) -> Result<(), ExpandErrorKind> {
        let is_entry = |name: &str, of: &str| {
            name.strip_prefix(of).and_then(|rest| rest.strip_prefix('_')).is_some_and(is_number)
        };
        let is_known = |name: &str| {
            name == "implementation" || known.iter().any(|one| *one == name || is_entry(name, one))
        };
        match self.0.properties.iter().find(|(name, _)| !is_known(name)) {
            None => Ok(()),
            Some((name, _)) => Err(ExpandErrorKind::UnknownProperty {
                property: name.clone(),
                known: known.iter().map(|name| (*name).to_owned()).collect(),
            }),
        }
    }

    /// The value of a property.
    pub(crate) fn get(self, name: &str) -> Option<&'n Expression> {
        self.0.properties.iter().find(|(found, _)| found == name).map(|(_, value)| value)
    }

    /// A property that is true or false; false unless it is given.
    pub(crate) fn flag(self, name: &str, default: bool) -> Result<bool, ExpandErrorKind> {
        match self.get(name).map(|value| &value.kind) {
            None => Ok(default),
            Some(ExpressionKind::Bool(value)) => Ok(*value),
            Some(ExpressionKind::Integer(value)) if *value < 2 => Ok(*value == 1),
            Some(_) => Err(self.wrong(name, "must be `True` or `False`")),
        }
    }

    /// A property that is a name.
    pub(crate) fn word(self, name: &str) -> Result<&'n str, ExpandErrorKind> {
        match self.get(name).map(|value| &value.kind) {
            Some(ExpressionKind::Name(word)) => Ok(word),
            Some(_) | None => Err(self.wrong(name, "must be a word")),
        }
    }

    /// A list of numbers; `None` if there is no entry.
    pub(crate) fn list(self, name: &str) -> Result<Option<Vec<usize>>, ExpandErrorKind> {
        let mut list = Vec::new();
        while let Some(value) = self.get(&format!("{name}_{}", list.len())) {
            match value.kind {
                ExpressionKind::Integer(entry) => list.push(usize::try_from(entry).unwrap_or(usize::MAX)),
                _ => return Err(self.wrong(name, "must be a list of axes, which are counted from 0")),
            }
        }
        Ok((!list.is_empty()).then_some(list))
    }

    /// A number that may depend on symbols.
    pub(crate) fn factor(self, name: &str, default: i64) -> Factor {
        Factor::of(self.get(name).cloned().unwrap_or_else(|| Expression::integer(default)))
    }

    /// A dimension of so many, counted from 1, and the first one unless it is given; counted from 0.
    pub(crate) fn dimension(self, name: &str, rank: usize) -> Result<usize, ExpandErrorKind> {
        match self.factor(name, 1).value(ScalarType::I64) {
            Ok(Value::I64(dimension)) if (1..=rank as i64).contains(&dimension) => Ok(dimension as usize - 1),
            Ok(_) | Err(_) => Err(self.wrong(name, &format!("must be one of the dimensions 1 to {rank}"))),
        }
    }

    /// A dimension of so many, counted from 0, or from -1 for the last one to the first; `None` unless it is given.
    pub(crate) fn axis(self, name: &str, rank: usize) -> Result<Option<usize>, ExpandErrorKind> {
        if self.get(name).is_none() {
            return Ok(None);
        }
        let rank = rank as i64;
        match self.factor(name, 0).value(ScalarType::I64) {
            Ok(Value::I64(axis)) if (-rank..rank).contains(&axis) => Ok(Some(axis.rem_euclid(rank) as usize)),
            Ok(_) | Err(_) => Err(self.wrong(name, &format!("must be one of the axes 0 to {}", rank - 1))),
        }
    }

    /// The error that a property is not as it must be.
    pub(crate) fn wrong(self, name: &str, must: &str) -> ExpandErrorKind {
        let found = self.get(name).map_or_else(|| "missing".to_owned(), |value| format!("`{value}`"));
        ExpandErrorKind::Property { property: name.to_owned(), found, must: must.to_owned() }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl Factor {
    pub(crate) fn of(expression: Expression) -> Self {
        let value = constant(&expression);
        Factor { expression, value }
    }

    pub(crate) fn is_one(&self) -> bool {
        self.value.is_some_and(|value| arith::cast(value, ScalarType::Complex128) == ONE)
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.value.is_some_and(|value| !arith::is_true(value))
    }

    /// The value in a type, as the interpreter needs it.
    pub(crate) fn value(&self, ty: ScalarType) -> Result<Value, ExpandErrorKind> {
        let value = self.value.ok_or_else(|| self.wrong("has no value here"))?;
        let cast = arith::cast(value, ty);
        let back = |value| arith::cast(value, ScalarType::Complex128);
        if (ty.is_integer() || !ty.is_complex() && value.ty().is_complex()) && back(cast) != back(value) {
            return Err(self.wrong(&format!("is no value of type {ty}, in which the result is")));
        }
        Ok(cast)
    }

    /// The value in a type, as code of a tasklet.
    pub(crate) fn code(&self, ty: ScalarType) -> Result<String, ExpandErrorKind> {
        if self.value.is_some() {
            self.value(ty)?;
        }
        Ok(format!("{ty}({})", self.expression))
    }

    /// The factor as the text of a property.
    pub(crate) fn text(&self) -> String {
        self.expression.to_string()
    }

    fn wrong(&self, what: &str) -> ExpandErrorKind {
        ExpandErrorKind::Factor { factor: self.expression.to_string(), reason: what.to_owned() }
    }
}

const ONE: Value = Value::Complex128(sdfg::value::Complex::new(1.0, 0.0));

/// The value of an expression without symbols.
fn constant(expression: &Expression) -> Option<Value> {
    let typed = typecheck_expression(expression, Dialect::Python, &Environment::new()).ok()?;
    let compiled = CompiledCode::of_expression(&typed);
    let mut frame = compiled.frame();
    // An expression has no loops, whose iterations steps are.
    compiled.run(&mut frame, &mut NoAccess, 0).ok()?;
    frame.result().first().copied()
}
