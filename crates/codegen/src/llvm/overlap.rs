//! The test of a call for arguments that overlap.
//!
//! Code is generated for arguments that do not overlap where one of them is written, unless the plan says otherwise.

use inkwell::IntPredicate;
use inkwell::values::IntValue;

use super::emitter::Emit;
use super::function::Function;
use super::metadata::LoopHints;
use crate::interface::Status;
use crate::plan::{Argument, Buffer, PassedAs};

/// Bytes of what a caller passes for a queue: the address of the elements and their number.
const QUEUE_BYTES: u64 = 16;

/// Pairs of arguments up to which each is compared by instructions of its own. More are compared in a loop: they grow with
/// the square of the number of arguments, and would dominate the compile time of programs with hundreds.
const UNROLLED: usize = 64;

/// Two arguments that must not overlap, by their positions among the spans.
struct Pair {
    first: usize,
    second: usize,
    message: String,
}

impl<'ctx> Function<'_, 'ctx> {
    /// Ends the run if memory that the program writes is also that of another argument.
    pub(super) fn refuse_overlaps(&self) -> Emit<()> {
        let plan = self.emitter.plan;
        let arguments: Vec<_> = plan.arguments.iter().filter(|argument| !argument.by_value).collect();
        let spans = arguments.iter().map(|argument| self.span(argument)).collect::<Emit<Vec<_>>>()?;
        let mut pairs = Vec::new();
        for (at, first) in arguments.iter().enumerate() {
            for (other, second) in arguments.iter().enumerate().skip(at + 1) {
                let may_overlap =
                    [first, second].iter().all(|argument| plan.overlapping.contains(&argument.buffer));
                if !may_overlap && (first.written || second.written) {
                    let message =
                        format!("`{}` and `{}` overlap, and one of them is written", first.name, second.name);
                    pairs.push(Pair { first: at, second: other, message });
                }
            }
        }
        if pairs.len() > UNROLLED {
            return self.refuse_pairs(&spans, &pairs);
        }
        for Pair { first, second, message } in pairs {
            let meet = self.meet(spans[first], spans[second])?;
            self.fail_if(meet, Status::InvalidArgument, &message)?;
        }
        Ok(())
    }

    /// The first address of an argument, and the one behind its last.
    fn span(&self, argument: &Argument) -> Emit<(IntValue<'ctx>, IntValue<'ctx>)> {
        let Buffer { element, size, .. } = self.emitter.plan.buffer(argument.buffer);
        let begin = self.builder.build_ptr_to_int(self.base(argument.buffer)?, self.emitter.i64(), "")?;
        let count = self.larger(self.size(size)?, self.emitter.constant(0))?;
        let bytes = match argument.kind {
            PassedAs::Queue => self.bytes_of(QUEUE_BYTES, count)?,
            PassedAs::Array | PassedAs::Scalar => self.byte_size(*element, count)?,
        };
        Ok((begin, self.builder.build_int_add(begin, bytes, "")?))
    }

    /// Whether two spans have an address in common.
    fn meet(
        &self,
        (begin, end): (IntValue<'ctx>, IntValue<'ctx>),
        (other_begin, other_end): (IntValue<'ctx>, IntValue<'ctx>),
    ) -> Emit<IntValue<'ctx>> {
        let (both_begin, both_end) = (self.larger(begin, other_begin)?, self.smaller(end, other_end)?);
        self.compare(IntPredicate::SLT, both_begin, both_end)
    }

    /// Compares the spans of pairs in a loop over constant tables: of the spans, and of the message.
    fn refuse_pairs(&self, spans: &[(IntValue<'ctx>, IntValue<'ctx>)], pairs: &[Pair]) -> Emit<()> {
        let (emitter, i64) = (self.emitter, self.emitter.i64());
        let listed = i64.array_type(spans.len() as u32);
        let (begins, ends) = (self.slot(listed, "begins")?, self.slot(listed, "ends")?);
        for (at, (begin, end)) in spans.iter().enumerate() {
            let position = emitter.constant(at as i64);
            self.builder.build_store(self.address(i64, begins, position)?, *begin)?;
            self.builder.build_store(self.address(i64, ends, position)?, *end)?;
        }
        let table = |name: &str, value: &dyn Fn(&Pair) -> usize| {
            let values: Vec<_> = pairs.iter().map(|pair| emitter.constant(value(pair) as i64)).collect();
            emitter.constant_table(name, &i64.const_array(&values))
        };
        let mut messages = Vec::new();
        let places: Vec<_> = pairs
            .iter()
            .map(|pair| {
                let place = emitter.constant(messages.len() as i64);
                messages.extend(pair.message.bytes().chain([0]));
                place
            })
            .collect();
        let messages = emitter.bytes("overlap.messages", &messages);
        let places = emitter.constant_table("overlap.places", &i64.const_array(&places));
        let first = table("overlap.first", &|pair| pair.first);
        let second = table("overlap.second", &|pair| pair.second);
        let (zero, one) = (emitter.constant(0), emitter.constant(1));
        let count = emitter.constant(pairs.len() as i64);
        self.counted_loop(zero, count, one, false, LoopHints::default(), |pair| {
            let entry = |table, position| -> Emit<IntValue<'ctx>> {
                let address = self.address(i64, table, position)?;
                Ok(self.builder.build_load(i64, address, "")?.into_int_value())
            };
            let span = |position| -> Emit<_> { Ok((entry(begins, position)?, entry(ends, position)?)) };
            let meet = self.meet(span(entry(first, pair)?)?, span(entry(second, pair)?)?)?;
            let (failed, fine) = (self.block("failed"), self.block("fine"));
            self.branch(meet, failed, fine)?;
            self.enter(failed);
            let message = self.address(emitter.i8(), messages, entry(places, pair)?)?;
            self.fail_with(Status::InvalidArgument, message)?;
            self.enter(fine);
            Ok(())
        })
    }
}
