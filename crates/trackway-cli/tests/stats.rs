//! `stats`: what it prints, which is the same for any number of threads.

mod common;

use common::{Folder, repo, stdout, trackway};

/// The same output for one thread and for several; gives it.
fn for_any_jobs(args: &[&str]) -> String {
    let [one, two, five] = ["1", "2", "5"].map(|jobs| stdout(&[args, &["--jobs", jobs]].concat()));
    assert_eq!(one, two, "{args:?}: two threads");
    assert_eq!(one, five, "{args:?}: five threads");
    one
}

/// Text and JSON.
fn same(args: &[&str]) {
    let text = for_any_jobs(&[&["stats"], args].concat());
    assert!(text.starts_with("instructions\n"), "{text}");
    for_any_jobs(&[&["stats", "--json"], args].concat());
    let with = for_any_jobs(&[&["stats", "--with", "all"], args].concat());
    // The counts that are always there are those of the other reading.
    let counts = text.rsplit_once("health: ").expect("a last line").0;
    assert!(with.starts_with(counts), "{args:?}: {with}");
    for_any_jobs(&[&["info"], args].concat());
}

/// Several files are counted one after the other; one that cannot be read does not hide the others.
#[test]
fn several_files_have_their_own_counts() {
    let files = ["testdata/stf/sort/trace.stf", "testdata/astf/sort.astf"].map(repo);
    let [first, second] = [&files[0], &files[1]];
    let both = stdout(&["stats", first, second]);
    let wanted: String =
        [first, second].iter().map(|file| format!("file: {file}\n{}", stdout(&["stats", file]))).collect();
    assert_eq!(both, wanted);
    let output = trackway(&["stats", "--json", first, "/nonexistent", second]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 3);
}

/// Instructions by context are those of the contexts.
#[test]
fn by_context_is_exact() {
    for trace in ["testdata/astf/levels.astf", "testdata/stf/everything/trace.stf"] {
        let stats = stdout(&["stats", "--json", "--by", "context", "--top", "1000", &repo(trace)]);
        let stats: serde_json::Value = serde_json::from_str(&stats).expect("JSON");
        let rows = |group: &str, count: &str| {
            let mut rows: Vec<(String, u64)> = stats[group]
                .as_array()
                .expect("rows")
                .iter()
                .map(|row| {
                    (row["name"].as_str().expect("a name").to_string(), row[count].as_u64().expect("a count"))
                })
                .collect();
            rows.sort();
            rows
        };
        assert_eq!(rows("contexts", "count"), rows("by_context", "instructions"), "{trace}");
    }
}

/// A gap taints the counts, and only a gap.
#[test]
fn a_gap_is_said_to_taint_the_counts() {
    let tainted = |trace: &str| stdout(&["stats", &repo(trace)]).contains("no count has what a gap hides");
    assert!(tainted("testdata/ete/count"), "it has a gap");
    assert!(!tainted("testdata/stf/sort/trace.stf"), "it has none");
}

/// Facts that a trace does not hold are not shown as zero.
#[test]
fn what_is_not_in_the_trace_is_null() {
    let args = ["stats", "--json", "--with", "all", "--by", "function,line", &repo("testdata/ete/count")];
    let stats: serde_json::Value = serde_json::from_str(&stdout(&args)).expect("JSON");
    for group in ["functions", "lines", "reuse", "strides", "sharing"] {
        assert!(stats[group].is_null() && stats.get(group).is_some(), "{group}");
    }
    assert!(stats["predictors"]["list"][4]["predictions"].is_null(), "no indirect jumps");
    assert_eq!(stats["loops"]["gaps"], 1);
}

#[test]
fn stf_is_the_same_for_any_number_of_threads() {
    let folder = Folder::new("stats-stf");
    for case in ["everything", "sort"] {
        let (plain, chunked) = (repo(&format!("testdata/stf/{case}/trace.stf")), folder.file("chunked.zstf"));
        stdout(&["convert", &plain, &chunked, "--chunk", "7"]);
        let text = for_any_jobs(&["stats", &chunked]);
        assert_eq!(text, stdout(&["stats", &plain]), "{case}: in chunks and in one piece");
        same(&[&chunked]);
        same(&[&chunked, "--elf", &repo("programs/riscv/sort.elf")]);
    }
}

/// The instruction set changes in a chunk, and those behind it are of the new one.
#[test]
fn a_chunk_is_decoded_by_what_came_before() {
    let folder = Folder::new("stats-iem");
    let mut bytes = std::fs::read(repo("testdata/stf/sort/trace.stf")).expect("a trace");
    bytes.truncate(0x76);
    assert_eq!(bytes.last(), Some(&19), "END_HEADER");
    // INST_OPCODE16 of c.addiw a0, 1 on RV64, and of c.jal on RV32; INST_IEM RV32 between them.
    let opcodes = [241, 0x05, 0x25].repeat(10);
    bytes.extend([&opcodes[..], &[5, 1, 0], &opcodes, &opcodes].concat());
    let (plain, chunked) = (folder.file("changes.stf"), folder.file("changes.zstf"));
    std::fs::write(&plain, bytes).expect("it is written");
    stdout(&["convert", &plain, &chunked, "--chunk", "7"]);
    let text = for_any_jobs(&["stats", &chunked]);
    assert_eq!(text, stdout(&["stats", &plain]));
    let classes = [
        "  call                                         20\n",
        "  integer                                      10\n",
    ];
    assert!(classes.iter().all(|class| text.contains(class)), "{text}");
}

#[test]
fn astf_is_the_same_for_any_number_of_threads() {
    for case in ["sort.astf", "example/example.astf", "example/example-zlib.astf"] {
        same(&[&repo(&format!("testdata/astf/{case}"))]);
    }
}

#[test]
fn etrace_is_the_same_for_any_number_of_threads() {
    let mut cases = 0;
    for case in std::fs::read_dir(repo("testdata/etrace")).expect("cases") {
        let folder = case.expect("a case").path();
        let [trace, config] = ["input", "config.toml"].map(|name| folder.join(name).display().to_string());
        same(&[&trace, "--config", &config]);
        cases += 1;
    }
    assert!(cases > 5, "{cases}");
}

#[test]
fn ete_is_the_same_for_any_number_of_threads() {
    same(&[&repo("testdata/ete/count")]);
}

#[test]
fn tandem_is_the_same_for_any_number_of_threads() {
    let folder = Folder::new("stats-tandem");
    let trace = folder.file("sort.tandem");
    // The program ends with a code of its own.
    assert_eq!(trackway(&["record", &repo("programs/riscv/sort.elf"), "-o", &trace]).status.code(), Some(1));
    same(&[&trace]);
}

/// Its layout.
#[test]
fn the_text_is_as_documented() {
    let expected =
        std::fs::read_to_string(repo("testdata/stf/sort/expect.stats")).expect("what it should print");
    assert_eq!(stdout(&["stats", &repo("testdata/stf/sort/trace.stf")]), expected);
}
