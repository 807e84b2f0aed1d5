//! Loops that LLVM must not vectorise because it misreads their dependences.
//!
//! A *joined pointer* is an address that is one of several in an iteration: a phi or a select of pointers inside the
//! loop. LLVM 19 compares two joined pointers on the same condition only within one iteration. If one joined pointer stores to
//! `c[i + 1]` or `a[i]` and another loads `a[i]` or `c[i]`, LLVM finds no dependence, although the next
//! iteration loads the stored value. Therefore a loop with a joined pointer into memory that the loop writes is
//! vectorised only if its metadata marks the iterations as independent, which lowering has proved.
//!
//! The check runs on the code directly before vectorisation. It covers joined pointers of any origin: branches whose
//! accesses were merged, and references that an iteration sets.

use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Module;
use inkwell::types::AnyTypeEnum;
use inkwell::values::{
    BasicMetadataValueEnum, BasicValue, BasicValueEnum, FunctionValue, InstructionOpcode, InstructionValue,
    MetadataValue, PhiValue,
};

use super::body::{Body, Loop, operand};
use super::error::LlvmError;
use super::metadata::{LoopHints, PARALLEL_ACCESSES, UNROLL_FULL};

/// Forbids the vectorisation of loops with joined pointers whose iterations nobody proved independent. Returns their number.
pub(super) fn forbid_vectorisation(module: &Module<'_>) -> Result<usize, LlvmError> {
    let mut forbidden = 0;
    for function in module.get_functions() {
        if !has_joined_pointers(function) {
            continue;
        }
        let body = Body::new(function);
        for each in body.innermost_loops() {
            if body.misleads(module, &each) {
                forbidden += 1;
                body.forbid(module, &each)?;
            }
        }
    }
    Ok(forbidden)
}

/// Whether a function has what makes joined pointers, inside of a loop or not.
fn has_joined_pointers(function: FunctionValue<'_>) -> bool {
    let joins = |instruction: InstructionValue<'_>| {
        matches!(instruction.get_opcode(), InstructionOpcode::Phi | InstructionOpcode::Select)
            && matches!(instruction.get_type(), AnyTypeEnum::PointerType(_))
    };
    function.get_basic_block_iter().any(|block| block.get_instructions().any(joins))
}

/// Origin of an address.
#[derive(Default)]
struct Origin<'ctx> {
    /// The memory that it points into: parameters, variables, allocations, and addresses that were loaded or
    /// joined outside of the loop.
    roots: Vec<BasicValueEnum<'ctx>>,
    is_joined: bool,
}

impl<'ctx> Body<'ctx> {
    /// Whether a loop has a joined pointer into memory that it writes, or writes by one what it accesses, and is not marked as independent.
    fn misleads(&self, module: &Module<'ctx>, each: &Loop) -> bool {
        let accesses: Vec<_> = each
            .blocks
            .iter()
            .flat_map(|block| self.blocks[*block].get_instructions())
            .filter_map(|instruction| Some((instruction, address(instruction)?)))
            .collect();
        let origins: Vec<_> = accesses.iter().map(|(_, address)| self.origin(*address, each)).collect();
        if !origins.iter().any(|origin| origin.is_joined) || self.is_marked(module, each, &accesses) {
            return false;
        }
        let writes = |instruction: &InstructionValue<'_>| instruction.get_opcode() != InstructionOpcode::Load;
        origins.iter().zip(&accesses).filter(|(origin, _)| origin.is_joined).any(|(joined, (access, _))| {
            origins.iter().zip(&accesses).any(|(other, (second, _))| {
                (writes(access) || writes(second)) && self.may_meet(&joined.roots, &other.roots)
            })
        })
    }

    /// Follows an address to what it points into.
    fn origin(&self, address: BasicValueEnum<'ctx>, each: &Loop) -> Origin<'ctx> {
        let mut origin = Origin::default();
        let (mut waiting, mut seen) = (vec![address], Vec::new());
        while let Some(value) = waiting.pop() {
            if seen.contains(&value) {
                continue;
            }
            seen.push(value);
            let Some(instruction) = value.as_instruction_value() else {
                origin.roots.push(value);
                continue;
            };
            let joined = match instruction.get_opcode() {
                InstructionOpcode::GetElementPtr
                | InstructionOpcode::BitCast
                | InstructionOpcode::AddrSpaceCast
                | InstructionOpcode::Freeze => {
                    waiting.extend(operand(instruction, 0));
                    continue;
                }
                InstructionOpcode::Phi if self.is_in(instruction, each) => incoming(instruction),
                InstructionOpcode::Select if self.is_in(instruction, each) => {
                    [operand(instruction, 1), operand(instruction, 2)].into_iter().flatten().collect()
                }
                _ => {
                    origin.roots.push(value);
                    continue;
                }
            };
            // A pointer that only advances from one iteration to the next is no joined pointer.
            let others: Vec<_> = joined.into_iter().filter(|other| start(*other) != value).collect();
            origin.is_joined |= others.len() > 1;
            waiting.extend(others);
        }
        origin
    }

    /// Whether memory of one of these roots may be memory of one of those.
    fn may_meet(&self, these: &[BasicValueEnum<'ctx>], those: &[BasicValueEnum<'ctx>]) -> bool {
        these.iter().any(|a| those.iter().any(|b| a == b || !(self.is_object(*a) && self.is_object(*b))))
    }

    /// Whether a root is known to share no memory with any other one.
    fn is_object(&self, root: BasicValueEnum<'ctx>) -> bool {
        if let Some(instruction) = root.as_instruction_value() {
            return instruction.get_opcode() == InstructionOpcode::Alloca;
        }
        let no_alias = Attribute::get_named_enum_kind_id("noalias");
        let parameter = self.function.get_param_iter().zip(0..).find(|(parameter, _)| *parameter == root);
        parameter.is_some_and(|(_, index)| {
            self.function.get_enum_attribute(AttributeLoc::Param(index), no_alias).is_some()
        })
    }

    /// The branches that lead back to the start of a loop.
    fn latches(&self, each: &Loop) -> Vec<InstructionValue<'ctx>> {
        let leads_back = |block: &&usize| {
            self.neighbours(**block, petgraph::Direction::Outgoing).any(|next| each.headers.contains(&next))
        };
        let blocks = each.blocks.iter().filter(leads_back);
        blocks.filter_map(|block| self.blocks[*block].get_terminator()).collect()
    }

    /// Whether metadata says that all accesses of a loop are independent of those of its other iterations.
    fn is_marked(
        &self,
        module: &Module<'ctx>,
        each: &Loop,
        accesses: &[(InstructionValue<'ctx>, BasicValueEnum<'ctx>)],
    ) -> bool {
        let context = module.get_context();
        let kind = context.get_kind_id("llvm.access.group");
        let groups = self.properties(module, each, PARALLEL_ACCESSES);
        let is_listed = |(access, _): &(InstructionValue<'ctx>, _)| {
            let Some(group) = access.get_metadata(kind) else { return false };
            // An access belongs to one group, or to all of a list.
            groups.contains(&group) || nodes(group).iter().any(|group| groups.contains(group))
        };
        !groups.is_empty() && accesses.iter().all(is_listed)
    }

    /// The operands of the properties of this name that a loop has.
    fn properties(&self, module: &Module<'ctx>, each: &Loop, name: &str) -> Vec<MetadataValue<'ctx>> {
        let kind = module.get_context().get_kind_id("llvm.loop");
        let loops = self.latches(each).into_iter().filter_map(|latch| latch.get_metadata(kind));
        let has_name = |property: &MetadataValue<'ctx>| {
            let first = nodes(*property).first().copied();
            first.is_some_and(|first| first.get_string_value() == Some(name.as_bytes()))
        };
        loops.flat_map(nodes).filter(|node| node.is_node()).filter(has_name).flat_map(nodes).collect()
    }

    fn forbid(&self, module: &Module<'ctx>, each: &Loop) -> Result<(), LlvmError> {
        let full_unroll = !self.properties(module, each, UNROLL_FULL).is_empty();
        let hints = LoopHints { no_vectors: true, full_unroll, ..LoopHints::default() };
        let failed = |message| LlvmError::Passes {
            program: module.get_name().to_string_lossy().into_owned(),
            message,
        };
        self.latches(each)
            .into_iter()
            .try_for_each(|latch| hints.write(module.get_context(), latch, &[]).map_err(failed))
    }
}

/// The address that an instruction loads from or stores to.
fn address(instruction: InstructionValue<'_>) -> Option<BasicValueEnum<'_>> {
    match instruction.get_opcode() {
        InstructionOpcode::Load | InstructionOpcode::AtomicRMW | InstructionOpcode::AtomicCmpXchg => {
            operand(instruction, 0)
        }
        InstructionOpcode::Store => operand(instruction, 1),
        _ => None,
    }
}

/// The values that a phi joins.
fn incoming(instruction: InstructionValue<'_>) -> Vec<BasicValueEnum<'_>> {
    PhiValue::try_from(instruction)
        .map(|phi| phi.get_incomings().map(|(value, _)| value).collect())
        .unwrap_or_default()
}

/// The base of an address.
fn start(mut address: BasicValueEnum<'_>) -> BasicValueEnum<'_> {
    while let Some(next) = address
        .as_instruction_value()
        .filter(|instruction| instruction.get_opcode() == InstructionOpcode::GetElementPtr)
        .and_then(|instruction| operand(instruction, 0))
    {
        address = next;
    }
    address
}

/// The nodes and strings that a node of metadata is made of.
fn nodes(node: MetadataValue<'_>) -> Vec<MetadataValue<'_>> {
    let values = node.get_node_values().unwrap_or_default();
    values
        .into_iter()
        .filter_map(|value| match value {
            BasicMetadataValueEnum::MetadataValue(node) => Some(node),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    use super::*;

    /// The number of loops that are forbidden in a loop over `i` with these statements.
    fn forbidden(parameters: &str, body: &str, metadata: &str) -> usize {
        let text = format!(
            "define void @f(i64 %n, {parameters}) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %g = getelementptr double, ptr %d, i64 %i
  %z = load double, ptr %g, !llvm.access.group !0
  %w = fcmp olt double %z, 0.0
  br i1 %w, label %then, label %join
then:
  br label %join
join:
{body}
  br label %latch
latch:
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %exit, !llvm.loop !1
exit:
  ret void
}}
!0 = distinct !{{}}
!1 = distinct !{{!1, !2}}
!2 = !{{{metadata}}}
\0"
        );
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        let module = context.create_module_from_ir(buffer).unwrap_or_else(|error| panic!("{error}"));
        let count = forbid_vectorisation(&module).unwrap();
        assert!(module.verify().is_ok());
        let marks = module.print_to_string().to_string().matches("llvm.loop.vectorize.enable").count();
        assert_eq!(marks, count, "{text}");
        count
    }

    const APART: &str = "ptr noalias %a, ptr noalias %c, ptr noalias %d";
    const NOTHING: &str = "!\"llvm.loop.unroll.disable\"";
    const PARALLEL: &str = "!\"llvm.loop.parallel_accesses\", !0";
    /// Loads from one of two arrays, and stores to `TARGET`.
    const LOAD: &str = "  %p = phi ptr [ %a, %loop ], [ %c, %then ]
  %q = getelementptr double, ptr %p, i64 %i
  %x = load double, ptr %q, !llvm.access.group !0
  %t = getelementptr double, ptr TARGET, i64 %next0
  %next0 = add i64 %i, 1
  store double %x, ptr %t, !llvm.access.group !0";

    fn load(target: &str) -> String {
        let late = "  %next0 = add i64 %i, 1\n";
        let text = LOAD.replace("TARGET", target).replace(late, "");
        text.replacen("  %q =", &format!("{late}  %q ="), 1)
    }

    #[test]
    fn a_fork_into_memory_that_the_loop_writes_is_found() {
        assert_eq!(forbidden(APART, &load("%c"), NOTHING), 1);
        // By a select, too.
        let select =
            load("%a").replace("phi ptr [ %a, %loop ], [ %c, %then ]", "select i1 %w, ptr %a, ptr %c");
        assert_eq!(forbidden(APART, &select, NOTHING), 1);
    }

    #[test]
    fn a_store_by_a_fork_is_found() {
        let store = "  %p = phi ptr [ %a, %loop ], [ %c, %then ]
  %q = getelementptr double, ptr %p, i64 %i
  store double 1.0, ptr %q";
        assert_eq!(forbidden(APART, store, NOTHING), 1);
    }

    #[test]
    fn forks_into_what_is_only_read_or_proved_independent_are_fine() {
        assert_eq!(forbidden(APART, &load("%d"), NOTHING), 0);
        assert_eq!(forbidden(APART, &load("%c"), PARALLEL), 0);
        // Not everything is in the group.
        let outside = load("%c").replace(", !llvm.access.group !0", "");
        assert_eq!(forbidden(APART, &outside, PARALLEL), 1);
    }

    #[test]
    fn parameters_that_may_overlap_may_meet() {
        assert_eq!(forbidden("ptr %a, ptr %c, ptr %d", &load("%d"), NOTHING), 1);
    }

    #[test]
    fn pointers_that_advance_and_addresses_without_choice_are_no_forks() {
        let plain = "  %q = getelementptr double, ptr %c, i64 %i
  store double 1.0, ptr %q";
        assert_eq!(forbidden(APART, plain, NOTHING), 0);
    }
}
