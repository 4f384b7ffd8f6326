//! Settings to try where those of a trace are lost: framings by their headers, the layout of packets by where
//! synchronisations lead in the program, and variations of settings that may be almost right.

use toml::{Table, Value};
use trackway_core::{BitReader, Context, Input, mask};
use trackway_format::{Candidate, Excerpt, Settings};

use crate::config::Config;
use crate::dialect::Dialect;
use crate::modes::{Mode, SupportLayout};
use crate::transport::{Framing, Kind};
use crate::wire::Reader;
use crate::wire::instruction::Packet;

/// Frames that are looked at.
const FRAMES: usize = 512;
/// Framings that are worth a trial.
const FRAMINGS: usize = 6;
/// Layouts of synchronisation packets that are worth a trial.
const LAYOUTS: usize = 8;

/// Usual widths of addresses.
const WIDTHS: [u32; 8] = [64, 32, 40, 48, 39, 57, 56, 34];

/// Changes of some keys: a value, or its removal.
type Change = Vec<(&'static str, Option<Value>)>;

/// A framing with the evidence against it.
struct Framed {
    framing: Framing,
    /// Payloads of instruction packets, each with its length in bits.
    payloads: Vec<(Vec<u8>, u32)>,
    /// Time stamps of frames.
    stamps: Vec<u64>,
    /// Frames that contradict it, of a thousand.
    against: u64,
}

impl Framed {
    fn is_like(&self, other: &Framed) -> bool {
        self.payloads == other.payloads && self.stamps == other.stamps
    }
}

/// Starting points, the likeliest first.
pub(crate) fn candidates(excerpt: &Excerpt<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    for framed in framings(excerpt) {
        for layout in layouts(&framed, excerpt, None) {
            let mut change = framing_keys(&framed.framing);
            let what = format!("{}, {}", name(&framed.framing), layout.what);
            change.extend(layout.keys);
            found.extend(changed(&Settings::default(), &change, what));
        }
    }
    found
}

/// Variations of `from`, one respect at a time.
pub(crate) fn neighbours(from: &Settings, excerpt: &Excerpt<'_>) -> Vec<Candidate> {
    let config = Config::from_section(Config::section(&from.table)).unwrap_or_default();
    let mut changes: Vec<(String, Change)> = Vec::new();
    let framings = framings(excerpt);
    changes.extend(framings.iter().map(|framed| (name(&framed.framing), framing_keys(&framed.framing))));
    changes.extend(dialects(&config));
    // Where synchronisations lead shows the widths before the address at once.
    for framed in &framings {
        for layout in layouts(framed, excerpt, Some(&config)) {
            let mut keys = framing_keys(&framed.framing);
            keys.extend(layout.keys);
            changes.push((format!("{}, {}", name(&framed.framing), layout.what), keys));
        }
    }
    let numbers = |key: &'static str, values: &mut dyn Iterator<Item = u32>| {
        values.map(|value| (format!("{key} {value}"), vec![(key, number(value))])).collect::<Vec<_>>()
    };
    changes.extend(numbers("iaddress_width", &mut WIDTHS.into_iter().chain(16..=64)));
    changes.extend(numbers("iaddress_lsb", &mut (0..=2)));
    changes.extend(numbers("privilege_width", &mut (1..=4)));
    changes.push(("nocontext 1".into(), vec![("nocontext", number(1))]));
    for width in 1..=64 {
        let keys = vec![("nocontext", number(0)), ("context_width", number(width))];
        changes.push((format!("context_width {width}"), keys));
    }
    if config.dialect.has_time() {
        changes.push(("notime 1".into(), vec![("notime", number(1))]));
        for width in 1..=64 {
            let keys = vec![("notime", number(0)), ("time_width", number(width))];
            changes.push((format!("time_width {width}"), keys));
        }
    }
    changes.extend(numbers("ecause_width", &mut (1..=16).chain([31, 32, 63, 64])));
    for (key, other, largest) in
        [("return_stack_size", "call_counter_size", 9), ("call_counter_size", "return_stack_size", 7)]
    {
        for size in 0..=largest {
            changes.push((format!("{key} {size}"), vec![(key, number(size)), (other, number(0))]));
        }
    }
    for key in ["bpred_size", "cache_size"] {
        for size in 0..=10 {
            let mut keys = vec![(key, number(size))];
            changes.push((format!("{key} {size}"), keys.clone()));
            keys.push(("f0s_width", number(1)));
            changes.push((format!("{key} {size}, f0s_width 1"), keys));
        }
    }
    changes.extend(numbers("f0s_width", &mut (0..=3)));
    changes.extend(support(&config));
    changes.extend(modes(&config));
    let data = Table::from_iter([("enable".to_string(), Value::Boolean(!config.data.enable))]);
    changes.push(("data trace".into(), vec![("data", Some(Value::Table(data)))]));
    changes.into_iter().filter_map(|(what, keys)| changed(from, &keys, what)).collect()
}

/// Values that are legal and unlikely.
pub(crate) fn doubts(settings: &Settings, excerpt: &Excerpt<'_>) -> Vec<String> {
    let Ok(config) = Config::from_section(Config::section(&settings.table)) else { return Vec::new() };
    let (mut times, mut contexts) = (Vec::new(), Vec::new());
    let mut reader = Reader::new(Input::from_vec(excerpt.bytes.to_vec()), &config);
    let layout = *reader.layout();
    while times.len() < FRAMES {
        match reader.read() {
            Ok(Some(item)) => match item.packet() {
                Some(Packet::Start(start)) => {
                    times.push(start.time);
                    contexts.push(start.context);
                }
                Some(Packet::Trap(trap)) => {
                    times.push(trap.time);
                    contexts.push(trap.context);
                }
                _ => {}
            },
            Ok(None) => break,
            Err(_) if reader.resync().is_ok_and(|skipped| skipped.is_some()) => {}
            Err(_) => break,
        }
    }
    let mut found = Vec::new();
    let changes: Vec<_> = contexts.windows(2).filter(|pair| pair[0] != pair[1]).collect();
    if layout.privilege < 2 {
        found.push("privilege_width 1 has no room for machine mode".into());
    }
    if layout.time > 0 && times.len() > 1 && times.windows(2).all(|pair| pair[0] == pair[1]) {
        found.push("the time never changes: is it a context?".into());
    }
    if layout.time > 8 && times.iter().any(|time| time >> (layout.time - 1) == 1) {
        found.push("times have their highest bit set: is the field narrower?".into());
    }
    if layout.time % 8 != 0 {
        found.push(format!("time_width {} is unusual", layout.time));
    }
    if layout.context > 32 {
        found.push(format!("context_width {} is unusual", layout.context));
    }
    let only_grows = !changes.is_empty() && changes.iter().all(|pair| pair[0] < pair[1]);
    if layout.context > 0 && (only_grows || 2 * changes.len() > contexts.len()) {
        found.push("the context changes as a time does".into());
    }
    found
}

/// The other dialect, alone and with its own defaults.
fn dialects(config: &Config) -> Vec<(String, Change)> {
    let other = if config.dialect == Dialect::V2 { Dialect::Draft } else { Dialect::V2 };
    let what = format!("dialect {}", other.as_str());
    let alone = vec![("dialect", Some(Value::from(other.as_str())))];
    let mut usual = alone.clone();
    usual.extend(["privilege_width", "nocontext", "context_width"].map(|key| (key, None)));
    vec![(what.clone(), alone), (format!("{what} with its defaults"), usual)]
}

/// Layouts of the support packet.
fn support(config: &Config) -> Vec<(String, Change)> {
    let named = SupportLayout::NAMES.iter().map(|name| {
        let removed = ["ioptions", "doptions", "doptions_width", "encoder_mode_width"].map(|key| (key, None));
        let mut keys = vec![("support_layout", Some(Value::from(*name)))];
        keys.extend(removed);
        (format!("support_layout {name}"), keys)
    });
    let widths = (0..=4).filter(|width| *width != config.support.encoder_mode_width);
    let modes = widths
        .map(|width| (format!("encoder_mode_width {width}"), vec![("encoder_mode_width", number(width))]));
    let data =
        [0, 2, 4].map(|width| (format!("doptions_width {width}"), vec![("doptions_width", number(width))]));
    named.chain(modes).chain(data).collect()
}

/// Modes that may be on from the start, and how calls are counted.
fn modes(config: &Config) -> Vec<(String, Change)> {
    let switched = |mode: Mode| {
        let mut options = config.options;
        options.set(mode, !options.get(mode));
        let on = Mode::ALL.into_iter().filter(|mode| options.get(*mode));
        let names: Vec<Value> = on.map(|mode| mode.as_str().into()).collect();
        let mut keys = vec![("options", Some(Value::Array(names)))];
        if mode == Mode::Sijump {
            keys.push(("sijump", number(u32::from(options.sijump))));
        }
        let word = if options.get(mode) { "on" } else { "off" };
        (format!("{} {word} from the start", mode.as_str()), keys)
    };
    let mut all: Vec<_> = Mode::ALL[..6].iter().map(|mode| switched(*mode)).collect();
    let full = !config.call_counter_full;
    all.push((format!("call_counter_full {full}"), vec![("call_counter_full", Some(full.into()))]));
    let calls = if config.calls_x1_only { "x1-x5" } else { "x1" };
    all.push((format!("calls {calls}"), vec![("calls", Some(calls.into()))]));
    all
}

fn number(value: u32) -> Option<Value> {
    Some(Value::from(value))
}

/// `from` with some keys changed; none where nothing changes or the result is refused.
fn changed(from: &Settings, keys: &[(&'static str, Option<Value>)], what: String) -> Option<Candidate> {
    let before = Config::section(&from.table);
    let mut section = before.clone();
    for (key, value) in keys {
        match value {
            Some(Value::Table(table)) => {
                let inner = section.entry(*key).or_insert_with(|| Table::new().into());
                inner.as_table_mut()?.extend(table.clone());
            }
            Some(value) => drop(section.insert((*key).into(), value.clone())),
            None => drop(section.remove(*key)),
        }
    }
    if section == before {
        return None;
    }
    Config::from_section(section.clone()).ok()?;
    let mut settings = Settings { path: from.path.clone(), table: Table::new() };
    settings.table.insert("etrace".into(), Value::Table(section));
    Some(Candidate { settings, what })
}

/// Its name with its widths, for people.
fn name(framing: &Framing) -> String {
    match framing {
        Framing::Encap { srcid_width, type_width, timestamp_bytes } => format!(
            "framing encap (srcid_width {srcid_width}, type_width {type_width}, timestamp_bytes {timestamp_bytes})"
        ),
        Framing::Ultrasoc { index_width } => format!("framing ultrasoc (srcid_width {index_width})"),
        Framing::Atb { align } => format!("framing atb (align {align})"),
        other => format!("framing {}", other.as_str()),
    }
}

fn framing_keys(framing: &Framing) -> Change {
    let mut keys: Change = vec![("framing", Some(framing.as_str().into()))];
    let (mut srcid, mut kind, mut stamp, mut aligned) = (None, None, None, None);
    match *framing {
        Framing::Encap { srcid_width, type_width, timestamp_bytes } => {
            (srcid, kind, stamp) = (number(srcid_width), number(type_width), number(timestamp_bytes));
        }
        Framing::Ultrasoc { index_width } => srcid = number(index_width),
        Framing::Atb { align } => aligned = number(align),
        _ => {}
    }
    keys.extend([
        ("srcid_width", srcid),
        ("type_width", kind),
        ("timestamp_bytes", stamp),
        ("align", aligned),
    ]);
    keys
}

/// The framings by which the excerpt can be walked to its end, the likeliest first.
fn framings(excerpt: &Excerpt<'_>) -> Vec<Framed> {
    let mut all = vec![Framing::Smi];
    for timestamp_bytes in 0..=8 {
        for srcid_width in (0..=12).chain([16, 24, 32]) {
            for type_width in [0, 2] {
                all.push(Framing::Encap { srcid_width, type_width, timestamp_bytes });
            }
        }
    }
    all.extend((0..=12).chain([16]).map(|index_width| Framing::Ultrasoc { index_width }));
    all.extend([1, 2, 4, 8, 16, 32, 64].map(|align| Framing::Atb { align }));
    let mut framed: Vec<Framed> = all.into_iter().filter_map(|framing| walk(framing, excerpt)).collect();
    // The order above decides between those that nothing distinguishes.
    framed.sort_by_key(|framed| framed.against);
    let mut distinct: Vec<Framed> = Vec::new();
    for framed in framed {
        if distinct.len() < FRAMINGS && !distinct.iter().any(|other| other.is_like(&framed)) {
            distinct.push(framed);
        }
    }
    distinct
}

/// Walks the frames; none where they do not lead to the end.
fn walk(framing: Framing, excerpt: &Excerpt<'_>) -> Option<Framed> {
    let (mut at, mut frames, mut against) = (0, 0u64, 0u64);
    let mut payloads: Vec<(Vec<u8>, u32)> = Vec::new();
    let (mut sources, mut flows) = (Vec::new(), [0u64; 8]);
    let (mut scratch, mut stamps) = ([0; 64], Vec::new());
    let align = framing.align() as usize;
    while at < excerpt.bytes.len() && payloads.len() < FRAMES && frames < 8 * FRAMES as u64 {
        let rest = &excerpt.bytes[at..];
        let frame = match framing.read(rest, frames) {
            Ok(frame) => frame,
            // The excerpt may end anywhere.
            Err(error) if error == trackway_core::ErrorKind::Truncated && !excerpt.whole => break,
            Err(_) => return None,
        };
        frames += 1;
        at += (frame.len as usize).next_multiple_of(align);
        match frame.kind {
            Kind::Null => {
                against += u64::from(frame.header & 0x7f != 0);
                continue;
            }
            Kind::Other(_) => against += 4,
            Kind::Data | Kind::Instruction => {}
        }
        flows[usize::from(frame.header >> 5)] += 1;
        if let Some(time) = frame.time {
            against += u64::from(stamps.last().is_some_and(|before| time < *before));
            stamps.push(time);
        }
        if !sources.contains(&frame.source) {
            sources.push(frame.source);
        }
        let payload = frame.payload(rest, &mut scratch);
        // Packets are as short as their sign allows, in whole bytes.
        if let [.., before, last] = payload
            && frame.payload_at % 8 == 0
        {
            against += u64::from(*last == if before >> 7 == 1 { 0xff } else { 0 });
        }
        if frame.kind == Kind::Instruction {
            payloads.push((payload.to_vec(), frame.payload_bits));
        }
    }
    let starts = payloads.first().is_some_and(|(payload, _)| payload[0] & 3 == 3);
    let syncs = payloads.iter().filter(|(payload, _)| payload[0] & 15 == 3).count();
    if payloads.is_empty() || syncs == 0 {
        return None;
    }
    against += payloads.iter().filter(|(payload, _)| payload[0] & 3 == 0).count() as u64;
    against += if starts { 0 } else { 4 };
    against += 4 * (sources.len() as u64 - 1);
    against += flows.iter().sum::<u64>() - flows.iter().max().copied().unwrap_or(0);
    let against = against * 1000 / frames;
    Some(Framed { framing, payloads, stamps, against })
}

/// Widths up to the address of synchronisation packets.
struct Layout {
    keys: Change,
    what: String,
}

/// Layouts by which synchronisations lead into the program, the likeliest first; the usual ones without a program.
fn layouts(framed: &Framed, excerpt: &Excerpt<'_>, given: Option<&Config>) -> Vec<Layout> {
    let syncs: Vec<&[u8]> = framed
        .payloads
        .iter()
        .filter(|(payload, _)| payload[0] & 15 == 3)
        .map(|(payload, _)| &payload[..])
        .take(64)
        .collect();
    let code = code(excerpt);
    if code.is_empty() || syncs.is_empty() {
        return usual();
    }
    // Bits before the address, lowest bit, width; with the share that leads into the program.
    let mut places = Vec::new();
    let own = |get: fn(&Config) -> u32| given.map(get).into_iter();
    let in_code = |address: u64| code.iter().any(|(first, last)| (*first..*last).contains(&address));
    for before in 5..=5 + 4 + 64 + 64 {
        let fields: Vec<u64> =
            syncs.iter().map(|payload| bits_from(payload, before).take_extended(64)).collect();
        for lsb in own(|config| config.params.iaddress_lsb).chain([1, 0, 2]) {
            for width in own(|config| config.params.iaddress_width).chain(WIDTHS) {
                let leads = |field: &&u64| in_code(mask(**field << lsb, width));
                let hits = fields.iter().filter(leads).count();
                if 2 * hits > syncs.len() {
                    places.push((hits, before, lsb, width));
                }
            }
        }
    }
    places.sort_by_key(|(hits, ..)| std::cmp::Reverse(*hits));
    // The first width of those that lead to the same places is enough to start from.
    places.dedup_by_key(|(hits, before, lsb, _)| (*hits, *before, *lsb));
    places.truncate(LAYOUTS);
    places.into_iter().flat_map(|(_, before, lsb, width)| splits(before, lsb, width, &syncs, given)).collect()
}

/// Without a program: the defaults, with the usual widths of addresses.
fn usual() -> Vec<Layout> {
    let mut all = Vec::new();
    for dialect in [Dialect::V2, Dialect::Draft] {
        for width in [64, 32, 40, 48] {
            let keys = vec![("dialect", Some(dialect.as_str().into())), ("iaddress_width", number(width))];
            all.push(Layout { keys, what: format!("dialect {}, iaddress_width {width}", dialect.as_str()) });
        }
    }
    all
}

/// The ways in which the bits before the address can be divided; those near `given` first.
fn splits(before: u32, lsb: u32, width: u32, syncs: &[&[u8]], given: Option<&Config>) -> Vec<Layout> {
    let mut all = Vec::new();
    let own = given.map(|config| {
        let params = &config.params;
        let time = if config.has_time() { params.time_width } else { 0 };
        (config.dialect, params.privilege_width, time, (1 - params.nocontext.min(1)) * params.context_width)
    });
    let mut heads = vec![(Dialect::V2, 2), (Dialect::Draft, 3), (Dialect::V2, 3), (Dialect::Draft, 2)];
    if let Some((dialect, privilege, time, context)) = own {
        heads.insert(0, (dialect, privilege));
        let fitting = before.checked_sub(5 + time + context).filter(|bits| (1..=4).contains(bits));
        heads.extend(fitting.map(|privilege| (dialect, privilege)));
    }
    for (dialect, privilege) in heads {
        let Some(rest) = before.checked_sub(5 + privilege) else { continue };
        // Bits of the time, which come before those of the context.
        let mut times = Vec::new();
        if let Some((_, _, time, context)) = own.filter(|_| dialect.has_time()) {
            times.extend([Some(time), rest.checked_sub(context)].into_iter().flatten());
        }
        times.push(0);
        if dialect.has_time() {
            times.extend([rest, 64, 48, 40, 32, 16, 8].into_iter().filter(|time| *time <= rest));
        }
        times.retain(|time| *time <= 64.min(rest) && rest - time <= 64);
        let mut seen = Vec::new();
        times.retain(|time| !seen.contains(time) && { seen.push(*time); true });
        times.sort_by_key(|time| implausible(syncs, 5 + privilege, *time, rest - time));
        for time in times.into_iter().take(3) {
            let context = rest - time;
            let mut keys: Change = vec![
                ("dialect", Some(dialect.as_str().into())),
                ("iaddress_width", number(width)),
                ("iaddress_lsb", number(lsb)),
                ("privilege_width", number(privilege)),
                ("nocontext", number(u32::from(context == 0))),
                ("context_width", number(context).filter(|_| context > 0)),
            ];
            let mut what =
                format!("dialect {}, iaddress_width {width}, iaddress_lsb {lsb}", dialect.as_str());
            if context > 0 {
                what += &format!(", context_width {context}");
            }
            if dialect.has_time() {
                keys.push(("notime", number(u32::from(time == 0))));
                keys.push(("time_width", number(time).filter(|_| time > 0)));
            }
            if time > 0 {
                what += &format!(", time_width {time}");
            }
            all.push(Layout { keys, what });
        }
    }
    all
}

/// How much speaks against a division: times that decrease, contexts that change as times do.
fn implausible(syncs: &[&[u8]], at: u32, time: u32, context: u32) -> usize {
    let (mut times, mut contexts) = (Vec::new(), Vec::new());
    for payload in syncs {
        let mut bits = bits_from(payload, at);
        times.push(bits.take_extended(time));
        contexts.push(bits.take_extended(context));
    }
    let decreases = times.windows(2).filter(|pair| pair[1] < pair[0]).count();
    let changes = contexts.windows(2).filter(|pair| pair[1] != pair[0]).count();
    let idle = usize::from(time > 0 && times.iter().all(|now| *now == times[0]));
    4 * decreases + 2 * changes + idle
}

/// The bits of a payload from `at` on.
fn bits_from(payload: &[u8], at: u32) -> BitReader<'_> {
    let mut bits = BitReader::new(payload);
    let mut left = at;
    while left > 0 {
        let width = left.min(64);
        bits.take_extended(width);
        left -= width;
    }
    bits
}

/// The ranges of code in the program.
fn code(excerpt: &Excerpt<'_>) -> Vec<(u64, u64)> {
    let memory = excerpt.image.memory(&Context::default());
    let code = memory.segments().iter().filter(|segment| segment.executable);
    code.map(|segment| (segment.address, segment.address + segment.bytes().len() as u64)).collect()
}
