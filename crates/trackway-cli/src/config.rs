//! `trackway config`: a settings template.

use std::io::Write;

use trackway::format::template;

use crate::args::ConfigArgs;
use crate::exit::{Exit, Failure};

pub(crate) fn run(args: &ConfigArgs) -> Result<Exit, Failure> {
    let format = args.context.format(args.format)?;
    std::io::stdout().write_all(template(format).as_bytes())?;
    Ok(Exit::Fine)
}
