//! Data trace: any payload that reads writes back; any accesses come back through packets; any stream of frames is
//! joined to instructions alike on one thread and on several.

use std::sync::Arc;

use trackway_core::{Input, Item, Items, mask};
use trackway_etrace::decode::{DataDecoder, Decoded};
use trackway_etrace::encode::DataEncoder;
use trackway_etrace::port::*;
use trackway_etrace::wire::Received;
use trackway_etrace::wire::data::*;
use trackway_etrace::{Compress, Config, Dialect, Order, Plan, Text, check, lift_by};
use trackway_image::{Image, Space};
use trackway_testkit::lines::at_most;

fn config(a: u8, b: u8) -> Config {
    let mut config = Config::new(if a & 1 == 0 { Dialect::Draft } else { Dialect::V2 });
    config.params.iaddress_width = if a & 2 == 0 { 32 } else { 64 };
    config.params.data_width = [32, 64, 64, 128][usize::from(a >> 2 & 3)];
    config.params.lrid_width = u32::from(a >> 4 & 3);
    config.params.dtype_width = [1, 3, 4, 4][usize::from(a >> 6)];
    (config.options.no_address, config.options.no_data) = (b & 3 == 1, b & 3 == 2);
    let data = &mut config.data;
    data.enable = true;
    data.split = b & 4 != 0;
    data.atomics = b & 8 != 0;
    data.csrs = b & 16 != 0;
    data.size_by_table = b & 32 != 0;
    data.order = if b & 64 != 0 { Order::Retired } else { Order::Loose };
    data.offers = if b & 128 != 0 { Compress::Xor } else { Compress::Both };
    data.compress = data.offers;
    config
}

fn accesses(config: &Config, mut bytes: &[u8]) {
    let mut encoder = DataEncoder::new(config);
    let mut decoder = DataDecoder::new(config, config.options);
    let (mut sizes, layout) = (Sizes::default(), *encoder.layout());
    let mut under_way: Vec<(u32, Access)> = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<18>() {
        bytes = rest;
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|n| head[at + n]));
        let dtype = Dtype([0, 1, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 0, 1, 0, 1][usize::from(head[0] & 15)]);
        let dsize = (head[0] >> 4) % (config.params.data_width.ilog2() as u8 - 2);
        if head[1] & 0xc0 == 0xc0 {
            encoder.history.clear();
        }
        let transfer = if head[1] & 0x20 != 0 && !under_way.is_empty() {
            let (lid, access) = under_way.swap_remove(usize::from(head[1] & 31) % under_way.len());
            Transfer::Response { lid, data: (head[1] & 0x10 != 0).then_some(access.data) }
        } else {
            let mut daddr = mask(word(2), config.params.iaddress_width);
            let mut dsize = dsize;
            if dtype.is_csr() {
                daddr &= 0xfff;
                dsize = if config.params.iaddress_width <= 32 { 2 } else { 3 };
            } else if dtype.is_atomic() {
                daddr &= !((1 << dsize) - 1);
            }
            let keep = |value: u128| if dsize >= 4 { value } else { value & ((1 << (8 << dsize)) - 1) };
            let data = keep(u128::from(word(10)) << ((head[1] & 7) * 8));
            let operand = keep(u128::from(word(10).rotate_left(7)));
            let access = Access { dtype, daddr, dsize, data, operand };
            let phased = config.data.split && (dtype == Dtype::LOAD || dtype.is_atomic());
            let free = (0..1 << config.params.lrid_width).find(|id| under_way.iter().all(|(of, _)| of != id));
            match (phased, free) {
                (true, None) => continue,
                (true, Some(lrid)) => Transfer::Request { access, lrid },
                (false, _) => Transfer::Unified(access),
            }
        };
        let Some(packet) = encoder.packet(&transfer) else { continue };
        let payload = packet.write(&layout, head[1] & 8 == 0).unwrap();
        let read = Packet::read(payload.bytes(), &layout, &sizes).unwrap();
        sizes.note(&read);
        let found = decoder.accept(&read).unwrap();
        match (transfer, found) {
            (Transfer::Unified(access), Decoded::Access(found)) => {
                assert_eq!((found.dtype, found.dsize), (access.dtype, access.dsize));
                let told = layout.has_address || access.dtype.is_csr();
                assert_eq!(found.daddr, told.then_some(access.daddr));
                assert_eq!(found.data, layout.has_data.then_some(access.data));
                assert!(found.operand.is_none_or(|of| of == access.operand));
            }
            (Transfer::Request { access, lrid }, Decoded::Access(found)) => {
                assert_eq!(
                    (found.dtype, found.dsize, found.pending),
                    (access.dtype, access.dsize, Some(lrid))
                );
                assert_eq!(found.daddr, layout.has_address.then_some(access.daddr));
                under_way.push((lrid, access));
            }
            (Transfer::Response { lid, data }, Decoded::Response { index, data: found }) => {
                assert_eq!((index, found), (lid, data.map(Some)));
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A loop with loads, stores, atomics and a CSR access.
fn image() -> Arc<Image> {
    let code: [u32; 8] = [
        0x0005_3583, // ld
        0x00b5_2023, // sw
        0x00b5_262f, // amoadd.w
        0x1805_262f, // sc.w
        0x3405_15f3, // csrrw
        0x0005_0583, // lb
        0xfe05_04e3, // beq, back
        0x0000_8067, // ret
    ];
    let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut image = Image::default();
    image.add_raw("loop", 0x1000, Arc::new(bytes), Space::default()).unwrap();
    Arc::new(image)
}

/// Tries one input.
pub fn etrace_data(data: &[u8]) {
    let Some((&[a, b], bytes)) = data.split_first_chunk::<2>() else { return };
    let config = config(a, b);
    config.check().unwrap();

    let layout = Layout::new(&config, config.options);
    let mut sizes = Sizes::default();
    let mut decoder = DataDecoder::new(&config, config.options);
    for payload in bytes.chunks(17) {
        if let Ok(exact) = Received::<Packet>::read(payload, payload.len() as u32 * 8, &layout, &sizes) {
            assert_eq!(exact.write(&layout).unwrap(), payload);
            sizes.note(&exact.packet);
            decoder.accept(&exact.packet);
        }
    }
    accesses(&config, bytes);

    let image = image();
    let mut text = Text::new(Input::from_vec(bytes.to_vec()), &config);
    let mut item = Item::default();
    while text.next(&mut item).is_ok_and(|more| more) {}
    let _ = check(Input::from_vec(bytes.to_vec()), &config, &mut |_| {});
    let lines = |jobs: usize| {
        let input = Input::from_vec(bytes.to_vec());
        at_most(
            20_000,
            &mut lift_by(input, &config, Arc::clone(&image), &Plan { part_bytes: 20, ..Plan::new(jobs) })
                .unwrap(),
        )
    };
    assert_eq!(lines(1), lines(3));
}
