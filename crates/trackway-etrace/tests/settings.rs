//! Settings that change how code is seen: images by privilege and context, and which registers link calls.
//!
//! The case of images is also a folder in `testdata/etrace`, like those of `golden.rs`.

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use trackway_core::*;
use trackway_etrace::{Config, Dialect, ImageRule, Lower, lift};
use trackway_image::{Image, Space};
use trackway_testkit::lines::text;

const NOP: u32 = 0x13;
const C_NOP: u32 = 1;
const ECALL: u32 = 0x73;
const MRET: u32 = 0x3020_0073;

fn bytes_of(code: &[u32]) -> Vec<u8> {
    let length = |word: u32| if word & 3 == 3 { 4 } else { 2 };
    code.iter().flat_map(|word| word.to_le_bytes().into_iter().take(length(*word))).collect()
}

fn step(batch: &mut Batch, pc: u64, encoding: u32) -> u64 {
    let length = if encoding & 3 == 3 { 4 } else { 2 };
    let outcome = if encoding == ECALL { Outcome::Attempted } else { Outcome::Retired };
    batch.push(0, EventKind::Step(Step { outcome, ..Step::new(pc, encoding, length) }));
    pc + u64::from(length)
}

fn lines(bytes: &[u8], config: &Config, image: &Arc<Image>) -> String {
    let mut lift = lift(Input::from_vec(bytes.to_vec()), config, Arc::clone(image), 1).unwrap();
    text(&mut lift)
}

/// The addresses of a trace's instructions, attempted ones left out.
fn pcs(bytes: &[u8], config: &Config, image: &Arc<Image>) -> Vec<u64> {
    let found = common::decode(bytes, config, image, 1);
    assert!(found.error.is_none(), "{:?}", found.error);
    let retired = found.seen.iter().filter_map(|seen| match seen {
        trackway_testkit::random::Seen::Retired(pc, _) => Some(*pc),
        trackway_testkit::random::Seen::Trap(..) => None,
    });
    retired.collect()
}

/// Two processes have different code at the same address, and the kernel's is seen in machine mode alone.
#[test]
fn images_by_privilege_and_context() {
    let kernel = [NOP, MRET];
    let processes = [(1, vec![C_NOP, NOP, C_NOP, ECALL]), (2, vec![NOP, C_NOP, NOP, NOP, ECALL])];
    let mut batch = Batch::default();
    for round in 0..3 {
        for (id, code) in &processes {
            batch.push_context(0, Context { privilege: Some(Privilege::M), ..Context::default() });
            let mut pc = 0x8000;
            for encoding in kernel {
                pc = step(&mut batch, pc, encoding);
            }
            let context_id = Some(*id);
            batch
                .push_context(0, Context { privilege: Some(Privilege::U), context_id, ..Context::default() });
            pc = 0x8000;
            let mut last = pc;
            for &encoding in code {
                last = pc;
                pc = step(&mut batch, pc, encoding);
            }
            let trap = Trap {
                cause: Some(8),
                value: Some(round),
                from: Some(last),
                to: Some(0x8000),
                ..Trap::new(TrapKind::Exception)
            };
            batch.push_trap(0, trap);
        }
    }
    let mut config = Config::new(Dialect::V2);
    config.params.iaddress_width = 64;
    (config.params.nocontext, config.params.context_width, config.params.ctype_width) = (0, 8, 2);
    let (mut image, mut files) = (Image::default(), Vec::new());
    let mut add = |path: &str, code: &[u32], privilege, context| {
        let space = Space { privileges: vec![privilege], context_id: context, ..Space::default() };
        image.add_raw(path, 0x8000, Arc::new(bytes_of(code)), space).unwrap();
        let address = Some(0x8000);
        config.images.push(ImageRule { path: path.into(), address, privilege: vec![privilege], context });
        files.push((path.to_string(), bytes_of(code)));
    };
    add("kernel.bin", &kernel, Privilege::M, None);
    add("one.bin", &processes[0].1, Privilege::U, Some(1));
    add("two.bin", &processes[1].1, Privilege::U, Some(2));
    let image = Arc::new(image);
    let mut lower = Lower::new(Vec::new(), &config, Isa::Rv64, None).unwrap();
    lower.put(&batch).unwrap();
    lower.finish().unwrap();
    let bytes = lower.into_inner();
    let one = [0x8000, 0x8004, 0x8000, 0x8002, 0x8006];
    let two = [0x8000, 0x8004, 0x8000, 0x8004, 0x8006, 0x800a];
    assert_eq!(pcs(&bytes, &config, &image), [&one[..], &two[..]].concat().repeat(3));

    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/etrace/v2-images"));
    files.push(("input".into(), bytes.clone()));
    files.push(("config.toml".into(), config.to_toml().into_bytes()));
    files.push(("expect.items".into(), common::raw(&bytes, &config).into_bytes()));
    files.push(("expect.events".into(), lines(&bytes, &config, &image).into_bytes()));
    for (name, wanted) in files {
        let path = folder.join(&name);
        if std::env::var_os("TRACKWAY_BLESS").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &wanted).unwrap();
        }
        let found = std::fs::read(&path).unwrap();
        if name == "config.toml" {
            let text = String::from_utf8(found).unwrap();
            assert_eq!(Config::from_toml(&text).unwrap(), config);
        } else {
            assert!(found == wanted, "{name}");
        }
    }
}

/// 4.1.1 links by x1 and x5; chapter 11 by x1 alone: then a return through x5 is a jump that must be reported.
#[test]
fn calls_by_x1_alone() {
    // jal x5, f; jal x1, g; nop; nop; f: jalr x0, 0(x5); g: jalr x0, 0(x1)
    let code = [0x0100_02ef, 0x0100_00ef, NOP, NOP, 0x0002_8067, 0x0000_8067];
    let path = [0x8000, 0x8010, 0x8004, 0x8014, 0x8008, 0x800c];
    let mut image = Image::default();
    image.add_raw("program", 0x8000, Arc::new(bytes_of(&code)), Space::default()).unwrap();
    let image = Arc::new(image);
    let mut batch = Batch::default();
    for pc in path {
        step(&mut batch, pc, code[(pc as usize - 0x8000) / 4]);
    }
    let mut reported = Vec::new();
    for calls in ["x1-x5", "x1"] {
        for exact in [true, false] {
            let text = format!(
                "iaddress_width = 64\nsupport_layout = 'all'\nreturn_stack_size = 2\n\
                 options = ['implicit_return']\ncalls = '{calls}'\n[encoder]\nexact = {exact}\n"
            );
            let config = Config::from_toml(&text).unwrap();
            assert_eq!(config.calls_x1_only, calls == "x1");
            let (bytes, _) = common::encode(&batch, &config);
            assert_eq!(pcs(&bytes, &config, &image), path, "{calls}");
            // The end, and jumps that are not inferred.
            reported.push(common::raw(&bytes, &config).lines().filter(|line| line.contains(" 2 ")).count());
        }
    }
    assert_eq!(reported, [1, 1, 2, 2]);
}

/// Forms that files may use beside the plain one: flags as numbers, one item without brackets, text for addresses.
#[test]
fn values_have_several_forms() {
    let plain = Config::from_toml(
        "sijump = 1\nprogram = ['a.elf']\noptions = ['full_address']\ncall_counter_full = true\nifilters = [0, 1]\n\
         [[trap_vector]]\nbase = 0x8000\n[[image]]\npath = 'k'\nprivilege = ['m']\n\
         [[comparator]]\np_input = 1\np_function = 5\nmatch_mode = 'p&&s'\n[[filter]]\ncomp1 = 0\n\
         [[filter]]\nprivilege = ['u', 's']\ndtype = ['store']\n[encoder]\nexact = false\n",
    );
    let other = Config::from_toml(
        "[etrace]\nsijump = true\nprogram = 'a.elf'\noptions = 'full_address'\ncall_counter_full = 1\nifilters = 3\n\
         [[etrace.trap_vector]]\nbase = '0x8000'\n[[etrace.image]]\npath = 'k'\nprivilege = 'm'\n\
         [[etrace.comparator]]\np_input = 'context'\np_function = '>='\nmatch_mode = 'p && s'\n\
         [[etrace.filter]]\ncomp1 = 0\nenable = 1\n[[etrace.filter]]\nprivilege = 3\ndtype = [1]\n\
         [etrace.encoder]\nexact = 0\n[record]\nother = 1\n",
    );
    let plain = plain.unwrap();
    assert_eq!(other.unwrap(), plain);
    assert_eq!(Config::from_toml(&plain.to_toml()).unwrap(), plain);
    let mut high = plain;
    high.trap_vectors[0].base = 0xffff_ffff_8000_0000;
    assert_eq!(Config::from_toml(&high.to_toml()).unwrap(), high);
}

/// An error names the key, and why its value is refused.
#[test]
fn errors_name_the_key() {
    for (text, key, reason) in [
        ("iaddress_wdth = 3", "iaddress_wdth", "unknown"),
        ("iaddress_width = 'x'", "iaddress_width", "expected a number"),
        ("iaddress_width = 3", "iaddress_width", "not between 8 and 64"),
        ("dialect = 'v3'", "dialect", "v2"),
        ("framing = 'smo'", "framing", "encap"),
        ("support_layout = 'x'", "support_layout", "pulp"),
        ("options = ['fast']", "options", "implicit_return"),
        ("calls = 'x2'", "calls", "x1-x5"),
        ("[encoder]\nresync_max = 16", "encoder.resync_max", "4 bits"),
        ("[encoder]\nstamp = true", "encoder.stamp", "stamps"),
        ("[encoder]\nprivilege = 'h'", "encoder.privilege", "vs"),
        ("[data]\norder = 'x'", "data.order", "retired"),
        ("[data]\nlatency = -1", "data.latency", "expected u32"),
        ("[[image]]\naddress = 1", "image", "path"),
        ("[[trap_vector]]\nbase = 'q'", "trap_vector", "hexadecimal"),
        ("[[comparator]]\np_input = 4", "comparator", "expected iaddr"),
        ("[[filter]]\ndsize = [8]", "filter", "not below 8"),
        ("ifilters = [0]", "ifilters", "does not exist"),
    ] {
        let error = Config::from_toml(text).unwrap_err().to_string();
        assert!(error.starts_with(key) && error.contains(reason), "{text:?}: {error}");
    }
}

/// All lines of the template together, uncommented; only the parameter that `impdef_mask` needs is not the default.
#[test]
fn the_template_works() {
    let template = trackway_format::template(&trackway_etrace::FORMAT);
    let lines = template.lines().map(|line| line.strip_prefix("# ").unwrap_or(line));
    let is_setting = |line: &&str| {
        line.starts_with('[') || line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '))
    };
    let text = lines.filter(is_setting).collect::<Vec<_>>().join("\n");
    let config = Config::from_toml(&text.replace("filter_impdef = 0", "filter_impdef = 1"));
    let config = config.unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(config.data.enable && config.filters.filters.len() == 1);
    assert_eq!(config.params.iaddress_width, 32);
}
