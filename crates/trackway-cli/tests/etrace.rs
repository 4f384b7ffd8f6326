//! E-Trace as a user meets it: encode an STF trace, look at it, decode it, go back.

mod common;

use common::{Folder, repo, stdout};

#[test]
fn stf_there_and_back() {
    let stf = repo("testdata/stf/sort/trace.stf");
    let elf = repo("programs/riscv/sort.elf");
    let wanted = stdout(&["dump", "--as", "pcs", &stf]);
    assert!(wanted.lines().count() > 200);
    let modes = [
        ("smi", "dialect = 'v2'\nframing = 'smi'\niaddress_width = 64\n"),
        ("draft", "dialect = 'draft-1.1.1'\nframing = 'ultrasoc'\nsrcid_width = 8\niaddress_width = 64\n"),
        ("bare", "dialect = 'v2'\nframing = 'bare'\niaddress_width = 64\n"),
        (
            "modes",
            "[etrace]\ndialect = 'v2'\nframing = 'encap'\niaddress_width = 64\nsupport_layout = 'all'\n\
             return_stack_size = 3\nbpred_size = 6\ncache_size = 3\nf0s_width = 1\n\
             options = ['implicit_return', 'branch_prediction', 'jump_target_cache']\n",
        ),
    ];
    for (name, config) in modes {
        let folder = Folder::new(name);
        let (toml, trace, back) =
            (folder.file("enc.toml"), folder.file("run.etrace"), folder.file("back.stf"));
        std::fs::write(&toml, config).expect("written");
        stdout(&["convert", &stf, &trace, "--elf", &elf, "--config", &toml]);
        // The sidecar describes the trace, program included.
        assert_eq!(stdout(&["dump", "--as", "pcs", &trace]), wanted, "{name}");
        assert_eq!(stdout(&["dump", "--as", "pcs", "-j", "2", &trace]), wanted, "{name}");
        stdout(&["convert", &trace, &back]);
        assert_eq!(stdout(&["dump", "--as", "pcs", &back]), wanted, "{name}");
        let raw = stdout(&["dump", "--raw", &trace]);
        assert!(raw.lines().next().is_some_and(|line| line.contains(" 3/3 ")), "{name}: {raw}");
        assert!(raw.contains("bits saved]"), "{name}: {raw}");
        stdout(&["check", &trace]);
        let copy = folder.file("copy.etrace");
        stdout(&["convert", &trace, &copy]);
        assert_eq!(std::fs::read(&trace).unwrap(), std::fs::read(&copy).unwrap(), "{name}");
    }
}

#[test]
fn our_own_vectors_are_opened_by_their_parameters() {
    for name in ["draft", "v2-every-mode", "v2-encap-type", "draft-atb-blocks", "v2-images"] {
        let folder = repo(&format!("testdata/etrace/{name}"));
        let (trace, params) = (format!("{folder}/input"), format!("{folder}/config.toml"));
        let events = stdout(&["dump", "--as", "events", &trace, "--config", &params]);
        let wanted = std::fs::read_to_string(format!("{folder}/expect.events")).unwrap();
        assert_eq!(events, wanted, "{name}");
    }
}

/// The numbers of a group of `stats --json`.
fn numbers(trace: &str, group: &str) -> serde_json::Map<String, serde_json::Value> {
    let json: serde_json::Value = serde_json::from_str(&stdout(&["stats", "--json", trace])).expect("JSON");
    assert_eq!(json["trackway"]["kind"], "stats");
    json[group].as_object().expect("a group").clone()
}

/// Data trace from a recording and back: the same loads, stores and atomics, with addresses and data.
#[test]
fn data_trace_there_and_back() {
    let folder = Folder::new("etrace-data");
    let elf = repo("programs/riscv/elf/rv64-atomic.elf");
    let stf = folder.file("run.stf");
    stdout(&["record", &elf, "-o", &stf]);
    // Instructions with their loads and stores, addresses and data; E-Trace has no other registers.
    let listing = |trace: &str| {
        let text = stdout(&["dump", trace]);
        let kept = text.lines().filter(|line| !line.trim_start().starts_with("reg "));
        kept.map(str::to_string).collect::<Vec<_>>()
    };
    let wanted = listing(&stf);
    assert!(wanted.iter().filter(|line| line.contains("mem ") && line.contains(" = ")).count() > 100);
    for (name, data) in
        [("unified", "[data]\n"), ("split", "lrid_width = 3\n[data]\nsplit = true\nlatency = 4\n")]
    {
        let (toml, trace, back) = (
            folder.file(&format!("{name}.toml")),
            folder.file(&format!("{name}.etrace")),
            folder.file(&format!("{name}.stf")),
        );
        std::fs::write(&toml, format!("dialect = 'v2'\niaddress_width = 64\n{data}")).expect("written");
        stdout(&["convert", &stf, &trace, "--elf", &elf, "--config", &toml]);
        stdout(&["check", &trace]);
        stdout(&["convert", &trace, &back]);
        let raw = stdout(&["dump", "--raw", &trace]);
        assert!(raw.contains(" store ") && raw.contains("atomic"), "{raw}");
        assert_eq!(listing(&back), wanted, "{name}");
        // STF splits atomics; counts and bytes do not depend on that.
        let (from, to) = (numbers(&stf, "memory"), numbers(&trace, "memory"));
        for key in ["bytes_read", "bytes_written"] {
            assert_eq!(from[key], to[key], "{name}: {key}");
        }
        assert_eq!(to["without_an_address"], 0);
        assert!(to["atomics"].as_u64() > Some(10), "{to:?}");
        assert_eq!(numbers(&stf, "memory")["bytes_read"], numbers(&back, "memory")["bytes_read"]);
        let text = stdout(&["stats", &trace]);
        assert!(text.contains("loads") && text.contains("health:"), "{text}");
    }
    // Without addresses, dump says so.
    let (toml, trace) = (folder.file("data-only.toml"), folder.file("data-only.etrace"));
    std::fs::write(&toml, "iaddress_width = 64\noptions = ['no_address']\n[data]\n").expect("written");
    stdout(&["convert", &stf, &trace, "--elf", &elf, "--config", &toml]);
    assert!(stdout(&["dump", &trace]).lines().any(|line| line.contains("mem write ?")));
    assert_eq!(numbers(&trace, "memory")["lines_of_64_bytes_touched"], 0);
}

/// Filters in the encoder's TOML: what is traced is in the range, and stores only.
#[test]
fn filters_of_the_encoder() {
    let folder = Folder::new("etrace-filters");
    let (stf, elf) = (repo("testdata/stf/sort/trace.stf"), repo("programs/riscv/sort.elf"));
    let all = stdout(&["dump", "--as", "pcs", &stf]);
    let mut sorted: Vec<&str> = all.lines().collect();
    sorted.sort_unstable();
    let (low, high) = (sorted[sorted.len() / 3], sorted[sorted.len() * 2 / 3]);
    let (toml, trace) = (folder.file("enc.toml"), folder.file("run.etrace"));
    let config = format!(
        "iaddress_width = 64\nifilters = [0]\ndfilters = [1]\n[data]\n\
         [[comparator]]\np_function = '>='\np_match = '0x{low}'\ns_function = '<='\ns_match = '0x{high}'\n\
         match_mode = 'p && s'\n[[filter]]\ncomp1 = 0\n[[filter]]\ncomp1 = 0\ndtype = ['store']\n"
    );
    std::fs::write(&toml, config).expect("written");
    stdout(&["convert", &stf, &trace, "--elf", &elf, "--config", &toml]);
    let wanted: Vec<&str> = all.lines().filter(|pc| (low..=high).contains(pc)).collect();
    let traced = stdout(&["dump", "--as", "pcs", &trace]);
    assert_eq!(traced.lines().collect::<Vec<_>>(), wanted);
    let memory = numbers(&trace, "memory");
    assert_eq!((&memory["loads"], &memory["atomics"]), (&0.into(), &0.into()));
    stdout(&["check", &trace]);
}
