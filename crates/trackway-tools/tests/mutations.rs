//! One damaged group leads to one root cause, at that group, and the rest still verifies.

mod encode;

use trackway_tandem::{Config, Group, Profile, Record, Registers, Style, View};
use trackway_testkit::random::Numbers;
use trackway_tools::verify::Report;

/// Which register a mutation looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Gpr,
    Fpr,
    Csr,
    Fflags,
    Cause,
    Tval,
    Dropped,
    Added,
    Pc,
    Privilege,
    Swapped,
    StoreData,
}

const KINDS: [Kind; 12] = [
    Kind::Gpr,
    Kind::Fpr,
    Kind::Csr,
    Kind::Fflags,
    Kind::Cause,
    Kind::Tval,
    Kind::Dropped,
    Kind::Added,
    Kind::Pc,
    Kind::Privilege,
    Kind::Swapped,
    Kind::StoreData,
];

fn fits(kind: Kind, address: u16) -> bool {
    let masked = matches!(address, 0x344 | 0x144 | 0xb00..0xd00);
    match kind {
        Kind::Gpr => (0x1001..0x1020).contains(&address),
        Kind::Fpr => (0x1020..0x1040).contains(&address),
        Kind::Csr => address < 0x1000 && !masked,
        Kind::Fflags => address == 1,
        Kind::Cause => matches!(address, 0x342 | 0x142),
        Kind::Tval => matches!(address, 0x343 | 0x143),
        _ => false,
    }
}

/// Damages group `n` if it has what the mutation is about.
fn mutate(
    kind: Kind,
    groups: &mut [Group],
    n: usize,
    before: &Registers,
    config: &Config,
    random: &mut Numbers,
) -> Option<()> {
    if groups[n].records.contains(&Record::StateInitialization)
        || groups[n].records.contains(&Record::HartReset)
    {
        return None;
    }
    let records = &mut groups[n].records;
    let width = |address: u16| if (0x1020..0x1040).contains(&address) { config.flen } else { config.xlen };
    match kind {
        Kind::Gpr | Kind::Fpr | Kind::Csr | Kind::Fflags | Kind::Cause | Kind::Tval => {
            let at = records
                .iter()
                .position(|r| matches!(r, Record::FullRegister { address, .. } if fits(kind, *address)))?;
            // A store-conditional may fail for no reason: that is not damage.
            let conditional =
                |r: &Record| matches!(r, Record::Instruction32(e) if e & 0xf800_007f == 0x1800_002f);
            // The environment decides what a read of the pending interrupts returns.
            let reads_masked = |r: &Record| {
                matches!(r, Record::Instruction32(e)
                    if e & 0x7f == 0x73 && matches!(e >> 20, 0x344 | 0x144 | 0xb00..0xd00))
            };
            // And what a device returns.
            let reads_device = |r: &Record| matches!(r, Record::EffectiveAddress(a) if encode::DEVICES.iter().any(|(at, size)| a.wrapping_sub(*at) < *size));
            if records.iter().any(|r| reads_masked(r) || reads_device(r)) {
                return None;
            }
            let lowest = u64::from(records.iter().any(conditional));
            let Record::FullRegister { address, data } = &mut records[at] else { return None };
            let bits = if kind == Kind::Fflags { 5 } else { width(*address) };
            let flipped = *data ^ 1 << (lowest + random.below(u64::from(bits) - lowest));
            // MIP says which enabled interrupt is pending, and that is noise by definition.
            if fits(Kind::Cause, *address)
                && flipped >> (config.xlen - 1) != 0
                && before.get(0x304).is_none_or(|mie| mie >> (flipped & 63) & 1 != 0)
            {
                return None;
            }
            *data = flipped;
        }
        Kind::Dropped => {
            // As in table C.3, a trace may leave out that the floating-point state got dirty.
            let dirty = 3 << 13 | 1 << (config.xlen - 1);
            let unseen = |address: u16| match address {
                0x344 | 0x144 | 0xb00..0xd00 => u64::MAX,
                0x300 | 0x100 => dirty,
                _ => 0,
            };
            let at = records.iter().position(|r| {
                matches!(r, Record::FullRegister { address, data }
                    if before.get(*address).is_some_and(|old| (old ^ *data) & !unseen(*address) != 0))
            })?;
            records.remove(at);
        }
        Kind::Added => {
            let address = 0x1001 + random.below(31) as u16;
            if records.iter().any(|r| matches!(r, Record::FullRegister { address: a, .. } if *a == address)) {
                return None;
            }
            let old = before.get(address)?;
            let data = old ^ 1 << random.below(config.xlen.into());
            records.push(Record::FullRegister { address, data });
        }
        Kind::Pc => {
            let at = records.iter().position(|r| matches!(r, Record::Pc(_)))?;
            let Record::Pc(pc) = &mut records[at] else { return None };
            *pc ^= 2 << random.below(20);
        }
        Kind::Privilege => {
            let at = records.iter().position(|r| matches!(r, Record::PrivilegeMode(_)))?;
            let Record::PrivilegeMode(mode) = &mut records[at] else { return None };
            *mode = [1, 3, 0, 0][usize::from(*mode)];
        }
        Kind::Swapped => {
            let (a, b) = (n, n + 1);
            let plain = |group: &Group| {
                let registers = Registers::new(&config.widths().unwrap());
                let view = View::of(group, &config.widths().unwrap(), &registers).unwrap();
                view.instruction.is_some() && view.trap.is_none()
            };
            if b >= groups.len() || !plain(&groups[a]) || !plain(&groups[b]) || groups[a] == groups[b] {
                return None;
            }
            let instruction =
                |group: &Group| group.records.iter().copied().find(|r| r.name() == "instruction");
            if instruction(&groups[a]) == instruction(&groups[b]) {
                return None;
            }
            groups.swap(a, b);
        }
        Kind::StoreData => {
            let load_reserved =
                |r: &Record| matches!(r, Record::Instruction32(e) if e & 0xf800_007f == 0x1000_002f);
            if records.iter().any(load_reserved) {
                return None;
            }
            // A register that was never recorded cannot be checked.
            let encoding = records.iter().find_map(|r| match *r {
                Record::Instruction16(e) => Some(e.into()),
                Record::Instruction32(e) => Some(e),
                _ => None,
            })?;
            let isa = config.isa();
            let inst = trackway_isa::riscv::decode(isa, encoding)?;
            let known = inst.registers().all(|(reg, role)| {
                role != trackway_core::RegRole::Source
                    || trackway_tandem::register::address(reg)
                        .is_none_or(|address| before.get(address).is_some())
            });
            if !known {
                return None;
            }
            let at = records.iter().position(|r| matches!(r, Record::StoreData { .. }))?;
            let Record::StoreData { size, data } = &mut records[at] else { return None };
            *data ^= 1 << random.below(8 << *size);
        }
    }
    Some(())
}

struct Outcome {
    what: String,
    report: Report,
    group: u64,
}

#[test]
fn each_mutation_gives_one_root_cause_at_its_group() {
    // A longer run: MUTATIONS=40 MUTATION_SEED=7.
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let mut random = Numbers(0x5eed_1234_abcd ^ number("MUTATION_SEED").unwrap_or(0));
    let each = number("MUTATIONS").unwrap_or(4);
    let (mut tried, mut wrong) = (0, Vec::new());
    let mut by_kind = std::collections::BTreeMap::new();
    for (name, limit) in [
        ("rv64-privileged", 4000),
        ("rv64-sv39", 3000),
        ("rv64-atomic", 2000),
        ("rv64-float", 3000),
        ("rv64-mix", 3000),
        ("rv32-privileged", 4000),
        ("rv32-sv32", 3000),
        ("rv32-float", 3000),
    ] {
        let path = encode::programs()
            .into_iter()
            .find(|path| path.file_stem().is_some_and(|stem| stem == name))
            .unwrap();
        for profile in [Profile::Bluespec, Profile::Spec] {
            let subject = encode::subject(&path, profile);
            let groups = encode::record(&subject, limit);
            let mut damaged = groups.clone();
            let widths = subject.config.widths().unwrap();
            for kind in KINDS {
                let mut done = 0;
                for _ in 0..4000 {
                    if done == each {
                        break;
                    }
                    // Not at the very end: nothing would follow that could disagree.
                    let n = 40 + random.below(groups.len() as u64 - 60) as usize;
                    let mut before = Registers::new(&widths);
                    if matches!(kind, Kind::Dropped | Kind::Added | Kind::StoreData | Kind::Cause | Kind::Csr)
                    {
                        groups[..n]
                            .iter()
                            .flat_map(|group| &group.records)
                            .for_each(|record| before.apply(record));
                    }
                    if mutate(kind, &mut damaged, n, &before, &subject.config, &mut random).is_none() {
                        continue;
                    }
                    done += 1;
                    tried += 1;
                    let bytes = encode::bytes(&damaged, &subject.config, Style::Verbose);
                    let report = encode::verify_bytes(&subject, bytes, encode::options(&subject));
                    *by_kind.entry(format!("{kind:?}")).or_insert(0) += 1;
                    let good = report.mismatches.len() == 1 && report.mismatches[0].group == n as u64;
                    if !good {
                        let what = format!(
                            "{name} {profile:?} {kind:?} at group {n}: {:?} became {:?}",
                            groups[n].records, damaged[n].records
                        );
                        wrong.push(Outcome { what, report, group: n as u64 });
                    }
                    damaged[n] = groups[n].clone();
                    damaged[n + 1] = groups[n + 1].clone();
                }
            }
        }
    }
    eprintln!("{tried} mutations: {by_kind:?}; {} wrong", wrong.len());
    for outcome in wrong.iter().take(6) {
        eprintln!("---- {} (group {})", outcome.what, outcome.group);
        outcome.report.text().lines().take(40).for_each(|line| eprintln!("{line}"));
    }
    assert!(tried > 500, "{tried}");
    assert!(wrong.is_empty(), "{} of {tried}", wrong.len());
}

/// State that the environment decides says nothing about the core.
#[test]
fn noise_in_interrupts_and_counters_is_ignored() {
    let mut random = Numbers(0xfeed);
    for name in ["rv64-privileged", "rv32-privileged", "rv64-sv39"] {
        let path = encode::programs()
            .into_iter()
            .find(|path| path.file_stem().is_some_and(|stem| stem == name))
            .unwrap();
        let subject = encode::subject(&path, Profile::Bluespec);
        let mut noisy = Vec::new();
        for mut group in encode::record(&subject, 4000) {
            let address = [0x344, 0xb00, 0xb02, 0xc00, 0xc01, 0xc02][random.below(6) as usize];
            let data = trackway_core::mask(random.draw(), subject.config.xlen);
            let noise = Record::FullRegister { address, data };
            let there = |r: &Record| matches!(r, Record::FullRegister { address: a, .. } if *a == address);
            match random.below(4) {
                0 => noisy.push(Group {
                    records: vec![noise],
                    frame: trackway_tandem::Frame::Outside,
                    offset: 0,
                }),
                1 if !group.records.iter().any(there) && !group.records.contains(&Record::HartReset) => {
                    group.records.push(noise);
                }
                2 => noisy.push(Group {
                    records: vec![Record::Mtime(data)],
                    frame: trackway_tandem::Frame::Outside,
                    offset: 0,
                }),
                _ => {}
            }
            noisy.push(group);
        }
        let bytes = encode::bytes(&noisy, &subject.config, Style::Verbose);
        let report = encode::verify_bytes(&subject, bytes, encode::options(&subject));
        assert!(report.passed(), "{name}\n{}", report.text());
    }
}

/// A trace that leaves elements out raises no false alarm, and its other elements are still checked.
#[test]
fn partial_traces_raise_no_false_alarm() {
    use trackway_tools::verify::Absent;
    type Keep = fn(&Record) -> bool;
    let cases: [(&str, Absent, Keep); 5] = [
        ("no CSRs", Absent { csr: true, privilege: true, ..Absent::default() }, |r| {
            !matches!(r, Record::FullRegister { address: 0..0x1000, .. } | Record::PrivilegeMode(_))
        }),
        ("no FPRs", Absent { f: true, ..Absent::default() }, |r| {
            !matches!(r, Record::FullRegister { address: 0x1020.., .. })
        }),
        ("no memory", Absent { memory: true, ..Absent::default() }, |r| {
            !matches!(r, Record::EffectiveAddress(_) | Record::PhysicalAddress(_) | Record::StoreData { .. })
        }),
        ("no privilege", Absent { privilege: true, ..Absent::default() }, |r| {
            !matches!(r, Record::PrivilegeMode(_))
        }),
        ("control flow only", Absent { x: true, f: true, csr: true, privilege: true, memory: true }, |r| {
            matches!(
                r,
                Record::Pc(_) | Record::Instruction16(_) | Record::Instruction32(_) | Record::HartReset
            )
        }),
    ];
    for (what, absent, keep) in cases {
        for name in ["rv64-integer", "rv64-float", "rv64-atomic", "rv32-mix", "rv64-sv39", "rv64-privileged"]
        {
            // Without the trap registers nobody can follow a program that is about traps.
            if absent.csr && matches!(name, "rv64-sv39" | "rv64-privileged") {
                continue;
            }
            let path = encode::programs()
                .into_iter()
                .find(|path| path.file_stem().is_some_and(|stem| stem == name))
                .unwrap();
            let subject = encode::subject(&path, Profile::Bluespec);
            let mut groups = encode::record(&subject, 20_000);
            for group in &mut groups {
                if !group.records.contains(&Record::StateInitialization) {
                    group.records.retain(keep);
                }
            }
            let bytes = encode::bytes(&groups, &subject.config, Style::Verbose);
            let options = trackway_tools::verify::Options { absent, ..encode::options(&subject) };
            let report = encode::verify_bytes(&subject, bytes, options);
            let text = report.text();
            assert!(
                report.verdict() != trackway_tools::verify::Verdict::Differs,
                "{what}, {name}\n{}",
                text.lines().take(30).collect::<Vec<_>>().join("\n")
            );
            eprintln!("{what}, {name}: {} instructions, {} adopted", report.instructions, report.adopted);
        }
    }
}

#[test]
fn verifying_nothing_is_a_failure() {
    let path = encode::programs().remove(0);
    let subject = encode::subject(&path, Profile::Spec);
    let report = encode::verify_bytes(&subject, Vec::new(), encode::options(&subject));
    assert!(!report.passed() && report.mismatches.is_empty());
    assert!(report.text().contains("nothing was verified"));
    assert!(report.junit("t").contains("failures=\"1\""));
}
