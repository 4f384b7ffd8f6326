//! Executions under filters: encoded, decoded, and compared with a plain evaluation.

mod plain;

use std::collections::BTreeMap;
use std::sync::Arc;

use trackway_core::*;
use trackway_etrace::wire::instruction::{Packet, qual_status};
use trackway_etrace::{Config, Dialect, Lower, Reader, ResyncMode, lift};
use trackway_image::Image;
use trackway_testkit::random::{Leave, Numbers, Program, Rates, Walk};

use crate::common::image_of;
use plain::{Plain, p_and_s};

/// An access of an instruction: type and size codes of table 4.9, address.
pub(crate) type Access = (u8, u8, u64);

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
pub(crate) struct Row {
    pub(crate) pcs: Vec<u64>,
    pub(crate) accesses: Vec<(u64, Access)>,
    pub(crate) privilege: u32,
    pub(crate) context: u64,
    /// Interrupt, cause, value, where.
    pub(crate) trap: Option<(bool, u64, u64, u64)>,
    pub(crate) trap_return: bool,
    /// Privilege or context changed here, so that a synchronisation reports it.
    pub(crate) synchronised: bool,
}

pub(crate) struct World {
    pub(crate) image: Arc<Image>,
    pub(crate) batch: Batch,
    pub(crate) program: Program,
}

pub(crate) fn world(seed: u64) -> World {
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
    World { image: image_of(&program), batch, program }
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

/// The rows of an execution, with blocks of that many instructions.
pub(crate) fn rows(world: &World, block: usize) -> Vec<Row> {
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

/// The results of a decoder: instructions, accesses with their instruction, traps.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) pcs: Vec<u64>,
    pub(crate) accesses: Vec<(Option<usize>, Access)>,
    pub(crate) traps: Vec<u64>,
    pub(crate) notified: Vec<u64>,
}

pub(crate) fn decode(world: &World, config: &Config, bytes: &[u8]) -> Found {
    let mut lift = lift(Input::from_vec(bytes.to_vec()), config, Arc::clone(&world.image), 1).unwrap();
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
pub(crate) fn end_codes(config: &Config, bytes: &[u8]) -> Vec<u32> {
    let mut reader = Reader::new(Input::from_vec(bytes.to_vec()), config);
    let mut codes = Vec::new();
    while let Some(item) = reader.read().unwrap() {
        if let Some(Packet::Support(support)) = item.packet()
            && !support.enable
        {
            codes.push(support.qual_status);
        }
    }
    codes
}

pub(crate) fn base(dialect: Dialect, exact: bool, block: u32) -> Config {
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

/// Encodes under the filters and compares with the plain evaluation; returns instructions and accesses traced.
pub(crate) fn judge(world: &World, config: &Config, by_block: bool) -> (usize, usize) {
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
    // The row before: whether it was traced, and its kind.
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
            let reported = match &stretch[..] {
                [.., (before, false), (_, false)] => uninferable(*before),
                _ => true,
            };
            if watched && !reported {
                *notified.entry(row.pcs[row.pcs.len() - 1]).or_insert(0) += 1;
            }
        } else {
            waiting_trap = row.trap.map(|(_, cause, ..)| cause);
        }
        // Tracing is on once a packet reports it: a lone trap does in version 2 only.
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
    // Watched addresses are reported, unless a jump to them or a synchronisation reports them anyway.
    for (pc, count) in notified {
        assert!(found.notified.iter().filter(|of| **of == pc).count() >= count, "{what}: {pc:#x}");
    }
    (wanted.pcs.len(), wanted.accesses.len())
}
