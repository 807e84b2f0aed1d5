//! Resolution of control flow: regions, blocks, transitions and their expressions.

use std::collections::BTreeMap;
use std::sync::Arc;

use sdfg_graph::analysis::{ScopeTree, control_environment_of};
use sdfg_graph::diagnostic::{Element, ElementPath};
use sdfg_graph::ir::{Block, BlockId, BlockKind, RegionId, StateId, TransitionId};
use sdfg_language::syntax::Expression;
use sdfg_language::tasklet::{CompiledCode, ConnectorKind, Dialect, typecheck_expression};

use super::super::program::{
    AccessId, AccessPlace, BlockCode, BlockForm, ContainerRead, ExpressionCode, LoopCode, Memory, Procedure,
    ReadForm, RegionCode, TransitionCode,
};
use super::super::shadow::AccessKind;
use super::lifetime::Lifetimes;
use super::{Context, ResolveError, Resolver, StateContext};

/// Numbers of regions and blocks.
#[derive(Default)]
struct Numbers {
    regions: BTreeMap<RegionId, usize>,
    blocks: BTreeMap<BlockId, usize>,
}

impl Resolver {
    /// Resolves everything but names and containers of an SDFG.
    pub(super) fn control(
        &mut self,
        context: &mut Context<'_>,
        lifetimes: &Lifetimes,
        device: Memory,
    ) -> Result<Procedure, ResolveError> {
        let sdfg = context.sdfg;
        let mut numbers = Numbers::default();
        let mut order = vec![sdfg.body()];
        for (number, (id, block)) in sdfg.blocks().enumerate() {
            numbers.blocks.insert(id, number);
            order.extend(block.kind.regions());
        }
        numbers.regions.extend(order.iter().enumerate().map(|(number, id)| (*id, number)));
        let start =
            |region: &RegionId| sdfg.region(*region).start.and_then(|id| numbers.blocks.get(&id).copied());
        let regions = order.iter().map(|region| RegionCode { start: start(region) }).collect();
        let mut procedure = Procedure {
            regions,
            allocate: lifetimes.call.iter().copied().filter(|c| !lifetimes.late.contains(c)).collect(),
            ..Procedure::default()
        };
        for (id, block) in sdfg.blocks() {
            let form = self.block(context, lifetimes, &numbers, block, device)?;
            if let BlockForm::State { body } = form {
                procedure.waits_for_streams |= self.program.bodies[body].waits_for_streams;
            }
            let transitions = self.transitions(context, &numbers, id)?;
            let element = Element::Block(block.label.clone());
            procedure.blocks.push(BlockCode { form, transitions, site: Arc::new(context.path.to(element)) });
        }
        Ok(procedure)
    }

    fn block(
        &mut self,
        context: &mut Context<'_>,
        lifetimes: &Lifetimes,
        numbers: &Numbers,
        block: &Block,
        device: Memory,
    ) -> Result<BlockForm, ResolveError> {
        let path = context.path.to(Element::Block(block.label.clone()));
        Ok(match &block.kind {
            BlockKind::State(state) => {
                BlockForm::State { body: self.state(context, lifetimes, *state, &block.label, device)? }
            }
            BlockKind::Loop(code) => {
                let symbol = code.symbol.as_ref().map(|symbol| context.slot(symbol));
                let init =
                    code.init.as_ref().map(|value| self.expression(context, value, &path)).transpose()?;
                let update =
                    code.update.as_ref().map(|value| self.expression(context, value, &path)).transpose()?;
                let condition = self.expression(context, &code.condition, &path)?;
                let body = numbers.regions[&code.body];
                BlockForm::Loop(Box::new(LoopCode {
                    symbol,
                    init,
                    condition,
                    update,
                    test_after: code.test_after,
                    body,
                }))
            }
            BlockKind::Branch(branch) => {
                let mut arms = Vec::with_capacity(branch.arms.len());
                for (condition, region) in &branch.arms {
                    arms.push((self.expression(context, condition, &path)?, numbers.regions[region]));
                }
                BlockForm::Branch { arms, otherwise: branch.otherwise.map(|region| numbers.regions[&region]) }
            }
            BlockKind::Break => BlockForm::Break,
            BlockKind::Continue => BlockForm::Continue,
            BlockKind::Return => BlockForm::Return,
        })
    }

    fn transitions(
        &mut self,
        context: &mut Context<'_>,
        numbers: &Numbers,
        block: BlockId,
    ) -> Result<Vec<TransitionCode>, ResolveError> {
        let sdfg = context.sdfg;
        let mut codes = Vec::new();
        let all = sdfg.transitions_from(block);
        for (at, id) in all.iter().enumerate() {
            let transition = sdfg.transition(*id);
            let label = |block: BlockId| sdfg.block(block).label.clone();
            let same_end = |other: &&TransitionId| sdfg.transition(**other).dst == transition.dst;
            let path = context.path.to(Element::Transition {
                source: label(transition.src),
                destination: label(transition.dst),
                before: all[..at].iter().filter(same_end).count(),
            });
            let condition = transition
                .condition
                .as_ref()
                .map(|value| self.expression(context, value, &path))
                .transpose()?;
            let mut assignments = Vec::with_capacity(transition.assignments.len());
            for (symbol, value) in &transition.assignments {
                assignments.push((context.slot(symbol), self.expression(context, value, &path)?));
            }
            codes.push(TransitionCode { condition, assignments, target: numbers.blocks[&transition.dst] });
        }
        Ok(codes)
    }

    /// Resolves a condition or the value of an assignment.
    pub(super) fn expression(
        &mut self,
        context: &mut Context<'_>,
        expression: &Expression,
        path: &ElementPath,
    ) -> Result<ExpressionCode, ResolveError> {
        let names = expression.names();
        let types = context.visible_symbols(&names);
        let environment = control_environment_of(context.sdfg, types, &|name| names.contains(name));
        let code = typecheck_expression(expression, Dialect::Python, &environment)
            .map_err(|errors| ResolveError::Code { path: Box::new(path.clone()), errors })?;
        let site = Arc::new(path.clone());
        let symbols = context.symbol_codes(&environment);
        let mut reads = Vec::new();
        for (name, connector) in environment.connectors() {
            let (Some(id), Some((connector_id, _))) =
                (context.sdfg.find_container(name), environment.connector(name))
            else {
                continue;
            };
            let access = self.program.accesses.len() as u32;
            self.program.accesses.push(AccessPlace {
                item: None,
                kind: AccessKind::READ,
                container: name.to_owned(),
                site: site.clone(),
                memlet: name.to_owned(),
                size: connector.element.size() as u64,
            });
            reads.push(ContainerRead {
                id: connector_id,
                container: context.containers[&id],
                access: AccessId(access),
                element: connector.element,
                form: match connector.kind {
                    ConnectorKind::Value => ReadForm::Scalar,
                    ConnectorKind::Pointer { .. } => ReadForm::Elements,
                    ConnectorKind::Stream | ConnectorKind::Queues { .. } => ReadForm::Lengths,
                },
            });
        }
        let code = self.code(CompiledCode::of_expression(&code));
        Ok(ExpressionCode { code, symbols, reads, site })
    }

    fn state(
        &mut self,
        context: &mut Context<'_>,
        lifetimes: &Lifetimes,
        id: StateId,
        label: &str,
        device: Memory,
    ) -> Result<usize, ResolveError> {
        let state = context.sdfg.state(id);
        let bodies = lifetimes.bodies.iter().filter(|((state, _), _)| *state == id);
        let mut inner = StateContext {
            state,
            tree: ScopeTree::of(state),
            path: context.path.enter(label),
            values: BTreeMap::new(),
            consumed: BTreeMap::new(),
            lifetimes: bodies.map(|((_, scope), containers)| (*scope, containers.clone())).collect(),
        };
        let body = self.body(context, &mut inner, None, device)?;
        if let Some(used) = lifetimes.used.get(&id) {
            self.program.bodies[body].allocate_late = lifetimes.late.intersection(used).copied().collect();
        }
        Ok(body)
    }
}
