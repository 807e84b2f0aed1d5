//! Tests of libraries with several versions: each version is correct on processors that support it, and all
//! export the same functions.
//!
//! Rounding reveals which version ran: `a * x + y` is one operation from `x86-64-v3` on, and two operations
//! below.

use std::path::Path;
use std::process::Command;

use sdfg::ir::FloatMode;

use super::files::check;
use super::plans::axpy;
use crate::header::c_header;
use crate::link;
use crate::llvm::{CompileOptions, Cpu, Level, LlvmError, compile, llvm_ir};
use crate::load::Library;

/// Prints the status of `create`, that of a whole call, and 1 if product and sum were one operation.
const MAIN: &str = r#"
#include "axpy.h"
#include <stdio.h>
int main(void) {
    const double a = 1 + 0x1p-30;
    double x[40], y[40];
    int fused = 0;
    for (int i = 0; i < 40; i++) { x[i] = a; y[i] = -1 - 0x1p-29; }
    axpy_t *handle;
    int created = axpy_create(NULL, &handle);
    axpy_destroy(handle);
    int status = axpy(a, x, y, 40);
    for (int i = 0; i < 40; i++) fused += y[i] == 0x1p-60;
    printf("%d %d %d\n", created, status, fused / 40);
    return 0;
}
"#;

fn options(levels: impl IntoIterator<Item = Level>) -> CompileOptions {
    CompileOptions {
        cpu: Cpu::levels(levels),
        floats: Some(FloatMode::Contract),
        ..CompileOptions::default()
    }
}

#[test]
fn the_exported_functions_are_for_any_processor() {
    let ir = llvm_ir(&axpy(), &options([Level::V4, Level::V2, Level::V3, Level::V2]), false).unwrap();
    let processor = |function: &str| {
        let line =
            ir.lines().find(|line| line.starts_with("define") && line.contains(&format!("@{function}(")));
        let group =
            line.and_then(|line| line.split('#').nth(1)).unwrap_or_else(|| panic!("{function}: {ir}"));
        let group = group.split_whitespace().next().unwrap();
        let attributes = ir.lines().find(|line| line.starts_with(&format!("attributes #{group} ")));
        let (_, rest) = attributes.and_then(|line| line.split_once("\"target-cpu\"=\"")).unwrap();
        (rest.split('"').next().unwrap().to_owned(), line.unwrap().contains("internal"))
    };
    for entry in ["axpy", "axpy_create", "axpy_run", "axpy_destroy", "axpy_error", "axpy__invoke"] {
        assert_eq!(processor(entry), ("x86-64".to_owned(), false), "{entry}");
    }
    for level in ["x86-64-v2", "x86-64-v3", "x86-64-v4"] {
        assert_eq!(processor(&format!("axpy.body.{level}")), (level.to_owned(), true));
    }
    assert_eq!(ir.matches("define internal i32 @axpy.body.").count(), 3);
}

#[test]
fn the_interface_is_that_of_one_version() {
    let several = compile(&axpy(), &options(Level::ALL)).unwrap();
    let one = compile(&axpy(), &CompileOptions::default()).unwrap();
    assert_eq!(c_header(&several.interface), c_header(&one.interface));
    assert_eq!(several.files, compile(&axpy(), &options(Level::ALL)).unwrap().files);
    assert!(several.requirements.processor && !one.requirements.processor);
    check(&Library::load(&several).unwrap());
}

#[test]
fn only_levels_can_be_several() {
    assert_eq!(Level::named("x86-64-v3").unwrap(), Level::V3);
    for name in ["znver4", "host", "x86-64-v5", ""] {
        assert!(matches!(Level::named(name), Err(LlvmError::NoLevel { .. })), "{name}");
    }
    assert!(matches!(compile(&axpy(), &options([])), Err(LlvmError::NoLevels { .. })));
}

#[test]
fn the_best_version_is_run_that_the_processor_has() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let object = compile(&axpy(), &options([Level::V2, Level::V3])).unwrap();
    link::shared_library(&object, &file("libaxpy.so")).unwrap();
    link::static_library(&object, &file("libaxpy.a")).unwrap();
    link::write_file(&file("axpy.h"), c_header(&object.interface).as_bytes()).unwrap();
    std::fs::write(file("main.c"), MAIN).unwrap();
    let has = |level: Level| match level {
        Level::V1 => true,
        Level::V2 => std::arch::is_x86_feature_detected!("sse4.2"),
        Level::V3 => {
            std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
        }
        Level::V4 => std::arch::is_x86_feature_detected!("avx512vl"),
    };
    if !has(Level::V2) {
        return;
    }
    let best = if has(Level::V3) { "0 0 1" } else { "0 0 0" };
    let build = |library: &str| {
        let mut command = Command::new("cc");
        command
            .current_dir(folder.path())
            .args(["-Wall", "-Wextra", "-Werror", "-o", "main", "main.c", library]);
        let output = command.args(["-l:libgomp.so.1", "-lm", "-Wl,-rpath,."]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    for library in ["libaxpy.so", "libaxpy.a"] {
        build(library);
        for (asked, expected) in [
            (None, best),
            (Some(""), best),
            (Some("x86-64-v4"), best),
            (Some("x86-64-v3"), best),
            (Some("x86-64-v2"), "0 0 0"),
            (Some("x86-64"), "5 5 0"),
            (Some("znver4"), "5 5 0"),
        ] {
            assert_eq!(printed(&file("main"), folder.path(), asked), expected, "{library} with {asked:?}");
        }
    }
}

fn printed(program: &Path, folder: &Path, processor: Option<&str>) -> String {
    let mut command = Command::new(program);
    command.current_dir(folder).env_remove("SDFG_CPU");
    if let Some(processor) = processor {
        command.env("SDFG_CPU", processor);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
