//! Which of the programs named ran, and where it was loaded.

use trackway::Options;
use trackway::format::{Program, Settings};
use trackway::image::{Image, read_spec};

use super::fit::{Excerpt, Fit, fit};

/// Load addresses that are tried.
const MOST_PLACES: u64 = 256;
/// Bytes of a page, to which programs are moved.
const PAGE: u64 = 0x1000;

/// The programs to try: all files together, unless they overlap, and each ELF file alone.
pub(super) fn sets(program: &Program) -> Vec<Program> {
    let alone = || program.elf.iter().map(|elf| Program { elf: vec![elf.clone()], raw: program.raw.clone() });
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

/// Moves the only ELF file to where the addresses of the trace are in its code: the program that fits better than
/// `before`, with the number of places tried.
pub(super) fn moved(
    options: &Options,
    settings: &Settings,
    before: &Fit,
    excerpt: Excerpt<'_>,
) -> (Option<(Program, Fit)>, u64) {
    let none = (None, 0);
    let [spec] = &options.program.elf[..] else { return none };
    let Ok((path, _)) = read_spec(spec) else { return none };
    let path = path.display().to_string();
    let mut image = Image::default();
    if image.open_elf(&path).is_err() {
        return none;
    }
    let Some((first, last, lowest)) = code(&image) else { return none };
    let (Some(low), Some(high)) = (before.addresses.iter().min(), before.addresses.iter().max()) else {
        return none;
    };
    // How far the code can be moved, in pages, so that all addresses are in it.
    let least = high.wrapping_sub(last).wrapping_add(1) as i64;
    let most = low.wrapping_sub(first) as i64;
    let page = PAGE as i64;
    let places = (least.div_euclid(page)..=most.div_euclid(page)).take(MOST_PLACES as usize);
    let (mut best, mut tries): (Option<(Program, Fit)>, u64) = (None, 0);
    for pages in places {
        tries += 1;
        let address = lowest.wrapping_add((pages * page) as u64);
        let program = Program { elf: vec![format!("{path}@{address:#x}")], raw: options.program.raw.clone() };
        let options = Options { program: program.clone(), ..options.clone() };
        let Some(fit) = fit(&options, settings, excerpt) else { continue };
        let bar = best.as_ref().map_or(before, |(_, fit)| fit);
        if fit.rank(0) < bar.rank(0) {
            best = Some((program, fit));
        }
    }
    (best, tries)
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
