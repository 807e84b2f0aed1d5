//! BLAS and LAPACK calls in C++ tasklets, decoded as the library nodes that they implement.
//!
//! DaCe expands library nodes into such tasklets if the machine has a BLAS; factorizations become nested
//! SDFGs with one or two of them. The connectors keep their names. The call determines the rest: the
//! operation, the transposition and the factors. Matrices are row-major and the calls column-major, so
//! operands and transpositions are exchanged.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use crate::model::{BlockKind, IN_MEMORY, NodeKind, Program};
use crate::text::call_arguments;
use crate::wire::Json;

/// The class and properties of the library node that a piece of C++ code is the expansion of.
///
/// What is transposed is that of the operands as they lie in memory, row by row; [`IN_MEMORY`] says so.
pub(super) fn library_node(code: &str) -> Option<(String, IndexMap<String, Json>)> {
    let mut declared = BTreeMap::new();
    let mut code = code.trim();
    // Complex factors are passed by address: `dace::complex128 __alpha = dace::complex128(1);`.
    while let Some((declaration, rest)) = code.split_once(';').filter(|_| code.starts_with("dace::complex")) {
        let (name, value) = declaration.split_once(" = ")?;
        declared.insert(format!("&{}", name.split_whitespace().nth(1)?), value.trim());
        code = rest.trim();
    }
    // A product for each index of a batch, whose operands are `((double*)_a) + __ib*(M*K)`.
    let batched = code.strip_prefix("for (int __ib = 0;");
    let statement = match batched {
        Some(rest) => rest.split_once('{')?.1.trim().strip_suffix('}')?.trim(),
        None => code,
    };
    let statement = statement.strip_suffix(';')?;
    // Versions before 0.16 declare what nobody reads.
    let statement = statement.strip_prefix("int _res;").unwrap_or(statement).trim_start();
    if let Some(("_res =", call)) = statement.split_once(" LAPACKE_") {
        return lapack(call);
    }
    let call = statement.find("cblas_")?;
    let (target, call) = (statement[..call].trim(), &statement[call + "cblas_".len()..]);
    let (function, rest) = call.split_once('(')?;
    let arguments: Vec<&str> = call_arguments(rest.strip_suffix(')')?)?
        .into_iter()
        .map(|argument| operand(argument, batched.is_some()))
        .collect();
    let factor = |argument: &str| number(declared.get(argument).copied().unwrap_or(argument));
    let operation = function.strip_prefix(['s', 'd', 'c', 'z'])?;
    let is_transposed = |argument: &str| match argument {
        "CblasTrans" => Some(true),
        "CblasNoTrans" => Some(false),
        _ => None,
    };
    let mut properties = IndexMap::from([(IN_MEMORY.to_owned(), Json::Bool(true))]);
    let class = match (operation, arguments.as_slice()) {
        ("dot", [_, "_x", _, "_y", _]) if target == "_result =" => "Dot",
        ("omatcopy", ["CblasRowMajor", "CblasTrans", _, _, factor, "_inp", _, "_out", _])
            if number(factor) == Some(Json::Float(1.0)) =>
        {
            "Transpose"
        }
        ("gemv", ["CblasColMajor", transposed, _, _, alpha, "_A", _, "_x", _, beta, "_y", _]) => {
            properties.insert("transA".to_owned(), Json::Bool(!is_transposed(transposed)?));
            properties.insert("alpha".to_owned(), factor(alpha)?);
            properties.insert("beta".to_owned(), factor(beta)?);
            "Gemv"
        }
        ("gemm", ["CblasColMajor", second, first, _, _, _, alpha, "_b", _, "_a", _, beta, "_c", _]) => {
            properties.insert("transA".to_owned(), Json::Bool(is_transposed(first)?));
            properties.insert("transB".to_owned(), Json::Bool(is_transposed(second)?));
            properties.insert("alpha".to_owned(), factor(alpha)?);
            properties.insert("beta".to_owned(), factor(beta)?);
            if batched.is_some() { "BatchedMatMul" } else { "Gemm" }
        }
        _ => return None,
    };
    // What a factor of zero drops needs no input; other factors would.
    let keeps = properties.get("beta").is_some_and(|beta| *beta != Json::Float(0.0));
    (!keeps).then(|| (class.to_owned(), properties))
}

/// The library node of LAPACK's that has become a call of its function.
fn lapack(call: &str) -> Option<(String, IndexMap<String, Json>)> {
    let (function, arguments) = call.split_once('(')?;
    let arguments = call_arguments(arguments.strip_suffix(')')?)?;
    let mut properties = IndexMap::new();
    let class = match (function.strip_prefix(['s', 'd', 'c', 'z'])?, arguments.as_slice()) {
        ("getrf", ["LAPACK_ROW_MAJOR", ..]) => "Getrf",
        ("getrs", ["LAPACK_ROW_MAJOR", "'N'", ..]) => "Getrs",
        ("getri", ["LAPACK_ROW_MAJOR", ..]) => "Getri",
        ("potrf", ["LAPACK_ROW_MAJOR", half @ ("'L'" | "'U'"), ..]) => {
            properties.insert("lower".to_owned(), Json::Bool(*half == "'L'"));
            "Potrf"
        }
        _ => return None,
    };
    Some((class.to_owned(), properties))
}

/// The library node that a nested SDFG with these connectors is the expansion of by calls of LAPACK.
pub(super) fn factorization<'a>(
    program: &Program,
    inputs: impl Iterator<Item = &'a str>,
    outputs: impl Iterator<Item = &'a str>,
) -> Option<(String, IndexMap<String, Json>)> {
    let mut calls = Vec::new();
    for block in &program.body.blocks {
        let BlockKind::State(state) = &block.kind else { return None };
        for node in &state.nodes {
            if let NodeKind::Library { class, properties } = &node.kind {
                calls.push((class.as_str(), properties));
            }
        }
    }
    let classes: Vec<&str> = calls.iter().map(|(class, _)| *class).collect();
    let (mut inputs, mut outputs): (Vec<_>, Vec<_>) = (inputs.collect(), outputs.collect());
    inputs.sort_unstable();
    outputs.sort_unstable();
    let mut properties = IndexMap::new();
    let class = match (inputs.as_slice(), outputs.as_slice(), classes.as_slice()) {
        (["_a"], ["_b"], ["Potrf"]) => {
            properties.insert("lower".to_owned(), calls[0].1.get("lower")?.clone());
            "Cholesky"
        }
        (["_ain", "_bin"], ["_bout"], ["Getrf", "Getrs"]) => "Solve",
        (["_ain"], ["_aout"], ["Getrf", "Getri" | "Getrs"]) => "Inv",
        _ => return None,
    };
    Some((class.to_owned(), properties))
}

/// The operand in `((double*)_a) + __ib*(M*K)`, which a batch has for each index, or in `(double*)_a`.
fn operand(argument: &str, batched: bool) -> &str {
    let whole =
        if batched { argument.split_once(" + __ib*").map_or(argument, |(base, _)| base) } else { argument };
    // In a batch the cast stands in parentheses of its own.
    let whole = whole.strip_prefix("((").and_then(|inner| inner.strip_suffix(')')).unwrap_or(whole);
    match whole.rsplit_once("*)") {
        Some((_, name)) => name,
        None => argument,
    }
}

/// The number in `double(1)`, `1.0f` or `dace::complex128(1, 2)`, or of a constant of DaCe's.
pub(super) fn number(text: &str) -> Option<Json> {
    if let Some((_, constant)) = text.split_once("BlasConstants::Get().") {
        let is_one = constant.ends_with("Pone()");
        return (is_one || constant.ends_with("Zero()")).then(|| Json::Float(f64::from(u8::from(is_one))));
    }
    let inner = text.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(text);
    let part = |text: &str| text.trim().trim_end_matches('f').parse::<f64>().ok();
    match inner.split_once(',') {
        None => part(inner).map(Json::Float),
        Some((re, im)) => {
            let (re, im) = (part(re)?, part(im)?);
            let sum = || Json::Text(format!("{re:?} + {im:?}j"));
            Some(if im == 0.0 { Json::Float(re) } else { sum() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_recognised() {
        let (class, properties) = library_node(
            "cblas_dgemv(CblasColMajor, CblasNoTrans, N, M, double(1), _A, N,\n _x, 1, double(0), _y, 1);",
        )
        .unwrap();
        assert_eq!((class.as_str(), &properties["transA"]), ("Gemv", &Json::Bool(true)));
        assert_eq!(library_node("_result = cblas_ddot(-a + b, _x, 1, _y, N);").unwrap().0, "Dot");
        let complex = "dace::complex128 __alpha = dace::complex128(0.5, -2);\n  dace::complex128 __beta = dace::complex128(0);
            cblas_zgemm(CblasColMajor, CblasNoTrans, CblasTrans, (dace::math::pow(R, K)), R, R, &__alpha, _b, R, _a, R, &__beta, _c, R);";
        let (class, properties) = library_node(complex).unwrap();
        assert_eq!((class.as_str(), &properties["alpha"]), ("Gemm", &Json::Text("0.5 + -2.0j".to_owned())));
        assert_eq!([&properties["transA"], &properties["transB"]], [&Json::Bool(true), &Json::Bool(false)]);
        let batch = "for (int __ib = 0; __ib < B; ++__ib) {
            cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, N, M, K, 1.0f, ((float*)_b) + __ib*(K*N), N,
                ((float*)_a) + __ib*(K*M), K, 0.0f, ((float*)_c) + __ib*(M*N), N);
        }";
        assert_eq!(library_node(batch).unwrap().0, "BatchedMatMul");
        let transposed = "cblas_zomatcopy(CblasRowMajor, CblasTrans, M, N, (double*)dace::blas::BlasConstants::Get().Complex128Pone(), (double*)_inp, N, (double*)_out, M);";
        assert_eq!(library_node(transposed).unwrap().0, "Transpose");
        let half = library_node("_res = LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'U', N, _xin, N);").unwrap();
        assert_eq!((half.0.as_str(), &half.1["lower"]), ("Potrf", &Json::Bool(false)));
        let dropped = library_node("int _res;\n_res = LAPACKE_sgetri(LAPACK_ROW_MAJOR, 4, _xin, 4, _ipiv);");
        assert_eq!(dropped.unwrap().0, "Getri");
        for other in [
            "b = a;",
            "_res = LAPACKE_dgetrs(LAPACK_ROW_MAJOR, 'T', N, 2, _a, N, _ipiv, _rhs_in, 2);",
            "cblas_dgemm(CblasRowMajor);",
            "cblas_dgemv(CblasColMajor, CblasNoTrans, N, M, double(1), _A, N, _x, 1, double(2), _y, 1);",
        ] {
            assert_eq!(library_node(other), None, "{other}");
        }
    }
}
