//! What goes to stderr: errors with their place, and the health of a trace.

use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;

use trackway_core::{Error, ErrorKind, Input};

use crate::cli::Common;
use crate::exit::{Exit, Failure};

/// Says something on stderr. That nobody listens is no reason to stop.
macro_rules! tell {
    ($($what:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut anstream::stderr(), format_args!("{}\n", format_args!($($what)*)));
    }};
}
pub(crate) use tell;

const RED: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();
const BLUE: anstyle::Style = anstyle::AnsiColor::Blue.on_default();

/// Prints a failure and gives its exit code. `tried` is the command that failed, where it is one that the hints name.
pub(crate) fn failure(failure: &Failure, tried: &str) -> Exit {
    let exit = failure.exit();
    if exit == Exit::Fine {
        return exit;
    }
    tell!("{RED}error:{RED:#} {failure}");
    if let Failure::Input { error, instruction, excerpt, path } = failure {
        if let Some(excerpt) = excerpt {
            tell!("{excerpt}");
        }
        if let Some(instruction) = instruction {
            tell!("  after {instruction} instructions");
        }
        if let Some(next) = next_thing(error, path, tried) {
            tell!("  {BLUE}try:{BLUE:#} {next}");
        }
    }
    exit
}

/// The next thing to try.
fn next_thing(error: &trackway::Error, path: &Path, tried: &str) -> Option<String> {
    let path = path.display();
    Some(match error {
        trackway::Error::NotRecognised { head } if head.is_empty() => return None,
        trackway::Error::NotRecognised { .. } => {
            "--format FORMAT if you know it; flow formats need --config (trackway dump --help)".into()
        }
        trackway::Error::Trace(error) => match error.kind {
            ErrorKind::Truncated => {
                "the file is cut: what came before it is good; copy it again, or go on with that".into()
            }
            ErrorKind::Unsupported { .. } if error.item == "VERSION" => {
                "--force reads it all the same".into()
            }
            ErrorKind::Compression => "the compressed file is damaged: copy it again".into(),
            ErrorKind::Io(_) => return None,
            _ => [("dump --raw", "shows the items up to there"), ("check", "says what else is wrong")]
                .iter()
                .filter(|(command, _)| *command != tried)
                .map(|(command, does)| format!("trackway {command} {path} {does}"))
                .collect::<Vec<_>>()
                .join("; "),
        },
        _ => return None,
    })
}

/// A failure with the bytes around its place.
pub(crate) fn placed(common: &Common, path: &Path, error: trackway::Error) -> Failure {
    let excerpt = match &error {
        trackway::Error::Trace(error) => excerpt(common, path, error),
        trackway::Error::NotRecognised { head } if !head.is_empty() => Some(hex_lines(head, 0, None)),
        _ => None,
    };
    Failure::Input { path: path.into(), error: Box::new(error), instruction: None, excerpt }
}

/// As [`placed`], after `instruction` instructions.
pub(crate) fn placed_at(common: &Common, path: &Path, error: Error, instruction: u64) -> Failure {
    let excerpt = excerpt(common, path, &error);
    Failure::Input {
        path: path.into(),
        error: Box::new(error.into()),
        instruction: Some(instruction),
        excerpt,
    }
}

/// Bytes before the place, and behind it.
const BEFORE: u64 = 16;
const BEHIND: u64 = 16;

/// The bytes around an error's place: of the trace, or of the file where the container is meant.
fn excerpt(common: &Common, path: &Path, error: &Error) -> Option<String> {
    if path.as_os_str() == "-" || matches!(error.kind, ErrorKind::Io(_)) {
        return None;
    }
    let mut options = common.options().ok()?;
    options.force = true;
    let opened = trackway::open(path, &options).ok().and_then(|trace| trace.bytes().ok());
    let in_container = error.item.starts_with("ZSTF") || opened.is_none();
    let input = if in_container { Input::Stream(Box::new(std::fs::File::open(path).ok()?)) } else { opened? };
    let start = error.offset.saturating_sub(BEFORE) & !0xf;
    let mut bytes = Vec::new();
    match input {
        Input::Whole(all) => {
            let all = (*all).as_ref();
            let start = usize::try_from(start).ok()?.min(all.len());
            bytes.extend_from_slice(&all[start..all.len().min(start + 48)]);
        }
        Input::Stream(mut stream) => {
            std::io::copy(&mut stream.by_ref().take(start), &mut std::io::sink()).ok()?;
            // Damage behind the place does not take the excerpt away.
            let _ = stream.take(BEFORE + BEHIND + 16).read_to_end(&mut bytes);
        }
    }
    Some(hex_lines(&bytes, start, Some(error.offset)))
}

/// Lines of 16 bytes in hex, with a caret under the byte at `place`.
fn hex_lines(bytes: &[u8], start: u64, place: Option<u64>) -> String {
    let mut out = String::new();
    for (n, line) in bytes[..bytes.len().min(48)].chunks(16).enumerate() {
        let at = start + 16 * n as u64;
        let hex: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        let text: String =
            line.iter().map(|&byte| if byte.is_ascii_graphic() { byte as char } else { '.' }).collect();
        // Writing to a String cannot fail.
        let _ = write!(out, "  {at:08x}  {:<47}  {text}", hex.join(" "));
        let _ = writeln!(out);
        if let Some(place) = place.filter(|place| (at..at + 16).contains(place)) {
            let _ = writeln!(out, "  {:8}  {}^", "", " ".repeat(3 * (place - at) as usize));
        }
    }
    if let Some(place) = place.filter(|&place| place == start + bytes.len() as u64 && place % 16 == 0) {
        let _ = writeln!(out, "  {place:08x}  ^ the end");
    }
    out.trim_end().to_string()
}

/// What was read of a trace, and what was not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Health {
    pub(crate) items: Option<u64>,
    pub(crate) instructions: u64,
    pub(crate) gaps: u64,
    pub(crate) skipped: u64,
    /// Errors that were stepped over, the first one in full.
    pub(crate) errors: u64,
    pub(crate) first_error: Option<Error>,
}

impl Health {
    /// An error that decoding went on after.
    pub(crate) fn stepped_over(&mut self, error: Error) {
        self.errors += 1;
        self.first_error.get_or_insert(error);
    }

    /// The line that every report ends with.
    pub(crate) fn line(&self) -> String {
        let items = self.items.map_or(String::new(), |items| format!("{items} items, "));
        let Health { instructions, gaps, skipped, .. } = self;
        format!("health: {items}{instructions} instructions, {gaps} gaps, {skipped} bytes skipped")
    }

    /// Prints errors that were stepped over, to stderr.
    pub(crate) fn print_damage(&self) {
        if let Some(first) = &self.first_error {
            let more =
                if self.errors > 1 { format!(" (and {} more)", self.errors - 1) } else { String::new() };
            tell!("{RED}damaged:{RED:#} {first}{more}");
        }
    }

    /// Prints the line, and errors that were stepped over, to stderr.
    pub(crate) fn print(&self, common: &Common) {
        self.print_damage();
        if !common.quiet {
            tell!("{}", self.line());
        }
    }

    /// The exit code: gaps count only under `--strict`.
    pub(crate) fn exit(&self, common: &Common) -> Exit {
        let damaged = self.gaps > 0 || self.errors > 0;
        if damaged && common.strict { Exit::Gaps } else { Exit::Fine }
    }
}
