//! `replay --dap`: a small client of the Debug Adapter Protocol.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use common::{Folder, piped, program, recorded, repo, stdout, text, trackway};
use serde_json::{Value as Json, json};
use trackway_testkit::skipped;

/// A client on stdio.
struct Client {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    seq: i64,
    /// Events that came before an answer.
    events: Vec<Json>,
}

fn framed(message: &Json) -> String {
    let text = message.to_string();
    format!("Content-Length: {}\r\n\r\n{text}", text.len())
}

fn message(from: &mut impl BufRead) -> Json {
    let mut length = 0;
    loop {
        let mut line = String::new();
        assert!(from.read_line(&mut line).unwrap() > 0, "the adapter has ended");
        match line.trim_end().split_once(": ") {
            Some(("Content-Length", digits)) => length = digits.parse().unwrap(),
            _ => break,
        }
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

impl Client {
    /// A client that waits at the entry.
    fn new(args: &[&str]) -> Self {
        let mut client = Self::silent(args);
        let able = client.ok("initialize", json!({ "adapterID": "trackway", "linesStartAt1": true }));
        assert_eq!(able["supportsStepBack"], true);
        client.event("initialized");
        client.ok("launch", json!({ "stopOnEntry": true }));
        client.ok("configurationDone", json!({}));
        assert_eq!(client.event("stopped")["reason"], "entry");
        client
    }

    fn silent(args: &[&str]) -> Self {
        let mut child = program()
            .args(["replay", "--dap"])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it runs");
        let to = child.stdin.take().expect("piped");
        let from = BufReader::new(child.stdout.take().expect("piped"));
        Client { child, to, from, seq: 0, events: Vec::new() }
    }

    /// Sends a request; returns the answer.
    fn ask(&mut self, command: &str, arguments: Json) -> Json {
        self.seq += 1;
        let request =
            json!({ "seq": self.seq, "type": "request", "command": command, "arguments": arguments });
        self.to.write_all(framed(&request).as_bytes()).unwrap();
        loop {
            let message = message(&mut self.from);
            if message["type"] == "response" {
                assert_eq!(
                    (&message["request_seq"], &message["command"]),
                    (&json!(self.seq), &json!(command))
                );
                return message;
            }
            self.events.push(message);
        }
    }

    /// The body of the answer to a request that succeeds.
    fn ok(&mut self, command: &str, arguments: Json) -> Json {
        let answer = self.ask(command, arguments);
        assert_eq!(answer["success"], true, "{answer}");
        answer["body"].clone()
    }

    /// The reason why a request fails.
    fn refused(&mut self, command: &str, arguments: Json) -> String {
        let answer = self.ask(command, arguments);
        assert_eq!(answer["success"], false, "{answer}");
        answer["message"].as_str().unwrap().to_string()
    }

    /// The body of the next event, which has that name.
    fn event(&mut self, name: &str) -> Json {
        let event = if self.events.is_empty() { message(&mut self.from) } else { self.events.remove(0) };
        assert_eq!((&event["type"], &event["event"]), (&json!("event"), &json!(name)), "{event}");
        event["body"].clone()
    }

    /// Moves; returns the stop.
    fn go(&mut self, command: &str) -> Json {
        self.go_by(command, "line")
    }

    fn go_by(&mut self, command: &str, granularity: &str) -> Json {
        self.ok(command, json!({ "threadId": 1, "granularity": granularity }));
        self.event("stopped")
    }

    fn frame(&mut self) -> Json {
        self.frames()[0].clone()
    }

    fn frames(&mut self) -> Vec<Json> {
        let body = self.ok("stackTrace", json!({ "threadId": 1 }));
        body["stackFrames"].as_array().unwrap().clone()
    }

    fn pc(&mut self) -> u64 {
        let frame = self.frame();
        let digits =
            frame["instructionPointerReference"].as_str().unwrap().trim_start_matches("0x").to_string();
        u64::from_str_radix(&digits, 16).unwrap()
    }

    /// The number of the instruction that comes next.
    fn now(&mut self) -> u64 {
        let body = self.ok("threads", json!({}));
        let name = body["threads"][0]["name"].as_str().unwrap().to_string();
        name.rsplit(' ').next().unwrap().parse().unwrap()
    }

    fn say(&mut self, command: &str) -> String {
        let body = self.ok("evaluate", json!({ "expression": command, "context": "repl" }));
        body["result"].as_str().unwrap().to_string()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address of every instruction of a trace.
fn pcs(trace: &[&str]) -> Vec<u64> {
    let all = stdout(&[&["dump"], trace, &["--as", "pcs"]].concat());
    all.lines().map(|line| u64::from_str_radix(line, 16).unwrap()).collect()
}

fn found(args: &[&str]) -> Vec<u64> {
    let object: Json = serde_json::from_str(&stdout(&[&["find"], args, &["--json"]].concat())).unwrap();
    object["matches"].as_array().unwrap().iter().map(|one| one["instruction"].as_u64().unwrap()).collect()
}

#[test]
fn instructions_step_both_ways() {
    let (trace, elf) = (repo("testdata/stf/sort/trace.stf"), repo("programs/riscv/sort.elf"));
    let pcs = pcs(&[&trace]);
    let mut client = Client::new(&[&trace, "--elf", &elf]);
    for pc in &pcs[..12] {
        assert_eq!(client.pc(), *pc);
        assert_eq!(client.go_by("stepIn", "instruction")["reason"], "step");
    }
    for pc in pcs[..12].iter().rev() {
        client.go_by("stepBack", "instruction");
        assert_eq!(client.pc(), *pc);
    }
    assert!(client.go("reverseContinue")["description"].as_str().unwrap().contains("begins"));
    assert!(client.go("continue")["description"].as_str().unwrap().contains("ends"));
    assert!(client.now() >= pcs.len() as u64 - 1);
}

/// Every stop at watched memory, both ways, is an access that `find` finds; a function breakpoint is its entry.
#[test]
fn breakpoints_of_functions_addresses_and_memory() {
    let (trace, elf) = (repo("testdata/stf/sort/trace.stf"), repo("programs/riscv/sort.elf"));
    let mut client = Client::new(&[&trace, "--elf", &elf]);
    let set = client
        .ok("setFunctionBreakpoints", json!({ "breakpoints": [{ "name": "sum" }, { "name": "gone" }] }));
    assert_eq!(
        (&set["breakpoints"][0]["verified"], &set["breakpoints"][1]["verified"]),
        (&json!(true), &json!(false))
    );
    let stop = client.go("continue");
    assert_eq!(stop["reason"], "function breakpoint");
    assert_eq!(stop["hitBreakpointIds"], json!([set["breakpoints"][0]["id"]]));
    assert_eq!(client.now(), found(&[&trace, "--elf", &elf, "--sym", "sum"])[0]);
    client.ok("setFunctionBreakpoints", json!({ "breakpoints": [] }));

    let info = client.ok("dataBreakpointInfo", json!({ "name": "0x11150:8" }));
    let data = json!({ "breakpoints": [{ "dataId": info["dataId"], "accessType": "write" }] });
    client.ok("setDataBreakpoints", data);
    let stores = found(&[&trace, "--elf", &elf, "--mem", "0x11150:8", "--class", "store"]);
    let here = client.now();
    for store in stores.iter().rev().filter(|store| **store < here) {
        assert_eq!(client.go("reverseContinue")["reason"], "data breakpoint");
        assert_eq!(client.now(), *store);
    }
    assert!(client.go("reverseContinue")["description"].as_str().unwrap().contains("begins"));
    for store in &stores {
        assert_eq!(client.go("continue")["reason"], "data breakpoint");
        assert_eq!(client.now(), store + 1);
    }
    client.ok("setDataBreakpoints", json!({ "breakpoints": [] }));

    let at = json!({ "breakpoints": [{ "instructionReference": "0x10134", "offset": 2 }] });
    assert_eq!(
        client.ok("setInstructionBreakpoints", at)["breakpoints"][0]["instructionReference"],
        "0x10136"
    );
    assert_eq!(client.go("continue")["reason"], "instruction breakpoint");
    assert_eq!(client.pc(), 0x10136);
}

/// Lines, calls and returns of a program with debug information.
#[test]
fn lines_step_over_into_and_out() {
    let folder = Folder::new("dap-lines");
    let (trace, elf) = recorded(&folder);
    let mut client = Client::new(&[&trace, "--elf", &elf]);
    let lines = |line| json!({ "source": { "path": "/elsewhere/programs/riscv/calls.c" }, "breakpoints": [{ "line": line }] });
    // Line 52 has no code; the next one that has is taken.
    let set = client.ok("setBreakpoints", lines(52));
    assert_eq!(
        (&set["breakpoints"][0]["verified"], &set["breakpoints"][0]["line"]),
        (&json!(true), &json!(54))
    );
    client.ok("setBreakpoints", lines(58));
    assert_eq!(client.go("continue")["reason"], "breakpoint");
    let frame = client.frame();
    assert_eq!((&frame["line"], &frame["source"]["name"]), (&json!(58), &json!("calls.c")));
    // The compiler says ./calls.c; the breakpoint showed where that is.
    assert_eq!(frame["source"]["path"], "/elsewhere/programs/riscv/calls.c");
    client.ok("setBreakpoints", json!({ "source": { "path": "calls.c" }, "breakpoints": [] }));
    client.ok(
        "setBreakpoints",
        json!({ "source": { "path": "/elsewhere/programs/riscv/calls.c" }, "breakpoints": [] }),
    );

    let before = client.now();
    client.go("stepIn");
    let frames = client.frames();
    assert!(frames[0]["name"].as_str().unwrap().starts_with("hash_of_the_numbers"), "{frames:?}");
    assert!(frames[1]["name"].as_str().unwrap().starts_with("program"), "{frames:?}");
    client.go("stepOut");
    let frames = client.frames();
    assert!(frames[0]["name"].as_str().unwrap().starts_with("program"), "{frames:?}");
    // Back over the call, to the start of the line; then to the line before it.
    client.go("stepBack");
    assert_eq!((client.now(), client.frame()["line"].clone()), (before, json!(58)));
    client.go("next");
    let frame = client.frame();
    assert!(frame["name"].as_str().unwrap().starts_with("program") && frame["line"] != 58, "{frame}");
    client.go("stepBack");
    client.go("stepBack");
    let frame = client.frame();
    let is_loop = frame["line"] == 56 || frame["line"] == 57;
    assert!(frame["name"].as_str().unwrap().starts_with("program") && is_loop, "{frame}");
    assert!(client.now() < before);
}

#[test]
fn unknown_registers_and_memory_are_unknown() {
    let (trace, elf) = (repo("testdata/stf/sort/trace.stf"), repo("programs/riscv/sort.elf"));
    let mut client = Client::new(&[&trace, "--elf", &elf]);
    client.say("goto sym:sum");
    assert_eq!(client.event("stopped")["reason"], "goto");
    let frame = client.frame()["id"].clone();
    let scopes = client.ok("scopes", json!({ "frameId": frame }));
    let registers =
        client.ok("variables", json!({ "variablesReference": scopes["scopes"][0]["variablesReference"] }));
    let value = |name: &str| {
        let all = registers["variables"].as_array().unwrap().iter();
        all.clone().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name}"))["value"].clone()
    };
    assert_eq!(
        (value("sp"), value("a0"), value("pc")),
        (json!("unknown"), json!("0x0000000000011148"), json!("0x10136"))
    );
    let position =
        client.ok("variables", json!({ "variablesReference": scopes["scopes"][1]["variablesReference"] }));
    assert_eq!(position["variables"][0]["value"], format!("{} of 297", client.now()));
    let sp = client.ok("evaluate", json!({ "expression": "$sp", "context": "watch" }));
    assert_eq!(sp["result"], "unknown");
    // Sorted: the second number is 1.
    let memory = client.ok("readMemory", json!({ "memoryReference": "0x11148", "offset": 8, "count": 8 }));
    assert_eq!((&memory["data"], &memory["unreadableBytes"]), (&json!("AQAAAAAAAAA="), &json!(0)));
    let nowhere = client.ok("readMemory", json!({ "memoryReference": "0x7000000000", "count": 8 }));
    assert_eq!((&nowhere["data"], &nowhere["unreadableBytes"]), (&json!(""), &json!(8)));
    assert!(client.say("mem 0x11150").contains("written by"));
    assert!(client.say("mem 0x10136:2").contains("from the program"));
    let rows = json!({ "memoryReference": "0x10136", "instructionOffset": -2, "instructionCount": 4 });
    let rows = client.ok("disassemble", rows)["instructions"].clone();
    assert_eq!((&rows[2]["address"], rows.as_array().unwrap().len()), (&json!("0x10136"), 4));
    assert_eq!(rows[2]["symbol"], "sum");
    assert!(rows[0]["instruction"].as_str().unwrap() != "unknown", "{rows}");
}

#[test]
fn flow_formats_have_control_flow() {
    let ete = repo("testdata/ete/count");
    let mut client = Client::silent(&[&ete]);
    let able = client.ok("initialize", json!({}));
    assert_eq!(able["supportsDataBreakpoints"], false);
    client.event("initialized");
    client.ok("attach", json!({ "position": "2" }));
    client.ok("configurationDone", json!({}));
    client.event("stopped");
    assert_eq!(client.now(), 2);
    let threads = client.ok("threads", json!({}))["threads"].as_array().unwrap().len();
    assert_eq!(threads, 2);
    assert_eq!(client.ok("dataBreakpointInfo", json!({ "name": "0x80000:4" }))["dataId"], Json::Null);
    assert_eq!(client.say("$x0"), "unknown");
    // The other source moves; the first stays where it is.
    client.ok("stepIn", json!({ "threadId": 2, "granularity": "instruction" }));
    assert_eq!(client.event("stopped")["threadId"], 2);
    assert_eq!(client.now(), 2);
    assert!(client.say("where").lines().nth(1).unwrap().starts_with("* 2 ETE_1: 1"));
}

#[test]
fn nothing_can_be_written_run_or_read_from_the_host() {
    let folder = Folder::new("dap-closed");
    let (trace, elf) = (repo("testdata/stf/sort/trace.stf"), repo("programs/riscv/sort.elf"));
    let mut client = Client::new(&[&trace, "--elf", &elf]);
    for command in [
        "setVariable",
        "setExpression",
        "writeMemory",
        "source",
        "runInTerminal",
        "startDebugging",
        "restart",
    ] {
        let refused = client.refused(command, json!({ "path": "/etc/passwd", "sourceReference": 1 }));
        assert!(refused.contains("not supported"), "{command}: {refused}");
    }
    let target = folder.file("written");
    for command in ["shell ls", "!ls", "source /etc/passwd", "python print(1)"] {
        let refused = client.refused("evaluate", json!({ "expression": command, "context": "repl" }));
        assert!(refused.contains("not a command"), "{command}: {refused}");
    }
    for command in [format!("bt > {target}"), format!("where {target}"), format!("gaps | tee {target}")] {
        client.ask("evaluate", json!({ "expression": command, "context": "repl" }));
    }
    assert!(!std::path::Path::new(&target).exists());
    assert!(
        client
            .refused("evaluate", json!({ "expression": "goto sym:nowhere", "context": "repl" }))
            .contains("nowhere")
    );
    assert!(client.refused("variables", json!({ "variablesReference": 99 })).contains("nothing"));
    assert!(client.refused("readMemory", json!({ "memoryReference": "x", "count": 1 })).contains("address"));
    assert!(client.refused("stackTrace", json!({})).contains("threadId"));
}

/// An editor that disconnects may come back to a port of this host; one that ends the program ends it. A web page that
/// finds the port is not understood.
#[test]
fn a_port_of_this_host() {
    let trace = repo("testdata/stf/sort/trace.stf");
    let start = || {
        let mut child = program()
            .args(["replay", &trace, "--dap", "--port", "0"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let port: u16 = line
            .trim()
            .strip_prefix("\"debugServer\": ")
            .unwrap_or_else(|| panic!("{line}"))
            .parse()
            .unwrap();
        (child, port)
    };
    let (mut child, port) = start();
    // Only the loopback address of IPv4 listens.
    assert!(std::net::TcpStream::connect(("::1", port)).is_err());
    for ends in [false, true] {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        let arguments = json!({ "terminateDebuggee": ends });
        let request = json!({ "seq": 1, "type": "request", "command": "disconnect", "arguments": arguments });
        stream.write_all(framed(&request).as_bytes()).unwrap();
        assert_eq!(message(&mut BufReader::new(stream))["success"], true);
    }
    assert!(child.wait().unwrap().success());

    let (mut child, port) = start();
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    let request = json!({ "seq": 1, "type": "request", "command": "threads" });
    write!(stream, "POST / HTTP/1.1\r\nHost: localhost\r\n{}", framed(&request)).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert_eq!(text(&answer), "");
    assert!(!child.wait().unwrap().success());
}

/// Whatever is sent, it ends without a panic.
#[test]
fn garbage_is_survived() {
    let trace = repo("testdata/stf/sort/trace.stf");
    let commands = [
        "initialize",
        "launch",
        "setBreakpoints",
        "stackTrace",
        "disassemble",
        "readMemory",
        "variables",
        "next",
        "evaluate",
    ];
    let values = [json!(null), json!(-1), json!("x"), json!(u64::MAX), json!([]), json!({ "path": 3 })];
    for round in 0..40 {
        let mut bytes = Vec::new();
        for (n, command) in commands.iter().enumerate() {
            let value = |k: usize| values[(round * 7 + n * 3 + k) % values.len()].clone();
            let arguments = json!({
                "threadId": value(0), "source": value(1), "memoryReference": value(2), "count": value(3),
                "instructionCount": value(4), "instructionOffset": value(5), "offset": value(0),
                "variablesReference": value(1), "expression": value(2), "frameId": value(3),
            });
            let arguments = if round % 5 == 0 { value(1) } else { arguments };
            bytes.extend(
                framed(&json!({ "seq": n, "type": "request", "command": command, "arguments": arguments }))
                    .bytes(),
            );
        }
        if round % 4 == 0 {
            bytes.truncate(bytes.len() - round);
        }
        let output = piped(&["replay", "--dap", &trace], &bytes);
        assert!(output.status.code().is_some_and(|code| code != 101), "{round}: {}", text(&output.stderr));
    }
    assert_eq!(trackway(&["replay", "--dap", "-"]).status.code(), Some(2));
}

/// The client that the makers of VS Code test adapters with, over a port as in launch.json.
#[test]
#[ignore = "needs npm"]
fn another_client_debugs_it() {
    let Some(peers) = std::env::var_os("TRACKWAY_PEERS") else {
        return skipped("debugadapter-testsupport is not installed: cargo xtask test --peers");
    };
    let client = Path::new(&peers).join("dap");
    if !client.join("node_modules/@vscode/debugadapter-testsupport").exists() {
        return skipped("debugadapter-testsupport is not installed");
    }
    let folder = Folder::new("dap-client");
    let (trace, elf) = recorded(&folder);
    let mut child = program()
        .args(["replay", &trace, "--elf", &elf, "--dap", "--port", "0"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut line = String::new();
    BufReader::new(child.stderr.take().expect("piped")).read_line(&mut line).unwrap();
    let port = line.trim().strip_prefix("\"debugServer\": ").expect("a port");
    let output = Command::new("node")
        .arg(repo("crates/trackway-cli/tests/peers/dap.mjs"))
        .arg(&client)
        .args([port, "/elsewhere/programs/riscv/calls.c", "17"])
        .output()
        .expect("node");
    // A client that failed did not end the server.
    let ended = output.status.success() || child.kill().is_ok();
    assert!(ended && child.wait().is_ok());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let seen: Json = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&seen["first"]["line"], &seen["second"]["line"]), (&json!(17), &json!(17)), "{seen}");
    assert_eq!(seen["second"]["reason"], "breakpoint", "{seen}");
    assert_eq!(seen["back"]["pc"], seen["first"]["pc"], "{seen}");
    assert_eq!((&seen["stepBack"]["line"], &seen["into"]["line"]), (&json!(15), &json!(17)), "{seen}");
    assert!(seen["depth"].as_u64() > Some(1) && seen["out"]["line"] == 17, "{seen}");
    assert!(seen["registers"]["ra"].is_string(), "{seen}");
    assert_eq!(seen["watched"]["reason"], "data breakpoint", "{seen}");
    assert!(seen["code"].as_array().unwrap().iter().all(Json::is_string), "{seen}");
    assert!(seen["refused"].as_str().unwrap().contains("cannot be changed"), "{seen}");
}
