//! Text files by their first lines: logs of simulators, tables, dumps in hex.

use super::look::Look;

const NOT_READ: &str = "Trackway does not read it yet";

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
    Some(log(&lines).or_else(|| dump(&lines)).or_else(|| markup(first, &lines)).unwrap_or_else(|| {
        let why = format!("it is readable; its first line is {:?}", shortened(first));
        Look::new(
            "text",
            why,
            "this is not a trace, or one in a text form that Trackway does not know",
            false,
        )
    }))
}

fn shortened(line: &str) -> String {
    line.chars().take(60).collect()
}

/// Lines of which most are as `is_one` says.
fn most(lines: &[&str], is_one: impl Fn(&str) -> bool) -> bool {
    let count = lines.iter().filter(|line| is_one(line)).count();
    count > 0 && count * 2 > lines.len()
}

fn is_hex(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Logs of processors and simulators.
fn log(lines: &[&str]) -> Option<Look> {
    let first = lines[0];
    let words = |line: &str| line.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    let timed = |line: &str| {
        let words = words(line);
        let is_time = words.first().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        is_time
            && words
                .get(1)
                .is_some_and(|unit| ["clk", "tic", "cs", "ns", "ps", "cyc"].contains(&unit.as_str()))
    };
    if first.starts_with("Tarmac Text") || most(lines, timed) {
        let dialect = match () {
            () if lines.iter().any(|line| line.contains(" ES ")) => "with load and store lines (ES)",
            () if lines.iter().any(|line| line.contains(" cpu")) => "as gem5 writes it",
            () => "as Fast Models write it",
        };
        let advice = format!(
            "{NOT_READ}: the tools of ARM-software/tarmac-trace-utilities index it; the model's own ETE or a recording \
             with QEMU yields a trace that Trackway reads"
        );
        return Some(Look::new(
            format!("a Tarmac log {dialect}"),
            "lines of time, unit and event",
            advice,
            true,
        ));
    }
    let spike = |line: &str| {
        let mut rest = line.strip_prefix("core").map(str::trim_start).unwrap_or("").splitn(2, ':');
        let hart = rest.next().unwrap_or("");
        let after = rest.next().unwrap_or("");
        !hart.is_empty() && hart.bytes().all(|byte| byte.is_ascii_digit()) && after.contains("0x")
    };
    if most(lines, spike) {
        let commits =
            lines.iter().any(|line| line.split_whitespace().nth(2).is_some_and(|word| word.len() == 1));
        let what = if commits { "a commit log of Spike" } else { "a log of Spike (-l, without commits)" };
        let advice = format!(
            "{NOT_READ}: `trackway record PROGRAM -o run.stf` runs the same program on the golden model and writes a trace \
             with registers and memory"
        );
        return Some(Look::new(what, "lines of core, address and encoding", advice, true));
    }
    if most(lines, |line| line.starts_with("Trace ") && line.contains(": 0x")) {
        let advice = format!(
            "{NOT_READ}, and it has one line for each block: record with a TCG plugin, or run the program with \
             `trackway record PROGRAM -o run.stf`"
        );
        return Some(Look::new("a log of QEMU (-d exec)", "lines of `Trace N: 0x…`", advice, true));
    }
    if most(lines, |line| line.starts_with("IN:") || line.starts_with("0x"))
        && lines.iter().any(|line| line.starts_with("IN:"))
    {
        let advice =
            "it has the code that QEMU translated, not the code that ran: use `-d exec,nochain -singlestep`";
        return Some(Look::new("a log of QEMU (-d in_asm)", "blocks after `IN:`", advice, true));
    }
    if first.starts_with("pc,instr,gpr,csr,binary,mode") {
        let advice = format!(
            "{NOT_READ}: `trackway record PROGRAM -o run.tv` writes a trace that `trackway verify` takes"
        );
        return Some(Look::new("a riscv-dv log (CSV)", "the columns that riscv-dv writes", advice, true));
    }
    if lines.iter().any(|line| line.contains("file format elf")) {
        let advice = "this is a listing: name the program itself with --elf";
        return Some(Look::new("a disassembly (objdump)", "it says `file format elf…`", advice, true));
    }
    None
}

/// Binary data in hex.
fn dump(lines: &[&str]) -> Option<Look> {
    let look = |what: &str, why: &str, advice: &str| Some(Look::new(what, why, advice, true));
    let address =
        |line: &str, end: char| line.split_once(end).is_some_and(|(word, _)| word.len() >= 6 && is_hex(word));
    if most(lines, |line| address(line, ':')) {
        return look(
            "a hex dump (xxd)",
            "lines of address and bytes",
            "`xxd -r FILE trace.bin` makes the file again",
        );
    }
    if most(lines, |line| line.starts_with(':') && is_hex(&line[1..])) {
        let advice = "`objcopy -I ihex -O binary FILE trace.bin` makes the bytes again";
        return look("Intel HEX", "lines of `:` and digits", advice);
    }
    if most(lines, |line| line.starts_with('S') && line.len() > 8 && is_hex(&line[1..])) {
        let advice = "`objcopy -I srec -O binary FILE trace.bin` makes the bytes again";
        return look("Motorola S-records", "lines of `S` and digits", advice);
    }
    let is_bytes = |line: &str| {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or("");
        (first.len() >= 6
            && is_hex(first)
            && words.clone().next().is_some_and(|word| word.len() <= 4 && is_hex(word)))
            || (first.starts_with('@') && is_hex(&first[1..]))
    };
    if most(lines, is_bytes) {
        let advice =
            "`xxd -r -p` makes bytes of lines without addresses: `cut -c11-58 FILE | xxd -r -p > trace.bin`";
        return look("a hex dump (hexdump, od)", "lines of address and bytes", advice);
    }
    if most(lines, |line| line.split_whitespace().all(|word| is_hex(word.trim_start_matches("0x")))) {
        let advice = "`xxd -r -p FILE trace.bin` makes bytes of it; words of 32 bits also need their byte order, \
                      `objcopy -I binary -O binary --reverse-bytes=4`";
        return look("bytes in hex, as text", "nothing but hexadecimal digits", advice);
    }
    None
}

/// Markup, tables, settings.
fn markup(first: &str, lines: &[&str]) -> Option<Look> {
    let lower = first.trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
    let look = |what: &str, why: &str, advice: &str, sure| Some(Look::new(what, why, advice, sure));
    if lower.starts_with("<!doctype html") || lower.starts_with("<html") {
        let advice = "a page, and not the file: the download failed or needed a login";
        return look("a web page (HTML)", "its first tag", advice, true);
    }
    if lower.starts_with('<') {
        return look("XML", "its first tag", "this is not a trace", true);
    }
    if ["$date", "$version", "$timescale", "$scope", "$comment"].iter().any(|word| lower.starts_with(word)) {
        let advice = "Trackway does not read waveforms: let the simulation write the bytes of the trace port into a file";
        return look("waveforms (VCD)", "its first declaration", advice, true);
    }
    if lines.iter().any(|line| line.trim() == "[snapshot]") {
        let advice =
            "this is the list of an OpenCSD snapshot: `trackway info FOLDER` takes the folder that it is in";
        return look("a snapshot.ini", "its section [snapshot]", advice, true);
    }
    if lines.iter().any(|line| line.trim() == "[device]" || line.trim() == "[trace_buffers]") {
        let advice =
            "this belongs to an OpenCSD snapshot: `trackway info FOLDER` takes the folder that it is in";
        return look("a file of a snapshot (ini)", "its sections", advice, true);
    }
    if lower.starts_with("version https://git-lfs") {
        return look("a pointer of Git LFS", "its first line", "fetch the file: `git lfs pull`", true);
    }
    if lower.starts_with('{') || lower.starts_with("[{") || lower.starts_with("[\"") {
        return look("JSON", "its first character", "this is not a trace, or one that was exported", true);
    }
    if lines.len() > 2
        && lines.iter().all(|line| line.matches(',').count() == first.matches(',').count())
        && first.contains(',')
    {
        let advice = "Trackway does not read tables: use the trace that the table was exported from";
        return look("a table (CSV)", "every line has as many commas", advice, true);
    }
    let is_setting = |line: &str| line.starts_with('#') || line.starts_with('[') || line.contains(" = ");
    if lines.iter().all(|line| is_setting(line)) {
        return look(
            "settings (TOML)",
            "lines of `key = value`",
            "pass it with --config beside the trace",
            true,
        );
    }
    None
}
