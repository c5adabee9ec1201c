//! The VM's heap: small blocks from lists of free ones.
//!
//! A call takes and gives back some two hundred small blocks, Envoy one more for each value it hands
//! over, and the standard library's heap spends more on each than most of them are used for. Here a
//! block that is given back goes on the list of its size, where the next of that size finds it. It stays
//! there: a VM has one thread, and its memory never shrinks anyway. What a list holds is bounded by what
//! was in use at one time.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr::{self, NonNull};

/// Sizes are rounded up to this, and all blocks are aligned to it.
const GRAIN: usize = 16;

/// Blocks up to this many grains have lists; larger ones are the standard library's.
const SIZES: usize = 64;

/// New blocks are cut off a stretch of this many bytes.
const STRETCH: usize = 16 * 1024;

/// What lies in a free block.
struct Free {
    next: Option<NonNull<Free>>,
}

struct Lists {
    /// By size in grains, less one.
    free: [Option<NonNull<Free>>; SIZES],
    /// What is left of the last stretch.
    rest: *mut u8,
    left: usize,
}

struct Heap(UnsafeCell<Lists>);

// SAFETY: a VM has one thread.
unsafe impl Sync for Heap {}

#[cfg(target_family = "wasm")]
#[global_allocator]
static HEAP: Heap = Heap::new();

impl Heap {
    const fn new() -> Heap {
        Heap(UnsafeCell::new(Lists {
            free: [None; SIZES],
            rest: ptr::null_mut(),
            left: 0,
        }))
    }
}

/// Which list a block comes from; none if it is the standard library's.
fn list_of(layout: Layout) -> Option<usize> {
    let list = layout.size().wrapping_sub(1) / GRAIN;
    (list < SIZES && layout.align() <= GRAIN).then_some(list)
}

impl Lists {
    /// A block that was never used.
    #[cold]
    fn cut(&mut self, list: usize) -> *mut u8 {
        let size = (list + 1) * GRAIN;
        if self.left < size {
            // SAFETY: neither size nor alignment is zero.
            let stretch =
                unsafe { System.alloc(Layout::from_size_align_unchecked(STRETCH, GRAIN)) };
            if stretch.is_null() {
                return stretch;
            }
            (self.rest, self.left) = (stretch, STRETCH);
        }
        let block = self.rest;
        self.left -= size;
        // SAFETY: `left` bytes lay ahead, and `size` was no more.
        self.rest = unsafe { block.add(size) };
        block
    }
}

// SAFETY: a block is on a list or in use, never both; a list's blocks are as large as its requests
// at the most, and aligned to GRAIN. The borrow of the lists ends within each function, and nothing
// called there allocates from them.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(list) = list_of(layout) else {
            return unsafe { System.alloc(layout) };
        };
        let lists = unsafe { &mut *self.0.get() };
        let Some(head) = lists.free.get_mut(list) else {
            return ptr::null_mut();
        };
        match *head {
            Some(block) => {
                *head = unsafe { block.as_ref() }.next;
                block.as_ptr().cast()
            }
            None => lists.cut(list),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(list) = list_of(layout) else {
            return unsafe { System.dealloc(block, layout) };
        };
        let lists = unsafe { &mut *self.0.get() };
        if let Some(head) = lists.free.get_mut(list)
            && let Some(free) = NonNull::new(block.cast::<Free>())
        {
            unsafe { free.write(Free { next: *head }) };
            *head = Some(free);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (list_of(layout), list_of(wanted)) {
            (None, None) => return unsafe { System.realloc(block, layout, size) },
            (had, wants) if had == wants => return block,
            _ => {}
        }
        let new = unsafe { self.alloc(wanted) };
        if !new.is_null() {
            unsafe {
                ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                self.dealloc(block, layout);
            }
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Block {
        at: *mut u8,
        layout: Layout,
        mark: u8,
    }

    impl Block {
        fn bytes(&mut self) -> &mut [u8] {
            unsafe { std::slice::from_raw_parts_mut(self.at, self.layout.size()) }
        }

        /// Nobody else was given a part of it.
        fn is_whole(&mut self) -> bool {
            let mark = self.mark;
            self.bytes().iter().all(|byte| *byte == mark)
        }
    }

    #[test]
    fn blocks_are_aligned_and_nobody_elses_however_they_come_and_go() {
        let heap = Heap::new();
        let mut blocks: Vec<Block> = Vec::new();
        let mut random = 1_u64;
        let mut draw = |below: usize| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) as usize % below
        };
        for step in 0..20_000 {
            let most = if draw(4) == 0 { 5000 } else { 300 };
            let size = 1 + draw(most);
            let mark = (step % 251) as u8;
            match draw(3) {
                0 if !blocks.is_empty() => {
                    let mut block = blocks.swap_remove(draw(blocks.len()));
                    assert!(block.is_whole());
                    unsafe { heap.dealloc(block.at, block.layout) };
                }
                1 if !blocks.is_empty() => {
                    let place = draw(blocks.len());
                    let block = &mut blocks[place];
                    let kept = size.min(block.layout.size());
                    block.at = unsafe { heap.realloc(block.at, block.layout, size) };
                    block.layout = Layout::from_size_align(size, block.layout.align()).unwrap();
                    let mark = block.mark;
                    assert!(block.bytes()[..kept].iter().all(|byte| *byte == mark));
                    block.bytes().fill(mark);
                }
                _ if blocks.len() < 300 => {
                    let layout = Layout::from_size_align(size, 1 << draw(6)).unwrap();
                    let at = unsafe { heap.alloc(layout) };
                    assert!(!at.is_null() && at.addr() % layout.align() == 0);
                    let mut block = Block { at, layout, mark };
                    block.bytes().fill(mark);
                    blocks.push(block);
                }
                _ => {}
            }
        }
        for mut block in blocks {
            assert!(block.is_whole());
            unsafe { heap.dealloc(block.at, block.layout) };
        }
    }

    #[test]
    fn what_is_given_back_is_the_next_of_its_size() {
        let heap = Heap::new();
        let layout = |size| Layout::from_size_align(size, 8).unwrap();
        let first = unsafe { heap.alloc(layout(40)) };
        unsafe { heap.dealloc(first, layout(40)) };
        assert_eq!(unsafe { heap.alloc(layout(33)) }, first);
        assert_ne!(unsafe { heap.alloc(layout(33)) }, first);
    }
}
