//! Records: fields where the tables put them, and every bit written back.

use proptest::prelude::*;

use trackway_astf::{ExtraEa, Instruction, Record, Trap, from_bytes, to_bytes};

#[test]
fn flags_sit_where_tables_7_and_11_say() {
    let instruction = Instruction::read(&[0x0000_0000_0042_0001, 0, 0, 0]);
    assert!(instruction.ea_tagged && instruction.ea_valid);
    assert!(!instruction.is_read && !instruction.is_write);
    let extra = ExtraEa::read(&[0x0000_0000_0060_0007, 0, 0x40_0001, 0]);
    assert!(extra.mem0_tagged && extra.mem0_is_read && extra.mem1_valid && extra.mem1_is_read);
    let trap = Trap::read(&[0x0000_1234_9110_0005, 1, 0, 0]);
    assert_eq!((trap.trap_type, trap.syscall_type, trap.is_virtual), (0, 1, true));
    assert_eq!((trap.ec, trap.syscall_index, trap.target_pc), (0x24, 0x1234, 1));
}

proptest! {
    #[test]
    fn every_record_writes_back_what_it_read(bytes: [u8; 32], id in 0usize..9) {
        let mut bytes = bytes;
        bytes[0] = [0x41, 8, 1, 7, 5, 0x43, 0x44, 0x45, 0x99][id];
        let words = from_bytes(&bytes);
        prop_assert_eq!(to_bytes(&Record::read(&words).write()), bytes);
    }
}
