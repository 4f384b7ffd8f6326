//! Messages on stderr: errors with their place, and the health of a trace.

use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;

use trackway::Health;
use trackway::format::When;
use trackway_core::{Error, ErrorKind, Input};

use crate::args::Common;
use crate::exit::{Exit, Failure};

/// Prints a line to stderr; a closed stderr does not stop the program.
macro_rules! say {
    ($($what:tt)*) => { crate::pager::say(format!($($what)*)) };
}
pub(crate) use say;

const RED: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();
const BLUE: anstyle::Style = anstyle::AnsiColor::Blue.on_default();

/// Prints a failure and returns its exit code. `tried` is the command that failed, if it is one that the hints name.
pub(crate) fn failure(failure: &Failure, tried: &str) -> Exit {
    let exit = failure.exit();
    match exit {
        Exit::Fine => return exit,
        Exit::Interrupted => {
            say!("interrupted");
            return exit;
        }
        _ => {}
    }
    say!("{RED}error:{RED:#} {failure}");
    if let Failure::Input { error, instruction, excerpt, words, .. } = failure {
        if let Some(excerpt) = excerpt {
            say!("{excerpt}");
        }
        if let Some(instruction) = instruction {
            say!("  after {instruction} instructions");
        }
        if let Some(next) = next_thing(error, words, tried) {
            say!("  {BLUE}try:{BLUE:#} {next}");
        }
    }
    exit
}

/// The next thing to try.
pub(crate) fn next_thing(error: &trackway::Error, words: &str, tried: &str) -> Option<String> {
    Some(match error {
        trackway::Error::NotRecognised { head, .. } if head.is_empty() => return None,
        trackway::Error::NotRecognised { maybe, .. } if !maybe.is_empty() => maybe.join("; "),
        trackway::Error::NotRecognised { .. } => {
            format!(
                "trackway doctor {words} says what it looks like; --format FORMAT if you know it; flow formats need \
                 --config (trackway dump --help)"
            )
        }
        trackway::Error::Trace(error) => match error.kind {
            ErrorKind::Truncated => {
                "the file is truncated; everything up to here was decoded. Copy it again, or continue with what there is"
                    .into()
            }
            ErrorKind::Unsupported { .. } => "--force tries to read it anyway".into(),
            ErrorKind::Compression => "the compressed file is damaged: copy it again".into(),
            ErrorKind::Io(_) | ErrorKind::Cancelled => return None,
            _ => [("dump --raw", "shows the items up to there"), ("check", "says what else is wrong")]
                .iter()
                .filter(|(command, _)| *command != tried)
                .map(|(command, does)| format!("trackway {command} {words} {does}"))
                .collect::<Vec<_>>()
                .join("; "),
        },
        _ => return None,
    })
}

/// The trace and the options that open it, as a shell takes them.
pub(crate) fn words(path: &Path, common: &Common) -> String {
    let mut words = vec![quoted(&path.display().to_string())];
    let mut option = |name: &str, value: String| words.extend([format!("--{name}"), quoted(&value)]);
    common.elf.iter().for_each(|path| option("elf", path.clone()));
    common.image.iter().for_each(|path| option("image", path.clone()));
    common.config.iter().for_each(|path| option("config", path.display().to_string()));
    common.format.iter().for_each(|format| option("format", format.to_string()));
    common.source.iter().for_each(|name| option("source", name.clone()));
    for (flag, value) in common.context.flags.iter().filter(|(flag, _)| flag.when == When::Reading) {
        match value.as_bool() {
            Some(_) => words.push(format!("--{}", flag.name)),
            None => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
                words.extend([format!("--{}", flag.name), quoted(&text)]);
            }
        }
    }
    words.extend(common.force.then(|| "--force".to_string()));
    words.join(" ")
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@+%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A failure with the bytes around its place.
pub(crate) fn placed(common: &Common, path: &Path, error: trackway::Error) -> Failure {
    let excerpt = match &error {
        trackway::Error::Trace(error) => excerpt(common, path, error),
        trackway::Error::NotRecognised { head, .. } if !head.is_empty() => Some(hex_lines(head, 0, None)),
        _ => None,
    };
    let words = words(path, common);
    Failure::Input { path: path.into(), error: Box::new(error), instruction: None, excerpt, words }
}

/// As [`placed`], after `instruction` instructions.
pub(crate) fn placed_at(common: &Common, path: &Path, error: Error, instruction: u64) -> Failure {
    let excerpt = excerpt(common, path, &error);
    Failure::Input {
        path: path.into(),
        error: Box::new(error.into()),
        instruction: Some(instruction),
        excerpt,
        words: words(path, common),
    }
}

/// Bytes shown before and after the place.
const BEFORE: u64 = 16;
const AFTER: u64 = 16;

/// The bytes around an error's place: of the trace, or of the file where the container is meant.
fn excerpt(common: &Common, path: &Path, error: &Error) -> Option<String> {
    if path.as_os_str() == "-" || matches!(error.kind, ErrorKind::Io(_)) {
        return None;
    }
    let mut options = common.options().ok()?;
    options.force = true;
    let opened = options.open(path).ok().and_then(|mut trace| trace.bytes().ok());
    let in_container = error.in_container || opened.is_none();
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
            // Damage after the place does not take the excerpt away.
            let _ = stream.take(BEFORE + AFTER + 16).read_to_end(&mut bytes);
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

/// Prints errors after which decoding continued, to stderr.
pub(crate) fn print_damage(health: &Health) {
    if let Some(first) = health.first_errors.first() {
        let more =
            if health.errors > 1 { format!(" (and {} more)", health.errors - 1) } else { String::new() };
        say!("{RED}damaged:{RED:#} {}{more}", first.error);
    }
}

/// Prints the health line, and errors after which decoding continued, to stderr.
pub(crate) fn print_health(health: &Health, common: &Common) {
    print_damage(health);
    if !common.quiet {
        say!("{}", health.line());
    }
}

/// The reason for exit code 3 where nothing could be read, or the path had to be followed and nowhere could be.
pub(crate) fn unfollowed(health: &Health) -> Option<String> {
    if health.is_unread() {
        return Some("nothing of it could be read: is it of this format (--format)?".to_string());
    }
    let places = health.counts.unfollowed;
    let text = || {
        let program = "is this the program that ran (--elf)?".to_string();
        let reasons = [&[program], &health.doubts[..]].concat().join("; ");
        format!("not one instruction could be followed, of {places} tried: {reasons}")
    };
    health.is_unfollowed().then(text)
}

/// The exit code, after the doubts that may explain gaps: gaps and doubtful runs count only under `--strict`, unless nothing could be followed.
pub(crate) fn exit_of(health: &Health, common: &Common) -> Exit {
    let is_shown = health.is_damaged() && !health.is_unfollowed() && !common.quiet;
    health.doubts.iter().filter(|_| is_shown).for_each(|doubt| say!("doubt: {doubt}"));
    match unfollowed(health) {
        Some(reason) => {
            say!("{RED}error:{RED:#} {reason}");
            Exit::Unreadable
        }
        None if health.is_damaged() && common.strict => Exit::Gaps,
        None => Exit::Fine,
    }
}
