//! `--listen ADDR`: bytes that a program on this machine sends.

use std::io::Read;
use std::net::{TcpListener, ToSocketAddrs};

use crate::exit::Failure;
use crate::report::say;

/// Waits for one connection to `HOST:PORT` or `unix:PATH`.
pub(crate) fn accept(address: &str, quiet: bool) -> Result<Box<dyn Read + Send>, Failure> {
    let wrong = |why: &str| Failure::Usage(format!("--listen {address}: {why}"));
    if let Some(path) = address.strip_prefix("unix:") {
        return accept_unix(path, quiet);
    }
    let mut places = address.to_socket_addrs().map_err(|_| wrong("not HOST:PORT or unix:PATH"))?;
    // What comes is trusted as a trace, and anybody could send it.
    let place = places.find(|place| place.ip().is_loopback());
    let place = place.ok_or_else(|| wrong("only addresses of this machine, such as 127.0.0.1:PORT"))?;
    let listener = TcpListener::bind(place)?;
    if !quiet {
        say!("listening on {}", listener.local_addr()?);
    }
    Ok(Box::new(listener.accept()?.0))
}

#[cfg(unix)]
fn accept_unix(path: &str, quiet: bool) -> Result<Box<dyn Read + Send>, Failure> {
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    if !quiet {
        say!("listening on unix:{path}");
    }
    let accepted = listener.accept();
    // One connection only; somebody else may have removed it.
    let _ = std::fs::remove_file(path);
    Ok(Box::new(accepted?.0))
}

#[cfg(not(unix))]
fn accept_unix(_: &str, _: bool) -> Result<Box<dyn Read + Send>, Failure> {
    Err(Failure::Usage("unix: this system has no such sockets; --listen 127.0.0.1:PORT".into()))
}
