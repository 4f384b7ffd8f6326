//! Memory stays bounded, whatever the length of a trace. One test: the measure is that of the whole process.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use trackway::Trace;
use trackway::events::Batch;

/// Bytes of frames after those of the two cores.
const MORE: usize = 64 << 20;
/// Bytes that reading may add to the memory of the process.
const MOST: u64 = 32 << 20;

/// The largest memory of this process so far, where the system says it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// CoreSight frames of one trace id, filled with `byte` after the end of `data`.
fn frames(id: u8, data: &[u8], byte: u8) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in data.chunks(14) {
        let mut frame = [0; 16];
        frame[0] = id << 1 | 1;
        for at in 1..15 {
            let byte = chunk.get(at - 1).copied().unwrap_or(byte);
            // The lowest bit of every second byte is kept in the last one.
            if at % 2 == 0 {
                frame[at] = byte & !1;
                frame[15] |= (byte & 1) << (at / 2);
            } else {
                frame[at] = byte;
            }
        }
        out.extend(frame);
    }
    out
}

fn count() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ete/count")
}

/// The snapshot `count` with both of its cores in one framed buffer, and a source without a core after them.
fn framed(folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    for entry in std::fs::read_dir(count()).unwrap().flatten() {
        std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    let mut buffer = File::create(folder.join("all.bin")).unwrap();
    for (id, name) in [(0x10, "core0.bin"), (0x11, "core1.bin")] {
        // An ignored packet fills the last frame.
        buffer.write_all(&frames(id, &std::fs::read(count().join(name)).unwrap(), 0x70)).unwrap();
    }
    let piece = frames(0x33, &[0x55; 14], 0).repeat(1 << 12);
    (0..MORE / piece.len()).for_each(|_| buffer.write_all(&piece).unwrap());
    let ini = "[trace_buffers]\nbuffers=buffer0\n[buffer0]\nname=all\nfile=all.bin\nformat=coresight\n\
               [source_buffers]\nETE_0=all\nETE_1=all\n[core_trace_sources]\ncpu_0=ETE_0\ncpu_1=ETE_1\n";
    std::fs::write(folder.join("trace.ini"), ini).unwrap();
}

/// Instructions of a trace.
fn instructions(path: &Path) -> u64 {
    let mut trace = Trace::open(path).unwrap();
    let (mut source, mut batch, mut count) = (trace.events().unwrap(), Batch::default(), 0);
    while source.fill(&mut batch).unwrap() {
        count += batch.instructions();
    }
    count
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn frames_are_released_as_they_are_read() {
    let folder = Folder(std::env::temp_dir().join(format!("trackway-memory-{}", std::process::id())));
    framed(&folder.0);
    let expected = instructions(&count());
    let Some(before) = peak() else { return trackway_testkit::skipped("the system does not say its memory") };
    assert_eq!(instructions(&folder.0), expected);
    let after = peak().unwrap();
    assert!(after < before + MOST, "{before} bytes before, {after} after");
}
