//! `cargo xtask coverage [-p CRATE…]`: lines of each crate that the tests run, by cargo-llvm-cov. Programs that tests start count too.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;

use crate::process::{command, make_folder, text, tool};
use crate::{Outcome, target, tree};

/// Version that is installed where there is none.
const CARGO_LLVM_COV: &str = "cargo-llvm-cov@^0.9";

/// Below it a crate wants tests, or a reason in CONTRIBUTING.md.
const ENOUGH: f64 = 80.0;

/// Runs the tests, of all crates or of those that `arguments` choose, and prints a row for each crate.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    command("rustup", &["component", "add", "llvm-tools"])?;
    let program = tool("cargo-llvm-cov", CARGO_LLVM_COV)?;
    make_folder(&target())?;
    let report = target().join("coverage.json");
    let status = Command::new(&program)
        .args(["llvm-cov", "--locked", "--json", "--summary-only", "--output-path", &text(&report)])
        .args(arguments)
        .current_dir(tree::root())
        .env(crate::SEED, std::env::var(crate::SEED).unwrap_or_else(|_| "1".into()))
        .status()
        .map_err(|error| format!("{program}: {error}"))?;
    if !status.success() {
        return Err(format!("{program}: {status}"));
    }
    let found = std::fs::read_to_string(&report).map_err(|error| format!("{}: {error}", report.display()))?;
    let found: Value =
        serde_json::from_str(&found).map_err(|error| format!("{}: {error}", report.display()))?;
    print!("{}", table(&lines(&found)));
    Ok(())
}

/// Lines and those of them that ran, by crate.
fn lines(report: &Value) -> BTreeMap<String, [u64; 2]> {
    let mut crates = BTreeMap::<String, [u64; 2]>::new();
    for file in report["data"][0]["files"].as_array().into_iter().flatten() {
        let Some((_, inside)) = file["filename"].as_str().and_then(|name| name.rsplit_once("/crates/"))
        else {
            continue;
        };
        let Some((name, rest)) = inside.split_once('/') else { continue };
        if !rest.starts_with("src/") {
            continue;
        }
        let of = crates.entry(name.to_string()).or_default();
        for (sum, field) in of.iter_mut().zip(["count", "covered"]) {
            *sum += file["summary"]["lines"][field].as_u64().unwrap_or_default();
        }
    }
    crates
}

fn table(crates: &BTreeMap<String, [u64; 2]>) -> String {
    let mut text = format!("{:<20} {:>7} {:>7}\n", "crate", "lines", "run");
    for (name, [count, covered]) in crates {
        let percent = 100.0 * *covered as f64 / (*count).max(1) as f64;
        let mark = if percent < ENOUGH { "  below 80 %" } else { "" };
        text.push_str(&format!("{name:<20} {count:>7} {percent:>6.1}%{mark}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn files_are_summed_by_crate() {
        let file = |name: &str, count: u64, covered: u64| json!({"filename": format!("/home/crates/x/crates/{name}"), "summary": {"lines": {"count": count, "covered": covered}}});
        let report = json!({"data": [{"files": [
            file("a/src/lib.rs", 10, 10), file("a/src/in/b.rs", 10, 7), file("b/src/lib.rs", 100, 79), file("b/tests/t.rs", 100, 100),
        ]}]});
        let found = lines(&report);
        assert_eq!(found["a"], [20, 17]);
        assert_eq!(found["b"], [100, 79]);
        let text = table(&found);
        assert!(text.contains("85.0%\n") && text.contains("79.0%  below 80 %\n"), "{text}");
    }
}
