//! The allocator of the command: mimalloc for the many small pieces of graphs, the system's for large ones

use std::alloc::{GlobalAlloc, Layout, System};

use libmimalloc_sys::{mi_free, mi_malloc, mi_realloc, mi_zalloc};
use mimalloc::MiMalloc;

/// Pieces of at least so many bytes are the system's. It refuses what there is no memory for, so that a message can tell;
/// mimalloc promises any amount.
const LARGE: usize = 1 << 24;

/// The alignment that each piece of mimalloc's has. To ask for one takes three times as many instructions, and nearly all pieces
/// need no more.
const ALIGNED: usize = align_of::<usize>();

/// See the module.
pub(crate) struct Allocator;

// SAFETY: each method passes its arguments on to one of two allocators, under the contract of the caller. A piece belongs to
// the allocator that its size selects, and callers give the size with which it was allocated or reallocated last. `realloc`
// moves a piece to the other allocator where the new size selects that.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the contract is the caller's.
        unsafe {
            if layout.size() >= LARGE {
                System.alloc(layout)
            } else if layout.align() <= ALIGNED {
                mi_malloc(layout.size()).cast()
            } else {
                MiMalloc.alloc(layout)
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the contract is the caller's.
        unsafe {
            if layout.size() >= LARGE {
                System.alloc_zeroed(layout)
            } else if layout.align() <= ALIGNED {
                mi_zalloc(layout.size()).cast()
            } else {
                MiMalloc.alloc_zeroed(layout)
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: the size is that with which the same allocator gave the piece.
        unsafe { if layout.size() < LARGE { mi_free(piece.cast()) } else { System.dealloc(piece, layout) } }
    }

    #[inline]
    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match (layout.size() < LARGE, size < LARGE) {
            // SAFETY: both sizes select the allocator that gave the piece. Without an alignment, the new piece has that of all.
            (true, true) if layout.align() <= ALIGNED => unsafe { mi_realloc(piece.cast(), size).cast() },
            // SAFETY: both sizes select the allocator that gave the piece.
            (true, true) => unsafe { MiMalloc.realloc(piece, layout, size) },
            // SAFETY: as above.
            (false, false) => unsafe { System.realloc(piece, layout, size) },
            // SAFETY: the caller promises that the size is not zero and does not overflow with this alignment. Both pieces
            // have as many bytes as are copied, and are apart. The old one goes back to the allocator of its size.
            (true, false) | (false, true) => unsafe {
                let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                if !new.is_null() {
                    std::ptr::copy_nonoverlapping(piece, new, layout.size().min(size));
                    self.dealloc(piece, layout);
                }
                new
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_keep_their_contents_across_the_boundary() {
        let mut bytes: Vec<u8> = (0..=255).cycle().take(LARGE - 1).collect();
        let before = bytes.clone();
        bytes.reserve_exact(LARGE);
        assert!(bytes.capacity() >= LARGE && bytes == before);
        bytes.truncate(1000);
        bytes.shrink_to_fit();
        assert_eq!(bytes, before[..1000]);
        assert_eq!(vec![0_u8; LARGE + 1].iter().filter(|byte| **byte != 0).count(), 0);
    }

    /// Pieces of more than [`ALIGNED`], of fewer bytes than that, and that grow.
    #[test]
    fn pieces_are_aligned() {
        #[derive(Clone, Copy)]
        #[repr(align(64))]
        struct Wide(u8);
        let mut wide: Vec<Wide> = vec![Wide(1)];
        let mut small: Vec<Box<u8>> = Vec::new();
        for at in 0..100 {
            wide.push(Wide(at));
            small.push(Box::new(at));
            assert!(wide.as_ptr().addr().is_multiple_of(64) && small.as_ptr().addr().is_multiple_of(8));
        }
        assert!(wide[1..].iter().map(|wide| wide.0).eq(0..100) && small.iter().map(|at| **at).eq(0..100));
        let words: Vec<u64> = vec![0; 1000];
        assert!(words.as_ptr().addr().is_multiple_of(8) && words.iter().all(|word| *word == 0));
    }

    #[test]
    fn too_much_memory_is_refused() {
        let promises =
            std::fs::read_to_string("/proc/sys/vm/overcommit_memory").is_ok_and(|mode| mode.trim() == "1");
        assert!(promises || Vec::<u8>::new().try_reserve_exact(1 << 43).is_err());
    }
}
