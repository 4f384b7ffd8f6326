//! Elements to packets, in the fewest bytes: the mirror of decoding's stage 1 (K10.5.2).

use super::account::{Assumed, Element, Logged, Step, What};
use super::instruction::Block;
use super::log::Log;
use crate::config::{Config, Dialect};
use crate::wire::address::{Address, AddressForm, Entry, History, SubIsa};
use crate::wire::atoms::{Atoms, SHORT_ATOMS};
use crate::wire::chain::{Chain, width};
use crate::wire::context::{Context, ContextState};
use crate::wire::exception::{Exception, ExceptionAddress};
use crate::wire::exception_type;
use crate::wire::packet::Packet;
use crate::wire::trace_info::TraceInfo;
use trackway_core::Fact;

/// Atoms to be packed, one bit each, the first in bit 0.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    count: u32,
    bits: u32,
}

impl Waiting {
    /// The longest packet for the first atoms, and its number of atoms; there must be at least one.
    fn longest(self) -> (Atoms, u32) {
        let atoms = |header: u8, count: u32| (Atoms { header }, count);
        let es = self.bits.trailing_ones().min(self.count);
        if es >= 24 {
            return atoms(0xd4, 24);
        }
        if es >= 3 && self.count > es {
            // Format 6: E several times, then N.
            return atoms(0xe0 | (es - 3) as u8, es + 1);
        }
        if es >= 4 {
            return atoms(0xc0 | (es - 4) as u8, es);
        }
        let bits = |count: u32| self.bits & ((1 << count) - 1);
        if self.count >= 5 {
            match bits(5) {
                0b11110 => return atoms(0xf5, 5),
                0b00000 => return atoms(0xd5, 5),
                0b01010 => return atoms(0xd6, 5),
                0b10101 => return atoms(0xd7, 5),
                _ => {}
            }
        }
        if self.count >= 4 {
            match bits(4) {
                0b1110 => return atoms(0xdc, 4),
                0b0000 => return atoms(0xdd, 4),
                0b1010 => return atoms(0xde, 4),
                0b0101 => return atoms(0xdf, 4),
                _ => {}
            }
        }
        match self.count {
            1 => atoms(0xf6 | bits(1) as u8, 1),
            2 => atoms(0xd8 | bits(2) as u8, 2),
            _ => atoms(0xf8 | bits(3) as u8, 3),
        }
    }

    fn drop(&mut self, count: u32) {
        self.count -= count;
        self.bits = if count >= 32 { 0 } else { self.bits >> count };
    }

    /// The code of these atoms in Mispredict and Cancel packets, if they have one.
    fn short(self) -> Option<u8> {
        let find = |&(count, bits): &(u8, u32)| (u32::from(count), bits) == (self.count, self.bits);
        SHORT_ATOMS.iter().position(find).map(|index| index as u8)
    }
}

/// Packs elements, with the same state as the decoder's stage 1.
#[derive(Clone, Debug)]
pub(crate) struct Packer {
    dialect: Dialect,
    max_spec: u64,
    start_is_p0: bool,
    /// The packets.
    pub(crate) out: Vec<u8>,
    /// Number of packets so far.
    pub(crate) packets: u64,
    history: History,
    context: ContextState,
    timestamp: u64,
    threshold: u64,
    /// Number of unresolved P0 elements.
    pub(crate) depth: u64,
    /// Number of P0 elements so far, without cancelled ones.
    pub(crate) p0s: u64,
    /// A transaction is open.
    pub(crate) in_transaction: bool,
    atoms: Waiting,
    /// Steps of a decoder for the elements so far, until they are taken, each with the place in the stream where its
    /// packet ends; those of the atoms that wait come last.
    log: Log,
    /// Place in the stream of the first byte in `out`.
    pub(crate) base: u64,
    /// The content of the next P0 element, for the log.
    pub(crate) content: Element,
    /// A context and an address that may share a packet with the next element.
    pending_context: Option<ContextState>,
    /// Whether its exception level and its security state are assumed.
    pending_assumed: Assumed,
    pending_address: Option<Entry>,
}

impl Packer {
    pub(crate) fn new(config: &Config) -> Self {
        Packer {
            dialect: config.dialect,
            max_spec: config.max_spec.into(),
            start_is_p0: config.start_is_p0,
            out: Vec::new(),
            packets: 0,
            history: History::default(),
            context: ContextState::default(),
            timestamp: 0,
            threshold: 0,
            depth: 0,
            p0s: 0,
            in_transaction: false,
            atoms: Waiting::default(),
            log: Log::default(),
            base: 0,
            content: Element::default(),
            pending_context: None,
            pending_assumed: Assumed::default(),
            pending_address: None,
        }
    }

    fn write(&mut self, packet: Packet) {
        packet.write(&self.dialect, &mut self.out);
        self.wrote();
    }

    /// A packet was written.
    fn wrote(&mut self) {
        self.packets += 1;
        let (here, written) = (self.here(), self.log.len() - self.atoms.count as usize);
        self.log.write(written, here);
    }

    /// Writes everything that waits.
    pub(crate) fn flush(&mut self) {
        self.flush_atoms();
        self.flush_pending();
    }

    fn flush_atoms(&mut self) {
        while self.atoms.count > 0 {
            self.pack_atoms();
        }
    }

    fn pack_atoms(&mut self) {
        let (atoms, count) = self.atoms.longest();
        self.atoms.drop(count);
        self.out.push(atoms.header);
        self.wrote();
    }

    /// Writes atoms until the rest fits into the packet that follows, and returns the code of the rest.
    fn flush_but_short(&mut self, fits: impl Fn(u8) -> bool) -> u8 {
        self.flush_pending();
        loop {
            if let Some(short) = self.atoms.short().filter(|&short| fits(short)) {
                self.atoms = Waiting::default();
                return short;
            }
            self.pack_atoms();
        }
    }

    fn flush_pending(&mut self) {
        let context = self.pending_context.take();
        let Some(entry) = self.pending_address.take() else {
            return context.into_iter().for_each(|context| self.write_context(context));
        };
        let address = self.shortest(entry);
        match context {
            Some(context) if is_long(address.form) => {
                let payload = self.payload(context);
                self.write(Packet::AddressContext(address, payload));
                self.note(What::Context(context, self.pending_assumed));
            }
            context => {
                context.into_iter().for_each(|context| self.write_context(context));
                address.write_target(&mut self.out);
                self.wrote();
            }
        }
        self.note_target(entry);
    }

    /// The place in the stream after everything that is written.
    fn here(&self) -> u64 {
        self.base + self.out.len() as u64
    }

    /// Logs the step of the last packet.
    fn add(&mut self, step: Step) {
        self.log.push(step, Some(self.here()));
    }

    /// Counts the P0 element of the last packet.
    fn p0(&mut self) {
        self.p0_until(Some(self.here()));
    }

    /// Counts a P0 element, which commits the oldest one beyond the maximum depth (K10.5.2.18.3).
    fn p0_until(&mut self, end: Option<u64>) {
        self.depth = (self.depth + 1).min(self.max_spec);
        self.p0s += 1;
        let element = Element { p0: true, ..std::mem::take(&mut self.content) };
        self.log.push(Step::Emit(element), end);
    }

    /// The steps of a decoder for the packets in `out` since the last call.
    pub(crate) fn take_log(&mut self, each: impl FnMut(&Logged, u64)) {
        let written = self.log.len() - self.atoms.count as usize;
        self.log.take(written, each);
    }

    /// Nothing waits to be taken.
    pub(crate) fn is_settled(&self) -> bool {
        self.log.len() == 0
    }

    /// Logs an element that is not a P0 element.
    fn note(&mut self, what: What) {
        self.add(Step::Emit(what.into()));
    }

    fn note_target(&mut self, entry: Entry) {
        self.log.push_target(entry.address, self.here());
    }

    /// K10.5.2.10.
    pub(crate) fn atom(&mut self, taken: bool) {
        self.flush_pending();
        self.atoms.bits |= u32::from(taken) << self.atoms.count;
        self.atoms.count += 1;
        self.p0_until(None);
        if self.atoms.count == 32 {
            self.pack_atoms();
        }
    }

    /// The same without speculation, for the branch at the end of a block.
    #[inline(always)]
    pub(crate) fn plain_atom(&mut self, block: &Block) {
        if self.pending_context.is_some() || self.pending_address.is_some() {
            self.flush_pending();
        }
        self.atoms.bits |= u32::from(block.branch.taken) << self.atoms.count;
        self.atoms.count += 1;
        self.p0s += 1;
        self.log.push_block(block);
        if self.atoms.count == 32 {
            self.pack_atoms();
        }
    }

    /// The shortest form of an address, which becomes the newest in the history.
    fn shortest(&mut self, entry: Entry) -> Address {
        use AddressForm::*;
        let last = self.history.0[0].address;
        let form = match self.history.0.iter().position(|&known| known == entry) {
            Some(n) => Exact(n as u8),
            None => {
                let forms = match entry.sub_isa {
                    SubIsa::Is0 => [Short1Is0, Short2Is0, Long32Is0, Long64Is0],
                    SubIsa::Is1 => [Short1Is1, Short2Is1, Long32Is1, Long64Is1],
                };
                let differ = entry.address ^ last;
                forms.into_iter().find(|form| differ & !form.sent() == 0).unwrap_or(forms[3])
            }
        };
        let address = Address::new(form, entry.address);
        self.history.apply(&address);
        address
    }

    /// The payload that changes the last context to `context`.
    fn payload(&mut self, context: ContextState) -> Context {
        let vmid = context.vmid.filter(|_| context.vmid != self.context.vmid);
        let context_id = context.context_id.filter(|_| context.context_id != self.context.context_id);
        let bit = |set: bool, at: u8| u8::from(set) << at;
        let info = context.el & 3
            | bit(context.security & 2 != 0, 3)
            | bit(context.sixty_four_bit, 4)
            | bit(context.security & 1 != 0, 5)
            | bit(vmid.is_some(), 6)
            | bit(context_id.is_some(), 7);
        let payload = Context { info, vmid: vmid.unwrap_or(0), context_id: context_id.unwrap_or(0) };
        self.context.apply(&payload);
        payload
    }

    /// Writes a context of its own.
    fn write_context(&mut self, context: ContextState) {
        let same = ContextState {
            vmid: context.vmid.or(self.context.vmid),
            context_id: context.context_id.or(self.context.context_id),
            ..context
        } == self.context;
        let payload = (!same).then(|| self.payload(context));
        self.write(Packet::Context(payload));
        self.note(What::Context(context, self.pending_assumed));
    }

    /// K10.5.2.14; a context may share a packet with the address after it.
    pub(crate) fn context(&mut self, context: ContextState, assumed: Assumed) {
        self.flush();
        (self.pending_context, self.pending_assumed) = (Some(context), assumed);
    }

    /// K10.5.2.14.
    pub(crate) fn target(&mut self, entry: Entry) {
        self.flush_atoms();
        if self.pending_address.is_some() {
            self.flush_pending();
        }
        self.pending_address = Some(entry);
    }

    /// K10.5.2.12.
    pub(crate) fn source(&mut self, entry: Entry) {
        self.flush();
        let address = self.shortest(entry);
        self.write(Packet::SourceAddress(address));
        self.p0();
    }

    /// K10.5.2.13. A target address that is also the return address is sent once.
    pub(crate) fn exception(&mut self, number: u16, return_address: Option<Entry>) {
        self.flush_atoms();
        let info = |e: u8| (number as u8) << 1 | e & 1 | (e & 2) << 5;
        let Some(entry) = return_address else {
            self.flush_pending();
            self.history.add(Entry::default());
            let (info2, address) = (None, ExceptionAddress::Unknown);
            self.write(Packet::Exception(Exception { info: info(1), info2, address }));
            if number == exception_type::PE_RESET && std::mem::take(&mut self.in_transaction) {
                self.note(What::TransactionFailure { own: true });
            }
            return self.p0();
        };
        let e = match self.pending_address {
            Some(pending) if pending == entry => 2,
            Some(_) => {
                self.flush_pending();
                1
            }
            None => 1,
        };
        self.pending_address = None;
        let address = self.shortest(entry);
        let mut inside = None;
        let address = match self.pending_context.take() {
            Some(context) if is_long(address.form) => {
                inside = Some(What::Context(context, self.pending_assumed));
                ExceptionAddress::WithContext(address, self.payload(context))
            }
            context => {
                // A context does not change the address history, so it can come before the address.
                if let Some(context) = context {
                    self.write_context(context);
                }
                ExceptionAddress::Address(address)
            }
        };
        self.write(Packet::Exception(Exception { info: info(e), info2: None, address }));
        inside.into_iter().for_each(|context| self.note(context));
        if e == 2 {
            self.note_target(entry);
        }
        self.p0();
    }

    /// K10.5.2.13: a transaction failure is an Exception packet, but not a P0 element.
    pub(crate) fn transaction_failure(&mut self) {
        let (depth, p0s) = (self.depth, self.p0s);
        self.exception(exception_type::TRANSACTION_FAILURE, None);
        (self.depth, self.p0s) = (depth, p0s);
        self.in_transaction = false;
        self.log.truncate(self.log.len().saturating_sub(1));
        self.note(What::TransactionFailure { own: false });
    }

    /// K10.5.2.15.
    pub(crate) fn transaction_start(&mut self) {
        self.flush();
        self.write(Packet::TransactionStart);
        self.in_transaction = true;
        if self.start_is_p0 {
            self.content = What::TransactionStart.into();
            self.p0();
        } else {
            self.note(What::TransactionStart);
        }
    }

    /// K10.5.2.15.
    pub(crate) fn transaction_commit(&mut self) {
        self.flush();
        self.write(Packet::TransactionCommit);
        self.in_transaction = false;
        self.note(What::TransactionCommit);
    }

    /// K10.5.2.11: a number of instructions, and the address of the next one, which shows the outcome of `branch`.
    pub(crate) fn q(&mut self, count: Option<u64>, next: Entry, branch: Option<bool>) {
        self.flush();
        let count = count.map(|count| Chain::shortest(count, width::COUNT));
        let history = self.history;
        let address = self.shortest(next);
        let inside =
            count.is_some() && !matches!(address.form, AddressForm::Long64Is0 | AddressForm::Long64Is1);
        if inside {
            branch.iter().for_each(|&known| self.content.shown.add_outcome(known));
            self.write(Packet::Q { address: Some(address), count });
        } else {
            self.history = history;
            self.write(Packet::Q { address: None, count });
            self.pending_address = Some(next);
        }
        self.p0();
        if inside {
            self.note_target(next);
        }
    }

    /// K10.5.2.8: the oldest `count` P0 elements were executed.
    pub(crate) fn commit(&mut self, count: u64) {
        if count > 0 {
            self.flush();
            self.write(Packet::Commit(Chain::shortest(count, width::COUNT)));
            self.depth = self.depth.saturating_sub(count);
            self.add(Step::Commit(count));
        }
    }

    /// K10.5.2.8, K10.5.2.9: the youngest `count` P0 elements were not executed; with `mispredict` the one before them had
    /// the opposite outcome.
    pub(crate) fn cancel(&mut self, count: u64, mispredict: bool) {
        let packet = match (count, mispredict) {
            (0, false) => return,
            (0, true) => Packet::Mispredict(self.flush_but_short(|_| true)),
            (1, true) => Packet::Cancel2(self.flush_but_short(|_| true)),
            (2..=5, true) => {
                let e = self.flush_but_short(|short| short < 2);
                Packet::Cancel3((count as u8 - 2) << 1 | e)
            }
            _ => {
                self.flush();
                Packet::Cancel1 { mispredict, count: Chain::shortest(count, width::COUNT) }
            }
        };
        self.depth = self.depth.saturating_sub(count);
        self.p0s = self.p0s.saturating_sub(count);
        self.write(packet);
        self.add(Step::Cancel(count));
    }

    /// K10.5.2.16: `commit` P0 elements were executed; `count` cycles since the last count, including the threshold.
    pub(crate) fn cycles(&mut self, commit: u64, count: Option<u64>, own: bool) {
        self.write_cycles(commit, count);
        if count.is_some() {
            self.note(What::Time { fact: Fact::CycleCounts, offset: false, own });
        }
    }

    fn write_cycles(&mut self, commit: u64, count: Option<u64>) {
        self.flush();
        let above = count.map(|count| count.saturating_sub(self.threshold));
        if self.dialect.commopt {
            self.commit(commit);
            self.write(match above {
                Some(above @ 0..=3) => Packet::CycleCount3(above as u8),
                // AAAA is all ones if it carries no commit.
                Some(above @ 0..=15) => Packet::CycleCount2 { from_max: true, payload: 0xf0 | above as u8 },
                above => Packet::CycleCount1 { commit: None, count: above.map(cycle_chain) },
            });
            return;
        }
        let from_max = (commit + 15).checked_sub(self.max_spec).filter(|a| *a <= 15);
        self.depth = self.depth.saturating_sub(commit);
        self.write(match (commit, above) {
            (1..=4, Some(above @ 0..=3)) => Packet::CycleCount3((commit as u8 - 1) << 2 | above as u8),
            (1..=16, Some(above @ 0..=15)) => {
                Packet::CycleCount2 { from_max: false, payload: (commit as u8 - 1) << 4 | above as u8 }
            }
            (_, Some(above @ 0..=15)) if from_max.is_some() => {
                let a = from_max.unwrap_or(0) as u8;
                Packet::CycleCount2 { from_max: true, payload: a << 4 | above as u8 }
            }
            (_, above) => Packet::CycleCount1 {
                commit: Some(Chain::shortest(commit, width::COUNT)),
                count: above.map(cycle_chain),
            },
        });
        self.add(Step::Commit(commit));
    }

    /// K10.5.2.16.1: high bits that did not change are omitted.
    pub(crate) fn timestamp(&mut self, value: u64, count: Option<u64>, own: bool) {
        self.flush();
        let changed = 64 - (value ^ self.timestamp).leading_zeros();
        let len = if changed > 56 { 9 } else { changed.div_ceil(7).max(1) };
        self.timestamp = value;
        let sent = if len == 9 { u64::MAX } else { (1 << (7 * len)) - 1 };
        let value = Chain { value: value & sent, len: len as u8 };
        self.write(Packet::Timestamp { value, count: count.map(cycle_chain) });
        self.note(What::Time { fact: Fact::Timestamps, offset: count.is_some(), own });
    }

    /// A packet without state, which has these elements.
    pub(crate) fn plain(&mut self, packet: Packet, elements: &[What]) {
        self.flush();
        self.write(packet);
        elements.iter().for_each(|&what| self.note(what));
    }

    /// K10.5.2.4, K10.5.2.5: unresolved elements were not executed; waiting ones are not written. `gap`: the source has one
    /// here.
    pub(crate) fn discard(&mut self, overflow: bool, gap: bool) {
        self.drop_waiting();
        self.write(if overflow { Packet::Overflow } else { Packet::Discard });
        self.add(Step::Discard { gap });
        self.depth = 0;
        self.in_transaction = false;
    }

    /// Drops everything after the first `accepted` bytes.
    pub(crate) fn lose(&mut self, accepted: usize) {
        self.out.truncate(accepted);
        self.drop_waiting();
        self.log.truncate(0);
    }

    /// Drops everything that waits.
    pub(crate) fn drop_waiting(&mut self) {
        self.log.truncate(self.log.len() - self.atoms.count as usize);
        self.atoms = Waiting::default();
        (self.pending_context, self.pending_address) = (None, None);
    }

    /// K10.5.2.3, K10.5.2.6: decoding can start here; compression restarts.
    pub(crate) fn synchronise(&mut self, cycle_counting: bool, threshold: u64) {
        self.flush();
        let start = self.here();
        self.write(Packet::AlignmentSync { zeros: 11 });
        let info = u64::from(cycle_counting) | u64::from(self.in_transaction) << 6;
        self.threshold = if cycle_counting { threshold } else { 0 };
        self.write(Packet::TraceInfo(TraceInfo::new(info, self.depth, self.threshold)));
        self.add(Step::Synchronise { start, depth: self.depth, in_transaction: self.in_transaction });
        self.history = History::default();
        self.context = ContextState::default();
        self.timestamp = 0;
    }
}

fn cycle_chain(count: u64) -> Chain {
    Chain::shortest(count, width::CYCLES)
}

fn is_long(form: AddressForm) -> bool {
    use AddressForm::*;
    matches!(form, Long32Is0 | Long32Is1 | Long64Is0 | Long64Is1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::element::Element;
    use crate::decode::elements::{Action, Elements};
    use crate::wire::read::Reader;
    use proptest::prelude::*;

    /// The bytes that `with` packs after a Trace Info, and their elements.
    fn pack(registers: &[(&str, u64)], with: impl FnOnce(&mut Packer)) -> (Vec<u8>, Vec<Action>) {
        let registers = registers.iter().map(|&(name, value)| (name.to_string(), value)).collect();
        let config = Config::from_registers("test", registers, Some(true)).unwrap();
        let mut packer = Packer::new(&config);
        packer.synchronise(true, 0);
        let head = packer.out.len();
        with(&mut packer);
        packer.flush();
        let reader = Reader::new(&config.dialect);
        let (mut elements, mut actions, mut at) = (Elements::default(), Vec::new(), 0);
        while at < packer.out.len() {
            let (packet, length) = reader.read(&packer.out[at..], 0).unwrap();
            elements.decode(&packet, &config, &mut actions).unwrap();
            at += length;
        }
        (packer.out.split_off(head), actions.split_off(1))
    }

    /// The Target Addresses among `actions`.
    fn targets(actions: &[Action]) -> Vec<Entry> {
        let target = |action: &Action| match action {
            Action::Emit(Element::TargetAddress(entry)) => Some(*entry),
            _ => None,
        };
        actions.iter().filter_map(target).collect()
    }

    #[test]
    fn k10_5_2_10_the_longest_atom_packets() {
        let bytes =
            |atoms: &str| pack(&[], |packer| atoms.chars().for_each(|atom| packer.atom(atom == 'E'))).0;
        assert_eq!(bytes(&"E".repeat(24)), [0xd4]);
        assert_eq!(bytes(&("E".repeat(23) + "N")), [0xf4]);
        assert_eq!(bytes(&"E".repeat(50)), [0xd4, 0xd4, 0xdb]);
        assert_eq!(bytes("NEEEE"), [0xf5]);
        assert_eq!(bytes("NEEEN"), [0xdc, 0xf6]);
        assert_eq!(bytes("NENEN"), [0xd6]);
        assert_eq!(bytes("EEEN"), [0xe0]);
        assert_eq!(bytes("EEE"), [0xff]);
        assert_eq!(bytes("NNE"), [0xfc]);
    }

    proptest! {
        #[test]
        fn atoms_are_packed_as_long_as_the_table_allows(bits: u32, count in 1u32..=32) {
            let bits = if count == 32 { bits } else { bits & ((1 << count) - 1) };
            let (atoms, length) = Waiting { count, bits }.longest();
            prop_assert_eq!(atoms.get(), (length as u8, bits & (u32::MAX >> (32 - length))));
            for longer in length + 1..=count.min(24) {
                let found = Atoms::find(longer as u8, bits & (u32::MAX >> (32 - longer)));
                prop_assert_eq!(found, None, "{} atoms", longer);
            }
        }

        #[test]
        fn atoms_come_back(atoms in proptest::collection::vec(any::<bool>(), 0..200)) {
            let (_, actions) = pack(&[], |packer| atoms.iter().for_each(|&taken| packer.atom(taken)));
            let taken = |action: &Action| match action {
                Action::EmitP0(Element::Atom { taken }) => Some(*taken),
                _ => None,
            };
            prop_assert_eq!(actions.iter().filter_map(taken).collect::<Vec<_>>(), atoms);
        }

        #[test]
        fn addresses_come_back(
            addresses in proptest::collection::vec((any::<u64>(), 0u32..64, any::<bool>()), 1..40),
        ) {
            // Addresses that differ in few bits meet the short forms.
            let mut last = 0u64;
            let entries: Vec<Entry> = addresses
                .iter()
                .map(|&(bits, shift, thumb)| {
                    last ^= bits >> shift;
                    let sub_isa = if thumb { SubIsa::Is1 } else { SubIsa::Is0 };
                    Entry { address: last & if thumb { !1 } else { !3 }, sub_isa }
                })
                .collect();
            let (_, actions) = pack(&[], |packer| entries.iter().for_each(|&entry| packer.target(entry)));
            prop_assert_eq!((actions.len(), targets(&actions)), (entries.len(), entries));
        }

        #[test]
        fn timestamps_come_back(steps in proptest::collection::vec((any::<u64>(), 0u32..64), 1..40)) {
            let mut last = 0u64;
            let values: Vec<u64> = steps.iter().map(|&(bits, shift)| { last ^= bits >> shift; last }).collect();
            let (_, actions) = pack(&[], |packer| {
                values.iter().for_each(|&value| packer.timestamp(value, None, false));
            });
            let timestamp = |value| Action::Emit(Element::Timestamp { value, count: None });
            prop_assert_eq!(actions, values.into_iter().map(timestamp).collect::<Vec<_>>());
        }

        #[test]
        fn cycle_counts_come_back(commit in 0u64..40, count in proptest::option::of(0u64..300), commopt: bool) {
            // TRCIDR0.COMMOPT is bit 29.
            let registers = [("TRCIDR8", 40), ("TRCIDR0", 0x08c1_cea1 | u64::from(commopt) << 29)];
            let (_, mut actions) = pack(&registers, |packer| {
                (0..40).for_each(|_| packer.atom(true));
                packer.cycles(commit, count, false);
            });
            let count = count.map(|count| count as u32);
            prop_assert_eq!(actions.pop(), Some(Action::Emit(Element::CycleCount(count))));
            // With COMMOPT 0 a count may commit nothing.
            actions.retain(|action| *action != Action::Commit(0));
            if commit > 0 {
                prop_assert_eq!(actions.pop(), Some(Action::Commit(commit)));
            }
        }
    }

    const AT: Entry = Entry { address: 0x2000, sub_isa: SubIsa::Is0 };

    #[test]
    fn k10_5_2_14_a_context_shares_a_packet_with_a_long_address_only() {
        let el1 = ContextState { el: 1, security: 1, sixty_four_bit: true, ..ContextState::default() };
        let (bytes, elements) = pack(&[], |packer| {
            packer.context(el1, Assumed::default());
            packer.target(Entry { address: 0x12_3000, ..AT });
            packer.context(el1, Assumed::default());
            packer.target(Entry { address: 0x12_3004, ..AT });
            packer.target(Entry { address: 0x12_3000, ..AT });
        });
        assert_eq!(bytes, [0x82, 0, 0x18, 0x12, 0, 0x31, 0x80, 0x95, 1, 0x91]);
        let el1 = Action::Emit(Element::Context(el1));
        assert_eq!((elements[0], elements[2], elements.len()), (el1, el1, 5));
        let addresses: Vec<u64> = targets(&elements).iter().map(|entry| entry.address).collect();
        assert_eq!(addresses, [0x12_3000, 0x12_3004, 0x12_3000]);
    }

    #[test]
    fn k10_5_2_13_an_exception_at_the_last_target_gives_the_address_once() {
        let (bytes, elements) = pack(&[], |packer| {
            packer.target(AT);
            packer.exception(14, Some(AT));
            packer.exception(12, Some(Entry { address: 0x2004, ..AT }));
            packer.exception(0, None);
        });
        assert_eq!(bytes, [0x06, 0x5c, 0x95, 0x80, 0x10, 0x06, 0x19, 0x95, 1, 0x06, 0x01, 0x70]);
        let exception = |number, address: Option<u64>| {
            let return_address = address.map(|address| Entry { address, ..AT });
            Action::EmitP0(Element::Exception { number, return_address })
        };
        let commit = Action::Commit(1);
        assert_eq!(
            elements,
            [
                Action::Emit(Element::TargetAddress(AT)),
                exception(14, Some(0x2000)),
                commit,
                exception(12, Some(0x2004)),
                commit,
                exception(0, None),
                commit
            ]
        );
    }

    #[test]
    fn k10_5_2_8_cancels_take_the_atoms_before_them_along() {
        let with = |atoms: &str, count, mispredict| {
            pack(&[("TRCIDR8", 30)], |packer| {
                atoms.chars().for_each(|atom| packer.atom(atom == 'E'));
                packer.cancel(count, mispredict);
            })
            .0
        };
        assert_eq!(with("NNE", 0, true), [0xfc, 0x30]);
        assert_eq!(with("NEEEEE", 0, true), [0xf5, 0x31]);
        assert_eq!(with("EE", 1, true), [0x36]);
        assert_eq!(with("NEEEEN", 1, true), [0xf5, 0x37]);
        assert_eq!(with("NEEEEE", 5, true), [0xf5, 0x3f]);
        assert_eq!(with("NEEEEN", 2, true), [0xf5, 0xf6, 0x38]);
        assert_eq!(with("NEEEEN", 6, true), [0xf5, 0xf6, 0x2f, 6]);
        assert_eq!(with("NEEEEN", 1, false), [0xf5, 0xf6, 0x2e, 1]);
    }

    #[test]
    fn k10_5_2_11_q_brings_its_address_where_a_form_has_room() {
        let far = Entry { address: 0xffff_0000_1234_5678, ..AT };
        let (bytes, elements) = pack(&[], |packer| {
            packer.q(Some(5), AT, None);
            packer.q(Some(6), AT, None);
            packer.q(Some(7), far, None);
            packer.q(None, AT, None);
        });
        assert_eq!(bytes[..6], [0xa5, 0x80, 0x10, 5, 0xa0, 6]);
        assert_eq!(targets(&elements), [AT, AT, far, AT]);
    }
}
