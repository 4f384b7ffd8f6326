//! `trackway browse`: a trace on the terminal.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use trackway_browse::{App, Options, print, run as show};

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::progress::Progress;
use crate::replay::open_session;
use crate::report::placed;

/// Arguments of `browse`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Instructions, source, registers and call stack at a position; the key ? lists all keys. Unknown is shown as unknown.
The first look makes an index unless there is one. Colours are off with NO_COLOR. Without a terminal the first screen is
printed.")]
pub(crate) struct Args {
    /// Trace
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Begin at this position
    #[arg(long, value_name = "POSITION")]
    pub(crate) at: Option<String>,
    /// Read source files only under this folder; may be repeated [default: that of the ELF file]
    #[arg(long, value_name = "DIR")]
    pub(crate) source_root: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// A folder that can be opened: a bare file name is in this one.
fn folder(path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_path_buf() }
}

/// Columns and lines of a screen that is printed.
const PRINTED: (u16, u16) = (110, 32);

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let failed = |error: trackway::Error| placed(&args.common, &args.file, error);
    let mut session = open_session(&args.common, &args.file)?;
    let progress = Progress::new(args.common.quiet);
    progress.say("indexing");
    let update =
        |source: &dyn trackway_core::Source, health: &trackway::Health| progress.update(source, health);
    session.replay().prepare(update).map_err(failed)?;
    drop(progress);
    let mut roots = args.source_root.clone();
    if roots.is_empty() {
        let parts = session.replay().programs().iter().flat_map(|program| program.parts());
        let elves = parts.filter(|part| part.elf.is_some());
        roots.extend(elves.filter_map(|part| Path::new(&part.name).parent().map(folder)));
    }
    let options = Options {
        title: args.file.display().to_string(),
        roots,
        colours: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    };
    let mut app = App::new(session, options);
    if let Some(position) = &args.at {
        app.go_to(position).map_err(failed)?;
    }
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        let (width, height) = PRINTED;
        std::io::stdout().lock().write_all(print(&mut app, width, height).as_bytes())?;
        return Ok(Exit::Fine);
    }
    // From here on a signal ends the loop, so that the terminal is given back.
    let cancel = interrupt::cancel();
    // Reading a terminal that was hung up never ends (crossterm).
    interrupt::insist();
    show(&mut app, || cancel.is_cancelled())?;
    Ok(if cancel.is_cancelled() { Exit::Interrupted } else { Exit::Fine })
}
