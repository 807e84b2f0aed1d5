//! A Rust file with its comments and literals separated from its code.
//!
//! Counting braces fails at the first `'{'` or `"}"`, and searching comments fails at the first URL in a
//! string. This module implements just enough of Rust's lexical grammar for both: strings (raw and escaped),
//! characters versus lifetimes, and nested block comments.

/// The two halves of a file; both keep every line break, so line numbers hold.
pub(super) struct Source {
    /// The code; comments and the insides of literals are spaces.
    pub(super) code: String,
    /// The comments; all else is spaces.
    pub(super) comments: String,
}

impl Source {
    /// Splits the text of a file. Any text is accepted: an unclosed literal reaches to the end.
    pub(super) fn of(text: &str) -> Self {
        let mut splitter = Splitter {
            text: text.chars().collect(),
            at: 0,
            source: Self { code: String::new(), comments: String::new() },
        };
        while splitter.at < splitter.text.len() {
            splitter.step();
        }
        splitter.source
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Code,
    Comment,
    Literal,
}

struct Splitter {
    text: Vec<char>,
    at: usize,
    source: Source,
}

impl Splitter {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    /// Moves over `count` characters, which belong to `part`.
    fn take(&mut self, count: usize, part: Part) {
        for _ in 0..count {
            let Some(character) = self.peek(0) else { return };
            let shown = |mine: bool| if mine || character == '\n' { character } else { ' ' };
            self.source.code.push(shown(part == Part::Code));
            self.source.comments.push(shown(part == Part::Comment));
            self.at += 1;
        }
    }

    /// Moves over one comment, literal, word or other character.
    fn step(&mut self) {
        match (self.peek(0), self.peek(1)) {
            (Some('/'), Some('/')) => {
                let rest = self.text[self.at..].iter().take_while(|c| **c != '\n').count();
                self.take(rest, Part::Comment);
            }
            (Some('/'), Some('*')) => self.block_comment(),
            (Some('"'), _) => self.string(),
            (Some('\''), _) => self.quote(),
            (Some(first), _) if first.is_alphanumeric() || first == '_' => self.word(),
            _ => self.take(1, Part::Code),
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => depth += 1,
                (Some('*'), Some('/')) => depth -= 1,
                (Some(_), _) => {
                    self.take(1, Part::Comment);
                    continue;
                }
                (None, _) => return,
            }
            self.take(2, Part::Comment);
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.take(1, Part::Literal);
        while let Some(character) = self.peek(0) {
            self.take(if character == '\\' { 2 } else { 1 }, Part::Literal);
            if character == '"' {
                return;
            }
        }
    }

    /// A character literal, or the quote of a lifetime or label.
    fn quote(&mut self) {
        if self.peek(1) == Some('\\') {
            // The escaped character may itself be a quote; the literal ends at the next one after it.
            self.take(3, Part::Literal);
            let inside = self.text[self.at..].iter().take_while(|c| **c != '\'').count();
            self.take(inside + 1, Part::Literal);
        } else if self.peek(2) == Some('\'') {
            self.take(3, Part::Literal);
        } else {
            self.take(1, Part::Code);
        }
    }

    /// A word, and when it is the prefix of a raw string, that string.
    fn word(&mut self) {
        let length = self.text[self.at..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').count();
        let word: String = self.text[self.at..self.at + length].iter().collect();
        self.take(length, Part::Code);
        if !matches!(word.as_str(), "r" | "br" | "cr") {
            return;
        }
        let hashes = self.text[self.at..].iter().take_while(|c| **c == '#').count();
        if self.peek(hashes) != Some('"') {
            return;
        }
        self.take(hashes + 1, Part::Literal);
        while let Some(character) = self.peek(0) {
            self.take(1, Part::Literal);
            if character == '"' && (0..hashes).all(|ahead| self.peek(ahead) == Some('#')) {
                self.take(hashes, Part::Literal);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Source;

    /// The code with runs of spaces made one.
    fn code(text: &str) -> String {
        Source::of(text).code.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_go_to_their_half() {
        let source = Source::of("a // b\n/* c /* d */ e */ f");
        assert_eq!(source.code, "a     \n                  f");
        assert_eq!(source.comments, "  // b\n/* c /* d */ e */  ");
    }

    #[test]
    fn literals_with_braces_and_comment_signs_are_not_code() {
        assert_eq!(code(r#"let a = "{ // \" }"; b"#), "let a = ; b");
        assert_eq!(code(r##"let a = r#"{ " }"#; b"##), "let a = r ; b");
        assert_eq!(code(r"let a = ['{', '\'', '\u{7d}', '\\']; b"), "let a = [ , , , ]; b");
    }

    #[test]
    fn lifetimes_and_raw_words_are_code() {
        assert_eq!(
            code("fn f<'a>(x: &'a r#type) { 'l: loop {} }"),
            "fn f<'a>(x: &'a r#type) { 'l: loop {} }"
        );
    }

    #[test]
    fn unclosed_literals_end_with_the_file() {
        for text in ["\"abc", "/* abc", "r#\"abc", "'\\", "'"] {
            assert_eq!(Source::of(text).code.chars().count(), text.chars().count(), "{text}");
        }
    }
}
