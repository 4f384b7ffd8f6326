//! Filters: what is decoded is what a plain evaluation of the filter selects, with the right codes at each edge.
//!
//! The evaluation here goes over events, instruction by instruction, and knows nothing of the encoder.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use trackway_core::*;
use trackway_etrace::data::Order;
use trackway_etrace::filter::{Comparator, Filter, function, input, match_mode};
use trackway_etrace::packet::{Packet, qual_status};
use trackway_etrace::{Config, Dialect, Lift, Lower, Reader, ResyncMode};
use trackway_image::{Image, Space};
use trackway_testkit::random::{Leave, Numbers, Program, Rates, Walk};

/// An access of an instruction: type and size codes of table 4.9, address.
type Access = (u8, u8, u64);

/// Encodings with an access: type, size.
const ACCESSES: [(u32, u8, u8); 10] = [
    (0x0005_0583, 0, 0), // lb
    (0x0005_2583, 0, 2), // lw
    (0x0005_3583, 0, 3), // ld
    (0x00b5_0023, 1, 0), // sb
    (0x00b5_2023, 1, 2), // sw
    (0x00b5_3023, 1, 3), // sd
    (0x00b5_262f, 9, 2), // amoadd.w
    (0x08b5_362f, 8, 3), // amoswap.d
    (0x3405_15f3, 4, 3), // csrrw mscratch
    (0x3005_25f3, 5, 3), // csrrs mstatus
];

/// One row of the port: instructions that retire together, or a trap.
#[derive(Clone, Debug, Default)]
struct Row {
    pcs: Vec<u64>,
    accesses: Vec<(u64, Access)>,
    privilege: u32,
    context: u64,
    /// Interrupt, cause, value, where.
    trap: Option<(bool, u64, u64, u64)>,
    trap_return: bool,
    /// Privilege or context changed here, so that a synchronisation tells of it.
    synchronised: bool,
}

struct World {
    image: Arc<Image>,
    batch: Batch,
    program: Program,
}

fn world(seed: u64) -> World {
    let numbers = &mut Numbers(seed);
    let mut program = Program::new(numbers, 0x8000, 48);
    for slot in &mut program.slots {
        if slot.leave == Leave::Next && slot.length == 4 && !numbers.one_in(4) {
            slot.encoding = ACCESSES[numbers.below(10) as usize].0;
        }
    }
    let rates = Rates { exception: 40, interrupt: 60, privilege: true, context: 90, ..Rates::default() };
    let walk = Walk::new(numbers, &program, 600, rates);
    let mut batch = Batch::default();
    for event in &walk.batch.events {
        match event.kind {
            EventKind::Step(step) => {
                let begun = batch.begin_accesses();
                if let Some((_, dtype, dsize)) =
                    ACCESSES.iter().find(|(encoding, ..)| *encoding == step.encoding)
                    && step.outcome == Outcome::Retired
                {
                    push_access(numbers, &mut batch, step.encoding, *dtype, *dsize);
                }
                let accesses = batch.end_accesses(begun).unwrap();
                batch.push(0, EventKind::Step(Step { accesses, ..step }));
            }
            EventKind::Trap(n) => batch.push_trap(0, walk.batch.traps[n as usize]),
            EventKind::Context(n) => batch.push_context(0, walk.batch.contexts[n as usize]),
            kind => batch.push(0, kind),
        }
    }
    let mut image = Image::default();
    image.add_raw("program", 0x8000, Arc::new(program.bytes()), Space::default()).unwrap();
    World { image: Arc::new(image), batch, program }
}

fn push_access(numbers: &mut Numbers, batch: &mut Batch, encoding: u32, dtype: u8, dsize: u8) {
    let address = 0x1000 + numbers.below(16) * 8;
    let data = Value::Word(mask(numbers.draw(), 8 << dsize));
    match dtype {
        0 => batch.mem.push(MemAccess::read(address, 1 << dsize, data)),
        1 => batch.mem.push(MemAccess::write(address, 1 << dsize, data)),
        4..=6 => {
            let reg = Reg { class: RegClass::Csr, number: (encoding >> 20) as u16 };
            let (role, update, known) = (RegRole::Source, RegUpdate::Set, None);
            batch.regs.push(RegAccess { reg, role, update, value: data, known });
        }
        _ => {
            let extra = MemExtra { stored: data, ..MemExtra::default() };
            let extra = batch.add_mem_extra(extra);
            batch
                .mem
                .push(MemAccess { extra, ..MemAccess::new(MemKind::ReadWrite, address, 1 << dsize, data) });
        }
    }
}

fn access_of(batch: &Batch, accesses: Accesses, encoding: u32) -> Option<Access> {
    let (_, dtype, dsize) = *ACCESSES.iter().find(|(of, ..)| *of == encoding)?;
    match batch.mem_of(accesses) {
        [] if batch.regs_of(accesses).is_empty() => None,
        [] => Some((dtype, dsize, u64::from(encoding >> 20))),
        [access, ..] => Some((dtype, dsize, access.address)),
    }
}

/// The rows of an execution, with blocks of so many instructions.
fn rows(world: &World, block: usize) -> Vec<Row> {
    let batch = &world.batch;
    let mut rows: Vec<Row> = Vec::new();
    let (mut privilege, mut context) = (3, 0);
    let (mut open, mut end, mut attempted) = (false, None, None);
    let (mut last, mut change) = ((3, 0), 0);
    for event in &batch.events {
        match event.kind {
            EventKind::Context(n) => {
                let context_change = &batch.contexts[n as usize];
                if let Some(level) = context_change.privilege {
                    privilege = [(Privilege::U, 0), (Privilege::S, 1), (Privilege::M, 3)]
                        .iter()
                        .find(|(of, _)| *of == level)
                        .unwrap()
                        .1;
                }
                if let Some(id) = context_change.context_id {
                    (context, change) = (id, context_change.change.unwrap());
                }
                open = false;
            }
            EventKind::Trap(n) => {
                let trap = &batch.traps[n as usize];
                let at = trap.from.unwrap();
                let interrupt = trap.kind == TrapKind::Interrupt;
                let trap = Some((interrupt, trap.cause.unwrap(), trap.value.unwrap_or(0), at));
                rows.push(Row { privilege, context, trap, ..Row::default() });
                (open, end, attempted) = (false, None, None);
            }
            EventKind::Step(step) if step.outcome == Outcome::Attempted => attempted = step.pc,
            EventKind::Step(step) => {
                assert_eq!(attempted, None);
                let pc = step.pc.unwrap();
                let joins = open && end == Some(pc) && rows.last().is_some_and(|row| row.pcs.len() < block);
                if !joins {
                    let synchronised = last.0 != privilege || (last.1 != context && change >= 2);
                    rows.push(Row { privilege, context, synchronised, ..Row::default() });
                    (last, change) = ((privilege, context), 0);
                }
                let row = rows.last_mut().unwrap();
                row.pcs.push(pc);
                row.accesses
                    .extend(access_of(batch, step.accesses, step.encoding).map(|access| (pc, access)));
                let slot = world.program.slots.iter().find(|slot| slot.pc == pc).unwrap();
                row.trap_return = slot.leave == Leave::TrapReturn;
                // Any transfer of control ends a block.
                open = matches!(slot.leave, Leave::Next | Leave::Pair(_) | Leave::Syscall);
                end = Some(pc + u64::from(slot.length));
            }
            _ => {}
        }
    }
    rows
}

/// A plain evaluation of comparators and filters.
struct Plain<'a> {
    config: &'a Config,
    latched: Vec<bool>,
    followed: Vec<u32>,
    /// Blocks decide for data accesses, too.
    by_block: bool,
    last_pc: Option<u64>,
}

/// Values at a point: address, context, trap value, data access.
type Point = (Option<u64>, u64, Option<u64>, Option<Access>);

fn holds(function: u8, value: Option<u64>, wanted: u64) -> bool {
    match (function, value) {
        (6 | 7, _) => true,
        (_, None) => false,
        (0, Some(value)) => value == wanted,
        (1, Some(value)) => value != wanted,
        (2, Some(value)) => value < wanted,
        (3, Some(value)) => value <= wanted,
        (4, Some(value)) => value > wanted,
        (_, Some(value)) => value >= wanted,
    }
}

fn pick(which: u8, point: &Point) -> Option<u64> {
    match which {
        0 => point.0,
        1 => Some(point.1),
        2 => point.2,
        _ => point.3.map(|access| access.2),
    }
}

fn p_and_s(unit: &Comparator, point: &Point) -> (bool, bool) {
    let value = pick(unit.p_input, point);
    let p = match unit.s_function {
        6 => holds(unit.p_function, value.map(|value| value & unit.s_match), unit.p_match & unit.s_match),
        _ => holds(unit.p_function, value, unit.p_match),
    };
    (p, holds(unit.s_function, pick(unit.s_input, point), unit.s_match))
}

impl Plain<'_> {
    fn output(&self, unit: usize, point: &Point) -> bool {
        let comparator = &self.config.filters.comparators[unit];
        let (p, s) = p_and_s(comparator, point);
        match comparator.match_mode {
            0 => p,
            1 => p && s,
            2 => {
                let defined =
                    pick(comparator.p_input, point).is_some() && pick(comparator.s_input, point).is_some();
                defined && !(p && s)
            }
            _ => self.latched[unit] || p,
        }
    }

    fn matches(&self, filter: &Filter, followed: u32, row: &Row, point: &Point) -> bool {
        let units = [
            (filter.match_comp1, filter.comp1),
            (filter.match_comp2, filter.comp2),
            (filter.match_comp3, filter.comp3),
        ];
        let follows = filter.match_ecause || filter.match_interrupt;
        filter.filter_enable
            && (!filter.match_privilege || filter.match_choice_privilege & 1 << row.privilege != 0)
            && (!follows || followed > 0)
            && (!filter.match_dtype || point.3.is_some_and(|of| filter.match_choice_dtype & 1 << of.0 != 0))
            && (!filter.match_dsize || point.3.is_some_and(|of| filter.match_choice_dsize & 1 << of.1 != 0))
            && units.iter().filter(|unit| unit.0).all(|(_, unit)| {
                let unit = usize::from(*unit);
                let of_traps = follows && self.config.filters.comparators[unit].p_input == input::TVAL;
                of_traps || self.output(unit, point)
            })
    }

    /// Is the row traced, and which of its accesses?
    fn row(&mut self, row: &Row) -> (bool, Vec<bool>) {
        let filters = &self.config.filters;
        let mut traced = filters.ifilters == 0;
        let mut accesses = vec![filters.dfilters == 0; row.accesses.len()];
        let tval = row.trap.map(|(_, _, value, _)| value);
        let trap_pc = match (row.trap, self.config.dialect) {
            (Some((_, _, _, at)), Dialect::V2) => Some(at),
            _ => self.last_pc,
        };
        let places: Vec<Option<u64>> =
            if row.trap.is_some() { vec![trap_pc] } else { row.pcs.iter().copied().map(Some).collect() };
        for place in places {
            let here: Vec<usize> = (0..row.accesses.len())
                .filter(|n| self.by_block || Some(row.accesses[*n].0) == place)
                .collect();
            let mut points: Vec<(Option<usize>, Point)> = here
                .iter()
                .map(|n| (Some(*n), (place, row.context, tval, Some(row.accesses[*n].1))))
                .collect();
            if points.is_empty() {
                points.push((None, (place, row.context, tval, None)));
            }
            for (access, point) in &points {
                for (bit, filter) in filters.filters.iter().enumerate() {
                    if self.matches(filter, self.followed[bit], row, point) {
                        traced |= filters.ifilters & 1 << bit != 0;
                        if let Some(n) = access {
                            accesses[*n] |= filters.dfilters & 1 << bit != 0;
                        }
                    }
                }
            }
            for (unit, comparator) in filters.comparators.iter().enumerate() {
                let retired = row.trap.is_none();
                let sets = retired || comparator.p_input != input::IADDR;
                let clears = retired || comparator.s_input != input::IADDR;
                let any = |f: &dyn Fn((bool, bool)) -> bool| {
                    points.iter().any(|(_, point)| f(p_and_s(comparator, point)))
                };
                let set = self.latched[unit] || (sets && any(&|(p, _)| p));
                self.latched[unit] = set && !(clears && any(&|(_, s)| s));
            }
        }
        self.last_pc = row.pcs.last().copied().or(self.last_pc);
        self.follow(row, tval);
        (traced, accesses)
    }

    fn follow(&mut self, row: &Row, tval: Option<u64>) {
        for (bit, filter) in self.config.filters.filters.iter().enumerate() {
            let followed = self.followed[bit];
            if let Some((interrupt, cause, ..)) = row.trap {
                let units = [(filter.match_comp1, filter.comp1), (filter.match_comp2, filter.comp2)];
                let begins = (filter.match_ecause || filter.match_interrupt)
                    && (!filter.match_ecause || filter.match_choice_ecause & 1 << cause != 0)
                    && (!filter.match_interrupt || filter.match_value_interrupt == interrupt)
                    && units.iter().filter(|unit| unit.0).all(|(_, unit)| {
                        let unit = usize::from(*unit);
                        self.config.filters.comparators[unit].p_input != input::TVAL
                            || self.output(unit, &(None, row.context, tval, None))
                    });
                let most = 1 << self.config.params.filter_excint;
                self.followed[bit] = match followed {
                    0 => u32::from(begins),
                    n => (n + 1).min(most),
                };
            } else if row.trap_return {
                self.followed[bit] = followed.saturating_sub(1);
            }
        }
    }
}

/// What a decoder found: instructions, accesses with their instruction, traps.
#[derive(Default)]
struct Found {
    pcs: Vec<u64>,
    accesses: Vec<(Option<usize>, Access)>,
    traps: Vec<u64>,
    notified: Vec<u64>,
}

fn decode(world: &World, config: &Config, bytes: &[u8]) -> Found {
    let mut lift = Lift::new(Input::from_vec(bytes.to_vec()), config, Arc::clone(&world.image), 1).unwrap();
    let memory = world.image.memory(&Context::default());
    let (mut found, mut batch) = (Found::default(), Batch::default());
    while lift.fill(&mut batch).unwrap() {
        for event in &batch.events {
            match &event.kind {
                EventKind::Run(run) => {
                    let mut at = run.start;
                    for n in 0..run.count - u32::from(run.attempted) {
                        let (encoding, length) = memory.fetch(run.isa, at).unwrap();
                        if n + 1 == run.count
                            && let Some(access) = access_of(&batch, batch.accesses_of(run), encoding)
                        {
                            found.accesses.push((Some(found.pcs.len()), access));
                        }
                        found.pcs.push(at);
                        at += u64::from(length);
                    }
                }
                EventKind::Step(step) => {
                    let dtype = match batch.mem_of(step.accesses) {
                        [] => 4,
                        [access, ..] => match access.kind {
                            MemKind::Read => 0,
                            MemKind::Write => 1,
                            _ => 8,
                        },
                    };
                    let of = batch.mem_of(step.accesses).first();
                    let address = of.map_or_else(
                        || u64::from(batch.regs_of(step.accesses)[0].reg.number),
                        |access| access.address,
                    );
                    found.accesses.push((None, (dtype, 0, address)));
                }
                EventKind::Trap(n) => found.traps.extend(batch.traps[*n as usize].cause),
                EventKind::Mark(Mark { kind: MarkKind::Notify, value, .. }) => found.notified.extend(*value),
                EventKind::Gap(_) | EventKind::Foreign(_) => panic!("{event:?}"),
                _ => {}
            }
        }
    }
    found
}

/// Codes of the support packets that end tracing.
fn end_codes(config: &Config, bytes: &[u8]) -> Vec<u32> {
    let mut reader = Reader::new(Input::from_vec(bytes.to_vec()), config);
    let mut codes = Vec::new();
    while let Some(item) = reader.read().unwrap() {
        if let Some(exact) = item.packet
            && let Packet::Support(support) = exact.packet
            && !support.enable
        {
            codes.push(support.qual_status);
        }
    }
    codes
}

fn base(dialect: Dialect, exact: bool, block: u32) -> Config {
    let mut config = Config::new(dialect);
    config.params.iaddress_width = 64;
    (config.params.nocontext, config.params.context_width, config.params.ctype_width) = (0, 8, 2);
    config.params.retires = block;
    config.params.iaddr_lsbs_width = if block > 1 { 4 } else { 0 };
    config.params.filter_excint = 2;
    config.encoder.exact = exact;
    config.encoder.block = block;
    config.encoder.resync_mode = ResyncMode::Off;
    config
}

/// Encodes under the filters and compares with the plain evaluation; gives instructions and accesses traced.
fn judge(world: &World, config: &Config, by_block: bool) -> (usize, usize) {
    config.check().unwrap();
    let block = config.encoder.block as usize;
    let what =
        format!("{:?} block {block} exact {} {:?}", config.dialect, config.encoder.exact, config.filters);
    let mut lower = Lower::new(Vec::new(), config, Isa::Rv64, None).unwrap();
    lower.put(&world.batch).unwrap();
    lower.finish().unwrap();
    let bytes = lower.into_inner();
    let found = decode(world, config, &bytes);

    let filters = config.filters.filters.len();
    let units = config.filters.comparators.len();
    let mut plain =
        Plain { config, latched: vec![false; units], followed: vec![0; filters], by_block, last_pc: None };
    let mut wanted = Found::default();
    let mut codes = Vec::new();
    // The row before: traced, and what it was.
    let mut stretch: Vec<(u64, bool)> = Vec::new();
    let mut was_on = false;
    let mut waiting_trap = None;
    let mut notified: BTreeMap<u64, usize> = BTreeMap::new();
    let uninferable = |pc: u64| {
        let slot = world.program.slots.iter().find(|slot| slot.pc == pc).unwrap();
        matches!(
            slot.leave,
            Leave::Indirect
                | Leave::IndirectCall
                | Leave::Return
                | Leave::TrapReturn
                | Leave::PairJump { .. }
        )
    };
    // 6.5.1: would the packet before have been sent anyway?
    let code_of = |stretch: &[(u64, bool)]| match stretch {
        [.., (before, false), (_, false)] if uninferable(*before) => qual_status::ENDED_UPD,
        _ => qual_status::ENDED_REP,
    };
    for row in rows(world, block) {
        let (traced, accesses) = plain.row(&row);
        if was_on && !traced {
            codes.push(code_of(&stretch));
        }
        if !traced {
            stretch.clear();
        }
        let index = |pc: u64| row.pcs.iter().position(|of| *of == pc).unwrap();
        for ((pc, access), of) in row.accesses.iter().zip(accesses) {
            if of && config.data.enable {
                wanted.accesses.push((traced.then_some(wanted.pcs.len() + index(*pc)), *access));
            }
        }
        if traced {
            if let Some(cause) = waiting_trap.take()
                && row.trap.is_none()
            {
                wanted.traps.push(cause);
            }
            wanted.traps.extend(row.trap.map(|(_, cause, ..)| cause));
            if row.synchronised {
                stretch.clear();
            }
            stretch.extend(row.pcs.iter().map(|pc| (*pc, false)));
            if let Some((_, _, _, at)) = row.trap {
                stretch.push((at, true));
            }
            wanted.pcs.extend(&row.pcs);
            let watched = config.filters.comparators.iter().any(|unit| {
                row.pcs.iter().any(|pc| {
                    let (p, s) = p_and_s(unit, &(Some(*pc), row.context, None, None));
                    (unit.p_notify && p) || (unit.s_notify && s)
                })
            });
            let told = match &stretch[..] {
                [.., (before, false), (_, false)] => uninferable(*before),
                _ => true,
            };
            if watched && !told {
                *notified.entry(row.pcs[row.pcs.len() - 1]).or_insert(0) += 1;
            }
        } else {
            waiting_trap = row.trap.map(|(_, cause, ..)| cause);
        }
        // Tracing is on once a packet told so: a lone trap does in version 2 only.
        was_on = traced && (was_on || row.trap.is_none() || config.dialect == Dialect::V2);
    }
    if was_on {
        codes.push(code_of(&stretch));
    }
    assert_eq!(found.pcs, wanted.pcs, "{what}");
    let found_accesses: Vec<_> = found
        .accesses
        .iter()
        .zip(&wanted.accesses)
        .map(|(found, wanted)| match found.0 {
            // Of an access without an instruction the address has to do.
            None => (None, (wanted.1.0, wanted.1.1, found.1.2)),
            _ => *found,
        })
        .collect();
    assert_eq!(found.accesses.len(), wanted.accesses.len(), "{what}");
    assert_eq!(found_accesses, wanted.accesses, "{what}");
    if config.dialect == Dialect::V2 {
        assert_eq!(found.traps, wanted.traps, "{what}");
    }
    let ends = end_codes(config, &bytes);
    assert_eq!(ends, codes, "{what}");
    // What is watched is reported, unless a jump to it or a synchronisation tells it anyway.
    for (pc, count) in notified {
        assert!(found.notified.iter().filter(|of| **of == pc).count() >= count, "{what}: {pc:#x}");
    }
    (wanted.pcs.len(), wanted.accesses.len())
}

/// All the ways that a comparator can be set up for `which` input, with values that split what there is.
fn comparators(which: u8, values: &[u64]) -> Vec<Comparator> {
    let mut all = Vec::new();
    for p_function in 0..8 {
        for s_function in 0..8 {
            for match_mode in 0..4 {
                for (n, &p_match) in values.iter().enumerate() {
                    let s_match = match s_function {
                        function::MASK => !0x3f,
                        _ => values[(n + 1 + usize::from(p_function)) % values.len()],
                    };
                    all.push(Comparator {
                        p_input: which,
                        s_input: which,
                        p_function,
                        s_function,
                        match_mode,
                        p_match,
                        s_match,
                        ..Comparator::default()
                    });
                }
            }
        }
    }
    all
}

fn with_unit(unit: Comparator) -> (Vec<Comparator>, Vec<Filter>) {
    let filter = Filter { filter_enable: true, match_comp1: true, comp1: 0, ..Filter::default() };
    (vec![unit], vec![filter])
}

/// Values that occur at an input, for comparisons with them.
fn values(world: &World, which: u8) -> Vec<u64> {
    let rows = rows(world, 1);
    let mut all: Vec<u64> = match which {
        input::IADDR => world.program.slots.iter().map(|slot| slot.pc).collect(),
        input::CONTEXT => rows.iter().map(|row| row.context).collect(),
        input::TVAL => rows.iter().filter_map(|row| row.trap).map(|trap| trap.2).collect(),
        _ => rows.iter().flat_map(|row| &row.accesses).map(|(_, access)| access.2).collect(),
    };
    all.sort_unstable();
    all.dedup();
    let n = all.len();
    vec![all[n / 4], all[n / 2], all[n * 3 / 4]]
}

/// Table 2.6: every function, match mode and input, on instruction trace.
#[test]
fn table_2_6_comparators_on_instructions() {
    let (mut some, mut cases) = (0, 0);
    for which in 0..4 {
        let worlds = [world(11), world(12)];
        for (n, unit) in comparators(which, &values(&worlds[0], which)).into_iter().enumerate() {
            let world = &worlds[n % 2];
            let dialect = Dialect::ALL[n / 2 % 2];
            let mut config = base(dialect, true, 1);
            config.data.enable = which == input::DADDR;
            config.data.order = Order::Retired;
            (config.filters.comparators, config.filters.filters) = with_unit(unit);
            config.filters.ifilters = 1;
            let (instructions, _) = judge(world, &config, false);
            some += usize::from(instructions > 0 && instructions < 500);
            cases += 1;
        }
    }
    // Most of them split the execution.
    assert!(some * 3 > cases, "{some} of {cases}");
}

/// Table 2.6, on data trace: the instruction trace is whole, and every access that is traced is at its instruction.
#[test]
fn table_2_6_comparators_on_data() {
    let (mut some, mut cases) = (0, 0);
    for which in [input::IADDR, input::CONTEXT, input::DADDR] {
        let worlds = [world(21), world(22)];
        for (n, unit) in comparators(which, &values(&worlds[0], which)).into_iter().enumerate() {
            let world = &worlds[n % 2];
            let mut config = base(Dialect::ALL[n / 2 % 2], true, 1);
            config.data.enable = true;
            config.data.order = Order::Retired;
            (config.filters.comparators, config.filters.filters) = with_unit(unit);
            config.filters.dfilters = 1;
            let (_, accesses) = judge(world, &config, false);
            some += usize::from(accesses > 0);
            cases += 1;
        }
    }
    assert!(some * 3 > cases, "{some} of {cases}");
}

/// A comparator with different inputs.
#[test]
fn table_2_6_inputs_of_their_own() {
    let world = world(31);
    for (p_input, s_input) in [(0, 1), (1, 0), (0, 3), (3, 0), (2, 0), (0, 2), (1, 3)] {
        for match_mode in 0..4 {
            let unit = Comparator {
                p_input,
                s_input,
                p_function: function::GREATER_EQUAL,
                s_function: function::LESS_EQUAL,
                match_mode,
                p_match: values(&world, p_input)[1],
                s_match: values(&world, s_input)[1],
                ..Comparator::default()
            };
            let mut config = base(Dialect::V2, true, 1);
            config.data.enable = true;
            config.data.order = Order::Retired;
            (config.filters.comparators, config.filters.filters) = with_unit(unit);
            config.filters.ifilters = 1;
            config.filters.dfilters = 1;
            judge(&world, &config, false);
        }
    }
}

/// Tables 2.4 and 2.5: every field of a filter, alone and with others, for instructions and data.
#[test]
fn tables_2_4_and_2_5_fields() {
    let on = Filter { filter_enable: true, ..Filter::default() };
    let fields: Vec<(&str, Filter)> = vec![
        ("nothing", on),
        ("disabled", Filter::default()),
        ("privilege u", Filter { match_privilege: true, match_choice_privilege: 1, ..on }),
        ("privilege s or m", Filter { match_privilege: true, match_choice_privilege: 0b1010, ..on }),
        ("ecause", Filter { match_ecause: true, match_choice_ecause: 0b1_0001_0100, ..on }),
        ("interrupt", Filter { match_interrupt: true, match_value_interrupt: true, ..on }),
        ("exception", Filter { match_interrupt: true, match_value_interrupt: false, ..on }),
        (
            "ecause of interrupts",
            Filter {
                match_ecause: true,
                match_choice_ecause: 0x0f,
                match_interrupt: true,
                match_value_interrupt: true,
                ..on
            },
        ),
        ("dtype loads", Filter { match_dtype: true, match_choice_dtype: 1, ..on }),
        ("dtype atomics and CSRs", Filter { match_dtype: true, match_choice_dtype: 0x7f70, ..on }),
        ("dsize", Filter { match_dsize: true, match_choice_dsize: 0b1000, ..on }),
        (
            "stores of 4 in m",
            Filter {
                match_dtype: true,
                match_choice_dtype: 2,
                match_dsize: true,
                match_choice_dsize: 4,
                match_privilege: true,
                match_choice_privilege: 8,
                ..on
            },
        ),
        ("address range", Filter { match_comp1: true, comp1: 0, ..on }),
        ("range and context", Filter { match_comp1: true, comp1: 0, match_comp2: true, comp2: 1, ..on }),
        (
            "three comparators",
            Filter {
                match_comp1: true,
                comp1: 0,
                match_comp2: true,
                comp2: 1,
                match_comp3: true,
                comp3: 3,
                ..on
            },
        ),
        (
            "traps by cause and value",
            Filter { match_ecause: true, match_choice_ecause: 0xffff, match_comp1: true, comp1: 2, ..on },
        ),
    ];
    for seed in 40..44 {
        let world = world(seed);
        let [at, of, trapped] =
            [input::IADDR, input::CONTEXT, input::TVAL].map(|which| values(&world, which));
        let range = Comparator {
            p_function: function::GREATER_EQUAL,
            s_function: function::LESS_EQUAL,
            p_match: at[0],
            s_match: at[2],
            match_mode: match_mode::BOTH,
            ..Comparator::default()
        };
        let context = Comparator {
            p_input: input::CONTEXT,
            p_function: function::LESS_EQUAL,
            p_match: of[1],
            ..Comparator::default()
        };
        let tval = Comparator {
            p_input: input::TVAL,
            p_function: function::GREATER,
            p_match: trapped[1],
            ..Comparator::default()
        };
        let latch = Comparator {
            p_function: function::EQUAL,
            s_function: function::EQUAL,
            p_match: at[1],
            s_match: at[2],
            match_mode: match_mode::LATCH,
            ..Comparator::default()
        };
        for (n, (name, filter)) in fields.iter().enumerate() {
            for (block, dialect) in
                [(1, Dialect::V2), (1, Dialect::Draft), (3, Dialect::V2), (4, Dialect::Draft)]
            {
                let mut config = base(dialect, true, block);
                config.data.enable = n % 2 == 0 || filter.match_dtype || filter.match_dsize;
                config.data.order = Order::Retired;
                config.filters.comparators = vec![range, context, tval, latch];
                config.filters.filters = vec![*filter, Filter { match_comp1: true, comp1: 3, ..on }];
                config.filters.ifilters = 1;
                let alone = judge(&world, &config, false).0;
                config.filters.dfilters = 1;
                judge(&world, &config, false);
                // Either of two filters is enough.
                config.filters.ifilters = 3;
                assert!(judge(&world, &config, false).0 >= alone, "{name}");
                config.filters.ifilters = 2;
                judge(&world, &config, false);
            }
        }
    }
}

/// 4.4: without the low bits of instruction addresses, accesses go with their blocks; with them they do not.
#[test]
fn section_4_4_blocks_and_accesses() {
    let mut differs = 0;
    for seed in 50..60 {
        let world = world(seed);
        for &p_match in &values(&world, input::IADDR) {
            let unit = Comparator { p_match, ..Comparator::default() };
            let mut config = base(Dialect::V2, true, 4);
            config.data.enable = true;
            config.data.order = Order::Retired;
            (config.filters.comparators, config.filters.filters) = with_unit(unit);
            config.filters.dfilters = 1;
            let exact = judge(&world, &config, false).1;
            config.params.iaddr_lsbs_width = 0;
            let by_block = judge(&world, &config, true).1;
            assert!(by_block >= exact);
            differs += usize::from(by_block != exact);
        }
    }
    assert!(differs > 0);
}

/// Table 2.6, `pNotify` and `sNotify`: watchpoints report the last instruction of the block, filters or not.
#[test]
fn table_2_6_watchpoints() {
    for seed in 60..66 {
        let world = world(seed);
        let at = values(&world, input::IADDR);
        for (block, dialect) in [(1, Dialect::V2), (1, Dialect::Draft), (4, Dialect::V2)] {
            let mut config = base(dialect, true, block);
            config.filters.comparators = vec![
                Comparator { p_match: at[0], p_notify: true, ..Comparator::default() },
                Comparator {
                    p_match: at[1],
                    s_function: function::EQUAL,
                    s_match: at[2],
                    s_notify: true,
                    ..Comparator::default()
                },
            ];
            judge(&world, &config, false);
            let found = {
                let mut lower = Lower::new(Vec::new(), &config, Isa::Rv64, None).unwrap();
                lower.put(&world.batch).unwrap();
                lower.finish().unwrap();
                decode(&world, &config, &lower.into_inner())
            };
            // The watchpoint tells what no jump to it told anyway.
            let rows = rows(&world, block as usize);
            let hit = |pc: u64| rows.iter().any(|row| row.pcs.contains(&pc));
            let lasts: Vec<u64> = rows
                .iter()
                .filter(|row| row.pcs.contains(&at[0]) || row.pcs.contains(&at[2]))
                .filter_map(|row| row.pcs.last().copied())
                .collect();
            assert!(found.notified.iter().all(|pc| lasts.contains(pc)), "{:x?} {lasts:x?}", found.notified);
            assert!(!found.notified.contains(&at[1]) || lasts.contains(&at[1]));
            assert!(hit(at[0]) || hit(at[2]) || found.notified.is_empty());
        }
    }
}
