//! A first look at a log: its cores, its dialect, its unit of time.

use trackway_core::Isa;

use super::Dialect;
use super::line::parse;
use super::mode::Mode;
use super::parsed::{Content, Parsed};
use crate::lines::{Place, of_head};
use crate::log::{Log, Start};
use crate::walk::{Stop, each};

/// Most cores of one log; lines of others are read for none.
const MOST: usize = 1024;

/// The first look.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Names of cores, in the order of their first lines; empty where lines name none.
    pub(super) cores: Vec<Vec<u8>>,
    pub(super) dialect: Dialect,
    /// Instruction set and mode of the first instruction.
    pub(super) first: Option<(Isa, Mode)>,
    pub(super) unit: u8,
    pub(super) header: String,
    /// The names of cores, packed.
    pub(super) cores_survey: Option<Vec<u8>>,
}

/// Looks at the first lines, and at the core of every line where they name cores.
pub(super) fn survey(start: &Start<'_>, isa: Option<Isa>) -> Survey {
    let mut found = Survey::default();
    let mut timed = false;
    let (mut es, mut gem5, mut named) = (false, false, false);
    for line in of_head(start.head) {
        let Ok(Parsed { time, unit, core, content }) = parse(line, isa, false) else { continue };
        if time.is_some() && !timed {
            (found.unit, timed) = (unit, true);
        }
        named |= !core.is_empty();
        match content {
            Content::Header(text) => found.header = String::from_utf8_lossy(text).into_owned(),
            Content::Instruction(i) => {
                found.first.get_or_insert_with(|| (i.isa, Mode::read(i.mode)));
                es |= line.windows(4).any(|window| window == b" ES ");
                // gem5 writes more blanks before a name, and after one without operands.
                gem5 |= i.text.starts_with(b"  ") || i.text.ends_with(b"        ");
            }
            _ => {}
        }
    }
    found.dialect = match (es, gem5) {
        (true, _) => Dialect::Es,
        (_, true) => Dialect::Gem5,
        _ => Dialect::FastModels,
    };
    if named {
        (found.cores, found.cores_survey) =
            start.survey(Vec::new(), |cores, _, bytes| find_cores(bytes, cores));
    }
    found
}

/// Adds the names of cores in all lines.
fn find_cores(bytes: &[u8], cores: &mut Vec<Vec<u8>>) {
    let mut place = Place::default();
    let mut last = 0;
    loop {
        let rest = &bytes[place.offset as usize..];
        let stop = each::<super::Tarmac>(rest, true, &mut place, |line| {
            // Most lines are of the core of the line before.
            let is_same = cores.get(last).is_some_and(|core| third_word(line.text) == Some(core));
            if !is_same
                && let Ok(Parsed { time: Some(_), core, .. }) = parse(line.text, None, false)
                && !core.is_empty()
                && cores.len() < MOST
            {
                last = cores.iter().position(|known| known == core).unwrap_or_else(|| {
                    cores.push(core.to_vec());
                    cores.len() - 1
                });
            }
            Ok(true)
        });
        match stop {
            Stop::Wrong(_) => match super::Tarmac::unit(&bytes[place.offset as usize..]) {
                Some(length) => place.offset += length as u64,
                None => return,
            },
            _ => return,
        }
    }
}

/// The word after time and unit.
#[inline(always)]
fn third_word(text: &[u8]) -> Option<&[u8]> {
    let mut words = text.splitn(4, |byte| *byte == b' ');
    words.nth(2)
}
