//! For tests: streams that are put together packet by packet, programs, and events as short lines.

use std::collections::BTreeMap;
use std::sync::Arc;

use trackway_core::{Batch, EventKind, Source};
use trackway_image::{Image, Space};

use crate::decode::element::Element;
use crate::decode::elements::Unpacker;
use crate::decode::speculation::{Analyse, Resolve};
use crate::wire::packet::*;
use crate::{Config, Framing, Lift, Options, Packet, Trace};

/// Registers of an ETE 1.3 unit, some of them changed.
pub(crate) fn config(changed: &[(&str, u64)]) -> Config {
    let mut registers: BTreeMap<String, u64> = [
        ("TRCIDR0", 0x28c1_cea1),
        ("TRCIDR1", 0x4100_fff0),
        ("TRCIDR2", 0xd000_1088),
        ("TRCDEVARCH", 0x4773_5a13),
    ]
    .map(|(name, value)| (name.to_string(), value))
    .into();
    registers.extend(changed.iter().map(|&(name, value)| (name.to_string(), value)));
    Config::from_registers("test", registers, None).unwrap()
}

/// COMMOPT 0, which lets cycle counts commit.
pub(crate) const COMMOPT0: (&str, u64) = ("TRCIDR0", 0x08c1_cea1);

/// A stream that is put together packet by packet.
pub(crate) struct Stream {
    pub(crate) config: Config,
    pub(crate) bytes: Vec<u8>,
}

impl Stream {
    /// Synchronisation and Trace Info.
    pub(crate) fn new(config: Config) -> Self {
        Stream { config, bytes: Vec::new() }.put(Packet::AlignmentSync { zeros: 11 }).info(0, 0, 0)
    }
    pub(crate) fn put(mut self, packet: Packet) -> Self {
        packet.write(&self.config.dialect, &mut self.bytes);
        self
    }
    pub(crate) fn raw(mut self, hex: &str) -> Self {
        self.bytes.extend(hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()));
        self
    }
    pub(crate) fn info(self, info: u64, spec: u64, cyct: u64) -> Self {
        self.put(Packet::TraceInfo(TraceInfo::new(info, spec, cyct)))
    }
    pub(crate) fn on(self) -> Self {
        self.put(Packet::TraceOn)
    }
    /// Trace On, A64 at EL1 Non-secure, at `address`.
    pub(crate) fn start(self, address: u64) -> Self {
        self.on().context(0x31).address(address)
    }
    pub(crate) fn context(self, info: u8) -> Self {
        self.put(Packet::Context(Some(Context { info, vmid: 0, context_id: 0 })))
    }
    pub(crate) fn context_id(self, context_id: u32) -> Self {
        self.put(Packet::Context(Some(Context { info: 0xb1, vmid: 0, context_id })))
    }
    pub(crate) fn address(self, address: u64) -> Self {
        self.put(Packet::Address(Address::new(AddressForm::Long64Is0, address)))
    }
    pub(crate) fn thumb(self, address: u64) -> Self {
        self.put(Packet::Address(Address::new(AddressForm::Long64Is1, address)))
    }
    /// Atoms, one packet each.
    pub(crate) fn atoms(mut self, atoms: &str) -> Self {
        self.bytes.extend(atoms.chars().map(|atom| if atom == 'E' { 0xf7 } else { 0xf6 }));
        self
    }
    pub(crate) fn exception(self, number: u8, address: u64) -> Self {
        let address = ExceptionAddress::Address(Address::new(AddressForm::Long64Is0, address));
        self.put(Packet::Exception(Exception { info: number << 1 | 1, info2: None, address }))
    }
    pub(crate) fn commit(self, count: u64) -> Self {
        self.put(Packet::Commit(Chain::shortest(count, 32)))
    }
    pub(crate) fn cancel(self, count: u64) -> Self {
        self.put(Packet::Cancel1 { mispredict: false, count: Chain::shortest(count, 32) })
    }
    pub(crate) fn mispredict(self) -> Self {
        self.put(Packet::Mispredict(0))
    }

    /// The elements of stage 1, one word each.
    pub(crate) fn elements(&self) -> Vec<String> {
        let reader = crate::Reader::new(&self.config.dialect);
        let (mut unpacker, mut record, mut at) = (Unpacker::default(), Record::default(), 0);
        while at < self.bytes.len() {
            let (packet, length) = reader.read(&self.bytes[at..], 0).unwrap();
            unpacker.unpack(&packet, 0, &self.config, &mut record, &mut Nothing).unwrap();
            at += length;
        }
        record.0
    }

    /// The events, one line each, with `code` as the program.
    pub(crate) fn events(&self, code: &Code) -> Vec<String> {
        self.events_with(code, Options::default())
    }

    pub(crate) fn events_with(&self, code: &Code, options: Options) -> Vec<String> {
        lines(&mut Lift::new(vec![self.trace(code)], options))
    }

    pub(crate) fn trace(&self, code: &Code) -> Trace {
        Trace {
            config: self.config.clone(),
            framing: Framing::Raw,
            data: Arc::new(self.bytes.clone()),
            image: Arc::new(code.image()),
        }
    }
}

/// Events as short lines; errors are lines too, after which it goes on.
pub(crate) fn lines(lift: &mut Lift) -> Vec<String> {
    let mut out = Vec::new();
    let mut batch = Batch::default();
    loop {
        match lift.fill(&mut batch) {
            Ok(false) => return out,
            Ok(true) => out.extend(batch.events.iter().map(|event| line(&batch, &event.kind))),
            Err(error) => {
                out.push(format!("error {error}"));
                if !lift.resync().unwrap() {
                    return out;
                }
            }
        }
    }
}

fn line(batch: &Batch, kind: &EventKind) -> String {
    let hex = |value: Option<u64>| value.map_or("?".to_string(), |value| format!("{value:x}"));
    match kind {
        EventKind::Run(run) => {
            let taken = run.taken.map_or("", |taken| if taken { " E" } else { " N" });
            let flags =
                [(run.attempted, " attempted"), (run.doubtful, " doubtful"), (run.withdrawn, " withdrawn")];
            let flags: String = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).collect();
            format!("{:x}-{:x} {} {}{taken}{flags}", run.start, run.end, run.count, run.exit.word())
        }
        EventKind::Trap(index) => {
            let trap = &batch.traps[*index as usize];
            let cause = trap.cause.map_or(String::new(), |cause| format!(" {cause}"));
            format!("trap {}{cause} {}->{}", trap.kind.word(), hex(trap.from), hex(trap.to))
        }
        EventKind::Context(index) => {
            let context = &batch.contexts[*index as usize];
            if context.privilege.is_none() {
                return format!("isa {}", context.isa.unwrap().word());
            }
            let word = |id: Option<u64>, name| id.map_or(String::new(), |id| format!(" {name}={id:x}"));
            format!(
                "context {} {} {}{}{}",
                context.privilege.unwrap().word(),
                context.security.unwrap().word(),
                context.isa.unwrap().word(),
                word(context.context_id, "cid"),
                word(context.vmid, "vmid")
            )
        }
        EventKind::Time(time) => {
            format!("{} {}", time.kind.word(), time.value.map_or("?".to_string(), |value| value.to_string()))
        }
        EventKind::Mark(mark) => {
            let value = mark.value.map_or(String::new(), |value| format!(" {value:x}"));
            format!("mark {}{value}", mark.kind.word())
        }
        EventKind::Gap(index) => {
            let gap = &batch.gaps[*index as usize];
            let number =
                |value: Option<u64>, name: &str| value.map_or(String::new(), |n| format!(" {n} {name}"));
            format!(
                "gap {} {}->{}{}{}",
                gap.reason.word(),
                hex(gap.from),
                hex(gap.to),
                number(gap.instructions, "instructions"),
                number(gap.bytes, "bytes")
            )
        }
        other => format!("{other:?}"),
    }
}

/// Words of code by address.
#[derive(Default)]
pub(crate) struct Code(pub(crate) BTreeMap<u64, Vec<u8>>);

impl Code {
    pub(crate) fn at(mut self, address: u64, words: &[u32]) -> Self {
        self.0.insert(address, words.iter().flat_map(|word| word.to_le_bytes()).collect());
        self
    }
    pub(crate) fn halves(mut self, address: u64, halves: &[u16]) -> Self {
        self.0.insert(address, halves.iter().flat_map(|half| half.to_le_bytes()).collect());
        self
    }
    pub(crate) fn image(&self) -> Image {
        let mut image = Image::default();
        for (&address, bytes) in &self.0 {
            image.add_raw("code", address, Arc::new(bytes.clone()), Space::default()).unwrap();
        }
        image
    }
}

pub(crate) const NOP: u32 = 0xd503_201f;
pub(crate) const RET: u32 = 0xd65f_03c0;
pub(crate) const BR: u32 = 0xd61f_0000;
pub(crate) const ISB: u32 = 0xd503_3fdf;
pub(crate) const SVC: u32 = 0xd400_0001;
pub(crate) const ERET: u32 = 0xd69f_03e0;
pub(crate) const TSTART: u32 = 0xd523_3060;

fn distance(from: u64, to: u64, width: u32) -> u32 {
    (to.wrapping_sub(from) >> 2) as u32 & ((1 << width) - 1)
}
pub(crate) fn b(from: u64, to: u64) -> u32 {
    0x1400_0000 | distance(from, to, 26)
}
pub(crate) fn bl(from: u64, to: u64) -> u32 {
    0x9400_0000 | distance(from, to, 26)
}
pub(crate) fn beq(from: u64, to: u64) -> u32 {
    0x5400_0000 | distance(from, to, 19) << 5
}

/// Stage 2 that writes down what it is given.
#[derive(Default)]
struct Record(Vec<String>);

impl Resolve for Record {
    fn is_idle(&self) -> bool {
        false
    }
    fn trace_info(&mut self, _: u32, _: bool) {}
    fn emit(&mut self, _: u64, element: Element, _: &mut impl Analyse) {
        self.0.push(match element {
            Element::TraceInfo { .. } => "trace_info".to_string(),
            Element::TraceOn => "trace_on".to_string(),
            Element::Context(context) => {
                context.context_id.map_or("context".to_string(), |id| format!("context({id:x})"))
            }
            Element::TargetAddress(entry) => format!("address({:x})", entry.address),
            Element::SourceAddress(entry) => format!("source({:x})", entry.address),
            Element::Atom { taken } => format!("atom({})", if taken { 'E' } else { 'N' }),
            Element::Exception { number, return_address } => {
                let address = return_address.map_or("?".to_string(), |entry| format!("{:x}", entry.address));
                format!("exception({number}, {address})")
            }
            Element::Mispredict => "mispredict".to_string(),
            Element::TransactionStart => "transaction_start".to_string(),
            Element::TransactionCommit => "transaction_commit".to_string(),
            Element::TransactionFailure => "transaction_failure".to_string(),
            other => format!("{other:?}"),
        });
    }
    fn emit_p0(&mut self, offset: u64, element: Element) {
        self.emit(offset, element, &mut Nothing);
    }
    fn commit(&mut self, count: u64, _: &mut impl Analyse) {
        self.0.push(format!("commit({count})"));
    }
    fn cancel(&mut self, count: u64, _: &mut impl Analyse) {
        self.0.push(format!("cancel({count})"));
    }
    fn discard(&mut self, _: u64, _: &mut impl Analyse) {
        self.0.push("discard".to_string());
    }
}

/// Stage 3 that does nothing.
struct Nothing;

impl Analyse for Nothing {
    fn element(&mut self, _: u64, _: &Element, _: u32) {}
    fn atom(&mut self, _: u64, _: bool) {}
    fn wants_withdrawn(&self) -> bool {
        false
    }
    fn unresolved(&mut self) {}
}
