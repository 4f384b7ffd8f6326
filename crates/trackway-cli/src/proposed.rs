//! Values of options for completions.

use clap::Arg;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};

/// Values that shells propose. Others are left to the command, which knows why it refuses one.
#[derive(Clone)]
pub(crate) struct Proposed(pub(crate) Vec<String>);

impl TypedValueParser for Proposed {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(|value| PossibleValue::new(value.clone()))))
    }
}
