//! Decodes structures, arrays of structures, and containers whose elements are structs with pointers.

use indexmap::IndexMap;
use sdfg::symbolic::Expr;

use super::{ANYWHERE, Decoder};
use crate::model::{Descriptor, Member, Structure, capacity};
use crate::report::{Code, Failed};
use crate::text::{expression, flattened, statements};
use crate::wire::{List, Object, Place, Value};

impl Decoder<'_> {
    /// The structure that a descriptor describes; `None` if it describes something else.
    pub(super) fn structure(&self, value: Value<'_>, place: Place<'_>) -> Result<Option<Structure>, Failed> {
        let kind = value.get("type").and_then(Value::as_text).unwrap_or_default();
        let (is_array, is_view) = match kind {
            "Structure" => (false, false),
            "StructureView" => (false, true),
            "ContainerArray" => (true, false),
            "ContainerView" => (true, true),
            _ => return Ok(None),
        };
        let object = Object::of(value, place, self.log)?;
        let attributes = Object::of(object.required("attributes")?, place, self.log)?;
        let name = attributes.get("name").and_then(Value::as_text).unwrap_or_default();
        let own = |members, extents| -> Result<Structure, Failed> {
            Ok(Structure {
                name: name.to_owned(),
                members,
                extents,
                is_view,
                transient: attributes.flag("transient", false)?,
                storage: self.storage(&attributes)?,
                lifetime: self.lifetime(&attributes)?,
            })
        };
        let found = if is_array {
            let element = attributes.required("stype")?;
            let Some(inner) =
                self.structure(element, place.at("stype"))?.filter(|inner| inner.extents.is_empty())
            else {
                let message =
                    format!("containers of kind `{kind}` are supported for structures, not for arrays");
                return Err(self.log.error(Code::Descriptor, &place, message));
            };
            let extents = self.expressions(&attributes, "shape")?.unwrap_or_default();
            attributes.ignore(&["strides", "offset", "total_size", "start_offset"]);
            own(inner.members, extents)?
        } else {
            let mut members = IndexMap::new();
            for (at, value) in attributes.optional_list("members")?.iter().enumerate() {
                let here = place.entry("members", at);
                let pair = value.as_list().and_then(List::exactly);
                let Some((name, value)) = pair.and_then(|[name, value]| Some((name.as_text()?, value)))
                else {
                    let message = "expected a name and a descriptor";
                    return Err(self.log.error(Code::Malformed, &here, message));
                };
                let member = match self.structure(value, here)? {
                    Some(inner) => Member::Structure(inner),
                    None => Member::Data(Box::new(self.descriptor(value, here)?)),
                };
                members.insert(name.to_owned(), member);
            }
            own(members, Vec::new())?
        };
        attributes.ignore(&ANYWHERE);
        attributes.ignore(&["name", "shape", "dtype", "stype", "may_alias", "alignment", "optional", "pool"]);
        attributes.ignore(&[
            "allow_conflicts",
            "location",
            "strides",
            "offset",
            "total_size",
            "start_offset",
        ]);
        attributes.finish();
        Ok(Some(found))
    }

    /// The structure of a container whose elements are structs of C with pointers: the file has their fields, and a length
    /// for each pointer that only the caller's data tells. The capacity of such a member is a symbol.
    pub(super) fn record(
        &self,
        container: &str,
        value: Value<'_>,
        place: Place<'_>,
    ) -> Result<Option<Structure>, Failed> {
        let dtype = value.get("attributes").and_then(|found| found.get("dtype"));
        let Some(Value::List(fields)) = dtype.and_then(|found| found.get("data")) else { return Ok(None) };
        let is_pointer = |ty: Value<'_>| ty.get("type").and_then(Value::as_text) == Some("pointer");
        let pairs: Option<Vec<_>> = fields.iter().map(named).collect();
        let Some(pairs) = pairs.filter(|pairs| pairs.iter().any(|(_, ty)| is_pointer(*ty))) else {
            return Ok(None);
        };
        let object = Object::of(value, place, self.log)?;
        let attributes = Object::of(object.required("attributes")?, place, self.log)?;
        let own = place.at("dtype");
        let mut members = IndexMap::new();
        for (name, ty) in pairs {
            let here = own.at(&name);
            let member = match ty.get("dtype").filter(|_| is_pointer(ty)) {
                Some(element) => {
                    let capacity = self.symbol(&capacity(container, &name), &here)?;
                    Descriptor::array(self.dtype(element, &here)?, Expr::symbol(capacity))
                }
                None => Descriptor::scalar(self.dtype(ty, &here)?),
            };
            members.insert(name, Member::Data(Box::new(member)));
        }
        let extents = match object.text("type")? {
            "Array" => self.expressions(&attributes, "shape")?.unwrap_or_default(),
            _ => Vec::new(),
        };
        let name = dtype.and_then(|found| found.get("name")).and_then(Value::as_text);
        let found = Structure {
            name: name.unwrap_or_default().to_owned(),
            members,
            extents,
            is_view: false,
            transient: attributes.flag("transient", false)?,
            storage: self.storage(&attributes)?,
            lifetime: self.lifetime(&attributes)?,
        };
        attributes.ignore(&ANYWHERE);
        attributes.ignore(&["dtype", "shape", "strides", "offset", "total_size", "start_offset"]);
        attributes.ignore(&["allow_conflicts", "may_alias", "alignment", "optional", "pool", "location"]);
        attributes.finish();
        Ok(Some(found))
    }

    /// Code in which the members of the program's structures have the names of their containers.
    fn flat<'c>(&self, code: &'c str, place: &Place<'_>) -> Result<std::borrow::Cow<'c, str>, Failed> {
        let all = self.structures.borrow();
        let Some(structures) = all.last().filter(|structures| !structures.all.is_empty()) else {
            return Ok(code.into());
        };
        match flattened(code, structures) {
            Ok(code) => Ok(code.into()),
            Err(unnamed) => {
                let message = format!(
                    "the structure is not flattened because of `{}`: {}",
                    unnamed.access, unnamed.why
                );
                Err(self.log.error(Code::Descriptor, place, message))
            }
        }
    }

    /// An expression of control flow.
    pub(super) fn control_expression(
        &self,
        text: &str,
        place: &Place<'_>,
    ) -> Result<sdfg::syntax::Expression, Failed> {
        expression(&self.flat(text, place)?, &self.structs, place, self.log)
    }

    /// The value of a symbol that code sets when the program starts; `None` if the file does not describe the member that
    /// has it. The caller gives the symbol then.
    pub(super) fn start_value(
        &self,
        symbol: &str,
        value: &str,
        place: &Place<'_>,
    ) -> Result<Option<sdfg::syntax::Expression>, Failed> {
        let is_described = match self.structures.borrow().last() {
            Some(structures) => flattened(value, structures).is_ok(),
            None => true,
        };
        if is_described {
            return self.control_expression(value, place).map(Some);
        }
        let message =
            format!("the file does not describe `{value}`, so the caller gives `{symbol}` if it is used");
        self.log.note(Code::Approximated, place, message);
        Ok(None)
    }

    /// Statements of control flow.
    pub(super) fn control_statements(
        &self,
        text: &str,
        place: &Place<'_>,
    ) -> Result<sdfg::syntax::Block, Failed> {
        statements(&self.flat(text, place)?, &self.structs, place, self.log)
    }
}

/// The name and the type in the entry of a field.
fn named(pair: Value<'_>) -> Option<(String, Value<'_>)> {
    let [name, ty] = pair.as_list()?.exactly()?;
    Some((name.as_text()?.to_owned(), ty))
}
