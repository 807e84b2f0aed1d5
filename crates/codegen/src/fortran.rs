//! Fortran module of a compiled program: its C interface through `iso_c_binding`, for Fortran 2003 and later.
//!
//! The text depends only on the [`Interface`], like the C header, and calls the same entry points.

use std::collections::BTreeSet;
use std::fmt::Write;

use sdfg::dtype::ScalarType;

use crate::interface::{Argument, ArgumentKind, EntryPoint, Interface, RankEntry, Status};

/// The text of the module `NAME_sdfg` for `interface`. Fortran does not tell capitals from small letters: arguments whose
/// names differ in nothing else get a number at their end.
///
/// Arrays are passed as C sees them: the last dimension is the one whose elements lie side by side, so that an array that the
/// program declares as `A: f64[N, M]` is `A(M, N)` in Fortran.
pub fn fortran_module(interface: &Interface) -> String {
    let name = interface.name();
    let mut text = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = write!(
        text,
        "! Interface of the SDFG program `{name}`. Generated; do not edit.\n!\n\
         ! Arrays are those of C: what the program declares as A[N, M] is A(M, N) here. They must not overlap if one of\n\
         ! them is written, unless the library was made with --may-overlap; indices are not checked, unless with --checked.\n\
         module {name}_sdfg\n  use, intrinsic :: iso_c_binding\n  implicit none\n  public\n\n"
    );
    for status in Status::ALL {
        let (suffix, code) = (status.constant_suffix().to_ascii_lowercase(), status.code());
        let _ = writeln!(
            text,
            "  ! {}\n  integer(c_int32_t), parameter :: {name}_{suffix} = {code}",
            status.message()
        );
    }
    let _ = write!(
        text,
        "\n  ! Configuration of an instance: `size` is c_sizeof of it, `num_threads` 0 for the default.\n\
         \x20 type, bind(c) :: {name}_config\n\
         \x20   integer(c_size_t) :: size = 0\n\
         \x20   integer(c_int32_t) :: num_threads = 0\n{device}{communicator}\
         \x20 end type\n\n",
        device = if interface.has_device() { DEVICE } else { "" },
        communicator = if interface.ranks().is_some() { COMMUNICATOR } else { "" }
    );
    if interface.arguments().iter().any(|argument| matches!(argument.kind, ArgumentKind::Queue { .. })) {
        text.push_str(&queue_type(name));
    }
    text.push_str("  interface\n");
    instances(&mut text, interface);
    let mut names = Names::default();
    let handle = names.of("handle");
    let named = |argument: &Argument| {
        let dummy = names.of(&argument.name);
        let declaration = declaration(name, &dummy, argument);
        (dummy, declaration)
    };
    let mut arguments: Vec<(String, String)> = interface.arguments().iter().map(named).collect();
    arguments.extend(interface.callbacks().iter().map(|callback| {
        let dummy = names.of(&callback.name);
        let declaration =
            format!("type(c_funptr), value :: {dummy} ! as {name}_{}_t of the C header", callback.name);
        (dummy, declaration)
    }));
    let result = names.of("status");
    text.push_str("    ! Runs the program on an instance.\n");
    function(&mut text, &interface.symbol(EntryPoint::Run), Some(&handle), &arguments, &result);
    if interface.ranks().is_some() {
        text.push_str(
            "\n    ! The same with whole arrays of rank 0. The arguments of other ranks are ignored.\n",
        );
        let symbol = format!("{name}{}", RankEntry::RunWhole.suffix());
        function(&mut text, &symbol, Some(&handle), &arguments, &result);
        parts(&mut text, interface);
    }
    text.push_str("\n    ! The same with an instance of its own, for a single call.\n");
    function(&mut text, &interface.symbol(EntryPoint::OneShot), None, &arguments, &result);
    let _ = write!(text, "  end interface\nend module\n");
    text
}

/// The type of streams that are arguments: each module has its own, so that a program can use several.
fn queue_type(name: &str) -> String {
    format!(
        "  ! A queue of a stream that is an argument: its elements, oldest first, in memory of C's malloc, which belongs to the caller. A run\n\
         \x20 ! that succeeds leaves those that are in the stream at its end, for which it may move the memory as realloc does.\n\
         \x20 type, bind(c) :: {name}_queue\n\
         \x20   type(c_ptr) :: elements = c_null_ptr\n\
         \x20   integer(c_int64_t) :: count = 0\n\
         \x20 end type\n\n"
    )
}

/// Functions that make, ask and free instances.
fn instances(text: &mut String, interface: &Interface) {
    let name = interface.name();
    let [create, error, destroy] =
        [EntryPoint::Create, EntryPoint::Error, EntryPoint::Destroy].map(|entry| interface.symbol(entry));
    let _ = write!(
        text,
        "    ! Makes an instance. `config` is c_loc of a {name}_config, or c_null_ptr; `handle` is c_null_ptr on failure.\n\
         \x20   function {create}(config, handle) bind(c, name=\"{create}\") result(status)\n\
         \x20     import :: c_int32_t, c_ptr\n\
         \x20     type(c_ptr), value :: config\n\
         \x20     type(c_ptr), intent(out) :: handle\n\
         \x20     integer(c_int32_t) :: status\n\
         \x20   end function\n\n\
         \x20   ! The address of a C text: why the last call on `handle` failed.\n\
         \x20   function {error}(handle) bind(c, name=\"{error}\") result(message)\n\
         \x20     import :: c_ptr\n\
         \x20     type(c_ptr), value :: handle\n\
         \x20     type(c_ptr) :: message\n\
         \x20   end function\n\n\
         \x20   ! Frees an instance; c_null_ptr is ignored.\n\
         \x20   subroutine {destroy}(handle) bind(c, name=\"{destroy}\")\n\
         \x20     import :: c_ptr\n\
         \x20     type(c_ptr), value :: handle\n\
         \x20   end subroutine\n\n"
    );
    if !interface.callbacks().is_empty() {
        let stop = interface.symbol(EntryPoint::Stop);
        let _ = write!(
            text,
            "    ! Ends the run on `handle` when the callback that calls this returns. `message` is a C text, or c_null_ptr.\n\
             \x20   subroutine {stop}(handle, message) bind(c, name=\"{stop}\")\n\
             \x20     import :: c_ptr\n\
             \x20     type(c_ptr), value :: handle, message\n\
             \x20   end subroutine\n\n"
        );
    }
    if interface.has_profile() {
        let profile = interface.symbol(EntryPoint::Profile);
        let _ = write!(
            text,
            "    ! The address of a C text of the instance: what its timers found, as a table (0) or as a trace in JSON (1).\n\
             \x20   function {profile}(handle, format) bind(c, name=\"{profile}\") result(text)\n\
             \x20     import :: c_int32_t, c_ptr\n\
             \x20     type(c_ptr), value :: handle\n\
             \x20     integer(c_int32_t), value :: format\n\
             \x20     type(c_ptr) :: text\n\
             \x20   end function\n\n"
        );
    }
}

/// Further members of the configuration of a distributed program.
const DEVICE: &str = "    ! c_loc of a text that ends with c_null_char: the number of a device in `sdfg devices`, or a part of its name.
    type(c_ptr) :: device = c_null_ptr
";

const COMMUNICATOR: &str =
    "    ! 0: the world, 2: communicator is c_loc of an integer(c_int64_t) with the handle of a communicator.
    integer(c_int32_t) :: communicator_kind = 0
    type(c_ptr) :: communicator = c_null_ptr
";

/// Functions that tell what a rank has.
fn parts(text: &mut String, interface: &Interface) {
    let name = interface.name();
    for entry in [RankEntry::Rank, RankEntry::Ranks] {
        let symbol = format!("{name}{}", entry.suffix());
        let _ = write!(
            text,
            "\n    function {symbol}(handle) bind(c, name=\"{symbol}\") result(number)\n      import\n      \
             type(c_ptr), value :: handle\n      integer(c_int64_t) :: number\n    end function\n"
        );
    }
    text.push_str("\n    ! Positions of a dimension of an argument, as C counts both; the name ends with c_null_char.\n");
    for entry in RankEntry::BOUNDS {
        let symbol = format!("{name}{}", entry.suffix());
        let mut names = Names::default();
        let fixed = ["handle", "argument", "dimension", "position"].map(|name| names.of(name));
        let symbols = interface
            .arguments()
            .iter()
            .filter(|argument| matches!(argument.kind, ArgumentKind::Symbol { .. }));
        let symbols: Vec<(String, String)> = symbols
            .map(|argument| {
                let dummy = names.of(&argument.name);
                let declaration = declaration(name, &dummy, argument);
                (dummy, declaration)
            })
            .collect();
        let list: String = symbols.iter().map(|(dummy, _)| format!(", &\n        {dummy}")).collect();
        let declared: String =
            symbols.iter().map(|(_, declaration)| format!("      {declaration}\n")).collect();
        let [handle, argument, dimension, position] = fixed;
        let _ = write!(
            text,
            "    function {symbol}({handle}, {argument}, {dimension}{list}) &\n        bind(c, name=\"{symbol}\") result({position})\n      \
             import\n      type(c_ptr), value :: {handle}\n      character(kind=c_char), intent(in) :: {argument}(*)\n      \
             integer(c_int32_t), value :: {dimension}\n{declared}      integer(c_int64_t) :: {position}\n    end function\n"
        );
    }
}

fn function(
    text: &mut String,
    symbol: &str,
    handle: Option<&str>,
    arguments: &[(String, String)],
    result: &str,
) {
    let names: Vec<&str> =
        handle.into_iter().chain(arguments.iter().map(|(name, _)| name.as_str())).collect();
    // A line of Fortran has 132 characters.
    let list = names.join(", &\n        ");
    let _ = write!(
        text,
        "    function {symbol}( &\n        {list}) &\n        bind(c, name=\"{symbol}\") result({result})\n      import\n"
    );
    if let Some(handle) = handle {
        let _ = writeln!(text, "      type(c_ptr), value :: {handle}");
    }
    for (_, declaration) in arguments {
        let _ = writeln!(text, "      {declaration}");
    }
    let _ = write!(text, "      integer(c_int32_t) :: {result}\n    end function\n");
}

/// `real(c_double), intent(inout) :: A(*) ! ...`.
fn declaration(program: &str, name: &str, argument: &Argument) -> String {
    if let ArgumentKind::Queue { element, shape } = &argument.kind {
        let size = if shape.is_empty() { "" } else { "(*)" };
        return format!("type({program}_queue), intent(inout) :: {name}{size} ! of {element}");
    }
    let ty = fortran_type(argument.element().lane());
    if !argument.by_pointer() {
        return format!("{ty}, value :: {name}");
    }
    let intent = if argument.is_written() { "inout" } else { "in" };
    let is_list = matches!(argument.kind, ArgumentKind::Array { .. }) || argument.element().lanes() > 1;
    let size = if is_list { "(*)" } else { "" };
    format!("{ty}, intent({intent}) :: {name}{size}")
}

/// Unsigned integers have the bits of the signed ones of their size; Fortran has no others.
const fn fortran_type(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::Bool => "logical(c_bool)",
        ScalarType::I8 | ScalarType::U8 => "integer(c_int8_t)",
        ScalarType::I16 | ScalarType::U16 => "integer(c_int16_t)",
        // The bits of an IEEE 754 binary16.
        ScalarType::F16 => "integer(c_int16_t)",
        ScalarType::I32 | ScalarType::U32 => "integer(c_int32_t)",
        ScalarType::I64 | ScalarType::U64 => "integer(c_int64_t)",
        ScalarType::F32 => "real(c_float)",
        ScalarType::F64 => "real(c_double)",
        ScalarType::Complex64 => "complex(c_float_complex)",
        ScalarType::Complex128 => "complex(c_double_complex)",
    }
}

/// Names of dummy arguments: letters first, 63 characters at most, and different without regard to case.
#[derive(Default)]
struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    fn of(&mut self, name: &str) -> String {
        const LONGEST: usize = 63;
        let letters_first = if name.starts_with(|c: char| c.is_ascii_alphabetic()) { "" } else { "x" };
        let name: String = format!("{letters_first}{name}").chars().take(LONGEST).collect();
        let mut found = name.clone();
        let mut number = 1_u32;
        while !self.taken.insert(found.to_ascii_lowercase()) {
            number += 1;
            let suffix = format!("_{number}");
            found = name.chars().take(LONGEST - suffix.len()).collect::<String>() + &suffix;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_without_regard_to_case() {
        let mut names = Names::default();
        let found: Vec<String> = ["handle", "A", "a", "A_", "_b", "HANDLE"].map(|name| names.of(name)).into();
        assert_eq!(found, ["handle", "A", "a_2", "A_", "x_b", "HANDLE_2"]);
        let long = "n".repeat(80);
        let mut seen = BTreeSet::new();
        for _ in 0..20 {
            let name = names.of(&long);
            assert!(name.len() <= 63 && seen.insert(name));
        }
    }
}
