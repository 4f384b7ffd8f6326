//! The `trackway` program as a library: [`run`] is `main` with a list of formats, so that a program with formats of its own
//! has all commands for them.
//!
//! Each subcommand is a file of its own; `cli.rs` declares them all.
#![forbid(unsafe_code)]

mod address;
mod analyse;
mod answer;
mod args;
mod asked;
mod browse;
mod calls;
mod check;
mod cli;
mod colours;
mod config;
mod convert;
mod core;
mod cover;
mod demo;
mod diff;
mod doctor;
mod dump;
mod each;
mod event_json;
mod examples;
mod exit;
mod export;
mod find;
mod flags;
mod flame;
mod hex;
mod image;
mod index;
mod info;
mod interrupt;
mod intervals;
mod json;
mod listen;
mod listing;
mod loaded;
mod merge;
mod open;
mod output;
mod pager;
mod pages;
mod past;
mod pcs;
mod place;
mod plain;
mod plot;
mod profile;
mod progress;
mod proposed;
mod record;
mod record_qemu;
mod replay;
mod report;
mod report_page;
mod sections;
mod simpoint;
mod slice;
mod split;
mod state;
mod stats;
mod stats_asked;
mod stats_item;
mod topics;
mod verify;
mod view;
mod viewer;
mod walk;
mod why;

use std::panic::{AssertUnwindSafe, catch_unwind};

use clap::FromArgMatches;
use trackway::format::Format;

use cli::{Cli, Command};
use exit::{Exit, Failure};

pub use answer::{Answer, answer};

/// Runs the program on its command line, with these formats.
pub fn run(formats: &[&'static dyn Format]) -> std::process::ExitCode {
    let matches = flags::command(formats).get_matches();
    let mut cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    interrupt::install();
    cli.command.set_context(formats, flags::given(formats, &matches), &cli.always);
    let json = cli.command.json_kind();
    let tried = match &cli.command {
        Command::Check(_) => "check",
        Command::Dump(args) if args.raw => "dump --raw",
        _ => "",
    };
    let outcome = contained(|| execute(cli.command));
    interrupt::end();
    pager::wait();
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) => {
            if let Some(kind) = json {
                // If stdout is gone, stderr still has the failure.
                let _ = json::failed(kind, &failure);
            }
            report::failure(&failure, tried).into()
        }
    }
}

/// A panic is a failure like others: it ends what is on the way, and has an exit code.
fn contained(command: impl FnOnce() -> Result<Exit, Failure>) -> Result<Exit, Failure> {
    catch_unwind(AssertUnwindSafe(command)).unwrap_or(Err(Failure::Defect))
}

/// Runs a command.
fn execute(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Dump(args) => dump::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Slice(args) => slice::run(&args),
        Command::Split(args) => split::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Stats(args) => stats_item::run(&args),
        Command::Calls(args) => calls::run(&args),
        Command::Simpoint(args) => simpoint::run(&args),
        Command::Flame(args) => flame::run(&args),
        Command::Plot(args) => plot::run(&args),
        Command::Report(args) => report_page::run(&args),
        Command::Profile(args) => profile::run(&args),
        Command::Cover(args) => cover::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Index(args) => index::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::State(args) => state::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::View(args) => viewer::run(&args),
        Command::Browse(args) => browse::run(&args),
        Command::Why(args) => why::run(&args),
        Command::Find(args) => find::run(&args),
        Command::Image(args) => image::run(&args),
        Command::Record(args) => match args.qemu {
            Some(mode) => record_qemu::run(&args, mode),
            None => record::run(&args),
        },
        Command::Completions(args) => pages::completions(&args),
        Command::Man(args) => pages::man(&args),
        Command::Help(args) => pages::help(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defect_has_an_exit_code() {
        assert_eq!(contained(|| panic!("a defect")).unwrap_err().exit(), Exit::Internal);
        assert_eq!(contained(|| Ok(Exit::Found)).unwrap(), Exit::Found);
    }
}
