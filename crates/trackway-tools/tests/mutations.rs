//! Damaged groups are root causes, each for itself, and the rest still verifies.

mod encode;

use trackway_tandem::{Config, Group, Profile, Record, Registers, Style, View};
use trackway_testkit::random::{Numbers, seeds};
use trackway_tools::verify::{Mismatch, Options, Report};

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

/// A recording to damage.
struct Recording {
    name: &'static str,
    subject: encode::Subject,
    groups: Vec<Group>,
}

impl Recording {
    /// Registers before group `n`.
    fn before(&self, n: usize) -> Registers {
        let mut before = Registers::new(&self.subject.config.widths().unwrap());
        self.groups[..n].iter().flat_map(|group| &group.records).for_each(|record| before.apply(record));
        before
    }

    /// Damages a group near `wanted`, so that state changes; returns its number and what was done.
    fn damage(
        &self,
        groups: &mut [Group],
        wanted: usize,
        taken: Option<usize>,
        random: &mut Numbers,
    ) -> (usize, Kind) {
        loop {
            let kind = KINDS[random.below(KINDS.len() as u64) as usize];
            for n in wanted..(wanted + 200).min(groups.len() - 20) {
                // Groups that were swapped are damaged already.
                if taken.is_some_and(|taken| n.abs_diff(taken) < 2) {
                    continue;
                }
                if mutate(kind, groups, n, &self.before(n), &self.subject.config, random).is_some() {
                    return (n, kind);
                }
            }
        }
    }

    fn verify(&self, groups: &[Group]) -> Report {
        let bytes = encode::bytes(groups, &self.subject.config, Style::Verbose);
        let options = Options { follow_ups: true, ..encode::options(&self.subject) };
        encode::verify_bytes(&self.subject, bytes, options)
    }
}

fn recordings() -> Vec<Recording> {
    let mut all = Vec::new();
    for name in [
        "rv64-privileged",
        "rv64-sv39",
        "rv64-atomic",
        "rv64-float",
        "rv64-mix",
        "rv32-privileged",
        "rv32-sv32",
        "rv32-float",
    ] {
        let path = encode::programs()
            .into_iter()
            .find(|path| path.file_stem().is_some_and(|stem| stem == name))
            .unwrap();
        for profile in [Profile::Bluespec, Profile::Spec] {
            let subject = encode::subject(&path, profile);
            let groups = encode::record(&subject, 2000);
            all.push(Recording { name, subject, groups });
        }
    }
    all
}

/// Each damage is a root cause at its group, or a follow-up of the other one; nothing else is blamed.
fn judge(report: &Report, places: &[(usize, Kind)]) -> Result<u64, String> {
    let mut follow_ups = 0;
    for (n, kind) in places {
        let here = |group: u64| group == *n as u64 || *kind == Kind::Swapped && group == *n as u64 + 1;
        let blamed = report.mismatches.iter().any(|mismatch| here(mismatch.group));
        let follows =
            report.mismatches.iter().any(|mismatch| mismatch.follow_ups.iter().any(|one| here(one.group)));
        if !blamed && !follows {
            return Err(format!("nothing at group {n}"));
        }
        follow_ups += u64::from(!blamed);
    }
    for mismatch in &report.mismatches {
        let damaged = |(n, kind): &(usize, Kind)| {
            mismatch.group == *n as u64 || *kind == Kind::Swapped && mismatch.group == *n as u64 + 1
        };
        if !places.iter().any(damaged) {
            return Err(format!("group {} is not damaged", mismatch.group));
        }
        true_paths(mismatch)?;
    }
    Ok(follow_ups)
}

/// A follow-up goes through an element that its root cause, or an earlier follow-up, left in doubt.
fn true_paths(mismatch: &Mismatch) -> Result<(), String> {
    let mut doubtful: Vec<&str> = mismatch.elements.iter().map(|element| &*element.name).collect();
    for one in &mismatch.follow_ups {
        let through = |name: &&str| {
            let view = |name: &str| name.replace("sstatus", "mstatus").replace("sie", "mie");
            view(name) == view(&one.through) || *name == "fcsr" && matches!(&*one.through, "fflags" | "frm")
        };
        // Stores, loads and fetches show memory; a control register that is read is shown by its destination.
        let shown = one.through.starts_with("memory at ")
            || one.through == "reservation"
            || mismatch.text.contains(&format!("{},", one.through))
            || mismatch.text.contains(&format!(",{}", one.through));
        if one.group <= mismatch.group || !(doubtful.iter().any(through) || shown) {
            return Err(format!("no path: group {} through {}", one.group, one.through));
        }
        doubtful.extend(one.elements.iter().map(String::as_str));
    }
    Ok(())
}

/// One or two damaged groups in each of `count` recordings.
fn damage_and_judge(number: usize) {
    // The run of record is TRACKWAY_SEEDS=0..1000.
    let seeds = seeds(0..300);
    let (recordings, count) = (recordings(), seeds.end - seeds.start);
    let (mut wrong, mut follow_ups) = (Vec::new(), 0);
    let mut kinds = std::collections::BTreeMap::new();
    for seed in seeds {
        let mut random = Numbers(seed);
        let recording = &recordings[random.below(recordings.len() as u64) as usize];
        let mut groups = recording.groups.clone();
        // Not at the very end: nothing would follow that could disagree.
        let first = 40 + random.below(groups.len() as u64 - 400) as usize;
        let mut places = vec![recording.damage(&mut groups, first, None, &mut random)];
        if number == 2 {
            let far = if random.one_in(2) { 10 } else { 300 };
            let second = places[0].0 + random.below(far) as usize;
            let taken = Some(places[0].0);
            places.push(recording.damage(&mut groups, second, taken, &mut random));
        }
        places.iter().for_each(|(_, kind)| *kinds.entry(format!("{kind:?}")).or_insert(0) += 1);
        let report = recording.verify(&groups);
        match judge(&report, &places) {
            Ok(more) => follow_ups += more,
            Err(why) => {
                let text: Vec<String> = report.text().lines().take(60).map(str::to_string).collect();
                let damage: Vec<String> = places
                    .iter()
                    .map(|(n, _)| {
                        format!("{:?}\nbecame {:?}", recording.groups[*n].records, groups[*n].records)
                    })
                    .collect();
                let Recording { name, subject, .. } = recording;
                wrong.push(format!(
                    "---- seed {seed}, {name} {:?} {places:?}: {why}\n{}\n{}",
                    subject.config.profile,
                    damage.join("\n"),
                    text.join("\n")
                ));
            }
        }
    }
    eprintln!("{count} times {number}: {kinds:?}; {follow_ups} as follow-ups; {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{} of {count}\n{}", wrong.len(), wrong[..wrong.len().min(4)].join("\n"));
}

#[test]
fn a_damaged_group_is_blamed_and_nothing_else_is() {
    damage_and_judge(1);
}

#[test]
fn two_damaged_groups_are_blamed_each_for_itself() {
    damage_and_judge(2);
}

/// Damage that changes no state that is compared: a write of an equal value that is left out, and a copied register.
#[test]
fn damage_without_a_difference_is_not_blamed() {
    let recordings = recordings();
    let (mut equal, mut copied) = (0, 0);
    for seed in seeds(0..200) {
        let mut random = Numbers(seed);
        let recording = &recordings[random.below(recordings.len() as u64) as usize];
        let mut groups = recording.groups.clone();
        let first = 40 + random.below(groups.len() as u64 - 400) as usize;
        let copies = |address: u16| matches!(address, 0x344 | 0xb00..0xd00);
        let found = (first..groups.len()).find_map(|n| {
            let before = recording.before(n);
            let records = groups[n].records.iter().enumerate();
            let at = records.into_iter().find_map(|(at, record)| match *record {
                Record::FullRegister { address, .. } if copies(address) => Some((at, true)),
                Record::FullRegister { address, data } if before.get(address) == Some(data) => {
                    Some((at, false))
                }
                _ => None,
            });
            at.map(|(at, is_copied)| (n, at, is_copied))
        });
        let Some((n, at, is_copied)) = found else { continue };
        if let (true, Record::FullRegister { data, .. }) = (is_copied, &mut groups[n].records[at]) {
            *data ^= 1 << random.below(u64::from(recording.subject.config.xlen));
            copied += 1;
        } else {
            groups[n].records.remove(at);
            equal += 1;
        }
        let report = recording.verify(&groups);
        assert!(report.mismatches.is_empty(), "seed {seed}, group {n}\n{}", report.text());
    }
    eprintln!("{equal} writes of an equal value left out, {copied} copied registers changed");
    assert!(equal > 0 && copied > 0);
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
        (
            "control flow only",
            Absent { x: true, f: true, csr: true, privilege: true, memory: true, implied: false },
            |r| {
                matches!(
                    r,
                    Record::Pc(_) | Record::Instruction16(_) | Record::Instruction32(_) | Record::HartReset
                )
            },
        ),
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
