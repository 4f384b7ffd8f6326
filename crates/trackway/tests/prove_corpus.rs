//! The prover on the corpus: every trace into every target that takes it.

use std::path::{Path, PathBuf};

use trackway::events::Batch;
use trackway::format::Settings;
use trackway::{ConvertOptions, Error, FORMATS, Options, Prove, Trace, convert};

/// Longer traces are left to `convert --prove`.
const LONGEST: u64 = 300_000;

/// The folders and files under `folder`, which are traces or not.
fn inside(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// The traces of the corpus that can be opened.
fn traces(corpus: &Path) -> Vec<Trace> {
    let mut paths = Vec::new();
    for part in ["stf", "astf", "ete", "perf", "tandem", "logs"] {
        paths.extend(inside(&corpus.join(part)));
    }
    let folders = paths.iter().filter(|path| path.is_dir() && !path.join("snapshot.ini").exists());
    let deeper: Vec<_> = folders.flat_map(|folder| inside(folder)).collect();
    paths.extend(deeper);
    let loops = corpus.join("perf/etm_test_loop").display().to_string();
    let open = |path: &PathBuf| match path.ends_with("perf_etm.data") {
        true => Options::default().elf(&loops).open(path),
        false => Trace::open(path),
    };
    let mut traces: Vec<_> = paths.iter().filter_map(|path| open(path).ok()).collect();
    for case in trackway_testkit::ETRACE_CASES {
        let folder = corpus.join("etrace").join(case);
        let settings = Settings::read(&folder.join("params.toml")).unwrap();
        traces.push(Options::default().settings(settings).open(folder.join("trace.bin")).unwrap());
    }
    traces
}

/// Is it short enough, and can it be read at all?
fn is_short(trace: &Trace) -> bool {
    let Ok(mut source) = trace.reopen().and_then(|mut trace| trace.expanded()) else { return false };
    let (mut batch, mut instructions) = (Batch::default(), 0);
    while instructions < LONGEST {
        match source.fill(&mut batch) {
            Ok(true) => instructions += batch.instructions(),
            Err(_) if source.resync().unwrap_or(false) => {}
            _ => return true,
        }
    }
    false
}

#[test]
fn traces_of_the_corpus_hold_what_their_ledgers_say() {
    let Some(corpus) = trackway_testkit::corpus() else { return };
    let folder = std::env::temp_dir().join(format!("trackway-prove-corpus-{}", std::process::id()));
    let (mut proved, mut failures) = (0, Vec::new());
    for trace in traces(&corpus).into_iter().filter(is_short) {
        let targets = FORMATS.iter().copied().filter(|format| !format.extensions().is_empty());
        for into in targets {
            std::fs::create_dir_all(&folder).unwrap();
            let out = folder.join(format!("out.{}", into.extensions()[0]));
            let mut options =
                ConvertOptions { into: Some(into), prove: Prove::Always, ..ConvertOptions::default() };
            if into.id().as_str() == "astf" {
                // A flow trace lacks the addresses that ASTF demands.
                let astf = "[astf]\nallow_nonconforming = true\ncontainer = 'raw'\n";
                options.settings = Some(Settings { path: None, table: astf.parse().unwrap() });
            }
            match convert(&mut trace.reopen().unwrap(), &out, &options) {
                Ok(conversion) if conversion.proved == Some(true) => proved += 1,
                // The target does not take it.
                Err(Error::Config(_) | Error::Unsupported(_) | Error::Trace(_)) => {}
                other => failures.push(format!("{:?} to {}: {other:?}", trace.path(), into.id())),
            }
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
    println!("{proved} conversions proved");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(proved > 100, "only {proved}");
}
