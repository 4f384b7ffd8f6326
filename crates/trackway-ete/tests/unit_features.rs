//! The trace unit beyond encoding: sequences, saved registers, overflow, Q elements, frames, trace buffers.

mod unit_support;

use std::sync::Arc;

use trackway_core::*;
use trackway_ete::encode::{
    EncodeConfig, FifoModel, Implementation, Instruction, Model, Registers, Saved, SourceAddresses, Unit,
};
use trackway_ete::{
    Config, ContextState, Framing, Lower, Mode, Options, Packet, PacketItem, Packets, Snapshot,
    SnapshotWriter, TraceBuffer, TraceSource, exception_type,
};
use trackway_image::{Image, Space};
use trackway_testkit::random::Numbers;
use unit_support::*;

/// nop; bl f; cbnz loop; b loop; f: nop; ret
const LOOP: [u32; 6] = [0xd503_201f, 0x9400_0003, 0xb5ff_ffc0, 0x17ff_fffd, 0xd503_201f, 0xd65f_03c0];

/// A process: its code, where it is, and what it executed.
struct Process {
    base: u64,
    context_id: u32,
    at: u64,
    numbers: Numbers,
    truth: Vec<u64>,
}

impl Process {
    fn new(base: u64, context_id: u32) -> Self {
        Process { base, context_id, at: base, numbers: Numbers(base), truth: Vec::new() }
    }

    fn context(&self) -> ContextState {
        ContextState {
            context_id: Some(self.context_id),
            vmid: Some(1),
            el: 0,
            security: 1,
            sixty_four_bit: true,
        }
    }

    /// Executes this many instructions, then takes an interrupt.
    fn run(&mut self, unit: &mut Unit, count: usize) {
        unit.set_context(self.context());
        for _ in 0..count {
            let n = (self.at - self.base) / 4;
            let taken = match n {
                2 => self.numbers.one_in(2),
                _ => true,
            };
            unit.instruction(&Instruction::new(Isa::A64, self.at, LOOP[n as usize], taken));
            self.truth.push(self.at);
            self.at = self.base
                + match n {
                    1 => 0x10,
                    2 if taken => 0,
                    3 => 0,
                    5 => 8,
                    _ => 4 * (n + 1),
                };
        }
        unit.exception(exception_type::IRQ, Some((self.at, Isa::A64)));
    }
}

/// The kernel, at EL1: it is not traced.
fn kernel(unit: &mut Unit) {
    unit.set_context(ContextState { el: 1, security: 1, sixty_four_bit: true, ..ContextState::default() });
    for address in [0xffff_0000_0000_0000, 0xffff_0000_0000_0004] {
        unit.instruction(&Instruction::new(Isa::A64, address, 0xd503_201f, true));
    }
}

fn image_at(bases: &[u64]) -> Arc<Image> {
    let mut image = Image::default();
    let code: Vec<u8> = LOOP.iter().flat_map(|word| word.to_le_bytes()).collect();
    for &base in bases {
        image.add_raw("loop", base, Arc::new(code.clone()), Space::default()).unwrap();
    }
    Arc::new(image)
}

/// K10.5.10, and K10.5.7.6 for what is kept of each process.
#[test]
fn two_processes_share_a_trace_unit() {
    for max_spec in [0, 12] {
        let implementation = Implementation { max_spec, ..Implementation::default() };
        let image = image_at(&[0x40_0000, 0x50_0000]);
        let model = Model { mispredict: 100, commit_every: 7, ..Model::default() };
        let base = Registers::new(&implementation);
        let mut unit = Unit::new(base.clone(), model, Some(Arc::clone(&image))).unwrap();
        let mut processes = [Process::new(0x40_0000, 0xa), Process::new(0x50_0000, 0xb)];
        // They are traced differently: one with cycle counts and start/stop points, one without its function.
        let mut programs = [base.clone().minimal(), base.exclude(0x50_0010, 0x50_0017)];
        programs[0].put(&[("TRCCONFIGR", 0x18d1), ("TRCVICTLR", 0x006f_0001), ("TRCVISSCTLR", 1)]);
        programs[0].put(&[("TRCACVR0", 0x40_000c), ("TRCPRGCTLR", 1)]);
        programs[1].set("TRCPRGCTLR", 1);
        let mut saved = [&programs[0], &programs[1]].map(|registers| Saved::from(registers).to_text());
        let mut bytes = [Vec::new(), Vec::new()];
        let configs = programs.clone().map(|registers| registers.config("unit").unwrap());
        for round in 0..12 {
            let n = round % 2;
            unit.switch_in(&Saved::from_text(&saved[n]).unwrap()).unwrap();
            assert!(!unit.status().idle);
            processes[n].run(&mut unit, 90 + 7 * round);
            kernel(&mut unit);
            saved[n] = unit.switch_out().unwrap().to_text();
            assert!(unit.status().idle && unit.status().stable);
            bytes[n].extend(unit.take());
        }
        for n in 0..2 {
            let found = decode(&mut lift(&configs[n], &bytes[n], &image, Options::default()), &image);
            let truth = &processes[n].truth;
            let expected: Vec<u64> = if n == 0 {
                // The start point is passed once and stays so over all switches.
                let first = truth.iter().position(|&pc| pc == 0x40_000c).unwrap();
                assert!(first < 90);
                truth[first..].to_vec()
            } else {
                truth.iter().copied().filter(|&pc| pc < 0x50_0010).collect()
            };
            same(&found.pcs, &expected, &format!("process {n}, MAXSPEC {max_spec}"));
            assert!(findings(&configs[n], &bytes[n], &image).is_empty());
        }
        assert!(
            saved[0].contains("TRCVICTLR = 0x006f0201"),
            "the start/stop logic is started:\n{}",
            saved[0]
        );
    }
}

#[test]
fn k10_5_7_1_3_a_power_down_loses_nothing() {
    let image = image_at(&[0x40_0000]);
    let registers = Registers::new(&Implementation::default()).minimal();
    let mut process = Process::new(0x40_0000, 1);
    let mut first = Unit::new(registers, Model::default(), None).unwrap();
    first.enable().unwrap();
    process.run(&mut first, 100);
    let saved = first.save().unwrap();
    assert_eq!(saved.0[0], ("TRCPRGCTLR".to_string(), 1));
    let mut bytes = first.take();
    // A second unit takes the place of the one that was powered down.
    let mut second = Unit::new(Registers::new(&Implementation::default()), Model::default(), None).unwrap();
    second.restore(&Saved::from_text(&saved.to_text()).unwrap()).unwrap();
    process.run(&mut second, 100);
    second.disable().unwrap();
    bytes.extend(second.take());
    let found = decode(&mut lift(second.config(), &bytes, &image, Options::default()), &image);
    same(&found.pcs, &process.truth, "before and after");
}

#[test]
fn the_list_of_saved_registers_as_text() {
    let mut registers = Registers::new(&Implementation::default()).include(0xffff_0000_1234_5678, u64::MAX);
    registers.set("TRCPRGCTLR", 1);
    let saved = Saved::from(&registers);
    let text = saved.to_text();
    assert!(text.starts_with("TRCPRGCTLR = 0x00000001\nTRCCONFIGR = 0x000018c1\nTRCAUXCTLR"), "{text}");
    assert!(text.contains("TRCACVR0[31:0] = 0x12345678\nTRCACVR0[63:32] = 0xffff0000\n"), "{text}");
    assert_eq!(Saved::from_text(&text).unwrap(), saved);
    for wrong in ["TRCFOO = 1", "TRCACVR0 = 1", "TRCCONFIGR[31:0] = 1", "TRCCONFIGR = x", "TRCCONFIGR"] {
        assert!(Saved::from_text(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn registers_are_written_while_idle_only() {
    let registers = Registers::new(&Implementation::default()).minimal();
    let mut unit = Unit::new(registers, Model::default(), None).unwrap();
    assert_eq!(unit.read("TRCSTATR").unwrap(), 3);
    unit.write("TRCVICTLR", 0x201).unwrap();
    unit.enable().unwrap();
    assert_eq!((unit.read("TRCSTATR").unwrap(), unit.read("TRCPRGCTLR").unwrap()), (0, 1));
    assert!(unit.write("TRCVICTLR", 0x1).is_err());
    assert!(unit.write("TRCIDR8", 1).is_err() && unit.read("TRCFOO").is_err());
    unit.disable().unwrap();
    unit.write("TRCVICTLR", 0x1).unwrap();
}

#[test]
fn k10_5_7_1_a_unit_that_cannot_output_never_becomes_idle() {
    let stuck = Model { fifo: Some(FifoModel { bytes: 64, cycles_per_byte: 0 }), ..Model::default() };
    let mut unit = Unit::new(Registers::new(&Implementation::default()).minimal(), stuck, None).unwrap();
    unit.enable().unwrap();
    Process::new(0x40_0000, 1).run(&mut unit, 10);
    let error = unit.disable().unwrap_err();
    assert_eq!(error.to_string(), "the trace unit never becomes idle");
}

#[test]
fn disabling_without_a_prohibited_region_discards_what_is_unresolved() {
    let image = image_at(&[0x40_0000]);
    let implementation = Implementation { max_spec: 20, ..Implementation::default() };
    let model = Model { commit_every: 0, ..Model::default() };
    let mut unit = Unit::new(Registers::new(&implementation).minimal(), model, None).unwrap();
    unit.enable().unwrap();
    let mut process = Process::new(0x40_0000, 1);
    process.run(&mut unit, 500);
    unit.write("TRCPRGCTLR", 0).unwrap();
    let bytes = unit.take();
    assert_eq!(bytes[bytes.len() - 2..], [0, 3], "a discard");
    let found = decode(&mut lift(unit.config(), &bytes, &image, Options::default()), &image);
    assert!(found.pcs.len() < 500 && found.pcs.len() > 400, "{}", found.pcs.len());
    same(&found.pcs, &process.truth[..found.pcs.len()], "up to the discard");
    assert!(found.gaps.iter().any(|(_, gap)| gap.reason == GapReason::Discarded));
    // Compression starts anew.
    unit.enable().unwrap();
    process.run(&mut unit, 50);
    unit.disable().unwrap();
    let again = unit.take();
    assert_eq!(again[..12], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80]);
    let found = decode(&mut lift(unit.config(), &again, &image, Options::default()), &image);
    same(&found.pcs, &process.truth[500..], "the second session");
}

/// A walk through the loop as events.
fn events(process: &mut Process, count: usize) -> (Vec<Batch>, Meta) {
    let registers = Registers::new(&Implementation::default());
    let mut idle = Unit::new(registers, Model::default(), None).unwrap();
    process.run(&mut idle, count);
    let mut batches = Vec::new();
    for pcs in process.truth.chunks(1000) {
        let mut batch = Batch::default();
        for &pc in pcs {
            batch.push(0, EventKind::Step(Step::new(pc, LOOP[((pc - process.base) / 4) as usize], 4)));
        }
        batches.push(batch);
    }
    (batches, Meta::new(FormatId::new("test"), Isa::A64))
}

fn with_model(configr: u64, max_spec: u32, model: Model) -> EncodeConfig {
    let mut settings = EncodeConfig { model, ..EncodeConfig::default() };
    let implementation = Implementation { max_spec, ..Implementation::default() };
    settings.units[0].registers = Registers::new(&implementation).everything();
    settings.units[0].registers.put(&[("TRCCONFIGR", configr), ("TRCSYNCPR", 8)]);
    settings
}

/// The packets of a raw stream.
fn packets(config: &Config, bytes: &[u8], image: &Arc<Image>) -> Vec<Packet> {
    let trace = TraceSource {
        config: config.clone(),
        framing: Framing::Raw,
        data: Arc::new(bytes.to_vec()),
        image: Arc::clone(image),
    };
    let mut packets = Packets::new(vec![trace], Options::default());
    let mut found = Vec::new();
    while let Some(placed) = packets.next().unwrap() {
        if let PacketItem::Packet(packet) = placed.item {
            found.push(packet);
        }
    }
    found
}

#[test]
fn overflows_lose_instructions_and_nothing_else() {
    let image = image_at(&[0x40_0000]);
    for max_spec in [0, 9] {
        let mut process = Process::new(0x40_0000, 1);
        let (batches, meta) = events(&mut process, 20_000);
        let fifo = Some(FifoModel { bytes: 80, cycles_per_byte: 6 });
        let model = Model { fifo, mispredict: 40, commit_every: 4, ..Model::default() };
        let mut settings = with_model(0x18d1, max_spec, model);
        let encoded = encode(&batches, &meta, &settings, &image);
        let bytes = &encoded.bytes[0];
        assert!(encoded.counts.overflows > 20, "{:?}", encoded.counts);
        assert!(findings(&encoded.config, bytes, &image).is_empty());
        // Overflow, A-Sync, Trace Info, Trace On; then the first cycle count is unknown.
        let packets = packets(&encoded.config, bytes, &image);
        let (mut seen, mut unknown) = (0, false);
        for (n, packet) in packets.iter().enumerate() {
            match packet {
                Packet::Overflow => {
                    assert!(matches!(packets[n + 1], Packet::AlignmentSync { .. }));
                    assert!(matches!(packets[n + 2], Packet::TraceInfo(_)));
                    assert!(matches!(packets[n + 3], Packet::TraceOn), "{:?}", packets[n + 3]);
                    (seen, unknown) = (seen + 1, true);
                }
                Packet::CycleCount1 { count: None, .. } => unknown = false,
                Packet::CycleCount1 { .. } | Packet::CycleCount2 { .. } | Packet::CycleCount3(_) => {
                    assert!(!unknown, "packet {n}");
                }
                _ => {}
            }
        }
        assert!(seen > 20, "{seen}");
        let found = decode(&mut lift(&encoded.config, bytes, &image, Options::default()), &image);
        pieces_of(&found, &process.truth);
        assert!(found.pcs.len() < process.truth.len());
        // With stalling the core waits instead.
        settings.units[0].registers.set("TRCSTALLCTLR", 0x100);
        let encoded = encode(&batches, &meta, &settings, &image);
        assert_eq!(encoded.counts.overflows, 0);
        let found = decode(&mut lift(&encoded.config, &encoded.bytes[0], &image, Options::default()), &image);
        same(&found.pcs, &process.truth, "with stalling");
    }
}

/// Each stretch between gaps lies in the truth, in order.
fn pieces_of(found: &Decoded, truth: &[u64]) {
    let mut cuts: Vec<usize> = found.gaps.iter().map(|(at, _)| *at).collect();
    cuts.push(found.pcs.len());
    let (mut from, mut place) = (0, 0);
    for cut in cuts {
        let piece = &found.pcs[from..cut];
        let skip =
            truth[place..].windows(piece.len().max(1)).position(|window| piece.is_empty() || window == piece);
        place +=
            skip.unwrap_or_else(|| panic!("instructions {from} to {cut} are not in the truth")) + piece.len();
        from = cut;
    }
}

#[test]
fn q_elements_keep_the_number_of_instructions() {
    let image = image_at(&[0x40_0000]);
    for qe in [0x2000, 0x6000] {
        let mut process = Process::new(0x40_0000, 1);
        let (batches, meta) = events(&mut process, 30_000);
        let model = Model { q: 80, source_addresses: SourceAddresses::Sometimes, ..Model::default() };
        let encoded = encode(&batches, &meta, &with_model(0x10c1 | qe, 0, model), &image);
        let bytes = &encoded.bytes[0];
        let packets = packets(&encoded.config, bytes, &image);
        let count = |with: bool| {
            packets
                .iter()
                .filter(|packet| matches!(packet, Packet::Q { count, .. } if count.is_some() == with))
                .count()
        };
        assert!(
            count(true) > 100 && (count(false) > 100) == (qe == 0x6000),
            "{} {}",
            count(true),
            count(false)
        );
        let found = decode(&mut lift(&encoded.config, bytes, &image, Options::default()), &image);
        assert_eq!(found.doubtful, 0);
        if qe == 0x2000 {
            let untold: u64 = found.gaps.iter().filter_map(|(_, gap)| gap.instructions).sum();
            assert_eq!(found.pcs.len() as u64 + untold, process.truth.len() as u64);
        }
        assert!(findings(&encoded.config, bytes, &image).is_empty());
    }
}

/// Instrumentation, events and times between instructions, and which of them the registers let through.
#[test]
fn marks_come_back_where_registers_ask_for_them() {
    let image = image_at(&[0x40_0000]);
    let mut process = Process::new(0x40_0000, 1);
    let (mut batches, meta) = events(&mut process, 50);
    let mark = |kind, value| EventKind::Mark(Mark { value: Some(value), ..Mark::new(kind) });
    let time = EventKind::Time(Time { kind: TimeKind::Timestamp, value: Some(0x1234_5678), clock: 0 });
    for (at, kind) in
        [(9, time), (20, mark(MarkKind::TraceEvent, 2)), (30, mark(MarkKind::Instrumentation, 99))]
    {
        batches[0].events.insert(at, Event { offset: 0, kind });
    }
    let found = |settings: &EncodeConfig| {
        let encoded = encode(&batches, &meta, settings, &image);
        let mut lift = lift(&encoded.config, &encoded.bytes[0], &image, Options::default());
        let mut text = String::new();
        for batch in unit_support::batches(&mut lift) {
            for event in &batch.events {
                if !matches!(event.kind, EventKind::Run(_)) {
                    batch.write_line(event, &mut text);
                    text.push('\n');
                }
            }
        }
        text
    };
    let all = found(&with_model(0x8c1, 0, Model::default()));
    for line in
        ["kind=trace-event value=0x2", "kind=instrumentation value=0x63", "timestamp value=0x12345678"]
    {
        assert!(all.contains(line), "{line} in\n{all}");
    }
    let mut settings = with_model(0xc1, 0, Model::default());
    settings.units[0].registers.put(&[("TRCEVENTCTL1R", 0xb), ("TRCDEVARCH", 0x4770_5a13)]);
    let none = found(&settings);
    assert!(
        !none.contains("trace-event") && !none.contains("instrumentation") && !none.contains("timestamp")
    );
    // An event and a timestamp for every instruction at one address, by resource selectors.
    settings.units[0].registers.put(&[
        ("TRCCONFIGR", 0x801),
        ("TRCEVENTCTL0R", 2 << 8),
        ("TRCTSCTLR", 2),
        ("TRCRSCTLR2", 0x4_0001),
        ("TRCACVR0", 0x40_0010),
    ]);
    let by_resource = found(&settings);
    let times = process.truth.iter().filter(|&&pc| pc == 0x40_0010).count();
    assert_eq!(by_resource.matches("kind=trace-event value=0x1").count(), times);
    assert!(by_resource.matches("kind=timestamp").count() > 2, "{by_resource}");
}

/// A PE reset has no return address: a halt shows the instructions before it, or a gap says that they are missing.
#[test]
fn the_instructions_before_a_reset() {
    let image = image_at(&[0x40_0000, 0x50_0000]);
    let mut batch = Batch::default();
    let step = |pc: u64, n: usize| EventKind::Step(Step::new(pc, LOOP[n], 4));
    batch.push(0, step(0x40_000c, 3));
    batch.push(0, step(0x40_0000, 0));
    batch.push_trap(0, Trap { to: Some(0x50_0000), ..Trap::new(TrapKind::Reset) });
    batch.push(0, step(0x50_0000, 0));
    batch.push(0, step(0x50_0004, 1));
    let meta = Meta::new(FormatId::new("test"), Isa::A64);
    for (halts, expected) in [(true, 4), (false, 3)] {
        let settings = with_model(0xc1, 0, Model { halts, ..Model::default() });
        let encoded = encode(&[batch.clone()], &meta, &settings, &image);
        let (_, pcs) = facts_of(&encoded.config, &encoded.bytes[0], &image);
        assert_eq!(pcs.len(), expected, "{pcs:x?}");
        assert_exact(&encoded, &image, "a reset");
    }
}

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("features").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn open(folder: &std::path::Path) -> Vec<TraceSource> {
    let mut snapshot = Snapshot::open(folder).unwrap();
    assert!(snapshot.notes.is_empty(), "{:?}", snapshot.notes);
    let read =
        |path: &std::path::Path| -> std::io::Result<SharedBytes> { Ok(Arc::new(std::fs::read(path)?)) };
    snapshot.sources(&read, &Image::default)
}

/// Three cores into one buffer of frames, by turns.
#[test]
fn several_cores_in_frames() {
    let bases = [0x40_0000, 0x50_0000, 0x60_0000];
    let images: Vec<_> = bases.iter().map(|base| image_at(&[*base])).collect();
    for framing in [Framing::Raw, Framing::Coresight, Framing::Dstream] {
        let mut processes = bases.map(|base| Process::new(base, 1));
        let mut meta = Meta::new(FormatId::new("test"), Isa::A64);
        meta.sources = vec!["a".into(), "b".into(), "c".into()];
        let settings = EncodeConfig { framing, ..EncodeConfig::default() };
        let ids = (0..3).map(|n| settings.unit(n).registers.get("TRCTRACEIDR") as u8).collect();
        let folder = folder(framing.as_str());
        let writer = SnapshotWriter::create(&folder, framing, None, ids).unwrap();
        let mut lower = Lower::new(&meta, &settings, images.clone(), writer).unwrap();
        let all: Vec<Vec<Batch>> = processes.iter_mut().map(|process| events(process, 9_000).0).collect();
        for round in 0..all[0].len() {
            for (n, batches) in all.iter().enumerate() {
                let mut batch = batches[round].clone();
                batch.source = n as u16;
                lower.put(&batch).unwrap();
            }
        }
        lower.finish().unwrap();
        let traces = open(&folder);
        assert_eq!(traces.len(), 3);
        for (trace, process) in traces.into_iter().zip(&processes) {
            assert_eq!(trace.framing, framing);
            let image = Arc::clone(&trace.image);
            let name = trace.config.name.clone();
            let found = decode(&mut trackway_ete::lift(vec![trace], &Options::default()), &image);
            same(&found.pcs, &process.truth, &format!("{framing:?} {name}"));
        }
    }
}

/// K10.5.11: what a decoder gets of a buffer that was written round and round, stopped when full, or by a trigger.
#[test]
fn trace_buffers_of_all_modes() {
    let image = image_at(&[0x40_0000]);
    let mut process = Process::new(0x40_0000, 1);
    let (batches, meta) = events(&mut process, 60_000);
    let encoded = encode(&batches, &meta, &with_model(0x00c1, 0, Model::default()), &image);
    let bytes = &encoded.bytes[0];
    let truth = &process.truth;
    let decoded = |memory: &[u8], write_pointer| {
        let mut lift = lift(&encoded.config, memory, &image, Options { write_pointer, ..Options::default() });
        let mut batch = Batch::default();
        let mut pcs = Vec::new();
        // A buffer that is full ends where it ends, mostly inside a packet.
        while let Ok(true) = lift.fill(&mut batch) {
            for event in &batch.events {
                if let EventKind::Run(run) = event.kind {
                    pcs.extend((0..u64::from(run.count)).map(|n| run.start + 4 * n));
                }
            }
        }
        pcs
    };
    let size = 4096;
    assert!(bytes.len() > 3 * size, "{}", bytes.len());

    let mut circular = TraceBuffer::new(0x8000, 0x8000 + size as u64, Mode::Circular);
    // As it comes from the unit: in pieces.
    bytes.chunks(37).for_each(|piece| {
        circular.write(piece);
    });
    assert!(circular.status.wrapped && circular.pointer != 0x8000);
    let pcs = decoded(circular.memory(), Some(circular.pointer - 0x8000));
    assert!(pcs.len() > 1000, "{}", pcs.len());
    same(&pcs, &truth[truth.len() - pcs.len()..], "the end, from the first synchronisation in the buffer on");
    same(&decoded(&circular.collected(), None), &pcs, "the same, put in order");

    let mut fill = TraceBuffer::new(0x8000, 0x8000 + size as u64, Mode::Fill);
    fill.write(bytes);
    assert!(fill.status.stopped && fill.lost as usize == bytes.len() - size);
    let pcs = decoded(fill.memory(), None);
    assert!(pcs.len() > 1000);
    same(&pcs, &truth[..pcs.len()], "the start");

    let mut wrap = TraceBuffer::with_watermark_by_wrap(0x8000, 0x8000 + size as u64, 1000);
    wrap.write(&bytes[..3000]);
    assert_eq!(wrap.events, [1000]);
    let pcs = decoded(&wrap.collected(), None);
    same(&pcs, &truth[..pcs.len()], "with a watermark");

    let mut trigger = TraceBuffer::new(0x8000, 0x8000 + size as u64, Mode::Circular);
    (trigger.trigger_mode, trigger.trigger_counter) = (trackway_ete::TriggerMode::Stop, 2000);
    trigger.write(&bytes[..6000]);
    trigger.trigger();
    trigger.write(&bytes[6000..]);
    assert_eq!(trigger.total, 8000);
    let pcs = decoded(trigger.memory(), Some(trigger.pointer - 0x8000));
    let last = truth.windows(pcs.len()).position(|window| window == pcs).expect("a stretch of the truth");
    assert!(last > 0 && pcs.len() > 1000);
}

/// A unit that wakes up in the middle of a transaction or of speculation says so in its Trace Info.
#[test]
fn trace_info_tells_depth_and_transaction() {
    let implementation = Implementation { max_spec: 20, ..Implementation::default() };
    let mut registers = Registers::new(&implementation).everything();
    registers.put(&[("TRCSYNCPR", 8), ("TRCCONFIGR", 0x9)]);
    let model = Model { commit_every: 0, sync_unresolved: true, ..Model::default() };
    let mut unit = Unit::new(registers, model, None).unwrap();
    unit.enable().unwrap();
    let mut process = Process::new(0x40_0000, 1);
    process.run(&mut unit, 20);
    unit.instruction(&Instruction::new(Isa::A64, 0x40_0000, 0xd523_3060, true));
    unit.transaction_start();
    process.run(&mut unit, 3000);
    unit.disable().unwrap();
    let bytes = unit.take();
    let infos: Vec<_> = packets(unit.config(), &bytes, &image_at(&[]))
        .into_iter()
        .filter_map(|packet| if let Packet::TraceInfo(info) = packet { Some(info) } else { None })
        .collect();
    assert!(infos.len() > 3);
    assert_eq!((infos[0].depth(), infos[0].in_transaction()), (0, false));
    assert_eq!((infos[3].depth(), infos[3].in_transaction()), (20, true));
}
