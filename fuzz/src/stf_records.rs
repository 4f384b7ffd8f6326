//! Any bytes as STF records: what is read is written back, events do not depend on how they are asked for.

use trackway_core::{Batch, Input, Source};
use trackway_stf::{Config, Layout, Trace, read};

/// Tries one input.
pub fn stf_records(data: &[u8]) {
    let mut layout = Layout::default();
    let mut at = 0;
    while at < data.len() {
        let Ok((record, len)) = read(&data[at..], &layout, at as u64) else { break };
        let mut out = Vec::new();
        record.write(&mut out, &layout);
        assert_eq!(out, &data[at..at + len]);
        layout.note(&record);
        at += len;
    }
    // As a body after a good header.
    let mut file = trackway_stf::example();
    file.extend_from_slice(data);
    let open = |input| Trace::open(input, Config::default(), false).expect("the header is good");
    let whole = open(Input::from_vec(file.clone()));
    let stream = Input::Stream(Box::new(std::io::Cursor::new(file.clone())));
    let streamed = open(stream);
    assert_eq!(lines(whole), lines(streamed));
    let trace = open(Input::from_vec(file));
    let _ = trace.check(&mut |_| {});
}

fn lines(trace: Trace) -> Vec<String> {
    let mut source = trace.events(1);
    let mut batch = Batch::default();
    let mut lines = Vec::new();
    loop {
        match source.fill(&mut batch) {
            Ok(true) => {
                for event in &batch.events {
                    let mut line = String::new();
                    batch.write_line(event, &mut line);
                    let mut again = Batch::default();
                    again.read_line(&line).expect("a line is re-readable");
                    let mut back = String::new();
                    again.write_line(&again.events[0], &mut back);
                    assert_eq!(line, back);
                    lines.push(line);
                }
            }
            Ok(false) => return lines,
            Err(error) => {
                lines.push(error.to_string());
                return lines;
            }
        }
    }
}
