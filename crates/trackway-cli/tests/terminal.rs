//! The program on a terminal, made by `script` of util-linux: colour, pager, progress.
#![cfg(unix)]

mod common;

use std::process::Command;

use common::{Folder, repo, stdout, text};

/// Runs a shell line on a terminal; returns its exit code and all that the terminal shows. None, and a word on it, where
/// there is no `script`.
fn on_terminal(line: &str, environment: &[(&str, &str)]) -> Option<(i32, String)> {
    let mut script = Command::new("script");
    script.args(["-qec", line, "/dev/null"]).env_remove("NO_COLOR").env("TERM", "xterm");
    script.env_remove("TRACKWAY_PAGER").env_remove("PAGER").env_remove("LESS");
    script.envs(environment.iter().copied()).stdin(std::process::Stdio::null());
    match script.output() {
        Ok(output) => Some((output.status.code().unwrap_or(-1), text(&output.stdout))),
        Err(error) => {
            trackway_testkit::skipped(&format!("a test on a terminal: script: {error}"));
            None
        }
    }
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_trackway");

#[test]
fn dump_is_coloured_on_a_terminal_only() {
    let trace = repo("testdata/stf/sort/trace.stf");
    for shape in ["", "--raw", "--as events"] {
        let line = format!("{PROGRAM} dump {trace} {shape} --limit 9 --no-pager -q");
        let Some((code, coloured)) = on_terminal(&line, &[]) else { return };
        assert!(code == 0 && coloured.contains("\x1b["), "{coloured}");
        let (_, plain) = on_terminal(&line, &[("NO_COLOR", "1")]).expect("it ran before");
        assert!(!plain.contains('\x1b'), "{plain}");
        let args: Vec<&str> = ["dump", &trace].into_iter().chain(shape.split_whitespace()).collect();
        let piped = stdout(&[&args[..], &["--limit", "9", "-q"]].concat());
        assert_eq!(plain.replace('\r', ""), piped);
        // The same text, whatever the colours.
        let mut stripped = String::new();
        let mut letters = coloured.replace('\r', "").chars().collect::<Vec<_>>().into_iter();
        while let Some(letter) = letters.next() {
            match letter {
                '\x1b' => drop(letters.by_ref().find(|letter| *letter == 'm')),
                letter => stripped.push(letter),
            }
        }
        assert_eq!(stripped, piped);
    }
}

#[test]
fn dump_goes_through_the_pager() {
    let folder = Folder::new("pager");
    let (trace, paged) = (repo("testdata/stf/sort/trace.stf"), folder.file("paged"));
    let to_file = format!("cat > {paged}");
    let line = format!("{PROGRAM} dump {trace}");
    let Some((code, shown)) = on_terminal(&line, &[("PAGER", &to_file), ("NO_COLOR", "1")]) else { return };
    assert_eq!(code, 0, "{shown}");
    assert_eq!(std::fs::read_to_string(&paged).unwrap(), stdout(&["dump", &trace]));
    assert!(shown.starts_with("health: ") && shown.lines().count() == 1, "messages come after it: {shown}");
    std::fs::remove_file(&paged).unwrap();

    // Its own variable goes first; none where it is not wanted, empty, `cat` or not there.
    for (name, value, option) in [
        ("PAGER", to_file.as_str(), "--no-pager"),
        ("TRACKWAY_PAGER", "", ""),
        ("TRACKWAY_PAGER", "cat", ""),
        ("TRACKWAY_PAGER", "no-such-pager", ""),
    ] {
        let (code, shown) =
            on_terminal(&format!("{line} {option}"), &[("PAGER", &to_file), (name, value)]).unwrap();
        assert!(code == 0 && shown.lines().count() > 297, "{name}={value}: {shown}");
        assert!(!std::path::Path::new(&paged).exists(), "{name}={value}");
    }

    // The exit code is that of dump, and leaving early is fine.
    let cut = folder.file("cut.stf");
    let bytes = std::fs::read(&trace).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() - 1]).unwrap();
    let (code, shown) =
        on_terminal(&format!("{PROGRAM} dump {cut}"), &[("PAGER", "cat >/dev/null; false")]).unwrap();
    assert!(code == 3 && shown.contains("error:"), "{code}: {shown}");
    let mix = folder.file("mix.stf");
    let elf = repo("programs/riscv/elf/rv64-mix.elf");
    stdout(&["record", &elf, "-o", &mix, "-q"]);
    let (code, shown) = on_terminal(&format!("{PROGRAM} dump {mix}"), &[("PAGER", "head -1")]).unwrap();
    assert!(code == 0 && shown.lines().count() == 1, "{code}: {shown}");
    // Never in a pipe.
    let (_, shown) = on_terminal(&format!("{line} -q | cat"), &[("PAGER", &to_file)]).unwrap();
    assert!(shown.lines().count() >= 297 && !std::path::Path::new(&paged).exists(), "{shown}");
}

#[test]
fn progress_fits_the_terminal() {
    let folder = Folder::new("progress");
    let (elf, mix) = (repo("programs/riscv/elf/rv64-mix.elf"), folder.file("mix.stf"));
    stdout(&["record", &elf, "-o", &mix, "-q"]);
    // A reader that has to wait.
    let slow = format!("(head -c 2000000 {mix}; sleep 1; tail -c +2000001 {mix})");
    for (columns, command) in
        [(12, "stats -"), (30, "check -"), (9, "check -"), (200, "info -"), (40, "convert - - --into stf")]
    {
        let line = format!("stty cols {columns} rows 24; {slow} | {PROGRAM} {command} >/dev/null");
        let Some((code, shown)) = on_terminal(&line, &[]) else { return };
        assert_eq!(code, 0, "{line}: {shown}");
        let mut drawn = shown.split('\r').filter_map(|line| line.strip_suffix("\x1b[K")).peekable();
        assert!(drawn.peek().is_some(), "{line}: {shown:?}");
        for line in drawn {
            assert!(line.chars().count() < columns, "{columns}: {line:?}");
        }
    }
    let (_, quiet) = on_terminal(&format!("{slow} | {PROGRAM} stats - -q >/dev/null"), &[]).unwrap();
    assert!(!quiet.contains("\x1b[K"), "{quiet:?}");
}

/// Whether a process is there and is not a zombie.
#[cfg(target_os = "linux")]
fn is_running(process: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
}

/// The terminal of `browse` is closed: the program ends, and does not read what is no longer there for ever.
#[test]
#[cfg(target_os = "linux")]
fn browse_ends_with_its_terminal() {
    use std::time::Duration;
    let folder = Folder::new("hang-up");
    let (trace, number) = (repo("testdata/stf/sort/trace.stf"), folder.file("number"));
    let line = format!("echo $$ > {number}.new; mv {number}.new {number}; exec {PROGRAM} browse {trace}");
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm");
    script.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut script = match script.spawn() {
        Ok(script) => script,
        Err(error) => return trackway_testkit::skipped(&format!("a test on a terminal: script: {error}")),
    };
    let wait = |what: &str, is_so: &dyn Fn() -> bool| {
        let mut tries = 0;
        while !is_so() {
            tries += 1;
            assert!(tries < 600, "{what}");
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    wait("it begins", &|| std::path::Path::new(&number).exists());
    let process = std::fs::read_to_string(&number).unwrap().trim().to_string();
    // From its first screen on it waits for keys.
    let mut screen = [0; 64];
    std::io::Read::read(script.stdout.as_mut().unwrap(), &mut screen).unwrap();
    assert!(is_running(&process));
    script.kill().unwrap();
    script.wait().unwrap();
    wait("it ends", &|| !is_running(&process));
}

/// A program can name any file as its source: only those under the root, by default the program's folder, are read.
#[test]
fn browse_reads_sources_under_the_root_only() {
    let folder = Folder::new("browse-sources");
    let (trace, elf) = common::recorded(&folder);
    let copy = folder.file("copy.elf");
    std::fs::copy(&elf, &copy).expect("a copy");
    // The program names `./calls.c`, which is there.
    let browse = |root: &[&str]| {
        let mut command = common::program();
        command.args(["browse", &trace, "--elf", &copy, "--at", "sym:fib"]).args(root);
        text(&command.current_dir(repo("programs/riscv")).output().expect("it runs").stdout)
    };
    let shown = browse(&[]);
    assert!(shown.contains("calls.c is not here") && !shown.contains("if (n < 2)"), "{shown}");
    let shown = browse(&["--source-root", &repo("programs/riscv")]);
    assert!(shown.contains("if (n < 2)"), "{shown}");
    std::fs::copy(repo("programs/riscv/calls.c"), folder.file("calls.c")).expect("a copy");
    let shown = browse(&[]);
    assert!(shown.contains("if (n < 2)"), "{shown}");
}
