//! `profile`: the formats for compilers and timelines, and names that try to break them.

mod common;

use common::{Folder, HOSTILE, recorded, recorded_as, repo, stdout, text, trackway as run};

fn profile(trace: &str, elf: &str, shape: &str) -> Vec<u8> {
    let output = run(&["profile", trace, "--elf", elf, "--as", shape, "-o", "-", "-q"]);
    assert!(output.status.success(), "{shape}: {}", text(&output.stderr));
    output.stdout
}

/// Inlined functions are nested, and lines count from the first of their function: `mix` begins at line 8 of calls.c.
#[test]
fn llvm_text_has_lines_targets_and_inlined_functions() {
    let folder = Folder::new("profiles-llvm");
    let (trace, elf) = recorded(&folder);
    let llvm = text(&profile(&trace, &elf, "llvm"));
    let hash = "hash_of_the_numbers:67:1\n 2: 1\n 3: 1\n 3.3: 32\n 6: 0\n 4: mix:33\n  2: 1\n  2.3: 32\n";
    assert!(llvm.starts_with("fib:917:232\n 1: 232\n 2: 232\n 4: 221 fib:221\n 5: 232\n"), "{llvm}");
    assert!(llvm.contains(" 4.3: 32 even:10 fib:11 odd:11\n"), "{llvm}");
    assert!(llvm.ends_with(hash), "{llvm}");
}

#[test]
fn calls_show_inlined_functions() {
    let folder = Folder::new("profiles-inlined");
    let (trace, elf) = recorded(&folder);
    let args = ["calls", &trace, "--elf", &elf, "--least", "0", "--inlined"];
    let calls = stdout(&args);
    let line = calls.lines().find(|line| line.ends_with("mix [inlined]")).expect("it is inlined");
    assert_eq!(line.split_whitespace().take(3).collect::<Vec<_>>(), ["165", "165", "0"], "{calls}");
    let around = calls.lines().find(|line| line.ends_with(" hash_of_the_numbers")).unwrap();
    assert_eq!(around.split_whitespace().take(3).collect::<Vec<_>>(), ["233", "68", "1"], "{calls}");
    assert!(!stdout(&args[..6]).contains("[inlined]"));
}

/// A reader of LLVM's raw binary form.
struct Raw<'a>(&'a [u8]);

impl Raw<'_> {
    fn number(&mut self) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (first, rest) = self.0.split_first().unwrap();
            self.0 = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }

    fn function(&mut self, names: &[String], level: usize, out: &mut String) -> (usize, u64) {
        let (name, total) = (self.number() as usize, self.number());
        for _ in 0..self.number() {
            let place = [self.number(), self.number()];
            *out += &format!("{:level$}{}.{}: {}", "", place[0], place[1], self.number());
            for _ in 0..self.number() {
                *out += &format!(" {}:{}", names[self.number() as usize], self.number());
            }
            *out += "\n";
        }
        for _ in 0..self.number() {
            let place = [self.number(), self.number()];
            let mut inner = String::new();
            let (name, total) = self.function(names, level + 1, &mut inner);
            *out += &format!("{:level$}{}.{}: {}:{total}\n{inner}", "", place[0], place[1], names[name]);
        }
        (name, total)
    }
}

#[test]
fn llvm_binary_says_the_same_as_the_text() {
    let folder = Folder::new("profiles-llvm-binary");
    let (trace, elf) = recorded(&folder);
    let bytes = profile(&trace, &elf, "llvm-binary");
    let mut raw = Raw(&bytes);
    assert_eq!((raw.number(), raw.number()), (0x5350_524f_4634_32ff, 103));
    let summary: Vec<u64> = (0..5).map(|_| raw.number()).collect();
    assert_eq!(summary, [1326, 232, 232, 28, 5]);
    (0..3 * raw.number()).for_each(|_| assert!(raw.number() <= 1_000_000));
    let names: Vec<String> = (0..raw.number())
        .map(|_| {
            let end = raw.0.iter().position(|byte| *byte == 0).unwrap();
            let name = text(&raw.0[..end]);
            raw.0 = &raw.0[end + 1..];
            name
        })
        .collect();
    let mut read = String::new();
    while !raw.0.is_empty() {
        let (head, mut inner) = (raw.number(), String::new());
        let (name, total) = raw.function(&names, 1, &mut inner);
        read += &format!("{}:{total}:{head}\n{inner}", names[name]);
    }
    // The text leaves out a discriminator of 0 and has targets by name.
    let sorted = |line: &str| {
        let mut words: Vec<&str> = line.split(' ').collect();
        words.sort_unstable();
        words.join(" ")
    };
    let lines = |text: &str| text.replace(".0:", ":").lines().map(sorted).collect::<Vec<_>>();
    assert_eq!(lines(&read), lines(&text(&profile(&trace, &elf, "llvm"))));
}

#[test]
fn autofdo_counts_from_the_first_segment() {
    let folder = Folder::new("profiles-autofdo");
    let (trace, elf) = recorded(&folder);
    let autofdo = text(&profile(&trace, &elf, "autofdo"));
    let lines: Vec<&str> = autofdo.lines().collect();
    // `_start` is at the first address of the program, 0x80000000; `fib` is entered by calls and by falling into it.
    assert_eq!(lines[..3], ["24", "0-8:1", "c-1c:232"]);
    let ranges: usize = lines[0].parse().unwrap();
    assert_eq!(lines[ranges + 1], "0");
    assert_eq!(lines.len(), ranges + 3 + lines[ranges + 2].parse::<usize>().unwrap());
    // Another program at another place: nothing of the trace is inside.
    let other = repo("programs/riscv/sort.elf");
    let output = run(&[
        "profile",
        &trace,
        "--elf",
        &format!("{other}@0x100000"),
        "--elf",
        &elf,
        "--as",
        "autofdo",
        "-o",
        "-",
    ]);
    assert_eq!(text(&output.stdout), "0\n0\n0\n");
    assert!(text(&output.stderr).contains("6457 instructions outside the program are left out"));
}

#[test]
fn gcov_has_two_versions() {
    let folder = Folder::new("profiles-gcov");
    let (trace, elf) = recorded(&folder);
    let words = profile(&trace, &elf, "gcov");
    let args = ["profile", &trace, "--elf", &elf, "-o", "-", "-q", "--gcov-version", "2", "--as"];
    let bytes = run(&[&args[..], &["gcov"]].concat()).stdout;
    assert_eq!(words[..12], *b"adcg\x01\0\0\0\0\0\0\0");
    assert_eq!(bytes[..12], *b"adcg\x02\0\0\0\0\0\0\0");
    // Names are counted in words before, in bytes now.
    let name = |file: &[u8], start: &[u8]| file.windows(start.len()).any(|window| window == start);
    assert!(name(&words, b"\x02\0\0\0even\0\0\0\0") && name(&bytes, b"\x05\0\0\0even\0"));
    let refused = run(&[&args[..], &["llvm"]].concat());
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}

/// A program without debug information has no lines to count at.
#[test]
fn profiles_for_compilers_need_lines() {
    let folder = Folder::new("profiles-lines");
    let (trace, elf) = (folder.file("plain.stf"), repo("programs/riscv/elf/rv64-mix.elf"));
    stdout(&["record", &elf, "-o", &trace, "-q"]);
    for shape in ["llvm", "llvm-binary", "gcov"] {
        let output = run(&["profile", &trace, "--elf", &elf, "--as", shape, "-o", "-"]);
        assert_eq!(output.status.code(), Some(2), "{shape}");
        assert!(text(&output.stderr).contains("debug information"), "{}", text(&output.stderr));
    }
}

/// A field of a protocol buffer: its number, and a number or bytes.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn fields(bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut raw = Raw(bytes);
    let mut list = Vec::new();
    while !raw.0.is_empty() {
        let tag = raw.number();
        let field = match tag & 7 {
            0 => Field::Number(raw.number()),
            2 => {
                let length = raw.number() as usize;
                let (field, rest) = raw.0.split_at(length);
                raw.0 = rest;
                Field::Bytes(field)
            }
            other => panic!("wire type {other}"),
        };
        list.push((tag >> 3, field));
    }
    list
}

fn number(list: &[(u64, Field<'_>)], field: u64) -> Option<u64> {
    list.iter().find_map(|(n, value)| match value {
        Field::Number(value) if *n == field => Some(*value),
        _ => None,
    })
}

fn bytes<'a>(list: &[(u64, Field<'a>)], field: u64) -> Option<&'a [u8]> {
    list.iter().find_map(|(n, value)| match value {
        Field::Bytes(value) if *n == field => Some(*value),
        _ => None,
    })
}

/// Slices of a Perfetto trace as lines `BEGIN-END DEPTH NAME`; packets must be in order and slices nest.
fn slices(trace: &[u8]) -> Vec<(u64, u64, usize, String)> {
    let mut names = std::collections::BTreeMap::new();
    let mut open: std::collections::BTreeMap<u64, Vec<(u64, String)>> = Default::default();
    let (mut now, mut done) = (0, Vec::new());
    for (field, packet) in fields(trace) {
        let Field::Bytes(packet) = packet else { panic!("a packet is a message") };
        assert_eq!(field, 1);
        let packet = fields(packet);
        let Some(event) = bytes(&packet, 11).map(fields) else { continue };
        let time = number(&packet, 8).unwrap();
        assert!(time >= now);
        now = time;
        if let Some(interned) = bytes(&packet, 12).map(fields) {
            let name = fields(bytes(&interned, 2).unwrap());
            names.insert(number(&name, 1).unwrap(), text(bytes(&name, 2).unwrap()));
        }
        let stack = open.entry(number(&event, 11).unwrap()).or_default();
        match number(&event, 9).unwrap() {
            1 => stack.push((now, names[&number(&event, 10).unwrap()].clone())),
            2 => {
                let (begin, name) = stack.pop().expect("it was opened");
                done.push((begin, now, stack.len(), name));
            }
            3 => {}
            other => panic!("event of type {other}"),
        }
    }
    assert!(open.values().all(Vec::is_empty));
    done
}

#[test]
fn perfetto_slices_nest() {
    let folder = Folder::new("profiles-perfetto");
    let (trace, elf) = recorded(&folder);
    let slices = slices(&profile(&trace, &elf, "perfetto"));
    let of = |name: &str| slices.iter().filter(|slice| slice.3 == name).collect::<Vec<_>>();
    // As often as it was called.
    assert_eq!((of("fib").len(), of("hash_of_the_numbers").len()), (232, 1));
    // Length and depth are those of the call tree.
    let (begin, end, depth, _) = of("hash_of_the_numbers")[0];
    assert_eq!((end - begin, *depth), (233, 2));
    let outermost = of("_start")[0];
    assert_eq!((outermost.0, outermost.1, outermost.2), (0, 6457, 0));
    // Too much is refused, and nothing is left.
    let out = folder.file("out");
    let output = run(&["profile", &trace, "--elf", &elf, "--as", "perfetto", "-o", &out, "--max-size", "0"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(std::fs::read_dir(folder.file(".")).unwrap().count() == 1, "{}", text(&output.stderr));
}

/// Every column has the length of its table, every number is inside the table that it is for.
fn check_firefox(profile: &serde_json::Value) -> u64 {
    let list = |json: &serde_json::Value, name: &str| json[name].as_array().expect(name).clone();
    let columns = |table: &serde_json::Value| {
        let length = table["length"].as_u64().unwrap() as usize;
        for (name, column) in table.as_object().unwrap() {
            assert!(column.as_array().is_none_or(|column| column.len() == length), "{name}");
        }
        length
    };
    let inside = |column: &[serde_json::Value], length: usize| {
        assert!(
            column
                .iter()
                .all(|n| n.is_null() || n.as_i64() == Some(-1) || n.as_u64().unwrap() < length as u64)
        );
    };
    assert_eq!(profile["meta"]["preprocessedProfileVersion"], 58);
    assert_eq!(profile["meta"]["categories"][0]["color"], "grey");
    let strings = list(&profile["shared"], "stringArray").len();
    let sources = columns(&profile["shared"]["sources"]);
    inside(&list(&profile["shared"]["sources"], "filename"), strings);
    let mut total = 0;
    for thread in list(profile, "threads") {
        for table in ["resourceTable", "nativeSymbols", "markers"] {
            assert_eq!(columns(&thread[table]), 0);
        }
        let (stacks, frames) = (columns(&thread["stackTable"]), columns(&thread["frameTable"]));
        let functions = columns(&thread["funcTable"]);
        columns(&thread["samples"]);
        inside(&list(&thread["samples"], "stack"), stacks);
        inside(&list(&thread["stackTable"], "frame"), frames);
        inside(&list(&thread["frameTable"], "func"), functions);
        inside(&list(&thread["funcTable"], "name"), strings);
        inside(&list(&thread["funcTable"], "source"), sources);
        // A stack comes after the one it is on.
        for (n, prefix) in list(&thread["stackTable"], "prefix").iter().enumerate() {
            assert!(prefix.is_null() || prefix.as_u64().unwrap() < n as u64);
        }
        let times: Vec<f64> = list(&thread["samples"], "time").iter().map(|t| t.as_f64().unwrap()).collect();
        assert!(times.is_sorted());
        total += list(&thread["samples"], "weight").iter().map(|w| w.as_u64().unwrap()).sum::<u64>();
        assert!(thread["pid"].is_string() && thread["isMainThread"].is_boolean());
        assert_eq!(thread["samples"]["weightType"], "samples");
    }
    total
}

/// No reader of the Firefox profiler can be had offline: its documented fields are checked one by one.
#[test]
fn firefox_tables_fit_each_other() {
    let folder = Folder::new("profiles-firefox");
    let (trace, elf) = recorded(&folder);
    let json = serde_json::from_slice(&profile(&trace, &elf, "firefox")).unwrap();
    assert_eq!(check_firefox(&json), 6457);
    assert_eq!(json["threads"][0]["unregisterTime"], 0.006457);
    assert_eq!(json["shared"]["stringArray"][0], "_start");
}

/// Symbols are data: none can end a line, a field or a string of any format.
#[test]
fn hostile_names_stay_names() {
    let lines = |bytes: &[u8]| text(bytes).lines().map(String::from).collect::<Vec<_>>();
    let folder = Folder::new("profiles-names");
    let (trace, elf) = recorded(&folder);
    let written = |shape: &str| profile(&trace, &elf, shape);
    let plain: Vec<Vec<u8>> = ["folded", "callgrind", "autofdo", "llvm", "bolt"].map(written).to_vec();
    for name in HOSTILE {
        let folder = Folder::new("profiles-hostile");
        let (trace, elf) = recorded_as(&folder, name);
        let written = |shape: &str| profile(&trace, &elf, shape);
        // Line by line as many as with a plain name, each with as many words.
        for (shape, before) in ["folded", "callgrind", "autofdo", "llvm", "bolt"].iter().zip(&plain) {
            let after = lines(&written(shape));
            assert_eq!(after.len(), lines(before).len(), "{shape}: {after:#?}");
        }
        let llvm = text(&written("llvm"));
        assert!(llvm.lines().all(is_llvm), "{llvm}");
        let callgrind = text(&written("callgrind"));
        assert!(!callgrind.contains("=("), "{callgrind}");
        assert!(lines(&written("bolt")).iter().all(|line| fields_of_bolt(line) == 8));
        for shape in ["speedscope", "firefox"] {
            let json: serde_json::Value = serde_json::from_slice(&written(shape)).unwrap();
            assert!(json.is_object());
        }
        check_firefox(&serde_json::from_slice(&written("firefox")).unwrap());
        assert_eq!(slices(&written("perfetto")).iter().filter(|slice| slice.3 == "fib").count(), 232);
        fields(&written("pprof"));
        assert!(written("llvm-binary").len() > 100 && written("gcov").starts_with(b"adcg"));
    }
}

/// A line of a sample profile: `name:total:head`, `place: count target:calls …` or `place: name:total`.
fn is_llvm(line: &str) -> bool {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_counted =
        |word: &str| word.rsplit_once(':').is_some_and(|(name, n)| !name.contains(':') && is_number(n));
    if !line.starts_with(' ') {
        return line.rsplit_once(':').is_some_and(|(name, n)| is_counted(name) && is_number(n));
    }
    let Some((place, rest)) = line.trim_start().split_once(": ") else { return false };
    let mut words = rest.split(' ');
    let first = words.next().unwrap();
    place.split('.').all(is_number)
        && (is_number(first) && words.clone().all(is_counted) || is_counted(first))
}

/// Words of a line of fdata; a space after a backslash is one of a name.
fn fields_of_bolt(line: &str) -> usize {
    line.replace("\\\\", "").replace("\\ ", "").split(' ').count()
}

/// A handler that no call enters has its cost under the function that trapped, which `calls=0` would add to that function's own.
#[test]
fn every_cost_of_a_call_has_a_call() {
    let (trace, elf) = (repo("testdata/astf/levels.astf"), repo("programs/aarch64/levels.elf"));
    let written = stdout(&["profile", &trace, "--elf", &elf, "--as", "callgrind", "-o", "-"]);
    assert!(written.contains("calls=") && !written.contains("calls=0 "), "{written}");
}
