//! Checks packets against the rules of [`rules`](crate::rules).

use trackway_core::{Batch, ErrorKind, EventKind, Finding, Gap, GapReason, Input, Result, Rule, Source};

use crate::config::Config;
use crate::port::privilege_of;
use crate::rules::*;
use crate::wire::instruction::{Layout, Packet, Reported, ones, qual_status};
use crate::wire::{Content, Reader, Received};

mod data;
use data::DataState;

/// Demands of the packets so far on the next one.
#[derive(Default)]
struct State {
    /// A support packet has reported the modes.
    supported: bool,
    /// Flow packets are allowed.
    synced: bool,
    /// The last report announced a format 3 packet.
    updiscon: bool,
    /// A trap was reported without its handler.
    trapped: bool,
    time: Option<u64>,
    data: DataState,
}

/// Checks a trace; returns the number of packets.
pub fn check(input: Input, config: &Config, report: &mut dyn FnMut(Finding)) -> Result<u64> {
    check_packets(Reader::new(input, config), config, Vec::new(), report)
}

/// A finding that is known before the packets are read: its rule, and an error with its place.
type Known = (&'static Rule, trackway_core::Error);

/// Most findings about the program that are kept.
const MOST_KNOWN: usize = 10_000;

/// Follows the packets through the program and collects contradictions.
pub(crate) fn check_program(events: &mut dyn Source, findings: &mut Vec<Known>) -> Result<()> {
    let mut batch = Batch::default();
    loop {
        let more = match events.fill(&mut batch) {
            Ok(more) => more,
            Err(error) => {
                // Packets that cannot be read, or are of another dialect, have a rule of their own.
                if matches!(error.kind, ErrorKind::Reason { .. }) && error.field != "dialect" {
                    findings.push((&PROGRAM, error));
                }
                if !events.resync()? {
                    return Ok(());
                }
                true
            }
        };
        for event in &batch.events {
            if let EventKind::Gap(n) = event.kind
                && let Gap { reason: GapReason::NoCode, from: Some(pc), .. } = batch.gaps[n as usize]
            {
                let kind = ErrorKind::Reason { text: "no code at {:#x}", value: pc };
                findings.push((&CODE, kind.at(event.offset, "packet", "address", "")));
            }
        }
        batch.clear();
        if !more || findings.len() > MOST_KNOWN {
            return Ok(());
        }
    }
}

/// As [`check`], with findings that are known already.
pub(crate) fn check_packets(
    mut reader: Reader,
    config: &Config,
    mut known: Vec<Known>,
    report: &mut dyn FnMut(Finding),
) -> Result<u64> {
    known.sort_by_key(|(_, error)| error.offset);
    let mut known = known.into_iter().peekable();
    let mut state = State::default();
    let mut items = 0;
    loop {
        let (layout, data_layout) = (*reader.layout(), *reader.data_layout());
        let offset = reader.offset();
        let mut violate =
            |rule: &'static Rule, message: String| report(Finding { rule, offset, item: items, message });
        let read = reader.read();
        let end = if matches!(read, Ok(None)) { u64::MAX } else { reader.offset() };
        while let Some((rule, error)) = known.next_if(|(_, error)| error.offset < end) {
            violate(rule, error.kind.to_string());
        }
        match read {
            Ok(None) => return Ok(items),
            Ok(Some(item)) => match &item.content {
                Content::Instruction(received) => {
                    state.check(received, &layout, config, &mut violate);
                    state.data.follow(&received.packet, config);
                }
                Content::Data(received) => state.data.check(received, &data_layout, &mut violate),
                Content::Other(_) => {}
            },
            Err(error) => {
                violate(&READABLE, error.to_string());
                if error.is_truncated() || reader.resync()?.is_none() {
                    return Ok(items + 1);
                }
            }
        }
        items += 1;
    }
}

impl State {
    fn check(
        &mut self,
        exact: &Received<Packet>,
        layout: &Layout,
        config: &Config,
        violate: &mut dyn FnMut(&'static Rule, String),
    ) {
        let packet = &exact.packet;
        let is_flow = !packet.is_format_3();
        if is_flow && !self.synced {
            violate(&SYNC_FIRST, format!("{} without a synchronisation before it", packet.title()));
            self.synced = true; // report it once
        }
        if packet.is_sync() && !self.supported {
            violate(&SUPPORT_FIRST, "no support packet before this one".into());
            self.supported = true;
        }
        if std::mem::take(&mut self.updiscon) && is_flow {
            violate(&UPDISCON_SYNC, format!("{} after a report that announced format 3", packet.title()));
        }
        if self.trapped && is_flow {
            violate(
                &HANDLER_FOLLOWS,
                format!("{} after a trap whose handler is not reported", packet.title()),
            );
        }
        if is_flow || matches!(packet, Packet::Start(_)) {
            self.trapped = false;
        }
        if exact.wastes(exact.packet.write(layout, true).bytes()) {
            violate(&COMPRESSED, format!("{} bits, fewer are enough", exact.bits));
        }
        if !exact.spare.is_empty() {
            violate(&SPARE_BITS, format!("{:02x?} after the last field", exact.spare));
        }
        let mut privilege = |code: u32| {
            if privilege_of(code).is_none() {
                violate(&PRIVILEGE, format!("privilege {code} is reserved"));
            }
        };
        let mut time = None;
        match packet {
            Packet::Address(reported) => self.check_reported(reported, layout, violate),
            Packet::Branches(packet) if packet.branches != 0 => {
                self.check_reported(&packet.reported, layout, violate);
            }
            Packet::BranchCount(packet) if packet.branch_fmt != 0 => {
                self.check_reported(&packet.reported, layout, violate);
            }
            Packet::JumpTarget(jump)
                if !jump.irreport && jump.irdepth != jump.without_depth(layout).irdepth =>
            {
                violate(&IRDEPTH_FILL, format!("irdepth is {:#x}", jump.irdepth));
            }
            Packet::Start(start) => {
                privilege(start.privilege);
                time = Some(start.time);
                self.synced = true;
            }
            Packet::Trap(trap) => {
                privilege(trap.privilege);
                time = Some(trap.time);
                self.synced |= trap.thaddr;
                self.trapped = !trap.thaddr;
            }
            Packet::Context(context) => {
                privilege(context.privilege);
                time = Some(context.time);
            }
            Packet::Support(support) => {
                self.supported = true;
                if support.encoder_mode != 0 {
                    violate(&ENCODER_MODE, format!("encoder_mode is {}", support.encoder_mode));
                }
                if support.qual_status != qual_status::NO_CHANGE {
                    self.synced = false;
                }
                let options = config.options_after(support.ioptions, support.doptions, config.options);
                if let Err(error) = (Config { options, ..config.clone() }).check() {
                    violate(&MODES, error.to_string());
                }
            }
            _ => {}
        }
        if layout.time > 0
            && let Some(now) = time
        {
            if self.time.is_some_and(|before| now < before) {
                violate(&TIME, format!("{now} after {}", self.time.unwrap_or(0)));
            }
            self.time = Some(now);
        }
    }

    fn check_reported(
        &mut self,
        reported: &Reported,
        layout: &Layout,
        violate: &mut dyn FnMut(&'static Rule, String),
    ) {
        self.updiscon = reported.updiscon;
        let fill = reported.without_depth(layout).irdepth;
        if !reported.irreport && reported.irdepth & ones(layout.irdepth) != fill {
            violate(&IRDEPTH_FILL, format!("irdepth is {:#x}", reported.irdepth));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Writer;
    use crate::wire::instruction::{Start, Support};

    fn names(packets: &[Packet]) -> Vec<&'static str> {
        let config = Config::default();
        let mut writer = Writer::new(&config);
        for packet in packets {
            writer.write(packet, None).unwrap();
        }
        let mut names = Vec::new();
        check(Input::from_vec(writer.bytes), &config, &mut |finding| names.push(finding.rule.name)).unwrap();
        names
    }

    #[test]
    fn finds_violations_and_nothing_else() {
        let support = Packet::Support(Support { enable: true, ..Support::default() });
        let start = Packet::Start(Start { branch: true, privilege: 3, address: 16, ..Start::default() });
        let address = Packet::Address(Reported { address: 2, ..Reported::default() });
        let updiscon = Packet::Address(Reported { address: 2, updiscon: true, ..Reported::default() });
        assert_eq!(names(&[support, start, address, updiscon, start]), [""; 0]);
        assert_eq!(names(&[start]), ["etrace.support-first"]);
        assert_eq!(names(&[support, address]), ["etrace.sync-first"]);
        assert_eq!(names(&[support, start, updiscon, address]), ["etrace.updiscon-sync"]);
        let cached = Packet::Support(Support { enable: true, ioptions: 8, ..Support::default() });
        assert_eq!(names(&[cached]), ["etrace.modes"]);
        let reserved = Packet::Start(Start { branch: true, privilege: 2, address: 16, ..Start::default() });
        assert_eq!(names(&[support, reserved]), ["etrace.privilege"]);
    }
}
