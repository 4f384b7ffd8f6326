//! Messages from and to an editor. A thread of its own reads, so that a search can look for a pause.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::sync::mpsc::{Receiver, sync_channel};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A request of the editor.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Request {
    pub(crate) seq: i64,
    pub(crate) command: String,
    #[serde(default)]
    pub(crate) arguments: Json,
}

/// The answer to a request: a body, or why there is none.
pub(crate) type Answer = std::result::Result<Json, String>;

/// The arguments of a request.
pub(crate) fn arguments<T: DeserializeOwned>(request: &Request) -> std::result::Result<T, String> {
    let arguments = if request.arguments.is_null() {
        Json::Object(serde_json::Map::new())
    } else {
        request.arguments.clone()
    };
    serde_json::from_value(arguments).map_err(|error| format!("{}: {error}", request.command))
}

/// A message to the editor.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Message<'m> {
    Response {
        seq: i64,
        request_seq: i64,
        success: bool,
        command: &'m str,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<&'m str>,
        body: &'m Json,
    },
    Event {
        seq: i64,
        event: &'m str,
        body: &'m Json,
    },
}

/// Most bytes of a message: the longest ones set breakpoints.
const LONGEST: usize = 1 << 20;
/// Most bytes of a line of a header.
const LINE: u64 = 256;
/// Messages that wait to be read, at most.
const WAITING: usize = 64;

/// Both directions.
pub(crate) struct Wire {
    received: Receiver<Result<Request>>,
    /// Received while a search was running.
    waiting: VecDeque<Result<Request>>,
    output: Box<dyn Write>,
    seq: i64,
}

impl Wire {
    pub(crate) fn new(input: impl Read + Send + 'static, output: Box<dyn Write>) -> Self {
        let (sender, received) = sync_channel(WAITING);
        std::thread::spawn(move || {
            let mut input = BufReader::new(input);
            while let Some(message) = read(&mut input).transpose() {
                let is_last = message.is_err();
                if sender.send(message).is_err() || is_last {
                    return;
                }
            }
        });
        Wire { received, waiting: VecDeque::new(), output, seq: 0 }
    }

    /// The next request; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Request>> {
        let next = self.waiting.pop_front().or_else(|| self.received.recv().ok());
        next.transpose()
    }

    /// Did the editor ask to stop what is being done? Other requests wait.
    pub(crate) fn is_interrupted(&mut self) -> bool {
        self.waiting.extend(self.received.try_iter());
        self.waiting.iter().any(|message| match message {
            Ok(request) => ["pause", "disconnect", "terminate"].contains(&request.command.as_str()),
            Err(_) => true,
        })
    }

    /// Answers a request: with a body, or with the reason why not.
    pub(crate) fn answer(&mut self, request: &Request, answer: Answer) -> Result<()> {
        let (body, failure) = match answer {
            Ok(body) => (body, None),
            Err(text) => (serde_json::json!({ "error": { "id": 1, "format": text } }), Some(text)),
        };
        self.seq += 1;
        self.send(&Message::Response {
            seq: self.seq,
            request_seq: request.seq,
            success: failure.is_none(),
            command: &request.command,
            message: failure.as_deref(),
            body: &body,
        })
    }

    pub(crate) fn event(&mut self, event: &str, body: Json) -> Result<()> {
        self.seq += 1;
        self.send(&Message::Event { seq: self.seq, event, body: &body })
    }

    fn send(&mut self, message: &Message<'_>) -> Result<()> {
        let text = serde_json::to_string(message)?;
        write!(self.output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        self.output.flush()
    }
}

/// Reads a message; `None` where the input ends between two.
///
/// A header has nothing but a length and a type: anything else is another protocol, such as HTTP of a web page.
fn read(input: &mut impl BufRead) -> Result<Option<Request>> {
    let wrong = |text: &str| Error::new(ErrorKind::InvalidData, text.to_string());
    loop {
        let mut length = None;
        loop {
            let mut line = Vec::new();
            input.by_ref().take(LINE).read_until(b'\n', &mut line)?;
            if line.is_empty() && length.is_none() {
                return Ok(None);
            }
            let line = String::from_utf8(line).map_err(|_| wrong("a header that is not text"))?;
            let line = line.strip_suffix('\n').ok_or_else(|| wrong("a header without an end"))?.trim_end();
            match line.split_once(':') {
                None if line.is_empty() => break,
                Some(("Content-Length", digits)) => {
                    let digits = digits.trim().parse().map_err(|_| wrong("a length that is not a number"))?;
                    length = Some(digits);
                }
                Some(("Content-Type", _)) => {}
                _ => return Err(wrong("not a header of the Debug Adapter Protocol")),
            }
        }
        let length = length.ok_or_else(|| wrong("a header without Content-Length"))?;
        if length > LONGEST {
            return Err(wrong("a message that is too long"));
        }
        let mut bytes = vec![0; length];
        input.read_exact(&mut bytes)?;
        let message: Json = serde_json::from_slice(&bytes)?;
        match message["type"].as_str() {
            Some("request") => return Ok(Some(serde_json::from_value(message)?)),
            // Answers to requests of ours: we have none.
            Some(_) => {}
            None => return Err(wrong("a message without a type")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<String>> {
        let mut input = bytes;
        let mut commands = Vec::new();
        while let Some(request) = read(&mut input)? {
            commands.push(request.command);
        }
        Ok(commands)
    }

    fn framed(text: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{text}", text.len())
    }

    #[test]
    fn messages_come_one_after_the_other() {
        let one = framed(r#"{"seq":1,"type":"request","command":"threads"}"#);
        let answer = framed(r#"{"seq":2,"type":"response","request_seq":9}"#);
        assert_eq!(all(format!("{one}{answer}{one}").as_bytes()).unwrap(), ["threads", "threads"]);
        assert_eq!(all(b"").unwrap(), [""; 0]);
        for end in 1..one.len() {
            assert!(all(&one.as_bytes()[..end]).is_err(), "cut at {end}");
        }
    }

    /// A web page can send bytes to a port, with headers of its own.
    #[test]
    fn other_protocols_are_refused() {
        let body = r#"{"seq":1,"type":"request","command":"threads"}"#;
        let http = format!("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n{}", framed(body));
        assert!(all(http.as_bytes()).is_err());
        assert!(all(b"$qSupported#37").is_err());
        assert!(all(b"Content-Length: 1048577\r\n\r\n").is_err());
        assert!(all(b"Content-Length: 99999999999999999999\r\n\r\n").is_err());
        assert!(all(b"Content-Type: x\r\n\r\n{}").is_err());
        assert!(all(framed("[1]").as_bytes()).is_err());
        assert!(all("x".repeat(1000).as_bytes()).is_err());
    }
}
