//! Retargeting: the schedules and storages of one machine in the place of those of another one.
//!
//! A schedule names the executor of iterations, and never changes the results of a valid program. Therefore
//! the maps of a GPU kernel may run on the threads of a CPU: the blocks as a parallel map, the threads of a
//! block in it, one map after the other, as the barriers between them require. Memory of a device becomes
//! memory of the host, of which each iteration of the owning scope still has its own part. Copies between
//! both stay: they are copies between two containers. Code that calls functions of a device is not portable,
//! and stays as it is.

use std::fmt;

use sdfg::ir::draft::{DraftSdfg, DraftState};
use sdfg::ir::{NodeKind, Schedule, ScheduleKind, Sdfg, Storage};
use sdfg::path::{Element, ElementPath};

/// A machine that programs are retargeted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// The threads and the memory of the host.
    Cpu,
}

/// One changed attribute of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The map, the consume scope or the container.
    pub path: ElementPath,
    /// What it had and what it has now.
    pub what: Changed,
}

/// The attribute of a [`Change`] with its values before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// A scope runs elsewhere.
    Schedule(ScheduleKind, ScheduleKind),
    /// A container lies elsewhere.
    Storage(Storage, Storage),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match self.what {
            Changed::Schedule(from, to) => {
                write!(f, "{path}: schedule {} becomes {}", from.name(), to.name())
            }
            Changed::Storage(from, to) => write!(f, "{path}: storage {} becomes {}", from.name(), to.name()),
        }
    }
}

impl Machine {
    /// The schedule of this machine in the place of one that it lacks; `None` if the machine has it, or has no substitute.
    fn schedule(self, asked: ScheduleKind) -> Option<ScheduleKind> {
        match (self, asked) {
            // The outermost of such scopes runs on threads, and those in it in sequence.
            (
                Machine::Cpu,
                ScheduleKind::GpuGrid
                | ScheduleKind::GpuBlock
                | ScheduleKind::FpgaDevice
                | ScheduleKind::FpgaReplicated,
            ) => Some(ScheduleKind::Default),
            // Ranks are processes, for which threads are no substitute.
            (
                Machine::Cpu,
                ScheduleKind::Default
                | ScheduleKind::Sequential
                | ScheduleKind::Unrolled
                | ScheduleKind::Simd
                | ScheduleKind::CpuMulticore
                | ScheduleKind::Mpi,
            ) => None,
        }
    }

    /// The storage of this machine in the place of one that it lacks; `None` if the machine has it.
    fn storage(self, asked: Storage) -> Option<Storage> {
        match (self, asked) {
            (Machine::Cpu, Storage::GpuGlobal | Storage::FpgaGlobal) => Some(Storage::CpuHeap),
            (Machine::Cpu, Storage::GpuShared | Storage::FpgaLocal | Storage::FpgaRegister) => {
                Some(Storage::Default)
            }
            (
                Machine::Cpu,
                Storage::Default
                | Storage::Register
                | Storage::CpuHeap
                | Storage::CpuThreadLocal
                | Storage::CpuPinned
                | Storage::File,
            ) => None,
        }
    }
}

/// The schedule of a scope of the host inside of a kernel of a GPU, where each thread runs it alone; `None` if it keeps its own.
pub(crate) fn schedule_in_kernel(asked: ScheduleKind) -> Option<ScheduleKind> {
    match asked {
        ScheduleKind::Default | ScheduleKind::Simd | ScheduleKind::CpuMulticore => {
            Some(ScheduleKind::Sequential)
        }
        ScheduleKind::Sequential
        | ScheduleKind::Unrolled
        | ScheduleKind::GpuGrid
        | ScheduleKind::GpuBlock
        | ScheduleKind::FpgaDevice
        | ScheduleKind::FpgaReplicated
        | ScheduleKind::Mpi => None,
    }
}

/// The storage of a transient of the host inside of a kernel of a GPU, where it lies where it is used; `None` if it keeps its own.
pub(crate) fn storage_in_kernel(asked: Storage) -> Option<Storage> {
    match asked {
        Storage::CpuHeap | Storage::CpuThreadLocal | Storage::CpuPinned => Some(Storage::Default),
        Storage::Default
        | Storage::Register
        | Storage::GpuGlobal
        | Storage::GpuShared
        | Storage::FpgaGlobal
        | Storage::FpgaLocal
        | Storage::FpgaRegister
        | Storage::File => None,
    }
}

/// Gives an SDFG that a kernel of a GPU calls the schedules and storages that it has there, also in what it calls. Tells whether
/// something changed.
pub(crate) fn into_kernel(sdfg: &mut Sdfg) -> bool {
    let mut is_changed = false;
    let containers: Vec<_> = sdfg.containers().map(|(id, container)| (id, container.storage)).collect();
    for (id, storage) in containers {
        if let Some(to) = storage_in_kernel(storage) {
            sdfg.container_mut(id).storage = to;
            is_changed = true;
        }
    }
    let states: Vec<_> = sdfg.states().map(|(id, _)| id).collect();
    for state in states {
        let nodes: Vec<_> = sdfg.state(state).nodes().map(|(id, _)| id).collect();
        for node in nodes {
            match &mut sdfg.state_mut(state).node_mut(node).kind {
                NodeKind::MapEntry(map) => {
                    if let Some(to) = schedule_in_kernel(map.schedule.kind()) {
                        map.schedule = Schedule::from(to);
                        is_changed = true;
                    }
                }
                NodeKind::Nested(nested) => is_changed |= into_kernel(&mut nested.sdfg),
                NodeKind::Access(_)
                | NodeKind::Tasklet(_)
                | NodeKind::MapExit(_)
                | NodeKind::ConsumeEntry(_)
                | NodeKind::ConsumeExit(_)
                | NodeKind::Reduce(_)
                | NodeKind::Library(_) => {}
            }
        }
    }
    is_changed
}

/// Gives a program, with everything nested in it, the schedules and storages of a machine in the place of
/// those that the machine lacks. Attributes of the old levels, such as extents of GPU blocks, are dropped.
///
/// Returns the changes in the order of the elements. The program need not be valid: memory that a scope cannot
/// reach is often an error of the old target alone.
pub fn retarget(sdfg: &mut Sdfg, machine: Machine) -> Vec<Change> {
    let mut changes = Vec::new();
    let path = ElementPath::sdfg(&sdfg.name);
    retarget_within(sdfg, machine, &path, &mut changes);
    changes
}

fn retarget_within(sdfg: &mut Sdfg, machine: Machine, path: &ElementPath, changes: &mut Vec<Change>) {
    let containers: Vec<_> = sdfg.containers().map(|(id, _)| id).collect();
    for id in containers {
        let container = sdfg.container(id);
        let from = container.storage;
        if let Some(to) = machine.storage(from) {
            let path = path.to(Element::Container(container.name.clone()));
            changes.push(Change { path, what: Changed::Storage(from, to) });
            sdfg.container_mut(id).storage = to;
        }
    }
    let states: Vec<_> = sdfg.states().map(|(id, _)| id).collect();
    for state in states {
        let path = path.enter(&sdfg.state(state).label);
        let nodes: Vec<_> = sdfg.state(state).nodes().map(|(id, _)| id).collect();
        for node in nodes {
            let path = path.enter(&sdfg.state(state).node(node).label);
            let schedule = match &mut sdfg.state_mut(state).node_mut(node).kind {
                NodeKind::MapEntry(map) => &mut map.schedule,
                NodeKind::ConsumeEntry(consume) => &mut consume.schedule,
                NodeKind::Reduce(reduce) => {
                    if let Some(to) = machine.schedule(reduce.schedule) {
                        let what = Changed::Schedule(reduce.schedule, to);
                        changes.push(Change { path, what });
                        reduce.schedule = to;
                    }
                    continue;
                }
                NodeKind::Nested(nested) => {
                    retarget_within(&mut nested.sdfg, machine, &path, changes);
                    continue;
                }
                NodeKind::Access(_)
                | NodeKind::Tasklet(_)
                | NodeKind::MapExit(_)
                | NodeKind::ConsumeExit(_)
                | NodeKind::Library(_) => continue,
            };
            let from = schedule.kind();
            if let Some(to) = machine.schedule(from) {
                changes.push(Change { path, what: Changed::Schedule(from, to) });
                *schedule = Schedule::from(to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sdfg::interpret::{Arguments, Interpreter, Options};
    use sdfg::tensor::Tensor;

    use super::*;

    /// A kernel of two blocks of two threads: the threads of a block exchange elements through shared memory.
    const KERNEL: &str = "sdfg p {
  array A: f64[4]
  array B: f64[4]
  transient array device: f64[4] storage(gpu_global)
  transient array result: f64[4] storage(gpu_global)

  state s {
    access A
    access device
    access result
    access B
    A -> device
    map grid [b = 0:2] schedule(gpu_grid) block(2) {
      nested block (d) -> (r) with (b = b) sdfg block_of {
        symbol b: i64
        array d: f64[4] storage(gpu_global)
        array r: f64[4] storage(gpu_global)
        transient array own: f64[2] storage(gpu_shared)
        state exchange {
          access d
          access own
          access r
          map load [t = 0:2] schedule(gpu_block) {
            tasklet copy (x) -> (y) { y = x }
            load.d -> copy.x: d[2*b + t]
            copy.y -> load.own: own[t]
          }
          d -> load.d
          load.own -> own
          map store [t = 0:2] schedule(gpu_block) {
            tasklet swap (x) -> (y) { y = 10 * x }
            store.own -> swap.x: own[1 - t]
            swap.y -> store.r: r[2*b + t]
          }
          own -> store.own
          store.r -> r
        }
      }
      grid.device -> block.d: device[0:4]
      block.r -> grid.result: result[0:4]
    }
    device -> grid.device
    grid.result -> result
    result -> B
  }
}";

    fn run(sdfg: Sdfg) -> Vec<f64> {
        let program = sdfg::validate::validate(sdfg).unwrap_or_else(|rejected| panic!("{rejected}"));
        let mut arguments = Arguments::new();
        arguments.set("A", Tensor::new(&[4], &[1.0, 2.0, 3.0, 4.0]).unwrap());
        arguments.set("B", Tensor::new(&[4], &[0.0; 4]).unwrap());
        let result = Interpreter::new(&program).unwrap().run(&mut arguments, &Options::default());
        result.unwrap_or_else(|error| panic!("{error}"));
        arguments.get("B").unwrap().to_vec().unwrap()
    }

    #[test]
    fn kernels_of_gpus_run_on_threads() {
        let kernel = sdfg::text::parse("p.sdft", KERNEL).unwrap_or_else(|errors| panic!("{errors:?}"));
        let mut portable = kernel.clone();
        let changes = retarget(&mut portable, Machine::Cpu);
        let told: Vec<String> = changes.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "p/container device: storage gpu_global becomes cpu_heap",
                "p/container result: storage gpu_global becomes cpu_heap",
                "p/s/grid: schedule gpu_grid becomes default",
                "p/s/block/container d: storage gpu_global becomes cpu_heap",
                "p/s/block/container r: storage gpu_global becomes cpu_heap",
                "p/s/block/container own: storage gpu_shared becomes default",
                "p/s/block/exchange/load: schedule gpu_block becomes default",
                "p/s/block/exchange/store: schedule gpu_block becomes default",
            ]
        );
        assert_eq!(run(kernel), [20.0, 10.0, 40.0, 30.0]);
        assert_eq!(run(portable.clone()), [20.0, 10.0, 40.0, 30.0]);
        assert_eq!(retarget(&mut portable, Machine::Cpu), []);
    }

    #[test]
    fn every_schedule_and_storage_of_a_device_has_a_substitute() {
        let devices = ["gpu_", "fpga_"];
        let of_device = |name: &str| devices.iter().any(|device| name.starts_with(device));
        for kind in ScheduleKind::ALL {
            let found = Machine::Cpu.schedule(kind);
            assert_eq!(found.is_some(), of_device(kind.name()), "{}", kind.name());
            assert!(found.is_none_or(|found| Machine::Cpu.schedule(found).is_none()));
        }
        for storage in Storage::ALL {
            let found = Machine::Cpu.storage(storage);
            assert_eq!(found.is_some(), of_device(storage.name()), "{}", storage.name());
            assert!(found.is_none_or(|found| Machine::Cpu.storage(found).is_none()));
        }
    }
}
