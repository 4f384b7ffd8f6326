//! Reading the corpus and OpenCSD's listings.
#![allow(unreachable_pub)] // Each test crate that includes this uses a part of it.

pub mod elements;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use elements::Elements;
use trackway_core::{Batch, EventKind, Isa, SharedBytes, Source};
use trackway_ete::{Options, PacketItem, Packets, Snapshot};
use trackway_image::Image;

pub const SNAPSHOTS: &[&str] = &[
    "001-ack_test",
    "002-ack_test_scr",
    "bugfix-exact-match",
    "ete-bc-instr",
    "ete-ite-instr",
    "ete-wfet",
    "ete_ip",
    "ete_spec_1",
    "ete_spec_3",
    "event_test",
    "feat_cmpbr",
    "init-short-addr",
    "juno_r1_1",
    "maxspec0_commopt1",
    "pauth_lr",
    "q_elem",
    "rme_test",
    "ss_ib_el1ns",
    "tme_simple",
    "tme_tcancel",
    "trace_file_cid_vmid",
    "ts_marker",
];

pub fn corpus() -> Option<PathBuf> {
    trackway_testkit::corpus_part("ete")
}

pub fn open(path: &Path) -> std::io::Result<SharedBytes> {
    Ok(Arc::new(std::fs::read(path)?))
}

/// The result of one source.
#[derive(Default, Debug)]
pub struct Decoded {
    pub name: String,
    pub id: u8,
    pub pcs: Vec<u64>,
    pub runs: usize,
    pub doubtful: usize,
    pub gaps: Vec<String>,
    pub errors: Vec<String>,
    pub elements: Elements,
}

pub fn decode(folder: &Path, threads: usize) -> Vec<Decoded> {
    let mut snapshot = Snapshot::open(folder).unwrap();
    let traces = snapshot.sources(&open, &Image::default);
    let images: Vec<_> = traces.iter().map(|trace| Arc::clone(&trace.image)).collect();
    let mut decoded: Vec<Decoded> = traces
        .iter()
        .map(|trace| Decoded {
            name: trace.config.name.clone(),
            id: trace.config.trace_id,
            ..Decoded::default()
        })
        .collect();
    let mut lift = trackway_ete::lift(traces, &Options { threads, ..Options::default() });
    let mut batch = Batch::default();
    let mut context = trackway_core::Context::default();
    loop {
        match lift.fill(&mut batch) {
            Ok(false) => break,
            Ok(true) => {}
            Err(error) => {
                decoded.last_mut().unwrap().errors.push(error.to_string());
                if !lift.resync().unwrap() {
                    break;
                }
                continue;
            }
        }
        let source = usize::from(batch.source);
        let one = &mut decoded[source];
        assert_eq!(batch.first_instruction, one.pcs.len() as u64);
        for event in &batch.events {
            one.elements.ours(one.pcs.len(), &batch, event);
            match event.kind {
                EventKind::Run(run) => {
                    one.runs += 1;
                    one.doubtful += usize::from(run.doubtful);
                    if run.isa == Isa::T32 {
                        let memory = images[source].memory(&context);
                        let mut pc = run.start;
                        for _ in 0..run.count {
                            one.pcs.push(pc);
                            pc += u64::from(memory.fetch(run.isa, pc).unwrap().1);
                        }
                    } else {
                        assert_eq!(run.end.wrapping_sub(run.start), 4 * u64::from(run.count));
                        one.pcs.extend((0..u64::from(run.count)).map(|n| run.start.wrapping_add(4 * n)));
                    }
                }
                EventKind::Context(index) => context = batch.contexts[index as usize],
                EventKind::Gap(index) => {
                    one.gaps.push(format!("{:#x} {:?}", event.offset, batch.gaps[index as usize]))
                }
                _ => {}
            }
        }
    }
    decoded
}

/// OpenCSD's result of one source.
#[derive(Default, Debug)]
pub struct Listed {
    pub id: u8,
    /// Packets: place, bytes, name.
    pub packets: Vec<(u64, Vec<u8>, String)>,
    pub pcs: Vec<u64>,
    pub ranges: usize,
    /// Elements that are no ranges.
    pub elements: Elements,
}

pub fn listing_text(folder: &Path) -> String {
    let file = std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().starts_with("opencsd-1.7.1"))
        .unwrap();
    let bytes = std::fs::read(file.path()).unwrap();
    let mut text = String::new();
    liblzma::read::XzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    text
}

/// The listing, cut into records at `Idx:`, by session and id. Idx restarts at each session.
pub fn listing(folder: &Path) -> Vec<Listed> {
    let text = listing_text(folder);
    let mut sessions: Vec<Vec<Listed>> = vec![vec![]];
    let mut over = false;
    for record in text.split("Idx:").skip(1) {
        let Some((place, rest)) = record.split_once("; ID:") else { continue };
        let Ok(place) = place.trim().parse::<u64>() else { continue };
        let Some((id, rest)) = rest.split_once(';') else { continue };
        let id = u8::from_str_radix(id.trim(), 16).unwrap();
        let rest = rest.trim();
        let element = rest.starts_with("OCSD_GEN");
        // A raw source's elements carry its id, its packets 0.
        if over && place == 0 {
            sessions.push(vec![]);
        }
        over = rest.contains("ELEM_EO_TRACE");
        let session = sessions.last_mut().unwrap();
        let index = session.iter().position(|one| one.id == id).unwrap_or_else(|| {
            session.push(Listed { id, ..Listed::default() });
            session.len() - 1
        });
        let one = &mut session[index];
        if !element {
            if let Some((bytes, text)) = rest.split_once("];") {
                let bytes = bytes
                    .trim_start_matches('[')
                    .split_whitespace()
                    .map(|byte| u8::from_str_radix(&byte[2..], 16).unwrap())
                    .collect();
                let name = text.trim().split([' ', ':']).next().unwrap_or("").to_string();
                one.packets.push((place, bytes, name));
            }
            continue;
        }
        if let Some(range) = rest.strip_prefix("OCSD_GEN_TRC_ELEM_INSTR_RANGE(exec range=0x") {
            one.ranges += 1;
            one.elements.happened(one.pcs.len());
            let (start, range) = range.split_once(":[0x").unwrap();
            let (_end, range) = range.split_once("] num_i(").unwrap();
            let (count, range) = range.split_once(')').unwrap();
            let start = u64::from_str_radix(start, 16).unwrap();
            let count: u64 = count.parse().unwrap();
            assert!(!range.contains("ISA=T32"));
            one.pcs.extend((0..count).map(|n| start + 4 * n));
        } else {
            let element = rest.lines().next().unwrap_or_default();
            one.elements.theirs(one.pcs.len(), element.trim_start_matches("OCSD_GEN_TRC_ELEM_"));
        }
    }
    // Raw sessions: packets have id 0, elements their own.
    sessions
        .into_iter()
        .flat_map(|mut session| {
            if session.len() == 2 && session[0].id == 0 {
                let elements = session.pop().unwrap();
                let packets = std::mem::take(&mut session[0].packets);
                vec![Listed { packets, ..elements }]
            } else {
                session.sort_by_key(|one| one.id);
                session
            }
        })
        .collect()
}

/// Bytes of a packet, and its name.
pub type Named = (Vec<u8>, String);

/// The packets of each source.
pub fn packets(folder: &Path) -> Vec<(String, Vec<Named>)> {
    let mut snapshot = Snapshot::open(folder).unwrap();
    let mut packets = Packets::new(snapshot.sources(&open, &Image::default), Options::default());
    let mut sources: Vec<(String, Vec<Named>)> = Vec::new();
    while let Some(placed) = packets.next().unwrap() {
        match placed.item {
            PacketItem::Source(name) => sources.push((name, Vec::new())),
            PacketItem::Skipped => {}
            PacketItem::Packet(packet) => {
                let mut written = Vec::new();
                packet.write(&packets.config().unwrap().dialect, &mut written);
                assert_eq!(written, placed.bytes, "{packet:?} is not written as it was read");
                sources.last_mut().unwrap().1.push((placed.bytes, packet.name().to_string()));
            }
        }
    }
    sources
}

/// OpenCSD's packets, with an exception and its address as one, and without those that it could not read.
pub fn joined(packets: &[(u64, Vec<u8>, String)]) -> Vec<Named> {
    let mut out: Vec<Named> = Vec::new();
    let mut exception = false;
    for (_, bytes, name) in packets {
        if matches!(name.as_str(), "I_NOT_SYNC" | "I_INCOMPLETE_EOT") {
            continue;
        }
        if exception {
            out.last_mut().unwrap().0.extend(bytes);
            exception = false;
            continue;
        }
        out.push((bytes.clone(), name.clone()));
        exception = name == "I_EXCEPT";
    }
    out
}

/// Our name for a packet and OpenCSD's.
pub fn names_agree(ours: &str, theirs: &str) -> bool {
    let pairs = [
        ("Alignment Sync", "I_ASYNC"),
        ("Trace Info", "I_TRACE_INFO"),
        ("Timestamp", "I_TIMESTAMP"),
        ("Timestamp Marker", "I_TS_MARKER"),
        ("Trace On", "I_TRACE_ON"),
        ("Exception", "I_EXCEPT"),
        ("Exception", "I_TRANS_FAIL"),
        ("Exception Return", "I_EXCEPT_RTN"),
        ("Instrumentation", "I_ITE"),
        ("Transaction Start", "I_TRANS_ST"),
        ("Transaction Commit", "I_TRANS_COMMIT"),
        ("Cycle Count F1", "I_CCNT_F1"),
        ("Cycle Count F2", "I_CCNT_F2"),
        ("Cycle Count F3", "I_CCNT_F3"),
        ("Commit", "I_COMMIT"),
        ("Cancel F1", "I_CANCEL_F1"),
        ("Cancel F1", "I_CANCEL_F1_MISPRED"),
        ("Cancel F2", "I_CANCEL_F2"),
        ("Mispredict", "I_MISPREDICT"),
        ("Discard", "I_DISCARD"),
        ("Overflow", "I_OVERFLOW"),
        ("Ignore", "I_IGNORE"),
        ("Event", "I_EVENT"),
        ("Context", "I_CTXT"),
        ("Q", "I_Q"),
    ];
    pairs.contains(&(ours, theirs))
        || ours == "Atom" && theirs.starts_with("I_ATOM_F")
        || ours == "Target Address" && (theirs.starts_with("I_ADDR_L") || theirs.starts_with("I_ADDR_S"))
        || ours == "Target Address" && theirs == "I_ADDR_MATCH"
        || ours == "Address with Context" && theirs.starts_with("I_ADDR_CTXT")
        || ours == "Source Address" && (theirs.starts_with("I_SRC_ADDR") || theirs.starts_with("I_SCR_ADDR"))
}
