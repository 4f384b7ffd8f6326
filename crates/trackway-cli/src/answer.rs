//! Commands that another program runs in its own process.

use std::ffi::OsString;

use clap::FromArgMatches;
use serde_json::Value as Json;
use trackway::format::Format;
use trackway_core::Cancel;

use crate::asked::{self, Asked};
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

/// Runs a command line, without the name of the program, for a caller in the same process. Only commands with `--json`
/// or an output file have an answer; `cancel` ends the command.
pub fn answer(formats: &[&'static dyn Format], words: &[OsString], cancel: &Cancel) -> Answer {
    asked::begin(cancel);
    let outcome = run(formats, words);
    let Asked { lines, messages, .. } = asked::end();
    let mut answer = Answer { lines, messages, ..Answer::default() };
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
