//! `trackway why`: which instruction wrote a value, and the chain back.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write;

use serde_json::{Value as Json, json};
use trackway_core::Isa;
use trackway_tools::past::{self, Cause, End, Input, Location, Node, Past, Role, Why};

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::json::{Object, object, put_errors};
use crate::open::open;
use crate::past::{At, Places, bytes, digits, location_json, location_text, register, value_json};
use crate::report::{placed, print_damage};

/// Arguments of `why`.
#[derive(clap::Args, Debug)]
#[command(group = clap::ArgGroup::new("what").required(true))]
#[command(after_help = "\
Inputs of an instruction are the registers that it reads and, for a load, the bytes in memory; the search continues with
the instructions that wrote them. In formats without register values the writers are known from the encodings; in
formats without addresses the search ends at the load.")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) point: At,
    /// The value of this register
    #[arg(long, value_name = "R", group = "what")]
    pub(crate) reg: Option<String>,
    /// The value in memory, 8 bytes unless LEN is given
    #[arg(long, value_name = "ADDR[:LEN]", group = "what")]
    pub(crate) mem: Option<String>,
    /// Instructions in a chain at most
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) depth: u32,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let mut trace = open(&args.common, &args.point.file)?;
    let failed = |error: trackway::Error| placed(&args.common, &args.point.file, error);
    let isa = trace.meta().isa;
    let what = match (&args.reg, &args.mem) {
        (Some(name), _) => Location::Reg(register(isa, name)?),
        (None, Some(text)) => {
            let (address, length) = bytes(text)?;
            Location::Mem { address, length }
        }
        (None, None) => return Err(Failure::Usage("--reg or --mem says what to look for".into())),
    };
    let (at, programs) = args.point.locate(&args.common, &mut trace)?;
    let mut past = Past::new(&mut trace).map_err(failed)?;
    let why = past::why(&mut past, at, what, args.depth).map_err(failed)?;
    let health = args.point.health(&args.common, past.passed)?;
    let mut shown =
        Shown { isa, why, places: Places::new(&programs), printed: BTreeSet::new(), out: String::new() };
    if args.json {
        let mut object = shown.json(args, at, what);
        put_errors(&mut object, &health, None);
        crate::json::print(object)?;
    } else {
        shown.text(at, what);
        std::io::stdout().lock().write_all(shown.out.as_bytes())?;
    }
    print_damage(&health);
    Ok(Exit::Fine)
}

struct Shown {
    isa: Isa,
    why: Why,
    places: Places,
    /// Instructions that were printed with their inputs.
    printed: BTreeSet<u64>,
    out: String,
}

/// A reason in words.
fn reason(end: End) -> String {
    match end {
        End::Depth => "--depth N follows it further".into(),
        end => end.to_string(),
    }
}

impl Shown {
    fn line(&mut self, depth: usize, text: &str) {
        // Beyond this the tree would leave every screen.
        let indent = 2 * depth.min(24);
        // Writing to a String cannot fail.
        let _ = writeln!(self.out, "{:indent$}{text}", "");
    }

    fn text(&mut self, at: u64, what: Location) {
        let title = location_text(self.isa, what);
        self.line(0, &format!("{title} before instruction {at}"));
        let causes = self.why.causes.clone();
        self.causes(1, what, &causes);
    }

    fn causes(&mut self, depth: usize, what: Location, causes: &[(Location, Cause)]) {
        for (part, cause) in causes {
            let part =
                if *part == what { String::new() } else { format!("{}: ", location_text(self.isa, *part)) };
            match cause {
                Cause::End(end) => self.line(depth, &format!("{part}{}", reason(*end))),
                Cause::Node(place) => {
                    let node = self.why.nodes[*place].clone();
                    self.node(depth, &part, &node);
                }
            }
        }
    }

    fn node(&mut self, depth: usize, part: &str, node: &Node) {
        let text = self.places.text(node.isa, node.pc, node.encoding, node.length);
        let suffix = self.places.suffix(node.pc);
        let results: Vec<String> = node
            .results
            .iter()
            .map(|(what, value)| match value {
                Some(value) => format!("{} = {}", location_text(self.isa, *what), short(value)),
                None => location_text(self.isa, *what),
            })
            .collect();
        let pc = node.pc.map_or("?".into(), |pc| format!("{pc:016x}"));
        let first = self.printed.insert(node.number);
        let again = if first || node.inputs.is_empty() { "" } else { "  (its inputs are above)" };
        let line = format!("{part}{}  {pc}  {text:<28}  {}{suffix}{again}", node.number, results.join(", "));
        self.line(depth, &line);
        if !first {
            return;
        }
        if node.unseen_load {
            self.line(depth + 1, "memory: not known, the trace has no address");
        }
        for input in &node.inputs {
            self.input(depth + 1, input);
        }
    }

    fn input(&mut self, depth: usize, input: &Input) {
        let value = input.value.as_ref().map_or(String::new(), |value| format!(" = {}", short(value)));
        let role = if input.role == Role::Address { " (address)" } else { "" };
        let head = format!("{}{value}{role}", location_text(self.isa, input.what));
        match input.causes.as_slice() {
            [(part, Cause::End(end))] if *part == input.what => {
                self.line(depth, &format!("{head}: {}", reason(*end)));
            }
            causes => {
                self.line(depth, &head);
                self.causes(depth + 1, input.what, causes);
            }
        }
    }

    fn json(&mut self, args: &Args, at: u64, what: Location) -> Object {
        let mut out = object("why");
        out.insert("file".into(), json!(args.point.file.display().to_string()));
        out.insert("at".into(), json!(at));
        out.extend(location_json(self.isa, what));
        out.insert("causes".into(), causes_json(&self.why, self.isa, &self.why.causes));
        let nodes = self.why.nodes.clone();
        let nodes: Vec<Json> = nodes.iter().map(|node| self.node_json(node)).collect();
        out.insert("instructions".into(), json!(nodes));
        out
    }

    fn node_json(&mut self, node: &Node) -> Json {
        let mut out = Object::new();
        out.insert("instruction".into(), json!(node.number));
        out.insert("depth".into(), json!(node.depth));
        self.places.put(&mut out, node.isa, node.pc, node.encoding, node.length);
        let result = |(what, value): &(Location, Option<Vec<u8>>)| {
            let mut out = location_json(self.isa, *what);
            out.insert("value".into(), value.as_ref().map_or(Json::Null, |value| value_json(value)));
            Json::Object(out)
        };
        out.insert("results".into(), node.results.iter().map(result).collect());
        let input = |input: &Input| {
            let mut out = location_json(self.isa, input.what);
            out.insert("role".into(), json!(input.role.as_str()));
            out.insert("value".into(), input.value.as_ref().map_or(Json::Null, |value| value_json(value)));
            out.insert("causes".into(), causes_json(&self.why, self.isa, &input.causes));
            Json::Object(out)
        };
        out.insert("inputs".into(), node.inputs.iter().map(input).collect());
        if node.unseen_load {
            out.insert("memory_unknown".into(), json!(true));
        }
        out.into()
    }
}

fn causes_json(why: &Why, isa: Isa, causes: &[(Location, Cause)]) -> Json {
    let one = |(what, cause): &(Location, Cause)| {
        let mut out = location_json(isa, *what);
        match cause {
            Cause::Node(place) => drop(out.insert("instruction".into(), json!(why.nodes[*place].number))),
            Cause::End(end) => {
                out.insert("end".into(), json!(end.as_str()));
                out.insert("end_at".into(), json!(end.number()));
            }
        }
        Json::Object(out)
    };
    causes.iter().map(one).collect()
}

/// Little-endian bytes as a number without leading zeros.
fn short(bytes: &[u8]) -> String {
    let digits = digits(bytes);
    let trimmed = digits.trim_start_matches('0');
    format!("0x{}", if trimmed.is_empty() { "0" } else { trimmed })
}
