//! Packets of any bytes are written back as they were read, in every dialect.

use trackway_ete::{Config, Reader};

/// Tries one input.
pub fn ete_packets(data: &[u8]) {
    let Some((&which, bytes)) = data.split_first() else { return };
    let sets: [&[(&str, u64)]; 4] = [
        &[],
        &[("TRCIDR0", 0x0801_cea1)],
        &[("TRCIDR0", 0x2800_0ea1), ("TRCIDR1", 0x4100_f403), ("TRCIDR2", 0x488)],
        &[("TRCIDR0", 0x0601_8ea1), ("TRCIDR1", 0x4100_f463), ("TRCIDR2", 0x888)],
    ];
    let registers = sets[usize::from(which) % sets.len()];
    let registers = registers.iter().map(|&(name, value)| (name.to_string(), value)).collect();
    let config = Config::from_registers("fuzz", registers, None).expect("good registers");
    let reader = Reader::new(&config.dialect);
    let mut at = 0;
    while let Ok((packet, length)) = reader.read(&bytes[at..], at as u64) {
        let mut written = Vec::new();
        packet.write(&config.dialect, &mut written);
        assert_eq!(written, bytes[at..at + length]);
        at += length;
    }
}
