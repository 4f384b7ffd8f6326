//! The sizes of appendix D, corrected: with the 5 bytes that an instruction takes (`docs/spec-readings/tandem.md`).

use trackway_tandem::Config;
use trackway_tandem::encoder::{ISize, MemSize, Pc, TraceData, TraceEncoder};

fn size(data: TraceData) -> usize {
    let mut encoder = TraceEncoder::new(&Config::default()).unwrap();
    encoder.put(&data).unwrap();
    encoder.out().unwrap().len()
}

#[test]
fn sizes_by_category() {
    let plain = TraceData::new(ISize::ISize32Bit, 0x13);
    let jump = TraceData { pc: Pc::To(0x8000_0000), ..plain };
    let gpr = Some((5, 1));
    let fpr = Some((5, 1));
    let paddr = Some(0x8000_1000);
    let eaddr = Some(0x1000);
    let memdata = Some((MemSize::MemSize64Bit, 1));
    let csr = [Some((0x304, 1)), None, None, None];
    let trap = [Some((0x341, 1)), Some((0x342, 2)), Some((0x300, 3)), Some((0x343, 4))];
    for (category, data, expected) in [
        ("integer computation", TraceData { gpr, ..plain }, 19),
        ("nop", plain, 8),
        ("branch, jump", jump, 17),
        ("branch and link, jump and link", TraceData { gpr, ..jump }, 28),
        ("load", TraceData { gpr, paddr, ..plain }, 29),
        ("load (virtual address)", TraceData { gpr, paddr, eaddr, ..plain }, 39),
        ("store", TraceData { paddr, memdata, ..plain }, 28),
        ("store (virtual address)", TraceData { paddr, eaddr, memdata, ..plain }, 38),
        ("sc, amo", TraceData { gpr, paddr, eaddr, memdata, ..plain }, 49),
        ("csr read-write", TraceData { gpr, csr, ..plain }, 30),
        ("csr read only", TraceData { gpr, ..plain }, 19),
        ("csr write only", TraceData { csr, ..plain }, 19),
        ("floating point computation", TraceData { fpr, fcsr: Some(1), ..plain }, 23),
        ("floating point move", TraceData { gpr, ..plain }, 19),
        ("floating point conversion", TraceData { gpr, fcsr: Some(1), ..plain }, 23),
        ("floating point load", TraceData { fpr, paddr, eaddr, ..plain }, 39),
        ("floating point store", TraceData { paddr, eaddr, memdata, ..plain }, 38),
        ("interrupt", TraceData { instr: None, csr: trap, privilege: Some(3), ..jump }, 59),
        ("exception", TraceData { csr: trap, privilege: Some(3), ..jump }, 64),
    ] {
        assert_eq!(size(data), expected, "{category}");
    }
}
