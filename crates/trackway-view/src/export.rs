//! One self-contained page of a window of a trace, to be shared.
//!
//! The page has no server to ask: the answers that it would get for the window are in it, as data that no browser runs.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::desk::Answer;
use crate::http::Request;
use crate::page;
use crate::rows;
use crate::site::Site;
use crate::window;

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
        let mut list: Vec<Json> = Vec::new();
        let mut errors = Json::Null;
        while from + (list.len() as u64) < to {
            let next = from + list.len() as u64;
            let answer = self.ask("rows", &[("from", next), ("count", (to - next).min(rows::MOST))])?;
            let more = answer["rows"].as_array().cloned().unwrap_or_default();
            if errors.is_null() {
                errors = answer["errors"].clone();
            }
            if more.is_empty() {
                break;
            }
            list.extend(more);
        }
        let end = from + list.len() as u64;
        if list.is_empty() {
            return Err(format!("there are no instructions at {from}"));
        }
        let range = [("from", from), ("to", end)];
        let tree = self.ask("tree", &range)?;
        let (code, files) = self.code(&tree, &range);
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
        let data = json!({
            "from": from,
            "to": end,
            "traces": traces,
            "rows": list,
            "errors": errors,
            "timeline": lane_timeline(self, from, end)?,
            "state": self.ask("state", &[("at", from)])?,
            "tree": tree,
            "branches": self.ask("branches", &range)?,
            "memory": self.ask("memory", &range)?,
            "code": code,
            "sources": sources,
        });
        Ok(Exported { html: page_of(&data)?, range: from..end, files: names })
    }

    fn ask(&self, what: &str, asked: &[(&str, u64)]) -> Answer<Json> {
        let query = asked.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        let query: Vec<(String, String)> = query.chain([("l".to_string(), "0".to_string())]).collect();
        let request = Request { path: format!("/api/{what}"), query, ..Request::default() };
        let response = self.answer(&request);
        let json: Json = serde_json::from_slice(&response.body).map_err(|error| error.to_string())?;
        match json["error"].as_str() {
            Some(error) if response.status != 200 => Err(error.to_string()),
            _ => Ok(json),
        }
    }

    /// The code of the functions with most instructions, and the numbers of their files.
    fn code(&self, tree: &Json, range: &[(&str, u64)]) -> (BTreeMap<String, Json>, Vec<usize>) {
        let (mut code, mut files) = (BTreeMap::new(), Vec::new());
        for function in tree["functions"].as_array().into_iter().flatten().take(FUNCTIONS) {
            let Some(address) = function[1].as_str() else { continue };
            let Some(at) = address.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok())
            else {
                continue;
            };
            let asked: Vec<(&str, u64)> = range.iter().copied().chain([("at", at)]).collect();
            let Ok(listed) = self.ask("code", &asked) else { continue };
            for line in listed["lines"].as_array().into_iter().flatten() {
                files.extend(line["source"].as_u64().map(|number| number as usize));
            }
            code.insert(address.to_string(), listed);
        }
        files.sort_unstable();
        files.dedup();
        (code, files)
    }
}

fn lane_timeline(site: &Site, from: u64, to: u64) -> Answer<Json> {
    debug_assert!(WIDEST <= window::WIDEST, "a window that is read");
    site.ask("timeline", &[("from", from), ("to", to)])
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
