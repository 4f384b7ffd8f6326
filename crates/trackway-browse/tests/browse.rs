//! The screen, drawn into memory, on traces of the repository.

use std::path::{Path, PathBuf};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use trackway::format::{Program as Files, Settings, Writing};
use trackway::io::Target as Output;
use trackway::{FORMATS, Trace, by_id};
use trackway_browse::{App, Options};
use trackway_core::{Batch, FormatId, Isa, Source};
use trackway_hart::machine::{Machine, MachineConfig};
use trackway_hart::{Config, Program, RecordOptions, Recorder, Target};
use trackway_tools::replay::{Replay, Session, Thread};

fn repo(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A screen and its keyboard.
struct Screen {
    app: App,
    terminal: Terminal<TestBackend>,
}

impl Screen {
    fn new(trace: &Path, elf: &[&str], width: u16, height: u16) -> Self {
        let options = |source: Option<String>| {
            let mut options = Trace::options();
            options.program.elf.extend(elf.iter().map(|path| repo(path).display().to_string()));
            trackway::Options { source, ..options }
        };
        let sources = options(None).open(trace).unwrap().meta().sources.clone();
        let names = if sources.len() < 2 { vec![None] } else { sources.into_iter().map(Some).collect() };
        let thread = |name: Option<String>| {
            let replay = Replay::new(options(name.clone()).open(trace).unwrap()).unwrap();
            Thread { name: name.unwrap_or_default(), replay }
        };
        let session = Session::new(names.into_iter().map(thread).collect()).unwrap();
        let title = trace.file_name().unwrap().to_string_lossy().into_owned();
        let app = App::new(session, Options { title, roots: vec![repo("programs/riscv")], colours: false });
        Screen { app, terminal: Terminal::new(TestBackend::new(width, height)).unwrap() }
    }

    fn key(&mut self, code: KeyCode) {
        self.app.key(KeyEvent::new(code, KeyModifiers::NONE), &mut || false);
    }

    /// Types letters; a newline is Enter.
    fn keys(&mut self, keys: &str) {
        for letter in keys.chars() {
            self.key(if letter == '\n' { KeyCode::Enter } else { KeyCode::Char(letter) });
        }
    }

    fn shown(&mut self) -> String {
        self.terminal.draw(|frame| self.app.draw(frame)).unwrap();
        self.terminal.backend().to_string()
    }

    #[track_caller]
    fn shows(&mut self, parts: &[&str]) {
        let shown = self.shown();
        for part in parts {
            assert!(shown.contains(part), "{part:?} is not in\n{shown}");
        }
    }
}

fn sort() -> Screen {
    Screen::new(&repo("testdata/stf/sort/trace.stf"), &["programs/riscv/sort.elf"], 120, 36)
}

#[test]
fn instructions_registers_and_calls() {
    let mut screen = sort();
    screen.shows(&[
        "instruction 0 of 297",
        "auipc a0,0x1",
        "<_start>",
        "the program has no source line here",
    ]);
    screen.shows(&["sp   unknown", "-- callers before the trace began are not"]);
    screen.keys("gsym:sum\n");
    assert_eq!(screen.app.now(), 252);
    screen.shows(&[
        "instruction 252 of 297",
        "a0   0000000000011148",
        "sp   unknown",
        "sum called by 251 _start+",
    ]);
    screen.keys("f");
    screen.shows(&["<_start+0x1c>"]);
    screen.keys("u");
    assert_eq!(screen.app.now(), 252);
    screen.keys("c");
    assert_eq!(screen.app.now(), 251);
    screen.keys("o");
    // Over the call, to the instruction after it.
    screen.shows(&["<_start+0x1c>"]);
    screen.keys("O");
    assert_eq!(screen.app.now(), 251);
}

#[test]
fn every_position_is_reached_by_keys() {
    let mut screen = sort();
    screen.key(KeyCode::End);
    screen.shows(&["instruction 296 of 297", "the end of the trace"]);
    screen.keys("j");
    screen.shows(&["instruction 297 of 297", "after the last instruction"]);
    screen.keys("jj");
    assert_eq!(screen.app.now(), 297);
    screen.key(KeyCode::Home);
    screen.keys("k");
    assert_eq!(screen.app.now(), 0);
    screen.keys("jjjj");
    assert_eq!(screen.app.now(), 4);
    screen.key(KeyCode::PageDown);
    let far = screen.app.now();
    assert!(far > 10);
    screen.key(KeyCode::PageUp);
    assert_eq!(screen.app.now(), 4);
    screen.keys("gend-7\n");
    assert_eq!(screen.app.now(), 290);
    screen.keys("gnowhere\n");
    screen.shows(&["a position is N"]);
    assert_eq!(screen.app.now(), 290);
    screen.keys("q");
    assert!(screen.app.is_done());
}

#[test]
fn search_and_why() {
    let mut screen = sort();
    screen.keys("/sd t2\n");
    assert_eq!(screen.app.now(), 12);
    screen.shows(&["sd t2,8(t0)", "write [0x11150:8]="]);
    screen.keys("n");
    let second = screen.app.now();
    assert!(second > 12);
    screen.keys("N");
    assert_eq!(screen.app.now(), 12);
    screen.keys("N");
    screen.shows(&["not found on this side"]);
    screen.keys("/mem:0x11150:8\n");
    assert!(screen.app.now() > 12);
    screen.keys("/0x10136\n");
    assert_eq!(screen.app.now(), 252);
    screen.keys("wa0\n");
    screen.shows(&["why a0, before instruction 252", "ld a0,170(a0)", "Enter goes there"]);
    screen.keys("\n");
    let writer = screen.app.now();
    assert!(writer < 252);
    screen.keys("wx99\n");
    screen.shows(&["a register, ADDR or ADDR:LEN"]);
    screen.keys("wsp\n");
    screen.shows(&["set before the trace began"]);
    screen.key(KeyCode::Esc);
    screen.keys("v0x11150\n");
    screen.shows(&["0x11150  "]);
    screen.keys("r");
    screen.shows(&["registers", "written by", "unknown"]);
    screen.key(KeyCode::Esc);
    screen.keys("?");
    screen.shows(&["a part of an instruction or function", "cancel a search"]);
}

#[test]
fn a_search_can_be_cancelled() {
    let mut screen = sort();
    screen.keys("/no such text");
    screen.app.key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE), &mut || true);
    screen.shows(&["not found"]);
    assert_eq!(screen.app.now(), 0);
}

/// Source lines come from a file below the given folder.
#[test]
fn source_lines() {
    let folder = std::env::temp_dir().join(format!("trackway-browse-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let trace = folder.join("calls.stf");
    record("programs/riscv/elf/rv64-calls.elf", &trace);
    let mut screen = Screen::new(&trace, &["programs/riscv/elf/rv64-calls.elf"], 120, 40);
    screen.keys("gsym:fib\n");
    screen.shows(&["calls.c:14", "13  __attribute__((noinline)) static word fib(word n)", "if (n < 2)"]);
    screen.keys("l");
    let after = screen.app.now();
    screen.keys("L");
    assert!(screen.app.now() < after);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Records a program on the golden model, as STF.
fn record(elf: &str, trace: &Path) {
    let program = Program::read(&std::fs::read(repo(elf)).unwrap()).unwrap();
    let config = MachineConfig { ram: 1 << 20, ..MachineConfig::new(Config::new(Isa::Rv64)) };
    let mut machine = Machine::new(config, &program).unwrap();
    machine.leave_rom();
    let mut recorder = Recorder::new(Target::Machine(Box::new(machine)), RecordOptions::default());
    let (target, files) = (Output::new(trace), Files::default());
    let settings = Settings::default();
    let writing = Writing { target: target.clone(), settings: &settings, program: &files, threads: 1 };
    let format = by_id(FORMATS, FormatId::new("stf")).unwrap();
    let mut sink = format.create(writing, recorder.meta()).unwrap();
    let mut batch = Batch::default();
    while recorder.fill(&mut batch).unwrap() {
        sink.put(&batch).unwrap();
    }
    sink.finish().unwrap();
    target.commit().unwrap();
}

#[test]
fn sources_traps_and_withdrawn_code_of_ete() {
    let mut screen = Screen::new(&repo("testdata/ete/count"), &[], 120, 30);
    screen.shows(&["source ETE_0 (1 of 2)", "instruction 0 of", "all unknown"]);
    screen.keys("t");
    let trap = screen.app.now();
    assert!(trap > 0);
    screen.shows(&["--  trap"]);
    screen.keys("T");
    screen.shows(&["there is no trap on this side"]);
    screen.key(KeyCode::Tab);
    screen.shows(&["source ETE_1 (2 of 2)"]);
    assert_eq!(screen.app.now(), 0);
    screen.key(KeyCode::Tab);
    assert_eq!(screen.app.now(), trap);
    screen.keys("v0x80000:4\n");
    screen.keys("wx0\n");
    screen.shows(&["why x0"]);
}

/// Flow formats without their program have runs instead of instructions.
#[test]
fn code_that_is_not_known() {
    let mut screen = Screen::new(&repo("testdata/perf/sort.data"), &[], 120, 30);
    screen.shows(&["instruction 0 of"]);
    for key in "jjjkkjntxmfcole".chars() {
        screen.keys(&key.to_string());
        screen.shown();
        screen.key(KeyCode::Esc);
    }
}

/// Every trace of the repository, any size of screen, any key: something is drawn, and the position stays in the trace.
#[test]
fn any_trace_any_screen_any_key() {
    let traces = [
        ("testdata/stf/everything/trace.stf", vec![]),
        ("testdata/astf/levels.astf", vec!["programs/aarch64/levels.elf"]),
        ("testdata/tandem/sort/trace.tv", vec![]),
        ("testdata/tarmac/two-cores/trace.tarmac", vec![]),
        ("testdata/spike/mix.spike", vec![]),
        ("testdata/rvfi-vcd/mix.vcd", vec![]),
    ];
    for (trace, elf) in traces {
        let path = repo(trace);
        assert!(path.exists(), "{trace}");
        for (width, height) in [(120, 40), (80, 24), (40, 10), (10, 5), (1, 1)] {
            let mut screen = Screen::new(&path, &elf, width, height);
            for keys in [
                "", "jjj", "t", "m", "x", "o", "l", "f", "c", "e\n", "u", "wx1\n", "\n", "r", "?", "G",
                "/a\n", ":bt\n",
            ] {
                screen.keys(keys);
                screen.shown();
                screen.key(KeyCode::Esc);
            }
            screen.key(KeyCode::Tab);
            screen.shown();
        }
    }
}

/// A circular buffer that wrapped, of a program that crashed: symbols and lines come from the program, below the
/// dumps of the snapshot.
#[test]
fn before_the_crash() {
    let mut screen = Screen::new(&repo("testdata/ete/crash"), &["programs/aarch64/crash.elf"], 110, 32);
    screen.key(KeyCode::End);
    screen.shows(&["1 gap", "blr x1", "<run_all+0x20>", "crash.c:29", "run_all called by", "all unknown"]);
    let last = screen.app.now();
    screen.keys("wx1\n");
    screen.shows(&["why x1", "ldr x1, [x19]", "ldr x19, [x19, #0x10]"]);
    screen.keys("\n");
    assert_eq!(screen.app.now(), last - 2);
    screen.keys("c");
    screen.shows(&["bl #0x40012c", "<_start+0x28>"]);
    screen.keys("/str xzr\n");
    screen.keys("X");
    screen.shows(&["--  gap reason=lost-sync", "instruction 0 of"]);
    screen.keys("X");
    screen.shows(&["there is no gap on this side"]);
}

/// Damage in the middle is a gap, and both sides of it can be looked at.
#[test]
fn a_damaged_trace() {
    let mut bytes = std::fs::read(repo("testdata/astf/sort.astf")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0xff);
    let path = std::env::temp_dir().join(format!("trackway-browse-damaged-{}.astf", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    let mut screen = Screen::new(&path, &["programs/aarch64/sort.elf"], 120, 30);
    screen.shown();
    screen.keys("x");
    screen.shown();
    screen.key(KeyCode::End);
    screen.shows(&["the end of the trace"]);
    std::fs::remove_file(&path).unwrap();
}

/// Of a trace that ends in the middle of an item, everything before is shown.
#[test]
fn a_truncated_trace() {
    let bytes = std::fs::read(repo("testdata/stf/sort/trace.stf")).unwrap();
    let path = std::env::temp_dir().join(format!("trackway-browse-cut-{}.stf", std::process::id()));
    std::fs::write(&path, &bytes[..6000]).unwrap();
    let mut screen = Screen::new(&path, &["programs/riscv/sort.elf"], 120, 30);
    screen.shows(&["instruction 0 of 160", "damaged in 1 place"]);
    screen.key(KeyCode::End);
    screen.shows(&["instruction 159 of 160", "the end of the trace"]);
    screen.keys("j/sd\n");
    screen.keys("N");
    assert!(screen.app.now() < 160);
    screen.keys("wt3\n");
    screen.shows(&["ld t3,8(t0)"]);
    std::fs::remove_file(&path).unwrap();
}

/// A name in the program cannot move the cursor of the terminal.
#[test]
fn control_characters_stay_off_the_screen() {
    let mut elf = std::fs::read(repo("programs/riscv/sort.elf")).unwrap();
    let name = b"\0sort\0";
    let at = elf.windows(name.len()).position(|part| part == name).unwrap();
    elf[at + 1..at + 5].copy_from_slice(b"\x1b[2J");
    let path = std::env::temp_dir().join(format!("trackway-browse-hostile-{}.elf", std::process::id()));
    std::fs::write(&path, elf).unwrap();
    let mut screen = Screen::new(&repo("testdata/stf/sort/trace.stf"), &[path.to_str().unwrap()], 120, 36);
    let shown = screen.shown();
    assert!(!shown.contains(|letter: char| letter.is_control() && letter != '\n'), "{shown:?}");
    assert!(shown.contains("<?[2J>"), "{shown}");
    std::fs::remove_file(&path).unwrap();
}
