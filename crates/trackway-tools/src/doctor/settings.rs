//! The settings and the program that fit a trace best, and how sure that is.

use trackway::Options;
use trackway::events::FormatId;
use trackway::format::{Format, Program, Settings, Table, Value};
use trackway::image::Image;

use super::fit::{Excerpt, Fit, fit};
use super::programs;
use super::search::{Budget, Found, Search};

/// How sure a diagnosis is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sure {
    /// Several answers fit as well, or none fits well.
    Guess,
    /// It fits best, with little between it and the next.
    Likely,
    /// It fits, and nothing else comes near.
    Certain,
}

impl Sure {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Sure::Guess => "a guess",
            Sure::Likely => "likely",
            Sure::Certain => "certain",
        }
    }
}

/// Settings and a program that fit a trace.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// The format.
    pub format: FormatId,
    /// Its name for people.
    pub title: &'static str,
    /// The settings that fit best, in the section of the format.
    pub settings: Settings,
    /// How they differ from those given, key by key: name, given, found.
    pub changes: Vec<(String, Option<String>, Option<String>)>,
    /// The program that fits best.
    pub program: Program,
    /// True if it is not the one that was named.
    pub other_program: bool,
    /// How well they fit.
    pub fit: Fit,
    /// Reasons of the format to doubt them.
    pub doubts: Vec<String>,
    /// Settings that decode to the same events.
    pub same: Vec<String>,
    /// The next best that decodes to others.
    pub second: Option<(String, Fit)>,
    /// How sure it is.
    pub sure: Sure,
    /// Settings tried, and load addresses.
    pub tries: u64,
    /// Bytes of the trace looked at.
    pub bytes: usize,
}

impl Diagnosis {
    /// The settings as TOML.
    pub fn toml(&self) -> String {
        self.settings.table.to_string()
    }
}

/// The settings and the program that fit the trace in `bytes` best, for each format that has settings to look for, the
/// best first. `given` are settings that may be almost right; `cut` says that the trace is longer than `bytes`.
pub fn diagnose(
    options: &Options,
    only: Option<FormatId>,
    given: &Settings,
    bytes: &[u8],
    cut: bool,
    budget: Budget,
) -> Vec<Diagnosis> {
    let formats = options.formats.iter().filter(|format| only.is_none_or(|id| format.id() == id));
    let excerpt = Excerpt { bytes, cut };
    let mut found: Vec<Diagnosis> = formats
        .filter_map(|format| of_format(options, *format, given, excerpt, budget, only.is_some()))
        .collect();
    found.sort_by_key(|diagnosis| diagnosis.fit.rank(diagnosis.doubts.len()));
    found
}

/// Searches settings and program of a trace in this format; `is_known` says that it is of this format.
fn of_format(
    options: &Options,
    format: &'static dyn Format,
    given: &Settings,
    excerpt: Excerpt<'_>,
    budget: Budget,
    is_known: bool,
) -> Option<Diagnosis> {
    let given = in_section(format, given);
    let image = options.program.load().unwrap_or_default();
    let probe = trackway::format::Excerpt { bytes: excerpt.bytes, whole: !excerpt.cut, image: &image };
    if !is_known && format.candidates(&probe).is_empty() && !given.has(format.id().as_str()) {
        return None;
    }
    let mut tries = 0;
    // Settings that fit a program in the wrong place are wrong: the program is moved first.
    let short = excerpt.first(budget.bytes);
    let moved = elsewhere(options, format, &given, short, &mut tries).filter(|(_, fit)| fit.is_clean());
    let sets = match &moved {
        Some((program, _)) => vec![program.clone()],
        None => programs::sets(&options.program),
    };
    let share = Budget { tries: budget.tries / sets.len(), ..budget };
    let mut best: Option<(Found, Program)> = None;
    for program in sets {
        let options = Options { program: program.clone(), ..options.clone() };
        let image = program.load().unwrap_or_else(|_| Image::default());
        let search =
            Search { options: &options, format, image: &image, given: &given, excerpt, budget: share };
        let found = search.run();
        tries += found.tries as u64;
        if found.best.is_empty() {
            continue;
        }
        let rank = |found: &Found| found.best[0].rank(2);
        let is_better = |(other, _): &(Found, Program)| rank(&found) < rank(other);
        if best.as_ref().is_none_or(is_better) {
            best = Some((found, program));
        }
    }
    let (found, mut program) = best?;
    let first = &found.best[0];
    let (settings, mut fit) = (first.candidate.settings.clone(), first.fit());
    let mut second = found.second.map(|n| (found.best[n].candidate.what.clone(), found.best[n].fit()));
    if !fit.is_clean() && moved.is_none() {
        let options = Options { program: program.clone(), ..options.clone() };
        let better = elsewhere(&options, format, &settings, short, &mut tries);
        if let Some((moved, there)) = better.filter(|(_, there)| there.rank(0) < fit.rank(0)) {
            second = Some(("the program where it is".into(), fit));
            (program, fit) = (moved, there);
        }
    }
    let end = found.second.unwrap_or(found.best.len());
    let same = found.best[1..end.max(1)].iter().filter(|tried| tried.fit().rank(0) == fit.rank(0));
    let same = same.map(|tried| tried.candidate.what.clone()).collect();
    Some(Diagnosis {
        format: format.id(),
        title: format.title(),
        changes: changes(format, &given, &settings),
        other_program: program != options.program,
        sure: sure(&fit, second.as_ref().map(|(_, fit)| fit)),
        settings,
        program,
        fit,
        doubts: found.best[0].doubts.clone(),
        same,
        second,
        tries,
        bytes: short.bytes.len(),
    })
}

/// The program moved to where it fits these settings better.
fn elsewhere(
    options: &Options,
    format: &dyn Format,
    settings: &Settings,
    excerpt: Excerpt<'_>,
    tries: &mut u64,
) -> Option<(Program, Fit)> {
    let options = Options { format: Some(format.id()), ..options.clone() };
    let before = fit(&options, settings, excerpt)?;
    let (moved, places) = programs::moved(&options, settings, &before, excerpt);
    *tries += places;
    moved
}

/// The settings with the keys of the format in its section.
fn in_section(format: &dyn Format, given: &Settings) -> Settings {
    if !format.is_at_top_level(given) {
        return given.clone();
    }
    let mut table = Table::new();
    table.insert(format.id().as_str().into(), Value::Table(given.table.clone()));
    Settings { path: given.path.clone(), table }
}

fn sure(fit: &Fit, second: Option<&Fit>) -> Sure {
    let next = second.map_or(0, Fit::percent);
    let margin = fit.percent().saturating_sub(next);
    let followed = fit.instructions.is_some_and(|count| count > 0);
    match fit.percent() {
        99.. if followed && margin >= 3 => Sure::Certain,
        99.. if followed && second.is_none_or(|second| !second.is_clean()) => Sure::Likely,
        90.. if margin >= 3 => Sure::Likely,
        _ => Sure::Guess,
    }
}

/// The keys of the section that differ.
fn changes(
    format: &dyn Format,
    given: &Settings,
    found: &Settings,
) -> Vec<(String, Option<String>, Option<String>)> {
    let section = |settings: &Settings| {
        settings.table.get(format.id().as_str()).and_then(Value::as_table).cloned().unwrap_or_default()
    };
    let (given, found) = (section(given), section(found));
    let keys: std::collections::BTreeSet<&String> = given.keys().chain(found.keys()).collect();
    let text = |value: Option<&Value>| value.map(Value::to_string);
    keys.into_iter()
        .filter(|key| given.get(*key) != found.get(*key))
        .map(|key| (key.clone(), text(given.get(key)), text(found.get(key))))
        .collect()
}
