//! Filters: the decoder finds exactly what a plain evaluation of the filter selects, with the right codes at each edge.

mod common;
mod filter_support;

use trackway_core::*;
use trackway_etrace::Order;
use trackway_etrace::registers::{Comparator, Filter, function, input, match_mode};
use trackway_etrace::{Dialect, Lower};

use filter_support::{World, base, decode, judge, rows, world};

/// All settings of a comparator for an input, with values that split the execution.
fn comparators(which: u8, values: &[u64]) -> Vec<Comparator> {
    let mut all = Vec::new();
    for p_function in 0..8 {
        for s_function in 0..8 {
            for match_mode in 0..4 {
                for (n, &p_match) in values.iter().enumerate() {
                    let s_match = match s_function {
                        function::MASK => !0x3f,
                        _ => values[(n + 1 + usize::from(p_function)) % values.len()],
                    };
                    all.push(Comparator {
                        p_input: which,
                        s_input: which,
                        p_function,
                        s_function,
                        match_mode,
                        p_match,
                        s_match,
                        ..Comparator::default()
                    });
                }
            }
        }
    }
    all
}

fn with_unit(unit: Comparator) -> (Vec<Comparator>, Vec<Filter>) {
    let filter = Filter { filter_enable: true, match_comp1: true, comp1: 0, ..Filter::default() };
    (vec![unit], vec![filter])
}

/// Values that occur at an input, for comparisons with them.
fn values(world: &World, which: u8) -> Vec<u64> {
    let rows = rows(world, 1);
    let mut all: Vec<u64> = match which {
        input::IADDR => world.program.slots.iter().map(|slot| slot.pc).collect(),
        input::CONTEXT => rows.iter().map(|row| row.context).collect(),
        input::TVAL => rows.iter().filter_map(|row| row.trap).map(|trap| trap.2).collect(),
        _ => rows.iter().flat_map(|row| &row.accesses).map(|(_, access)| access.2).collect(),
    };
    all.sort_unstable();
    all.dedup();
    let n = all.len();
    vec![all[n / 4], all[n / 2], all[n * 3 / 4]]
}

/// Table 2.6: every function, match mode and input, on instruction trace.
#[test]
fn table_2_6_comparators_on_instructions() {
    let (mut some, mut cases) = (0, 0);
    for which in 0..4 {
        let worlds = [world(11), world(12)];
        for (n, unit) in comparators(which, &values(&worlds[0], which)).into_iter().enumerate() {
            let world = &worlds[n % 2];
            let dialect = Dialect::ALL[n / 2 % 2];
            let mut config = base(dialect, true, 1);
            config.data.enable = which == input::DADDR;
            config.data.order = Order::Retired;
            (config.filters.comparators, config.filters.filters) = with_unit(unit);
            config.filters.ifilters = 1;
            let (instructions, _) = judge(world, &config, false);
            some += usize::from(instructions > 0 && instructions < 500);
            cases += 1;
        }
    }
    // Most of them split the execution.
    assert!(some * 3 > cases, "{some} of {cases}");
}

/// Table 2.6, on data trace: the instruction trace is whole, and every access that is traced is at its instruction.
#[test]
fn table_2_6_comparators_on_data() {
    let (mut some, mut cases) = (0, 0);
    for which in [input::IADDR, input::CONTEXT, input::DADDR] {
        let worlds = [world(21), world(22)];
        for (n, unit) in comparators(which, &values(&worlds[0], which)).into_iter().enumerate() {
            let world = &worlds[n % 2];
            let mut config = base(Dialect::ALL[n / 2 % 2], true, 1);
            config.data.enable = true;
            config.data.order = Order::Retired;
            (config.filters.comparators, config.filters.filters) = with_unit(unit);
            config.filters.dfilters = 1;
            let (_, accesses) = judge(world, &config, false);
            some += usize::from(accesses > 0);
            cases += 1;
        }
    }
    assert!(some * 3 > cases, "{some} of {cases}");
}

/// A comparator with different inputs.
#[test]
fn table_2_6_inputs_of_their_own() {
    let world = world(31);
    for (p_input, s_input) in [(0, 1), (1, 0), (0, 3), (3, 0), (2, 0), (0, 2), (1, 3)] {
        for match_mode in 0..4 {
            let unit = Comparator {
                p_input,
                s_input,
                p_function: function::GREATER_EQUAL,
                s_function: function::LESS_EQUAL,
                match_mode,
                p_match: values(&world, p_input)[1],
                s_match: values(&world, s_input)[1],
                ..Comparator::default()
            };
            let mut config = base(Dialect::V2, true, 1);
            config.data.enable = true;
            config.data.order = Order::Retired;
            (config.filters.comparators, config.filters.filters) = with_unit(unit);
            config.filters.ifilters = 1;
            config.filters.dfilters = 1;
            judge(&world, &config, false);
        }
    }
}

/// Tables 2.4 and 2.5: every field of a filter, alone and with others, for instructions and data.
#[test]
fn tables_2_4_and_2_5_fields() {
    let on = Filter { filter_enable: true, ..Filter::default() };
    let fields: Vec<(&str, Filter)> = vec![
        ("nothing", on),
        ("disabled", Filter::default()),
        ("privilege u", Filter { match_privilege: true, match_choice_privilege: 1, ..on }),
        ("privilege s or m", Filter { match_privilege: true, match_choice_privilege: 0b1010, ..on }),
        ("ecause", Filter { match_ecause: true, match_choice_ecause: 0b1_0001_0100, ..on }),
        ("interrupt", Filter { match_interrupt: true, match_value_interrupt: true, ..on }),
        ("exception", Filter { match_interrupt: true, match_value_interrupt: false, ..on }),
        (
            "ecause of interrupts",
            Filter {
                match_ecause: true,
                match_choice_ecause: 0x0f,
                match_interrupt: true,
                match_value_interrupt: true,
                ..on
            },
        ),
        ("dtype loads", Filter { match_dtype: true, match_choice_dtype: 1, ..on }),
        ("dtype atomics and CSRs", Filter { match_dtype: true, match_choice_dtype: 0x7f70, ..on }),
        ("dsize", Filter { match_dsize: true, match_choice_dsize: 0b1000, ..on }),
        (
            "stores of 4 in m",
            Filter {
                match_dtype: true,
                match_choice_dtype: 2,
                match_dsize: true,
                match_choice_dsize: 4,
                match_privilege: true,
                match_choice_privilege: 8,
                ..on
            },
        ),
        ("address range", Filter { match_comp1: true, comp1: 0, ..on }),
        ("range and context", Filter { match_comp1: true, comp1: 0, match_comp2: true, comp2: 1, ..on }),
        (
            "three comparators",
            Filter {
                match_comp1: true,
                comp1: 0,
                match_comp2: true,
                comp2: 1,
                match_comp3: true,
                comp3: 3,
                ..on
            },
        ),
        (
            "traps by cause and value",
            Filter { match_ecause: true, match_choice_ecause: 0xffff, match_comp1: true, comp1: 2, ..on },
        ),
    ];
    for seed in 40..44 {
        let world = world(seed);
        let [at, of, trapped] =
            [input::IADDR, input::CONTEXT, input::TVAL].map(|which| values(&world, which));
        let range = Comparator {
            p_function: function::GREATER_EQUAL,
            s_function: function::LESS_EQUAL,
            p_match: at[0],
            s_match: at[2],
            match_mode: match_mode::BOTH,
            ..Comparator::default()
        };
        let context = Comparator {
            p_input: input::CONTEXT,
            p_function: function::LESS_EQUAL,
            p_match: of[1],
            ..Comparator::default()
        };
        let tval = Comparator {
            p_input: input::TVAL,
            p_function: function::GREATER,
            p_match: trapped[1],
            ..Comparator::default()
        };
        let latch = Comparator {
            p_function: function::EQUAL,
            s_function: function::EQUAL,
            p_match: at[1],
            s_match: at[2],
            match_mode: match_mode::LATCH,
            ..Comparator::default()
        };
        for (n, (name, filter)) in fields.iter().enumerate() {
            for (block, dialect) in
                [(1, Dialect::V2), (1, Dialect::Draft), (3, Dialect::V2), (4, Dialect::Draft)]
            {
                let mut config = base(dialect, true, block);
                config.data.enable = n % 2 == 0 || filter.match_dtype || filter.match_dsize;
                config.data.order = Order::Retired;
                config.filters.comparators = vec![range, context, tval, latch];
                config.filters.filters = vec![*filter, Filter { match_comp1: true, comp1: 3, ..on }];
                config.filters.ifilters = 1;
                let alone = judge(&world, &config, false).0;
                config.filters.dfilters = 1;
                judge(&world, &config, false);
                // Either of two filters is enough.
                config.filters.ifilters = 3;
                assert!(judge(&world, &config, false).0 >= alone, "{name}");
                config.filters.ifilters = 2;
                judge(&world, &config, false);
            }
        }
    }
}

/// 4.4: without the low bits of instruction addresses, accesses go with their blocks; with them they do not.
#[test]
fn section_4_4_blocks_and_accesses() {
    let mut differs = 0;
    for seed in 50..60 {
        let world = world(seed);
        for &p_match in &values(&world, input::IADDR) {
            let unit = Comparator { p_match, ..Comparator::default() };
            let mut config = base(Dialect::V2, true, 4);
            config.data.enable = true;
            config.data.order = Order::Retired;
            (config.filters.comparators, config.filters.filters) = with_unit(unit);
            config.filters.dfilters = 1;
            let exact = judge(&world, &config, false).1;
            config.params.iaddr_lsbs_width = 0;
            let by_block = judge(&world, &config, true).1;
            assert!(by_block >= exact);
            differs += usize::from(by_block != exact);
        }
    }
    assert!(differs > 0);
}

/// Table 2.6, `pNotify` and `sNotify`: watchpoints report the last instruction of the block, filters or not.
#[test]
fn table_2_6_watchpoints() {
    for seed in 60..66 {
        let world = world(seed);
        let at = values(&world, input::IADDR);
        for (block, dialect) in [(1, Dialect::V2), (1, Dialect::Draft), (4, Dialect::V2)] {
            let mut config = base(dialect, true, block);
            config.filters.comparators = vec![
                Comparator { p_match: at[0], p_notify: true, ..Comparator::default() },
                Comparator {
                    p_match: at[1],
                    s_function: function::EQUAL,
                    s_match: at[2],
                    s_notify: true,
                    ..Comparator::default()
                },
            ];
            judge(&world, &config, false);
            let found = {
                let mut lower = Lower::new(Vec::new(), &config, Isa::Rv64, None).unwrap();
                lower.put(&world.batch).unwrap();
                lower.finish().unwrap();
                decode(&world, &config, &lower.into_inner())
            };
            // The watchpoint reports an address that no jump to it reported anyway.
            let rows = rows(&world, block as usize);
            let hit = |pc: u64| rows.iter().any(|row| row.pcs.contains(&pc));
            let lasts: Vec<u64> = rows
                .iter()
                .filter(|row| row.pcs.contains(&at[0]) || row.pcs.contains(&at[2]))
                .filter_map(|row| row.pcs.last().copied())
                .collect();
            assert!(found.notified.iter().all(|pc| lasts.contains(pc)), "{:x?} {lasts:x?}", found.notified);
            assert!(!found.notified.contains(&at[1]) || lasts.contains(&at[1]));
            assert!(hit(at[0]) || hit(at[2]) || found.notified.is_empty());
        }
    }
}
