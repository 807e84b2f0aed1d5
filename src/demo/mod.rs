//! Parts of `cargo xtask demo`: a picture, and the program that processes it.

mod picture;
mod pipeline;

pub use picture::{Picture, PictureError};
pub use pipeline::pipeline;
