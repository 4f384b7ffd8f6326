//! One self-contained page of a window of a trace, to be shared.
//!
//! The page has no server to ask: the answers that it would get for the window are in it, as data that no browser runs.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::desk::Answer;
use crate::page;
use crate::site::{Reply, Site};
use crate::wire::Hex;
use crate::{questions, rows, window};

/// Instructions of a window at most.
pub const WIDEST: u64 = 50_000;

/// Functions whose code is part of the page: those with most instructions.
const FUNCTIONS: usize = 40;

/// A page, and what is in it.
#[derive(Debug)]
pub struct Exported {
    /// The page.
    pub html: String,
    /// The instructions that it has.
    pub range: std::ops::Range<u64>,
    /// The files that it embeds, by name.
    pub files: Vec<String>,
}

impl Site {
    /// A page of instructions `[from, to)` of the first trace.
    ///
    /// # Errors
    /// The window is empty or too wide, or the trace cannot be read.
    pub fn export(&self, from: u64, to: u64) -> Result<Exported, String> {
        let lane = self.lanes.first().ok_or("there is no trace")?;
        if to <= from || to - from > WIDEST {
            return Err(format!("a page has 1 to {WIDEST} instructions, not {}", to.saturating_sub(from)));
        }
        let rows = lane.quick.ask(move |desk| rows::rows(desk, from, to - from))?;
        let end = from + rows.rows.len() as u64;
        if end == from {
            return Err(format!("there are no instructions at {from}"));
        }
        let range = Some((from, end));
        let mut functions = Vec::new();
        let tree = lane.shown(range, |shown, _| {
            let tree = shown.tree();
            functions.extend(tree.functions.iter().take(FUNCTIONS).map(|one| one.address.clone()));
            Ok(Reply::of(&tree))
        })?;
        let (mut code, mut files) = (BTreeMap::new(), Vec::new());
        for address in functions {
            let Hex::Word(at) = address else { continue };
            // A function whose code is not known has none in the page.
            let Ok(Reply::Json(listed)) = lane.shown(range, |shown, _| Ok(self.code(shown, at)?.into()))
            else {
                continue;
            };
            for line in listed["lines"].as_array().into_iter().flatten() {
                files.extend(line["source"].as_u64().map(|number| number as usize));
            }
            code.insert(format!("{at:#x}"), listed);
        }
        files.sort_unstable();
        files.dedup();
        let mut sources = serde_json::Map::new();
        let mut names = vec![lane.file.path.display().to_string()];
        for number in files {
            if let Some((name, text)) = self.sources.read(number) {
                names.push(name.to_string());
                sources.insert(number.to_string(), json!({ "name": name, "text": text }));
            }
        }
        let mut traces = self.traces();
        // Folders of the one who exports stay private.
        if let Some(lanes) = traces["lanes"].as_array_mut() {
            lanes.truncate(1);
            lanes.iter_mut().for_each(|lane| lane["path"] = lane["file"].clone());
        }
        const { assert!(WIDEST <= window::WIDEST, "a window that is read call by call") };
        let data = json!({
            "from": from,
            "to": end,
            "traces": traces,
            "rows": embedded(Reply::of(&rows)),
            "timeline": embedded(lane.window(from, end)?),
            "state": lane.quick.ask(move |desk| questions::state(desk, from))?,
            "tree": embedded(tree),
            "branches": embedded(lane.shown(range, |shown, _| Ok(shown.branches().into()))?),
            "memory": embedded(lane.shown(range, |shown, touched| Ok(Reply::of(&shown.memory(touched))))?),
            "code": code,
            "sources": sources,
        });
        Ok(Exported { html: page_of(&data)?, range: from..end, files: names })
    }
}

/// An answer inside the page: tables as base64.
fn embedded(reply: Reply) -> Json {
    match reply {
        Reply::Json(json) => json,
        Reply::Tables(bytes) => base64(&bytes).into(),
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().zip([16, 8, 0]).fold(0u32, |bits, (byte, shift)| bits | u32::from(*byte) << shift);
        for (n, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit = DIGITS[(bits >> shift & 63) as usize];
            out.push(if n <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

/// The page around its data. Its own script and styles run, by a random number, and nothing else.
fn page_of(data: &Json) -> Answer<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
    let nonce: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    // A name can then end no element; JSON means the same.
    let data = data.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    let script = page::SCRIPT.replace("</script", "<\\/script");
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-{nonce}'; \
         style-src 'nonce-{nonce}'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Trackway</title>\n\
         <style nonce=\"{nonce}\">{style}</style>\n<body>\n<div id=\"app\"></div>\n\
         <script type=\"application/json\" id=\"trackway-data\">{data}</script>\n\
         <script type=\"module\" nonce=\"{nonce}\">{script}</script>\n</body>\n</html>\n",
        style = page::STYLE,
    ))
}
