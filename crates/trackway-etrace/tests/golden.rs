//! Our own vectors, for subjects that those of others lack: the draft, formats 0/0, 0/1, 3/2, watchpoints, depths,
//! traps without a handler, other framings and support layouts.
//!
//! A case is a folder in `testdata/etrace`: `program` at 0x8000, `config.toml`, `input`, `expect.items` (as
//! `dump --raw` shows them) and `expect.events` (as `dump --as events` shows them). `TRACKWAY_BLESS=1` rewrites
//! them.

mod common;

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use trackway_core::*;
use trackway_etrace::transport::Framing;
use trackway_etrace::{Config, Dialect, ImageRule, Lower, ResyncMode, SupportLayout, lift};
use trackway_image::{Image, Space};
use trackway_testkit::lines::text;
use trackway_testkit::random::{Numbers, Program, Rates, Walk};

struct Case {
    name: &'static str,
    seed: u64,
    rates: Rates,
    set: fn(&mut Config),
    /// Words that the packets must show, so that the case covers its subject.
    shows: &'static [&'static str],
}

const ALL: Rates = Rates {
    exception: 30,
    interrupt: 30,
    stray_return: 4,
    privilege: true,
    context: 40,
    notify: 25,
    steady: true,
    vector: false,
};

const QUIET: Rates = Rates { exception: 0, interrupt: 0, privilege: false, context: 0, notify: 0, ..ALL };

fn every_mode(config: &mut Config) {
    let params = &mut config.params;
    (params.sijump, params.f0s_width, params.bpred_size, params.cache_size) = (1, 1, 5, 3);
    params.return_stack_size = 2;
    config.options.sijump = true;
    config.options.implicit_return = true;
    config.options.branch_prediction = true;
    config.options.jump_target_cache = true;
}

const CASES: &[Case] = &[
    Case {
        name: "draft",
        seed: 0,
        rates: ALL,
        set: |config| config.params.iaddress_width = 32,
        shows: &["tvalepc=", " 3/1 ", " 3/2 ", "NOTIFY"],
    },
    Case {
        name: "draft-every-mode",
        seed: 708,
        rates: ALL,
        set: every_mode,
        shows: &["tvalepc=", " 0/0 ", " 0/1 ", "IRREPORT"],
    },
    Case {
        name: "v2-every-mode",
        seed: 708,
        rates: ALL,
        set: every_mode,
        shows: &[" 0/0 ", " 0/1 ", " 3/2 ", "NOTIFY", "IRREPORT", "thaddr=0", "UPDISCON"],
    },
    Case {
        name: "v2-counter-pulp",
        seed: 708,
        rates: ALL,
        set: |config| {
            every_mode(config);
            (config.params.return_stack_size, config.params.call_counter_size) = (0, 3);
            config.support = SupportLayout::named("pulp").unwrap();
        },
        shows: &[" 0/0 ", " 0/1 ", "IRREPORT"],
    },
    Case {
        name: "v2-hardware-like",
        seed: 0,
        rates: QUIET,
        set: |config| config.encoder.exact = false,
        shows: &["ended_"],
    },
    Case {
        name: "v2-encap-type",
        seed: 0,
        rates: ALL,
        set: |config| {
            config.framing = Framing::Encap { srcid_width: 6, type_width: 2, timestamp_bytes: 3 };
            config.encoder.source = 9;
            config.encoder.stamps = true;
            (config.params.time_width, config.params.notime) = (16, 0);
        },
        shows: &["src=9", "stamp=", "time="],
    },
    Case {
        name: "draft-ultrasoc",
        seed: 0,
        rates: QUIET,
        set: |config| config.framing = Framing::Ultrasoc { index_width: 8 },
        shows: &["src=0"],
    },
    Case {
        name: "draft-atb-blocks",
        seed: 0,
        rates: ALL,
        set: |config| {
            config.framing = Framing::Atb { align: 4 };
            config.block_size = 64;
        },
        shows: &["null.idle"],
    },
    Case {
        name: "v2-ended-upd",
        seed: 6,
        rates: QUIET,
        set: |config| config.encoder.resync_mode = ResyncMode::Off,
        shows: &["ended_upd"],
    },
];

fn folder(case: &Case) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/etrace")).join(case.name)
}

fn config(case: &Case) -> Config {
    let dialect = if case.name.starts_with("draft") { Dialect::Draft } else { Dialect::V2 };
    let mut config = Config::new(dialect);
    config.support = SupportLayout::named("all").unwrap();
    config.params.iaddress_width = 64;
    (config.params.nocontext, config.params.context_width, config.params.ctype_width) = (0, 8, 2);
    config.images = vec![ImageRule { path: "program".into(), address: Some(0x8000), ..ImageRule::default() }];
    config.encoder.resync_interval = Some(40);
    (case.set)(&mut config);
    config
}

fn encode(case: &Case, config: &Config) -> (Program, Vec<u8>) {
    let numbers = &mut Numbers(case.seed);
    let program = Program::new(numbers, 0x8000, 40);
    let walk = Walk::new(numbers, &program, 400, case.rates);
    let mut lower = Lower::new(Vec::new(), config, Isa::Rv64, None).unwrap();
    lower.put(&walk.batch).unwrap();
    lower.finish().unwrap();
    (program, lower.into_inner())
}

fn events(bytes: &[u8], config: &Config, code: Vec<u8>) -> String {
    let mut image = Image::default();
    image.add_raw("program", 0x8000, Arc::new(code), Space::default()).unwrap();
    let mut lift = lift(Input::from_vec(bytes.to_vec()), config, Arc::new(image), 1).unwrap();
    text(&mut lift)
}

#[test]
fn own_vectors() {
    let bless = std::env::var_os("TRACKWAY_BLESS").is_some();
    for case in CASES {
        let (name, folder, config) = (case.name, folder(case), config(case));
        let (program, bytes) = encode(case, &config);
        let mut packets = String::new();
        for line in common::raw(&bytes, &config).lines() {
            writeln!(packets, "{line}").unwrap();
        }
        for word in case.shows {
            assert!(packets.contains(word), "{name} does not show {word:?}");
        }
        let events = events(&bytes, &config, program.bytes());
        if bless {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("program"), program.bytes()).unwrap();
            std::fs::write(folder.join("config.toml"), config.to_toml()).unwrap();
            std::fs::write(folder.join("input"), &bytes).unwrap();
            std::fs::write(folder.join("expect.items"), &packets).unwrap();
            std::fs::write(folder.join("expect.events"), &events).unwrap();
            continue;
        }
        let text = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
        assert_eq!(Config::from_toml(&text("config.toml")).unwrap(), config, "{name}");
        assert_eq!(std::fs::read(folder.join("program")).unwrap(), program.bytes(), "{name}");
        assert!(std::fs::read(folder.join("input")).unwrap() == bytes, "{name}: input");
        assert_eq!(text("expect.items"), packets, "{name}");
        assert_eq!(text("expect.events"), events, "{name}");
    }
}
