//! The two hypotheses about a fault: the core has it, or only the trace does.
//!
//! While something is in doubt a step that reads it is executed with both values. The value that explains the trace
//! is right, and ends the doubt; a step that neither explains is a fault of its own.

use std::collections::BTreeMap;

use trackway_core::{Reg, RegClass, RegUpdate};
use trackway_hart::{AccessKind, Effects, Level, State};
use trackway_isa::riscv::csr_number;

use super::compare::name;
use super::decode::Decoded;
use super::report::{Class, Element};
use super::suspects::{Doubtful, Root, canonical};
use super::traced::{TracedRegister, TracedStep};
use super::verifier::{Unchanged, Unknown, Verifier, resolve};

/// Bytes of memory with their content, `None` where unknown.
pub(super) type Bytes = Vec<(u64, Option<u8>)>;

/// A step of the trace, and what the verifier needs to know about it.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) traced: &'a TracedStep,
    pub(super) decoded: Option<&'a Decoded>,
    /// Address and level before it.
    pub(super) pc: u64,
    pub(super) level: Level,
}

/// All that a step starts from.
#[derive(Debug)]
pub(super) struct Prior {
    state: State,
    unknown: Unknown,
    unchanged: Unchanged,
    /// The step, with values instead of changes to values.
    step: TracedStep,
}

/// The outcome of a step.
#[derive(Clone, Debug)]
struct World {
    state: State,
    shadow: State,
    effects: Effects,
    unknown: Unknown,
    unchanged: Unchanged,
    unrecorded: Option<Reg>,
    /// Bytes that it wrote to memory.
    written: Bytes,
    /// Bytes that memory held before it, and does not hold for the model.
    patch: Bytes,
    elements: Vec<Element>,
    /// It agrees but for the address, which the trace counts on from a doubtful one.
    shifted: bool,
}

impl World {
    fn agrees(&self) -> bool {
        self.elements.is_empty()
    }
}

/// Name of an element, for people.
fn named(doubtful: Doubtful) -> String {
    let register = |class, number| name(Reg { class, number });
    match doubtful {
        Doubtful::Pc => "pc".to_string(),
        Doubtful::Level => "privilege".to_string(),
        Doubtful::Reservation => "reservation".to_string(),
        Doubtful::X(n) => register(RegClass::Int, n.into()),
        Doubtful::F(n) => register(RegClass::Float, n.into()),
        Doubtful::Csr(number) => register(RegClass::Csr, number),
        Doubtful::Memory(at, _) => format!("memory at {at:#x}"),
    }
}

impl Verifier {
    /// All that a step starts from, where something is in doubt.
    pub(super) fn prior(&mut self, traced: &TracedStep) -> Option<Prior> {
        if !self.suspects.any() {
            return None;
        }
        self.suspects.follow(self.model.state());
        self.suspects.other.as_ref()?;
        let mut step = traced.clone();
        for write in step.writes.iter_mut().filter(|write| self.says_value(write)) {
            let value = resolve(&self.shadow, write);
            *write = TracedRegister { update: RegUpdate::Set, value, ..*write };
        }
        let (unknown, unchanged) = (self.unknown.clone(), self.unchanged);
        Some(Prior { state: self.model.state().clone(), unknown, unchanged, step })
    }

    /// Concludes a step: `elements` is what the model, with all faults adopted, has different from the trace.
    pub(super) fn conclude(
        &mut self,
        prior: Option<Prior>,
        subject: Subject<'_>,
        trapped: bool,
        elements: Vec<Element>,
    ) {
        let elements = self.beyond_lacking(subject.traced, elements);
        let Some(prior) = prior else {
            if !elements.is_empty() {
                let mine = self.take_world(elements);
                let root = self.new_root(subject, mine.elements.clone());
                self.adopt_world(None, subject, mine.clone(), mine, root);
            }
            return;
        };
        let sources = self.doubtful_sources(subject.traced, subject.decoded, trapped);
        if elements.is_empty() && sources.is_empty() && !self.touches_csrs(subject.traced) {
            self.both_wrote(&prior.state);
            return;
        }
        let mine = self.take_world(elements);
        self.judge(prior, subject, &sources, mine);
    }

    /// The model cannot follow its page tables. Can the other hypothesis?
    pub(super) fn judge_lost(&mut self, prior: Prior, subject: Subject<'_>) -> bool {
        let sources = self.doubtful_sources(subject.traced, subject.decoded, true);
        let lost =
            Element { name: "translation".to_string(), class: Class::Memory, expected: None, actual: None };
        let mine = self.take_world(vec![lost]);
        let Some(other) = self.suspects.other.as_deref().cloned() else { return false };
        let overlay = self.overlay(|_| true);
        let theirs = self.run(other, overlay, &prior, subject);
        if theirs.agrees() && !sources.is_empty() {
            self.judge(prior, subject, &sources, mine);
            return true;
        }
        self.model.set_state(prior.state.clone());
        self.shadow.set_state(prior.state);
        (self.unknown, self.unchanged) = (prior.unknown, prior.unchanged);
        false
    }

    /// A step that reads nothing doubtful has the same results either way.
    fn both_wrote(&mut self, before: &State) {
        if before.reservation != self.model.state().reservation {
            self.suspects.reservation = 0;
        }
        for (n, _) in self.effects.written_x() {
            self.suspects.x[usize::from(n & 31)] = 0;
        }
        if let Some((n, _)) = self.effects.f {
            self.suspects.f[usize::from(n & 31)] = 0;
        }
        let accesses = self.effects.memory;
        for access in accesses.iter().filter(|access| access.kind != AccessKind::Load) {
            self.suspects.clear_bytes(access.physical, access.size.into());
        }
    }

    /// The outcome of the step just made; memory is as before it.
    fn take_world(&mut self, elements: Vec<Element>) -> World {
        let written = self.memory.take_written(0);
        World {
            state: self.model.state().clone(),
            shadow: self.shadow.state().clone(),
            effects: self.effects.clone(),
            unknown: self.unknown.clone(),
            unchanged: self.unchanged,
            unrecorded: self.unrecorded,
            written,
            patch: Vec::new(),
            elements,
            shifted: false,
        }
    }

    /// Bytes that are different if the faults are not adopted.
    fn overlay(&self, wanted: impl Fn(u64) -> bool) -> Bytes {
        let bytes = self.suspects.memory.iter();
        bytes.map(|(at, (_, byte))| (*at, *byte)).filter(|(at, _)| wanted(*at)).collect()
    }

    /// Makes the step from this state, with these bytes in memory; memory is left as it was.
    fn run(&mut self, state: State, patch: Bytes, prior: &Prior, subject: Subject<'_>) -> World {
        let counted = (self.report.exceptions, self.report.interrupts, self.report.checked);
        let mut step = std::borrow::Cow::Borrowed(&prior.step);
        // A trace that counts addresses on from a doubtful one shows no more than the distance.
        let counts_on = step.instruction.map(|fetched| prior.state.pc.wrapping_add(fetched.length.into()));
        let shifted = state.pc != prior.state.pc
            && step.trap.is_none()
            && step.next_pc == counts_on
            && counts_on.is_some();
        if shifted {
            step.to_mut().next_pc = None;
        }
        self.is_trial = true;
        self.memory.begin();
        self.memory.put_all(&patch);
        let begun = self.memory.written_count();
        self.model.set_state(state.clone());
        self.shadow.set_state(state);
        (self.unknown, self.unchanged) = (prior.unknown.clone(), prior.unchanged);
        let reads = self.compare_reads(&step);
        if let Some(decoded) = subject.decoded {
            self.copy_in(&step, decoded);
        }
        let taken = self.execute(&step);
        let lost = self.memory.lost;
        self.settle(&step, subject.decoded);
        let mut elements = self.compare(&step, taken.as_ref());
        elements.extend(reads);
        let mut elements = self.beyond_lacking(&step, elements);
        if lost {
            let name = "translation".to_string();
            elements.push(Element { name, class: Class::Memory, expected: None, actual: None });
        }
        self.is_trial = false;
        (self.report.exceptions, self.report.interrupts, self.report.checked) = counted;
        let written = self.memory.take_written(begun);
        World { written, patch, shifted, ..self.take_world(elements) }
    }

    /// Makes the step with the other values of some elements.
    fn run_with(
        &mut self,
        doubtful: &[Doubtful],
        prior: &Prior,
        other: &State,
        subject: Subject<'_>,
    ) -> World {
        let mut state = prior.state.clone();
        doubtful.iter().for_each(|one| one.copy(other, &mut state));
        let patch = self.overlay(|at| doubtful.iter().any(|one| one.holds(at)));
        self.run(state, patch, prior, subject)
    }

    /// Finds out which hypothesis explains the step.
    fn judge(&mut self, prior: Prior, subject: Subject<'_>, sources: &[Doubtful], mine: World) {
        let Some(other) = self.suspects.other.as_deref().cloned() else { return };
        let overlay = self.overlay(|_| true);
        let theirs = self.run(other.clone(), overlay, &prior, subject);
        let earlier = Some((&prior.state, &other));
        match (mine.agrees(), theirs.agrees()) {
            (true, true) => {
                let cause = sources.first().map_or(0, |source| self.suspects.root(*source));
                self.accept(earlier, mine, theirs, cause);
            }
            (true, false) => {
                // The core has the fault. Which of the elements shows it?
                let mut decisive = sources.to_vec();
                if sources.len() > 1 {
                    decisive.retain(|one| !self.run_with(&[*one], &prior, &other, subject).agrees());
                }
                if decisive.is_empty() {
                    decisive = sources.to_vec();
                }
                let mut state = other.clone();
                decisive.iter().for_each(|one| one.copy(&prior.state, &mut state));
                let patch = self.overlay(|at| !decisive.iter().any(|one| one.holds(at)));
                let rest = self.run(state, patch, &prior, subject);
                let cause = sources.first().map_or(0, |source| self.suspects.root(*source));
                for one in decisive {
                    if let Doubtful::Memory(at, size) = one {
                        self.suspects.clear_bytes(at, size);
                    }
                }
                if rest.agrees() {
                    self.accept(earlier, mine, rest, cause);
                } else {
                    self.suspects.memory.clear();
                    self.accept(earlier, mine.clone(), mine, cause);
                }
            }
            (false, _) => self.explain(prior, &other, subject, sources, mine, theirs),
        }
    }

    /// The model disagrees: does another value of what it read explain the step?
    fn explain(
        &mut self,
        prior: Prior,
        other: &State,
        subject: Subject<'_>,
        sources: &[Doubtful],
        mine: World,
        theirs: World,
    ) {
        let earlier = Some((&prior.state, other));
        let singles: Vec<Vec<Doubtful>> = match sources {
            [] | [_] => Vec::new(),
            several => several.iter().map(|one| vec![*one]).collect(),
        };
        let mut best: Option<World> = None;
        for doubtful in singles.into_iter().chain([sources.to_vec()]).filter(|set| !set.is_empty()) {
            let world = self.run_with(&doubtful, &prior, other, subject);
            if world.agrees() {
                let root = self.fold(&doubtful, subject.traced, &mine.elements);
                if world.shifted {
                    self.adopt_world(earlier, subject, mine, theirs, root);
                } else {
                    self.accept(earlier, world, theirs, root);
                }
                return;
            }
            best = Some(world).filter(|world| world.elements.len() < mine.elements.len()).or(best);
        }
        if theirs.agrees() {
            // All that is in doubt together explains it.
            let doubtful = sources.first().copied().or_else(|| self.first_doubt());
            let root = self.fold(doubtful.as_slice(), subject.traced, &mine.elements);
            self.accept(earlier, theirs.clone(), theirs, root);
            return;
        }
        // Neither: a fault of its own, beside which the better explanation counts.
        let base = best.unwrap_or(mine);
        let root = self.new_root(subject, base.elements.clone());
        self.adopt_world(earlier, subject, base, theirs, root);
    }

    /// Any element that is in doubt.
    fn first_doubt(&self) -> Option<Doubtful> {
        let suspects = &self.suspects;
        let of_file = |file: &[Root; 32]| (0..32u8).find(|n| file[usize::from(*n)] != 0);
        (suspects.pc != 0)
            .then_some(Doubtful::Pc)
            .or((suspects.level != 0).then_some(Doubtful::Level))
            .or(suspects.csrs.keys().next().copied().map(Doubtful::Csr))
            .or(of_file(&suspects.x).map(Doubtful::X))
            .or(of_file(&suspects.f).map(Doubtful::F))
            .or(suspects.memory.keys().next().map(|at| Doubtful::Memory(*at, 1)))
    }

    /// Counts a mismatch with the root cause that it follows from.
    fn fold(&mut self, through: &[Doubtful], traced: &TracedStep, elements: &[Element]) -> Root {
        let found = through.iter().map(|one| (self.suspects.root(*one), *one)).find(|(root, _)| *root != 0);
        let Some((root, through)) = found else { return 0 };
        self.follow_up(root, named(through), traced, elements);
        root
    }

    /// Continues with a world that explains the step.
    fn accept(&mut self, earlier: Option<(&State, &State)>, mine: World, theirs: World, cause: Root) {
        self.memory.begin();
        self.memory.put_all(&mine.patch);
        self.memory.put_all(&mine.written);
        self.install(&mine);
        self.shadow.set_state(mine.state.clone());
        self.doubt(earlier, &mine, theirs, cause);
    }

    /// Continues with the state of the trace (step 5 of 3.1).
    fn adopt_world(
        &mut self,
        earlier: Option<(&State, &State)>,
        subject: Subject<'_>,
        mine: World,
        theirs: World,
        root: Root,
    ) {
        self.memory.begin();
        self.memory.put_all(&mine.patch);
        // Page walks keep their writes: only the instruction's own stores are not made.
        let stored = |at: u64| {
            let mut stores = mine.effects.memory.iter().filter(|access| access.kind != AccessKind::Load);
            stores.any(|access| at.wrapping_sub(access.physical) < access.size.into())
        };
        let walked: Bytes = mine.written.iter().copied().filter(|(at, _)| !stored(*at)).collect();
        self.memory.put_all(&walked);
        self.install(&mine);
        self.resynchronise(subject, root);
        self.doubt(earlier, &mine, theirs, root);
    }

    fn install(&mut self, world: &World) {
        self.model.set_state(world.state.clone());
        self.shadow.set_state(world.shadow.clone());
        self.effects.clone_from(&world.effects);
        self.unknown.clone_from(&world.unknown);
        (self.unchanged, self.unrecorded) = (world.unchanged, world.unrecorded);
    }

    /// Works out again what is in doubt, after the model took its state.
    fn doubt(&mut self, earlier: Option<(&State, &State)>, mine: &World, theirs: World, cause: Root) {
        // Control registers that the trace has different; the others keep the root cause that they have.
        let named = mine.elements.iter().filter_map(|element| csr_number(&element.name));
        let named: Vec<u16> = named.map(canonical).collect();
        // Bytes as they are without the fault: as written there, as in doubt already, or as before.
        let mut bytes: BTreeMap<u64, Option<u8>> = self.memory.overwritten();
        let changed: Vec<u64> = bytes.keys().copied().collect();
        bytes.extend(self.suspects.memory.iter().map(|(at, (_, byte))| (*at, *byte)));
        bytes.extend(theirs.written.iter().copied());
        for (at, byte) in bytes {
            if self.memory.get(at) == byte {
                self.suspects.memory.remove(&at);
                continue;
            }
            let old = self.suspects.memory.get(&at).map(|(root, _)| *root);
            let is_new = changed.contains(&at) || theirs.written.iter().any(|(written, _)| *written == at);
            let root = old.filter(|_| !is_new).unwrap_or(cause);
            self.suspects.memory.insert(at, (root, byte));
        }
        self.suspects.compare(self.model.state(), theirs.state, earlier, &named, cause);
    }
}
