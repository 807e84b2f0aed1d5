//! MLIR in tasklets: a function of one block with arithmetic on numbers, in MLIR's usual or generic form.
//!
//! DaCe gives the module to MLIR's tools and calls its function `mlir_entry` with the inputs of the same names. This module
//! translates the operations one by one, so no such tool is needed. Integer arithmetic wraps in both languages.

/// Arithmetic operations of the dialects `std` and `arith`, with their operators.
const OPERATORS: [(&str, &str); 7] =
    [("addi", "+"), ("addf", "+"), ("subi", "-"), ("subf", "-"), ("muli", "*"), ("mulf", "*"), ("divf", "/")];

/// The same code in our language, which assigns the result to `output`.
///
/// # Errors
/// The construct that is not arithmetic of one block over values of the parameters.
pub(crate) fn assigned(code: &str, output: &str) -> Result<String, String> {
    let mut values: Vec<String> = Vec::new();
    let mut found: Vec<String> = Vec::new();
    let (mut functions, mut blocks, mut result) = (0, 0, None);
    for line in code.lines().map(|line| line.split("//").next().unwrap_or_default().trim()) {
        if is_frame(line) {
            continue;
        }
        let is_function = ["func @", "func.func @", "\"builtin.func\"", "\"func.func\""];
        if is_function.iter().any(|start| line.starts_with(start)) {
            functions += 1;
            if line.starts_with('"') {
                continue;
            }
            blocks += 1;
            values.extend(parameters(line)?);
        } else if line.starts_with('^') {
            blocks += 1;
            values.extend(parameters(line)?);
        } else if let Some((name, operation)) = line.strip_prefix('%').and_then(|line| line.split_once('=')) {
            let value = self::operation(operation.trim(), &values)?;
            found.push(format!("{} = {value}", local(name.trim())));
            values.push(format!("{RESULT}{}", name.trim()));
        } else if word(line).0 == "return" && result.is_none() {
            result = Some(operands(word(line).1, &values)?);
        } else {
            return Err(format!("`{line}`"));
        }
        if functions != 1 || blocks > 1 {
            return Err("more than one function or block".to_owned());
        }
    }
    match result.as_deref() {
        Some([value]) => {
            found.push(format!("{output} = {value}"));
            Ok(found.join("\n"))
        }
        Some(several) => Err(format!("a function with {} results", several.len())),
        None => Err("a module without a function that returns a value".to_owned()),
    }
}

/// Marks the names of results among the values, which are local variables. Parameters have their own names.
const RESULT: &str = "=";

/// The local variable of a result. Numbers are names in MLIR.
fn local(name: &str) -> String {
    format!("mlir_{name}")
}

/// Braces and modules.
fn is_frame(line: &str) -> bool {
    line.is_empty()
        || line.starts_with("module")
        || line.starts_with("\"builtin.module\"")
        || line.starts_with("\"module\"")
        || line.starts_with('}')
}

/// The name of an operation without its dialect, and what follows.
fn word(text: &str) -> (&str, &str) {
    let end = text.find([' ', '(']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let name = name.trim_matches('"');
    (name.rsplit('.').next().unwrap_or(name), rest)
}

/// The names in `(%a: i32, %b: vector<4xi32>)`.
fn parameters(line: &str) -> Result<Vec<String>, String> {
    let list = line.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(list, _)| list);
    let parameter = |text: &str| {
        let (name, ty) = text.trim().strip_prefix('%')?.split_once(':')?;
        is_number(ty.trim()).then(|| name.trim().to_owned())
    };
    let each = list.split(',').filter(|text| !text.trim().is_empty());
    each.map(|text| parameter(text).ok_or_else(|| format!("the parameter `{}`", text.trim()))).collect()
}

/// Whether a type is one of numbers, or of vectors of them.
fn is_number(ty: &str) -> bool {
    let element =
        ty.strip_prefix("vector<").and_then(|ty| ty.strip_suffix('>')).and_then(|ty| ty.split_once('x'));
    let element = match element {
        Some((lanes, element)) if lanes.parse::<u32>().is_ok() => element,
        Some(_) => return false,
        None => ty,
    };
    ["i8", "i16", "i32", "i64", "f32", "f64"].contains(&element)
}

/// An operation as an expression.
fn operation(text: &str, values: &[String]) -> Result<String, String> {
    let (name, rest) = word(text);
    let unknown = || format!("the operation `{text}`");
    // In the generic form, the type is that of a function: `(i32, i32) -> i32`.
    let ty = rest.rsplit([':', '>']).next().unwrap_or_default();
    let ty =
        if rest.trim_end().ends_with('>') { rest.rsplit([':', ' ']).next().unwrap_or_default() } else { ty };
    if !is_number(ty.trim()) {
        return Err(unknown());
    }
    if name == "constant" {
        let value = rest.split_once("value = ").map_or(rest, |(_, value)| value);
        let value = value.split(':').next().unwrap_or_default().trim();
        let is_literal = value.parse::<i64>().is_ok() || value.parse::<f64>().is_ok_and(f64::is_finite);
        return is_literal.then(|| value.to_owned()).ok_or_else(unknown);
    }
    let operands = operands(rest, values)?;
    match operands.as_slice() {
        [only] if name == "negf" => Ok(format!("-{only}")),
        [left, right] => {
            let operator = OPERATORS.iter().find(|(operation, _)| *operation == name).ok_or_else(unknown)?.1;
            Ok(format!("{left} {operator} {right}"))
        }
        _ => Err(unknown()),
    }
}

/// The values that a list names before the colon with the types.
fn operands(list: &str, values: &[String]) -> Result<Vec<String>, String> {
    let list = list.split(':').next().unwrap_or_default();
    let names = list.split(|c: char| !c.is_ascii_alphanumeric() && !"%_$.-".contains(c));
    let value = |name: &str| {
        if values.iter().any(|value| value.strip_prefix(RESULT) == Some(name)) {
            return Ok(local(name));
        }
        values
            .iter()
            .any(|value| value == name)
            .then(|| name.to_owned())
            .ok_or(format!("the value `%{name}`"))
    };
    names.filter_map(|name| name.strip_prefix('%')).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::assigned;

    fn function(header: &str, lines: &str) -> String {
        format!("\n  module  {{\n    func @mlir_entry({header} {{\n{lines}\n    }}\n  }}\n")
    }

    #[test]
    fn arithmetic_of_one_block_is_translated() {
        let add = function("%a: i32, %b: i32) -> i32", "%0 = addi %b, %a  : i32\nreturn %0 : i32");
        assert_eq!(assigned(&add, "c").unwrap(), "mlir_0 = b + a\nc = mlir_0");
        let generic = "\"builtin.module\"() ( {\n\"builtin.func\"() ( {\n^bb0(%a: i32, %b: i32):  // no predecessors\n\
                       %0 = \"std.subi\"(%b, %a) : (i32, i32) -> i32\n\"std.return\"(%0) : (i32) -> ()\n}) {sym_name = \
                       \"mlir_entry\", type = (i32, i32) -> i32} : () -> ()\n}) : () -> ()";
        assert_eq!(assigned(generic, "c").unwrap(), "mlir_0 = b - a\nc = mlir_0");
        let lanes = function(
            "%a: vector<4xf32>) -> vector<4xf32>",
            "%0 = arith.negf %a : vector<4xf32>\n%1 = arith.mulf %0, %a : vector<4xf32>\nreturn %1 : vector<4xf32>",
        );
        assert_eq!(assigned(&lanes, "v").unwrap(), "mlir_0 = -a\nmlir_1 = mlir_0 * a\nv = mlir_1");
        let constant = function(") -> f64", "%5 = constant 5.000000e-01 : f64\nreturn %5 : f64");
        assert_eq!(assigned(&constant, "x").unwrap(), "mlir_5 = 5.000000e-01\nx = mlir_5");
        let generic = "\"func.func\"() ({\n^bb0:\n%c = \"std.constant\"() {value = -7 : i32} : () -> i32\n\
                       \"std.return\"(%c) : (i32) -> ()\n}) : () -> ()";
        assert_eq!(assigned(generic, "x").unwrap(), "mlir_c = -7\nx = mlir_c");
        let nothing = function("%a: i64) -> i64", "return %a : i64");
        assert_eq!(assigned(&nothing, "x").unwrap(), "x = a");
    }

    #[test]
    fn other_constructs_are_named() {
        let one = |line: &str| function("%a: i32) -> i32", &format!("{line}\nreturn %0 : i32"));
        let add = "func @f(%a: i32) -> i32 {\n%0 = addi %a, %a : i32\nreturn %0 : i32\n}\n";
        for (code, part) in [
            (one("%0 = divi_signed %a, %a : i32"), "`divi_signed %a, %a : i32`"),
            (one("%0 = addi %a, %b : i32"), "the value `%b`"),
            (one("%0 = addi %a : i32"), "the operation"),
            (one("%0 = addi %a, %a : i1"), "the operation"),
            (one("%0 = constant nan : f32"), "the operation"),
            (one("memref.store %a, %m[] : memref<i32>"), "`memref.store"),
            (function("%a: memref<4xi32>) -> i32", "return %a : i32"), "the parameter `%a: memref<4xi32>`"),
            (function("%a: i32) -> (i32, i32)", "return %a, %a : i32, i32"), "2 results"),
            (add.repeat(2), "more than one function"),
            (format!("{add}^bb1:\n"), "more than one function or block"),
            ("module {\n}".to_owned(), "without a function"),
            ("%0 = constant 1 : i32\nreturn %0 : i32".to_owned(), "more than one function"),
        ] {
            let error = assigned(&code, "x").unwrap_err();
            assert!(error.contains(part), "{code}: {error}");
        }
    }
}
