//! Random programs on the ranks of MPI: the example `ranks`, which cargo builds with the tests, starts itself under mpirun.

#![expect(clippy::print_stdout, reason = "a test that skips something says so")]

use std::process::Command;

#[test]
fn random_programs_run_on_ranks() {
    if Command::new("mpicc").arg("--version").output().is_err() {
        println!("skipped: there is no mpicc here (Debian: apt-get install libopenmpi-dev openmpi-bin)");
        return;
    }
    let own = std::env::current_exe().expect("the path of this test");
    let example = own.ancestors().nth(2).expect("the folder of the build").join("examples/ranks");
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
