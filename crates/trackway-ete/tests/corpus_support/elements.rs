//! Everything but instructions, in words that both decoders' output is converted to: how many instructions came
//! before, and what it is.

use trackway_core::{
    Batch, Context, Event, EventKind, GapReason, Isa, MarkKind, Security, TimeKind, TrapKind,
};

/// Everything but instructions, in order. A context comes before the first thing that happened in it: repetitions
/// in between are not compared.
#[derive(Clone, Debug, Default)]
pub struct Elements {
    pub list: Vec<(usize, String)>,
    context: String,
    reported: String,
    /// The fields that a change of context leaves unchanged.
    state: Context,
}

impl Elements {
    /// Something happened in the context.
    pub fn happened(&mut self, before: usize) {
        if self.context != self.reported {
            self.reported.clone_from(&self.context);
            self.list.push((before, self.context.clone()));
        }
    }

    fn push(&mut self, before: usize, text: String) {
        self.list.push((before, text));
    }

    /// One of our events.
    pub fn ours(&mut self, before: usize, batch: &Batch, event: &Event) {
        match event.kind {
            EventKind::Run(_) => self.happened(before),
            EventKind::Context(index) => {
                // Ids hold until the next complete context.
                let change = &batch.contexts[index as usize];
                if change.privilege.is_some() {
                    self.state = *change;
                } else {
                    self.state.update(change);
                }
                self.context = context(&self.state);
            }
            EventKind::Trap(index) => {
                let trap = &batch.traps[index as usize];
                if trap.kind == TrapKind::Return {
                    return self.push(before, "exception return".to_string());
                }
                self.happened(before);
                let cause = trap.cause.unwrap_or(u64::MAX);
                let address = trap.return_address.map_or("?".to_string(), |address| format!("{address:#x}"));
                self.push(before, format!("exception {cause:#x} at {address}"));
            }
            EventKind::Time(time) => {
                let value = time.value.map_or("?".to_string(), |value| value.to_string());
                self.push(
                    before,
                    match time.kind {
                        TimeKind::Timestamp => format!("timestamp {value}"),
                        TimeKind::Cycles => format!("cycles {value}"),
                        other => format!("{other:?} {value}"),
                    },
                );
            }
            EventKind::Mark(mark) => {
                let value = mark.value.unwrap_or(0);
                self.push(
                    before,
                    match mark.kind {
                        MarkKind::TraceOn => "trace on".to_string(),
                        MarkKind::TraceEvent => format!("event {value}"),
                        MarkKind::TimestampMarker => "timestamp marker".to_string(),
                        MarkKind::Instrumentation => {
                            format!("instrumentation {} {value:#x}", batch.text_of(mark.text))
                        }
                        MarkKind::TransactionStart => "transaction start".to_string(),
                        MarkKind::TransactionCommit => "transaction commit".to_string(),
                        MarkKind::TransactionFail => "transaction fail".to_string(),
                        other => format!("{other:?}"),
                    },
                );
            }
            EventKind::Gap(index) => {
                let gap = &batch.gaps[index as usize];
                let from = gap.from.unwrap_or(0);
                match gap.reason {
                    // Told by Trace On.
                    GapReason::Filtered => {}
                    GapReason::NoCode => self.push(before, format!("no code at {from:#x}")),
                    GapReason::NoPath => {
                        self.happened(before);
                        let count = gap.instructions.unwrap_or(0);
                        self.push(before, format!("no path from {from:#x}, {count} instructions"));
                    }
                    other => self.push(before, format!("gap: {}", other.as_str())),
                }
            }
            _ => self.push(before, format!("{:?}", event.kind)),
        }
    }

    /// One of OpenCSD's elements, without `OCSD_GEN_TRC_ELEM_`.
    pub fn theirs(&mut self, before: usize, text: &str) {
        let (name, rest) = text.split_once('(').unwrap();
        let number = |after: &str| {
            let (_, rest) = rest.split_once(after).unwrap_or_else(|| panic!("{after} in {text}"));
            let digits: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
            match digits.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
                None => digits.parse().unwrap(),
            }
        };
        match name {
            "PE_CONTEXT" => {
                // `(ISA=A64) EL1N; 64-bit; VMID=0x…; CTXTID=0x…; )`
                let (_, rest) = rest.split_once(") EL").unwrap();
                let (level, rest) = rest.split_once("; ").unwrap();
                let (bits, _) = rest.split_once('-').unwrap();
                let id = |name| rest.contains(name).then(|| number(name));
                self.context = format!("context EL{level} {bits} bits{}", ids(id("VMID="), id("CTXTID=")));
            }
            "EXCEPTION" => {
                self.happened(before);
                self.push(before, format!("exception {:#x} at {:#x}", number("num ("), number("addr:")));
            }
            "EXCEPTION_RET" => self.push(before, "exception return".to_string()),
            "CYCLE_COUNT" => self.push(before, format!("cycles {}", number("CC="))),
            "TIMESTAMP" => self.push(before, format!("timestamp {}", number("TS="))),
            "SYNC_MARKER" => self.push(before, "timestamp marker".to_string()),
            "TRACE_ON" => self.push(before, "trace on".to_string()),
            "EVENT" => self.push(before, format!("event {}", number("Numbered:"))),
            "INSTRUMENTATION" => {
                self.push(before, format!("instrumentation el{} {:#x}", number("EL"), number("; ")));
            }
            "MEMTRANS" => {
                self.push(before, format!("transaction {}", rest.trim_end_matches(')').to_lowercase()));
            }
            "ADDR_NACC" => self.push(before, format!("no code at {:#x}", number(" "))),
            "I_RANGE_NOPATH" => {
                self.happened(before);
                let count = number("num_i(");
                self.push(before, format!("no path from {:#x}, {count} instructions", number("first ")));
            }
            // Its own messages.
            "NO_SYNC" if rest.contains("decoder]") => {}
            "NO_SYNC" => self.push(before, "gap: discarded".to_string()),
            "EO_TRACE" => {}
            _ => self.push(before, text.to_string()),
        }
    }
}

fn context(context: &Context) -> String {
    let level = match context.privilege {
        Some(level) => level.as_str().trim_start_matches("el").to_string(),
        None => "?".to_string(),
    };
    let security = match context.security {
        Some(Security::Secure) => "S",
        Some(Security::NonSecure) => "N",
        Some(Security::Root) => "Root",
        Some(Security::Realm) => "Realm",
        _ => "?",
    };
    let bits = if context.isa == Some(Isa::A64) { 64 } else { 32 };
    format!("context EL{level}{security} {bits} bits{}", ids(context.vmid, context.context_id))
}

fn ids(vmid: Option<u64>, context_id: Option<u64>) -> String {
    let word = |id: Option<u64>, name| id.map_or(String::new(), |id| format!(" {name} {id:#x}"));
    word(vmid, "vmid") + &word(context_id, "context id")
}
