//! OpenCSD as judge: `trc_pkt_lister` (Debian's libopencsd-bin, 1.3.3) decodes the snapshot folders that the trace unit
//! writes to the same instructions. Skipped, and said so, where it is not installed.

mod unit_support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use trackway_core::*;
use trackway_ete::encode::{EncodeConfig, Implementation, Model, Registers, SourceAddresses};
use trackway_ete::{Framing, Lower, Snapshot, SnapshotWriter};
use trackway_image::Image;
use unit_support::*;

const LISTER: &str = "trc_pkt_lister";

fn installed() -> bool {
    // It writes a log where it is started, even for help.
    let found = Command::new(LISTER).arg("-help").current_dir(env!("CARGO_TARGET_TMPDIR")).output().is_ok();
    if !found {
        trackway_testkit::skipped(&format!("{LISTER} is not installed (Debian: libopencsd-bin)"));
    }
    found
}

/// OpenCSD's decoding of one trace id in a buffer of a snapshot, and its complaints. It returns ranges; `image` has the
/// lengths of the instructions in them.
fn list(folder: &Path, buffer: &str, id: u8, image: &Image) -> (Vec<u64>, Vec<String>) {
    let memory = image.memory(&Context::default());
    let log = folder.join(format!("{buffer}_{id}.ppl"));
    // It appends to a log that is there.
    let _ = std::fs::remove_file(&log);
    let output = Command::new(LISTER)
        .current_dir(folder)
        .args(["-decode_only", "-src_name", buffer, "-id", &format!("{id:#x}"), "-ss_dir"])
        .arg(folder)
        .arg("-logfilename")
        .arg(&log)
        .output()
        .unwrap();
    let text = std::fs::read_to_string(&log)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stdout)));
    let mut pcs = Vec::new();
    let mut odd = Vec::new();
    // Errors lack a line end, so an element may follow on the same line.
    for element in text.split("Idx:").skip(1) {
        if let Some(range) = element.split_once("INSTR_RANGE(exec range=0x").map(|(_, rest)| rest) {
            let (start, rest) = range.split_once(":[0x").unwrap();
            let (end, rest) = rest.split_once(']').unwrap();
            let count = rest.split_once("num_i(").and_then(|(_, rest)| rest.split_once(')')).unwrap().0;
            let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
            let (start, end, count): (u64, u64, u64) = (hex(start), hex(end), count.parse().unwrap());
            let isa = if rest.contains("ISA=T32") { Isa::T32 } else { Isa::A64 };
            let mut pc = start;
            for _ in 0..count {
                pcs.push(pc);
                pc += memory.fetch(isa, pc).map_or(4, |(_, length)| u64::from(length));
            }
            assert_eq!(pc, end, "{element}");
        }
    }
    for line in text.lines().filter(|line| {
        ["ERR", "ADDR_NACC", "UNKNOWN", "BAD", "I_RANGE_NOPATH", "Failed"]
            .iter()
            .any(|word| line.contains(word))
    }) {
        odd.push(line.to_string());
    }
    (pcs, odd)
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("opencsd").join(name.replace('/', "_"));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

/// Writes a snapshot folder as `convert` does.
fn write(folder: &Path, subject: &Subject, settings: &EncodeConfig) {
    let id = settings.unit(0).registers.get("TRCTRACEIDR") as u8;
    let writer = SnapshotWriter::create(folder, settings.framing, settings.buffer, vec![id]).unwrap();
    let mut lower = Lower::new(&subject.meta, settings, vec![Arc::clone(&subject.image)], writer).unwrap();
    for batch in &subject.batches {
        lower.put(batch).unwrap();
    }
    lower.finish().unwrap();
}

/// Trackway's decoding of it.
fn ours(folder: &Path) -> Vec<u64> {
    let mut snapshot = Snapshot::open(folder).unwrap();
    assert!(snapshot.notes.is_empty(), "{:?}", snapshot.notes);
    let open = |path: &Path| -> std::io::Result<SharedBytes> { Ok(Arc::new(std::fs::read(path)?)) };
    let traces = snapshot.sources(&open, &Image::default);
    let image = Arc::clone(&traces[0].image);
    let mut lift = trackway_ete::lift(traces, &Default::default());
    decode(&mut lift, &image).pcs
}

/// With filters `whole` is false: then it is enough that both find the same.
fn judge(subject: &Subject, what: &str, settings: &EncodeConfig, whole: bool) {
    let folder = folder(&format!("{}_{what}", subject.name));
    write(&folder, subject, settings);
    let what = format!("{} {what}", subject.name);
    let ours = ours(&folder);
    if whole {
        same(&ours, &subject.shown, &format!("{what}, Trackway"));
    } else {
        assert!(ours.len() > 10 && ours.len() < subject.shown.len(), "{what}: {}", ours.len());
    }
    let (pcs, odd) = list(&folder, "ETB_0", 0x10, &subject.image);
    assert!(odd.is_empty(), "{what}: {:#?}", &odd[..odd.len().min(5)]);
    same(&pcs, &ours, &format!("{what}, OpenCSD"));
    std::fs::remove_dir_all(&folder).unwrap();
}

fn settings(implementation: Implementation, configr: u64, model: Model) -> EncodeConfig {
    let mut settings = EncodeConfig { model, ..EncodeConfig::default() };
    settings.units[0].registers = Registers::new(&implementation).everything();
    settings.units[0].registers.set("TRCCONFIGR", configr);
    settings
}

/// Speculation that OpenCSD resolves: it refuses a mispredict after the commit of its atom.
fn speculation() -> Model {
    Model { mispredict: 96, commit_every: 6, ..Model::default() }
}

#[test]
fn opencsd_finds_the_same_instructions() {
    if !installed() {
        return;
    }
    let spec = |max_spec| Implementation { max_spec, ..Implementation::default() };
    let counting = |commopt, max_spec| Implementation { commopt, max_spec, ..Implementation::default() };
    let sources = |source_addresses| Model { source_addresses, ..Model::default() };
    let cases = [
        ("plain", settings(spec(0), 0x0001, Model::default())),
        ("return_stack", settings(spec(0), 0x10c1, Model::default())),
        ("broadcast", settings(spec(0), 0x00c9, Model::default())),
        ("timestamps", settings(spec(0), 0x18c1, Model::default())),
        ("cycles_commopt1", settings(counting(true, 0), 0x18d1, Model::default())),
        ("cycles_commopt0", settings(counting(false, 0), 0x18d1, Model::default())),
        // 1.3.3 does not commit by cycle counts (COMMOPT 0): with speculation only the other kind.
        ("cycles_commopt1_spec", settings(counting(true, 20), 0x18d1, speculation())),
        ("sources", settings(spec(0), 0x00c1, sources(SourceAddresses::Always))),
        ("sources_sometimes", settings(spec(0), 0x00c1, sources(SourceAddresses::Sometimes))),
        ("spec1", settings(spec(1), 0x00c1, speculation())),
        ("spec4", settings(spec(4), 0x10c1, speculation())),
        ("spec255", settings(spec(255), 0x10c1, speculation())),
    ];
    let runs =
        [("bare", "aarch64-traps", usize::MAX), ("aarch64", "sigmt", 60_000), ("aarch64", "lua", 60_000)];
    for (place, name, limit) in runs {
        let Some(subject) = subject(place, name, limit) else { return };
        for (what, settings) in &cases {
            judge(&subject, what, settings, true);
        }
        eprintln!("{}: {} instructions, {} cases", subject.name, subject.shown.len(), cases.len());
    }
}

#[test]
fn opencsd_takes_our_frames() {
    if !installed() {
        return;
    }
    let Some(subject) = subject("aarch64", "sigmt", 20_000) else { return };
    let settings = EncodeConfig { framing: Framing::Coresight, ..EncodeConfig::default() };
    judge(&subject, "coresight", &settings, true);
}

/// Every user program with the usual settings, and with a filter.
#[test]
fn opencsd_on_all_programs() {
    if !installed() {
        return;
    }
    for name in ["sigmt", "minigzip", "fpmix", "qsortmix", "lua", "bzip2"] {
        let Some(subject) = subject("aarch64", name, 120_000) else { return };
        judge(&subject, "usual", &EncodeConfig::default(), true);
        let middle = subject.shown[subject.shown.len() / 2];
        let mut settings = EncodeConfig::default();
        let registers = &mut settings.units[0].registers;
        *registers = registers.clone().exclude(middle & !0xff, middle | 0xff);
        judge(&subject, "exclude", &settings, false);
        let registers = &mut settings.units[0].registers;
        *registers = registers.clone().include(middle & !0xfff, middle | 0xfff);
        judge(&subject, "include", &settings, false);
    }
}

/// A32 and T32 by turns, as QEMU recorded it.
#[test]
fn opencsd_on_aarch32() {
    if !installed() {
        return;
    }
    let Program { image, meta, batches, pcs: shown, .. } = program("arm-mix/arm-mix", Isa::A32);
    let subject = Subject { name: "arm-mix".into(), meta, batches, image, shown };
    judge(&subject, "usual", &EncodeConfig::default(), true);
    judge(
        &subject,
        "spec",
        &settings(Implementation { max_spec: 9, ..Default::default() }, 0x10c1, speculation()),
        true,
    );
}

/// Two cores in one buffer of frames.
#[test]
fn opencsd_on_two_cores_in_frames() {
    if !installed() {
        return;
    }
    let Some(one) = subject("aarch64", "sigmt", 20_000) else { return };
    let Some(two) = subject("aarch64", "fpmix", 20_000) else { return };
    let settings = EncodeConfig { framing: Framing::Coresight, ..EncodeConfig::default() };
    let folder = folder("two_cores");
    let writer = SnapshotWriter::create(&folder, settings.framing, None, vec![0x10, 0x11]).unwrap();
    let mut meta = one.meta.clone();
    meta.sources = vec!["one".into(), "two".into()];
    let images = vec![Arc::clone(&one.image), Arc::clone(&two.image)];
    let mut lower = Lower::new(&meta, &settings, images, writer).unwrap();
    for (a, b) in one.batches.iter().zip(&two.batches) {
        lower.put(a).unwrap();
        let mut b = b.clone();
        b.source = 1;
        lower.put(&b).unwrap();
    }
    lower.finish().unwrap();
    // The lister has one memory for all cores, and both programs lie at the same addresses: each with its own.
    for (n, subject) in [&one, &two].into_iter().enumerate() {
        let ini = folder.join(format!("cpu_{}.ini", 1 - n));
        let text = std::fs::read_to_string(&ini).unwrap();
        std::fs::write(&ini, text.split("[dump1]").next().unwrap()).unwrap();
        let (pcs, odd) = list(&folder, "ETB_0", 0x10 + n as u8, &subject.image);
        assert!(odd.is_empty(), "{:#?}", &odd[..odd.len().min(5)]);
        same(&pcs, &subject.shown, &subject.name);
        std::fs::write(&ini, text).unwrap();
    }
}
