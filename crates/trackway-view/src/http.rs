//! Requests and responses: the part of HTTP/1.1 that a page on the same machine needs, with a bound on everything.
//!
//! Requests have no body: nothing can be changed here. One that announces a body is refused before any of it is read.

use std::io::{self, BufRead, BufReader, Read, Write};

/// Bytes of the request line and all headers at most.
pub const LARGEST: usize = 16 << 10;

/// Headers of a request at most.
const HEADERS: usize = 64;

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// GET or HEAD; others are refused later.
    pub(crate) method: String,
    /// The path, without the question mark.
    pub(crate) path: String,
    /// Names and values after the question mark, decoded.
    pub(crate) query: Vec<(String, String)>,
    /// Names in lower case, and values.
    pub(crate) headers: Vec<(String, String)>,
    /// The connection stays open.
    pub(crate) stays: bool,
}

/// Why there is no request.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The other side closed the connection, or was silent for too long.
    Closed,
    /// It is not HTTP, or a form that no browser sends.
    Malformed,
    /// It is longer than [`LARGEST`].
    TooLarge,
    /// It has a body.
    Body,
}

impl Request {
    /// Reads the next request of a connection.
    pub(crate) fn read(input: &mut BufReader<impl Read>) -> Result<Self, Refused> {
        let mut bytes = Vec::new();
        // The line end that ends the headers is the first empty line.
        while !bytes.ends_with(b"\r\n\r\n") {
            let left = LARGEST - bytes.len();
            let read = input.by_ref().take(left as u64).read_until(b'\n', &mut bytes);
            match read {
                Ok(0) if left == 0 => return Err(Refused::TooLarge),
                Ok(0) | Err(_) => return Err(Refused::Closed),
                Ok(_) => {}
            }
        }
        Self::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Result<Self, Refused> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        match parsed.parse(bytes) {
            Ok(httparse::Status::Complete(_)) => {}
            Err(httparse::Error::TooManyHeaders) => return Err(Refused::TooLarge),
            _ => return Err(Refused::Malformed),
        }
        let (Some(method), Some(target)) = (parsed.method, parsed.path) else {
            return Err(Refused::Malformed);
        };
        // Whole addresses are for proxies.
        if !target.starts_with('/') {
            return Err(Refused::Malformed);
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut request = Request {
            method: method.into(),
            path: decoded(path).ok_or(Refused::Malformed)?,
            query: pairs(query).ok_or(Refused::Malformed)?,
            headers: Vec::new(),
            stays: parsed.version == Some(1),
        };
        for header in parsed.headers.iter() {
            let value = std::str::from_utf8(header.value).map_err(|_| Refused::Malformed)?;
            request.headers.push((header.name.to_ascii_lowercase(), value.trim().into()));
        }
        let length = request.header("content-length").is_some_and(|length| length != "0");
        if length || request.header("transfer-encoding").is_some() {
            return Err(Refused::Body);
        }
        if request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            request.stays = false;
        }
        Ok(request)
    }

    /// A header; none where it is there several times, which no browser does for those that are asked for.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let first = found.next()?;
        found.next().is_none().then_some(first.1.as_str())
    }

    /// True if there is such a header, once or several times.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known == name)
    }

    /// A value of the query.
    pub(crate) fn asked(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Names and values of a query.
fn pairs(query: &str) -> Option<Vec<(String, String)>> {
    let pair = |text: &str| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        Some((decoded(name)?, decoded(&value.replace('+', " "))?))
    };
    query.split('&').filter(|text| !text.is_empty()).map(pair).collect()
}

/// Text without `%xx`; none where that is not text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next())?, digit(rest.next())?);
        bytes.push((high << 4 | low) as u8);
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    /// Its code.
    pub(crate) status: u16,
    /// The type of the content.
    pub(crate) content_type: &'static str,
    /// Further headers.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The content.
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// A page or a part of one.
    pub(crate) fn new(content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Response { status: 200, content_type, headers: Vec::new(), body: body.into() }
    }

    /// An answer as JSON.
    pub(crate) fn json(value: &serde_json::Value) -> Self {
        Response::new("application/json", value.to_string())
    }

    /// A refusal, in words.
    pub(crate) fn refused(status: u16, text: &str) -> Self {
        let body = serde_json::json!({ "error": text }).to_string();
        Response { status, ..Response::new("application/json", body) }
    }

    /// Sends the visitor elsewhere on this server.
    pub(crate) fn see(place: &str) -> Self {
        let headers = vec![("Location", place.to_string())];
        Response { status: 303, headers, ..Response::new("text/plain", "") }
    }

    /// Writes it. Nothing may be framed or kept, no type guessed, no address passed on.
    pub(crate) fn write(&self, out: &mut impl Write, stays: bool, with_body: bool) -> io::Result<()> {
        let reason = match self.status {
            200 => "OK",
            303 => "See Other",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            413 => "Content Too Large",
            431 => "Request Header Fields Too Large",
            _ => "Error",
        };
        let mut head = format!("HTTP/1.1 {} {reason}\r\n", self.status);
        let length = self.body.len().to_string();
        let fixed = [
            ("Content-Type", self.content_type),
            ("Content-Length", &length),
            ("Content-Security-Policy", CONTENT_POLICY),
            ("X-Frame-Options", "DENY"),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
            ("Connection", if stays { "keep-alive" } else { "close" }),
        ];
        for (name, value) in
            fixed.into_iter().chain(self.headers.iter().map(|(name, value)| (*name, &**value)))
        {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        out.write_all(head.as_bytes())?;
        if with_body {
            out.write_all(&self.body)?;
        }
        out.flush()
    }
}

/// The page may load what this server has, and nothing else.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Request, Refused> {
        Request::read(&mut BufReader::new(text.as_bytes()))
    }

    #[test]
    fn requests_are_read() {
        let request =
            read("GET /api/rows?from=10&q=a%20b+c&x HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n").unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/api/rows"));
        assert_eq!((request.asked("from"), request.asked("q")), (Some("10"), Some("a b c")));
        assert_eq!((request.asked("x"), request.asked("y")), (Some(""), None));
        assert_eq!(request.header("host"), Some("127.0.0.1:1"));
        assert!(request.stays);
    }

    #[test]
    fn what_no_browser_sends_is_refused() {
        for (text, why) in [
            ("GET http://elsewhere/ HTTP/1.1\r\n\r\n", "Malformed"),
            ("GET /%zz HTTP/1.1\r\n\r\n", "Malformed"),
            ("GET /%00 HTTP/1.1\r\n\r\n", "Malformed"),
            ("nonsense\r\n\r\n", "Malformed"),
            ("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", "Body"),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "Body"),
            ("GET / HTTP/1.1\r\n", "Closed"),
            ("", "Closed"),
        ] {
            let refused = read(text).expect_err(text);
            assert_eq!(format!("{refused:?}"), why, "{text}");
        }
        // Of two hosts neither is believed.
        let twice = read("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").unwrap();
        assert_eq!(twice.header("host"), None);
        assert!(twice.has("host"));
    }

    #[test]
    fn oversized_requests_are_refused() {
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(LARGEST));
        assert!(matches!(read(&long), Err(Refused::TooLarge)));
        let header = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(LARGEST));
        assert!(matches!(read(&header), Err(Refused::TooLarge)));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS + 1));
        assert!(matches!(read(&many), Err(Refused::TooLarge)));
    }
}
