//! Control flow: regions, loops, branches, jumps and transitions (`docs/semantics.md`, "Control flow").

use sdfg_language::tasklet::arith;
use sdfg_language::value::Value;

use super::evaluate::wrapped;
use super::machine::{Activity, ActivityFrame, ActivityStep, At, Call, Machine};
use super::options::TRACE_LIMIT;
use super::program::{BlockForm, ExpressionCode, LoopCode};
use super::trap::{Site, Trap, TrapKind};

/// In a loop.
#[derive(Debug)]
pub(super) struct LoopFrame<'p> {
    code: &'p LoopCode,
    site: &'p Site,
    stage: Stage,
}

/// Next action of a loop.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Begin,
    Test,
    Body,
    Update,
}

impl<'p> Machine<'p> {
    /// Begins the block that the frame is at, or leaves it by a transition.
    pub(super) fn step_region(&mut self, activity: &mut Activity<'p>) -> Result<ActivityStep, Box<Trap>> {
        let Some(ActivityFrame::Region { block, entered }) = activity.frames.last_mut() else {
            return Ok(ActivityStep::Continue);
        };
        let (number, is_left) = (*block, *entered);
        *entered = true;
        let procedure = &self.program.procedures[activity.call().procedure];
        let code = &procedure.blocks[number];
        if is_left {
            let mut next = None;
            for transition in &code.transitions {
                if match &transition.condition {
                    Some(condition) => self.holds(activity, condition)?,
                    None => true,
                } {
                    self.assign(activity, &transition.assignments)?;
                    next = Some(transition.target);
                    break;
                }
            }
            match (next, activity.frames.last_mut()) {
                (Some(target), Some(frame)) => {
                    *frame = ActivityFrame::Region { block: target, entered: false }
                }
                (Some(_), None) | (None, _) => {
                    activity.frames.pop();
                }
            }
            return Ok(ActivityStep::Continue);
        }
        self.count_step(&code.site)?;
        let procedure = activity.call().procedure;
        self.counts.blocks[procedure][number] += 1;
        if self.options.trace && self.counts.order.len() < TRACE_LIMIT {
            self.counts.order.push((procedure, number));
        }
        match &code.form {
            BlockForm::State { body } => {
                let at = self.next_position(activity)?;
                self.enter_body(activity, *body, at)?;
            }
            BlockForm::Loop(each) => {
                let (site, stage) = (&code.site, Stage::Begin);
                activity.frames.push(ActivityFrame::Loop(LoopFrame { code: each, site, stage }))
            }
            BlockForm::Branch { arms, otherwise } => {
                let mut chosen = *otherwise;
                for (condition, region) in arms {
                    if self.holds(activity, condition)? {
                        chosen = Some(*region);
                        break;
                    }
                }
                if let Some(region) = chosen {
                    self.enter_region(activity, region);
                }
            }
            BlockForm::Break => {
                unwind(activity);
                activity.frames.pop();
            }
            BlockForm::Continue => unwind(activity),
            BlockForm::Return => {
                while !matches!(activity.frames.last(), None | Some(ActivityFrame::Call(_))) {
                    activity.frames.pop();
                }
            }
        }
        Ok(ActivityStep::Continue)
    }

    /// Begins a region of the innermost call.
    pub(super) fn enter_region(&mut self, activity: &mut Activity<'p>, region: usize) {
        let procedure = &self.program.procedures[activity.call().procedure];
        if let Some(block) = procedure.regions[region].start {
            activity.frames.push(ActivityFrame::Region { block, entered: false });
        }
    }

    pub(super) fn step_loop(&mut self, activity: &mut Activity<'p>) -> Result<ActivityStep, Box<Trap>> {
        let Some(ActivityFrame::Loop(LoopFrame { code, site, stage })) = activity.frames.last() else {
            return Ok(ActivityStep::Continue);
        };
        let (code, site, stage) = (*code, *site, *stage);
        let next = match stage {
            Stage::Begin => {
                self.set_loop_symbol(activity, code, &code.init)?;
                if code.test_after { Some(Stage::Body) } else { Some(Stage::Test) }
            }
            Stage::Test => self.holds(activity, &code.condition)?.then_some(Stage::Body),
            Stage::Body => {
                // Otherwise a block of the body counts.
                if self.program.procedures[activity.call().procedure].regions[code.body].start.is_none() {
                    self.count_step(site)?;
                }
                Some(Stage::Update)
            }
            Stage::Update => {
                self.set_loop_symbol(activity, code, &code.update)?;
                Some(Stage::Test)
            }
        };
        match next {
            None => {
                activity.frames.pop();
            }
            Some(next) => {
                if let Some(frame) = activity.frames.last_mut() {
                    *frame = ActivityFrame::Loop(LoopFrame { code, site, stage: next });
                }
                if matches!(stage, Stage::Body) {
                    self.enter_region(activity, code.body);
                }
            }
        }
        Ok(ActivityStep::Continue)
    }

    fn set_loop_symbol(
        &mut self,
        activity: &mut Activity<'p>,
        code: &LoopCode,
        value: &Option<ExpressionCode>,
    ) -> Result<(), Box<Trap>> {
        if let (Some(symbol), Some(value)) = (code.symbol, value) {
            let value = self.integer(activity, value)?;
            self.set_symbol(activity.call(), symbol, value);
        }
        Ok(())
    }

    /// Evaluates the right sides with the old values, then sets the symbols.
    fn assign(
        &mut self,
        activity: &mut Activity<'p>,
        assignments: &'p [(u32, ExpressionCode)],
    ) -> Result<(), Box<Trap>> {
        let mut values = Vec::with_capacity(assignments.len());
        for (_, value) in assignments {
            values.push(self.integer(activity, value)?);
        }
        for ((symbol, _), value) in assignments.iter().zip(values) {
            self.set_symbol(activity.call(), *symbol, value);
        }
        Ok(())
    }

    /// Gives a symbol a value in its type.
    pub(super) fn set_symbol(&self, call: &mut Call, symbol: u32, value: i64) {
        let ty = self.program.procedures[call.procedure].symbols[symbol as usize].1;
        call.symbols[symbol as usize] = Some(wrapped(value, ty));
    }

    /// Whether a condition holds.
    pub(super) fn holds(
        &mut self,
        activity: &mut Activity<'p>,
        code: &ExpressionCode,
    ) -> Result<bool, Box<Trap>> {
        let at = self.next_position(activity)?;
        Ok(arith::is_true(self.evaluate_at(activity.call(), code, at)?))
    }

    /// The value of an assignment to a symbol.
    fn integer(&mut self, activity: &mut Activity<'p>, code: &ExpressionCode) -> Result<i64, Box<Trap>> {
        let at = self.next_position(activity)?;
        let value: Value = self.evaluate_at(activity.call(), code, at)?;
        value.to_i64().ok_or_else(|| self.trap(TrapKind::IndexOverflow, &code.site))
    }

    /// The next step of the innermost call. Between steps of the outermost call, everything before is ordered before
    /// everything after, so that the race detector forgets it.
    fn next_position(&mut self, activity: &mut Activity<'p>) -> Result<At, Box<Trap>> {
        let is_outermost = activity.is_outermost();
        let call = activity.call();
        call.at.position = call.at.position.wrapping_add(1);
        if is_outermost {
            self.outermost.clone_from(&call.symbols);
            let procedure = &self.program.procedures[call.procedure];
            call.at.instance = self.instances.restart().ok_or_else(|| {
                self.trap(TrapKind::StepLimit { limit: u64::from(u32::MAX) }, &procedure.site)
            })?;
        }
        Ok(call.at)
    }
}

/// Leaves everything inside the innermost loop.
fn unwind(activity: &mut Activity<'_>) {
    while !matches!(activity.frames.last(), None | Some(ActivityFrame::Call(_) | ActivityFrame::Loop(_))) {
        activity.frames.pop();
    }
}
