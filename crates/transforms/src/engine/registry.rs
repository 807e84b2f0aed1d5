//! The registry of transformations by name.

use sdfg::path::closest;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Metadata, Parameter, ParameterError, Transformation};
use crate::rewrites;

/// Makes a transformation from its parameters.
type Make = fn(&Value) -> Result<Box<dyn Transformation>, serde_json::Error>;

/// Transformations by name. Users add their own.
#[derive(Clone, Debug)]
pub struct Registry {
    entries: Vec<(&'static Metadata, Make)>,
}

impl Registry {
    /// No transformations.
    pub fn empty() -> Self {
        Registry { entries: Vec::new() }
    }

    /// The transformations of this crate.
    pub fn standard() -> Self {
        let mut registry = Registry::empty();
        rewrites::register(&mut registry);
        registry
    }

    /// Adds a transformation. Its parameters are read by `serde`; absent ones have the values of [`Default`], so the type has the
    /// attributes `serde(default, deny_unknown_fields)`. An earlier one of the same name is replaced.
    pub fn register<T: Transformation + Default + DeserializeOwned + 'static>(&mut self) {
        let metadata = T::default().metadata();
        let make: Make = |parameters| {
            if parameters.is_null() {
                return Ok(Box::new(T::default()));
            }
            Ok(Box::new(serde_json::from_value::<T>(parameters.clone())?))
        };
        self.entries.retain(|(other, _)| other.name != metadata.name);
        self.entries.push((metadata, make));
        self.entries.sort_by_key(|(metadata, _)| metadata.name);
    }

    /// The descriptions, by name.
    pub fn all(&self) -> impl Iterator<Item = &'static Metadata> + '_ {
        self.entries.iter().map(|(metadata, _)| *metadata)
    }

    /// The transformation of a name with parameters: a JSON object, or null for the defaults of all.
    ///
    /// # Errors
    /// If there is none of this name, or the parameters do not fit.
    pub fn make(&self, name: &str, parameters: &Value) -> Result<Box<dyn Transformation>, ParameterError> {
        let found = self.entries.iter().find(|(metadata, _)| metadata.name == name);
        let Some((metadata, make)) = found else {
            let closest = closest(name, self.all().map(|metadata| metadata.name)).map(str::to_owned);
            return Err(ParameterError::NoTransformation { name: name.to_owned(), closest });
        };
        let is_missing = |parameter: &&Parameter| {
            parameter.default.is_none() && !parameters.is_null() && parameters.get(parameter.name).is_none()
        };
        // `serde` would take a list for the fields in their order.
        if !parameters.is_null() && !parameters.is_object() {
            return Err(metadata.misfit(&format!("parameters are an object, and not {parameters}")));
        }
        if let Some(missing) = metadata.parameters.iter().find(is_missing) {
            return Err(metadata.needs(missing));
        }
        make(parameters).map_err(|error| metadata.misfit(&error.to_string()))
    }

    /// Every transformation with its default parameters, by name.
    pub fn defaults(&self) -> Vec<Box<dyn Transformation>> {
        self.all().filter_map(|metadata| self.make(metadata.name, &Value::Null).ok()).collect()
    }

    /// The strict ones with their default parameters, by name: those of simplification.
    pub fn strict(&self) -> Vec<Box<dyn Transformation>> {
        self.defaults().into_iter().filter(|transformation| transformation.metadata().is_strict).collect()
    }
}
