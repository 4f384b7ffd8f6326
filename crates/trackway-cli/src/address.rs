//! Addresses of analyses, with the function that they are in.

use serde_json::{Value as Json, json};
use trackway_tools::stats::{Address, Summary};

use crate::info::shown;
use crate::json::{Object, hex};

/// An address with its function, and with its source where sources run different programs.
pub(crate) fn at(name: &str, address: Address, stats: &Summary, sources: &[String]) -> Object {
    let mut entry = Object::new();
    entry.insert(name.into(), hex(address.pc));
    entry.insert("symbol".into(), json!(stats.symbol(address)));
    entry.extend(stats.program(address, sources).map(|source| ("source".to_string(), json!(source))));
    entry
}

/// An address for people.
pub(crate) fn place(entry: &Json) -> String {
    let field = |name: &str| entry.get(name).filter(|value| !value.is_null()).map(shown);
    let names = ["start", "pc", "header"];
    let address = names.into_iter().find_map(field).unwrap_or_default();
    let symbol = field("symbol").map_or(String::new(), |symbol| format!(" <{symbol}>"));
    let source = field("source").map_or(String::new(), |source| format!(" of {source}"));
    format!("{address}{symbol}{source}")
}
