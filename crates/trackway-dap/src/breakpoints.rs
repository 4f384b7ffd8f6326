//! Where a move stops: source lines, functions, addresses, memory.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value as Json, json};
use trackway_image::Image;
use trackway_tools::past::Location;
use trackway_tools::replay::{Session, Stops, Watch};

use crate::wire::{Answer, Request, arguments};

/// All of them; each request replaces those of its kind.
#[derive(Debug, Default)]
pub(crate) struct Breakpoints {
    /// By source file.
    lines: BTreeMap<String, Vec<Code>>,
    functions: Vec<Code>,
    instructions: Vec<Code>,
    data: Vec<(u64, Watch)>,
    last: u64,
    /// The folder of sources that the compiler names without one: the editor's, as it says or as its breakpoints show.
    pub(crate) folder: Option<String>,
}

/// A breakpoint at code.
#[derive(Debug)]
struct Code {
    id: u64,
    addresses: Vec<u64>,
}

/// Lines after the one asked for that may have its breakpoint instead.
const NEAR: u32 = 50;

#[derive(Debug, Deserialize)]
struct Source {
    path: Option<String>,
    name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct SetLines {
    source: Source,
    #[serde(default)]
    breakpoints: Vec<AtLine>,
}

#[derive(Debug, Deserialize)]
struct AtLine {
    line: u32,
}

#[derive(Debug, Deserialize)]
struct Set<T> {
    breakpoints: Vec<T>,
}

#[derive(Debug, Deserialize)]
struct Named {
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AtAddress {
    instruction_reference: String,
    #[serde(default)]
    offset: i64,
}

#[derive(Debug, Deserialize)]
struct Asked {
    name: String,
    bytes: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OnData {
    data_id: String,
    access_type: Option<String>,
}

/// An address as the protocol writes it.
pub(crate) fn address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x");
    let found = digits.map_or_else(|| text.parse().ok(), |digits| u64::from_str_radix(digits, 16).ok());
    found.ok_or_else(|| format!("{text}: not an address"))
}

impl Breakpoints {
    /// Everything that stops.
    pub(crate) fn stops(&self) -> Stops {
        let all = self.lines.values().flatten().chain(&self.functions).chain(&self.instructions);
        Stops {
            code: all.flat_map(|one| one.addresses.iter().copied()).collect(),
            data: self.data.iter().map(|one| one.1.clone()).collect(),
        }
    }

    /// The reason to stop at an address, and the breakpoint.
    pub(crate) fn at(&self, pc: Option<u64>) -> (&'static str, Option<u64>) {
        let is_it = |one: &&Code| pc.is_some_and(|pc| one.addresses.contains(&pc));
        let named =
            |reason, mut all: Box<dyn Iterator<Item = &Code> + '_>| Some((reason, all.find(is_it)?.id));
        let found = named("breakpoint", Box::new(self.lines.values().flatten()))
            .or_else(|| named("function breakpoint", Box::new(self.functions.iter())))
            .or_else(|| named("instruction breakpoint", Box::new(self.instructions.iter())));
        found.map_or(("breakpoint", None), |(reason, id)| (reason, Some(id)))
    }

    /// The breakpoint of watched memory.
    pub(crate) fn watching(&self, watch: &Watch) -> Option<u64> {
        self.data.iter().find(|one| one.1 == *watch).map(|one| one.0)
    }

    fn id(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(crate) fn set_lines(&mut self, request: &Request, session: &mut Session) -> Answer {
        let SetLines { source, breakpoints } = arguments(request)?;
        let file = source.path.or(source.name).ok_or("setBreakpoints: a source without a path")?;
        let programs = session.replay().programs().to_vec();
        let (mut kept, mut shown) = (Vec::new(), Vec::new());
        for AtLine { line } in breakpoints {
            let id = self.id();
            let found = programs.iter().find_map(|image| nearest(image, &file, line));
            shown.push(match &found {
                Some((line, addresses)) => {
                    let reference = addresses.first().map(|address| format!("{address:#x}"));
                    json!({ "id": id, "verified": true, "line": line, "instructionReference": reference })
                }
                None => json!({
                    "id": id,
                    "verified": false,
                    "message": "no code belongs to this line (--elf names a program with debug information)",
                }),
            });
            let named = found.as_ref().and_then(|(_, addresses)| {
                let pc = *addresses.first()?;
                programs.iter().find_map(|image| image.line(pc))
            });
            if let Some(folder) = named.and_then(|line| folder_of(&file, &line.file)) {
                self.folder.get_or_insert(folder);
            }
            kept.extend(found.map(|(_, addresses)| Code { id, addresses }));
        }
        self.lines.insert(file, kept);
        Ok(json!({ "breakpoints": shown }))
    }

    /// An answer whose sources an editor can open: relative names begin at its folder.
    pub(crate) fn placed(&self, mut answer: Json) -> Json {
        let Some(folder) = &self.folder else { return answer };
        for (list, source) in [("stackFrames", "source"), ("instructions", "location")] {
            let rows = answer.get_mut(list).and_then(Json::as_array_mut);
            for path in rows.into_iter().flatten().filter_map(|row| row.get_mut(source)?.get_mut("path")) {
                if let Some(name) = path.as_str().filter(|name| is_relative(name)) {
                    *path = format!("{}/{}", folder.trim_end_matches('/'), plain(name)).into();
                }
            }
        }
        answer
    }

    pub(crate) fn set_functions(&mut self, request: &Request, session: &mut Session) -> Answer {
        let Set { breakpoints } = arguments::<Set<Named>>(request)?;
        let programs = session.replay().programs().to_vec();
        self.functions.clear();
        let mut shown = Vec::new();
        for Named { name } in breakpoints {
            let id = self.id();
            let found = programs.iter().find_map(|image| image.named(&name)).map(|symbol| symbol.address);
            shown.push(match found {
                Some(address) => {
                    self.functions.push(Code { id, addresses: vec![address] });
                    json!({ "id": id, "verified": true, "instructionReference": format!("{address:#x}") })
                }
                None => json!({ "id": id, "verified": false, "message": "the program has no such function" }),
            });
        }
        Ok(json!({ "breakpoints": shown }))
    }

    pub(crate) fn set_instructions(&mut self, request: &Request) -> Answer {
        let Set { breakpoints } = arguments::<Set<AtAddress>>(request)?;
        self.instructions.clear();
        let mut shown = Vec::new();
        for AtAddress { instruction_reference, offset } in breakpoints {
            let (id, pc) = (self.id(), address(&instruction_reference)?.wrapping_add_signed(offset));
            self.instructions.push(Code { id, addresses: vec![pc] });
            shown.push(json!({ "id": id, "verified": true, "instructionReference": format!("{pc:#x}") }));
        }
        Ok(json!({ "breakpoints": shown }))
    }

    /// Can this be watched? Memory can, by `ADDR[:LEN]`, where the trace has accesses.
    pub(crate) fn data_info(&mut self, request: &Request, session: &mut Session) -> Answer {
        let Asked { name, bytes } = arguments(request)?;
        let isa = session.replay().isa();
        let no = |text: &str| Ok(json!({ "dataId": null, "description": text }));
        if session.replay().trace().meta().flow_only {
            return no("the trace has no memory accesses");
        }
        match Location::parse(&name, isa) {
            Ok(Location::Mem { address, length }) => {
                let length = bytes.unwrap_or(length).clamp(1, 1 << 20);
                Ok(json!({
                    "dataId": format!("{address:#x}:{length}"),
                    "description": format!("{length} bytes at {address:#x}"),
                    "accessTypes": ["read", "write", "readWrite"],
                    "canPersist": true,
                }))
            }
            _ => no("memory can be watched: ADDR or ADDR:LEN"),
        }
    }

    pub(crate) fn set_data(&mut self, request: &Request, session: &mut Session) -> Answer {
        let Set { breakpoints } = arguments::<Set<OnData>>(request)?;
        let has_memory = !session.replay().trace().meta().flow_only;
        self.data.clear();
        let mut shown = Vec::new();
        for OnData { data_id, access_type } in breakpoints {
            let id = self.id();
            let (start, length) =
                data_id.split_once(':').ok_or_else(|| format!("{data_id}: not a data id"))?;
            let (start, length) = (address(start)?, address(length)?);
            let access = access_type.as_deref().unwrap_or("write");
            let watch = Watch {
                range: start..start.saturating_add(length.max(1)),
                reads: access != "write",
                writes: access != "read",
            };
            if has_memory {
                self.data.push((id, watch));
            }
            shown.push(json!({ "id": id, "verified": has_memory }));
        }
        Ok(json!({ "breakpoints": shown }))
    }
}

/// The line that has code, at or after the one asked for, and the first address of it in each function.
fn nearest(image: &Image, file: &str, line: u32) -> Option<(u32, Vec<u64>)> {
    // The editor's path and that of the compiler may have different beginnings.
    let mut rest = file;
    loop {
        let found = (line..=line.saturating_add(NEAR)).find_map(|line| {
            let code = image.code_of(rest, line);
            let mut first: BTreeMap<u64, u64> = BTreeMap::new();
            for range in code {
                let function = image.symbol(range.start).map_or(range.start, |(symbol, _)| symbol.address);
                let lowest = first.entry(function).or_insert(range.start);
                *lowest = range.start.min(*lowest);
            }
            (!first.is_empty()).then(|| (line, first.into_values().collect::<Vec<u64>>()))
        });
        if found.is_some() {
            return found;
        }
        rest = rest.split_once(['/', '\\'])?.1;
    }
}

fn is_relative(name: &str) -> bool {
    !name.starts_with(['/', '\\']) && name.get(1..2) != Some(":")
}

fn plain(mut name: &str) -> &str {
    while let Some(rest) = name.strip_prefix("./") {
        name = rest;
    }
    name
}

/// The folder of a file that the compiler knows by a relative name.
fn folder_of(file: &str, name: &str) -> Option<String> {
    let folder = file.strip_suffix(plain(name)).filter(|_| is_relative(name) && !is_relative(file))?;
    folder.ends_with('/').then(|| folder.to_string())
}

/// The source of an address: its name and path, and the line.
pub(crate) fn source(image: &Image, pc: u64) -> Option<(Json, u32)> {
    let line = image.line(pc)?;
    let name = line.file.rsplit(['/', '\\']).next().unwrap_or_default();
    Some((json!({ "name": name, "path": line.file }), line.line))
}
