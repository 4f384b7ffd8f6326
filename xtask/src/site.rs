//! `cargo xtask site`: the documentation as a site in `target/site/book`, by mdBook: the pages of the repository, and what the
//! program says of itself: commands, settings and rules.

use std::fmt::Write as _;
use std::path::Path;

use crate::process::{command, copy, copy_all, every_file, output, text, tool, write};
use crate::{Outcome, program, target, tree};

/// Version that is installed where there is none.
const MDBOOK: &str = "mdbook@^0.5";

/// Pages of the root, in the order of the site.
const ROOT: [&str; 4] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];

/// Files elsewhere in the repository that pages link to.
const LINKED: [&str; 7] = [
    "plugin/qemu/README.md",
    "plugin/qemu/STREAM.md",
    "plugin/qemu/LICENSE",
    "programs/riscv/README.md",
    "crates/trackway-capi/include/trackway.h",
    "crates/trackway-capi/include/trackway.svh",
    "crates/trackway/examples/own_format.rs",
];

/// Builds the site and checks that its links lead somewhere.
pub(crate) fn run() -> Outcome {
    let folder = target().join("site");
    let _ = std::fs::remove_dir_all(&folder);
    let source = folder.join("src");
    for name in ROOT.iter().chain(&LINKED) {
        copy(&tree::root().join(name), &source.join(name))?;
    }
    copy_all(&tree::root().join("docs"), &source.join("docs"))?;
    let program = text(&program()?);
    let reference = source.join("reference");
    write(&reference.join("commands.md"), command_page(&program)?.as_bytes())?;
    write(
        &reference.join("settings.md"),
        format_page(&program, "Settings", &["config"], "toml")?.as_bytes(),
    )?;
    write(
        &reference.join("rules.md"),
        format_page(&program, "Rules", &["check", "--rules"], "text")?.as_bytes(),
    )?;
    for part in ["formats", "spec-readings", "design"] {
        write(&source.join("docs").join(part).join("index.md"), listing(&source, part).as_bytes())?;
    }
    write(&source.join("SUMMARY.md"), summary(&source).as_bytes())?;
    // Its preprocessors would call every README index, and not the links to it.
    let book = "[build]\nuse-default-preprocessors = false\n\n[book]\ntitle = \"Trackway\"\nlanguage = \"en\"\n\n[output.html]\nno-section-label = true\n";
    write(&folder.join("book.toml"), book.as_bytes())?;
    command(&tool("mdbook", MDBOOK)?, &["build", &text(&folder)])?;
    let problems = broken_links(&folder.join("book"));
    println!("{}", folder.join("book/index.html").display());
    crate::report("links of the site", &problems)
}

/// Names of commands in the program's help.
pub(crate) fn commands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    listed
        .take_while(|line| line.starts_with("  "))
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect()
}

/// Help of every command.
fn command_page(program: &str) -> Result<String, String> {
    let help = output(program, &["help"])?;
    let mut page = format!("# Commands\n\n```text\n{}\n```\n", help.trim_end());
    for name in commands(&help) {
        let help = output(program, &["help", name])?;
        let _ = write!(page, "\n## {name}\n\n```text\n{}\n```\n", help.trim_end());
    }
    Ok(page)
}

/// Names of formats in the topic `formats`: each begins a block, `NAME: TITLE`.
fn formats(topic: &str) -> Vec<(&str, &str)> {
    let heads = topic.lines().skip(1).filter(|line| !line.starts_with(' '));
    heads.filter_map(|line| line.split_once(": ")).filter(|(name, _)| !name.contains(' ')).collect()
}

/// The answer of a command for every format.
fn format_page(program: &str, title: &str, arguments: &[&str], language: &str) -> Result<String, String> {
    let topic = output(program, &["help", "formats"])?;
    let mut page = format!("# {title}\n");
    for (name, full) in formats(&topic) {
        let answer = output(program, &[arguments, &[name]].concat())?;
        let _ = write!(page, "\n## {full}\n\n```{language}\n{}\n```\n", answer.trim_end());
    }
    Ok(page)
}

/// The first heading of a page.
fn title(page: &Path) -> String {
    let text = std::fs::read_to_string(page).unwrap_or_default();
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    heading
        .map_or_else(|| page.file_stem().unwrap_or_default().to_string_lossy().into_owned(), str::to_string)
}

/// A page that lists a folder, where other pages link to the folder.
fn listing(source: &Path, part: &str) -> String {
    let mut page = format!("# {}\n\n", part.replace('-', " "));
    for path in tree::files(&source.join("docs").join(part), "md") {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let _ = writeln!(page, "- [{}]({name})", title(&path));
    }
    page
}

/// The table of contents.
fn summary(source: &Path) -> String {
    let mut text = String::from("# Summary\n\n[Trackway](README.md)\n");
    let mut part = |heading: &str, pages: Vec<String>| {
        let _ = write!(text, "\n# {heading}\n\n");
        for page in pages {
            let _ = writeln!(text, "- [{}]({page})", title(&source.join(&page)));
        }
    };
    let inside = |folder: &str| -> Vec<String> {
        let files = tree::entries(&source.join(folder));
        let pages = files.iter().filter(|path| path.extension().is_some_and(|found| found == "md"));
        pages.map(|path| path.strip_prefix(source).unwrap_or(path).display().to_string()).collect()
    };
    let pages = |names: &[&str]| {
        names.iter().filter(|name| name.ends_with(".md")).map(|name| name.to_string()).collect()
    };
    part("Guide", inside("docs"));
    part("Formats", inside("docs/formats"));
    part("Reference", inside("reference"));
    part("Readings of the specifications", inside("docs/spec-readings"));
    part("Design", inside("docs/design"));
    part("Project", pages(&ROOT[1..]));
    part("Parts", pages(&LINKED));
    text
}

/// Links between pages of the site that lead nowhere.
fn broken_links(book: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    for page in every_file(book).iter().filter(|path| path.extension().is_some_and(|found| found == "html")) {
        // It repeats all pages, with links made for its own place.
        if page.file_name().is_some_and(|name| name == "print.html") {
            continue;
        }
        let text = std::fs::read_to_string(page).unwrap_or_default();
        for link in text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let file = link.split('#').next().unwrap_or_default();
            if file.is_empty() || file == "/" || file.contains(':') {
                continue;
            }
            let to = page.parent().unwrap_or(book).join(file);
            if !(to.is_file() || to.join("index.html").is_file()) {
                problems.push(format!("{}: {link}", page.strip_prefix(book).unwrap_or(page).display()));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Scratch;

    #[test]
    fn commands_are_found_in_the_help() {
        let help = "Usage: x\n\nCommands:\n  info    Show\n          more\n  dump    List\n  help    Help\n\nOptions:\n  -q\n";
        assert_eq!(commands(help), ["info", "dump"]);
    }

    #[test]
    fn formats_are_found_in_their_topic() {
        let topic =
            "Formats: names\n\nstf: STF, simple\n  rules: 3\n\nete: ETE\n\nOthers need a program: name it\n";
        assert_eq!(formats(topic), [("stf", "STF, simple"), ("ete", "ETE")]);
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let page = "<a href=\"b.html#x\"> <a href=\"https://x.y\"> <a href=\"#here\"> <a href=\"c.md\">";
        let scratch = Scratch::new("site", &[("a.html", page), ("b.html", "")]);
        assert_eq!(broken_links(&scratch.0), ["a.html: c.md"]);
    }
}
