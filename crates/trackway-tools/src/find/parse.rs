//! Conditions by name, as `trackway find` and the search of the viewer take them.

use std::ops::Range;
use std::sync::Arc;

use trackway::{Error, Result};
use trackway_core::{Isa, TrapKind};
use trackway_image::Image;
use trackway_isa::Class;

use super::conditions::{Conditions, ContextIs, RegisterIs, TrapIs, context_names};
use crate::past::{number, register};

impl Conditions {
    /// Adds a condition by its name: `pc`, `sym`, `within`, `op`, `class`, `mem`, `reg`, `trap` or `context`.
    ///
    /// ```
    /// use trackway_tools::find::Conditions;
    /// let mut conditions = Conditions::default();
    /// conditions.add("mem", "0x8000:16", trackway_core::Isa::Rv64, &[])?;
    /// assert_eq!(conditions.memory, [0x8000..0x8010]);
    /// assert!(conditions.add("class", "nonsense", trackway_core::Isa::Rv64, &[]).is_err());
    /// # Ok::<(), trackway::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such condition, or the value does not fit it.
    pub fn add(&mut self, name: &str, value: &str, isa: Isa, programs: &[Arc<Image>]) -> Result<()> {
        match name {
            "pc" => self.code.push(range(value)?),
            "sym" | "within" => {
                let function = programs.iter().find_map(|image| image.function(value));
                let missing = || Error::Config(format!("unknown symbol {value} (--elf names the program)"));
                let Range { start, end } = function.ok_or_else(missing)?;
                self.code.push(start..if name == "within" { end } else { start.saturating_add(1) });
            }
            "op" => self.operations.push(value.to_string()),
            "class" => self.classes.push(class(value)?),
            "mem" => self.memory.push(range(value)?),
            "reg" => self.registers.push(register_is(isa, value)?),
            "trap" => self.traps = Some(trap_is(value)),
            "context" => self.contexts.push(context_is(value)?),
            _ => {
                let names = "pc, sym, within, op, class, mem, reg, trap, context";
                return Err(Error::Config(format!("{name}: conditions are {names}")));
            }
        }
        Ok(())
    }
}

/// `ADDR`, `ADDR:LEN` or `A-B`.
fn range(text: &str) -> Result<Range<u64>> {
    let wrong = || Error::Config(format!("{text}: a range is ADDR, ADDR:LEN or A-B, where B is not in it"));
    let read = |text: &str| number(text).ok_or_else(wrong);
    let range = match (text.split_once('-'), text.split_once(':')) {
        (Some((from, to)), _) => read(from)?..read(to)?,
        (_, Some((from, length))) => read(from)?..read(from)?.saturating_add(read(length)?),
        _ => read(text)?..read(text)?.saturating_add(1),
    };
    if range.is_empty() { Err(wrong()) } else { Ok(range) }
}

fn class(name: &str) -> Result<Class> {
    let key = name.to_ascii_lowercase().replace(['-', '_'], " ");
    Class::ALL.iter().copied().find(|class| class.as_str() == key).ok_or_else(|| {
        let names: Vec<String> = Class::ALL.iter().map(|class| class.as_str().replace(' ', "-")).collect();
        Error::Config(format!("{name}: classes are {}", names.join(", ")))
    })
}

fn register_is(isa: Isa, text: &str) -> Result<RegisterIs> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => {
            let wrong = || Error::Config(format!("{text}: {value} is not a number"));
            (name, Some(number(value).ok_or_else(wrong)?))
        }
        None => (text, None),
    };
    Ok(RegisterIs { reg: register(isa, name)?, value })
}

fn trap_is(text: &str) -> TrapIs {
    match (number(text), text.parse::<TrapKind>()) {
        (Some(cause), _) => TrapIs::Cause(cause),
        (_, Ok(kind)) => TrapIs::Kind(kind),
        _ if text == "any" => TrapIs::Any,
        _ => TrapIs::Name(text.to_string()),
    }
}

fn context_is(text: &str) -> Result<ContextIs> {
    let names = context_names();
    let known = |name: &str| names.contains(&name);
    match text.split_once('=') {
        Some((name, value)) if known(name) => Ok(ContextIs { name: name.into(), value: value.into() }),
        _ => Err(Error::Config(format!("{text}: a context is KEY=VALUE, with {}", names.join(", ")))),
    }
}
