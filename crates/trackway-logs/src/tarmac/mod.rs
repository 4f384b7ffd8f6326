//! Tarmac: the log of Arm's models, of RTL simulations and of gem5.
//!
//! A family of dialects without a specification; `docs/spec-readings/logs.md` has the readings.

mod check;
mod cores;
mod lift;
mod line;
mod memory;
mod mode;
mod names;
mod parsed;
mod registers;
mod rules;

use trackway_core::{FormatId, Isa, Item, Meta, Rule};
use trackway_format::{Error, Key, Recognised, Result};

use crate::lines::{Line, Wrong, of_head};
use crate::log::{Log, Start};
use check::Checker;
use lift::Lifter;
use line::parse;
use mode::Mode;
use parsed::{Content, Parsed};
use rules::{RULES, SYNTAX};

/// The id of the format.
pub(crate) const ID: FormatId = FormatId::new("tarmac");

trackway_format::settings! {
    /// `[tarmac]` in the settings.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Section {
        /// Dialect: fast-models, es or gem5. It is found by the first lines.
        dialect: Option<Dialect> = "\"fast-models\"",
        /// Instruction set of lines that name none: a64, a32 or t32.
        isa: Option<Set> = "\"t32\"",
    }
}

/// Who wrote the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Dialect {
    /// `IT` and `IS` lines, `MR` and `MW` for each access: Fast Models and most others.
    #[default]
    FastModels,
    /// `ES` lines, `LD` and `ST` with the bytes of 16.
    Es,
    /// As Fast Models, without stack pointers; loads of pairs look like stores.
    Gem5,
}

impl Dialect {
    fn title(self) -> &'static str {
        match self {
            Dialect::FastModels => "Fast Models",
            Dialect::Es => "ES",
            Dialect::Gem5 => "gem5",
        }
    }
}

/// An instruction set in the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Set {
    A64,
    A32,
    T32,
}

impl Set {
    fn isa(self) -> Isa {
        match self {
            Set::A64 => Isa::A64,
            Set::A32 => Isa::A32,
            Set::T32 => Isa::T32,
        }
    }
}

/// An opened Tarmac log.
#[derive(Debug)]
pub(crate) struct Tarmac {
    dialect: Dialect,
    /// Instruction set of lines that name none.
    isa: Option<Isa>,
    /// Instruction set and mode of the first instruction.
    first: (Isa, Mode),
    /// Cores that are decoded, by name; one empty name where lines have none.
    cores: Vec<Vec<u8>>,
    /// The unit of time.
    unit: u8,
    /// The header line, if there is one.
    header: String,
    survey: Option<Vec<u8>>,
}

impl Log for Tarmac {
    const ID: FormatId = ID;
    const TITLE: &'static str = "Tarmac, log of Arm models and simulators";
    const NAME: &'static str = "Tarmac";
    const EXTENSIONS: &'static [&'static str] = &["tarmac"];
    const KEYS: &'static [Key] = Section::KEYS;
    const RULES: &'static [&'static Rule] = RULES;
    const SYNTAX: &'static Rule = &SYNTAX;
    const KINDS: &'static [&'static str] = parsed::KINDS;
    const SURVEYS: bool = true;

    type Lift = Lifter;
    type Check = Checker;

    /// Among the first lines one is an instruction, a register or the header, and few are anything else.
    fn recognise(head: &[u8]) -> Recognised {
        let mut lines = of_head(head).filter(|line| !line.is_empty()).take(40).peekable();
        let header = lines.peek().is_some_and(|line| line.starts_with(b"Tarmac Text"));
        let (mut known, mut unknown) = (0, 0);
        for line in lines {
            match parse(line, None, false) {
                Ok(Parsed {
                    time: Some(_), content: Content::Instruction(_) | Content::Register(_), ..
                }) => known += 1,
                Ok(Parsed { time: None, content: Content::Instruction(_), .. }) => known += 1,
                Err(_) | Ok(Parsed { content: Content::Message, .. }) => unknown += 1,
                Ok(_) => {}
            }
        }
        (header || known > 2 * unknown).into()
    }

    fn open(start: &Start<'_>) -> Result<Self> {
        let section: Section = start.settings.of_format(start.format)?;
        let isa = section.isa.map(Set::isa);
        let found = cores::survey(start, isa);
        let mut cores = found.cores;
        if let Some(name) = start.source {
            let known =
                || cores.iter().map(|name| String::from_utf8_lossy(name)).collect::<Vec<_>>().join(", ");
            if !cores.iter().any(|core| core == name.as_bytes()) {
                return Err(Error::Config(format!("--source {name}: there are {}", known())));
            }
            cores.retain(|core| core == name.as_bytes());
        } else if cores.len() > 1 && start.whole.is_none() {
            let names = cores.iter().map(|name| String::from_utf8_lossy(name)).collect::<Vec<_>>().join(", ");
            let text = format!(
                "a stream with several cores ({names}) can be read for one: add --source NAME, or use a file"
            );
            return Err(Error::Unsupported(text));
        }
        if cores.is_empty() {
            cores.push(Vec::new());
        }
        let dialect = section.dialect.unwrap_or(found.dialect);
        let first = found.first.unwrap_or((isa.unwrap_or(Isa::A64), Mode::default()));
        let (unit, header, survey) = (found.unit, found.header, found.cores_survey);
        Ok(Tarmac { dialect, isa, first, cores, unit, header, survey })
    }

    fn meta(&self) -> Meta {
        let name = |core: &Vec<u8>| String::from_utf8_lossy(core).into_owned();
        let mut unit = parsed::UNITS[usize::from(self.unit)].to_string();
        if self.dialect == Dialect::Gem5 {
            // Its ticks are not those of the models.
            unit += " of gem5";
        }
        Meta {
            version: self.header.clone(),
            level: Some(self.dialect.title().to_string()),
            sources: self.cores.iter().filter(|core| !core.is_empty()).map(name).collect(),
            timestamps: true,
            notes: vec![("time unit".into(), unit)],
            ..Meta::new(ID, self.first.0)
        }
    }

    fn survey(&self) -> Option<Vec<u8>> {
        self.survey.clone()
    }

    fn lift(&self, source: usize) -> Lifter {
        let core = self.cores.get(source).cloned().unwrap_or_default();
        Lifter::new(self, core)
    }

    fn check(&self) -> Checker {
        Checker::new(self.isa)
    }

    fn describe(&self, line: &Line<'_>, item: &mut Item) -> Result<(), Wrong> {
        let parsed = parse(line.text, self.isa, true)?;
        item.name = parsed::KINDS[parsed.content.kind()];
        match parsed.content {
            Content::Operation | Content::Other | Content::Message => {
                item.text.push_str(String::from_utf8_lossy(line.text).trim());
            }
            _ => parsed.describe(&mut item.text),
        }
        Ok(())
    }
}
