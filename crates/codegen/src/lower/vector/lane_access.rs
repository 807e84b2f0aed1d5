//! Access patterns of lanes, selected in an otherwise complete plan.

use std::collections::BTreeMap;

use sdfg::symbolic::Expr;
use sdfg::tasklet::{Environment, TypedCode, TypedExpressionKind, TypedStatement};

use super::copied;
use crate::lower::scalar::typed;
use crate::plan::{
    Binding, BufferId, Compute, Copy, LaneAccess, Level, Location, Loop, LoopDimension, Plan, Realisation,
    Resolved, Statement, Vector, VectorCompute,
};

/// Gives the loops of level vector in a complete plan their bodies: each access with the way to the elements of the lanes.
pub(in crate::lower) fn finish(plan: &mut Plan) {
    let mut body = std::mem::take(&mut plan.body);
    let mut privates = BTreeMap::new();
    loops(plan, &mut body, &mut privates);
    plan.body = body;
    for (id, width) in privates {
        let size = &mut plan.buffers[BufferId::index(id)].size;
        *size = &*size * &Expr::int(i64::from(width));
    }
}

fn loops(plan: &Plan, body: &mut [Statement], privates: &mut BTreeMap<BufferId, u32>) {
    for statement in body {
        if let Statement::Loop(Loop { dimensions, level: Level::Vector(vector), body, .. }) = statement
            && let [dimension] = dimensions.as_slice()
        {
            privates.extend(vector.privates.iter().map(|id| (*id, vector.width)));
            let lanes = Lanes { plan, vector, dimension }.statements(body);
            let alone = std::mem::replace(body, lanes);
            if !fills_vectors(dimension, vector.width) {
                vector.rest = alone;
                vector.ahead = load_every_other(body);
            }
            continue;
        }
        statement.bodies_mut(&mut |body| loops(plan, body, privates));
    }
}

/// Whether the iterations are known to fill whole vectors.
fn fills_vectors(dimension: &LoopDimension, width: u32) -> bool {
    dimension.count().is_some_and(|count| count % i64::from(width) == 0)
}

/// Whether lanes load every other element of memory.
fn load_every_other(body: &[Statement]) -> bool {
    body.iter().any(|statement| match statement {
        Statement::Lanes(VectorCompute { compute, accesses }) => {
            let mut loads = compute.bindings.iter().zip(accesses);
            loads.any(|(binding, way)| match (binding, way) {
                (Binding::Load(_), LaneAccess::Strided(stride)) => matches!(stride.as_int(), Some(2 | -2)),
                _ => false,
            })
        }
        other => other.bodies().into_iter().any(load_every_other),
    })
}

/// The vectors of one loop.
struct Lanes<'p> {
    plan: &'p Plan,
    vector: &'p Vector,
    dimension: &'p LoopDimension,
}

impl Lanes<'_> {
    fn statements(&self, body: &[Statement]) -> Vec<Statement> {
        body.iter().flat_map(|statement| self.statement(statement)).collect()
    }

    fn statement(&self, statement: &Statement) -> Vec<Statement> {
        match statement {
            Statement::Compute(compute) => vec![self.compute(compute.clone())],
            Statement::Copy(copy) => copied(copy)
                .into_iter()
                .flatten()
                .map(|(from, to)| self.compute(self.moved(copy, &from, &to)))
                .collect(),
            Statement::Timed { timer, body } => {
                vec![Statement::Timed { timer: *timer, body: self.statements(body) }]
            }
            Statement::Located { location, body } => {
                vec![Statement::Located { location: *location, body: self.statements(body) }]
            }
            // Refused, but for what has no part in vectors.
            Statement::Comment(_)
            | Statement::Let { .. }
            | Statement::Set { .. }
            | Statement::Loop(_)
            | Statement::While(_)
            | Statement::If(_)
            | Statement::Block { .. }
            | Statement::Leave(_)
            | Statement::Repeat(_)
            | Statement::Dispatch { .. }
            | Statement::Goto { .. }
            | Statement::Begin(_)
            | Statement::Allocate(_)
            | Statement::Free(_)
            | Statement::Point { .. }
            | Statement::Keep(_)
            | Statement::Recall(_)
            | Statement::Check(_)
            | Statement::Undefine(_)
            | Statement::Lanes(_)
            | Statement::External(_)
            | Statement::Push(_)
            | Statement::Pop(_)
            | Statement::Consume(_)
            | Statement::Barrier
            | Statement::Commands(_)
            | Statement::Await(_)
            | Statement::Tasks(_) => vec![statement.clone()],
        }
    }

    /// One element of a copy, so many behind the first ones.
    fn moved(&self, copy: &Copy, from: &Expr, to: &Expr) -> Compute {
        let at = |location: &Location, distance: &Expr| Location {
            buffer: location.buffer,
            offset: &location.offset + distance,
        };
        let element = self.plan.buffer(copy.to.buffer).element;
        let mut environment = Environment::new();
        let input = environment.input("from", element);
        let output = environment.output("to", element);
        let value = typed(TypedExpressionKind::Input(input), element);
        let body = vec![TypedStatement::Output { connector: output, value }];
        Compute {
            label: copy.label.clone(),
            code: TypedCode { environment, locals: Vec::new(), body },
            bindings: vec![
                Binding::Load(at(&copy.from, from)),
                Binding::Store { to: at(&copy.to, to), write: copy.write.clone() },
            ],
            symbols: Vec::new(),
            checks: Vec::new(),
        }
    }

    fn compute(&self, compute: Compute) -> Statement {
        let accesses = compute.bindings.iter().map(|binding| self.way_of(binding)).collect();
        Statement::Lanes(VectorCompute { compute, accesses })
    }

    fn way_of(&self, binding: &Binding) -> LaneAccess {
        match binding {
            Binding::Load(location) => self.way(location),
            Binding::Store { to, write } => self.way_of_write(to, write),
            Binding::View(part) => self.way_of_part(&part.origin),
            Binding::ViewMut { to, write: Resolved::Store } => self.way_of_part(&to.origin),
            // Only lanes of their own are sure to combine into different elements.
            Binding::ViewMut { to, write: Resolved::Combine { .. } } => match self.way_of_part(&to.origin) {
                LaneAccess::OwnIndexed => LaneAccess::OwnIndexed,
                LaneAccess::Uniform
                | LaneAccess::Contiguous
                | LaneAccess::Reversed
                | LaneAccess::Strided(_)
                | LaneAccess::Indexed
                | LaneAccess::Own
                | LaneAccess::InOrder
                | LaneAccess::Fold(_) => LaneAccess::InOrder,
            },
            Binding::Push(_) | Binding::Length(_) => LaneAccess::InOrder,
        }
    }

    /// The way to what code chooses by indices.
    fn way_of_part(&self, origin: &Location) -> LaneAccess {
        if self.vector.privates.contains(&origin.buffer) {
            LaneAccess::OwnIndexed
        } else {
            LaneAccess::Indexed
        }
    }

    fn way(&self, location: &Location) -> LaneAccess {
        let variable = &self.dimension.variable;
        let moves = location.offset.depends_on(variable);
        if self.vector.privates.contains(&location.buffer) {
            return if moves { LaneAccess::OwnIndexed } else { LaneAccess::Own };
        }
        if !moves {
            return LaneAccess::Uniform;
        }
        let Some((coefficient, _)) = location.offset.linear_in(variable) else { return LaneAccess::Indexed };
        let stride = &coefficient * &self.dimension.step;
        match stride.as_int() {
            Some(1) => LaneAccess::Contiguous,
            Some(-1) => LaneAccess::Reversed,
            Some(_) | None => LaneAccess::Strided(stride),
        }
    }

    fn way_of_write(&self, to: &Location, write: &Resolved) -> LaneAccess {
        let way = self.way(to);
        match write {
            Resolved::Store => {
                if way == LaneAccess::Uniform {
                    LaneAccess::InOrder
                } else {
                    way
                }
            }
            Resolved::Combine { realisation: Realisation::Atomic | Realisation::Locked, .. } => {
                LaneAccess::InOrder
            }
            Resolved::Combine { realisation: Realisation::Plain, .. } => match &way {
                LaneAccess::Own | LaneAccess::OwnIndexed | LaneAccess::Contiguous | LaneAccess::Reversed => {
                    way
                }
                LaneAccess::Strided(stride) if stride.as_int().is_some() => way,
                LaneAccess::Uniform => {
                    let fold = self.vector.folds.iter().position(|fold| fold.cell == to.buffer);
                    fold.map_or(LaneAccess::InOrder, LaneAccess::Fold)
                }
                LaneAccess::Strided(_) | LaneAccess::Indexed | LaneAccess::InOrder | LaneAccess::Fold(_) => {
                    LaneAccess::InOrder
                }
            },
        }
    }
}
