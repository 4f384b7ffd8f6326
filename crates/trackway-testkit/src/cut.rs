//! Every truncation of an input: each is entered at a place near its end, so that all of them can be tried.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use trackway_core::{Batch, Buffer, EventKind, Input, Saved, Source};

/// Bytes with an end that can be moved.
struct Cut {
    bytes: Vec<u8>,
    end: AtomicUsize,
}

impl AsRef<[u8]> for Cut {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.end.load(Ordering::Relaxed)]
    }
}

impl Buffer for Cut {}

/// Bytes that opening looks at closely: each cut among them is opened, of those after them one of many.
const HEAD: usize = 1 << 16;
const REOPENED: usize = 4096;

/// Reads every truncation in `cuts`, which rise, and asserts that it delivers the steps before it: the last one may lack what was
/// cut. `open` returns a function that begins to read.
pub fn every_cut<E: FnMut() -> Box<dyn Source>>(
    what: &str,
    bytes: &[u8],
    cuts: impl Iterator<Item = usize>,
    open: impl Fn(Input) -> E,
) {
    let cut = Arc::new(Cut { bytes: bytes.to_vec(), end: AtomicUsize::new(bytes.len()) });
    let mut begin = open(Input::Whole(cut.clone()));
    let (mut whole, mut places): (Vec<String>, Vec<(Saved, usize)>) = Default::default();
    steps(&mut *begin(), true, |source, lines| {
        whole.extend(lines);
        places.extend(source.save().map(|saved| (saved, whole.len())));
    });
    assert!(!places.is_empty(), "{what}: it can be entered nowhere");
    let (mut passed, mut opened) = (0, None);
    for end in cuts {
        cut.end.store(end, Ordering::Relaxed);
        if end <= HEAD || opened.is_none_or(|opened| opened + REOPENED <= end) {
            begin = open(Input::Whole(cut.clone()));
            opened = Some(end);
        }
        while places.get(passed).is_some_and(|(saved, _)| saved.position <= end as u64) {
            passed += 1;
        }
        let mut source = begin();
        let mut before = 0;
        // The last place may be the end of the input; the one before it is not.
        if let Some((saved, count)) = passed.checked_sub(2).map(|n| &places[n]) {
            assert!(source.restore(saved).unwrap(), "{what}: cut at {end}");
            before = *count;
        }
        let mut found = Vec::new();
        steps(&mut *source, false, |_, lines| found.extend(lines));
        let least = passed.checked_sub(1).map_or(0, |n| places[n].1);
        assert!(before + found.len() >= least, "{what}: cut at {end}: steps are missing");
        found.pop();
        assert!(whole[before..].starts_with(&found), "{what}: cut at {end}: {found:?}");
    }
}

/// Shows the steps of each batch; damage is passed over.
fn steps(source: &mut dyn Source, is_eager: bool, mut show: impl FnMut(&dyn Source, Vec<String>)) {
    let mut batch = Batch { is_eager, ..Batch::default() };
    loop {
        match source.fill(&mut batch) {
            Ok(false) => return,
            Err(_) if !source.resync().unwrap_or(false) => return,
            Err(_) => continue,
            Ok(true) => {}
        }
        let mut lines = Vec::new();
        for event in batch.events.iter().filter(|event| matches!(event.kind, EventKind::Step(_))) {
            let mut line = String::new();
            batch.write_line(event, &mut line);
            // The offset of an event may be that of the line after it.
            lines.extend(line.split_once(' ').map(|(_, rest)| rest.to_string()));
        }
        show(source, lines);
    }
}
