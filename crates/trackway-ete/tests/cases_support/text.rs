//! Events and elements as short lines.

use trackway_core::{Batch, EventKind, Source};
use trackway_ete::{Action, Element};

/// Events as short lines; an error is a line too, after which decoding continues.
pub(crate) fn events(lift: &mut dyn Source) -> Vec<String> {
    let mut out = Vec::new();
    let mut batch = Batch::default();
    loop {
        match lift.fill(&mut batch) {
            Ok(false) => return out,
            Ok(true) => out.extend(batch.events.iter().map(|event| line(&batch, &event.kind))),
            Err(error) => {
                out.push(format!("error {error}"));
                if !lift.resync().unwrap() {
                    return out;
                }
            }
        }
    }
}

fn line(batch: &Batch, kind: &EventKind) -> String {
    let hex = |value: Option<u64>| value.map_or("?".to_string(), |value| format!("{value:x}"));
    match kind {
        EventKind::Run(run) => {
            let taken = run.taken.map_or("", |taken| if taken { " E" } else { " N" });
            let flags =
                [(run.attempted, " attempted"), (run.doubtful, " doubtful"), (run.withdrawn, " withdrawn")];
            let flags: String = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).collect();
            format!("{:x}-{:x} {} {}{taken}{flags}", run.start, run.end, run.count, run.exit.as_str())
        }
        EventKind::Trap(index) => {
            let trap = &batch.traps[*index as usize];
            let cause = trap.cause.map_or(String::new(), |cause| format!(" {cause}"));
            format!("trap {}{cause} {}->{}", trap.kind.as_str(), hex(trap.from), hex(trap.to))
        }
        EventKind::Context(index) => {
            let context = &batch.contexts[*index as usize];
            if let Some(halted) = context.unsupported {
                return if halted { "halted" } else { "resumed" }.to_string();
            }
            if context.privilege.is_none() {
                return format!("isa {}", context.isa.unwrap().as_str());
            }
            let id = |id: Option<u64>, name| id.map_or(String::new(), |id| format!(" {name}={id:x}"));
            format!(
                "context {} {} {}{}{}",
                context.privilege.unwrap().as_str(),
                context.security.unwrap().as_str(),
                context.isa.unwrap().as_str(),
                id(context.context_id, "cid"),
                id(context.vmid, "vmid")
            )
        }
        EventKind::Time(time) => {
            format!(
                "{} {}",
                time.kind.as_str(),
                time.value.map_or("?".to_string(), |value| value.to_string())
            )
        }
        EventKind::Mark(mark) => {
            let value = mark.value.map_or(String::new(), |value| format!(" {value:x}"));
            format!("mark {}{value}", mark.kind.as_str())
        }
        EventKind::Gap(index) => {
            let gap = &batch.gaps[*index as usize];
            let number =
                |value: Option<u64>, name: &str| value.map_or(String::new(), |n| format!(" {n} {name}"));
            format!(
                "gap {} {}->{}{}{}",
                gap.reason.as_str(),
                hex(gap.from),
                hex(gap.to),
                number(gap.instructions, "instructions"),
                number(gap.bytes, "bytes")
            )
        }
        other => format!("{other:?}"),
    }
}

/// An action of stage 1.
pub(crate) fn action(action: &Action) -> String {
    match action {
        Action::Emit(element) | Action::EmitP0(element) => self::element(element),
        Action::Commit(count) => format!("commit({count})"),
        Action::Cancel(count) => format!("cancel({count})"),
        Action::Discard => "discard".to_string(),
    }
}

fn element(element: &Element) -> String {
    match element {
        Element::TraceInfo { .. } => "trace_info".to_string(),
        Element::TraceOn => "trace_on".to_string(),
        Element::Context(context) => {
            context.context_id.map_or("context".to_string(), |id| format!("context({id:x})"))
        }
        Element::TargetAddress(entry) => format!("address({:x})", entry.address),
        Element::SourceAddress(entry) => format!("source({:x})", entry.address),
        Element::Atom { taken } => format!("atom({})", if *taken { 'E' } else { 'N' }),
        Element::Exception { number, return_address } => {
            let address = return_address.map_or("?".to_string(), |entry| format!("{:x}", entry.address));
            format!("exception({number}, {address})")
        }
        Element::Mispredict => "mispredict".to_string(),
        Element::TransactionStart => "transaction_start".to_string(),
        Element::TransactionCommit => "transaction_commit".to_string(),
        Element::TransactionFailure => "transaction_failure".to_string(),
        Element::Timestamp { value, .. } => format!("timestamp({value})"),
        other => format!("{other:?}"),
    }
}
