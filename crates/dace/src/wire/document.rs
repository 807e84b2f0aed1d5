//! A parsed JSON document: all values in one list, with texts borrowed from the file.
//!
//! A list or object stores the number of values that it contains. A document therefore needs few allocations,
//! is traversed forwards, and is cheap to drop. Values that are stored or written are [`Json`] values.

use super::Json;

/// The values of a document, each list and object before what it holds; keys stand before their values.
#[derive(Debug, Default)]
pub(crate) struct Document<'d> {
    pub(super) nodes: Vec<Node<'d>>,
}

/// One entry of the list of values.
#[derive(Debug, PartialEq)]
pub(super) enum Node<'d> {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(&'d str),
    /// A text that does not stand in the file as it is.
    Made(Box<str>),
    /// A list, with the number of entries behind it that are within it.
    List(usize),
    /// An object, with the same; its keys are distinct.
    Object(usize),
}

/// A value of a document.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Null,
    Bool(bool),
    Integer(i64),
    /// Also integers beyond 64 bits; `NaN` and infinities are texts in DaCe's files.
    Float(f64),
    Text(&'a str),
    List(List<'a>),
    Object(Entries<'a>),
}

/// The values of a list, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List<'a>(&'a [Node<'a>]);

/// The keys of an object with their values, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entries<'a>(&'a [Node<'a>]);

impl Document<'_> {
    /// The outermost value.
    pub(crate) fn root(&self) -> Value<'_> {
        first(&self.nodes).map_or(Value::Null, |(value, _)| value)
    }

    /// Whether a text or key is this one.
    pub(crate) fn mentions(&self, wanted: &str) -> bool {
        self.nodes.iter().any(|node| text(node) == Some(wanted))
    }

    /// Adds an owned tree.
    pub(super) fn push(&mut self, value: Json) {
        let made = |text: String| Node::Made(text.into_boxed_str());
        let at = self.nodes.len();
        match value {
            Json::Null => self.nodes.push(Node::Null),
            Json::Bool(value) => self.nodes.push(Node::Bool(value)),
            Json::Integer(value) => self.nodes.push(Node::Integer(value)),
            Json::Float(value) => self.nodes.push(Node::Float(value)),
            Json::Text(text) => self.nodes.push(made(text)),
            Json::List(list) => {
                self.nodes.push(Node::Null);
                list.into_iter().for_each(|value| self.push(value));
                self.nodes[at] = Node::List(self.nodes.len() - at - 1);
            }
            Json::Object(entries) => {
                self.nodes.push(Node::Null);
                for (key, value) in entries {
                    self.nodes.push(made(key));
                    self.push(value);
                }
                self.nodes[at] = Node::Object(self.nodes.len() - at - 1);
            }
        }
    }
}

fn text<'a>(node: &'a Node<'_>) -> Option<&'a str> {
    match node {
        Node::Text(text) => Some(text),
        Node::Made(text) => Some(text),
        Node::Null | Node::Bool(_) | Node::Integer(_) | Node::Float(_) | Node::List(_) | Node::Object(_) => {
            None
        }
    }
}

/// The first of some values, and those behind it.
fn first<'a>(nodes: &'a [Node<'a>]) -> Option<(Value<'a>, &'a [Node<'a>])> {
    let (node, behind) = nodes.split_first()?;
    let (inner, rest) = match node {
        Node::List(length) | Node::Object(length) => behind.split_at(*length),
        Node::Null | Node::Bool(_) | Node::Integer(_) | Node::Float(_) | Node::Text(_) | Node::Made(_) => {
            (&[][..], behind)
        }
    };
    let value = match node {
        Node::Null => Value::Null,
        Node::Bool(value) => Value::Bool(*value),
        Node::Integer(value) => Value::Integer(*value),
        Node::Float(value) => Value::Float(*value),
        Node::Text(text) => Value::Text(text),
        Node::Made(text) => Value::Text(text),
        Node::List(_) => Value::List(List(inner)),
        Node::Object(_) => Value::Object(Entries(inner)),
    };
    Some((value, rest))
}

impl<'a> Value<'a> {
    /// An object without entries.
    pub(crate) const EMPTY: Value<'static> = Value::Object(Entries(&[]));

    /// A noun for messages.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a truth value",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Object(_) => "an object",
        }
    }

    /// The value of a key of an object.
    pub(crate) fn get(self, key: &str) -> Option<Value<'a>> {
        let Value::Object(entries) = self else { return None };
        entries.get(key)
    }

    /// The text, if it is one.
    pub(crate) fn as_text(self) -> Option<&'a str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    /// The entries, if it is a list.
    pub(crate) fn as_list(self) -> Option<List<'a>> {
        if let Value::List(list) = self { Some(list) } else { None }
    }

    /// Whether it says nothing: null, `false`, an empty text, list or object.
    pub(crate) fn is_empty(self) -> bool {
        match self {
            Value::Null | Value::Bool(false) => true,
            Value::Bool(true) | Value::Integer(_) | Value::Float(_) => false,
            Value::Text(text) => text.is_empty(),
            Value::List(List(nodes)) | Value::Object(Entries(nodes)) => nodes.is_empty(),
        }
    }

    /// The value for longer than the file.
    pub(crate) fn to_json(self) -> Json {
        match self {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(value),
            Value::Integer(value) => Json::Integer(value),
            Value::Float(value) => Json::Float(value),
            Value::Text(text) => Json::Text(text.to_owned()),
            Value::List(list) => Json::List(list.iter().map(Value::to_json).collect()),
            Value::Object(entries) => {
                Json::Object(entries.iter().map(|(key, value)| (key.to_owned(), value.to_json())).collect())
            }
        }
    }
}

impl<'a> List<'a> {
    /// A list of nothing.
    pub(crate) const EMPTY: List<'static> = List(&[]);

    /// The values.
    pub(crate) fn iter(self) -> impl Iterator<Item = Value<'a>> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (value, behind) = first(rest)?;
            rest = behind;
            Some(value)
        })
    }

    /// A text that is the same for equal lists and no others, of a list of objects of texts without escapes.
    pub(crate) fn signature(self) -> Option<String> {
        let mut signature = String::with_capacity(self.0.len() * 6);
        for node in self.0 {
            match node {
                // What is within follows from the length; texts hold no control characters.
                Node::Object(length) => {
                    signature.push('\u{1}');
                    signature.push(char::from_u32(u32::try_from(*length).ok()?)?);
                }
                Node::Text(text) => {
                    signature.push('\u{2}');
                    signature.push_str(text);
                }
                Node::Made(_)
                | Node::Null
                | Node::Bool(_)
                | Node::Integer(_)
                | Node::Float(_)
                | Node::List(_) => return None,
            }
        }
        Some(signature)
    }

    /// The values, if they are this many.
    pub(crate) fn exactly<const N: usize>(self) -> Option<[Value<'a>; N]> {
        let mut values = self.iter();
        let mut found = [Value::Null; N];
        for place in &mut found {
            *place = values.next()?;
        }
        values.next().is_none().then_some(found)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> Entries<'a> {
    /// At least the number of keys.
    pub(crate) fn most(self) -> usize {
        self.0.len() / 2
    }

    /// The keys with their values.
    pub(crate) fn iter(self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (key, behind) = rest.split_first()?;
            let (value, behind) = first(behind)?;
            rest = behind;
            Some((text(key).unwrap_or_default(), value))
        })
    }

    /// The value of a key.
    pub(crate) fn get(self, wanted: &str) -> Option<Value<'a>> {
        self.iter().find(|(key, _)| *key == wanted).map(|(_, value)| value)
    }
}
