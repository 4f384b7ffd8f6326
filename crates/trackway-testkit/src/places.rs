//! Places that decoding can be entered from again: a source that is restored there delivers what the first one did.

use trackway_core::{Batch, Context, Saved, Source, SplitMix64};

/// Everything that a source delivers, and the places where it could be saved.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Events with source and number of their first instruction, errors where they come.
    pub lines: Vec<String>,
    /// The number of lines before a place, the place, and the context there.
    pub places: Vec<(usize, Saved, Context)>,
    /// Most instructions between two places.
    pub widest: u64,
}

/// Reads a source to its end, or to `most` lines; `None` if there are more.
pub fn places(source: &mut dyn Source, most: usize) -> Option<Places> {
    let mut found = Places::default();
    let mut batch = Batch::default();
    let mut last = (0, 0);
    while found.lines.len() <= most {
        match source.fill(&mut batch) {
            Ok(false) => return Some(found),
            Ok(true) => {
                let mut number = batch.first_instruction;
                for event in &batch.events {
                    let mut line = format!("{}.{number} ", batch.source);
                    batch.write_line(event, &mut line);
                    found.lines.push(line);
                    number += event.kind.instructions();
                }
                let since = if last.0 == batch.source { number - last.1 } else { 0 };
                found.widest = found.widest.max(since);
                if let Some(saved) = source.save() {
                    last = (saved.source, saved.instruction);
                    found.places.push((found.lines.len(), saved, source.context()));
                }
            }
            Err(error) => {
                found.lines.push(format!("error {error}"));
                if !source.resync().is_ok_and(|more| more) {
                    return Some(found);
                }
            }
        }
    }
    None
}

impl Places {
    /// Restores about `count` of the places in new sources: the rest must be the same.
    pub fn check(&self, what: &str, count: usize, new: &dyn Fn() -> Box<dyn Source>) {
        let step = self.places.len().div_ceil(count.max(1)).max(1);
        for (at, saved, context) in self.places.iter().rev().step_by(step) {
            let mut source = new();
            assert_eq!(source.restore(saved), Ok(true), "{what}: {saved:?}");
            assert_eq!(source.context(), *context, "{what}: {saved:?}");
            let rest = places(&mut *source, usize::MAX - 1).unwrap_or_default().lines;
            let differs = rest.iter().zip(&self.lines[*at..]).position(|(one, other)| one != other);
            let wanted = differs.map(|n| (n, &rest[n], &self.lines[at + n]));
            assert_eq!(wanted, None, "{what}: after line {at}: {saved:?}");
            assert_eq!(rest.len(), self.lines.len() - at, "{what}: after line {at}: {saved:?}");
        }
    }

    /// Damaged states are refused, or lead somewhere: nothing panics, and decoding ends.
    pub fn damage(&self, rounds: u64, new: &dyn Fn() -> Box<dyn Source>) {
        let mut random = SplitMix64(11);
        for (round, (_, saved, _)) in (0..rounds).zip(self.places.iter().cycle()) {
            let mut saved = saved.clone();
            for _ in 0..1 + round % 4 {
                let at = random.below(saved.state.len().max(1) as u64) as usize;
                match random.below(4) {
                    0 => saved.state.truncate(at),
                    1 => saved.state.insert(at.min(saved.state.len()), random.below(256) as u8),
                    _ => {
                        if let Some(byte) = saved.state.get_mut(at) {
                            *byte = if round % 2 == 0 {
                                *byte ^ 1 << random.below(8)
                            } else {
                                random.below(256) as u8
                            };
                        }
                    }
                }
            }
            if round % 5 == 0 {
                saved.state = (0..random.below(60)).map(|_| random.below(256) as u8).collect();
            }
            if round % 7 == 0 {
                saved.instruction = u64::MAX - random.below(3);
            }
            let mut source = new();
            if source.restore(&saved) == Ok(true) {
                let _ = places(&mut *source, 5_000);
            }
        }
    }
}
