//! The examination of a file, from its first bytes to the settings that fit.

use std::io::Read;
use std::path::{Path, PathBuf};

use trackway::events::{FormatId, Input};
use trackway::format::{Error, Excerpt, Program, Result, Settings};
use trackway::image::Image;
use trackway::io::File;
use trackway::{Options, Trace};

use super::fit::{Fit, fit_trace, weigh};
use super::look::Look;
use super::looks::looks;
use super::settings::{Diagnosis, diagnose};
use super::transfer::{Transfer, swapped, transfer};
use super::work::Budget;

/// Items without trouble, of a hundred, below which settings are not an answer.
const LEAST_PERCENT: u64 = 60;
/// The same where no program confirms them: most of any bytes can be read as items of some layout.
const LEAST_WITHOUT_PROGRAM: u64 = 95;

/// How a file opens with the options given.
#[derive(Clone, Debug)]
pub enum AsIs {
    /// It is recognised, and decodes so well.
    Opened {
        /// The format.
        format: FormatId,
        /// Its name for people.
        title: &'static str,
        /// How well it decodes.
        fit: Fit,
    },
    /// It is refused, with the reason.
    Refused(String),
}

/// The result of an examination.
#[derive(Clone, Debug)]
pub struct Report {
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes, where it is a file.
    pub bytes: Option<u64>,
    /// The compression around it.
    pub compression: Option<&'static str>,
    /// How it opens with the options given.
    pub as_is: AsIs,
    /// Findings of the decoder: files that the trace names and that are missing.
    pub found: Vec<String>,
    /// Its looks, where it is not a trace that decodes.
    pub looks: Vec<Look>,
    /// The change on its way.
    pub transfer: Option<Transfer>,
    /// Programs that cannot have run, with the reason.
    pub programs: Vec<(String, String)>,
    /// Settings and program that fit better than those given.
    pub diagnosis: Option<Diagnosis>,
}

impl Report {
    /// The file decodes as it is, and nothing speaks against it.
    pub fn is_fine(&self) -> bool {
        matches!(&self.as_is, AsIs::Opened { fit, .. } if fit.is_clean() && fit.instructions.is_some())
            && self.diagnosis.is_none()
            && self.programs.is_empty()
    }

    /// Nothing is known about the file.
    pub fn is_unknown(&self) -> bool {
        matches!(self.as_is, AsIs::Refused(_))
            && self.transfer.is_none()
            && self.diagnosis.is_none()
            && self.looks.iter().all(|look| !look.sure)
    }
}

/// Examines a file.
pub fn examine(path: &Path, options: &Options, budget: Budget) -> Result<Report> {
    let size =
        std::fs::metadata(path).ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.len());
    let given = match &options.settings {
        Some(settings) => settings.clone(),
        None => Settings::beside_trace(path)?.unwrap_or_default(),
    };
    let (programs, usable) = usable_programs(options);
    let options = &usable;
    let mut report = Report {
        path: path.into(),
        bytes: size,
        compression: None,
        as_is: AsIs::Refused(String::new()),
        found: Vec::new(),
        looks: Vec::new(),
        transfer: None,
        programs,
        diagnosis: None,
    };
    let raw = raw_head(path);
    let (bytes, cut) = match File::open(path) {
        Ok(file) if file.is_folder => {
            (report.as_is, report.found) = as_is(options.open(path));
            if matches!(report.as_is, AsIs::Refused(_)) {
                let advice = "a folder is a trace only if it is an OpenCSD snapshot, with a snapshot.ini";
                report.looks.push(Look::new("a folder", "it has no snapshot.ini", advice, true));
            }
            return Ok(report);
        }
        Ok(file) => {
            report.compression = file.compression.map(|compression| compression.as_str());
            first_bytes(file.input, budget.bytes)
        }
        // The compression is damaged at its start: the bytes themselves are left.
        Err(_) if raw.as_ref().is_some_and(|raw| !raw.is_empty()) => (raw.clone().unwrap_or_default(), true),
        Err(error) => return Err(error.into()),
    };
    let stream = path.as_os_str() == "-" || size.is_none();
    let opened = if stream { options.open_bytes(bytes.clone()) } else { options.open(path) };
    (report.as_is, report.found) = as_is(opened);
    let assumed = assumes(options, &report.as_is, &given);
    if matches!(&report.as_is, AsIs::Opened { fit, .. } if fit.is_clean()) && !assumed {
        return Ok(report);
    }
    let head = &bytes[..bytes.len().min(1 << 16)];
    let looked = &bytes[..bytes.len().min(1 << 20)];
    match &report.as_is {
        // Recognised, and damaged: lines may have been changed in it.
        AsIs::Opened { fit, .. } if fit.errors > 0 => report.transfer = transfer(options, looked, true),
        AsIs::Opened { .. } => {}
        AsIs::Refused(_) => {
            report.looks = looks(head, size.filter(|_| report.compression.is_none()));
            let is_text = report.looks.iter().any(|look| look.text);
            if options.format.is_none() && !report.looks.iter().any(|look| look.sure && !look.text) {
                report.transfer = transfer(options, looked, is_text);
            }
        }
    }
    /// A trace has no text of this length by chance.
    const TEXT: usize = 512;
    let is_known = |look: &Look| look.sure || look.text && bytes.len() >= TEXT;
    let known = report.transfer.is_some() || report.looks.iter().any(is_known);
    if (known && options.format.is_none() && given.is_empty()) || bytes.is_empty() {
        return Ok(report);
    }
    let only = options.format.or(match &report.as_is {
        AsIs::Opened { format, .. } => Some(*format),
        AsIs::Refused(_) => None,
    });
    let first = |bytes: &[u8], budget| diagnose(options, only, &given, bytes, cut, budget).into_iter().next();
    let mut best = first(&bytes, budget);
    if best.is_none() && !options.program.is_empty() {
        // No settings go with the program: perhaps it is one of another architecture.
        let bare = Options { program: Program::default(), ..options.clone() };
        best = diagnose(&bare, only, &given, &bytes, cut, budget).into_iter().next();
        if let Some(found) = &best {
            let with = Options { format: Some(found.format), ..options.clone() };
            let opened = with.settings(found.settings.clone()).open_bytes(bytes.clone());
            let reason = opened.err().map(|error| error.to_string());
            report.programs.extend(reason.map(|reason| (options.program.elf.join(" "), reason)));
        }
    }
    if best.as_ref().is_none_or(|best| !is_an_answer(&best.fit)) && only.is_none_or(|_| given.is_empty()) {
        let quarter = Budget { tries: (budget.tries / 4).max(1), ..budget };
        for width in [4, 2, 8] {
            let other = first(&swapped(&bytes, width), quarter);
            let percent = |best: &Option<Diagnosis>| best.as_ref().map_or(0, |best| best.fit.percent());
            if other.as_ref().is_some_and(|other| is_an_answer(&other.fit))
                && percent(&other) >= percent(&best) + 20
            {
                let what = format!("the bytes of its {}-bit words are in reverse order", 8 * width);
                let advice = format!(
                    "`objcopy -I binary -O binary --reverse-bytes={width} FILE mended` puts them right"
                );
                report.transfer = Some(Transfer { what, advice });
                best = other;
            }
        }
    }
    report.diagnosis = best.filter(|best| is_better(best, &report.as_is, options, &given, &bytes));
    Ok(report)
}

/// It fits so well that it is not by chance.
fn is_an_answer(fit: &Fit) -> bool {
    fit.percent() >= if fit.instructions.is_none() { LEAST_WITHOUT_PROGRAM } else { LEAST_PERCENT }
}

/// An answer that is worth reporting: it fits, and better than the settings that were given.
fn is_better(best: &Diagnosis, as_is: &AsIs, options: &Options, given: &Settings, bytes: &[u8]) -> bool {
    if !is_an_answer(&best.fit) {
        return false;
    }
    let same = best.changes.is_empty() && !best.other_program;
    let options = Options { format: Some(best.format), ..options.clone() };
    let before = weigh(&options, given, &bytes[..bytes.len().min(best.bytes)]);
    match as_is {
        AsIs::Refused(_) => true,
        AsIs::Opened { .. } if same => false,
        AsIs::Opened { .. } => before.is_none_or(|before| best.fit.rank(best.doubts.len()) < before.rank(0)),
    }
}

/// True if the format needs settings and none are given: it decodes by assumptions.
fn assumes(options: &Options, as_is: &AsIs, given: &Settings) -> bool {
    let AsIs::Opened { format, .. } = as_is else { return false };
    let Some(format) = trackway::by_id(&options.formats, *format) else { return false };
    let image = Image::default();
    let nothing = Excerpt { bytes: &[], whole: true, image: &image };
    !given.has(format.id().as_str())
        && !format.is_at_top_level(given)
        && !format.neighbours(&Settings::default(), &nothing).is_empty()
}

fn as_is(opened: Result<Trace>) -> (AsIs, Vec<String>) {
    let refused = |error: Error| (AsIs::Refused(error.to_string()), Vec::new());
    let mut trace = match opened {
        Ok(trace) => trace,
        Err(error) => return refused(error),
    };
    let before = trace.facts();
    match fit_trace(&mut trace) {
        Ok(fit) => {
            let facts = trace.facts().into_iter().filter(|fact| fact.0 == "doubt" && !before.contains(fact));
            let found = facts.map(|(_, text)| text).collect();
            (AsIs::Opened { format: trace.format().id(), title: trace.format().title(), fit }, found)
        }
        Err(error) => refused(error),
    }
}

/// Programs that cannot be loaded, and the options without them.
fn usable_programs(options: &Options) -> (Vec<(String, String)>, Options) {
    let (mut wrong, mut usable) = (Vec::new(), options.clone());
    usable.program.elf.retain(|spec| {
        let read = Image::default().open_elf(spec);
        wrong.extend(read.as_ref().err().map(|error| (spec.clone(), error.to_string())));
        read.is_ok()
    });
    (wrong, usable)
}

/// The first bytes of a file as it is, compressed or not.
fn raw_head(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let file = std::fs::File::open(path).ok().filter(|_| path.is_file())?;
    file.take(1 << 16).read_to_end(&mut head).ok()?;
    Some(head)
}

/// The first bytes of an input, twice as many as are tried, and whether there are more.
fn first_bytes(input: Input, most: usize) -> (Vec<u8>, bool) {
    let most = most.saturating_mul(2).max(1 << 16);
    let mut bytes = Vec::new();
    match input {
        Input::Whole(all) => {
            let all = (*all).as_ref();
            bytes.extend_from_slice(&all[..all.len().min(most + 1)]);
        }
        // Damage ends what can be looked at.
        Input::Stream(stream) => drop(stream.take(most as u64 + 1).read_to_end(&mut bytes)),
    }
    let cut = bytes.len() > most;
    bytes.truncate(most);
    (bytes, cut)
}
