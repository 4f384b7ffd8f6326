//! For tests of the trace unit: runs as events, what a decoder has to find, and decoding.
#![allow(dead_code)] // each test uses a part of it

use std::sync::Arc;

use trackway_core::*;
use trackway_ete::encode::EncodeConfig;
use trackway_ete::{Config, Framing, Lower, Options, TraceSource};
use trackway_image::{Image, Space};
use trackway_isa::Control;
use trackway_testkit::qemu::Run;

/// The program of a run, with the code that its ELF file does not have.
pub(crate) fn image_of(run: &Run) -> Image {
    let mut image = Image::default();
    image.add_elf("elf", Arc::new(run.elf.clone()), None, Space::default()).unwrap();
    let memory = image.memory(&Context::default());
    let mut extra: Vec<_> = run.code.iter().filter(|(pc, _)| memory.word(**pc).is_none()).collect();
    extra.sort();
    for (&pc, &(word, _)) in extra {
        image.add_raw("extra", pc, Arc::new(word.to_le_bytes()), Space::default()).unwrap();
    }
    image
}

/// All batches of a source.
pub(crate) fn batches(source: &mut dyn Source) -> Vec<Batch> {
    let mut batches = Vec::new();
    let mut batch = Batch::default();
    while source.fill(&mut batch).unwrap() {
        batches.push(batch.clone());
    }
    batches
}

/// The instructions that a flow trace can show: those that retired, and system calls.
pub(crate) fn shown(batches: &[Batch], isa: Isa) -> Vec<u64> {
    let mut pcs = Vec::new();
    for batch in batches {
        for event in &batch.events {
            if let EventKind::Step(step) = event.kind {
                let pc = step.pc.unwrap();
                let control = trackway_isa::flow(isa, pc, step.encoding).control;
                let call = control == Control::SystemCall;
                if call || step.outcome == Outcome::Retired && control.retires() {
                    pcs.push(pc);
                }
            }
        }
    }
    pcs
}

/// The output of trace units.
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<Vec<u8>>,
    /// The ledger of the conversion.
    pub(crate) ledger: Ledger,
    pub(crate) counts: trackway_ete::encode::Counts,
    pub(crate) config: Config,
}

/// Batches of one core through a trace unit.
pub(crate) fn encode(batches: &[Batch], meta: &Meta, settings: &EncodeConfig, image: &Arc<Image>) -> Encoded {
    let mut lower = Lower::new(meta, settings, vec![Arc::clone(image)], Vec::new()).unwrap();
    let (mut facts, mut contexts) = (Counts::of_meta(meta), Contexts::new(meta));
    for batch in batches {
        facts.add_batch(batch, &mut contexts);
        lower.put(batch).unwrap();
    }
    let ledger = Ledger::new(&facts, &lower.finish().unwrap());
    let unit = lower.unit(0).unwrap();
    let (counts, config) = (unit.counts, unit.config().clone());
    Encoded { bytes: lower.into_inner(), ledger, counts, config }
}

/// The facts that a reader finds in one raw stream, and the addresses of its instructions.
pub(crate) fn facts_of(config: &Config, bytes: &[u8], image: &Arc<Image>) -> (Counts, Vec<u64>) {
    let mut lift = lift(config, bytes, image, Options::default());
    let meta = lift.meta();
    let (mut facts, mut contexts, mut pcs) = (Counts::of_meta(meta), Contexts::new(meta), Vec::new());
    let mut context = Context::default();
    let mut batch = Batch::default();
    while lift.fill(&mut batch).unwrap_or_else(|error| panic!("{error}")) {
        for event in std::mem::take(&mut batch.events) {
            match event.kind {
                EventKind::Run(run) => {
                    let accesses = batch.accesses_of(&run);
                    let memory = image.memory(&context);
                    trackway_image::expand(&memory, &run, accesses, |kind| batch.push(0, kind));
                }
                kind => {
                    if let EventKind::Context(n) = kind {
                        context.update(&batch.contexts[n as usize]);
                    }
                    batch.push(0, kind);
                }
            }
        }
        pcs.extend(batch.events.iter().filter_map(|event| match event.kind {
            EventKind::Step(step) => step.pc,
            _ => None,
        }));
        facts.add_batch(&batch, &mut contexts);
    }
    (facts, pcs)
}

/// The ledger has what a reader finds, for every fact.
pub(crate) fn assert_exact(encoded: &Encoded, image: &Arc<Image>, what: &str) {
    let (facts, _) = facts_of(&encoded.config, &encoded.bytes[0], image);
    // Targets are shown by the next instruction; extra gaps are not made up.
    for &fact in Fact::ALL.iter().filter(|fact| **fact != Fact::Targets && !fact.is_of_gap()) {
        let of = |fate| encoded.ledger.count(fate, fact);
        let claimed = of(Fate::Kept) + of(Fate::Derived) + of(Fate::Invented);
        assert_eq!(claimed, facts[fact], "{what}: {}; {}", fact.as_str(), encoded.ledger);
    }
}

/// A decoder of one raw stream.
pub(crate) fn lift(
    config: &Config,
    bytes: &[u8],
    image: &Arc<Image>,
    options: Options,
) -> Stream<trackway_ete::Lift> {
    let trace = TraceSource {
        config: config.clone(),
        framing: Framing::Raw,
        data: Arc::new(bytes.to_vec()),
        image: Arc::clone(image),
    };
    trackway_ete::lift(vec![trace], &options)
}

/// Instructions decoded, and gaps between them: index of the next instruction, and why.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Decoded {
    pub(crate) pcs: Vec<u64>,
    pub(crate) gaps: Vec<(usize, Gap)>,
    pub(crate) doubtful: usize,
}

pub(crate) fn decode(lift: &mut dyn Source, image: &Image) -> Decoded {
    let mut decoded = Decoded::default();
    let mut batch = Batch::default();
    let mut context = Context::default();
    let mut memory = image.memory(&context);
    while lift.fill(&mut batch).unwrap_or_else(|error| panic!("{error}")) {
        for event in &batch.events {
            match event.kind {
                EventKind::Run(run) => {
                    assert!(!run.withdrawn);
                    decoded.doubtful += usize::from(run.doubtful);
                    let mut pc = run.start;
                    for _ in 0..run.count {
                        decoded.pcs.push(pc);
                        let length = match run.isa {
                            Isa::T32 => memory.fetch(run.isa, pc).unwrap().1,
                            _ => 4,
                        };
                        pc = pc.wrapping_add(length.into());
                    }
                }
                EventKind::Gap(n) => decoded.gaps.push((decoded.pcs.len(), batch.gaps[n as usize])),
                EventKind::Context(n) => {
                    context.update(&batch.contexts[n as usize]);
                    memory = image.memory(&context);
                }
                _ => {}
            }
        }
    }
    decoded
}

/// Compares two streams of instructions, and shows where they part.
pub(crate) fn same(found: &[u64], expected: &[u64], what: &str) {
    let at = found.iter().zip(expected).position(|(a, b)| a != b).unwrap_or(found.len().min(expected.len()));
    if found.len() != expected.len() || at < found.len() {
        let near =
            |pcs: &[u64]| format!("{:x?}", &pcs[at.saturating_sub(4).min(pcs.len())..pcs.len().min(at + 4)]);
        panic!(
            "{what}: instruction {at}: found {}, expected {}; {} and {} in all",
            near(found),
            near(expected),
            found.len(),
            expected.len()
        );
    }
}

/// Findings of the checker, but for what a trace may well do.
pub(crate) fn findings(config: &Config, bytes: &[u8], image: &Arc<Image>) -> Vec<String> {
    let trace = TraceSource {
        config: config.clone(),
        framing: Framing::Raw,
        data: Arc::new(bytes.to_vec()),
        image: Arc::clone(image),
    };
    let mut findings = Vec::new();
    let report = &mut |finding: Finding| {
        findings.push(format!("{:#x} {}: {}", finding.offset, finding.rule.name, finding.message));
    };
    trackway_ete::check(vec![trace], Options::default(), report).unwrap();
    findings
}

/// A program of ours and what it executed.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) image: Arc<Image>,
    pub(crate) meta: Meta,
    pub(crate) batches: Vec<Batch>,
    pub(crate) pcs: Vec<u64>,
}

/// A program and what it executed, as QEMU recorded it (`programs/record.sh`).
pub(crate) fn program(name: &'static str, isa: Isa) -> Program {
    let base = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs").join(name);
    let mut image = Image::default();
    let elf = std::fs::read(base.with_extension("elf")).unwrap();
    image.add_elf(name, Arc::new(elf), None, Space::default()).unwrap();
    let memory = image.memory(&Context::default());
    let mut pcs = Vec::new();
    let mut batch = Batch::default();
    let mut last = None;
    for line in std::fs::read_to_string(base.with_extension("runs")).unwrap().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let mut pc = u64::from_str_radix(words[0], 16).unwrap();
        let isa = words[1].parse::<Isa>().unwrap();
        if last.replace(isa) != Some(isa) {
            batch.push_context(0, Context { isa: Some(isa), ..Context::default() });
        }
        for _ in 0..words[2].parse::<u32>().unwrap() {
            let (encoding, length) = memory.fetch(isa, pc).unwrap();
            batch.push(0, EventKind::Step(Step::new(pc, encoding, length)));
            pcs.push(pc);
            pc += u64::from(length);
        }
    }
    let meta = Meta::new(FormatId::new("test"), isa);
    Program { name, image: Arc::new(image), meta, batches: vec![batch], pcs }
}

/// An execution, and what a decoder has to find.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) meta: Meta,
    pub(crate) batches: Vec<Batch>,
    pub(crate) image: Arc<Image>,
    pub(crate) shown: Vec<u64>,
}

/// The first `limit` events of a run.
pub(crate) fn subject(folder: &str, name: &str, limit: usize) -> Option<Subject> {
    let run = Run::corpus(folder, name)?;
    let mut events = run.events();
    let meta = events.meta().clone();
    let mut all = batches(&mut events);
    let mut left = limit;
    for batch in &mut all {
        batch.events.truncate(left);
        left -= batch.events.len();
    }
    let shown = shown(&all, Isa::A64);
    Some(Subject { name: run.name.clone(), meta, batches: all, image: Arc::new(image_of(&run)), shown })
}
