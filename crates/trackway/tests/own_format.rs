//! A format of one's own, in one file, has all commands of the program.

use std::path::PathBuf;
use std::process::{Command, Output};

/// The example, which `cargo test` builds beside the tests.
fn example() -> Option<PathBuf> {
    let test = std::env::current_exe().expect("a path");
    let path = test.ancestors().nth(2)?.join("examples/own_format");
    let built = path.is_file();
    if !built {
        trackway_testkit::skipped("the example own_format was not built (run cargo test without a target)");
    }
    built.then_some(path)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_command_knows_it() {
    let Some(example) = example() else { return };
    let folder = std::env::temp_dir().join(format!("trackway-own-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (trace, stf) = (folder.join("walk.tiny"), folder.join("walk.stf"));
    std::fs::write(&trace, b"TINY\x04\x04\x04\x00\x04").unwrap();
    let (trace, stf) = (trace.to_str().unwrap(), stf.to_str().unwrap());
    let run = |arguments: &[&str]| -> Output { Command::new(&example).args(arguments).output().unwrap() };
    for (arguments, code, expected) in [
        (&["info", trace][..], 0, "format:            tiny"),
        (&["dump", trace], 0, "gap reason=bad-input bytes=0x1"),
        (&["dump", "--raw", trace], 0, "0x00000007 step distance=0"),
        (&["stats", trace], 0, "total                                         4"),
        (&["check", trace], 1, "[tiny.distance, Tiny 1]"),
        (&["check", "--rules", "tiny"], 0, "error   tiny.distance [Tiny 1]: A step moves forward."),
        (&["config", "tiny"], 0, "# start = 0x1000"),
        (&["convert", trace, stf, "--json"], 0, r#""fate":"kept","what":"instructions","count":4"#),
        (&["dump", "--as", "pcs", stf], 0, "0000000000000010"),
    ] {
        let output = run(arguments);
        let shown = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
        assert!(shown.contains(expected), "{arguments:?}: {shown}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
