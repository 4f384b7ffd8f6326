//! The `trackway` program. Each subcommand is a file of its own; `cli.rs` declares them all.
#![forbid(unsafe_code)]

mod check;
mod cli;
mod convert;
mod demo;
mod dump;
mod exit;
mod image;
mod info;
mod listing;
mod pages;
mod pcs;
mod position;
mod progress;
mod record;
mod report;
mod stats;
mod verify;
mod walk;

use clap::Parser;

use cli::{Cli, Command};

fn main() -> std::process::ExitCode {
    let cli = Cli::parse();
    let tried = match &cli.command {
        Command::Check(_) => "check",
        Command::Dump(args) if args.raw => "dump --raw",
        _ => "",
    };
    let outcome = match cli.command {
        Command::Demo(args) => demo::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Dump(args) => dump::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Image(args) => image::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Completions(args) => pages::completions(&args),
        Command::Man(args) => pages::man(&args),
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) => report::failure(&failure, tried).into(),
    }
}
