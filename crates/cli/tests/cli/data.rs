//! Tests with `.npy` files as NumPy writes them.

/// A file of version 1.0 with little-endian doubles.
pub(crate) fn npy(values: &[f64], shape: &str) -> Vec<u8> {
    let data = values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
    npy_of("<f8", &data, shape)
}

/// A file of version 1.0 with any elements.
pub(crate) fn npy_of(descr: &str, data: &[u8], shape: &str) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

/// The doubles at the end of a file.
pub(crate) fn doubles(file: &[u8]) -> Vec<f64> {
    let start = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
    file[start..]
        .chunks_exact(8)
        .map(|bytes| f64::from_le_bytes(bytes.try_into().expect("8 bytes")))
        .collect()
}
