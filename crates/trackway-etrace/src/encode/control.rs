//! Encoder control (chapter 2): a trace unit that software controls through its fields.
//!
//! ```
//! use trackway_etrace::encode::TraceUnit;
//! use trackway_etrace::port::{Block, Cycle, Itype};
//! use trackway_etrace::{Config, Dialect};
//!
//! let mut unit = TraceUnit::new(&Config::new(Dialect::V2))?;
//! unit.write("active", 1, 0)?;
//! unit.write("iEnable", 1, 0)?;
//! let block = [Block::single(Itype::NONE, 0x8000_0000, true, 1)];
//! unit.cycle(&Cycle { blocks: &block, privilege: 3, cycle: 1, ..Cycle::default() })?;
//! assert_eq!(unit.read("empty"), Some(0));
//! unit.write("iEnable", 0, 2)?; // flushes
//! assert_eq!(unit.take().len(), 10); // support, start, support
//! assert_eq!(unit.read("empty"), Some(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use trackway_core::Result;

use super::Encoder;
use crate::config::{Compress, Config, ConfigError, ResyncMode};
use crate::port::{Block, Cycle, DataPort, Trigger};
use crate::registers::{
    BASIC_FIELDS, Basic, COMPARATOR_FIELDS, Comparator, FILTER_FIELDS, Filter, MODE_FIELDS, Modes, Register,
    SELECTION_FIELDS, Selection,
};

/// Finds a field by its name, ignoring case.
fn find<T>(fields: &'static [Register<T>], name: &str) -> Option<&'static Register<T>> {
    fields.iter().find(|field| field.name.eq_ignore_ascii_case(name))
}

/// A field of the unit.
enum Place {
    Basic(&'static Register<Basic>),
    Mode(&'static Register<Modes>),
    Selection(&'static Register<Selection>),
    Filter(usize, &'static Register<Filter>),
    Comparator(usize, &'static Register<Comparator>),
}

/// A trace unit: an encoder with its control fields.
#[derive(Clone, Debug)]
pub struct TraceUnit {
    basic: Basic,
    config: Config,
    encoder: Encoder,
}

impl TraceUnit {
    /// A unit after reset. System-dependent values (`SD` in the tables) and the number of filters and comparators
    /// come from the settings; `Active` and both enables are 0.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let params = &config.params;
        let mut config = config.clone();
        config
            .filters
            .filters
            .resize(params.filters.max(config.filters.filters.len() as u32) as usize, Filter::default());
        let comparators = params.comparators.max(config.filters.comparators.len() as u32) as usize;
        config.filters.comparators.resize(comparators, Comparator::default());
        let mut encoder = Encoder::new(&config)?;
        encoder.set_enable(false, false, 0);
        let basic = Basic {
            stall_enable: config.encoder.stall,
            resync_mode: config.encoder.resync_mode as u8,
            resync_max: config.encoder.resync_max as u8,
            ..Basic::default()
        };
        Ok(TraceUnit { basic, config, encoder })
    }

    /// The encoder.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Takes the bytes emitted so far.
    pub fn take(&mut self) -> Vec<u8> {
        self.encoder.writer.take()
    }

    /// A field by its name in chapter 2; those of filters and comparators as `filter0.matchComp1`,
    /// `comparator2.pMatch`.
    fn place(&self, name: &str) -> Option<Place> {
        if let Some((unit, field)) = name.split_once('.') {
            let digits = unit.find(|c: char| c.is_ascii_digit())?;
            let n: usize = unit[digits..].parse().ok()?;
            return match &unit[..digits] {
                "filter" if n < self.config.filters.filters.len() => {
                    find(FILTER_FIELDS, field).map(|field| Place::Filter(n, field))
                }
                "comparator" if n < self.config.filters.comparators.len() => {
                    find(COMPARATOR_FIELDS, field).map(|field| Place::Comparator(n, field))
                }
                _ => None,
            };
        }
        find(BASIC_FIELDS, name)
            .map(Place::Basic)
            .or_else(|| find(MODE_FIELDS, name).map(Place::Mode))
            .or_else(|| find(SELECTION_FIELDS, name).map(Place::Selection))
    }

    /// Reads a field; `None` if it does not exist or the unit is not active.
    pub fn read(&self, name: &str) -> Option<u64> {
        let place = self.place(name)?;
        if !self.basic.active && !matches!(&place, Place::Basic(field) if field.name == "Active") {
            return None;
        }
        Some(match place {
            Place::Basic(field) => field.get(&Basic { empty: self.encoder.is_empty(), ..self.basic }),
            Place::Mode(field) => field.get(&self.modes()),
            Place::Selection(field) => field.get(&self.selection()),
            Place::Filter(n, field) => field.get(&self.config.filters.filters[n]),
            Place::Comparator(n, field) => field.get(&self.config.filters.comparators[n]),
        })
    }

    /// Writes a field. Support packets report changes of modes; a value that the parameters do not allow is refused
    /// and changes nothing.
    pub fn write(&mut self, name: &str, value: u64, cycle: u64) -> Result<(), ConfigError> {
        let Some(place) = self.place(name) else {
            return Err(ConfigError::new(name, "no such field"));
        };
        let is_active = matches!(&place, Place::Basic(field) if field.name == "Active");
        if !self.basic.active && !is_active {
            return Err(ConfigError::new(name, "the unit is not active: write Active first"));
        }
        let mut config = self.config.clone();
        match place {
            Place::Basic(field) if !field.writable => {
                return Err(ConfigError::new(name, "read-only"));
            }
            Place::Basic(field) => {
                let mut basic = self.basic;
                field.set(&mut basic, value);
                return self.set_basic(basic, cycle);
            }
            Place::Mode(field) => {
                let mut modes = self.modes();
                field.set(&mut modes, value);
                set_modes(&mut config, &modes);
            }
            Place::Selection(field) => {
                let mut selection = self.selection();
                field.set(&mut selection, value);
                (config.filters.ifilters, config.filters.dfilters) =
                    (selection.i_filters, selection.d_filters);
            }
            Place::Filter(n, field) => field.set(&mut config.filters.filters[n], value),
            Place::Comparator(n, field) => field.set(&mut config.filters.comparators[n], value),
        }
        self.encoder.reconfigure(&config, cycle)?;
        self.config = config;
        Ok(())
    }

    fn set_basic(&mut self, basic: Basic, cycle: u64) -> Result<(), ConfigError> {
        let mut basic = basic;
        if !basic.active {
            (basic.i_enable, basic.d_enable) = (false, false);
        }
        if basic.d_enable && !self.config.data.enable {
            return Err(ConfigError::new("dEnable", "there is no data trace"));
        }
        self.config.encoder.stall = basic.stall_enable;
        self.config.encoder.resync_mode = ResyncMode::from_code(basic.resync_mode.into());
        if basic.resync_max != self.basic.resync_max {
            self.config.encoder.resync_interval = None;
        }
        self.config.encoder.resync_max = basic.resync_max.into();
        self.encoder.reconfigure(&self.config, cycle)?;
        self.encoder.set_enable(basic.i_enable, basic.d_enable, cycle);
        self.basic = basic;
        Ok(())
    }

    fn modes(&self) -> Modes {
        let options = &self.config.options;
        Modes {
            full_address: options.full_address,
            implicit_except: options.implicit_exception,
            si_jump: options.sijump,
            implicit_return: options.implicit_return,
            branch_prediction: options.branch_prediction,
            jump_target_cache: options.jump_target_cache,
            no_data: options.no_data,
            no_address: options.no_address,
            data_compress: self.config.data.compress.code() as u8,
        }
    }

    fn selection(&self) -> Selection {
        Selection { i_filters: self.config.filters.ifilters, d_filters: self.config.filters.dfilters }
    }

    /// Takes the signals of a cycle. Triggers switch tracing on before their block and off after it, where enabled
    /// (4.2.4); a core that halts or is reset ends the trace.
    pub fn cycle(&mut self, cycle: &Cycle<'_>) -> Result<()> {
        if !self.basic.active {
            return Ok(());
        }
        if cycle.halted || cycle.reset {
            return self.encoder.flush(cycle.cycle);
        }
        let switched = cycle.blocks.iter().any(|block| block.trigger.on || block.trigger.off);
        if !switched {
            return self.encoder.cycle(cycle);
        }
        for (n, block) in cycle.blocks.iter().enumerate() {
            if block.trigger.on {
                self.trigger(true, cycle.cycle);
            }
            let trigger = Trigger { notify: block.trigger.notify, ..Trigger::default() };
            let own = [Block { trigger, ..*block }];
            let here = cycle.data.iter().filter(|port| usize::from(port.dblock) == n);
            let data: Vec<_> = here.map(|port| DataPort { dblock: 0, ..*port }).collect();
            self.encoder.cycle(&Cycle { blocks: &own, data: &data, ..*cycle })?;
            if block.trigger.off {
                self.trigger(false, cycle.cycle);
            }
        }
        Ok(())
    }

    fn trigger(&mut self, on: bool, cycle: u64) {
        if self.basic.i_trig_enable {
            self.basic.i_enable = on;
        }
        if self.basic.d_trig_enable && self.config.data.enable {
            self.basic.d_enable = on;
        }
        self.encoder.set_enable(self.basic.i_enable, self.basic.d_enable, cycle);
    }
}

fn set_modes(config: &mut Config, modes: &Modes) {
    let options = &mut config.options;
    options.full_address = modes.full_address;
    options.implicit_exception = modes.implicit_except;
    options.sijump = modes.si_jump;
    options.implicit_return = modes.implicit_return;
    options.branch_prediction = modes.branch_prediction;
    options.jump_target_cache = modes.jump_target_cache;
    options.no_data = modes.no_data;
    options.no_address = modes.no_address;
    config.data.compress = Compress::from_code(modes.data_compress.into());
}
