//! A number for a state, wide enough that two states never share one.

use std::hash::Hasher;

/// Two lanes of multiply and fold, 64 bits each.
#[derive(Debug)]
pub struct Fingerprint([u64; 2]);

impl Fingerprint {
    pub fn new() -> Fingerprint {
        Fingerprint([0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344])
    }

    pub fn number(&self) -> u128 {
        let [low, high] = self.0;
        (u128::from(high) << 64) | u128::from(low)
    }

    fn mix(&mut self, word: u64) {
        for (lane, factor) in self
            .0
            .iter_mut()
            .zip([0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93_u64])
        {
            let wide = u128::from(*lane ^ word.wrapping_add(factor)) * u128::from(factor);
            let folded = (wide >> 64) as u64 ^ wide as u64;
            *lane = folded
                .rotate_left(23)
                .wrapping_add(word.wrapping_mul(factor));
        }
    }
}

impl Hasher for Fingerprint {
    fn finish(&self) -> u64 {
        self.0[0]
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.mix(u64::from(number));
    }

    fn write_u16(&mut self, number: u16) {
        self.mix(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.mix(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }
}
