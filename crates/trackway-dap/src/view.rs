//! The state at a position: threads, frames, registers, memory, disassembly. Unknown is shown as unknown.

use serde::Deserialize;
use serde_json::{Value as Json, json};
use trackway::Error;
use trackway::machine::FrameKind;
use trackway_core::Isa;
use trackway_image::{Image, Memory, program};
use trackway_tools::contexts;
use trackway_tools::replay::Session;

use crate::breakpoints::{address, source};
use crate::wire::{Answer, Request, arguments};

/// More frames than a trace keeps: a frame's id is its thread times this, its place and one.
const FRAMES: usize = 1 << 12;

/// Most bytes of memory and instructions in an answer.
const BYTES: u64 = 1 << 14;
const INSTRUCTIONS: usize = 1 << 12;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stack {
    thread_id: usize,
    #[serde(default)]
    start_frame: usize,
    #[serde(default)]
    levels: usize,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfFrame {
    frame_id: usize,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfScope {
    variables_reference: usize,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bytes {
    memory_reference: String,
    #[serde(default)]
    offset: i64,
    count: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Instructions {
    memory_reference: String,
    #[serde(default)]
    offset: i64,
    #[serde(default)]
    instruction_offset: i64,
    instruction_count: usize,
}

fn failed(error: Error) -> String {
    error.to_string()
}

pub(crate) fn threads(session: &Session) -> Json {
    let all = session.threads().iter().enumerate().map(|(n, thread)| {
        let name = if thread.name.is_empty() { "trace" } else { &thread.name };
        json!({ "id": n + 1, "name": format!("{name} at {}", thread.replay.now()) })
    });
    json!({ "threads": all.collect::<Vec<_>>() })
}

pub(crate) fn stack(request: &Request, session: &mut Session) -> Answer {
    let Stack { thread_id, start_frame, levels } = arguments(request)?;
    let thread = thread_id.wrapping_sub(1);
    if thread >= session.threads().len() {
        return Err(format!("stackTrace: there is no thread {thread_id}"));
    }
    let replay = session.replay_of(thread);
    let pc = replay.pc().map_err(failed)?;
    let calls = replay.calls().map_err(failed)?;
    let image = program(replay.programs(), 0);
    let mut frames = vec![frame(&image, thread, 0, pc, "")];
    for (n, call) in calls.frames().enumerate() {
        let note = match (call.kind, calls.guess_of(call).is_some()) {
            (FrameKind::Trap, true) => " (trapped, a guess)",
            (FrameKind::Trap, false) => " (trapped)",
            (FrameKind::Call, true) => " (a guess)",
            (FrameKind::Call, false) => "",
        };
        frames.push(frame(&image, thread, n + 1, call.site.or(call.return_address), note));
    }
    let total = frames.len();
    let levels = if levels == 0 { total } else { levels };
    let frames: Vec<Json> = frames.into_iter().skip(start_frame).take(levels).collect();
    Ok(json!({ "stackFrames": frames, "totalFrames": total }))
}

fn frame(image: &Image, thread: usize, place: usize, pc: Option<u64>, note: &str) -> Json {
    let name = pc.map(|pc| image.place(pc).unwrap_or_else(|| format!("{pc:#x}")));
    let mut frame = json!({
        "id": thread * FRAMES + place + 1,
        "name": format!("{}{note}", name.unwrap_or("unknown".into())),
        "line": 0,
        "column": 0,
    });
    if let Some(pc) = pc {
        frame["instructionPointerReference"] = json!(format!("{pc:#x}"));
        if let Some((source, line)) = source(image, pc) {
            (frame["source"], frame["line"]) = (source, json!(line));
        }
    }
    frame
}

/// Scopes of the innermost frame; the registers of its callers are not known.
pub(crate) fn scopes(request: &Request) -> Answer {
    let OfFrame { frame_id } = arguments(request)?;
    let (thread, place) = ((frame_id.saturating_sub(1)) / FRAMES, frame_id.saturating_sub(1) % FRAMES);
    let scope = |name: &str, n: usize| json!({ "name": name, "variablesReference": 2 * thread + n, "expensive": false });
    let all = if place == 0 { vec![scope("Registers", 1), scope("Position", 2)] } else { Vec::new() };
    Ok(json!({ "scopes": all }))
}

pub(crate) fn variables(request: &Request, session: &mut Session) -> Answer {
    let OfScope { variables_reference } = arguments(request)?;
    let place = variables_reference.checked_sub(1).ok_or("variables: there is nothing of that number")?;
    let thread = place / 2;
    if thread >= session.threads().len() {
        return Err("variables: there is nothing of that number".into());
    }
    let all = if place % 2 == 0 { registers(session, thread)? } else { position(session, thread)? };
    Ok(json!({ "variables": all }))
}

fn variable(name: &str, value: Option<String>, note: &str) -> Json {
    let value = value.unwrap_or("unknown".into());
    json!({ "name": name, "value": value, "type": note, "variablesReference": 0 })
}

fn registers(session: &mut Session, thread: usize) -> Result<Vec<Json>, String> {
    let replay = session.replay_of(thread);
    let pc = replay.pc().map_err(failed)?.map(|pc| format!("{pc:#x}"));
    let mut all = vec![variable("pc", pc, "")];
    for register in replay.registers().map_err(failed)? {
        let note = register.known.map(|(how, number)| format!("{} by {number}", how.as_str()));
        let content = register.content.map(|content| format!("0x{content}"));
        let mut shown = variable(&register.name, content.clone(), &note.unwrap_or_default());
        if let Some(content) = content.filter(|content| !content.contains('?') && content.len() <= 18) {
            shown["memoryReference"] = json!(content);
        }
        all.push(shown);
    }
    Ok(all)
}

fn position(session: &mut Session, thread: usize) -> Result<Vec<Json>, String> {
    let replay = session.replay_of(thread);
    let (now, count) = (replay.now(), replay.count().map_err(failed)?);
    let machine = &replay.point().map_err(failed)?.machine;
    let gap = machine.gap.map(|gap| format!("before {gap}"));
    Ok(vec![
        variable("instruction", Some(format!("{now} of {count}")), ""),
        variable("context", contexts::name(&machine.context), ""),
        variable("time", machine.time.map(|time| time.to_string()), ""),
        variable("cycles", machine.cycles.map(|cycles| cycles.to_string()), ""),
        variable("last gap", Some(gap.unwrap_or("none".into())), ""),
    ])
}

pub(crate) fn memory(request: &Request, session: &mut Session) -> Answer {
    let Bytes { memory_reference, offset, count } = arguments(request)?;
    let start = address(&memory_reference)?.wrapping_add_signed(offset);
    let count = count.min(BYTES).min(u64::MAX - start);
    let shown = format!("{start:#x}");
    if count == 0 {
        return Ok(json!({ "address": shown, "data": "" }));
    }
    let pieces = session.replay().memory(start, count, || true).map_err(failed)?.unwrap_or_default();
    let known = pieces.into_iter().map_while(|piece| piece.content);
    let bytes: Vec<u8> = known.flatten().collect();
    let unreadable = count - bytes.len() as u64;
    Ok(json!({ "address": shown, "data": base64(&bytes), "unreadableBytes": unreadable }))
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0u32, |word, n| word << 8 | u32::from(chunk.get(n).copied().unwrap_or(0)));
        for n in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * n) & 0x3f) as usize];
            out.push(if n <= chunk.len() { letter.into() } else { '=' });
        }
    }
    out
}

pub(crate) fn disassemble(request: &Request, session: &mut Session) -> Answer {
    let asked: Instructions = arguments(request)?;
    let start = address(&asked.memory_reference)?.wrapping_add_signed(asked.offset);
    let count = asked.instruction_count.min(INSTRUCTIONS);
    let replay = session.replay();
    let point = replay.point().map_err(failed)?;
    let (context, isa) = (point.machine.context, point.next.map_or(point.machine.isa, |next| next.isa));
    let image = program(replay.programs(), 0);
    let code = image.memory(&context);
    let next = |at: u64| {
        code.fetch(isa, at).map_or(at.wrapping_add(2), |(_, length)| at.wrapping_add(length.into()))
    };
    let mut pc = start;
    let mut rows = Vec::new();
    if asked.instruction_offset < 0 {
        let wanted = asked.instruction_offset.unsigned_abs().min(INSTRUCTIONS as u64);
        let before = before(&image, isa, start, wanted, next);
        // The protocol wants as many rows as it asked for.
        let missing = wanted - before.len() as u64;
        let first = before.first().copied().unwrap_or(start);
        rows.extend((1..=missing).rev().map(|n| invalid(first.wrapping_sub(2 * n))));
        rows.extend(before.into_iter().map(|at| row(&image, &code, isa, at)));
    } else {
        (0..asked.instruction_offset.min(INSTRUCTIONS as i64)).for_each(|_| pc = next(pc));
    }
    while rows.len() < count {
        rows.push(row(&image, &code, isa, pc));
        pc = next(pc);
    }
    rows.truncate(count);
    Ok(json!({ "instructions": rows }))
}

/// Addresses of at most that many instructions before `start`: from the start of its function, or of the one before it.
fn before(image: &Image, isa: Isa, start: u64, wanted: u64, next: impl Fn(u64) -> u64) -> Vec<u64> {
    let mut found: Vec<u64> = Vec::new();
    let mut end = start;
    while (found.len() as u64) < wanted {
        let Some(first) = image.symbol(end.wrapping_sub(1)).map(|(symbol, _)| symbol.address) else { break };
        // Far into a long function any halfword serves, but for those of RISC-V and T32 that begin in the middle.
        let first = first.max(end.saturating_sub(8 * INSTRUCTIONS as u64));
        let first = if isa == Isa::A64 || isa == Isa::A32 { first & !3 } else { first };
        let mut part: Vec<u64> =
            std::iter::successors(Some(first), |at| Some(next(*at))).take_while(|at| *at < end).collect();
        if part.is_empty() {
            break;
        }
        part.append(&mut found);
        (found, end) = (part, first);
    }
    let surplus = found.len().saturating_sub(wanted as usize);
    found.split_off(surplus)
}

fn row(image: &Image, code: &Memory, isa: Isa, at: u64) -> Json {
    let Some((encoding, length)) = code.fetch(isa, at) else { return invalid(at) };
    let bytes = &encoding.to_le_bytes()[..usize::from(length.min(4))];
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut row = json!({
        "address": format!("{at:#x}"),
        "instructionBytes": hex.join(" "),
        "instruction": trackway_isa::text(isa, at, encoding),
    });
    if let Some(place) = image.place(at) {
        row["symbol"] = json!(place);
    }
    if let Some((source, line)) = source(image, at) {
        (row["location"], row["line"]) = (source, json!(line));
    }
    row
}

fn invalid(address: u64) -> Json {
    json!({ "address": format!("{address:#x}"), "instruction": "unknown", "presentationHint": "invalid" })
}

#[cfg(test)]
mod tests {
    /// RFC 4648, section 10.
    #[test]
    fn base64_vectors() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ] {
            assert_eq!(super::base64(bytes.as_bytes()), text);
        }
    }
}
