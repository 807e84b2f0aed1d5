//! Programs whose maps are kernels give the results of the interpreter: the tests of every device.

pub(crate) mod calls;
pub(crate) mod checked;
pub(crate) mod queues;
pub(crate) mod start;
pub(crate) mod streams;

use sdfg::dtype::ScalarType;
use sdfg::interpret::{Arguments, Interpreter, Options};
use sdfg::ir::Sdfg;
use sdfg::tensor::Tensor;
use sdfg::validate::{Validated, validate};
use sdfg::value::Value;
use sdfg_codegen::lower::{LowerError, LowerOptions, lower};
use sdfg_codegen::plan::Plan;
use sdfg_codegen::source::{SourceOptions, cuda_driver_source, cuda_source, opencl_source};
use sdfg_library::ExpandLibrary;
use sdfg_programs::programs::polybench::{KERNELS, arguments};
use sdfg_programs::random::{CheckedCode, Device, Verdict, check_faulty, check_on_device, check_schedules};
use sdfg_transforms::rewrites::{GpuTransform, LocalStorage, MapExpansion, MapSchedule, MapTiling, Size};
use sdfg_transforms::{Match, Transformation, apply, fixed_point, places};

pub(crate) fn parsed(source: &str) -> Validated {
    let program = sdfg::text::parse("program.sdft", source).unwrap_or_else(|errors| panic!("{errors:?}"));
    validate(program).unwrap_or_else(|rejected| panic!("{rejected}\n{source}"))
}

pub(crate) fn plan_of(program: &Validated, device: Device) -> Result<Plan, LowerError> {
    let expanded = sdfg_library::expand(program.sdfg(), &sdfg_library::BuiltIn)
        .unwrap_or_else(|error| panic!("{error}"));
    let expanded = validate(expanded).unwrap_or_else(|rejected| panic!("{rejected}"));
    let options = LowerOptions { serial_components: true, ..LowerOptions::default() };
    lower(&expanded, &device.target(), &options)
}

pub(crate) fn interpreted(program: &Validated, arguments: &Arguments) -> Arguments {
    let mut arguments = arguments.clone();
    let mut interpreter = Interpreter::new(program).unwrap_or_else(|error| panic!("{error}"));
    interpreter.run(&mut arguments, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    arguments
}

pub(crate) fn on_device(program: &Validated, arguments: &Arguments, device: Device) -> Arguments {
    let plan = plan_of(program, device).unwrap_or_else(|error| panic!("{error}"));
    let runs = device.runs(&plan, arguments).unwrap_or_else(|error| panic!("{error}"));
    runs.into_iter().next().unwrap_or_default()
}

/// The program with every map as a kernel that `GPUTransform` takes, and their number.
pub(crate) fn transformed(program: &Sdfg) -> (Validated, usize) {
    let mut program = program.clone();
    let transformation: Box<dyn Transformation> = Box::new(GpuTransform::default());
    let applied = fixed_point(&mut program, &[transformation], None);
    let program = validate(program).unwrap_or_else(|rejected| panic!("{rejected}"));
    (program, applied.iter().map(|tally| tally.applications).sum())
}

/// A real number or an integer.
pub(crate) fn number(value: Value) -> f64 {
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
        _ if ty.is_complex() => [bytes(ty.component(), value), bytes(ty.component(), 1 - value)].concat(),
        _ => value.to_le_bytes()[..ty.size()].to_vec(),
    }
}

fn kernels_of(plan: &Plan, device: Device) -> usize {
    let options = SourceOptions::default();
    let (source, word) = match device {
        Device::Cuda => (cuda_source(plan, &options), "static __global__ "),
        Device::CudaDriver => (cuda_driver_source(plan, &options), " __global__ void "),
        Device::OpenCl => (opencl_source(plan, &options), "__kernel "),
    };
    let source = source.unwrap_or_else(|error| panic!("{error}"));
    // A kernel may have two versions.
    source.lines().filter(|line| line.contains(word) && !line.contains("_wide(")).count()
}

/// A third of the kernels of PolyBench gives the results of the interpreter, up to the accuracy of mathematical functions.
pub(crate) fn polybench_runs_on_the_device(device: Device, part: usize) {
    let mut kernels = 0;
    for kernel in KERNELS.iter().skip(part).step_by(3) {
        let program = (kernel.build)().unwrap_or_else(|rejected| panic!("{}: {rejected}", kernel.name)).0;
        let given = arguments(kernel, &program, kernel.mini).unwrap_or_else(|error| panic!("{error}"));
        let (program, count) = transformed(program.sdfg());
        if count == 0 {
            continue;
        }
        let plan = plan_of(&program, device).unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
        assert_eq!(kernels_of(&plan, device), count, "{}", kernel.name);
        kernels += count;
        let expected = interpreted(&program, &given);
        let runs = device.runs(&plan, &given).unwrap_or_else(|error| panic!("{error}"));
        for (found, (name, expected)) in
            runs.iter().flat_map(|run| expected.tensors().map(move |each| (run, each)))
        {
            let found = found.get(name).unwrap_or_else(|| panic!("{}: no `{name}`", kernel.name));
            for (expected, found) in expected.values().map(number).zip(found.values().map(number)) {
                let is_close = (expected - found).abs() <= 1e-12 * expected.abs().max(1.0);
                assert!(is_close || expected.is_nan() && found.is_nan(), "{}: `{name}`", kernel.name);
            }
        }
    }
    assert!(kernels >= 9, "{kernels} kernels");
}

/// Random programs; `cargo xtask random --target cuda|opencl` runs any number.
pub(crate) fn random_programs_run_on_the_device(device: Device, seeds: std::ops::Range<u64>) {
    let (mut kernels, mut blocks) = (0, 0);
    for seed in seeds {
        let counts = check_on_device(seed, device).unwrap_or_else(|failure| panic!("{failure}"));
        let applied = |name| counts.get(name).map_or(0, |outcomes| outcomes.applied);
        kernels += applied("GPUTransform");
        blocks += applied("gpu_block");
    }
    assert!(kernels > 8 && blocks > 3, "{kernels} kernels, {blocks} for blocks");
}

/// Programs with random schedules; `cargo xtask random --target cuda|opencl --schedules N` runs any number.
pub(crate) fn random_schedules_run_on_the_device(device: Device, seeds: std::ops::Range<u64>) {
    let (mut schedules, mut blocks) = (0, 0);
    for seed in seeds {
        let counts = check_schedules(seed, device, 3).unwrap_or_else(|failure| panic!("{failure}"));
        let applied = |name| counts.get(name).map_or(0, |outcomes| outcomes.applied);
        schedules += applied("schedules");
        blocks += applied("gpu_block");
    }
    assert!(schedules > 6 && blocks > 3, "{schedules} schedules, {blocks} for blocks");
}

/// Random programs with a memlet that a symbol displaces: checked kernels refuse the programs that the interpreter refuses.
pub(crate) fn checked_kernels_refuse_what_the_interpreter_refuses(
    device: Device,
    seeds: std::ops::Range<u64>,
) {
    let (mut refused, mut agreed) = (0, 0);
    for seed in seeds {
        let verdicts = check_faulty(seed, CheckedCode::OnDevice(device));
        for verdict in verdicts.unwrap_or_else(|failure| panic!("{failure}")) {
            refused += usize::from(verdict == Verdict::Refused);
            agreed += usize::from(verdict == Verdict::Agreed);
        }
    }
    assert!(refused > 20 && agreed > 10, "{refused} refused, {agreed} agree");
}

/// Types whose conflicts the tests resolve.
const COMBINED: [ScalarType; 8] = [
    ScalarType::F32,
    ScalarType::F64,
    ScalarType::I8,
    ScalarType::U16,
    ScalarType::I32,
    ScalarType::U32,
    ScalarType::I64,
    ScalarType::U64,
];

/// Threads of many blocks combine into few elements, by the atomic functions of the device. Only the caller knows how many these
/// are, so no block accumulates.
pub(crate) fn conflicts_are_resolved_by_atomic_functions(device: Device) {
    const N: i64 = 5000;
    let resolutions = ["sum", "product", "min", "max"];
    let (mut containers, mut states) = (String::new(), String::new());
    let mut given = Arguments::new().with_symbol("N", N).with_symbol("K", 4);
    let cases = COMBINED.iter().flat_map(|ty| resolutions.map(|resolution| (*ty, resolution)));
    for (ty, resolution) in cases {
        let (name, case) = (ty.name(), format!("{}_{resolution}", ty.name()));
        containers.push_str(&format!(
            "  array A_{case}: {name}[N] storage(gpu_global)\n  array S_{case}: {name}[K] storage(gpu_global)\n"
        ));
        states.push_str(&format!(
            "  state s_{case} {{
    access A_{case}
    access S_{case}
    map m [i = 0:N] schedule(gpu_grid) {{
      tasklet t (x) -> (y) {{ y = x }}
      m.A -> t.x: A_{case}[i]
      t.y -> m.S: S_{case}[i % K] wcr({resolution})
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
    let program =
        parsed(&format!("sdfg combine {{\n  symbol N: i64\n  symbol K: i64\n{containers}{states}}}"));
    let plan = plan_of(&program, device).unwrap_or_else(|error| panic!("{error}")).to_string();
    assert!(plan.contains(" atomic)") && !plan.contains("accumulated "), "{plan}");
    let (expected, found) = (interpreted(&program, &given), on_device(&program, &given, device));
    for (name, expected) in expected.tensors() {
        assert_eq!(Some(expected), found.get(name), "{name}");
    }
}

/// Blocks accumulate where the elements are few and known: single ones in registers and by a tree, others in memory of the block.
/// Blocks of any number of threads do so, also in kernels of several dimensions and of no iterations.
pub(crate) fn blocks_accumulate_before_they_combine(device: Device) {
    let resolutions = ["sum", "product", "min", "max"];
    let schedules = ["", "block(24)", "block(5, 3)", "block(1)"];
    let (mut containers, mut states) = (String::new(), String::new());
    let mut tensors = Vec::new();
    let mut trees = 0;
    for (number, ty) in COMBINED.iter().enumerate().filter(|(number, _)| [0, 2, 6].contains(number)) {
        let name = ty.name();
        containers.push_str(&format!("  array A{number}: {name}[N, 6] storage(gpu_global)\n"));
        let values: Vec<u8> = (0..600).flat_map(|i| bytes(*ty, 1 + i64::from(i % 97 == 0))).collect();
        tensors.push((format!("A{number}"), vec![100, 6], *ty, values));
        for (position, resolution) in resolutions.iter().enumerate() {
            let case = format!("{number}_{resolution}");
            let schedule = schedules[(number + position) % schedules.len()];
            // One dimension with a loop inside, two, or three.
            let (map, at, several) = match (number + position) % 3 {
                0 => ("i = 0:N, j = 0:i % 6 + 1", "i, j", "j"),
                1 => ("i = 0:N, j = 0:6", "i, j", "(i + j) % 5"),
                _ => ("k = 0:2, i = 0:N // 2, j = 0:6", "i + k * (N // 2), j", "5 - j"),
            };
            containers.push_str(&format!(
                "  array S{case}: {name}[1] storage(gpu_global)\n  array H{case}: {name}[6] storage(gpu_global)\n"
            ));
            states.push_str(&format!(
                "  state s{case} {{
    access A{number}
    access S{case}
    access H{case}
    map m [{map}] schedule(gpu_grid) {schedule} {{
      tasklet t (x) -> (y) {{ y = x }}
      m.A -> t.x: A{number}[{at}]
      t.y -> m.S: S{case}[0] wcr({resolution})
    }}
    map n [{map}] schedule(gpu_grid) {schedule} {{
      tasklet u (x) -> (y) {{ y = x }}
      n.A -> u.x: A{number}[{at}]
      u.y -> n.H: H{case}[{several}] wcr({resolution})
    }}
    A{number} -> m.A
    A{number} -> n.A
    m.S -> S{case}
    n.H -> H{case}
  }}\n"
            ));
            let few = |values: &[i64]| values.iter().flat_map(|value| bytes(*ty, *value)).collect();
            tensors.push((format!("S{case}"), vec![1], *ty, few(&[3])));
            tensors.push((format!("H{case}"), vec![6], *ty, few(&[1, 0, 2, 3, 1, 2])));
            trees += 1;
        }
    }
    let program = parsed(&format!("sdfg accumulate {{\n  symbol N: i64\n{containers}{states}}}"));
    let plan = plan_of(&program, device).unwrap_or_else(|error| panic!("{error}")).to_string();
    let count = |text: &str| plan.matches(text).count();
    assert_eq!((count(" by a tree in "), count(" of each block")), (trees, trees), "{plan}");
    // Threads of a block run one after the other here: a race between them changes nothing.
    assert_eq!(count(" atomic) { y = x }"), trees, "{plan}");
    for n in [100, 0] {
        let mut given = Arguments::new().with_symbol("N", n);
        for (name, shape, ty, values) in &tensors {
            let is_empty = n == 0 && name.starts_with('A');
            let (shape, values) =
                if is_empty { (vec![0, 6], Vec::new()) } else { (shape.clone(), values.clone()) };
            let tensor = Tensor::from_bytes((*ty).into(), shape, values);
            given.set(name.clone(), tensor.unwrap_or_else(|error| panic!("{error}")));
        }
        let (expected, found) = (interpreted(&program, &given), on_device(&program, &given, device));
        for (name, expected) in expected.tensors() {
            assert_eq!(Some(expected), found.get(name), "{name}, N = {n}");
        }
    }
}

/// A program of the plan tests, without its plan.
pub(crate) fn planned(name: &str) -> Validated {
    let path = format!("{}/tests/plans/{name}.sdft", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{error}"));
    parsed(text.split("#= plan").next().unwrap_or_default())
}

pub(crate) fn small_numbers<const RANK: usize>(shape: [i64; RANK], factor: i64) -> Tensor {
    let bytes = (0..shape.iter().product::<i64>())
        .flat_map(|i| bytes(ScalarType::F64, (i * factor) % 7 - 3))
        .collect();
    Tensor::from_bytes(ScalarType::F64.into(), shape.to_vec(), bytes)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A program that calls a nested SDFG for each of several steps, and a library node, which becomes a nested SDFG, too.
const CALLS: &str = "sdfg calls {
  symbol N: i64
  array A: f64[N, N]
  array B: f64[N, N]
  array C: f64[N, N]
  for steps: r = 0:N {
    state s {
      access A
      access B
      access next = A
      nested call (a, b) -> (a) with (N = N, row = r) sdfg inner {
        symbol N: i64
        symbol row: i64
        array a: f64[N, N]
        array b: f64[N, N]
        transient array t: f64[N]
        for l: k = 0:2 {
          state first {
            access a
            access b
            access t
            map m [i = 0:N] {
              tasklet f (x, z) -> (y) { y = x - 2 * z + k }
              m.a -> f.x: a[row, i]
              m.b -> f.z: b[i, row]
              f.y -> m.t: t[i]
            }
            a -> m.a
            b -> m.b
            m.t -> t
          }
          state second {
            access t
            access a
            access last = a
            tasklet g (x) -> (y) { y = x % 5 }
            t -> g.x: t[k % N]
            g.y -> a: a[row, N - 1]
            map n [i = 0:N - 1] {
              tasklet f (x) -> (y) { y = x % 3 }
              n.t -> f.x: t[i]
              f.y -> n.a: a[row, i]
            }
            t -> n.t
            n.a -> last
            order a -> n
          }
        }
      }
      A -> call.a: A[0:N, 0:N]
      B -> call.b: B[0:N, 0:N]
      call.a -> next: A[0:N, 0:N]
    }
  }
  state multiply {
    access A
    access B
    access C
    library product: MatMul (_a, _b) -> (_c) {}
    A -> product._a: A[0:N, 0:N]
    B -> product._b: B[0:N, 0:N]
    product._c -> C: C[0:N, 0:N]
  }
}";

/// Maps of nested SDFGs become kernels where they are, and so do those of library nodes that are expanded.
pub(crate) fn nested_sdfgs_have_kernels(device: Device) {
    let program = parsed(CALLS);
    let expand = ExpandLibrary::by("pure");
    let mut expanded = program.sdfg().clone();
    let found = places(&expanded, &expand).remove(0);
    apply(&mut expanded, &expand, &found).unwrap_or_else(|error| panic!("{error}"));
    let (kernels, count) = transformed(&expanded);
    assert!(count >= 3, "{count} kernels");
    for n in [1, 2, 7] {
        let mut given = Arguments::new().with_symbol("N", n);
        for (name, factor) in [("A", 3), ("B", 5), ("C", 2)] {
            given.set(name, small_numbers([n, n], factor));
        }
        let expected = interpreted(&parsed(&sdfg::text::print(&expanded)), &given);
        let on_memories = interpreted(&kernels, &given);
        let found = on_device(&kernels, &given, device);
        for name in ["A", "C"] {
            assert_eq!(expected.get(name), on_memories.get(name), "`{name}`, N = {n}");
            assert_eq!(expected.get(name), found.get(name), "`{name}`, N = {n}");
        }
    }
}

/// A kernel that gets scalars of the host, of which one changes behind each kernel.
const VALUES: &str = "sdfg scaled {
  symbol N: i64
  array A: f64[N] storage(gpu_global)
  scalar alpha: f64 storage(cpu_pinned)
  scalar count: i32 storage(cpu_pinned)
  scalar flag: bool storage(cpu_pinned)
  transient scalar own: f64 storage(cpu_pinned)
  state first {
    access alpha
    access own
    tasklet t (x) -> (y) { y = 2.0 * x }
    alpha -> t.x
    t.y -> own
  }
  for l: k = 0:3 {
    state s {
      access A
      access next = A
      access alpha
      access count
      access flag
      access own
      map m [i = 0:N] schedule(gpu_grid) {
        tasklet t (x, a, c, f, o) -> (y) { y = a * x + c + o if f else a }
        m.A -> t.x: A[i]
        m.alpha -> t.a: alpha
        m.count -> t.c: count
        m.flag -> t.f: flag
        m.own -> t.o: own
        t.y -> m.A: A[i]
      }
      A -> m.A
      alpha -> m.alpha
      count -> m.count
      flag -> m.flag
      own -> m.own
      m.A -> next
    }
    state change {
      access own
      access before = own
      tasklet t (x) -> (y) { y = x + 1 }
      before -> t.x
      t.y -> own
    }
    state read {
      access A
      access own
      A -> own: A[0] -> own
    }
  }
}";

/// Kernels are given the values that scalars of the host have when they start.
pub(crate) fn scalars_of_the_host_are_given_by_value(device: Device) {
    let program = parsed(VALUES);
    let mut given = Arguments::new().with_symbol("N", 300);
    given.set("A", small_numbers([300], 3));
    given.set("alpha", Tensor::scalar(0.5_f64));
    given.set("count", Tensor::scalar(3_i32));
    given.set("flag", Tensor::scalar(true));
    let (expected, found) = (interpreted(&program, &given), on_device(&program, &given, device));
    assert_eq!(expected.get("A"), found.get("A"));
    let written = VALUES
        .replace("{ y = a * x + c + o if f else a }", "{ y = a * x; z = c }")
        .replace("(x, a, c, f, o) -> (y)", "(x, a, c, f, o) -> (y, z)");
    let written = written.replace("t.y -> m.A: A[i]", "t.y -> m.A: A[i]\n        t.z -> m.own: own wcr(max)");
    let written =
        written.replace("m.A -> next", "m.A -> next\n      access after = own\n      m.own -> after");
    let refused =
        plan_of(&parsed(&written), device).map_or_else(|error| error.to_string(), |_| String::new());
    assert!(refused.contains("`own` in host memory in the kernel `m`"), "{refused}");
}

/// Threads of a block exchange values through memory of the block.
pub(crate) fn blocks_share_memory(device: Device) {
    let (product, relaxation, counts) = (planned("blocks"), planned("barriers"), planned("memory_of_blocks"));
    for n in [1, 8, 13, 24] {
        let mut given = Arguments::new().with_symbol("N", n);
        for (name, factor) in [("A", 3), ("B", 5), ("C", 2)] {
            given.set(name, small_numbers([n, n], factor));
        }
        let (expected, found) = (interpreted(&product, &given), on_device(&product, &given, device));
        assert_eq!(expected.get("C"), found.get("C"), "N = {n}");
    }
    let mut given = Arguments::new().with_symbol("N", 9);
    given.set("A", small_numbers([9, 32], 3));
    given.set("B", small_numbers([9, 32], 5));
    let (expected, found) = (interpreted(&relaxation, &given), on_device(&relaxation, &given, device));
    assert_eq!(expected.get("B"), found.get("B"));
    given.set("B", small_numbers([9, 4], 5));
    let (expected, found) = (interpreted(&counts, &given), on_device(&counts, &given, device));
    assert_eq!(expected.get("B"), found.get("B"));
}

/// A loop of a block ends by a condition over memory that its threads change: all threads see the same values.
pub(crate) fn conditions_of_blocks_are_those_of_all_threads(device: Device) {
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
    let (expected, found) = (interpreted(&program, &given), on_device(&program, &given, device));
    assert_eq!(expected.get("A"), found.get("A"));
}

/// A product of matrices is tiled by transformations: copies to memory of a block, and a map for its threads.
pub(crate) fn a_tiled_product_has_memory_of_blocks(device: Device) {
    let whole = parsed(
        "sdfg product {
  symbol M: i64
  symbol N: i64
  symbol K: i64
  array A: f64[M, K] storage(gpu_global)
  array B: f64[K, N] storage(gpu_global)
  array C: f64[M, N] storage(gpu_global)
  state s {
    access A
    access B
    access C
    map m [i = 0:M, j = 0:N, k = 0:K] schedule(gpu_grid) {
      tasklet t (a, b) -> (c) { c = a * b }
      m.A -> t.a: A[i, k]
      m.B -> t.b: B[k, j]
      t.c -> m.C: C[i, j] wcr(sum)
    }
    A -> m.A
    B -> m.B
    m.C -> C
  }
}",
    );
    let mut tiled = whole.sdfg().clone();
    let two = MapExpansion { dimensions: 2 };
    let stored = |array: &str| LocalStorage { array: array.to_owned(), ..LocalStorage::default() };
    let steps: [(&dyn Transformation, &[&str]); 6] = [
        (&MapTiling::new([8, 8, 8].map(Size::from)), &["m"]),
        (&two, &["m.tiles0"]),
        (&two, &["m"]),
        (&stored("A"), &["m.tiles0.inner0", "m"]),
        (&stored("B"), &["m.tiles0.inner0", "m"]),
        (&MapSchedule::new("gpu_block"), &["m"]),
    ];
    for (step, labels) in steps {
        let is_at = |found: &Match| {
            let label = |at| tiled.state(found.state()).node(found.node(at)).label.as_str();
            labels.iter().enumerate().all(|(at, wanted)| label(at) == *wanted)
        };
        let name = step.metadata().name;
        let found = places(&tiled, step).into_iter().find(is_at);
        let found = found.unwrap_or_else(|| panic!("{name} has no match at {labels:?}"));
        apply(&mut tiled, step, &found).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let tiled = validate(tiled).unwrap_or_else(|rejected| panic!("{rejected}"));
    let plan = plan_of(&tiled, device).unwrap_or_else(|error| panic!("{error}")).to_string();
    assert!(plan.contains("by 64 threads together"), "{plan}");
    assert_eq!((plan.matches("    shared ").count(), plan.matches("barrier").count()), (2, 2), "{plan}");
    for [m, n, k] in [[8, 16, 24], [13, 9, 10], [1, 3, 5]] {
        let mut given = Arguments::new().with_symbol("M", m).with_symbol("N", n).with_symbol("K", k);
        given.set("A", small_numbers([m, k], 3));
        given.set("B", small_numbers([k, n], 5));
        given.set("C", small_numbers([m, n], 2));
        let (expected, found) = (interpreted(&whole, &given), on_device(&tiled, &given, device));
        assert_eq!(expected.get("C"), found.get("C"), "{m} x {n} x {k}");
    }
}

/// Elements of 16 bits are computed in 32 bits and rounded on the device.
pub(crate) fn halves_are_rounded_on_the_device(device: Device) {
    let program = parsed(
        "sdfg halves {
  symbol N: i64
  array A: f16[N] storage(gpu_global)
  array B: f16[N] storage(gpu_global)
  state s {
    access A
    access B
    map m [i = 0:N] schedule(gpu_grid) {
      tasklet t (x) -> (y) { y = x * x + 0.125 }
      m.A -> t.x: A[i]
      t.y -> m.B: B[i]
    }
    A -> m.A
    m.B -> B
  }
}",
    );
    // 1, -1.5, 2, 255.9, the largest and the smallest number, and an infinity.
    let bits: [u16; 7] = [0x3c00, 0xbe00, 0x4000, 0x5bff, 0x7bff, 0x0001, 0xfc00];
    let bytes: Vec<u8> = bits.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    let tensor = Tensor::from_bytes(ScalarType::F16.into(), vec![7], bytes);
    let tensor = tensor.unwrap_or_else(|error| panic!("{error}"));
    let mut given = Arguments::new().with_symbol("N", 7);
    given.set("A", tensor.clone());
    given.set("B", tensor);
    let (expected, found) = (interpreted(&program, &given), on_device(&program, &given, device));
    assert_eq!(expected.get("B"), found.get("B"));
}
