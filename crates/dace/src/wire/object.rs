//! Reading the properties of an object, with a note of every one that nobody asked for.

use std::cell::RefCell;
use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::{Json, Place};
use crate::report::{Code, Failed, Log};

/// The properties of one object of a document.
///
/// Each getter notes that its property is understood; [`Object::finish`] reports the others, so that nothing is ignored
/// without a word.
pub(crate) struct Object<'a> {
    entries: &'a IndexMap<String, Json>,
    pub(crate) place: Place<'a>,
    log: &'a Log,
    used: RefCell<BTreeSet<&'a str>>,
}

impl<'a> Object<'a> {
    /// The object, or an error.
    pub(crate) fn of(value: &'a Json, place: Place<'a>, log: &'a Log) -> Result<Self, Failed> {
        match value {
            Json::Object(entries) => Ok(Object { entries, place, log, used: RefCell::default() }),
            other => {
                Err(log.error(Code::Malformed, &place, format!("expected an object, found {}", other.noun())))
            }
        }
    }

    /// The value of a property that is there and not null.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Json> {
        let (key, value) = self.entries.get_key_value(name)?;
        self.used.borrow_mut().insert(key);
        (*value != Json::Null).then_some(value)
    }

    /// A property that has to be there.
    pub(crate) fn required(&self, name: &str) -> Result<&'a Json, Failed> {
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
    pub(crate) fn list(&self, name: &str) -> Result<&'a [Json], Failed> {
        let value = self.required(name)?;
        value.as_list().ok_or_else(|| self.wrong(name, "a list", value))
    }

    /// A list, empty if it is not there.
    pub(crate) fn optional_list(&self, name: &str) -> Result<&'a [Json], Failed> {
        match self.get(name) {
            None => Ok(&[]),
            Some(value) => value.as_list().ok_or_else(|| self.wrong(name, "a list", value)),
        }
    }

    /// An object as key and value pairs, empty if it is not there.
    pub(crate) fn pairs(&self, name: &str) -> Result<Vec<(&'a str, &'a Json)>, Failed> {
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Json::Object(entries)) => {
                Ok(entries.iter().map(|(key, value)| (key.as_str(), value)).collect())
            }
            Some(other) => Err(self.wrong(name, "an object", other)),
        }
    }

    /// A truth value, or the default.
    pub(crate) fn flag(&self, name: &str, default: bool) -> Result<bool, Failed> {
        match self.get(name) {
            None => Ok(default),
            Some(Json::Bool(value)) => Ok(*value),
            Some(other) => Err(self.wrong(name, "a truth value", other)),
        }
    }

    /// An index into a list, given as a number or as the text of one.
    pub(crate) fn index(&self, name: &str, length: usize) -> Result<usize, Failed> {
        let value = self.required(name)?;
        let index = match value {
            Json::Integer(index) => usize::try_from(*index).ok(),
            Json::Text(text) => text.parse().ok(),
            Json::Null | Json::Bool(_) | Json::Float(_) | Json::List(_) | Json::Object(_) => None,
        };
        let Some(index) = index else { return Err(self.wrong(name, "an index", value)) };
        if index >= length {
            let message = format!("`{name}` is {index}, and there are {length} of them");
            return Err(self.log.error(Code::Dangling, &self.place, message));
        }
        Ok(index)
    }

    /// Notes that properties are known and mean nothing here.
    pub(crate) fn ignore(&self, names: &[&str]) {
        let mut used = self.used.borrow_mut();
        for (key, _) in self.entries {
            if names.contains(&key.as_str()) || key.starts_with("_meta") {
                used.insert(key);
            }
        }
    }

    /// Reports the properties that were neither read nor known and say something.
    pub(crate) fn finish(self) {
        let used = self.used.borrow();
        for (key, value) in self.entries {
            if !used.contains(key.as_str()) && !value.is_empty() {
                self.log.note(
                    Code::PropertyIgnored,
                    &self.place,
                    format!("the property `{key}` is not honoured"),
                );
            }
        }
    }

    fn wrong(&self, name: &str, expected: &str, found: &Json) -> Failed {
        let message = format!("`{name}` must be {expected}, it is {}", found.noun());
        self.log.error(Code::Malformed, &self.place, message)
    }
}
