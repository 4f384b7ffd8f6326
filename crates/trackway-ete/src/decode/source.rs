//! One source: where decoding starts, goes on after damage, and ends.

use std::sync::Arc;

use trackway_core::{Batch, ErrorKind, GapReason, Result, Spare};
use trackway_image::Image;

use crate::config::Config;
use crate::decode::census::Census;
use crate::decode::decoder::{Decoder, SYNC_LEN, Stop, Stretch, Until, find_sync};
use crate::decode::output::Piece;
use crate::decode::parallel::{self, Shown};
use crate::lift::Options;
use crate::transport::input::Supply;
use crate::wire::read::MIN_ZEROS;

/// Decodes one source.
pub(crate) struct Engine {
    supply: Supply,
    pub(crate) decoder: Decoder,
    config: Arc<Config>,
    image: Arc<Image>,
    options: Options,
    /// Place in the window.
    at: usize,
    /// That place is behind a synchronisation.
    behind_sync: bool,
    phase: Phase,
    /// Up to this place in the source there are no parts to share.
    alone_to: u64,
    /// Decoders to use again.
    spare: Spare<Decoder>,
    /// Bytes that a part has at the least, if not as many as suits.
    part: Option<usize>,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Find the first synchronisation.
    Begin,
    /// Find the next one; so many bytes were skipped from there on.
    Seek { from: u64, bytes: u64, reason: GapReason },
    /// Decode.
    Decode,
    /// All is done.
    Over,
}

impl Engine {
    pub(crate) fn new(
        config: &Arc<Config>,
        image: &Arc<Image>,
        supply: Supply,
        options: &Options,
        part: Option<usize>,
    ) -> Self {
        Engine {
            supply,
            decoder: Decoder::new(config, image, options.show_withdrawn),
            config: Arc::clone(config),
            image: Arc::clone(image),
            options: *options,
            at: 0,
            behind_sync: false,
            phase: Phase::Begin,
            alone_to: 0,
            spare: Spare::default(),
            part,
        }
    }

    /// The next piece of output; none at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Piece>> {
        loop {
            if let Some(piece) = self.take() {
                return Ok(Some(piece));
            }
            if !self.step()? {
                return Ok(None);
            }
        }
    }

    /// Output that is there.
    pub(crate) fn take(&mut self) -> Option<Piece> {
        self.decoder.analyser.out.take()
    }

    /// Takes a batch back.
    pub(crate) fn give(&mut self, batch: Batch) {
        self.decoder.analyser.out.give(batch);
    }

    /// Packets read so far.
    pub(crate) fn census(&self) -> &Census {
        &self.decoder.census
    }

    /// Bytes of the source that are done with.
    pub(crate) fn position(&self) -> u64 {
        self.supply.position() + self.at as u64
    }

    /// Bytes of the buffer that are done with, or were taken apart.
    pub(crate) fn progress(&self) -> u64 {
        self.supply.taken_apart().unwrap_or_else(|| self.position())
    }

    /// Goes on by some output or some change of phase; false at the end.
    pub(crate) fn step(&mut self) -> Result<bool> {
        match self.phase {
            Phase::Over => return Ok(false),
            Phase::Begin => self.begin()?,
            Phase::Seek { from, bytes, reason } => self.seek(from, bytes, reason)?,
            Phase::Decode => self.decode()?,
        }
        Ok(true)
    }

    /// After an error: to the next synchronisation; false if nothing comes any more.
    pub(crate) fn resync(&mut self) -> Result<bool> {
        let pending = !self.decoder.analyser.out.done.is_empty();
        while let Phase::Seek { from, bytes, reason } = self.phase {
            self.seek(from, bytes, reason)?;
        }
        Ok(pending || self.phase != Phase::Over)
    }

    /// Takes what is done out of the window and asks for more; false at the end of the source.
    fn more(&mut self) -> Result<bool> {
        self.supply.consume(self.at);
        self.at = 0;
        self.decoder.moved();
        self.supply.more()
    }

    /// At the start of a source a synchronisation may be cut: any number of zeros counts.
    fn begin(&mut self) -> Result<()> {
        while self.supply.bytes().iter().all(|&byte| byte == 0) {
            // One zero is enough; they may go on for ever.
            self.supply.consume(self.supply.bytes().len().saturating_sub(1));
            if !self.supply.more()? {
                break;
            }
        }
        let bytes = self.supply.bytes();
        let zeros = bytes.iter().position(|&byte| byte != 0).unwrap_or(bytes.len());
        if bytes.is_empty() {
            self.phase = Phase::Over;
        } else if zeros > 0 && bytes.get(zeros) == Some(&0x80) {
            self.begin_at(zeros + 1);
        } else {
            let from = self.supply.offset(0);
            self.phase = Phase::Seek { from, bytes: 0, reason: GapReason::LostSync };
        }
        Ok(())
    }

    /// Decoding begins behind a synchronisation.
    fn begin_at(&mut self, at: usize) {
        self.decoder.census.add(0);
        (self.at, self.behind_sync) = (at, true);
        self.phase = Phase::Decode;
    }

    /// Looks for the next synchronisation and goes on behind it.
    fn seek(&mut self, from: u64, bytes: u64, reason: GapReason) -> Result<()> {
        if let Some(end) = find_sync(self.supply.bytes(), self.at) {
            let skipped = bytes + end.saturating_sub(SYNC_LEN).saturating_sub(self.at) as u64;
            self.decoder.lose_sync(reason, from, skipped);
            self.begin_at(end);
            return Ok(());
        }
        // The zeros may have begun: keep them.
        let length = self.supply.bytes().len();
        let zeros = self.supply.bytes()[self.at..].iter().rev().take_while(|&&byte| byte == 0).count();
        let keep = zeros.min(MIN_ZEROS as usize);
        let (skipped, place) = (bytes + (length - keep - self.at) as u64, self.at);
        self.at = length - keep;
        self.phase = Phase::Seek { from, bytes: skipped, reason };
        if self.more()? {
            return Ok(());
        }
        let never = reason == GapReason::LostSync && place == 0 && bytes == 0 && !self.supply.is_framed();
        let skipped = skipped + keep as u64;
        if never {
            // Not one in the whole of a raw stream: it is hardly ETE.
            let kind = ErrorKind::Missing;
            self.decoder.analyser.out.broken(kind.at(from, "Alignment Sync", "", "K10.5.2.3"));
        } else {
            self.decoder.lose_sync(reason, from, skipped);
        }
        self.over();
        Ok(())
    }

    fn over(&mut self) {
        self.decoder.end();
        self.phase = Phase::Over;
    }

    fn decode(&mut self) -> Result<()> {
        let gap = self.supply.next_break(self.at);
        let end = gap.unwrap_or(self.supply.bytes().len());
        let stretch = Stretch { end, last: gap.is_some() || self.supply.ended() };
        self.behind_sync = false;
        let stop = self.decoder.run(&self.supply.view(), stretch, &mut self.at, Until::End);
        let cut = match stop {
            Stop::End => true,
            Stop::Bad(error) => error.is_truncated(),
            _ => false,
        };
        if let Some(gap) = gap
            && cut
        {
            // What follows does not continue what was before: a cut packet is no wonder.
            let bytes = (gap - self.at) as u64;
            let from = self.supply.offset(self.at);
            self.at = gap;
            self.phase = Phase::Seek { from, bytes, reason: GapReason::LostSync };
            return Ok(());
        }
        self.after(stop)
    }

    /// What to do when a decoder stops.
    fn after(&mut self, stop: Stop) -> Result<()> {
        match stop {
            Stop::Pause | Stop::There => {}
            Stop::Hungry | Stop::End => {
                self.at += endless_zeros(&self.supply.bytes()[self.at..]);
                if !self.more()? && stop == Stop::End {
                    self.over();
                }
            }
            Stop::Bad(error) => {
                let from = self.supply.offset(self.at);
                let mut reason = GapReason::BadInput;
                if error.is_truncated() && self.supply.is_framed() {
                    // A buffer ends where it ends, mostly inside a packet.
                    reason = GapReason::LostSync;
                } else {
                    self.decoder.analyser.out.broken(error);
                }
                self.phase = Phase::Seek { from, bytes: 0, reason };
            }
        }
        Ok(())
    }

    /// Shows the parts in the window to `shown`, on several threads; false where there is but one.
    pub(crate) fn observe_parts(&mut self, shown: &mut Shown<'_>) -> Result<bool> {
        if self.phase != Phase::Decode || self.position() < self.alone_to {
            return Ok(false);
        }
        if 2 * self.at > self.supply.bytes().len() {
            // What is done goes out of the window; not too often, as the rest moves.
            self.supply.consume(self.at);
            self.at = 0;
            self.decoder.moved();
        }
        let jobs = self.options.jobs;
        let mut want = parallel::WINDOW * jobs;
        let (cuts, end) = loop {
            while self.supply.bytes().len() - self.at < want && self.supply.more()? {}
            let length = self.supply.bytes().len();
            let end = self.supply.next_break(self.at).unwrap_or(length).min(self.at.saturating_add(want));
            let part = self.part.unwrap_or_else(|| parallel::part(want, jobs));
            let cuts = parallel::cuts(&self.supply.bytes()[..end], self.at, part);
            if cuts.len() > jobs || want >= parallel::LARGEST || end < self.at + want {
                break (cuts, end);
            }
            want *= 4;
        };
        if cuts.len() < 2 {
            self.alone_to = self.supply.position() + end as u64;
            return Ok(false);
        }
        let parts = parallel::Parts {
            config: &self.config,
            image: &self.image,
            options: &self.options,
            spare: &self.spare,
            window: &self.supply.view(),
        };
        let mut at = self.at;
        let stop = parts.observe(&mut self.decoder, &mut at, self.behind_sync, &cuts, shown);
        (self.at, self.behind_sync) = (at, true);
        match stop {
            Ok(()) => Ok(true),
            Err(stop) => {
                self.behind_sync = false;
                self.after(stop)?;
                Ok(true)
            }
        }
    }
}

/// How many bytes can go if `bytes` are nothing but zeros and there are too many of them to wait for their end: a
/// synchronisation may be of any length.
pub(crate) fn endless_zeros(bytes: &[u8]) -> usize {
    const MANY: usize = 1 << 20;
    if bytes.len() > MANY && bytes.iter().all(|&byte| byte == 0) {
        bytes.len() - MIN_ZEROS as usize
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use trackway_core::Input;

    use super::*;
    use crate::handmade::{code, plain};
    use crate::transport::input::Pending;

    /// `head`, then `body` again and again, `length` bytes in all: the most bytes in the window at any time.
    fn window(head: &[u8], body: &[u8], length: u64) -> usize {
        let bytes = std::io::Cursor::new(head.to_vec()).chain(Again(body.to_vec(), 0)).take(length);
        let input = Input::Stream(Box::new(bytes));
        let image = Arc::new(code().image());
        let options = Options::default();
        let mut source = Pending::raw(plain().config, input, image);
        let supply = source.supply(&options).unwrap().unwrap();
        let mut engine = Engine::new(&source.config, &source.image, supply, &options, None);
        let mut most = 0;
        loop {
            while let Some(piece) = engine.take() {
                if let Piece::Events(batch) = piece {
                    engine.give(batch);
                }
            }
            if !engine.step().unwrap() {
                assert!(length - engine.position() < 16);
                return most;
            }
            most = most.max(engine.supply.bytes().len());
        }
    }

    struct Again(Vec<u8>, usize);

    impl Read for Again {
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
        let start = plain().bytes;
        // Good packets; zeros from the start, behind packets, and where a synchronisation is looked for.
        let cases: [(&[u8], &[u8]); 5] = [
            (&start, &[0x95, 0x00, 0xf7]),
            (&[], &[0]),
            (&start, &[0]),
            (&[start.clone(), vec![0x08]].concat(), &[0]),
            (&[1], &[1, 0]),
        ];
        for (head, body) in cases {
            let most = window(head, body, LENGTH);
            assert!(most <= 3 << 20, "{body:x?}: {most} bytes");
        }
    }
}
