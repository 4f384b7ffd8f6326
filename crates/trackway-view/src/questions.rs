//! Questions about a point: its state, who wrote a value, the next place that meets conditions.

use std::ops::Range;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use trackway::machine::{Content, FrameKind, Known};
use trackway::{Position, Trace};
use trackway_core::{Batch, Isa, Observer, Reg, Saved};
use trackway_tools::contexts;
use trackway_tools::find::{Conditions, Find};
use trackway_tools::past::{self, Cause, End, Location, Past, Role};

use crate::desk::{Answer, Desk};
use crate::rows::{digits, hex, place, register};

/// Time that a search takes at most; the page asks again from where it ended.
const PATIENCE: Duration = Duration::from_millis(1500);

fn words(error: trackway::Error) -> String {
    error.to_string()
}

/// The number of the instruction at a position.
pub(crate) fn locate(desk: &mut Desk, text: &str, after: Option<u64>) -> Answer<Json> {
    let position = Position::parse(text, &desk.programs).map_err(words)?;
    let found = desk.trace.locate(&position, after).map_err(words)?;
    Ok(json!({ "n": found }))
}

/// The state before an instruction: context, call stack, registers.
pub(crate) fn state(desk: &mut Desk, number: u64) -> Answer<Json> {
    let point = past::at(&mut desk.trace, number).map_err(words)?;
    let point = point.map_err(|total| format!("there are {total} instructions, not {number}"))?;
    let machine = &point.machine;
    let isa = machine.context.isa.unwrap_or(machine.isa);
    let mut frames: Vec<Json> = Vec::new();
    for frame in machine.calls.frames() {
        let guess = machine.calls.guess_of(frame).map(|guess| guess.doubt.as_str());
        let trap = frame.kind == FrameKind::Trap;
        let mut row = json!({ "pc": hex(frame.target), "by": frame.number, "trap": trap, "guess": guess });
        place(&mut row, &mut desk.listing, Some(frame.target));
        frames.push(row);
    }
    let registers: Vec<Json> =
        machine.registers.iter().map(|(reg, known)| known_json(isa, reg, &known)).collect();
    let mut out = json!({
        "n": number,
        "pc": point.next.map_or(machine.next_pc(), |next| next.pc).map(hex),
        "context": contexts::named(&machine.context, &desk.meta),
        "time": machine.time.map(|time| time.to_string()),
        "cycles": machine.cycles.map(|cycles| cycles.to_string()),
        "gap": machine.gap,
        "frames": frames,
        "forgotten": machine.calls.forgotten,
        "registers": registers,
    });
    if let Some(error) = point.passed {
        out["error"] = json!(error.to_string());
    }
    Ok(out)
}

fn known_json(isa: Isa, reg: Reg, known: &Known<'_>) -> Json {
    let (value, mask) = match known.content {
        None => (Json::Null, Json::Null),
        Some(Content::Word(value, u64::MAX)) => (hex(value), Json::Null),
        Some(Content::Word(value, mask)) => (hex(value & mask), hex(mask)),
        Some(Content::Bytes(bytes)) => (json!(format!("0x{}", digits(bytes))), Json::Null),
    };
    json!({
        "r": register(isa, reg),
        "id": trackway_isa::reg_name(isa, reg),
        "v": value,
        "known": mask,
        "how": known.how.as_str(),
        "by": known.number,
    })
}

/// Who wrote a register (`a0`) or memory (`0x8000:8`) before an instruction, and the chain back.
pub(crate) fn why(desk: &mut Desk, at: u64, what: &str, depth: u32) -> Answer<Json> {
    let isa = desk.meta.isa;
    let wanted = if what.starts_with("0x") {
        let (address, length) = past::bytes(what).map_err(words)?;
        Location::Mem { address, length }
    } else {
        Location::Reg(past::register(isa, what).map_err(words)?)
    };
    let mut past = Past::new(&mut desk.trace).map_err(words)?;
    let why = past::why(&mut past, at, wanted, depth).map_err(words)?;
    let passed = past.passed.map(|error| error.to_string());
    let causes = |causes: &[(Location, Cause)]| -> Vec<Json> {
        let one = |(part, cause): &(Location, Cause)| {
            let mut out = location(isa, *part);
            match cause {
                Cause::Node(place) => out["node"] = json!(place),
                Cause::End(end) => {
                    out["end"] = json!(ended(*end));
                    out["n"] = json!(end.number());
                }
            }
            out
        };
        causes.iter().map(one).collect()
    };
    let mut nodes: Vec<Json> = Vec::new();
    for node in &why.nodes {
        let valued = |what: Location, value: &Option<Vec<u8>>| {
            let mut out = location(isa, what);
            out["v"] = json!(value.as_ref().map(|bytes| short(bytes)));
            out
        };
        let results: Vec<Json> = node.results.iter().map(|(what, value)| valued(*what, value)).collect();
        let inputs = node.inputs.iter().map(|input| {
            let mut out = valued(input.what, &input.value);
            out["address"] = json!(input.role == Role::Address);
            out["causes"] = json!(causes(&input.causes));
            out
        });
        let inputs: Vec<Json> = inputs.collect();
        let mut row = json!({
            "n": node.number,
            "pc": node.pc.map(hex),
            "results": results,
            "inputs": inputs,
            "unseen": node.unseen_load,
        });
        if node.length > 0 {
            row["text"] = json!(desk.listing.text(node.isa, node.pc.unwrap_or(0), node.encoding));
        }
        place(&mut row, &mut desk.listing, node.pc);
        nodes.push(row);
    }
    Ok(json!({ "at": at, "what": what, "causes": causes(&why.causes), "nodes": nodes, "error": passed }))
}

fn location(isa: Isa, what: Location) -> Json {
    match what {
        Location::Reg(reg) => json!({ "what": register(isa, reg) }),
        Location::Mem { address, length } => json!({ "what": format!("[{address:#x}:{length}]") }),
    }
}

/// Little-endian bytes as a number without leading zeros.
fn short(bytes: &[u8]) -> String {
    let digits = digits(bytes);
    let trimmed = digits.trim_start_matches('0');
    format!("0x{}", if trimmed.is_empty() { "0" } else { trimmed })
}

fn ended(end: End) -> &'static str {
    match end {
        End::Start => "set before the trace began",
        End::Image => "set before the trace began: the program has it",
        End::Gap(_) => "unknown: there is a gap",
        End::Shown(_) => "set outside any instruction, as the trace shows",
        End::Outside(_) => "from outside: a system call, a device or a counter",
        End::Trap(_) => "set by a trap",
        End::Context(_) => "unknown: another process or thread ran",
        End::NoAddress(_) => "unknown: the trace has no address for this access",
        End::NoCode(_) => "unknown: the encoding of this instruction is not recorded",
        End::Depth => "older than the chain shown here",
        End::Many => "too many instructions to list",
    }
}

/// Conditions as the search box has them: `op:ld mem:0x8000`; a word without a colon is a function or a mnemonic.
pub(crate) fn conditions(desk: &Desk, text: &str) -> Answer<Conditions> {
    let (isa, programs) = (desk.meta.isa, &desk.programs);
    let mut conditions = Conditions::default();
    for word in text.split_whitespace() {
        let (name, value) = match word.split_once(':') {
            Some((name, value)) => (name, value),
            None if word.starts_with("0x") => ("pc", word),
            None if programs.iter().any(|image| image.named(word).is_some()) => ("sym", word),
            None => ("op", word),
        };
        conditions.add(name, value, isa, programs).map_err(words)?;
    }
    if conditions.is_empty() {
        return Err(
            "search for a function, a mnemonic, or pc: within: op: class: mem: reg: trap: context:".into()
        );
    }
    Ok(conditions)
}

/// Matches from an instruction on: at most `limit`, in bounded time. `next` is where to continue, null at the end.
pub(crate) fn find(desk: &mut Desk, text: &str, from: u64, limit: usize) -> Answer<Json> {
    let conditions = conditions(desk, text)?;
    let (format, isa) = (desk.trace.format(), desk.meta.isa);
    let begun = Instant::now();
    let mut found = Find::new(conditions.clone(), format, isa, desk.programs.clone(), None);
    let mut next = None;
    let stretches = stretches(&mut desk.trace, &conditions, from);
    'all: for (saved, range) in stretches {
        let mut source = desk.trace.events().map_err(words)?;
        if let Some(saved) = &saved {
            source.restore(saved).map_err(|error| error.to_string())?;
        }
        let mut batch = Batch::default();
        let mut is_first = true;
        loop {
            match source.fill(&mut batch) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if !source.resync().map_err(|error| error.to_string())? => {
                    return Err(error.to_string());
                }
                Err(_) => continue,
            }
            if std::mem::take(&mut is_first) {
                let context = saved.as_ref().map_or_else(Default::default, |saved| saved.context);
                found.jump(batch.first_instruction, context);
            }
            if batch.first_instruction >= range.end {
                break;
            }
            found.observe(&batch);
            found.matches.retain(|one| one.number >= from);
            found.matches.dedup_by_key(|one| one.number);
            if found.matches.len() > limit {
                break 'all;
            }
            if begun.elapsed() > PATIENCE {
                next = Some(batch.first_instruction + batch.instructions());
                break 'all;
            }
        }
    }
    if found.matches.len() > limit {
        next = found.matches.get(limit).map(|one| one.number);
        found.matches.truncate(limit);
    }
    let mut rows: Vec<Json> = Vec::new();
    for one in &found.matches {
        let mut row = json!({ "n": one.number, "pc": one.pc.map(hex) });
        if one.length > 0 {
            row["text"] = json!(desk.listing.text(one.isa, one.pc.unwrap_or(0), one.encoding));
        }
        place(&mut row, &mut desk.listing, one.pc);
        rows.push(row);
    }
    Ok(json!({ "matches": rows, "next": next }))
}

/// Stretches from an instruction on that can have a match, by the index.
fn stretches(trace: &mut Trace, conditions: &Conditions, from: u64) -> Vec<(Option<Saved>, Range<u64>)> {
    let whole = vec![(None, 0..u64::MAX)];
    let Some((index, name)) = trace.index_part() else { return whole };
    let Some(part) = index.sources.get(&name).filter(|part| part.is_complete) else { return whole };
    let mut found: Vec<(Option<Saved>, Range<u64>)> = Vec::new();
    for stretch in part.stretches().filter(|stretch| stretch.after.instructions >= from) {
        if conditions.has_addresses() && !conditions.meets_sketch(stretch.sketch) {
            continue;
        }
        let range = stretch.before.instructions..stretch.after.instructions.saturating_add(1);
        match found.last_mut() {
            Some((_, last)) if last.end > range.start => last.end = range.end,
            _ => found.push((stretch.checkpoint.map(|one| Saved { source: 0, ..one.saved.clone() }), range)),
        }
    }
    if let Some(last) = found.last_mut() {
        last.1.end = last.1.end.saturating_add(1);
    }
    found
}
