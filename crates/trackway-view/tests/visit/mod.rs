//! A server for a test, and somebody who visits it.
#![allow(dead_code, unreachable_pub)] // each test file is a crate of its own and uses a part of it

pub mod tables;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;
use trackway_view::{File, Server, Site};

pub fn repo(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

pub fn options() -> trackway::Options {
    trackway::Options { index: trackway::Indexing::Off, ..trackway::Trace::options() }
}

pub fn sorted() -> File {
    let elf = repo("programs/riscv/sort.elf").display().to_string();
    File { path: repo("testdata/stf/sort/trace.stf"), options: options().elf(elf) }
}

/// A server with traces, and a cookie for it.
pub struct Visit {
    pub port: u16,
    pub cookie: String,
    pub link: String,
}

impl Visit {
    pub fn to(files: &[File]) -> Visit {
        Self::with(files, &[])
    }

    pub fn with(files: &[File], roots: &[PathBuf]) -> Visit {
        let server = Server::bind(0).expect("a port");
        let site = Arc::new(Site::open(files, roots).expect("traces"));
        let (port, link) = (server.address().unwrap().port(), server.guard().link().unwrap());
        std::thread::spawn(move || server.serve(&site));
        let mut visit = Visit { port, cookie: String::new(), link };
        let (status, head, _) = visit.get(visit.link.split_once(&port.to_string()).unwrap().1);
        assert_eq!(status, 303, "{head}");
        let cookie = head.lines().find_map(|line| line.strip_prefix("Set-Cookie: ")).expect("a cookie");
        for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        assert!(head.contains("Location: /\r\n"), "{head}");
        visit.cookie = cookie.split(';').next().unwrap().to_string();
        visit
    }

    /// Status, headers and content.
    pub fn send(&self, request: &str) -> (u16, String, Vec<u8>) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        // It may refuse before it has read all.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("headers") + 4;
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head, answer[end..].to_vec())
    }

    pub fn with_headers(&self, path: &str, headers: &str) -> (u16, String, Vec<u8>) {
        self.send(&format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n"))
    }

    pub fn get(&self, path: &str) -> (u16, String, Vec<u8>) {
        let host = format!("Host: 127.0.0.1:{}\r\n", self.port);
        let cookie =
            if self.cookie.is_empty() { String::new() } else { format!("Cookie: {}\r\n", self.cookie) };
        self.with_headers(path, &format!("{host}{cookie}"))
    }

    pub fn ask(&self, question: &str) -> Json {
        let (status, head, body) = self.get(&format!("/api/{question}"));
        if head.contains("Content-Type: application/x-trackway\r\n") {
            return tables::decode(question, &body);
        }
        let answer: Json = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(status, 200, "{question}: {answer}");
        answer
    }

    pub fn refused(&self, question: &str) -> String {
        let (status, _, body) = self.get(&format!("/api/{question}"));
        assert_eq!(status, 400, "{question}");
        serde_json::from_slice::<Json>(&body).unwrap()["error"].as_str().unwrap().to_string()
    }

    /// The status, once the overview is there.
    pub fn ready(&self, lane: usize) -> Json {
        for _ in 0..1200 {
            let status = self.ask(&format!("status?l={lane}"));
            if status["ready"] == true {
                return status;
            }
            std::thread::sleep(std::time::Duration::from_millis(25));
        }
        panic!("the overview never came");
    }
}

pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("trackway-view-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A temporary folder may be gone.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
