//! Calls of BLAS in C++ tasklets, as the library nodes that they came from.
//!
//! When DaCe expands its library nodes with a BLAS on the machine, they become tasklets with one call. Their connectors stay, so
//! the call tells the rest: the operation, what is transposed, and the factors. The matrices are row-major and the calls
//! column-major, which exchanges operands and turns transposition around.

use indexmap::IndexMap;

use crate::wire::Json;

/// The class and properties of the library node that a piece of C++ code is the expansion of.
pub(super) fn library_node(code: &str) -> Option<(String, IndexMap<String, Json>)> {
    let statement = code.trim().strip_suffix(';')?;
    let call = statement.find("cblas_")?;
    let (target, call) = (statement[..call].trim(), &statement[call + "cblas_".len()..]);
    let (function, rest) = call.split_once('(')?;
    let arguments: Vec<&str> = split(rest.strip_suffix(')')?);
    let operation = function.strip_prefix(['s', 'd'])?;
    let is_transposed = |argument: &str| match argument {
        "CblasTrans" => Some(true),
        "CblasNoTrans" => Some(false),
        _ => None,
    };
    let mut properties = IndexMap::new();
    let class = match (operation, arguments.as_slice()) {
        ("dot", [_, "_x", _, "_y", _]) if target == "_result =" => "Dot",
        ("gemv", ["CblasColMajor", transposed, _, _, alpha, "_A", _, "_x", _, beta, "_y", _]) => {
            properties.insert("transA".to_owned(), Json::Bool(!is_transposed(transposed)?));
            properties.insert("alpha".to_owned(), number(alpha)?);
            properties.insert("beta".to_owned(), number(beta)?);
            "Gemv"
        }
        ("gemm", ["CblasColMajor", second, first, _, _, _, alpha, "_b", _, "_a", _, beta, "_c", _]) => {
            properties.insert("transA".to_owned(), Json::Bool(is_transposed(first)?));
            properties.insert("transB".to_owned(), Json::Bool(is_transposed(second)?));
            properties.insert("alpha".to_owned(), number(alpha)?);
            properties.insert("beta".to_owned(), number(beta)?);
            "Gemm"
        }
        _ => return None,
    };
    // What a factor of zero drops needs no input; other factors would.
    let keeps = properties.get("beta").is_some_and(|beta| *beta != Json::Float(0.0));
    (!keeps).then(|| (class.to_owned(), properties))
}

/// The number in `double(1)`.
fn number(text: &str) -> Option<Json> {
    let inner = text.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(text);
    inner.trim().parse().ok().map(Json::Float)
}

/// Arguments of a call, between commas that stand in no parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut begin) = (Vec::new(), 0_i32, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(text[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[begin..].trim());
    parts
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
        for other in [
            "b = a;",
            "cblas_dgemm(CblasRowMajor);",
            "cblas_dgemv(CblasColMajor, CblasNoTrans, N, M, double(1), _A, N, _x, 1, double(2), _y, 1);",
        ] {
            assert_eq!(library_node(other), None, "{other}");
        }
    }
}
