//! `verify --listen` and `verify -`: mismatches are reported while the writer still runs.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use common::*;

/// Long enough for a machine under load; nothing waits this long if it works.
const PATIENCE: Duration = Duration::from_secs(120);

const SETTINGS: &str = "[tandem]\nxlen = 64\nflen = 64\nmlen = 64\nprofile = \"bluespec\"\n";

/// A recording with one wrong result in its middle, its program and settings, and the place of the fault.
fn damaged(folder: &Folder) -> (Vec<u8>, usize, String, String) {
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    let (trace, config) = (folder.file("run.tv"), folder.file("live.toml"));
    std::fs::write(&config, SETTINGS).unwrap();
    stdout(&["record", &elf, "-q", "-o", &trace, "--limit", "3000", "--profile", "bluespec"]);
    let dumped = stdout(&["dump", &trace, "--jsonl", "--config", &config]);
    let offsets = dumped.lines().filter_map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        let writes = event["registers"].as_array()?.iter().any(|access| access["role"] == "destination");
        event["offset"].as_u64().filter(|_| writes)
    });
    let at = offsets.filter(|offset| *offset > 20_000).nth(7).unwrap() as usize;
    let mut bytes = std::fs::read(&trace).unwrap();
    // The full register update of the group: its item, the register's number, then 8 bytes.
    let item = bytes[at..].windows(3).position(|item| item[0] == 4 && item[2] == 0x10).unwrap();
    bytes[at + item + 3] ^= 0x40;
    (bytes, at, elf, config)
}

fn start(args: &[&str]) -> Child {
    program().args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The first line with this word, as soon as it is there.
fn line_with(stream: impl Read + Send + 'static, word: &'static str) -> mpsc::Receiver<String> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if line.contains(word) {
                drop(send.send(line));
            }
        }
    });
    receive
}

/// Sends the first part, hears of the fault, and only then sends the rest.
fn heard_before_the_end(mut writer: impl Write, bytes: &[u8], fault: usize, mut child: Child) -> String {
    let found = line_with(child.stdout.take().unwrap(), "mismatch 1: wrong value");
    // The fault and a few groups after it; the writer then waits.
    let sent = fault + 200;
    writer.write_all(&bytes[..sent]).unwrap();
    writer.flush().unwrap();
    let line = found.recv_timeout(PATIENCE).expect("the mismatch is reported while the writer waits");
    assert!(child.try_wait().unwrap().is_none(), "it waits for the rest");
    writer.write_all(&bytes[sent..]).unwrap();
    drop(writer);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    line
}

#[test]
fn a_planted_fault_is_found_over_tcp_before_the_writer_ends() {
    let folder = Folder::new("live-tcp");
    let (bytes, fault, elf, config) = damaged(&folder);
    let args =
        ["verify", "--listen", "127.0.0.1:0", "--elf", &elf, "--format", "tandem", "--config", &config];
    let mut child = start(&args);
    let listening = line_with(child.stderr.take().unwrap(), "listening on ");
    let said = listening.recv_timeout(PATIENCE).unwrap();
    let address = said.rsplit(' ').next().unwrap().to_string();
    let writer = TcpStream::connect(address).unwrap();
    let line = heard_before_the_end(writer, &bytes, fault, child);
    assert!(line.contains(&format!("offset {fault:#x}")), "{line}");
}

#[cfg(unix)]
#[test]
fn and_over_a_unix_socket() {
    let folder = Folder::new("live-unix");
    let (bytes, fault, elf, config) = damaged(&folder);
    let socket = folder.file("socket");
    let address = format!("unix:{socket}");
    let args = ["verify", "--listen", &address, "--elf", &elf, "--format", "tandem", "--config", &config];
    let mut child = start(&args);
    let listening = line_with(child.stderr.take().unwrap(), "listening on unix:");
    listening.recv_timeout(PATIENCE).unwrap();
    let writer = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    heard_before_the_end(writer, &bytes, fault, child);
    assert!(!std::path::Path::new(&socket).exists());
}

#[test]
fn and_over_a_pipe_where_it_stops_after_the_first() {
    let folder = Folder::new("live-pipe");
    let (bytes, fault, elf, config) = damaged(&folder);
    let args = ["verify", "-", "--elf", &elf, "--format", "tandem", "--config", &config, "--stop-after", "1"];
    let mut child = start(&args);
    let mut writer = child.stdin.take().unwrap();
    writer.write_all(&bytes[..fault + 200]).unwrap();
    writer.flush().unwrap();
    // The pipe is still open: it ends because it has enough.
    let (send, ended) = mpsc::channel();
    std::thread::spawn(move || send.send(child.wait_with_output().unwrap()));
    let output = ended.recv_timeout(PATIENCE).expect("it ends while the pipe is open");
    drop(writer);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    assert!(said.contains("mismatch 1: wrong value") && said.contains("1 mismatches (stopped)"), "{said}");
}

/// A whole trace through a pipe has the verdict of the file, in JSON as well.
#[test]
fn a_pipe_has_the_verdict_of_the_file() {
    let folder = Folder::new("live-same");
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    let trace = folder.file("run.tv");
    stdout(&["record", &elf, "-q", "-o", &trace, "--limit", "20000"]);
    let bytes = std::fs::read(&trace).unwrap();
    let of_file = trackway(&["verify", &trace, "--elf", &elf, "--json"]);
    let of_pipe = piped(&["verify", "-", "--elf", &elf, "--json"], &bytes);
    assert_eq!(
        (of_file.status.code(), of_pipe.status.code()),
        (Some(0), Some(0)),
        "{}",
        text(&of_pipe.stderr)
    );
    let json = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
    let (a, b) = (json(&of_file.stdout), json(&of_pipe.stdout));
    for key in ["instructions", "checked", "adopted", "passed"] {
        assert_eq!(a[key], b[key], "{key}");
    }
}

#[test]
fn only_this_machine_is_listened_to() {
    for (address, word) in [("192.0.2.1:9", "only addresses of this machine"), ("nowhere", "not HOST:PORT")] {
        let output = trackway(&["verify", "--listen", address]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(word), "{}", text(&output.stderr));
    }
    assert_eq!(trackway(&["verify"]).status.code(), Some(2));
    assert_eq!(trackway(&["verify", "x.tv", "--listen", "127.0.0.1:0"]).status.code(), Some(2));
}
