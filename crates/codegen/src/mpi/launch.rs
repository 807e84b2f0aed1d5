//! The start of programs on several ranks.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread::available_parallelism;

use tempfile::TempDir;

use super::compiler::named_program;
use super::{Implementation, Mpi, MpiError};
use crate::link::on_path;

/// The variable that names the program that starts ranks, as a name or a path.
pub const LAUNCHER_VARIABLE: &str = "SDFG_MPIRUN";

/// Programs that start ranks in the order in which they are tried.
const CANDIDATES: [&str; 2] = ["mpirun", "mpiexec"];

/// Settings of Open MPI 4 and 5 that every start has. Only root heeds the first two. Open MPI binds each rank to one core if there
/// are few, so that the threads of a rank would share it.
const OPEN_MPI: [(&str, &str); 4] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ("PRTE_MCA_hwloc_default_binding_policy", "none"),
];

/// Settings of Open MPI 4 and 5 that permit more ranks than cores.
const OVERSUBSCRIBED: [(&str, &str); 2] =
    [("OMPI_MCA_rmaps_base_oversubscribe", "1"), ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")];

/// The variable that tells Open MPI 4 where to make its session folder. Open MPI 5 needs none: the names of its session folders
/// contain the number of the process.
const SESSIONS: &str = "OMPI_MCA_orte_tmpdir_base";

/// Variables by which MPIs tell a rank its number and the number of ranks.
const RANKS: [(&str, &str); 2] = [("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE")];

/// A program that starts ranks.
///
/// Under Open MPI, each launcher has a session folder of its own, which is removed with the last clone of the launcher. All jobs of
/// a user share one session folder otherwise, and Open MPI 4 fails if one job makes it while another one removes it
/// (<https://github.com/open-mpi/ompi/issues/8510>).
#[derive(Clone, Debug)]
pub struct Launcher {
    program: PathBuf,
    implementation: Implementation,
    sessions: Option<Arc<TempDir>>,
}

impl Launcher {
    /// The launcher that the variable [`LAUNCHER_VARIABLE`] names, else the one beside the C compiler of the MPI, else the first
    /// one in `PATH`.
    ///
    /// # Errors
    /// [`MpiError::NoLauncher`].
    pub fn find(mpi: &Mpi) -> Result<Self, MpiError> {
        let implementation = mpi.implementation();
        if let Some(name) = std::env::var_os(LAUNCHER_VARIABLE).filter(|name| !name.is_empty()) {
            let program = named_program(Path::new(&name));
            if !program.is_file() {
                return Err(MpiError::NoLauncher { tried: vec![program.display().to_string()] });
            }
            return Ok(Self::new(program, implementation));
        }
        let candidates = beside(mpi.compiler());
        let found = candidates.iter().find(|path| path.is_file()).cloned();
        match found.or_else(|| CANDIDATES.into_iter().find_map(on_path)) {
            Some(program) => Ok(Self::new(program, implementation)),
            None => {
                let tried = candidates.iter().map(|path| path.display().to_string());
                Err(MpiError::NoLauncher { tried: tried.chain(CANDIDATES.map(str::to_owned)).collect() })
            }
        }
    }

    fn new(program: PathBuf, implementation: Implementation) -> Self {
        let sessions = match implementation {
            // Without a folder, Open MPI chooses one.
            Implementation::OpenMpi => {
                tempfile::Builder::new().prefix("sdfg-ranks-").tempdir().ok().map(Arc::new)
            }
            Implementation::Mpich | Implementation::Other => None,
        };
        Launcher { program, implementation, sessions }
    }

    /// The launcher.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The command that runs `program` on so many ranks, to which the caller adds the program's arguments. Variables that the user has
    /// set remain. The launcher has to exist until the command ends.
    pub fn command(&self, ranks: usize, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(&self.program);
        let is_oversubscribed = available_parallelism().is_ok_and(|cores| ranks > cores.get());
        let settings: &[(&str, &str)] = match self.implementation {
            Implementation::OpenMpi => &OPEN_MPI,
            Implementation::Mpich | Implementation::Other => &[],
        };
        let more: &[(&str, &str)] = match self.implementation {
            Implementation::OpenMpi if is_oversubscribed => &OVERSUBSCRIBED,
            Implementation::OpenMpi | Implementation::Mpich | Implementation::Other => &[],
        };
        let settings = settings.iter().chain(more).map(|(name, value)| (*name, OsStr::new(value)));
        let sessions = self.sessions.iter().map(|folder| (SESSIONS, folder.path().as_os_str()));
        for (name, value) in settings.chain(sessions) {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        command.arg("-n").arg(ranks.to_string()).arg(program);
        command
    }
}

/// Launchers that belong to a C compiler: in its folder, with its suffix (`mpicc.openmpi`, `mpirun.openmpi`) or without.
fn beside(compiler: &Path) -> Vec<PathBuf> {
    let folder = compiler.parent().unwrap_or(Path::new(""));
    let name = compiler.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let suffix = name.strip_prefix("mpicc").unwrap_or_default();
    let named = CANDIDATES.map(|name| folder.join(format!("{name}{suffix}")));
    let plain = CANDIDATES.map(|name| folder.join(name));
    named.into_iter().chain(plain.into_iter().filter(|_| !suffix.is_empty())).collect()
}

/// The rank of this process and the number of ranks, if a launcher started it.
pub fn ranks_of_environment() -> Option<(usize, usize)> {
    RANKS.into_iter().find_map(|(rank, ranks)| {
        let number = |name: &str| std::env::var(name).ok()?.trim().parse().ok();
        Some((number(rank)?, number(ranks)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_of_open_mpi_have_own_session_folders() {
        let launcher = || Launcher::new(PathBuf::from("mpirun"), Implementation::OpenMpi);
        let folder = |launcher: &Launcher| {
            let command = launcher.command(2, "program");
            let value = command.get_envs().find(|(name, _)| *name == SESSIONS).and_then(|(_, value)| value);
            PathBuf::from(value.expect("the variable is set"))
        };
        let (one, other) = (launcher(), launcher());
        let folders = [folder(&one), folder(&other)];
        assert_ne!(folders[0], folders[1]);
        assert_eq!(folder(&one.clone()), folders[0]);
        assert!(folders.iter().all(|folder| folder.is_dir()));
        drop((one, other));
        assert!(!folders.iter().any(|folder| folder.exists()));
    }

    #[test]
    fn only_more_ranks_than_cores_share_cores() {
        let cores = available_parallelism().map_or(1, usize::from);
        let shares = |implementation, ranks| {
            let command = Launcher::new(PathBuf::from("mpirun"), implementation).command(ranks, "program");
            let set: Vec<&OsStr> = command.get_envs().map(|(name, _)| name).collect();
            // A variable that the user has set is not set again.
            OVERSUBSCRIBED.iter().any(|(name, _)| set.contains(&OsStr::new(name)))
        };
        if OVERSUBSCRIBED.iter().all(|(name, _)| std::env::var_os(name).is_none()) {
            let ranks = [1, cores, cores + 1, 2 * cores + 1];
            assert_eq!(ranks.map(|ranks| shares(Implementation::OpenMpi, ranks)), [false, false, true, true]);
            assert_eq!(ranks.map(|ranks| shares(Implementation::Mpich, ranks)), [false; 4]);
        }
    }

    #[test]
    fn launchers_belong_to_compilers() {
        let names = |compiler: &str| {
            beside(Path::new(compiler)).iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names("/opt/bin/mpicc"), ["/opt/bin/mpirun", "/opt/bin/mpiexec"]);
        let suffixed =
            ["/bin/mpirun.mpich", "/bin/mpiexec.mpich", "/bin/mpirun", "/bin/mpiexec"].map(str::to_owned);
        assert_eq!(names("/bin/mpicc.mpich"), suffixed);
    }
}
