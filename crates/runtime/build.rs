//! Compiles what generated code calls to one object file for each source, which `lib.rs` includes.

#![allow(missing_docs, reason = "a build script has no documentation")]

fn main() {
    let sources = ["stream", "task", "profile"].map(|name| format!("src/c/{name}.c"));
    for path in
        sources.iter().map(String::as_str).chain(["src/c/runtime.h", "src/c/task.h", "src/c/profile.h"])
    {
        println!("cargo:rerun-if-changed={path}");
    }
    let mut build = cc::Build::new();
    // The same in every build of this project, whatever the profile: the objects become part of compiled programs.
    build.files(&sources).std("gnu11").opt_level(2).debug(false).pic(true).warnings_into_errors(true);
    build.flag("-fno-stack-protector").flag("-ffunction-sections");
    for (name, object) in ["STREAM", "TASK", "PROFILE"].iter().zip(build.compile_intermediates()) {
        println!("cargo:rustc-env=SDFG_RUNTIME_{name}={}", object.display());
    }
}
