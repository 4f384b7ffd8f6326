//! `slice`, `split`, `merge` and work items from outside.

mod common;

use common::{Folder, repo, stdout, text, trackway};

/// Runs a command that has to succeed.
fn fine(args: &[&str]) -> String {
    let output = trackway(args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout).to_string()
}

/// The same counts by one pass and by items, as text and as JSON, on one thread and on two.
fn items_add_up(folder: &Folder, trace: &str, options: &[&str], parts: &str) -> usize {
    let plan = fine(&[&["split", trace, "--plan", "--parts", parts, "-q"], options].concat());
    let mut results = Vec::new();
    for (n, line) in plan.lines().enumerate() {
        let (item, result) = (folder.file(&format!("{n}.item")), folder.file(&format!("{n}.json")));
        std::fs::write(&item, line).unwrap();
        fine(&["stats", "--item", &item, "-o", &result]);
        // The last one first: they carry their place.
        results.insert(0, result);
    }
    let results: Vec<&str> = results.iter().map(String::as_str).collect();
    for shape in [&[][..], &["--json"], &["--top", "3"]] {
        let merged = fine(&[&["stats"], shape, &["--merge"], &results].concat());
        for jobs in ["1", "2"] {
            let whole = fine(&[&["stats", trace, "-j", jobs], shape, options].concat());
            assert_eq!(merged, whole, "{trace} in {} items", results.len());
        }
    }
    if results.len() > 1 {
        let output = trackway(&[&["stats", "--merge"], &results[1..]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("is missing"), "{}", text(&output.stderr));
    }
    results.len()
}

#[test]
fn counts_of_items_add_up() {
    let folder = Folder::new("cut-items");
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    let [stf, zstf, tandem, etrace] = ["a.stf", "a.zstf", "a.tv", "a.etrace"].map(|name| folder.file(name));
    fine(&["record", &elf, "-o", &stf, "--limit", "30000", "-q"]);
    fine(&["convert", &stf, &zstf, "--chunk", "3000", "-q", "--no-prove"]);
    fine(&["convert", &stf, &tandem, "-q", "--no-prove"]);
    fine(&["convert", &stf, &etrace, "--elf", &elf, "-q", "--no-prove"]);
    for (trace, options) in [(&stf, &["--elf", &*elf][..]), (&zstf, &[]), (&tandem, &[]), (&etrace, &[])] {
        assert!(items_add_up(&folder, trace, options, "5") > 1, "{trace}: one item only");
    }
    for trace in ["testdata/ete/count", "testdata/astf/sort.astf", "testdata/stf/everything/trace.stf"] {
        items_add_up(&folder, &repo(trace), &[], "3");
    }
}

#[test]
fn a_slice_starts_with_the_state_at_its_place() {
    let folder = Folder::new("cut-slice");
    let (trace, out) = (repo("testdata/stf/sort/trace.stf"), folder.file("part.stf"));
    fine(&["slice", &trace, &out, "--from", "100", "--to", "150", "-q"]);
    let whole = stdout(&["dump", "--as", "pcs", "--attempted", &trace]);
    let expected: Vec<&str> = whole.lines().skip(100).take(50).collect();
    let part = stdout(&["dump", "--as", "pcs", "--attempted", &out]);
    assert_eq!(part.lines().collect::<Vec<_>>(), expected);
    let dump = stdout(&["dump", &out, "--limit", "2"]);
    assert!(dump.contains("context privilege=u pid=0x1") && dump.contains("reg x10   state"), "{dump}");
    assert!(stdout(&["info", &out]).contains("\"ranges\":[[100,150]]"));
    fine(&["check", &out]);
    // Several ranges: a gap between them says how much is missing.
    let args = ["slice", &trace, &out, "--from", "10", "--to", "20", "--from", "50", "--to", "60", "-q"];
    fine(&args);
    let events = stdout(&["dump", "--as", "events", &out]);
    let gaps: Vec<&str> = events.lines().filter(|line| line.contains(" gap ")).collect();
    assert_eq!(gaps.len(), 1, "{events}");
    assert!(gaps[0].contains("reason=filtered") && gaps[0].contains("instructions=0x1e"), "{gaps:?}");
    // Another format; convert does the same.
    let (sliced, converted) = (folder.file("a.tv"), folder.file("b.tv"));
    fine(&["slice", &trace, &sliced, "--from", "100", "--to", "150", "-q"]);
    fine(&["convert", &trace, &converted, "--from", "100", "--to", "150", "-q"]);
    assert_eq!(std::fs::read(&sliced).unwrap(), std::fs::read(&converted).unwrap());
    for (args, why) in [
        (&["--from", "20", "--to", "10"][..], "nothing is between them"),
        (&["--from", "0", "--to", "30", "--from", "20", "--to", "40"], "overlap"),
        (&["--from", "0", "--from", "20", "--to", "40"], "need both"),
        (&["--every", "10", "--length", "20"], "not possible"),
        (&["--context", "colour=red"], "not a key"),
        (&["--from", "1000"], "nothing to slice"),
        (&[], "what to keep"),
    ] {
        let output = trackway(&[&["slice", &trace, &out], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(why), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn parts_are_joined_byte_for_byte() {
    let folder = Folder::new("cut-parts");
    let trace = repo("testdata/stf/sort/trace.stf");
    let (parts, whole) = (folder.file("parts"), folder.file("whole.stf"));
    let names = fine(&["split", &trace, &parts, "--parts", "4"]);
    let names: Vec<&str> = names.lines().collect();
    assert_eq!(names.len(), 4);
    assert!(names.is_sorted() && names[0].ends_with("trace.part-1.stf"), "{names:?}");
    for name in &names {
        fine(&["check", name]);
    }
    fine(&[&["merge", &whole, "-q"], &names[..]].concat());
    assert_eq!(std::fs::read(&whole).unwrap(), std::fs::read(&trace).unwrap());
    // Slices join too, into any format.
    let [a, b, joined] = ["a.stf", "b.stf", "joined.tv"].map(|name| folder.file(name));
    fine(&["slice", &trace, &a, "--to", "70", "-q"]);
    fine(&["slice", &trace, &b, "--from", "70", "-q"]);
    fine(&["merge", &joined, &b, &a, "-q"]);
    let pcs = |path: &str| stdout(&["dump", "--as", "pcs", "--attempted", path]);
    assert_eq!(pcs(&joined), pcs(&trace));
    for (inputs, why) in [
        (&[names[0], names[2], names[3]][..], "part 2 of 4 is missing"),
        (&[&*a, names[0]], "do not join"),
        (&[&*trace], "does not say which part"),
    ] {
        let output = trackway(&[&["merge", &whole], inputs].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{said}");
    }
}
