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
    let (mut results, mut asked) = (Vec::new(), Vec::new());
    for (n, line) in plan.lines().enumerate() {
        let [item, result, with] = ["item", "json", "all.json"].map(|end| folder.file(&format!("{n}.{end}")));
        std::fs::write(&item, line).unwrap();
        fine(&["stats", "--item", &item, "-o", &result]);
        fine(&["stats", "--item", &item, "--with", "all", "-o", &with]);
        // The last one first: they carry their place.
        results.insert(0, result);
        asked.insert(0, with);
    }
    let [results, asked] = [&results, &asked].map(|list| Vec::from_iter(list.iter().map(String::as_str)));
    let merged = fine(&[&["stats", "--merge"], &asked[..]].concat());
    for jobs in ["1", "2"] {
        let whole = fine(&[&["stats", trace, "-j", jobs, "--with", "all"], options].concat());
        assert_eq!(merged, whole, "{trace} in {} items, with all analyses", results.len());
    }
    let output = trackway(&[&["stats", "--with", "loops", "--merge"], &asked[..]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("needed are: loops"), "{}", text(&output.stderr));
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

/// The same for every trace that is there, in random numbers of items; `TRACKWAY_SEEDS=100..400` for others.
#[test]
fn counts_of_random_items_add_up() {
    let folder = Folder::new("cut-random");
    let both = folder.file("both.ete");
    let [sort, levels] = ["testdata/astf/sort.astf", "testdata/astf/levels.astf"].map(repo);
    fine(&["merge", &both, &sort, &levels, "--by", "time", "-q"]);
    let mut traces = vec![(both, None), (levels, None)];
    traces.extend(
        ["testdata/stf/sort/trace.stf", "testdata/tandem/sort/trace.tv"].map(|path| (repo(path), None)),
    );
    for case in ["v2-every-mode", "draft-atb-blocks", "v2-encap-type"] {
        let file = |name: &str| repo(&format!("testdata/etrace/{case}/{name}"));
        traces.push((file("input"), Some(file("config.toml"))));
    }
    if let Some(corpus) = trackway_testkit::corpus() {
        let file = |name: &str| corpus.join(name).display().to_string();
        let plain =
            ["stf/stf_lib_1.6_golden.zstf", "stf/bmi_pmp.bare.stf", "ete/ete_spec_1", "astf/fiq.astf"];
        traces.extend(plain.map(|name| (file(name), None)));
        for case in ["ref-traps", "gen-traps-encap"] {
            traces.push((
                file(&format!("etrace/{case}/trace.bin")),
                Some(file(&format!("etrace/{case}/params.toml"))),
            ));
        }
    }
    let seeds = std::env::var("TRACKWAY_SEEDS").unwrap_or_else(|_| "0..1".into());
    let (from, to) = seeds.split_once("..").expect("TRACKWAY_SEEDS=FROM..TO");
    for seed in from.parse::<u64>().unwrap()..to.parse().unwrap() {
        let mut random = trackway_core::SplitMix64(seed);
        for (trace, config) in &traces {
            let options: Vec<&str> = config.iter().flat_map(|config| ["--config", config]).collect();
            let parts = (random.next_u64() % 20 + 1).to_string();
            items_add_up(&folder, trace, &options, &parts);
        }
    }
}

#[test]
fn options_that_an_item_has_already_are_refused() {
    let folder = Folder::new("cut-refused");
    let (trace, item, out) =
        (repo("testdata/stf/sort/trace.stf"), folder.file("1.item"), folder.file("1.json"));
    std::fs::write(&item, fine(&["split", &trace, "--plan", "--parts", "1"])).unwrap();
    fine(&["stats", "--item", &item, "-o", &out]);
    for (command, option) in [
        (&["stats", &trace, "-o", "x"][..], "--output"),
        (&["stats", "--merge", &out, "-o", "x"], "--output"),
        (&["stats", "--item", &item, "--elf", &trace], "--elf"),
        (&["stats", "--item", &item, "--source", "a"], "--source"),
        (&["stats", "--format", "stf", "--merge", &out], "--format"),
        (&["stats", "--write-pointer", "3", "--merge", &out], "--write-pointer"),
    ] {
        let output = trackway(command);
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        assert!(text(&output.stderr).contains(option), "{command:?}: {}", text(&output.stderr));
    }
    // Another trace under its name.
    let copy = folder.file("copy.stf");
    std::fs::copy(&trace, &copy).unwrap();
    let counted = std::fs::read_to_string(&out).unwrap().replace(&trace, &copy);
    std::fs::write(&out, counted).unwrap();
    fine(&["stats", "--merge", &out]);
    fine(&["slice", &trace, &copy, "--from", "1", "-q"]);
    let output = trackway(&["stats", "--merge", &out]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
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

/// Ranges, samples, contexts and sources, in every format: the instructions, where they are from, and nothing new in check.
#[test]
fn every_kind_of_slice_reads_back() {
    let folder = Folder::new("cut-slices");
    let [etrace, both] = ["sort.etrace", "both.ete"].map(|name| folder.file(name));
    let [stf, tandem, sort, levels, elf] = [
        "testdata/stf/sort/trace.stf",
        "testdata/tandem/sort/trace.tv",
        "testdata/astf/sort.astf",
        "testdata/astf/levels.astf",
        "programs/riscv/sort.elf",
    ]
    .map(repo);
    fine(&["convert", &stf, &etrace, "--elf", &elf, "-q"]);
    fine(&["merge", &both, &sort, &levels, "--by", "time", "-q"]);
    let rules = |trace: &str| -> std::collections::BTreeSet<String> {
        let found = text(&trackway(&["check", "--json", trace]).stdout);
        let found: serde_json::Value = serde_json::from_str(found.lines().next().unwrap()).unwrap();
        let findings = found["findings"].as_array().cloned().unwrap_or_default();
        findings.iter().map(|finding| finding["rule"].to_string()).collect()
    };
    for (trace, source, level) in [
        (&stf, &[][..], "u"),
        (&tandem, &[], "u"),
        (&sort, &[], "el0"),
        (&levels, &[], "el1"),
        (&etrace, &[], "u"),
        (&both, &["--source", "ETE_0"], "el0"),
        (&both, &["--source", "ETE_1"], "el1"),
    ] {
        let out = folder.file(&format!("out.{}", trace.rsplit('.').next().unwrap()));
        let shown = |path: &str, options: &[&str]| -> Vec<String> {
            let args = [&["dump", "--as", "pcs", "--attempted", path], options].concat();
            stdout(&args).lines().map(String::from).collect()
        };
        let (whole, broken) = (shown(trace, source), rules(trace));
        let is = format!("privilege={level}");
        let kept = |numbers: &dyn Fn(usize) -> bool| -> Vec<String> {
            (0..whole.len()).filter(|n| numbers(*n)).map(|n| whole[n].clone()).collect()
        };
        for (args, provenance, expected) in [
            (&["--from", "10", "--to", "40"][..], "\"ranges\":[[10,40]]", kept(&|n| (10..40).contains(&n))),
            (
                &["--from", "3", "--to", "9", "--from", "30", "--to", "44"],
                "\"ranges\":[[3,9],[30,44]]",
                kept(&|n| (3..9).contains(&n) || (30..44).contains(&n)),
            ),
            (&["--every", "20", "--length", "5"], "\"sample\":[20,5]", kept(&|n| n % 20 < 5)),
            (
                &["--from", "5", "--to", "31", "--every", "9", "--length", "2"],
                "\"sample\":[9,2]",
                kept(&|n| (5..31).contains(&n) && (n - 5) % 9 < 2),
            ),
            (&["--context", &is], "\"contexts\":[[\"privilege\"", Vec::new()),
        ] {
            fine(&[&["slice", trace, &out, "-q"], source, args].concat());
            let part = shown(&out, &[]);
            if expected.is_empty() {
                // As many as the levels of the whole say.
                assert!(!part.is_empty() && part.len() <= whole.len(), "{trace} {args:?}");
                assert!(part.iter().all(|pc| whole.contains(pc)), "{trace} {args:?}");
            } else {
                assert_eq!(part, expected, "{trace} {args:?}");
            }
            let beside = [format!("{out}.toml"), format!("{out}/trackway.toml")];
            let beside = beside.iter().find_map(|path| std::fs::read_to_string(path).ok());
            let said = stdout(&["info", &out]) + &beside.unwrap_or_default();
            assert!(
                said.contains("trackway cut: {\"slice\"") && said.contains(provenance),
                "{trace}: {said}"
            );
            let more: Vec<String> = rules(&out).difference(&broken).cloned().collect();
            assert!(more.is_empty(), "{trace} {args:?} breaks {more:?}");
        }
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

#[test]
fn traces_of_several_sources_are_merged_by_time_and_proved() {
    let folder = Folder::new("cut-time");
    let [sort, levels] = ["testdata/astf/sort.astf", "testdata/astf/levels.astf"].map(repo);
    let (both, three, picked) =
        (folder.file("both.ete"), folder.file("three.ete"), folder.file("picked.ete"));
    let merge = |args: &[&str]| -> serde_json::Value {
        serde_json::from_str(&fine(&[&["merge", "--by", "time", "--json"], args].concat())).unwrap()
    };
    let merged = merge(&[&both, &sort, &levels]);
    assert_eq!(merged["proved"], true, "{merged}");
    let count = |what: &str| -> u64 {
        let entries = merged["ledger"].as_array().unwrap().iter();
        entries.filter(|entry| entry["what"] == what).map(|entry| entry["count"].as_u64().unwrap()).sum()
    };
    // The comments of both.
    assert_eq!((count("timestamps"), count("comments")), (14, 3), "{merged}");
    // Sources that have names in the input, one of them twice.
    assert_eq!(merge(&[&three, &both, &both, "--source", "ETE_1"])["proved"], true);
    assert_eq!(merge(&[&picked, &levels, &both])["proved"], true);
    let pcs = |trace: &str, source: &[&str]| fine(&[&["dump", "--as", "pcs", trace], source].concat());
    assert_eq!(pcs(&both, &["--source", "ETE_0"]), pcs(&sort, &[]));
    assert_eq!(pcs(&both, &["--source", "ETE_1"]), pcs(&levels, &[]));
    // A format of one source.
    let output = trackway(&["merge", &folder.file("no.astf"), &sort, &levels, "--by", "time"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}
