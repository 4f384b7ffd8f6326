//! Recordings with repeats folded are those of all events, byte for byte.

mod common;

use std::path::Path;
use std::process::Stdio;

use common::{Folder, qemu_plugin, repo};
use trackway::stf::{Container, Lower, WriteConfig};
use trackway_core::{Batch, Folded, Meta, Output, Sink, Source};
use trackway_qemu::{
    Command, Mode, Options, Plugins, Position, Program, QEMU, Qemu, Recorder, Sample, Session,
};

/// A program and its arguments.
type Guest<'a> = (&'a str, &'a [&'a str]);

/// The recording of a program as STF, its account and facts, and how many of its instructions were folded.
fn recorded(
    (file, arguments): Guest<'_>,
    options: Options,
    skip_libs: bool,
    folds: bool,
) -> (Vec<u8>, String, u64) {
    let plugin = qemu_plugin().expect("looked for before");
    let program = Program::read(&std::fs::read(file).expect("a program")).expect("ELF");
    let qemu = Qemu::find(Mode::User, program.architecture).expect("QEMU");
    let named = Some(plugin.to_path_buf());
    let (isa, folder) = (program.isa, Folder::new("qemu-folded"));
    let command = Command {
        mode: Mode::User,
        plugin: Plugins { named, folders: vec![] }.find(&qemu).expect("our plugin"),
        qemu,
        file: file.into(),
        program,
        arguments: arguments.iter().map(|word| word.to_string()).collect(),
        environment: vec![],
        deterministic: true,
        seed: None,
        skip_libs,
        registers: false,
    };
    let session = Session::new().expect("a folder");
    let child = command.start(&session, Stdio::null(), Stdio::null()).expect("it starts");
    let mut recorder =
        Recorder::new(session, child, &command, Meta::new(QEMU, isa), options).expect("events");
    let out = folder.file("out.stf");
    let output = Output::Stream(Box::new(std::fs::File::create(&out).expect("a file")));
    let config = WriteConfig { container: Container::Plain, ..WriteConfig::default() };
    let mut lower = Lower::new(output, recorder.meta().clone(), config).expect("a header");
    let (mut facts, mut count) = (recorder.take_facts(), 0);
    if folds {
        let mut folded = Folded::default();
        while recorder.fill_folded(&mut folded).expect("events") {
            lower.put_folded(&folded).expect("it is written");
            let steps = folded.repeats.iter().filter_map(|repeat| folded.stretches.get(repeat.stretch));
            count += steps.map(|stretch| stretch.steps.len() as u64).sum::<u64>();
            facts.merge(&recorder.take_facts());
        }
    } else {
        let mut batch = Batch::default();
        while recorder.fill(&mut batch).expect("events") {
            lower.put(&batch).expect("it is written");
            facts.merge(&recorder.take_facts());
        }
    }
    let account = format!("{:?} {facts:?} {}", lower.finish().expect("it ends"), recorder.recorded());
    (std::fs::read(&out).expect("a trace"), account, count)
}

/// Compares both ways; returns how many instructions were folded, none for a program that executes others each time.
fn compared(guest: Guest<'_>, options: Options, skip_libs: bool) -> Option<u64> {
    let plain = recorded(guest, options, skip_libs, false);
    let folded = recorded(guest, options, skip_libs, true);
    if (&plain.0, &plain.1) != (&folded.0, &folded.1) {
        let again = recorded(guest, options, skip_libs, false);
        assert!(again.0 != plain.0, "{guest:?} {options:?}: folded is something else");
        return None;
    }
    Some(folded.2)
}

/// A program of the corpus.
fn unpacked(folder: &Folder, corpus: &Path, name: &str) -> String {
    let elf = folder.file(&name.replace('/', "-"));
    let packed = std::fs::File::open(corpus.join(format!("qemu/{name}.elf.zst"))).expect("a program");
    std::fs::write(&elf, zstd::decode_all(packed).expect("zstd")).expect("a file");
    std::fs::set_permissions(&elf, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    elf
}

#[test]
fn folded_recordings_are_those_of_all_events() {
    if qemu_plugin().is_none() {
        return;
    }
    let (folder, all) = (Folder::new("qemu-folded-programs"), Options::default());
    // Signals, faults, code that changes, processes: of the first thread, whose order nothing changes.
    let first = Options { first_thread: true, ..all };
    let guests =
        ["aarch64", "arm", "riscv64", "riscv32"].map(|name| repo(&format!("programs/qemu/guest-{name}.elf")));
    let same = guests.iter().filter(|guest| compared((guest, &[]), first, false).is_some()).count();
    assert!(same >= 2, "{same} guests do the same each time");
    let Some(corpus) = trackway_testkit::corpus() else { return };
    for architecture in ["aarch64", "rv64gc"] {
        let program = |name: &str| unpacked(&folder, &corpus, &format!("{architecture}/{name}"));
        let sort = program("qsortmix");
        for (options, least) in [
            (all, 1_000_000),
            (Options { memory: false, ..all }, 1_000_000),
            (Options { from: Some(Position::Instruction(5000)), stop_after: 300_000, ..all }, 200_000),
            (Options { to: Some(Position::Instruction(123_456)), ..all }, 90_000),
            (Options { limit: 99_999, ..all }, 70_000),
            (Options { sample: Some(Sample { count: 500, of: 900 }), ..all }, 300_000),
        ] {
            let folded = compared((&sort, &["900"]), options, false).expect("the same each time");
            assert!(folded >= least, "{architecture} {options:?}: {folded} instructions folded");
        }
        assert!(compared((&sort, &["300"]), all, true).expect("the same each time") > 100_000);
        assert!(compared((&program("fpmix"), &[]), all, false).expect("the same each time") > 100_000);
        compared((&program("sigmt"), &[]), first, false);
    }
}
