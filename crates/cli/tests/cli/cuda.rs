//! `--target cuda`, with stand-ins for the driver and for NVRTC (`tests/cuda` of the root): runs, libraries, failures of the device,
//! the cache of kernels, and images in libraries.

#[path = "../../../../tests/cuda/stand_ins.rs"]
mod stand_ins;

use std::path::Path;

use crate::programs::DOUBLE;
use crate::{Answer, Bench};

/// A folder with a program whose map is a kernel, and the stand-ins.
struct OnCuda {
    bench: Bench,
    driver: String,
    nvrtc: String,
}

const RUN: [&str; 8] = ["run", "gpu.sdft", "--target", "cuda", "--set", "N=3", "-i", "A=range"];

impl OnCuda {
    fn new() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cuda");
        let folder = folder.canonicalize().expect("a folder");
        let stand_ins = stand_ins::StandIns::built(&folder).unwrap_or_else(|error| panic!("{error}"));
        let bench = Bench::new();
        bench.file("p.sdft", DOUBLE);
        bench.run(&["transform", "p.sdft", "GPUTransform", "--everywhere", "-o", "gpu.sdft"]).prints(&[]);
        let text = |path: std::path::PathBuf| path.display().to_string();
        OnCuda { bench, driver: text(stand_ins.driver), nvrtc: text(stand_ins.nvrtc) }
    }

    /// Runs a command with the stand-ins, and with these variables.
    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Answer {
        let both = [("SDFG_CUDA_DRIVER", self.driver.as_str()), ("SDFG_NVRTC", self.nvrtc.as_str())];
        self.bench.run_with(arguments, "", &[&both, variables].concat())
    }

    /// The names of kernels in the cache.
    fn cached(&self) -> Vec<std::path::PathBuf> {
        let folder = std::fs::read_dir(self.bench.cache.path()).expect("a folder");
        let mut paths: Vec<_> = folder.map(|entry| entry.expect("an entry").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "sdfg-kernels"));
        paths
    }
}

#[test]
fn kernels_run_by_the_driver() {
    let cuda = OnCuda::new();
    cuda.run(&RUN, &[]).prints(&["0.0, 2.0, 4.0"]);
    cuda.run(&[&RUN[..], &["--checked", "--repeat", "3"]].concat(), &[]).prints(&["0.0, 2.0, 4.0"]);
    for device in ["1", "S90", "Stand-in S8"] {
        cuda.run(&RUN, &[("SDFG_DEVICE", device)]).prints(&["0.0, 2.0, 4.0"]);
    }
    let profile = cuda.run(&[&RUN[..], &["--profile"]].concat(), &[]);
    profile.prints(&["0.0, 2.0, 4.0"]);
    for line in ["kernel           1", "twofold_all", "to the device", "to the host"] {
        assert!(profile.stderr.contains(line), "no `{line}` in {profile:#?}");
    }
    cuda.run(&[&RUN[..], &["--trace", "trace.json"]].concat(), &[]).prints(&["0.0, 2.0, 4.0"]);
    let trace = std::fs::read_to_string(cuda.bench.path("trace.json")).expect("a trace");
    assert!(trace.contains("\"name\": \"twofold_all\", \"cat\": \"kernel\""), "{trace}");
}

/// `--device-streams` limits the streams of a device. With one, the host waits for each copy, and plans have no streams.
#[test]
fn users_limit_the_streams_of_a_device() {
    let cuda = OnCuda::new();
    let one = ["--device-streams", "1"];
    let plan = ["compile", "gpu.sdft", "--target", "cuda", "--emit", "plan"];
    cuda.run(&plan, &[]).prints(&["command streams 1, events 0", "stream 0 {"]);
    let alone = cuda.run(&[&plan[..], &one].concat(), &[]);
    alone.prints(&["grid all"]);
    assert!(!alone.stdout.contains("stream"), "{alone:#?}");
    let two = cuda.run(&[&plan[..], &["--device-streams", "2"]].concat(), &[]);
    two.prints(&["command streams 1, events 0", "stream 0 {"]);
    cuda.run(&[&RUN[..], &one].concat(), &[]).prints(&["0.0, 2.0, 4.0"]);
    let none = cuda.run(&[&RUN[..], &["--device-streams", "0"]].concat(), &[]);
    none.fails(2, &["--device-streams", "expected a number from 1"]);
}

/// An older NVRTC makes PTX for a device that it does not know.
#[test]
fn an_older_nvrtc_makes_what_the_driver_compiles() {
    let cuda = OnCuda::new();
    let variables = [("SDFG_STAND_IN", "known=80"), ("SDFG_DEVICE", "S90"), ("SDFG_CACHE", "")];
    cuda.run(&RUN, &variables).prints(&["0.0, 2.0, 4.0"]);
}

/// A C program that has memory on the device and a context of its own.
const CALLER: &str = "
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include \"ondevice.h\"
#define FIND(result, name, ...) result (*name)(__VA_ARGS__) = (result (*)(__VA_ARGS__))dlsym(driver, #name)
#define CHECK(condition) do { if (!(condition)) { printf(\"line %d: %s\\n\", __LINE__, ondevice_error(handle)); return 1; } } while (0)
int main(int count, char **arguments) {
    void *driver = dlopen(count > 1 ? arguments[1] : \"\", RTLD_NOW), *context = NULL, *same = NULL;
    FIND(int, cuInit, unsigned);
    FIND(int, cuDevicePrimaryCtxRetain, void **, int);
    FIND(int, cuDevicePrimaryCtxRelease_v2, int);
    FIND(int, cuCtxPushCurrent_v2, void *);
    FIND(int, cuCtxPopCurrent_v2, void **);
    FIND(int, cuMemAlloc_v2, uint64_t *, size_t);
    FIND(int, cuMemFree_v2, uint64_t);
    FIND(int, cuMemcpyHtoD_v2, uint64_t, const void *, size_t);
    FIND(int, cuMemcpyDtoH_v2, void *, uint64_t, size_t);
    FIND(int, standInLaunches, int);
    ondevice_t *handle = NULL;
    ondevice_config config = { sizeof config, 0, \"S90\" };
    double host[4] = { 1, 2, 3, 4 }, other[4] = { 0 }, back[4] = { 0 };
    static double large[201], result[201];
    uint64_t memory = 0;
    CHECK(ondevice_create(NULL, &handle) == 0);
    CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxPushCurrent_v2(context) == 0);
    CHECK(cuMemAlloc_v2(&memory, sizeof host) == 0 && cuMemcpyHtoD_v2(memory, host, sizeof host) == 0);
    /* From the device to the host, and in place. */
    CHECK(ondevice_run(handle, (double *)memory, other, 4) == 0);
    CHECK(other[0] == 2 && other[3] == 5);
    CHECK(ondevice_run(handle, other, (double *)memory, 4) == 0);
    CHECK(cuMemcpyDtoH_v2(back, memory, sizeof back) == 0 && back[0] == 3 && back[3] == 6);
    ondevice_destroy(handle);
    handle = NULL;
    CHECK(cuMemFree_v2(memory) == 0);
    CHECK(cuCtxPopCurrent_v2(&same) == 0 && same == context && cuCtxPopCurrent_v2(&same) != 0);
    CHECK(cuDevicePrimaryCtxRelease_v2(0) == 0);
    CHECK(standInLaunches(0) == 2 && standInLaunches(1) == 0);
    /* Devices that the configuration names, and none does. */
    CHECK(ondevice_create(&config, &handle) == 0 && ondevice_run(handle, host, other, 4) == 0 && other[3] == 5);
    CHECK(standInLaunches(0) == 2 && standInLaunches(1) == 1);
    ondevice_destroy(handle);
    config.device = \"nobody\";
    CHECK(ondevice_create(&config, &handle) == 0 && ondevice_run(handle, host, other, 4) == ONDEVICE_DEVICE);
    printf(\"%s\\n\", ondevice_error(handle));
    ondevice_destroy(handle);
    /* Memory that an instance keeps for later is given back before a run fails. */
    CHECK(setenv(\"SDFG_STAND_IN\", \"memory=3200\", 1) == 0 && ondevice_create(NULL, &handle) == 0);
    CHECK(ondevice_run(handle, host, other, 4) == 0 && ondevice_run(handle, large, result, 200) == 0);
    CHECK(ondevice_run(handle, large, result, 201) == ONDEVICE_OUT_OF_MEMORY);
    printf(\"%s\\n\", ondevice_error(handle));
    CHECK(ondevice_run(handle, large, result, 200) == 0);
    ondevice_destroy(handle);
    config.size = 12;
    CHECK(ondevice_create(&config, &handle) == 0 && ondevice_run(handle, host, other, 4) == 0);
    ondevice_destroy(handle);
    printf(\"all right\\n\");
    return 0;
}
";

/// Memory of the device stays where it is if a caller passes it, the caller's context stays current, and the caller chooses a device.
#[test]
fn callers_pass_memory_of_the_device() {
    let cuda = OnCuda::new();
    cuda.bench.file(
        "ondevice.sdft",
        "sdfg ondevice {
  symbol N: i64
  array A: f64[N] storage(gpu_global)
  array B: f64[N] storage(gpu_global)
  state s {
    access A
    access B
    map m [i = 0:N] schedule(gpu_grid) {
      tasklet t (x) -> (y) { y = x + 1 }
      m.A -> t.x: A[i]
      t.y -> m.B: B[i]
    }
    A -> m.A
    m.B -> B
  }
}",
    );
    let compile = |more: &[&str]| {
        let command = [&["compile", "ondevice.sdft", "--target", "cuda"], more].concat();
        cuda.run(&command, &[]).prints(&[]);
    };
    compile(&["-o", "libondevice.so"]);
    compile(&["--emit", "header", "-o", "ondevice.h"]);
    cuda.bench.file("caller.c", CALLER);
    let folder = cuda.bench.folder.path();
    let in_folder = |program: &str, arguments: &[&str]| {
        let mut command = std::process::Command::new(program);
        command.args(arguments).current_dir(folder).env("SDFG_CACHE", "").env("LD_LIBRARY_PATH", folder);
        command.env("SDFG_CUDA_DRIVER", &cuda.driver).env("SDFG_NVRTC", &cuda.nvrtc);
        let output = command.output().unwrap_or_else(|error| panic!("{program}: {error}"));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        text
    };
    in_folder("cc", &["caller.c", "-o", "caller", "-L.", "-londevice", "-ldl"]);
    assert_eq!(
        in_folder("./caller", &[&cuda.driver]),
        "the configuration: none of the 2 devices of CUDA is `nobody` (`sdfg devices` lists them)\n\
         the device has no 1608 bytes (1592 of 3200 are free)\nall right\n"
    );
}

#[test]
fn devices_are_listed() {
    let cuda = OnCuda::new();
    let answer = cuda.run(&["devices"], &[("OCL_ICD_VENDORS", "/nowhere")]);
    answer.prints(&[
        "CUDA (--target cuda):\n0: Stand-in S80 (sm_80, driver of CUDA 12.0)\n   8192 MiB, blocks of up to 1024 threads (used: 1024) and 48 KiB (used: 48)\n\
         1: Stand-in S90 (sm_90, ",
        "OpenCL",
    ]);
    // Devices of the other interface are listed without a driver of this one.
    let without = cuda.run(&["devices"], &[("SDFG_CUDA_DRIVER", "/nowhere.so")]);
    assert!(
        without.stdout.contains("no driver of CUDA: /nowhere.so") || without.status == Some(2),
        "{without:#?}"
    );
    let none = [("SDFG_STAND_IN", "none"), ("OCL_ICD_VENDORS", "/nowhere")];
    cuda.run(&["devices"], &none).fails(2, &["error 100 at cuInit: no CUDA-capable device is detected"]);
}

#[test]
fn failures_of_the_device_have_its_messages() {
    let cuda = OnCuda::new();
    let without_cache = ("SDFG_CACHE", "");
    for (words, texts) in [
        ("none", &["CUDA has no device: no CUDA-capable device is detected", "CUDA_ERROR_NO_DEVICE"][..]),
        ("load", &["the device does not load the kernels: no kernel image is available", "error 209"]),
        ("launch", &["twofold_all: too many resources requested for launch", "error 701 of CUDA"]),
        ("kernel", &["an illegal memory access was encountered", "error 700 of CUDA"]),
        ("memory=40", &["the device has no 24 bytes (16 of 40 are free)"]),
        ("compile", &["NVRTC 12.0 does not compile the kernels for sm_80", "kernels.cu:", "error: "]),
        ("known=90", &["NVRTC 12.0 does not compile for the architecture sm_80 of the device"]),
    ] {
        let answer = cuda.run(&RUN, &[("SDFG_STAND_IN", words), without_cache]);
        answer.fails(1, &["`twofold` failed: "]).fails(1, texts);
    }
    cuda.run(&RUN, &[("SDFG_DEVICE", "2")]).fails(1, &["none of the 2 devices of CUDA is `2`"]);
    cuda.run(&RUN, &[("SDFG_CUDA_DRIVER", "/nowhere.so")])
        .fails(1, &["no driver of CUDA: /nowhere.so", "SDFG_CUDA_DRIVER names another file"]);
    cuda.run(&RUN, &[("SDFG_NVRTC", "/nowhere.so"), without_cache])
        .fails(1, &["no NVRTC, which compiles kernels: /nowhere.so", "nvidia-cuda-nvrtc"]);
    // A library that is no driver.
    cuda.run(&RUN, &[("SDFG_CUDA_DRIVER", &cuda.nvrtc)]).fails(1, &["has no function `cu"]);
    cuda.run(&RUN, &[("SDFG_NVRTC", &cuda.driver), without_cache])
        .fails(1, &["NVRTC has no function `nvrtc"]);
    // After all of them, the device works.
    cuda.run(&RUN, &[]).prints(&["0.0, 2.0, 4.0"]);
}

#[test]
fn kernels_are_kept_in_the_cache() {
    let cuda = OnCuda::new();
    let without_nvrtc = [("SDFG_NVRTC", "/nowhere.so")];
    cuda.run(&[&RUN[..], &["--no-cache"]].concat(), &[]).prints(&["0.0, 2.0, 4.0"]);
    cuda.run(&RUN, &[("SDFG_CACHE", "")]).prints(&["0.0, 2.0, 4.0"]);
    assert!(cuda.cached().is_empty());
    cuda.run(&RUN, &[]).prints(&["0.0, 2.0, 4.0"]);
    let kept = cuda.cached();
    assert_eq!(kept.len(), 1, "{kept:?}");
    cuda.bench.run(&["cache"]).prints(&["1 object, "]);
    cuda.run(&RUN, &without_nvrtc).prints(&["0.0, 2.0, 4.0"]);
    // Another architecture, and other kernels.
    cuda.run(&RUN, &[without_nvrtc[0], ("SDFG_DEVICE", "S90")]).fails(1, &["no NVRTC"]);
    cuda.run(&[&RUN[..], &["--checked"]].concat(), &without_nvrtc).fails(1, &["no NVRTC"]);
    cuda.run(&RUN, &[("SDFG_DEVICE", "S90")]).prints(&["0.0, 2.0, 4.0"]);
    assert_eq!(cuda.cached().len(), 2);
    // Damaged files are made again.
    let whole = std::fs::read(&kept[0]).expect("a file");
    let mut damaged = whole.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    for contents in [&damaged[..], &whole[..whole.len() / 2], b""] {
        std::fs::write(&kept[0], contents).expect("a file can be written");
        cuda.run(&RUN, &without_nvrtc).fails(1, &["no NVRTC"]);
        cuda.run(&RUN, &[]).prints(&["0.0, 2.0, 4.0"]);
        assert!(std::fs::read(&kept[0]).expect("a file").len() > whole.len() / 2);
    }
    // A driver may refuse the image of a file: NVRTC makes another one.
    let mut refused = whole.clone();
    let image = refused.windows(8).position(|part| part == b"stand-in").expect("an image");
    refused[image] = b'S';
    let sum = refused[image..].iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    refused[15 + 16..15 + 24].copy_from_slice(&sum.to_le_bytes());
    std::fs::write(&kept[0], &refused).expect("a file can be written");
    cuda.run(&RUN, &[]).prints(&["0.0, 2.0, 4.0"]);
    assert_ne!(std::fs::read(&kept[0]).expect("a file"), refused);
    cuda.bench.run(&["cache", "--clear"]).prints(&["2 objects, "]);
    assert!(cuda.cached().is_empty());
}

#[test]
fn libraries_have_images_of_their_kernels() {
    let cuda = OnCuda::new();
    let compile = ["compile", "gpu.sdft", "--target", "cuda", "-o", "libgpu.so"];
    let source = ["compile", "gpu.sdft", "--target", "cuda", "--emit", "c"];
    cuda.run(&compile, &[("SDFG_NVRTC", "/nowhere.so")]).prints(&[]);
    let library = |cuda: &OnCuda| std::fs::read(cuda.bench.path("libgpu.so")).expect("a library").len();
    let without = library(&cuda);
    cuda.run(&[&compile[..], &["--cuda-arch", "sm_80,compute_90"]].concat(), &[]).prints(&[]);
    assert!(library(&cuda) > without + (16 << 10), "{without}");
    cuda.run(&source, &[])
        .prints(&["extern \\\"C\\\" __global__ void twofold_all(", "sdfg_kernel_images_count = 0 "]);
    let with = cuda.run(&[&source[..], &["--cuda-arch", "sm_80"]].concat(), &[]);
    with.prints(&["/* For sm_80. */", "sdfg_kernel_images_count = 1 "]);
    // What cannot be made is told.
    let asked = |architectures| [&compile[..], &["--cuda-arch", architectures]].concat();
    cuda.run(&asked("sm_80"), &[("SDFG_NVRTC", "/nowhere.so")]).fails(2, &["no NVRTC", "--cuda-arch"]);
    cuda.run(&asked("sm_70"), &[]).fails(2, &["NVRTC 12.0 does not know the architecture 70", "--cuda-arch"]);
    cuda.run(&asked("80"), &[]).fails(2, &["expected an architecture as `sm_90` or `compute_90`, not `80`"]);
    let host = ["compile", "p.sdft", "--cuda-arch", "sm_80", "-o", "libp.so"];
    cuda.run(&host, &[]).fails(2, &["--cuda-arch is for kernels of CUDA", "--target cuda"]);
    let kinds = ["compile", "gpu.sdft", "--target", "cuda", "--emit", "asm"];
    cuda.run(&kinds, &[]).fails(2, &["--target cuda has no output of this kind", "--emit c"]);
}

/// `sdfg run` takes the images of a program, too: a device whose code is there needs no NVRTC.
#[test]
fn images_run_where_they_fit() {
    let cuda = OnCuda::new();
    let run = |architectures, variables: &[(&str, &str)]| {
        // NVRTC makes the images before the run; the library needs it only if none fits.
        cuda.run(&[&RUN[..], &["--no-cache", "--cuda-arch", architectures]].concat(), variables)
    };
    for (architectures, device) in [("sm_80", "S80"), ("sm_80,compute_80", "S90"), ("sm_80,sm_90", "S90")] {
        let images = format!("most={}", architectures.split(',').count());
        let variables = [("SDFG_DEVICE", device), ("SDFG_STAND_IN", &images)];
        run(architectures, &variables).prints(&["0.0, 2.0, 4.0"]);
    }
    for (architectures, device) in [("sm_80", "S90"), ("compute_90", "S80")] {
        let variables = [("SDFG_DEVICE", device), ("SDFG_STAND_IN", "most=1")];
        run(architectures, &variables).fails(1, &["NVRTC 12.0 does not compile the kernels"]);
        run(architectures, &variables[..1]).prints(&["0.0, 2.0, 4.0"]);
    }
}
