//! Words: examples that work when pasted, topics, completions, the manual.

mod common;

use std::path::Path;
use std::process::Command;

use common::{Folder, repo, stdout, text, trackway};

/// The commands, as the program lists them.
fn commands() -> Vec<String> {
    let help = stdout(&["--help"]);
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<String> = listed
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_string)
        .collect();
    assert!(names.len() >= 13 && names.contains(&"dump".to_string()), "{help}");
    names
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

/// A help text begins with three examples, one per line.
fn examples(command: &str) -> Vec<String> {
    let args: &[&str] = if command == "trackway" { &["--help"] } else { &[command, "--help"] };
    let help = stdout(args);
    let mut lines = help.lines();
    assert_eq!(lines.next(), Some("Examples:"), "{command} --help begins with its examples (examples.rs)");
    let examples: Vec<String> = lines.take_while(|line| !line.is_empty()).map(str::to_string).collect();
    assert_eq!(examples.len(), 3, "{command}: {examples:?}");
    for line in &examples {
        let is_own = command == "trackway" || format!("{line} ").contains(&format!("trackway {command} "));
        assert!(line.starts_with("  trackway ") && is_own, "{command}: {line}");
        assert!(line.chars().count() <= 100, "{command}: {line}");
    }
    examples
}

/// Text after the options is wrapped once: a short line is the end of a sentence.
#[test]
fn no_line_of_help_is_torn() {
    for command in commands() {
        let help = stdout(&[&command, "--help"]);
        let after: Vec<&str> = help.lines().skip_while(|line| !line.contains("Print help")).skip(1).collect();
        for pair in after.windows(2) {
            let is_torn = pair[0].len() < 70 && !pair[0].is_empty() && !pair[0].ends_with(['.', ':']);
            assert!(!is_torn || pair[1].is_empty(), "{command}: {pair:?}");
        }
    }
}

#[test]
fn every_example_works_when_pasted() {
    let folder = Folder::new("examples");
    for part in ["testdata", "programs"] {
        copy(Path::new(&repo(part)), &folder.0.join(part));
    }
    let bin = Path::new(env!("CARGO_BIN_EXE_trackway")).parent().unwrap();
    let path = std::env::join_paths(
        std::iter::once(bin.to_path_buf()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let path = path.unwrap();
    for command in commands().iter().map(String::as_str).chain(["trackway"]) {
        for line in examples(command) {
            let wanted = line.split_once("# exit ").map_or(0, |(_, rest)| {
                rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
            });
            let mut shell = Command::new("sh");
            shell
                .args(["-c", &line])
                .current_dir(&folder.0)
                .env("PATH", &path)
                .env("TRACKWAY_CACHE", folder.file("cache"));
            let output = shell.output().expect("a shell");
            let said = text(&output.stdout) + &text(&output.stderr);
            assert_eq!(output.status.code(), Some(wanted), "{line}\n{said}");
        }
    }
}

#[test]
fn topics_come_from_the_definitions() {
    let formats = stdout(&["help", "formats"]);
    for format in trackway::FORMATS {
        assert!(formats.contains(format.title()), "{formats}");
        assert!(stdout(&["help", "config"]).contains(&format!("[{}] ", format.id())));
        for key in format.keys() {
            assert!(stdout(&["help", "config"]).contains(key.name), "{}", key.name);
        }
    }
    let config = stdout(&["help", "config"]);
    for words in ["[machine] ", "instructions_per_tick", "[verify] ", "[masks.REGISTER] ", "iaddress_width"] {
        assert!(config.contains(words), "{words}: {config}");
    }
    let ledger = stdout(&["help", "ledger"]);
    for fact in trackway_core::Fact::ALL {
        assert!(ledger.contains(fact.as_str()), "{ledger}");
    }
    for fate in trackway_core::Fate::ALL {
        assert!(ledger.contains(&format!("  {}", fate.as_str())), "{ledger}");
    }
    let exits = stdout(&["help", "exit-codes"]);
    for code in ["0", "1", "2", "3", "4", "5", "130"] {
        assert!(exits.lines().any(|line| line.split_whitespace().next() == Some(code)), "{exits}");
    }
    let positions = stdout(&["help", "positions"]);
    for form in ["pc:", "sym:", "line:FILE:N", "time:", "mark:", "trap:N", "gap:N", "end-N"] {
        assert!(positions.contains(form), "{positions}");
    }
    // The same forms as in the message for anything else.
    let wrong = trackway::Position::parse("somewhere", &[]).unwrap_err().to_string();
    for form in positions.lines().skip(2).take_while(|line| !line.is_empty()) {
        let form = form.split_whitespace().next().unwrap();
        assert!(wrong.contains(form), "{form}: {wrong}");
    }
    for topic in ["formats", "positions", "config", "exit-codes", "ledger"] {
        let text = stdout(&["help", topic]);
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
        assert!(stdout(&["--help"]).contains(topic) && stdout(&["help"]).contains(topic));
    }
}

#[test]
fn help_knows_commands_and_suggests() {
    for command in commands() {
        if command != "config" {
            assert_eq!(stdout(&["help", &command]), stdout(&[&command, "--help"]), "{command}");
        }
    }
    let output = trackway(&["help", "format"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("did you mean \"formats\"?"), "{}", text(&output.stderr));
}

#[test]
fn completions_have_values() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&["completions", shell]);
        for value in [
            "etrace",
            "tandem", // formats
            "stf.pc-target-missing",
            "ete.",
            "program.encoding", // rules
            "pcs",
            "events", // shapes
            "exit-codes",
            "positions", // topics
            "zstf",
            "BasicPlus",
            "bluespec-compact",
            "1.6", // options of formats
            "rv64",
            "t32", // instruction sets
        ] {
            assert!(script.contains(value), "{shell}: {value}");
        }
    }
    let bash = stdout(&["completions", "bash"]);
    for list in ["pcs regs mem traps contexts time", "any exception interrupt return", "integer "] {
        assert!(bash.contains(&format!("-W \"{list}")), "{list}");
    }
    assert_eq!(trackway(&["info", "x", "--format", "stff"]).status.code(), Some(2));
    assert!(stdout(&["man", "dump"]).contains(".SH EXAMPLES"));
}
