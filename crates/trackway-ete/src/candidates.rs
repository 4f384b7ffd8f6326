//! Settings to try where the registers of a trace unit are lost: frames, trace ids, the fields that decide how packets
//! are read, and where a circular buffer begins.

use toml::{Table, Value};
use trackway_format::{Candidate, Doubt, Excerpt, Settings};

use crate::check::Sequence;
use crate::config::{Config, Framing, ID, Options, USUAL, is_register};
use crate::items::{PacketItem, Packets, Placed};
use crate::recognise::{framing_of, holds_a_stream, traced_ids};
use crate::settings::Given;
use crate::transport::frames::read::{FRAME, ids};
use crate::transport::input::TraceSource;
use crate::wire::packet::Packet;
use crate::wire::scan::{SYNC_LEN, find_sync};

/// Bytes of the excerpt that frames are looked for in.
const HEAD: usize = 1 << 16;
/// Packets that are looked at.
const PACKETS: usize = 10_000;
/// Errors that may be the seam of a circular buffer.
const SEAMS: usize = 3;

/// A field of a register: its lowest bit, its bits, and the values to try.
struct Field {
    register: &'static str,
    name: &'static str,
    low: u32,
    width: u32,
    values: &'static [u64],
}

/// Fields that decide how packets are read.
const FIELDS: [Field; 9] = [
    Field { register: "TRCCONFIGR", name: "RS", low: 12, width: 1, values: &[0, 1] },
    Field { register: "TRCCONFIGR", name: "TS", low: 11, width: 1, values: &[0, 1] },
    Field { register: "TRCIDR0", name: "COMMOPT", low: 29, width: 1, values: &[0, 1] },
    Field { register: "TRCIDR0", name: "COMMTRANS", low: 30, width: 1, values: &[0, 1] },
    Field { register: "TRCIDR0", name: "QSUPP", low: 15, width: 2, values: &[0, 1] },
    Field { register: "TRCIDR0", name: "TSSIZE", low: 24, width: 5, values: &[6, 8] },
    Field { register: "TRCIDR2", name: "CIDSIZE", low: 5, width: 5, values: &[0, 4] },
    Field { register: "TRCIDR2", name: "VMIDSIZE", low: 10, width: 5, values: &[0, 1, 2, 4] },
    Field { register: "TRCIDR2", name: "WFXMODE", low: 31, width: 1, values: &[0, 1] },
];

/// Values of MAXSPEC to try.
const MAX_SPEC: std::ops::RangeInclusive<u64> = 0..=32;

/// Starting points, the likeliest first.
pub(crate) fn candidates(excerpt: &Excerpt<'_>) -> Vec<Candidate> {
    let head = &excerpt.bytes[..excerpt.bytes.len().min(HEAD)];
    let mut framings = Vec::new();
    for framing in [Framing::Coresight, Framing::Dstream] {
        if !traced_ids(framing, head).is_empty() {
            framings.push(framing);
        }
    }
    if holds_a_stream(head) {
        framings.insert(0, Framing::Raw);
    }
    let mut found = Vec::new();
    for framing in framings {
        for version in [Version::Ete(3), Version::Etm(2), Version::Etm(0)] {
            for return_stack in [0, 1] {
                let mut section = Table::new();
                section.insert("format".into(), framing.as_str().into());
                version.set(&mut section);
                set_field(&mut section, "TRCCONFIGR", 12, 1, return_stack);
                let what = format!("{}, {}, RS {return_stack}", framing.as_str(), version.name());
                found.extend(valid(&Settings::default(), section, what));
            }
        }
    }
    found
}

/// Variations of `from`, one respect at a time.
pub(crate) fn neighbours(from: &Settings, excerpt: &Excerpt<'_>) -> Vec<Candidate> {
    let section = match from.table.get(ID.as_str()) {
        Some(Value::Table(section)) => section.clone(),
        _ => from
            .table
            .iter()
            .filter(|(name, _)| is_register(name))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect(),
    };
    let mut found = Vec::new();
    let mut add = |section: Table, what: String| found.extend(valid(from, section, what));
    let head = &excerpt.bytes[..excerpt.bytes.len().min(HEAD)];
    for framing in [Framing::Raw, Framing::Coresight, Framing::Dstream] {
        let mut other = section.clone();
        other.insert("format".into(), framing.as_str().into());
        add(other.clone(), format!("format {}", framing.as_str()));
        if framing == Framing::Raw {
            continue;
        }
        let mut all = other.clone();
        each_unit(&mut all, &mut |unit| drop(unit.remove("TRCTRACEIDR")));
        add(all, format!("format {}, all trace ids", framing.as_str()));
        for (id, _) in ids(framing, head).into_iter().filter(|(id, _)| *id < 0x70).take(16) {
            let mut one = other.clone();
            each_unit(&mut one, &mut |unit| set(unit, "TRCTRACEIDR", id.into()));
            add(one, format!("format {}, trace id {id:#x}", framing.as_str()));
        }
    }
    for (register, value) in USUAL {
        let mut other = section.clone();
        each_unit(&mut other, &mut |unit| {
            if get(unit, register).is_some() {
                set(unit, register, value);
            }
        });
        add(other, format!("{register} {value:#x}, as most units have it"));
    }
    for field in &FIELDS {
        for value in field.values {
            let mut other = section.clone();
            each_unit(&mut other, &mut |unit| {
                set_field(unit, field.register, field.low, field.width, *value)
            });
            add(other, format!("{}.{} {value}", field.register, field.name));
        }
    }
    for depth in MAX_SPEC.chain([48, 64, 96, 127, 128, 255]) {
        let mut other = section.clone();
        each_unit(&mut other, &mut |unit| set(unit, "TRCIDR8", depth));
        add(other, format!("MAXSPEC {depth}"));
    }
    let versions = (0..=3).map(Version::Ete).chain((0..=6).map(Version::Etm));
    for version in versions {
        let mut other = section.clone();
        each_unit(&mut other, &mut |unit| version.set(unit));
        add(other, version.name());
    }
    for profile in ["Cortex-A53", "Cortex-M33"] {
        let mut other = section.clone();
        each_unit(&mut other, &mut |unit| drop(unit.insert("profile".into(), profile.into())));
        add(other, format!("profile {profile}"));
    }
    let mut other = section.clone();
    if other.remove("write_pointer").is_some() {
        add(other, "no write pointer".into());
    }
    if excerpt.whole {
        for pointer in seams(from, excerpt) {
            let mut other = section.clone();
            other.insert("write_pointer".into(), Value::Integer(pointer as i64));
            add(other, format!("write pointer {pointer}"));
        }
    }
    found
}

/// The packets of the first source, by these settings.
fn packets(settings: &Settings, excerpt: &Excerpt<'_>) -> Option<(Config, Framing, Packets)> {
    let given = Given::read(settings).ok()?;
    let framing = given.section.format.unwrap_or_else(|| framing_of(excerpt.bytes));
    let mut config = given.configs().ok()?.into_iter().next()?;
    if framing != Framing::Raw && !config.registers.contains_key("TRCTRACEIDR") {
        config.trace_id = *traced_ids(framing, excerpt.bytes).first()?;
    }
    let data: trackway_core::SharedBytes = std::sync::Arc::new(excerpt.bytes.to_vec());
    let source = TraceSource { config: config.clone(), framing, data, image: Default::default() };
    let options = Options { write_pointer: given.section.write_pointer, ..Options::default() };
    Some((config, framing, Packets::new(vec![source], options)))
}

/// Values that are legal and unlikely.
pub(crate) fn doubts(settings: &Settings, excerpt: &Excerpt<'_>) -> Vec<Doubt> {
    let Some((config, _, mut packets)) = packets(settings, excerpt) else { return Vec::new() };
    let (mut sequence, mut timed) = (Sequence::default(), false);
    let (mut starts, mut first, mut restarted) = (Starts::default(), None, None);
    let mut count = 0;
    while count < PACKETS {
        count += 1;
        match packets.next() {
            Ok(Some(placed)) => {
                if let PacketItem::Packet(packet) = placed.item {
                    first = first.or(Some(placed.offset));
                    restarted = restarted.or(starts.packet(&packet, placed.offset));
                    timed |= matches!(packet, Packet::Timestamp { .. });
                    sequence.packet(&packet, &config, &mut |_, _| {});
                }
            }
            Ok(None) => break,
            Err(_) if matches!(packets.resync(), Ok(Some(_))) => {}
            Err(_) => break,
        }
    }
    let mut found = impossible(&config);
    if sequence.depth > 0 && excerpt.whole {
        let text = format!("{} P0 elements are never resolved: is MAXSPEC smaller?", sequence.depth);
        found.push(Doubt::new(text));
    }
    if timed && !config.timestamps {
        found.push(Doubt::new("there are timestamps, and TRCCONFIGR.TS is 0"));
    }
    let wraps = settings.table.get(ID.as_str()).is_some_and(|section| section.get("write_pointer").is_some());
    if let Some(start) = restarted.filter(|start| wraps && Some(*start) != first) {
        let text = format!("tracing starts in the middle, at byte {start}: does the buffer begin there?");
        found.push(Doubt { key: Some("write_pointer"), text });
    }
    found
}

/// Finds where tracing starts: an Alignment Sync, and a Trace On before anything that was traced.
#[derive(Default)]
struct Starts {
    sync: Option<u64>,
}

impl Starts {
    /// The offset of the Alignment Sync, at the Trace On.
    fn packet(&mut self, packet: &Packet, offset: u64) -> Option<u64> {
        match packet {
            Packet::AlignmentSync { .. } => self.sync = Some(offset),
            Packet::TraceOn => return self.sync.take(),
            Packet::TraceInfo(_) | Packet::Event(_) | Packet::Timestamp { .. } | Packet::Ignore => {}
            _ => self.sync = None,
        }
        None
    }
}

/// Fields that have one value in every ETE (ETE, differences between ETMv4 and ETE): a register with another is not
/// that of the unit.
fn impossible(config: &Config) -> Vec<Doubt> {
    let fixed = [("TRCIDR2", "IASIZE", 0, 8), ("TRCIDR2", "CIDSIZE", 5, 4), ("TRCIDR0", "TSSIZE", 24, 8)];
    let is_wrong = |(register, name, low, value): (&str, &str, u32, u64)| {
        let found = config.registers.get(register)? >> low & 0x1f;
        (found != value)
            .then(|| Doubt::new(format!("{register}.{name} is {found}, and {value} in every ETE")))
    };
    let mut found: Vec<Doubt> = fixed.into_iter().filter_map(is_wrong).collect();
    // The other fields of this register are the same in almost every unit.
    let usual = USUAL.iter().find(|row| row.0 == "TRCIDR2").map(|row| row.1);
    if found.is_empty() && config.registers.get("TRCIDR2").copied().is_some_and(|value| Some(value) != usual)
    {
        found.push(Doubt { key: Some("TRCIDR2"), text: "TRCIDR2 is unusual".into() });
    }
    if config.dialect.ete { found } else { Vec::new() }
}

/// Places where a circular buffer may begin: before the packets that make no sense.
fn seams(from: &Settings, excerpt: &Excerpt<'_>) -> Vec<usize> {
    let mut plain = from.clone();
    if let Some(Value::Table(section)) = plain.table.get_mut(ID.as_str()) {
        section.remove("write_pointer");
    }
    let Some((_, framing, mut packets)) = packets(&plain, excerpt) else { return Vec::new() };
    let mut places = Vec::new();
    if framing == Framing::Raw {
        // The oldest packets cannot be read up to a synchronisation: the buffer begins before it.
        let sync = find_sync(excerpt.bytes, 0).unwrap_or(0).saturating_sub(SYNC_LEN);
        places.extend(sync.saturating_sub(32)..=sync);
    }
    let (mut errors, mut syncs, mut restarts) = (0, 0, 0);
    let mut starts = Starts::default();
    while errors < SEAMS {
        match packets.next() {
            Ok(Some(Placed { item: PacketItem::Packet(packet), offset, .. })) => {
                let start = starts.packet(&packet, offset).filter(|_| restarts < SEAMS);
                restarts += usize::from(start.is_some());
                // In frames nothing shows that the first packets cannot be read: a buffer that was filled once begins so.
                let is_sync = matches!(packet, Packet::AlignmentSync { .. });
                let sync = (is_sync && framing != Framing::Raw && syncs < SEAMS).then_some(offset);
                syncs += usize::from(sync.is_some());
                for place in start.into_iter().chain(sync).map(|place| place as usize) {
                    let frame = place / FRAME * FRAME;
                    match framing {
                        Framing::Raw => places.push(place),
                        _ => places.extend([frame, frame.saturating_sub(FRAME)]),
                    }
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error) => {
                errors += 1;
                let at = (error.offset as usize).min(excerpt.bytes.len());
                match framing {
                    Framing::Raw => places.extend(at.saturating_sub(16)..=at),
                    _ => {
                        let frame = at / FRAME * FRAME;
                        places.extend((0..4).map(|n| (frame + FRAME).saturating_sub(n * FRAME)));
                    }
                }
                if !matches!(packets.resync(), Ok(Some(_))) {
                    break;
                }
            }
        }
    }
    places.retain(|place| *place > 0 && *place < excerpt.bytes.len());
    places.sort_unstable();
    places.dedup();
    places
}

/// The architecture of a trace unit.
enum Version {
    Ete(u64),
    Etm(u64),
}

impl Version {
    fn name(&self) -> String {
        match self {
            Version::Ete(minor) => format!("ETE 1.{minor}"),
            Version::Etm(minor) => format!("ETMv4.{minor}"),
        }
    }

    /// Sets the registers that name it. ETMv4 has other sizes of virtual context identifiers.
    fn set(&self, unit: &mut Table) {
        match self {
            Version::Ete(minor) => {
                set(unit, "TRCDEVARCH", 0x4770_5a13 | minor << 16);
                set(unit, "TRCIDR1", 0x4100_fff0);
            }
            Version::Etm(minor) => {
                set(unit, "TRCDEVARCH", 0x4770_4a13 | minor << 16);
                set(unit, "TRCIDR1", 0x4100_f400 | minor << 4);
            }
        }
    }
}

/// Calls `change` for the section, or for each of its sources.
fn each_unit(section: &mut Table, change: &mut dyn FnMut(&mut Table)) {
    match section.get_mut("sources").and_then(Value::as_array_mut) {
        Some(sources) if !sources.is_empty() => {
            sources.iter_mut().filter_map(Value::as_table_mut).for_each(change);
        }
        _ => change(section),
    }
}

/// The value of a register, by its name in any case.
fn get(unit: &Table, register: &str) -> Option<u64> {
    let (_, value) = unit.iter().find(|(name, _)| name.eq_ignore_ascii_case(register))?;
    match value {
        Value::Integer(value) => u64::try_from(*value).ok(),
        Value::String(text) => {
            u64::from_str_radix(text.trim().to_ascii_lowercase().trim_start_matches("0x"), 16).ok()
        }
        _ => None,
    }
}

/// Sets a register, in hex as sysfs shows it.
fn set(unit: &mut Table, register: &str, value: u64) {
    let own = unit.keys().find(|name| name.eq_ignore_ascii_case(register)).cloned();
    unit.insert(own.unwrap_or_else(|| register.to_string()), format!("{value:#x}").into());
}

fn set_field(unit: &mut Table, register: &'static str, low: u32, width: u32, value: u64) {
    let usual = USUAL.iter().find(|row| row.0 == register).map_or(0, |row| row.1);
    let before = get(unit, register).unwrap_or(usual);
    let after = before & !(((1 << width) - 1) << low) | value << low;
    if after != before {
        set(unit, register, after);
    }
}

/// Settings with this section; none where nothing changes or they are refused.
fn valid(from: &Settings, section: Table, what: String) -> Option<Candidate> {
    if from.table.get(ID.as_str()).and_then(Value::as_table) == Some(&section) {
        return None;
    }
    let mut settings = Settings { path: from.path.clone(), table: Table::new() };
    settings.table.insert(ID.as_str().into(), Value::Table(section));
    Given::read(&settings).ok()?.configs().ok()?;
    Some(Candidate { settings, what })
}
