//! Is a trace legal? One named rule per finding.

use trackway_core::{Finding, Input, Result, Rule, Severity};

use crate::config::Config;
use crate::port::privilege_of;
use crate::wire::instruction::{Layout, Packet, Reported, ones, qual_status};
use crate::wire::{Content, Reader, Received};

mod data;
use data::DataState;

macro_rules! rules {
    ($($(#[doc = $about:literal])* $name:ident = $word:literal, $severity:ident, $section:literal;)*) => {
        $($(#[doc = $about])* pub(crate) const $name: Rule = Rule {
            name: $word,
            severity: Severity::$severity,
            section: $section,
            demand: concat!($($about),*),
                old: "",
            };)*
        /// All rules.
        pub const RULES: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    /// A packet can be read by the parameters given.
    READABLE = "readable", Error, "E-Trace 6";
    /// Flow packets follow a synchronisation packet.
    SYNC_FIRST = "sync-first", Error, "E-Trace 6.2";
    /// A support packet tells the modes before the first synchronisation.
    SUPPORT_FIRST = "support-first", Warning, "E-Trace 6.5";
    /// Where no depth is reported, irdepth repeats the bit before it.
    IRDEPTH_FILL = "irdepth-fill", Error, "E-Trace 6.6";
    /// A report that says updiscon is followed by a format 3 packet.
    UPDISCON_SYNC = "updiscon-sync", Error, "E-Trace 6.6.2";
    /// A trap packet without the handler's address is followed by one that tells where it is.
    HANDLER_FOLLOWS = "handler-follows", Error, "E-Trace 6.3";
    /// The privilege is one of those defined.
    PRIVILEGE = "privilege", Warning, "E-Trace 6.2";
    /// Modes that are on are modes that the parameters have.
    MODES = "modes", Error, "E-Trace 9.1";
    /// The algorithm is branch trace.
    ENCODER_MODE = "encoder-mode", Warning, "E-Trace 6.5";
    /// Packets are no longer than sign extension makes necessary.
    COMPRESSED = "compressed", Note, "E-Trace 6";
    /// Bits behind the last field repeat it.
    SPARE_BITS = "spare-bits", Warning, "E-Trace 6";
    /// Time does not go back.
    TIME = "time", Warning, "E-Trace 6.2";
    /// After a synchronisation the first data packet of a size has address and data in full.
    DATA_FULL = "data-full", Error, "E-Trace 7.1.3";
    /// Codes of data packets are not reserved.
    DATA_CODES = "data-codes", Error, "E-Trace 7";
    /// The data of a split load follow its request, and no id is used twice at once.
    SPLIT_LOADS = "split-loads", Error, "E-Trace 4.4";
    /// Data packets come while data trace is on.
    DATA_ENABLED = "data-enabled", Warning, "E-Trace 6.5";
}

/// What the packets so far demand of the next.
#[derive(Default)]
struct State {
    supported: bool,
    synced: bool,
    updiscon: bool,
    trapped: bool,
    time: Option<u64>,
    data: DataState,
}

/// Checks a trace; gives the number of packets.
pub fn check(input: Input, config: &Config, report: &mut dyn FnMut(Finding)) -> Result<u64> {
    let mut reader = Reader::new(input, config);
    let mut state = State::default();
    let mut items = 0;
    loop {
        let (layout, data_layout) = (*reader.layout(), *reader.data_layout());
        let offset = reader.offset();
        let mut tell =
            |rule: &'static Rule, message: String| report(Finding { rule, offset, item: items, message });
        match reader.read() {
            Ok(None) => return Ok(items),
            Ok(Some(item)) => match &item.content {
                Content::Instruction(received) => {
                    state.check(received, &layout, config, &mut tell);
                    state.data.follow(&received.packet, config);
                }
                Content::Data(received) => state.data.check(received, &data_layout, &mut tell),
                Content::Other(_) => {}
            },
            Err(error) => {
                tell(&READABLE, error.to_string());
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
        tell: &mut dyn FnMut(&'static Rule, String),
    ) {
        let packet = &exact.packet;
        let is_flow =
            !matches!(packet, Packet::Start(_) | Packet::Trap(_) | Packet::Context(_) | Packet::Support(_));
        if is_flow && !self.synced {
            tell(&SYNC_FIRST, format!("{} without a synchronisation before it", packet.title()));
            self.synced = true; // once is enough
        }
        if packet.is_sync() && !self.supported {
            tell(&SUPPORT_FIRST, "no support packet before this one".into());
            self.supported = true;
        }
        if std::mem::take(&mut self.updiscon) && is_flow {
            tell(&UPDISCON_SYNC, format!("{} after a report that announced format 3", packet.title()));
        }
        if self.trapped && is_flow {
            tell(&HANDLER_FOLLOWS, format!("{} after a trap whose handler is not told", packet.title()));
        }
        if is_flow || matches!(packet, Packet::Start(_)) {
            self.trapped = false;
        }
        if exact.packet.write(layout, true).bytes().len() < exact.bits.div_ceil(8) as usize {
            tell(&COMPRESSED, format!("{} bits, fewer would do", exact.bits));
        }
        if !exact.spare.is_empty() {
            tell(&SPARE_BITS, format!("{:02x?} behind the last field", exact.spare));
        }
        let mut privilege = |code: u32| {
            if privilege_of(code).is_none() {
                tell(&PRIVILEGE, format!("privilege {code} is reserved"));
            }
        };
        let mut time = None;
        match packet {
            Packet::Address(reported) => self.check_reported(reported, layout, tell),
            Packet::Branches(packet) if packet.branches != 0 => {
                self.check_reported(&packet.reported, layout, tell);
            }
            Packet::BranchCount(packet) if packet.branch_fmt != 0 => {
                self.check_reported(&packet.reported, layout, tell);
            }
            Packet::JumpTarget(jump)
                if !jump.irreport && jump.irdepth != jump.without_depth(layout).irdepth =>
            {
                tell(&IRDEPTH_FILL, format!("irdepth is {:#x}", jump.irdepth));
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
                    tell(&ENCODER_MODE, format!("encoder_mode is {}", support.encoder_mode));
                }
                if support.qual_status != qual_status::NO_CHANGE {
                    self.synced = false;
                }
                let options = config.options_after(support.ioptions, support.doptions, config.options);
                if let Err(error) = (Config { options, ..config.clone() }).check() {
                    tell(&MODES, error.to_string());
                }
            }
            _ => {}
        }
        if layout.time > 0
            && let Some(now) = time
        {
            if self.time.is_some_and(|before| now < before) {
                tell(&TIME, format!("{now} after {}", self.time.unwrap_or(0)));
            }
            self.time = Some(now);
        }
    }

    fn check_reported(
        &mut self,
        reported: &Reported,
        layout: &Layout,
        tell: &mut dyn FnMut(&'static Rule, String),
    ) {
        self.updiscon = reported.updiscon;
        let fill = reported.without_depth(layout).irdepth;
        if !reported.irreport && reported.irdepth & ones(layout.irdepth) != fill {
            tell(&IRDEPTH_FILL, format!("irdepth is {:#x}", reported.irdepth));
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
    fn finds_what_is_wrong_and_nothing_else() {
        let support = Packet::Support(Support { enable: true, ..Support::default() });
        let start = Packet::Start(Start { branch: true, privilege: 3, address: 16, ..Start::default() });
        let address = Packet::Address(Reported { address: 2, ..Reported::default() });
        let updiscon = Packet::Address(Reported { address: 2, updiscon: true, ..Reported::default() });
        assert_eq!(names(&[support, start, address, updiscon, start]), [""; 0]);
        assert_eq!(names(&[start]), ["support-first"]);
        assert_eq!(names(&[support, address]), ["sync-first"]);
        assert_eq!(names(&[support, start, updiscon, address]), ["updiscon-sync"]);
        let cached = Packet::Support(Support { enable: true, ioptions: 8, ..Support::default() });
        assert_eq!(names(&[cached]), ["modes"]);
        let reserved = Packet::Start(Start { branch: true, privilege: 2, address: 16, ..Start::default() });
        assert_eq!(names(&[support, reserved]), ["privilege"]);
    }

    #[test]
    fn rules_have_names_of_their_own() {
        for (n, rule) in RULES.iter().enumerate() {
            assert!(RULES[n + 1..].iter().all(|other| other.name != rule.name), "{}", rule.name);
        }
    }
}
