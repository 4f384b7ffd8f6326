//! Computes the expectations of a file.

use std::sync::Arc;

use trackway_core::{Isa, Item, Items};
use trackway_ete::encode::{Implementation, Instruction, Model, Registers, Unit};
use trackway_ete::{
    Config, ContextState, Elements, Framing, Options, Packets, Reader, Text, TraceSource, check, lift,
};
use trackway_image::Image;
use trackway_isa::Disassembler;

use super::file::{Block, CaseFile, bytes, code, hex, number, settings};
use super::text;

/// The current case: the last value of each of its settings.
#[derive(Default)]
struct Case {
    is_open: bool,
    sources: Vec<Config>,
    program: Arc<Image>,
    framing: Framing,
    bytes: Vec<u8>,
    /// Length of the named start of the stream.
    start: usize,
}

impl Case {
    /// Takes over what a block sets; true if it is a stream, a buffer or an execution.
    fn apply(&mut self, file: &CaseFile<'_>, block: &Block<'_>) -> bool {
        match block.words[..] {
            ["case", _] => *self = Case { is_open: true, ..Case::default() },
            // Definitions before the first case.
            _ if !self.is_open => {}
            ["unit", ..] => self.sources = vec![file.config(&block.words[1..])],
            ["source", ..] => self.sources.push(file.config(&block.words[1..])),
            ["program", name] => self.program = Arc::clone(&file.programs[name]),
            ["stream", ref after @ ..] => {
                self.bytes = match after {
                    ["after", name] => file.starts[name].clone(),
                    _ => Vec::new(),
                };
                self.start = self.bytes.len();
                self.framing = Framing::Raw;
                self.bytes.extend(block.lines.iter().flat_map(|line| bytes(line)));
                return true;
            }
            ["buffer", framing] => {
                self.framing = framing.parse().unwrap();
                self.bytes = block.lines.iter().flat_map(|line| bytes(line)).collect();
                return true;
            }
            ["execute", ref registers @ ..] => {
                let mut unit = unit(registers);
                block.lines.iter().for_each(|line| execute(&mut unit, line));
                unit.disable().unwrap();
                (self.bytes, self.sources, self.start) = (unit.take(), vec![unit.config().clone()], 0);
                return true;
            }
            [] | ["packets" | "elements" | "findings" | "events"] | ["events", "withdrawn" | "strict"] => {}
            _ => panic!("`{}` is not a block of a case", block.head),
        }
        false
    }

    fn traces(&self) -> Vec<TraceSource> {
        let data = Arc::new(self.bytes.clone());
        let trace = |config: &Config| TraceSource {
            config: config.clone(),
            framing: self.framing,
            data: data.clone(),
            image: Arc::clone(&self.program),
        };
        self.sources.iter().map(trace).collect()
    }

    fn events(&self, options: Options) -> Vec<String> {
        text::events(&mut lift(self.traces(), &options))
    }

    /// The elements of stage 1.
    fn elements(&self) -> Vec<String> {
        let config = &self.sources[0];
        let reader = Reader::new(&config.dialect);
        let (mut elements, mut actions, mut at) = (Elements::default(), Vec::new(), 0);
        while at < self.bytes.len() {
            let (packet, length) = reader.read(&self.bytes[at..], 0).unwrap();
            elements.decode(&packet, config, &mut actions).unwrap();
            at += length;
        }
        actions.iter().map(text::action).collect()
    }

    /// Names of the rules that the stream breaks, in order.
    fn findings(&self) -> Vec<String> {
        let mut names = Vec::new();
        check(self.traces(), Options::default(), &mut |finding| names.push(finding.rule.name.to_string()))
            .unwrap();
        names
    }

    /// The packets as text, and where they begin; an error is an item too.
    fn items(&self) -> Vec<(usize, String)> {
        let mut text = Text::new(Packets::new(self.traces(), Options::default()), 1);
        let (mut items, mut item) = (Vec::new(), Item::default());
        loop {
            match text.next(&mut item) {
                Ok(false) => return items,
                Ok(true) => {
                    // The bytes in brackets are on the left already.
                    let fields =
                        item.text.split_once(']').map_or(item.text.as_str(), |(_, fields)| fields.trim());
                    items.push((item.offset as usize, format!("{} {fields}", item.name).trim().to_string()));
                }
                Err(error) => {
                    items.push((error.offset as usize, format!("error: {error}")));
                    if text.resync().unwrap().is_none() {
                        return items;
                    }
                }
            }
        }
    }

    /// Bytes on the left, packets on the right; `comments` come before the byte that they were before.
    fn stream(&self, comments: &[(usize, &str)]) -> Vec<String> {
        let mut items = self.items();
        items.retain(|item| item.0 >= self.start);
        let mut lines: Vec<(Vec<u8>, String, usize)> = Vec::new();
        let mut out = Vec::new();
        let ends = items.iter().skip(1).map(|item| item.0).chain([self.bytes.len()]);
        let (mut at, mut comments) = (self.start, comments.iter().peekable());
        for (end, (_, text)) in ends.zip(&items) {
            let bytes = self.bytes[at..end].to_vec();
            let begun = comments.peek().is_some_and(|comment| comment.0 <= at);
            match lines.last_mut() {
                Some((last, of, count)) if !begun && *last == bytes && of == text && bytes.len() == 1 => {
                    *count += 1
                }
                _ => {
                    out.extend(lines.drain(..).map(|line| stream_line(&line)));
                    while let Some(comment) = comments.next_if(|comment| comment.0 <= at) {
                        out.push(comment.1.to_string());
                    }
                    lines.push((bytes, text.clone(), 1));
                }
            }
            at = end;
        }
        out.extend(lines.iter().map(stream_line));
        out.extend(comments.map(|comment| comment.1.to_string()));
        out
    }
}

fn stream_line((bytes, text, count): &(Vec<u8>, String, usize)) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let same = bytes[at..].iter().take_while(|&&byte| byte == bytes[at]).count() * count;
        match same {
            0..6 => words.extend(std::iter::repeat_n(format!("{:02x}", bytes[at]), same)),
            _ => words.push(format!("{:02x}*{same}", bytes[at])),
        }
        at += same / count;
    }
    format!("  {:<34} ; {text}", words.join(" "))
}

/// A unit that traces everything, with some registers changed; the core does not halt at the end.
fn unit(registers: &[&str]) -> Unit {
    let mut all = Registers::new(&Implementation::default()).everything();
    all.put(&settings(registers));
    // Elements are committed where the execution says so.
    let model = Model { halts: false, commit_every: 0, ..Model::default() };
    let mut unit = Unit::new(all, model, None).unwrap();
    unit.enable().unwrap();
    unit
}

/// One line of an execution.
fn execute(unit: &mut Unit, line: &str) {
    let words: Vec<&str> = code(line).split_whitespace().collect();
    match words[..] {
        [] => {}
        ["context", id] => {
            let context_id = Some(number(id) as u32);
            let state = ContextState { el: 1, security: 1, sixty_four_bit: true, ..ContextState::default() };
            unit.set_context(ContextState { context_id, ..state });
        }
        ["exception", kind] => unit.exception(number(kind) as u16, None),
        ["exception", kind, address] => unit.exception(number(kind) as u16, Some((hex(address), Isa::A64))),
        ["transaction", "start"] => unit.transaction_start(),
        ["transaction", "commit"] => unit.transaction_commit(),
        ["transaction", "fail"] => unit.transaction_fail(),
        ["prohibit", "on"] => unit.prohibit(true),
        ["prohibit", "off"] => unit.prohibit(false),
        ["tsb_csync"] => unit.tsb_csync(),
        ["commit"] => unit.commit(),
        ["cancel", count] => unit.cancel(number(count), false),
        ["cancel", count, "mispredict"] => unit.cancel(number(count), true),
        [address, word, outcome @ ("E" | "N")] => {
            let address = hex(address.trim_end_matches(':'));
            unit.instruction(&Instruction::new(Isa::A64, address, hex(word) as u32, outcome == "E"));
        }
        _ => panic!("`{line}` is not a step of an execution"),
    }
}

/// The file as it should be.
pub(crate) fn file(file: &CaseFile<'_>) -> String {
    let mut case = Case::default();
    let mut out = String::new();
    for block in &file.blocks {
        let is_input = case.apply(file, block);
        let with_options = |options| Some(case.events(options));
        let computed = match block.words[..] {
            ["stream", ..] if is_input => {
                let mut at = case.start;
                let mut comments = Vec::new();
                for line in &block.lines {
                    if code(line).is_empty() {
                        comments.push((at, *line));
                    }
                    at += bytes(line).len();
                }
                Some(case.stream(&comments))
            }
            ["packets"] => Some(case.stream(&[])),
            ["elements"] => Some(case.elements()),
            ["findings"] => Some(case.findings()),
            ["events"] => with_options(Options::default()),
            ["events", "withdrawn"] => with_options(Options { show_withdrawn: true, ..Options::default() }),
            ["events", "strict"] => with_options(Options { strict: true, ..Options::default() }),
            _ => None,
        };
        out += block.head;
        out += "\n";
        match computed {
            Some(lines) => {
                let indent = |line: String| if line.starts_with(' ') { line } else { format!("  {line}") };
                lines.into_iter().for_each(|line| out += &(indent(line) + "\n"));
            }
            None => block.lines.iter().for_each(|line| out += &(annotated(block, line) + "\n")),
        }
    }
    out
}

/// A line of a program or an execution, with its assembly if it has no comment yet.
fn annotated(block: &Block<'_>, line: &str) -> String {
    let isa = match block.words[..] {
        ["program", _, "a32"] => Isa::A32,
        ["program", _, "t32"] => Isa::T32,
        ["program", _] | ["execute", ..] => Isa::A64,
        _ => return line.to_string(),
    };
    let Some((address, words)) = code(line).split_once(':').filter(|_| !line.contains(';')) else {
        return line.to_string();
    };
    let words: Vec<&str> =
        words.split_whitespace().map(|word| word.split('*').next().unwrap_or(word)).collect();
    let word = match words[..] {
        [first, second, ..] if second.len() == 4 && first.len() == 4 => hex(first) << 16 | hex(second),
        _ => hex(words[0]),
    };
    let mut disassembler = Disassembler::default();
    format!("{line:<36} ; {}", disassembler.text(isa, hex(address.trim()), word as u32))
}

/// The rules that cases with one finding break.
pub(crate) fn findings(file: &CaseFile<'_>) -> Vec<String> {
    let mut case = Case::default();
    let mut names = Vec::new();
    for block in &file.blocks {
        case.apply(file, block);
        if block.words == ["findings"]
            && let [name] = &case.findings()[..]
        {
            names.push(name.clone());
        }
    }
    names
}

/// Every stream from a circular buffer, whatever the write pointer; returns the number of streams.
pub(crate) fn check_rotations(file: &CaseFile<'_>) -> usize {
    let mut case = Case::default();
    let mut streams = 0;
    for block in &file.blocks {
        if !case.apply(file, block) || case.framing != Framing::Raw || case.bytes.len() > 200 {
            continue;
        }
        streams += 1;
        // Errors have offsets, which depend on the pointer.
        let kept = |events: Vec<String>| {
            events.into_iter().filter(|event| !event.starts_with("error ")).collect::<Vec<_>>()
        };
        let plain = kept(case.events(Options::default()));
        let bytes = case.bytes.clone();
        for pointer in 0..=bytes.len() {
            let (old, new) = bytes.split_at(bytes.len() - pointer);
            case.bytes = [new, old].concat();
            let options = Options { write_pointer: Some(pointer as u64), ..Options::default() };
            assert_eq!(kept(case.events(options)), plain, "write pointer {pointer}");
        }
        case.bytes = bytes;
    }
    streams
}
