//! Pictures and pages in a real browser: they are drawn, they can be used, and no name from a program or a path runs.
//! `cargo xtask test --peers` installs Chromium and runs these tests; `TRACKWAY_SCREENSHOTS` names a folder for pictures.

mod common;

use std::process::Command;

use common::{Folder, recorded, replace_text, stdout, text};
use serde_json::Value as Json;
use trackway_testkit::skipped;

/// Arguments of every start; `folder` has the profile of the browser.
fn chromium(folder: &Folder) -> Option<Command> {
    let is_there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let Some(name) = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(is_there) else {
        skipped("chromium is not installed");
        return None;
    };
    let mut command = Command::new(name);
    command
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
        .arg("--virtual-time-budget=3000")
        .arg(format!("--user-data-dir={}", folder.file("profile")));
    Some(command)
}

/// Opens a copy of a file with a script at its end, and returns the object that the script leaves.
fn ask(folder: &Folder, name: &str, contents: &str, script: &str) -> Option<Json> {
    let end = if name.ends_with(".svg") { "</svg>" } else { "</body>" };
    let at = contents.rfind(end).expect("the end");
    let script = format!(
        "<script><![CDATA[\n/*]]>*/\nwindow.addEventListener('load', () => {{
            let answer;
            try {{ answer = (() => {{ {script} }})(); }} catch (error) {{ answer = {{ error: String(error) }}; }}
            document.documentElement.setAttribute('data-answer', encodeURIComponent(JSON.stringify(answer)));
        }});\n</script>"
    );
    // A page has no CDATA, a picture needs it.
    let script = match end {
        "</svg>" => script.replace("/*]]>*/\n", "").replace("\n</script>", "\n]]></script>"),
        _ => script.replace("<![CDATA[\n/*]]>*/\n", ""),
    };
    let file = folder.file(name);
    std::fs::write(&file, format!("{}{script}{}", &contents[..at], &contents[at..])).expect("a file");
    let output = chromium(folder)?.arg("--dump-dom").arg(format!("file://{file}")).output().expect("it runs");
    let dom = text(&output.stdout);
    let answer = dom.split("data-answer=\"").nth(1).and_then(|rest| rest.split('"').next());
    let answer = answer.unwrap_or_else(|| panic!("{name}: no answer: {dom}\n{}", text(&output.stderr)));
    Some(serde_json::from_str(&decoded(answer)).expect("an answer"))
}

/// Text without `%xx`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digits: Vec<u8> = if byte == b'%' { rest.by_ref().take(2).collect() } else { Vec::new() };
        let escaped =
            std::str::from_utf8(&digits).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(byte));
    }
    String::from_utf8(bytes).expect("text")
}

/// Takes a picture where a folder for them is named.
fn shoot(folder: &Folder, name: &str, contents: &str, (wide, high): (u32, u32), is_dark: bool) {
    let Some(out) = std::env::var_os("TRACKWAY_SCREENSHOTS") else { return };
    let file = folder.file(name);
    std::fs::write(&file, contents).expect("a file");
    let stem = name.split('.').next().unwrap_or(name);
    let png = std::path::Path::new(&out).join(format!("{stem}{}.png", if is_dark { "-dark" } else { "" }));
    let Some(mut command) = chromium(folder) else { return };
    command.arg(format!("--window-size={wide},{high}")).arg(format!("--screenshot={}", png.display()));
    // 0 is dark, 1 is light.
    command.arg(format!("--blink-settings=preferredColorScheme={}", u8::from(!is_dark)));
    let output = command.arg(format!("file://{file}")).output().expect("it runs");
    assert!(png.exists(), "{}", text(&output.stderr));
}

#[test]
#[ignore = "needs chromium"]
fn the_flame_graph_zooms_and_searches() {
    let folder = Folder::new("browser-flame");
    let (trace, elf) = recorded(&folder);
    let svg = stdout(&["flame", &trace, "--elf", &elf, "-o", "-"]).replace(&folder.file(""), "");
    shoot(&folder, "flame.svg", &svg, (1220, 290), false);
    let script = "
        const frames = [...document.querySelectorAll('.f')];
        const seen = () => frames.filter(f => !f.classList.contains('gone')).length;
        const find = name => frames.find(f => f.querySelector('title').textContent.startsWith(name + ': '));
        const wide = f => Number(f.querySelector('rect').getAttribute('width'));
        const before = [seen(), wide(find('odd'))];
        find('odd').dispatchEvent(new MouseEvent('click', { bubbles: true }));
        const zoomed = [seen(), wide(find('odd'))];
        document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }));
        const reset = [seen(), wide(find('odd'))];
        window.prompt = () => 'fib';
        document.dispatchEvent(new KeyboardEvent('keydown', { key: '/' }));
        const hits = document.querySelectorAll('.hit').length;
        const found = document.querySelector('#flame-found').textContent;
        document.activeElement.blur();
        document.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowUp' }));
        document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowUp', bubbles: true }));
        const at = document.querySelector('#flame-details').textContent;
        return { title: document.querySelector('title').textContent, frames: frames.length, before, zoomed, reset,
                 hits, found, at };";
    let Some(answer) = ask(&folder, "flame.svg", &svg, script) else { return };
    assert_eq!(answer["title"], "calls.stf");
    assert_eq!((&answer["frames"], &answer["before"][0]), (&16.into(), &16.into()), "{answer}");
    assert_eq!(answer["zoomed"][0], 4, "all, _start, program, odd: {answer}");
    assert_eq!(answer["zoomed"][1], 1200, "{answer}");
    assert_eq!(
        (&answer["reset"][0], answer["before"][1].as_f64().map(f64::round)),
        (&16.into(), answer["reset"][1].as_f64().map(f64::round))
    );
    assert_eq!(answer["hits"], 10, "{answer}");
    assert!(answer["found"].as_str().unwrap().starts_with("10 frames, 85."), "{answer}");
    assert!(answer["at"].as_str().unwrap().starts_with("_start: 6457 instructions"), "{answer}");
}

#[test]
#[ignore = "needs chromium"]
fn plots_are_drawn() {
    let folder = Folder::new("browser-plots");
    let (trace, elf) = recorded(&folder);
    for (what, heading, high) in [
        ("mix", "Instruction mix", 436),
        ("working-set", "Working set", 544),
        ("pc", "Code over time", 344),
        ("data", "Data over time", 358),
        ("branches", "Branches", 540),
    ] {
        let svg =
            stdout(&["plot", &trace, "--elf", &elf, "--what", what, "-o", "-"]).replace(&folder.file(""), "");
        let name = format!("{what}.svg");
        shoot(&folder, &name, &svg, (1004, high), false);
        // Every text is inside of the picture, and none lies on another.
        let script = "
            const box = e => e.getBoundingClientRect();
            const root = box(document.documentElement);
            const texts = [...document.querySelectorAll('text')].filter(e => e.textContent !== '');
            const outside = texts.filter(e => box(e).left < root.left - 1 || box(e).right > root.right + 1 ||
                                              box(e).top < root.top - 1 || box(e).bottom > root.bottom + 1);
            const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
            const over = texts.flatMap((a, n) => texts.slice(n + 1).filter(b => meet(box(a), box(b)))
                                                      .map(b => a.textContent + ' / ' + b.textContent));
            const drawn = [...document.querySelectorAll('.curve, .area, .cells path')].filter(e => e.getTotalLength() > 10);
            return { title: document.querySelector('title').textContent, drawn: drawn.length, over,
                     outside: outside.map(e => e.textContent), ticks: document.querySelectorAll('.tick').length };";
        let Some(answer) = ask(&folder, &name, &svg, script) else { return };
        assert_eq!(answer["title"], format!("{heading}: calls.stf"));
        assert!(answer["drawn"].as_u64() > Some(0) && answer["ticks"].as_u64() > Some(6), "{what}: {answer}");
        assert!(answer["outside"].as_array().unwrap().is_empty(), "{what}: {answer}");
        assert!(answer["over"].as_array().unwrap().is_empty(), "{what}: {answer}");
    }
}

#[test]
#[ignore = "needs chromium"]
fn the_report_is_sorted_and_read_by_keyboard() {
    let folder = Folder::new("browser-report");
    let (trace, elf) = recorded(&folder);
    let page = stdout(&["report", &trace, "--elf", &elf, "-o", "-"]).replace(&folder.file(""), "");
    shoot(&folder, "report.html", &page, (1280, 1000), false);
    shoot(&folder, "report.html", &page, (1280, 1000), true);
    let script = "
        const table = document.querySelector('#functions table');
        const column = n => [...table.tBodies[0].rows].map(row => row.cells[n].textContent);
        const heads = [...table.tHead.rows[0].cells];
        const before = column(0);
        const press = n => heads[n].querySelector('button').click();
        press(0); const names = [column(0), heads[0].getAttribute('aria-sort')];
        press(5); const calls = [column(5), heads[5].getAttribute('aria-sort'), heads[0].getAttribute('aria-sort')];
        press(5); const again = [column(5), heads[5].getAttribute('aria-sort')];
        const frames = [...document.querySelectorAll('#flame .f')];
        const gone = () => frames.filter(f => f.classList.contains('gone')).length;
        frames.find(f => f.textContent.startsWith('odd: ')).dispatchEvent(new MouseEvent('click', { bubbles: true }));
        const zoomed = gone();
        const key = { key: 'Escape', bubbles: true, cancelable: true };
        document.body.dispatchEvent(new KeyboardEvent('keydown', key));
        const outside = gone();
        document.querySelector('#flame svg').dispatchEvent(new KeyboardEvent('keydown', key));
        const inside = gone();
        const focusable = [...document.querySelectorAll('a[href], button, summary, [tabindex=\"0\"]')];
        const box = e => e.getBoundingClientRect();
        return {
            title: document.title, before, names, calls, again, gone: [zoomed, outside, inside],
            first: focusable[0].textContent, landmarks: ['header', 'nav', 'main'].map(n => document.querySelectorAll(n).length),
            sections: [...document.querySelectorAll('main > section')].map(s => s.id),
            links: [...document.querySelectorAll('nav a')].every(a => document.querySelector(a.getAttribute('href'))),
            pictures: document.querySelectorAll('main svg').length,
            folded: document.querySelectorAll('details:not([open])').length, nodes: document.querySelectorAll('details').length,
            wide: document.documentElement.scrollWidth <= innerWidth,
            loaded: performance.getEntriesByType('resource').length };";
    let Some(answer) = ask(&folder, "report.html", &page, script) else { return };
    assert_eq!(answer["title"], "calls.stf");
    assert_eq!(answer["before"][0], "fib", "{answer}");
    assert_eq!(
        answer["names"][0],
        serde_json::json!(["_start", "even", "fib", "hash_of_the_numbers", "odd", "program"])
    );
    assert_eq!(answer["names"][1], "ascending");
    assert_eq!(
        answer["calls"],
        serde_json::json!([["232", "11", "10", "1", "1", "0"], "descending", "none"])
    );
    assert_eq!(answer["again"], serde_json::json!([["0", "1", "1", "10", "11", "232"], "ascending"]));
    assert_eq!(answer["gone"], serde_json::json!([12, 12, 0]), "keys outside of the picture are not for it");
    assert_eq!(answer["first"], "Skip to the results");
    assert_eq!(answer["landmarks"], serde_json::json!([1, 1, 1]));
    assert!(answer["sections"].as_array().unwrap().len() >= 10 && answer["links"] == true, "{answer}");
    assert_eq!(answer["pictures"], 6, "{answer}");
    assert!(answer["nodes"].as_u64() > answer["folded"].as_u64(), "{answer}");
    assert_eq!((&answer["wide"], &answer["loaded"]), (&true.into(), &0.into()), "{answer}");
}

/// A script in a name would set `hit`.
#[test]
#[ignore = "needs chromium"]
fn no_name_runs() {
    let folder = Folder::new("browser-hostile");
    let (trace, elf) = recorded(&folder);
    let path = folder.file("<img src=x onerror=hit=1>.stf");
    replace_text(&trace, &path, "golden model, bare metal", "<svg onload=hit=1>xxxxxx");
    let script = "
        const text = document.documentElement.textContent;
        return { hit: typeof hit !== 'undefined', images: document.querySelectorAll('img').length,
                 loads: document.querySelectorAll('[onload], [onerror]').length,
                 name: text.includes('onload=hit=1') || text.includes('<svg x=1/>'), path: text.includes('onerror=hit=1') };";
    for (n, name) in ["<svg onload=hit=1>x", "</script><svg x=1/>"].into_iter().enumerate() {
        let hostile = folder.file("hostile.elf");
        replace_text(&elf, &hostile, "hash_of_the_numbers", name);
        let mut commands = vec![
            ("flame.svg", vec!["flame"]),
            ("report.html", vec!["report"]),
            ("pc.svg", vec!["plot", "--what", "pc"]),
            ("branches.svg", vec!["plot", "--what", "branches"]),
        ];
        for (file, command) in &mut commands {
            command.extend(["--elf", &hostile, "-o", "-", &path]);
            let contents = stdout(command);
            let Some(answer) = ask(&folder, &format!("{n}{file}"), &contents, script) else { return };
            assert_eq!(
                (&answer["hit"], &answer["images"], &answer["loads"]),
                (&false.into(), &0.into(), &0.into()),
                "{file}: {answer}"
            );
            assert_eq!((&answer["name"], &answer["path"]), (&true.into(), &true.into()), "{file}: {answer}");
        }
    }
}
