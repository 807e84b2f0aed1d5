//! Tasklets on lanes: the typed tree, with a mask of active lanes.
//!
//! If lanes take different branches of an `if`, both blocks run, each with the mask of its lanes. Arithmetic
//! runs in all lanes, because no operand traps. Memory is accessed only for active lanes.

use inkwell::values::{BasicValueEnum, IntValue, PointerValue, VectorValue};
use sdfg::dtype::{ElementType, ScalarType};
use sdfg::symbolic::Expr;
use sdfg::tasklet::{
    BinaryOperation, ConnectorId, SymbolId, TypedExpression, TypedExpressionKind, TypedStatement,
};

use super::Lanes;
use super::widen::Wide;
use crate::llvm::emitter::{Emit, components};
use crate::llvm::function::{Function, Slots};
use crate::llvm::value::{Lane, Lanes as Element};
use crate::plan::{Assignment, Binding, Compute, LaneAccess, Location, Stride, Strided, VectorCompute};

/// Stack slots of an element in all lanes, one for each component.
#[derive(Clone, Debug)]
pub(super) struct WideSlots<'ctx> {
    ty: ScalarType,
    parts: Vec<PointerValue<'ctx>>,
}

/// Bindings of the names of a tasklet.
struct Names<'a, 'ctx> {
    compute: &'a Compute,
    accesses: &'a [LaneAccess],
    /// Value inputs, loaded before the code runs.
    inputs: Vec<Option<Wide<'ctx>>>,
    /// Value outputs with the lanes that assigned them.
    outputs: Vec<Option<(WideSlots<'ctx>, PointerValue<'ctx>)>>,
    locals: Vec<Local<'ctx>>,
}

/// A local variable.
enum Local<'ctx> {
    /// One of each lane.
    Own(WideSlots<'ctx>),
    /// The variable of a loop, which all lanes count together.
    Counter(Slots<'ctx>),
}

/// The lanes that take part; without, all do.
type Mask<'ctx> = Option<VectorValue<'ctx>>;

impl<'ctx> Function<'_, 'ctx> {
    /// Slots for an element in all lanes.
    pub(super) fn wide_slots(&self, element: ElementType, name: &str, width: u32) -> Emit<WideSlots<'ctx>> {
        let ty = element.lane();
        let vector = self.vector_type(ty, width)?;
        let parts = (0..components(element)).map(|_| self.slot(vector, name));
        Ok(WideSlots { ty, parts: parts.collect::<Emit<_>>()? })
    }

    pub(super) fn load_wide(&self, slots: &WideSlots<'ctx>, width: u32) -> Emit<Wide<'ctx>> {
        let ty = self.vector_type(slots.ty, width)?;
        let parts = slots.parts.iter().map(|slot| Ok(self.builder.build_load(ty, *slot, "")?));
        Ok(Wide { ty: slots.ty, parts: parts.collect::<Emit<_>>()? })
    }

    pub(super) fn store_wide(&self, slots: &WideSlots<'ctx>, value: &Wide<'ctx>, width: u32) -> Emit<()> {
        if value.ty != slots.ty || value.parts.len() != slots.parts.len() {
            return Err(self.emitter.defect("a value does not have the type of its variable"));
        }
        for (slot, part) in slots.parts.iter().zip(&value.parts) {
            self.builder.build_store(*slot, self.splat(*part, width)?)?;
        }
        Ok(())
    }
}

impl<'ctx> Lanes<'_, '_, 'ctx> {
    /// A tasklet in all lanes: loads, code, stores.
    pub(super) fn compute(&self, lanes: &VectorCompute) -> Emit<()> {
        let compute = &lanes.compute;
        let function = self.function;
        let connectors = compute.code.environment.connectors();
        let mut names = Names {
            compute,
            accesses: &lanes.accesses,
            inputs: Vec::new(),
            outputs: Vec::new(),
            locals: Vec::new(),
        };
        for (binding, way) in compute.bindings.iter().zip(&lanes.accesses) {
            names.inputs.push(match binding {
                Binding::Load(location) => Some(self.load_location(location, way)?),
                Binding::Store { .. }
                | Binding::View(_)
                | Binding::ViewMut { .. }
                | Binding::Push(_)
                | Binding::Length(_) => None,
            });
        }
        for (number, local) in compute.code.locals.iter().enumerate() {
            names.locals.push(if counts(&compute.code.body, number) {
                Local::Counter(function.element_slots(local.ty, &local.name)?)
            } else {
                Local::Own(self.zeroed(local.ty, &local.name)?)
            });
        }
        for ((name, connector), binding) in connectors.zip(&compute.bindings) {
            names.outputs.push(match binding {
                Binding::Store { .. } => {
                    let assigned =
                        function.slot(function.vector_type(ScalarType::Bool, self.width())?, name)?;
                    let none = function.vector_type(ScalarType::Bool, self.width())?.const_zero();
                    function.builder.build_store(assigned, none)?;
                    Some((self.zeroed(connector.element, name)?, assigned))
                }
                Binding::Load(_)
                | Binding::View(_)
                | Binding::ViewMut { .. }
                | Binding::Push(_)
                | Binding::Length(_) => None,
            });
        }
        self.statements_of_code(&names, &compute.code.body, self.active)?;
        for (number, binding) in compute.bindings.iter().enumerate() {
            if let Binding::Store { to, write } = binding
                && let Some(Some((slots, assigned))) = names.outputs.get(number)
                && let Some(way) = lanes.accesses.get(number)
            {
                let mask = match Assignment::of(&compute.code.body, number) {
                    Assignment::Never => continue,
                    Assignment::Always => self.active,
                    Assignment::Sometimes => Some(self.load_mask(*assigned)?),
                };
                let value = function.load_wide(slots, self.width())?;
                match way {
                    LaneAccess::Fold(position) => self.fold(*position, &value, mask)?,
                    LaneAccess::InOrder => self.write_in_order(to, &value, write, mask)?,
                    LaneAccess::Uniform
                    | LaneAccess::Contiguous
                    | LaneAccess::Reversed
                    | LaneAccess::Strided(_)
                    | LaneAccess::Indexed
                    | LaneAccess::Own
                    | LaneAccess::OwnIndexed => {
                        let places = self.places(to.buffer, way, self.offset(to, way)?)?;
                        self.write(&places, &value, write, mask)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn width(&self) -> u32 {
        self.vector.width
    }

    fn load_mask(&self, slot: PointerValue<'ctx>) -> Emit<VectorValue<'ctx>> {
        let ty = self.function.vector_type(ScalarType::Bool, self.width())?;
        Ok(self.function.builder.build_load(ty, slot, "")?.into_vector_value())
    }

    /// Slots of a variable. They are zero at first: lanes that do not take part compute with what is there, and a division by an undefined
    /// number has no meaning.
    fn zeroed(&self, element: ElementType, name: &str) -> Emit<WideSlots<'ctx>> {
        let slots = self.function.wide_slots(element, name, self.width())?;
        let zero = self.function.vector_type(element.lane(), self.width())?.const_zero();
        for slot in &slots.parts {
            self.function.builder.build_store(*slot, zero)?;
        }
        Ok(slots)
    }

    /// The offset of a location, in each lane if the way asks for that.
    fn offset(&self, location: &Location, way: &LaneAccess) -> Emit<BasicValueEnum<'ctx>> {
        match way {
            LaneAccess::Indexed | LaneAccess::OwnIndexed => self.index(&location.offset),
            LaneAccess::Uniform
            | LaneAccess::Contiguous
            | LaneAccess::Reversed
            | LaneAccess::Strided(_)
            | LaneAccess::Own
            | LaneAccess::InOrder
            | LaneAccess::Fold(_) => Ok(self.function.plain_index(&location.offset)?.into()),
        }
    }

    fn load_location(&self, location: &Location, way: &LaneAccess) -> Emit<Wide<'ctx>> {
        self.load(&self.places(location.buffer, way, self.offset(location, way)?)?, self.active)
    }

    // Statements.

    fn statements_of_code(
        &self,
        names: &Names<'_, 'ctx>,
        body: &[TypedStatement],
        mask: Mask<'ctx>,
    ) -> Emit<()> {
        body.iter().try_for_each(|statement| self.statement_of_code(names, statement, mask))
    }

    fn statement_of_code(
        &self,
        names: &Names<'_, 'ctx>,
        statement: &TypedStatement,
        mask: Mask<'ctx>,
    ) -> Emit<()> {
        let function = self.function;
        match statement {
            TypedStatement::Local { local, value } => {
                let value = self.expression(names, value, mask)?;
                let Some(Local::Own(slots)) = names.locals.get(local.index()) else {
                    return Err(self.unbound("a local variable"));
                };
                self.assign(slots, &value, mask)
            }
            TypedStatement::Output { connector, value } => {
                let value = self.expression(names, value, mask)?;
                let Some(Some((slots, assigned))) = names.outputs.get(connector.index()) else {
                    return Err(self.unbound("an output"));
                };
                let lanes = match mask {
                    None => self.all()?,
                    Some(mask) => function.builder.build_or(self.load_mask(*assigned)?, mask, "")?,
                };
                function.builder.build_store(*assigned, lanes)?;
                self.assign(slots, &value, mask)
            }
            TypedStatement::Store { connector, indices, value } => {
                let Some(Binding::ViewMut { to, write }) = names.compute.bindings.get(connector.index())
                else {
                    return Err(self.unbound("a pointer"));
                };
                let position = self.position(names, to, indices, mask)?;
                let value = self.expression(names, value, mask)?;
                let way = names.accesses.get(connector.index()).unwrap_or(&LaneAccess::InOrder);
                if *way == LaneAccess::InOrder {
                    return self.write_at_in_order(to.origin.buffer, position, &value, write, mask);
                }
                self.write(&self.places(to.origin.buffer, way, position)?, &value, write, mask)
            }
            TypedStatement::If { condition, then, otherwise } => {
                let condition = self.expression(names, condition, mask)?;
                match condition.parts.as_slice() {
                    // All lanes go one way.
                    [BasicValueEnum::IntValue(condition)] => {
                        let (yes, no, done) =
                            (function.block("then"), function.block("else"), function.block("done"));
                        function.branch(*condition, yes, no)?;
                        for (block, body) in [(yes, then), (no, otherwise)] {
                            function.enter(block);
                            self.statements_of_code(names, body, mask)?;
                            function.jump(done)?;
                        }
                        function.enter(done);
                        Ok(())
                    }
                    [BasicValueEnum::VectorValue(condition)] => {
                        self.statements_of_code(names, then, Some(self.both(mask, *condition)?))?;
                        if otherwise.is_empty() {
                            return Ok(());
                        }
                        let others = function.builder.build_not(*condition, "")?;
                        self.statements_of_code(names, otherwise, Some(self.both(mask, others)?))
                    }
                    _ => Err(self.unbound("a condition")),
                }
            }
            TypedStatement::For { local, begin, end, step, body } => {
                let Some(Local::Counter(counter)) = names.locals.get(local.index()) else {
                    return Err(self.unbound("a loop variable"));
                };
                let bound = |expression| match self.expression(names, expression, None)?.parts.as_slice() {
                    [BasicValueEnum::IntValue(bound)] => Ok(*bound),
                    _ => Err(function.emitter.defect("lanes have loops of their own")),
                };
                let (begin, end, step) = (bound(begin)?, bound(end)?, bound(step)?);
                let body = || self.statements_of_code(names, body, mask);
                function.counted_loop_of_code(counter, begin, end, step, body)
            }
            TypedStatement::Push { .. } | TypedStatement::While { .. } => {
                Err(function.emitter.defect("lanes have no loops of their own and no streams"))
            }
        }
    }

    fn unbound(&self, what: &str) -> crate::llvm::LlvmError {
        self.function.emitter.defect(format!("{what} of a tasklet on lanes stands for nothing"))
    }

    fn both(&self, mask: Mask<'ctx>, condition: VectorValue<'ctx>) -> Emit<VectorValue<'ctx>> {
        match mask {
            None => Ok(condition),
            Some(mask) => Ok(self.function.builder.build_and(mask, condition, "")?),
        }
    }

    /// Sets a variable in the lanes that take part.
    fn assign(&self, slots: &WideSlots<'ctx>, value: &Wide<'ctx>, mask: Mask<'ctx>) -> Emit<()> {
        // Nothing reads the lanes that have no iteration.
        if mask.is_none() || mask == self.active {
            return self.function.store_wide(slots, value, self.width());
        }
        let old = self.function.load_wide(slots, self.width())?;
        self.function.store_wide(slots, &self.chosen(mask, value, &old)?, self.width())
    }

    /// One element in the lanes that take part, the other one in the rest of them.
    pub(super) fn chosen(&self, mask: Mask<'ctx>, yes: &Wide<'ctx>, no: &Wide<'ctx>) -> Emit<Wide<'ctx>> {
        let Some(mask) = mask else { return Ok(yes.clone()) };
        let (a, b) = (self.spread(yes)?, self.spread(no)?);
        let parts =
            a.into_iter().zip(b).map(|(a, b)| Ok(self.function.builder.build_select(mask, a, b, "")?));
        Ok(Wide { ty: yes.ty, parts: parts.collect::<Emit<_>>()? })
    }

    /// The position in its buffer of an element that code chooses by indices.
    fn position(
        &self,
        names: &Names<'_, 'ctx>,
        part: &Strided,
        indices: &[TypedExpression],
        mask: Mask<'ctx>,
    ) -> Emit<BasicValueEnum<'ctx>> {
        let function = self.function;
        let mut arguments = vec![self.index(&part.origin.offset)?];
        for (index, stride) in indices.iter().zip(&part.strides) {
            let index = self.expression(names, index, mask)?;
            arguments.extend(index.parts);
            // Strides may differ from lane to lane, too.
            for expression in stride.expressions() {
                arguments.push(self.index(expression)?);
            }
        }
        let position = function.widened(&arguments, &[], |scalars| {
            let mut scalars = scalars.iter().map(|scalar| scalar.into_int_value());
            let mut next = || scalars.next().ok_or_else(|| self.unbound("an index"));
            let mut position = next()?;
            for stride in &part.strides {
                let index = next()?;
                let distance = match stride {
                    Stride::Even(_) => function.multiply(index, next()?)?,
                    Stride::Tiled(_) => {
                        let (length, between, within) = (next()?, next()?, next()?);
                        self.tiled(index, length, between, within)?
                    }
                };
                position = function.add(position, distance)?;
            }
            Ok(vec![position.into()])
        })?;
        position.first().copied().ok_or_else(|| self.unbound("a position"))
    }

    fn tiled(
        &self,
        index: IntValue<'ctx>,
        length: IntValue<'ctx>,
        between: IntValue<'ctx>,
        within: IntValue<'ctx>,
    ) -> Emit<IntValue<'ctx>> {
        let function = self.function;
        // Indices are not negative. Lanes that do not take part have any index, and any length but none.
        let zero = function.emitter.constant(0);
        let none = function.compare(inkwell::IntPredicate::EQ, length, zero)?;
        let length = function.select_int(none, function.emitter.constant(1), length)?;
        let position = function.builder.build_int_unsigned_div(index, length, "")?;
        let rest = function.builder.build_int_unsigned_rem(index, length, "")?;
        function.add(function.multiply(position, between)?, function.multiply(rest, within)?)
    }

    // Expressions.

    fn expression(
        &self,
        names: &Names<'_, 'ctx>,
        expression: &TypedExpression,
        mask: Mask<'ctx>,
    ) -> Emit<Wide<'ctx>> {
        let function = self.function;
        let ty = expression.ty.lane();
        let value = |operand: &TypedExpression| self.expression(names, operand, mask);
        match &expression.kind {
            TypedExpressionKind::Constant(value) => {
                Ok(Wide::uniform(&Element::scalar(ty, function.constant_lane(*value)?)))
            }
            TypedExpressionKind::Local(local) => match names.locals.get(local.index()) {
                Some(Local::Own(slots)) => function.load_wide(slots, self.width()),
                Some(Local::Counter(counter)) => Ok(Wide::uniform(&function.load_slots(counter)?)),
                None => Err(self.unbound("a local variable")),
            },
            TypedExpressionKind::Symbol(symbol) => self.symbol(names, *symbol),
            TypedExpressionKind::Input(connector) => {
                let input = names.inputs.get(connector.index()).cloned().flatten();
                input.ok_or_else(|| self.unbound("an input"))
            }
            TypedExpressionKind::Output(connector) => match names.outputs.get(connector.index()) {
                Some(Some((slots, _))) => function.load_wide(slots, self.width()),
                Some(None) | None => Err(self.unbound("an output")),
            },
            TypedExpressionKind::Load { connector, indices } => {
                self.load_element(names, *connector, indices, mask)
            }
            TypedExpressionKind::Length { .. } => Err(self.unbound("the length of a queue")),
            TypedExpressionKind::Cast(operand) => {
                self.each_lane(ty, &[&value(operand)?], |from, lanes| function.cast(from, lanes[0], ty))
            }
            TypedExpressionKind::Splat(operand) => {
                let one = value(operand)?;
                let n = usize::from(expression.ty.lanes());
                Ok(Wide { ty, parts: one.parts.repeat(n) })
            }
            TypedExpressionKind::Lanes(parts) => {
                let parts = parts.iter().map(value).collect::<Emit<Vec<_>>>()?;
                Ok(Wide { ty, parts: parts.into_iter().flat_map(|part| part.parts).collect() })
            }
            TypedExpressionKind::Lane { operand, lane } => {
                let element = value(operand)?.of_lane(usize::from(*lane));
                element.ok_or_else(|| self.unbound("a lane"))
            }
            TypedExpressionKind::Unary { op, operand } => {
                self.each_lane(ty, &[&value(operand)?], |_, lanes| function.unary(*op, lanes[0]))
            }
            TypedExpressionKind::Binary { op, left, right } => {
                let operands = [&value(left)?, &value(right)?];
                self.each_lane(ty, &operands, |_, lanes| function.binary(*op, ty, lanes[0], lanes[1]))
            }
            TypedExpressionKind::Power { base, exponent } => {
                self.each_lane(ty, &[&value(base)?], |_, lanes| {
                    function.constant_power(ty, lanes[0], *exponent)
                })
            }
            TypedExpressionKind::Compare { op, left, right } => {
                self.each_lane(ty, &[&value(left)?, &value(right)?], |operands, lanes| {
                    Ok(Lane::Int(function.compare_lanes(*op, operands, lanes[0], lanes[1])?))
                })
            }
            TypedExpressionKind::And(left, right) => self.decision(names, left, right, mask, true),
            TypedExpressionKind::Or(left, right) => self.decision(names, left, right, mask, false),
            TypedExpressionKind::Select { condition, then, otherwise } => {
                self.choice(names, condition, then, otherwise, mask)
            }
            TypedExpressionKind::Call { function: called, arguments } => {
                let arguments = arguments.iter().map(value).collect::<Emit<Vec<_>>>()?;
                let arguments: Vec<&Wide<'ctx>> = arguments.iter().collect();
                self.each_lane(ty, &arguments, |operands, lanes| function.math(*called, operands, lanes))
            }
        }
    }

    /// An operation on each lane of elements, whose operands have the type of the first.
    fn each_lane(
        &self,
        ty: ScalarType,
        operands: &[&Wide<'ctx>],
        operation: impl Fn(ScalarType, &[Lane<'ctx>]) -> Emit<Lane<'ctx>>,
    ) -> Emit<Wide<'ctx>> {
        self.function.operate(operands, |elements| {
            let first = elements.first().ok_or_else(|| self.unbound("an operand"))?;
            let lane = |n: usize| {
                let lanes: Option<Vec<Lane<'ctx>>> =
                    elements.iter().map(|element| element.lanes.get(n).copied()).collect();
                operation(first.ty, &lanes.ok_or_else(|| self.unbound("a lane"))?)
            };
            Ok(Element { ty, lanes: (0..first.lanes.len()).map(lane).collect::<Emit<_>>()? })
        })
    }

    /// A symbol: its integer expression, converted to its type.
    fn symbol(&self, names: &Names<'_, 'ctx>, id: SymbolId) -> Emit<Wide<'ctx>> {
        let expression = names.compute.symbols.get(id.index()).ok_or_else(|| self.unbound("a symbol"))?;
        let environment = &names.compute.code.environment;
        let (_, ty) = environment.symbol_at(id).ok_or_else(|| self.unbound("a symbol"))?;
        let value = Wide { ty: ScalarType::I64, parts: vec![self.index(expression)?] };
        self.each_lane(ty, &[&value], |from, lanes| self.function.cast(from, lanes[0], ty))
    }

    fn load_element(
        &self,
        names: &Names<'_, 'ctx>,
        connector: ConnectorId,
        indices: &[TypedExpression],
        mask: Mask<'ctx>,
    ) -> Emit<Wide<'ctx>> {
        let part = match names.compute.bindings.get(connector.index()) {
            Some(Binding::View(part) | Binding::ViewMut { to: part, .. }) => part,
            Some(Binding::Load(_) | Binding::Store { .. } | Binding::Push(_) | Binding::Length(_)) | None => {
                return Err(self.unbound("a pointer"));
            }
        };
        let mut position = self.position(names, part, indices, mask)?;
        let way = match names.accesses.get(connector.index()) {
            Some(LaneAccess::OwnIndexed) => &LaneAccess::OwnIndexed,
            Some(
                LaneAccess::Uniform
                | LaneAccess::Contiguous
                | LaneAccess::Reversed
                | LaneAccess::Strided(_)
                | LaneAccess::Indexed
                | LaneAccess::Own
                | LaneAccess::InOrder
                | LaneAccess::Fold(_),
            )
            | None => {
                if mask.is_none() && !position.is_vector_value() {
                    &LaneAccess::Uniform
                } else if self.slope_of(names, part, indices) == Some(1) {
                    position = self.function.lane(position, 0)?;
                    &LaneAccess::Contiguous
                } else {
                    &LaneAccess::Indexed
                }
            }
        };
        self.load(&self.places(part.origin.buffer, way, position)?, mask)
    }

    /// The distance between the elements of neighbouring lanes that code chooses by indices, if it is the same everywhere.
    fn slope_of(&self, names: &Names<'_, 'ctx>, part: &Strided, indices: &[TypedExpression]) -> Option<i64> {
        let mut slope = self.slope_of_expression(&part.origin.offset)?;
        for (index, stride) in indices.iter().zip(&part.strides) {
            let index = self.slope(names, index)?;
            slope = match stride {
                _ if index == 0 && stride.expressions().into_iter().all(|each| !self.moves(each)) => slope,
                Stride::Even(stride) => index.checked_mul(stride.as_int()?)?.checked_add(slope)?,
                Stride::Tiled(_) => return None,
            };
        }
        Some(slope)
    }

    /// The difference between an integer's values in neighbouring lanes, if it is the same everywhere.
    fn slope(&self, names: &Names<'_, 'ctx>, expression: &TypedExpression) -> Option<i64> {
        let slope = |operand: &TypedExpression| self.slope(names, operand);
        match &expression.kind {
            _ if expression.ty != ElementType::scalar(ScalarType::I64) => None,
            TypedExpressionKind::Constant(_) => Some(0),
            TypedExpressionKind::Symbol(symbol) => {
                self.slope_of_expression(names.compute.symbols.get(symbol.index())?)
            }
            TypedExpressionKind::Local(local) => {
                matches!(names.locals.get(local.index()), Some(Local::Counter(_))).then_some(0)
            }
            TypedExpressionKind::Cast(operand) => slope(operand),
            TypedExpressionKind::Binary { op: BinaryOperation::Add, left, right } => {
                slope(left)?.checked_add(slope(right)?)
            }
            TypedExpressionKind::Binary { op: BinaryOperation::Subtract, left, right } => {
                slope(left)?.checked_sub(slope(right)?)
            }
            TypedExpressionKind::Binary { left, right, .. } => {
                (slope(left)? == 0 && slope(right)? == 0).then_some(0)
            }
            _ => None,
        }
    }

    fn slope_of_expression(&self, expression: &Expr) -> Option<i64> {
        if !self.moves(expression) {
            return Some(0);
        }
        let (factor, _) = expression.linear_in(self.variable)?;
        factor.as_int()?.checked_mul(self.step?)
    }

    /// `and` and `or`: the right operand is only evaluated in lanes that the left one does not decide.
    fn decision(
        &self,
        names: &Names<'_, 'ctx>,
        left: &TypedExpression,
        right: &TypedExpression,
        mask: Mask<'ctx>,
        goes_on_if: bool,
    ) -> Emit<Wide<'ctx>> {
        let function = self.function;
        let a = self.expression(names, left, mask)?;
        let open = self.bits(&a)?;
        let open = if goes_on_if { open } else { function.builder.build_not(open, "")? };
        let b = self.expression(names, right, Some(self.both(mask, open)?))?;
        self.each_lane(ScalarType::Bool, &[&a, &b], |_, lanes| {
            let (a, b) = (function.emitter.as_int(lanes[0])?, function.emitter.as_int(lanes[1])?);
            let both = if goes_on_if {
                function.builder.build_and(a, b, "")?
            } else {
                function.builder.build_or(a, b, "")?
            };
            Ok(Lane::Int(both))
        })
    }

    /// A `bool` in all lanes.
    fn bits(&self, value: &Wide<'ctx>) -> Emit<VectorValue<'ctx>> {
        match value.parts.as_slice() {
            [bits] => self.function.splat(*bits, self.width()),
            _ => Err(self.unbound("a condition")),
        }
    }

    /// A choice. With a scalar condition each operand is evaluated in the lanes that choose it.
    fn choice(
        &self,
        names: &Names<'_, 'ctx>,
        condition: &TypedExpression,
        then: &TypedExpression,
        otherwise: &TypedExpression,
        mask: Mask<'ctx>,
    ) -> Emit<Wide<'ctx>> {
        let function = self.function;
        let condition = self.expression(names, condition, mask)?;
        let (mut yes, mut no) = (mask, mask);
        if condition.parts.len() == 1 {
            let bits = self.bits(&condition)?;
            yes = Some(self.both(mask, bits)?);
            no = Some(self.both(mask, function.builder.build_not(bits, "")?)?);
        }
        let (a, b) = (self.expression(names, then, yes)?, self.expression(names, otherwise, no)?);
        function.operate(&[&condition, &a, &b], |elements| {
            let [conditions, a, b] = elements else { return Err(self.unbound("a choice")) };
            let condition = |lane: usize| {
                let lane = conditions.lanes.get(lane).or(conditions.lanes.first()).copied();
                function.emitter.as_int(lane.ok_or_else(|| self.unbound("a condition"))?)
            };
            let lanes = a.lanes.iter().zip(&b.lanes).enumerate();
            let lanes = lanes.map(|(lane, (a, b))| function.select(condition(lane)?, *a, *b));
            Ok(Element { ty: a.ty, lanes: lanes.collect::<Emit<_>>()? })
        })
    }
}

/// Whether a local variable is that of a loop.
fn counts(body: &[TypedStatement], number: usize) -> bool {
    body.iter().any(|statement| match statement {
        TypedStatement::For { local, body, .. } => local.index() == number || counts(body, number),
        TypedStatement::If { then, otherwise, .. } => counts(then, number) || counts(otherwise, number),
        TypedStatement::While { body, .. } => counts(body, number),
        TypedStatement::Local { .. }
        | TypedStatement::Output { .. }
        | TypedStatement::Store { .. }
        | TypedStatement::Push { .. } => false,
    })
}
