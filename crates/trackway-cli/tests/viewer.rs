//! The viewer in a real browser. `cargo xtask test --peers` installs Chromium and playwright-core and runs these tests;
//! `TRACKWAY_SCREENSHOTS` names a folder for pictures.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::{Folder, program, recorded, replace_text, repo, stdout, text};
use serde_json::Value as Json;
use trackway_testkit::skipped;

/// A viewer that runs, and its link.
struct Viewer {
    child: Child,
    link: String,
}

impl Viewer {
    fn start(args: &[&str]) -> Viewer {
        let mut child =
            program().args(["view", "--no-open"]).args(args).stderr(Stdio::piped()).spawn().expect("it runs");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let link = lines.next().expect("a link").expect("text");
        assert!(link.starts_with("http://127.0.0.1:"), "{link}");
        // The rest is not read.
        std::thread::spawn(move || lines.for_each(drop));
        Viewer { child, link }
    }

    /// The report of a browser; `None` where there is none.
    fn visit(&self, scenario: &str) -> Option<Json> {
        browse(scenario, &self.link)
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn browse(scenario: &str, link: &str) -> Option<Json> {
    let Some(peers) = std::env::var_os("TRACKWAY_PEERS") else {
        skipped("playwright-core is not installed: cargo xtask test --peers");
        return None;
    };
    let playwright = Path::new(&peers).join("playwright");
    if !playwright.join("node_modules/playwright-core").exists() {
        skipped("playwright-core is not installed");
        return None;
    }
    let mut command = Command::new("node");
    command.arg(repo("crates/trackway-cli/tests/peers/view.mjs")).arg(&playwright).args([scenario, link]);
    command.args(std::env::var_os("TRACKWAY_SCREENSHOTS"));
    let output = command.output().expect("node");
    let said = text(&output.stderr);
    assert!(output.status.success(), "{scenario}: {said}");
    let seen: Json = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(seen["problems"].as_array().map(Vec::len), Some(0), "{scenario}: {seen}");
    assert_eq!(seen["foreign"].as_array().map(Vec::len), Some(0), "it asks no other host: {seen}");
    assert_eq!(seen["markup"], 0, "names are text: {seen}");
    Some(seen)
}

#[test]
fn the_command_prints_a_link_that_works() {
    let viewer = Viewer::start(&[&repo("testdata/stf/sort/trace.stf")]);
    let (host, path) =
        viewer.link.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a link");
    let mut stream = std::net::TcpStream::connect(host).expect("it listens");
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 303 ") && answer.contains("Set-Cookie: "), "{answer}");
}

#[test]
fn a_page_is_exported() {
    let folder = Folder::new("viewer-export");
    let (trace, page) = (repo("testdata/stf/sort/trace.stf"), folder.file("page.html"));
    let output = common::trackway(&["view", &trace, "--export", &page, "--from", "10", "--to", "20"]);
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("instructions 10 to 20; it embeds"), "{said}");
    assert!(std::fs::read_to_string(&page).expect("a page").contains("trackway-data"));
    for (args, wanted) in [
        (vec!["view", "-"], "a stream is read once"),
        (vec!["view", &trace, "--source-root", "/nowhere"], "not a folder"),
        (vec!["view", &trace, &trace, "--export", &page], "one trace"),
        (vec!["view", &trace, "--export", &page, "--from", "20", "--to", "10"], "instructions"),
    ] {
        let output = common::trackway(&args);
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(wanted), "{args:?}: {said}");
    }
}

#[test]
#[ignore = "needs chromium"]
fn a_visitor_looks_zooms_searches_and_asks() {
    let folder = Folder::new("viewer-tour");
    let (trace, elf) = recorded(&folder);
    let viewer = Viewer::start(&[&trace, "--elf", &elf, "--source-root", &repo("programs/riscv")]);
    let Some(seen) = viewer.visit("tour") else { return };
    assert!(!seen["address"].as_str().unwrap().contains("token"), "{seen}");
    assert_eq!(seen["cookie"], "", "{seen}");
    assert!(seen["title"].as_str().unwrap().starts_with("calls.stf"), "{seen}");
    let window = |name: &str| {
        let view = &seen[name];
        (view["from"].as_f64().unwrap(), view["to"].as_f64().unwrap())
    };
    let (from, to) = window("start");
    assert!(from == 0.0 && to > 6000.0, "the whole run: {seen}");
    let (from, to) = window("zoomed");
    assert!((to - from - 8.0).abs() < 0.01, "single instructions: {seen}");
    assert!(window("moved").0 > from, "{seen}");
    assert_eq!(window("fitted"), window("start"), "{seen}");
    assert!(seen["rows"].as_u64().unwrap() > 10 && seen["found"].as_u64().unwrap() > 10, "{seen}");
    let current = seen["current"].as_str().unwrap();
    assert!(current.starts_with('b') || current.starts_with("c.b"), "a branch: {current}");
    assert!(seen["beyond"].as_u64() > seen["last"].as_u64(), "{seen}");
    assert!(seen["end"]["at"].as_u64().unwrap() > 6000, "{seen}");
    assert!(seen["why"].as_str().unwrap().contains('='), "{seen}");
    for (panel, wanted) in [
        ("state", "Registers"),
        ("code", "instruction"),
        ("flame", "instruction"),
        ("calls", "fib"),
        ("memory", "accesses"),
        ("branches", "taken"),
    ] {
        let said = seen["panels"][panel].as_str().unwrap();
        assert!(said.contains(wanted), "{panel}: {said}");
    }
    assert!(seen["source"].as_str().unwrap().contains("if (n < 2)"), "{seen}");
    let chosen = &seen["selected"]["selected"];
    assert!(chosen[0].as_u64() < chosen[1].as_u64(), "{seen}");
    for part in ["from", "to", "at", "selected", "panel", "query"] {
        let (one, other) = (&seen["selected"][part], &seen["restored"][part]);
        let near = |one: &Json, other: &Json| (one.as_f64().unwrap() - other.as_f64().unwrap()).abs() <= 1.0;
        assert!(one == other || (one.is_f64() && near(one, other)), "{part}: {one} {other}");
    }
    assert!(seen["keys"].as_u64().unwrap() > 10, "{seen}");
    assert_eq!((&seen["theme"], &seen["wide"]), (&"dark".into(), &true.into()), "{seen}");
}

#[test]
#[ignore = "needs chromium"]
fn two_traces_lie_beside_each_other() {
    let folder = Folder::new("viewer-compare");
    let (trace, elf) = recorded(&folder);
    let (other, short) = (folder.file("other.stf"), folder.file("short.stf"));
    stdout(&["slice", &trace, &short, "--to", "3000", "-q"]);
    stdout(&["slice", &trace, &other, "--to", "2900", "-q"]);
    let viewer = Viewer::start(&[&short, &other, "--elf", &elf]);
    let Some(seen) = viewer.visit("compare") else { return };
    assert_eq!(seen["lists"], 2, "{seen}");
    assert!(seen["verdict"].as_str().unwrap().contains("deleted"), "{seen}");
    assert!(seen["at"].as_u64().unwrap() >= 2899 && seen["marked"].as_u64().unwrap() > 0, "{seen}");
}

#[test]
#[ignore = "needs chromium"]
fn damage_is_shown() {
    let folder = Folder::new("viewer-damaged");
    let (trace, elf) = recorded(&folder);
    let mut bytes = std::fs::read(&trace).expect("a trace");
    // In the middle of a record.
    bytes.truncate(bytes.len() * 2 / 3 - 1);
    let half = folder.file("half.stf");
    std::fs::write(&half, bytes).expect("a file");
    let viewer = Viewer::start(&[&half, "--elf", &elf]);
    let Some(seen) = viewer.visit("damaged") else { return };
    assert!(seen["health"].as_str().unwrap().contains("1 error"), "{seen}");
    assert!(seen["damage"].as_str().unwrap().contains("before"), "{seen}");
}

#[test]
#[ignore = "needs chromium"]
fn hostile_names_stay_text_in_the_page_and_in_an_export() {
    let folder = Folder::new("viewer-hostile");
    let (trace, elf) = recorded(&folder);
    let bad = folder.file("bad.elf");
    replace_text(&elf, &bad, "fib\0", "<b>\0");
    let named = folder.file("<img src=x onerror=alert(1)>.stf");
    std::fs::copy(&trace, &named).expect("a copy");
    let viewer = Viewer::start(&[&named, "--elf", &bad]);
    let Some(seen) = viewer.visit("look") else { return };
    assert_eq!(seen["markup"], 0, "{seen}");
    let page = folder.file("page.html");
    let output = common::trackway(&["view", &named, "--elf", &bad, "--export", &page, "--to", "2000"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.contains("it embeds") && said.contains("onerror"), "{said}");
    let Some(seen) = browse("look", &format!("file://{page}")) else { return };
    assert_eq!(seen["markup"], 0, "{seen}");
}

#[test]
#[ignore = "needs chromium, and minutes"]
fn a_long_trace_is_shown_at_once() {
    let folder = Folder::new("viewer-long");
    // The sample program with a longer loop: some 20 million instructions.
    let source = std::fs::read_to_string(repo("programs/hot.c")).expect("a program");
    let (file, elf, trace) = (folder.file("long.c"), folder.file("long.elf"), folder.file("long.zstf"));
    std::fs::write(&file, source.replace("i < 500", "i < 300000")).expect("a file");
    let options = ["-O1", "-g", "-nostdlib", "-static", "-ffreestanding", &file, "-o", &elf];
    if !Command::new("riscv64-linux-gnu-gcc").args(options).status().is_ok_and(|status| status.success()) {
        return skipped("riscv64-linux-gnu-gcc is not installed");
    }
    stdout(&["record", &elf, "-o", &trace, "-q"]);
    let viewer = Viewer::start(&[&trace, "--elf", &elf]);
    let Some(seen) = viewer.visit("long") else { return };
    // Times are reported, not judged: they are those of this machine.
    eprintln!("{seen}");
    assert!(seen["frames"].as_u64().unwrap() > 20, "{seen}");
}

#[test]
#[ignore = "needs npm"]
fn the_page_is_built_from_its_sources() {
    if !Command::new("npm").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return skipped("npm is not installed");
    }
    let folder = Folder::new("viewer-build");
    let page = folder.0.join("page");
    let from = repo("crates/trackway-view/page");
    std::fs::create_dir_all(&page).expect("a folder");
    for name in ["package.json", "package-lock.json", "vite.config.ts", "tsconfig.json", "index.html"] {
        std::fs::copy(Path::new(&from).join(name), page.join(name)).expect("a copy");
    }
    std::fs::create_dir_all(page.join("src")).expect("a folder");
    for file in std::fs::read_dir(Path::new(&from).join("src")).expect("sources") {
        let file = file.expect("a file");
        std::fs::copy(file.path(), page.join("src").join(file.file_name())).expect("a copy");
    }
    let output = Command::new("sh")
        .args(["-c", "npm ci && npm run build"])
        .current_dir(&page)
        .output()
        .expect("a shell");
    assert!(output.status.success(), "{}", text(&output.stderr));
    for name in ["index.html", "app.js", "app.css"] {
        let built = std::fs::read(page.join("dist").join(name)).expect(name);
        let kept = std::fs::read(Path::new(&from).join("dist").join(name)).expect(name);
        assert!(built == kept, "{name} is not what its sources make: npm ci && npm run build");
    }
}
