//! `trackway view`: traces in the browser.

use std::path::PathBuf;
use std::sync::Arc;

use trackway::{Options, Position};
use trackway_view::{File, Server, Site, WIDEST, browser};

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::open::open;
use crate::output::write_file;
use crate::report::{placed, say};

/// Instructions of an exported page, unless others are asked for.
const WINDOW: u64 = 10_000;

/// Arguments of `view`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
The server listens on 127.0.0.1 only, cannot change anything, and answers only those who have its link, which works once.
On another machine: ssh -L PORT:127.0.0.1:PORT HOST, then open the link there. The page lists its keys with `?`.
--export writes one page that needs no server, with the files that it lists and no others.")]
pub(crate) struct Args {
    /// Traces
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Listen on this port [default: a free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Do not open a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Show source code that the program names from this folder; may be repeated
    #[arg(long, value_name = "FOLDER")]
    pub(crate) source_root: Vec<PathBuf>,
    /// Write one self-contained page of a window instead
    #[arg(long, value_name = "FILE.html", conflicts_with_all = ["port", "no_open"])]
    pub(crate) export: Option<PathBuf>,
    /// First instruction of the page [default: the first]
    #[arg(long, value_name = "POSITION", requires = "export")]
    pub(crate) from: Option<String>,
    /// The page ends before this instruction [default: 10000 after the first]
    #[arg(long, value_name = "POSITION", requires = "export")]
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if args.files.iter().any(|file| file.as_os_str() == "-") {
        return Err(Failure::Usage("-: a stream is read once; name a file".into()));
    }
    for root in &args.source_root {
        if !root.is_dir() {
            return Err(Failure::Usage(format!("{}: not a folder", root.display())));
        }
    }
    let mut files = Vec::new();
    for path in &args.files {
        // Failures are reported as by every other command.
        drop(open(&args.common, path)?);
        files.push(File { path: path.clone(), options: args.common.options()? });
    }
    match &args.export {
        Some(output) => export(args, &files, output),
        None => serve(args, &files),
    }
}

fn site(args: &Args, files: &[File]) -> Result<Site, Failure> {
    Site::open(files, &args.source_root).map_err(|error| placed(&args.common, &args.files[0], error))
}

fn serve(args: &Args, files: &[File]) -> Result<Exit, Failure> {
    let server = Server::bind(args.port)?;
    let site = Arc::new(site(args, files)?);
    let port = server.address()?.port();
    let guard = server.guard();
    say!("{}", guard.link()?);
    say!("  the link works once; from another machine first: ssh -L {port}:127.0.0.1:{port} HOST");
    if !args.no_open {
        // Without a browser here the link is enough.
        let _ = browser::open(&guard);
    }
    server.serve(&site)?;
    Ok(Exit::Fine)
}

fn export(args: &Args, files: &[File], output: &std::path::Path) -> Result<Exit, Failure> {
    let [file] = files else {
        return Err(Failure::Usage("--export: a page has one trace".into()));
    };
    let failed = |error: trackway::Error| placed(&args.common, &file.path, error);
    let mut trace = open(&args.common, &file.path)?;
    trace.refuse_several().map_err(failed)?;
    let programs = trace.programs().map_err(failed)?;
    let mut locate = |text: &str| -> Result<u64, Failure> {
        let position = Position::parse(text, &programs).map_err(failed)?;
        trace.locate(&position, None).map_err(failed)
    };
    let from = args.from.as_deref().map_or(Ok(0), &mut locate)?;
    let to = match &args.to {
        Some(text) => locate(text)?,
        None => from.saturating_add(WINDOW),
    };
    if to <= from || to - from > WIDEST {
        return Err(Failure::Usage(format!(
            "a page has 1 to {WIDEST} instructions, not those from {from} to {to}"
        )));
    }
    let file = File { options: Options { ..file.options.clone() }, path: file.path.clone() };
    let site = site(args, &[file])?;
    let page = site.export(from, to).map_err(Failure::Usage)?;
    write_file(output, page.html.as_bytes())?;
    say!("{}: instructions {} to {}; it embeds", output.display(), page.range.start, page.range.end);
    page.files.iter().for_each(|name| say!("  {name}"));
    Ok(Exit::Fine)
}
