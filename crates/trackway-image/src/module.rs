//! Kernel modules: object files that the kernel links when it loads them.

use object::read::elf::{ElfFile64, FileHeader, Rela, SectionHeader, Sym};
use object::read::{FileKind, Object};
use object::{Endianness, ObjectKind, elf};
use trackway_core::SharedBytes;

use crate::elf::{damaged, parse};
use crate::error::Error;

/// Where a module was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module {
    /// Address of its first section.
    pub base: u64,
    /// Bytes from there to `.text`, where they are known; else they follow from the sections before it.
    pub text: Option<u64>,
}

/// `blr xzr` and `br xzr`: calls and jumps whose target is not known.
const CALL_ANYWHERE: u32 = 0xd63f_03e0;
const JUMP_ANYWHERE: u32 = 0xd61f_03e0;

/// Is it an object file, which has no addresses yet?
pub fn is_relocatable(bytes: &[u8]) -> bool {
    parse(bytes).is_ok_and(|file| file.kind() == ObjectKind::Relocatable)
}

/// The build id of an ELF file of any kind.
pub fn build_id_of(bytes: &[u8]) -> Option<Vec<u8>> {
    Some(parse(bytes).ok()?.build_id().ok()??.to_vec())
}

/// Links a module of an AArch64 kernel: its sections of code get addresses, its symbols too, and calls inside it their
/// targets. Calls into the kernel and other modules become indirect: their targets are not known.
pub(crate) fn link(bytes: &SharedBytes, place: Module) -> Result<Vec<u8>, Error> {
    let file = (**bytes).as_ref();
    if !matches!(FileKind::parse(file), Ok(FileKind::Elf64)) {
        return Err(Error::Unlinked);
    }
    let parsed = ElfFile64::<Endianness>::parse(file).map_err(damaged)?;
    let (header, endian) = (parsed.elf_header(), parsed.endian());
    if endian != Endianness::Little || header.e_machine(endian) != elf::EM_AARCH64 {
        return Err(Error::Unlinked);
    }
    let sections = header.sections(endian, file).map_err(damaged)?;
    let mut out = file.to_vec();
    let addresses = layout(&sections, endian, place);
    let section_headers = header.e_shoff(endian) as usize;
    let header_size = usize::from(header.e_shentsize(endian));
    let mut programs = Vec::new();
    for (n, section) in sections.iter().enumerate() {
        let Some(address) = addresses[n] else { continue };
        // sh_addr
        put(&mut out, section_headers + n * header_size + 16, &address.to_le_bytes());
        if let Some((offset, size)) = section.file_range(endian) {
            programs.push((offset, address, size));
        }
    }
    link_symbols(&mut out, &sections, endian, &addresses)?;
    link_calls(&mut out, file, &sections, endian, &addresses)?;
    let table = out.len().next_multiple_of(8);
    out.resize(table, 0);
    for (offset, address, size) in &programs {
        out.extend(elf::PT_LOAD.0.to_le_bytes());
        out.extend((elf::PF_R.0 | elf::PF_X.0).to_le_bytes());
        for word in [*offset, *address, *address, *size, *size, 4] {
            out.extend(word.to_le_bytes());
        }
    }
    // e_type, e_phoff, e_phentsize and e_phnum.
    put(&mut out, 16, &elf::ET_DYN.0.to_le_bytes());
    put(&mut out, 32, &(table as u64).to_le_bytes());
    put(&mut out, 54, &56u16.to_le_bytes());
    put(&mut out, 56, &(programs.len() as u16).to_le_bytes());
    Ok(out)
}

type Sections<'f> = object::read::elf::SectionTable<'f, elf::FileHeader64<Endianness>>;

fn put(out: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = at.checked_add(bytes.len()).and_then(|end| out.get_mut(at..end)) {
        place.copy_from_slice(bytes);
    }
}

/// Addresses of the sections of code that stay, in the order of the kernel's `layout_sections`.
fn layout(sections: &Sections<'_>, endian: Endianness, place: Module) -> Vec<Option<u64>> {
    let code = elf::SHF_ALLOC.0 | elf::SHF_EXECINSTR.0;
    let mut addresses = vec![None; sections.len()];
    let mut at = 0u64;
    let mut shift = 0;
    for (n, section) in sections.iter().enumerate() {
        let name = sections.section_name(endian, section).unwrap_or_default();
        if section.sh_flags(endian).0 & code != code || name.starts_with(b".init") {
            continue;
        }
        let align = section.sh_addralign(endian).clamp(1, 1 << 16);
        at = at.next_multiple_of(align.next_power_of_two());
        if let (b".text", Some(text)) = (name, place.text) {
            shift = text.wrapping_sub(at);
        }
        addresses[n] = Some(at);
        at = at.saturating_add(section.sh_size(endian)).min(1 << 40);
    }
    let moved = |address: u64| place.base.wrapping_add(address).wrapping_add(shift);
    addresses.into_iter().map(|address| address.map(moved)).collect()
}

/// Values of symbols become addresses; symbols of sections that have none are taken out.
fn link_symbols(
    out: &mut [u8],
    sections: &Sections<'_>,
    endian: Endianness,
    addresses: &[Option<u64>],
) -> Result<(), Error> {
    let Some(table) = sections.iter().find(|section| section.sh_type(endian) == elf::SHT_SYMTAB) else {
        return Ok(());
    };
    let Some((offset, size)) = table.file_range(endian) else { return Ok(()) };
    for n in 0..size / 24 {
        let at = (offset + 24 * n) as usize;
        let Some(symbol) = out.get(at..at + 24) else { break };
        let section = u16::from_le_bytes([symbol[6], symbol[7]]);
        let value = u64::from_le_bytes([8, 9, 10, 11, 12, 13, 14, 15].map(|n| symbol[n]));
        match addresses.get(usize::from(section)).copied().flatten() {
            Some(address) => put(out, at + 8, &value.wrapping_add(address).to_le_bytes()),
            None => put(out, at + 6, &[0, 0]),
        }
    }
    Ok(())
}

/// Relocations of branches.
fn link_calls(
    out: &mut [u8],
    file: &[u8],
    sections: &Sections<'_>,
    endian: Endianness,
    addresses: &[Option<u64>],
) -> Result<(), Error> {
    let symbols = sections.symbols(endian, file, elf::SHT_SYMTAB).map_err(damaged)?;
    for table in sections.iter() {
        let Some((relocations, _)) = table.rela(endian, file).map_err(damaged)? else { continue };
        let target = table.sh_info(endian) as usize;
        let Some(address) = addresses.get(target).copied().flatten() else { continue };
        let Some((start, size)) = sections.iter().nth(target).and_then(|section| section.file_range(endian))
        else {
            continue;
        };
        for relocation in relocations {
            let offset = relocation.r_offset(endian);
            let kind = elf::RelocationType(relocation.r_type(endian, false).0);
            let is_call = kind.0 == elf::R_AARCH64_CALL26.0;
            if !is_call && kind.0 != elf::R_AARCH64_JUMP26.0 || offset > size.saturating_sub(4) {
                continue;
            }
            let symbol = relocation.r_sym(endian, false) as usize;
            let symbol = symbols.symbols().get(symbol);
            let to = symbol.and_then(|symbol| {
                let section = addresses.get(usize::from(symbol.st_shndx(endian).0)).copied().flatten()?;
                Some(section.wrapping_add(symbol.st_value(endian)))
            });
            let word = match to {
                Some(to) => {
                    let to = to.wrapping_add(relocation.r_addend(endian) as u64);
                    let distance = to.wrapping_sub(address.wrapping_add(offset));
                    let operation = if is_call { 0x9400_0000 } else { 0x1400_0000 };
                    operation | (distance >> 2) as u32 & 0x03ff_ffff
                }
                None if is_call => CALL_ANYWHERE,
                None => JUMP_ANYWHERE,
            };
            put(out, (start + offset) as usize, &word.to_le_bytes());
        }
    }
    Ok(())
}
