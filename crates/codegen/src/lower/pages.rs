//! Explanation pages of the refusal codes: the reason for the refusal, the remedy, and a wrong and a correct
//! program.

use sdfg::diagnostic::pages::{Entry, Example};

/// Pages of `sdfg explain` for each code of a [`Capability`](super::Capability), in order of names.
pub const PAGES: [Entry; 5] = [
    Entry {
        name: "T001",
        title: "the target has no hardware for a schedule",
        why: "Schedules of GPUs, FPGAs and ranks name the hardware that runs the iterations. Native code for a \
              CPU does not have this hardware. A schedule is a promise, so nothing else runs the scope instead.",
        action: "Use a schedule of the CPU (`cpu_multicore`, `sequential`, `simd`, `unrolled`) or none. `sdfg \
                 interpret` runs every schedule.",
        example: Some(Example::Programs {
            bad: include_str!("../../filetests/explain/t001_wrong.sdft"),
            good: include_str!("../../filetests/explain/t001_right.sdft"),
        }),
    },
    Entry {
        name: "T002",
        title: "the target has no memory for a storage",
        why: "Storages of GPUs and FPGAs, and of files, name the memory of a container. Native code for a CPU \
              cannot access it.",
        action: "Use a storage of the CPU (`cpu_heap`, `cpu_thread_local`, `register`) or none. `sdfg interpret` \
                 runs every storage.",
        example: Some(Example::Programs {
            bad: include_str!("../../filetests/explain/t002_wrong.sdft"),
            good: include_str!("../../filetests/explain/t002_right.sdft"),
        }),
    },
    Entry {
        name: "T003",
        title: "lanes cannot run a map of schedule `simd`",
        why: "The schedule `simd` runs the iterations of the last parameter on vector lanes, one instruction for \
              all of them. Therefore no iteration may write an element that another one accesses, the scope \
              contains only tasklets and copies, and lanes leave loops together. `docs/semantics.md` has the \
              complete list, under \"Map scopes\". The schedule is a promise: the iterations do not run one \
              after the other instead.",
        action: "Correct the construct that the message names, or use the schedule `sequential`, which runs one \
                 iteration after the other.",
        example: Some(Example::Programs {
            bad: include_str!("../../filetests/explain/t003_wrong.sdft"),
            good: include_str!("../../filetests/explain/t003_right.sdft"),
        }),
    },
    Entry {
        name: "T004",
        title: "lowering does not support a construct",
        why: "A few valid constructs have no native code yet: views whose extents are not known to be those of their \
              elements, and transients whose size is not known where their memory is needed. The message names the \
              construct.",
        action: "Rewrite the construct: use one view for each layout, or let sizes use symbols that do not change. \
                 `sdfg interpret` runs the program as it is.",
        example: Some(Example::Programs {
            bad: include_str!("../../filetests/explain/t004_wrong.sdft"),
            good: include_str!("../../filetests/explain/t004_right.sdft"),
        }),
    },
    Entry {
        name: "T005",
        title: "native code cannot export the name of the program",
        why: "A library exports functions with the name of the program. The name must be one of C, and no function \
              that compiled code, its libraries or the caller need: a library that exports `main` or `exp` changes \
              the meaning of calls elsewhere.",
        action: "Give the program another name. `--name` of `sdfg compile` and `sdfg run` does so without a change of \
                 the file.",
        example: Some(Example::Programs {
            bad: include_str!("../../filetests/explain/t005_wrong.sdft"),
            good: include_str!("../../filetests/explain/t005_right.sdft"),
        }),
    },
];
