//! ETE snapshots, as a user opens them: our own small one, and those of the corpus where it is.

mod common;

use std::path::Path;

use common::{Folder, piped, stdout, text, trackway};

const COUNT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/ete/count");

/// Compares with a file beside the snapshot, or writes it.
fn golden(name: &str, args: &[&str]) {
    let path = Path::new(COUNT).join(name);
    let found = without_headings(&stdout(&[args, &[COUNT]].concat()));
    if std::env::var_os("TRACKWAY_BLESS").is_some() {
        std::fs::write(&path, &found).expect("the file can be written");
    }
    let expected = std::fs::read_to_string(&path).expect("the expected file");
    assert_eq!(found, expected, "{}", path.display());
}

/// The lines of all sources without those that name them.
fn without_headings(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with("# source ")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn our_snapshot_in_every_shape() {
    golden("expect.items", &["dump", "--raw"]);
    golden("expect.events", &["dump", "--as", "events", "--show-withdrawn"]);
    golden("expect.runs", &["dump", "--as", "runs"]);
    golden("expect.pcs", &["dump", "--as", "pcs"]);
}

#[test]
fn instructions_with_their_text() {
    let said = stdout(&["dump", COUNT]);
    for line in ["# source ETE_0\n", "# source ETE_1\n", "bl #0x80018", "svc #7", "syscall_index=0x7"] {
        assert!(said.contains(line), "{line} in\n{said}");
    }
}

#[test]
fn one_source_of_several() {
    let one = stdout(&["dump", "--as", "pcs", "--source", "ETE_1", COUNT]);
    assert_eq!(one.lines().count(), 9, "{one}");
    let output = trackway(&["dump", "--source", "ETE_9", COUNT]);
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(error.contains("there are ETE_0, ETE_1"), "{error}");
}

#[test]
fn info_names_the_sources() {
    let said = stdout(&["info", COUNT]);
    for line in ["ETE 1.3", "ETE_0", "ETE_1", "snapshot folder"] {
        assert!(said.contains(line), "{line} in\n{said}");
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let one = stdout(&["dump", "--as", "events", "-j", "1", COUNT]);
    assert_eq!(stdout(&["dump", "--as", "events", "-j", "4", COUNT]), one);
}

#[test]
fn a_raw_stream_with_its_registers_in_toml() {
    let folder = Folder::new("ete-raw");
    let config = folder.file("ete.toml");
    std::fs::write(&config, "[ete]\nTRCCONFIGR = 0x1801\nTRCDEVARCH = 0x47735a13\n")
        .expect("it can be written");
    let (stream, image) = (format!("{COUNT}/core0.bin"), format!("{COUNT}/count.bin@0x80000"));
    let with = |args: &[&str]| stdout(&[args, &["--config", &config, "--image", &image, &stream]].concat());
    let all = stdout(&["dump", "--as", "pcs", "--source", "ETE_0", COUNT]);
    assert_eq!(with(&["dump", "--as", "pcs"]), all);
    // The same as it comes, in every shape that a stream has.
    let bytes = std::fs::read(&stream).expect("the stream");
    let as_it_comes = |args: &[&str]| {
        let args = [args, &["--config", &config, "--image", &image, "-"]].concat();
        let output = piped(&args, &bytes);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    assert_eq!(as_it_comes(&["dump", "--as", "pcs"]), all);
    for shape in [&["dump", "--raw"][..], &["dump", "--as", "events", "-j", "3"], &["check"]] {
        assert_eq!(as_it_comes(shape).replace("-:", &format!("{stream}:")), with(shape), "{shape:?}");
    }
    // Packets by name.
    let info = as_it_comes(&["info"]);
    for (name, count) in [("Alignment Sync", 1), ("Trace Info", 1), ("Trace On", 1)] {
        let found = info.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
        assert!(found.ends_with(&format!(" {count}")), "{name} in\n{info}");
    }
    // Cut inside a packet: events before it are shown, and the exit code reports it.
    let cut = folder.file("cut.bin");
    std::fs::write(&cut, &bytes[..bytes.len() - 3]).expect("it can be written");
    let output = trackway(&["dump", "--as", "pcs", "--config", &config, "--image", &image, &cut]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(3), all));
    // The same packets, byte for byte.
    let copy = folder.file("copy.ete");
    stdout(&["convert", "--config", &config, &stream, &copy]);
    assert_eq!(std::fs::read(&copy).expect("the copy"), bytes);
}

/// A buffer that was written round and round, in frames.
#[test]
fn a_wrapped_buffer_of_frames() {
    let folder = Folder::new("ete-frames");
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.file(name);
        std::fs::write(&path, bytes).expect("it can be written");
        path
    };
    let registers =
        "format = 'coresight'\nTRCCONFIGR = 0x1801\nTRCTRACEIDR = 0x21\nTRCDEVARCH = 0x47735a13\n";
    let config = file("ete.toml", format!("[ete]\n{registers}").as_bytes());
    let stream = std::fs::read(format!("{COUNT}/core0.bin")).expect("the stream");
    let frames = trackway_ete::frame(&[(0x21, &stream)]);
    let image = format!("{COUNT}/count.bin@0x80000");
    let (new, old) = frames.split_at(frames.len() / 32 * 16);
    let dumped = file("dump.bin", &[old, new].concat());
    let pointer = old.len().to_string();
    let with =
        ["dump", "--as", "pcs", "--config", &config, "--image", &image, "--write-pointer", &pointer, &dumped];
    assert_eq!(stdout(&with), stdout(&["dump", "--as", "pcs", "--source", "ETE_0", COUNT]));
}

/// Frames by their content, registers as sysfs has them, and settings that cannot be.
#[test]
fn what_is_assumed_and_what_is_refused() {
    let folder = Folder::new("ete-assumed");
    let stream = std::fs::read(format!("{COUNT}/core0.bin")).expect("the stream");
    let frames = folder.file("frames.bin");
    std::fs::write(&frames, trackway_ete::frame(&[(0x21, &stream), (0x44, &[1; 40])]))
        .expect("it can be written");
    let raw = stdout(&["info", "--image", &format!("{COUNT}/count.bin@0x80000"), &frames]);
    for text in ["CoreSight frames", "0x44 (40 bytes)", "no registers are given", "is TRCCONFIGR.TS set?"] {
        assert!(raw.contains(text), "{text} in\n{raw}");
    }
    let config = folder.file("ete.toml");
    for (toml, text) in [
        ("TRCIDRO = '28c1cea1'", "did you mean TRCIDR0?"),
        ("TRCIDR2 = 0x488", "TRCIDR2.VMIDSIZE is 1"),
        (
            "format = 'coresight'\nTRCTRACEIDR = 0x12",
            "ids in the stream: 0x21 (40 bytes), 0x44 (40 bytes), configured 0x12",
        ),
    ] {
        std::fs::write(&config, format!("[ete]\n{toml}\n")).expect("it can be written");
        let output = trackway(&["dump", "--config", &config, &frames]);
        assert!(!output.status.success() && text_of(&output).contains(text), "{toml}: {}", text_of(&output));
    }
    // Every command says what may explain gaps, not only `info`.
    std::fs::write(
        &config,
        "[ete]\nformat = 'coresight'\nTRCCONFIGR = 0x801\nTRCTRACEIDR = 0x21\nTRCDEVARCH = 0x47735a13\n",
    )
    .expect("it can be written");
    let image = format!("{COUNT}/count.bin@0x80000");
    for command in ["dump", "stats"] {
        let output = trackway(&[command, "--config", &config, "--image", &image, &frames]);
        for text in
            ["returns without an address: is TRCCONFIGR.RS set?", "ids without a source: 0x44 (40 bytes)"]
        {
            assert!(text_of(&output).contains(text), "{command}: {}", text_of(&output));
        }
    }
    // A snapshot folder has registers of its own.
    let output = trackway(&["info", "--config", &config, COUNT]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text_of(&output).contains("[ete] format: a snapshot folder"), "{}", text_of(&output));
    // A wrapped buffer, without a word on where it begins.
    let wrapped = folder.file("wrapped.bin");
    std::fs::write(&wrapped, [&[0xf7; 9][..], &stream].concat()).expect("it can be written");
    let output = trackway(&["dump", &wrapped]);
    assert!(text_of(&output).contains("--write-pointer"), "{}", text_of(&output));
}

/// Branches that contradict the program stay outside Q elements: the proof holds.
#[test]
fn a_doubtful_trace_is_encoded_with_q_elements() {
    let Some(input) = corpus("juno_r1_1") else { return };
    let folder = Folder::new("ete-doubtful-q");
    let config = folder.file("q.toml");
    for q in [50, 500] {
        std::fs::write(&config, format!("[ete]\nTRCCONFIGR = 0x60c1\n[ete.unit]\nq = {q}\n"))
            .expect("it can be written");
        let out = folder.file(&format!("out{q}"));
        let output = trackway(&["convert", "--into", "ete", "--config", &config, &input, &out]);
        assert!(output.status.success(), "q = {q}: {}", text_of(&output));
    }
}

fn text_of(output: &std::process::Output) -> String {
    text(&output.stderr)
}

/// A call at the end of the code that is known is attempted all the same.
#[test]
fn every_call_is_attempted() {
    let Some(folder) = corpus("001-ack_test") else { return };
    let events = stdout(&["dump", "--as", "events", &folder]);
    let calls: Vec<&str> = events.lines().filter(|line| line.contains("cause=0x2 ")).collect();
    let named = calls.iter().filter(|line| line.contains(" syscall=") && line.contains(" from="));
    assert_eq!((calls.len(), named.count()), (174, 174));
}

#[test]
fn check_finds_nothing_wrong() {
    let said = stdout(&["check", COUNT]);
    assert!(!said.contains("error"), "{said}");
}

fn corpus(name: &str) -> Option<String> {
    Some(trackway_testkit::corpus()?.join("ete").join(name).display().to_string())
}

#[test]
fn snapshots_of_the_corpus() {
    // Snapshot, instructions attempted, of which retired.
    let numbers = [("002-ack_test_scr", 5146), ("feat_cmpbr", 110), ("tme_tcancel", 0), ("ete-wfet", 718)];
    for (name, attempted) in numbers {
        let Some(folder) = corpus(name) else { return };
        let pcs = stdout(&["dump", "--as", "pcs", "--attempted", &folder]);
        assert_eq!(without_headings(&pcs).lines().count(), attempted, "{name}");
    }
}

#[test]
fn strict_stops_where_the_program_contradicts() {
    let Some(folder) = corpus("juno_r1_1") else { return };
    let output = trackway(&["dump", "--as", "runs", "--strict", "--source", "ETM_0", &folder]);
    assert_eq!(output.status.code(), Some(4));
    let error = text(&output.stderr);
    assert!(error.contains("contradicts"), "{error}");
    // Without it they are counted.
    let info = stdout(&["info", "-j", "2", &folder]);
    let line = info.lines().find(|line| line.starts_with("doubtful runs:")).unwrap_or_default();
    assert!(line.ends_with(" 679"), "{info}");
}

/// A copy of a raw stream is read as the original, without naming the program again.
#[test]
fn a_raw_copy_keeps_the_program() {
    let folder = Folder::new("ete-copy");
    let (config, copy, moved) =
        (folder.file("x.toml"), folder.file("copy.ete"), folder.file("again/copy.ete"));
    std::fs::create_dir(folder.0.join("again")).unwrap();
    let registers = "TRCCONFIGR = 0x1801\nTRCDEVARCH = 0x47735a13\nTRCIDR0 = 0x28c1cea1\nTRCIDR1 = 0x4100fff0\n\
                     TRCIDR2 = 0xd0001088\nTRCIDR8 = 0\n";
    std::fs::write(&config, format!("[ete]\n{registers}")).unwrap();
    let (stream, image) = (format!("{COUNT}/core0.bin"), format!("{COUNT}/count.bin@0x80000"));
    let shape = ["dump", "--as", "events"];
    let wanted = stdout(&[&shape[..], &["--config", &config, "--image", &image, &stream]].concat());
    assert!(wanted.contains(" run "), "{wanted}");
    stdout(&["convert", "-q", "--config", &config, "--image", &image, &stream, &copy]);
    assert_eq!(stdout(&[&shape[..], &[&copy]].concat()), wanted);
    // And once more, from the settings beside the copy.
    stdout(&["convert", "-q", &copy, &moved]);
    assert_eq!(stdout(&[&shape[..], &[&moved]].concat()), wanted);
}
