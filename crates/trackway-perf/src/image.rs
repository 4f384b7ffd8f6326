//! The program that ran: binaries where the recording maps them, for the processes that see them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use trackway_image::{Elf, Image, Module, Space, is_relocatable};

use crate::binaries::{Found, Places};
use crate::record::hex;
use crate::tasks::{Dso, Map, World};

/// The program, and the files that it lacks.
#[derive(Debug, Default)]
pub(crate) struct Built {
    pub(crate) image: Image,
    /// Files that were found, by their number.
    pub(crate) found: Vec<usize>,
    /// Processes whose address spaces have different code at the same addresses.
    pub(crate) changing: BTreeSet<u32>,
    /// Why files that seemed right were not taken.
    pub(crate) refused: Vec<String>,
}

/// A binary at its place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Placed {
    dso: usize,
    bias: u64,
}

/// The number of an address space, and the range where it sees a binary.
type Seen = (usize, Range<u64>);

/// Loads all binaries that can be found.
pub(crate) fn build(
    world: &World,
    places: &Places,
    module_offsets: &BTreeMap<String, u64>,
) -> Result<Built, trackway_image::Error> {
    let mut builder = Builder { world, places, module_offsets, out: Built::default(), files: HashMap::new() };
    for named in places.named.iter().filter(|named| named.address.is_some()) {
        let bytes = named.bytes.clone();
        builder.out.image.add_elf(&named.spec, bytes, named.address, Space::default())?;
    }
    let mut used = vec![false; places.named.len()];
    let mut seen = std::collections::HashSet::new();
    for map in world.kernel.iter().filter(|map| seen.insert(*map)) {
        builder.kernel(map, &mut used);
    }
    builder.processes(&mut used);
    for (named, _) in
        places.named.iter().zip(&used).filter(|(named, used)| !**used && named.address.is_none())
    {
        // The recording does not name it: it lies where it was linked.
        let is_there = !is_relocatable((*named.bytes).as_ref());
        if is_there {
            builder.out.image.add_elf(&named.spec, named.bytes.clone(), None, Space::default())?;
        }
        let place = if is_there { "; it is taken to be where it was linked" } else { "" };
        builder.out.refused.push(format!("{}: the recording names no such file{place}", named.spec));
    }
    Ok(builder.out)
}

struct Builder<'b> {
    world: &'b World,
    places: &'b Places,
    module_offsets: &'b BTreeMap<String, u64>,
    out: Built,
    /// Files that were looked for, by their number.
    files: HashMap<usize, Option<Found>>,
}

impl Builder<'_> {
    fn find(&mut self, number: usize, used: &mut [bool]) -> Option<Found> {
        if let Some(known) = self.files.get(&number) {
            return known.clone();
        }
        let found = self.places.find(&self.world.dsos[number]).unwrap_or_else(|reason| {
            self.out.refused.push(reason);
            None
        });
        if let Some(named) = found.as_ref().and_then(|found| found.named) {
            used[named] = true;
        }
        self.files.insert(number, found.clone());
        found
    }

    /// The kernel or a module, which all processes see.
    fn kernel(&mut self, map: &Map, used: &mut [bool]) {
        let Some(found) = self.find(map.dso, used) else { return };
        let name = &self.world.dsos[map.dso].name;
        let added = if is_relocatable((*found.bytes).as_ref()) {
            let place = Module { base: map.range.start, text: self.module_offsets.get(name).copied() };
            self.out.image.add_module(&found.name, &found.bytes, place)
        } else {
            let bias = found.elf.as_ref().and_then(|elf| kernel_bias(elf, name, map));
            match bias {
                Some(bias) => self.add(&found, bias, Space::default()),
                None => return,
            }
        };
        self.note(added, map.dso);
    }

    fn note(&mut self, added: Result<(), trackway_image::Error>, dso: usize) {
        match added {
            Ok(()) => self.out.found.push(dso),
            Err(error) => self.out.refused.push(format!("{}: {error}", self.world.dsos[dso].name)),
        }
    }

    fn add(&mut self, found: &Found, bias: u64, space: Space) -> Result<(), trackway_image::Error> {
        let segments = found.elf.iter().flat_map(|elf| &elf.segments);
        let lowest = segments.map(|segment| segment.address).min().unwrap_or(0);
        let address = (lowest & !0xfff).wrapping_add(bias);
        self.out.image.add_elf(&found.name, found.bytes.clone(), Some(address), space)?;
        if let Some(debug) = &found.debug {
            self.out.image.set_debug(debug.clone());
        }
        Ok(())
    }

    /// The binaries of processes. One that no other mapping contradicts is for all of them.
    fn processes(&mut self, used: &mut [bool]) {
        // Where each binary is, and which address spaces see it there.
        let mut placed: Vec<(Placed, Vec<Seen>)> = Vec::new();
        let mut numbers: HashMap<Placed, usize> = HashMap::new();
        let mut numbers_in_pid: HashMap<u32, u64> = HashMap::new();
        let mut asids = Vec::with_capacity(self.world.spaces.len());
        let mut all: Vec<(Range<u64>, usize, u64)> = Vec::new();
        for (n, space) in self.world.spaces.iter().enumerate() {
            let asid = numbers_in_pid.entry(space.pid).or_default();
            *asid += 1;
            asids.push(self.world.has_several(space.pid).then_some(*asid));
            for map in space.maps.values() {
                all.push((map.range.clone(), map.dso, map.range.start.wrapping_sub(map.pgoff)));
                let Some(found) = self.find(map.dso, used) else { continue };
                let Some(bias) = found.elf.as_ref().and_then(|elf| bias(elf, map)) else {
                    continue;
                };
                let place = Placed { dso: map.dso, bias };
                let number = *numbers.entry(place.clone()).or_insert_with(|| {
                    placed.push((place, Vec::new()));
                    placed.len() - 1
                });
                placed[number].1.push((n, map.range.clone()));
            }
        }
        let contradicted = contradictions(all);
        for (Placed { dso, bias }, seen) in placed {
            let Some(Some(found)) = self.files.get(&dso).cloned() else { continue };
            let is_alone = |range: &Range<u64>| {
                let after = contradicted.partition_point(|other| other.end <= range.start);
                contradicted.get(after).is_none_or(|other| other.start >= range.end)
            };
            let mut spaces: Vec<Space> = Vec::new();
            if seen.iter().all(|(_, range)| is_alone(range)) {
                spaces.push(Space::default());
            } else {
                for (space, _) in seen {
                    let pid = self.world.spaces[space].pid;
                    self.out.changing.extend(asids[space].map(|_| pid));
                    let space = Space { pid: Some(pid.into()), asid: asids[space], ..Space::default() };
                    if !spaces.contains(&space) {
                        spaces.push(space);
                    }
                }
            }
            for space in spaces {
                let added = self.add(&found, bias, space);
                self.note(added, dso);
            }
        }
    }
}

/// Ranges where mappings of any processes have different bytes; with all mappings that overlap them.
fn contradictions(mut all: Vec<(Range<u64>, usize, u64)>) -> Vec<Range<u64>> {
    all.sort_by_key(|(range, ..)| (range.start, range.end));
    let mut found: Vec<Range<u64>> = Vec::new();
    // The mappings from `first` on overlap each other, up to `end`.
    let (mut first, mut end, mut differs) = (0, 0, false);
    for n in 0..=all.len() {
        let next = all.get(n);
        if let Some((range, dso, place)) = next.filter(|next| n > first && next.0.start < end) {
            differs |= (all[first].1, all[first].2) != (*dso, *place);
            end = end.max(range.end);
            continue;
        }
        if differs {
            found.push(all[first].0.start..end);
        }
        (first, end, differs) = (n, next.map_or(0, |next| next.0.end), false);
    }
    found
}

/// How far a file was moved: a mapping says where an offset of the file is.
fn bias(elf: &Elf, map: &Map) -> Option<u64> {
    let address = elf.address_of(map.pgoff)?;
    Some(map.range.start.wrapping_sub(address))
}

/// How far the kernel was moved: its mapping begins at the symbol that its name ends with.
fn kernel_bias(elf: &Elf, name: &str, map: &Map) -> Option<u64> {
    let symbol = name.rsplit(']').next().filter(|symbol| !symbol.is_empty()).unwrap_or("_text");
    let runtime = if map.pgoff != 0 && map.range.contains(&map.pgoff) { map.pgoff } else { map.range.start };
    elf.symbol(symbol).map(|address| runtime.wrapping_sub(address))
}

/// How to get a file of the recording, for people.
pub(crate) fn advice(dso: &Dso) -> String {
    let id = dso.build_id.as_ref().map_or(String::new(), |id| format!(", build id {}", hex(id)));
    let name = &dso.name;
    let how = if name.starts_with("[kernel") {
        "name the vmlinux of that kernel with --elf".to_string()
    } else if name.starts_with("[vdso") {
        "it is part of the kernel: name a copy with --elf vdso".to_string()
    } else if name.starts_with("//") || name.starts_with("[anon") || name == "[heap]" || name == "[stack]" {
        "code that was made at run time is not in the recording".to_string()
    } else if name.ends_with(".ko") || name.starts_with('[') {
        "name the module with --elf, or a copy of the machine's files with --sysroot".to_string()
    } else {
        "copy it from the machine and name it with --elf, or name a copy of the machine's files with --sysroot"
            .to_string()
    };
    format!("no code of {name}{id}: {how}")
}
