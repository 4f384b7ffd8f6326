//! Who may see a trace: those who have the link, from this machine, in a page of this server.
//!
//! A link has a token that works once: it is exchanged for a cookie that no script can read and no other site can send.
//! Every answer about a trace needs the cookie; the page itself is the same for everybody and needs none.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use crate::http::{Request, Response};

/// The path that exchanges a token.
pub(crate) const ENTER: &str = "/enter";

/// The checks of one server.
#[derive(Debug)]
pub struct Guard {
    port: u16,
    cookie: String,
    unused: Mutex<HashSet<String>>,
}

impl Guard {
    /// For a server on that port of 127.0.0.1.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn new(port: u16) -> std::io::Result<Self> {
        Ok(Guard { port, cookie: secret()?, unused: Mutex::default() })
    }

    /// A link that works once.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn link(&self) -> std::io::Result<String> {
        let token = secret()?;
        let link = format!("http://127.0.0.1:{}{ENTER}?token={token}", self.port);
        self.unused.lock().unwrap_or_else(PoisonError::into_inner).insert(token);
        Ok(link)
    }

    /// Cookies do not distinguish ports: the name does.
    fn cookie_name(&self) -> String {
        format!("trackway-{}", self.port)
    }

    /// Refuses requests that did not come from a page of this server or from the address line of a browser here.
    pub(crate) fn refuse(&self, request: &Request) -> Option<Response> {
        let refused = |text: &str| Some(Response::refused(403, text));
        let port = self.port;
        // Another name for 127.0.0.1 would let another site's page read the answers.
        let host = request.header("host").unwrap_or_default();
        if host != format!("127.0.0.1:{port}") && host != format!("localhost:{port}") {
            return refused("this server is 127.0.0.1 and has no other name");
        }
        if request.has("origin") && request.header("origin") != Some(&format!("http://{host}")) {
            return refused("requests of other origins are not answered");
        }
        if !matches!(request.method.as_str(), "GET" | "HEAD") {
            return Some(Response::refused(405, "nothing can be changed here"));
        }
        None
    }

    /// Refuses requests for data by anybody without the cookie, or on behalf of another site.
    pub(crate) fn refuse_stranger(&self, request: &Request) -> Option<Response> {
        let from = request.header("sec-fetch-site");
        if request.has("sec-fetch-site") && !matches!(from, Some("same-origin" | "none")) {
            return Some(Response::refused(403, "requests of other sites are not answered"));
        }
        let name = self.cookie_name();
        let mut cookies = request.header("cookie").unwrap_or_default().split(';');
        let known = cookies.any(|one| {
            one.trim().split_once('=').is_some_and(|(key, value)| key == name && same(value, &self.cookie))
        });
        (!known).then(|| Response::refused(403, "open the link that trackway view printed"))
    }

    /// Exchanges the token of a link.
    pub(crate) fn enter(&self, request: &Request) -> Response {
        let token = request.asked("token").unwrap_or_default();
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(found) = unused.iter().find(|one| same(one, token)).cloned() else {
            return Response::refused(
                403,
                "this link is wrong or was used before; start trackway view again",
            );
        };
        unused.remove(&found);
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie_name(), self.cookie);
        let mut response = Response::see("/");
        response.headers.push(("Set-Cookie", cookie));
        response
    }

    /// True until a link was used.
    pub fn is_unused(&self, link: &str) -> bool {
        let unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        unused.iter().any(|token| link.ends_with(token))
    }

    /// Random text, 128 bits of it.
    pub(crate) fn secret(&self) -> std::io::Result<String> {
        secret()
    }
}

/// Compares secrets in a time that says nothing about where they differ.
fn same(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && differences == 0
}

/// 128 random bits as text.
fn secret() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
