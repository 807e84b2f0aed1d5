//! Pictures with three 8-bit channels, read from and written to PNG files.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

/// A picture: rows of pixels of red, green and blue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Number of pixels in a row.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// `height * width * 3` values.
    pub values: Vec<u8>,
}

/// Why a picture cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The file cannot be opened or created.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not a PNG file, or is damaged.
    #[error("{path} cannot be read as a PNG picture: {source}; convert it to PNG first")]
    Decode {
        /// The file.
        path: String,
        /// Why.
        source: png::DecodingError,
    },
    /// It is larger than memory.
    #[error("{path} is too large")]
    Size {
        /// The file.
        path: String,
    },
    /// It cannot be written.
    #[error("{path}: {source}")]
    Encode {
        /// The file.
        path: String,
        /// Why.
        source: png::EncodingError,
    },
}

impl Picture {
    /// Reads a PNG file of any colour type; transparency is dropped.
    ///
    /// # Errors
    /// [`PictureError`] if there is no such file, or it is not a PNG picture.
    pub fn read(path: &Path) -> Result<Self, PictureError> {
        let name = || path.display().to_string();
        let file = File::open(path).map_err(|source| PictureError::File { path: name(), source })?;
        let decode = |source| PictureError::Decode { path: name(), source };
        let mut decoder = png::Decoder::new(BufReader::new(file));
        decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
        let mut reader = decoder.read_info().map_err(decode)?;
        let size = reader.output_buffer_size().ok_or_else(|| PictureError::Size { path: name() })?;
        let mut raw = vec![0; size];
        let frame = reader.next_frame(&mut raw).map_err(decode)?;
        let (width, height) = (frame.width as usize, frame.height as usize);
        let channels = frame.color_type.samples();
        let values = raw.chunks_exact(frame.line_size).take(height).flat_map(|row| {
            row.chunks_exact(channels).take(width).flat_map(|pixel| match *pixel {
                [red, green, blue, ..] => [red, green, blue],
                [grey, ..] => [grey; 3],
                [] => [0; 3],
            })
        });
        Ok(Picture { width, height, values: values.collect() })
    }

    /// Writes a PNG file.
    ///
    /// # Errors
    /// [`PictureError`] if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), PictureError> {
        let name = || path.display().to_string();
        let file = File::create(path).map_err(|source| PictureError::File { path: name(), source })?;
        let encode = |source| PictureError::Encode { path: name(), source };
        let (width, height) = (u32::try_from(self.width), u32::try_from(self.height));
        let (Ok(width), Ok(height)) = (width, height) else {
            return Err(PictureError::Size { path: name() });
        };
        let mut encoder = png::Encoder::new(BufWriter::new(file), width, height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(encode)?;
        writer.write_image_data(&self.values).map_err(encode)?;
        writer.finish().map_err(encode)
    }

    /// A synthetic picture with slopes, edges and fine detail.
    pub fn drawn(width: usize, height: usize) -> Self {
        let mut values = Vec::with_capacity(width * height * 3);
        for y in 0..height {
            for x in 0..width {
                let (u, v) = (x as f64 / width as f64 - 0.5, y as f64 / height as f64 - 0.5);
                let distance = (u * u + v * v).sqrt();
                let disc = if distance < 0.3 { 90.0 } else { 0.0 };
                let rings = 40.0 * (60.0 * distance).sin();
                let board = if (x / 32 + y / 32) % 2 == 0 { 25.0 } else { 0.0 };
                let light = 80.0 + 100.0 * (0.5 - v);
                for tint in [disc, 0.5 * disc, -0.3 * disc] {
                    values.push((light + rings + board + tint).clamp(0.0, 255.0) as u8);
                }
            }
        }
        Picture { width, height, values }
    }

    /// The middle of the picture, at most `size` pixels wide and high.
    pub fn middle(&self, size: usize) -> Self {
        let (width, height) = (self.width.min(size), self.height.min(size));
        let (left, top) = ((self.width - width) / 2, (self.height - height) / 2);
        let rows = (top..top + height).flat_map(|y| {
            let begin = (y * self.width + left) * 3;
            self.values[begin..begin + width * 3].iter().copied()
        });
        Picture { width, height, values: rows.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_round_trip_and_the_middle_is_cut_out() {
        let picture = Picture::drawn(37, 21);
        let path = std::env::temp_dir().join(format!("sdfg-picture-{}.png", std::process::id()));
        picture.write(&path).unwrap();
        assert_eq!(Picture::read(&path).unwrap(), picture);
        std::fs::write(&path, "no picture").unwrap();
        assert!(matches!(Picture::read(&path), Err(PictureError::Decode { .. })));
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(Picture::read(&path), Err(PictureError::File { .. })));
        let middle = picture.middle(5);
        assert_eq!((middle.width, middle.height), (5, 5));
        assert_eq!(middle.values[..3], picture.values[(8 * 37 + 16) * 3..][..3]);
        assert_eq!(picture.middle(100), picture);
    }
}
