//! Whatever bytes come: what reads writes back, and checking, showing and lifting survive it.

use std::sync::Arc;

use trackway_core::{Input, Item, Items};
use trackway_etrace::transport::Framing;
use trackway_etrace::{Config, Dialect, Plan, Reader, SupportLayout, Text, Writer, check, lift_by};
use trackway_image::{Image, Space};
use trackway_testkit::lines::{at_most, observed};
use trackway_testkit::random::{Numbers, Program};

fn config(a: u8, b: u8, c: u8) -> Config {
    let mut config = Config::new(if a & 1 == 0 { Dialect::Draft } else { Dialect::V2 });
    config.support = SupportLayout::named(["reference", "pulp", "all"][usize::from(a >> 1) % 3]).unwrap();
    config.framing = match b & 7 {
        0 | 1 => Framing::Smi,
        2 => Framing::Ultrasoc { index_width: 8 },
        3 => Framing::Atb { align: 1 },
        4 => Framing::Encap { srcid_width: 6, type_width: 2, timestamp_bytes: 2 },
        5 => Framing::Encap { srcid_width: 3, type_width: 0, timestamp_bytes: 0 },
        _ => Framing::Encap { srcid_width: 0, type_width: 0, timestamp_bytes: 4 },
    };
    let params = &mut config.params;
    params.iaddress_width = [32, 40, 64, 64][usize::from(b >> 3 & 3)];
    params.nocontext = u32::from(b >> 5 & 1);
    params.context_width = 9;
    (params.notime, params.time_width) = (u32::from(b >> 6 & 1), 17);
    (params.sijump, params.f0s_width, params.bpred_size, params.cache_size) = (1, 1, 4, 3);
    params.return_stack_size = u32::from(c & 1) * 3;
    params.call_counter_size = u32::from(c & 1 ^ 1) * 2;
    config.options.implicit_return = c & 2 != 0;
    config.options.branch_prediction = c & 4 != 0;
    config.options.jump_target_cache = c & 8 != 0;
    config.options.sijump = c & 16 != 0;
    config.options.full_address = c & 32 != 0;
    config
}

/// Tries one input.
pub fn etrace_packets(data: &[u8]) {
    let Some((&[a, b, c, seed], bytes)) = data.split_first_chunk::<4>() else { return };
    let config = config(a, b, c);
    let input = || Input::from_vec(bytes.to_vec());

    // Byte-exact up to the first thing that cannot be read.
    let mut reader = Reader::new(input(), &config);
    let mut writer = Writer::new(&config);
    let mut end = 0;
    while let Ok(Some(item)) = reader.read() {
        writer.write_item(&item).unwrap();
        end = reader.offset();
    }
    assert_eq!(writer.bytes, &bytes[..end as usize]);

    let mut text = Text::new(input(), &config);
    let mut item = Item::default();
    for _ in 0..10_000 {
        match text.next(&mut item) {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) => match text.resync() {
                Ok(Some(_)) => {}
                _ => break,
            },
        }
    }
    check(input(), &config, &mut |_| {}).ok();

    let program = Program::new(&mut Numbers(u64::from(seed)), 0x8000, 40);
    let mut image = Image::default();
    image.add_raw("program", 0x8000, Arc::new(program.bytes()), Space::default()).unwrap();
    let image = Arc::new(image);
    let lift = |jobs: usize| {
        lift_by(input(), &config, Arc::clone(&image), &Plan { part_bytes: 30, ..Plan::new(jobs) }).unwrap()
    };
    // There may be billions of predicted branches.
    let lines = |jobs: usize| at_most(20_000, &mut lift(jobs));
    if let (Some(one), Some(two)) = (lines(1), lines(2)) {
        assert_eq!(one, two);
        // A trace that is not endless can be observed: the same events on several threads.
        assert_eq!(observed(&mut lift(1)), observed(&mut lift(3)));
    }
}
