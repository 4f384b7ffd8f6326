//! The control fields of chapter 2, by the packets that the trace unit then emits.

use trackway_core::*;
use trackway_etrace::encode::TraceUnit;
use trackway_etrace::port::{Block, Cycle, DataPort, Dtype, Itype, Lresp, Trigger};
use trackway_etrace::registers::{
    BASIC_FIELDS, COMPARATOR_FIELDS, FILTER_FIELDS, Group, MODE_FIELDS, SELECTION_FIELDS,
};
use trackway_etrace::wire::data;
use trackway_etrace::wire::instruction::{Packet, Support};
use trackway_etrace::{Config, Reader};

/// Packets by name; support packets with their fields.
fn names(config: &Config, bytes: Vec<u8>) -> Vec<String> {
    let mut reader = Reader::new(Input::from_vec(bytes), config);
    let mut names = Vec::new();
    while let Some(item) = reader.read().unwrap() {
        names.push(match (item.packet(), item.data()) {
            (Some(Packet::Support(Support { enable, qual_status, denable, .. })), _) => {
                format!("support i{} d{} q{qual_status}", u8::from(*enable), u8::from(*denable))
            }
            (Some(packet), _) => packet.name().to_string(),
            (None, Some(packet)) => packet.name().to_string(),
            (None, None) => "null".to_string(),
        });
    }
    names
}

fn plain(pc: u64) -> Block {
    Block::single(Itype::NONE, pc, true, 1)
}

struct Bench {
    config: Config,
    unit: TraceUnit,
    now: u64,
}

impl Bench {
    fn new(toml: &str) -> Self {
        let config = Config::from_toml(&format!("iaddress_width = 64\n{toml}")).unwrap();
        let unit = TraceUnit::new(&config).unwrap();
        Bench { config, unit, now: 0 }
    }

    /// On, with instruction trace and data trace as asked for.
    fn enabled(toml: &str, denable: u64) -> Self {
        let mut bench = Bench::new(toml);
        bench.set("active", 1);
        bench.set("iEnable", 1);
        if denable > 0 {
            bench.set("dEnable", 1);
        }
        bench
    }

    fn set(&mut self, name: &str, value: u64) {
        self.unit.write(name, value, self.now).unwrap();
    }

    fn blocks(&mut self, blocks: &[Block]) {
        self.cycle(Cycle { blocks, ..Cycle::default() });
    }

    fn cycle(&mut self, cycle: Cycle<'_>) {
        self.now += 1;
        self.unit.cycle(&Cycle { privilege: 3, cycle: self.now, ..cycle }).unwrap();
    }

    fn names(&mut self) -> Vec<String> {
        let bytes = self.unit.take();
        names(&self.config, bytes)
    }
}

/// Tables 2.1 to 2.6: names, widths, groups and access as printed.
#[test]
fn tables_2_1_to_2_6_fields() {
    let basic: Vec<_> =
        BASIC_FIELDS.iter().map(|field| (field.name, field.width, field.group, field.writable)).collect();
    use Group::*;
    assert_eq!(
        basic,
        [
            ("Active", 1, M, true),
            ("iEnable", 1, M, true),
            ("dEnable", 1, MD, true),
            ("iTrigEnable", 1, O, true),
            ("dTrigEnable", 1, OD, true),
            ("stallEnable", 1, O, true),
            ("Empty", 1, O, false),
            ("ResyncMode", 2, M, true),
            ("ResyncMax", 4, O, true),
        ]
    );
    let widths =
        |list: Vec<(&'static str, u32)>| list.into_iter().map(|(_, width)| width).collect::<Vec<_>>();
    let modes = MODE_FIELDS.iter().map(|field| (field.name, field.width)).collect();
    assert_eq!(widths(modes), [1, 1, 1, 1, 1, 1, 1, 1, 2]);
    assert!(SELECTION_FIELDS.iter().all(|field| field.width == 16));
    let filter: u32 = FILTER_FIELDS.iter().map(|field| field.width).sum();
    // 10 single bits and 3 comparator numbers; then choices, masks and values.
    assert_eq!(filter, 10 + 9 + 8 + 1 + 32 + 32 + 32 + 16 + 8);
    let comparator: Vec<_> = COMPARATOR_FIELDS.iter().map(|field| field.width).collect();
    assert_eq!(comparator, [2, 2, 3, 3, 2, 64, 64, 1, 1]);
}

/// Table 2.1, Active: nothing can be reached without it; clearing it ends the trace.
#[test]
fn table_2_1_active() {
    let mut bench = Bench::new("");
    assert_eq!(bench.unit.read("active"), Some(0));
    assert_eq!(bench.unit.read("iEnable"), None);
    assert!(bench.unit.write("iEnable", 1, 0).is_err());
    bench.blocks(&[plain(0x8000)]);
    bench.set("active", 1);
    assert_eq!(bench.unit.read("IENABLE"), Some(0), "names in any case");
    bench.blocks(&[plain(0x8004)]);
    bench.set("iEnable", 1);
    bench.blocks(&[plain(0x8008)]);
    bench.blocks(&[plain(0x800c)]);
    bench.set("active", 0);
    assert_eq!(bench.names(), ["support i1 d0 q0", "3/0", "2", "support i0 d0 q1"]);
    bench.set("active", 1);
    assert_eq!(bench.unit.read("iEnable"), Some(0));
    assert!(bench.unit.write("empty", 1, 0).is_err());
    assert!(bench.unit.write("nothing", 1, 0).is_err());
}

/// Table 2.1, iEnable and Empty: clearing flushes; without instructions in between a support packet reports it.
#[test]
fn table_2_1_enable_flush_empty() {
    let mut bench = Bench::enabled("", 0);
    assert_eq!(bench.unit.read("empty"), Some(1));
    bench.blocks(&[plain(0x8000), plain(0x8004)]);
    assert_eq!(bench.unit.read("empty"), Some(0));
    bench.set("iEnable", 0);
    assert_eq!(bench.unit.read("empty"), Some(0), "not taken away yet");
    assert_eq!(bench.names(), ["support i1 d0 q0", "3/0", "2", "support i0 d0 q1"]);
    assert_eq!(bench.unit.read("empty"), Some(1));
    bench.blocks(&[plain(0x8008)]);
    assert_eq!(bench.names(), [""; 0]);
    bench.set("iEnable", 1);
    bench.blocks(&[plain(0x800c)]);
    bench.cycle(Cycle { halted: true, ..Cycle::default() });
    assert_eq!(bench.names(), ["support i1 d0 q0", "3/0", "support i0 d0 q1"]);
    // Nothing was traced since: the end is reported all the same.
    bench.set("iEnable", 0);
    assert_eq!(bench.names(), ["support i0 d0 q0"]);
}

/// Tables 2.1 and 4.7: enabled triggers switch on before their block and off after it.
#[test]
fn section_4_2_4_triggers() {
    let on = Trigger { on: true, ..Trigger::default() };
    let off = Trigger { off: true, ..Trigger::default() };
    let notify = Trigger { notify: true, ..Trigger::default() };
    let at = |pc, trigger| Block { trigger, ..plain(pc) };
    let sequence = [at(0x8000, on), plain(0x8004), at(0x8008, off), plain(0x800c)];
    let mut bench = Bench::new("");
    bench.set("active", 1);
    bench.blocks(&sequence);
    assert_eq!(bench.names(), [""; 0], "not enabled");
    bench.set("iTrigEnable", 1);
    bench.blocks(&sequence);
    assert_eq!(bench.names(), ["support i1 d0 q0", "3/0", "2", "support i0 d0 q1"]);
    assert_eq!(bench.unit.read("iEnable"), Some(0));
    bench.set("iEnable", 1);
    bench.blocks(&[plain(0x9000), at(0x9004, notify), plain(0x9008)]);
    bench.set("iTrigEnable", 0);
    bench.blocks(&[at(0x900c, off), plain(0x9010)]);
    bench.set("iEnable", 0);
    assert_eq!(bench.names(), ["support i1 d0 q0", "3/0", "2", "2", "support i0 d0 q1"]);
}

/// Table 2.1, dEnable and dTrigEnable: data trace alone, and with instruction trace.
#[test]
fn table_2_1_data_enable() {
    let store = |daddr| DataPort {
        dretire: true,
        dtype: Dtype::STORE,
        daddr,
        dsize: 2,
        data: 5,
        ..DataPort::default()
    };
    let mut bench = Bench::new("[data]");
    bench.set("active", 1);
    bench.set("dEnable", 1);
    let block = [plain(0x8000)];
    bench.cycle(Cycle { blocks: &block, data: &[store(0x100)], ..Cycle::default() });
    assert_eq!(bench.names(), ["support i0 d1 q0", "store"]);
    bench.set("iEnable", 1);
    bench.cycle(Cycle { blocks: &[plain(0x8004)], data: &[store(0x104)], ..Cycle::default() });
    bench.cycle(Cycle { blocks: &[plain(0x8008)], data: &[store(0x108)], ..Cycle::default() });
    bench.set("dEnable", 0);
    bench.cycle(Cycle { blocks: &[plain(0x800c)], data: &[store(0x10c)], ..Cycle::default() });
    bench.set("iEnable", 0);
    assert_eq!(
        bench.names(),
        [
            "support i1 d1 q0",
            "3/0",
            "store",
            "store",
            "2",
            "support i0 d1 q1",
            "support i1 d0 q0",
            "3/0",
            "support i0 d0 q1"
        ]
    );
    // Triggers.
    bench.set("dTrigEnable", 1);
    let on = Block { trigger: Trigger { on: true, ..Trigger::default() }, ..plain(0x8010) };
    bench.cycle(Cycle { blocks: &[on], data: &[store(0x110)], ..Cycle::default() });
    assert_eq!(bench.names(), ["support i0 d1 q0", "store"]);
    assert_eq!((bench.unit.read("iEnable"), bench.unit.read("dEnable")), (Some(0), Some(1)));
    assert!(Bench::enabled("", 0).unit.write("dEnable", 1, 0).is_err(), "no data trace at all");
}

/// Table 2.1, ResyncMode and ResyncMax: by packets, cycles, half-words, and not at all.
#[test]
fn table_2_1_resync() {
    // A loop of an indirect jump: one packet, two cycles and three half-words per round.
    let count = |mode: u64, max: u64, rounds: usize| {
        let mut bench = Bench::enabled("[encoder]\nexact = false", 0);
        bench.set("ResyncMode", mode);
        bench.set("ResyncMax", max);
        assert_eq!((bench.unit.read("ResyncMode"), bench.unit.read("resyncmax")), (Some(mode), Some(max)));
        for _ in 0..rounds {
            bench.blocks(&[plain(0x8000)]);
            bench.blocks(&[Block::single(Itype::OTHER_UNINFERABLE_JUMP, 0x8004, true, 0)]);
        }
        bench.set("iEnable", 0);
        bench.names().iter().filter(|name| *name == "3/0").count()
    };
    assert_eq!(count(0, 0, 200), 1);
    // The interval is 2^(max + 4); each synchronisation comes a little later than it is due.
    for (mode, units) in [(1, 200), (2, 400), (3, 600)] {
        let (short, long) = (count(mode, 0, 200), count(mode, 2, 200));
        let most = units / 16 + 1;
        assert!(short <= most && short * 4 >= most * 3, "{mode}: {short}");
        assert!(long < short / 2 && long >= 3, "{mode}: {long}");
    }
}

/// Table 2.1, stallEnable: with it the core waits, without it trace is lost and said to be.
#[test]
fn table_2_1_stall_enable() {
    let run = |stall: u64| {
        let mut bench = Bench::enabled("[encoder]\nbuffer = 64\ndrain = 64", 0);
        bench.set("stallEnable", stall);
        for n in 0..2000 {
            let jump = Block::single(Itype::OTHER_UNINFERABLE_JUMP, 0x8000 + n * 0x1_0000, true, 1);
            bench.blocks(&[jump]);
        }
        let stalled = bench.unit.encoder().stalled;
        let lost = bench.names().iter().filter(|name| name.ends_with("q2")).count();
        (stalled > 0, lost > 0)
    };
    assert_eq!(run(0), (false, true));
    assert_eq!(run(1), (true, false));
}

/// Table 2.2: a change of modes ends the trace, and a support packet reports it.
#[test]
fn table_2_2_modes() {
    let more = "bpred_size = 4\ncache_size = 4\nf0s_width = 1\nreturn_stack_size = 3\nsijump = 1\nsupport_layout = 'all'
        [data]";
    for field in MODE_FIELDS {
        let mut bench = Bench::enabled(more, 1);
        assert!(bench.unit.read(field.name).is_some());
        let value = if field.width == 2 { 2 } else { 1 };
        bench.blocks(&[plain(0x8000)]);
        bench.blocks(&[plain(0x8004)]);
        let before = bench.unit.read(field.name).unwrap();
        bench.set(field.name, value);
        assert_eq!(bench.unit.read(field.name), Some(value), "{} was {before}", field.name);
        bench.blocks(&[plain(0x8008)]);
        bench.set("iEnable", 0);
        let names = bench.names();
        let ends = ["support i1 d1 q0", "3/0", "2", "support i0 d1 q1", "support i1 d1 q0", "3/0"];
        assert_eq!(names[..6], ends, "{}", field.name);
    }
    // Modes that the parameters do not support are refused, and nothing changes.
    let mut bench = Bench::enabled("", 0);
    assert!(bench.unit.write("BranchPrediction", 1, 0).is_err());
    assert_eq!(bench.unit.read("BranchPrediction"), Some(0));
}

/// Packets follow the modes of the support packet.
#[test]
fn table_2_2_data_modes_on_the_wire() {
    let mut bench = Bench::enabled("[data]", 1);
    let load = |daddr| DataPort {
        dretire: true,
        dtype: Dtype::LOAD,
        daddr,
        dsize: 3,
        data: 0x77,
        ..DataPort::default()
    };
    let mut forms = Vec::new();
    for (field, value) in [("noAddress", 0), ("noAddress", 1), ("noAddress", 0), ("noData", 1)] {
        bench.set(field, value);
        bench.cycle(Cycle { blocks: &[plain(0x8000)], data: &[load(0x4000)], ..Cycle::default() });
    }
    bench.set("iEnable", 0);
    let mut reader = Reader::new(Input::from_vec(bench.unit.take()), &bench.config);
    loop {
        let layout = *reader.data_layout();
        let Some(item) = reader.read().unwrap() else { break };
        if let Some(data::Packet::LoadStore(packet)) = item.data() {
            forms.push((layout.has_address, layout.has_data, packet.address, packet.data));
        }
    }
    assert_eq!(
        forms,
        [
            (true, true, 0x800, 0x77),
            (false, true, 0, 0x77),
            (true, true, 0x800, 0x77),
            (true, false, 0x800, 0)
        ]
    );
}

/// Tables 2.3 to 2.6 by register: a filter on privilege and a comparator on implementation-defined inputs.
#[test]
fn tables_2_3_to_2_6_registers() {
    let mut bench = Bench::enabled("filters = 2\ncomparators = 2\nfilter_impdef = 1\nimpdef_width = 8", 0);
    bench.set("filter1.filterEnable", 1);
    bench.set("filter1.matchImpdef", 1);
    bench.set("filter1.matchMaskImpdef", 0xf0);
    bench.set("filter1.matchValueImpdef", 0x52);
    bench.set("filter1.matchComp1", 1);
    bench.set("filter1.comp1", 1);
    bench.set("comparator1.pFunction", 5);
    bench.set("comparator1.pMatch", 0x8008);
    bench.set("iFilters", 2);
    assert_eq!(bench.unit.read("comparator1.pMatch"), Some(0x8008));
    assert_eq!(bench.unit.read("filter2.comp1"), None);
    for (pc, impdef) in [(0x8004, 0x51), (0x8008, 0x40), (0x800c, 0x5f), (0x8010, 0x50), (0x8014, 0x60)] {
        bench.cycle(Cycle { blocks: &[plain(pc)], impdef, ..Cycle::default() });
    }
    bench.set("iEnable", 0);
    let mut reader = Reader::new(Input::from_vec(bench.unit.take()), &bench.config);
    let mut starts = Vec::new();
    while let Some(item) = reader.read().unwrap() {
        if let Some(Packet::Start(start)) = item.packet() {
            starts.push(start.address << 1);
        }
    }
    assert_eq!(starts, [0x800c]);
    // 0x800c and 0x8010 were traced: a start, the last address, the end.
    let mut again = Bench::enabled("", 0);
    again.blocks(&[plain(0x800c)]);
    again.blocks(&[plain(0x8010)]);
    again.set("iEnable", 0);
    assert_eq!(again.names(), ["support i1 d0 q0", "3/0", "2", "support i0 d0 q1"]);
}

/// Table 4.9 at the port: two blocks in a cycle, low address bits, and a split load whose data come with nothing else.
#[test]
fn section_4_4_interface() {
    let more = "taken_branches = 2\nretires = 4\niaddr_lsbs_width = 4\ndblock_width = 1\nlrid_width = 2\ndfilters = [0]
        [data]
        split = true
        [[comparator]]
        p_match = 0x900c
        [[filter]]
        comp1 = 0";
    let mut bench = Bench::enabled(more, 1);
    let blocks = [
        Block { iretire: 8, ilastsize: 1, itype: Itype::TAKEN_BRANCH, iaddr: 0x8000, ..Block::default() },
        Block { iretire: 8, ilastsize: 1, iaddr: 0x9000, ..Block::default() },
    ];
    let load = |dblock, at: u32, lrid| DataPort {
        dretire: true,
        dtype: Dtype::LOAD,
        daddr: 0x100 * u64::from(lrid),
        dsize: 2,
        dblock,
        iaddr_lsbs: at >> 1 & 31,
        lrid,
        ..DataPort::default()
    };
    // Only the last one is at 0x900c.
    let data = [load(0, 0x800c, 1), load(1, 0x9008, 2), load(1, 0x900c, 3)];
    bench.cycle(Cycle { blocks: &blocks, data: &data, ..Cycle::default() });
    let reply = |lid| DataPort { lresp: Lresp::Okay, lid, ldata: 9, ..DataPort::default() };
    bench.cycle(Cycle { data: &[reply(1)], ..Cycle::default() });
    bench.cycle(Cycle { data: &[DataPort { lresp: Lresp::Error, ..reply(3) }], ..Cycle::default() });
    bench.set("iEnable", 0);
    let names = bench.names();
    let data: Vec<_> = names.iter().filter(|name| name.starts_with("load")).collect();
    assert_eq!(data, ["load-request", "load-data"], "{names:?}");
}
