//! Help, completions and manual pages, from the command line's declaration.

use std::io::Write;

use trackway::format::suggest;

use crate::args::{CompletionsArgs, HelpArgs, ManArgs};
use crate::examples;
use crate::exit::{Exit, Failure};
use crate::flags::command;
use crate::topics::{self, TOPICS};

/// `trackway help`: a topic, a command, or the whole program.
pub(crate) fn help(args: &HelpArgs) -> Result<Exit, Failure> {
    let formats = &args.context.formats;
    let command = command(formats);
    if let Some(name) = &args.topic {
        if let Some(topic) = TOPICS.iter().find(|topic| topic.name == name) {
            write!(std::io::stdout(), "{}\n\n{}", topic.about, (topic.text)(formats))?;
            return Ok(Exit::Fine);
        }
        let mut known: Vec<&str> = topics::names().collect();
        known.extend(command.get_subcommands().map(clap::Command::get_name));
        if !known.contains(&name.as_str()) {
            let near = suggest(name, known).map_or(String::new(), |near| format!("; did you mean {near:?}?"));
            let topics: Vec<&str> = topics::names().collect();
            let topics = topics.join(", ");
            return Err(Failure::Usage(format!("{name}: not a command, and topics are {topics}{near}")));
        }
    }
    let words = ["trackway"].into_iter().chain(args.topic.as_deref()).chain(["--help"]);
    if let Err(page) = command.try_get_matches_from(words) {
        page.print()?;
    }
    Ok(Exit::Fine)
}

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
    let examples = examples::of(args.command.as_deref().unwrap_or("trackway")).unwrap_or_default();
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    let escaped = |line: &str| line.trim().replace('\\', "\\e").replace('-', "\\-");
    let examples: Vec<String> = examples.lines().skip(1).map(escaped).collect();
    writeln!(page, ".SH EXAMPLES\n.nf\n{}\n.fi", examples.join("\n"))?;
    std::io::stdout().write_all(&page)?;
    Ok(Exit::Fine)
}
