//! The search for settings: starting points and their variations, each tried on a short excerpt first.
//!
//! Work is counted, never timed, so that the same file has the same answer on every machine.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};

use trackway::Options;
use trackway::format::{self, Candidate, Doubt, Format, Settings, Value};
use trackway::image::Image;

use super::fit::{Excerpt, Fit, digest};
use super::work::Work;

/// Bytes of the first trial of settings, and of the second for the better ones.
const SHORT: [usize; 2] = [1 << 10, 8 << 10];
/// Settings that get a second and a third trial.
const PROMOTED: [usize; 2] = [40, 20];
/// Settings of each origin whose variations are tried in a round.
const BEAM: usize = 2;
/// Times that variations of variations are tried.
const ROUNDS: usize = 6;

/// Settings that were tried.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    pub(super) candidate: Candidate,
    /// On one, eight and all the kilobytes of the budget.
    fits: [Option<Fit>; 3],
    /// Reasons of the format to doubt them, for those that got a second trial.
    pub(super) doubts: Vec<String>,
    /// Unusual values that are as given.
    unusual: usize,
    /// Keys that differ from the settings that were given.
    distance: usize,
    /// It comes from the settings that were given, not from the format's own starting points.
    from_given: bool,
    /// Variations between it and its origin.
    steps: usize,
    expanded: bool,
}

/// Settings to be tried.
struct Next {
    candidate: Candidate,
    from_given: bool,
    steps: usize,
}

impl Next {
    fn start(start: &Candidate) -> Self {
        Next { candidate: start.clone(), from_given: false, steps: 0 }
    }
}

impl Tried {
    /// The fit on all bytes of the budget.
    pub(super) fn fit(&self) -> Fit {
        self.fits[2].clone().unwrap_or_default()
    }

    /// The order among the best of several searches.
    pub(super) fn order(&self) -> Order {
        order(&self.fit(), self.doubts.len(), self.distance, self.unusual)
    }

    /// Nothing speaks against it.
    fn is_clean(&self) -> bool {
        self.fits[2].as_ref().is_some_and(Fit::is_clean) && self.doubts.is_empty()
    }

    /// The order after a stage of trials, the best first.
    pub(super) fn rank(&self, stage: usize) -> impl Ord + use<> {
        let fit = self.fits[stage].as_ref();
        let instructions = Reverse(fit.and_then(|fit| fit.instructions));
        (
            fit.is_none(),
            fit.map(|fit| order(fit, self.doubts.len(), self.distance, self.unusual)),
            instructions,
        )
    }
}

/// The order of settings, the best first.
pub(super) type Order = ((bool, u64, usize, u64), usize, usize);

/// Of those that fit as well, the nearest; more instructions do not prove anything.
pub(super) fn order(fit: &Fit, doubts: usize, distance: usize, unusual: usize) -> Order {
    (fit.rank(doubts), distance, unusual)
}

/// The result of a search.
#[derive(Debug)]
pub(super) struct Found {
    /// The best first; all of them tried on all bytes of the budget.
    pub(super) best: Vec<Tried>,
    /// The first of `best` that decodes to other events than the first.
    pub(super) second: Option<usize>,
}

/// Searches settings of `format`, from those `given` and from the format's own starting points.
pub(super) struct Search<'s> {
    pub(super) options: &'s Options,
    pub(super) format: &'static dyn Format,
    pub(super) image: &'s Image,
    pub(super) given: &'s Settings,
    pub(super) excerpt: Excerpt<'s>,
    pub(super) work: &'s Work,
}

impl Search<'_> {
    pub(super) fn run(&self) -> Found {
        let options = Options { format: Some(self.format.id()), ..self.options.clone() };
        let whole = self.excerpt.first(self.work.budget.bytes);
        let excerpt = self.probe();
        let mut seen = HashSet::new();
        let mut all: Vec<Tried> = Vec::new();
        let given = Candidate { settings: self.given.clone(), what: "as given".into() };
        let starts = self.format.candidates(&excerpt);
        let fresh = self.given.is_empty() && !starts.is_empty();
        let mut next: Vec<Next> = match fresh {
            false => vec![Next { candidate: given, from_given: true, steps: 0 }],
            true => starts.iter().map(Next::start).collect(),
        };
        for round in 0..ROUNDS {
            for Next { candidate, from_given, steps } in next.drain(..) {
                if self.work.is_over() || !seen.insert(candidate.settings.table.to_string()) {
                    continue;
                }
                let fits =
                    [self.work.try_out(&options, &candidate.settings, whole.first(SHORT[0])), None, None];
                // Without settings to stay near, the format's own order counts.
                let distance =
                    if fresh { steps } else { distance(&self.given.table, &candidate.settings.table) };
                if fits[0].is_some() || (round == 0 && from_given) {
                    let (doubts, unusual, expanded) = (Vec::new(), 0, false);
                    all.push(Tried {
                        candidate,
                        fits,
                        doubts,
                        unusual,
                        distance,
                        from_given,
                        steps,
                        expanded,
                    });
                }
            }
            self.promote(&options, &mut all, whole);
            // Settings that fit are compared with their variations at least once.
            let first = all.first();
            if first.is_some_and(|tried| tried.is_clean() && tried.expanded) {
                break;
            }
            let fits = first.is_some_and(Tried::is_clean);
            if round == 1 && !fits && !fresh {
                next.extend(starts.iter().map(Next::start));
            }
            self.expand(&mut all, fits, &excerpt, &mut next);
            if next.is_empty() {
                break;
            }
        }
        all.retain(|tried| tried.fits[2].is_some());
        let mut found = Found { best: all, second: None };
        found.second = found.second(&options, whole);
        found
    }

    /// The trace as formats look at it.
    fn probe(&self) -> format::Excerpt<'_> {
        let Excerpt { bytes, cut } = self.excerpt.first(self.work.budget.bytes);
        format::Excerpt { bytes, whole: !cut, image: self.image }
    }

    /// Reasons to doubt settings, without the unusual values that are as given, and the number of those.
    pub(super) fn doubts(&self, settings: &Settings) -> (Vec<String>, usize) {
        let excerpt = self.probe();
        let id = self.format.id();
        let value = |settings: &Settings, key| settings.table.get(id.as_str())?.get(key).cloned();
        let is_given = |key| value(self.given, key).is_some_and(|given| value(settings, key) == Some(given));
        let is_as_given = |doubt: &Doubt| doubt.key.is_some_and(is_given);
        let (given, doubts): (Vec<Doubt>, Vec<Doubt>) =
            self.format.doubts(settings, &excerpt).into_iter().partition(is_as_given);
        (doubts.into_iter().map(|doubt| doubt.text).collect(), given.len())
    }

    /// Adds the variations of the best of each origin; of the best alone where it fits.
    fn expand(&self, all: &mut [Tried], fits: bool, excerpt: &format::Excerpt<'_>, next: &mut Vec<Next>) {
        let mut left = [BEAM; 2];
        for (n, tried) in all.iter_mut().enumerate() {
            let left = &mut left[usize::from(tried.from_given)];
            if *left == 0 || (fits && n > 0) {
                continue;
            }
            *left -= 1;
            if !tried.expanded {
                tried.expanded = true;
                let near = self.format.neighbours(&tried.candidate.settings, excerpt);
                let (from_given, steps) = (tried.from_given, tried.steps + 1);
                next.extend(near.into_iter().map(|candidate| Next { candidate, from_given, steps }));
            }
        }
    }

    /// Tries the better ones of each origin on more bytes, and orders all of them.
    fn promote(&self, options: &Options, all: &mut [Tried], whole: Excerpt<'_>) {
        for stage in 1..3 {
            all.sort_by_cached_key(|tried| tried.rank(stage - 1));
            let bytes = if stage == 1 { whole.first(SHORT[1]) } else { whole };
            for from_given in [true, false] {
                let own = all.iter_mut().filter(|tried| tried.from_given == from_given);
                for tried in own.take(PROMOTED[stage - 1]).filter(|tried| tried.fits[stage].is_none()) {
                    tried.fits[stage] = match whole.bytes.len() <= SHORT[stage - 1] {
                        true => tried.fits[stage - 1].clone(),
                        false => self.work.decode(options, &tried.candidate.settings, bytes),
                    };
                    if stage == 1 {
                        (tried.doubts, tried.unusual) = self.doubts(&tried.candidate.settings);
                    }
                }
            }
        }
        all.sort_by_cached_key(|tried| (tried.fits[2].is_none(), tried.rank(2)));
    }
}

impl Found {
    /// The first that decodes to other events than the best.
    fn second(&self, options: &Options, whole: Excerpt<'_>) -> Option<usize> {
        let first = digest(options, &self.best.first()?.candidate.settings, whole);
        let mut others = self.best.iter().enumerate().skip(1);
        others
            .find(|(_, tried)| first.is_none() || digest(options, &tried.candidate.settings, whole) != first)
            .map(|(n, _)| n)
    }
}

/// Number of keys in which two tables differ.
pub(super) fn distance(a: &format::Table, b: &format::Table) -> usize {
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let differs = |key: &&String| match (a.get(*key), b.get(*key)) {
        (Some(Value::Table(a)), Some(Value::Table(b))) => distance(a, b),
        (Some(Value::Table(only)), None) | (None, Some(Value::Table(only))) => only.len(),
        (a, b) => usize::from(a != b),
    };
    keys.iter().map(differs).sum()
}
