//! DynamoRIO's drcov: which blocks of which module were executed.

use std::sync::Arc;

use trackway_image::Image;

use crate::executed::Executed;

/// Coverage as drcov version 2; a module for each ELF file. Blocks longer than 65,535 bytes are in pieces, and those in no module left
/// out.
pub fn drcov(executed: &Executed, programs: &[Arc<Image>]) -> Vec<u8> {
    let parts: Vec<_> =
        programs.iter().flat_map(|program| program.parts()).filter(|part| part.elf.is_some()).collect();
    let spans: Vec<(u64, u64)> = parts
        .iter()
        .map(|part| {
            let starts = part.segments.iter().map(|segment| segment.address);
            let ends = part.segments.iter().map(|segment| {
                segment.address.saturating_add(segment.bytes().len() as u64).saturating_add(segment.zeros())
            });
            (starts.min().unwrap_or(0), ends.max().unwrap_or(0))
        })
        .collect();
    let mut table: Vec<(u32, u16, u16)> = Vec::new();
    for block in executed.blocks() {
        let module = spans.iter().position(|(start, end)| (*start..*end).contains(&block.code.start));
        let Some(module) = module else { continue };
        let offset = block.code.start - spans[module].0;
        let mut length = block.code.end.saturating_sub(block.code.start);
        let mut at = offset;
        while length > 0 {
            let size = length.min(u64::from(u16::MAX));
            if let (Ok(at), Ok(module)) = (u32::try_from(at), u16::try_from(module)) {
                table.push((at, size as u16, module));
            }
            (at, length) = (at + size, length - size);
        }
    }
    table.sort_unstable_by_key(|(at, size, module)| (*module, *at, *size));
    table.dedup();
    let mut out = format!(
        "DRCOV VERSION: 2\nDRCOV FLAVOR: trackway\nModule Table: version 2, count {}\n\
         Columns: id, base, end, entry, checksum, timestamp, path\n",
        parts.len()
    );
    for (n, (part, (start, end))) in parts.iter().zip(&spans).enumerate() {
        let entry = part.elf.as_ref().map_or(0, |elf| elf.entry);
        let path: String = part.name.chars().filter(|c| !c.is_control()).collect();
        out += &format!(" {n}, {start:#018x}, {end:#018x}, {entry:#018x}, 0x00000000, 0x00000000, {path}\n");
    }
    out += &format!("BB Table: {} bbs\n", table.len());
    let mut out = out.into_bytes();
    for (at, size, module) in table {
        out.extend_from_slice(&at.to_le_bytes());
        out.extend_from_slice(&size.to_le_bytes());
        out.extend_from_slice(&module.to_le_bytes());
    }
    out
}
