//! The server as those see it who should not.

mod visit;

use trackway_view::LARGEST;
use visit::{Visit, repo, sorted};

#[test]
fn other_hosts_origins_and_sites_are_refused() {
    let visit = Visit::to(&[sorted()]);
    let host = format!("Host: 127.0.0.1:{}\r\n", visit.port);
    let cookie = format!("Cookie: {}\r\n", visit.cookie);
    let asked = |headers: &str| visit.with_headers("/api/traces", headers).0;
    assert_eq!(asked(&format!("{host}{cookie}")), 200);
    // localhost is a name that only this machine has.
    assert_eq!(asked(&format!("Host: localhost:{}\r\n{cookie}", visit.port)), 200);
    assert_eq!(asked(&host), 403, "no cookie");
    assert_eq!(asked(&format!("{host}Cookie: trackway-{}=0123\r\n", visit.port)), 403, "a wrong cookie");
    for name in ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "[::1]:80", ""] {
        assert_eq!(asked(&format!("Host: {name}\r\n{cookie}")), 403, "host {name}");
    }
    assert_eq!(asked(&cookie), 403, "no host");
    assert_eq!(asked(&format!("{host}Host: evil.example\r\n{cookie}")), 403, "two hosts");
    for origin in ["http://evil.example", "null", "https://127.0.0.1", "http://localhost:1"] {
        assert_eq!(asked(&format!("{host}{cookie}Origin: {origin}\r\n")), 403, "origin {origin}");
    }
    assert_eq!(asked(&format!("{host}{cookie}Origin: http://127.0.0.1:{}\r\n", visit.port)), 200);
    for site in ["cross-site", "same-site"] {
        assert_eq!(asked(&format!("{host}{cookie}Sec-Fetch-Site: {site}\r\n")), 403, "{site}");
    }
    assert_eq!(asked(&format!("{host}{cookie}Sec-Fetch-Site: same-origin\r\n")), 200);
}

#[test]
fn links_work_once() {
    let visit = Visit::to(&[sorted()]);
    let used = visit.link.split_once(&visit.port.to_string()).unwrap().1;
    assert_eq!(visit.get(used).0, 403, "a used link");
    for token in ["", "0", &"0".repeat(32), &"x".repeat(10_000)] {
        let (status, head, _) = visit.get(&format!("/enter?token={token}"));
        assert_eq!(status, 403, "a wrong link");
        assert!(!head.contains("Set-Cookie"), "{head}");
    }
    assert_eq!(visit.get("/enter").0, 403);
}

#[test]
fn nothing_can_be_changed_and_no_file_be_named() {
    let visit = Visit::with(&[sorted()], &[repo("programs")]);
    let host = format!("Host: 127.0.0.1:{}\r\nCookie: {}\r\nConnection: close\r\n", visit.port, visit.cookie);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE"] {
        assert_eq!(visit.send(&format!("{method} /api/traces HTTP/1.1\r\n{host}\r\n")).0, 405, "{method}");
    }
    let body = format!("POST /api/traces HTTP/1.1\r\n{host}Content-Length: 100000000\r\n\r\n");
    assert_eq!(visit.send(&body).0, 413);
    let long = format!("GET /{} HTTP/1.1\r\n{host}\r\n", "a".repeat(LARGEST));
    assert_eq!(visit.send(&long).0, 431);
    for path in [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/etc/passwd",
        "/src/main.ts",
        "//etc/passwd",
        "/.",
    ] {
        assert_eq!(visit.get(path).0, 404, "{path}");
    }
    for id in ["../../etc/passwd", "/etc/passwd", "-1", "999999", "0x"] {
        visit.refused(&format!("source?id={id}"));
    }
    visit.refused("rows?l=7&from=0&count=1");
    visit.refused("rows?l=0&from=x&count=1");
    visit.refused("nonsense?l=0");
}

#[test]
fn pages_cannot_be_framed_and_load_nothing_from_elsewhere() {
    let visit = Visit::to(&[sorted()]);
    for path in ["/", "/app.js", "/app.css", "/api/traces", "/nothing"] {
        let (_, head, _) = visit.get(path);
        for wanted in [
            "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self';",
            "frame-ancestors 'none'",
            "X-Frame-Options: DENY",
            "Referrer-Policy: no-referrer",
            "X-Content-Type-Options: nosniff",
            "Cache-Control: no-store",
        ] {
            assert!(head.contains(wanted), "{path}: {wanted}: {head}");
        }
    }
    let page = String::from_utf8(visit.get("/").2).unwrap();
    assert!(page.contains("app.js") && !page.contains("http"), "{page}");
}
