//! Tandem: decoding and lifting groups beside a plain sum of the same bytes, and the size of the compact style. Needs
//! the corpus.

use trackway_bench::{Measure, row, run};
use trackway_core::{Batch, Input, Sink, Source};
use trackway_tandem::{Config, Group, Lower, Packer, Profile, Reader, Style, Trace, WriteConfig};

const PASSES: usize = 9;

/// A run of an STF trace as a tandem trace.
fn from_stf(path: &std::path::Path, style: Style) -> Option<Vec<u8>> {
    let bytes = std::fs::read(path).ok()?;
    let trace =
        trackway_stf::Trace::open(Input::from_vec(bytes), trackway_stf::Config::default(), false).ok()?;
    let mut source = trace.events(1);
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
    while reader.read_group(&mut group).expect("a good trace") {
        count += 1;
        items += group.records.len();
    }
    std::hint::black_box(items);
    count
}

fn measure(name: &str, bytes: Vec<u8>, config: &Config) {
    let bytes = std::sync::Arc::new(bytes);
    let len = bytes.len() as u64;
    let count = groups(&bytes, config);
    println!("{name}: {count} groups, {len} bytes");
    let [decode, lift, sum] =
        ["decode", "lift", "sum of all bytes"].map(|measure| format!("{name}: {measure}"));
    let results = run(
        PASSES,
        vec![
            Measure::new(&decode, "groups", || groups(&bytes, config)),
            Measure::new(&lift, "groups", || {
                let mut lift = Trace::open(Input::Whole(bytes.clone()), *config).expect("widths").events();
                let mut batch = Batch::default();
                while lift.fill(&mut batch).expect("a good trace") {}
                count
            }),
            Measure::new(&sum, "bytes", || {
                std::hint::black_box(bytes.iter().fold(0u64, |sum, byte| sum + u64::from(*byte)));
                len
            }),
        ],
    );
    results.slower(&decode, &sum, None);
    results.slower(&lift, &sum, None);
}

/// A row for the size of the compact style.
fn size(name: &str, compact: usize, verbose: usize) {
    let share = format!("{:.1} %", 100.0 * compact as f64 / verbose as f64);
    let [ours, theirs] = [compact, verbose].map(|bytes| format!("{bytes} bytes"));
    row([&format!("{name}: compact style"), &ours, &format!("verbose style: {theirs}"), &share, ""]);
}

fn main() {
    let Some(corpus) = trackway_testkit::corpus() else { return };
    let flute = Config { profile: Profile::Bluespec, reset_pc: Some(0x7000_0000), ..Config::default() };
    if let Ok(own) = std::fs::read(corpus.join("tandem/own/own2.tv")) {
        measure("Flute core", own.repeat(10_000), &flute);
        let mut packer = Packer::new(Vec::new(), &flute, Style::Compact).expect("widths");
        let mut reader = Reader::new(Input::from_vec(own.clone()), &flute).expect("widths");
        let mut group = Group::default();
        while reader.read_group(&mut group).expect("a good trace") {
            packer.put(&group).expect("memory");
        }
        let compact = packer.into_inner().expect("memory");
        size("Flute core", compact.len(), own.len());
        measure("Flute core, compact", compact.repeat(10_000), &flute);
    }
    for name in ["dhry_riscv", "dhrystone_spike"] {
        let path = corpus.join("stf").join(name).with_extension("zstf");
        let (Some(verbose), Some(compact)) =
            (from_stf(&path, Style::Verbose), from_stf(&path, Style::Compact))
        else {
            continue;
        };
        size(name, compact.len(), verbose.len());
        measure(name, verbose, &Config::default());
    }
}
