//! Runs that callers start on streams of their own. The callers are programs in C, in the folder beside.

use std::path::Path;
use std::process::Command;

use sdfg::validate::Validated;
use sdfg_codegen::header::c_header;
use sdfg_codegen::source::{CCompiler, SourceOptions, cuda_source};
use sdfg_programs::random::Device;
use sdfg_programs::trusted;

use super::{parsed, plan_of};

/// Two chains of kernels, which go to different streams.
pub(crate) fn started() -> Validated {
    let chain = |number: u32, from: &str, to: &str| {
        format!(
            "    access {from}
    access t{number}
    access {to}
    map first{number} [i = 0:N] schedule(gpu_grid) {{
      tasklet f{number} (x) -> (y) {{ y = 2.0 * x }}
      first{number}.x -> f{number}.x: {from}[i]
      f{number}.y -> first{number}.t: t{number}[N - 1 - i]
    }}
    map second{number} [i = 0:N] schedule(gpu_grid) {{
      tasklet g{number} (x) -> (y) {{ y = x + 1.0 }}
      second{number}.t -> g{number}.x: t{number}[i]
      g{number}.y -> second{number}.y: {to}[i]
    }}
    {from} -> first{number}.x
    first{number}.t -> t{number}
    t{number} -> second{number}.t
    second{number}.y -> {to}\n"
        )
    };
    let arrays =
        ["A", "B", "C", "D"].map(|name| format!("  array {name}: f64[N] storage(gpu_global)\n")).concat();
    let transients =
        [1, 2].map(|number| format!("  transient array t{number}: f64[N] storage(gpu_global)\n")).concat();
    let (one, two) = (chain(1, "A", "B"), chain(2, "C", "D"));
    parsed(&format!("sdfg started {{\n  symbol N: i64\n{arrays}{transients}  state s {{\n{one}{two}  }}\n}}"))
}

/// A transient of the host, a scalar by value, and a result of the host, all of which commands copy.
fn through_host(with_scalar: bool) -> Validated {
    let [scalar, on_device, state, edge, added] = if with_scalar {
        [
            "  scalar s: f64\n",
            "  transient scalar S: f64 storage(gpu_global)\n",
            "    access s\n    access S\n",
            "    s -> S\n    S -> m.S\n",
            "      m.S -> t.z: S\n",
        ]
    } else {
        [""; 5]
    };
    let (connectors, sum) = if with_scalar { ("(x, z)", "x + z") } else { ("(x)", "x") };
    parsed(&format!(
        "sdfg through_host {{
  symbol N: i64
  array A: f64[N]
  array B: f64[N] storage(gpu_global)
  array H: f64[N]
{scalar}{on_device}  transient array T: f64[N]
  transient array U: f64[N] storage(gpu_global)
  state one {{
    access A
    access T
    map h [i = 0:N] {{
      tasklet v (x) -> (y) {{ y = x + 1.0 }}
      h.A -> v.x: A[i]
      v.y -> h.T: T[i]
    }}
    A -> h.A
    h.T -> T
  }}
  state two {{
    access T
    access U
{state}    access B
    access H
    map m [i = 0:N] schedule(gpu_grid) {{
      tasklet t {connectors} -> (y) {{ y = {sum} }}
      m.U -> t.x: U[i]
{added}      t.y -> m.B: B[i]
    }}
    T -> U
    U -> m.U
{edge}    m.B -> B
    B -> H
  }}
}}"
    ))
}

/// One kernel.
fn single() -> Validated {
    parsed(
        "sdfg single {
  symbol N: i64
  array A: f64[N] storage(gpu_global)
  array B: f64[N] storage(gpu_global)
  state s {
    access A
    access B
    map m [i = 0:N] schedule(gpu_grid) {
      tasklet t (x) -> (y) { y = 2.0 * x }
      m.A -> t.x: A[i]
      t.y -> m.B: B[i]
    }
    A -> m.A
    m.B -> B
  }
}",
    )
}

/// Compiles a caller with a program, and runs it.
pub(crate) fn runs(program: &Validated, caller: &str, definitions: &[&str], device: Device) {
    let plan = plan_of(program, device).unwrap_or_else(|error| panic!("{error}"));
    assert!(plan.command_streams > 0, "{plan}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let name = &program.sdfg().name;
    let file = |name: String| folder.path().join(name);
    let include = |path: &Path| format!("-DPROGRAM=\"{}\"", path.display());
    let mut command = Command::new(if device == Device::Cuda { "g++" } else { "gcc" });
    command.args(["-O0", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]).args(definitions);
    let source = root.join("tests/device/start").join(caller);
    if device == Device::Cuda {
        // The stand-in is a header, so the caller includes the program.
        let text = cuda_source(&plan, &SourceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        std::fs::write(file("program.cu".to_owned()), text).expect("the source is written");
        command.args([
            "-DCUDA",
            "-std=c++17",
            "-fopenmp",
            "-Wno-unknown-pragmas",
            "-Wno-tautological-compare",
        ]);
        command.arg(include(&file("program.cu".to_owned())));
        command.args(["-x", "c++"]).arg(&source).arg("-isystem").arg(root.join("tests/cuda"));
    } else {
        let header = c_header(&plan.interface().unwrap_or_else(|error| panic!("{error}")));
        std::fs::write(file(format!("{name}.h")), header).expect("the header is written");
        let library = file(format!("lib{name}.so"));
        let built = match device {
            Device::OpenCl => CCompiler::new("gcc", &["-O0", "-Wall", "-Wextra", "-Werror"])
                .with_opencl()
                .shared_library(&plan, &SourceOptions::default(), &library)
                .map_err(|error| error.to_string()),
            Device::Cuda | Device::CudaDriver => trusted::library_through_cuda_driver(&plan, &library),
        };
        built.unwrap_or_else(|error| panic!("{error}"));
        command.args(["-std=gnu11"]).arg(include(&file(format!("{name}.h"))));
        command.arg(match device {
            Device::OpenCl => "-DOPENCL".to_owned(),
            Device::Cuda | Device::CudaDriver => {
                let driver =
                    trusted::stand_in_for_the_cuda_driver().unwrap_or_else(|error| panic!("{error}"));
                format!("-DCUDA_DRIVER=\"{}\"", driver.display())
            }
        });
        command.arg(&source).arg(&library).arg(format!("-Wl,-rpath,{}", folder.path().display()));
    }
    let binary = file("caller".to_owned());
    let output = command.arg("-o").arg(&binary).arg("-ldl").output().expect("a C compiler");
    assert!(output.status.success(), "{caller}: {}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&binary).output().expect("the caller starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{caller} with {definitions:?}: {} {text}\n{plan}", output.status);
}

/// A run in a stream of the caller follows the commands there, and those behind follow it; the call returns before.
pub(crate) fn runs_are_commands_of_the_callers_stream(device: Device) {
    runs(&started(), "streams.c", &[], device);
}

/// A run whose end fails leaves no command under way, and the failure of a run is that of one later run.
pub(crate) fn ends_of_started_runs_may_fail(device: Device) {
    runs(&single(), "ends.c", &[], device);
}

/// Memory of the host that commands of a run use is there as long as they need it.
pub(crate) fn memory_of_the_host_lasts_for_started_runs(device: Device) {
    runs(&through_host(false), "host.c", &["-DSCALAR(value)=", "-DADDED(value)=0"], device);
    runs(&through_host(true), "host.c", &["-DSCALAR(value)=value,", "-DADDED(value)=value"], device);
}

/// A call of Rust starts runs on memory of the device or of the host, and waits for them.
pub(crate) fn calls_start_runs(device: Device) {
    const N: i64 = 50;
    let plan = plan_of(&through_host(true), device).unwrap_or_else(|error| panic!("{error}"));
    let library = device.load(&plan).unwrap_or_else(|error| panic!("{error}"));
    let (a, mut b, mut h) = (vec![2.0; N as usize], vec![0.0; N as usize], vec![0.0; N as usize]);
    let shape = [N as usize];
    let call =
        library.call().array("A", &a, &shape).array_mut("B", &mut b, &shape).array_mut("H", &mut h, &shape);
    let mut call = call.scalar("s", 4.0).prepare().unwrap_or_else(|error| panic!("{error}"));
    for _ in 0..4 {
        trusted::start(&mut call).unwrap_or_else(|error| panic!("{error}"));
    }
    drop(call);
    // `A` lies in memory of the host.
    let refused = library.call().symbol("N", N).scalar("s", 4.0).device_memory("A", std::ptr::dangling_mut());
    let error = refused.array_mut("B", &mut b, &shape).array_mut("H", &mut h, &shape).prepare();
    let error = error.expect_err("the program takes it on the host").to_string();
    assert!(
        error.contains("`A` was given in memory of a device") && error.contains("is not `gpu_global`"),
        "{error}"
    );
    assert_eq!((b, h), (vec![7.0; N as usize], vec![7.0; N as usize]));
}
