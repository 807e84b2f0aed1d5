//! Tests of large programs, whose functions are distributed over several objects.

use std::fmt::Write as _;
use std::num::NonZeroUsize;

use sdfg::validate::validate;

use super::trusted;
use crate::link;
use crate::llvm::compile::compile_with;
use crate::llvm::{CompileOptions, OptLevel};
use crate::load::Library;
use crate::lower::{LowerOptions, Target, lower};
use crate::object::ObjectCode;
use crate::plan::Plan;

const MAPS: i64 = 40;
const STEPS: i64 = 250;
const N: usize = 5000;

/// Maps of which each is a loop of a team, with a power that a helper of the module computes.
fn large() -> Plan {
    let mut text = format!("sdfg large {{\n  symbol N: i64\n  array A: i64[N]\n  array B: i64[{MAPS}, N]\n");
    text.push_str("  state s {\n    access A\n    access B\n");
    for map in 0..MAPS {
        let steps: String = (0..STEPS).map(|step| format!("      v = v * x + {}\n", map + step)).collect();
        let _ = write!(
            text,
            "    map m{map} [i = 0:N] schedule(cpu_multicore) {{\n      tasklet t{map} (x) -> (y) {{\n      v = x ** x\n{steps}      y = v\n      }}\n\
             \x20     m{map}.A -> t{map}.x: A[i]\n      t{map}.y -> m{map}.B: B[{map}, i]\n    }}\n    A -> m{map}.A\n    m{map}.B -> B\n"
        );
    }
    text.push_str("  }\n}\n");
    let sdfg = sdfg::text::parse("large.sdft", &text).unwrap();
    lower(&validate(sdfg).unwrap(), &Target::cpu(), &LowerOptions::default()).unwrap()
}

fn compiled(level: OptLevel, threads: usize) -> ObjectCode {
    let options = CompileOptions { level, ..CompileOptions::default() };
    compile_with(&large(), &options, NonZeroUsize::new(threads).unwrap()).unwrap()
}

fn check(library: &Library) {
    let a: Vec<i64> = (0..N as i64).map(|value| value % 5).collect();
    let mut b = vec![0_i64; MAPS as usize * N];
    let call = library.call().array("A", &a, &[N]).array_mut("B", &mut b, &[MAPS as usize, N]);
    trusted(call.symbol("N", N as i64)).unwrap();
    for map in 0..MAPS {
        for (i, x) in a.iter().enumerate() {
            let first = x.pow(*x as u32);
            let expected = (0..STEPS).fold(first, |v: i64, step| v.wrapping_mul(*x).wrapping_add(map + step));
            assert_eq!(b[map as usize * N + i], expected, "map {map}, element {i}");
        }
    }
}

#[test]
fn objects_of_parts_run_together() {
    for level in [OptLevel::O0, OptLevel::Quick, OptLevel::O1] {
        let object = compiled(level, 2);
        assert!(object.files().len() > 2, "{level}: {} objects", object.files().len());
        check(&Library::load(&object).unwrap());
    }
}

#[test]
fn objects_do_not_depend_on_the_number_of_threads() {
    let alone = compiled(OptLevel::Quick, 1);
    for threads in [2, 5] {
        assert_eq!(compiled(OptLevel::Quick, threads).files(), alone.files(), "{threads} threads");
    }
}

#[test]
fn libraries_of_parts_export_entry_points_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("liblarge.so");
    let object = compiled(OptLevel::Quick, 2);
    link::shared_library(&object, &path).unwrap();
    // SAFETY: the library was just made from this plan.
    check(&unsafe { Library::open(&path, object.interface().clone()) }.unwrap());
    let symbols =
        std::process::Command::new("nm").args(["-D", "--defined-only"]).arg(&path).output().unwrap();
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    assert!(symbols.contains(" large_run") && !symbols.contains("large.parallel"), "{symbols}");
    let one = link::relocatable(&object).unwrap();
    assert!(one.len() > object.files().iter().map(Vec::len).max().unwrap());
    link::static_library(&object, &folder.path().join("liblarge.a")).unwrap();
}
