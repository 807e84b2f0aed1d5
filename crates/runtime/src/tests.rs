//! The objects that compiled programs take along.

use super::{OBJECTS, PROFILE};

#[test]
fn objects_are_those_of_the_host() {
    for (name, bytes) in OBJECTS.into_iter().chain([PROFILE]) {
        assert!(bytes.starts_with(b"\x7fELF"), "{name}");
    }
}
