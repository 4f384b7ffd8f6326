//! E-Trace as a user meets it: encode an STF trace, look at it, decode it, go back.

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::Folder;

fn repository(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name).display().to_string()
}

fn run(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_trackway")).args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn stdout(arguments: &[&str]) -> String {
    String::from_utf8(run(arguments).stdout).expect("text")
}

#[test]
fn stf_there_and_back() {
    let stf = repository("testdata/stf/sort/trace.stf");
    let elf = repository("programs/riscv/sort.elf");
    let wanted = stdout(&["dump", "--as", "pcs", &stf]);
    assert!(wanted.lines().count() > 200);
    let modes = [
        ("smi", "dialect = 'v2'\nframing = 'smi'\niaddress_width = 64\n"),
        ("draft", "dialect = 'draft-1.1.1'\nframing = 'ultrasoc'\nsrcid_width = 8\niaddress_width = 64\n"),
        ("bare", "dialect = 'v2'\nframing = 'bare'\niaddress_width = 64\n"),
        (
            "modes",
            "[etrace]\ndialect = 'v2'\nframing = 'encap'\niaddress_width = 64\nsupport_layout = 'all'\n\
             return_stack_size = 3\nbpred_size = 6\ncache_size = 3\nf0s_width = 1\n\
             options = ['implicit_return', 'branch_prediction', 'jump_target_cache']\n",
        ),
    ];
    for (name, config) in modes {
        let folder = Folder::new(name);
        let (toml, trace, back) =
            (folder.file("enc.toml"), folder.file("run.etrace"), folder.file("back.stf"));
        std::fs::write(&toml, config).expect("written");
        run(&["convert", &stf, &trace, "--elf", &elf, "--config", &toml]);
        // The sidecar describes the trace, program included.
        assert_eq!(stdout(&["dump", "--as", "pcs", &trace]), wanted, "{name}");
        assert_eq!(stdout(&["dump", "--as", "pcs", "-j", "2", &trace]), wanted, "{name}");
        run(&["convert", &trace, &back]);
        assert_eq!(stdout(&["dump", "--as", "pcs", &back]), wanted, "{name}");
        let raw = stdout(&["dump", "--raw", &trace]);
        assert!(raw.lines().next().is_some_and(|line| line.contains(" 3/3 ")), "{name}: {raw}");
        assert!(raw.contains("bits saved]"), "{name}: {raw}");
        run(&["check", &trace]);
        let copy = folder.file("copy.etrace");
        run(&["convert", &trace, &copy]);
        assert_eq!(std::fs::read(&trace).unwrap(), std::fs::read(&copy).unwrap(), "{name}");
    }
}

#[test]
fn our_own_vectors_are_opened_by_their_parameters() {
    for name in ["draft", "v2-every-mode", "v2-encap-type", "draft-atb-blocks"] {
        let folder = repository(&format!("testdata/etrace/{name}"));
        let (trace, params) = (format!("{folder}/trace.bin"), format!("{folder}/params.toml"));
        let events = stdout(&["dump", "--as", "events", &trace, "--config", &params]);
        let wanted = std::fs::read_to_string(format!("{folder}/events.txt")).unwrap();
        assert_eq!(events, wanted, "{name}");
    }
}
