//! The server as its page sees it.

mod visit;

use serde_json::Value as Json;
use trackway_view::{File, Site};
use visit::{Folder, Visit, options, repo, sorted};

#[test]
fn the_page_asks_and_is_answered() {
    let visit = Visit::to(&[sorted()]);
    let lane = &visit.ask("traces")["lanes"][0];
    assert_eq!(
        (&lane["file"], &lane["isa"], &lane["program"]),
        (&"trace.stf".into(), &"rv64".into(), &true.into())
    );
    assert_eq!(visit.ready(0)["instructions"], 297);

    // The list: the same instructions as the library's own walk.
    let rows = visit.ask("rows?l=0&from=100&count=50");
    let rows = rows["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 50);
    let mut trace = trackway::Trace::open(repo("testdata/stf/sort/trace.stf")).unwrap();
    let mut steps = trace.steps().unwrap();
    while let Some(step) = steps.next().unwrap() {
        let Some(row) = step.number.checked_sub(100).and_then(|n| rows.get(n as usize)) else { continue };
        assert_eq!(row["n"], step.number);
        assert_eq!(row["pc"], format!("{:#x}", step.pc.unwrap()));
        assert_eq!(row["text"], step.text());
        assert_eq!(row["mem"].as_array().map_or(0, Vec::len), step.memory().len(), "{row}");
    }
    // The end of the trace is the end of the list.
    assert_eq!(visit.ask("rows?l=0&from=290&count=50")["rows"].as_array().unwrap().len(), 7);
    assert_eq!(visit.ask("rows?l=0&from=1000&count=50")["rows"].as_array().unwrap().len(), 0);

    let timeline = visit.ask("timeline?l=0&from=0&to=297");
    assert_eq!(timeline["exact"], 1);
    // Kept, and the same again.
    assert_eq!(visit.ask("timeline?l=0&from=0&to=297"), timeline);
    assert_eq!(visit.ask("timeline?l=0&from=0&to=297"), timeline);
    let slices = timeline["slices"].as_array().unwrap();
    assert!(!slices.is_empty());
    for slice in slices {
        let (start, end) = (slice["start"].as_u64().unwrap(), slice["end"].as_u64().unwrap());
        assert!(start < end && end <= 297, "{slice}");
    }
    assert_eq!(visit.ask("goto?l=0&to=end-7")["n"], 290);
    assert!(visit.refused("goto?l=0&to=sym:nothing").contains("unknown symbol"));
}

#[test]
fn counts_of_a_range_add_up() {
    let visit = Visit::to(&[sorted()]);
    visit.ready(0);
    let tree = visit.ask("tree?l=0");
    assert_eq!(tree["total"], 297);
    let own: u64 = tree["nodes"].as_array().unwrap().iter().map(|node| node["own"].as_u64().unwrap()).sum();
    assert_eq!(own, 297, "{tree}");
    assert_eq!(visit.ask("tree?l=0&from=10&to=110")["total"], 100);
    assert!(visit.refused("tree?l=0&from=10&to=10").contains("empty"));

    let function = tree["functions"][0]["address"].as_str().unwrap();
    let code = visit.ask(&format!("code?l=0&at={function}"));
    let counted: u64 =
        code["lines"].as_array().unwrap().iter().map(|line| line["count"].as_u64().unwrap()).sum();
    assert_eq!(counted, tree["functions"][0]["own"].as_u64().unwrap(), "{code}");

    let branches = visit.ask("branches?l=0");
    assert!(branches["all"].as_u64().unwrap() > 0, "{branches}");
    let memory = visit.ask("memory?l=0");
    let of = |row: &Json| row["r"].as_u64().unwrap() + row["w"].as_u64().unwrap();
    let touched: u64 = memory["rows"].as_array().unwrap().iter().map(of).sum();
    assert_eq!(touched, memory["accesses"].as_u64().unwrap(), "{memory}");
    assert!(touched > 0);
}

#[test]
fn questions_about_values_are_answered() {
    let visit = Visit::to(&[sorted()]);
    visit.ready(0);
    let rows = visit.ask("rows?l=0&from=0&count=297");
    let rows = rows["rows"].as_array().unwrap();
    // A register that an instruction writes was written by that instruction, for the one after it.
    let (n, register) = rows
        .iter()
        .find_map(|row| {
            let written = row["regs"].as_array()?.iter().find(|reg| reg["w"] == 1)?;
            Some((row["n"].as_u64().unwrap(), written["id"].as_str().unwrap()))
        })
        .expect("a write");
    let why = visit.ask(&format!("why?l=0&at={}&what={register}", n + 1));
    assert_eq!(why["nodes"][why["causes"][0]["node"].as_u64().unwrap() as usize]["n"], n, "{why}");
    let state = visit.ask(&format!("state?l=0&at={}", n + 1));
    let known =
        state["registers"].as_array().unwrap().iter().find(|one| one["id"] == register).expect("known");
    assert_eq!((&known["how"], known["by"].as_u64()), (&"written".into(), Some(n)), "{state}");

    let load = rows.iter().find(|row| row["mem"][0]["k"] == "r").expect("a load");
    let address = load["mem"][0]["a"].as_str().unwrap();
    let found = visit.ask(&format!("find?l=0&q=mem:{address}&from=0"));
    assert!(found["matches"].as_array().unwrap().iter().any(|one| one["n"] == load["n"]), "{found}");
    // The same matches, in however many answers.
    let all = visit.ask("find?l=0&q=class:branch&from=0&limit=1000")["matches"].as_array().unwrap().len();
    let (mut from, mut counted) = (0, 0);
    loop {
        let piece = visit.ask(&format!("find?l=0&q=class:branch&from={from}&limit=3"));
        counted += piece["matches"].as_array().unwrap().len();
        match piece["next"].as_u64() {
            Some(next) => from = next,
            None => break,
        }
    }
    assert_eq!(counted, all);
    assert!(all > 3);
    assert!(visit.refused("find?l=0&q=class:nonsense&from=0").contains("classes are"));
}

#[test]
fn two_traces_are_compared() {
    let other = File { path: repo("testdata/stf/sort/trace.stf"), options: options() };
    let visit = Visit::to(&[sorted(), other]);
    let diff = loop {
        let diff = visit.ask("diff?a=0&b=1");
        if diff["busy"] != true {
            break diff;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    assert_eq!((&diff["equal"], diff["differences"].as_array().unwrap().len()), (&true.into(), 0), "{diff}");
    assert_eq!(visit.ready(1)["instructions"], 297);
}

#[test]
fn a_flow_trace_is_expanded_by_its_program() {
    let visit = Visit::to(&[File { path: repo("testdata/ete/count"), options: options() }]);
    let count = visit.ready(0)["instructions"].as_u64().unwrap();
    assert!(count > 0);
    let rows = visit.ask("rows?l=0&from=0&count=100");
    let rows = rows["rows"].as_array().unwrap();
    assert_eq!(rows.len() as u64, count.min(100));
    assert!(rows.iter().all(|row| row["text"].is_string()), "{rows:?}");
    // The trace has no values: none are invented.
    assert!(
        rows.iter().all(|row| row["regs"] == Json::Array(vec![]) && row["mem"] == row["regs"]),
        "{rows:?}"
    );
    assert_eq!(visit.ask("tree?l=0")["total"].as_u64(), Some(count));
}

#[test]
fn a_damaged_trace_is_shown_as_far_as_it_goes() {
    let folder = Folder::new("damaged");
    let mut bytes = std::fs::read(repo("testdata/stf/sort/trace.stf")).unwrap();
    bytes.truncate(bytes.len() / 2);
    let path = folder.0.join("half.stf");
    std::fs::write(&path, bytes).unwrap();
    let visit = Visit::to(&[File { path, options: options() }]);
    let status = visit.ready(0);
    let count = status["instructions"].as_u64().unwrap();
    assert!(count > 50 && count < 297, "{status}");
    assert_eq!(status["errors"].as_array().unwrap().len(), 1, "{status}");
    let rows = visit.ask(&format!("rows?l=0&from={}&count=20", count - 5));
    assert_eq!(rows["rows"].as_array().unwrap().len(), 5, "{rows}");
    assert_eq!(rows["errors"].as_array().unwrap().len(), 1, "{rows}");
}

#[test]
fn an_exported_page_embeds_its_window_and_hostile_names_stay_text() {
    let folder = Folder::new("export");
    let path = folder.0.join("<img src=x onerror=alert(1)>.stf");
    std::fs::copy(repo("testdata/stf/sort/trace.stf"), &path).unwrap();
    let site = Site::open(&[File { path: path.clone(), ..sorted() }], &[]).unwrap();
    let page = site.export(10, 60).unwrap();
    assert_eq!((page.range.clone(), page.files.len()), (10..60, 1), "{:?}", page.files);
    assert!(!page.html.contains("<img"), "a name became markup");
    let start = page.html.find("id=\"trackway-data\">").unwrap() + "id=\"trackway-data\">".len();
    let end = start + page.html[start..].find("</script>").unwrap();
    let data: Json = serde_json::from_str(&page.html[start..end]).expect("JSON");
    assert_eq!(data["traces"]["lanes"][0]["file"], "<img src=x onerror=alert(1)>.stf");
    let packed = data["rows"].as_str().unwrap();
    let rows = visit::tables::decode("rows", &visit::tables::unpacked(packed));
    assert_eq!((rows["rows"].as_array().unwrap().len(), &rows["rows"][0]["n"]), (50, &10.into()));
    assert!(!page.html[start..end].contains(folder.0.to_str().unwrap()), "a folder of this machine");
    // Scripts run by a random number.
    assert!(page.html.contains("script-src 'nonce-") && !page.html.contains("unsafe-inline"));
    assert_eq!(page.html.matches("</script>").count(), 2);
    assert!(site.export(0, 0).is_err());
    assert!(site.export(0, u64::MAX).is_err());
    assert!(site.export(1000, 1010).is_err());
}

#[test]
fn the_page_has_the_same_list_of_tables() {
    let file = repo("crates/trackway-view/page/src/tables.ts");
    if std::env::var_os("TRACKWAY_BLESS").is_some() {
        std::fs::write(&file, trackway_view::tables()).unwrap();
    }
    let known = std::fs::read_to_string(&file).unwrap();
    assert!(known == trackway_view::tables(), "TRACKWAY_BLESS=1 cargo test, then npm run build in page/");
}
