//! Groups per second of the protocol decoder, with a plain sum over the same bytes as the limit, and the size
//! of the compact style on real runs.

use std::time::Instant;

use trackway_core::{Batch, Input, Sink, Source};
use trackway_tandem::{Config, Group, Lift, Lower, Packer, Profile, Reader, Style, WriteConfig};

const PASSES: usize = 9;

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// A run of an STF trace as a tandem trace.
fn from_stf(path: &std::path::Path, style: Style) -> Option<Vec<u8>> {
    let bytes = std::fs::read(path).ok()?;
    let trace = trackway_stf::Trace::open(Input::from_vec(bytes), trackway_stf::Config::default()).ok()?;
    let mut source = trace.source();
    let config = WriteConfig { style, ..WriteConfig::default() };
    let mut lower = Lower::new(Vec::new(), source.meta(), config).ok()?;
    let mut batch = Batch::default();
    while source.fill(&mut batch).ok()? {
        lower.put(&batch).ok()?;
    }
    Some(lower.into_inner().ok()?.0)
}

fn groups(bytes: &std::sync::Arc<Vec<u8>>, config: &Config) -> u64 {
    let mut reader = Reader::new(Input::Whole(bytes.clone()), config).expect("widths");
    let (mut group, mut count, mut items) = (Group::default(), 0, 0);
    while reader.read_group(&mut group).expect("sound") {
        count += 1;
        items += group.records.len();
    }
    std::hint::black_box(items);
    count
}

fn measure(name: &str, bytes: Vec<u8>, config: &Config) {
    let bytes = std::sync::Arc::new(bytes);
    let count = groups(&bytes, config);
    let (mut ours, mut limit, mut lifted) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..PASSES {
        ours.push(time(|| {
            groups(&bytes, config);
        }));
        limit.push(time(|| {
            std::hint::black_box(bytes.iter().fold(0u64, |sum, byte| sum + u64::from(*byte)));
        }));
        lifted.push(time(|| {
            let mut lift = Lift::open(Input::Whole(bytes.clone()), *config).expect("widths");
            let mut batch = Batch::default();
            while lift.fill(&mut batch).expect("sound") {}
        }));
    }
    let rate = |seconds: f64| count as f64 / seconds / 1e6;
    let (ours, limit, lifted) = (median(ours), median(limit), median(lifted));
    println!(
        "{name}: {count} groups, {} bytes: decode {:.1} M groups/s ({:.0} MB/s), lift {:.1} M groups/s, scan limit {:.0} MB/s, decode/limit {:.2}",
        bytes.len(),
        rate(ours),
        bytes.len() as f64 / ours / 1e6,
        rate(lifted),
        bytes.len() as f64 / limit / 1e6,
        limit / ours,
    );
}

fn main() {
    let Some(corpus) = trackway_testkit::corpus() else { return };
    let flute = Config { profile: Profile::Bluespec, reset_pc: Some(0x7000_0000), ..Config::default() };
    if let Ok(own) = std::fs::read(corpus.join("tandem/own/own2.tv")) {
        measure("Flute core, repeated", own.repeat(10_000), &flute);
        let mut packer = Packer::new(Vec::new(), &flute, Style::Compact).expect("widths");
        let mut reader = Reader::new(Input::from_vec(own.clone()), &flute).expect("widths");
        let mut group = Group::default();
        while reader.read_group(&mut group).expect("sound") {
            packer.put(&group).expect("memory");
        }
        let compact = packer.into_inner().expect("memory");
        println!(
            "Flute core: compact {} of {} bytes, {:.1} %",
            compact.len(),
            own.len(),
            100.0 * compact.len() as f64 / own.len() as f64
        );
        measure("Flute core, compact, repeated", compact.repeat(10_000), &flute);
    }
    for name in ["dhry_riscv", "dhrystone_spike"] {
        let path = corpus.join("stf").join(name).with_extension("zstf");
        let (Some(verbose), Some(compact)) =
            (from_stf(&path, Style::Verbose), from_stf(&path, Style::Compact))
        else {
            continue;
        };
        println!(
            "{name}: compact {} of {} bytes, {:.1} %",
            compact.len(),
            verbose.len(),
            100.0 * compact.len() as f64 / verbose.len() as f64
        );
        measure(name, verbose, &Config::default());
    }
}
