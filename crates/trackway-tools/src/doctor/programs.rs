//! Which of the programs named ran, and where it was loaded.

use trackway::Options;
use trackway::format::{Program, Settings};
use trackway::image::{Image, read_spec};

use super::fit::{Excerpt, Fit};
use super::work::Work;

/// Load addresses that are tried.
const MOST_PLACES: usize = 256;
/// Keys of settings that are rather wrong than the address to which a program is linked.
const LINKED: usize = 3;
/// Bytes of a page, to which programs are moved.
const PAGE: u64 = 0x1000;

/// The programs to try: all files together, unless they overlap, and each ELF file alone.
pub(super) fn sets(program: &Program) -> Vec<Program> {
    let alone = || program.elf.iter().map(|elf| Program { elf: vec![elf.clone()], ..program.clone() });
    match program.elf.len() {
        0 | 1 => vec![program.clone()],
        _ if overlap(program) => alone().collect(),
        _ => std::iter::once(program.clone()).chain(alone()).collect(),
    }
}

/// Do two of the files load something to the same address?
fn overlap(program: &Program) -> bool {
    let Ok(image) = program.load() else { return true };
    let spans: Vec<(usize, u64, u64)> = image
        .parts()
        .iter()
        .enumerate()
        .flat_map(|(n, part)| {
            let segments = part.segments.iter().filter(|segment| !segment.bytes().is_empty());
            segments.map(move |segment| (n, segment.address, segment.address + segment.bytes().len() as u64))
        })
        .collect();
    let meets = |a: &(usize, u64, u64)| spans.iter().any(|b| a.0 < b.0 && a.1 < b.2 && b.1 < a.2);
    spans.iter().any(meets)
}

/// A program in another place than it was named with.
#[derive(Clone, Debug)]
pub(super) struct Moved {
    pub(super) program: Program,
    pub(super) fit: Fit,
    /// How unlikely that is, in wrong keys of settings.
    pub(super) cost: usize,
}

/// Moves the only ELF file to where the addresses of the trace are in its code, if it fits better there than `before`.
pub(super) fn moved(
    options: &Options,
    settings: &Settings,
    before: &Fit,
    excerpt: Excerpt<'_>,
    work: &Work,
) -> Option<Moved> {
    let [spec] = &options.program.elf[..] else { return None };
    let (path, address) = read_spec(spec).ok()?;
    let path = path.display().to_string();
    let image = Program { elf: vec![path.clone()], ..options.program.clone() }.load().ok()?;
    let (first, last, lowest) = code(&image)?;
    // An address that the user chose, or that the system did, is easily wrong; the linker's is not.
    let cost = if address.is_some() || lowest == 0 { 0 } else { LINKED };
    let (low, high) = (before.addresses.iter().min()?, before.addresses.iter().max()?);
    // How far the code can be moved, in pages, so that all addresses are in it.
    let least = high.wrapping_sub(last).wrapping_add(1) as i64;
    let most = low.wrapping_sub(first) as i64;
    let page = PAGE as i64;
    let mut best: Option<Moved> = None;
    for pages in (least.div_euclid(page)..=most.div_euclid(page)).take(MOST_PLACES) {
        if work.is_over() {
            break;
        }
        let address = lowest.wrapping_add((pages * page) as u64);
        let program = Program { elf: vec![format!("{path}@{address:#x}")], ..options.program.clone() };
        let options = Options { program: program.clone(), ..options.clone() };
        let Some(fit) = work.try_out(&options, settings, excerpt) else { continue };
        let bar = best.as_ref().map_or(before, |best| &best.fit);
        if fit.rank(0) < bar.rank(0) {
            best = Some(Moved { program, fit, cost });
        }
    }
    best
}

/// First and last address of the code, and the page of the lowest segment.
fn code(image: &Image) -> Option<(u64, u64, u64)> {
    let segments = || image.parts().iter().flat_map(|part| &part.segments);
    let code = || segments().filter(|segment| segment.executable && !segment.bytes().is_empty());
    let first = code().map(|segment| segment.address).min()?;
    let last = code().map(|segment| segment.address + (segment.bytes().len() as u64 - 1)).max()?;
    let lowest = segments().map(|segment| segment.address).min()?;
    Some((first, last, lowest & !(PAGE - 1)))
}
