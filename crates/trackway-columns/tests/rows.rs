//! Rows are the same for any number of parts, and those of a window are those of the whole.

use std::path::PathBuf;

use trackway::Trace;
use trackway_columns::{Chunk, Csv, Part, Selection, Sink, Table, plan, read, read_part, rows_of};

fn repo(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Traces of every kind of format, each with its program where it needs one.
fn traces() -> Vec<(PathBuf, Option<PathBuf>)> {
    let of = |path: &str, elf: Option<&str>| (repo(path), elf.map(repo));
    vec![
        of("testdata/stf/sort/trace.stf", Some("programs/riscv/sort.elf")),
        of("testdata/stf/everything/trace.stf", None),
        of("testdata/astf/sort.astf", None),
        of("testdata/astf/example/example.astf", None),
        of("testdata/ete/count", None),
        of("testdata/tarmac/two-cores/trace.tarmac", None),
        of("testdata/perf/sort.data", None),
        of("testdata/spike/mix.spike", None),
        of("testdata/rvfi-dii/mix.rvfi", None),
    ]
}

fn open((path, elf): &(PathBuf, Option<PathBuf>)) -> Option<Trace> {
    let options = Trace::options();
    let options = match elf {
        Some(elf) => options.elf(elf.display().to_string()),
        None => options,
    };
    options.open(path).ok()
}

/// Rows of each table as CSV, without headings.
#[derive(Default)]
struct Text(std::collections::BTreeMap<&'static str, Vec<u8>>);

impl Sink for Text {
    fn put(&mut self, chunk: Chunk) -> std::io::Result<()> {
        let mut text = Vec::new();
        let name = chunk.table.name;
        Csv::new(&mut text).put(chunk)?;
        let rows = text.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.0.entry(name).or_default().extend_from_slice(&text[rows..]);
        Ok(())
    }

    fn finish(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn whole(trace: &mut Trace, selection: &Selection, from: Option<&str>, to: Option<&str>) -> Text {
    let (mut rows, mut source) = rows_of(trace, selection, from, to).expect("rows");
    let mut text = Text::default();
    let (_, ended) = read(&mut *source, false, &mut rows, &mut text, |_, _| {});
    assert!(ended.is_ok(), "{ended:?}");
    text
}

#[test]
fn parts_are_the_whole() {
    let all = Selection::new(&[], &[]).unwrap();
    let mut cut = 0;
    for case in traces() {
        let Some(mut trace) = open(&case) else { panic!("{case:?} cannot be opened") };
        let expected = whole(&mut trace, &all, None, None);
        for count in [2, 7] {
            let (parts, _) = plan(&trace, count).expect("a plan");
            cut += parts.len() - 1;
            let mut text = Text::default();
            for part in &parts {
                // As on another machine.
                let part: Part = serde_json::from_str(&serde_json::to_string(part).unwrap()).unwrap();
                let mut trace = open(&case).unwrap();
                read_part(&mut trace, &part, &all, &mut text).expect("a part");
            }
            for (table, rows) in &expected.0 {
                let found = text.0.get(table).cloned().unwrap_or_default();
                let (found, rows) = (String::from_utf8_lossy(&found), String::from_utf8_lossy(rows));
                for (n, (one, other)) in found.lines().zip(rows.lines()).enumerate() {
                    assert_eq!(one, other, "{case:?}, {table}, row {n}, {count} parts");
                }
                assert_eq!(found.len(), rows.len(), "{case:?}, {table}");
            }
        }
    }
    assert!(cut > 0, "no trace was cut");
}

#[test]
fn a_window_has_the_rows_of_the_whole() {
    let case = &traces()[0];
    for columns in [vec![], vec!["number".to_string(), "pc".into(), "mnemonic".into()]] {
        let selection = Selection::new(&["instructions".into()], &columns).unwrap();
        let all = whole(&mut open(case).unwrap(), &selection, None, None);
        let part = whole(&mut open(case).unwrap(), &selection, Some("100"), Some("120"));
        let all = String::from_utf8(all.0["instructions"].clone()).unwrap();
        let part = String::from_utf8(part.0["instructions"].clone()).unwrap();
        let expected: Vec<&str> = all.lines().skip(100).take(20).collect();
        // The last row of a window does not know where it went; no branch is there.
        assert_eq!(part.lines().collect::<Vec<_>>(), expected);
    }
}

/// `docs/data.md` has the tables as the code declares them; `TRACKWAY_BLESS=1` writes them.
#[test]
fn the_page_has_the_schema() {
    let (path, marks) = (repo("docs/data.md"), ["<!-- schema -->\n", "<!-- end of schema -->\n"]);
    let page = std::fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once(marks[0]).expect("the begin of the schema");
    let (_, after) = rest.split_once(marks[1]).expect("the end of the schema");
    let expected = format!("{before}{}\n{}\n{}{after}", marks[0], trackway_columns::schema_page(), marks[1]);
    if std::env::var_os("TRACKWAY_BLESS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    } else {
        assert_eq!(page, expected, "run with TRACKWAY_BLESS=1");
    }
}

#[test]
fn unknown_tables_and_columns_are_refused_with_those_there_are() {
    let refused = |tables: &[&str], columns: &[&str]| {
        let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        Selection::new(&owned(tables), &owned(columns)).unwrap_err().to_string()
    };
    assert!(refused(&["instruction"], &[]).contains("tables are instructions, memory, registers"));
    assert!(refused(&["gaps"], &["pc"]).contains("not a column of gaps: source, number, reason"));
    assert!(refused(&["gaps", "memory"], &["address"]).contains("no column of gaps is asked for"));
    assert!(Table::ALL.iter().all(|table| table.columns.iter().all(|column| !column.about.is_empty())));
}
