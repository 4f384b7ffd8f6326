//! Makes an ASTF trace of a QEMU recording: `from_qemu FOLDER NAME OUT.astf [bare]`.
//!
//! The recording is `FOLDER/NAME.{elf,pc,ins,mem,sys}.zst`, as `trackway_testkit::qemu` reads it.

use std::error::Error;
use std::fs::File;
use std::path::Path;

use trackway_astf::{Lower, WriteConfig};
use trackway_core::{Batch, Counting, Isa, Source};
use trackway_testkit::qemu::Run;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (Some(folder), Some(name), Some(out)) = (args.first(), args.get(1), args.get(2)) else {
        return Err("usage: from_qemu FOLDER NAME OUT.astf [bare]".into());
    };
    let bare = args.get(3).is_some_and(|word| word == "bare");
    let run = Run::open(Path::new(folder), name, Isa::A64, bare)?;
    let mut source = run.events();
    let lower = Lower::new(Box::new(File::create(out)?), source.meta().clone(), WriteConfig::default())?;
    let mut sink = Counting::new(Box::new(lower), source.meta());
    let mut batch = Batch::default();
    while source.fill(&mut batch)? {
        sink.put(&batch)?;
    }
    let ledger = sink.finish()?;
    // The recording itself lacks something, too.
    eprint!("{ledger}");
    Ok(())
}
