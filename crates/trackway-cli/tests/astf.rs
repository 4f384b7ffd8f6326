//! ASTF as a user meets it: info, dump, check and convert on the golden files, from files and from stdin.

mod common;

use std::process::Output;

use common::{Folder, repo, stdout, text, trackway};

fn testdata(name: &str) -> String {
    repo("testdata/astf/") + name
}

fn ledger(arguments: &[&str]) -> String {
    let output = trackway(arguments);
    let errors = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
    let lines = errors.lines().filter(|line| !line.starts_with("health"));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
}

/// All of these, and nothing else dropped or invented.
fn holds_exactly(ledger: &str, expected: &[&str]) {
    for what in expected {
        assert!(ledger.lines().any(|line| line == *what), "{what} in\n{ledger}");
    }
    for line in ledger.lines().filter(|line| line.starts_with("dropped") || line.starts_with("invented")) {
        assert!(expected.contains(&line), "{line} is not expected");
    }
}

const FORMS: [(&str, &str); 4] = [
    ("example/example.astf", "raw"),
    ("example/example-lzma.astf", "xz"),
    ("example/example-lzma-alone.astf", "lzma"),
    ("example/example-zlib.astf", "zlib"),
];

#[test]
fn every_form_of_the_example_is_described_listed_and_legal() {
    let raw = stdout(&["dump", &testdata(FORMS[0].0)]);
    for expected in [
        "0  000000000836e128  6b00007f  cmp w3, w0",
        "b.ne #0x836e0e8                   NT",
        "mem write 0000a4330b765010 16 range tagged",
        "mem write 0000a4330b765080 0 range\n",
        "blr x2                            T -> 0000ffff83ffb2f0",
        "mem read  0000a4330b766000 4 tagged",
        "(attempted)\n                               mem faulting 0000ffff95ceb000 16 tagged",
        "to=0xffff7dfffe7fc400 (Data Abort from lower)",
        "ldr za[w12, 4], [x0, #4, mul vl]  i{5}",
    ] {
        assert!(raw.contains(expected), "{expected} in\n{raw}");
    }
    for (name, container) in FORMS {
        let file = testdata(name);
        let info = stdout(&["info", &file]);
        let container = format!("container:         {container}\n");
        for expected in ["ASTF", "version:           0.11", "level:             BasicPlus", &container] {
            assert!(info.contains(expected), "{expected} in\n{info}");
        }
        assert!(
            info.contains("21 items, 11 instructions, 0 gaps, 0 doubtful runs, 0 bytes skipped"),
            "{info}"
        );
        assert_eq!(stdout(&["dump", &file]), raw);
        let fields = stdout(&["dump", "--raw", &file]);
        assert_eq!(fields.lines().count(), 21);
        assert!(
            fields.contains("Extra EA mem0_tagged=1 mem0_is_read=1 mem0_size=3 mem0_addr=0xa4330b766000")
        );
        assert_eq!(stdout(&["check", &file]), "");
    }
}

/// Runs with these bytes as stdin; it must end well.
fn piped(arguments: &[&str], bytes: &[u8]) -> Output {
    let output = common::piped(arguments, bytes);
    assert!(output.status.success(), "{arguments:?}: {}", common::text(&output.stderr));
    output
}

#[test]
fn stdin_is_as_good_as_a_file() {
    let folder = Folder::new("stdin");
    for (name, container) in FORMS {
        let file = testdata(name);
        let bytes = std::fs::read(&file).expect("the golden file");
        for command in [&["dump"][..], &["dump", "--raw"], &["dump", "--as", "events"], &["check"], &["info"]]
        {
            let from_file = trackway(&[command, &[&file]].concat());
            let output = piped(&[command, &["-"]].concat(), &bytes);
            // The name of the file is all that differs.
            let shown = |output: Output| String::from_utf8_lossy(&output.stdout).replace(&file, "-");
            let (shown, expected) = (shown(output), shown(from_file));
            assert_eq!(shown, expected, "{container}: {command:?}");
        }
        // Every storage into every other, and into another format; to a file and to stdout.
        for (golden, into) in FORMS {
            let expected = std::fs::read(testdata(golden)).expect("the golden file");
            let out = folder.file("out.astf");
            piped(&["convert", "-", &out, "--container", into], &bytes);
            assert_eq!(std::fs::read(&out).expect("written"), expected, "{container} to {into}");
            let output = piped(&["convert", "-", "-", "--container", into], &bytes);
            assert_eq!(output.stdout, expected, "{container} to {into}, through a pipe");
        }
        let stf = folder.file("out.stf");
        piped(&["convert", "-", &stf], &bytes);
        assert_eq!(stdout(&["dump", "--as", "pcs", "--attempted", &stf]).lines().count(), 11, "{container}");
    }
}

#[test]
fn recompression_keeps_the_records_and_makes_the_flags_true() {
    let folder = Folder::new("recompress");
    let original = std::fs::read(testdata(FORMS[0].0)).expect("the golden file");
    for (name, container) in FORMS {
        let there = folder.file("there.astf");
        let back = folder.file("back.astf");
        stdout(&["convert", &testdata(FORMS[0].0), &there, "--container", container]);
        let stored = std::fs::read(&there).unwrap();
        assert_eq!(stored, std::fs::read(testdata(name)).unwrap(), "{container}");
        // format_cfg: compressed, use_zlib.
        let flags = match container {
            "raw" => 0,
            "zlib" => 3,
            _ => 1,
        };
        assert_eq!(stored[8], flags, "{container}");
        stdout(&["convert", &there, &back, "--container", "raw"]);
        assert_eq!(std::fs::read(&back).unwrap(), original, "{container}");
        // Without a word about it the storage stays.
        stdout(&["convert", &there, &back]);
        assert_eq!(std::fs::read(&back).unwrap(), stored, "{container}");
    }
    let refused =
        trackway(&["convert", &testdata(FORMS[0].0), &folder.file("x.astf"), "--container", "gzip"]);
    assert_ne!(refused.status.code(), Some(0));
}

/// Figure 1 of the spec, in its own layout: the notes of `dump --raw -v`.
#[test]
fn notes_are_the_listing_of_figure_1() {
    let golden = std::fs::read_to_string(testdata("example/expect.listing")).expect("the golden file");
    let shown = stdout(&["dump", "--raw", "-v", &testdata("example/example-lzma.astf")]);
    let (fields, notes): (Vec<_>, Vec<_>) = shown.lines().partition(|line| line.starts_with("0x"));
    assert_eq!(fields.join("\n") + "\n", stdout(&["dump", "--raw", &testdata("example/example-lzma.astf")]));
    let trimmed = |text: &str| text.lines().map(|line| line.trim().to_string()).collect::<Vec<_>>();
    assert_eq!(trimmed(&notes.join("\n")), trimmed(&golden));
    let lines = stdout(&["dump", "--raw", "-v", "--jsonl", &testdata("example/example-zlib.astf")]);
    assert!(lines.contains(r#""note":"extra_ea  : v[0x0000a4330b766000]t""#), "{lines}");
}

#[test]
fn items_are_sought_by_number() {
    let all = stdout(&["dump", "--raw", &testdata("sort.astf")]);
    let folder = Folder::new("seek");
    for container in ["raw", "xz", "lzma", "zlib"] {
        let file = folder.file("sort.astf");
        // Only .xz has blocks.
        let chunk: &[&str] = if container == "xz" { &["--chunk", "65536"] } else { &[] };
        let sort = testdata("sort.astf");
        stdout(&[&["convert", &sort, &file, "--container", container], chunk].concat());
        for skip in [361, 5000] {
            let past = trackway(&["dump", "--raw", &file, "--skip", &skip.to_string()]);
            assert_eq!(past.status.code(), Some(2), "{container} from {skip}");
        }
        for skip in [1, 100, 359, 360] {
            let shown = stdout(&["dump", "--raw", &file, "--skip", &skip.to_string(), "--limit", "5"]);
            let expected: String = all.lines().skip(skip).take(5).map(|line| format!("{line}\n")).collect();
            assert_eq!(shown, expected, "{container} from {skip}");
        }
    }
}

#[test]
fn findings_name_rule_record_offset_and_section_and_can_be_waived() {
    let folder = Folder::new("findings");
    let mut bytes = std::fs::read(testdata("example/example.astf")).expect("the golden file");
    bytes[7 * 32 + 2] ^= 0x10; // record 7, LDP: is_read
    let file = folder.file("bad.astf");
    std::fs::write(&file, &bytes).expect("written");
    let output = trackway(&["check", &file]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "0xe0: item 7: error: an access of 0xa94153f3 [astf.load-read-flag, ASTF 4.5.2]\n"
    );
    let waived = trackway(&["check", &file, "--waive", "astf.load-read-flag"]);
    // Through events it is refused, by name and in words.
    let refused = trackway(&["convert", &file, &folder.file("copy.astf"), "--astf-level", "BasicPlus"]);
    let said = common::text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(3), "{said}");
    for part in ["0xe0: astf.load-read-flag", "A load that read memory has is_read."] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!((waived.status.code(), &waived.stdout[..]), (Some(0), &b""[..]));
    let object = trackway(&["check", &file, "--jsonl"]);
    let object: serde_json::Value = serde_json::from_slice(&object.stdout).expect("one object");
    assert_eq!((&object["rule"], &object["offset"]), (&"astf.load-read-flag".into(), &0xe0.into()));
}

#[test]
fn to_stf_and_back_with_an_exact_ledger() {
    let folder = Folder::new("stf");
    let (stf, back) = (folder.file("y.stf"), folder.file("z.astf"));
    let there = ledger(&["convert", &testdata("example/example.astf"), &stf]);
    holds_exactly(
        &there,
        &[
            "kept 11 instructions",
            "kept 6 memory accesses",
            "kept 1 traps",
            "derived 1 comments",
            "dropped 1 declared features",
            "dropped 1 SME slice indices",
            "dropped 1 memory accesses",
            "dropped 3 address ranges",
            "dropped 5 checked tags",
            "dropped 1 security states",
            "dropped 2 stack pointer selections",
            "dropped 2 vector lengths",
            "dropped 2 streaming modes",
            "dropped 1 DIT states",
            "dropped 2 SSBS states",
            "dropped 2 MTE modes",
            "dropped 2 timestamps",
            "invented 6 memory data",
        ],
    );
    let from = ledger(&["convert", &stf, &back, "--container", "raw"]);
    holds_exactly(
        &from,
        &[
            "kept 11 instructions",
            "kept 6 memory accesses",
            "kept 1 traps",
            "derived 1 trap places",
            "dropped 1 producers",
            "dropped 1 versions of producers",
            "dropped 2 declared features",
            "dropped 6 memory data",
            "dropped 1 trap details",
            "invented 1 comments",
            "invented 3 address ranges",
            "invented 1 security states",
            "invented 2 stack pointer selections",
            "invented 1 vector lengths",
            "invented 2 streaming modes",
            "invented 1 DIT states",
            "invented 1 SSBS states",
            "invented 1 MTE modes",
        ],
    );
    // All that the ledger does not name is there again.
    let pcs = |file: &str| stdout(&["dump", "--as", "pcs", "--attempted", file]);
    assert_eq!(pcs(&back), pcs(&testdata("example/example.astf")));
    // And check says what the ledger says is missing, nothing else.
    let output = trackway(&["check", &back]);
    assert_eq!(output.status.code(), Some(1));
    let found = String::from_utf8_lossy(&output.stdout).into_owned();
    let missing = ["astf.vector-length", "astf.sme-index-missing", "astf.data-abort-ea"];
    assert_eq!(found.lines().count(), missing.len(), "{found}");
    assert!(missing.iter().all(|rule| found.contains(rule)), "{found}");
    let waivers = missing.iter().flat_map(|rule| ["--waive", rule]);
    let arguments: Vec<_> = ["check", &back].into_iter().chain(waivers).collect();
    assert_eq!(trackway(&arguments).status.code(), Some(0));
}

#[test]
fn the_sample_program_goes_round_without_a_finding() {
    let folder = Folder::new("sort");
    let sort = testdata("sort.astf");
    assert_eq!(stdout(&["check", &sort]), "");
    let (stf, back) = (folder.file("y.stf"), folder.file("z.astf"));
    ledger(&["convert", &sort, &stf]);
    ledger(&["convert", &stf, &back, "--astf-level", "Basic"]);
    assert_eq!(stdout(&["check", &back]), "");
    for shape in ["pcs", "runs"] {
        let shown = |file: &str| stdout(&["dump", "--as", shape, file]);
        assert_eq!(shown(&back), shown(&sort));
    }
    let retired = stdout(&["dump", "--as", "pcs", &sort]).lines().count();
    let attempted = stdout(&["dump", "--as", "pcs", "--attempted", &sort]).lines().count();
    assert_eq!((retired, attempted), (353, 355), "two system calls");
}

#[test]
fn the_bare_metal_program_shows_its_levels() {
    let (file, elf) = (testdata("levels.astf"), testdata("../../programs/aarch64/levels.elf"));
    assert_eq!(stdout(&["check", &file]), "");
    assert!(stdout(&["info", &file]).contains("level:             BasicPlus\n"));
    let shown = stdout(&["dump", &file, "--elf", &elf]);
    for expected in [
        "eret                              <_start+0x18>",
        "svc #7                            (attempted)  <user+0x4>",
        "syscall=svc syscall_index=0x7 (SVC)",
        "mem faulting 0000000000000000 8",
        "(Data Abort from lower)",
        "(Unknown reason)",
        "kind=suspended value=0x31",
        "trap kind=interrupt cause=0x2 from=0x4008004c to=0x40080c80 (IRQ)",
        "trap kind=return",
    ] {
        assert!(shown.contains(expected), "{expected} in\n{shown}");
    }
    // There and back: what STF cannot hold is listed, the flow is the same, and check is content but for the
    // address that faulted.
    let folder = Folder::new("levels");
    let (stf, back) = (folder.file("y.stf"), folder.file("z.astf"));
    ledger(&["convert", &file, &stf]);
    let account = ledger(&["convert", &stf, &back]);
    // The no-op in place of the interrupted instruction in STF.
    assert!(account.contains("dropped 1 placeholders\n"), "{account}");
    let pcs = |file: &str| stdout(&["dump", "--as", "pcs", "--attempted", file]);
    assert_eq!(pcs(&back), pcs(&file));
    assert_eq!(stdout(&["check", &back, "--waive", "astf.data-abort-ea"]), "");
}

#[test]
fn a_basic_plus_trace_becomes_basic() {
    let folder = Folder::new("basic");
    let basic = folder.file("basic.astf");
    let account = ledger(&["convert", &testdata("example/example.astf"), &basic, "--astf-level", "Basic"]);
    assert!(account.contains("dropped 2 instructions\n"), "{account}");
    assert!(stdout(&["info", &basic]).contains("level:             Basic\n"));
    assert_eq!(stdout(&["check", &basic]), "");
}

#[test]
fn damage_is_told_with_its_place() {
    let folder = Folder::new("damage");
    let mut bytes = std::fs::read(testdata("example/example.astf")).expect("the golden file");
    bytes.truncate(100);
    std::fs::write(folder.file("cut.astf"), &bytes).expect("written");
    let output = trackway(&["dump", "--raw", &folder.file("cut.astf")]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 3, "whole records before it");
    assert!(String::from_utf8_lossy(&output.stderr).contains("0x60"));
}

#[test]
fn to_ete_with_an_exact_ledger() {
    let folder = Folder::new("astf-ete");
    let account = ledger(&["convert", &testdata("example/example.astf"), &folder.file("y.ete")]);
    holds_exactly(
        &account,
        &[
            "kept 10 instructions",
            "kept 2 branch outcomes",
            "kept 1 traps",
            "kept 2 timestamps",
            "dropped 1 comments",
            "dropped 1 declared features",
            "dropped 1 instructions",
            "dropped 1 encodings",
            "dropped 1 attempted instructions",
            "dropped 1 SME slice indices",
            "dropped 7 memory accesses",
            "dropped 3 address ranges",
            "dropped 5 checked tags",
            "dropped 1 exception classes",
            "dropped 2 stack pointer selections",
            "dropped 1 process ids",
            "dropped 1 thread ids",
            "dropped 2 vector lengths",
            "dropped 2 streaming modes",
            "dropped 1 DIT states",
            "dropped 2 SSBS states",
            "dropped 2 MTE modes",
            "invented 1 trap causes",
            "invented 1 return addresses",
            "invented 1 unsupported modes",
            "invented 1 marks",
        ],
    );
    // The kind of an interrupt is kept: IRQ becomes FIQ in a copy of the trace, and is one in ETE.
    let (raw, ete) = (folder.file("levels.astf"), folder.file("levels.ete"));
    stdout(&["convert", &testdata("levels.astf"), &raw, "--container", "raw"]);
    let mut bytes = std::fs::read(&raw).expect("the copy");
    let traps = bytes.as_chunks_mut::<32>().0.iter_mut().filter(|record| record[0] == 5);
    let irq = traps.into_iter().find(|record| record[2] == 2).expect("an IRQ");
    irq[2] = 3;
    std::fs::write(&raw, &bytes).expect("written");
    stdout(&["convert", &raw, &ete]);
    let events = stdout(&["dump", "--as", "events", &ete]);
    let interrupts = events.lines().filter(|line| line.contains("trap kind=interrupt")).collect::<Vec<_>>();
    assert!(interrupts.len() == 1 && interrupts[0].contains("cause=0xf"), "{interrupts:?}");
}

#[test]
fn ids_belong_to_the_context_that_has_them() {
    let contexts = |command: &str, file: &str| {
        let said = stdout(&[command, file]);
        said.lines().filter(|line| line.contains("non-secure")).map(str::to_string).collect::<Vec<_>>()
    };
    // The code at EL1 of the example is not a process (ASTF 5.1.14).
    for command in ["info", "stats"] {
        let said = contexts(command, &testdata("example/example.astf"));
        assert!(said.len() == 2 && said[0].contains("el0 non-secure pid 0x7208 tid 0x720d"), "{said:?}");
        assert!(said[1].contains("el1") && !said[1].contains("pid"), "{said:?}");
    }
    // Another process, and no thread is known of it: not here, and not in STF.
    let folder = Folder::new("ids");
    let (raw, stf) = (folder.file("ids.astf"), folder.file("ids.stf"));
    stdout(&["convert", &testdata("sort.astf"), &raw, "--container", "raw"]);
    let mut bytes = std::fs::read(&raw).expect("the copy");
    let contexts_of = bytes.as_chunks_mut::<32>().0.iter_mut().filter(|record| record[0] == 8);
    for (record, (flags, ids)) in contexts_of.zip([(0xc0, [7, 9]), (0x40, [8, 0])]) {
        (record[7], record[8], record[16]) = (flags, ids[0], ids[1]);
    }
    std::fs::write(&raw, &bytes).expect("written");
    let said = contexts("info", &raw);
    assert!(said.len() == 2 && said[1].ends_with("el0 non-secure pid 0x8"), "{said:?}");
    stdout(&["convert", &raw, &stf]);
    let events = stdout(&["dump", "--as", "events", &stf]);
    let ids: Vec<_> = events.lines().filter(|line| line.contains("pid=")).collect();
    assert!(ids[0].ends_with("pid=0x7 tid=0x9") && ids[1].ends_with("pid=0x8"), "{ids:?}");
}

#[test]
fn metadata_does_not_reach_the_terminal_as_it_is() {
    let folder = Folder::new("metadata");
    let file = folder.file("text.astf");
    let mut bytes = std::fs::read(testdata("example/example.astf")).expect("the golden file");
    // The first letters of "Example ASTF trace…".
    bytes[36..43].copy_from_slice(b"\x1b[31m\n\0");
    std::fs::write(&file, &bytes).expect("written");
    let said = stdout(&["info", &file]);
    assert!(said.contains("comments:          \\u{1b}[31m\\n\\u{0} ASTF tracefile"), "{said}");
    assert!(!said.contains('\x1b'));
}

#[test]
fn a_level_of_compression_that_there_is_not_is_refused() {
    let folder = Folder::new("astf-level");
    let convert = |level| {
        trackway(&["convert", &testdata(FORMS[0].0), &folder.file("x.astf"), "--container", "xz", level])
    };
    assert_eq!(convert("--level=9").status.code(), Some(0));
    for level in ["--level=10", "--level=-1"] {
        let output = convert(level);
        let said = common::text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains("is not in 0 to 9"), "{level}: {said}");
    }
}

#[test]
fn a_trace_is_not_written_over_itself() {
    let folder = Folder::new("itself");
    let file = folder.file("one.astf");
    let bytes = std::fs::read(testdata("sort.astf")).expect("the golden file");
    std::fs::write(&file, &bytes).expect("written");
    let other = folder.file("./other.astf");
    std::fs::hard_link(&file, &other).expect("linked");
    for output in [file.clone(), folder.file("./one.astf"), other] {
        let refused = trackway(&["convert", &file, &output, "--container", "zlib"]);
        assert_eq!(refused.status.code(), Some(2), "{output}: {}", common::text(&refused.stderr));
        assert!(std::fs::read(&file).expect("it is there") == bytes, "{output}");
    }
}

/// Rules that an output breaks because its source does not record what they demand are reported, and not as losses.
#[test]
fn broken_rules_are_reported() {
    let folder = Folder::new("broken-rules");
    let (stf, back) = (folder.file("a.stf"), folder.file("b.astf"));
    stdout(&["convert", &testdata("example/example.astf"), &stf, "-q"]);
    let output = trackway(&["convert", &stf, &back, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let broken: std::collections::BTreeMap<String, u64> = json["broken_rules"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (one["rule"].as_str().unwrap().to_string(), one["count"].as_u64().unwrap()))
        .collect();
    let checked: serde_json::Value =
        serde_json::from_slice(&trackway(&["check", &back, "--json"]).stdout).expect("JSON");
    let found: std::collections::BTreeMap<String, u64> = checked["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|group| group["first"][0]["severity"] == "error")
        .map(|group| (group["rule"].as_str().unwrap().to_string(), group["count"].as_u64().unwrap()))
        .collect();
    assert_eq!(broken, found);
    assert!(!broken.is_empty(), "STF does not hold everything that ASTF demands");
    let said = text(&trackway(&["convert", &stf, &folder.file("c.astf")]).stderr);
    for (rule, count) in &broken {
        assert!(said.contains(&format!("breaks {count} times {rule}: ")), "{said}");
    }
}
