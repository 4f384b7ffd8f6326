//! Project tasks. `cargo xtask test` is the one command that runs every check.

mod against;
mod bench;
mod console;
mod coverage;
mod cycles;
mod dist;
mod fuzz;
mod job;
mod layers;
mod links;
mod package;
mod peers;
mod policy;
mod process;
mod public;
mod site;
mod skips;
mod soak;
mod tokens;
mod tree;
mod unused;
mod words;

use std::process::{Command, ExitCode};

const USAGE: &str = "\
cargo xtask test                    format, checks, lints, docs, tests, console blocks, examples, fuzz targets
cargo xtask test --peers            other people's programs as judges: installs them (apt-get, pip, npm), and runs the tests that need them
cargo xtask check [NAME…]           one check: cycles layers unused public words links, plugin console examples fuzz
cargo xtask words [--lower]         phrases and counts of words; --lower takes over counts that fell
cargo xtask console [--write]       runs the console blocks; --write puts what they print into the pages
cargo xtask bench [JOB…] [--write]  benchmarks as one table; --write puts it into docs/benchmarks.md
cargo xtask bench --against REV [JOB…]  the same at REV and here, in turn, as a table of before and after
cargo xtask dist [TARGET…] [--twice]  release archives, Debian packages, bill of materials, in target/dist (needs python3, rustup);
                                    --twice builds the commit again in another folder, and compares
cargo xtask coverage [-p CRATE…]    lines of each crate that the tests run (cargo-llvm-cov, installed where it is missing)
cargo xtask package                 packs the crates and installs the program from them into an empty folder
cargo xtask policy                  licences, bans and sources of dependencies (cargo-deny, installed where it is missing)
cargo xtask site                    the documentation as a site in target/site (mdBook, installed where it is missing)
cargo xtask soak [SECS] [SEED]      every command on every trace, with little memory, killed at random
cargo xtask fuzz [TARGET…] [--seconds N] [--keep]  fuzz targets, N seconds each (cargo-fuzz, installed where it is missing);
                                    --keep chooses the inputs that the repository keeps, --seconds 0 only that";

/// The error, as one message.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let outcome = match arguments.first().map(String::as_str) {
        Some("test") if rest == ["--peers"] => peers::test(),
        Some("test") if rest.is_empty() => test(),
        Some("check") if rest.is_empty() => QUICK.iter().try_for_each(|name| check(name)),
        Some("check") => rest.iter().try_for_each(|name| check(name)),
        Some("words") => words::report(rest.iter().any(|argument| argument == "--lower")),
        Some("console") => console(rest.iter().any(|argument| argument == "--write")),
        Some("bench") => bench::run(rest),
        Some("dist") => dist::run(rest),
        Some("package") => package::run(),
        Some("policy") => policy::run(),
        Some("site") => site::run(),
        Some("soak") => soak::run(rest),
        Some("coverage") => coverage::run(rest),
        Some("fuzz") => fuzz::run(rest),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("== failed: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Checks that read the sources and run nothing.
const QUICK: [&str; 6] = ["cycles", "layers", "unused", "public", "words", "links"];

/// Crates whose examples are run.
const EXAMPLES: [&str; 2] = ["trackway", "trackway-tools"];

/// Arguments of examples that need some.
const ARGUMENTS: [(&str, &str); 1] = [("own_format", "-- config tiny")];

/// Seed of property tests: fixed here, so that one tree always has one verdict.
const SEED: &str = "PROPTEST_RNG_SEED";

/// Everything, in order; stops at the first thing that fails.
fn test() -> Outcome {
    cargo("format", "fmt --all --check", &[])?;
    QUICK.iter().try_for_each(|name| check(name))?;
    cargo("lints", "clippy --locked --all-targets -- -D warnings", &[])?;
    cargo("lints of benches", "clippy --locked -p trackway-bench --all-targets -- -D warnings", &[])?;
    check("plugin")?;
    cargo("docs", "doc --locked --no-deps --quiet", &[("RUSTDOCFLAGS", "-D warnings")])?;
    let skips = skips::begin(&tree::root()).map_err(|error| error.to_string())?;
    let seed = std::env::var(SEED).unwrap_or_else(|_| "1".into());
    eprintln!("== properties are tried with {SEED}={seed}; `cargo test` takes new cases each time");
    let tested =
        cargo("tests", "test --locked", &[(skips::VARIABLE, &skips.display().to_string()), (SEED, &seed)]);
    let skipped = skips::report(&skips);
    if tested.is_err() {
        eprint!("{skipped}");
        return tested;
    }
    ["console", "examples", "fuzz"].iter().try_for_each(|name| check(name))?;
    eprint!("{skipped}");
    eprintln!("== all good");
    Ok(())
}

/// One check by name.
fn check(name: &str) -> Outcome {
    let problems = match name {
        "cycles" => cycles::check(),
        "layers" => layers::check(),
        "unused" => unused::check(),
        "public" => public::check(),
        "words" => words::check(),
        "links" => links::check(),
        "plugin" => return plugin(),
        "console" => return console(false),
        "examples" => return EXAMPLES.iter().try_for_each(|package| examples(package)),
        "fuzz" => {
            cargo("fuzz targets", "clippy --locked -p trackway-fuzz --all-targets -- -D warnings", &[])?;
            return cargo("kept inputs of fuzz targets", "test --locked -p trackway-fuzz --lib", &[]);
        }
        _ => return Err(format!("no check is called {name}\n{USAGE}")),
    };
    report(name, &problems)
}

/// The QEMU plugin, which is a workspace of its own: format and lints for each version of QEMU's API.
fn plugin() -> Outcome {
    let own = "--manifest-path plugin/qemu/Cargo.toml";
    cargo("format of the plugin", &format!("fmt {own} --check"), &[])?;
    let folder = target().join("plugin").display().to_string();
    ["", "--features api2", "--features api3", "--features api4"].iter().try_for_each(|features| {
        let lints = format!("clippy {own} --locked --lib --examples {features} -- -D warnings");
        cargo("lints of the plugin", &lints, &[("CARGO_TARGET_DIR", &folder)])
    })
}

/// Runs every example of a package in the root of the repository.
fn examples(package: &str) -> Outcome {
    for path in tree::files(&tree::root().join("crates").join(package).join("examples"), "rs") {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let arguments = ARGUMENTS.iter().find(|entry| entry.0 == name).map_or("", |entry| entry.1);
        cargo(&name, &format!("run --locked --profile test -p {package} --example {name} {arguments}"), &[])?;
    }
    Ok(())
}

/// Console blocks of pages.
fn console(write: bool) -> Outcome {
    program()?;
    report("console", &console::check(&target().join("debug"), write))
}

/// The program as the tests use it.
fn program() -> Result<std::path::PathBuf, String> {
    cargo("the program", "build --locked --profile test -p trackway-cli", &[])?;
    Ok(target().join("debug/trackway"))
}

/// Prints the problems that a check found.
fn report(name: &str, problems: &[String]) -> Outcome {
    eprintln!("== {name}: {} problems", problems.len());
    problems.iter().for_each(|problem| eprintln!("   {problem}"));
    if problems.is_empty() { Ok(()) } else { Err(name.to_string()) }
}

/// Where cargo puts what it builds.
fn target() -> std::path::PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| tree::root().join("target"), Into::into)
}

/// Runs cargo in the root of the repository.
fn cargo(name: &str, arguments: &str, variables: &[(&str, &str)]) -> Outcome {
    eprintln!("== {name}: cargo {arguments}");
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    cargo.current_dir(tree::root()).args(arguments.split_whitespace());
    cargo.envs(variables.iter().copied());
    match cargo.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}")),
        Err(error) => Err(format!("{name}: cargo: {error}")),
    }
}
