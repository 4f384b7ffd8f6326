//! Console blocks of Markdown pages are run, and print what the page says.
//!
//! A block is fenced as `console`; `$ ` begins a command, the lines below are its output (stdout and stderr).
//! `…` stands for anything: on a line of its own for any lines, inside a line for any characters. Commands of
//! one page share a folder that looks like the root of the repository. A command that fails has to show it:
//! the next one is `echo $?`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tree::{self, shown};

/// One command of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Case {
    /// Line of the page, from 1.
    line: usize,
    /// Command for the shell.
    command: String,
    /// Lines that it prints.
    output: Vec<String>,
}

/// Pages whose commands print something else, run with the programs in `bin`. With `write`, the pages get what
/// the commands print.
pub(crate) fn check(bin: &Path, write: bool) -> Vec<String> {
    let mut problems = Vec::new();
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap_or_default();
        let mut cases = cases(&text);
        if cases.is_empty() {
            continue;
        }
        let folder = std::env::temp_dir().join(format!("trackway-console-{}", std::process::id()));
        match look_alike(&folder) {
            Ok(()) => {
                let found = of_page(&mut cases, &folder, bin);
                if write {
                    let written = std::fs::write(&page, with_outputs(&text, &cases));
                    problems.extend(written.err().map(|error| format!("{}: {error}", shown(&page))));
                }
                problems.extend(found.iter().map(|problem| format!("{}:{problem}", shown(&page))));
            }
            Err(error) => problems.push(format!("{}: {error}", folder.display())),
        }
        let _ = std::fs::remove_dir_all(&folder);
    }
    problems
}

/// README and everything in `docs`.
fn pages() -> Vec<PathBuf> {
    let root = tree::root();
    [vec![root.join("README.md")], tree::files(&root.join("docs"), "md")].concat()
}

/// A folder with links to everything in the root of the repository.
fn look_alike(folder: &Path) -> std::io::Result<()> {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder)?;
    for path in tree::entries(&tree::root()) {
        std::os::unix::fs::symlink(&path, folder.join(path.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

/// The commands of a page.
fn cases(text: &str) -> Vec<Case> {
    let (mut cases, mut inside): (Vec<Case>, bool) = (Vec::new(), false);
    for (n, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside {
            match (line.strip_prefix("$ "), cases.last_mut()) {
                (Some(command), _) => {
                    let command = command.to_string();
                    cases.push(Case { line: n + 1, command, output: Vec::new() });
                }
                (None, Some(case)) => case.output.push(line.to_string()),
                (None, None) => {}
            }
        }
    }
    cases
}

/// The page with the outputs of `cases` in place of its own.
fn with_outputs(text: &str, cases: &[Case]) -> String {
    let (mut page, mut inside) = (String::new(), false);
    for (n, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```console";
        }
        let case = cases.iter().find(|case| case.line == n + 1);
        if !inside || case.is_some() || line.starts_with("```") {
            page += &format!("{line}\n");
        }
        case.into_iter().flat_map(|case| &case.output).for_each(|line| page += &format!("{line}\n"));
    }
    page
}

/// Runs the commands. Those that print something else have that as their output afterwards.
fn of_page(cases: &mut [Case], folder: &Path, bin: &Path) -> Vec<String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", bin.display());
    let (mut problems, mut last) = (Vec::new(), 0);
    for n in 0..cases.len() {
        let shows = cases.get(n + 1).is_some_and(|next| next.command == "echo $?");
        let case = &mut cases[n];
        // `$?` is that of the command before.
        let script = format!("exec 2>&1; (exit {last}); {}", case.command);
        let mut shell = Command::new("sh");
        shell.current_dir(folder).env("PATH", &path).env("COLUMNS", "120").args(["-c", &script]);
        let output = match shell.output() {
            Ok(output) => output,
            Err(error) => return vec![format!("{}: sh: {error}", case.line)],
        };
        last = output.status.code().unwrap_or(255);
        let printed = String::from_utf8_lossy(&output.stdout);
        let printed: Vec<&str> = printed.lines().collect();
        let expected: Vec<&str> = case.output.iter().map(String::as_str).collect();
        if !lines_match(&expected, &printed) {
            problems.push(format!(
                "{}: `{}` prints\n    | {}\n  and the page says\n    | {}",
                case.line,
                case.command,
                printed.join("\n    | "),
                expected.join("\n    | ")
            ));
            case.output = printed.iter().map(|line| line.trim_end().to_string()).collect();
        }
        if last != 0 && !shows {
            problems
                .push(format!("{}: `{}` exits with {last}: show it with `echo $?`", case.line, case.command));
        }
    }
    problems
}

/// `…` on a line of its own matches any lines.
fn lines_match(expected: &[&str], printed: &[&str]) -> bool {
    match (expected.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((&"…", rest)), _) => (0..=printed.len()).any(|n| lines_match(rest, &printed[n..])),
        (Some((wanted, rest)), Some((line, others))) => {
            line_matches(wanted, line) && lines_match(rest, others)
        }
        _ => false,
    }
}

/// `…` inside a line matches any characters. Spaces at the end do not count.
fn line_matches(wanted: &str, line: &str) -> bool {
    let line = line.trim_end();
    match wanted.trim_end().split_once('…') {
        None => wanted.trim_end() == line,
        Some((start, rest)) => line.strip_prefix(start).is_some_and(|tail| {
            let mut starts = tail.char_indices().map(|(n, _)| n).chain([tail.len()]);
            starts.any(|n| line_matches(rest, &tail[n..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(page: &str) -> Vec<String> {
        of_page(&mut cases(page), &std::env::temp_dir(), Path::new("/"))
    }

    #[test]
    fn a_command_that_prints_something_else_is_found() {
        assert_eq!(problems("```console\n$ echo one\none\n```\n"), Vec::<String>::new());
        let found = problems("# Tour\n```console\n$ echo one; echo two\none\nthree\n```\n");
        assert!(found.len() == 1 && found[0].starts_with("3: `echo one; echo two` prints"), "{found:?}");
    }

    #[test]
    fn pages_are_rewritten() {
        let page = "# Tour\n```console\n$ echo one\ntwo\n$ seq 2\n…\n```\nend\n";
        let mut cases = cases(page);
        of_page(&mut cases, &std::env::temp_dir(), Path::new("/"));
        assert_eq!(with_outputs(page, &cases), page.replace("two", "one"));
    }

    #[test]
    fn dots_stand_for_anything() {
        let page =
            "```console\n$ seq 1 9\n1\n…\n9\n$ echo took 12 ms, 3 of 3\ntook … ms, … of 3\n$ true\n…\n```\n";
        assert_eq!(problems(page), Vec::<String>::new());
        assert_eq!(problems("```console\n$ seq 1 9\n1\n…\n8\n```\n").len(), 1);
    }

    #[test]
    fn a_failure_has_to_be_shown() {
        assert_eq!(problems("```console\n$ sh -c 'exit 3'\n```\n").len(), 1);
        let page = "```console\n$ sh -c 'exit 3'\n$ echo $?\n3\n```\n";
        assert_eq!(problems(page), Vec::<String>::new());
    }
}
