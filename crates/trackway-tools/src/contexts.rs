//! Contexts that a trace goes through, and how many instructions each of them has.
//!
//! A part of a trace knows only the changes of its context; they are laid over the context before it when parts
//! are merged.
//!
//! ```
//! use trackway_core::{Context, Privilege};
//! use trackway_tools::contexts::Contexts;
//!
//! let user = Context { privilege: Some(Privilege::U), ..Context::default() };
//! let mut first = Contexts::default();
//! first.change(&user);
//! first.count(3);
//! let mut second = Contexts::default();
//! second.count(2); // as user, which it cannot know
//! second.change(&Context { pid: Some(7), ..Context::default() });
//! second.count(1);
//! first.merge(second);
//! let named: Vec<_> = first.by_name().into_iter().collect();
//! assert_eq!(named, [("u".to_string(), 5), ("u pid 0x7".to_string(), 1), ("unknown".to_string(), 0)]);
//! ```

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use trackway_core::{Context, Meta};

/// The contexts of a trace or a part of it, in order, and the current one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Flat", into = "Flat")]
pub struct Contexts {
    met: Vec<(Key, u64)>,
    places: HashMap<Key, usize>,
    current: usize,
    /// The first source and the last: each begins with an unknown context.
    sources: Option<(u16, u16)>,
}

/// A context, as far as it is known; the default is what a source begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Key {
    context: Context,
    /// It is laid over the context before this part.
    on_top: bool,
}

/// [`Contexts`] without the places, which follow from it.
#[derive(Serialize, Deserialize)]
struct Flat {
    met: Vec<(Key, u64)>,
    current: usize,
    sources: Option<(u16, u16)>,
}

impl From<Contexts> for Flat {
    fn from(Contexts { met, current, sources, .. }: Contexts) -> Self {
        Flat { met, current, sources }
    }
}

impl TryFrom<Flat> for Contexts {
    type Error = &'static str;

    fn try_from(Flat { met, current, sources }: Flat) -> Result<Self, &'static str> {
        let places: HashMap<Key, usize> = met.iter().enumerate().map(|(n, entry)| (entry.0, n)).collect();
        if current >= met.len() || places.len() < met.len() {
            return Err("contexts do not fit");
        }
        Ok(Contexts { met, places, current, sources })
    }
}

impl Default for Contexts {
    fn default() -> Self {
        let begin = Key { on_top: true, ..Key::default() };
        Contexts { met: vec![(begin, 0)], places: HashMap::from([(begin, 0)]), current: 0, sources: None }
    }
}

impl Contexts {
    /// Before the first event: it comes in this context of this source.
    pub fn begin(&mut self, source: u16, context: &Context) {
        self.sources = Some((source, source));
        self.current = self.place(Key { context: *context, on_top: false });
    }

    /// Events come from this source from now on; true if the one before was another.
    pub fn enter(&mut self, source: u16) -> bool {
        let before = self.sources.replace((self.sources.map_or(source, |known| known.0), source));
        let changed = before.is_some_and(|(_, last)| last != source);
        if changed {
            self.current = self.place(Key::default());
        }
        changed
    }

    /// The context changes.
    pub fn change(&mut self, change: &Context) {
        let mut key = self.met[self.current].0;
        key.context.update(change);
        self.current = self.place(key);
    }

    /// Counts instructions of the current context.
    #[inline]
    pub fn count(&mut self, instructions: u64) {
        self.met[self.current].1 += instructions;
    }

    /// The current context, as far as this part knows it.
    pub fn now(&self) -> &Context {
        &self.met[self.current].0.context
    }

    /// The current source.
    pub fn source(&self) -> Option<u16> {
        self.sources.map(|sources| sources.1)
    }

    /// Does `later`, which follows, begin with another source?
    pub(crate) fn ends_before(&self, later: &Contexts) -> bool {
        self.sources.zip(later.sources).is_some_and(|((_, last), (first, _))| last != first)
    }

    /// All contexts met, with the instructions that ran in them.
    pub fn met(&self) -> impl Iterator<Item = (&Context, u64)> {
        self.met.iter().map(|(key, instructions)| (&key.context, *instructions))
    }

    /// Adds the contexts of `later`, which follows.
    pub fn merge(&mut self, later: Contexts) {
        if self.ends_before(&later) {
            self.current = self.place(Key::default());
        }
        let base = self.met[self.current].0;
        let mut current = self.current;
        for (n, (key, instructions)) in later.met.into_iter().enumerate() {
            let mut full = key;
            if key.on_top {
                full = base;
                full.context.update(&key.context);
            }
            let place = self.place(full);
            self.met[place].1 += instructions;
            if n == later.current {
                current = place;
            }
        }
        self.current = current;
        self.sources = match (self.sources, later.sources) {
            (Some((first, _)), Some((_, last))) => Some((first, last)),
            (before, after) => before.or(after),
        };
    }

    /// Instructions by the name of the context; `unknown` where nothing is known of it.
    pub fn by_name(&self) -> BTreeMap<String, u64> {
        let mut named = BTreeMap::new();
        for (context, instructions) in self.met() {
            *named.entry(name(context).unwrap_or_else(|| "unknown".into())).or_default() += instructions;
        }
        named
    }

    fn place(&mut self, key: Key) -> usize {
        *self.places.entry(key).or_insert_with(|| {
            self.met.push((key, 0));
            self.met.len() - 1
        })
    }
}

/// The name of a context as [`name`] has it, after the name of its thread where the trace has one.
pub fn named(context: &Context, meta: &Meta) -> Option<String> {
    let ids = name(context)?;
    let thread = context.tid.and_then(|tid| meta.threads.get(&tid));
    Some(thread.map_or_else(|| ids.clone(), |thread| format!("{thread} {ids}")))
}

/// The name of a context: privilege, security and ids; `None` where none of them is known.
pub fn name(context: &Context) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(context.privilege.map(|level| level.as_str().to_string()));
    parts.extend(context.security.map(|state| state.as_str().to_string()));
    for (name, id) in [
        ("context", context.context_id),
        ("vmid", context.vmid),
        ("asid", context.asid),
        ("pid", context.pid),
        ("tid", context.tid),
        ("hw", context.hw_thread),
    ] {
        parts.extend(id.map(|id| format!("{name} {id:#x}")));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}
