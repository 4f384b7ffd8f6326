//! Text files by their first lines: logs of simulators, tables, dumps in hex.

use super::look::{Look, TABLE, WAVES};

/// A kind of text: what it is, the evidence, what to do, and whether these are its first lines.
struct Text(&'static str, &'static str, &'static str, fn(&[&str]) -> bool);

const SNAPSHOT_DO: &str =
    "this belongs to an OpenCSD snapshot: `trackway info FOLDER` takes the folder that it is in";

/// The first that fits decides.
const TEXTS: [Text; 19] = [
    Text(
        "a Tarmac log, of which the first lines are not instructions or registers",
        "lines of time, unit and event",
        "Trackway reads Tarmac: `trackway info FILE --format tarmac` takes it as it is, and `trackway check FILE --format \
         tarmac` names the lines that cannot be read",
        is_tarmac,
    ),
    Text(
        "a log of Spike, of which most of the first lines cannot be read",
        "lines of core, address and encoding",
        "Trackway reads Spike's logs: `trackway info FILE --format spike` takes it as it is, and `trackway check FILE \
         --format spike` names the lines that cannot be read",
        is_spike,
    ),
    Text(
        "a log of QEMU (-d exec), of which most of the first lines cannot be read",
        "lines of `Trace N: 0x…`",
        "Trackway reads it with its program: `trackway info FILE --format qemu-exec --elf PROGRAM`, and `trackway check` \
         with the same options names the lines that cannot be read",
        |lines| lines.iter().any(|line| line.starts_with("Trace ") && line.contains(": 0x")),
    ),
    Text(
        "a log of QEMU (-d in_asm)",
        "blocks after `IN:`",
        "it has the code that QEMU translated, not the code that ran: use `-d in_asm,exec,nochain`, which Trackway reads",
        |lines| {
            most(lines, |line| line.starts_with("IN:") || line.starts_with("0x"))
                && lines.iter().any(|line| line.starts_with("IN:"))
        },
    ),
    Text(
        "a disassembly (objdump)",
        "it says `file format elf…`",
        "this is a listing: name the program itself with --elf",
        |lines| lines.iter().any(|line| line.contains("file format elf")),
    ),
    Text(
        "a hex dump (xxd)",
        "lines of address and bytes",
        "`xxd -r FILE trace.bin` makes the file again",
        |lines| {
            let is_address = |word: &str| word.len() >= 6 && is_hex(word);
            most(lines, |line| line.split_once(':').is_some_and(|(word, _)| is_address(word)))
        },
    ),
    Text(
        "Intel HEX",
        "lines of `:` and digits",
        "`objcopy -I ihex -O binary FILE trace.bin` makes the bytes again",
        |lines| most(lines, |line| line.strip_prefix(':').is_some_and(is_hex)),
    ),
    Text(
        "Motorola S-records",
        "lines of `S` and digits",
        "`objcopy -I srec -O binary FILE trace.bin` makes the bytes again",
        |lines| most(lines, |line| line.len() > 8 && line.strip_prefix('S').is_some_and(is_hex)),
    ),
    Text(
        "a hex dump (hexdump, od)",
        "lines of address and bytes",
        "`cut -c11-58 FILE | xxd -r -p > trace.bin` makes bytes of the columns of `hexdump -C`",
        |lines| most(lines, is_dumped),
    ),
    Text(
        "bytes in hex, as text",
        "nothing but hexadecimal digits",
        "`xxd -r -p FILE trace.bin` makes bytes of it; words of 32 bits also need their byte order, `objcopy -I binary -O \
         binary --reverse-bytes=4`",
        |lines| most(lines, |line| line.split_whitespace().all(|word| is_hex(word.trim_start_matches("0x")))),
    ),
    Text(
        "a web page (HTML)",
        "its first tag",
        "a page, and not the file: the download failed or needed a login",
        |lines| begins(lines, &["<!doctype html", "<html"]),
    ),
    Text("XML", "its first tag", "this is not a trace", |lines| begins(lines, &["<"])),
    Text("waveforms (VCD)", "its first declaration", WAVES, |lines| {
        begins(lines, &["$date", "$version", "$timescale", "$scope", "$comment"])
    }),
    Text("a snapshot.ini", "its section [snapshot]", SNAPSHOT_DO, |lines| {
        lines.iter().any(|line| line.trim() == "[snapshot]")
    }),
    Text("a file of a snapshot (ini)", "its sections", SNAPSHOT_DO, |lines| {
        lines.iter().any(|line| ["[device]", "[trace_buffers]"].contains(&line.trim()))
    }),
    Text("a pointer of Git LFS", "its first line", "fetch the file: `git lfs pull`", |lines| {
        begins(lines, &["version https://git-lfs"])
    }),
    Text("JSON", "its first character", "this is not a trace, or one that was exported", |lines| {
        begins(lines, &["{", "[{", "[\""])
    }),
    Text("a table (CSV)", "every line has as many commas", TABLE, |lines| {
        let commas = |line: &str| line.matches(',').count();
        lines.len() > 2 && commas(lines[0]) > 0 && lines.iter().all(|line| commas(line) == commas(lines[0]))
    }),
    Text("settings (TOML)", "lines of `key = value`", "pass it with --config beside the trace", |lines| {
        let is_setting = |line: &&str| line.starts_with('#') || line.starts_with('[') || line.contains(" = ");
        lines.iter().all(is_setting)
    }),
];

/// The look of a text file; none for binary data.
pub(super) fn look(head: &[u8]) -> Option<Look> {
    let sample = &head[..head.len().min(1 << 14)];
    let is_text = |byte: &&u8| matches!(**byte, b'\t' | b'\n' | b'\r' | 0x1b | 0x20..=0x7e | 0x80..);
    let printable = sample.iter().filter(is_text).count();
    let ascii = sample.iter().filter(|byte| **byte < 0x80).count();
    if printable < sample.len() || ascii * 10 < sample.len() * 9 {
        return None;
    }
    let text = String::from_utf8_lossy(sample);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).take(64).collect();
    let first = lines.first()?;
    let look = match TEXTS.iter().find(|Text(.., is_one)| is_one(&lines)) {
        Some(Text(what, why, advice, _)) => Look::new(*what, *why, *advice, true),
        None => {
            let shortened: String = first.chars().take(60).collect();
            let why = format!("it is readable; its first line is {shortened:?}");
            let advice = "this is not a trace, or one in a text form that Trackway does not know";
            Look::new("text", why, advice, false)
        }
    };
    Some(Look { text: true, ..look })
}

/// Lines of which most are as `is_one` says.
fn most(lines: &[&str], is_one: impl Fn(&str) -> bool) -> bool {
    let count = lines.iter().filter(|line| is_one(line)).count();
    count > 0 && count * 2 > lines.len()
}

/// Does the first line begin with one of these, in any case?
fn begins(lines: &[&str], starts: &[&str]) -> bool {
    let first = lines[0].trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
    starts.iter().any(|start| first.starts_with(start))
}

fn is_hex(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_tarmac(lines: &[&str]) -> bool {
    let is_timed = |line: &str| {
        let mut words = line.split_whitespace();
        let is_time = words.next().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        is_time && words.next().is_some_and(|unit| ["clk", "tic", "cs", "ns", "ps", "cyc"].contains(&unit))
    };
    lines[0].starts_with("Tarmac Text") || most(lines, is_timed)
}

fn is_spike(lines: &[&str]) -> bool {
    most(lines, |line| {
        let rest = line.strip_prefix("core").and_then(|rest| rest.split_once(':'));
        let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        rest.is_some_and(|(core, rest)| is_number(core.trim()) && rest.contains("0x"))
    })
}

/// A line of `hexdump` or `od`, or of a memory file of Verilog.
fn is_dumped(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or("");
    let is_address = first.len() >= 6 && is_hex(first);
    (is_address && words.next().is_some_and(|word| word.len() <= 4 && is_hex(word)))
        || first.strip_prefix('@').is_some_and(is_hex)
}
