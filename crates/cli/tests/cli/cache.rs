//! Tests of compiled code that the cache keeps between commands.

use crate::Bench;
use crate::programs::DOUBLE;

#[test]
fn what_was_compiled_is_kept() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    let run = |more: &[&str], variables: &[(&str, &str)]| {
        let command = [&["run", "double.sdft", "--set", "N=3", "-i", "A=range"], more].concat();
        bench.run_with(&command, "", variables).prints(&["0.0, 2.0, 4.0"]);
    };
    let objects = |number: &str| {
        bench.run(&["cache"]).prints(&[&format!("{}: {number}, ", bench.cache.path().display())]);
    };
    objects("0 objects");
    run(&["--no-cache"], &[]);
    run(&[], &[("SDFG_CACHE", "")]);
    objects("0 objects");
    run(&[], &[]);
    objects("1 object");
    // Another process finds it; other options are something else, and other files are the same.
    run(&[], &[]);
    objects("1 object");
    bench.file("copy.sdft", format!("# The same program.\n{DOUBLE}"));
    bench.run(&["compile", "copy.sdft", "--emit", "obj"]).prints(&[]);
    objects("1 object");
    run(&["-O", "fast"], &[]);
    objects("2 objects");
    let kept = std::fs::read(bench.path("twofold.o")).expect("an object");
    bench.run(&["compile", "double.sdft", "--emit", "obj", "--no-cache"]).prints(&[]);
    assert!(kept == std::fs::read(bench.path("twofold.o")).expect("an object"));
    bench.run(&["cache", "--clear"]).prints(&["2 objects, ", " bytes removed"]);
    objects("0 objects");
}

#[test]
fn a_cache_that_cannot_be_used_is_told_when_asked() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    bench.file("taken", "");
    let taken = bench.path("taken").display().to_string();
    let variables = [("SDFG_CACHE", taken.as_str())];
    bench.run_with(&["run", "double.sdft", "--set", "N=3"], "", &variables).prints(&["f64[3]"]);
    bench.run_with(&["cache"], "", &variables).fails(2, &["cannot use the cache in", &taken, "SDFG_CACHE"]);
    bench.run_with(&["cache"], "", &[("SDFG_CACHE", "")]).prints(&["there is no cache"]);
}
