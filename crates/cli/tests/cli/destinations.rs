//! Tests of output paths: files are replaced, symbolic links followed, and pipes written to.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::Command;

use crate::Bench;
use crate::programs::DOUBLE;

#[test]
fn pipes_are_written_through() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    let made = Command::new("mkfifo").arg(bench.path("pipe")).status().expect("mkfifo can be run");
    assert!(made.success());
    // A pipe that is open for reading and writing has a reader, and room for what is written here.
    let mut pipe =
        OpenOptions::new().read(true).write(true).open(bench.path("pipe")).expect("the pipe opens");
    for (command, begin) in [
        (["print", "double.sdft", "-o", "pipe", "--format", "json"], "{\n  \"format\": \"sdfg\"".as_bytes()),
        (["compile", "double.sdft", "-o", "pipe", "--emit", "so"], b"\x7fELF"),
    ] {
        bench.run(&command).prints(&[]);
        let kind = fs::symlink_metadata(bench.path("pipe")).expect("it is there").file_type();
        assert!(kind.is_fifo(), "{command:?}: the pipe was replaced");
        let mut found = vec![0; begin.len()];
        pipe.read_exact(&mut found).expect("it was written to");
        assert_eq!(found, begin, "{command:?}");
        // The rest is of no interest.
        drop(pipe);
        pipe = OpenOptions::new().read(true).write(true).open(bench.path("pipe")).expect("the pipe opens");
    }
}

#[test]
fn links_lead_to_what_is_replaced() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    fs::create_dir(bench.path("folder")).expect("a folder");
    bench.file("folder/old.sdft", "old");
    symlink("folder/old.sdft", bench.path("first")).expect("a link");
    symlink("first", bench.path("second")).expect("a link");
    symlink("folder/new.sdft", bench.path("dangling")).expect("a link");
    symlink("circle", bench.path("circle")).expect("a link");
    let before = bench.files();
    for (link, file) in [("second", "folder/old.sdft"), ("dangling", "folder/new.sdft")] {
        bench.run(&["print", "double.sdft", "-o", link]).prints(&[]);
        let link = fs::symlink_metadata(bench.path(link)).expect("it is there");
        assert!(link.is_symlink());
        let written = fs::read_to_string(bench.path(file)).expect("a text");
        assert!(written.starts_with("sdfg twofold"), "{file} is {written}");
    }
    bench.run(&["print", "double.sdft", "-o", "circle"]).fails(2, &["circle", "links do not end"]);
    bench.run(&["print", "double.sdft", "-o", "folder"]).fails(2, &["folder", "directory"]);
    assert_eq!(bench.files(), before);
}

#[test]
fn libraries_are_called_after_their_program() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    bench.run(&["compile", "none.sdft"]).fails(2, &["cannot read `none.sdft`"]);
    for command in [vec![], vec!["--emit", "a"], vec!["--emit", "obj"]] {
        bench.run(&[vec!["compile", "double.sdft"], command].concat()).prints(&[]);
    }
    assert_eq!(bench.files(), ["double.sdft", "libtwofold.a", "libtwofold.so", "twofold.o"]);
}

#[test]
fn messages_name_no_temporary_files() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    for command in [["print", "double.sdft", "-o", "none/out"], ["compile", "double.sdft", "-o", "none/out"]]
    {
        let answer = bench.run(&command);
        answer.fails(2, &["none/out"]);
        assert!(!answer.stderr.contains(".sdfg-"), "{answer:#?}");
    }
}

/// Two spellings of a path are one file, also before it exists.
#[test]
fn two_results_of_one_file_are_refused() {
    let bench = Bench::new();
    bench.file("p.sdft", include_str!("../../../../programs/jacobi2d.sdft"));
    fs::create_dir(bench.path("folder")).expect("a folder");
    let run = ["run", "p.sdft", "--set", "N=4", "--set", "T=1"];
    let results = ["-o", "A=folder/x.npy", "-o", "B=folder/../folder/./x.npy"];
    bench.run(&[&run[..], &results].concat()).fails(2, &["`A` and `B` cannot both be written to"]);
    assert!(!bench.path("folder/x.npy").exists());
    let both =
        ["transform", "p.sdft", "MapExpansion", "--everywhere", "-o", "folder/y", "--record", "./folder/y"];
    bench.run(&both).fails(2, &["two results cannot both be written to"]);
    assert!(!bench.path("folder/y").exists());
}
