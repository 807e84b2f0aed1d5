//! Package files through which build systems find a compiled program: pkg-config and CMake.
//!
//! The folder tree may be moved, because every path in the files is relative to the file.
//!
//! ```text
//! include/NAME.h
//! include/NAME.json
//! include/NAME_sdfg.f90
//! lib/libNAME.so
//! lib/libNAME.a
//! lib/pkgconfig/NAME.pc
//! lib/cmake/NAME/NAME-config.cmake
//! src/NAME.c (on request)
//! ```

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sdfg::tasklet::ExternalOrigin;

use crate::fortran::fortran_module;
use crate::header::c_header;
use crate::json::json_interface;
use crate::link::{LinkError, folder_of, shared_library, static_library, unmade, write_file};
use crate::object::{ObjectCode, Requirements};

/// Writes a package into `folder`, which is made if it is not there, with the C source of the program if it is given. All of it is written to another folder first: where that fails, nothing is
/// left of it, and a package that was there before stays as it was.
///
/// # Errors
/// Every [`LinkError`].
pub fn write_package(object: &ObjectCode, source: Option<&str>, folder: &Path) -> Result<(), LinkError> {
    let failed = |source| LinkError::Write { path: folder.to_owned(), source };
    let parents = NewFolders::make(folder_of(folder)).map_err(failed)?;
    let staging = stage(folder).map_err(failed)?;
    let files = write_files(object, source, staging.path()).map_err(|error| match error {
        // Nobody has heard of the folder that it names.
        LinkError::Write { path, source } => {
            let path = path.strip_prefix(staging.path()).map_or(path.clone(), |path| folder.join(path));
            LinkError::Write { path, source }
        }
        other @ (LinkError::NoLinker { .. }
        | LinkError::NotRunnable { .. }
        | LinkError::Failed { .. }
        | LinkError::NoOutput { .. }
        | LinkError::NoCompiler { .. }
        | LinkError::Source { .. }
        | LinkError::MissingSymbols { .. }
        | LinkError::MissingLibrary { .. }
        | LinkError::NoOpenMp { .. }
        | LinkError::NoSystemLibrary { .. }) => other,
    })?;
    if fs::symlink_metadata(folder).is_err() {
        fs::rename(staging.path(), folder).map_err(failed)?;
    } else {
        for file in files {
            let to = folder.join(&file);
            let moved =
                fs::create_dir_all(folder_of(&to)).and_then(|()| fs::rename(staging.path().join(&file), &to));
            moved.map_err(|source| LinkError::Write { path: to, source })?;
        }
    }
    parents.keep();
    Ok(())
}

/// Whether [`write_package`] could write to `folder` now. Nothing is changed.
///
/// # Errors
/// [`LinkError::Write`] if something else is there, or folders cannot be made.
pub fn check_package(folder: &Path) -> Result<(), LinkError> {
    let failed = |source| LinkError::Write { path: folder.to_owned(), source };
    if fs::symlink_metadata(folder).is_ok() && !folder.is_dir() {
        return Err(failed(io::Error::new(io::ErrorKind::NotADirectory, "it is no folder")));
    }
    let mut nearest = folder;
    while !folder_of(nearest).exists() {
        nearest = folder_of(nearest);
    }
    stage(nearest).map(drop).map_err(failed)
}

/// An empty folder in another one, or beside it if that is not there, with the permissions of an ordinary one.
fn stage(folder: &Path) -> io::Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".sdfg-").permissions(Permissions::from_mode(0o777));
    let place = if folder.is_dir() { folder } else { folder_of(folder) };
    builder.tempdir_in(place).map_err(|error| unmade(&error, place))
}

/// Writes the files of a package; gives their paths within it.
fn write_files(object: &ObjectCode, source: Option<&str>, folder: &Path) -> Result<Vec<PathBuf>, LinkError> {
    let (name, interface) = (object.interface.name(), &object.interface);
    let library = |end: &str| PathBuf::from(format!("lib/lib{name}.{end}"));
    let texts = [
        (format!("include/{name}.h"), c_header(interface)),
        (format!("include/{name}.json"), json_interface(interface)),
        (format!("include/{name}_sdfg.f90"), fortran_module(interface)),
        (format!("lib/pkgconfig/{name}.pc"), pkg_config(object)),
        (format!("lib/cmake/{name}/{name}-config.cmake"), cmake_config(object)),
    ];
    let source = source.map(|text| (format!("src/{name}.c"), text.to_owned()));
    if source.is_some() {
        let path = folder.join("src");
        fs::create_dir_all(&path).map_err(|source| LinkError::Write { path, source })?;
    }
    for part in ["include", "lib/pkgconfig", &format!("lib/cmake/{name}")] {
        let path = folder.join(part);
        fs::create_dir_all(&path).map_err(|source| LinkError::Write { path, source })?;
    }
    shared_library(object, &folder.join(library("so")))?;
    static_library(object, &folder.join(library("a")))?;
    let mut files = vec![library("so"), library("a")];
    for (path, text) in texts.into_iter().chain(source) {
        write_file(&folder.join(&path), text.as_bytes())?;
        files.push(path.into());
    }
    Ok(files)
}

/// Folders that were made for a package, and go if it is not written.
struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    /// Makes a folder with those around it.
    fn make(folder: &Path) -> io::Result<Self> {
        let missing =
            folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let made = NewFolders(missing.map(Path::to_owned).collect());
        fs::create_dir_all(folder)?;
        Ok(made)
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        // Innermost first; one that others use meanwhile is not empty, and stays.
        for folder in &self.0 {
            let _ = fs::remove_dir(folder);
        }
    }
}

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

/// Libraries that the static library needs in addition; the shared one names them itself.
fn libraries(requirements: &Requirements) -> Vec<&str> {
    let mut names: Vec<&str> = requirements
        .externals
        .iter()
        .filter_map(|origin| match origin {
            ExternalOrigin::Library(name) => Some(name.as_str()),
            ExternalOrigin::Cpp(_) => Some("stdc++"),
            ExternalOrigin::File(_) | ExternalOrigin::Source(_) | ExternalOrigin::Callback => None,
        })
        .collect();
    // Any OpenMP runtime with gcc's entry points would do; this is the one that comes with the C compiler.
    names.extend(requirements.openmp.then_some("gomp"));
    names.extend(requirements.vector_mathematics.then_some("mvec"));
    names.push("m");
    names
}
