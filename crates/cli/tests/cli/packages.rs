//! Tests of packages from C, CMake and Fortran: they run the commands of `examples/embedding/README.md` with
//! the tools that are installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Bench;
use crate::programs::DOUBLE;

pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A folder with the package of `laplace` in `package`.
fn laplace() -> Bench {
    laplace_for("host")
}

/// The same for processors.
fn laplace_for(processors: &str) -> Bench {
    let bench = Bench::new();
    let program = repository("programs/laplace.sdft").display().to_string();
    let command = ["compile", &program, "--emit", "package", "-o", "package", "--cpu", processors];
    bench.run(&command).prints(&[]);
    bench
}

/// Runs a command in the folder; `None` if there is no such tool.
fn tool(bench: &Bench, command: &[&str], variable: (&str, PathBuf)) -> Option<String> {
    let (program, arguments) = command.split_first()?;
    let run = Command::new(program)
        .args(arguments)
        .env(variable.0, variable.1)
        .current_dir(bench.folder.path())
        .output();
    let output = match run {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => panic!("{program}: {error}"),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}:\n{}{}", text(&output.stdout), text(&output.stderr));
    Some(text(&output.stdout))
}

#[expect(clippy::print_stderr, reason = "whoever runs the tests should know what they did not do")]
pub(super) fn skip(tool: &str) {
    eprintln!("skipped: there is no {tool}");
}

#[test]
fn a_package_is_complete_and_the_same_every_time() {
    let bench = laplace();
    let files = [
        "include/laplace.h",
        "include/laplace.json",
        "include/laplace_sdfg.f90",
        "lib/liblaplace.so",
        "lib/liblaplace.a",
        "lib/pkgconfig/laplace.pc",
        "lib/cmake/laplace/laplace-config.cmake",
    ];
    let other = laplace();
    for file in files {
        let path = Path::new("package").join(file).display().to_string();
        let read = |bench: &Bench| std::fs::read(bench.path(&path)).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert!(read(&bench) == read(&other), "{path} differs");
    }
    bench.file("double.sdft", DOUBLE);
    bench.file("taken", "");
    let refused = bench.run(&["compile", "double.sdft", "--emit", "package", "-o", "taken"]);
    refused.fails(2, &["cannot write taken: it is no folder", "help: check that the folder"]);
}

/// Neither the folders of a package nor those around it are left, and an older package stays as it was.
#[test]
fn a_package_that_fails_leaves_nothing() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    let write = |folder: &str, variables: &[(&str, &str)]| {
        bench.run_with(&["compile", "double.sdft", "--emit", "package", "-o", folder], "", variables)
    };
    for folder in ["new", "deep/down/new"] {
        write(folder, &[("SDFG_LINKER", "false")]).fails(2, &["`false` failed"]);
    }
    assert_eq!(bench.files(), ["double.sdft"]);
    write("deep/old", &[]).prints(&[]);
    std::fs::write(bench.path("deep/old/lib/libtwofold.so"), "old").expect("a file");
    write("deep/old", &[("SDFG_LINKER", "false")]).fails(2, &["`false` failed"]);
    let read = || std::fs::read(bench.path("deep/old/lib/libtwofold.so")).expect("a file");
    assert_eq!(read(), b"old");
    write("deep/old", &[]).prints(&[]);
    assert!(read().starts_with(b"\x7fELF"));
    let names = |path: &str| {
        let entries = std::fs::read_dir(bench.path(path)).expect("a folder");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names("deep/old"), ["include", "lib"]);
    assert_eq!(names("deep"), ["old"]);
}

/// The interface for callers does not depend on the number of versions.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_package_with_versions_is_used_as_any_other() {
    let (one, several) = (laplace(), laplace_for("x86-64,x86-64-v3"));
    let read = |bench: &Bench, path: &str| {
        std::fs::read(bench.path(&format!("package/{path}"))).unwrap_or_else(|e| panic!("{path}: {e}"))
    };
    for path in [
        "include/laplace.h",
        "include/laplace.json",
        "include/laplace_sdfg.f90",
        "lib/pkgconfig/laplace.pc",
        "lib/cmake/laplace/laplace-config.cmake",
    ] {
        assert!(read(&one, path) == read(&several, path), "{path} differs");
    }
    let again = laplace_for("x86-64-v3,x86-64");
    assert!(read(&several, "lib/liblaplace.so") == read(&again, "lib/liblaplace.so"));
    let source = repository("examples/embedding/main.c").display().to_string();
    let rpath = format!("-Wl,-rpath,{}", several.path("package/lib").display());
    let cc = ["cc", &source, "-Ipackage/include", "-Lpackage/lib", "-llaplace", &rpath, "-o", "main"];
    let level = |name: &str| ("SDFG_CPU", PathBuf::from(name));
    tool(&several, &cc, level("")).expect("there is a C compiler");
    for name in ["", "x86-64", "x86-64-v3"] {
        assert_eq!(tool(&several, &["./main"], level(name)).as_deref(), Some("laplace: ok\n"), "{name}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn versions_run_in_process() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    let run = ["run", "double.sdft", "--set", "N=3", "-i", "A=ones", "--cpu", "x86-64,x86-64-v3"];
    for name in ["", "x86-64"] {
        bench.run_with(&run, "", &[("SDFG_CPU", name)]).prints(&["2.0, 2.0, 2.0"]);
    }
    bench
        .run_with(&run, "", &[("SDFG_CPU", "x86_64")])
        .fails(2, &["the code has no version for this processor, or for the one that SDFG_CPU names"]);
}

#[test]
fn c_programs_find_a_package_by_pkg_config() {
    let bench = laplace();
    let path = || ("PKG_CONFIG_PATH", bench.path("package/lib/pkgconfig"));
    let Some(flags) = tool(&bench, &["pkg-config", "--cflags", "--libs", "laplace"], path()) else {
        skip("pkg-config");
        return;
    };
    let source = repository("examples/embedding/main.c").display().to_string();
    let rpath = format!("-Wl,-rpath,{}", bench.path("package/lib").display());
    let mut command = vec!["cc", "-Wall", "-Wextra", "-Werror", source.as_str()];
    command.extend(flags.split_whitespace());
    command.extend([rpath.as_str(), "-o", "main"]);
    tool(&bench, &command, path()).expect("there is a C compiler");
    assert_eq!(tool(&bench, &["./main"], path()).as_deref(), Some("laplace: ok\n"));
    let statically = tool(&bench, &["pkg-config", "--static", "--libs", "laplace"], path());
    assert!(statically.is_some_and(|flags| flags.contains("-lgomp") && flags.contains("-lm")));
}

#[test]
fn c_programs_find_a_package_by_cmake() {
    let bench = laplace();
    let source = repository("examples/embedding").display().to_string();
    let prefix = || ("CMAKE_PREFIX_PATH", bench.path("package"));
    if tool(&bench, &["cmake", "-S", &source, "-B", "build"], prefix()).is_none() {
        skip("CMake");
        return;
    }
    tool(&bench, &["cmake", "--build", "build"], prefix());
    for program in ["build/main", "build/main_static"] {
        assert_eq!(tool(&bench, &[program], prefix()).as_deref(), Some("laplace: ok\n"));
    }
}

#[test]
fn fortran_programs_use_the_module_of_a_package() {
    let bench = laplace();
    let flags = ["-Wall", "-Werror", "-std=f2008"];
    let include = || ("LC_ALL", PathBuf::from("C"));
    let module = bench.path("package/include/laplace_sdfg.f90").display().to_string();
    let compiled = tool(&bench, &[&["gfortran"], &flags[..], &["-c", &module]].concat(), include());
    if compiled.is_none() {
        skip("gfortran");
        return;
    }
    let source = repository("examples/embedding/main.f90").display().to_string();
    let rpath = format!("-Wl,-rpath,{}", bench.path("package/lib").display());
    let link = [&source, "laplace_sdfg.o", "-Lpackage/lib", "-llaplace", &rpath, "-o", "main"];
    tool(&bench, &[&["gfortran"], &flags[..], &link].concat(), include());
    assert_eq!(tool(&bench, &["./main"], include()).as_deref(), Some("laplace: ok\n"));
}

/// Moves an element of each queue of one array to the queue of the other one, times 10; `Last` is one stream.
const CARRY: &str = "\
sdfg carry {
  symbol P: i64
  stream From: i64[P, 2]
  stream To: i64[P]
  stream Last: i64
  state s {
    access From
    access To
    access Last
    map all [p = 0:P] schedule(sequential) {
      tasklet t (x) -> (y, z) {
        y = 10 * x
        z = x
      }
      all.From -> t.x: From[p, 1]
      t.y -> all.To: To[p]
      t.z -> all.Last: Last
    }
    From -> all.From
    all.To -> To
    all.Last -> Last
  }
}
";

/// Queues in the order of Fortran: `From(2, P)`.
const CARRY_IN_FORTRAN: &str = "\
program main
  use, intrinsic :: iso_c_binding
  use carry_sdfg
  implicit none
  interface
    function malloc(size) bind(c) result(memory)
      import
      integer(c_size_t), value :: size
      type(c_ptr) :: memory
    end function
  end interface
  integer, parameter :: p = 3
  type(carry_queue) :: from(2, p), to(p), last
  integer(c_int64_t), pointer :: elements(:)
  integer :: i, k
  do i = 1, p
    do k = 1, 2
      from(k, i)%elements = malloc(16_c_size_t)
      from(k, i)%count = 2
      call c_f_pointer(from(k, i)%elements, elements, [2])
      elements = [10 * i + k, 0]
    end do
  end do
  if (carry(from, to, last, int(p, c_int64_t)) /= carry_success) error stop 1
  do i = 1, p
    if (to(i)%count /= 1 .or. from(1, i)%count /= 2 .or. from(2, i)%count /= 1) error stop 2
    call c_f_pointer(to(i)%elements, elements, [1])
    if (elements(1) /= 10 * (10 * i + 2)) error stop 3
  end do
  call c_f_pointer(last%elements, elements, [last%count])
  if (any(elements /= [12, 22, 32])) error stop 4
  print '(a)', 'carry: ok'
end program
";

#[test]
fn fortran_programs_pass_streams_and_arrays_of_streams() {
    let bench = Bench::new();
    bench.file("carry.sdft", CARRY);
    bench.file("main.f90", CARRY_IN_FORTRAN);
    bench.run(&["compile", "carry.sdft", "--emit", "package", "-o", "package"]).prints(&[]);
    let flags = ["-Wall", "-Werror", "-std=f2008"];
    let include = || ("LC_ALL", PathBuf::from("C"));
    let module = bench.path("package/include/carry_sdfg.f90").display().to_string();
    if tool(&bench, &[&["gfortran"], &flags[..], &["-c", &module]].concat(), include()).is_none() {
        skip("gfortran");
        return;
    }
    let rpath = format!("-Wl,-rpath,{}", bench.path("package/lib").display());
    let link = ["main.f90", "carry_sdfg.o", "-Lpackage/lib", "-lcarry", &rpath, "-o", "main"];
    tool(&bench, &[&["gfortran"], &flags[..], &link].concat(), include());
    assert_eq!(tool(&bench, &["./main"], include()).as_deref(), Some("carry: ok\n"));
}

#[test]
fn symbols_can_have_a_value_for_good() {
    let bench = Bench::new();
    bench.file("double.sdft", DOUBLE);
    let header = bench.run(&["compile", "double.sdft", "--emit", "header", "--specialize", "N=6"]);
    header.prints(&["A: f64[6], read", "const double *A,\n    double *B);"]);
    assert!(!header.stdout.contains("int64_t"), "{header:#?}");
    let run = ["run", "double.sdft", "--specialize", "N=3", "-i", "A=range"];
    bench.run(&run).prints(&["B: f64[3]", "0.0, 2.0, 4.0"]);
    let wrong = |option: &str, status: i32, texts: &[&str]| {
        bench.run(&["run", "double.sdft", "--specialize", option]).fails(status, texts);
    };
    wrong("M=3", 2, &["no symbol `M`", "--specialize M=3", "its symbols are N"]);
    wrong("N=-1", 1, &["`A` has an extent of -1"]);
    wrong("N", 2, &["N"]);
    let twice = ["run", "double.sdft", "--specialize", "N=3", "--specialize", "N=4"];
    bench.run(&twice).fails(2, &["`N` is set twice", "--specialize N=4"]);
    let set = ["run", "double.sdft", "--specialize", "N=3", "--set", "N=8"];
    bench.run(&set).fails(2, &["`N` is set twice", "--specialize N=3, --set N=...", "leave --set out"]);
}
