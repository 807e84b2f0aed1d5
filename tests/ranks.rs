//! Programs on the ranks of MPI: examples, which cargo builds with the tests, start themselves under mpirun.

#![expect(clippy::print_stdout, reason = "a test that skips something says so")]

use std::path::{Path, PathBuf};
use std::process::Command;

use sdfg_codegen::mpi::{Launcher, Mpi};

/// Ranks that share cores on the machines of these tests.
const EIGHT: usize = 8;

/// The file of an example; `None` without MPI.
fn example(name: &str) -> Option<PathBuf> {
    if Command::new("mpicc").arg("--version").output().is_err() {
        println!("skipped: there is no mpicc here (Debian: apt-get install libopenmpi-dev openmpi-bin)");
        return None;
    }
    let own = std::env::current_exe().expect("the path of this test");
    Some(own.ancestors().nth(2).expect("the folder of the build").join("examples").join(name))
}

#[test]
fn distributed_programs_give_the_results_of_those_written_by_hand() {
    let Some(example) = example("bench_mpi") else { return };
    if !Path::new("/usr/include/x86_64-linux-gnu/cblas.h").exists() {
        println!("skipped: there is no OpenBLAS here (Debian: apt-get install libopenblas-dev)");
        return;
    }
    let output = Command::new(&example)
        .args(["--quick", "jacobi_small", "product", "strategies:jacobi2d"])
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", example.display()));
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    for line in [
        "jacobi_small 64, 2 steps on 1 ranks",
        "jacobi_small 64, 2 steps on 2 ranks",
        "product 128 on 2 ranks",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(!text.contains("gives other results"), "{text}");
    // Both strategies cut rows: one program is timed.
    let parallel = text.lines().find(|line| line.starts_with("jacobi2d             data-parallel"));
    assert!(parallel.is_some_and(|line| line.contains("the same as optimal")), "{text}");
    assert!(text.lines().filter(|line| line.starts_with("jacobi2d ")).count() == 3, "{text}");
}

/// The example starts itself on four ranks, and runs under a launcher: on fewer, and on more than there are cores.
#[test]
fn rust_programs_run_with_a_block_on_each_rank() {
    let Some(example) = example("mpi") else { return };
    let launcher = Mpi::find().and_then(|mpi| Launcher::find(&mpi)).expect("mpicc comes with a launcher");
    let launched = |ranks| launcher.command(ranks, &example);
    for (mut command, line) in [
        (
            Command::new(&example),
            "heat on 4 ranks: ok; 2 maps are divided, and the first rank holds 252 of 1003 cells",
        ),
        (launched(3), "heat on 3 ranks: ok; 2 maps are divided, and the first rank holds 335 of 1003 cells"),
        (
            launched(EIGHT),
            "heat on 8 ranks: ok; 2 maps are divided, and the first rank holds 127 of 1003 cells",
        ),
    ] {
        let output = command.output().unwrap_or_else(|error| panic!("{}: {error}", example.display()));
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}{errors}");
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn random_programs_run_on_ranks() {
    let Some(example) = example("ranks") else { return };
    for (ranks, seed) in [("3", "41"), ("2", "61")] {
        let output = Command::new(&example)
            .args(["--ranks", ranks, "--programs", "8", "--seed", seed])
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", example.display()));
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}{errors}");
        assert!(text.contains("passed 8"), "{text}{errors}");
        assert!(!text.contains("of which 0 moved data"), "{text}");
    }
}

/// The lists of `docs/ranks.md` on fewer ranks: `cargo xtask ranks --on programs` and `--on polybench` run all.
#[test]
fn programs_of_the_lists_run_on_ranks() {
    let Some(example) = example("ranks") else { return };
    let programs = ["--on", "programs", "jacobi2d", "spmv", "query"];
    let kernels = ["--on", "small-polybench", "fdtd_2d", "trisolv"];
    let cases: [(&str, &[&str], &str); 2] = [
        ("2", &programs, "passed 2, passed with nothing divided 0, refused 1, failed 0"),
        ("3", &kernels, "passed 2, passed with nothing divided 0, refused 0, failed 0"),
    ];
    for (ranks, names, totals) in cases {
        let output = Command::new(&example)
            .args(["--ranks", ranks])
            .args(names)
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", example.display()));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains(totals), "{text}");
    }
}

#[test]
fn eight_ranks_share_cores() {
    let Some(example) = example("ranks") else { return };
    let random = ["--programs", "2", "--seed", "81"];
    let cases: [(&[&str], &str); 2] = [
        (&random, "passed 2, of which 1 moved data, failed 0"),
        (&["--on", "programs", "jacobi2d"], "passed 1, passed with nothing divided 0, refused 0, failed 0"),
    ];
    for (arguments, totals) in cases {
        let output = Command::new(&example)
            .args(["--ranks", &EIGHT.to_string()])
            .args(arguments)
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", example.display()));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains(totals), "{text}");
    }
}

#[test]
fn graphs_of_the_corpus_run_on_ranks() {
    let Some(example) = example("ranks") else { return };
    if std::env::var_os("SDFG_CORPUS").is_none() {
        println!("skipped: `SDFG_CORPUS` names no corpus");
        return;
    }
    let graphs = ["jacobi_2d/simplified", "durbin/raw", "gemm/raw", "nussinov/simplified"];
    for strategy in ["optimal", "data-parallel"] {
        let output = Command::new(&example)
            .args(["--ranks", "3", "--corpus", "--strategy", strategy])
            .args(graphs)
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", example.display()));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains("on 3 ranks: passed 4,"), "{text}");
    }
}
