//! Typed expressions.

use sdfg::dtype::ScalarType;
use sdfg::ir::FloatMode;
use sdfg::tasklet::{ConnectorId, TypedExpression, TypedExpressionKind};

use super::error::{Print, defect};
use super::function::{Function, Lanes};
use super::tasklet::Names;
use super::text::{Code, Precedence};
use crate::plan::Strided;

impl Function<'_, '_> {
    /// The value of an expression; lines that it needs come first.
    pub(super) fn expression(&mut self, names: &Names<'_>, expression: &TypedExpression) -> Print<Lanes> {
        let ty = expression.ty.lane();
        let program = self.program;
        match &expression.kind {
            TypedExpressionKind::Constant(value) => Ok(Lanes::scalar(ty, program.constant(*value))),
            TypedExpressionKind::Local(local) => names.local(*local),
            TypedExpressionKind::Symbol(symbol) => {
                let (value, ty) = names.symbol(*symbol)?;
                let value = self.index(value)?;
                Ok(Lanes::scalar(ty, program.cast(ScalarType::I64, &value, ty)?))
            }
            TypedExpressionKind::Input(connector) => names.input(*connector),
            TypedExpressionKind::Output(connector) => names.output(*connector),
            TypedExpressionKind::Load { connector, indices } => {
                let indices = self.code_indices(names, indices)?;
                let part = names.part(*connector)?;
                self.check_access(names, *connector, part, &indices)?;
                let place = self.strided_place(part, &indices)?;
                self.read_by(names.memlet(connector.index()), |f| f.load(&place))
            }
            TypedExpressionKind::Length { connector, indices } => {
                let indices = self.code_indices(names, indices)?;
                Ok(Lanes::scalar(ty, self.length_of(names, *connector, &indices)?))
            }
            TypedExpressionKind::Cast(operand) => {
                let value = self.expression(names, operand)?;
                lane_by_lane(ty, &value, |lane| program.cast(value.ty, lane, ty))
            }
            TypedExpressionKind::Splat(operand) => {
                let value = self.expression(names, operand)?;
                let lane = self.named(value.ty, value.only()?.clone());
                Ok(Lanes { ty, lanes: vec![lane; usize::from(expression.ty.lanes())] })
            }
            TypedExpressionKind::Lanes(parts) => {
                let lanes = parts.iter().map(|part| Ok(self.expression(names, part)?.only()?.clone()));
                Ok(Lanes { ty, lanes: lanes.collect::<Print<_>>()? })
            }
            TypedExpressionKind::Lane { operand, lane } => {
                let value = self.expression(names, operand)?;
                let lane = value.lanes.get(usize::from(*lane)).cloned();
                Ok(Lanes::scalar(ty, lane.ok_or_else(|| defect("a vector has no such lane"))?))
            }
            TypedExpressionKind::Unary { op, operand } => {
                let value = self.expression(names, operand)?;
                lane_by_lane(ty, &value, |lane| program.unary(*op, ty, lane))
            }
            TypedExpressionKind::Binary { op, left, right } => {
                let (a, b) = (self.expression(names, left)?, self.expression(names, right)?);
                pairwise(ty, &a, &b, |a, b| program.binary(*op, ty, a, b))
            }
            TypedExpressionKind::Power { base, exponent } => {
                let value = self.expression(names, base)?;
                lane_by_lane(ty, &value, |lane| program.constant_power(ty, lane, *exponent))
            }
            TypedExpressionKind::Compare { op, left, right } => {
                let (a, b) = (self.expression(names, left)?, self.expression(names, right)?);
                let operands = a.ty;
                pairwise(ty, &a, &b, |a, b| Ok(program.compare(*op, operands, a, b)))
            }
            TypedExpressionKind::And(left, right) => self.short_circuit(names, left, right, true),
            TypedExpressionKind::Or(left, right) => self.short_circuit(names, left, right, false),
            TypedExpressionKind::Select { condition, then, otherwise } => {
                self.choice(names, condition, then, otherwise)
            }
            TypedExpressionKind::Call { function, arguments } => {
                let arguments =
                    arguments.iter().map(|a| self.expression(names, a)).collect::<Print<Vec<_>>>()?;
                let operands = arguments.first().map_or(ty, |argument| argument.ty);
                let lanes = (0..usize::from(expression.ty.lanes())).map(|lane| {
                    let of_lane = arguments.iter().map(|argument| argument.lanes.get(lane).cloned());
                    let of_lane: Option<Vec<Code>> = of_lane.collect();
                    let missing = || defect("arguments of a function have different lanes");
                    program.math(*function, operands, &of_lane.ok_or_else(missing)?)
                });
                Ok(Lanes { ty, lanes: lanes.collect::<Print<_>>()? })
            }
        }
    }

    /// Looks at the indices of an access through a pointer.
    pub(super) fn check_access(
        &mut self,
        names: &Names<'_>,
        connector: ConnectorId,
        part: &Strided,
        indices: &[Code],
    ) -> Print<()> {
        if !self.is_checked() {
            return Ok(());
        }
        if let Some(check) = names.check(connector.index()) {
            return self.check_indices(check, indices);
        }
        let name = names.name_of(connector);
        self.check_extents(name, indices, &part.extents)
    }

    /// Indices of an element. Where a float beyond the integers would be out of bounds anyway, and there are no NaN, it is converted as
    /// C does.
    pub(super) fn code_indices(
        &mut self,
        names: &Names<'_>,
        indices: &[TypedExpression],
    ) -> Print<Vec<Code>> {
        let mut codes = Vec::with_capacity(indices.len());
        for index in indices {
            let is_fast = self.program.floats == FloatMode::Fast;
            codes.push(match &index.kind {
                TypedExpressionKind::Cast(float)
                    if is_fast
                        && !self.is_checked()
                        && matches!(float.ty.as_scalar(), Some(ScalarType::F32 | ScalarType::F64)) =>
                {
                    Code::cast("int64_t", self.expression(names, float)?.only()?)
                }
                _ => self.expression(names, index)?.only()?.clone(),
            });
        }
        Ok(codes)
    }

    /// `and` and `or`: the right operand is evaluated only if the left one does not decide.
    fn short_circuit(
        &mut self,
        names: &Names<'_>,
        left: &TypedExpression,
        right: &TypedExpression,
        is_and: bool,
    ) -> Print<Lanes> {
        let a = self.expression(names, left)?.only()?.clone();
        let (b, before) = self.apart(1, |f| Ok(f.expression(names, right)?.only()?.clone()))?;
        if before.is_empty() {
            let (op, precedence) = if is_and { ("&&", Precedence::And) } else { ("||", Precedence::Or) };
            return Ok(Lanes::scalar(ScalarType::Bool, Code::infix(op, precedence, &a, &b)));
        }
        let name = self.temporary();
        self.line(format!("bool {name} = {};", a.text));
        let sign = if is_and { "" } else { "!" };
        self.block(format!("if ({sign}{name})"), |f| {
            f.lines.append(&before);
            f.line(format!("{name} = {};", b.text));
            Ok(())
        })?;
        Ok(Lanes::scalar(ScalarType::Bool, Code::atom(name)))
    }

    /// A choice: with a scalar condition only one operand is evaluated.
    fn choice(
        &mut self,
        names: &Names<'_>,
        condition: &TypedExpression,
        then: &TypedExpression,
        otherwise: &TypedExpression,
    ) -> Print<Lanes> {
        let conditions = self.expression(names, condition)?;
        let (a, before_a) = self.apart(1, |f| f.expression(names, then))?;
        let (b, before_b) = self.apart(1, |f| f.expression(names, otherwise))?;
        let ty = a.ty;
        if before_a.is_empty() && before_b.is_empty() {
            let conditions = match conditions.lanes.as_slice() {
                [one] if a.lanes.len() > 1 => vec![self.named(ScalarType::Bool, one.clone()); a.lanes.len()],
                lanes => lanes.to_vec(),
            };
            let lanes = conditions.iter().zip(a.lanes.iter().zip(&b.lanes));
            let lanes = lanes.map(|(condition, (a, b))| self.program.choice(ty, condition, a, b)).collect();
            return Ok(Lanes { ty, lanes });
        }
        if conditions.lanes.len() > 1 {
            // Both operands are evaluated.
            self.lines.append(&before_a);
            self.lines.append(&before_b);
            let lanes = conditions.lanes.iter().zip(a.lanes.iter().zip(&b.lanes));
            let lanes = lanes.map(|(condition, (a, b))| self.program.choice(ty, condition, a, b)).collect();
            return Ok(Lanes { ty, lanes });
        }
        let chosen: Vec<String> = a.lanes.iter().map(|_| self.temporary()).collect();
        let c_type = self.program.scalar_type(ty);
        self.line(format!("{c_type} {};", chosen.join(", ")));
        let condition = conditions.only()?.text.clone();
        for (heading, before, value) in
            [(format!("if ({condition})"), before_a, a), ("else".to_owned(), before_b, b)]
        {
            self.block(heading, |f| {
                f.lines.append(&before);
                for (name, code) in chosen.iter().zip(&value.lanes) {
                    f.line(format!("{name} = {};", code.text));
                }
                Ok(())
            })?;
        }
        Ok(Lanes { ty, lanes: chosen.into_iter().map(Code::atom).collect() })
    }
}

fn lane_by_lane(ty: ScalarType, value: &Lanes, operation: impl Fn(&Code) -> Print<Code>) -> Print<Lanes> {
    Ok(Lanes { ty, lanes: value.lanes.iter().map(operation).collect::<Print<_>>()? })
}

fn pairwise(
    ty: ScalarType,
    a: &Lanes,
    b: &Lanes,
    operation: impl Fn(&Code, &Code) -> Print<Code>,
) -> Print<Lanes> {
    if a.lanes.len() != b.lanes.len() {
        return Err(defect("operands have different lanes"));
    }
    let lanes = a.lanes.iter().zip(&b.lanes).map(|(a, b)| operation(a, b));
    Ok(Lanes { ty, lanes: lanes.collect::<Print<_>>()? })
}
