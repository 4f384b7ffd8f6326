//! Repeats of known stretches: their records are made once, and copied with other addresses, data and targets.
//!
//! The records are those of [`usual`](super::usual). Any repeat that these cannot write is written step by step.

use std::sync::Arc;

use trackway_core::*;

use super::accesses::ACCESS;
use super::usual::{ROOM, Sum, write_steps};
use super::{Controls, Lower};
use crate::record::length;

/// The groups of a stretch with one outcome: small, as thousands of them are in use at once.
#[derive(Clone, Copy, Debug)]
struct Template {
    /// Address of the first step, and the address after the last one, where it is not taken.
    pc: u64,
    end: u64,
    made_up: u32,
    /// How many groups.
    count: u32,
    /// The records in `Templates::bytes`, and their length.
    start: u32,
    length: u32,
    /// Where words belong in the records, in `Templates::places`, and how many there are.
    places: u32,
    words: u32,
    /// Where the target belongs, if the last step is taken; else 0.
    target: u32,
    isa: Isa,
}

/// In the place of a template's number plus 1: not looked at yet, and not usual.
const NEW: u32 = 0;
const UNUSUAL: u32 = u32::MAX;

/// Groups of stretches that were written before.
#[derive(Debug, Default)]
pub(super) struct Templates {
    stretches: Arc<Stretches>,
    /// The number of a template plus 1, by stretch and outcome.
    known: Vec<[u32; 3]>,
    templates: Vec<Template>,
    bytes: Vec<u8>,
    places: Vec<u32>,
    /// Steps of one repeat.
    one: Batch,
}

impl Templates {
    /// Forgets all templates if they are those of other stretches.
    fn enter(&mut self, stretches: &Arc<Stretches>) {
        if !Arc::ptr_eq(&self.stretches, stretches) {
            *self = Templates { stretches: Arc::clone(stretches), ..Templates::default() };
        }
    }

    /// The number of the template of a repeat, if all of its steps are usual.
    #[inline]
    fn find(&mut self, repeat: &Repeat, isa: Isa, controls: &mut Controls) -> Option<u32> {
        let outcome = match repeat.taken {
            Some(false) => 0,
            Some(true) => 1,
            None => 2,
        };
        let known = self.known.get(repeat.stretch as usize).map_or(NEW, |outcomes| outcomes[outcome]);
        match if known == NEW { self.look_at(repeat, outcome, isa, controls) } else { known } {
            UNUSUAL => None,
            number => Some(number - 1),
        }
    }

    #[cold]
    fn look_at(&mut self, repeat: &Repeat, outcome: usize, isa: Isa, controls: &mut Controls) -> u32 {
        let known = self.make(repeat, isa, controls).unwrap_or(UNUSUAL);
        let number = repeat.stretch as usize;
        if self.known.len() <= number {
            self.known.resize(number + 1, [NEW; 3]);
        }
        self.known[number][outcome] = known;
        known
    }

    /// Makes the template of a repeat, and returns its number plus 1; none if it is not usual.
    fn make(&mut self, repeat: &Repeat, isa: Isa, controls: &mut Controls) -> Option<u32> {
        let stretch = self.stretches.get(repeat.stretch)?;
        let words: Vec<u64> = stretch.mem.iter().flat_map(example).collect();
        self.one.clear();
        repeat.unfold(&stretch, &words, 0, &mut self.one);
        let (pc, last) = (stretch.steps.first()?.pc?, stretch.steps.last()?);
        let end = last.pc?.wrapping_add(last.length.into());
        let (start, places, mut room) = (self.bytes.len(), self.places.len(), [0; ROOM]);
        let (mut sum, mut target) = (Sum { number: 0, pc, features: 0, made_up: 0 }, 0);
        for (n, step) in stretch.steps.iter().enumerate() {
            let event = self.one.events.get(n..n + 1)?;
            let mem = stretch.mem.get(step.accesses.mem_start as usize..)?;
            let mem = mem.get(..step.accesses.mem_len.into())?;
            let (mut at, before) = (self.bytes.len() - start, sum.number);
            let left;
            (sum, left) = write_steps(sum, controls, isa, event, &self.one, &mut room);
            self.bytes.extend_from_slice(&room[..ROOM - left]);
            let is_usual = sum.number > before && sum.features == 0;
            if !is_usual || mem.windows(2).any(may_seem_joined) {
                self.bytes.truncate(start);
                self.places.truncate(places);
                return None;
            }
            let is_last = n + 1 == stretch.steps.len();
            if is_last && repeat.taken == Some(true) {
                target = at as u32 + 1;
            }
            if target > 0 || !is_last && stretch.target(n).is_some() {
                at += length::TARGET;
            }
            for access in mem {
                self.places.push(at as u32 + 1);
                if access.data != Value::Unknown {
                    self.places.push((at + length::ACCESS) as u32 + 1);
                }
                at += ACCESS;
            }
        }
        let Sum { number: count, made_up, .. } = sum;
        self.templates.push(Template {
            pc,
            end,
            made_up: made_up as u32,
            count: count as u32,
            start: start as u32,
            length: (self.bytes.len() - start) as u32,
            places: places as u32,
            words: words.len() as u32,
            target,
            isa,
        });
        Some(self.templates.len() as u32)
    }

    /// Appends the groups of usual repeats that follow each other, at most `room` of them; returns how many repeats and words
    /// they were.
    fn write(
        &mut self,
        sum: &mut Sum,
        controls: &mut Controls,
        isa: Isa,
        (repeats, words): (&[Repeat], &[u64]),
        room: usize,
        out: &mut Vec<u8>,
    ) -> (usize, usize) {
        let Sum { mut number, mut pc, mut made_up, .. } = *sum;
        let (mut rest, mut left) = (repeats, words);
        while let [repeat, others @ ..] = rest {
            let Some(known) = self.find(repeat, isa, controls) else { break };
            let template = &self.templates[known as usize];
            let after = number + template.count as usize;
            let own = left.split_at_checked(template.words as usize);
            let Some((own, behind)) =
                own.filter(|_| template.pc == pc && template.isa == isa && after <= room)
            else {
                break;
            };
            let start = out.len();
            out.extend_from_slice(&self.bytes[template.start as usize..][..template.length as usize]);
            let groups = &mut out[start..];
            for (&place, word) in self.places[template.places as usize..].iter().zip(own) {
                if let Some(field) = groups[place as usize..].first_chunk_mut() {
                    *field = word.to_le_bytes();
                }
            }
            pc = template.end;
            if template.target > 0 {
                pc = repeat.target;
                if let Some(field) = groups[template.target as usize..].first_chunk_mut() {
                    *field = pc.to_le_bytes();
                }
            }
            made_up += u64::from(template.made_up);
            (rest, left, number) = (others, behind, after);
        }
        *sum = Sum { number, pc, made_up, ..*sum };
        (repeats.len() - rest.len(), words.len() - left.len())
    }
}

/// The words of an access.
fn example(access: &MemAccess) -> impl Iterator<Item = u64> {
    let data = if let Value::Word(data) = access.data { Some(data) } else { None };
    std::iter::once(access.address).chain(data)
}

/// Might these be taken for a read-modify-write another time?
fn may_seem_joined(pair: &[MemAccess]) -> bool {
    (pair[0].kind, pair[1].kind) == (MemKind::Read, MemKind::Write) && pair[0].size == pair[1].size
}

impl Lower {
    /// Writes a folded batch.
    pub(super) fn folded(&mut self, folded: &Folded) -> Result<()> {
        let mut templates = std::mem::take(&mut self.templates);
        templates.enter(&folded.stretches);
        let mut words = &folded.words[..];
        for (events, repeats, offset) in folded.parts() {
            self.events_of(&folded.batch.events[events], &folded.batch)?;
            words = self.repeats(&mut templates, &folded.repeats[repeats], words, offset)?;
        }
        self.templates = templates;
        Ok(())
    }

    /// Writes repeats; returns the words after theirs.
    fn repeats<'a>(
        &mut self,
        templates: &mut Templates,
        mut repeats: &[Repeat],
        mut words: &'a [u64],
        mut offset: u64,
    ) -> Result<&'a [u64]> {
        while !repeats.is_empty() {
            let mut done = (0, 0);
            let count = self.row(|sum, controls, isa, room, out| {
                done = templates.write(sum, controls, isa, (repeats, words), room, out);
            })?;
            (repeats, words) = (&repeats[done.0..], &words[done.1..]);
            offset += Folded::PITCH * count as u64;
            if let (0, Some((repeat, rest))) = (done.0, repeats.split_first()) {
                let Some(stretch) = templates.stretches.get(repeat.stretch) else { return Ok(words) };
                let own;
                (own, words) = words.split_at(stretch.words().min(words.len()));
                templates.one.clear();
                repeat.unfold(&stretch, own, offset, &mut templates.one);
                self.events_of(&templates.one.events, &templates.one)?;
                (repeats, offset) = (rest, offset + Folded::PITCH * stretch.steps.len() as u64);
            }
        }
        Ok(words)
    }
}
