//! Choice of the linker, and its command line.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::LinkError;

/// The variable that names the linker: a compiler driver or a bare linker, as a name or a path.
pub const LINKER_VARIABLE: &str = "SDFG_LINKER";

/// Compiler drivers and bare linkers, in the order in which they are tried.
const CANDIDATES: [&str; 8] = ["cc", "clang", "gcc", "clang-19", "ld", "ld.lld", "lld", "rust-lld"];

/// Argument syntax of a linker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    /// A C compiler, which knows the system's libraries and passes `-Wl,` arguments on.
    Driver,
    /// `ld` and its relatives.
    Bare,
    /// An `lld` that has to be told which linker to be.
    GenericLld,
}

/// A linker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Linker {
    pub(super) program: PathBuf,
    pub(super) flavour: Flavour,
}

impl Linker {
    /// The linker of the variable [`LINKER_VARIABLE`], else the first one of this machine.
    pub(super) fn find() -> Result<Self, LinkError> {
        if let Some(program) = std::env::var_os(LINKER_VARIABLE).filter(|program| !program.is_empty()) {
            return Ok(Linker::named(Path::new(&program)));
        }
        CANDIDATES
            .into_iter()
            .find_map(on_path)
            .or_else(rust_lld)
            .map(|program| Linker::named(&program))
            .ok_or_else(|| LinkError::NoLinker { tried: CANDIDATES.map(str::to_owned).to_vec() })
    }

    fn named(program: &Path) -> Self {
        let name = program.file_name().and_then(OsStr::to_str).unwrap_or_default();
        // `ld.lld-19`, `x86_64-linux-gnu-ld`: the version and the target are no part of the kind.
        let is = |kind: &str| name.split(['-', '.']).any(|part| part == kind) || name == kind;
        let flavour = if is("ld") || is("mold") || is("gold") {
            Flavour::Bare
        } else if is("lld") {
            Flavour::GenericLld
        } else {
            Flavour::Driver
        };
        Linker { program: program.to_owned(), flavour }
    }

    /// A command line that has nothing but the program and, if needed, its flavour.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if self.flavour == Flavour::GenericLld {
            command.args(["-flavor", "gnu"]);
        }
        command.stdin(Stdio::null());
        command
    }

    /// The path at which a compiler driver finds the library `name`, if any.
    pub(super) fn locate(&self, name: &str) -> Option<PathBuf> {
        if self.flavour != Flavour::Driver {
            return None;
        }
        let output = self.command().arg(format!("-print-file-name={name}")).output().ok()?;
        let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
        // A library that is not found is printed as it was asked for.
        (path.is_absolute() && path.is_file()).then_some(path)
    }
}

/// The program of this name in the folders of `PATH`.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Runs `command`, which starts `program`, and keeps what it prints for the error message.
pub(crate) fn run(program: &Path, mut command: Command) -> Result<(), LinkError> {
    let program = program.display().to_string();
    let output = match command.output() {
        Ok(output) => output,
        Err(source) => return Err(LinkError::NotRunnable { program, source }),
    };
    if output.status.success() {
        return Ok(());
    }
    let messages = [output.stdout, output.stderr].concat();
    let messages = String::from_utf8_lossy(&messages).trim_end().to_owned();
    Err(LinkError::Failed { program, status: output.status, messages })
}

/// The error that says what is missing, if that is why a linker failed: linkers print names between other things.
pub(super) fn what_is_missing(error: LinkError) -> LinkError {
    let LinkError::Failed { messages, .. } = &error else { return error };
    let symbols = names_after(messages, &["undefined reference to ", "undefined symbol: "]);
    let names = names_after(messages, &["cannot find -l", "unable to find library -l"]);
    if !names.is_empty() {
        LinkError::MissingLibrary { names }
    } else if !symbols.is_empty() {
        LinkError::MissingSymbols { symbols }
    } else {
        error
    }
}

/// The words that follow one of `beginnings` in a line, without quotes, each once.
fn names_after(messages: &str, beginnings: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in messages.lines() {
        let Some(rest) = beginnings.iter().find_map(|begin| line.split_once(begin)).map(|(_, rest)| rest)
        else {
            continue;
        };
        let name = rest.trim_start_matches(['`', '\'', '"']);
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_.+-$@".contains(c);
        let name: String = name.chars().take_while(|c| is_part(*c)).collect();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The linker that comes with the Rust compiler.
fn rust_lld() -> Option<PathBuf> {
    let output = Command::new("rustc").args(["--print", "target-libdir"]).output().ok()?;
    let folder = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    let program = folder.parent()?.join("bin").join("rust-lld");
    program.is_file().then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_what_linkers_print() {
        let missing = |messages: &str| {
            let status = std::process::ExitStatus::default();
            let (program, messages) = ("cc".to_owned(), messages.to_owned());
            what_is_missing(LinkError::Failed { program, status, messages })
        };
        let gnu = "ld: f.o: in function `p.body':\nf.c:(.text+0x5b): undefined reference to `my_sq'\n\
                   f.c:(.text+0x6b): undefined reference to `my_sq'\ncollect2: error: ld returned 1 exit status";
        let lld = "ld.lld: error: undefined symbol: my_sq\n>>> referenced by f.c";
        for messages in [gnu, lld] {
            let error = missing(messages);
            assert!(
                matches!(&error, LinkError::MissingSymbols { symbols } if symbols == &["my_sq"]),
                "{error}"
            );
        }
        for messages in
            ["/usr/bin/ld: cannot find -lnone: No such file", "ld.lld: error: unable to find library -lnone"]
        {
            let error = missing(messages);
            assert!(matches!(&error, LinkError::MissingLibrary { names } if names == &["none"]), "{error}");
        }
        assert!(matches!(missing("ld: out of memory"), LinkError::Failed { .. }));
    }

    #[test]
    fn flavours_are_told_by_name() {
        for (name, flavour) in [
            ("cc", Flavour::Driver),
            ("/usr/bin/clang-19", Flavour::Driver),
            ("x86_64-linux-gnu-gcc-12", Flavour::Driver),
            ("ld", Flavour::Bare),
            ("/opt/bin/ld.lld-19", Flavour::Bare),
            ("x86_64-linux-gnu-ld.gold", Flavour::Bare),
            ("mold", Flavour::Bare),
            ("rust-lld", Flavour::GenericLld),
            ("lld", Flavour::GenericLld),
        ] {
            assert_eq!(Linker::named(Path::new(name)).flavour, flavour, "{name}");
        }
    }
}
