//! Vectors of two independent encoders: packets, retired pcs and events must match.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use trackway_core::*;
use trackway_etrace::{Config, Reader, Text, Writer, lift};
use trackway_image::{Image, Space};

fn folder() -> Option<std::path::PathBuf> {
    trackway_testkit::corpus_part("etrace")
}

struct Case {
    config: Config,
    trace: Vec<u8>,
    image: Arc<Image>,
}

fn open(folder: &Path) -> Case {
    let text = std::fs::read_to_string(folder.join("params.toml")).unwrap();
    let config = Config::from_toml(&text).unwrap();
    let trace = std::fs::read(folder.join("trace.bin")).unwrap();
    let mut image = Image::default();
    for program in &config.program {
        let bytes = std::fs::read(folder.join(program)).unwrap();
        image.add_elf(program, Arc::new(bytes), None, Space::default()).unwrap();
    }
    Case { config, trace, image: Arc::new(image) }
}

/// Retired pcs, and events as lines in the vectors' words.
fn decode(case: &Case, jobs: usize) -> (Vec<u64>, Vec<String>) {
    let input = Input::from_vec(case.trace.clone());
    let mut lift = lift(input, &case.config, Arc::clone(&case.image), jobs).unwrap();
    let memory = case.image.memory(&Context::default());
    let (mut pcs, mut events, mut batch) = (Vec::new(), Vec::new(), Batch::default());
    while lift.fill(&mut batch).unwrap() {
        for event in &batch.events {
            match &event.kind {
                EventKind::Run(run) => {
                    let mut at = run.start;
                    let retired = run.count - u32::from(run.attempted);
                    for _ in 0..retired {
                        pcs.push(at);
                        at += u64::from(memory.fetch(run.isa, at).unwrap().1);
                    }
                    if !run.attempted {
                        assert_eq!(at, run.end);
                    }
                }
                EventKind::Trap(n) => {
                    let trap = &batch.traps[*n as usize];
                    let epc = trap.from.map_or("?".into(), |epc| format!("{epc:x}"));
                    let cause = trap.cause.unwrap();
                    events.push(match trap.kind {
                        TrapKind::Interrupt => format!("interrupt cause={cause} epc={epc}"),
                        _ => format!("exception cause={cause} epc={epc} tval={:x}", trap.value.unwrap()),
                    });
                }
                EventKind::Gap(n) => panic!("{:?}", batch.gaps[*n as usize]),
                _ => {}
            }
        }
    }
    (pcs, events)
}

#[test]
fn pcs_and_events_match() {
    let Some(folder) = folder() else { return };
    for name in trackway_testkit::ETRACE_CASES {
        let case = open(&folder.join(name));
        let (pcs, events) = decode(&case, 1);
        let mut text = String::new();
        let file = std::fs::File::open(folder.join(name).join("expected.pcs.xz")).unwrap();
        liblzma::read::XzDecoder::new(file).read_to_string(&mut text).unwrap();
        let expected: Vec<u64> = text.lines().map(|line| u64::from_str_radix(line, 16).unwrap()).collect();
        let same = pcs.iter().zip(&expected).take_while(|(a, b)| a == b).count();
        assert_eq!((same, pcs.len()), (expected.len(), expected.len()), "{name}");
        let expected = std::fs::read_to_string(folder.join(name).join("expected.events")).unwrap_or_default();
        let expected: Vec<&str> = expected.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(events, expected, "{name}");
    }
}

#[test]
fn any_number_of_jobs_gives_the_same() {
    let Some(folder) = folder() else { return };
    for name in trackway_testkit::ETRACE_CASES {
        let case = open(&folder.join(name));
        let lines = |jobs: usize| {
            let input = Input::from_vec(case.trace.clone());
            let mut lift = lift(input, &case.config, Arc::clone(&case.image), jobs).unwrap();
            let (mut lines, mut batch) = (String::new(), Batch::default());
            while lift.fill(&mut batch).unwrap() {
                for event in &batch.events {
                    batch.write_line(event, &mut lines);
                    lines.push('\n');
                }
            }
            lines
        };
        let one = lines(1);
        assert!(one == lines(2), "{name}");
        assert!(one == lines(5), "{name}");
    }
}

/// The raw text has the vectors' own words, and writing yields the same bytes.
#[test]
fn packets_match_and_come_back() {
    let Some(folder) = folder() else { return };
    for name in trackway_testkit::ETRACE_CASES {
        let case = open(&folder.join(name));
        let expected = std::fs::read_to_string(folder.join(name).join("packets.txt")).unwrap();
        let mut expected = expected.lines().filter(|line| !line.starts_with('#'));
        let mut text = Text::new(Input::from_vec(case.trace.clone()), &case.config);
        let mut item = Item::default();
        while text.next(&mut item).unwrap() {
            let fields = item.text.split([' ']).take_while(|word| !word.starts_with(['[', '(']));
            let (head, fields): (Vec<_>, Vec<_>) =
                fields.partition(|word| word.starts_with("stamp=") || word.starts_with("src="));
            let mut line = format!("{}", item.offset);
            for word in head.into_iter().chain([item.name]).chain(fields) {
                line = line + " " + word;
            }
            assert_eq!(Some(line.trim_end()), expected.next(), "{name}");
        }
        assert_eq!(expected.next(), None, "{name}");

        let mut reader = Reader::new(Input::from_vec(case.trace.clone()), &case.config);
        let mut writer = Writer::new(&case.config);
        while let Some(item) = reader.read().unwrap() {
            writer.write_item(&item).unwrap();
        }
        assert!(writer.bytes == case.trace, "{name}");
    }
}
