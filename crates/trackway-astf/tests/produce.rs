//! The producer: whatever it is asked, what it writes is legal.

use proptest::prelude::*;

use trackway_astf::{
    Completion, Context, Level, Producer, ProducerError, ReadConfig, Storage, Trace, Trap, TrapType,
    WriteConfig,
};
use trackway_core::{Fact, Finding, Input, MemAccess, MemKind, Severity, Value};

fn config() -> WriteConfig {
    WriteConfig { storage: Storage::Raw, ..WriteConfig::default() }
}

fn findings(bytes: Vec<u8>) -> Vec<Finding> {
    let (trace, mut findings) =
        (Trace::open(Input::from_vec(bytes), ReadConfig::default()).unwrap(), Vec::new());
    assert_eq!(trace.check(&mut |finding| findings.push(finding)).1, None);
    findings
}

fn rule(refusal: ProducerError) -> &'static str {
    match refusal {
        ProducerError::Rule(finding) => finding.rule.name,
        ProducerError::Error(error) => panic!("{error}"),
    }
}

const KERNEL: u64 = 0xffff_8000_0000_0400;
const NOP: u32 = 0xd503_201f;
const SVC: u32 = 0xd400_0001;

#[test]
fn long_accesses_are_split_and_chained() {
    let mut trace = Producer::create(Vec::new(), Level::Basic, false, &config()).unwrap();
    trace.context(Context { evl: 15, ..Context::default() }).unwrap();
    let wide = MemAccess::read(0x9d00, 700, Value::Unknown);
    let tail = MemAccess::read(0xa000, 16, Value::Unknown);
    trace.instruction(0x1000, 0xa460_c020, Completion::Next, &[wide, tail]).unwrap(); // ld4b
    let bytes: Vec<u8> = trace.finish().unwrap();
    assert_eq!(findings(bytes.clone()), []);
    let mut records = Trace::open(Input::from_vec(bytes), ReadConfig::default()).unwrap().records();
    records.seek(2).unwrap();
    let mut texts = Vec::new();
    while let Some((_, record)) = records.next_record().unwrap() {
        let mut text = String::new();
        trackway_astf::show(&record, &mut text);
        texts.push(text);
    }
    assert_eq!(
        texts,
        [
            "is_read=1 ea_valid=1 extra_eas=1 ea_size=255 iword=0xa460c020 pc=0x1000 ea=0x9d00",
            "mem0_is_read=1 mem0_size=255 mem0_addr=0x9e00 mem1_valid=1 extra_eas=1 mem1_is_read=1 mem1_size=187 mem1_addr=0x9f00",
            "mem0_is_read=1 mem0_size=15 mem0_addr=0xa000",
        ]
    );
}

#[test]
fn trap_and_context_are_put_in_order() {
    let mut trace = Producer::create(Vec::new(), Level::BasicPlus, true, &config()).unwrap();
    let kernel = Context { el: 1, handler: true, ..Context::default() };
    trace.timestamp(1).unwrap();
    trace.context(Context::default()).unwrap();
    trace.instruction(0x1000, SVC, Completion::Trapped, &[]).unwrap();
    // Told in the wrong order: the context and the time first.
    trace.context(kernel).unwrap();
    trace.timestamp(2).unwrap();
    let call = Trap { syscall_type: 1, ec: 0x15, target_pc: KERNEL, ..Trap::default() };
    trace.trap(call).unwrap();
    trace.instruction(KERNEL, NOP, Completion::Next, &[]).unwrap();
    let bytes: Vec<u8> = trace.finish().unwrap();
    assert_eq!(kinds_and_times(&bytes).0, [0x41, 0x45, 8, 1, 5, 0x45, 8, 1]);
    assert_eq!(findings(bytes), []);
}

/// A trace may end where a trap led: the state there is written without an instruction.
#[test]
fn the_state_after_the_last_trap_is_written() {
    let mut trace = Producer::create(Vec::new(), Level::BasicPlus, false, &config()).unwrap();
    trace.context(Context::default()).unwrap();
    trace.instruction(0x1000, SVC, Completion::Trapped, &[]).unwrap();
    trace.trap(Trap { syscall_type: 1, ec: 0x15, target_pc: KERNEL, ..Trap::default() }).unwrap();
    trace.context(Context { el: 1, handler: true, ..Context::default() }).unwrap();
    let bytes: Vec<u8> = trace.finish().unwrap();
    assert_eq!(kinds_and_times(&bytes).0, [0x41, 8, 1, 5, 8]);
    assert_eq!(findings(bytes), []);
}

#[test]
fn what_the_level_does_not_allow_is_refused() {
    let mut basic = Producer::create(Vec::new(), Level::Basic, false, &config()).unwrap();
    assert_eq!(
        rule(basic.instruction(0x1000, NOP, Completion::Next, &[]).unwrap_err()),
        "astf.context-first"
    );
    basic.context(Context::default()).unwrap();
    basic.instruction(0x1000, NOP, Completion::Next, &[]).unwrap();
    assert_eq!(rule(basic.trap(Trap::default()).unwrap_err()), "astf.trap-in-basic");
    assert_eq!(rule(basic.timestamp(7).unwrap_err()), "astf.timestamps-flag");
    let unsupported = Context { unsupported: true, ..Context::default() };
    assert_eq!(rule(basic.context(unsupported).unwrap_err()), "astf.unsupported-in-basic");
    basic.context(Context { el: 1, handler: true, ..Context::default() }).unwrap();
    assert_eq!(rule(basic.instruction(0x1004, NOP, Completion::Next, &[]).unwrap_err()), "astf.single-el");
    // The trace continues after a refusal.
    basic.context(Context::default()).unwrap();
    basic.instruction(0x2000, NOP, Completion::Next, &[]).unwrap();
    let bytes: Vec<u8> = basic.finish().unwrap();
    assert_eq!(findings(bytes), [], "a Context marks the break");

    let mut plus = Producer::create(Vec::new(), Level::BasicPlus, false, &config()).unwrap();
    plus.context(Context::default()).unwrap();
    plus.instruction(0x1000, SVC, Completion::Trapped, &[]).unwrap();
    assert_eq!(
        rule(plus.instruction(0x1004, NOP, Completion::Next, &[]).unwrap_err()),
        "astf.trap-record-missing"
    );
    assert_eq!(rule(plus.finish().unwrap_err()), "astf.trap-record-missing");
}

#[test]
fn refusals_are_clear_and_leave_the_trace_as_it_was() {
    let mut trace = Producer::create(Vec::new(), Level::Basic, true, &config()).unwrap();
    assert_eq!(
        trace.timestamp(u64::MAX).unwrap_err().to_string(),
        "record 1 refused: value[0] is all ones. A Timestamp is not all ones. [astf.maximum, ASTF 4.9]"
    );
    trace.timestamp(5).unwrap();
    trace.context(Context::default()).unwrap();
    trace.instruction(0x1000, NOP, Completion::Next, &[]).unwrap();
    assert_eq!(
        trace.trap(Trap::default()).unwrap_err().to_string(),
        "record 4 refused: a Trap in a Basic trace. Trap records are for BasicPlus traces. \
         [astf.trap-in-basic, ASTF 4.7]"
    );
    assert_eq!(rule(trace.timestamp(5).unwrap_err()), "astf.timestamps-increasing");
    assert!(
        matches!(trace.string(&[0; 65_536]).unwrap_err(), ProducerError::Error(_)),
        "too long for its size"
    );
    trace.string(&[0; 65_535]).unwrap();
    let at = |address, size| MemAccess::read(address, size, Value::Unknown);
    let load = 0xf940_0020; // ldr x0,[x1]
    let refused: [(u32, Completion, &[MemAccess], &str); 8] = [
        (load, Completion::Next, &[], "astf.ea-missing"),
        (load, Completion::Next, &[at(0x9000, 4)], "astf.access-size"),
        (load, Completion::Next, &[MemAccess::write(0x9000, 8, Value::Unknown)], "astf.load-read-flag"),
        (NOP, Completion::Next, &[at(0x9000, 8)], "astf.ea-unexpected"),
        (NOP, Completion::Taken(0x2000), &[], "astf.not-a-branch"),
        (0x1400_0002, Completion::Next, &[], "astf.taken-target"),
        (0x1400_0002, Completion::Taken(0x2000), &[], "astf.target-of-direct-branch"),
        (SVC, Completion::Next, &[], "astf.svc-trap-flag"),
    ];
    for (word, done, accesses, name) in refused {
        assert_eq!(rule(trace.instruction(0x1004, word, done, accesses).unwrap_err()), name);
    }
    // An address with a tag in it is stripped, not refused.
    trace.instruction(0x1004, load, Completion::Next, &[at(0xb400_0000_0000_9000, 8)]).unwrap();
    assert_eq!(trace.sanitised[Fact::MemoryAccesses], 1);
    let bytes: Vec<u8> = trace.finish().unwrap();
    assert_eq!(
        bytes.len(),
        (4 + 1 + (65_535usize - 28).div_ceil(31) + 1) * 32,
        "nothing that was refused is in it"
    );
    assert_eq!(findings(bytes), []);
}

#[test]
fn a_suspension_is_two_timestamps_where_both_differ() {
    let mut trace = Producer::create(Vec::new(), Level::BasicPlus, true, &config()).unwrap();
    trace.timestamp(10).unwrap();
    trace.context(Context::default()).unwrap();
    trace.instruction(0x1000, 0xd503_207f, Completion::Next, &[]).unwrap(); // wfi
    trace.suspend(10, 20).unwrap(); // begins at a time that is recorded already: the next one replaces it
    trace.instruction(0x1004, NOP, Completion::Next, &[]).unwrap();
    trace.suspend(20, 20).unwrap(); // too short to be seen
    trace.instruction(0x1008, NOP, Completion::Next, &[]).unwrap();
    let bytes: Vec<u8> = trace.finish().unwrap();
    assert_eq!(kinds_and_times(&bytes).1, [10, 11, 20]);
    assert_eq!(findings(bytes), []);
}

/// The records of a trace, by type, and the times in it.
fn kinds_and_times(bytes: &[u8]) -> (Vec<u8>, Vec<u64>) {
    let records = bytes.as_chunks::<32>().0;
    let times = records.iter().filter(|record| record[0] == 0x45);
    (
        records.iter().map(|record| record[0]).collect(),
        times.map(|record| u64::from_le_bytes(record[8..16].try_into().unwrap())).collect(),
    )
}

#[test]
fn times_on_both_sides_of_an_interrupt_do_not_say_suspended() {
    let mut trace = Producer::create(Vec::new(), Level::BasicPlus, true, &config()).unwrap();
    trace.timestamp(1).unwrap();
    trace.context(Context::default()).unwrap();
    trace.instruction(0x1000, NOP, Completion::Next, &[]).unwrap();
    trace.timestamp(2).unwrap();
    trace.trap(Trap { trap_type: TrapType::IRQ.0, target_pc: KERNEL, ..Trap::default() }).unwrap();
    trace.timestamp(3).unwrap();
    trace.context(Context { el: 1, handler: true, ..Context::default() }).unwrap();
    trace.timestamp(4).unwrap();
    trace.instruction(KERNEL, NOP, Completion::Next, &[]).unwrap();
    trace.instruction(KERNEL + 4, NOP, Completion::Next, &[]).unwrap();
    // At the end too there is room for one only.
    trace.suspend(10, 20).unwrap();
    trace.timestamp(30).unwrap();
    let bytes: Vec<u8> = trace.finish().unwrap();
    let (kinds, times) = kinds_and_times(&bytes);
    assert_eq!(kinds, [0x41, 0x45, 8, 1, 0x45, 5, 8, 1, 0x45, 1, 0x45, 0x45]);
    assert_eq!(times, [1, 2, 4, 10, 20], "the later one waits for an instruction");
    assert_eq!(trace.superseded, 2, "3 and 30 are not there");
    assert_eq!(findings(bytes), []);
}

#[test]
fn a_suspension_behind_a_time_goes_on_from_it() {
    let mut trace = Producer::create(Vec::new(), Level::BasicPlus, true, &config()).unwrap();
    trace.timestamp(1).unwrap();
    trace.context(Context { el: 1, handler: true, ..Context::default() }).unwrap();
    trace.instruction(0x1000, NOP, Completion::Next, &[]).unwrap();
    trace.timestamp(2).unwrap();
    trace.trap(Trap { trap_type: TrapType::IRQ.0, target_pc: KERNEL, ..Trap::default() }).unwrap();
    trace.suspend(2, 9).unwrap();
    trace.instruction(KERNEL, NOP, Completion::Next, &[]).unwrap();
    let bytes: Vec<u8> = trace.finish().unwrap();
    assert_eq!(kinds_and_times(&bytes).1, [1, 2, 9]);
    assert_eq!(findings(bytes), []);
}

#[test]
fn a_refused_call_changes_nothing_for_the_next() {
    let mut trace = Producer::create(Vec::new(), Level::BasicPlus, true, &config()).unwrap();
    trace.timestamp(1).unwrap();
    trace.context(Context::default()).unwrap();
    trace.instruction(0x1000, SVC, Completion::Trapped, &[]).unwrap();
    trace.timestamp(2).unwrap();
    let call = Trap { syscall_type: 1, ec: 0x15, target_pc: KERNEL, ..Trap::default() };
    let wrong = Trap { syscall_index: 7, ..call };
    assert_eq!(rule(trace.trap(wrong).unwrap_err()), "astf.syscall-index");
    // The Trap still follows its instruction directly.
    trace.trap(call).unwrap();
    trace.context(Context { el: 1, handler: true, ..Context::default() }).unwrap();
    trace.instruction(KERNEL, NOP, Completion::Next, &[]).unwrap();
    let bytes: Vec<u8> = trace.finish().unwrap();
    assert_eq!(kinds_and_times(&bytes).0, [0x41, 0x45, 8, 1, 5, 0x45, 8, 1]);

    let mut basic = Producer::create(Vec::new(), Level::Basic, false, &config()).unwrap();
    basic.context(Context::default()).unwrap();
    basic.context(Context { unsupported: true, ..Context::default() }).unwrap_err();
    basic.instruction(0x1000, NOP, Completion::Next, &[]).unwrap();
}

#[test]
fn an_index_and_a_range_do_not_fit_into_one_attribute() {
    let mut trace = Producer::create(Vec::new(), Level::Basic, false, &config()).unwrap();
    trace.context(Context::default()).unwrap();
    let range = MemAccess { range: true, ..MemAccess::write(0x9000, 64, Value::Unknown) };
    let setp = 0x19c2_0440;
    assert!(
        trace.indexed(0x1000, setp, Completion::Next, &[range], Some(3)).is_err(),
        "the index would be lost"
    );
    trace.instruction(0x1000, setp, Completion::Next, &[range]).unwrap();
}

/// Anything that somebody may ask of the producer.
#[derive(Clone, Debug)]
enum Call {
    String(Vec<u8>),
    Time(u64),
    Suspend(u64, u64),
    Context(Context),
    Step { jump: bool, word: u32, done: u8, target: u64, accesses: Vec<MemAccess>, index: Option<u8> },
    Trap(Trap),
    Break,
}

fn words() -> impl Strategy<Value = u32> {
    prop_oneof![
        Just(NOP),
        Just(SVC),
        Just(0xf940_0020u32), // ldr
        Just(0xf900_0020),    // str
        Just(0xf820_0022),    // ldadd
        Just(0xc802_7c20),    // stxr
        Just(0x5400_0040),    // b.eq
        Just(0x1400_0002),    // b
        Just(0xd65f_03c0),    // ret
        Just(0xd69f_03e0),    // eret
        Just(0xf980_0020),    // prfm
        Just(0x1902_0440),    // cpyfp
        Just(0x19c2_0440),    // setp
        Just(0xa400_6020),    // ldff1b
        Just(0xe100_0004),    // ldr za
        Just(0xd503_437f),    // smstart sm
        Just(0xd508_8620),    // tlbi rvae1
        any::<u32>(),
    ]
}

fn access() -> impl Strategy<Value = MemAccess> {
    let kinds = prop::sample::select(MemKind::ALL.to_vec());
    let sizes = prop_oneof![0u64..600, Just(8u64), Just(16)];
    (kinds, any::<u64>(), sizes, any::<bool>(), any::<bool>()).prop_map(
        |(kind, address, size, tagged, range)| MemAccess {
            tagged,
            range,
            ..MemAccess::new(kind, address, size, Value::Unknown)
        },
    )
}

fn call() -> impl Strategy<Value = Call> {
    let context =
        (0u8..4, any::<[bool; 7]>(), 0u8..16, any::<u64>()).prop_map(|(el, flags, evl, id)| Context {
            el,
            handler: flags[0],
            secure: flags[1],
            pstate_sm: flags[2],
            pstate_dit: flags[3],
            pid_valid: flags[4],
            tid_valid: flags[5],
            unsupported: flags[6] && evl > 12,
            evl,
            pid: if flags[4] { id } else { 0 },
            ..Context::default()
        });
    let trap =
        (0u8..8, 0u8..64, 0u8..4, any::<bool>(), any::<u64>()).prop_map(|(kind, ec, call, virt, to)| Trap {
            trap_type: kind,
            ec: if kind == TrapType::SERROR.0 { 0x2f } else { ec },
            syscall_type: call,
            is_virtual: virt,
            target_pc: to & !3,
            ..Trap::default()
        });
    let step = (
        any::<bool>(),
        words(),
        0u8..4,
        any::<u64>(),
        prop::collection::vec(access(), 0..4),
        any::<Option<u8>>(),
    );
    prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..100).prop_map(Call::String),
        2 => any::<u16>().prop_map(|time| Call::Time(time.into())),
        1 => (any::<u16>(), any::<u16>()).prop_map(|(from, to)| Call::Suspend(from.into(), to.into())),
        3 => context.prop_map(Call::Context),
        12 => step.prop_map(|(jump, word, done, target, accesses, index)| Call::Step {
            jump, word, done, target: target & !3, accesses, index
        }),
        3 => trap.prop_map(Call::Trap),
        1 => Just(Call::Break),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Calls are obeyed or refused; what was written has no error, whatever was asked.
    #[test]
    fn nothing_illegal_is_written(calls in prop::collection::vec(call(), 0..60), plus: bool, timed: bool) {
        let level = if plus { Level::BasicPlus } else { Level::Basic };
        let mut trace = Producer::create(Vec::new(), level, timed, &config()).unwrap();
        let mut pc = 0x1000;
        if timed {
            trace.timestamp(0).unwrap();
        }
        let _ = trace.context(Context::default());
        for call in calls {
            let _ = match call {
                Call::String(bytes) => trace.string(&bytes),
                Call::Time(time) => trace.timestamp(time),
                Call::Suspend(from, to) => trace.suspend(from, to),
                Call::Context(context) => trace.context(context),
                Call::Step { jump, word, done, target, accesses, index } => {
                    let done = [Completion::Next, Completion::NotTaken, Completion::Taken(target), Completion::Trapped][usize::from(done)];
                    let at = if jump { target } else { pc };
                    let result = trace.indexed(at, word, done, &accesses, index);
                    if result.is_ok() {
                        pc = if let Completion::Taken(to) = done { to } else { at.wrapping_add(4) };
                    }
                    result
                }
                Call::Trap(trap) => trace.trap(trap).inspect(|()| pc = trap.target_pc),
                Call::Break => { trace.discontinuity(); Ok(()) }
            };
        }
        // A trace may only end where nothing is owed.
        if let Ok(bytes) = trace.finish() {
            let errors: Vec<_> =
                findings(bytes).into_iter().filter(|found| found.rule.severity == Severity::Error).collect();
            prop_assert_eq!(errors, []);
        }
    }
}
