//! Tests of objects, libraries and headers on disk, and of determinism.

use std::process::Command;

use super::plans::{axpy, library_at};
use super::trusted;
use crate::header::c_header;
use crate::link;
use crate::llvm::{CompileOptions, Cpu, OptLevel, assembly, compile, llvm_ir};
use crate::load::{CallError, Library};
use crate::plan::{Plan, Profile, Statement, Timer, TimerId, TimerKind};

pub(super) fn check(library: &Library) {
    let x: Vec<f64> = (0..1000).map(f64::from).collect();
    let mut y = vec![1.0; 1000];
    trusted(library.call().scalar("a", 2.0).array("x", &x, &[1000]).array_mut("y", &mut y, &[1000])).unwrap();
    assert!(y.iter().zip(&x).all(|(y, x)| *y == 2.0 * x + 1.0));
}

#[test]
fn every_level_runs() {
    for level in OptLevel::ALL {
        check(&library_at(&axpy(), level));
    }
}

#[test]
fn the_same_plan_gives_the_same_bytes() {
    let options = CompileOptions::default();
    let (a, b) = (compile(&axpy(), &options).unwrap(), compile(&axpy(), &options).unwrap());
    assert_eq!(a.files, b.files);
    let ir = llvm_ir(&axpy(), &options, true).unwrap();
    assert_eq!(ir, llvm_ir(&axpy(), &options, true).unwrap());
    assert!(ir.contains("@axpy_run("));
    assert!(assembly(&axpy(), &options).unwrap().contains("axpy_run"));
}

#[test]
fn named_processors_and_wrong_ones() {
    let options = |name: &str, features: &str| CompileOptions {
        cpu: Cpu::Named { name: name.to_owned(), features: features.to_owned() },
        ..CompileOptions::default()
    };
    // Instruction sets of this architecture only: the tests run on any machine.
    let generic = llvm_ir(&axpy(), &options("generic", ""), true).unwrap();
    assert!(generic.contains("\"target-cpu\"=\"generic\""));
    for (name, features) in [("no such cpu", ""), ("i386", ""), ("generic", "avx2"), ("generic", "+x y")] {
        assert!(compile(&axpy(), &options(name, features)).is_err(), "{name} {features}");
    }
    #[cfg(target_arch = "x86_64")]
    {
        let v3 = llvm_ir(&axpy(), &options("x86-64-v3", "-fma,+f16c"), true).unwrap();
        assert!(v3.contains("\"target-cpu\"=\"x86-64-v3\"") && v3.contains("\"+f16c,-fma\""));
        assert!(compile(&axpy(), &options("generic", "-sse2")).is_err());
    }
}

#[test]
fn a_shared_library_is_opened_and_called() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libaxpy.so");
    let object = compile(&axpy(), &CompileOptions::default()).unwrap();
    link::shared_library(&object, &path).unwrap();
    // SAFETY: the library was just made from this plan.
    let library = unsafe { Library::open(&path, object.interface.clone()) }.unwrap();
    check(&library);
    // SAFETY: the file is no library and is refused before anything in it runs.
    let missing = unsafe { Library::open(&folder.path().join("nothing.so"), object.interface) };
    assert!(missing.is_err());
}

const MAIN: &str = r#"
#include "axpy.h"
#include <stdio.h>
#include <string.h>
int main(void) {
    double x[100], y[100];
    for (int i = 0; i < 100; i++) { x[i] = i; y[i] = 1; }
    if (axpy(2.0, x, y, 100) != AXPY_SUCCESS) return 1;
    for (int i = 0; i < 100; i++) if (y[i] != 2.0 * i + 1) return 2;
    axpy_config config;
    memset(&config, 0, sizeof config);
    config.size = sizeof config;
    config.num_threads = 2;
    axpy_t *handle;
    if (axpy_create(&config, &handle) != 0 || axpy_error(handle)[0] != 0) return 3;
    if (axpy_run(handle, 1.0, x, y, 100) != 0) return 4;
    if (axpy_run(handle, 1.0, x, y, -1) != AXPY_INVALID_ARGUMENT) return 5;
    if (strcmp(axpy_error(handle), "`N` is negative") != 0) return 6;
    if (axpy_run(handle, 1.0, x, y, 0) != 0 || axpy_error(handle)[0] != 0) return 7;
    axpy_destroy(handle);
    axpy_destroy(NULL);
    if (axpy_run(NULL, 1.0, x, y, 1) != AXPY_INVALID_ARGUMENT) return 8;
    config.num_threads = -1;
    if (axpy_create(&config, &handle) != AXPY_INVALID_CONFIGURATION || handle != NULL) return 9;
    config.size = 1;
    if (axpy_create(&config, &handle) != AXPY_INVALID_CONFIGURATION) return 10;
    return 0;
}
"#;

#[test]
fn c_and_cpp_programs_include_the_header_and_link_either_library() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let object = compile(&axpy(), &CompileOptions::default()).unwrap();
    link::shared_library(&object, &file("libaxpy.so")).unwrap();
    link::static_library(&object, &file("libaxpy.a")).unwrap();
    link::write_file(&file("axpy.h"), c_header(&object.interface).as_bytes()).unwrap();
    std::fs::write(file("main.c"), MAIN).unwrap();
    std::fs::write(file("main.cpp"), MAIN).unwrap();
    for (compiler, source, library) in
        [("cc", "main.c", "libaxpy.so"), ("cc", "main.c", "libaxpy.a"), ("c++", "main.cpp", "libaxpy.so")]
    {
        let mut command = Command::new(compiler);
        command
            .current_dir(folder.path())
            .args(["-Wall", "-Wextra", "-Werror", "-o", "main", source, library]);
        command.args(["-l:libgomp.so.1", "-lm", "-Wl,-rpath,."]);
        let Ok(output) = command.output() else {
            assert_ne!(compiler, "cc", "a C compiler is needed for this test");
            continue;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let status = Command::new(file("main")).current_dir(folder.path()).status().unwrap();
        assert!(status.success(), "{source} with {library}: {status}");
    }
}

#[test]
fn two_calls_run_at_once() {
    let library = library_at(&axpy(), OptLevel::O1);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..10).for_each(|_| check(&library)));
        }
    });
}

#[test]
fn wrong_calls_are_refused() {
    let library = library_at(&axpy(), OptLevel::O0);
    let (x, mut y) = (vec![0.0; 10], vec![0.0; 10]);
    let run = |call: crate::load::Call<'_, '_>| trusted(call).unwrap_err();
    let error = run(library.call().scalar("b", 1.0));
    assert!(matches!(error, CallError::UnknownArgument { .. }), "{error}");
    let error = run(library.call().scalar("a", 1.0).scalar("a", 1.0));
    assert!(matches!(error, CallError::Duplicate { .. }), "{error}");
    let error = run(library.call().array("x", &x, &[10]).array_mut("y", &mut y, &[10]));
    assert!(matches!(error, CallError::Missing { .. }), "{error}");
    let error = run(library.call().scalar("a", 1.0_f32));
    assert!(matches!(error, CallError::Element { .. }), "{error}");
    let error = run(library.call().scalar("x", 1.0));
    assert!(matches!(error, CallError::Kind { .. }), "{error}");
    let error = run(library.call().array("x", &x, &[10]).array("y", &x, &[10]));
    assert!(matches!(error, CallError::ReadOnly { .. }), "{error}");
    let error = run(library.call().array("x", &x, &[2, 5]));
    assert!(matches!(error, CallError::Rank { .. }), "{error}");
    let error = run(library.call().scalar("a", 1.0).array("x", &x[1..], &[9]).array_mut("y", &mut y, &[10]));
    assert!(matches!(error, CallError::Inconsistent { .. }), "{error}");
    let error = run(library.call().scalar("a", 1.0).array("x", &x, &[9]).array_mut("y", &mut y[1..], &[9]));
    assert!(matches!(error, CallError::Length { .. }), "{error}");
}

/// Timers cost nothing where there are none: the code does not know of them.
#[test]
fn only_what_is_timed_has_timers() {
    let mut plan = axpy();
    let without = compile(&plan, &CompileOptions::default()).unwrap();
    let ir = |plan: &Plan| llvm_ir(plan, &CompileOptions::default(), false).unwrap();
    assert!(!ir(&plan).contains("sdfg_") && !ir(&plan).contains("axpy_profile"));
    assert!(!without.requirements.profile && without.requirements.runtime_objects().next().is_none());
    assert!(!c_header(&without.interface).contains("profile"));
    let path = "axpy".to_owned();
    plan.profile = Some(Profile { timers: vec![Timer { path, kind: TimerKind::Program }], counters: false });
    plan.body = vec![Statement::Timed { timer: TimerId(0), body: plan.body }];
    let with = compile(&plan, &CompileOptions::default()).unwrap();
    assert!(ir(&plan).contains("sdfg_timer_begin") && with.requirements.profile);
    plan.profile = None;
    plan.body = match plan.body.pop() {
        Some(Statement::Timed { body, .. }) => body,
        other => panic!("{other:?}"),
    };
    assert_eq!(compile(&plan, &CompileOptions::default()).unwrap().files, without.files);
}
