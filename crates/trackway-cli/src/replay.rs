//! `trackway replay`: a trace under gdb, forwards and backwards.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener};
use std::path::{Path, PathBuf};

use trackway_gdb::{Ended, Error, Thread, serve};
use trackway_tools::replay::Replay;

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::open::open;
use crate::report::{placed, say};

/// Arguments of `replay`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
In gdb: target remote | trackway replay FILE --elf PROG, or target remote 127.0.0.1:PORT. Step, next, continue,
breakpoints and watchpoints work in both directions (reverse-stepi, reverse-continue, …); registers and memory that the
trace does not show are unavailable. `monitor help` lists commands for positions. A trace of several sources has a
thread for each; one moves at a time, and the others stay where they are.")]
pub(crate) struct Args {
    /// Trace
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Listen on this port of 127.0.0.1; 0 picks one
    #[arg(long, value_name = "N", conflicts_with = "unix")]
    pub(crate) port: Option<u16>,
    /// Listen on a Unix socket at this path
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if args.file.as_os_str() == "-" {
        return Err(Failure::Usage("-: there is no way back in a stream; name a file".into()));
    }
    let mut threads = threads(args)?;
    match (args.port, &args.unix) {
        (Some(port), _) => {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
            let address = listener.local_addr()?;
            say!("(gdb) target remote {address}");
            loop {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                let ended = session(args, &mut threads, stream.try_clone()?, stream.try_clone()?)?;
                // The thread that reads ends with it. The other side may have closed it.
                let _ = stream.shutdown(Shutdown::Both);
                if ended == Ended::Killed {
                    return Ok(Exit::Fine);
                }
            }
        }
        (None, Some(path)) => at_socket(args, &mut threads, path),
        (None, None) => {
            let stdout = std::io::stdout();
            session(args, &mut threads, std::io::stdin(), stdout)?;
            Ok(Exit::Fine)
        }
    }
}

#[cfg(unix)]
fn at_socket(args: &Args, threads: &mut [Thread], path: &Path) -> Result<Exit, Failure> {
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    let removed = Removed(path);
    say!("(gdb) target remote {}", path.display());
    loop {
        let (stream, _) = listener.accept()?;
        let ended = session(args, threads, stream.try_clone()?, stream.try_clone()?)?;
        let _ = stream.shutdown(Shutdown::Both);
        if ended == Ended::Killed {
            drop(removed);
            return Ok(Exit::Fine);
        }
    }
}

#[cfg(not(unix))]
fn at_socket(_: &Args, _: &mut [Thread], _: &Path) -> Result<Exit, Failure> {
    Err(Failure::Usage("--unix: this system has no such sockets; --port N".into()))
}

/// Removes a socket when the server ends.
#[cfg(unix)]
struct Removed<'p>(&'p Path);

#[cfg(unix)]
impl Drop for Removed<'_> {
    fn drop(&mut self) {
        // Someone else may have removed it.
        let _ = std::fs::remove_file(self.0);
    }
}

fn session(
    args: &Args,
    threads: &mut [Thread],
    input: impl Read + Send + 'static,
    output: impl Write + 'static,
) -> Result<Ended, Failure> {
    serve(threads, input, output).map_err(|error| match error {
        Error::Trace(error) => placed(&args.common, &args.file, error),
        Error::Connection(error) => Failure::Output(error),
    })
}

/// A thread for each source.
fn threads(args: &Args) -> Result<Vec<Thread>, Failure> {
    let names = match &args.common.source {
        Some(name) => vec![Some(name.clone())],
        None => {
            let sources = open(&args.common, &args.file)?.meta().sources.clone();
            if sources.len() < 2 { vec![None] } else { sources.into_iter().map(Some).collect() }
        }
    };
    let thread = |name: Option<String>| {
        let common = Common { source: name.clone(), ..args.common.clone() };
        let trace = open(&common, &args.file)?;
        let replay = Replay::new(trace).map_err(|error| placed(&common, &args.file, error))?;
        Ok(Thread { name: name.unwrap_or_default(), replay })
    };
    names.into_iter().map(thread).collect()
}
