//! Completions and manual pages, from the command line's declaration.

use std::io::Write;

use crate::cli::{CompletionsArgs, ManArgs};
use crate::exit::{Exit, Failure};
use crate::flags::command;

pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut page = Vec::new();
    clap_complete::generate(args.shell, &mut command(&args.context.formats), "trackway", &mut page);
    std::io::stdout().write_all(&page)?;
    Ok(Exit::Fine)
}

pub(crate) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let mut command = command(&args.context.formats);
    command.build();
    if let Some(name) = &args.command {
        let found = command.find_subcommand(name).cloned();
        command = found.ok_or_else(|| Failure::Usage(format!("unknown subcommand {name:?}")))?;
        command = command.display_name(format!("trackway-{name}"));
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    std::io::stdout().write_all(&page)?;
    Ok(Exit::Fine)
}
