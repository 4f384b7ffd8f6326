//! Commands that are run by another program in its own process: their objects and messages go to the caller, not to
//! stdout and stderr.

use std::cell::RefCell;
use std::ffi::OsString;

use clap::FromArgMatches;
use serde_json::Value as Json;
use trackway::format::Format;
use trackway_core::Cancel;

use crate::cli::Cli;
use crate::exit::{Exit, Failure};
use crate::{execute, flags, json};

/// The result of a command.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The objects that it printed, one line each.
    pub lines: Vec<String>,
    /// Its messages: warnings, damage.
    pub messages: Vec<String>,
    /// Its exit code.
    pub exit: u8,
    /// The failure that ended it, as an entry of `errors` in `docs/json.md`.
    pub failure: Option<Json>,
}

thread_local! {
    /// The answer to the command that this thread runs for another program, and the switch that ends it.
    static ASKED: RefCell<Option<(Answer, Cancel)>> = const { RefCell::new(None) };
}

/// Runs a command line, without the name of the program, for a caller in the same process. Only commands with `--json`
/// or an output file have an answer; `cancel` ends the command.
pub fn answer(formats: &[&'static dyn Format], words: &[OsString], cancel: &Cancel) -> Answer {
    ASKED.set(Some((Answer::default(), cancel.clone())));
    let outcome = run(formats, words);
    let (mut answer, _) = ASKED.take().unwrap_or_default();
    match outcome {
        Ok(exit) => answer.exit = exit as u8,
        Err(failure) => {
            answer.exit = failure.exit() as u8;
            answer.failure = Some(json::of_failure(&failure));
        }
    }
    answer
}

fn run(formats: &[&'static dyn Format], words: &[OsString]) -> Result<Exit, Failure> {
    let name = OsString::from("trackway");
    let usage = |error: clap::Error| Failure::Usage(error.render().to_string().trim_end().to_string());
    let matches =
        flags::command(formats).try_get_matches_from(std::iter::once(&name).chain(words)).map_err(usage)?;
    let mut cli = Cli::from_arg_matches(&matches).map_err(usage)?;
    cli.command.set_context(formats, flags::given(formats, &matches), &cli.always);
    execute(cli.command)
}

/// The switch that ends the command of this thread, if another program runs it.
pub(crate) fn cancel() -> Option<Cancel> {
    ASKED.with_borrow(|asked| asked.as_ref().map(|(_, cancel)| cancel.clone()))
}

/// Takes the line of an object, if another program runs the command.
pub(crate) fn take_line(line: &str) -> bool {
    take(|answer| answer.lines.push(line.trim_end().to_string()))
}

/// Takes a message, if another program runs the command.
pub(crate) fn take_message(line: &str) -> bool {
    take(|answer| answer.messages.push(anstream::adapter::strip_str(line).to_string()))
}

fn take(put: impl FnOnce(&mut Answer)) -> bool {
    ASKED.with_borrow_mut(|asked| {
        let Some((answer, _)) = asked else { return false };
        put(answer);
        true
    })
}
