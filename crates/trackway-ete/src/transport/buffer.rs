//! The trace buffer of a core (TRBE), which stores a trace unit's bytes in memory (K10.5.11).

use serde::Deserialize;

/// TRBLIMITR_EL1.FM: behaviour when the write pointer reaches the limit and returns to the base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Collection stops, with an interrupt.
    #[default]
    Fill,
    /// Collection continues, with an interrupt.
    Wrap,
    /// Collection continues.
    Circular,
}

/// A trace buffer's size and mode (K10.5.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferConfig {
    /// Behaviour at the limit.
    pub mode: Mode,
    /// Size in bytes.
    pub bytes: u64,
}

/// TRBLIMITR_EL1.TM: effect of a trigger event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TriggerMode {
    /// Collection stops, with an interrupt.
    Stop,
    /// An interrupt is raised.
    Interrupt,
    /// None.
    #[default]
    Ignore,
}

/// TRBSR_EL1: the fields that collection sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferStatus {
    /// IRQ: a buffer management event is pending.
    pub interrupt: bool,
    /// TRG: a trigger was detected; the counter runs, or the trigger event occurred.
    pub triggered: bool,
    /// WRAP: the write pointer reached the limit.
    pub wrapped: bool,
    /// S: collection is stopped.
    pub stopped: bool,
    /// BSC: the buffer was filled.
    pub filled: bool,
}

/// A trace buffer; the fields are its registers.
///
/// ```
/// use trackway_ete::{Mode, TraceBuffer};
/// let mut buffer = TraceBuffer::new(0x8000, 0x8008, Mode::Circular);
/// buffer.write(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
/// assert_eq!(buffer.memory(), [9, 10, 3, 4, 5, 6, 7, 8]);
/// assert_eq!((buffer.pointer, buffer.collected()), (0x8002, vec![3, 4, 5, 6, 7, 8, 9, 10]));
/// ```
#[derive(Clone, Debug, Default)]
pub struct TraceBuffer {
    /// TRBBASER_EL1: the first byte.
    pub base: u64,
    /// TRBLIMITR_EL1.LIMIT: after the last byte.
    pub limit: u64,
    /// TRBPTR_EL1: address of the next byte.
    pub pointer: u64,
    /// Behaviour at the limit.
    pub mode: Mode,
    /// Effect of a trigger event.
    pub trigger_mode: TriggerMode,
    /// TRBTRG_EL1: bytes between a detected trigger and the trigger event; 0: the event is immediate.
    pub trigger_counter: u64,
    /// TRBLIMITR_EL1.E: collection is enabled.
    pub enabled: bool,
    /// TRBSR_EL1.
    pub status: BufferStatus,
    /// Number of bytes lost while collection was stopped or disabled.
    pub lost: u64,
    /// Buffer management events: the number of bytes collected before each.
    pub events: Vec<u64>,
    /// Number of bytes collected.
    pub total: u64,
    memory: Vec<u8>,
    /// Initial write pointer.
    first: u64,
}

impl TraceBuffer {
    /// An empty buffer from `base` to `limit`, enabled.
    pub fn new(base: u64, limit: u64, mode: Mode) -> Self {
        let size = limit.saturating_sub(base) as usize;
        TraceBuffer {
            base,
            limit,
            pointer: base,
            mode,
            enabled: true,
            memory: vec![0; size],
            first: base,
            ..TraceBuffer::default()
        }
    }

    /// K10.5.11, first method: in Wrap mode an interrupt comes after `watermark` bytes, and collection continues.
    pub fn with_watermark_by_wrap(base: u64, limit: u64, watermark: u64) -> Self {
        let pointer = limit.saturating_sub(watermark).max(base);
        TraceBuffer { pointer, first: pointer, ..Self::new(base, limit, Mode::Wrap) }
    }

    /// K10.5.11, second method: a trigger that is detected from the start raises the interrupt after `watermark` bytes.
    ///
    /// ```
    /// use trackway_ete::{BufferStatus, Mode, TraceBuffer};
    /// let mut buffer = TraceBuffer::with_watermark_by_trigger(0x8000, 0x8100, 0x80, Mode::Circular);
    /// buffer.write(&[0; 0x90]);
    /// assert_eq!(buffer.status, BufferStatus { interrupt: true, triggered: true, ..BufferStatus::default() });
    /// assert_eq!(buffer.events, [0x80]);
    /// // Software has read the trace so far.
    /// buffer.clear_interrupt();
    /// assert!(!buffer.status.interrupt);
    /// ```
    pub fn with_watermark_by_trigger(base: u64, limit: u64, watermark: u64, mode: Mode) -> Self {
        TraceBuffer {
            trigger_mode: TriggerMode::Interrupt,
            trigger_counter: watermark,
            status: BufferStatus { triggered: true, ..BufferStatus::default() },
            ..Self::new(base, limit, mode)
        }
    }

    /// The trace unit detects a trigger: the counter starts.
    pub fn trigger(&mut self) {
        if self.enabled && !self.status.triggered {
            self.status.triggered = true;
            if self.trigger_counter == 0 {
                self.trigger_event();
            }
        }
    }

    fn trigger_event(&mut self) {
        match self.trigger_mode {
            TriggerMode::Stop => {
                self.status.stopped = true;
                self.interrupt();
            }
            TriggerMode::Interrupt => self.interrupt(),
            TriggerMode::Ignore => {}
        }
    }

    /// Raises a buffer management event, unless one is pending.
    fn interrupt(&mut self) {
        if !std::mem::replace(&mut self.status.interrupt, true) {
            self.events.push(self.total);
        }
    }

    /// Software handled the interrupt.
    pub fn clear_interrupt(&mut self) {
        self.status.interrupt = false;
    }

    /// Takes bytes from the trace unit and returns the number collected.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        for (index, &byte) in bytes.iter().enumerate() {
            if !self.enabled || self.status.stopped || self.memory.is_empty() {
                self.lost += (bytes.len() - index) as u64;
                return index;
            }
            if let Some(place) = self.memory.get_mut(self.pointer.wrapping_sub(self.base) as usize) {
                *place = byte;
            }
            self.pointer += 1;
            self.total += 1;
            if self.status.triggered && self.trigger_counter > 0 {
                self.trigger_counter -= 1;
                if self.trigger_counter == 0 {
                    self.trigger_event();
                }
            }
            if self.pointer >= self.limit {
                self.pointer = self.base;
                self.status.wrapped = true;
                match self.mode {
                    Mode::Fill => {
                        (self.status.stopped, self.status.filled) = (true, true);
                        self.interrupt();
                    }
                    Mode::Wrap => self.interrupt(),
                    Mode::Circular => {}
                }
            }
        }
        bytes.len()
    }

    /// The buffer's memory, as a dump has it.
    pub fn memory(&self) -> &[u8] {
        &self.memory
    }

    /// The bytes collected and not overwritten, oldest first, as a decoder with the write pointer sees them.
    pub fn collected(&self) -> Vec<u8> {
        let place = |address: u64| (address.saturating_sub(self.base) as usize).min(self.memory.len());
        let (pointer, first) = (place(self.pointer), place(self.first));
        if !self.status.wrapped {
            return self.memory[first..pointer.max(first)].to_vec();
        }
        let size = self.memory.len() as u64;
        let (new, old) = self.memory.split_at(pointer);
        let whole = [old, new].concat();
        // If the first round began in the middle, the bytes before it may never have been written.
        let unwritten = size.saturating_sub(self.total) as usize;
        whole[unwritten.min(whole.len())..].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(range: std::ops::Range<u8>) -> Vec<u8> {
        range.collect()
    }

    #[test]
    fn fill_mode_stops_at_the_limit() {
        let mut buffer = TraceBuffer::new(0x100, 0x110, Mode::Fill);
        assert_eq!(buffer.write(&numbers(0..10)), 10);
        assert_eq!(buffer.write(&numbers(10..20)), 6);
        assert!(buffer.status.stopped && buffer.status.filled && buffer.status.wrapped);
        assert_eq!((buffer.pointer, buffer.lost, &buffer.events[..]), (0x100, 4, &[16][..]));
        assert_eq!(buffer.collected(), numbers(0..16));
    }

    #[test]
    fn k10_5_11_a_watermark_by_wrap_mode() {
        let mut buffer = TraceBuffer::with_watermark_by_wrap(0x100, 0x110, 6);
        buffer.write(&numbers(0..5));
        assert!(buffer.events.is_empty());
        buffer.write(&numbers(5..12));
        assert_eq!((&buffer.events[..], buffer.pointer), (&[6][..], 0x106));
        assert_eq!(buffer.collected(), numbers(0..12), "not full yet");
        buffer.write(&numbers(12..40));
        assert_eq!(buffer.collected(), numbers(24..40));
        assert_eq!(buffer.events, [6], "the interrupt is still pending");
        buffer.clear_interrupt();
        buffer.write(&numbers(40..60));
        assert_eq!(buffer.events.len(), 2);
    }

    #[test]
    fn k10_5_11_a_watermark_by_trigger() {
        for mode in [Mode::Fill, Mode::Circular] {
            let mut buffer = TraceBuffer::with_watermark_by_trigger(0x100, 0x110, 8, mode);
            buffer.write(&numbers(0..12));
            assert_eq!((&buffer.events[..], buffer.status.stopped), (&[8][..], false));
            buffer.write(&numbers(12..20));
            let kept = if mode == Mode::Fill { numbers(0..16) } else { numbers(4..20) };
            assert_eq!(buffer.collected(), kept);
        }
    }

    #[test]
    fn a_detected_trigger_stops_collection_after_its_counter() {
        let mut buffer = TraceBuffer::new(0, 16, Mode::Circular);
        (buffer.trigger_mode, buffer.trigger_counter) = (TriggerMode::Stop, 4);
        buffer.write(&numbers(0..20));
        buffer.trigger();
        buffer.write(&numbers(20..40));
        assert_eq!((buffer.total, buffer.lost), (24, 16));
        assert_eq!(buffer.collected(), numbers(8..24));
        let mut at_once = TraceBuffer::new(0, 16, Mode::Fill);
        at_once.trigger_mode = TriggerMode::Stop;
        at_once.trigger();
        assert_eq!(at_once.write(&[1]), 0);
    }

    #[test]
    fn a_disabled_buffer_collects_nothing() {
        let mut buffer = TraceBuffer::new(0, 16, Mode::Fill);
        buffer.enabled = false;
        assert_eq!((buffer.write(&[1, 2]), buffer.lost), (0, 2));
        assert_eq!(TraceBuffer::new(16, 0, Mode::Fill).write(&[1]), 0);
    }
}
