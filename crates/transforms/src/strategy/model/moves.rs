//! Reductions and copies as operations whose domain covers a whole subset.

use sdfg::ir::{Access, ConflictResolution, EdgeId, NodeId, NodeKind};
use sdfg::subset::Range;

use super::access::join;
use super::error::ModelError;
use super::operator::{Index, Operand, Operator};
use super::read::{Reader, Scene};

impl Reader<'_> {
    pub(super) fn reduction(
        &mut self,
        scene: &Scene<'_>,
        node: NodeId,
        place: &str,
    ) -> Result<Operator, ModelError> {
        let state = scene.state;
        let ends = (state.in_edges(node), state.out_edges(node));
        let flow = |edges: &[EdgeId]| edges.first().map(|edge| state.edge(*edge).memlet.clone());
        let NodeKind::Reduce(reduce) = &state.node(node).kind else { return Err(unpaired(place)) };
        let (Some(input), Some(output)) = (flow(&ends.0), flow(&ends.1)) else { return Err(unpaired(place)) };
        let (Some(from), Some(to)) = (input.read_access(), output.write_access()) else {
            return Err(unpaired(place));
        };
        let is_kept = |axis: &usize| reduce.axes.as_ref().is_some_and(|axes| !axes.contains(axis));
        let mut operator = self.operator(scene, node, "Reduce");
        let (domain, reads) = self.passed(from, place)?;
        let kept: Vec<usize> = (0..domain.len()).filter(is_kept).collect();
        let written = self.paired(to, &domain, &kept, place)?;
        let combining = Some(self.combining(&reduce.resolution, to.container, place)?);
        let (operand, written) = self.located(to, &written, &domain, place)?;
        let (source, reads) = self.located(from, &reads, &domain, place)?;
        join(&mut operator.reads, source, reads);
        if reduce.identity.is_none() {
            join(&mut operator.reads, operand.clone(), written.clone());
        }
        join(&mut operator.writes, Operand { combining, ..operand }, written);
        (operator.parameters, operator.domain) = (vec![None; domain.len()], domain);
        let work = self.costs.of_node(scene.id, node).work;
        self.spread(&mut operator, &work, place)?;
        Ok(operator)
    }

    pub(super) fn copy(
        &mut self,
        scene: &Scene<'_>,
        node: NodeId,
        (from, to, resolution): (&Access, &Access, Option<&ConflictResolution>),
        place: &str,
    ) -> Result<Operator, ModelError> {
        let (sizes, _) = self.passed(from, place)?;
        let domain: Vec<u64> = sizes.into_iter().filter(|size| *size != 1).collect();
        let all: Vec<usize> = (0..domain.len()).collect();
        let (read, written) =
            (self.paired(from, &domain, &all, place)?, self.paired(to, &domain, &all, place)?);
        let mut operator = self.operator(scene, node, "Copy");
        let (source, read) = self.located(from, &read, &domain, place)?;
        let (mut target, written) = self.located(to, &written, &domain, place)?;
        join(&mut operator.reads, source, read);
        if let Some(resolution) = resolution {
            // Each element is combined with what was there before.
            join(&mut operator.reads, target.clone(), written.clone());
            operator.work = self.combining(resolution, to.container, place)?;
            target.combining = Some(operator.work);
        }
        join(&mut operator.writes, target, written);
        (operator.parameters, operator.domain) = (vec![None; domain.len()], domain);
        Ok(operator)
    }

    /// A domain that passes through all of a subset, a dimension for each of its own.
    fn passed(&mut self, access: &Access, place: &str) -> Result<(Vec<u64>, Vec<Index>), ModelError> {
        let (mut domain, mut indices) = (Vec::new(), Vec::new());
        for (dimension, range) in access.subset().0.iter().enumerate() {
            let (start, step, n) = self.numbers(range, place)?;
            domain.push(n);
            indices.push(self.position(range, start, vec![(dimension, step)]));
        }
        Ok((domain, indices))
    }

    /// Indices of a subset whose dimensions are those of a domain that are chosen, in their order; dimensions of size 1 may
    /// be missing or more.
    fn paired(
        &mut self,
        access: &Access,
        domain: &[u64],
        chosen: &[usize],
        place: &str,
    ) -> Result<Vec<Index>, ModelError> {
        let mut waiting = chosen.iter().filter(|dimension| domain[**dimension] != 1);
        let mut indices = Vec::new();
        for range in &access.subset().0 {
            let (start, step, n) = self.numbers(range, place)?;
            let parameters = if n == 1 {
                Vec::new()
            } else {
                let dimension = waiting.next().filter(|dimension| domain[**dimension] == n);
                vec![(*dimension.ok_or_else(|| unpaired(place))?, step)]
            };
            indices.push(self.position(range, start, parameters));
        }
        if waiting.next().is_some() { Err(unpaired(place)) } else { Ok(indices) }
    }

    /// The positions of a range that begins at `start`, unless that is elsewhere each time.
    fn position(&self, range: &Range, start: i64, parameters: Vec<(usize, i64)>) -> Index {
        let is_moving = range.is_index() && self.place(range).is_none();
        if is_moving { Index::Moving } else { Index::Affine { start, parameters, within: Vec::new() } }
    }
}

fn unpaired(place: &str) -> ModelError {
    let what = "a change of shape".to_owned();
    ModelError::Unsupported { place: place.to_owned(), what, instead: "write it as a map" }
}
