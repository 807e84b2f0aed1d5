//! Access to the properties of an object, which records the properties that were never read.

use std::cell::Cell;

use super::{List, Place, Value};
use crate::report::{Code, Failed, Log};

/// The properties of one object of a document.
///
/// Each getter notes that its property is understood; [`Object::finish`] reports the others, so that nothing is ignored
/// without a word.
pub(crate) struct Object<'a> {
    entries: Vec<Entry<'a>>,
    pub(crate) place: Place<'a>,
    log: &'a Log,
    /// Properties that are known and mean nothing; few lists, which are looked at in the end only.
    ignored: Cell<[&'static [&'static str]; 4]>,
    ignores_meta: Cell<bool>,
}

struct Entry<'a> {
    key: &'a str,
    value: Value<'a>,
    used: Cell<bool>,
}

impl<'a> Object<'a> {
    /// The object, or an error.
    pub(crate) fn of(value: Value<'a>, place: Place<'a>, log: &'a Log) -> Result<Self, Failed> {
        match value {
            Value::Object(entries) => {
                // Few objects have more.
                let mut all = Vec::with_capacity(entries.most().min(24));
                all.extend(entries.iter().map(|(key, value)| Entry { key, value, used: Cell::new(false) }));
                Ok(Object {
                    entries: all,
                    place,
                    log,
                    ignored: Cell::default(),
                    ignores_meta: Cell::default(),
                })
            }
            other => {
                Err(log.error(Code::Malformed, &place, format!("expected an object, found {}", other.noun())))
            }
        }
    }

    /// The value of a property that is there and not null.
    pub(crate) fn get(&self, name: &str) -> Option<Value<'a>> {
        let entry = self.entries.iter().find(|entry| entry.key == name)?;
        entry.used.set(true);
        (!matches!(entry.value, Value::Null)).then_some(entry.value)
    }

    /// A property that has to be there.
    pub(crate) fn required(&self, name: &str) -> Result<Value<'a>, Failed> {
        self.get(name).ok_or_else(|| {
            self.log.error(Code::Malformed, &self.place, format!("the property `{name}` is missing"))
        })
    }

    /// A text that has to be there.
    pub(crate) fn text(&self, name: &str) -> Result<&'a str, Failed> {
        let value = self.required(name)?;
        value.as_text().ok_or_else(|| self.wrong(name, "a text", value))
    }

    /// A text, if it is there.
    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, Failed> {
        self.get(name)
            .map(|value| value.as_text().ok_or_else(|| self.wrong(name, "a text", value)))
            .transpose()
    }

    /// A list that has to be there.
    pub(crate) fn list(&self, name: &str) -> Result<List<'a>, Failed> {
        let value = self.required(name)?;
        value.as_list().ok_or_else(|| self.wrong(name, "a list", value))
    }

    /// A list, empty if it is not there.
    pub(crate) fn optional_list(&self, name: &str) -> Result<List<'a>, Failed> {
        match self.get(name) {
            None => Ok(List::EMPTY),
            Some(value) => value.as_list().ok_or_else(|| self.wrong(name, "a list", value)),
        }
    }

    /// An object as key and value pairs, empty if it is not there.
    pub(crate) fn pairs(&self, name: &str) -> Result<Vec<(&'a str, Value<'a>)>, Failed> {
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Value::Object(entries)) => Ok(entries.iter().collect()),
            Some(other) => Err(self.wrong(name, "an object", other)),
        }
    }

    /// A truth value, or the default.
    pub(crate) fn flag(&self, name: &str, default: bool) -> Result<bool, Failed> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Bool(value)) => Ok(value),
            Some(other) => Err(self.wrong(name, "a truth value", other)),
        }
    }

    /// An index into a list, given as a number or as the text of one.
    pub(crate) fn index(&self, name: &str, length: usize) -> Result<usize, Failed> {
        let value = self.required(name)?;
        let index = match value {
            Value::Integer(index) => usize::try_from(index).ok(),
            Value::Text(text) => text.parse().ok(),
            Value::Null | Value::Bool(_) | Value::Float(_) | Value::List(_) | Value::Object(_) => None,
        };
        let Some(index) = index else { return Err(self.wrong(name, "an index", value)) };
        if index >= length {
            let message = format!("`{name}` is {index}, and there are {length} of them");
            return Err(self.log.error(Code::Dangling, &self.place, message));
        }
        Ok(index)
    }

    /// Notes that properties are known and mean nothing here, as what begins with `_meta` does.
    pub(crate) fn ignore(&self, names: &'static [&'static str]) {
        self.ignores_meta.set(true);
        let mut lists = self.ignored.get();
        match lists.iter_mut().find(|list| list.is_empty()) {
            Some(list) => {
                *list = names;
                self.ignored.set(lists);
            }
            None => {
                for entry in self.entries.iter().filter(|entry| names.contains(&entry.key)) {
                    entry.used.set(true);
                }
            }
        }
    }

    /// Reports the properties that were neither read nor known and say something.
    pub(crate) fn finish(self) {
        let lists = self.ignored.get();
        let is_ignored = |key: &str| {
            self.ignores_meta.get() && key.starts_with("_meta")
                || lists.iter().any(|names| names.contains(&key))
        };
        for Entry { key, value, used } in &self.entries {
            if !used.get() && !value.is_empty() && !is_ignored(key) {
                self.log.note(
                    Code::PropertyIgnored,
                    &self.place,
                    format!("the property `{key}` is not honoured"),
                );
            }
        }
    }

    fn wrong(&self, name: &str, expected: &str, found: Value<'_>) -> Failed {
        let message = format!("`{name}` must be {expected}, it is {}", found.noun());
        self.log.error(Code::Malformed, &self.place, message)
    }
}
