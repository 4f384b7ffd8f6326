//! The page around the sections.

use std::fmt::Write;

use crate::markup::escape;

/// A part of the page.
pub(super) struct Section {
    /// Its name in links.
    pub(super) id: &'static str,
    pub(super) heading: &'static str,
    /// Markup.
    pub(super) body: String,
}

/// The whole page.
pub(super) fn page(title: &str, sections: &[Section]) -> String {
    let title = escape(title);
    let mut links = String::new();
    let mut body = String::new();
    for Section { id, heading, body: inner } in sections {
        // Writing to a string cannot fail.
        let _ = writeln!(links, r##"<li><a href="#{id}">{heading}</a></li>"##);
        let _ = writeln!(
            body,
            r#"<section id="{id}" aria-labelledby="{id}-h"><h2 id="{id}-h">{heading}</h2>
{inner}</section>"#
        );
    }
    format!(
        r##"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the results</a>
<header><h1>{title}</h1>
<nav aria-label="Sections"><ul>
{links}</ul></nav></header>
<main id="main" tabindex="-1">
{body}</main>
<script>{SCRIPT}</script>
</body>
</html>
"##
    )
}

const STYLE: &str = "
:root{--ink:#1b1b1b;--soft:#555;--line:#d8d8d8;--paper:#fff;--band:#f4f5f7;--link:#1d4ed8;--warn:#9a3412}
@media (prefers-color-scheme:dark){:root{--ink:#ececec;--soft:#b4b4b4;--line:#3c3c3c;--paper:#181818;--band:#242424;--link:#8ab4f8;--warn:#fdba74}}
*{box-sizing:border-box}
body{margin:0;font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
header,main{max-width:1280px;margin:auto;padding:0 20px}
h1{font-size:22px;overflow-wrap:anywhere;margin:20px 0 8px}
h2{font-size:18px;margin:34px 0 10px;padding-top:10px;border-top:1px solid var(--line)}
h3{font-size:15px;margin:20px 0 6px}
nav ul{display:flex;flex-wrap:wrap;gap:4px 16px;list-style:none;padding:0;margin:0}
a{color:var(--link)}
.skip{position:absolute;left:-999px}.skip:focus{left:12px;top:8px;background:var(--paper);padding:6px 10px;z-index:1}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 18px;margin:0}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.scroll{overflow:auto;max-height:70vh;border:1px solid var(--line);border-radius:6px}
table{border-collapse:collapse;width:100%;font-size:14px}
caption{text-align:left;color:var(--soft);padding:6px 10px}
th,td{padding:4px 10px;text-align:left;overflow-wrap:anywhere}
th{position:sticky;top:0;background:var(--band);white-space:nowrap}
tbody tr:nth-child(even){background:var(--band)}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
th button{font:inherit;font-weight:600;color:inherit;background:none;border:0;padding:0;cursor:pointer}
th button::after{content:' \\2195';color:var(--soft)}
th[aria-sort=ascending] button::after{content:' \\2191';color:var(--ink)}
th[aria-sort=descending] button::after{content:' \\2193';color:var(--ink)}
.mono,summary,.leaf{font-family:ui-monospace,monospace;font-size:13px}
.tree details{margin-left:18px}.tree>details{margin-left:0}.leaf{margin-left:36px}.tree .leaf::before{content:'\\2013 ';color:var(--soft)}
summary{cursor:pointer}.counts{color:var(--soft)}
.warn{color:var(--warn)}
svg{max-width:100%;height:auto}
.picture{overflow-x:auto}
.columns{display:grid;grid-template-columns:repeat(auto-fit,minmax(280px,1fr));gap:16px;align-items:start}
@media print{.scroll{max-height:none;overflow:visible}}
";

const SCRIPT: &str = r#"
{
const value = (row, n) => row.cells[n].dataset.v;
for (const button of document.querySelectorAll('th button')) {
  button.addEventListener('click', () => {
    const head = button.parentElement, table = head.closest('table'), body = table.tBodies[0];
    const n = head.cellIndex, numeric = head.classList.contains('n');
    const before = head.getAttribute('aria-sort');
    const down = before === 'none' ? numeric : before === 'ascending';
    for (const other of head.parentElement.cells) other.setAttribute('aria-sort', 'none');
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    // Cells without a value come last either way.
    const compare = (a, b) => {
      const [x, y] = [value(a, n), value(b, n)];
      if (x === '' || y === '') return (x === '') - (y === '');
      const order = numeric ? Number(x) - Number(y) : x < y ? -1 : x > y ? 1 : 0;
      return down ? -order : order;
    };
    body.append(...[...body.rows].sort(compare));
  });
}
}
"#;
