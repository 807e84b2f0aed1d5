//! Files by which build systems find a compiled program: for pkg-config and for CMake.
//!
//! They lie in a folder tree that may be moved as a whole: every path in them counts from their own place.
//!
//! ```text
//! include/NAME.h
//! include/NAME.json
//! include/NAME_sdfg.f90
//! lib/libNAME.so
//! lib/libNAME.a
//! lib/pkgconfig/NAME.pc
//! lib/cmake/NAME/NAME-config.cmake
//! ```

use sdfg::tasklet::ExternalOrigin;

use crate::object::{ObjectCode, Requirements};

/// The text of `lib/pkgconfig/NAME.pc`.
pub fn pkg_config(object: &ObjectCode) -> String {
    let name = object.interface.name();
    let private: String = libraries(&object.requirements).iter().map(|name| format!(" -l{name}")).collect();
    format!(
        "# Generated; do not edit.\n\
         prefix=${{pcfiledir}}/../..\n\
         includedir=${{prefix}}/include\n\
         libdir=${{prefix}}/lib\n\n\
         Name: {name}\n\
         Description: The SDFG program {name}, compiled\n\
         Version: {version}\n\
         Cflags: -I${{includedir}}\n\
         Libs: -L${{libdir}} -l{name}\n\
         Libs.private:{private}\n",
        version = env!("CARGO_PKG_VERSION"),
    )
}

/// The text of `lib/cmake/NAME/NAME-config.cmake`, which defines the targets `NAME::NAME` and `NAME::NAME_static`.
pub fn cmake_config(object: &ObjectCode) -> String {
    let name = object.interface.name();
    let private = libraries(&object.requirements).join(";");
    format!(
        "# Generated; do not edit. Targets: {name}::{name} and {name}::{name}_static.\n\
         get_filename_component(_{name}_prefix \"${{CMAKE_CURRENT_LIST_DIR}}/../../..\" ABSOLUTE)\n\
         if(NOT TARGET {name}::{name})\n\
         \x20 add_library({name}::{name} SHARED IMPORTED)\n\
         \x20 set_target_properties({name}::{name} PROPERTIES\n\
         \x20   IMPORTED_LOCATION \"${{_{name}_prefix}}/lib/lib{name}.so\"\n\
         \x20   IMPORTED_SONAME \"lib{name}.so\"\n\
         \x20   INTERFACE_INCLUDE_DIRECTORIES \"${{_{name}_prefix}}/include\")\n\
         \x20 add_library({name}::{name}_static STATIC IMPORTED)\n\
         \x20 set_target_properties({name}::{name}_static PROPERTIES\n\
         \x20   IMPORTED_LOCATION \"${{_{name}_prefix}}/lib/lib{name}.a\"\n\
         \x20   INTERFACE_INCLUDE_DIRECTORIES \"${{_{name}_prefix}}/include\"\n\
         \x20   INTERFACE_LINK_LIBRARIES \"{private}\")\n\
         endif()\n\
         unset(_{name}_prefix)\n"
    )
}

/// What the static library needs beside it; the shared one names it itself.
fn libraries(requirements: &Requirements) -> Vec<&str> {
    let mut names: Vec<&str> = requirements
        .externals
        .iter()
        .filter_map(|origin| match origin {
            ExternalOrigin::Library(name) => Some(name.as_str()),
            ExternalOrigin::Cpp(_) => Some("stdc++"),
            ExternalOrigin::File(_) | ExternalOrigin::Source(_) => None,
        })
        .collect();
    // Any OpenMP runtime with gcc's entry points would do; this is the one that comes with the C compiler.
    names.extend(requirements.openmp.then_some("gomp"));
    names.extend(requirements.vector_mathematics.then_some("mvec"));
    names.push("m");
    names
}
