//! Structures in the C header: their declarations, and functions that take them.
//!
//! The functions are `static inline`: they pass the members to the functions of the library, which have no
//! structures.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use sdfg::ir::structure::{CallerStructure, MemberKind, StructureType};

use crate::header::{c_type, parameter, parameter_name};
use crate::interface::{Argument, Interface, is_c_identifier};

/// The declarations of the structures and of the functions that take them; empty if no structure gives an
/// argument.
pub(crate) fn structure_functions(interface: &Interface) -> String {
    let known: BTreeSet<&str> = interface.arguments().iter().map(|argument| argument.name.as_str()).collect();
    let structures: Vec<&CallerStructure> = interface
        .structures()
        .iter()
        .filter(|structure| {
            let members = structure.ty.arguments();
            // A parameter of this name would hide an argument.
            !members.is_empty()
                && !known.contains(structure.name.as_str())
                && members.iter().all(|(path, argument)| known.contains(argument) && is_c_path(path))
        })
        .collect();
    // Functions that take structures pass no functions on.
    if structures.is_empty() || !interface.callbacks().is_empty() {
        return String::new();
    }
    let mut text = String::new();
    let mut names = BTreeMap::new();
    for structure in &structures {
        declare(&structure.ty, &structure.name, &mut names, &mut text);
    }
    functions(interface, &structures, &names, &mut text);
    text
}

fn is_c_path(path: &[&str]) -> bool {
    path.iter().all(|name| is_c_identifier(name))
}

/// Declares a type and those of its members, and gives its name: with the name of the parameter behind it where
/// another type has the same name.
fn declare<'s>(
    ty: &'s StructureType,
    place: &str,
    names: &mut BTreeMap<String, &'s StructureType>,
    text: &mut String,
) -> String {
    let wanted = if is_c_identifier(&ty.name) { ty.name.clone() } else { place.to_owned() };
    let mut name = wanted.clone();
    while names.get(&name).is_some_and(|other| *other != ty) {
        let _ = write!(name, "_{place}");
    }
    if names.contains_key(&name) {
        return name;
    }
    names.insert(name.clone(), ty);
    let mut members = String::new();
    for (at, member) in ty.members.iter().enumerate() {
        let own = if is_c_identifier(&member.name) { member.name.clone() } else { format!("member{at}_") };
        // Writing to a string cannot fail, here and below.
        let _ = match &member.kind {
            MemberKind::Number { ty, .. } => writeln!(members, "    {} {own};", c_type(*ty)),
            MemberKind::Pointer { ty, .. } => writeln!(members, "    {} *{own};", c_type(*ty)),
            MemberKind::Structure(inner) => {
                let inner = declare(inner, &format!("{place}_{own}"), names, text);
                writeln!(members, "    struct {inner} *{own};")
            }
            MemberKind::Opaque => writeln!(members, "    void *{own};"),
        };
    }
    let guard = format!("SDFG_STRUCT_{name}");
    let _ = write!(text, "#ifndef {guard}\n#define {guard}\nstruct {name} {{\n{members}}};\n#endif\n\n");
    name
}

/// `NAME_run_structures` and `NAME_structures`.
fn functions(
    interface: &Interface,
    structures: &[&CallerStructure],
    names: &BTreeMap<String, &StructureType>,
    text: &mut String,
) {
    let name = interface.name();
    let members: BTreeMap<&str, (&CallerStructure, String)> = structures
        .iter()
        .flat_map(|structure| {
            let path = |path: Vec<&str>| format!("{}->{}", parameter_name(&structure.name), path.join("->"));
            structure
                .ty
                .arguments()
                .into_iter()
                .map(move |(names, argument)| (argument, (*structure, path(names))))
        })
        .collect();
    let (mut parameters, mut passed, mut declared) = (Vec::new(), Vec::new(), BTreeSet::new());
    for argument in interface.arguments() {
        match members.get(argument.name.as_str()) {
            None => {
                parameters.push(parameter(argument));
                passed.push(parameter_name(&argument.name));
            }
            Some((structure, path)) => {
                if declared.insert(&structure.name) {
                    let ty =
                        names.iter().find(|(_, ty)| **ty == &structure.ty).map(|(name, _)| name.as_str());
                    let own = parameter_name(&structure.name);
                    parameters.push(format!("struct {} *{own}", ty.unwrap_or(&structure.ty.name)));
                }
                passed.push(member(argument, structure, path));
            }
        }
    }
    let _ = write!(
        text,
        "/* The same with structures in the place of their members. No pointer on the way to a member may be NULL. */\n\
         static inline int32_t {name}_run_structures(\n    {name}_t *handle,\n    {}) {{\n    \
         return {name}_run(handle, {});\n}}\n\n\
         static inline int32_t {name}_structures(\n    {}) {{\n    return {name}({});\n}}\n\n",
        parameters.join(",\n    "),
        passed.join(", "),
        parameters.join(",\n    "),
        passed.join(", ")
    );
}

/// The member as the library takes it: the address of a number that the program writes.
fn member(argument: &Argument, structure: &CallerStructure, path: &str) -> String {
    let is_number = is_number(&structure.ty, &argument.name);
    match (is_number, argument.by_pointer()) {
        (true, true) => format!("&{path}"),
        (false, false) => format!("*{path}"),
        (true, false) | (false, true) => path.to_owned(),
    }
}

fn is_number(ty: &StructureType, argument: &str) -> bool {
    ty.members.iter().any(|member| match &member.kind {
        MemberKind::Number { argument: own, .. } => own.as_deref() == Some(argument),
        MemberKind::Structure(inner) => is_number(inner, argument),
        MemberKind::Pointer { .. } | MemberKind::Opaque => false,
    })
}
