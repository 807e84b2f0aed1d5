//! Functions that code in DaCe's graphs calls, by their origin, and the page of those that are not read.
//!
//! The names were collected from DaCe 1.0.2, from the main branch of 2026 and from `dace-fortran`. Each is called
//! once in a tasklet. `BLESS=1` updates the page.

use std::fmt::Write;
use std::path::Path;

use sdfg::validate::validate;

use super::graph::{Graph, access, edge, memlet, scalar, tasklet};

/// Calls of one origin. `x` and `y` are floats, `m` and `n` integers, `z` and `w` complex numbers, `o` and `p` outputs.
/// A call that is no statement is assigned to `o`.
struct Origin {
    title: &'static str,
    calls: &'static [&'static str],
}

const ORIGINS: &[Origin] = &[
    Origin {
        title: "DaCe's C++ runtime",
        calls: &[
            "min(x, y, 1.0)",
            "max(m, n)",
            "abs(m)",
            "Mod(m, n)",
            "Mod_float(x, y)",
            "Modulo(m, n)",
            "Modulo_float(x, y)",
            "frexp(x)",
            "iround(x)",
            "int_ceil(m, n)",
            "ceiling(x)",
            "int_floor(m, n)",
            "int_floor_ni(m, n)",
            "sgn(x)",
            "bitwise_and(m, n)",
            "bitwise_or(m, n)",
            "bitwise_xor(m, n)",
            "bitwise_invert(m)",
            "right_shift(m, n)",
            "left_shift(m, n)",
            "AND(m, n)",
            "OR(m, n)",
            "ROUND(x)",
            "py_floor(x, y)",
            "np_float_pow(x, y)",
            "py_mod(m, n)",
            "cpp_mod(m, n)",
            "py_divmod(m, n, o, p)",
            "cpp_divmod(m, n, o, p)",
            "round(z)",
            "sign(x)",
            "sign(z)",
            "sign_numpy_2(x)",
            "sign_numpy_2(z)",
            "heaviside(x)",
            "heaviside(x, y)",
            "conj(z)",
            "conj(x)",
            "exp2(z)",
            "log2(z)",
            "expm1(z)",
            "log1p(z)",
            "reciprocal(x)",
            "reciprocal(z)",
            "gcd(m, n)",
            "lcm(m, n)",
            "deg2rad(x)",
            "rad2deg(x)",
            "isfinite(x)",
            "isfinite(z)",
            "isinf(z)",
            "isnan(z)",
            "signbit(x)",
            "np_modf(x, o, p)",
            "np_frexp(x, o, p)",
            "ifloor(x)",
            "ipow(x, 3)",
            "dace.math.exp(x)",
            "dace.math.sin(x)",
            "dace.math.pow(x, y)",
            "dace.cmath.sqrt(z)",
            "complex64(z)",
            "dace.complex128(x, y)",
        ],
    },
    Origin {
        title: "NumPy's functions in the Python front end",
        calls: &[
            "exp(x)",
            "exp(z)",
            "exp2(x)",
            "log(x)",
            "log(z)",
            "log2(x)",
            "log10(x)",
            "log10(z)",
            "expm1(x)",
            "log1p(x)",
            "sqrt(x)",
            "sqrt(z)",
            "cbrt(x)",
            "sin(x)",
            "cos(x)",
            "tan(x)",
            "asin(x)",
            "acos(x)",
            "atan(x)",
            "atan2(x, y)",
            "sinh(x)",
            "cosh(x)",
            "tanh(x)",
            "asinh(x)",
            "acosh(x)",
            "atanh(x)",
            "sin(z)",
            "cos(z)",
            "tan(z)",
            "asin(z)",
            "acos(z)",
            "atan(z)",
            "sinh(z)",
            "cosh(z)",
            "tanh(z)",
            "asinh(z)",
            "acosh(z)",
            "atanh(z)",
            "hypot(x, y)",
            "fabs(x)",
            "abs(z)",
            "rint(x)",
            "floor(x)",
            "ceil(x)",
            "trunc(x)",
            "copysign(x, y)",
            "nextafter(x, y)",
            "ldexp(x, n)",
            "fmax(x, y)",
            "fmin(x, y)",
            "isfinite(m)",
            "isinf(x)",
            "isnan(x)",
            "real(z)",
            "imag(z)",
            "z.real",
            "z.imag",
            "arg(z)",
            "log(exp(x) + exp(y))",
            "x if x > y else y",
            "min(max(x, y), 1.0)",
        ],
    },
    Origin {
        title: "SymPy and symbolic expressions",
        calls: &[
            "Abs(x)",
            "Min(m, n)",
            "Max(m, n)",
            "Eq(m, n)",
            "Ne(m, n)",
            "NotEq(m, n)",
            "Lt(m, n)",
            "Le(m, n)",
            "LtE(m, n)",
            "Gt(m, n)",
            "Ge(m, n)",
            "GtE(m, n)",
            "And(m, n)",
            "Or(m, n)",
            "Not(m)",
            "Xor(m, n)",
            "ITE(m > n, m, n)",
            "IfExpr(m > n, m, n)",
            "Is(m, n)",
            "IsNot(m, n)",
            "Pow(x, 2)",
            "pow(x, y)",
            "re(z)",
            "im(z)",
            "StrictLessThan(m, n)",
            "LessThan(m, n)",
            "StrictGreaterThan(m, n)",
            "GreaterThan(m, n)",
            "Equality(m, n)",
            "Unequality(m, n)",
            "Heaviside(x)",
            "factorial(m)",
            "binomial(m, n)",
            "Piecewise((x, m > n), (y, True))",
            "logical_and(m, n)",
            "logical_or(m, n)",
            "logical_not(m)",
            "logical_xor(m, n)",
        ],
    },
    Origin {
        title: "Fortran front ends",
        calls: &[
            "__dace_sign(x, y)",
            "FtnMod(m, n)",
            "FtnModulo(m, n)",
            "CMod(m, n)",
            "PyMod(m, n)",
            "floor_mod(m, n)",
            "bitwise_set(m, n)",
            "bitwise_clear(m, n)",
            "bitwise_test(m, n)",
            "bitwise_extract(m, n, 3)",
            "bitwise_shift(m, n)",
            "bitwise_not(m)",
            "int(x)",
            "float(m)",
            "double(m)",
            "float32(x)",
            "int32(x)",
            "z.real()",
            "z.imag()",
            "z.conj()",
            "ilogb(x)",
            "scale(x, n)",
            "z + x * 1j",
        ],
    },
    Origin {
        title: "C and C++",
        calls: &[
            "std.exp(x)",
            "std.abs(z)",
            "sqrtf(x)",
            "powf(x, y)",
            "fabsf(x)",
            "fminf(x, y)",
            "erf(x)",
            "erfc(x)",
            "tgamma(x)",
            "lgamma(x)",
            "fma(x, y, 1.0)",
            "fmod(x, y)",
            "remainder(x, y)",
            "fdim(x, y)",
            "nearbyint(x)",
            "lround(x)",
            "llround(x)",
            "lrint(x)",
            "llrint(x)",
            "scalbn(x, n)",
            "scalbln(x, n)",
            "exp10(x)",
            "rsqrt(x)",
            "sinpi(x)",
            "cospi(x)",
            "logb(x)",
            "nexttoward(x, y)",
            "isnormal(x)",
            "isgreater(x, y)",
            "isgreaterequal(x, y)",
            "isless(x, y)",
            "islessequal(x, y)",
            "islessgreater(x, y)",
            "isunordered(x, y)",
            "labs(m)",
            "llabs(m)",
            "norm(z)",
            "proj(z)",
            "polar(x, y)",
            "clamp(x, y, 1.0)",
            "lerp(x, y, 0.5)",
            "midpoint(x, y)",
            "beta(x, y)",
            "expint(x)",
            "riemann_zeta(x)",
            "legendre(3, x)",
            "hermite(3, x)",
            "laguerre(3, x)",
            "cyl_bessel_j(x, y)",
            "j0(x)",
            "y0(x)",
            "rand()",
            "clock()",
        ],
    },
];

/// The error of reading a program with a call; `None` if it is valid.
fn refusal(call: &str) -> Option<String> {
    let is_statement = call.contains("o, p");
    let code = if is_statement { call.to_owned() } else { format!("o = {call}\np = 1") };
    let inputs = ["x", "y", "m", "n", "z", "w"];
    let of = |name: &str| match name {
        "x" | "y" => "float64",
        "m" | "n" => "int64",
        _ => "complex128",
    };
    let is_complex =
        call.contains('z') && call.ends_with(')') || call.contains("complex") || call.contains("1j");
    let outputs = if is_complex { ["complex128", "float64"] } else { ["float64", "complex128"] };
    let attempt = |ty: &str| {
        let mut graph = Graph::new().with("O", scalar(ty)).with("P", scalar("float64"));
        for name in inputs {
            graph = graph.with(&name.to_uppercase(), scalar(of(name)));
        }
        let mut nodes = vec![tasklet(&code, &inputs, &["o", "p"]), access("O"), access("P")];
        let mut edges =
            vec![edge(0, "o", 1, "", memlet("O", "0:0", "1")), edge(0, "p", 2, "", memlet("P", "0:0", "1"))];
        for (at, name) in inputs.iter().enumerate() {
            nodes.push(access(&name.to_uppercase()));
            edges.push(edge(3 + at, "", 0, name, memlet(&name.to_uppercase(), "0:0", "1")));
        }
        let document = graph.nodes(nodes).edges(edges).document().to_string();
        let import = sdfg_dace::read(document.as_bytes(), &sdfg_dace::Options::default());
        let import = import.map_err(|refused| {
            let first = refused.report.errors().next().map(|found| found.message.clone());
            first.unwrap_or_default()
        })?;
        validate(import.sdfg).map(drop).map_err(|rejected| {
            let first = rejected.diagnostics.iter().find(|found| found.is_error());
            first.map(|found| found.message.clone()).unwrap_or_default()
        })
    };
    attempt(outputs[0]).or_else(|told| attempt(outputs[1]).map_err(|_| told)).err()
}

fn page() -> String {
    let mut page = String::from(
        "# Functions in the code of DaCe's graphs\n\n\
         This page is generated: `BLESS=1 cargo nextest run -p sdfg-dace functions` updates it. It lists functions that\n\
         tasklets, conditions and symbolic expressions of DaCe's graphs call, by their origin. A test reads a graph\n\
         with each call. `x` and `y` are floats, `m` and `n` integers, `z` complex numbers, `o` and `p` outputs.\n",
    );
    for Origin { title, calls } in ORIGINS {
        let (mut read, mut refused) = (Vec::new(), Vec::new());
        for call in *calls {
            match refusal(call) {
                None => read.push(format!("`{call}`")),
                Some(told) => refused.push((call, told)),
            }
        }
        let _ = write!(page, "\n## {title}\n\n");
        let mut line = "Read:".to_owned();
        let n_read = read.len();
        for (at, call) in read.into_iter().enumerate() {
            let call = if at + 1 == n_read { format!("{call}.") } else { format!("{call},") };
            if line.len() + 1 + call.len() > 110 {
                let _ = writeln!(page, "{line}");
                line = call;
            } else {
                line = format!("{line} {call}");
            }
        }
        let _ = writeln!(page, "{line}");
        if refused.is_empty() {
            continue;
        }
        page.push_str("\n| not read | message |\n|---|---|\n");
        for (call, told) in refused {
            let told = told.replace('|', "\\|").replace('\n', " ");
            let _ = writeln!(page, "| `{call}` | {told} |");
        }
    }
    page
}

#[test]
fn the_page_of_functions_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/dace-functions.md");
    let wanted = page();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "BLESS=1 updates {}; it must be:\n{wanted}", path.display());
}

/// The page depends on a graph that is read: another name of the same shape is refused by name.
#[test]
fn unknown_functions_are_refused_by_name() {
    let told = refusal("no_such_function(x)").unwrap_or_default();
    assert!(told.contains("`no_such_function`"), "{told}");
    assert_eq!(refusal("sqrt(x)"), None);
}
