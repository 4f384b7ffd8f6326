//! A plain evaluation of comparators and filters, instruction by instruction, independent of the encoder.

use trackway_etrace::registers::{Comparator, Filter, input};
use trackway_etrace::{Config, Dialect};

use super::{Access, Row};

/// A plain evaluation of comparators and filters.
pub(super) struct Plain<'a> {
    pub(super) config: &'a Config,
    pub(super) latched: Vec<bool>,
    pub(super) followed: Vec<u32>,
    /// Blocks decide for data accesses, too.
    pub(super) by_block: bool,
    pub(super) last_pc: Option<u64>,
}

/// Values at a point: address, context, trap value, data access.
type Point = (Option<u64>, u64, Option<u64>, Option<Access>);

fn holds(function: u8, value: Option<u64>, wanted: u64) -> bool {
    match (function, value) {
        (6 | 7, _) => true,
        (_, None) => false,
        (0, Some(value)) => value == wanted,
        (1, Some(value)) => value != wanted,
        (2, Some(value)) => value < wanted,
        (3, Some(value)) => value <= wanted,
        (4, Some(value)) => value > wanted,
        (_, Some(value)) => value >= wanted,
    }
}

fn pick(which: u8, point: &Point) -> Option<u64> {
    match which {
        0 => point.0,
        1 => Some(point.1),
        2 => point.2,
        _ => point.3.map(|access| access.2),
    }
}

pub(super) fn p_and_s(unit: &Comparator, point: &Point) -> (bool, bool) {
    let value = pick(unit.p_input, point);
    let p = match unit.s_function {
        6 => holds(unit.p_function, value.map(|value| value & unit.s_match), unit.p_match & unit.s_match),
        _ => holds(unit.p_function, value, unit.p_match),
    };
    (p, holds(unit.s_function, pick(unit.s_input, point), unit.s_match))
}

impl Plain<'_> {
    fn output(&self, unit: usize, point: &Point) -> bool {
        let comparator = &self.config.filters.comparators[unit];
        let (p, s) = p_and_s(comparator, point);
        match comparator.match_mode {
            0 => p,
            1 => p && s,
            2 => {
                let defined =
                    pick(comparator.p_input, point).is_some() && pick(comparator.s_input, point).is_some();
                defined && !(p && s)
            }
            _ => self.latched[unit] || p,
        }
    }

    fn matches(&self, filter: &Filter, followed: u32, row: &Row, point: &Point) -> bool {
        let units = [
            (filter.match_comp1, filter.comp1),
            (filter.match_comp2, filter.comp2),
            (filter.match_comp3, filter.comp3),
        ];
        let follows = filter.match_ecause || filter.match_interrupt;
        filter.filter_enable
            && (!filter.match_privilege || filter.match_choice_privilege & 1 << row.privilege != 0)
            && (!follows || followed > 0)
            && (!filter.match_dtype || point.3.is_some_and(|of| filter.match_choice_dtype & 1 << of.0 != 0))
            && (!filter.match_dsize || point.3.is_some_and(|of| filter.match_choice_dsize & 1 << of.1 != 0))
            && units.iter().filter(|unit| unit.0).all(|(_, unit)| {
                let unit = usize::from(*unit);
                let of_traps = follows && self.config.filters.comparators[unit].p_input == input::TVAL;
                of_traps || self.output(unit, point)
            })
    }

    /// Is the row traced, and which of its accesses?
    pub(super) fn row(&mut self, row: &Row) -> (bool, Vec<bool>) {
        let filters = &self.config.filters;
        let mut traced = filters.ifilters == 0;
        let mut accesses = vec![filters.dfilters == 0; row.accesses.len()];
        let tval = row.trap.map(|(_, _, value, _)| value);
        let trap_pc = match (row.trap, self.config.dialect) {
            (Some((_, _, _, at)), Dialect::V2) => Some(at),
            _ => self.last_pc,
        };
        let places: Vec<Option<u64>> =
            if row.trap.is_some() { vec![trap_pc] } else { row.pcs.iter().copied().map(Some).collect() };
        for place in places {
            let here: Vec<usize> = (0..row.accesses.len())
                .filter(|n| self.by_block || Some(row.accesses[*n].0) == place)
                .collect();
            let mut points: Vec<(Option<usize>, Point)> = here
                .iter()
                .map(|n| (Some(*n), (place, row.context, tval, Some(row.accesses[*n].1))))
                .collect();
            if points.is_empty() {
                points.push((None, (place, row.context, tval, None)));
            }
            for (access, point) in &points {
                for (bit, filter) in filters.filters.iter().enumerate() {
                    if self.matches(filter, self.followed[bit], row, point) {
                        traced |= filters.ifilters & 1 << bit != 0;
                        if let Some(n) = access {
                            accesses[*n] |= filters.dfilters & 1 << bit != 0;
                        }
                    }
                }
            }
            for (unit, comparator) in filters.comparators.iter().enumerate() {
                let retired = row.trap.is_none();
                let sets = retired || comparator.p_input != input::IADDR;
                let clears = retired || comparator.s_input != input::IADDR;
                let any = |f: &dyn Fn((bool, bool)) -> bool| {
                    points.iter().any(|(_, point)| f(p_and_s(comparator, point)))
                };
                let set = self.latched[unit] || (sets && any(&|(p, _)| p));
                self.latched[unit] = set && !(clears && any(&|(_, s)| s));
            }
        }
        self.last_pc = row.pcs.last().copied().or(self.last_pc);
        self.follow(row, tval);
        (traced, accesses)
    }

    fn follow(&mut self, row: &Row, tval: Option<u64>) {
        for (bit, filter) in self.config.filters.filters.iter().enumerate() {
            let followed = self.followed[bit];
            if let Some((interrupt, cause, ..)) = row.trap {
                let units = [(filter.match_comp1, filter.comp1), (filter.match_comp2, filter.comp2)];
                let begins = (filter.match_ecause || filter.match_interrupt)
                    && (!filter.match_ecause || filter.match_choice_ecause & 1 << cause != 0)
                    && (!filter.match_interrupt || filter.match_value_interrupt == interrupt)
                    && units.iter().filter(|unit| unit.0).all(|(_, unit)| {
                        let unit = usize::from(*unit);
                        self.config.filters.comparators[unit].p_input != input::TVAL
                            || self.output(unit, &(None, row.context, tval, None))
                    });
                let most = 1 << self.config.params.filter_excint;
                self.followed[bit] = match followed {
                    0 => u32::from(begins),
                    n => (n + 1).min(most),
                };
            } else if row.trap_return {
                self.followed[bit] = followed.saturating_sub(1);
            }
        }
    }
}
