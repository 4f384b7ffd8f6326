//! The layout of packets, by where synchronisations lead in the program.

use trackway_core::{BitReader, Context, mask};
use trackway_format::Excerpt;

use super::change::{Change, number};
use super::framings::Framed;
use crate::config::Config;
use crate::dialect::Dialect;

/// Layouts of synchronisation packets that are worth a trial.
const LAYOUTS: usize = 8;
/// Synchronisations that are looked at to compare framings, and layouts.
const SYNCS: [usize; 2] = [16, 64];
/// Widths of a trap's cause that are looked at, and of those that lead into the program the ones worth a trial.
const CAUSES: (u32, usize) = (16, 3);
/// Usual widths of addresses.
pub(super) const WIDTHS: [u32; 8] = [64, 32, 40, 48, 39, 57, 56, 34];

/// Widths up to the address of synchronisation packets.
pub(super) struct Layout {
    /// Their keys.
    pub(super) keys: Change,
    /// For people.
    pub(super) what: String,
}

/// Layouts by which synchronisations lead into the program, the likeliest first; the usual ones without a program.
pub(super) fn layouts(framed: &Framed, excerpt: &Excerpt<'_>, given: Option<&Config>) -> Vec<Layout> {
    let (syncs, code) = (syncs(framed, SYNCS[1]), code(excerpt));
    if code.is_empty() || syncs.is_empty() {
        return usual();
    }
    let traps = payloads(framed, TRAP, SYNCS[1]);
    let places = places(&syncs, &code, given).into_iter().take(LAYOUTS);
    let split = |(_, before, lsb, width)| {
        let mut all = Vec::new();
        for (dialect, layout) in splits(before, lsb, width, &syncs, given) {
            let causes = causes(&traps, dialect, (before, lsb, width), &code);
            let named = causes.iter().map(|cause| layout.with_cause(*cause));
            // The given width, or the usual one, counts where traps say nothing else.
            all.extend(named);
            all.extend((given.is_some() || causes.is_empty()).then_some(layout));
        }
        all
    };
    places.flat_map(split).collect()
}

/// Widths of the cause by which most traps lead into the program, the likeliest first: a wrong one hides all that
/// follows a trap, so that no other setting can be judged.
fn causes(
    traps: &[&[u8]],
    dialect: Dialect,
    (before, lsb, width): (u32, u32, u32),
    code: &[(u64, u64)],
) -> Vec<u32> {
    let flags = if dialect.has_thaddr() { 2 } else { 1 };
    let mut found = Vec::new();
    for cause in 1..=CAUSES.0 {
        let address = |trap: &&[u8]| bits_from(trap, before + cause + flags).take_extended(64);
        let hits = traps.iter().filter(|trap| is_in(code, mask(address(trap) << lsb, width))).count();
        if 2 * hits > traps.len() {
            found.push((hits, cause));
        }
    }
    // Twice an address of the program may be in it too, half of it hardly.
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, cause)| cause).take(CAUSES.1).collect()
}

fn is_in(code: &[(u64, u64)], address: u64) -> bool {
    code.iter().any(|(first, last)| (*first..*last).contains(&address))
}

impl Layout {
    fn with_cause(&self, width: u32) -> Layout {
        let mut keys = self.keys.clone();
        keys.push(("ecause_width", number(width)));
        Layout { keys, what: format!("{}, ecause_width {width}", self.what) }
    }
}

/// Do most synchronisations lead into the program by some layout? Without a program they may.
pub(super) fn leads(framed: &Framed, excerpt: &Excerpt<'_>) -> bool {
    let (syncs, code) = (syncs(framed, SYNCS[0]), code(excerpt));
    code.is_empty() || !places(&syncs, &code, None).is_empty()
}

/// Low bits of a synchronisation, and of a trap.
const SYNC: u8 = 3;
const TRAP: u8 = 7;

/// The first synchronisations, up to a number.
fn syncs(framed: &Framed, most: usize) -> Vec<&[u8]> {
    payloads(framed, SYNC, most)
}

/// The first packets of a kind, up to a number.
fn payloads(framed: &Framed, kind: u8, most: usize) -> Vec<&[u8]> {
    let packets = framed.payloads.iter().filter(|(payload, _)| payload[0] & 15 == kind);
    packets.map(|(payload, _)| &payload[..]).take(most).collect()
}

/// Bits before the address, lowest bit and width, with the number of synchronisations that lead into the program: where
/// most of them do, the best first.
fn places(syncs: &[&[u8]], code: &[(u64, u64)], given: Option<&Config>) -> Vec<(usize, u32, u32, u32)> {
    let mut places = Vec::new();
    let own = |get: fn(&Config) -> u32| given.map(get).into_iter();
    for before in 5..=5 + 4 + 64 + 64 {
        let fields: Vec<u64> =
            syncs.iter().map(|payload| bits_from(payload, before).take_extended(64)).collect();
        for lsb in own(|config| config.params.iaddress_lsb).chain([1, 0, 2]) {
            for width in own(|config| config.params.iaddress_width).chain(WIDTHS) {
                let leads = |field: &&u64| is_in(code, mask(**field << lsb, width));
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
    places
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
fn splits(
    before: u32,
    lsb: u32,
    width: u32,
    syncs: &[&[u8]],
    given: Option<&Config>,
) -> Vec<(Dialect, Layout)> {
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
        times.retain(|time| {
            !seen.contains(time) && {
                seen.push(*time);
                true
            }
        });
        times.sort_by_key(|time| implausible(syncs, 5 + privilege, *time, rest - time));
        for time in times.into_iter().take(3) {
            let context = rest - time;
            let mut keys: Change = vec![
                ("dialect", Some(dialect.as_str().into())),
                ("iaddress_width", number(width)),
                ("iaddress_lsb", number(lsb)),
                ("privilege_width", number(privilege)),
                ("nocontext", number(u32::from(context == 0))),
            ];
            keys.extend((context > 0).then(|| ("context_width", number(context))));
            let mut what =
                format!("dialect {}, iaddress_width {width}, iaddress_lsb {lsb}", dialect.as_str());
            if context > 0 {
                what += &format!(", context_width {context}");
            }
            if dialect.has_time() {
                keys.push(("notime", number(u32::from(time == 0))));
                keys.extend((time > 0).then(|| ("time_width", number(time))));
            }
            if time > 0 {
                what += &format!(", time_width {time}");
            }
            all.push((dialect, Layout { keys, what }));
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
