//! Support report: everything in a file that is wrong, unsupported or not honoured, with a code and a path.

use std::cell::RefCell;
use std::fmt;

use sdfg::diagnostic::pages::Entry;

/// Kind of a finding. Letter and number are stable; tools may compare them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// The bytes are no JSON document, compressed or not.
    NotAFile,
    /// A property is missing or has the wrong form.
    Malformed,
    /// A name or number refers to nothing.
    Dangling,
    /// An expression or statement that is not understood.
    Expression,
    /// An element type that this project has not.
    Type,
    /// A kind of container that is not supported.
    Descriptor,
    /// A kind of node that is not supported.
    Node,
    /// Code in another language than Python.
    Language,
    /// A library node whose operation is not known.
    LibraryNode,
    /// C++ text beside the graph: headers, start and end code, state.
    ForeignCode,
    /// A memlet whose meaning is not supported.
    Memlet,
    /// Control flow that is not supported.
    ControlFlow,
    /// A symbol that is not supported.
    Symbol,
    /// The graph that was made of the file is not valid; the message holds the code of the rule.
    Invalid,
    /// A property that changes nothing here.
    PropertyIgnored,
    /// Something that means a little less or more here than there.
    Approximated,
    /// Code in C++ that is compiled as it is.
    External,
    /// A name that means something else in Python or C++.
    UnwritableName,
    /// An element type that DaCe's code does not compute with.
    UnwritableType,
    /// A container that DaCe does not have.
    UnwritableContainer,
    /// A node, or a property of one, that DaCe does not have.
    UnwritableNode,
    /// Code that DaCe's C++ would not compute alike.
    UnwritableCode,
    /// A memlet that DaCe would read as something else.
    UnwritableMemlet,
    /// Control flow that DaCe does not have.
    UnwritableControl,
    /// A symbol that would be read as another one.
    UnwritableSymbol,
}

impl Code {
    /// Every code, in order of declaration.
    pub const ALL: [Code; 25] = [
        Code::NotAFile,
        Code::Malformed,
        Code::Dangling,
        Code::Expression,
        Code::Type,
        Code::Descriptor,
        Code::Node,
        Code::Language,
        Code::LibraryNode,
        Code::ForeignCode,
        Code::Memlet,
        Code::ControlFlow,
        Code::Symbol,
        Code::Invalid,
        Code::PropertyIgnored,
        Code::Approximated,
        Code::External,
        Code::UnwritableName,
        Code::UnwritableType,
        Code::UnwritableContainer,
        Code::UnwritableNode,
        Code::UnwritableCode,
        Code::UnwritableMemlet,
        Code::UnwritableControl,
        Code::UnwritableSymbol,
    ];

    /// The stable name.
    pub const fn name(self) -> &'static str {
        match self {
            Code::NotAFile => "D001",
            Code::Malformed => "D002",
            Code::Dangling => "D003",
            Code::Expression => "D004",
            Code::Type => "D101",
            Code::Descriptor => "D102",
            Code::Node => "D103",
            Code::Language => "D104",
            Code::LibraryNode => "D105",
            Code::ForeignCode => "D106",
            Code::Memlet => "D107",
            Code::ControlFlow => "D108",
            Code::Symbol => "D109",
            Code::Invalid => "D110",
            Code::PropertyIgnored => "D201",
            Code::Approximated => "D202",
            Code::External => "D203",
            Code::UnwritableName => "D301",
            Code::UnwritableType => "D302",
            Code::UnwritableContainer => "D303",
            Code::UnwritableNode => "D304",
            Code::UnwritableCode => "D305",
            Code::UnwritableMemlet => "D306",
            Code::UnwritableControl => "D307",
            Code::UnwritableSymbol => "D308",
        }
    }

    /// Kind of the finding, in a few words.
    pub const fn meaning(self) -> &'static str {
        match self {
            Code::NotAFile => "the bytes are no JSON document, compressed or not",
            Code::Malformed => "a property is missing or has the wrong form",
            Code::Dangling => "a name or number refers to nothing",
            Code::Expression => "an expression, statement or function that is not understood",
            Code::Type => "an element type that does not exist here",
            Code::Descriptor => {
                "a kind of container that is not supported, such as a structure that is copied as a whole, or a view of another element type"
            }
            Code::Node => "a kind of node or schedule that is not supported",
            Code::Language => {
                "code in C++ that is more than assignments and calls of BLAS and LAPACK, or in another language"
            }
            Code::LibraryNode => "a library node whose operation is not known, or a property of one",
            Code::ForeignCode => "C++ beside the graph, tasklets with a state, callbacks as values",
            Code::Memlet => "a memlet whose meaning is not supported",
            Code::ControlFlow => "control flow that is not supported",
            Code::Symbol => "a symbol without a value, or with one that is no integer",
            Code::Invalid => "the graph that was made of the file is not valid",
            Code::PropertyIgnored => "a note: a property that changes nothing here",
            Code::Approximated => "a note: something that means a little less or more here than there",
            Code::External => {
                "a note: code in C++ that is compiled as it is, and may do whatever its user may"
            }
            Code::UnwritableName => "writing: a name that means something else in Python or C++",
            Code::UnwritableType => "writing: an element type that DaCe's code does not compute with",
            Code::UnwritableContainer => "writing: a container that DaCe does not have",
            Code::UnwritableNode => "writing: a node, or a property of one, that DaCe does not have",
            Code::UnwritableCode => "writing: code that DaCe's C++ would not compute alike",
            Code::UnwritableMemlet => "writing: a memlet that DaCe would read as something else",
            Code::UnwritableControl => "writing: control flow that DaCe does not have",
            Code::UnwritableSymbol => "writing: a symbol that would be read as another one",
        }
    }
}

impl Code {
    /// Page of `sdfg explain`.
    pub fn page(self) -> Entry {
        let (why, action) = match self.name().as_bytes().get(1) {
            Some(b'0') => (
                "A DaCe file is a JSON document in the form of DaCe 1.0.2. This document has another form, so \
                 its meaning is undefined.",
                "The path in the message leads from the root of the document to the fault. Save the graph again \
                 with DaCe, or correct the program that wrote the file.",
            ),
            Some(b'1') => (
                "The file is valid in DaCe, but contains a construct that this project does not support. It is \
                 refused instead of being read with another meaning. `docs/dace-coverage.md` lists supported \
                 programs.",
                "Transform the graph in DaCe until it does not use the construct, or write that part in the text \
                 form.",
            ),
            Some(b'2') => (
                "The program is read and runs. The note names a part of the file that is ignored, or that has a \
                 slightly different meaning.",
                "No action is needed if the program does not depend on that part. `sdfg check` counts notes as \
                 warnings.",
            ),
            _ => (
                "`sdfg print --format dace` writes only programs that DaCe computes in the same way. The program \
                 has a construct that DaCe lacks or interprets differently.",
                "Rewrite the construct at the path in the message, or keep the program in the text form or JSON.",
            ),
        };
        Entry { name: self.name(), title: self.meaning(), why, action, example: None }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One finding about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Kind of finding.
    pub code: Code,
    /// Whether the program cannot be read because of it; otherwise it is a note.
    pub is_error: bool,
    /// Path in the file: names and indices from the root, joined by slashes.
    pub path: String,
    /// The unexpected contents.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = if self.is_error { "error" } else { "note" };
        write!(f, "{severity}[{}]: {}: {}", self.code, self.path, self.message)
    }
}

/// Everything that was found in a file, in the order in which it stands there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Those that stand in the way of a program.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.is_error)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.findings.iter().try_for_each(|finding| writeln!(f, "{finding}"))
    }
}

/// The proof that an error was reported: what cannot go on returns it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed(());

/// A report that grows while a file is read.
#[derive(Debug, Default)]
pub(crate) struct Log {
    findings: RefCell<Vec<Finding>>,
}

impl Log {
    /// Reports an error.
    pub(crate) fn error(&self, code: Code, place: &dyn fmt::Display, message: impl Into<String>) -> Failed {
        self.push(code, true, place, message.into());
        Failed(())
    }

    /// Reports what does not stand in the way.
    pub(crate) fn note(&self, code: Code, place: &dyn fmt::Display, message: impl Into<String>) {
        self.push(code, false, place, message.into());
    }

    fn push(&self, code: Code, is_error: bool, place: &dyn fmt::Display, message: String) {
        let finding = Finding { code, is_error, path: place.to_string(), message };
        self.findings.borrow_mut().push(finding);
    }

    /// Number of findings so far.
    pub(crate) fn len(&self) -> usize {
        self.findings.borrow().len()
    }

    /// The finished report, and whether it holds an error.
    pub(crate) fn finish(self) -> (Report, bool) {
        let report = Report { findings: self.findings.into_inner() };
        let failed = report.errors().next().is_some();
        (report, failed)
    }
}
