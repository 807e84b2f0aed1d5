//! Search for LLVM 19.
//!
//! The search is separate from `setup` and takes its environment as a value. Tests can therefore simulate any
//! machine: with a module system, with only a wrong version, or with nothing installed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable that tells the `llvm-sys` crate the location of LLVM.
pub(crate) const PREFIX_VARIABLE: &str = "LLVM_SYS_191_PREFIX";

/// The commands that the `llvm-sys` crate tries by itself, in its order.
///
/// An LLVM that they find on PATH needs no variable, unless one of them is a newer LLVM: the crate would take it and
/// fail to link.
const NAMES: [&str; 6] =
    ["llvm-config", "llvm-config-19", "llvm-config19", "llvm19-config", "llvm-config-19.1", "llvm-config191"];

/// Folders in which distributions install LLVM 19 without adding it to PATH.
const FOLDERS: [&str; 5] = [
    "/usr/lib/llvm-19",
    "/usr/lib64/llvm19",
    "/usr/lib/llvm19",
    "/opt/homebrew/opt/llvm@19",
    "/usr/local/opt/llvm@19",
];

/// The environment of the search.
pub(crate) struct Surroundings {
    /// The value of [`PREFIX_VARIABLE`], when it is set.
    pub(crate) prefix: Option<PathBuf>,
    /// The folders of PATH, in order.
    pub(crate) path: Vec<PathBuf>,
    /// Installation folders to try last.
    pub(crate) folders: Vec<PathBuf>,
}

impl Surroundings {
    /// The environment of this process.
    pub(crate) fn of_process() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self {
            prefix: std::env::var_os(PREFIX_VARIABLE).map(PathBuf::from),
            path: std::env::split_paths(&path).collect(),
            folders: FOLDERS.iter().map(PathBuf::from).collect(),
        }
    }
}

/// An LLVM 19 that was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Llvm {
    /// Its `llvm-config`.
    pub(crate) config: PathBuf,
    /// The version that `llvm-config` reports.
    pub(crate) version: String,
    /// The value of [`PREFIX_VARIABLE`] for cargo, if cargo would not find this LLVM by itself.
    pub(crate) prefix_to_set: Option<PathBuf>,
}

impl Llvm {
    /// The folder of its libraries.
    pub(crate) fn libraries(&self) -> Option<PathBuf> {
        ask(&self.config, "--libdir").map(PathBuf::from)
    }
}

/// The reason that no LLVM 19 was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotFound {
    /// The variable is set, which overrides every other place, and is wrong.
    WrongPrefix {
        /// The variable's value.
        prefix: PathBuf,
        /// The version of its `bin/llvm-config`, if that works.
        version: Option<String>,
    },
    /// No folder contains LLVM 19; the other versions that were found.
    Nowhere {
        /// Each `llvm-config` of another version.
        others: Vec<(PathBuf, String)>,
    },
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongPrefix { prefix, version: Some(version) } => {
                write!(f, "{PREFIX_VARIABLE} names {}, which is LLVM {version}, not 19.1", prefix.display())
            }
            Self::WrongPrefix { prefix, version: None } => {
                write!(
                    f,
                    "{PREFIX_VARIABLE} names {}, which has no working bin/llvm-config",
                    prefix.display()
                )
            }
            Self::Nowhere { others } => {
                write!(f, "LLVM 19 was not found")?;
                for (config, version) in others {
                    write!(f, "; {} is version {version}", config.display())?;
                }
                Ok(())
            }
        }
    }
}

/// Looks for LLVM 19 in the order that the `llvm-sys` crate uses, then in known installation folders.
pub(crate) fn find(surroundings: &Surroundings) -> Result<Llvm, NotFound> {
    if let Some(prefix) = &surroundings.prefix {
        let mut seen = NAMES.iter().filter_map(|name| asked(prefix.join("bin").join(name)));
        let first = seen.next();
        return match first.clone().into_iter().chain(seen).find(|(_, version)| is_right(version)) {
            Some((config, version)) => Ok(Llvm { config, version, prefix_to_set: None }),
            None => Err(NotFound::WrongPrefix {
                prefix: prefix.clone(),
                version: first.map(|(_, version)| version),
            }),
        };
    }
    let mut others: Vec<(PathBuf, String)> = Vec::new();
    for name in NAMES {
        // As for any command, the first file of that name on PATH is the one that counts.
        let on_path = surroundings.path.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
        match on_path.and_then(asked) {
            Some((config, version)) if is_right(&version) => {
                let hidden = others.iter().any(|(_, other)| is_newer(other));
                let prefix_to_set = if hidden { ask(&config, "--prefix").map(PathBuf::from) } else { None };
                return Ok(Llvm { config, version, prefix_to_set });
            }
            Some(other) => others.push(other),
            None => {}
        }
    }
    for folder in &surroundings.folders {
        match asked(folder.join("bin/llvm-config")) {
            Some((config, version)) if is_right(&version) => {
                return Ok(Llvm { config, version, prefix_to_set: Some(folder.clone()) });
            }
            Some(other) => others.push(other),
            None => {}
        }
    }
    Err(NotFound::Nowhere { others })
}

/// LLVM numbers its first release of a major version `.1`; `.0` was in development.
fn is_right(version: &str) -> bool {
    version.starts_with("19.1.")
}

fn is_newer(version: &str) -> bool {
    version.split('.').next().and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major > 19)
}

/// The `llvm-config` with its version, when it is one that runs.
fn asked(config: PathBuf) -> Option<(PathBuf, String)> {
    let version = ask(&config, "--version")?;
    Some((config, version))
}

fn ask(config: &Path, question: &str) -> Option<String> {
    let output = Command::new(config).arg(question).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Plants an `llvm-config` that prints `version`.
    fn plant(file: &Path, version: &str) {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let prefix = file.parent().unwrap().parent().unwrap().display();
        let script = format!("#!/bin/sh\ncase $1 in --prefix) echo {prefix};; *) echo {version};; esac\n");
        fs::write(file, script).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn surroundings(prefix: Option<PathBuf>, path: &[PathBuf], folders: &[PathBuf]) -> Surroundings {
        Surroundings { prefix, path: path.to_vec(), folders: folders.to_vec() }
    }

    #[test]
    fn nothing_anywhere() {
        let machine = tempfile::tempdir().unwrap();
        let found =
            find(&surroundings(None, &[machine.path().join("bin")], &[machine.path().join("llvm-19")]));
        assert_eq!(found, Err(NotFound::Nowhere { others: vec![] }));
    }

    #[test]
    fn the_versioned_name_is_found_beside_another_version() {
        let machine = tempfile::tempdir().unwrap();
        let bin = machine.path().join("bin");
        plant(&bin.join("llvm-config"), "14.0.6");
        plant(&bin.join("llvm-config-19"), "19.1.7");
        let found = find(&surroundings(None, std::slice::from_ref(&bin), &[])).unwrap();
        assert_eq!(found.config, bin.join("llvm-config-19"));
        assert_eq!(found.prefix_to_set, None);
    }

    #[test]
    fn a_module_system_puts_the_plain_name_on_path() {
        let machine = tempfile::tempdir().unwrap();
        let (module, system) = (machine.path().join("spack/bin"), machine.path().join("bin"));
        plant(&module.join("llvm-config"), "19.1.3");
        plant(&system.join("llvm-config"), "14.0.6");
        let found = find(&surroundings(None, &[module.clone(), system], &[])).unwrap();
        assert_eq!(found.config, module.join("llvm-config"));
    }

    #[test]
    fn only_other_versions_are_named_in_the_message() {
        let machine = tempfile::tempdir().unwrap();
        let bin = machine.path().join("bin");
        plant(&bin.join("llvm-config"), "20.1.0");
        let error = find(&surroundings(None, &[bin], &[])).unwrap_err();
        assert!(error.to_string().contains("is version 20.1.0"), "{error}");
    }

    #[test]
    fn a_newer_version_on_path_is_overridden() {
        let machine = tempfile::tempdir().unwrap();
        let bin = machine.path().join("bin");
        plant(&bin.join("llvm-config"), "20.1.0");
        plant(&bin.join("llvm-config-19"), "19.1.7");
        let found = find(&surroundings(None, &[bin], &[])).unwrap();
        assert_eq!(found.prefix_to_set, Some(machine.path().to_path_buf()));
    }

    #[test]
    fn a_folder_that_is_not_on_path_needs_the_variable() {
        let machine = tempfile::tempdir().unwrap();
        let folder = machine.path().join("llvm-19");
        plant(&folder.join("bin/llvm-config"), "19.1.7");
        let found = find(&surroundings(None, &[], std::slice::from_ref(&folder))).unwrap();
        assert_eq!(found.prefix_to_set, Some(folder));
    }

    #[test]
    fn the_variable_comes_first_and_is_not_second_guessed() {
        let machine = tempfile::tempdir().unwrap();
        let (bin, prefix) = (machine.path().join("bin"), machine.path().join("mine"));
        plant(&bin.join("llvm-config-19"), "19.1.7");
        let path = [bin];
        let missing = find(&surroundings(Some(prefix.clone()), &path, &[]));
        assert_eq!(missing, Err(NotFound::WrongPrefix { prefix: prefix.clone(), version: None }));
        plant(&prefix.join("bin/llvm-config"), "18.1.8");
        let wrong = find(&surroundings(Some(prefix.clone()), &path, &[])).unwrap_err();
        assert!(wrong.to_string().contains("LLVM 18.1.8"), "{wrong}");
        plant(&prefix.join("bin/llvm-config"), "19.1.0");
        let right = find(&surroundings(Some(prefix.clone()), &path, &[])).unwrap();
        assert_eq!(right.config, prefix.join("bin/llvm-config"));
    }

    #[test]
    fn a_broken_llvm_config_is_passed_over() {
        let machine = tempfile::tempdir().unwrap();
        let bin = machine.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("llvm-config"), "not a program").unwrap();
        plant(&bin.join("llvm-config-19"), "19.1.7");
        assert!(find(&surroundings(None, &[bin], &[])).is_ok());
    }
}
