//! Executions there and back, for every legal combination of modes.

use std::sync::Arc;

use trackway_core::*;
use trackway_etrace::{Config, Dialect, Lower, SupportLayout, TrapVector, lift};
use trackway_image::Image;

/// The results that both sides must agree on.
#[derive(Default, PartialEq)]
pub struct Seen {
    pub pcs: Vec<u64>,
    /// Number of instructions retired before, interrupt, cause, where it hit.
    pub traps: Vec<(usize, bool, Option<u64>, Option<u64>)>,
    /// Number of instructions retired before, privilege.
    pub privileges: Vec<(usize, Privilege)>,
}

impl Seen {
    /// Privileges in which an instruction retired.
    fn privileges_of_retired(&self) -> Vec<(usize, Privilege)> {
        let mut reported: Vec<(usize, Privilege)> = Vec::new();
        for (n, &(at, privilege)) in self.privileges.iter().enumerate() {
            let end = self.privileges.get(n + 1).map_or(self.pcs.len(), |next| next.0);
            if at < end && reported.last().is_none_or(|last| last.1 != privilege) {
                reported.push((at, privilege));
            }
        }
        reported
    }

    pub fn note(&mut self, batch: &Batch, event: &Event) {
        match &event.kind {
            EventKind::Step(step) if step.outcome == Outcome::Retired => self.pcs.extend(step.pc),
            EventKind::Trap(n) => {
                let trap = &batch.traps[*n as usize];
                if trap.kind != TrapKind::Return {
                    let interrupt = trap.kind == TrapKind::Interrupt;
                    self.traps.push((self.pcs.len(), interrupt, trap.cause, trap.from));
                }
            }
            EventKind::Context(n) => {
                if let Some(privilege) = batch.contexts[*n as usize].privilege
                    && self.privileges.last().is_none_or(|last| last.1 != privilege)
                {
                    self.privileges.push((self.pcs.len(), privilege));
                }
            }
            _ => {}
        }
    }
}

/// An execution and the code that it ran.
pub struct Case {
    pub name: String,
    pub isa: Isa,
    pub batches: Vec<Batch>,
    pub seen: Seen,
    pub image: Arc<Image>,
    pub vectors: Vec<TrapVector>,
}

/// Every legal combination of modes of a dialect.
pub fn configs(dialect: Dialect, vectors: &[TrapVector]) -> Vec<Config> {
    let mut all = Vec::new();
    for bits in 0..32u32 {
        for returns in 0..3 {
            let mut config = Config::new(dialect);
            config.support = SupportLayout::named("all").unwrap();
            config.trap_vectors = vectors.to_vec();
            let params = &mut config.params;
            params.iaddress_width = 64;
            (params.sijump, params.f0s_width, params.bpred_size, params.cache_size) = (1, 1, 9, 5);
            (params.return_stack_size, params.call_counter_size) = [(0, 0), (4, 0), (0, 6)][returns];
            config.options.implicit_return = returns > 0;
            config.options.sijump = bits & 1 == 1;
            config.options.branch_prediction = bits & 2 == 2;
            config.options.jump_target_cache = bits & 4 == 4;
            config.options.full_address = bits & 8 == 8;
            config.options.implicit_exception = bits & 16 == 16;
            if config.options.implicit_exception && vectors.is_empty() {
                continue;
            }
            if bits & 1 == 0 && returns == 0 {
                config.params.itype_width = 3;
            }
            all.push(config);
        }
    }
    all
}

pub fn there_and_back(case: &Case, config: &Config) -> u64 {
    let mut lower = Lower::new(Vec::new(), config, case.isa, None).unwrap();
    for batch in &case.batches {
        lower.put(batch).unwrap();
    }
    lower.finish().unwrap();
    let bytes = lower.into_inner();
    let length = bytes.len() as u64;
    let mut lift = lift(Input::from_vec(bytes), config, Arc::clone(&case.image), 1).unwrap();
    let memory = case.image.memory(&Context::default());
    let (mut seen, mut batch) = (Seen::default(), Batch::default());
    while lift.fill(&mut batch).unwrap_or_else(|error| panic!("{}: {error}\n{:?}", case.name, config.options))
    {
        for event in &batch.events {
            if let EventKind::Run(run) = &event.kind {
                let mut at = run.start;
                for _ in 0..run.count - u32::from(run.attempted) {
                    seen.pcs.push(at);
                    at += u64::from(memory.fetch(run.isa, at).unwrap().1);
                }
            }
            seen.note(&batch, event);
            assert!(!matches!(event.kind, EventKind::Gap(_)), "{}: {:?}", case.name, batch.gaps);
        }
    }
    let what = || format!("{} {:?} {:?}", case.name, config.dialect, config.options);
    let same = seen.pcs.iter().zip(&case.seen.pcs).take_while(|(a, b)| a == b).count();
    assert_eq!((same, seen.pcs.len()), (case.seen.pcs.len(), case.seen.pcs.len()), "{}", what());
    let draft = config.dialect == Dialect::Draft;
    // The draft reports privileges only with instructions that retire.
    let reported = |of: &Seen| if draft { of.privileges_of_retired() } else { of.privileges.clone() };
    assert_eq!(reported(&seen), reported(&case.seen), "{}", what());
    // Only version 2 reports a trap at the very end; the draft does not know some addresses.
    let wanted: Vec<_> =
        case.seen.traps.iter().filter(|trap| !draft || trap.0 < case.seen.pcs.len()).collect();
    assert_eq!(seen.traps.len(), wanted.len(), "{}", what());
    for (found, wanted) in seen.traps.iter().zip(wanted) {
        assert_eq!((found.0, found.1), (wanted.0, wanted.1), "{}", what());
        assert!(wanted.2.is_none() || found.2 == wanted.2, "{}: {found:x?} {wanted:x?}", what());
        let place_known = found.3 == wanted.3 || wanted.3.is_none() || (draft && found.3.is_none());
        assert!(place_known, "{}: {found:x?} {wanted:x?}", what());
    }
    length
}
