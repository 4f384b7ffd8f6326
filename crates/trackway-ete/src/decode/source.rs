//! One source: where decoding starts, continues after damage, and ends.

use std::sync::Arc;

use trackway_core::{Batch, ErrorKind, GapReason, Pool, Result, Show, pack, unpack};

use super::counts::PacketCounts;
use super::decoder::{Decoder, Goal, SavedDecoder};
use super::output::Finished;
use super::parallel;
use crate::config::{Config, Options};
use crate::transport::input::{Code, Place, SourceBytes, SourceInput};
use crate::wire::scan::{SYNC_LEN, Stop, bytes_before_sync, endless_zeros, find_sync, leading_zeros};

/// Decodes one source.
pub(crate) struct SourceDecoder {
    input: SourceBytes,
    decoder: Decoder,
    config: Arc<Config>,
    program: Code,
    options: Options,
    /// Place in the window.
    at: usize,
    /// An Alignment Sync ends at that place.
    after_sync: bool,
    phase: Phase,
    /// There are no parts to decode in parallel before this place in the source.
    serial_to: u64,
    /// Decoders to reuse.
    pool: Pool<Decoder>,
}

/// The next thing to do.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Find the first Alignment Sync.
    Begin,
    /// Find the next one; `bytes` were skipped since `from`.
    Seek { from: u64, bytes: u64, reason: GapReason },
    /// Decode.
    Decode,
    /// Nothing: the source ended.
    End,
}

impl SourceDecoder {
    pub(crate) fn open(source: &mut SourceInput, options: &Options) -> Result<Self> {
        let (config, program) = (Arc::clone(&source.config), source.program.clone());
        Ok(SourceDecoder {
            input: source.open(options)?,
            decoder: Decoder::new(&config, &program, options.show_withdrawn),
            config,
            program,
            options: *options,
            at: 0,
            after_sync: false,
            phase: Phase::Begin,
            serial_to: 0,
            pool: Pool::default(),
        })
    }

    /// The next batch; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Finished>> {
        loop {
            if let Some(finished) = self.take()? {
                return Ok(Some(finished));
            }
            if !self.step()? {
                return Ok(None);
            }
        }
    }

    /// A batch that is complete already, or the error after the last one.
    pub(crate) fn take(&mut self) -> Result<Option<Finished>> {
        self.decoder.output().take()
    }

    /// Takes back a batch for reuse.
    pub(crate) fn recycle(&mut self, batch: Batch) {
        self.decoder.output().recycle(batch);
    }

    /// Packets read so far.
    pub(crate) fn counts(&self) -> &PacketCounts {
        self.decoder.counts()
    }

    /// Bytes of the source that were decoded.
    fn position(&self) -> u64 {
        self.input.position() + self.at as u64
    }

    /// Bytes of the buffer that were decoded or, in frames, unpacked.
    pub(crate) fn progress(&self) -> u64 {
        self.input.unpacked().unwrap_or_else(|| self.position())
    }

    /// The state between two batches, where it can be entered again.
    pub(crate) fn save(&self) -> Option<Vec<u8>> {
        if self.phase != Phase::Decode {
            return None;
        }
        pack(&(self.input.place(self.at)?, self.decoder.save()?))
    }

    /// Before the first step: continues from a state; false if it is not one of this source.
    pub(crate) fn restore(&mut self, state: &[u8]) -> Result<bool> {
        let Some((place, saved)) = unpack::<(Place, SavedDecoder)>(state) else { return Ok(false) };
        let mut decoder = Decoder::new(&self.config, &self.program, self.options.show_withdrawn);
        if !decoder.restore(saved) || !self.input.enter(place)? {
            return Ok(false);
        }
        (self.decoder, self.at, self.phase) = (decoder, 0, Phase::Decode);
        Ok(true)
    }

    /// Continues by some output or one change of phase; false at the end.
    pub(crate) fn step(&mut self) -> Result<bool> {
        match self.phase {
            Phase::End => return Ok(false),
            Phase::Begin => self.begin()?,
            Phase::Seek { from, bytes, reason } => self.seek(from, bytes, reason)?,
            Phase::Decode => self.decode()?,
        }
        Ok(true)
    }

    /// After an error: continues at the next Alignment Sync; false if nothing follows.
    pub(crate) fn resync(&mut self) -> Result<bool> {
        let pending = self.decoder.output().is_ready();
        while let Phase::Seek { from, bytes, reason } = self.phase {
            self.seek(from, bytes, reason)?;
        }
        Ok(pending || self.phase != Phase::End)
    }

    /// Drops the decoded bytes from the window.
    fn consume(&mut self) {
        self.input.consume(self.at);
        self.at = 0;
        self.decoder.window_changed();
    }

    /// Drops the decoded bytes from the window and adds new ones; false at the end of the source.
    fn more(&mut self) -> Result<bool> {
        self.consume();
        self.input.more()
    }

    /// The first Alignment Sync of a source may be cut: any number of zeros counts.
    fn begin(&mut self) -> Result<()> {
        while self.input.bytes().iter().all(|&byte| byte == 0) {
            // One zero is enough; there may be any number.
            self.input.consume(self.input.bytes().len().saturating_sub(1));
            if !self.input.more()? {
                break;
            }
        }
        if self.input.bytes().is_empty() {
            self.phase = Phase::End;
        } else if let Some(zeros) = leading_zeros(self.input.bytes()) {
            self.begin_at(zeros + 1);
        } else {
            let from = self.input.offset(0);
            self.phase = Phase::Seek { from, bytes: 0, reason: GapReason::LostSync };
        }
        Ok(())
    }

    /// Decoding starts after an Alignment Sync.
    fn begin_at(&mut self, at: usize) {
        self.decoder.counts_mut().add(0);
        (self.at, self.after_sync) = (at, true);
        self.phase = Phase::Decode;
    }

    /// Searches the window for the next Alignment Sync.
    fn seek(&mut self, from: u64, bytes: u64, reason: GapReason) -> Result<()> {
        if let Some(end) = find_sync(self.input.bytes(), self.at) {
            let skipped = bytes + end.saturating_sub(SYNC_LEN).saturating_sub(self.at) as u64;
            self.decoder.lose_sync(reason, from, skipped);
            self.begin_at(end);
            return Ok(());
        }
        let first = self.at == 0 && bytes == 0;
        let skip = bytes_before_sync(&self.input.bytes()[self.at..]);
        let left = self.input.bytes().len() - self.at - skip;
        self.at += skip;
        let bytes = bytes + skip as u64;
        self.phase = Phase::Seek { from, bytes, reason };
        if self.more()? {
            return Ok(());
        }
        if first && reason == GapReason::LostSync && !self.input.is_cut() {
            // A raw stream without any Alignment Sync is hardly ETE.
            let error = ErrorKind::Missing.at(from, "Alignment Sync", "", "K10.5.2.3");
            self.decoder.output().fail(error);
        } else {
            self.decoder.lose_sync(reason, from, bytes + left as u64);
        }
        self.end();
        Ok(())
    }

    fn end(&mut self) {
        self.decoder.end();
        self.phase = Phase::End;
    }

    fn decode(&mut self) -> Result<()> {
        let gap = self.input.next_break(self.at);
        let end = gap.unwrap_or(self.input.bytes().len());
        let last = gap.is_some() || self.input.ended();
        self.after_sync = false;
        let stop = self.decoder.run(&self.input.view(), (end, last), &mut self.at, Goal::None);
        let cut = match stop {
            Stop::End => true,
            Stop::Bad(error) => error.is_truncated(),
            Stop::Visitor | Stop::Incomplete => false,
        };
        if let Some(gap) = gap
            && cut
        {
            // The buffer is discontinuous here, so a truncated packet is expected.
            let bytes = (gap - self.at) as u64;
            let from = self.input.offset(self.at);
            self.at = gap;
            self.phase = Phase::Seek { from, bytes, reason: GapReason::LostSync };
            return Ok(());
        }
        self.after(stop)
    }

    /// Continues after the decoder stopped.
    fn after(&mut self, stop: Stop) -> Result<()> {
        match stop {
            Stop::Visitor => {}
            Stop::Incomplete | Stop::End => {
                self.at += endless_zeros(&self.input.bytes()[self.at..]);
                if !self.more()? && stop == Stop::End {
                    self.end();
                }
            }
            Stop::Bad(error) => {
                let from = self.input.offset(self.at);
                let mut reason = GapReason::BadInput;
                if error.is_truncated() && self.input.is_cut() {
                    // A buffer mostly ends inside a packet.
                    reason = GapReason::LostSync;
                } else {
                    self.decoder.output().fail(error);
                }
                self.phase = Phase::Seek { from, bytes: 0, reason };
            }
        }
        Ok(())
    }

    /// Shows the parts in the window on several threads; false if the input cannot be cut here.
    pub(crate) fn observe_parts(&mut self, threads: usize, show: &mut Show<'_>) -> Result<bool> {
        if self.phase == Phase::Begin {
            self.begin()?;
        }
        let pending = self.decoder.output().is_pending();
        if pending || self.phase != Phase::Decode || self.position() < self.serial_to {
            return Ok(false);
        }
        if 2 * self.at > self.input.bytes().len() {
            // Not more often, as the rest of the window moves.
            self.consume();
        }
        let mut want = parallel::WINDOW * threads;
        let (cuts, end) = loop {
            while self.input.bytes().len() - self.at < want && self.input.more()? {}
            let length = self.input.bytes().len();
            let end = self.input.next_break(self.at).unwrap_or(length).min(self.at.saturating_add(want));
            let part = self.options.min_part.unwrap_or_else(|| parallel::min_part(want, threads));
            let cuts = parallel::cuts(&self.input.bytes()[..end], self.at, part);
            if cuts.len() > threads || want >= parallel::LARGEST || end < self.at + want {
                break (cuts, end);
            }
            want *= 4;
        };
        if cuts.len() < 2 {
            self.serial_to = self.input.position() + end as u64;
            return Ok(false);
        }
        let new = || Decoder::new(&self.config, &self.program, self.options.show_withdrawn);
        let parts = parallel::Window { window: &self.input.view(), pool: &self.pool, new: &new, threads };
        let stop = parts.observe(&mut self.decoder, &mut self.at, self.after_sync, &cuts, show);
        self.after_sync = stop.is_ok();
        if let Err(stop) = stop {
            self.after(stop)?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use trackway_core::Input;

    use super::*;
    use crate::wire::packet::Packet;

    /// The largest window while `head`, then `body` again and again, is decoded, `length` bytes in all.
    fn largest_window(head: &[u8], body: &[u8], length: u64) -> usize {
        let bytes = std::io::Cursor::new(head.to_vec()).chain(Repeat(body.to_vec(), 0)).take(length);
        let config = Config::from_registers("test", Default::default(), Some(true)).unwrap();
        let mut source = SourceInput::raw(config, Input::Stream(Box::new(bytes)), Arc::default());
        let mut decoder = SourceDecoder::open(&mut source, &Options::default()).unwrap();
        let mut largest = 0;
        loop {
            while let Ok(Some(finished)) = decoder.take() {
                decoder.recycle(finished.batch);
            }
            if !decoder.step().unwrap() {
                assert!(length - decoder.position() < 16);
                return largest;
            }
            largest = largest.max(decoder.input.bytes().len());
        }
    }

    struct Repeat(Vec<u8>, usize);

    impl Read for Repeat {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            for byte in &mut *buffer {
                *byte = self.0[self.1];
                self.1 = (self.1 + 1) % self.0.len();
            }
            Ok(buffer.len())
        }
    }

    #[test]
    fn streams_of_any_length_are_read_in_a_small_window() {
        const LENGTH: u64 = 20 << 20;
        let mut start = Vec::new();
        let config = Config::from_registers("test", Default::default(), Some(true)).unwrap();
        for packet in
            [Packet::AlignmentSync { zeros: 11 }, Packet::TraceInfo(Default::default()), Packet::TraceOn]
        {
            packet.write(&config.dialect, &mut start);
        }
        // Context, and Target Address 0x1000.
        start.extend([0x81, 0x31, 0x9d, 0, 8, 0, 0, 0, 0, 0, 0]);
        // Good packets; zeros from the start, after packets, and where an Alignment Sync is searched.
        let cases: [(&[u8], &[u8]); 5] = [
            (&start, &[0x95, 0x00, 0xf7]),
            (&[], &[0]),
            (&start, &[0]),
            (&[start.clone(), vec![0x08]].concat(), &[0]),
            (&[1], &[1, 0]),
        ];
        for (head, body) in cases {
            let largest = largest_window(head, body, LENGTH);
            assert!(largest <= 3 << 20, "{body:x?}: {largest} bytes");
        }
    }
}
