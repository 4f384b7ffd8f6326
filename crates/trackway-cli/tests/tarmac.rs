//! Tarmac logs through the whole program: the commands of the guide, dialects beside each other, conversions that hold.

mod common;

use common::{Folder, piped, repo, stdout, text, trackway};

fn sample(name: &str) -> String {
    repo(&format!("testdata/tarmac/{name}/trace.tarmac"))
}

/// Logs of one program in several dialects, with the program where it is there.
fn programs() -> Vec<(Vec<String>, Option<String>)> {
    let mut all = vec![(["loop-fast-models", "loop-es", "loop-gem5"].map(sample).to_vec(), None)];
    if let Some(corpus) = trackway_testkit::corpus_part("logs/tarmac") {
        let path = |name: &str| corpus.join(name).display().to_string();
        let logs = |isa: &str, dialects: &[&str]| {
            dialects.iter().map(|dialect| path(&format!("calculator-{isa}-{dialect}.tarmac"))).collect()
        };
        let elf = |isa: &str| Some(path(&format!("calculator-{isa}.elf")));
        all.push((logs("aarch64", &["fastmodel", "es-ld-st-style", "gem5"]), elf("aarch64")));
        all.push((logs("aarch32", &["fastmodel", "es-ld-st-style"]), elf("aarch32")));
    }
    all
}

#[test]
fn dialects_differ_in_what_one_of_them_lacks_only() {
    for (logs, _) in programs() {
        for (n, one) in logs.iter().enumerate() {
            for other in &logs[n + 1..] {
                let report = stdout(&["diff", one, other]);
                assert!(report.starts_with("equal: "), "{one} {other}: {report}");
                assert!(report.contains("not compared: times: the units differ"), "{report}");
            }
        }
    }
}

#[test]
fn conversions_hold_what_they_say() {
    let folder = Folder::new("tarmac-convert");
    for (logs, elf) in programs() {
        for (n, log) in logs.iter().enumerate() {
            for end in ["stf", "astf", "ete"] {
                let out = folder.file(&format!("out-{n}.{end}"));
                let mut args = vec!["convert", log, &out];
                args.extend(elf.iter().flat_map(|elf| ["--elf", elf]));
                let output = trackway(&args);
                let ledger = text(&output.stdout) + &text(&output.stderr);
                if end == "astf" && log.contains("aarch32") {
                    assert_eq!(output.status.code(), Some(2), "{ledger}");
                    assert!(ledger.contains("A64 instructions only"), "{ledger}");
                    continue;
                }
                assert!(output.status.success() && ledger.contains("proved: "), "{args:?}: {ledger}");
                assert!(ledger.contains("dropped") && ledger.contains("register writes"), "{ledger}");
            }
        }
    }
    // A copy has the same bytes; into Tarmac nothing is converted.
    let (log, copy) = (sample("thumb-es"), folder.file("copy.tarmac"));
    stdout(&["convert", &log, &copy]);
    assert_eq!(std::fs::read(&log).unwrap(), std::fs::read(&copy).unwrap());
    let refused = trackway(&["convert", &repo("testdata/astf/sort.astf"), &folder.file("no.tarmac")]);
    assert!(!refused.status.success() && text(&refused.stderr).contains("Tarmac is read, not written"));
}

#[test]
fn the_first_minute() {
    let folder = Folder::new("tarmac-minute");
    for (logs, elf) in programs() {
        for log in &logs {
            let info = stdout(&["info", log]);
            assert!(info.contains("tarmac") && info.contains("gaps:              0"), "{info}");
            let stats = stdout(&["stats", log]);
            assert!(stats.contains("branches") && stats.contains("with data"), "{stats}");
            assert!(!stdout(&["find", log, "--class", "store", "--count"]).trim().is_empty());
            assert!(stdout(&["state", log, "--at", "12"]).contains("registers"));
            let svg = folder.file("flame.svg");
            let mut args = vec!["flame", log, "-o", &svg, "-q"];
            args.extend(elf.iter().flat_map(|elf| ["--elf", elf]));
            stdout(&args);
            assert!(std::fs::metadata(&svg).unwrap().len() > 1000, "{log}");
            // From a pipe as from a file.
            let bytes = std::fs::read(log).unwrap();
            let piped = text(&piped(&["stats", "-"], &bytes).stdout);
            assert_eq!(piped, stats, "{log}");
        }
    }
    let (cores, one) = (sample("two-cores"), ["--source", "core.cpu1"]);
    assert!(stdout(&["info", &cores]).contains("core.cpu0"));
    let dump = stdout(&["dump", &cores, one[0], one[1], "--as", "pcs"]);
    assert_eq!(dump.lines().count(), 3, "{dump}");
    let forced = trackway(&["info", &cores, "--source", "core.cpu7"]);
    assert!(text(&forced.stderr).contains("core.cpu0, core.cpu1"), "{}", text(&forced.stderr));
}
