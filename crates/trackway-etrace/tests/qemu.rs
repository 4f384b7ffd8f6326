//! Real executions there and back, for every legal combination of modes.
//!
//! The ordinary run takes a window of each; `TRACKWAY_SWEEP=1` takes all of them, `TRACKWAY_SWEEP=lua` that one.

use std::sync::Arc;

use trackway_core::*;
use trackway_etrace::{Config, Dialect, Lift, Lower, SupportLayout, TrapVector};
use trackway_image::{Image, Space};
use trackway_testkit::qemu;

const RUNS: [(&str, &str); 7] = [
    ("bare", "rv64-traps"),
    ("rv64gc", "bzip2"),
    ("rv64gc", "fpmix"),
    ("rv64gc", "lua"),
    ("rv64gc", "minigzip"),
    ("rv64gc", "qsortmix"),
    ("rv64gc", "sigmt"),
];

/// What both sides must agree on.
#[derive(Default, PartialEq)]
struct Seen {
    pcs: Vec<u64>,
    /// Number of instructions retired before, interrupt, cause, where it hit.
    traps: Vec<(usize, bool, Option<u64>, Option<u64>)>,
    /// Number of instructions retired before, privilege.
    privileges: Vec<(usize, Privilege)>,
}

impl Seen {
    fn note(&mut self, batch: &Batch, event: &Event) {
        match &event.kind {
            EventKind::Step(step) if step.outcome == Outcome::Retired => self.pcs.extend(step.pc),
            EventKind::Trap(n) => {
                let trap = &batch.traps[*n as usize];
                if trap.kind != TrapKind::Return {
                    let interrupt = trap.kind == TrapKind::Interrupt;
                    self.traps.push((self.pcs.len(), interrupt, trap.cause, trap.from));
                }
            }
            EventKind::Context(n) => {
                if let Some(privilege) = batch.contexts[*n as usize].privilege
                    && self.privileges.last().is_none_or(|last| last.1 != privilege)
                {
                    self.privileges.push((self.pcs.len(), privilege));
                }
            }
            _ => {}
        }
    }
}

struct Case {
    name: String,
    batches: Vec<Batch>,
    seen: Seen,
    image: Arc<Image>,
    vectors: Vec<TrapVector>,
}

fn open(folder: &str, name: &str, window: usize) -> Option<Case> {
    let run = qemu::Run::corpus(folder, name)?;
    let mut image = Image::default();
    image.add_elf("elf", Arc::new(run.elf.clone()), None, Space::default()).unwrap();
    // Code that is not in the ELF: the reset ROM, the page that signals return through.
    let memory = image.memory(&Context::default());
    let mut outside: Vec<u64> = run.code.keys().copied().filter(|pc| memory.word(*pc).is_none()).collect();
    outside.sort_unstable();
    for pc in outside {
        let (encoding, size) = run.code[&pc];
        let bytes = encoding.to_le_bytes()[..usize::from(size)].to_vec();
        image.add_raw("outside", pc, Arc::new(bytes), Space::default()).unwrap();
    }
    let (mut batches, mut seen, mut events) = (Vec::new(), Seen::default(), run.events());
    let mut batch = Batch::default();
    while seen.pcs.len() < window && events.fill(&mut batch).unwrap() {
        for event in &batch.events {
            seen.note(&batch, event);
        }
        batches.push(std::mem::take(&mut batch));
    }
    let vectors =
        if run.bare { vec![TrapVector { base: 0x8000_009c, ..TrapVector::default() }] } else { Vec::new() };
    Some(Case { name: format!("{folder}/{name}"), batches, seen, image: Arc::new(image), vectors })
}

/// Every legal combination of modes of a dialect.
fn configs(dialect: Dialect, vectors: &[TrapVector]) -> Vec<Config> {
    let mut all = Vec::new();
    for bits in 0..32u32 {
        for returns in 0..3 {
            let mut config = Config::new(dialect);
            config.support = SupportLayout::named("all").unwrap();
            config.trap_vectors = vectors.to_vec();
            let params = &mut config.params;
            params.iaddress_width = 64;
            (params.sijump, params.f0s_width, params.bpred_size, params.cache_size) = (1, 1, 9, 5);
            (params.return_stack_size, params.call_counter_size) = [(0, 0), (4, 0), (0, 6)][returns];
            config.options.implicit_return = returns > 0;
            config.options.sijump = bits & 1 == 1;
            config.options.branch_prediction = bits & 2 == 2;
            config.options.jump_target_cache = bits & 4 == 4;
            config.options.full_address = bits & 8 == 8;
            config.options.implicit_exception = bits & 16 == 16;
            if config.options.implicit_exception && vectors.is_empty() {
                continue;
            }
            if bits & 1 == 0 && returns == 0 {
                config.params.itype_width = 3;
            }
            all.push(config);
        }
    }
    all
}

fn there_and_back(case: &Case, config: &Config) -> u64 {
    let mut lower = Lower::new(Vec::new(), config, Isa::Rv64, None).unwrap();
    for batch in &case.batches {
        lower.put(batch).unwrap();
    }
    lower.finish().unwrap();
    let bytes = lower.into_inner();
    let length = bytes.len() as u64;
    let mut lift = Lift::new(Input::from_vec(bytes), config, Arc::clone(&case.image), 1).unwrap();
    let memory = case.image.memory(&Context::default());
    let (mut seen, mut batch) = (Seen::default(), Batch::default());
    while lift.fill(&mut batch).unwrap_or_else(|error| panic!("{}: {error}\n{:?}", case.name, config.options))
    {
        for event in &batch.events {
            if let EventKind::Run(run) = &event.kind {
                let mut at = run.start;
                for _ in 0..run.count - u32::from(run.attempted) {
                    seen.pcs.push(at);
                    at += u64::from(memory.fetch(run.isa, at).unwrap().1);
                }
            }
            seen.note(&batch, event);
            assert!(!matches!(event.kind, EventKind::Gap(_)), "{}: {:?}", case.name, batch.gaps);
        }
    }
    let what = || format!("{} {:?} {:?}", case.name, config.dialect, config.options);
    let same = seen.pcs.iter().zip(&case.seen.pcs).take_while(|(a, b)| a == b).count();
    assert_eq!((same, seen.pcs.len()), (case.seen.pcs.len(), case.seen.pcs.len()), "{}", what());
    assert!(seen.privileges == case.seen.privileges, "{}: {:?}", what(), seen.privileges);
    // A trap at the very end is told by version 2 only; the draft does not know some places.
    let draft = config.dialect == Dialect::Draft;
    let wanted: Vec<_> =
        case.seen.traps.iter().filter(|trap| !draft || trap.0 < case.seen.pcs.len()).collect();
    assert_eq!(seen.traps.len(), wanted.len(), "{}", what());
    for (found, wanted) in seen.traps.iter().zip(wanted) {
        assert_eq!((found.0, found.1), (wanted.0, wanted.1), "{}", what());
        assert!(wanted.2.is_none() || found.2 == wanted.2, "{}: {found:x?} {wanted:x?}", what());
        let place_known = found.3 == wanted.3 || wanted.3.is_none() || (draft && found.3.is_none());
        assert!(place_known, "{}: {found:x?} {wanted:x?}", what());
    }
    length
}

#[test]
fn every_combination_of_modes() {
    let sweep = std::env::var("TRACKWAY_SWEEP").ok();
    let window = if sweep.is_some() { usize::MAX } else { 6_000 };
    for (folder, name) in RUNS {
        if sweep.as_deref().is_some_and(|only| only != "1" && only != name) {
            continue;
        }
        let Some(case) = open(folder, name, window) else { return };
        let mut combinations = 0;
        for dialect in Dialect::ALL {
            for config in configs(dialect, &case.vectors) {
                there_and_back(&case, &config);
                combinations += 1;
            }
        }
        eprintln!("{}: {} instructions, {combinations} combinations", case.name, case.seen.pcs.len());
    }
}

/// Hardware-like mode, where nothing in these programs is ambiguous.
#[test]
fn hardware_like_baseline() {
    for (folder, name) in RUNS {
        let Some(case) = open(folder, name, 20_000) else { return };
        for dialect in Dialect::ALL {
            for mut config in configs(dialect, &[]) {
                if config.options.implicit_return || config.options.sijump {
                    continue;
                }
                config.encoder.exact = false;
                there_and_back(&case, &config);
            }
        }
    }
}

/// The table of the documentation: bits per instruction by mode. `TRACKWAY_SWEEP=1` prints it.
#[test]
fn compression_by_mode() {
    if std::env::var_os("TRACKWAY_SWEEP").is_none() {
        eprintln!("SKIPPED: the table is made with TRACKWAY_SWEEP=1");
        return;
    }
    type Set = fn(&mut Config);
    let modes: [(&str, Set); 11] = [
        ("delta address", |_| {}),
        ("full address", |config| config.options.full_address = true),
        ("sijump", |config| config.options.sijump = true),
        ("implicit return, stack of 16", |config| {
            config.params.return_stack_size = 4;
            config.options.implicit_return = true;
        }),
        ("implicit return, 6-bit counter", |config| {
            config.params.call_counter_size = 6;
            config.options.implicit_return = true;
        }),
        ("branch prediction, 512", |config| config.options.branch_prediction = true),
        ("jump target cache, 32", |config| config.options.jump_target_cache = true),
        ("prediction and cache", |config| {
            config.options.branch_prediction = true;
            config.options.jump_target_cache = true;
        }),
        ("all of them, stack", |config| {
            config.params.return_stack_size = 4;
            config.options.implicit_return = true;
            config.options.sijump = true;
            config.options.branch_prediction = true;
            config.options.jump_target_cache = true;
        }),
        ("all of them, hardware-like", |config| {
            config.params.return_stack_size = 4;
            config.options.implicit_return = true;
            config.options.sijump = true;
            config.options.branch_prediction = true;
            config.options.jump_target_cache = true;
            config.encoder.exact = false;
        }),
        ("delta, no compression", |config| config.encoder.compress = false),
    ];
    let cases: Vec<Case> = RUNS.iter().filter_map(|(folder, name)| open(folder, name, usize::MAX)).collect();
    let names: Vec<&str> = cases.iter().map(|case| case.name.rsplit('/').next().unwrap()).collect();
    eprintln!("| mode | {} |", names.join(" | "));
    eprintln!("|---|{}", "---|".repeat(cases.len()));
    for (name, set) in modes {
        let mut line = format!("| {name} |");
        for case in &cases {
            let mut config = Config::new(Dialect::V2);
            config.support = SupportLayout::named("all").unwrap();
            config.params.iaddress_width = 64;
            let params = &mut config.params;
            (params.sijump, params.f0s_width, params.bpred_size, params.cache_size) = (1, 1, 9, 5);
            set(&mut config);
            let mut lower = Lower::new(Vec::new(), &config, Isa::Rv64, None).unwrap();
            for batch in &case.batches {
                lower.put(batch).unwrap();
            }
            lower.finish().unwrap();
            let bits = lower.encoder().writer.payload_bytes as f64 * 8.0;
            line += &format!(" {:.3} |", bits / case.seen.pcs.len() as f64);
        }
        eprintln!("{line}");
    }
}
