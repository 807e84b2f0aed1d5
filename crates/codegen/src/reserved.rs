//! Names that compiled programs must not export, because generated code or its libraries call functions of
//! these names.
//!
//! A program of such a name would be called instead of the function, or the function instead of the program.
//! The code generator compares the functions that a program declares with the program's own names. This
//! module lists the functions that the optimiser, the runtime and the C library call in addition.

/// Functions of C's mathematics, each also with `f` and `l` behind it.
const MATHEMATICS: &str = "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1 fabs fdim \
    floor fma fmax fmaximum fmin fminimum fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint \
    nextafter nexttoward pow remainder remquo rint round roundeven scalbln scalbn sin sincos sinh sqrt tan tanh tgamma trunc \
    cabs cacos cacosh carg casin casinh catan catanh ccos ccosh cexp cimag clog conj cpow cproj creal csin csinh csqrt ctan ctanh \
    j0 j1 jn y0 y1 yn significand gamma drem pow10";

/// Functions of the C library and of the system, and names of C++ and linkers that are taken.
const LIBRARY: &str = "abort abs accept access alarm aligned_alloc alloca asprintf atexit atof atoi atol atoll basename bcmp bcopy bind brk bsearch \
    bzero calloc chdir chmod chown clearerr clock clock_gettime clone close closedir connect creat div dlclose dlerror dlopen dlsym dprintf dup dup2 \
    environ errno execl execv execve execvp exit fclose fcntl feof ferror fflush ffs fgetc fgets fileno finite flock fopen fork fprintf fputc \
    fputs fread free freopen fscanf fseek fstat fsync ftell ftruncate fwrite getc getchar getcwd getenv geteuid getline getopt getpagesize \
    getpid getppid gets gettid gettimeofday getuid gmtime htonl htons index ioctl isalnum isalpha isatty isdigit isspace kill \
    labs ldiv link listen llabs lldiv localtime longjmp lseek madvise malloc mblen memalign memccpy memchr memcmp memcpy memmem memmove mempcpy memrchr \
    memset mkdir mktime mlock mmap mprotect mremap munmap nanosleep ntohl open opendir pause perror pipe poll posix_memalign pread printf \
    ptrace putc putchar putenv puts pwrite qsort quick_exit raise rand random read readdir readlink realloc reallocarray realpath \
    recv remove rename rewind rindex rmdir sbrk sched_yield select send setbuf setenv setjmp setvbuf shutdown sigaction signal sleep \
    snprintf socket sprintf srand sscanf stat stderr stdin stdout stpcpy stpncpy strcasecmp strcat strchr strcmp strcpy strdup strerror strlcpy strlen strncat \
    strncmp strncpy strndup strnlen strrchr strspn strstr strtod strtof strtok strtol strtold strtoll strtoul strtoull sync syscall sysconf system time \
    times tmpfile tolower toupper umask uname ungetc unlink unsetenv usleep valloc vfork vfprintf vprintf vsnprintf vsprintf wait waitpid wcslen \
    wmemcpy wmemset write timer_create thrd_create mtx_destroy cnd_destroy epoll_create shm_error \
    catclose catgets catopen clock_getres dladdr gethostname getloadavg getrlimit getrusage sched_getcpu secure_getenv shm_open shm_unlink \
    sigaddset sigdelset sigemptyset sigfillset sigismember strcasestr strerror_r strncasecmp strtok_r";

/// Prefixes of names of the OpenMP runtime, of this project's runtime, of threads and of BLAS.
const PREFIXES: [&str; 11] = [
    "GOMP_", "GOACC_", "omp_", "ompt_", "kmp_", "sdfg_", "pthread_", "sem_", "cblas_", "LAPACKE_", "madvise_",
];

/// Whether a function of this name may be called by compiled code or the libraries that it is linked to.
pub(crate) fn is_reserved(symbol: &str) -> bool {
    let is_mathematics = |name: &str| MATHEMATICS.split_whitespace().any(|function| function == name);
    PREFIXES.iter().any(|prefix| symbol.starts_with(prefix))
        || LIBRARY.split_whitespace().any(|function| function == symbol)
        || is_mathematics(symbol)
        || symbol.strip_suffix(['f', 'l']).is_some_and(is_mathematics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::{EntryPoint, Interface, InterfaceError};

    #[test]
    fn programs_are_not_called_as_what_is_called() {
        for name in [
            "tanh",
            "tanhf",
            "expl",
            "calloc",
            "read",
            "malloc",
            "printf",
            "memset",
            "GOMP_parallel",
            "omp_x",
            "sdfg_clock",
            "GOACC_x",
            "ompt_x",
            "kmp_x",
            "pthread_x",
            "sem_x",
            "cblas_dgemm",
            "LAPACKE_dgetrf",
            "madvise_x",
        ] {
            let refused = Interface::new(name, Vec::new());
            assert!(
                matches!(&refused, Err(InterfaceError::Reserved { symbol, .. }) if symbol == name),
                "{refused:?}"
            );
        }
        // By what follows the name.
        for (name, entry) in
            [("thrd", EntryPoint::Create), ("pthread", EntryPoint::Create), ("sem", EntryPoint::Destroy)]
        {
            let refused = Interface::new(name, Vec::new());
            let symbol = format!("{name}{}", entry.suffix());
            assert!(
                is_reserved(&symbol) && matches!(refused, Err(InterfaceError::Reserved { .. })),
                "{symbol}"
            );
        }
        for name in ["laplace", "tanh2", "reader", "exp_of_all", "half", "sell", "p", "f", "l"] {
            assert!(Interface::new(name, Vec::new()).is_ok(), "{name}");
        }
    }
    /// Found in the libraries themselves: a program linked before them would be called in place of what they import.
    #[cfg(all(feature = "llvm", target_os = "linux"))]
    #[test]
    fn what_the_openmp_runtime_and_the_mathematics_library_import_is_reserved() {
        extern "C" fn nothing(_: *mut std::ffi::c_void) {}
        crate::load::on_each_thread(None, nothing).unwrap();
        let mapped = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut libraries: Vec<&str> = mapped
            .lines()
            .filter_map(|line| line.split_whitespace().last())
            .filter(|path| {
                ["/libgomp.", "/libomp.", "/libm.", "/libm-"].iter().any(|name| path.contains(name))
            })
            .collect();
        libraries.dedup();
        assert!(!libraries.is_empty(), "{mapped}");
        for library in libraries {
            let output =
                std::process::Command::new("nm").args(["-D", "--undefined-only", library]).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            let imported: Vec<&str> = text
                .lines()
                .filter_map(|line| line.split_whitespace().last())
                .map(|symbol| symbol.split('@').next().unwrap_or(symbol))
                .collect();
            assert!(imported.len() > 3, "{library}: {output:?}");
            // No program has a name that begins with an underscore.
            let free: Vec<_> = imported
                .into_iter()
                .filter(|symbol| !symbol.starts_with('_') && !is_reserved(symbol))
                .collect();
            assert!(free.is_empty(), "{library} imports {free:?}");
        }
    }
}
