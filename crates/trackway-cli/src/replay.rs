//! `trackway replay`: a trace under a debugger, forwards and backwards.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener};
use std::path::{Path, PathBuf};

use trackway_tools::replay::{Broken, Ended, Replay, Session, Thread};

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
thread for each; one moves at a time, and the others stay where they are. With a RISC-V program of Linux say
`set osabi none` first: else gdb guesses where a step ends, by registers that may be unavailable.

With --dap editors debug it: VS Code with \"debugServer\": PORT in its launch.json, others on stdin and stdout.")]
pub(crate) struct Args {
    /// Trace
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Serve the Debug Adapter Protocol, for editors, instead of gdb's
    #[arg(long)]
    pub(crate) dap: bool,
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
    let mut session = open_session(&args.common, &args.file)?;
    let hint = if args.dap { "\"debugServer\":" } else { "(gdb) target remote" };
    match (args.port, &args.unix) {
        (Some(port), _) => {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
            let address = listener.local_addr()?;
            match args.dap {
                true => say!("{hint} {}", address.port()),
                false => say!("{hint} {address}"),
            }
            loop {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                let ended = serve(args, &mut session, stream.try_clone()?, stream.try_clone()?)?;
                // The thread that reads ends with it. The other side may have closed it.
                let _ = stream.shutdown(Shutdown::Both);
                if ended == Ended::Killed {
                    return Ok(Exit::Fine);
                }
            }
        }
        (None, Some(path)) => at_socket(args, &mut session, path, hint),
        (None, None) => {
            serve(args, &mut session, std::io::stdin(), std::io::stdout())?;
            Ok(Exit::Fine)
        }
    }
}

#[cfg(unix)]
fn at_socket(args: &Args, session: &mut Session, path: &Path, hint: &str) -> Result<Exit, Failure> {
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    let removed = Removed(path);
    say!("{hint} {}", path.display());
    loop {
        let (stream, _) = listener.accept()?;
        let ended = serve(args, session, stream.try_clone()?, stream.try_clone()?)?;
        let _ = stream.shutdown(Shutdown::Both);
        if ended == Ended::Killed {
            drop(removed);
            return Ok(Exit::Fine);
        }
    }
}

#[cfg(not(unix))]
fn at_socket(_: &Args, _: &mut Session, _: &Path, _: &str) -> Result<Exit, Failure> {
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

fn serve(
    args: &Args,
    session: &mut Session,
    input: impl Read + Send + 'static,
    output: impl Write + 'static,
) -> Result<Ended, Failure> {
    let ended = match args.dap {
        true => trackway_dap::serve(session, input, output),
        false => trackway_gdb::serve(session, input, output),
    };
    ended.map_err(|error| match error {
        Broken::Trace(error) => placed(&args.common, &args.file, error),
        Broken::Connection(error) => Failure::Output(error),
    })
}

/// A position for each source.
pub(crate) fn open_session(common: &Common, file: &Path) -> Result<Session, Failure> {
    if file.as_os_str() == "-" {
        return Err(Failure::Usage("-: there is no way back in a stream; name a file".into()));
    }
    let names = match &common.source {
        Some(name) => vec![Some(name.clone())],
        None => {
            let sources = open(common, file)?.meta().sources.clone();
            if sources.len() < 2 { vec![None] } else { sources.into_iter().map(Some).collect() }
        }
    };
    let thread = |name: Option<String>| {
        let common = Common { source: name.clone(), ..common.clone() };
        let trace = open(&common, file)?;
        let replay = Replay::new(trace).map_err(|error| placed(&common, file, error))?;
        Ok(Thread { name: name.unwrap_or_default(), replay })
    };
    let threads = names.into_iter().map(thread).collect::<Result<Vec<Thread>, Failure>>()?;
    Session::new(threads).ok_or_else(|| Failure::Usage(format!("{}: it has no source", file.display())))
}
