//! Expressions of the typed tree.

use inkwell::values::IntValue;
use sdfg::dtype::ScalarType;
use sdfg::ir::FloatMode;
use sdfg::tasklet::{ConnectorId, SymbolId, TypedExpression, TypedExpressionKind};

use super::Names;
use crate::llvm::emitter::Emit;
use crate::llvm::function::Function;
use crate::llvm::value::{Lane, Lanes};
use crate::plan::{Binding, Strided};

impl<'ctx> Function<'_, 'ctx> {
    pub(super) fn expression(
        &self,
        names: &Names<'_, 'ctx>,
        expression: &TypedExpression,
    ) -> Emit<Lanes<'ctx>> {
        let ty = expression.ty.lane();
        match &expression.kind {
            TypedExpressionKind::Constant(value) => Ok(Lanes::scalar(ty, self.constant_lane(*value)?)),
            TypedExpressionKind::Local(local) => match names.locals.get(local.index()) {
                Some(slots) => self.load_slots(slots),
                None => Err(self.emitter.defect("an expression has no such local variable")),
            },
            TypedExpressionKind::Symbol(symbol) => self.symbol(names, *symbol),
            TypedExpressionKind::Input(connector) => names.input(self, *connector),
            TypedExpressionKind::Output(connector) => match names.outputs.get(connector.index()) {
                Some(Some(output)) => self.load_slots(&output.value),
                Some(None) | None => Err(self.emitter.defect(names.unbound(*connector))),
            },
            TypedExpressionKind::Load { connector, indices } => self.load_element(names, *connector, indices),
            TypedExpressionKind::Length { connector, indices } => {
                let Some(Binding::Length(queues)) = names.bindings.get(connector.index()) else {
                    return Err(self.emitter.defect(names.unbound(*connector)));
                };
                let indices = self.indices(names, indices)?;
                Ok(Lanes::scalar(ty, Lane::Int(self.length(queues, &indices)?)))
            }
            TypedExpressionKind::Cast(operand) => {
                let value = self.expression(names, operand)?;
                self.lane_by_lane(ty, &value, |lane| self.cast(value.ty, lane, ty))
            }
            TypedExpressionKind::Splat(operand) => {
                let lane = self.only_lane(names, operand)?;
                Ok(Lanes { ty, lanes: vec![lane; usize::from(expression.ty.lanes())] })
            }
            TypedExpressionKind::Lanes(parts) => {
                let lanes = parts.iter().map(|part| self.only_lane(names, part));
                Ok(Lanes { ty, lanes: lanes.collect::<Emit<_>>()? })
            }
            TypedExpressionKind::Lane { operand, lane } => {
                let value = self.expression(names, operand)?;
                match value.lanes.get(usize::from(*lane)) {
                    Some(lane) => Ok(Lanes::scalar(ty, *lane)),
                    None => Err(self.emitter.defect("a vector has no such lane")),
                }
            }
            TypedExpressionKind::Unary { op, operand } => {
                let value = self.expression(names, operand)?;
                self.lane_by_lane(ty, &value, |lane| self.unary(*op, lane))
            }
            TypedExpressionKind::Binary { op, left, right } => {
                let (a, b) = (self.expression(names, left)?, self.expression(names, right)?);
                self.pairwise(ty, &a, &b, |a, b| self.binary(*op, ty, a, b))
            }
            TypedExpressionKind::Power { base, exponent } => {
                let value = self.expression(names, base)?;
                self.lane_by_lane(ty, &value, |lane| self.constant_power(ty, lane, *exponent))
            }
            TypedExpressionKind::Compare { op, left, right } => {
                let (a, b) = (self.expression(names, left)?, self.expression(names, right)?);
                let operands = a.ty;
                self.pairwise(ty, &a, &b, |a, b| Ok(Lane::Int(self.compare_lanes(*op, operands, a, b)?)))
            }
            TypedExpressionKind::And(left, right) => {
                let stop = self.emitter.i1().const_zero();
                self.short_circuit(names, left, right, stop, true)
            }
            TypedExpressionKind::Or(left, right) => {
                let stop = self.emitter.i1().const_int(1, false);
                self.short_circuit(names, left, right, stop, false)
            }
            TypedExpressionKind::Select { condition, then, otherwise } => {
                self.choice(names, condition, then, otherwise)
            }
            TypedExpressionKind::Call { function, arguments } => {
                let arguments =
                    arguments.iter().map(|a| self.expression(names, a)).collect::<Emit<Vec<_>>>()?;
                let operands = arguments.first().map_or(ty, |argument| argument.ty);
                let lanes = (0..usize::from(expression.ty.lanes())).map(|lane| {
                    let arguments = arguments.iter().map(|argument| argument.lanes.get(lane).copied());
                    let arguments: Option<Vec<_>> = arguments.collect();
                    let missing = || self.emitter.defect("arguments of a function have different lanes");
                    self.math(*function, operands, &arguments.ok_or_else(missing)?)
                });
                Ok(Lanes { ty, lanes: lanes.collect::<Emit<_>>()? })
            }
        }
    }

    /// The value of a scalar.
    fn only_lane(&self, names: &Names<'_, 'ctx>, scalar: &TypedExpression) -> Emit<Lane<'ctx>> {
        match self.expression(names, scalar)?.lanes.as_slice() {
            [lane] => Ok(*lane),
            _ => Err(self.emitter.defect("lanes are filled with scalars")),
        }
    }

    fn lane_by_lane(
        &self,
        ty: ScalarType,
        value: &Lanes<'ctx>,
        operation: impl Fn(Lane<'ctx>) -> Emit<Lane<'ctx>>,
    ) -> Emit<Lanes<'ctx>> {
        Ok(Lanes { ty, lanes: value.lanes.iter().map(|lane| operation(*lane)).collect::<Emit<_>>()? })
    }

    fn pairwise(
        &self,
        ty: ScalarType,
        a: &Lanes<'ctx>,
        b: &Lanes<'ctx>,
        operation: impl Fn(Lane<'ctx>, Lane<'ctx>) -> Emit<Lane<'ctx>>,
    ) -> Emit<Lanes<'ctx>> {
        if a.lanes.len() != b.lanes.len() {
            return Err(self.emitter.defect("operands have different lanes"));
        }
        let lanes = a.lanes.iter().zip(&b.lanes).map(|(a, b)| operation(*a, *b));
        Ok(Lanes { ty, lanes: lanes.collect::<Emit<_>>()? })
    }

    /// A symbol: its integer expression, converted to its type.
    fn symbol(&self, names: &Names<'_, 'ctx>, id: SymbolId) -> Emit<Lanes<'ctx>> {
        let missing = || self.emitter.defect("a symbol of the code stands for nothing");
        let expression = names.symbols.get(id.index()).ok_or_else(missing)?;
        let (_, ty) = names.environment.symbol_at(id).ok_or_else(missing)?;
        let value = self.index(expression)?;
        Ok(Lanes::scalar(ty, self.cast(ScalarType::I64, Lane::Int(value), ty)?))
    }

    pub(super) fn indices(
        &self,
        names: &Names<'_, 'ctx>,
        indices: &[TypedExpression],
    ) -> Emit<Vec<IntValue<'ctx>>> {
        indices.iter().map(|index| self.index_of_code(names, index)).collect()
    }

    /// An index. Where a float beyond the integers would be out of bounds anyway, and there are no NaN, its conversion is one
    /// instruction.
    fn index_of_code(&self, names: &Names<'_, 'ctx>, index: &TypedExpression) -> Emit<IntValue<'ctx>> {
        if let TypedExpressionKind::Cast(float) = &index.kind
            && self.emitter.float_mode() == FloatMode::Fast
            && !self.is_checked()
            && float.ty.lane().is_float()
            && let [Lane::Float(value)] = self.expression(names, float)?.lanes.as_slice()
        {
            return Ok(self.builder.build_float_to_signed_int(*value, self.emitter.i64(), "")?);
        }
        self.emitter.scalar_int(&self.expression(names, index)?)
    }

    /// Looks at the indices of an access through a pointer.
    pub(super) fn check_access(
        &self,
        names: &Names<'_, 'ctx>,
        connector: ConnectorId,
        part: &Strided,
        indices: &[IntValue<'ctx>],
    ) -> Emit<()> {
        if let Some(check) = names.check(connector.index()) {
            return self.check_indices(check, indices);
        }
        let name = names.environment.connector_at(connector).map_or("?", |(name, _)| name);
        self.check_extents(name, indices, &part.extents)
    }

    fn load_element(
        &self,
        names: &Names<'_, 'ctx>,
        connector: ConnectorId,
        indices: &[TypedExpression],
    ) -> Emit<Lanes<'ctx>> {
        let part = match names.bindings.get(connector.index()) {
            Some(Binding::View(part) | Binding::ViewMut { to: part, .. }) => part,
            Some(Binding::Load(_) | Binding::Store { .. } | Binding::Push(_) | Binding::Length(_)) | None => {
                return Err(self.emitter.defect(names.unbound(connector)));
            }
        };
        let indices = self.indices(names, indices)?;
        self.check_access(names, connector, part, &indices)?;
        self.read_by(names.memlet(connector.index()), || self.load(&self.strided_place(part, &indices)?))
    }

    /// `and` and `or`: the right operand is evaluated only if the left one does not decide. Without loads nothing can
    /// go wrong in it, and evaluating both leaves no branch in the way of vectorisation.
    fn short_circuit(
        &self,
        names: &Names<'_, 'ctx>,
        left: &TypedExpression,
        right: &TypedExpression,
        stop: IntValue<'ctx>,
        goes_on_if: bool,
    ) -> Emit<Lanes<'ctx>> {
        let a = self.emitter.scalar_int(&self.expression(names, left)?)?;
        let result = |value| Ok(Lanes::scalar(ScalarType::Bool, Lane::Int(value)));
        if !reads_memory(right) {
            let b = self.emitter.scalar_int(&self.expression(names, right)?)?;
            let both = if goes_on_if {
                self.builder.build_and(a, b, "")?
            } else {
                self.builder.build_or(a, b, "")?
            };
            return result(both);
        }
        let (before, more, done) = (self.current()?, self.block("right"), self.block("decided"));
        if goes_on_if {
            self.branch(a, more, done)?
        } else {
            self.branch(a, done, more)?
        };
        self.enter(more);
        let b = self.emitter.scalar_int(&self.expression(names, right)?)?;
        let after = self.current()?;
        self.jump(done)?;
        self.enter(done);
        let phi = self.builder.build_phi(self.emitter.i1(), "")?;
        phi.add_incoming(&[(&stop, before), (&b, after)]);
        result(phi.as_basic_value().into_int_value())
    }

    /// A choice: with a scalar condition only one operand is evaluated, if it matters.
    fn choice(
        &self,
        names: &Names<'_, 'ctx>,
        condition: &TypedExpression,
        then: &TypedExpression,
        otherwise: &TypedExpression,
    ) -> Emit<Lanes<'ctx>> {
        let conditions = self.expression(names, condition)?;
        if let ([Lane::Int(condition)], true) =
            (conditions.lanes.as_slice(), reads_memory(then) || reads_memory(otherwise))
        {
            let slots = self.element_slots(then.ty, "choice")?;
            let (yes, no, done) = (self.block("yes"), self.block("no"), self.block("chosen"));
            self.branch(*condition, yes, no)?;
            for (block, operand) in [(yes, then), (no, otherwise)] {
                self.enter(block);
                let value = self.expression(names, operand)?;
                self.store_slots(&slots, &value)?;
                self.jump(done)?;
            }
            self.enter(done);
            return self.load_slots(&slots);
        }
        let (a, b) = (self.expression(names, then)?, self.expression(names, otherwise)?);
        let condition = |lane: usize| {
            let lane = conditions.lanes.get(lane).or(conditions.lanes.first()).copied();
            self.emitter.as_int(lane.ok_or_else(|| self.emitter.defect("a condition has a lane"))?)
        };
        let lanes = a.lanes.iter().zip(&b.lanes).enumerate();
        let lanes = lanes.map(|(lane, (a, b))| self.select(condition(lane)?, *a, *b));
        Ok(Lanes { ty: a.ty, lanes: lanes.collect::<Emit<_>>()? })
    }
}

/// Whether evaluating the expression reads through a pointer, which may be out of bounds where it is not asked for.
fn reads_memory(expression: &TypedExpression) -> bool {
    let own =
        matches!(expression.kind, TypedExpressionKind::Load { .. } | TypedExpressionKind::Length { .. });
    own || expression.operands().into_iter().any(reads_memory)
}
