//! Memory space of each buffer. This choice is made last, because it depends on the allocation, and
//! references lie in the memory of their targets.

use sdfg::ir::Storage;

use super::target::Target;
use crate::plan::{Allocation, BlockAccumulator, Buffer, BufferId, Level, Loop, Plan, Space, Statement};

/// The memory that a storage of the graph asks for; `None` where any memory that code of its place reaches will do.
pub(super) fn asked(storage: Storage) -> Option<Space> {
    match storage {
        Storage::Default | Storage::File => None,
        Storage::Register | Storage::FpgaRegister => Some(Space::Register),
        Storage::CpuHeap | Storage::CpuThreadLocal => Some(Space::HostHeap),
        Storage::CpuPinned => Some(Space::Pinned),
        Storage::GpuGlobal | Storage::FpgaGlobal => Some(Space::DeviceGlobal),
        Storage::GpuShared | Storage::FpgaLocal => Some(Space::BlockShared),
    }
}

/// Places every buffer, of which the graph asks for a storage each.
pub(super) fn assign_spaces(plan: &mut Plan, target: &Target, storages: &[Storage]) {
    for (buffer, storage) in plan.buffers.iter_mut().zip(storages) {
        buffer.space = space_of(buffer, target, *storage);
    }
    for (local, space) in kernel_locals(&plan.body) {
        plan.buffers[local.index()].space = space;
    }
    for index in 0..plan.buffers.len() {
        let id = BufferId(index as u32);
        if plan.is_reference(id)
            && let Some(owner) = plan.owners(id).first()
        {
            plan.buffers[index].space = plan.buffer(*owner).space;
        }
    }
}

/// Memory of the threads and blocks of kernels.
fn kernel_locals(body: &[Statement]) -> Vec<(BufferId, Space)> {
    let mut locals = Vec::new();
    for statement in body {
        if let Statement::Loop(Loop { level: Level::Grid(kernel), .. }) = statement {
            let space = if kernel.together.is_some() { Space::BlockShared } else { Space::Register };
            locals.extend(kernel.locals.iter().map(|local| (*local, space)));
            for BlockAccumulator { private, exchange } in &kernel.accumulators {
                let space = if exchange.is_some() { Space::Register } else { Space::BlockShared };
                locals.push((private.buffer, space));
                locals.extend(exchange.map(|exchange| (exchange, Space::BlockShared)));
            }
        }
        if let Statement::Loop(Loop { level: Level::Block(threads), .. }) = statement {
            locals.extend(threads.locals.iter().map(|local| (*local, Space::Register)));
        }
        statement.bodies().into_iter().for_each(|body| locals.extend(kernel_locals(body)));
    }
    locals
}

/// The memory of a buffer: what its storage asks for, if the target has that and code can choose. Registers are those of the threads of kernels, which
/// [`kernel_locals`] places; compilers decide what code of the host keeps there.
fn space_of(buffer: &Buffer, target: &Target, storage: Storage) -> Space {
    let asked = asked(storage).filter(|space| target.spaces.contains(space) && *space != Space::Register);
    let size = buffer.size.as_int().and_then(|size| u64::try_from(size).ok());
    let bytes = size.and_then(|size| size.checked_mul(buffer.element.size() as u64));
    match &buffer.allocation {
        Allocation::Constant(_) => Space::Constant,
        Allocation::Stack => Space::Stack,
        // A thread's own stack is at hand, and nobody waits for an allocator.
        Allocation::Thread if bytes.is_some_and(|bytes| bytes <= target.stack.of_thread) => Space::Stack,
        Allocation::Argument(_)
        | Allocation::Handle
        | Allocation::Persistent
        | Allocation::Thread
        | Allocation::Dynamic
        | Allocation::Queues { .. }
        | Allocation::Reference(_) => asked.unwrap_or(Space::HostHeap),
    }
}

#[cfg(test)]
mod tests {
    use sdfg::dtype::ScalarType;
    use sdfg::ir::Storage;
    use sdfg::symbolic::Expr;

    use super::space_of;
    use crate::lower::Target;
    use crate::plan::{Allocation, Buffer, Space};

    fn space(target: &Target, allocation: Allocation, size: i64, storage: Storage) -> Space {
        let buffer = Buffer::new("b".to_owned(), ScalarType::F64.into(), Expr::int(size), allocation);
        space_of(&buffer, target, storage)
    }

    #[test]
    fn memory_is_what_the_graph_asks_for_if_the_target_has_it() {
        let cpu = Target::cpu();
        let mut both = Target::cpu();
        both.spaces.extend([Space::Pinned, Space::DeviceGlobal, Space::BlockShared, Space::Register]);
        let handle = |target: &Target, storage| space(target, Allocation::Handle, 9999, storage);
        assert_eq!(handle(&cpu, Storage::CpuPinned), Space::HostHeap);
        assert_eq!(handle(&both, Storage::CpuPinned), Space::Pinned);
        assert_eq!(handle(&both, Storage::GpuGlobal), Space::DeviceGlobal);
        assert_eq!(handle(&both, Storage::GpuShared), Space::BlockShared);
        assert_eq!(handle(&both, Storage::Default), Space::HostHeap);
        assert_eq!(space(&cpu, Allocation::Stack, 4, Storage::Register), Space::Stack);
        // Code of the host has no memory of the name.
        assert_eq!(space(&both, Allocation::Stack, 4, Storage::Register), Space::Stack);
        assert_eq!(handle(&both, Storage::Register), Space::HostHeap);
        assert_eq!(space(&both, Allocation::Constant(Vec::new()), 4, Storage::GpuGlobal), Space::Constant);
    }

    #[test]
    fn what_a_thread_has_of_its_own_is_on_its_stack_up_to_a_limit() {
        let of_thread = |size| space(&Target::cpu(), Allocation::Thread, size, Storage::Default);
        assert_eq!((of_thread(2048), of_thread(2049)), (Space::Stack, Space::HostHeap));
    }
}
