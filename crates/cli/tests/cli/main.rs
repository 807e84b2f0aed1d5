//! End-to-end tests of the `sdfg` command: exit status, standard output and messages, for correct and
//! incorrect use.

mod cache;
mod crash;
mod cuda;
mod data;
mod debug;
mod destinations;
mod dumps;
mod externals;
mod layouts;
mod minimize;
mod opencl;
mod packages;
mod profile;
mod programs;
mod rank_compilation;
mod rank_failures;
mod rank_libraries;
mod ranks;
mod refusals;
mod strategy;
mod streams;
mod transform;
mod tune;
mod usage;

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder of its own for each test, with the command that runs in it.
struct Bench {
    folder: tempfile::TempDir,
    /// The cache of the commands, separate from the user's.
    cache: tempfile::TempDir,
}

/// The answer of a command.
#[derive(Debug)]
struct Answer {
    status: Option<i32>,
    /// The signal that ended the command.
    signal: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Bench {
    fn new() -> Self {
        let folder = || tempfile::tempdir().expect("a temporary folder");
        Bench { folder: folder(), cache: folder() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), contents).expect("a file can be written");
    }

    fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Answer {
        self.run_with(arguments, "", &[])
    }

    fn run_with<S: AsRef<OsStr>>(&self, arguments: &[S], stdin: &str, variables: &[(&str, &str)]) -> Answer {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sdfg"))
            .args(arguments)
            .env("SDFG_CACHE", self.cache.path())
            .env_remove("NO_COLOR")
            .envs(variables.iter().copied())
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command can be run");
        // A command that does not read its input closes it early.
        let _ = child.stdin.take().expect("its input is a pipe").write_all(stdin.as_bytes());
        let Output { status, stdout, stderr } = child.wait_with_output().expect("the command ends");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Answer { status: status.code(), signal: status.signal(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// Names of all files, to see that nothing was left behind.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("the folder can be read");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("an entry").file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }
}

impl Answer {
    /// The command succeeded and printed every one of the texts.
    #[track_caller]
    fn prints(&self, texts: &[&str]) -> &Self {
        assert_eq!(self.status, Some(0), "{self:#?}");
        for text in texts {
            assert!(self.stdout.contains(text), "no `{text}` in {self:#?}");
        }
        self
    }

    /// The command failed with this status and every one of the texts among its messages.
    #[track_caller]
    fn fails(&self, status: i32, texts: &[&str]) -> &Self {
        assert_eq!(self.status, Some(status), "{self:#?}");
        assert!(self.stderr.contains("error"), "{self:#?}");
        for text in texts {
            assert!(self.stderr.contains(text), "no `{text}` in {self:#?}");
        }
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        self
    }
}
