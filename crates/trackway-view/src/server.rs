//! The server: 127.0.0.1 only, a bounded number of connections, a thread for each.

use std::io::{self, BufReader, Read};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use crate::guard::{ENTER, Guard};
use crate::http::{Refused, Request, Response};
use crate::page;
use crate::site::Site;

/// Connections at the same time.
const CONNECTIONS: usize = 64;

/// A connection that is silent for so long is closed.
const SILENCE: Duration = Duration::from_secs(60);

/// A server that listens, and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    guard: Arc<Guard>,
}

impl Server {
    /// Listens on a port of 127.0.0.1; 0 picks one.
    ///
    /// # Errors
    /// The port is taken, or the system has no random numbers.
    pub fn bind(port: u16) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let guard = Arc::new(Guard::new(listener.local_addr()?.port())?);
        Ok(Server { listener, guard })
    }

    /// Its address.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The checks of its requests, which also make its links.
    pub fn guard(&self) -> Arc<Guard> {
        Arc::clone(&self.guard)
    }

    /// Answers until the process ends.
    ///
    /// # Errors
    /// The system takes the port away.
    pub fn serve(&self, site: &Arc<Site>) -> io::Result<()> {
        let open = Arc::new(AtomicUsize::new(0));
        loop {
            let (stream, _) = self.listener.accept()?;
            if open.fetch_add(1, SeqCst) >= CONNECTIONS {
                open.fetch_sub(1, SeqCst);
                continue;
            }
            let (guard, site, open) = (Arc::clone(&self.guard), Arc::clone(site), Arc::clone(&open));
            std::thread::spawn(move || {
                // The other side may close the connection whenever it wants.
                let _ = converse(&stream, &guard, &site);
                open.fetch_sub(1, SeqCst);
            });
        }
    }
}

fn converse(stream: &TcpStream, guard: &Guard, site: &Site) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    let mut input = BufReader::new(stream);
    loop {
        let request = match Request::read(&mut input) {
            Ok(request) => request,
            Err(refused) => {
                let response = match refused {
                    Refused::Closed => return Ok(()),
                    Refused::Malformed => Response::refused(400, "this is not a request"),
                    Refused::TooLarge => Response::refused(431, "the request is too large"),
                    Refused::Body => {
                        Response::refused(413, "requests have no body: nothing can be changed here")
                    }
                };
                response.write(&mut { stream }, false, true)?;
                return drain(stream);
            }
        };
        let response = respond(&request, guard, site);
        response.write(&mut { stream }, request.stays, request.method != "HEAD")?;
        if !request.stays {
            return Ok(());
        }
    }
}

/// Reads a little of what is left of a refused request: closing before would take the answer back.
fn drain(stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    io::copy(&mut stream.take(1 << 18), &mut io::sink()).map(drop)
}

/// The response to a request.
fn respond(request: &Request, guard: &Guard, site: &Site) -> Response {
    if let Some(refused) = guard.refuse(request) {
        return refused;
    }
    if request.path == ENTER {
        return guard.enter(request);
    }
    if !request.path.starts_with("/api/") {
        return page::file(&request.path).unwrap_or_else(|| Response::refused(404, "there is no such page"));
    }
    guard.refuse_stranger(request).unwrap_or_else(|| site.answer(request))
}
