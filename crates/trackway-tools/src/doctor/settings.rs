//! The settings and the program that fit a trace best, and how sure that is.

use trackway::Options;
use trackway::events::FormatId;
use trackway::format::{Format, Program, Settings, Table, Value};
use trackway::image::Image;

use super::fit::{Excerpt, Fit};
use super::programs;
use super::search::{Found, Search, distance, order};
use super::work::{Budget, Work};

/// Items below which a trace is too short to be certain about.
const LEAST_ITEMS: u64 = 32;
/// Troubles of the next best below which it is not out of the question: one item in a short trace is many of a hundred.
const LEAST_TROUBLES: u64 = 4;

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
    /// Instructions and items that all trials decoded.
    pub steps: u64,
    /// The budget was used up before everything was tried.
    pub cut_short: bool,
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
    let excerpt = Excerpt { bytes, cut };
    let options = Options { program: options.program.kept(), ..options.clone() };
    let image = options.program.load().unwrap_or_default();
    let probe = trackway::format::Excerpt { bytes, whole: !cut, image: &image };
    let may_be = |format: &&&dyn Format| match only {
        Some(id) => format.id() == id,
        None => !format.candidates(&probe).is_empty() || given.has(format.id().as_str()),
    };
    let formats: Vec<&'static dyn Format> = options.formats.iter().filter(may_be).copied().collect();
    let work = Work::new(budget);
    let mut found = Vec::new();
    for (n, format) in formats.iter().enumerate() {
        found.extend(of_format(&options, *format, given, excerpt, &work, formats.len() - n - 1));
    }
    found.sort_by_key(|diagnosis| diagnosis.fit.rank(diagnosis.doubts.len()));
    for diagnosis in &mut found {
        (diagnosis.tries, diagnosis.steps) = (work.tries() as u64, work.steps());
        diagnosis.cut_short = work.was_cut_short();
    }
    found
}

/// Searches settings and program of a trace in this format, with `others` to be searched after it.
fn of_format(
    options: &Options,
    format: &'static dyn Format,
    given: &Settings,
    excerpt: Excerpt<'_>,
    work: &Work,
    others: usize,
) -> Option<Diagnosis> {
    let given = in_section(format, given);
    let options = &with_named_program(options, format, &given);
    let short = excerpt.first(work.budget.bytes);
    let sets = programs::sets(&options.program);
    let mut best: Option<(Found, Program)> = None;
    for (n, program) in sets.iter().enumerate() {
        work.begin_search(others + sets.len() - n - 1);
        let options = Options { program: program.clone(), ..options.clone() };
        let image = program.load().unwrap_or_else(|_| Image::default());
        let search = Search { options: &options, format, image: &image, given: &given, excerpt, work };
        let found = search.run();
        let Some(first) = found.best.first() else { continue };
        if best.as_ref().is_none_or(|(other, _)| first.order() < other.best[0].order()) {
            best = Some((found, program.clone()));
        }
    }
    let (found, mut program) = best?;
    let first = &found.best[0];
    let (mut settings, mut fit, mut doubts) =
        (first.candidate.settings.clone(), first.fit(), first.doubts.clone());
    let mut second = found.second.map(|n| (found.best[n].candidate.what.clone(), found.best[n].fit()));
    let end = found.second.unwrap_or(found.best.len());
    let same = found.best[1..end.max(1)].iter().filter(|tried| tried.fit().rank(0) == fit.rank(0));
    let mut same: Vec<String> = same.map(|tried| tried.candidate.what.clone()).collect();
    // The settings may be as given, or as found, and the program elsewhere.
    work.begin_places(others);
    let named = &options.program;
    let options = Options { program: program.clone(), format: Some(format.id()), ..options.clone() };
    for there in [&given, &first.candidate.settings] {
        let Some(here) = work.decode(&options, there, short) else { continue };
        let Some(moved) = programs::moved(&options, there, &here, short, work) else { continue };
        let image = moved.program.load().unwrap_or_default();
        let search = Search { options: &options, format, image: &image, given: &given, excerpt, work };
        let (against, unusual) = search.doubts(there);
        let cost = moved.cost + distance(&given.table, &there.table);
        if order(&moved.fit, against.len(), cost, unusual) < first.order() {
            second = Some(("the program where it is".into(), fit));
            (settings, program, fit, doubts) = (there.clone(), moved.program, moved.fit, against);
            same.clear();
            break;
        }
    }
    Some(Diagnosis {
        format: format.id(),
        title: format.title(),
        changes: changes(format, &given, &settings),
        other_program: program != *named,
        sure: sure(&fit, &doubts, second.as_ref().map(|(_, fit)| fit)),
        settings,
        program,
        fit,
        doubts,
        same,
        second,
        tries: 0,
        steps: 0,
        cut_short: false,
        bytes: short.bytes.len(),
    })
}

/// The options with the program that the settings name, where the user names none.
fn with_named_program(options: &Options, format: &dyn Format, given: &Settings) -> Options {
    let named = given.table.get(format.id().as_str()).and_then(|section| section.get("program"));
    let specs: Vec<String> = match named {
        Some(Value::String(spec)) => vec![spec.clone()],
        Some(Value::Array(specs)) => specs.iter().filter_map(Value::as_str).map(String::from).collect(),
        _ => Vec::new(),
    };
    if !options.program.is_empty() || specs.is_empty() {
        return options.clone();
    }
    let elf = specs.iter().map(|spec| given.resolve(spec).display().to_string()).collect();
    Options { program: Program { elf, ..Program::default() }.kept(), ..options.clone() }
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

/// How sure it is: a short trace, or one that other settings decode as well, proves little.
fn sure(fit: &Fit, doubts: &[String], second: Option<&Fit>) -> Sure {
    let margin = fit.percent().saturating_sub(second.map_or(0, Fit::percent));
    let followed = fit.instructions.is_some_and(|count| count > 0);
    let alone = second.is_none_or(|second| !second.is_clean());
    let apart = margin >= 3
        && second.is_none_or(|second| second.troubles() >= fit.troubles().saturating_add(LEAST_TROUBLES));
    match fit.percent() {
        99.. if followed && doubts.is_empty() && apart && fit.items >= LEAST_ITEMS => Sure::Certain,
        99.. if followed && alone && doubts.is_empty() => Sure::Likely,
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
