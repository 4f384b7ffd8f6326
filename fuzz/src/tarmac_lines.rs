//! Any bytes as a Tarmac log: nothing panics, every thread sees the same events, and those of a pipe are the same.

use trackway::events::{Cancel, Input, Item};
use trackway::format::{Opened, Opening, Program, Settings};
use trackway::io::File;
use trackway_testkit::lines::{filled, observed};

/// Tries one input.
pub fn tarmac_lines(data: &[u8]) {
    let Some(mut log) = open(Input::from_vec(data.to_vec()), 1) else { return };
    let lines = filled(&mut *log.events().unwrap());
    let mut several = open(Input::from_vec(data.to_vec()), 3).expect("it was opened before");
    assert_eq!(observed(&mut *several.events().unwrap()), lines);
    if let Some(mut pipe) = open(Input::Stream(Box::new(std::io::Cursor::new(data.to_vec()))), 1)
        && log.meta().sources.len() <= 1
    {
        assert_eq!(filled(&mut *pipe.events().unwrap()), lines);
    }
    log.check(&mut |_| {}).unwrap();
    let (mut items, mut item) = (log.items().unwrap(), Item::default());
    loop {
        match items.next(&mut item) {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) => match items.resync() {
                Ok(Some(_)) => {}
                _ => break,
            },
        }
    }
}

fn open(input: Input, threads: usize) -> Option<Box<dyn Opened>> {
    let opening = Opening {
        file: File::from_input(input).ok()?,
        settings: Settings::default(),
        program: Program::default(),
        threads,
        part: Some(200),
        force: false,
        strict: false,
        source: None,
        cancel: Cancel::default(),
    };
    trackway::logs::TARMAC.open(opening).ok()
}
