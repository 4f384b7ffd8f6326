//! Recordings of perf through the program: real ones of the corpus, and the sample of the documentation.

mod common;

use common::{Folder, repo, stdout, text, trackway};
use trackway_testkit::corpus_part;

/// A file of the corpus.
fn corpus(name: &str) -> Option<String> {
    corpus_part(&format!("perf/{name}")).map(|path| path.display().to_string())
}

/// The lines of a list in an AutoFDO text, after its number.
fn lists(profile: &str) -> (Vec<String>, Vec<String>) {
    let mut lines = profile.lines();
    let mut list = || -> Vec<String> {
        let count: usize = lines.next().and_then(|line| line.parse().ok()).expect("a number");
        (0..count).map(|_| lines.next().expect("a line").to_string()).collect()
    };
    let ranges = list();
    list();
    (ranges, list())
}

#[test]
fn a_recording_of_simpleperf_becomes_its_autofdo_profile() {
    let (Some(data), Some(elf), Some(judge)) =
        (corpus("perf_etm.data"), corpus("etm_test_loop"), corpus("perf_inject.data"))
    else {
        return;
    };
    let folder = Folder::new("perf-autofdo");
    let root = folder.0.join("data/local/tmp");
    std::fs::create_dir_all(&root).unwrap();
    std::fs::copy(&elf, root.join("etm_test_loop")).unwrap();
    let sysroot = folder.0.display().to_string();
    let (wanted_ranges, wanted) = lists(&std::fs::read_to_string(judge).unwrap());
    for options in [["--elf", &elf], ["--sysroot", &sysroot]] {
        let out = folder.file("profile.txt");
        stdout(&["profile", &data, options[0], options[1], "--as", "autofdo", "-o", &out, "-q"]);
        let (ranges, branches) = lists(&std::fs::read_to_string(&out).unwrap());
        assert_eq!(ranges, wanted_ranges);
        // simpleperf has no targets of indirect branches: that of one of the three is in the program.
        let known = |line: &String| line.replace("1088->0:", "1088->10a4:");
        assert_eq!(branches, wanted.iter().map(known).collect::<Vec<_>>());
    }
    for out in ["x.ete", "x.stf"] {
        let said = trackway(&["convert", &data, &folder.file(out), "--elf", &elf]);
        assert!(said.status.success() && text(&said.stderr).contains("proved"), "{}", text(&said.stderr));
    }
}

#[test]
fn a_recording_without_its_program_names_it() {
    let Some(data) = corpus("perf_etm.data") else { return };
    let output = trackway(&["stats", &data]);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stderr);
    let wanted = "no code of /data/local/tmp/etm_test_loop, build id 0c9a20bf9c009d0e4e8bbf9fad0300ae";
    assert!(said.contains(wanted) && said.contains("--sysroot"), "{said}");
    let info = text(&trackway(&["info", "--json", &data]).stdout);
    assert!(info.contains(wanted), "{info}");
}

/// Of the kernel there is one module only: what runs in it is decoded, all else is named.
#[test]
fn a_module_is_linked_to_where_the_kernel_loaded_it() {
    let (Some(data), Some(module)) = (corpus("perf_kernel.data"), corpus("rq_stats.ko")) else { return };
    let output = trackway(&["stats", &data, "--elf", &module]);
    assert!(output.status.success());
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    for words in ["<__cfi_check+0x74> 1 taken", "<wakeup_user> 1 entries, 11 instructions"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    for missing in
        ["[kernel.kallsyms]_stext", "/vendor/lib/modules/msm_pm.ko", "/vendor/lib/modules/qcom_rpmh.ko"]
    {
        assert!(said.contains(&format!("no code of {missing}, build id ")), "{missing}: {said}");
    }
    let pcs = stdout(&["dump", &data, "--elf", &module, "--source", "cpu6", "--as", "pcs"]);
    assert_eq!(pcs.lines().filter(|line| !line.starts_with('#')).count(), 46);
    // A jump inside the module, and a call out of it.
    let code = stdout(&["dump", &data, "--elf", &module, "--source", "cpu6"]);
    assert!(code.contains("b #0xffffff99f5897140"), "{code}");
    // The first core has no code, but that is not known after a few lines; without any program it is.
    assert!(trackway(&["dump", &data, "--elf", &module, "--limit", "20"]).status.success());
    assert_eq!(trackway(&["dump", &data, "--limit", "20"]).status.code(), Some(3));
}

/// The files of a recording are placed by its records: a target gets their code, not their names.
#[test]
fn a_recording_of_the_kernel_is_converted() {
    let (Some(data), Some(module)) = (corpus("perf_kernel.data"), corpus("rq_stats.ko")) else { return };
    let folder = Folder::new("perf-kernel");
    let out = folder.file("kernel.ete");
    let output = trackway(&["convert", "--source", "cpu6", &data, &out, "--elf", &module]);
    let ledger = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success() && ledger.contains("proved: "), "{ledger}");
    let pcs = |trace: &str, more: &[&str]| {
        let all = stdout(&[&["dump", trace, "--as", "pcs"], more].concat());
        all.lines().filter(|line| !line.starts_with('#')).map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(pcs(&out, &[]), pcs(&data, &["--elf", &module, "--source", "cpu6"]));
    // Without its code there are levels and gaps only, which STF holds in their order.
    trackway(&["convert", &data, &folder.file("kernel.stf")]);
    for source in ["cpu0", "cpu6"] {
        let shape = |trace: &str, more: &[&str]| -> Vec<String> {
            let all = text(&trackway(&[&["dump", trace], more].concat()).stdout);
            let (mut shape, mut level) = (Vec::new(), "");
            for word in all.split_ascii_whitespace() {
                // A level that is repeated is none that changed.
                if word == "gap"
                    || word.starts_with("privilege=") && std::mem::replace(&mut level, word) != word
                {
                    shape.push(word.to_string());
                }
            }
            shape
        };
        let file = folder.file(&format!("kernel.{source}.stf"));
        let wanted = shape(&data, &["--source", source]);
        assert!(wanted.len() > 1000 && wanted == shape(&file, &[]), "{source}");
    }
}

#[test]
fn every_truncation_and_damage_of_a_real_recording_ends_well() {
    let (Some(data), Some(elf)) = (corpus("perf_etm.data"), corpus("etm_test_loop")) else { return };
    let bytes = std::fs::read(&data).unwrap();
    let options = trackway::Options::default().elf(&elf);
    let events = |bytes: &[u8]| {
        let opened = options.open_bytes(bytes.to_vec());
        opened.ok().map(|mut trace| trackway_testkit::lines::filled(&mut *trace.events().unwrap()))
    };
    let whole = events(&bytes).unwrap();
    for cut in (0..bytes.len()).step_by(3) {
        let Some(lines) = events(&bytes[..cut]) else { continue };
        let same = lines.iter().zip(&whole).take_while(|(one, other)| one == other).count();
        assert!(lines.len() - same <= 8, "cut at {cut}: {:?}", &lines[same..]);
    }
    for seed in 0..200 {
        let mut random = trackway_core::SplitMix64(seed);
        let mut damaged = bytes.clone();
        for _ in 0..8 {
            let at = (random.next_u64() % bytes.len() as u64) as usize;
            damaged[at] = random.next_u64() as u8;
        }
        events(&damaged);
    }
}

#[test]
fn the_sample_has_two_threads() {
    let (data, elf) = (repo("testdata/perf/sort.data"), repo("programs/aarch64/sort.elf"));
    let info = stdout(&["info", &data, "--elf", &elf]);
    for words in ["thread 4712 of 4711: worker", "pid 0x1267 tid 0x1268", "cpu1"] {
        assert!(info.contains(words), "{words}: {info}");
    }
    assert!(stdout(&["doctor", &data, "--elf", &elf]).contains("perf.data with CoreSight traces"));
    let refused = trackway(&["info", &data, "--image", &format!("{elf}@0")]);
    assert!(text(&refused.stderr).contains("name them with --elf"), "{}", text(&refused.stderr));
}
