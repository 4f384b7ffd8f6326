//! Legal ASTF traces of any shape: the producer takes them, nothing is wrong with them, events give the same bytes, and
//! they go to STF and back.

use std::collections::BTreeMap;

use proptest::prelude::*;

use trackway_astf::{
    Completion, Context, Level, Lower, Producer, ReadConfig, Storage, Trace, Trap, TrapType, WriteConfig,
};
use trackway_core::{
    Batch, Contexts, Counts, Fact, Fate, Input, Ledger, MemAccess, MemKind, Output, Severity, Sink, Source,
    Value,
};
use trackway_testkit::output::Shared;

/// Interprets choices as what a processor may do.
struct Machine {
    trace: Producer<Vec<u8>>,
    plus: bool,
    timed: bool,
    pc: u64,
    context: Context,
    time: u64,
    /// Where the levels below go on.
    resume: Vec<(u64, Context)>,
}

const NOP: u32 = 0xd503_201f;
const VECTORS: u64 = 0xffff_8000_0000_0000;

fn access(kind: MemKind, address: u64, size: u64) -> MemAccess {
    MemAccess::new(kind, address, size, Value::Unknown)
}

fn tagged(access: MemAccess) -> MemAccess {
    MemAccess { tagged: true, ..access }
}

fn range(access: MemAccess) -> MemAccess {
    MemAccess { range: true, ..access }
}

impl Machine {
    fn new(plus: bool, timed: bool) -> Self {
        let level = if plus { Level::BasicPlus } else { Level::Basic };
        let config = WriteConfig { storage: Storage::Raw, ..WriteConfig::default() };
        let trace = Producer::create(Vec::new(), level, timed, &config).unwrap();
        let context = Context { pid_valid: true, pid: 7, ..Context::default() };
        let mut machine = Machine { trace, plus, timed, pc: 0x1000, context, time: 100, resume: Vec::new() };
        if timed {
            machine.trace.timestamp(100).unwrap();
        }
        machine.trace.context(context).unwrap();
        machine
    }

    fn step(&mut self, word: u32, done: Completion, accesses: &[MemAccess], index: Option<u8>) {
        let result = self.trace.indexed(self.pc, word, done, accesses, index);
        result.unwrap_or_else(|refusal| panic!("{word:#010x} {done:?} {accesses:?}: {refusal}"));
        self.pc = match done {
            Completion::Taken(target) => target,
            _ => self.pc + 4,
        };
    }

    fn plain(&mut self, word: u32, accesses: &[MemAccess]) {
        self.step(word, Completion::Next, accesses, None);
    }

    fn change(&mut self, context: Context) {
        self.context = context;
        self.trace.context(context).unwrap();
    }

    /// To a higher level, or the same.
    fn enter(&mut self, trap: Trap, el: u8, back: u64) {
        let target_pc = if el == 3 { 0x8000 } else { VECTORS + u64::from(el) * 0x1_0000 };
        self.trace.trap(Trap { target_pc, ..trap }).unwrap_or_else(|refusal| panic!("{trap:?}: {refusal}"));
        self.resume.push((back, self.context));
        self.pc = target_pc;
        let evl = self.context.evl;
        self.change(Context { el, handler: true, secure: el == 3, evl, ..Context::default() });
    }

    /// An instruction that took an exception.
    fn trapped(&mut self, word: u32, accesses: &[MemAccess], trap: Trap, el: u8, resumes: u64) {
        let back = self.pc + resumes;
        self.step(word, Completion::Trapped, accesses, None);
        self.enter(trap, el, back);
    }

    fn go(&mut self, choice: u8, noise: u64) {
        use MemKind::*;
        let ea = 0x9000 + (noise & 0xfff0);
        let vector = (u64::from(self.context.evl) + 1) * 16;
        let el = self.context.el;
        // An exception to EL1, or to a higher one if that is where it is.
        let higher = el.max(1);
        let abort = Trap { ec: if el < higher { 0x24 } else { 0x25 }, ..Trap::default() };
        match choice {
            0..=3 => self.plain(NOP, &[]),
            4 => self.plain(0xf940_0020, &[access(Read, ea, 8)]),
            5 => self.plain(0xa940_0420, &[access(Read, ea, 16)]),
            6 => self.plain(0xa900_0420, &[access(Write, 0x9ff8, 8), tagged(access(Write, 0xa000, 8))]),
            7 => self.plain(0xf820_0022, &[access(ReadWrite, ea, 8)]),
            8 => {
                let kind = if noise & 1 == 0 { Read } else { ReadWrite };
                self.plain(0xc8a0_7c22, &[access(kind, ea, 8)]);
            }
            9 => {
                let kind = if noise & 1 == 0 { Unknown } else { Write };
                self.plain(0xc802_7c20, &[access(kind, ea, 8)]);
            }
            10 => self.plain(0xf980_0020, &[access(Prefetch, ea, 0)]),
            11 => self.plain(0xd50b_7a20, &[tagged(access(Maintenance, ea, 0))]),
            12 => self.plain(0xd50b_7420, &[access(Write, ea & !0x1ff, 512)]),
            13 => self.plain(0xd920_0820, &[tagged(access(Write, ea, 16))][..(noise & 1) as usize]),
            14 => self.plain(0xd960_0020, &[tagged(access(Read, ea, 16))]),
            15 => self.plain(0x6900_0840, &[access(Write, ea, 16)]),
            16 => {
                let size = noise >> 16 & 0xfff;
                self.plain(
                    0x1901_0440,
                    &[range(access(Read, ea, size)), range(access(Write, ea + 0x10_0000, size))],
                );
            }
            17 => self.plain(0x19c2_0420, &[range(access(Write, ea, noise >> 16 & 0xfff))]),
            18 => self.plain(0xa400_4020, &[access(Read, ea, vector)]),
            19 => self.plain(0xc5c0_c020, &[access(Read, ea, 8), access(Read, ea + 64, 8)]),
            20 => self.plain(0xe400_4020, &[access(Write, ea, 1)][..(noise & 1) as usize]),
            21 => self.plain(0xa400_6020, &[access(Read, ea, 3), access(Suppressed, ea + 3, 1)]),
            22 => self.plain(0x8580_4020, &[access(Read, ea, vector)]),
            23 => self.plain(0x85c0_0020, &[access(Prefetch, ea, vector)]),
            24 => self.step(0xc000_0000, Completion::Next, &[], Some(noise as u8)),
            25 => {
                let bytes = if self.context.pstate_sm { vector } else { 64 };
                self.step(0xe100_0004, Completion::Next, &[access(Read, ea, bytes)], Some(noise as u8));
            }
            26 => {
                let set = !self.context.pstate_sm;
                self.plain(0xd503_427f | u32::from(set) << 8, &[]);
                let evl = if set { 3 } else { 1 };
                self.change(Context { pstate_sm: set, evl, ..self.context });
            }
            27 => {
                let set = !self.context.pstate_dit;
                self.plain(0xd503_405f | u32::from(set) << 8, &[]);
                self.change(Context { pstate_dit: set, ..self.context });
            }
            28 => self.step(0x5400_0040, Completion::NotTaken, &[], None),
            29 => self.step(0x5400_0040, Completion::Taken(self.pc + 8), &[], None),
            30 => {
                // Anywhere in the half of memory that it is in.
                let target = (self.pc & !0xffff) | (noise & 0xfffc);
                self.step(0xd65f_03c0, Completion::Taken(target), &[], None);
            }
            31 => {
                let text = noise.to_le_bytes().repeat((noise % 9) as usize);
                self.trace.string(&text[..text.len().saturating_sub(3)]).unwrap();
            }
            32 if self.timed => {
                self.time += 1 + noise % 5;
                self.trace.timestamp(self.time).unwrap();
            }
            33 if self.timed && self.plus => {
                self.plain(0xd503_207f, &[]);
                let from = self.time + 1;
                self.time += 5 + noise % 5;
                self.trace.suspend(from, self.time).unwrap();
            }
            34 if self.plus && el < 2 => {
                let call = Trap { syscall_type: 1, ec: 0x15, syscall_index: noise as u16, ..Trap::default() };
                self.trapped(0xd400_0001 | u32::from(noise as u16) << 5, &[], call, higher, 4);
            }
            34 if !self.plus => {
                self.step(0xd400_0001, Completion::Trapped, &[], None);
                self.pc += noise & 0xc;
            }
            35 if self.plus && el > 0 => {
                let call = Trap { syscall_type: 3, ec: 0x17, ..Trap::default() };
                self.trapped(0xd400_0003, &[], call, 3, 4);
            }
            36 if self.plus => self.trapped(0xf940_0020, &[access(Faulting, ea, 8)], abort, higher, 0),
            37 if self.plus => {
                let parts = [access(Read, ea, 16), tagged(access(Faulting, ea + 16, 1))];
                self.trapped(0xa400_4020, &parts, abort, higher, 0);
            }
            38 if self.plus => {
                let parts = [range(access(Write, ea, 64)), access(Faulting, ea + 64, 1)];
                self.trapped(0x19c2_0420, &parts, abort, higher, 0);
            }
            39 if self.plus => self.trapped(0xd920_0820, &[access(Faulting, ea, 16)], abort, higher, 0),
            40 if self.plus => self.trapped(0xd420_0020, &[], Trap { ec: 0x3c, ..abort }, higher, 0),
            41 if self.plus => {
                let kind = 1 + (noise % 3) as u8;
                let ec = if kind == TrapType::SERROR.0 { 0x2f } else { 0 };
                let trap = Trap { trap_type: kind, ec, is_virtual: noise & 8 != 0, ..Trap::default() };
                self.enter(trap, higher, self.pc);
            }
            42 if self.plus => {
                let ec = if el < higher { 0x20 } else { 0x21 };
                self.enter(Trap { ec, ..Trap::default() }, higher, self.pc);
            }
            43..=46 if el > 0 => {
                let Some((back, context)) = self.resume.pop() else { return };
                self.plain(0xd69f_03e0, &[]);
                let back_to = Trap { trap_type: TrapType::RETURN.0, target_pc: back, ..Trap::default() };
                self.trace.trap(back_to).unwrap();
                self.pc = back;
                self.change(context);
            }
            47 if self.plus && el == 0 => {
                // Away into AArch32 and back by an interrupt.
                self.change(Context { unsupported: true, ..self.context });
                if self.timed {
                    self.time += 3;
                    self.trace.timestamp(self.time).unwrap();
                }
                self.enter(Trap { trap_type: 2, ..Trap::default() }, 1, self.pc);
                self.resume.pop();
                self.resume.push((self.pc, Context { unsupported: false, ..Context::default() }));
            }
            48 if self.plus => {
                let reset = Trap { trap_type: TrapType::RESET.0, ..Trap::default() };
                self.trace.trap(reset).unwrap();
                self.pc = 0;
                self.resume.clear();
                self.change(Context { el: 3, handler: true, secure: true, ..Context::default() });
            }
            49 if el == 0 && !self.context.unsupported => {
                let tid_valid = noise & 1 == 1;
                let (pid, tid) = (noise >> 8, if tid_valid { noise >> 16 } else { 0 });
                self.change(Context { pid_valid: true, pid, tid_valid, tid, ..self.context });
            }
            _ => self.plain(NOP, &[]),
        }
    }
}

fn open(bytes: &[u8]) -> Trace {
    Trace::open(Input::from_vec(bytes.to_vec()), ReadConfig::default()).unwrap()
}

fn findings(bytes: &[u8]) -> Vec<trackway_core::Finding> {
    let mut findings = Vec::new();
    assert_eq!(open(bytes).check(&mut |finding| findings.push(finding)).1, None);
    findings
}

/// All events of a source into a sink; the ledger.
fn pour(source: &mut dyn Source, sink: &mut dyn Sink) -> Ledger {
    let (mut facts, mut contexts) = (Counts::of_meta(source.meta()), Contexts::new(source.meta()));
    let mut batch = Batch::default();
    while source.fill(&mut batch).unwrap() {
        facts.add_batch(&batch, &mut contexts);
        sink.put(&batch).unwrap_or_else(|error| panic!("{error}"));
    }
    Ledger::new(&facts, &sink.finish().unwrap_or_else(|error| panic!("{error}")))
}

/// The trace and its ledger.
fn lower(source: &mut dyn Source, level: Option<Level>) -> (Vec<u8>, Ledger) {
    let out = Shared::default();
    let config = WriteConfig { storage: Storage::Raw, level, ..WriteConfig::default() };
    let mut sink = Lower::new(Box::new(out.clone()), source.meta().clone(), config).unwrap();
    let ledger = pour(source, &mut sink);
    (out.take(), ledger)
}

fn to_stf(bytes: &[u8]) -> (Vec<u8>, Ledger) {
    let out = Shared::default();
    let mut source = open(bytes).events();
    let config = trackway_stf::WriteConfig {
        container: trackway_stf::Container::Plain,
        ..trackway_stf::WriteConfig::default()
    };
    let output = Output::Stream(Box::new(out.clone()));
    let mut sink = trackway_stf::Lower::new(output, source.meta().clone(), config).unwrap();
    let ledger = pour(&mut source, &mut sink);
    (out.take(), ledger)
}

fn pcs(bytes: &[u8]) -> Vec<u64> {
    let instructions = bytes.as_chunks::<32>().0.iter().filter(|record| record[0] == 1);
    instructions.map(|record| u64::from_le_bytes(record[8..16].try_into().unwrap())).collect()
}

/// How often which rule is broken.
fn errors(bytes: &[u8]) -> BTreeMap<&'static str, u64> {
    let mut errors = BTreeMap::new();
    for finding in findings(bytes).iter().filter(|finding| finding.rule.severity == Severity::Error) {
        *errors.entry(finding.rule.name).or_default() += 1;
    }
    errors
}

/// Does what a processor may do come back, from events and from STF?
fn comes_back(choices: &[(u8, u64)], plus: bool, timed: bool) -> Result<(), TestCaseError> {
    let mut machine = Machine::new(plus, timed);
    for &(choice, noise) in choices {
        machine.go(choice, noise);
    }
    machine.plain(NOP, &[]);
    let bytes = machine.trace.finish().unwrap();
    // The process changes whenever it likes.
    let other = |finding: &trackway_core::Finding| finding.rule.name != "astf.context-without-cause";
    prop_assert_eq!(findings(&bytes).into_iter().filter(other).collect::<Vec<_>>(), []);

    // Through events, nothing changes and nothing is lost.
    let (again, ledger) = lower(&mut open(&bytes).events(), None);
    prop_assert!(!ledger.is_lossy(), "{}", ledger);
    prop_assert!(again == bytes, "{}", ledger);

    // To STF and back: tags, ranges, levels of detail are lost, no instruction is.
    let (stf, _) = to_stf(&bytes);
    let stf =
        trackway_stf::Trace::open(Input::from_vec(stf), trackway_stf::Config::default(), false).unwrap();
    let level = if plus { Level::BasicPlus } else { Level::Basic };
    let (back, ledger) = lower(&mut stf.events(1), Some(level));
    prop_assert!(pcs(&back) == pcs(&bytes), "{}", ledger);
    // Facts that a rule demands and STF does not hold are counted, and nothing else is wrong.
    prop_assert_eq!(errors(&back), ledger.broken);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn legal_traces_are_taken_and_given_back(
        choices in prop::collection::vec((0u8..50, any::<u64>()), 1..120), plus: bool, timed: bool
    ) {
        comes_back(&choices, plus, timed)?;
    }
}

/// Something to do to a trace: change a byte, or leave a record out, or tell one twice.
#[derive(Clone, Debug)]
enum Harm {
    Byte(usize, u8),
    Out(usize),
    Twice(usize),
}

fn harm() -> impl Strategy<Value = Harm> {
    prop_oneof![
        (any::<usize>(), any::<u8>()).prop_map(|(at, bits)| Harm::Byte(at, bits)),
        any::<usize>().prop_map(Harm::Out),
        any::<usize>().prop_map(Harm::Twice),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is wrong with a trace: it is refused, or the copy has nothing wrong but what the ledger says.
    #[test]
    fn nothing_wrong_is_copied_in_silence(
        choices in prop::collection::vec((0u8..50, any::<u64>()), 1..60),
        plus: bool,
        timed: bool,
        harms in prop::collection::vec(harm(), 1..4),
        level in prop_oneof![Just(None), Just(Some(Level::Basic)), Just(Some(Level::BasicPlus))],
        allow_nonconforming: bool,
    ) {
        let mut machine = Machine::new(plus, timed);
        for (choice, noise) in choices {
            machine.go(choice, noise);
        }
        machine.plain(NOP, &[]);
        let mut bytes = machine.trace.finish().unwrap();
        for harm in harms {
            let records = bytes.len() / 32 - 1;
            let at = |n: usize| 32 * (1 + n % records);
            match harm {
                Harm::Byte(n, bits) => bytes[32..][n % (32 * records)] ^= bits,
                Harm::Out(n) if records > 1 => drop(bytes.drain(at(n)..at(n) + 32)),
                Harm::Out(_) => {}
                Harm::Twice(n) => {
                    let record = bytes[at(n)..at(n) + 32].to_vec();
                    bytes.splice(at(n)..at(n), record);
                }
            }
        }
        to_stf(&bytes);
        let out = Shared::default();
        let mut source = open(&bytes).events();
        let config = WriteConfig { storage: Storage::Raw, level, allow_nonconforming, ..WriteConfig::default() };
        let mut sink = Lower::new(Box::new(out.clone()), source.meta().clone(), config).unwrap();
        let mut batch = Batch::default();
        let poured = (|| {
            while source.fill(&mut batch)? {
                sink.put(&batch)?;
            }
            sink.finish()
        })();
        if let Ok(account) = poured {
            prop_assert_eq!(errors(&out.take()), account.broken);
        }
    }
}

#[test]
fn what_once_did_not_come_back() {
    let cases: [(&str, &[u8], bool); 6] = [
        ("a suspension after an instruction at address 0", &[48, 33], true),
        ("the faulting access of a vector load, which STF does not hold", &[37], false),
        ("an Instruction Abort directly after a system call", &[34, 42], false),
        ("a time between a return and its Trap", &[34, 33, 32, 43], true),
        ("a trap before any instruction, and then a reset", &[41, 48, 0], false),
        ("an interrupt at the level that a return led to", &[36, 35, 43, 41], false),
    ];
    for (what, choices, timed) in cases {
        let choices: Vec<_> = choices.iter().map(|choice| (*choice, 0)).collect();
        comes_back(&choices, true, timed).unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

#[test]
fn stf_does_not_hold_that_an_interrupt_is_virtual() {
    let mut machine = Machine::new(true, false);
    for (choice, noise) in [(0, 0), (41, 9), (0, 0)] {
        machine.go(choice, noise);
    }
    let (_, ledger) = to_stf(&machine.trace.finish().unwrap());
    assert_eq!(ledger.count(Fate::Dropped, Fact::VirtualTraps), 1, "{ledger}");
}
