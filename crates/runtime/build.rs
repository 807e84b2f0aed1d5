//! Compiles each C source of the runtime to one object file, without instrumentation and for each sanitizer.
//! `lib.rs` includes the objects. `nvrtc.rs` calls the functions of `src/cuda/build.c`.

#![allow(missing_docs, reason = "a build script has no documentation")]

use std::path::Path;

const SOURCES: [&str; 4] = ["stream", "task", "profile", "processor"];

fn main() {
    for folder in ["c", "cuda", "device"] {
        println!("cargo:rerun-if-changed=src/{folder}");
    }
    let folder = std::env::var("OUT_DIR").expect("cargo names the folder for what a build script makes");
    // In front of the names of variables, and what is instrumented for.
    for (prefix, sanitizer) in [("", None), ("ADDRESS_", Some("address")), ("THREAD_", Some("thread"))] {
        let mut build = cc::Build::new();
        // The same in every build of this project, whatever the profile: the objects become part of compiled programs.
        build.files(SOURCES.map(|name| format!("src/c/{name}.c")));
        build.std("gnu11").opt_level(2).debug(false).pic(true).warnings_into_errors(true);
        build.flag("-fno-stack-protector").flag("-ffunction-sections");
        if let Some(sanitizer) = sanitizer {
            build.out_dir(Path::new(&folder).join(sanitizer)).flag(format!("-fsanitize={sanitizer}"));
        }
        for (name, object) in SOURCES.into_iter().zip(build.compile_intermediates()) {
            println!("cargo:rustc-env=SDFG_RUNTIME_{prefix}{}={}", name.to_uppercase(), object.display());
        }
    }
    // A part of this crate itself.
    let mut build = cc::Build::new();
    build.file("src/cuda/build.c").std("gnu11").opt_level(2).warnings_into_errors(true);
    build.define("_GNU_SOURCE", None).compile("sdfg_nvrtc");
}
