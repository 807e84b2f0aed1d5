//! Accesses translated to storages, through nested SDFGs and views.

use std::collections::BTreeSet;

use sdfg::ir::{Access, ContainerId, ContainerKind};
use sdfg::subset::Range;

use super::binding::Binding;
use super::error::ModelError;
use super::operator::{Index, Operand};
use super::read::{Reader, bounded};

impl Reader<'_> {
    /// A storage without accesses, and the indices in it of an access with these indices.
    pub(super) fn located(
        &mut self,
        access: &Access,
        indices: &[Index],
        domain: &[u64],
        place: &str,
    ) -> Result<(Operand, Vec<Index>), ModelError> {
        self.check_kind(access.container, place)?;
        let container = self.sdfg.container(access.container);
        let binding = self.binding(access.container, place)?;
        let indices = binding.indices(indices, domain);
        let operand = Operand {
            storage: binding.storage,
            element_bytes: container.element.size() as u64,
            extents: binding.extents.clone()?,
            accesses: Vec::new(),
            combining: None,
        };
        if repeats_a_parameter(&indices) {
            let what = format!(
                "`{}[{}]` is a diagonal; its bounding box is accessed",
                container.name,
                access.subset()
            );
            self.approximate(place, &what);
        }
        Ok((operand, indices))
    }

    /// Positions of the elements of a container.
    pub(super) fn binding(&self, container: ContainerId, place: &str) -> Result<&Binding, ModelError> {
        self.bindings.get(&container).ok_or_else(|| ModelError::Unsupported {
            place: place.to_owned(),
            what: format!("view `{}`, which nothing around it binds,", self.sdfg.container(container).name),
            instead: "access what it views",
        })
    }

    /// Whether what lies in a container is known.
    pub(super) fn check_kind(&self, container: ContainerId, place: &str) -> Result<(), ModelError> {
        let container = self.sdfg.container(container);
        let (what, instead) = match &container.kind {
            ContainerKind::Scalar | ContainerKind::Array(_) | ContainerKind::View(_) => return Ok(()),
            ContainerKind::Stream { .. } => (
                "stream",
                "who takes which element is only known when the program runs; access arrays instead",
            ),
            ContainerKind::Reference(_) => {
                ("reference", "what it names is only known when the program runs; access arrays instead")
            }
        };
        let (place, what) = (place.to_owned(), format!("{what} `{}`", container.name));
        Err(ModelError::Unsupported { place, what, instead })
    }

    /// Begin and step of a range that is the same each time.
    pub(super) fn place(&self, range: &Range) -> Option<(i64, i64)> {
        self.number(&range.count(), "").ok().filter(|_| range.tile.is_one())?;
        Some((self.number(&range.begin, "").ok()?, self.number(&range.step, "").ok()?))
    }

    /// Begin, step and number of steps of a range of numbers; of one that changes with a loop, those in its middle.
    pub(super) fn numbers(&mut self, range: &Range, place: &str) -> Result<(i64, i64, u64), ModelError> {
        if !range.tile.is_one() {
            let (place, what) = (place.to_owned(), format!("the tiled range `{range}`"));
            return Err(ModelError::Unsupported { place, what, instead: "write the tiles as a dimension" });
        }
        let n = self.mean(&range.count(), place)?;
        let n = bounded(&[n.max(0) as u64], 1, place, "the length of a range")?;
        Ok((self.mean(&range.begin, place)?, self.mean(&range.step, place)?, n))
    }
}

/// Whether a dimension of the domain leads through two dimensions of a container.
fn repeats_a_parameter(indices: &[Index]) -> bool {
    let mut seen = BTreeSet::new();
    indices.iter().any(|index| match index {
        Index::Affine { parameters, .. } => parameters.iter().any(|(parameter, _)| !seen.insert(*parameter)),
        Index::Moving | Index::Whole => false,
    })
}

/// Adds an access to the operand of the same container.
pub(super) fn join(operands: &mut Vec<Operand>, operand: Operand, indices: Vec<Index>) {
    let same = operands.iter().position(|one| one.storage == operand.storage);
    let at = same.unwrap_or_else(|| {
        operands.push(operand.clone());
        operands.len() - 1
    });
    operands[at].combining = operands[at].combining.or(operand.combining);
    if !operands[at].accesses.contains(&indices) {
        operands[at].accesses.push(indices);
    }
}
