//! The topics of `trackway help`: what concerns several commands.

use std::fmt::Write;

use trackway::format::{Format, Key, Sample};
use trackway_core::{Fact, Fate};

use crate::exit::Exit;
use crate::sections::SECTIONS;

/// The formats of the program.
type Formats<'f> = &'f [&'static dyn Format];

/// A topic: its name, a line about it, and its text.
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) text: fn(Formats<'_>) -> String,
}

/// All topics.
pub(crate) const TOPICS: [Topic; 5] = [
    Topic { name: "formats", about: "Formats of traces: names, extensions, what each has", text: formats },
    Topic { name: "positions", about: "Places in a trace, for --from, --to and --at", text: positions },
    Topic { name: "config", about: "Settings that a trace does not carry, for --config", text: config },
    Topic { name: "exit-codes", about: "How commands end", text: exit_codes },
    Topic { name: "ledger", about: "The words of the account of a conversion", text: ledger },
];

/// Names of the topics.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|topic| topic.name)
}

fn joined<'t>(words: impl IntoIterator<Item = &'t str>, between: &str) -> String {
    words.into_iter().collect::<Vec<_>>().join(between)
}

/// Two columns: a name and its meaning, wrapped.
fn row(out: &mut String, width: usize, name: &str, meaning: &str) {
    const WIDEST: usize = 100;
    let mut line = format!("  {name:<width$} ");
    let indent = line.chars().count();
    let mut length = indent;
    for word in meaning.split_whitespace() {
        let word_length = word.chars().count() + 1;
        if length + word_length > WIDEST && length > indent {
            let _ = writeln!(out, "{line}");
            line = " ".repeat(indent);
            length = indent;
        }
        line.push(' ');
        line.push_str(word);
        length += word_length;
    }
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}", line.trim_end());
}

fn formats(formats: Formats<'_>) -> String {
    let mut out = String::new();
    for format in formats {
        let _ = writeln!(out, "{}: {}", format.id(), format.title());
        let ends = joined(format.extensions().iter().copied(), ", .");
        row(&mut out, 12, "extensions", &format!(".{ends}"));
        let several = if !format.is_written() {
            "read only: no output has this format"
        } else if format.holds_several_sources() {
            "several in one output"
        } else {
            "one per file; others get files of their own, OUT.NAME.ext"
        };
        row(&mut out, 12, "sources", several);
        row(
            &mut out,
            12,
            "rules",
            &format!("{} (trackway check --rules {})", format.rules().len(), format.id()),
        );
        let settings = format!("{} (trackway config {})", format.keys().len(), format.id());
        row(&mut out, 12, "settings", &settings);
        let flags: Vec<String> = format.flags().iter().map(|flag| format!("--{}", flag.name)).collect();
        if !flags.is_empty() {
            row(&mut out, 12, "options", &flags.join(", "));
        }
        out.push('\n');
    }
    out += "Input is recognised by its content, whatever its name, also inside gzip, xz, zlib and zstd; --format\n\
            FORMAT overrides. Output takes the format of its extension; --into FORMAT overrides.\n\
            Formats that record the control flow only need the program to decode: --elf PATH[@ADDR].\n";
    out
}

/// Forms of a position, with their meaning.
pub(crate) const POSITIONS: [(&str, &str); 10] = [
    ("N", "instruction number N, counted from 0, attempted instructions included"),
    ("pc:ADDRESS", "the next instruction at this address"),
    ("sym:NAME", "the next instruction of this symbol's address; needs the program (--elf)"),
    ("line:FILE:N", "the next instruction of this source line; needs the program with debug information"),
    ("time:N", "the first timestamp that is not before N"),
    ("mark:NAME", "the next mark of this kind or with this text; with a number, the mark of that number"),
    ("trap:N", "trap number N, counted from 0; returns from traps count too"),
    ("gap:N", "gap number N, counted from 0"),
    ("end", "after the last instruction"),
    ("end-N", "N instructions before the end"),
];

fn positions(_: Formats<'_>) -> String {
    let mut out = String::new();
    POSITIONS.iter().for_each(|(form, meaning)| row(&mut out, 12, form, meaning));
    out += "\nNumbers are decimal or, with 0x, hex. --from is the first instruction shown, --to the first one not shown.\n\
            Positions count per source: where a trace has several, --source NAME picks one.\n\
            In a trace from stdin, dump finds all of them but end; convert, slice, state and why find numbers only.\n";
    out
}

fn config(formats: Formats<'_>) -> String {
    let mut out = String::from(
        "--config FILE.toml has settings that the trace does not carry. A file TRACE.toml beside the trace is found\n\
         without the option. `trackway config FORMAT` prints a template with every key, its meaning and a value.\n\
         Unknown keys are refused.\n\n",
    );
    let mut section = |name: &str, what: &str, keys: &[Key]| {
        let _ = writeln!(out, "[{name}] {what}");
        let width = keys.iter().map(|key| key.name.len()).max().unwrap_or(0);
        for key in keys {
            let more = match key.sample {
                Sample::Value(_) => String::new(),
                Sample::Table(keys) | Sample::Tables(keys) => {
                    format!(" Keys: {}.", joined(keys.iter().map(|key| key.name), ", "))
                }
            };
            row(
                &mut out,
                width,
                key.name,
                &format!("{}{more}", joined(key.doc.iter().map(|doc| doc.trim()), " ")),
            );
        }
        out.push('\n');
    };
    for format in formats {
        section(format.id().as_str(), format.title(), format.keys());
    }
    for (name, what, keys) in SECTIONS {
        section(name, what, keys);
    }
    out
}

/// The table of exit codes.
fn exit_codes(_: Formats<'_>) -> String {
    let mut out = String::new();
    for &exit in Exit::ALL {
        row(&mut out, 4, &(exit as u8).to_string(), exit.meaning());
    }
    out
}

fn ledger(_: Formats<'_>) -> String {
    let mut out = String::from(
        "A conversion ends with a ledger: it counts the facts of the input, and what became of each. The fates:\n\n",
    );
    Fate::ALL.iter().for_each(|fate| row(&mut out, 9, fate.as_str(), fate.meaning()));
    out += "\n--strict refuses a conversion that drops or invents anything. Up to a million instructions, or with --prove,\n\
            the output is read back and compared with the input before it gets its name. The facts:\n\n";
    let width = Fact::ALL.iter().map(|fact| fact.as_str().len()).max().unwrap_or(0);
    Fact::ALL.iter().for_each(|fact| row(&mut out, width, fact.as_str(), fact.meaning()));
    out
}
