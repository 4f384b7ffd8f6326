//! Data trace packets and their compression: random accesses there and back, in all forms and both dialects.

use proptest::prelude::*;
use trackway_etrace::decode::{DataDecoder, Decoded, DecodedAccess};
use trackway_etrace::encode::DataEncoder;
use trackway_etrace::port::*;
use trackway_etrace::wire::Received;
use trackway_etrace::wire::data::*;
use trackway_etrace::{Compress, Config, Dialect};

/// Settings that change packets, drawn at random.
fn configs() -> impl Strategy<Value = Config> {
    let compress = prop::sample::select(vec![
        (Compress::Both, Compress::Off),
        (Compress::Both, Compress::Xor),
        (Compress::Both, Compress::Difference),
        (Compress::Both, Compress::Both),
        (Compress::Xor, Compress::Xor),
        (Compress::Difference, Compress::Difference),
        (Compress::Off, Compress::Off),
    ]);
    let widths = prop::sample::select(vec![8u32, 16, 32, 64, 128]);
    (
        any::<[bool; 6]>(),
        0..3u32,
        compress,
        widths,
        0..=8u32,
        1..=4u32,
        prop::sample::select(vec![32u32, 39, 64]),
    )
        .prop_map(
            |(flags, form, (offers, compress), data_width, lrid_width, dtype_width, iaddress_width)| {
                let [draft, split, by_table, short, csr_diff, narrow_subtype] = flags;
                let mut config = Config::new(if draft { Dialect::Draft } else { Dialect::V2 });
                config.params.iaddress_width = iaddress_width;
                config.params.data_width = data_width;
                config.params.lrid_width = lrid_width;
                config.params.dtype_width = dtype_width;
                config.options.no_address = form == 1;
                config.options.no_data = form == 2;
                config.encoder.compress = short;
                config.data.enable = true;
                config.data.split = split;
                config.data.size_by_table = by_table;
                (config.data.offers, config.data.compress) = (offers, compress);
                config.data.csr_address_diff = csr_diff;
                config.data.csr_subtype_width = if narrow_subtype { 2 } else { 3 };
                config.check().unwrap();
                config
            },
        )
}

/// A step at the port.
#[derive(Clone, Debug)]
enum Step {
    Access(Access),
    /// The data of one of the loads on their way come; the number picks which.
    Reply(usize, Option<u128>),
    /// The instruction trace sends a synchronisation packet.
    Sync,
}

fn accesses(bits: u32, address_bits: u32) -> impl Strategy<Value = Access> {
    // Addresses and data near those before, and far from them.
    let address =
        prop_oneof![any::<u64>(), (0u64..64).prop_map(|n| 0x8000_0000 + n), (0u64..256).prop_map(|n| n * 8)];
    let data = prop_oneof![any::<u128>(), (0u128..300), any::<i16>().prop_map(|n| n as i128 as u128)];
    let dtype = prop::sample::select(vec![0u8, 0, 0, 1, 1, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14]);
    let sizes = 0..=(bits / 8).ilog2() as u8;
    (dtype, address, sizes, data.clone(), data).prop_map(move |(dtype, address, dsize, data, operand)| {
        let dtype = Dtype(dtype);
        let mut access =
            Access { dtype, daddr: trackway_core::mask(address, address_bits), dsize, data, operand };
        if dtype.is_csr() {
            access.daddr &= 0xfff;
            access.dsize = if address_bits <= 32 { 2 } else { 3 };
        }
        if dtype.is_atomic() {
            access.daddr &= !((1u64 << dsize) - 1);
        }
        let keep = if access.bits() == 128 { u128::MAX } else { (1 << access.bits()) - 1 };
        access.data &= keep;
        access.operand &= keep;
        access
    })
}

fn steps(config: &Config) -> impl Strategy<Value = Vec<Step>> + use<> {
    let access = accesses(config.params.data_width, config.params.iaddress_width).prop_map(Step::Access);
    let reply = (any::<usize>(), prop::option::weighted(0.9, any::<u128>()))
        .prop_map(|(which, data)| Step::Reply(which, data));
    prop::collection::vec(prop_oneof![8 => access, 4 => reply, 1 => Just(Step::Sync)], 1..120)
}

/// The access as far as the form of packets has it.
fn wanted(config: &Config, access: &Access) -> DecodedAccess {
    let (no_address, no_data) = (config.options.no_address, config.options.no_data);
    let csr = access.dtype.is_csr();
    let two = csr || access.dtype.is_atomic();
    let read_only = csr && access.daddr >> 10 == 3;
    DecodedAccess {
        dtype: access.dtype,
        dsize: access.dsize,
        daddr: (!no_address || csr).then_some(access.daddr),
        data: (!no_data).then_some(access.data),
        operand: (!no_data && two && !read_only).then_some(access.operand),
        pending: None,
    }
}

/// Can the settings hold it at all?
fn is_held(config: &Config, access: &Access) -> bool {
    if access.dtype.is_csr() {
        return config.has_csrs() || config.has_atomics() || config.data.split;
    }
    if access.dtype.is_atomic() {
        let draft = config.dialect == Dialect::Draft;
        let format_3 = config.has_csrs() || config.has_atomics() || config.data.split;
        // Two values of 16 bytes and an address can be longer than a frame.
        return format_3 && access.dsize < 4 && (!draft || matches!(access.dsize, 2 | 3));
    }
    true
}

fn there_and_back(config: &Config, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut encoder = DataEncoder::new(config);
    let mut decoder = DataDecoder::new(config, config.options);
    let (mut sizes, layout) = (Sizes::default(), *encoder.layout());
    let mut free: Vec<u32> = (0..1 << config.params.lrid_width).collect();
    let mut under_way: Vec<(u32, Access)> = Vec::new();
    let mut fresh = [[true; 6]; 2];
    let mut send = |encoder: &mut DataEncoder,
                    transfer: &Transfer|
     -> Result<Option<(Packet, Decoded)>, TestCaseError> {
        let Some(packet) = encoder.packet(transfer) else { return Ok(None) };
        let payload = packet.write(&layout, config.encoder.compress).unwrap();
        let read = Packet::read(payload.bytes(), &layout, &sizes).unwrap();
        let exact =
            Received::<Packet>::read(payload.bytes(), payload.bytes().len() as u32 * 8, &layout, &sizes)
                .unwrap();
        prop_assert_eq!(read, exact.packet);
        prop_assert_eq!(exact.write(&layout).unwrap(), payload.bytes());
        sizes.note(&read);
        let reply = decoder.accept(&read).unwrap();
        Ok(Some((read, reply)))
    };
    for step in steps {
        match step {
            Step::Sync => {
                encoder.history.clear();
                fresh = [[true; 6]; 2];
            }
            Step::Access(access) => {
                let phased = config.data.split && (access.dtype == Dtype::LOAD || access.dtype.is_atomic());
                let class = if access.dtype.is_csr() { 5 } else { usize::from(access.dsize) };
                let transfer = if phased {
                    let Some(lrid) = free.pop() else { continue };
                    under_way.push((lrid, *access));
                    Transfer::Request { access: Access { data: 0, ..*access }, lrid }
                } else {
                    Transfer::Unified(*access)
                };
                let Some((packet, reply)) = send(&mut encoder, &transfer)? else {
                    prop_assert!(!is_held(config, access), "{access:?} was not sent");
                    if phased {
                        free.push(under_way.pop().unwrap().0);
                    }
                    continue;
                };
                let Decoded::Access(found) = reply else { panic!("{reply:?}") };
                let mut want = wanted(config, access);
                if phased {
                    want.data = None;
                    want.pending = found.pending;
                    prop_assert_eq!(found.pending, under_way.last().map(|(lrid, _)| *lrid));
                }
                prop_assert_eq!(found, want);
                // 7.1.3: after a synchronisation the first of its size is full.
                let code = match packet {
                    Packet::LoadStore(packet) => Some(packet.diff),
                    Packet::Atomic(packet) => Some(packet.diff),
                    Packet::LoadRequest(packet) => Some(packet.diff),
                    Packet::AtomicRequest(packet) => Some(packet.diff),
                    Packet::Csr(packet) => Some(packet.diff),
                    _ => None,
                };
                let of_data = config.options.no_address || (access.dtype.is_csr() && !config.options.no_data);
                if fresh[0][class] && !of_data {
                    prop_assert_eq!(code, Some(diff::FULL), "{:?}", packet);
                }
                if fresh[1][class] && !phased && !config.options.no_data {
                    prop_assert!(matches!(code, Some(diff::FULL | diff::FULL_DATA)), "{:?}", packet);
                    fresh[1][class] = false;
                }
                fresh[0][class] = false;
            }
            Step::Reply(which, data) => {
                if under_way.is_empty() {
                    continue;
                }
                let (lid, access) = under_way.remove(which % under_way.len());
                free.push(lid);
                let data = data.map(|_| access.data);
                let sent = send(&mut encoder, &Transfer::Response { lid, data })?;
                if config.options.no_data && data.is_some() {
                    prop_assert!(sent.is_none());
                    continue;
                }
                let Some((packet, reply)) = sent else { panic!("no response for {access:?}") };
                let resp = match packet {
                    Packet::LoadReply(reply) => reply.resp,
                    Packet::AtomicReply(reply) => reply.resp,
                    _ => panic!("{packet:?}"),
                };
                if data.is_some() && std::mem::take(&mut fresh[1][usize::from(access.dsize)]) {
                    prop_assert_eq!(resp, diff::FULL_DATA);
                }
                prop_assert_eq!(reply, Decoded::Response { index: lid, data: data.map(Some) });
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn random_accesses_come_back(
        (config, steps) in configs().prop_flat_map(|config| { let steps = steps(&config); (Just(config), steps) })
    ) {
        there_and_back(&config, &steps)?;
    }

    /// Any bytes that can be read are written back unchanged.
    #[test]
    fn any_payload_is_read_and_written_back(config in configs(), payload in prop::collection::vec(any::<u8>(), 1..40)) {
        let layout = Layout::new(&config, config.options);
        let mut sizes = Sizes::default();
        for size in [2, 3] {
            let request = AtomicRequest { size, index: size, ..AtomicRequest::default() };
            sizes.note(&Packet::AtomicRequest(request));
        }
        let bits = payload.len() as u32 * 8;
        if let Ok(exact) = Received::<Packet>::read(&payload, bits, &layout, &sizes) {
            prop_assert_eq!(exact.write(&layout).unwrap(), payload);
        }
    }
}

fn config(text: &str) -> Config {
    Config::from_toml(text).unwrap()
}

fn bits_of(packet: &Packet, layout: &Layout) -> Vec<(&'static str, u64, u32)> {
    let mut fields = Vec::new();
    packet.fields(layout, &mut |name, value, width| fields.push((name, value, width)));
    fields
}

/// Tables 7.1 to 7.3: fields in their order, with their widths, in both dialects.
#[test]
fn tables_7_1_to_7_3_fields() {
    let packet = Packet::LoadStore(LoadStore {
        store: true,
        size: 3,
        diff: 1,
        data_len: 1,
        data: 0x1234,
        address: 0x99,
        ..LoadStore::default()
    });
    for (dialect, address) in [("draft-1.1.1", 64), ("v2", 56)] {
        let text = format!("dialect = '{dialect}'\niaddress_width = 64\ndaddress_width = 56\n[data]");
        let config = config(&text);
        let layout = Layout::new(&config, config.options);
        assert_eq!(layout.format, 3);
        let want = [
            ("size", 3, 2),
            ("diff", 1, 2),
            ("data_len", 1, 3),
            ("data", 0x1234, 16),
            ("address", 0x99, address),
        ];
        assert_eq!(bits_of(&packet, &layout), want);
        let mut options = config.options;
        options.no_data = true;
        let want = [("size", 3, 2), ("diff", 1, 1), ("address", 0x99, address)];
        assert_eq!(bits_of(&packet, &Layout::new(&config, options)), want);
        options.no_data = false;
        options.no_address = true;
        let want = [("size", 3, 2), ("diff", 1, 2), ("data", 0x1234, 64)];
        assert_eq!(bits_of(&packet, &Layout::new(&config, options)), want);
    }
}

/// 7.1.1, 7.1.2, 7.2.1, 7.3.2: widths that depend on parameters.
#[test]
fn sections_7_1_to_7_3_widths() {
    let layout = |text: &str| {
        let config = config(text);
        Layout::new(&config, config.options)
    };
    // Only unified loads and stores: 2 bits of format.
    assert_eq!(layout("dtype_width = 1\n[data]").format, 2);
    assert_eq!(layout("dtype_width = 1\nlrid_width = 2\n[data]\nsplit = true").format, 3);
    assert_eq!(layout("dtype_width = 3\n[data]").format, 3);
    let draft = |more: &str| layout(&format!("dialect = 'draft-1.1.1'\n{more}"));
    assert_eq!((draft("data_width = 64\n[data]").size, draft("data_width = 128\n[data]").size), (2, 3));
    assert_eq!(draft("data_width = 64\n[data]\nsize_by_table = true").size, 3);
    let v2: Vec<u32> =
        [8, 16, 32, 64, 128].map(|n| layout(&format!("data_width = {n}\n[data]")).size).to_vec();
    assert_eq!(v2, [1, 1, 2, 2, 3]);
    assert_eq!((draft("[data]").atomic_size, draft("[data]").atomic_base), (1, 2));
    assert_eq!((layout("[data]").atomic_size, layout("[data]").atomic_base), (2, 0));
    assert_eq!(
        (layout("iaddress_width = 32\n[data]").csr_len, layout("iaddress_width = 64\n[data]").csr_len),
        (2, 3)
    );
    assert_eq!(layout("[data]\noffers = 'xor'\ncompress = 'xor'").data_diff, 1);
}

/// Tables 7.6 to 7.10: atomics, whole and split.
#[test]
fn tables_7_6_to_7_10_fields() {
    let text = |split| {
        format!("dialect = 'draft-1.1.1'\niaddress_width = 64\nlrid_width = 4\n[data]\nsplit = {split}")
    };
    let (whole, split) = (config(&text(false)), config(&text(true)));
    let atomic = Packet::Atomic(Atomic {
        subtype: 5,
        size: 3,
        diff: 3,
        op_len: 1,
        operand: 0x102,
        data_len: 0,
        data: 7,
        address: 0x40,
    });
    let want = [
        ("subtype", 5, 3),
        ("size", 1, 1),
        ("diff", 3, 2),
        ("op_len", 1, 3),
        ("operand", 0x102, 16),
        ("data_len", 0, 3),
        ("data", 7, 8),
        ("address", 0x40, 64),
    ];
    assert_eq!(bits_of(&atomic, &Layout::new(&whole, whole.options)), want);
    let layout = Layout::new(&split, split.options);
    let request =
        AtomicRequest { subtype: 1, size: 2, index: 9, diff: 0, op_len: 0, operand: 3, address: 0x1000 };
    let want = [
        ("subtype", 1, 3),
        ("size", 0, 1),
        ("index", 9, 4),
        ("diff", 0, 2),
        ("op_len", 0, 2),
        ("operand", 3, 8),
        ("address", 0x1000, 64),
    ];
    assert_eq!(bits_of(&Packet::AtomicRequest(request), &layout), want);
    let reply = AtomicReply { size: Some(2), index: 9, resp: 2, data_len: 3, data: 0xdead_beef };
    let want = [("index", 9, 4), ("resp", 2, 2), ("data_len", 3, 2), ("data", 0xdead_beef, 32)];
    assert_eq!(bits_of(&Packet::AtomicReply(reply), &layout), want);
    let error = AtomicReply { resp: 0, data_len: 0, data: 0, ..reply };
    assert_eq!(bits_of(&Packet::AtomicReply(error), &layout), [("index", 9, 4), ("resp", 0, 2)]);
    // The format code comes first.
    assert_eq!(Packet::AtomicReply(reply).write(&layout, true).unwrap().bytes()[0] & 7, 7);
}

/// The id of split loads is shown by the name that the dialect has for it.
#[test]
fn split_ids_have_the_name_of_the_dialect() {
    let request =
        Packet::LoadRequest(LoadRequest { size: 2, index: 9, address: 0x1000, ..LoadRequest::default() });
    for (dialect, name, other) in [("draft-1.1.1", "index", "lrid"), ("v2", "lrid", "index")] {
        let text =
            format!("dialect = '{dialect}'\niaddress_width = 64\nlrid_width = 4\n[data]\nsplit = true");
        let config = config(&text);
        let fields = bits_of(&request, &Layout::new(&config, config.options));
        assert!(fields.contains(&(name, 9, 4)), "{dialect}: {fields:?}");
        assert!(fields.iter().all(|field| field.0 != other), "{dialect}: {fields:?}");
        let mut writer = trackway_etrace::Writer::new(&config);
        let payload = request.write(&Layout::new(&config, config.options), true).unwrap();
        writer.write_data(&payload, None).unwrap();
        let shown =
            trackway_etrace::Reader::new(trackway_core::Input::from_vec(writer.bytes), &config).read();
        assert_eq!(shown.unwrap().unwrap().data(), Some(&request), "{dialect}");
    }
}

/// A support packet with `dloss` (version 2): accesses are missing and no instruction is, and what comes after cannot
/// refer to what came before.
#[test]
fn lost_data_is_a_gap_without_instructions() {
    use trackway_core::{Batch, EventKind, GapReason, Source};
    use trackway_etrace::wire::instruction as packet;
    let mut config = config("dialect = 'v2'\niaddress_width = 64\n[data]");
    config.data.order = trackway_etrace::Order::Retired;
    // 0x4000: lw a0, 0(a0); sw a0, 4(a0); bne a0, x0, 0x4000
    let code: Vec<u8> =
        [0x0005_2503u32, 0x00a5_2223, 0xfe05_1ce3].iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut image = trackway_image::Image::default();
    image.add_raw("loop", 0x4000, std::sync::Arc::new(code), trackway_image::Space::default()).unwrap();
    let image = std::sync::Arc::new(image);
    let layout = Layout::new(&config, config.options);
    let store = |diff: u32, address: u64| {
        let store =
            LoadStore { store: true, size: 2, diff, data_len: 0, data: 7, address, ..LoadStore::default() };
        Packet::LoadStore(store).write(&layout, true).unwrap()
    };
    for dloss in [false, true] {
        let mut writer = trackway_etrace::Writer::new(&config);
        let mut put = |packet: packet::Packet| writer.write(&packet, None).unwrap();
        // Thirty-one rounds.
        let rounds = packet::Packet::Branches(packet::Branches::default());
        put(packet::Packet::Start(packet::Start {
            branch: true,
            address: 0x2000,
            ..packet::Start::default()
        }));
        writer.write_data(&store(diff::FULL, 0x9000 >> 2), None).unwrap();
        writer.write(&rounds, None).unwrap();
        let support = packet::Support { enable: true, denable: true, dloss, ..packet::Support::default() };
        writer.write(&packet::Packet::Support(support), None).unwrap();
        writer.write_data(&store(diff::FULL_DATA, 8 >> 2), None).unwrap();
        writer.write(&rounds, None).unwrap();
        let input = trackway_core::Input::from_vec(writer.bytes);
        let mut lift = trackway_etrace::lift(input, &config, std::sync::Arc::clone(&image), 1).unwrap();
        let (mut batch, mut stores, mut gaps, mut instructions) =
            (Batch::default(), Vec::new(), Vec::new(), 0);
        while lift.fill(&mut batch).unwrap() {
            instructions += batch.instructions();
            gaps.extend(batch.gaps.iter().map(|gap| (gap.reason, gap.instructions)));
            for event in &batch.events {
                let EventKind::Run(run) = &event.kind else { continue };
                let accesses = batch.mem_of(batch.accesses_of(run));
                stores.extend(accesses.iter().map(|access| (!access.unplaced).then_some(access.address)));
            }
        }
        assert_eq!(instructions, 2 * 31 * 3, "dloss {dloss}");
        if dloss {
            assert_eq!((gaps, stores), (vec![(GapReason::Overflow, Some(0))], vec![Some(0x9000), None]));
        } else {
            assert_eq!((gaps, stores), (Vec::new(), vec![Some(0x9000), Some(0x9008)]));
        }
    }
}

/// Tables 7.11 to 7.13: CSR accesses; read-only registers have no operand.
#[test]
fn tables_7_11_to_7_13_fields() {
    let config = config("iaddress_width = 64\n[data]");
    let layout = Layout::new(&config, config.options);
    let csr = Csr {
        subtype: 1,
        diff: 0,
        data_len: 0,
        data: 8,
        addr_msbs: 0x300 >> 6,
        op_len: 0,
        operand: 2,
        addr_lsbs: 0,
    };
    let want = [
        ("subtype", 1, 2),
        ("diff", 0, 2),
        ("data_len", 0, 3),
        ("data", 8, 8),
        ("addr_msbs", 12, 6),
        ("op_len", 0, 3),
        ("operand", 2, 8),
        ("addr_lsbs", 0, 6),
    ];
    assert_eq!(bits_of(&Packet::Csr(csr), &layout), want);
    let cycle = Csr { addr_msbs: 0xc00 >> 6, ..csr };
    let names: Vec<_> = bits_of(&Packet::Csr(cycle), &layout).iter().map(|field| field.0).collect();
    assert_eq!(names, ["subtype", "diff", "data_len", "data", "addr_msbs", "addr_lsbs"]);
    let mut options = config.options;
    options.no_data = true;
    let want = [("subtype", 1, 3), ("diff", 0, 0), ("addr_msbs", 12, 6), ("addr_lsbs", 0, 6)];
    assert_eq!(bits_of(&Packet::Csr(csr), &Layout::new(&config, options)), want);
}

/// Table 4.9: the signals of both interfaces.
#[test]
fn table_4_9_signals() {
    let port = DataPort {
        dretire: true,
        dtype: Dtype::ATOMIC_ADD,
        dsize: 2,
        data: 7 << 32 | 5,
        ..DataPort::default()
    };
    let transfers: Vec<_> = port.transfers(false).collect();
    let access = Access { dtype: Dtype::ATOMIC_ADD, dsize: 2, data: 7, operand: 5, daddr: 0 };
    assert_eq!(transfers, [Transfer::Unified(access)]);
    // A request and the response of another load in one cycle.
    let port = DataPort {
        dretire: true,
        dtype: Dtype::LOAD,
        dsize: 3,
        lrid: 1,
        lresp: Lresp::Error,
        lid: 2,
        ..DataPort::default()
    };
    let transfers: Vec<_> = port.transfers(true).collect();
    let access = Access { dtype: Dtype::LOAD, dsize: 3, ..Access::default() };
    assert_eq!(transfers, [Transfer::Request { access, lrid: 1 }, Transfer::Response { lid: 2, data: None }]);
    // 4.4: low bits of the instruction's address, against the start of the block.
    let at = |lsbs| DataPort { iaddr_lsbs: lsbs, ..DataPort::default() }.iaddr(0x100c, 3);
    assert_eq!((at(0x100c >> 1 & 15), at(0x101a >> 1 & 15)), (0x100c, 0x101a));
}
