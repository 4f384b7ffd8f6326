//! Real executions (QEMU, AArch64) through the trace unit and back, under every combination of its options.

mod slow;
mod unit_support;

use trackway_core::*;
use trackway_ete::Options;
use trackway_ete::encode::{EncodeConfig, Implementation, Model, Registers, SourceAddresses};
use unit_support::*;

const RUNS: [(&str, &str); 7] = [
    ("bare", "aarch64-traps"),
    ("aarch64", "sigmt"),
    ("aarch64", "minigzip"),
    ("aarch64", "fpmix"),
    ("aarch64", "qsortmix"),
    ("aarch64", "lua"),
    ("aarch64", "bzip2"),
];

fn settings(implementation: &Implementation, configr: u64, model: Model) -> EncodeConfig {
    let mut settings = EncodeConfig { model, ..EncodeConfig::default() };
    settings.units[0].registers = Registers::new(implementation).everything();
    settings.units[0].registers.set("TRCCONFIGR", configr);
    settings
}

#[test]
fn every_run_comes_back() {
    for (folder, name) in RUNS {
        let Some(subject) = subject(folder, name, usize::MAX) else { return };
        let settings = settings(&Implementation::default(), 0x10c1, Model::default());
        let encoded = encode(&subject.batches, &subject.meta, &settings, &subject.image);
        let bytes = &encoded.bytes[0];
        let bits = bytes.len() as f64 * 8.0 / subject.shown.len() as f64;
        eprintln!("{}: {} bytes, {bits:.3} bits per instruction", subject.name, bytes.len());
        let decoded =
            decode(&mut lift(&encoded.config, bytes, &subject.image, Options::default()), &subject.image);
        same(&decoded.pcs, &subject.shown, &subject.name);
        assert_eq!(decoded.doubtful, 0);
        same(
            &slow::pcs(&encoded.config, bytes, &subject.image),
            &subject.shown,
            &format!("{name}, slow decoder"),
        );
        let findings = findings(&encoded.config, bytes, &subject.image);
        assert!(findings.is_empty(), "{}: {findings:#?}", subject.name);
        if folder == "aarch64" {
            assert!(bits < 1.0, "{}: {bits} bits per instruction", subject.name);
        }
    }
}

/// The instructions that pass the filters, from their definition alone: an instruction is in the trace if it and all
/// after it up to the next P0 instruction or exception pass.
#[derive(Clone, Copy, Debug)]
enum Filtering {
    Nothing,
    /// Table K10-3: EL0 only.
    User,
    Exclude(u64, u64),
    Include(u64, u64),
    /// From the first address up to and with the second.
    StartStop(u64, u64),
}

impl Filtering {
    fn program(self, registers: &mut Registers) {
        match self {
            Filtering::Nothing => {}
            Filtering::User => registers.set("TRCVICTLR", 0x006f_0201),
            Filtering::Exclude(first, last) => {
                registers.put(&[("TRCVIIECTLR", 0x1_0000), ("TRCACVR0", first), ("TRCACVR1", last)]);
            }
            Filtering::Include(first, last) => {
                registers.put(&[("TRCVIIECTLR", 1), ("TRCACVR0", first), ("TRCACVR1", last)]);
            }
            Filtering::StartStop(start, stop) => {
                registers.put(&[("TRCVISSCTLR", 0x2_0001), ("TRCACVR0", start), ("TRCACVR1", stop)]);
                registers.set("TRCVICTLR", 1);
            }
        }
    }

    fn expected(self, subject: &Subject, wfx: bool) -> Vec<u64> {
        let mut kept = Vec::new();
        let mut block = Vec::new();
        let (mut started, mut user) = (false, true);
        // The code of a block that is cut off by a filter is not in the trace.
        let mut close = |block: &mut Vec<(u64, bool)>| {
            let cut = block.iter().rposition(|&(_, seen)| !seen).map_or(0, |at| at + 1);
            kept.extend(block.drain(..).skip(cut).map(|(pc, _)| pc));
        };
        for batch in &subject.batches {
            for event in &batch.events {
                match event.kind {
                    EventKind::Context(n) => {
                        if let Some(privilege) = batch.contexts[n as usize].privilege {
                            user = privilege == Privilege::El0;
                        }
                    }
                    EventKind::Trap(_) | EventKind::Gap(_) => close(&mut block),
                    EventKind::Step(step) => {
                        let pc = step.pc.unwrap();
                        let control = trackway_isa::flow(Isa::A64, pc, step.encoding).control;
                        let call = control == trackway_isa::Control::SystemCall;
                        if !call && (step.outcome == Outcome::Attempted || !control.retires()) {
                            continue;
                        }
                        let seen = match self {
                            Filtering::Nothing => true,
                            Filtering::User => user,
                            Filtering::Exclude(first, last) => !(first..=last).contains(&pc),
                            Filtering::Include(first, last) => (first..=last).contains(&pc),
                            Filtering::StartStop(start, stop) => {
                                started |= pc == start;
                                let seen = started;
                                started &= pc != stop;
                                seen
                            }
                        };
                        block.push((pc, seen));
                        if trackway_image::Waypoints::ete(wfx).ends(control) {
                            close(&mut block);
                        }
                    }
                    _ => {}
                }
            }
        }
        close(&mut block);
        kept
    }
}

/// One point of the matrix.
#[derive(Clone, Copy, Debug)]
struct Point {
    return_stack: bool,
    broadcast: bool,
    cycles: bool,
    timestamps: bool,
    source_addresses: SourceAddresses,
    max_spec: u32,
    commopt: bool,
    filtering: Filtering,
}

impl Point {
    fn settings(&self, seed: u64) -> EncodeConfig {
        let implementation =
            Implementation { max_spec: self.max_spec, commopt: self.commopt, ..Implementation::default() };
        let bit = |set: bool, at: u32| u64::from(set) << at;
        let configr = 0xc1
            | bit(self.return_stack, 12)
            | bit(self.broadcast, 3)
            | bit(self.cycles, 4)
            | bit(self.timestamps, 11);
        let model = Model {
            seed,
            mispredict: if self.max_spec > 0 { 96 } else { 0 },
            source_addresses: self.source_addresses,
            late_mispredict: seed.is_multiple_of(3),
            sync_unresolved: seed.is_multiple_of(2),
            sync_delay: [0, 0, 3][seed as usize % 3],
            commit_every: [0, 1, 16][seed as usize % 3],
            ..Model::default()
        };
        let mut settings = settings(&implementation, configr, model);
        let registers = &mut settings.units[0].registers;
        registers.put(&[("TRCCCCTLR", 4), ("TRCSYNCPR", 8 + seed % 4)]);
        self.filtering.program(registers);
        settings
    }

    /// Encodes, decodes, compares; returns the bytes.
    fn try_on(&self, subject: &Subject, expected: &[u64], seed: u64) -> usize {
        let encoded = encode(&subject.batches, &subject.meta, &self.settings(seed), &subject.image);
        let bytes = &encoded.bytes[0];
        let what = format!("{} {self:?} seed {seed}", subject.name);
        let options = Options { threads: 1 + seed as usize % 3, ..Options::default() };
        let decoded = decode(&mut lift(&encoded.config, bytes, &subject.image, options), &subject.image);
        same(&decoded.pcs, expected, &what);
        // Slow indeed: for some of the points.
        if seed.is_multiple_of(32) {
            same(
                &slow::pcs(&encoded.config, bytes, &subject.image),
                expected,
                &format!("{what}, slow decoder"),
            );
        }
        assert_eq!(decoded.doubtful, 0, "{what}");
        if self.max_spec > 0 && subject.shown.len() > 1000 && encoded.counts.p0 > 10_000 {
            assert!(encoded.counts.mispredicted > 0 && encoded.counts.cancelled > 0, "{what}");
        }
        bytes.len()
    }
}

const BOTH: [bool; 2] = [false, true];

/// All points of the matrix, for a run in which `middle` lies inside a function that is called often.
fn points(filters: &[Filtering]) -> Vec<Point> {
    let mut points = Vec::new();
    for return_stack in BOTH {
        for broadcast in BOTH {
            for cycles in BOTH {
                for timestamps in BOTH {
                    for source_addresses in
                        [SourceAddresses::Never, SourceAddresses::Always, SourceAddresses::Sometimes]
                    {
                        for max_spec in [0, 1, 3, 30] {
                            for commopt in BOTH {
                                points.extend(filters.iter().map(|&filtering| Point {
                                    return_stack,
                                    broadcast,
                                    cycles,
                                    timestamps,
                                    source_addresses,
                                    max_spec,
                                    commopt,
                                    filtering,
                                }));
                            }
                        }
                    }
                }
            }
        }
    }
    points
}

/// Filters around addresses that a run comes to often.
fn filters(subject: &Subject) -> [Filtering; 5] {
    let pcs = &subject.shown;
    let middle = pcs[pcs.len() / 2];
    let other = pcs[pcs.len() / 3];
    [
        Filtering::Nothing,
        Filtering::User,
        Filtering::Exclude(middle & !0xff, middle | 0xff),
        Filtering::Include(middle & !0xfff, middle | 0xfff),
        Filtering::StartStop(middle, other),
    ]
}

/// The whole product on the shortest run; on the others a part that meets each value of each option, or all of it with
/// TRACKWAY_SWEEP=1; TRACKWAY_SWEEP=NAME is for one run, NAME/1/4 for the second quarter of it.
#[test]
fn the_matrix_of_options() {
    let sweep = std::env::var("TRACKWAY_SWEEP").unwrap_or_default();
    let mut words = sweep.split('/');
    let wanted = words.next().unwrap_or_default();
    let numbers: Vec<usize> = words.filter_map(|word| word.parse().ok()).collect();
    for (index, (folder, name)) in RUNS.into_iter().enumerate() {
        let Some(subject) = subject(folder, name, usize::MAX) else { return };
        let filters = filters(&subject);
        let expected = filters.map(|filtering| filtering.expected(&subject, true));
        assert_eq!(expected[0], subject.shown, "{name}");
        let points = points(&filters);
        // A stride that is prime to the number of values of each option meets them all.
        let (first, stride) = match numbers[..] {
            [part, parts] if wanted == name => (part, parts),
            _ if wanted == "1" || wanted == name || index == 0 => (0, 1),
            _ => (index, 211),
        };
        let (mut tried, mut bytes) = (0, 0);
        for (n, point) in points.iter().enumerate().skip(first).step_by(stride) {
            bytes += point.try_on(&subject, &expected[n % filters.len()], n as u64);
            tried += 1;
        }
        eprintln!("{}: {tried} of {} points, {bytes} bytes", subject.name, points.len());
    }
}

/// Events as lines, learnt in parts on several threads.
#[derive(Default)]
struct Lines {
    text: String,
    /// Parts that were put together.
    parts: usize,
}

impl Observer for Lines {
    fn observe(&mut self, batch: &Batch) {
        for event in &batch.events {
            batch.write_line(event, &mut self.text);
            self.text.push('\n');
        }
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(Lines::default())
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        let later = later.downcast::<Self>();
        self.text.push_str(&later.text);
        self.parts += 1 + later.parts;
    }
}

/// Streams with a synchronisation every 256 bytes: the same events, to the letter, for any number of threads.
#[test]
fn many_synchronisations_and_any_number_of_threads() {
    let models = [
        Model::default(),
        Model { mispredict: 128, commit_every: 5, sync_unresolved: true, sync_delay: 7, ..Model::default() },
        Model { source_addresses: SourceAddresses::Sometimes, sync_delay: 2, ..Model::default() },
    ];
    for (folder, name) in [("aarch64", "sigmt")] {
        let Some(subject) = subject(folder, name, usize::MAX) else { return };
        for (n, model) in models.into_iter().enumerate() {
            let max_spec = if model.mispredict > 0 { 24 } else { 0 };
            let mut settings =
                settings(&Implementation { max_spec, ..Implementation::default() }, 0x18d1, model);
            settings.units[0].registers.set("TRCSYNCPR", 8);
            let encoded = encode(&subject.batches, &subject.meta, &settings, &subject.image);
            assert!(encoded.counts.synchronisations > 200, "{}", encoded.counts.synchronisations);
            let text = |threads| {
                let options = Options { threads, show_withdrawn: true, ..Options::default() };
                let mut lift = lift(&encoded.config, &encoded.bytes[0], &subject.image, options);
                let mut lines = Lines::default();
                while lift.observe(&mut lines).unwrap() {}
                if threads > 1 {
                    assert!(lines.parts > 4, "{name}: {} parts", lines.parts);
                }
                lines.text
            };
            let one = text(1);
            assert!(one.lines().count() > 10_000);
            for threads in [2, 3, 8] {
                assert!(one == text(threads), "{name}, model {n}: the events differ with {threads} threads");
            }
        }
    }
}

/// The table of docs/formats/ete.md.
#[test]
fn bits_per_instruction() {
    let cases = [
        ("default", 0x10c1),
        ("no return stack", 0xc1),
        ("broadcast", 0xc9),
        ("timestamps", 0x18c1),
        ("cycle counts", 0x10d1),
    ];
    let head: String = cases.iter().map(|(what, _)| format!(" {what} |")).collect();
    println!("| run | instructions |{head}\n|---|---|{}", "---|".repeat(cases.len()));
    for (folder, name) in RUNS {
        let Some(subject) = subject(folder, name, usize::MAX) else { return };
        let bits = cases.map(|(_, configr)| {
            let settings = settings(&Implementation::default(), configr, Model::default());
            let encoded = encode(&subject.batches, &subject.meta, &settings, &subject.image);
            encoded.bytes[0].len() as f64 * 8.0 / subject.shown.len() as f64
        });
        let row: String = bits.iter().map(|bits| format!(" {bits:.3} |")).collect();
        println!("| `{}` | {} |{row}", subject.name, subject.shown.len());
        assert!(bits[0] <= bits[1] && bits[1] <= bits[2], "{name}: {bits:?}");
        assert!(bits[0] < 1.0 || folder == "bare", "{name}: {bits:?}");
    }
}
