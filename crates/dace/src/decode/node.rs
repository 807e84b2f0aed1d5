//! Decodes dataflow nodes.

use indexmap::IndexMap;
use sdfg::ir::{OpenMpSchedule, Schedule, ScheduleAttributes, ScheduleKind};
use sdfg::subset::{Range, Subset};
use sdfg::symbolic::{Expr, Symbol};

use super::blas::{factorization, library_node};
use super::descriptor::whose;
use super::{ANYWHERE, Decoder, mkl};
use crate::model::{Consume, Dtype, Foreign, Map, Node, NodeKind, Program};
use crate::report::{Code, Failed};
use crate::text::{expression, plain};
use crate::wire::{Object, Path, Place, Value};

/// Properties of nodes that change nothing that is computed.
const NODE_PROPERTIES: [&str; 16] = [
    "label",
    "name",
    "instrument",
    "instrument_condition",
    "instrument_codegen",
    "environments",
    "location",
    "is_collapsed",
    "side_effects",
    "ignored_symbols",
    "no_inline",
    "unique_name",
    "unroll_factor",
    "collapse_in_code",
    "gpu_force_syncthreads",
    "ext_sdfg_path",
];

impl Decoder<'_> {
    /// A node; `all` are those of its state, among which a scope's other end is.
    pub(super) fn node(
        &self,
        value: Value<'_>,
        place: Place<'_>,
        path: Path,
        all: &[Value<'_>],
    ) -> Result<Node, Failed> {
        let object = Object::of(value, place, self.log)?;
        let kind = object.text("type")?;
        let attributes = Object::of(object.get("attributes").unwrap_or(Value::EMPTY), place, self.log)?;
        attributes.ignore(&ANYWHERE);
        attributes.ignore(&NODE_PROPERTIES);
        let label = match attributes.optional_text("label")? {
            Some(label) => label,
            None => object.optional_text("label")?.unwrap_or(kind),
        };
        let (inputs, outputs) =
            (self.connectors(&attributes, "in_connectors")?, self.connectors(&attributes, "out_connectors")?);
        let found = match kind {
            "AccessNode" => NodeKind::Access {
                data: attributes.text("data")?.to_owned(),
                setzero: attributes.flag("setzero", false)?,
            },
            "Tasklet" => self.tasklet(&attributes, &place)?,
            "MapEntry" => NodeKind::MapEntry(self.map(&attributes, &place)?),
            "MapExit" => NodeKind::MapExit(self.entry_of(&object, all, &place)?),
            "ConsumeEntry" => NodeKind::ConsumeEntry(self.consume(&attributes, &place)?),
            "ConsumeExit" => NodeKind::ConsumeExit(self.entry_of(&object, all, &place)?),
            "NestedSDFG" => {
                let (program, mapping) = self.nested(&attributes, &place)?;
                let names = (inputs.keys().map(String::as_str), outputs.keys().map(String::as_str));
                match factorization(&program, names.0, names.1) {
                    Some((class, properties)) => NodeKind::Library { class, properties },
                    None => NodeKind::Nested { program: Box::new(program), mapping },
                }
            }
            _ if object.get("classpath").is_some() => {
                let path = object.text("classpath")?;
                let class = operation(path.rsplit('.').next().unwrap_or(path)).to_owned();
                let Some(Value::Object(all)) = object.get("attributes") else {
                    return Err(self.log.error(Code::Malformed, &place, "the node has no attributes"));
                };
                let properties = all.iter().filter(|(name, _)| !is_plumbing(name));
                NodeKind::Library {
                    class,
                    properties: properties.map(|(name, value)| (name.to_owned(), value.to_json())).collect(),
                }
            }
            other => {
                let message = format!("nodes of kind `{other}` are not supported");
                return Err(self.log.error(Code::Node, &place, message));
            }
        };
        if !matches!(found, NodeKind::Library { .. } | NodeKind::MapExit(_) | NodeKind::ConsumeExit(_)) {
            attributes.finish();
        }
        Ok(Node { label: label.to_owned(), kind: found, inputs, outputs, path })
    }

    fn connectors(
        &self,
        attributes: &Object<'_>,
        name: &str,
    ) -> Result<IndexMap<String, Option<Dtype>>, Failed> {
        let place = attributes.place.at(name);
        if let Some(Value::List(_)) = attributes.get(name) {
            let message = format!(
                "`{name}` is a list, as versions of DaCe before 0.10 wrote it; such files are not supported: make the \
                 graph again with a later version"
            );
            return Err(self.log.error(Code::Malformed, &place, message));
        }
        let pairs = attributes.pairs(name)?.into_iter();
        pairs.map(|(key, value)| Ok((key.to_owned(), self.connector_type(value, &place.at(key))?))).collect()
    }

    /// The id of the entry of the scope that a node ends.
    fn entry_of(&self, object: &Object<'_>, all: &[Value<'_>], place: &Place<'_>) -> Result<usize, Failed> {
        let entry = object.index("scope_entry", all.len())?;
        let kind = all.get(entry).and_then(|node| node.get("type")).and_then(Value::as_text);
        if matches!(kind, Some("MapEntry" | "ConsumeEntry")) {
            return Ok(entry);
        }
        let message = format!("its `scope_entry`, node {entry}, begins no scope");
        Err(self.log.error(Code::Dangling, place, message))
    }

    fn tasklet(&self, attributes: &Object<'_>, place: &Place<'_>) -> Result<NodeKind, Failed> {
        let (code, language) = match attributes.get("code") {
            // Code that does nothing is left out.
            None => (String::new(), "Python".to_owned()),
            Some(Value::Text(text)) => (text.to_owned(), "Python".to_owned()),
            Some(found) => {
                let code = Object::of(found, place.at("code"), self.log)?;
                (
                    code.text("string_data")?.to_owned(),
                    code.optional_text("language")?.unwrap_or("Python").to_owned(),
                )
            }
        };
        let mut foreign = Foreign::default();
        for name in ["code_global", "code_init", "code_exit"] {
            let text =
                attributes.get(name).and_then(|found| found.get("string_data")).and_then(Value::as_text);
            let text = text.unwrap_or_default();
            if self.allow_external && name == "code_global" {
                foreign.global = text.to_owned();
            } else if !text.trim().is_empty() {
                let only = match name {
                    "code_global" => "compiled only if you allow it (`--allow-external`)",
                    _ => "not supported",
                };
                let message = format!("`{name}` holds C++ code, which is {only}");
                return Err(self.log.error(Code::ForeignCode, place, message));
            }
        }
        if !attributes.optional_list("state_fields")?.is_empty() {
            return Err(self.log.error(Code::ForeignCode, place, "tasklets with a state are not supported"));
        }
        let expansion = || library_node(&code).or_else(|| mkl::library_node(&code));
        if let Some((class, properties)) = (language == "CPP").then(expansion).flatten() {
            return Ok(NodeKind::Library { class, properties });
        }
        // What the writer of this project notes beside code that has one meaning in both languages.
        let is_pythonic = attributes.flag("_meta_python", false)?;
        for property in ["in_connectors", "out_connectors"] {
            let is_pointer = |ty: &Value<'_>| ty.get("type").and_then(Value::as_text) == Some("pointer");
            let pairs = attributes.pairs(property)?.into_iter();
            let pointers = pairs.filter(|(_, ty)| is_pointer(ty)).map(|(name, _)| name.to_owned());
            foreign.pointers.extend(pointers);
        }
        Ok(NodeKind::Tasklet { code, language, is_pythonic, foreign })
    }

    fn schedule(&self, attributes: &Object<'_>) -> Result<ScheduleKind, Failed> {
        let name = attributes.optional_text("schedule")?.unwrap_or("Default");
        Ok(match name {
            "Default" => ScheduleKind::Default,
            "Sequential" => ScheduleKind::Sequential,
            "CPU_Multicore" | "CPU_Persistent" => ScheduleKind::CpuMulticore,
            "Unrolled" => ScheduleKind::Unrolled,
            "MPI" => ScheduleKind::Mpi,
            "GPU_Device" | "GPU_Default" => ScheduleKind::GpuGrid,
            "GPU_ThreadBlock" | "GPU_ThreadBlock_Dynamic" => ScheduleKind::GpuBlock,
            "FPGA_Device" => ScheduleKind::FpgaDevice,
            other => {
                let message = format!("the schedule `{other}` is not supported{}", whose(other));
                return Err(self.log.error(Code::Node, &attributes.place, message));
            }
        })
    }

    fn map(&self, attributes: &Object<'_>, place: &Place<'_>) -> Result<Map, Failed> {
        let mut params = Vec::new();
        for (at, value) in attributes.list("params")?.iter().enumerate() {
            params.push(self.symbol(value.as_text().unwrap_or_default(), &place.entry("params", at))?);
        }
        let ranges = self.subset(attributes.required("range")?, &place.at("range"))?;
        if ranges.rank() != params.len() {
            let message = format!("{} parameters have {} ranges", params.len(), ranges.rank());
            return Err(self.log.error(Code::Malformed, place, message));
        }
        let is_persistent = attributes.optional_text("schedule")? == Some("CPU_Persistent");
        let mut schedule = self.schedule(attributes)?;
        if attributes.flag("unroll", false)? {
            schedule = ScheduleKind::Unrolled;
        }
        let number = |name: &str| -> Result<Option<Expr>, Failed> {
            let found = attributes.get(name).map(|found| self.size(found, &place.at(name))).transpose()?;
            Ok(found.filter(|value| *value != Expr::zero()))
        };
        let sharing = match attributes.optional_text("omp_schedule")? {
            None | Some("Default" | "Static") => None,
            Some("Dynamic") => Some(OpenMpSchedule::Dynamic),
            Some("Guided") => Some(OpenMpSchedule::Guided),
            Some(other) => {
                let message = format!("`omp_schedule` is `{other}`, which is not known");
                return Err(self.log.error(Code::Malformed, place, message));
            }
        };
        let collapse = number("collapse")?.and_then(|count| count.as_int());
        let (chunk, threads) = (number("omp_chunk_size")?, number("omp_num_threads")?);
        let of_team = ScheduleAttributes {
            sharing,
            chunk,
            threads: threads.clone(),
            collapse: collapse.and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 1),
            nested: None,
            block: None,
        };
        let of_block =
            ScheduleAttributes { block: self.block_extents(attributes, place)?, ..Default::default() };
        attributes.ignore(&["gpu_block_size", "gpu_launch_bounds", "gpu_maxnreg", "gpu_min_warps_per_eu"]);
        // DaCe keeps attributes of every schedule in a map and leaves out those of others.
        let is_of_gpu = matches!(schedule, ScheduleKind::GpuGrid | ScheduleKind::GpuBlock);
        let fitting = Schedule::with(schedule, if is_of_gpu { of_block } else { of_team }).ok();
        let schedule = fitting.unwrap_or_else(|| schedule.into());
        // DaCe runs such a scope once in each thread, whatever its range says; the parameter is the number of the thread.
        if !is_persistent {
            return Ok(Map { params, ranges, schedule, is_persistent });
        }
        if params.len() != 1 {
            let message = "a scope with the schedule `CPU_Persistent` runs once in each thread; with one parameter it is a map";
            return Err(self.log.error(Code::Node, place, message));
        }
        let Some(threads) = threads else {
            // The environment gives the number, which may be one. Maps inside share their iterations among the threads;
            // here they have threads of their own.
            let message = "a scope that each thread runs (`CPU_Persistent`) runs once, as with one thread: `omp_num_threads` \
                           is not given";
            self.log.note(Code::Approximated, place, message);
            let (ranges, schedule) = (Subset(vec![Range::index(0)]), ScheduleKind::Sequential.into());
            return Ok(Map { params, ranges, schedule, is_persistent: false });
        };
        Ok(Map { params, ranges: Subset(vec![Range::new(0, threads)]), schedule, is_persistent })
    }

    /// Extents of the blocks of a GPU, innermost dimension first.
    fn block_extents(&self, attributes: &Object<'_>, place: &Place<'_>) -> Result<Option<Vec<Expr>>, Failed> {
        if attributes.get("gpu_block_size").is_none_or(Value::is_empty) {
            return Ok(None);
        }
        let place = place.at("gpu_block_size");
        let extents = attributes.list("gpu_block_size")?.iter().enumerate();
        extents
            .map(|(at, extent)| self.size(extent, &place.entry("gpu_block_size", at)))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    fn consume(&self, attributes: &Object<'_>, place: &Place<'_>) -> Result<Consume, Failed> {
        let number = |name: &str| {
            attributes.get(name).map_or(Ok(Expr::one()), |found| self.size(found, &place.at(name)))
        };
        let condition = match attributes.get("condition") {
            None => None,
            Some(found) => {
                let text = found.as_text().or_else(|| found.get("string_data").and_then(Value::as_text));
                let text = text.unwrap_or_default().trim();
                let here = place.at("condition");
                if text.is_empty() { None } else { Some(expression(text, &self.structs, &here, self.log)?) }
            }
        };
        Ok(Consume {
            element: self.symbol(attributes.text("pe_index")?, &place.at("pe_index"))?,
            elements: number("num_pes")?,
            chunk: number("chunksize")?,
            condition,
            schedule: self.schedule(attributes)?.into(),
        })
    }

    fn nested(
        &self,
        attributes: &Object<'_>,
        place: &Place<'_>,
    ) -> Result<(Program, Vec<(String, String)>), Failed> {
        let program = self.program(attributes.required("sdfg")?, place.at("sdfg"))?;
        let mut mapping = self.values(attributes, "symbol_mapping", place)?;
        // A callback has one name in the whole program.
        let renamed = mapping.iter().find(|(name, value)| program.callbacks.contains(name) && name != value);
        if let Some((name, value)) = renamed {
            let message =
                format!("the callback `{value}` is called `{name}` in the nested SDFG: give it one name");
            return Err(self.log.error(Code::ForeignCode, &place.at("symbol_mapping"), message));
        }
        mapping.retain(|(name, _)| !program.callbacks.contains(name));
        // A nested SDFG runs as the maps in it say.
        self.schedule(attributes)?;
        attributes.ignore(&["debuginfo"]);
        Ok((program, mapping))
    }

    /// The names in a property and the texts of the expressions that are their values.
    pub(super) fn values(
        &self,
        attributes: &Object<'_>,
        property: &str,
        place: &Place<'_>,
    ) -> Result<Vec<(String, String)>, Failed> {
        let mut values = Vec::new();
        for (name, value) in attributes.pairs(property)? {
            let value = match value {
                Value::Text(text) => plain(text).into_owned(),
                Value::Integer(number) => number.to_string(),
                other => {
                    let message = format!("expected an expression, found {}", other.noun());
                    return Err(self.log.error(Code::Malformed, &place.at(property).at(name), message));
                }
            };
            values.push((name.to_owned(), value));
        }
        Ok(values)
    }

    /// A name that can be that of a symbol.
    pub(super) fn symbol(&self, name: &str, place: &Place<'_>) -> Result<Symbol, Failed> {
        Symbol::new(name).map_err(|error| self.log.error(Code::Symbol, place, error.to_string()))
    }
}

/// Our name of the operation of a class, whose module differs from version to version.
fn operation(class: &str) -> &str {
    match class {
        "AllNode" => "All",
        "AnyNode" => "Any",
        "CopyLibraryNode" => "Copy",
        "FillLibraryNode" => "Fill",
        "MemsetLibraryNode" => "Memset",
        "MergeLibraryNode" => "Merge",
        "ONNXSum" => "Sum",
        other => other,
    }
}

/// Properties of library nodes that are about the node and not about its operation.
fn is_plumbing(name: &str) -> bool {
    NODE_PROPERTIES.contains(&name)
        || ANYWHERE.contains(&name)
        || name.starts_with("_meta")
        || matches!(name, "in_connectors" | "out_connectors" | "schedule" | "dtype" | "sync" | "schema")
}
