//! Rules of access patterns: each pattern reaches the elements that the plan names, and concurrent lanes
//! write different elements.

use sdfg::symbolic::Expr;

use super::PlanError;
use crate::plan::{
    Binding, BufferId, LaneAccess, Location, LoopDimension, Plan, Realisation, Resolved, Vector,
    VectorCompute,
};

/// Looks at every access of the lanes of a loop.
pub(super) fn check(
    plan: &Plan,
    (vector, dimension): (&Vector, &LoopDimension),
    lanes: &[&VectorCompute],
    errors: &mut Vec<PlanError>,
) {
    let rules = LaneAccesses { vector, dimension };
    let mut accesses = Vec::new();
    for VectorCompute { compute, accesses: given } in lanes {
        let connectors = compute.code.environment.connectors();
        for (((connector, _), binding), way) in connectors.zip(&compute.bindings).zip(given) {
            if let Err(what) = rules.fit(binding, way) {
                let (label, connector) = (compute.label.clone(), connector.to_owned());
                errors.push(PlanError::LaneAccess { label, connector, what });
            }
            accesses.extend(Access::of(binding, way));
        }
    }
    for (position, a) in accesses.iter().enumerate() {
        for b in accesses[position + 1..].iter().filter(|b| b.buffer == a.buffer) {
            if rules.meet(a, b) {
                errors.push(PlanError::LanesMeet { buffer: plan.named(a.buffer) });
            }
        }
    }
}

/// Elements of all lanes.
struct Access<'p> {
    buffer: BufferId,
    offset: &'p Expr,
    way: &'p LaneAccess,
    /// Treatment of their old values, if they are written.
    write: Option<&'p Resolved>,
}

impl<'p> Access<'p> {
    fn of(binding: &'p Binding, way: &'p LaneAccess) -> Option<Self> {
        let (Location { buffer, offset }, write) = match binding {
            Binding::Load(from) => (from, None),
            Binding::View(part) => (&part.origin, None),
            Binding::Store { to, write } => (to, Some(write)),
            Binding::ViewMut { to, write } => (&to.origin, Some(write)),
            Binding::Push(_) | Binding::Length(_) => return None,
        };
        Some(Access { buffer: *buffer, offset, way, write })
    }

    fn stores(&self) -> bool {
        matches!(self.write, Some(Resolved::Store))
    }

    fn resolution(&self) -> Option<&'p sdfg::ir::ConflictResolution> {
        match self.write {
            Some(Resolved::Combine { resolution, .. }) => Some(resolution),
            Some(Resolved::Store) | None => None,
        }
    }
}

struct LaneAccesses<'p> {
    vector: &'p Vector,
    dimension: &'p LoopDimension,
}

impl LaneAccesses<'_> {
    /// Whether a lane access is one for what a connector stands for; else what is wrong.
    fn fit(&self, binding: &Binding, way: &LaneAccess) -> Result<(), &'static str> {
        let location = match binding {
            Binding::Load(location) | Binding::Store { to: location, .. } => location,
            Binding::View(part) | Binding::ViewMut { to: part, .. } => &part.origin,
            Binding::Push(_) | Binding::Length(_) => return Err("use a queue"),
        };
        let is_own = matches!(way, LaneAccess::Own | LaneAccess::OwnIndexed);
        match (self.vector.privates.contains(&location.buffer), is_own) {
            (true, false) => return Err("share memory of which each has its own"),
            (false, true) => return Err("have no such memory of their own"),
            (true, true) | (false, false) => {}
        }
        let is_cell = self.vector.folds.iter().any(|fold| fold.cell == location.buffer);
        if is_cell && !matches!(way, LaneAccess::Fold(_)) {
            return Err("access what is in the registers of a fold");
        }
        match binding {
            Binding::Load(_) if matches!(way, LaneAccess::InOrder | LaneAccess::Fold(_)) => {
                return Err("read as only writes do");
            }
            Binding::Load(_) | Binding::Push(_) | Binding::Length(_) => {}
            Binding::View(_) => return by_indices(way, false),
            Binding::ViewMut { write: Resolved::Store, .. } => return by_indices(way, true),
            Binding::ViewMut { write: Resolved::Combine { .. }, .. } => {
                return if matches!(way, LaneAccess::OwnIndexed | LaneAccess::InOrder) {
                    Ok(())
                } else {
                    Err("may combine into one element at once")
                };
            }
            Binding::Store { to, write } => self.fit_write(to, write, way)?,
        }
        if self.leads_to(way, &location.offset) { Ok(()) } else { Err("look elsewhere for their elements") }
    }

    fn fit_write(&self, to: &Location, write: &Resolved, way: &LaneAccess) -> Result<(), &'static str> {
        match (write, way) {
            (Resolved::Store, LaneAccess::Uniform) => Err("write one element at once"),
            (Resolved::Store, LaneAccess::Fold(_)) => Err("do not combine as the fold does"),
            (
                Resolved::Store,
                LaneAccess::Contiguous
                | LaneAccess::Reversed
                | LaneAccess::Strided(_)
                | LaneAccess::Indexed
                | LaneAccess::Own
                | LaneAccess::OwnIndexed
                | LaneAccess::InOrder,
            ) => Ok(()),
            (Resolved::Combine { .. }, LaneAccess::InOrder) => Ok(()),
            (Resolved::Combine { realisation: Realisation::Atomic | Realisation::Locked, .. }, _) => {
                Err("combine at once what other threads change")
            }
            (
                Resolved::Combine { resolution, realisation: Realisation::Plain, .. },
                LaneAccess::Fold(position),
            ) => {
                let fold = self.vector.folds.get(*position);
                if fold.is_some_and(|fold| fold.cell == to.buffer && fold.resolution == *resolution) {
                    Ok(())
                } else {
                    Err("do not combine as the fold does")
                }
            }
            (
                Resolved::Combine { realisation: Realisation::Plain, .. },
                LaneAccess::Own | LaneAccess::OwnIndexed | LaneAccess::Contiguous | LaneAccess::Reversed,
            ) => Ok(()),
            (Resolved::Combine { realisation: Realisation::Plain, .. }, LaneAccess::Strided(stride)) => {
                if stride.as_int().is_some() {
                    Ok(())
                } else {
                    Err("may combine into one element at once")
                }
            }
            (
                Resolved::Combine { realisation: Realisation::Plain, .. },
                LaneAccess::Uniform | LaneAccess::Indexed,
            ) => Err("may combine into one element at once"),
        }
    }

    /// Whether the offset of an access, from lane to lane, moves as the lane access says.
    fn leads_to(&self, way: &LaneAccess, offset: &Expr) -> bool {
        match way {
            LaneAccess::Uniform | LaneAccess::Own => !offset.depends_on(&self.dimension.variable),
            LaneAccess::Contiguous => self.stride(offset).is_some_and(|stride| stride.is_one()),
            LaneAccess::Reversed => self.stride(offset).is_some_and(|stride| stride.as_int() == Some(-1)),
            LaneAccess::Strided(stride) => {
                stride.as_int() != Some(0) && self.stride(offset).as_ref() == Some(stride)
            }
            LaneAccess::Fold(_) => offset.as_int() == Some(0),
            LaneAccess::Indexed | LaneAccess::OwnIndexed | LaneAccess::InOrder => true,
        }
    }

    /// Distance between the elements of neighbouring lanes.
    fn stride(&self, offset: &Expr) -> Option<Expr> {
        let (coefficient, _) = offset.linear_in(&self.dimension.variable)?;
        Some(&coefficient * &self.dimension.step)
    }

    /// Whether different lanes certainly access one element of a buffer, and not both to combine with it.
    fn meet(&self, a: &Access<'_>, b: &Access<'_>) -> bool {
        let combines_both = || a.resolution().is_some() && a.resolution() == b.resolution();
        if a.write.is_none() && b.write.is_none() || combines_both() {
            return false;
        }
        // The lanes of one come after all lanes of the other.
        let is_apart = |access: &Access<'_>| access.stores() && *access.way == LaneAccess::InOrder;
        if is_apart(a) || is_apart(b) {
            return true;
        }
        if matches!(a.way, LaneAccess::Own | LaneAccess::OwnIndexed) {
            return false;
        }
        let stride = |access: &Access<'_>| self.stride(access.offset)?.as_int().filter(|stride| *stride != 0);
        let (Some(stride), Some(distance)) = (stride(a), (b.offset - a.offset).as_int()) else {
            return false;
        };
        distance != 0 && distance % stride == 0 && (distance / stride).abs() < i64::from(self.vector.width)
    }
}

/// Whether code that chooses elements by indices finds them by a lane access.
fn by_indices(way: &LaneAccess, writes: bool) -> Result<(), &'static str> {
    match way {
        LaneAccess::Indexed | LaneAccess::OwnIndexed => Ok(()),
        LaneAccess::InOrder if writes => Ok(()),
        LaneAccess::InOrder
        | LaneAccess::Uniform
        | LaneAccess::Contiguous
        | LaneAccess::Reversed
        | LaneAccess::Strided(_)
        | LaneAccess::Own
        | LaneAccess::Fold(_) => Err("do not choose their elements by indices"),
    }
}
