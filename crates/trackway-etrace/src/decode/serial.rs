//! Decodes one source, or a part of it, in order.

use std::sync::Arc;

use trackway_core::*;

use super::cuts::Part;
use super::markers;
use super::packets::{Decoder, Known, Short};
use super::places::{Place, SavedSerial, Start};
use super::setup::Setup;
use super::walk::Progress;
use crate::transport::{Frame, Kind};
use crate::wire::Reader;
use crate::wire::instruction::Packet;
use crate::wire::read::bad_packet;

/// Formats of packets, as the census names them.
const FORMATS: [&str; 8] = ["0/0", "0/1", "1", "2", "3/0", "3/1", "3/2", "3/3"];

/// Places of formats 1 and 2 in [`FORMATS`].
const BRANCHES: usize = 2;
const ADDRESS: usize = 3;

/// Counts and findings of decoding.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Notes {
    /// Packets, by the number of their format in [`FORMATS`].
    packets: [u64; FORMATS.len()],
    /// Synchronisations, and how many of them are at addresses without code.
    synchronised: (u64, u64),
    /// Instructions in the last batch.
    pub(crate) instructions: u64,
    /// Instructions in all.
    pub(crate) found: u64,
}

impl Notes {
    #[inline]
    fn count(&mut self, packet: &Packet) {
        self.packets[match packet {
            Packet::BranchCount(_) => 0,
            Packet::JumpTarget(_) => 1,
            Packet::Branches(_) => BRANCHES,
            Packet::Address(_) => ADDRESS,
            Packet::Start(_) => 4,
            Packet::Trap(_) => 5,
            Packet::Context(_) => 6,
            Packet::Support(_) => 7,
        }] += 1;
    }

    /// Adds the notes of the part that follows.
    pub(crate) fn merge(&mut self, later: &Notes) {
        for (all, count) in self.packets.iter_mut().zip(later.packets) {
            *all += count;
        }
        self.found += later.found;
        self.synchronised.0 += later.synchronised.0;
        self.synchronised.1 += later.synchronised.1;
    }

    pub(crate) fn census(&self) -> Census {
        Census::new(&FORMATS, self.packets)
    }

    /// The reason why no instruction was found, where branches and addresses had to be followed.
    pub(crate) fn failure(&self) -> Option<Error> {
        let flow: u64 = self.packets[..4].iter().sum();
        let (syncs, outside) = self.synchronised;
        let (text, value) = match () {
            () if self.found > 0 || flow == 0 => return None,
            () if syncs > 0 && syncs == outside => (
                "{} of {} synchronisation addresses lie outside the program: wrong ELF, or iaddress_lsb?",
                syncs,
            ),
            () if syncs > 0 => {
                ("none of {} synchronisations could be followed: is it the right program?", syncs)
            }
            () => ("none of {} packets could be followed: no synchronisation before them", flow),
        };
        Some(ErrorKind::Reason { text, value }.at(0, "trace", "", ""))
    }
}

/// Decodes packet by packet.
#[derive(Debug)]
pub(crate) struct Serial {
    reader: Reader,
    decoder: Decoder,
    /// Decode only packets of this source.
    only: Option<u32>,
    /// Data packets are attached to instructions later.
    attaches_data: bool,
    /// Offset at which the part ends.
    end: u64,
    /// The next packet is the part's first: the part before has done its approach.
    begins: bool,
    /// The last packet is also the first of the next part, where execution begins.
    cut: bool,
    /// That packet is the current one.
    at_cut: bool,
    /// The error at which the part ends.
    error: Option<Error>,
    ended: bool,
    /// The last error was in a frame: the start of the next one is not known.
    frame_lost: bool,
}

impl Serial {
    /// A whole source.
    pub(crate) fn new(input: Input, setup: &Setup, only: Option<u32>) -> Self {
        Serial {
            reader: Reader::shared(input, &setup.config),
            decoder: Decoder::new(&setup.config, &setup.image, setup.isa),
            only,
            attaches_data: setup.config.data.enable,
            end: u64::MAX,
            begins: false,
            cut: false,
            at_cut: false,
            error: None,
            ended: false,
            frame_lost: false,
        }
    }

    /// A part of one.
    pub(crate) fn part(bytes: &SharedBytes, setup: &Setup, part: &Part) -> Self {
        let mut serial = Serial::new(Input::Whole(Arc::clone(bytes)), setup, part.only);
        serial.begin(&part.start);
        serial.end_with(part);
        serial
    }

    /// See [`Decoder::exchange`].
    pub(crate) fn exchange(&mut self, known: &mut Known) {
        self.decoder.exchange(known);
    }

    /// Begins where a part begins.
    fn begin(&mut self, start: &Start) {
        if start.begins || start.offset > 0 {
            self.decoder.resume(start.carried);
        }
        if start.skipped > 0 {
            self.decoder.skip(start.skipped, start.offset);
        }
        self.reader.jump(start.offset, start.index, start.carried.options);
        self.begins = start.begins;
    }

    /// Ends where a part ends.
    pub(crate) fn end_with(&mut self, part: &Part) {
        (self.end, self.cut, self.error) = (part.end, part.cut, part.error);
    }

    /// The place between two batches. Where the part has ended, decoding continues with another one.
    pub(crate) fn save(&self) -> Option<SavedSerial> {
        let (offset, index) = self.reader.place().filter(|_| !self.begins && !self.frame_lost)?;
        Some(SavedSerial { offset, index, decoder: self.decoder.save()? })
    }

    /// Has all of the part been decoded?
    pub(crate) fn is_done(&self) -> bool {
        self.ended || self.at_cut && self.decoder.is_idle()
    }

    /// A fresh decoder continues from a place; false if there is none.
    pub(crate) fn restore(&mut self, place: &Place) -> bool {
        match place {
            Place::Inside(saved) => {
                let there = self.reader.has_place((saved.offset, saved.index));
                let restored = there && self.decoder.restore(&saved.decoder);
                if restored {
                    self.reader.jump(saved.offset, saved.index, saved.decoder.carried().0.options);
                }
                restored
            }
            Place::Start(start) => {
                let there =
                    self.reader.has_place((start.offset, start.index)) && start.skipped <= u64::MAX / 2;
                if there {
                    self.begin(start);
                }
                there
            }
        }
    }

    /// Does the part end with a synchronisation that begins the next one?
    pub(crate) fn ends_at_cut(&self) -> bool {
        self.cut
    }

    /// Offset of the next frame.
    pub(crate) fn offset(&self) -> u64 {
        self.reader.offset()
    }

    /// Adds events to an empty batch until it is full; adds none at the end.
    pub(crate) fn fill(&mut self, batch: &mut Batch, notes: &mut Notes) -> Result<()> {
        let filled = self.fill_batch(batch, notes);
        notes.instructions = self.decoder.take_instructions();
        notes.found += notes.instructions;
        let (syncs, outside) = std::mem::take(&mut self.decoder.synchronised);
        notes.synchronised.0 += syncs;
        notes.synchronised.1 += outside;
        filled
    }

    fn fill_batch(&mut self, batch: &mut Batch, notes: &mut Notes) -> Result<()> {
        loop {
            let progress =
                if self.at_cut { self.decoder.run_approach(batch) } else { self.decoder.run(batch) };
            match progress {
                Ok(Progress::Full) => return Ok(()),
                Ok(Progress::Arrived) => {}
                Err(error) => return Err(error),
            }
            self.fill_fast(batch, notes)?;
            if batch.is_full() || self.ended || !self.decoder.is_idle() {
                return Ok(());
            }
            if self.reader.offset() >= self.end {
                self.ended = true;
                if !self.cut {
                    self.decoder.finish(batch);
                }
                return self.error.take().map_or(Ok(()), Err);
            }
            let next = match self.reader.next_frame() {
                Ok(next) => next,
                Err(error) => {
                    self.decoder.finish(batch);
                    self.frame_lost = true;
                    return Err(error);
                }
            };
            let Some((offset, frame)) = next else {
                self.ended = true;
                self.decoder.finish(batch);
                return Ok(());
            };
            if self.only.is_some_and(|only| only != frame.source) || frame.kind == Kind::Null {
                self.reader.advance(&frame);
                continue;
            }
            let mut scratch = [0; 64];
            let payload = self.reader.payload(&frame, &mut scratch);
            if frame.kind != Kind::Instruction {
                emit_foreign(batch, offset, &frame, payload, self.attaches_data);
                self.reader.advance(&frame);
                continue;
            }
            let packet = Packet::read(payload, self.reader.layout());
            self.reader.advance(&frame);
            match packet {
                Ok(packet) => {
                    self.reader.note(&packet);
                    self.at_cut = self.cut && self.reader.offset() >= self.end;
                    if std::mem::take(&mut self.begins) {
                        self.decoder.accept_begin(packet, offset, frame.time);
                    } else {
                        notes.count(&packet);
                        self.decoder.accept(packet, offset, frame.len, frame.time);
                    }
                }
                Err(kind) => {
                    self.decoder.lose_track(batch);
                    return Err(bad_packet(kind, offset));
                }
            }
        }
    }

    /// Fast path for the most common packets: format 1 or 2 after a header byte, while execution is known.
    fn fill_fast(&mut self, batch: &mut Batch, notes: &mut Notes) -> Result<()> {
        let Some(header) = self.reader.header.filter(|_| self.decoder.is_following()) else { return Ok(()) };
        let (start, layout) = (self.reader.offset(), *self.reader.layout());
        let bytes = self.reader.bytes();
        let bytes = &bytes[..bytes.len().min(self.end.saturating_sub(start) as usize)];
        let (mut at, mut frames, mut made, mut state) = (0, 0, Ok(true), self.decoder.state());
        while !batch.is_full() {
            if let Some(state) = &mut state {
                let (mut counts, offset) = ([0; 2], start + at as u64);
                at += self.decoder.follow_paths(&bytes[at..], header, offset, state, &mut counts, batch);
                notes.packets[BRANCHES] += counts[0];
                notes.packets[ADDRESS] += counts[1];
                frames += counts[0] + counts[1];
                if batch.is_full() {
                    break;
                }
            }
            let Some((first, payload)) = bytes[at..].split_first() else { break };
            let Some(payload) = payload.first_chunk() else { break };
            let len = u32::from(first & 31);
            if first & !31 != header || !(1..=16).contains(&len) {
                break;
            }
            let Some(packet) = Packet::read_flow(payload, len, &layout) else { break };
            let short = Short::new(payload, len);
            if short.is_some() && state.is_none() {
                state = self.decoder.state();
                if state.is_some() {
                    continue;
                }
            }
            notes.count(&packet);
            made = self.decoder.follow_flow(packet, short, &mut state, start + at as u64, len + 1, batch);
            at += len as usize + 1;
            frames += 1;
            if !matches!(made, Ok(true)) || !self.decoder.is_following() {
                break;
            }
        }
        self.reader.skip(at, frames);
        made.map(|_| ())
    }

    /// After an error: finds the place to continue; false at the end.
    pub(crate) fn resync(&mut self) -> Result<bool> {
        // Decoding continues at a synchronisation packet even if the walk did not reach it.
        if !self.decoder.is_idle() {
            return Ok(true);
        }
        if self.ended || !std::mem::take(&mut self.frame_lost) {
            return Ok(!self.ended);
        }
        Ok(match self.reader.resync()? {
            None => {
                self.ended = true;
                false
            }
            Some(0) => true,
            Some(skipped) => {
                self.decoder.skip(skipped, self.reader.offset());
                true
            }
        })
    }
}

/// Emits data trace and unknown packets verbatim; with `joined`, as a marker that is attached later.
fn emit_foreign(batch: &mut Batch, offset: u64, frame: &Frame, payload: &[u8], joined: bool) {
    let data = batch.add_bytes(payload);
    let code = if joined && frame.kind == Kind::Data { markers::PACKET } else { u32::from(frame.code) };
    batch.push(offset, EventKind::Foreign(Foreign { format: crate::ID, code, data }));
}
