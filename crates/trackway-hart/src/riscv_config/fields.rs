//! Where the fields of control registers are, for descriptions that do not repeat it.

/// A field: name, most and least significant bit on RV32, the same on RV64; `NONE` where it is not there.
type Field = (&'static str, (u8, u8), (u8, u8));

const NONE: (u8, u8) = (0, 1);

const fn same(name: &'static str, msb: u8, lsb: u8) -> Field {
    (name, (msb, lsb), (msb, lsb))
}

/// Registers whose fields have names (privileged 3.1 and 4.1), views by those that they show.
const FIELDS: [(&[&str], &[Field]); 8] = [
    (&["misa"], &[("mxl", (31, 30), (63, 62)), same("extensions", 25, 0)]),
    (
        &["mstatus", "sstatus"],
        &[
            same("uie", 0, 0),
            same("sie", 1, 1),
            same("mie", 3, 3),
            same("upie", 4, 4),
            same("spie", 5, 5),
            same("ube", 6, 6),
            same("mpie", 7, 7),
            same("spp", 8, 8),
            same("vs", 10, 9),
            same("mpp", 12, 11),
            same("fs", 14, 13),
            same("xs", 16, 15),
            same("mprv", 17, 17),
            same("sum", 18, 18),
            same("mxr", 19, 19),
            same("tvm", 20, 20),
            same("tw", 21, 21),
            same("tsr", 22, 22),
            same("spelp", 23, 23),
            ("uxl", NONE, (33, 32)),
            ("sxl", NONE, (35, 34)),
            ("sbe", NONE, (36, 36)),
            ("mbe", NONE, (37, 37)),
            ("gva", NONE, (38, 38)),
            ("mpv", NONE, (39, 39)),
            ("mpelp", NONE, (41, 41)),
            ("sd", (31, 31), (63, 63)),
        ],
    ),
    (&["mtvec", "stvec"], &[("base", (31, 2), (63, 2)), same("mode", 1, 0)]),
    (
        &["mie", "mip", "sie", "sip"],
        &[
            same("us", 0, 0),
            same("ss", 1, 1),
            same("vss", 2, 2),
            same("ms", 3, 3),
            same("ut", 4, 4),
            same("st", 5, 5),
            same("vst", 6, 6),
            same("mt", 7, 7),
            same("ue", 8, 8),
            same("se", 9, 9),
            same("vse", 10, 10),
            same("me", 11, 11),
            same("sge", 12, 12),
        ],
    ),
    (&["mcause", "scause"], &[("interrupt", (31, 31), (63, 63)), ("exception_code", (30, 0), (62, 0))]),
    (&["fcsr"], &[same("frm", 7, 5), same("fflags", 4, 0)]),
    (&["satp"], &[("ppn", (21, 0), (43, 0)), ("asid", (30, 22), (59, 44)), ("mode", (31, 31), (63, 60))]),
    (
        &["menvcfg", "senvcfg"],
        &[
            same("fiom", 0, 0),
            same("lpe", 2, 2),
            same("sse", 3, 3),
            same("cbie", 5, 4),
            same("cbcfe", 6, 6),
            same("cbze", 7, 7),
            ("adue", NONE, (61, 61)),
            ("pbmte", NONE, (62, 62)),
            ("stce", NONE, (63, 63)),
        ],
    ),
];

/// Most and least significant bit of a field.
pub(super) fn place(register: &str, field: &str, xlen: u32) -> Option<(u8, u8)> {
    if register.starts_with("pmpcfg") {
        let entry: u32 = field.strip_prefix("pmp")?.strip_suffix("cfg")?.parse().ok()?;
        let lsb = (8 * (entry % (xlen / 8))) as u8;
        return Some((lsb + 7, lsb));
    }
    let (_, fields) = FIELDS.iter().find(|(registers, _)| registers.contains(&register))?;
    // Interrupts have the same bits pending and enabled, with one letter more.
    let short = field.strip_suffix("ie").or_else(|| field.strip_suffix("ip"));
    let short = short.filter(|_| matches!(register, "mie" | "mip" | "sie" | "sip")).unwrap_or(field);
    let (_, rv32, rv64) = fields.iter().find(|(name, ..)| *name == short)?;
    Some(if xlen == 32 { *rv32 } else { *rv64 }).filter(|place| *place != NONE)
}
