//! Processes, threads and their memory over time.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use trackway_core::Context;

use crate::record::{Body, Mmap};

/// A file, or other memory that is executed, as the recording names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Dso {
    pub(crate) name: String,
    pub(crate) build_id: Option<Vec<u8>>,
}

/// A stretch of memory that is mapped for execution.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Map {
    pub(crate) range: Range<u64>,
    pub(crate) pgoff: u64,
    /// Index of the file.
    pub(crate) dso: usize,
}

impl Map {
    /// Do both have the same bytes where they overlap?
    fn agrees(&self, other: &Map) -> bool {
        let place = |map: &Map| map.range.start.wrapping_sub(map.pgoff);
        self.dso == other.dso && place(self) == place(other)
    }
}

/// Mappings by their address; none overlaps another.
pub(crate) type Maps = BTreeMap<u64, Map>;

/// More mappings than a process can have.
const MOST_MAPS: usize = 1 << 17;

/// Mappings that overlap a range.
fn overlapping(maps: &Maps, range: &Range<u64>) -> Vec<Map> {
    let before = maps.range(..range.start).next_back().filter(|(_, map)| map.range.end > range.start);
    before.into_iter().chain(maps.range(range.clone())).map(|(_, map)| map.clone()).collect()
}

/// Adds a mapping in the place of `others`; it grows over those that agree with it.
fn insert(maps: &mut Maps, mut map: Map, others: &[Map]) {
    for other in others {
        maps.remove(&other.range.start);
        if other.agrees(&map) {
            if other.range.start < map.range.start {
                (map.range.start, map.pgoff) = (other.range.start, other.pgoff);
            }
            map.range.end = map.range.end.max(other.range.end);
        }
    }
    maps.insert(map.range.start, map);
}

/// The memory of a process from `from` on, until the next one of the same process.
#[derive(Clone, Debug)]
pub(crate) struct AddressSpace {
    pub(crate) pid: u32,
    pub(crate) from: u64,
    pub(crate) maps: Arc<Maps>,
}

/// Everything the recording says about processes.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) dsos: Vec<Dso>,
    numbers: HashMap<Dso, usize>,
    /// In order of time.
    pub(crate) spaces: Vec<AddressSpace>,
    /// The spaces of each process, in order of time.
    by_pid: BTreeMap<u32, Vec<usize>>,
    /// The kernel and its modules.
    pub(crate) kernel: Vec<Map>,
    /// The process of each thread, from a time on.
    threads: HashMap<u32, Vec<(u64, u32)>>,
    /// The last name of each thread, and its process.
    pub(crate) names: BTreeMap<u32, (u32, String)>,
    /// Code that the kernel made at run time: the end and the name of each stretch, by its address.
    pub(crate) symbols: BTreeMap<u64, (u64, String)>,
    /// Threads that came to a core, by core and time; `None` for one that left it.
    running: HashMap<u32, Vec<(u64, Option<u32>)>>,
}

impl World {
    /// Records in order of time.
    pub(crate) fn apply(&mut self, when: u64, body: Body, cpu: Option<u32>, tid: Option<u32>) {
        match body {
            Body::Mmap(mmap) => self.map(when, mmap),
            Body::Comm { pid, tid, name, exec } => {
                self.thread(when, tid, pid);
                self.names.insert(tid, (pid, name));
                if exec {
                    self.spaces_push(AddressSpace { pid, from: when, maps: Arc::default() });
                }
            }
            Body::Fork { pid, parent, tid } => {
                self.thread(when, tid, pid);
                if let Some((_, name)) = self.names.get(&parent).cloned() {
                    self.names.entry(tid).or_insert((pid, name));
                }
                if pid != parent
                    && let Some(maps) = self.current(parent).map(|space| Arc::clone(&space.maps))
                {
                    self.spaces_push(AddressSpace { pid, from: when, maps });
                }
            }
            Body::ItraceStart { pid, tid } => {
                self.thread(when, tid, pid);
                if let Some(cpu) = cpu {
                    self.running.entry(cpu).or_default().push((when, Some(tid)));
                }
            }
            Body::Switch { out } => {
                if let Some(cpu) = cpu {
                    self.running.entry(cpu).or_default().push((when, tid.filter(|_| !out)));
                }
            }
            Body::Ksymbol { address, length, name } => {
                self.symbols.insert(address, (address.saturating_add(length.into()), name));
            }
            _ => {}
        }
    }

    fn thread(&mut self, when: u64, tid: u32, pid: u32) {
        let known = self.threads.entry(tid).or_default();
        if known.last().is_none_or(|last| last.1 != pid) {
            known.push((when, pid));
        }
    }

    fn dso(&mut self, name: String, build_id: Option<Vec<u8>>) -> usize {
        let dso = Dso { name, build_id };
        if let Some(&number) = self.numbers.get(&dso) {
            return number;
        }
        self.dsos.push(dso.clone());
        self.numbers.insert(dso, self.dsos.len() - 1);
        self.dsos.len() - 1
    }

    fn spaces_push(&mut self, space: AddressSpace) {
        self.by_pid.entry(space.pid).or_default().push(self.spaces.len());
        self.spaces.push(space);
    }

    fn current(&self, pid: u32) -> Option<&AddressSpace> {
        Some(&self.spaces[*self.by_pid.get(&pid)?.last()?])
    }

    /// A mapping that replaces another begins a new address space: the old code may be in the trace before.
    fn map(&mut self, when: u64, mmap: Mmap) {
        if mmap.range.is_empty() {
            return;
        }
        let dso = self.dso(mmap.name, mmap.build_id);
        let map = Map { range: mmap.range, pgoff: mmap.pgoff, dso };
        let Some(pid) = mmap.pid else {
            if self.kernel.len() < MOST_MAPS {
                self.kernel.push(map);
            }
            return;
        };
        let space = self.by_pid.get(&pid).and_then(|spaces| spaces.last()).copied();
        let Some(space) = space else {
            let maps = Arc::new(Maps::from([(map.range.start, map)]));
            return self.spaces_push(AddressSpace { pid, from: when, maps });
        };
        let maps = &self.spaces[space].maps;
        let others = overlapping(maps, &map.range);
        if others.iter().any(|other| !other.agrees(&map)) {
            let mut maps = Maps::clone(maps);
            insert(&mut maps, map, &others);
            return self.spaces_push(AddressSpace { pid, from: when, maps: Arc::new(maps) });
        }
        if others.contains(&map) || maps.len() >= MOST_MAPS {
            return;
        }
        insert(Arc::make_mut(&mut self.spaces[space].maps), map, &others);
    }

    /// The process of a thread at a time.
    pub(crate) fn pid_of(&self, tid: u32, when: u64) -> Option<u32> {
        let known = self.threads.get(&tid)?;
        let at = known.partition_point(|(from, _)| *from <= when);
        Some(known[at.saturating_sub(1)].1)
    }

    /// The address space of a process at a time, and its number among those of the process.
    pub(crate) fn space_of(&self, pid: u32, when: u64) -> Option<(usize, usize)> {
        let spaces = self.by_pid.get(&pid)?;
        let at = spaces.partition_point(|&space| self.spaces[space].from <= when);
        let n = at.saturating_sub(1);
        Some((n, spaces[n]))
    }

    /// Has a process several address spaces, one after the other?
    pub(crate) fn has_several(&self, pid: u32) -> bool {
        self.by_pid.get(&pid).is_some_and(|spaces| spaces.len() > 1)
    }

    /// The thread that runs on a core at a time.
    pub(crate) fn running(&self, cpu: u32, when: u64) -> Option<u32> {
        let known = self.running.get(&cpu)?;
        // The last record before may say that the thread just left.
        let before = &known[..known.partition_point(|(from, _)| *from <= when)];
        before.iter().rev().find_map(|(_, tid)| *tid)
    }

    /// The only process with memory of its own, if there is one.
    pub(crate) fn only_pid(&self) -> Option<u32> {
        let mut pids = self.by_pid.keys();
        pids.next().copied().filter(|_| pids.next().is_none())
    }

    /// The mapping at an address of an address space or the kernel.
    fn map_at(&self, space: Option<usize>, pc: u64) -> Option<&Map> {
        let maps = space.map(|space| &self.spaces[space].maps);
        let found = maps.and_then(|maps| maps.range(..=pc).next_back()).map(|(_, map)| map);
        found.into_iter().chain(&self.kernel).find(|map| map.range.contains(&pc))
    }
}

/// Files that were executed and are not there, as they are found out.
pub(crate) type Missing = Mutex<BTreeSet<Unknown>>;

/// Code that is not there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unknown {
    /// A file, by its number.
    File(usize),
    /// Code that the kernel made at run time, by its address.
    Made(u64),
    /// Something that the recording does not name, for example before an address.
    Nothing { kernel: bool },
}

/// The threads as one session of a trace unit sees them.
#[derive(Clone, Debug)]
pub(crate) struct Threads {
    pub(crate) world: Arc<World>,
    pub(crate) missing: Arc<Missing>,
    /// Processes whose address spaces have different code at the same addresses.
    pub(crate) changing: Arc<BTreeSet<u32>>,
    /// The end of the session.
    pub(crate) when: u64,
    /// The thread, where contexts of the trace do not say it.
    pub(crate) tid: Option<u32>,
    /// The thread id is in the virtual context identifier (CONTEXTIDR_EL2).
    pub(crate) in_vmid: bool,
    /// It is in the context identifier.
    pub(crate) in_context_id: bool,
}

impl trackway_ete::Tasks for Threads {
    fn complete(&self, context: &mut Context) {
        let traced = match (self.in_vmid, self.in_context_id) {
            (true, _) => context.vmid,
            (_, true) => context.context_id,
            _ => None,
        };
        // 0 is the idle task of a core, or a unit that does not know.
        let traced = traced.and_then(|id| u32::try_from(id).ok()).filter(|&id| id != 0);
        let tid = traced.or(self.tid);
        let pid = tid.and_then(|tid| self.world.pid_of(tid, self.when).or(Some(tid)));
        let pid = pid.or_else(|| self.world.only_pid());
        context.tid = tid.map(u64::from);
        context.pid = pid.map(u64::from);
        context.asid = pid.and_then(|pid| self.asid(pid));
    }

    fn no_code(&self, context: &Context, pc: u64) {
        let pid = context.pid.and_then(|pid| u32::try_from(pid).ok());
        let space = pid.and_then(|pid| self.world.space_of(pid, self.when)).map(|(_, space)| space);
        let made = self.world.symbols.range(..=pc).next_back().filter(|(_, (end, _))| pc < *end);
        let unknown = match (made, self.world.map_at(space, pc)) {
            (Some((address, _)), _) => Unknown::Made(*address),
            (None, Some(map)) => Unknown::File(map.dso),
            (None, None) => Unknown::Nothing { kernel: pc >> 63 == 1 },
        };
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).insert(unknown);
    }
}

impl Threads {
    fn asid(&self, pid: u32) -> Option<u64> {
        if !self.changing.contains(&pid) {
            return None;
        }
        self.world.space_of(pid, self.when).map(|(n, _)| n as u64 + 1)
    }
}
