//! Decodes dataflow edges, memlets and subsets.

use sdfg::subset::{Range, Subset};
use sdfg::symbolic::Expr;

use super::{ANYWHERE, Decoder};
use crate::model::{Edge, Memlet};
use crate::report::{Code, Failed};
use crate::text::lambda;
use crate::wire::{Object, Path, Place, Value};

impl Decoder<'_> {
    /// An edge between two nodes of a state.
    pub(super) fn edge(
        &self,
        value: Value<'_>,
        place: Place<'_>,
        path: Path,
        nodes: usize,
    ) -> Result<Edge, Failed> {
        let object = Object::of(value, place, self.log)?;
        let attributes = Object::of(object.required("attributes")?, place, self.log)?;
        let memlet = match attributes.get("data") {
            Some(data) => self.memlet(data, &place)?,
            None => Memlet::default(),
        };
        let connector = |name: &str| Ok(object.optional_text(name)?.map(str::to_owned));
        Ok(Edge {
            src: object.index("src", nodes)?,
            src_connector: connector("src_connector")?,
            dst: object.index("dst", nodes)?,
            dst_connector: connector("dst_connector")?,
            memlet,
            path,
        })
    }

    fn memlet(&self, value: Value<'_>, place: &Place<'_>) -> Result<Memlet, Failed> {
        let object = Object::of(value, *place, self.log)?;
        let attributes = Object::of(object.get("attributes").unwrap_or(Value::EMPTY), *place, self.log)?;
        let subset = |name: &str| -> Result<Option<Subset>, Failed> {
            attributes.get(name).map(|found| self.subset(found, &place.at(name))).transpose()
        };
        let volume = match attributes.get("volume") {
            Some(found) => {
                Some(self.size(found, &place.at("volume"))?).filter(|volume| *volume != Expr::zero())
            }
            None => None,
        };
        let resolution = match attributes.optional_text("wcr")? {
            Some(text) => Some(lambda(text, &self.structs, &place.at("wcr"), self.log)?),
            None => None,
        };
        let memlet = Memlet {
            data: attributes.optional_text("data")?.map(str::to_owned),
            subset: subset("subset")?,
            other_subset: subset("other_subset")?,
            volume,
            dynamic: attributes.flag("dynamic", false)?,
            resolution,
            allow_out_of_bounds: attributes.flag("allow_oob", false)?,
            is_data_src: match attributes.get("is_data_src") {
                Some(Value::Bool(is_source)) => Some(is_source),
                _ => None,
            },
        };
        attributes.ignore(&ANYWHERE);
        // Derived from the others, or derived again here.
        attributes.ignore(&[
            "src_subset",
            "dst_subset",
            "num_accesses",
            "wcr_nonatomic",
            "wcr_conflict",
            "veclen",
        ]);
        attributes.finish();
        Ok(memlet)
    }

    /// Ranges, whose ends are inclusive in files, or indices.
    pub(super) fn subset(&self, value: Value<'_>, place: &Place<'_>) -> Result<Subset, Failed> {
        let object = Object::of(value, *place, self.log)?;
        match object.text("type")? {
            "Range" => {
                let ranges = object.list("ranges")?;
                let signature = ranges.signature();
                let known = signature.as_ref().and_then(|found| self.subsets.borrow().get(found).cloned());
                if let Some(known) = known {
                    return Ok(known);
                }
                let told = self.log.len();
                let entries = ranges.iter().enumerate();
                let found: Subset = entries
                    .map(|(at, range)| self.range(range, place.entry("ranges", at)))
                    .collect::<Result<_, Failed>>()?;
                if let Some(signature) = signature.filter(|_| self.log.len() == told) {
                    self.subsets.borrow_mut().insert(signature, found.clone());
                }
                Ok(found)
            }
            "Indices" => {
                let indices = object.list("indices")?.iter().enumerate();
                indices
                    .map(|(at, index)| Ok(Range::index(self.size(index, &place.entry("indices", at))?)))
                    .collect()
            }
            other => {
                let message = format!("subsets of kind `{other}` are not supported");
                Err(self.log.error(Code::Memlet, place, message))
            }
        }
    }

    fn range(&self, value: Value<'_>, place: Place<'_>) -> Result<Range, Failed> {
        let object = Object::of(value, place, self.log)?;
        let part = |name: &str| self.size(object.required(name)?, &place.at(name));
        let or_one =
            |name: &str| object.get(name).map_or(Ok(Expr::one()), |found| self.size(found, &place.at(name)));
        let (begin, last) = (part("start")?, part("end")?);
        let (step, tile) = (or_one("step")?, or_one("tile")?);
        if step == Expr::zero() {
            return Err(self.log.error(Code::Memlet, &place, "the step of a range is 0"));
        }
        if begin == last && tile.is_one() {
            return Ok(Range::index(begin));
        }
        let descends = step.as_int().is_some_and(|step| step < 0);
        let end = if descends { last - Expr::one() } else { last + Expr::one() };
        // A tile covers what follows its start, and the end is that of the last tile's start.
        Ok(Range { begin, end, step, tile })
    }
}
