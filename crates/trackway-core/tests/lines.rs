//! Event lines: what is written is read back, for any event.

use proptest::prelude::*;
use trackway_core::*;

fn word<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    prop::sample::select(all)
}

fn value() -> impl Strategy<Value = Option<Vec<u8>>> {
    // None: unknown; up to 8 bytes: a word; more: bytes.
    prop::option::of(prop::collection::vec(any::<u8>(), 1..40))
}

fn put_value(batch: &mut Batch, value: Option<Vec<u8>>) -> Value {
    match value {
        None => Value::Unknown,
        Some(bytes) if bytes.len() <= 8 => {
            Value::Word(bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)))
        }
        Some(bytes) => Value::Bytes(batch.add_bytes(&bytes)),
    }
}

/// Puts an event into a batch.
struct Put(Box<dyn Fn(&mut Batch)>);

impl std::fmt::Debug for Put {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut batch = Batch::default();
        (self.0)(&mut batch);
        write!(f, "{:?}", lines(&batch))
    }
}

fn accesses() -> impl Strategy<Value = Put> {
    let mem =
        (word(MemKind::ALL), any::<u64>(), any::<u64>(), value(), any::<[bool; 4]>(), any::<Option<u64>>());
    let reg = (
        word(RegClass::ALL),
        any::<u16>(),
        word(RegRole::ALL),
        word(RegUpdate::ALL),
        value(),
        any::<Option<u64>>(),
    );
    (prop::collection::vec(mem, 0..4), prop::collection::vec(reg, 0..4)).prop_map(|(mem, regs)| {
        Put(Box::new(move |batch: &mut Batch| {
            for (kind, address, size, data, [tagged, range, inferred, unplaced], physical) in mem.clone() {
                let data = put_value(batch, data);
                let extra =
                    physical.and_then(|_| batch.add_mem_extra(MemExtra { physical, ..MemExtra::default() }));
                batch.mem.push(MemAccess {
                    extra,
                    tagged,
                    range,
                    inferred,
                    unplaced,
                    ..MemAccess::new(kind, address, size, data)
                });
            }
            for (class, number, role, update, data, known) in regs.clone() {
                let number = if class == RegClass::Pc { 0 } else { number };
                let value = put_value(batch, data);
                batch.regs.push(RegAccess { reg: Reg { class, number }, role, update, value, known });
            }
        }))
    })
}

fn step() -> impl Strategy<Value = Put> {
    let plain = (any::<Option<u64>>(), any::<u32>(), 0u8..8, word(Outcome::ALL), any::<Option<bool>>());
    let extra = prop::option::of((
        any::<Option<u64>>(),
        any::<Option<u32>>(),
        prop::collection::vec(any::<u8>(), 0..20),
        any::<bool>(),
    ));
    (plain, extra, accesses()).prop_map(|((pc, encoding, length, outcome, taken), extra, put)| {
        Put(Box::new(move |batch: &mut Batch| {
            let begun = batch.begin_accesses();
            (put.0)(batch);
            let accesses = batch.end_accesses(begun).expect("few accesses");
            let extra = extra.clone().and_then(|(target, sme_index, ops, placeholder)| {
                let micro_ops = batch.add_bytes(&ops);
                batch.add_extra(StepExtra { target, sme_index, micro_ops, placeholder, physical_pc: target })
            });
            batch.push(7, EventKind::Step(Step { pc, encoding, accesses, extra, length, outcome, taken }));
        }))
    })
}

fn other() -> impl Strategy<Value = Put> {
    let numbers = any::<[Option<u64>; 6]>();
    (
        0usize..9,
        numbers,
        any::<[bool; 4]>(),
        prop::collection::vec(any::<u8>(), 0..30),
        any::<u8>(),
        accesses(),
    )
        .prop_map(|(which, n, flags, bytes, byte, put)| {
            Put(Box::new(move |batch: &mut Batch| {
                let pick = usize::from(byte);
                let span = batch.add_bytes(&bytes);
                match which {
                    0 => batch.push_trap(
                        1,
                        Trap {
                            kind: TrapKind::ALL[pick % TrapKind::ALL.len()],
                            cause: n[0],
                            class: n[1].map(|n| n as u8),
                            value: n[2],
                            from: n[3],
                            to: n[4],
                            return_address: n[5],
                            is_virtual: flags[0],
                            syscall: flags[1].then(|| Syscall::ALL[pick % 4]),
                            syscall_index: n[0],
                            words: span,
                        },
                    ),
                    1 => batch.push_context(
                        2,
                        Context {
                            privilege: flags[0].then(|| Privilege::ALL[pick % Privilege::ALL.len()]),
                            security: flags[1].then(|| Security::ALL[pick % 4]),
                            own_stack: flags[2].then_some(flags[0]),
                            context_id: n[0],
                            vmid: n[1],
                            asid: n[2],
                            pid: n[3],
                            tid: n[4],
                            hw_thread: n[5],
                            isa: flags[0].then(|| Isa::ALL[pick % Isa::ALL.len()]),
                            mte: n[0].map(|n| n as u8),
                            ..Context::default()
                        },
                    ),
                    2 => batch.push(
                        3,
                        EventKind::Time(Time {
                            kind: TimeKind::ALL[pick % 3],
                            value: n[0],
                            clock: byte.into(),
                        }),
                    ),
                    3 => batch.push(
                        4,
                        EventKind::Mark(Mark {
                            kind: MarkKind::ALL[pick % MarkKind::ALL.len()],
                            value: n[0],
                            text: span,
                        }),
                    ),
                    4 => {
                        let begun = batch.begin_accesses();
                        (put.0)(batch);
                        let accesses = batch.end_accesses(begun).expect("few accesses");
                        batch.push_state(5, State::Contents(accesses));
                    }
                    5 => batch.push_state(
                        6,
                        State::PageWalk(PageWalk {
                            virtual_address: n[0].unwrap_or(1),
                            first_use: 2,
                            page_size: 4096,
                            entries: span,
                        }),
                    ),
                    6 => batch.push_gap(
                        7,
                        Gap {
                            reason: GapReason::ALL[pick % GapReason::ALL.len()],
                            from: n[0],
                            to: n[1],
                            instructions: n[2],
                            bytes: n[3],
                        },
                    ),
                    7 => batch.push(
                        8,
                        EventKind::Foreign(Foreign {
                            format: [FormatId::new("stf"), FormatId::new("ete")][pick % 2],
                            code: byte.into(),
                            data: span,
                        }),
                    ),
                    _ => {
                        let begun = batch.begin_accesses();
                        (put.0)(batch);
                        let accesses = batch.end_accesses(begun).expect("few accesses");
                        let accesses = flags[0].then(|| batch.add_run_accesses(accesses)).flatten();
                        batch.push(
                            9,
                            EventKind::Run(Run {
                                start: n[0].unwrap_or(0),
                                end: n[1].unwrap_or(0),
                                count: byte.into(),
                                accesses,
                                isa: Isa::ALL[pick % Isa::ALL.len()],
                                exit: Exit::ALL[pick % Exit::ALL.len()],
                                taken: flags[1].then_some(flags[2]),
                                attempted: flags[0],
                                doubtful: flags[1],
                                withdrawn: flags[2],
                            }),
                        );
                    }
                }
            }))
        })
}

fn lines(batch: &Batch) -> Vec<String> {
    let line = |event| {
        let mut line = String::new();
        batch.write_line(event, &mut line);
        line
    };
    batch.events.iter().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn lines_are_re_readable(puts in prop::collection::vec(prop_oneof![step(), other()], 1..12)) {
        let mut batch = Batch::default();
        puts.iter().for_each(|put| (put.0)(&mut batch));
        let written = lines(&batch);
        let mut again = Batch::default();
        for line in &written {
            prop_assert!(again.read_line(line).is_some(), "{}", line);
        }
        prop_assert_eq!(lines(&again), written);
        prop_assert_eq!(again.instructions(), batch.instructions());
    }

    #[test]
    fn any_line_is_read_or_refused(line in "\\PC{0,80}", words in "(0x[0-9a-f]{1,4} )?(step|run|trap|gap|bus)( [a-z]{1,8}=[a-z0-9:(),;.']{0,12}){0,5}") {
        let _ = Batch::default().read_line(&line);
        let _ = Batch::default().read_line(&words);
    }
}
