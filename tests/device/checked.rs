//! Checked programs on a device: a kernel that would go wrong ends the run with the message of checked native code.

use sdfg::interpret::{Arguments, Interpreter, Options, RunError, tensors_of};
use sdfg::ir::{Schedule, Sdfg};
use sdfg::tensor::Tensor;
use sdfg::validate::{Validated, validate};
use sdfg_codegen::llvm::{self, CompileOptions};
use sdfg_codegen::load::Library;
use sdfg_codegen::lower::{LowerError, LowerOptions, lower};
use sdfg_programs::random::Device;
use sdfg_programs::trusted;
use sdfg_transforms::rewrites::GpuTransform;
use sdfg_transforms::{Transformation, fixed_point};

use super::parsed;

/// A program of which the maps are kernels, with symbols that make it go wrong and a part of the message, and symbols with which
/// it gives results, if there are any.
struct Faulty {
    body: &'static str,
    wrong: &'static [(&'static str, i64)],
    message: &'static str,
    right: &'static [(&'static str, i64)],
}

/// Bodies of programs over `A`, `B` and `T`, which lie on the device.
const FAULTY: &[Faulty] = &[
    Faulty {
        body: "  state s {
    access A
    access B
    map m [i = 0:N, j = 0:N] schedule(gpu_grid) {
      tasklet t (a) -> (b) { b = a }
      m.A -> t.a: A[i, j + Z]
      t.b -> m.B: B[i, j]
    }
    A -> m.A: A[0:N, 0:N]
    m.B -> B
  }",
        wrong: &[("N", 40), ("Z", 3)],
        message: "out of bounds: index 40 in dimension 1 of `A[i, Z + j]`",
        right: &[("N", 40), ("Z", 0)],
    },
    Faulty {
        body: "  state s {
    access A
    access B
    map m [i = 0:N, j = 0:N] schedule(gpu_grid) {
      tasklet t (a) -> (b) { b = a }
      m.A -> t.a: A[i, j]
      t.b -> m.B: B[i + Z, j]
    }
    A -> m.A
    m.B -> B: B[0:N, 0:N]
  }",
        wrong: &[("N", 9), ("Z", -5)],
        message: "out of bounds: index -5 in dimension 0 of `B[Z + i, j]`",
        right: &[("N", 9), ("Z", 0)],
    },
    Faulty {
        body: "  state s {
    access A
    access B
    map m [i = 0:N, j = 0:N] schedule(gpu_grid) {
      tasklet t (a) -> (b) { b = a[(i + j) * Z] }
      m.A -> t.a: A[i, 0:N]
      t.b -> m.B: B[i, j]
    }
    A -> m.A
    m.B -> B
  }",
        wrong: &[("N", 6), ("Z", 2)],
        message: "out of bounds: index 6 in dimension 1 of the memlet `A[i, 0:N]`",
        right: &[("N", 6), ("Z", 0)],
    },
    Faulty {
        body: "  state s {
    access A
    access B
    map m [i = 0:N, j = 0:N] schedule(gpu_grid) {
      tasklet t (a) -> (b) { b = a }
      m.A -> t.a: A[(3 * Z + i) // (3 * Z + 1), j]
      t.b -> m.B: B[i, j]
    }
    A -> m.A: A[0:N, 0:N]
    m.B -> B
  }",
        wrong: &[("N", 6), ("Z", 4_611_686_018_427_387_904)],
        message: "undefined index: `(i - 1) // (3*Z + 1) + 1` does not fit 64 bits",
        right: &[("N", 6), ("Z", 1)],
    },
    Faulty {
        body: "  state s {
    access T
    access B
    map w [i = 0:N, j = 0:Z] schedule(gpu_grid) {
      tasklet t () -> (b) { b = i + j }
      t.b -> w.T: T[i, j]
    }
    map m [i = 0:N, j = 0:N] schedule(gpu_grid) {
      tasklet u (a) -> (b) { b = a }
      m.T -> u.a: T[i, j]
      u.b -> m.B: B[i, j]
    }
    w.T -> T
    T -> m.T
    m.B -> B
  }",
        wrong: &[("N", 20), ("Z", 17)],
        message: "undefined read: element 17 of `T`, in the order of memory, was never written: `T[i, j]` at p/s/u reads it",
        right: &[("N", 20), ("Z", 20)],
    },
    Faulty {
        body: "  transient scalar x: i64
  state s {
    access A
    access B
    map m [i = 0:N, j = 0:N] schedule(gpu_grid) {
      access x
      tasklet t (a) -> (x) {
        if a >= Z:
          x = a
      }
      tasklet u (x) -> (b) { b = x + 1 }
      m.A -> t.a: A[i, j]
      t.x -> x: x dynamic
      x -> u.x
      u.b -> m.B: B[i, j]
    }
    A -> m.A
    m.B -> B
  }",
        wrong: &[("N", 7), ("Z", 4)],
        message: "undefined read: element 0 of `x`",
        right: &[("N", 7), ("Z", -100)],
    },
    Faulty {
        body: "  state s {
    access A
    access T
    access B
    map m [i = 0:N, j = 0:Z] schedule(gpu_grid) {
      tasklet t (a) -> (b) { b = a }
      m.A -> t.a: A[i, j]
      t.b -> m.T: T[i, j]
    }
    A -> m.A
    m.T -> T
    T -> B
  }",
        wrong: &[("N", 5), ("Z", 3)],
        message: "undefined read: element 3 of `T`, in the order of memory, was never written: the copy at",
        right: &[("N", 5), ("Z", 5)],
    },
    Faulty {
        body: "  state s {
    access A
    access T
    map m [i = 0:N, j = 0:Z] schedule(gpu_grid) {
      tasklet t (a) -> (b) { b = a }
      m.A -> t.a: A[i, j]
      t.b -> m.T: T[i, 0] wcr(sum)
    }
    A -> m.A
    m.T -> T
  }
  state r {
    access T
    access B
    map m [i = 0:N, j = 0:1] schedule(gpu_grid) {
      tasklet t (a) -> (b) { b = a }
      m.T -> t.a: T[i, 0]
      t.b -> m.B: B[i, 0]
    }
    T -> m.T
    m.B -> B
  }",
        wrong: &[("N", 5), ("Z", 3)],
        message: "undefined read: element 0 of `T`",
        right: &[],
    },
    Faulty {
        body: "  transient array S: i64[8] storage(gpu_shared)
  state s {
    access A
    access B
    map tiles [i = 0:N] schedule(gpu_grid) {
      access S
      map w [k = 0:Z] schedule(gpu_block) {
        tasklet t (a) -> (b) { b = a }
        w.A -> t.a: A[i, k]
        t.b -> w.S: S[k]
      }
      map r [k = 0:8] schedule(gpu_block) {
        tasklet u (a) -> (b) { b = a + 1 }
        r.S -> u.a: S[7 - k]
        u.b -> r.B: B[i, k]
      }
      tiles.A -> w.A
      w.S -> S
      S -> r.S
      r.B -> tiles.B
    }
    A -> tiles.A
    tiles.B -> B
  }",
        wrong: &[("N", 8), ("Z", 6)],
        message: "undefined read: element 7 of `S`",
        right: &[("N", 8), ("Z", 8)],
    },
    Faulty {
        body: "  transient array S: i64[8] storage(gpu_shared)
  state s {
    access A
    access B
    map tiles [i = 0:N] schedule(gpu_grid) {
      map steps [l = 0:3] schedule(sequential) {
        access S
        map w [k = 0:8] schedule(gpu_block) {
          tasklet t (a) -> (b) { b = a }
          w.A -> t.a: A[i, k + l * Z]
          t.b -> w.S: S[k]
        }
        map r [k = 0:8] schedule(gpu_block) {
          tasklet u (a) -> (b) { b = a + 1 }
          r.S -> u.a: S[7 - k]
          u.b -> r.B: B[i, k] wcr(sum)
        }
        steps.A -> w.A
        w.S -> S
        S -> r.S
        r.B -> steps.B
      }
      tiles.A -> steps.A
      steps.B -> tiles.B
    }
    A -> tiles.A: A[0:N, 0:N]
    tiles.B -> B
  }",
        wrong: &[("N", 12), ("Z", 3)],
        message: "out of bounds: index 12 in dimension 1 of `A[i, Z*l + k]`",
        right: &[("N", 12), ("Z", 2)],
    },
];

impl Faulty {
    fn program(&self) -> Validated {
        parsed(&format!(
            "sdfg p {{
  symbol N: i64
  symbol Z: i64
  array A: i64[N, N] storage(gpu_global)
  array B: i64[N, N] storage(gpu_global)
  transient array T: i64[N, N] storage(gpu_global)
{}
}}",
            self.body
        ))
    }
}

/// A checked library of a program on a device.
fn checked_on(program: &Validated, device: Device) -> Library {
    let options = LowerOptions { serial_components: true, checked: true, ..LowerOptions::default() };
    let plan = lower(program, &device.target(), &options).unwrap_or_else(|error| panic!("{error}"));
    device.load(&plan).unwrap_or_else(|error| panic!("{error}"))
}

/// The message with which checked native code ends the same program, whose maps are loops there.
fn message_of_the_processor(program: &Validated, arguments: &Arguments) -> String {
    let text = sdfg::text::print(program.sdfg());
    let text = ["schedule(gpu_grid)", "schedule(gpu_block)"]
        .iter()
        .fold(text, |text, word| text.replace(word, "schedule(sequential)"));
    let text =
        ["storage(gpu_global)", "storage(gpu_shared)"].iter().fold(text, |text, word| text.replace(word, ""));
    let program = parsed(&text);
    let options = CompileOptions { checked: true, ..CompileOptions::default() };
    let plan = lower(&program, &options.target(), &options.lowering());
    let object = llvm::compile(&plan.unwrap_or_else(|error| panic!("{error}")), &options);
    let library = Library::load(&object.unwrap_or_else(|error| panic!("{error}")));
    let library = library.unwrap_or_else(|error| panic!("{error}"));
    let mut arguments = arguments.clone();
    let end = trusted::run(&library, &mut arguments, None);
    end.expect_err("native code sees the fault").to_string()
}

/// Arguments with these symbols and small numbers.
pub(crate) fn given(program: &Sdfg, symbols: &[(String, i64)]) -> Arguments {
    let mut arguments = Arguments::new();
    for (name, value) in symbols {
        arguments.set_symbol(name, *value);
    }
    let value_of = |symbol: &sdfg::symbolic::Symbol| {
        symbols.iter().find(|(name, _)| name == symbol.as_str()).map(|(_, value)| *value)
    };
    for (_, container) in program.arguments() {
        let extents = container.shape().iter().map(|extent| extent.eval(&value_of));
        let extents: Vec<i64> = extents.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}"));
        for (name, shape) in tensors_of(container, extents, || 5) {
            let count = shape.iter().product::<i64>().max(0) * i64::from(container.element.lanes());
            let bytes = (0..count)
                .flat_map(|at| super::bytes(container.element.lane(), (at * 7 + 3) % 23 - 6))
                .collect();
            let tensor = Tensor::from_bytes(container.element, shape, bytes);
            arguments.set(name, tensor.unwrap_or_else(|error| panic!("{error}")));
        }
    }
    arguments
}

/// A fault in a kernel ends the run with the message of native code on the processor, and the next run on the same instance
/// is not affected.
pub(crate) fn faults_of_kernels_have_the_messages_of_the_processor(device: Device) {
    let symbols = |of: &[(&str, i64)]| -> Vec<(String, i64)> {
        of.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    };
    for faulty in FAULTY {
        let program = faulty.program();
        let library = checked_on(&program, device);
        let run = |symbols: &[(String, i64)]| {
            let mut arguments = given(program.sdfg(), symbols);
            let ended = trusted::run(&library, &mut arguments, None);
            ended.map(|()| arguments).map_err(|error| error.to_string())
        };
        let (wrong, right) = (symbols(faulty.wrong), symbols(faulty.right));
        let expected = message_of_the_processor(&program, &given(program.sdfg(), &wrong));
        assert!(expected.contains(faulty.message), "{expected} and not {}", faulty.message);
        // A failure leaves nothing behind.
        for _ in 0..2 {
            assert_eq!(run(&wrong).expect_err("a fault"), expected, "{}", faulty.body);
        }
        if right.is_empty() {
            continue;
        }
        let mut expected = given(program.sdfg(), &right);
        let mut interpreter = Interpreter::new(&program).unwrap_or_else(|error| panic!("{error}"));
        let ran = interpreter.run(&mut expected, &Options::default());
        ran.unwrap_or_else(|error| panic!("{error}\n{}", faulty.body));
        let found = run(&right).unwrap_or_else(|error| panic!("{error}\n{}", faulty.body));
        assert_eq!(expected.get("B"), found.get("B"), "{}", faulty.body);
    }
}

/// The first fault in the order of iterations is told, whichever thread comes first.
pub(crate) fn the_first_fault_is_told(device: Device) {
    let program = parsed(
        "sdfg p {
  symbol N: i64
  symbol Z: i64
  array A: i64[N] storage(gpu_global)
  array B: i64[N] storage(gpu_global)
  state s {
    access A
    access B
    map m [i = 0:N] schedule(gpu_grid) {
      tasklet t (a) -> (b) { b = a[Z - i] }
      m.A -> t.a: A[0:N]
      t.b -> m.B: B[i]
    }
    A -> m.A
    m.B -> B
  }
}",
    );
    let library = checked_on(&program, device);
    for _ in 0..8 {
        for first in [5000, 8999] {
            let symbols = [("N".to_owned(), 5000), ("Z".to_owned(), first)];
            let ended = trusted::run(&library, &mut given(program.sdfg(), &symbols), None);
            let message = ended.expect_err("a fault").to_string();
            assert!(message.contains(&format!("index {first} in dimension 0")), "{message}");
        }
    }
}

/// The programs of `agreement/traps` end with the same messages as kernels.
pub(crate) fn traps_are_seen_in_kernels(device: Device) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/codegen/tests/agreement/traps");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{error}"))
        .map(|entry| entry.unwrap_or_else(|error| panic!("{error}")).path())
        .collect();
    files.sort();
    let mut kernels = 0;
    for file in files {
        let source = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}"));
        let command = source.lines().find_map(|line| line.strip_prefix("#! test agree checked "));
        let command = command.unwrap_or_else(|| panic!("{}", file.display()));
        let (symbols, part) = command.split_once("-> trap ").unwrap_or_else(|| panic!("{command}"));
        let symbols: Vec<(String, i64)> = symbols
            .split_whitespace()
            .filter_map(|symbol| symbol.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.parse().unwrap_or_else(|_| panic!("{value}"))))
            .collect();
        let program = parsed(&source);
        let arguments = given(program.sdfg(), &symbols);
        let Some(moved) = as_kernels(program.sdfg()) else { continue };
        let mut interpreter = Interpreter::new(&moved).unwrap_or_else(|error| panic!("{error}"));
        let ended = interpreter.run(&mut arguments.clone(), &Options::default());
        assert!(matches!(ended, Err(RunError::Trap(_))), "{}", file.display());
        let options = LowerOptions { serial_components: true, checked: true, ..LowerOptions::default() };
        let plan = match lower(&moved, &device.target(), &options) {
            Ok(plan) => plan,
            Err(LowerError::Unsupported { .. }) => continue,
            Err(error) => panic!("{}: {error}", file.display()),
        };
        let library = device.load(&plan).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let ended = trusted::run(&library, &mut arguments.clone(), None);
        let message = ended.expect_err("a fault").to_string();
        // `GPUTransform` gives copies of arrays and their memlets other names.
        let kind = part.split(':').next().unwrap_or(part);
        assert!(message.contains(kind), "{}: {message}", file.display());
        kernels += 1;
    }
    assert!(kernels >= 5, "{kernels} programs with kernels");
}

/// The program with every map as a kernel that `GPUTransform` takes, if there is one.
pub(crate) fn as_kernels(program: &Sdfg) -> Option<Validated> {
    let mut program = program.clone();
    let transformation: Box<dyn Transformation> = Box::new(GpuTransform::default());
    fixed_point(&mut program, &[transformation], None);
    let is_kernel = |program: &Sdfg| {
        program.states().any(|(_, state)| {
            state.nodes().any(|(_, node)| {
                matches!(&node.kind, sdfg::ir::NodeKind::MapEntry(map) if matches!(map.schedule, Schedule::GpuGrid(_)))
            })
        })
    };
    is_kernel(&program).then(|| validate(program).unwrap_or_else(|rejected| panic!("{rejected}")))
}

/// One thread of a block runs what is in no map for threads, also where a check leaves it. PoCL let all threads combine.
pub(crate) fn one_thread_of_a_block_combines(device: Device) {
    let program = parsed(
        "sdfg combine {
  symbol N: i64
  array V: f64[4] storage(gpu_global)
  array R: f64[N] storage(gpu_global)
  transient array L: f64[4] storage(gpu_shared)
  state s {
    access V
    access R
    map o [i = 0:N] schedule(gpu_grid) {
      map m [j = 0:4:3] {
        tasklet t (x) -> (y) { y = 2.0 * x }
        m.L -> t.x: L[j]
        t.y -> m.R: R[N - i - 1] wcr(sum)
      }
      access K = L
      K -> m.L
      m.R -> o.R
      o.V -> K: V[0:4:3] -> L[0:4:3]
    }
    V -> o.V
    o.R -> R
  }
}",
    );
    let library = checked_on(&program, device);
    let mut arguments = Arguments::new().with_symbol("N", 3);
    arguments.set("V", Tensor::new(&[4], &[1.0, 0.0, 0.0, 3.0]).unwrap_or_else(|error| panic!("{error}")));
    arguments.set("R", Tensor::new(&[3], &[5.0, 6.0, 7.0]).unwrap_or_else(|error| panic!("{error}")));
    trusted::run(&library, &mut arguments, None).unwrap_or_else(|error| panic!("{error}"));
    let found: Option<Vec<f64>> = arguments.get("R").and_then(|tensor| tensor.to_vec().ok());
    assert_eq!(found, Some(vec![13.0, 14.0, 15.0]));
}
