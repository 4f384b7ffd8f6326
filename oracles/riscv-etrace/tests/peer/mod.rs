//! The crate `riscv-etrace` in our terms.
#![allow(dead_code, unreachable_pub)] // the test and the bench use parts of it

use std::num::NonZeroU8;

use riscv_etrace::binary::{self, Adaptable, Binary};
use riscv_etrace::generator::step::Kind;
use riscv_etrace::generator::{self, hart2enc};
use riscv_etrace::tracer::{self, Tracer, item};
use riscv_etrace::types::{Context, Privilege, trap};
use riscv_etrace::{config, instruction, packet};
use trackway_core::{Batch, EventKind, Isa, Outcome, TrapKind};
use trackway_etrace::{Config, port};

pub type Insn = instruction::Instruction<Option<instruction::Kind>>;

/// Its parameters for ours.
pub fn parameters(config: &Config) -> config::Parameters {
    let params = &config.params;
    let width = |n: u32| NonZeroU8::new(n as u8).unwrap();
    config::Parameters {
        context_width_p: width(params.context_width),
        time_width_p: width(params.time_width),
        ecause_width_p: width(params.ecause_width),
        iaddress_lsb_p: params.iaddress_lsb as u8,
        iaddress_width_p: width(params.iaddress_width),
        nocontext_p: params.nocontext == 1,
        notime_p: params.notime == 1,
        privilege_width_p: width(params.privilege_width),
        sijump_p: config.options.sijump,
        ..config::PARAMETERS
    }
}

/// A decoded trace: retired pcs, and traps with the number of pcs before them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    pub pcs: Vec<u64>,
    pub traps: Vec<(usize, bool, u64)>,
}

/// Its tracer on SMI packets.
pub fn decode<B>(bytes: &[u8], params: &config::Parameters, binary: B) -> Result<Decoded, String>
where
    B: Binary<Option<instruction::Kind>>,
    B::Error: std::fmt::Debug,
{
    let mut decoded = Decoded::default();
    walk(bytes, params, binary, |item| match item.kind() {
        item::Kind::Regular(_) => decoded.pcs.push(item.pc()),
        item::Kind::Trap(info) => {
            decoded.traps.push((decoded.pcs.len(), info.is_interrupt(), u64::from(info.ecause)));
        }
        item::Kind::Context(_) => {}
    })?;
    Ok(decoded)
}

/// Its tracer, item by item.
pub fn walk<B>(
    bytes: &[u8],
    params: &config::Parameters,
    binary: B,
    mut each: impl FnMut(&item::Item),
) -> Result<(), String>
where
    B: Binary<Option<instruction::Kind>>,
    B::Error: std::fmt::Debug,
{
    let mut decoder = packet::builder().with_params(params).decoder(bytes);
    let mut tracer: Tracer<_> = tracer::builder()
        .with_binary(binary)
        .with_params(params)
        .build()
        .map_err(|error| format!("{error:?}"))?;
    while decoder.bytes_left() > 0 {
        let packet = decoder.decode_smi_packet().map_err(|error| format!("{error:?}"))?;
        let payload = packet.decode_payload().map_err(|error| format!("{error:?}"))?;
        tracer.process_payload(&payload).map_err(|error| format!("{error:?}"))?;
        for item in tracer.by_ref() {
            each(&item.map_err(|error| format!("{error:?}"))?);
        }
    }
    Ok(())
}

/// Code at an address, for its tracer.
pub fn segment(
    base: u64,
    bytes: Vec<u8>,
) -> impl Binary<Option<instruction::Kind>, Error = impl std::fmt::Debug> {
    binary::from_segment(bytes, instruction::base::Set::Rv64I).with_offset(base)
}

/// One row for its generator.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub address: u64,
    pub kind: Kind,
}

impl generator::step::Step for Row {
    fn address(&self) -> u64 {
        self.address
    }
    fn kind(&self) -> Kind {
        self.kind
    }
    fn ctype(&self) -> hart2enc::CType {
        hart2enc::CType::Unreported
    }
    fn context(&self) -> Context {
        Context { privilege: Privilege::Machine, context: 0 }
    }
}

/// Rows for a batch of steps and traps.
pub fn rows(batch: &Batch) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut last: Option<(u64, u32)> = None;
    for event in &batch.events {
        match &event.kind {
            EventKind::Step(step) if step.outcome == Outcome::Retired => {
                let address = step.pc.unwrap();
                let flow = trackway_isa_flow(address, step.encoding);
                let itype = port::Itype::new(flow, step.taken.unwrap_or(false), 4);
                let size =
                    if step.length == 2 { instruction::Size::Compressed } else { instruction::Size::Normal };
                let pair = last.is_some_and(|(pc, first)| {
                    port::sequential_target(Isa::Rv64, pc, first, step.encoding).is_some()
                });
                let itype = hart2enc::IType::try_from(itype.0).unwrap();
                rows.push(Row { address, kind: Kind::from_hart(itype, 0, 0, size, true, pair) });
                last = Some((address, step.encoding));
            }
            EventKind::Trap(n) => {
                let trap = &batch.traps[*n as usize];
                if trap.kind == TrapKind::Return {
                    continue;
                }
                let tval = (trap.kind == TrapKind::Exception).then_some(trap.value.unwrap_or(0));
                let info = trap::Info { ecause: trap.cause.unwrap_or(0) as u16, tval };
                rows.push(Row {
                    address: trap.from.unwrap_or(0),
                    kind: Kind::Trap { insn_size: None, info },
                });
                last = None;
            }
            _ => {}
        }
    }
    rows
}

fn trackway_isa_flow(pc: u64, encoding: u32) -> trackway_isa::Control {
    trackway_isa::flow(Isa::Rv64, pc, encoding).control
}

/// Its generator, to SMI packets; a resynchronisation before the rows that `resync` names.
pub fn encode(
    rows: &[Row],
    params: &config::Parameters,
    options: packet::unit::ReferenceIOptions,
    mut resync: impl FnMut(usize) -> bool,
) -> Result<Vec<u8>, String> {
    let builder = packet::builder().with_params(params);
    let mut out = Vec::new();
    let mut put = |payload: packet::payload::InstructionTrace| -> Result<(), String> {
        let mut buffer = [0; 40];
        let mut encoder = builder.encoder(buffer.as_mut());
        encoder.encode(&packet::smi::Packet::new(0b10, 0, payload)).map_err(|error| format!("{error:?}"))?;
        let left = encoder.uncommitted();
        out.extend_from_slice(&buffer[..buffer.len() - left]);
        Ok(())
    };
    let mut generator: generator::Generator<Row> =
        generator::builder().with_params(params).build().map_err(|error| format!("{error:?}"))?;
    let first = generator.begin_qualification(options, Default::default());
    put(first.map_err(|error| format!("{error:?}"))?.into())?;
    for (n, row) in rows.iter().enumerate() {
        let event = resync(n).then_some(generator::Event::ReSync);
        for payload in generator.process_step(*row, event) {
            put(payload.map_err(|error| format!("{error:?}"))?)?;
        }
    }
    for payload in generator.end_qualification(true) {
        put(payload.map_err(|error| format!("{error:?}"))?)?;
    }
    Ok(out)
}
