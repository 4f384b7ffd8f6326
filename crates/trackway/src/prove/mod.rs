//! Proof of a conversion: its result is read back and compared with the original.
//!
//! Both traces are read side by side, source by source. The result has to be the original with holes: every instruction in
//! order, each hole shown as a gap, and of the facts exactly those that the ledger calls kept or derived. Nothing of the
//! sink's own bookkeeping is believed.

mod cells;
mod place;

use trackway_core::{Fact, Fate, Found, Ledger, Meta, Nearby, Result, Source, each_of_meta};

use cells::{Cell, Cells};

/// Opens a trace from its start; called up to twice for each source, and once more.
pub type Reopen<'r> = dyn FnMut() -> crate::Result<Box<dyn Source>> + 'r;

/// Result of a [proof](prove).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// Reasons why the result does not hold what the ledger says; empty where it does.
    pub reasons: Vec<String>,
}

impl Proof {
    /// True if the result holds what the ledger says.
    pub fn holds(&self) -> bool {
        self.reasons.is_empty()
    }
}

/// Numbers of a source in the original and in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// In the original.
    pub original: u16,
    /// In the result.
    pub result: u16,
}

/// Compares `result` with `original`, source by source, and both with `ledger`.
pub fn prove(
    original: &mut Reopen<'_>,
    result: &mut Reopen<'_>,
    pairs: &[Pair],
    ledger: &Ledger,
) -> crate::Result<Proof> {
    let mut compared = Nearby::default();
    compare_meta(original()?.meta(), result()?.meta(), &mut compared);
    // Attempted instructions that the target drops leave no gap.
    let retired_only = ledger.count(Fate::Dropped, Fact::Attempted) > 0;
    for pair in pairs {
        let mut open = || -> crate::Result<(Cells, Cells)> {
            let original = Cells::new(original()?, pair.original, retired_only);
            Ok((original, Cells::new(result()?, pair.result, retired_only)))
        };
        let mut places = None;
        if ledger.count(Fate::Dropped, Fact::Instructions) > 0 {
            let mut find = |quarters: usize| -> crate::Result<_> {
                let (mut original, mut result) = open()?;
                Ok(place::places(&mut original, &mut result, quarters)?)
            };
            // By data too where the output has them; by fewer where some are made up.
            let with_data = place::DATA.into_iter().any(|fact| ledger.count(Fate::Kept, fact) > 0);
            let mut found = find(if with_data { 4 } else { 0 })?;
            for quarters in [3, 0] {
                if with_data && found.is_err() {
                    found = find(quarters)?;
                }
            }
            match found {
                Ok(found) => places = Some(found),
                Err(n) => {
                    let text = format!("from instruction {n} on, the output is not a part of the input");
                    return Ok(Proof { reasons: vec![text] });
                }
            }
        }
        let (original, result) = open()?;
        let invented = ledger.count(Fate::Invented, Fact::Instructions);
        let mut sides = Sides { original, result, compared: &mut compared, invented };
        if let Some(difference) = sides.walk(places)? {
            return Ok(Proof { reasons: vec![difference] });
        }
        compared.finish();
    }
    Ok(verdict(&compared, ledger))
}

/// Facts of the traces as a whole.
fn compare_meta(original: &Meta, result: &Meta, compared: &mut Nearby) {
    let facts = |meta: &Meta| {
        let mut facts = Vec::new();
        each_of_meta(meta, |fact, value| facts.push((fact, value)));
        facts
    };
    compared.own(&facts(original), &facts(result), 0);
}

struct Sides<'s> {
    original: Cells,
    result: Cells,
    compared: &'s mut Nearby,
    /// Instructions that the ledger lists as made up.
    invented: u64,
}

impl Sides<'_> {
    /// Walks through both; returns a difference in the flow.
    fn walk(&mut self, places: Option<Vec<u64>>) -> Result<Option<String>> {
        let Sides { original, result, compared, .. } = self;
        let (mut input, mut output) = (Cell::default(), Cell::default());
        let mut places = places.map(Vec::into_iter);
        // Instructions of the input read so far; where the next one of the output is.
        let (mut read, mut place) = (0, 0);
        let mut number = 0;
        // The current instruction of the input was not the last one of the output, which was made up.
        let mut held = None;
        // Target of the instruction before, which the output leaves to its next instruction to show.
        let mut target = None;
        loop {
            let more = result.next(&mut output)?;
            if more && (output.gap || number == 0) {
                place = places.as_mut().map_or(place, |places| places.next().unwrap_or(place));
            }
            // The hole before it.
            while more && read < place {
                if !original.next(&mut input)? {
                    break;
                }
                read += 1;
                compared.own(&input.own, &[], number);
                compared.between(&input.before, &[], number);
            }
            let mut there = match std::mem::take(&mut held) {
                Some(there) => there,
                None => original.next(&mut input)?,
            };
            if !more {
                // The rest of the input, and the output after its last instruction.
                if target.is_some() {
                    compared.miss(Fact::Targets, number - 1);
                }
                loop {
                    compared.own(&input.own, &[], number);
                    compared.between(&input.before, &[], number);
                    if !there {
                        break;
                    }
                    there = original.next(&mut input)?;
                }
                compared.between(&[], &output.before, number);
                return Ok(None);
            }
            if let Some(target) = target.take() {
                if !output.gap && output.pc == Some(target) {
                    compared.matched[Fact::Targets] += 1;
                } else {
                    compared.miss(Fact::Targets, number - 1);
                }
            }
            if self.invented > 0 && (!there || input.pc != output.pc) {
                self.invented -= 1;
                compared.own(&[], &output.own, number);
                compared.between(&[], &output.before, number);
                (held, number) = (Some(there), number + 1);
                continue;
            }
            if !there || input.pc != output.pc {
                let found = if there { address(input.pc) } else { "its end".into() };
                return Ok(Some(format!(
                    "instruction {number} of the output is {}, that of the input is {found} (byte {:#x} of the output)",
                    address(output.pc),
                    output.offset
                )));
            }
            compared.between(&input.before, &output.before, number);
            target = leave_target(&mut input.own, &output.own);
            compared.own(&input.own, &output.own, number);
            read += 1;
            place += 1;
            number += 1;
        }
    }
}

/// Takes a branch target out of `original` that `result` does not have: where the next instruction is shows it.
fn leave_target(original: &mut Vec<Found>, result: &[Found]) -> Option<u64> {
    let is_target = |found: &Found| found.0 == Fact::Targets;
    if result.iter().any(is_target) {
        return None;
    }
    original.iter().position(is_target).map(|n| original.remove(n).1)
}

/// An address, for people.
fn address(pc: Option<u64>) -> String {
    pc.map_or("at an unknown address".into(), |pc| format!("{pc:#x}"))
}

/// Compares what was found with what the ledger says.
fn verdict(compared: &Nearby, ledger: &Ledger) -> Proof {
    let mut reasons = Vec::new();
    let place = |places: &std::collections::HashMap<Fact, u64>, fact| {
        places.get(&fact).map_or(String::new(), |number| format!(", first at instruction {number}"))
    };
    for &fact in Fact::ALL {
        let name = fact.as_str();
        let is_gap = fact.is_of_gap();
        let claimed = ledger.count(Fate::Kept, fact) + ledger.count(Fate::Derived, fact);
        let found = compared.matched[fact];
        let (missing, extra) = (&compared.first_missing, &compared.first_extra);
        let (invented, extra_found) = (ledger.count(Fate::Invented, fact), compared.extra[fact]);
        // In a hole a value that was made up may equal one that is missing: both counts are then one apart.
        let by_chance = found > claimed && found - claimed == invented.saturating_sub(extra_found);
        if found < claimed {
            reasons.push(format!("{name}: {claimed} claimed, {found} are there{}", place(missing, fact)));
        } else if found > claimed && !is_gap && !by_chance {
            // A gap that the target shows anyway may be where the input has one, or two instructions on.
            reasons.push(format!("{name}: {claimed} claimed, but {found} are there"));
        }
        // A reader may derive more than was recorded; a gap that is shown is not a claim.
        let free = ledger.rule(fact) == Fate::Derived || is_gap;
        if extra_found != invented && !free && !by_chance {
            reasons.push(format!(
                "{name}: {extra_found} that the input does not have, {invented} listed as invented{}",
                place(extra, fact)
            ));
        }
    }
    Proof { reasons }
}
