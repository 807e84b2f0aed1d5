//! Text of C-like languages: indented lines, and expressions with operator precedence.

use std::collections::BTreeMap;

/// Precedence of the outermost operator of an expression, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Precedence {
    /// `a ? b : c`.
    Choice,
    /// `a || b`.
    Or,
    /// `a && b`.
    And,
    /// `a | b`.
    BitOr,
    /// `a ^ b`.
    BitXor,
    /// `a & b`.
    BitAnd,
    /// `a == b`.
    Equality,
    /// `a < b`.
    Relation,
    /// `a << b`.
    Shift,
    /// `a + b`.
    Sum,
    /// `a * b`.
    Product,
    /// `-a`, `(int)a`.
    Prefix,
    /// A name, a constant, a call, an element.
    Atom,
}

impl Precedence {
    fn is_bitwise(self) -> bool {
        matches!(self, Precedence::BitOr | Precedence::BitXor | Precedence::BitAnd | Precedence::Shift)
    }
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Code {
    /// Its text.
    pub(super) text: String,
    /// Precedence of its outermost operator.
    pub(super) precedence: Precedence,
}

impl Code {
    /// A name, a constant, a call or an element.
    pub(super) fn atom(text: impl Into<String>) -> Self {
        Code { text: text.into(), precedence: Precedence::Atom }
    }

    /// An expression with an outermost operator.
    pub(super) fn new(text: impl Into<String>, precedence: Precedence) -> Self {
        Code { text: text.into(), precedence }
    }

    /// An integer of 64 bits.
    pub(super) fn int(value: i64) -> Self {
        match value {
            i64::MIN => Code::atom("INT64_MIN"),
            0.. => Code::atom(value.to_string()),
            _ => Code::new(value.to_string(), Precedence::Prefix),
        }
    }

    /// The value of a literal without a suffix.
    pub(super) fn as_literal(&self) -> Option<i64> {
        self.text.parse().ok()
    }

    /// The sum, difference or product of two literals, which have the type `int`: computed by the compiler of C, it may not fit.
    pub(super) fn folded(op: &str, a: &Code, b: &Code) -> Option<Code> {
        let (a, b) = (a.as_literal()?, b.as_literal()?);
        let result = match op {
            "+" => a.checked_add(b),
            "-" => a.checked_sub(b),
            "*" => a.checked_mul(b),
            _ => None,
        };
        result.map(Code::int)
    }

    /// `name(arguments)`.
    pub(super) fn call(name: &str, arguments: &[&Code]) -> Self {
        let arguments: Vec<&str> = arguments.iter().map(|argument| argument.text.as_str()).collect();
        Code::atom(format!("{name}({})", arguments.join(", ")))
    }

    /// `(ty)code`.
    pub(super) fn cast(ty: &str, code: &Code) -> Self {
        Code::new(format!("({ty}){}", code.at_least(Precedence::Prefix)), Precedence::Prefix)
    }

    /// `left op right`. Parentheses stand where the language needs them, and where compilers warn of their absence.
    pub(super) fn infix(op: &str, precedence: Precedence, left: &Code, right: &Code) -> Self {
        let (left, right) = (left.operand(precedence, false), right.operand(precedence, true));
        Code::new(format!("{left} {op} {right}"), precedence)
    }

    /// `op code`.
    pub(super) fn prefix(op: &str, code: &Code) -> Self {
        let operand = code.at_least(Precedence::Prefix);
        let operand = if operand.starts_with(op) { format!("({operand})") } else { operand };
        Code::new(format!("{op}{operand}"), Precedence::Prefix)
    }

    /// `condition ? then : otherwise`.
    pub(super) fn choice(condition: &Code, then: &Code, otherwise: &Code) -> Self {
        let part = |code: &Code| match code.precedence {
            Precedence::Choice => format!("({})", code.text),
            _ => code.text.clone(),
        };
        let text = format!("{} ? {} : {}", part(condition), part(then), part(otherwise));
        Code::new(text, Precedence::Choice)
    }

    /// The text, in parentheses if it binds less tightly.
    pub(super) fn at_least(&self, precedence: Precedence) -> String {
        if self.precedence < precedence { format!("({})", self.text) } else { self.text.clone() }
    }

    /// The text as an operand of an operator.
    fn operand(&self, of: Precedence, is_right: bool) -> String {
        let looser = self.precedence < of || is_right && self.precedence == of;
        let surprising = of == Precedence::Or && self.precedence == Precedence::And
            || matches!(of, Precedence::Equality | Precedence::Relation)
                && matches!(self.precedence, Precedence::Equality | Precedence::Relation)
            || of.is_bitwise() && self.precedence != of && self.precedence < Precedence::Prefix;
        if looser || surprising { format!("({})", self.text) } else { self.text.clone() }
    }
}

/// Lines of source with their indentation.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    text: String,
    depth: usize,
}

impl Lines {
    /// No lines, to be indented by so many steps.
    pub(super) fn at(depth: usize) -> Self {
        Lines { text: String::new(), depth }
    }

    /// Indentation of the next line, in steps.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Adds a line.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        // Directives and labels stand at the margin of their block.
        let is_label = line.ends_with(":;");
        let depth = if is_label { self.depth.saturating_sub(1) } else { self.depth };
        for _ in 0..depth {
            self.text.push_str("    ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds a line that opens a block.
    pub(super) fn open(&mut self, line: impl AsRef<str>) {
        self.line(line);
        self.depth += 1;
    }

    /// Indents the next line by one step more.
    pub(super) fn indent(&mut self) {
        self.depth += 1;
    }

    /// Adds a line that closes a block.
    pub(super) fn close(&mut self, line: impl AsRef<str>) {
        self.depth = self.depth.saturating_sub(1);
        self.line(line);
    }

    /// Adds lines that are indented already.
    pub(super) fn append(&mut self, lines: &Lines) {
        self.text.push_str(&lines.text);
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Without declarations of variables that nothing behind them in their block reads, and without what is assigned to these.
    pub(super) fn without_unused(&self) -> Lines {
        let lines: Vec<&str> = self.text.lines().collect();
        let (ends, places) = (ends_of_blocks(&lines), places_of_words(&lines));
        let mut kept = vec![true; lines.len()];
        // What is left out may have been the only reader of another variable.
        let mut is_changed = true;
        while std::mem::take(&mut is_changed) {
            for (at, line) in lines.iter().enumerate().rev() {
                let Some((name, is_array)) = declared(line).filter(|_| kept[at]) else { continue };
                let all = places.get(name).map_or(&[][..], Vec::as_slice);
                let behind =
                    all.partition_point(|place| *place <= at)..all.partition_point(|place| *place < ends[at]);
                let mentions: Vec<usize> = all[behind].iter().copied().filter(|place| kept[*place]).collect();
                // An atomic step stays, whatever it is for.
                let is_plain = |number: usize| !lines[number - 1].trim_start().starts_with("#pragma");
                // What a pointer points to is not its own.
                let is_dead = |number: usize| assigned(lines[number]) == Some((name, is_array));
                if mentions.iter().all(|number| is_dead(*number) && is_plain(*number)) {
                    mentions.into_iter().chain([at]).for_each(|number| kept[number] = false);
                    is_changed = true;
                }
            }
        }
        let mut text = String::with_capacity(self.text.len());
        for (line, _) in lines.iter().zip(&kept).filter(|(_, kept)| **kept) {
            text.push_str(line);
            text.push('\n');
        }
        Lines { text, depth: self.depth }
    }

    /// Number of lines.
    pub(super) fn count(&self) -> usize {
        self.text.lines().count()
    }

    /// Whether a text is in one of them.
    pub(super) fn contains(&self, text: &str) -> bool {
        self.text.contains(text)
    }

    /// The lines as one text.
    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// The number of the line that ends the block of each line: the next one that is indented less. Labels end no block.
fn ends_of_blocks(lines: &[&str]) -> Vec<usize> {
    let depth = |at: usize| lines[at].len() - lines[at].trim_start().len();
    let mut ends = vec![lines.len(); lines.len()];
    // Lines behind, each indented less than the one before.
    let mut behind: Vec<usize> = Vec::new();
    for at in (0..lines.len()).rev().filter(|at| !lines[*at].ends_with(":;")) {
        while behind.last().is_some_and(|other| depth(*other) >= depth(at)) {
            behind.pop();
        }
        ends[at] = behind.last().copied().unwrap_or(lines.len());
        behind.push(at);
    }
    ends
}

/// The numbers of the lines with each word, in order, each once.
fn places_of_words<'l>(lines: &[&'l str]) -> BTreeMap<&'l str, Vec<usize>> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        for word in words(line) {
            let places = places.entry(word).or_default();
            if places.last() != Some(&at) {
                places.push(at);
            }
        }
    }
    places
}

/// The variable that a line declares, with no value or one that has no effect, and whether it is an array.
fn declared(line: &str) -> Option<(&str, bool)> {
    let line = line.trim_start();
    let (declaration, value) = line.split_once(" = ").unwrap_or((line.strip_suffix(';').unwrap_or(""), ";"));
    let (ty, name) = declaration.rsplit_once([' ', '*'])?;
    let (name, is_array) = name.split_once('[').map_or((name, false), |(name, _)| (name, true));
    // `x += y;` has the form of a declaration, too.
    let is_statement = ["goto", "return", "else"].contains(&ty) || ty.contains([',', '=', '[']);
    (!is_statement && has_no_effect(value) && is_name(name)).then_some((name, is_array))
}

/// The variable that a line only assigns, or an element of which it assigns, to a value that has no effect and does not read it; and whether it
/// is an element.
fn assigned(line: &str) -> Option<(&str, bool)> {
    let (place, value) = line.trim_start().split_once("= ")?;
    let place = place.trim_end_matches(|c: char| "+-*/%&|^<> ".contains(c));
    let (name, index, is_element) =
        place.split_once('[').map_or((place, "", false), |(name, index)| (name, index, true));
    let reads = |text: &str| words(text).any(|word| word == name);
    (has_no_effect(value) && is_name(name) && !reads(value) && !reads(index)).then_some((name, is_element))
}

/// Whether a value, with the end of its statement, has no effect: where a call in one has, the address of a variable is among its arguments.
fn has_no_effect(value: &str) -> bool {
    value.ends_with(';') && !value.contains("(&") && !value.contains(", &")
}

fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The words of source in order, without those of comments and texts.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("/*"));
    let mut is_text = false;
    code.flat_map(|line| line.split_inclusive('"')).flat_map(move |part| {
        let code = if is_text { "" } else { part };
        // A quote behind an odd number of backslashes belongs to the text.
        let escapes = part.trim_end_matches('"').bytes().rev().take_while(|byte| *byte == b'\\').count();
        if part.ends_with('"') && !(is_text && escapes % 2 == 1) {
            is_text = !is_text;
        }
        code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parentheses_stand_where_they_are_needed() {
        let [a, b, c] = ["a", "b", "c"].map(Code::atom);
        let sum = Code::infix("+", Precedence::Sum, &a, &b);
        let product = Code::infix("*", Precedence::Product, &sum, &c);
        assert_eq!(product.text, "(a + b) * c");
        assert_eq!(Code::infix("+", Precedence::Sum, &product, &a).text, "(a + b) * c + a");
        assert_eq!(Code::infix("-", Precedence::Sum, &a, &sum).text, "a - (a + b)");
        assert_eq!(Code::infix("<<", Precedence::Shift, &sum, &a).text, "(a + b) << a");
        let and = Code::infix("&&", Precedence::And, &a, &b);
        assert_eq!(Code::infix("||", Precedence::Or, &and, &c).text, "(a && b) || c");
        assert_eq!(Code::prefix("-", &Code::int(-3)).text, "-(-3)");
        assert_eq!(Code::cast("int", &sum).text, "(int)(a + b)");
        let equal = Code::infix("!=", Precedence::Equality, &a, &b);
        assert_eq!(Code::infix("!=", Precedence::Equality, &equal, &c).text, "(a != b) != c");
    }

    #[test]
    fn words_of_texts_are_no_words_of_source() {
        let source = r#"f(a, "b \" c \\", d, "", "%ld e");"#;
        let found: Vec<&str> = words(source).filter(|word| !word.is_empty()).collect();
        assert_eq!(found, ["f", "a", "d"]);
    }

    #[test]
    fn variables_that_nothing_reads_are_left_out() {
        let mut lines = Lines::at(1);
        for line in ["{", "    const int x = 1;", "    const int y = x;", "}", "{", "    const int x = 2;"] {
            lines.line(line);
        }
        lines.line("    f(x);");
        lines.line("}");
        lines.line("float w = a;");
        lines.line("w = b;");
        lines.line("float v[2];");
        lines.line("v[0] = b;");
        lines.line("float *u = c;");
        lines.line("u[0] = b;");
        lines.line("u[1] += b;");
        lines.line("const int z = sdfg_place(&total, 1);");
        let left: Vec<String> =
            lines.without_unused().into_text().lines().map(|line| line.trim().to_owned()).collect();
        assert_eq!(
            left,
            [
                "{",
                "}",
                "{",
                "const int x = 2;",
                "f(x);",
                "}",
                "float *u = c;",
                "u[0] = b;",
                "u[1] += b;",
                "const int z = sdfg_place(&total, 1);"
            ]
        );
    }
}
