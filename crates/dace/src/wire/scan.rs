//! Fast JSON parser for the common subset of JSON.
//!
//! A file consists mostly of indentation, keys and short texts, which need no copies, and each value is
//! traversed once. The scanner leaves every unusual case (an error, a repeated key, deep nesting) to a JSON
//! crate, which also reports errors and their positions.

use super::document::{Document, Node};

/// More levels than files have, and fewer than the crate allows.
const DEPTH: usize = 100;

/// The document of a text, or nothing where the text is unusual or wrong.
pub(super) fn document(text: &[u8]) -> Option<Document<'_>> {
    let text = std::str::from_utf8(text).ok()?;
    // Values take about twenty bytes of a file each, with their indentation.
    let nodes = Vec::with_capacity(text.len() / 16);
    let mut scanner = Scanner { text, bytes: text.as_bytes(), at: 0, nodes, keys: Vec::new() };
    scanner.value(0)?;
    scanner.space();
    (scanner.at == scanner.bytes.len()).then_some(Document { nodes: scanner.nodes })
}

struct Scanner<'d> {
    text: &'d str,
    bytes: &'d [u8],
    at: usize,
    nodes: Vec<Node<'d>>,
    /// The keys of the objects that are open, the innermost one's last.
    keys: Vec<&'d str>,
}

impl<'d> Scanner<'d> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Eight bytes from here on as a word, the first one lowest.
    #[inline]
    fn word(&self) -> Option<u64> {
        self.bytes.get(self.at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }

    #[inline]
    fn space(&mut self) {
        if self.peek().is_none_or(|byte| byte <= b' ') {
            self.blanks();
        }
    }

    fn blanks(&mut self) {
        const BLANKS: u128 = u128::from_le_bytes([b' '; 16]);
        loop {
            match self.peek() {
                Some(b'\n') => {
                    self.at += 1;
                    while let Some(bytes) = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk) {
                        let other = u128::from_le_bytes(*bytes) ^ BLANKS;
                        if other != 0 {
                            self.at += other.trailing_zeros() as usize / 8;
                            break;
                        }
                        self.at += 16;
                    }
                }
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(_) | None => return,
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        self.space();
        let node = match self.peek()? {
            b'"' => {
                self.at += 1;
                self.string()?
            }
            b'{' => return self.object(depth),
            b'[' => return self.list(depth),
            b'n' => self.word_of("null", Node::Null)?,
            b't' => self.word_of("true", Node::Bool(true))?,
            b'f' => self.word_of("false", Node::Bool(false))?,
            _ => self.number()?,
        };
        self.nodes.push(node);
        Some(())
    }

    fn word_of(&mut self, word: &str, node: Node<'d>) -> Option<Node<'d>> {
        let found = self.bytes.get(self.at..)?.starts_with(word.as_bytes());
        self.at += word.len();
        found.then_some(node)
    }

    fn list(&mut self, depth: usize) -> Option<()> {
        let begin = self.open(depth)?;
        self.space();
        if self.peek()? == b']' {
            self.at += 1;
            return self.close(begin, Node::List);
        }
        loop {
            self.value(depth + 1)?;
            self.space();
            let next = self.peek()?;
            self.at += 1;
            match next {
                b',' => {}
                b']' => return self.close(begin, Node::List),
                _ => return None,
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        let begin = self.open(depth)?;
        let outer = self.keys.len();
        self.space();
        if self.peek()? == b'}' {
            self.at += 1;
            return self.close(begin, Node::Object);
        }
        loop {
            self.space();
            self.skip(b'"')?;
            // Keys with escapes are unusual, too.
            let Node::Text(key) = self.string()? else { return None };
            self.keys.push(key);
            self.nodes.push(Node::Text(key));
            self.space();
            self.skip(b':')?;
            if self.peek() == Some(b' ') {
                self.at += 1;
            }
            self.value(depth + 1)?;
            self.space();
            let next = self.peek()?;
            self.at += 1;
            match next {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        if has_duplicates(&mut self.keys[outer..]) {
            return None;
        }
        self.keys.truncate(outer);
        self.close(begin, Node::Object)
    }

    /// Begins a list or an object; the answer is its place.
    fn open(&mut self, depth: usize) -> Option<usize> {
        self.at += 1;
        self.nodes.push(Node::Null);
        (depth < DEPTH).then_some(self.nodes.len() - 1)
    }

    fn close(&mut self, begin: usize, kind: fn(usize) -> Node<'d>) -> Option<()> {
        self.nodes[begin] = kind(self.nodes.len() - begin - 1);
        Some(())
    }

    #[inline]
    fn skip(&mut self, byte: u8) -> Option<()> {
        let found = self.peek()? == byte;
        self.at += 1;
        found.then_some(())
    }

    /// A text behind its first quote.
    fn string(&mut self) -> Option<Node<'d>> {
        let begin = self.at;
        loop {
            match self.word() {
                Some(word) => {
                    let ends = string_ends(word);
                    if ends == 0 {
                        self.at += 8;
                        continue;
                    }
                    self.at += ends.trailing_zeros() as usize / 8;
                }
                None => {
                    while !matches!(self.peek()?, b'"' | b'\\' | 0..0x20) {
                        self.at += 1;
                    }
                }
            }
            break;
        }
        match self.peek()? {
            b'"' => {
                self.at += 1;
                Some(Node::Text(&self.text[begin..self.at - 1]))
            }
            b'\\' => self.escaped(begin),
            _ => None,
        }
    }

    /// A text with escapes, which the crate reads.
    fn escaped(&mut self, begin: usize) -> Option<Node<'d>> {
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let text: String = serde_json::from_str(&self.text[begin - 1..self.at]).ok()?;
        Some(Node::Made(text.into_boxed_str()))
    }

    fn number(&mut self) -> Option<Node<'d>> {
        let begin = self.at;
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = self.bytes[begin..].iter().take_while(|byte| is_part(byte)).count();
        self.at += length;
        let text = &self.text[begin..self.at];
        let plain = matches!(text.as_bytes(), [b'1'..=b'9', rest @ ..] if rest.len() < 18 && rest.iter().all(u8::is_ascii_digit));
        if plain || text == "0" {
            return text.parse().ok().map(Node::Integer);
        }
        match serde_json::from_str(text).ok()? {
            super::Json::Integer(value) => Some(Node::Integer(value)),
            super::Json::Float(value) => Some(Node::Float(value)),
            _ => None,
        }
    }
}

/// A bit in the highest place of each byte that ends a text or begins an escape, from the first such byte on.
#[inline]
fn string_ends(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let has_zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let quote = has_zero(word ^ (ONES * u64::from(b'"')));
    let escape = has_zero(word ^ (ONES * u64::from(b'\\')));
    let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
    quote | escape | control
}

fn has_duplicates(keys: &mut [&str]) -> bool {
    if keys.len() > 24 {
        keys.sort_unstable();
        return keys.windows(2).any(|pair| pair[0] == pair[1]);
    }
    // Few keys of an object have equal lengths and ends.
    let mut marks = 0_u64;
    keys.iter().enumerate().any(|(at, key)| {
        let (first, last) = (key.bytes().next().unwrap_or(0), key.bytes().next_back().unwrap_or(0));
        let place = key.len() + 7 * usize::from(first) + 13 * usize::from(last);
        let mark = 1 << (place % 64);
        let is_repeated = marks & mark != 0 && keys[..at].contains(key);
        marks |= mark;
        is_repeated
    })
}
