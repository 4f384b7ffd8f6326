//! `cargo xtask soak [SECONDS] [SEED]`: every command on every trace there is, with little memory, and killed at random. Whatever
//! happens, the program ends with one of its exit codes, prints no panic, and leaves no output that is not whole.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::{every_file, make_folder, text};
use crate::{Outcome, target, tree};

/// Address space of a run, in KiB.
const MEMORY: u32 = 4 << 20;

/// A run that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// Commands; `IN` is a trace, `OUT` an output that is not there yet.
const COMMANDS: [&str; 34] = [
    "info IN",
    "info IN --json",
    "dump IN --limit 1000",
    "dump IN --as pcs",
    "dump IN --as runs",
    "dump IN --as events",
    "dump IN --raw",
    "dump IN --jsonl --limit 1000",
    "check IN",
    "check IN --strict",
    "stats IN",
    "stats IN --json -j 1",
    "stats IN --with predictors,loops,dependences,reuse,strides,sharing",
    "calls IN",
    "flame IN -o OUT.svg",
    "plot IN -o OUT.svg --what mix",
    "report IN -o OUT.html",
    "profile IN -o OUT --as folded",
    "profile IN -o OUT --as perfetto",
    "find IN --class load --count",
    "state IN --at 10",
    "diff IN IN",
    "doctor IN",
    "index IN --show",
    "export IN OUT.csv --max-size 20",
    "export IN OUT.jsonl --tables memory --max-size 20",
    "slice IN OUT.zstf --from 0 --to 100",
    "split IN OUT --parts 3",
    "convert IN OUT.zstf",
    "convert IN OUT.astf",
    "convert IN OUT.etrace",
    "convert IN OUT.tandem",
    "convert IN OUT.ete",
    "simpoint IN --interval 1000",
];

/// Files of traces: by name, or by extension.
const NAMES: [&str; 3] = ["input", "trace.bin", "snapshot.ini"];
const EXTENSIONS: [&str; 16] = [
    "stf", "zstf", "astf", "tandem", "tv", "ete", "etrace", "data", "spike", "log", "tarmac", "csv", "rvfi",
    "vcd", "qemu", "xz",
];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}

/// Runs for some seconds, and prints what went wrong.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let number = |at: usize, default: u64| arguments.get(at).map_or(Ok(default), |text| text.parse::<u64>());
    let seconds = number(0, 60).map_err(|error| format!("SECONDS: {error}"))?;
    let mut random = Random(number(1, 1).map_err(|error| format!("SEED: {error}"))?);
    let inputs = inputs();
    crate::cargo("the program", "build --locked --release -p trackway-cli", &[])?;
    let program = target().join("release/trackway");
    let scratch = target().join("soak");
    let begun = Instant::now();
    let (mut runs, mut killed, mut problems) = (0u64, 0u64, Vec::new());
    let mut codes = std::collections::BTreeMap::<String, u64>::new();
    while begun.elapsed() < Duration::from_secs(seconds) {
        let _ = std::fs::remove_dir_all(&scratch);
        make_folder(&scratch)?;
        let input = &inputs[random.below(inputs.len())];
        let line = COMMANDS[random.below(COMMANDS.len())];
        let kill = (random.below(3) == 0).then(|| {
            // Half of them can still put things in order.
            let signal = ["-KILL", "-INT"][random.below(2)];
            (Duration::from_millis(random.below(300) as u64), signal)
        });
        runs += 1;
        killed += u64::from(kill.is_some());
        match one(&program, line, input, &scratch, kill) {
            Ok(code) => *codes.entry(code).or_default() += 1,
            Err(problem) => problems.push(format!("{} {line}: {problem}", input.join(" "))),
        }
    }
    println!("{runs} runs over {} traces, {killed} with a signal after a random time", inputs.len());
    codes.iter().for_each(|(code, count)| println!("  exit {code}: {count}"));
    crate::report("soak", &problems)
}

/// Traces with the options that open them, of the repository and of the corpus.
fn inputs() -> Vec<Vec<String>> {
    let corpus = std::env::var("TRACKWAY_CORPUS")
        .map_or_else(|_| tree::root().join("../shared/corpus"), PathBuf::from);
    let files = [tree::root().join("testdata"), corpus].into_iter().flat_map(|folder| every_file(&folder));
    files.filter_map(|path| input(&path)).collect()
}

/// The words that open a file, if it is a trace: a snapshot by its folder, others with the settings beside them.
fn input(path: &Path) -> Option<Vec<String>> {
    let name = path.file_name()?.to_str()?;
    let extension = path.extension().and_then(|found| found.to_str()).unwrap_or_default();
    if !(NAMES.contains(&name) || EXTENSIONS.contains(&extension)) {
        return None;
    }
    let folder = path.parent()?;
    let mut words = vec![text(if name == "snapshot.ini" { folder } else { path })];
    for settings in
        ["config.toml", "params.toml"].map(|name| folder.join(name)).into_iter().filter(|path| path.exists())
    {
        words.extend(["--config".into(), text(&settings)]);
    }
    Some(words)
}

/// One run: its exit code, or the problem if it ended in a way that it must not.
fn one(
    program: &Path,
    line: &str,
    input: &[String],
    scratch: &Path,
    kill: Option<(Duration, &str)>,
) -> Result<String, String> {
    let mut words = Vec::new();
    for word in line.split(' ') {
        match word {
            "IN" => words.extend(input.iter().take(1).cloned()),
            _ => words.push(word.replace("OUT", &text(&scratch.join("out")))),
        }
    }
    // `diff` has its settings twice, and names no file of the second.
    words.extend(input[1..].iter().cloned());
    let errors = scratch.join("stderr");
    let file = std::fs::File::create(&errors).map_err(|error| error.to_string())?;
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\""), &text(program)])
        .args(&words)
        .env("TRACKWAY_CACHE", scratch.join("cache"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(file)
        .spawn()
        .map_err(|error| error.to_string())?;
    let begun = Instant::now();
    let mut signalled = false;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            break status;
        }
        if let Some((after, signal)) = kill
            && !signalled
            && begun.elapsed() >= after
        {
            signalled = true;
            let _ = Command::new("kill").args([signal, &child.id().to_string()]).status();
        }
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("still running after {PATIENCE:?}"));
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let said = std::fs::read_to_string(&errors).unwrap_or_default();
    if said.contains("panicked")
        || said.contains("overflowed its stack")
        || said.contains("memory allocation")
    {
        return Err(said.lines().find(|line| !line.is_empty()).unwrap_or_default().to_string());
    }
    match status.code() {
        Some(code @ 0..=5) => Ok(code.to_string()),
        Some(130) | None if signalled => whole(scratch).map(|()| "by a signal".to_string()),
        code => Err(format!("ended with {code:?}, {status}")),
    }
}

/// After a signal an output is not there, or named as partial.
fn whole(scratch: &Path) -> Result<(), String> {
    let files =
        every_file(scratch).into_iter().map(|path| path.strip_prefix(scratch).map(text).unwrap_or_default());
    let wrong: Vec<String> =
        files.filter(|name| name.starts_with("out") && !name.contains("partial")).collect();
    if wrong.is_empty() { Ok(()) } else { Err(format!("an interrupted run left {}", wrong.join(", "))) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_has_traces_of_every_kind() {
        let names: Vec<String> = super::inputs().into_iter().map(|words| words[0].clone()).collect();
        for part in ["/stf/", "/astf/", "/etrace/", "/tandem/", "/ete/"] {
            assert!(names.iter().any(|name| name.contains(part)), "{part} is missing");
        }
    }
}
