//! Stream arguments: the program receives their elements in memory of the C library, which it may reallocate.

use std::ffi::c_void;

use sdfg::tensor::Tensor;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
}

/// A queue of a stream argument of generated code, with the layout of `crates/runtime/src/c/runtime.h`.
#[derive(Debug)]
#[repr(C)]
pub(super) struct PassedQueue {
    elements: *mut c_void,
    count: i64,
}

impl PassedQueue {
    /// A queue with the elements of a tensor; `None` without memory.
    pub(super) fn of(tensor: &Tensor) -> Option<Self> {
        let bytes = tensor.bytes();
        if bytes.is_empty() {
            return Some(PassedQueue { elements: std::ptr::null_mut(), count: 0 });
        }
        // SAFETY: `malloc` takes any size.
        let elements = unsafe { malloc(bytes.len()) };
        if elements.is_null() {
            return None;
        }
        // SAFETY: the new memory has as many bytes and nobody else has it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), elements.cast(), bytes.len()) };
        Some(PassedQueue { elements, count: (bytes.len() / tensor.element().size()) as i64 })
    }

    /// Puts the elements that the program left into the tensor.
    pub(super) fn store(&self, tensor: &mut Tensor) {
        let element = tensor.element();
        let size = self.count.unsigned_abs() as usize * element.size();
        let bytes = if size == 0 {
            Vec::new()
        } else {
            // SAFETY: after a run there are `count` elements, every byte of which the program wrote or was given.
            unsafe { std::slice::from_raw_parts(self.elements.cast::<u8>(), size) }.to_vec()
        };
        if let Ok(left) = Tensor::from_bytes(element, vec![self.count], bytes) {
            *tensor = left;
        }
    }
}

impl Drop for PassedQueue {
    fn drop(&mut self) {
        // SAFETY: it is null, or memory of `malloc` or `realloc` that nothing else frees.
        unsafe { free(self.elements) };
    }
}
