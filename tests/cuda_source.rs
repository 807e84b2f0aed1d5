//! CUDA source: programs whose maps are kernels give the results of the interpreter. Kernels run on threads of this processor
//! (`tests/cuda/cuda_runtime.h`).

use sdfg::dtype::ScalarType;
use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::ir::Sdfg;
use sdfg::tensor::Tensor;
use sdfg::validate::{Validated, validate};
use sdfg::value::Value;
use sdfg_codegen::lower::{LowerError, LowerOptions, Target, lower};
use sdfg_codegen::plan::Plan;
use sdfg_codegen::source::{SourceOptions, cuda_source};
use sdfg_programs::programs::polybench::{KERNELS, arguments};
use sdfg_programs::random::check_on_device;
use sdfg_programs::trusted;
use sdfg_transforms::{Transformation, fixed_point, rewrites::GpuTransform};

fn parsed(source: &str) -> Validated {
    let program = sdfg::text::parse("program.sdft", source).unwrap_or_else(|errors| panic!("{errors:?}"));
    validate(program).unwrap_or_else(|rejected| panic!("{rejected}\n{source}"))
}

fn plan_of(program: &Validated) -> Result<Plan, LowerError> {
    let expanded = sdfg_library::expand(program.sdfg(), &sdfg_library::BuiltIn)
        .unwrap_or_else(|error| panic!("{error}"));
    let expanded = validate(expanded).unwrap_or_else(|rejected| panic!("{rejected}"));
    let options = LowerOptions { serial_components: true, ..LowerOptions::default() };
    lower(&expanded, &Target::cuda(), &options)
}

fn interpreted(program: &Validated, arguments: &Arguments) -> Arguments {
    let mut arguments = arguments.clone();
    let mut interpreter = Interpreter::new(program).unwrap_or_else(|error| panic!("{error}"));
    interpreter.run(&mut arguments, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    arguments
}

fn on_device(program: &Validated, arguments: &Arguments) -> Arguments {
    let plan = plan_of(program).unwrap_or_else(|error| panic!("{error}"));
    let library = trusted::through_cuda(&plan).unwrap_or_else(|error| panic!("{error}"));
    let mut arguments = arguments.clone();
    trusted::run(&library, &mut arguments, None).unwrap_or_else(|error| panic!("{error}"));
    arguments
}

/// The program with every map as a kernel that `GPUTransform` takes, and their number.
fn transformed(program: &Sdfg) -> (Validated, usize) {
    let mut program = program.clone();
    let transformation: Box<dyn Transformation> = Box::new(GpuTransform::default());
    let applied = fixed_point(&mut program, &[transformation], None);
    let program = validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
    (program, applied.iter().map(|tally| tally.applications).sum())
}

/// A real number or an integer.
fn number(value: Value) -> f64 {
    match value {
        Value::F64(value) => value,
        Value::F32(value) => f64::from(value),
        other => other.to_i64().map_or(f64::NAN, |value| value as f64),
    }
}

/// A small number in memory.
fn bytes(ty: ScalarType, value: i64) -> Vec<u8> {
    match ty {
        ScalarType::F32 => (value as f32).to_le_bytes().to_vec(),
        ScalarType::F64 => (value as f64).to_le_bytes().to_vec(),
        _ => value.to_le_bytes()[..ty.size()].to_vec(),
    }
}

fn kernels_of(source: &str) -> usize {
    source.matches("static __global__ ").count()
}

/// The kernels of PolyBench give the results of the interpreter, up to the accuracy of mathematical functions.
#[test]
fn polybench_runs_on_the_device() {
    let mut kernels = 0;
    for kernel in &KERNELS {
        let program = (kernel.build)().unwrap_or_else(|rejected| panic!("{}: {rejected}", kernel.name)).0;
        let given = arguments(kernel, &program, kernel.mini).unwrap_or_else(|error| panic!("{error}"));
        let (program, count) = transformed(program.sdfg());
        if count == 0 {
            continue;
        }
        let plan = plan_of(&program).unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
        let source = cuda_source(&plan, &SourceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(kernels_of(&source), count, "{}", kernel.name);
        kernels += count;
        let (expected, found) = (interpreted(&program, &given), on_device(&program, &given));
        for (name, expected) in expected.tensors() {
            let found = found.get(name).unwrap_or_else(|| panic!("{}: no `{name}`", kernel.name));
            for (expected, found) in expected.values().map(number).zip(found.values().map(number)) {
                let is_close = (expected - found).abs() <= 1e-12 * expected.abs().max(1.0);
                assert!(is_close || expected.is_nan() && found.is_nan(), "{}: `{name}`", kernel.name);
            }
        }
    }
    assert!(kernels >= 50, "{kernels} kernels");
}

/// Random programs; `cargo xtask random --target cuda` runs any number.
#[test]
fn random_programs_run_on_the_device() {
    let (mut kernels, mut blocks) = (0, 0);
    for seed in 6_000_000..6_000_032 {
        let counts = check_on_device(seed).unwrap_or_else(|failure| panic!("{failure}"));
        let applied = |name| counts.get(name).map_or(0, |outcomes| outcomes.applied);
        kernels += applied("GPUTransform");
        blocks += applied("gpu_block");
    }
    assert!(kernels > 15 && blocks > 10, "{kernels} kernels, {blocks} for blocks");
}

/// Threads of many blocks combine into few elements, by the atomic functions of the device.
#[test]
fn conflicts_are_resolved_by_atomic_functions() {
    const N: i64 = 5000;
    let types = [
        ScalarType::F32,
        ScalarType::F64,
        ScalarType::I8,
        ScalarType::U16,
        ScalarType::I32,
        ScalarType::U32,
        ScalarType::I64,
        ScalarType::U64,
    ];
    let resolutions = ["sum", "product", "min", "max"];
    let (mut containers, mut states) = (String::new(), String::new());
    let mut given = Arguments::new().with_symbol("N", N);
    for (ty, resolution) in types.iter().flat_map(|ty| resolutions.map(|resolution| (*ty, resolution))) {
        let (name, case) = (ty.name(), format!("{}_{resolution}", ty.name()));
        containers.push_str(&format!(
            "  array A_{case}: {name}[N] storage(gpu_global)\n  array S_{case}: {name}[4] storage(gpu_global)\n"
        ));
        states.push_str(&format!(
            "  state s_{case} {{
    access A_{case}
    access S_{case}
    map m [i = 0:N] schedule(gpu_grid) {{
      tasklet t (x) -> (y) {{ y = x }}
      m.A -> t.x: A_{case}[i]
      t.y -> m.S: S_{case}[i % 4] wcr({resolution})
    }}
    A_{case} -> m.A
    m.S -> S_{case}
  }}\n"
        ));
        // Products stay small: all but a few factors are 1.
        let value = |i: i64| if resolution == "product" { 1 + i64::from(i % 991 == 0) } else { i % 7 };
        let tensor = |values: &[i64]| {
            let bytes = values.iter().flat_map(|value| bytes(ty, *value)).collect();
            Tensor::from_bytes(ty.into(), vec![values.len() as i64], bytes)
                .unwrap_or_else(|error| panic!("{error}"))
        };
        given.set(format!("A_{case}"), tensor(&(0..N).map(value).collect::<Vec<i64>>()));
        given.set(format!("S_{case}"), tensor(&[1, 2, 3, 1]));
    }
    let program = parsed(&format!("sdfg combine {{\n  symbol N: i64\n{containers}{states}}}"));
    let (expected, found) = (interpreted(&program, &given), on_device(&program, &given));
    for (name, expected) in expected.tensors() {
        assert_eq!(Some(expected), found.get(name), "{name}");
    }
}

/// A program of the plan tests, without its plan.
fn planned(name: &str) -> Validated {
    let path = format!("{}/tests/plans/{name}.sdft", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{error}"));
    parsed(text.split("#= plan").next().unwrap_or_default())
}

fn small_numbers(shape: [i64; 2], factor: i64) -> Tensor {
    let bytes = (0..shape[0] * shape[1]).flat_map(|i| bytes(ScalarType::F64, (i * factor) % 7 - 3)).collect();
    Tensor::from_bytes(ScalarType::F64.into(), shape.to_vec(), bytes)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Threads of a block exchange values through memory of the block.
#[test]
fn blocks_share_memory() {
    let (product, relaxation) = (planned("blocks"), planned("barriers"));
    for n in [1, 8, 13, 24] {
        let mut given = Arguments::new().with_symbol("N", n);
        for (name, factor) in [("A", 3), ("B", 5), ("C", 2)] {
            given.set(name, small_numbers([n, n], factor));
        }
        let (expected, found) = (interpreted(&product, &given), on_device(&product, &given));
        assert_eq!(expected.get("C"), found.get("C"), "N = {n}");
    }
    let mut given = Arguments::new().with_symbol("N", 9);
    given.set("A", small_numbers([9, 32], 3));
    given.set("B", small_numbers([9, 32], 5));
    let (expected, found) = (interpreted(&relaxation, &given), on_device(&relaxation, &given));
    assert_eq!(expected.get("B"), found.get("B"));
}

/// The text of the refusal of a kernel with this grid, in which the threads of a block run `inner`.
fn refused(containers: &str, grid: &str, inner: &str) -> String {
    let program = parsed(&format!(
        "sdfg p {{
  symbol N: i64
  array A: f64[N, N] storage(gpu_global)
{containers}
  state s {{
    access A
    map m [i = 0:N] schedule(gpu_grid) {grid} {{
{inner}
    }}
    m.A -> A
  }}
}}"
    ));
    plan_of(&program).map_or_else(|error| error.to_string(), |_| "nothing".to_owned())
}

/// Blocks have limits, which lowering knows.
#[test]
fn blocks_have_limits() {
    let threads = |block: &str| {
        format!(
            "      map n [j = 0:N] schedule(gpu_block) {block} {{
        tasklet t () -> (y) {{ y = 1 }}
        t.y -> n.A: A[i, j]
      }}
      n.A -> m.A"
        )
    };
    assert_eq!(refused("", "", &threads("")), "nothing");
    let text = refused("", "block(N)", &threads(""));
    assert!(text.contains("a block of N threads"), "{text}");
    let text = refused("", "", &threads("block(2048)"));
    assert!(text.contains("not a number from 1 to 1024"), "{text}");
    let text = refused("", "block(64)", &threads("block(128)"));
    assert!(text.contains("a map for more than 64 threads of a block"), "{text}");
    let shared = |size: u64| {
        let containers = format!("  transient array T: f64[{size}] storage(gpu_shared)");
        let inner = "      access T
      tasklet t () -> (y) { y = 1 }
      tasklet u (x) -> (y) { y = x }
      t.y -> T: T[0]
      T -> u.x: T[0]
      u.y -> m.A: A[i, i]";
        refused(&containers, "", inner)
    };
    assert_eq!(shared(6 << 10), "nothing");
    let text = shared((6 << 10) + 1);
    assert!(text.contains("`T` with more than 49152 bytes in each block"), "{text}");
    let two = "  transient array T: f64[4096] storage(gpu_shared)\n  transient array U: f64[4096] storage(gpu_shared)";
    let inner = "      access T
      access U
      tasklet t () -> (y, z) { y = 1; z = 2 }
      tasklet u (x, z) -> (y) { y = x + z }
      t.y -> T: T[0]
      t.z -> U: U[0]
      T -> u.x: T[0]
      U -> u.z: U[0]
      u.y -> m.A: A[i, i]";
    let text = refused(two, "", inner);
    assert!(text.contains("65536 bytes that a block shares in the kernel `m` (at most 49152)"), "{text}");
}

/// A loop of a block ends by a condition over memory that its threads change: all threads see the same values.
#[test]
fn conditions_of_blocks_are_those_of_all_threads() {
    let program = parsed(
        "sdfg settle {
  symbol N: i64
  array A: f64[N, 32] storage(gpu_global)
  state s {
    access A
    access out = A
    map m [r = 0:N] schedule(gpu_grid) {
      nested halve (v) -> (v) with (R = r) sdfg halve {
        symbol R: i64
        array v: f64[32] storage(gpu_global)
        transient scalar left: f64 storage(gpu_shared)
        transient array w: f64[32] storage(gpu_shared)
        state begin {
          access left
          tasklet b () -> (y) { y = R + 2 }
          b.y -> left: left
        }
        while l: left > 0 {
          state step {
            access v
            access w
            access next = v
            access left
            access less = left
            map turn [i = 0:32] schedule(gpu_block) {
              tasklet t (x) -> (y) { y = x }
              turn.v -> t.x: v[31 - i]
              t.y -> turn.w: w[i]
            }
            map back [i = 0:32] schedule(gpu_block) {
              tasklet u (x) -> (y) { y = x + i }
              back.w -> u.x: w[i]
              u.y -> back.v: v[i]
            }
            tasklet d (x) -> (y) { y = x - 1 }
            v -> turn.v
            turn.w -> w
            w -> back.w
            back.v -> next
            left -> d.x: left
            d.y -> less: left
          }
        }
      }
      m.A -> halve.v: A[r, 0:32]
      halve.v -> m.out: A[r, 0:32]
    }
    A -> m.A
    m.out -> out
  }
}",
    );
    let mut given = Arguments::new().with_symbol("N", 5);
    given.set("A", small_numbers([5, 32], 3));
    let (expected, found) = (interpreted(&program, &given), on_device(&program, &given));
    assert_eq!(expected.get("A"), found.get("A"));
}
