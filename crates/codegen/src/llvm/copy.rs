//! Copies between rectangular parts of buffers.

use inkwell::values::IntValue;
use sdfg::symbolic::Expr;

use super::check::Element;
use super::emitter::Emit;
use super::function::Function;
use super::memory::ElementAddress;
use super::metadata::LoopHints;
use crate::plan::{Copy, CopyDimension, Resolved};

impl<'ctx> Function<'_, 'ctx> {
    pub(super) fn copy(&self, copy: &Copy) -> Emit<()> {
        let (from, to) = (self.place(&copy.from)?, self.place(&copy.to)?);
        if from.element != to.element {
            return Err(self.emitter.defect(format!("copy `{}` converts elements", copy.label)));
        }
        let mut dimensions = copy.merged_dimensions();
        // What a block moves is not looked at.
        let is_block = !self.is_checked()
            && matches!(copy.write, Resolved::Store)
            && dimensions.last().is_some_and(|d| d.from_stride.is_one() && d.to_stride.is_one());
        let block = if is_block { dimensions.pop() } else { None };
        let reader = self.is_checked().then(|| format!("the copy at `{}`", copy.label));
        self.read_by(reader.as_deref(), || self.copy_dimensions(copy, &dimensions, block.as_ref(), from, to))
    }

    fn copy_dimensions(
        &self,
        copy: &Copy,
        dimensions: &[CopyDimension],
        block: Option<&CopyDimension>,
        from: ElementAddress<'ctx>,
        to: ElementAddress<'ctx>,
    ) -> Emit<()> {
        let Some((dimension, inner)) = dimensions.split_first() else {
            return match block {
                None => {
                    let value = self.load(&from)?;
                    self.write(&to, &value, &copy.write)
                }
                Some(block) => self.copy_block(&from, &to, &block.extent),
            };
        };
        let extent = self.index(&dimension.extent)?;
        let (from_stride, to_stride) =
            (self.index(&dimension.from_stride)?, self.index(&dimension.to_stride)?);
        let (zero, one) = (self.emitter.constant(0), self.emitter.constant(1));
        // The two parts do not overlap, so iterations are independent; a combination depends on old values only of
        // its own element.
        let hints = LoopHints { parallel_accesses: inner.is_empty(), ..LoopHints::default() };
        self.counted_loop(zero, extent, one, false, hints, |index| {
            let from = self.moved(&from, index, from_stride)?;
            let to = self.moved(&to, index, to_stride)?;
            self.copy_dimensions(copy, inner, block, from, to)
        })
    }

    pub(super) fn moved(
        &self,
        place: &ElementAddress<'ctx>,
        index: IntValue<'ctx>,
        stride: IntValue<'ctx>,
    ) -> Emit<ElementAddress<'ctx>> {
        let offset = self.multiply(index, stride)?;
        let address = self.address(self.emitter.element_type(place.element)?, place.address, offset)?;
        let at = |element: Element<'ctx>| -> Emit<_> {
            Ok(Element { position: self.add(element.position, offset)?, ..element })
        };
        Ok(ElementAddress { address, checked: place.checked.map(at).transpose()?, ..*place })
    }

    /// Elements that lie side by side on both sides.
    fn copy_block(&self, from: &ElementAddress<'ctx>, to: &ElementAddress<'ctx>, extent: &Expr) -> Emit<()> {
        let bytes = self.byte_size(from.element, self.index(extent)?)?;
        let component = from.element.lane().component().size() as u32;
        let copied = self.builder.build_memcpy(to.address, component, from.address, component, bytes);
        copied.map_err(|error| self.emitter.defect(error))?;
        Ok(())
    }
}
