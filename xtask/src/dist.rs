//! `cargo xtask dist`: what a release hands out, for each target as a tar and a Debian package, with manual pages,
//! completions, the QEMU plugins, the licences of what is linked, a bill of materials and checksums.
//!
//! The binaries are static: Zig's linker and C library from PyPI, so that no system package is needed. Paths are
//! remapped and times fixed, so that two builds of a commit have the same bytes, in any folder.

mod materials;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{command, copy, copy_all, every_file, make_folder, output, shell, text, write};
use crate::{Outcome, program, tree};

/// A machine that binaries are made for.
struct Target {
    /// Rust's name of it.
    triple: &'static str,
    /// Debian's name of it.
    debian: &'static str,
    /// The QEMU plugin is made by the compiler of the host, for the host.
    is_host: bool,
}

const TARGETS: [Target; 2] = [
    Target { triple: "x86_64-unknown-linux-musl", debian: "amd64", is_host: cfg!(target_arch = "x86_64") },
    Target { triple: "aarch64-unknown-linux-musl", debian: "arm64", is_host: cfg!(target_arch = "aarch64") },
];

const FEATURES: &str = "columns";

/// The folder in `target` that everything goes to.
pub(crate) fn folder() -> PathBuf {
    crate::target().join("dist")
}

/// Builds all targets, or those whose name contains one of the words; with `--twice` also in another folder, to compare.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let (flags, wanted): (Vec<_>, Vec<_>) =
        arguments.iter().cloned().partition(|word| word.starts_with("--"));
    let twice = match &flags[..] {
        [] => false,
        [flag] if flag == "--twice" => true,
        _ => return Err(format!("dist does not know {}", flags.join(" "))),
    };
    if twice {
        is_committed()?;
    }
    let chosen: Vec<&Target> = TARGETS
        .iter()
        .filter(|target| wanted.is_empty() || wanted.iter().any(|name| target.triple.contains(name.as_str())))
        .collect();
    if chosen.is_empty() {
        let known: Vec<&str> = TARGETS.iter().map(|target| target.triple).collect();
        return Err(format!("no target is called {}: {}", wanted.join(" "), known.join(", ")));
    }
    let zig = zig()?;
    let pages = pages()?;
    let mut made = Vec::new();
    for target in chosen {
        build(target, &zig)?;
        let tree = lay_out(target, &pages)?;
        made.push(tar(&tree)?);
        made.push(debian(target, &tree)?);
    }
    let sums = sums(&made)?;
    println!("{sums}");
    if twice { again(&wanted, &sums) } else { Ok(()) }
}

/// A second build is one of the commit, so that nothing may be changed beside it.
fn is_committed() -> Outcome {
    let changed = output("git", &["-C", &text(&tree::root()), "status", "--porcelain"])?;
    if changed.is_empty() {
        Ok(())
    } else {
        Err(format!("--twice compares builds of a commit; not committed:\n{changed}"))
    }
}

/// Builds the commit in a clone, whose path is another and longer, and compares the archives.
fn again(wanted: &[String], sums: &str) -> Outcome {
    let clone = folder().join("again/in-another-folder");
    let _ = fs::remove_dir_all(&clone);
    command("git", &["clone", "--quiet", &text(&tree::root()), &text(&clone)])?;
    eprintln!("== the second build, in {}", clone.display());
    let status = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
        .args(["xtask", "dist"])
        .args(wanted)
        .current_dir(&clone)
        .env("CARGO_TARGET_DIR", clone.join("target"))
        .status()
        .map_err(|error| format!("the second build: {error}"))?;
    if !status.success() {
        return Err(format!("the second build: {status}"));
    }
    let path = clone.join("target/dist/SHA256SUMS");
    let others = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    crate::report("archives that differ between two builds", &different(sums, &others))
}

/// Lines of checksums that the other list does not have.
fn different(sums: &str, others: &str) -> Vec<String> {
    sums.lines().filter(|line| !others.lines().any(|other| other == *line)).map(str::to_string).collect()
}

fn version() -> String {
    env!("CARGO_PKG_VERSION").to_string()
}

/// The time of the commit: what files in archives are dated.
fn epoch() -> String {
    let output = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(tree::root()).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
    text.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "0".into())
}

/// Zig and cargo-zigbuild from PyPI, in a virtual environment; returns its folder of programs.
fn zig() -> Result<PathBuf, String> {
    let venv = folder().join("venv");
    if !venv.join("bin/cargo-zigbuild").exists() {
        make_folder(&folder())?;
        command("python3", &["-m", "venv", &text(&venv)])?;
        command(
            &text(&venv.join("bin/pip")),
            &["install", "-q", "ziglang==0.15.2", "cargo-zigbuild==0.24.0"],
        )?;
    }
    Ok(venv.join("bin"))
}

/// The program for a target, static and stripped.
fn build(target: &Target, zig: &Path) -> Outcome {
    command("rustup", &["target", "add", target.triple])?;
    let home = std::env::var("CARGO_HOME").map_or_else(
        |_| PathBuf::from(std::env::var("HOME").unwrap_or_default()).join(".cargo"),
        PathBuf::from,
    );
    let (root, home) = (text(&tree::root()), text(&home));
    let path = std::env::var("PATH").unwrap_or_default();
    // Not canonical: the link of the environment decides which packages Python sees.
    let python = std::path::absolute(zig.join("python3")).unwrap_or_else(|_| zig.join("python3"));
    let variables = [
        ("PATH", format!("{}:{path}", zig.display())),
        ("CARGO_ZIGBUILD_PYTHON_PATH", text(&python)),
        ("RUSTFLAGS", format!("--remap-path-prefix={root}=. --remap-path-prefix={home}=cargo")),
        ("CFLAGS", format!("-ffile-prefix-map={root}=. -ffile-prefix-map={home}=cargo -g0")),
        ("CXXFLAGS", format!("-ffile-prefix-map={root}=. -ffile-prefix-map={home}=cargo -g0")),
        ("SOURCE_DATE_EPOCH", epoch()),
        ("CARGO_INCREMENTAL", "0".into()),
    ];
    let arguments = format!(
        "zigbuild --locked --release -p trackway-cli --features {FEATURES} --target {}",
        target.triple
    );
    crate::cargo(target.triple, &arguments, &variables.each_ref().map(|(name, value)| (*name, &**value)))
}

/// Manual pages and completions, made by the program of this machine.
fn pages() -> Result<PathBuf, String> {
    let program = text(&program()?);
    let share = folder().join("share");
    let _ = fs::remove_dir_all(&share);
    let man = share.join("man/man1");
    make_folder(&man)?;
    let main = output(&program, &["man"])?;
    write(&man.join("trackway.1"), main.as_bytes())?;
    let help = output(&program, &["help"])?;
    for name in crate::site::commands(&help) {
        if let Ok(page) = output(&program, &["man", name]) {
            write(&man.join(format!("trackway-{name}.1")), page.as_bytes())?;
        }
    }
    for (shell, file) in [
        ("bash", "bash-completion/completions/trackway"),
        ("zsh", "zsh/site-functions/_trackway"),
        ("fish", "fish/vendor_completions.d/trackway.fish"),
    ] {
        write(&share.join(file), output(&program, &["completions", shell])?.as_bytes())?;
    }
    Ok(share)
}

/// The tree of files as it is installed: `bin`, `lib`, `share`.
fn lay_out(target: &Target, share: &Path) -> Result<PathBuf, String> {
    let tree = folder().join(format!("trackway-{}-{}", version(), target.triple));
    let _ = fs::remove_dir_all(&tree);
    let binary = crate::target().join(target.triple).join("release/trackway");
    copy(&binary, &tree.join("bin/trackway"))?;
    copy_all(share, &tree.join("share"))?;
    if target.is_host {
        let plugin = crate::tree::root().join("plugin/qemu");
        command("sh", &[&text(&plugin.join("build.sh"))])?;
        for file in tree::files(&plugin.join("target"), "so") {
            copy(&file, &tree.join("lib/trackway").join(file.file_name().unwrap_or_default()))?;
        }
        copy(&plugin.join("LICENSE"), &tree.join("lib/trackway/LICENSE"))?;
    }
    let documents = tree.join("share/doc/trackway");
    for name in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "SECURITY.md"] {
        copy(&tree::root().join(name), &documents.join(name))?;
    }
    let linked = materials::linked(target.triple, FEATURES)?;
    write(&documents.join("THIRD-PARTY"), materials::notices(&linked)?.as_bytes())?;
    write(&documents.join("trackway.cdx.json"), materials::bill(&linked, &version())?.as_bytes())?;
    Ok(tree)
}

/// An archive whose bytes depend on the files alone.
fn tar(tree: &Path) -> Result<PathBuf, String> {
    let name = text(Path::new(tree.file_name().unwrap_or_default()));
    let archive = folder().join(format!("{name}.tar.gz"));
    let script = format!(
        "tar --sort=name --mtime=@{} --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w -c {name} | gzip -9n > {}",
        epoch(),
        archive.display()
    );
    shell(&script, &folder())?;
    Ok(archive)
}

/// A Debian package, by Debian's own tool. The program is static: it depends on nothing.
fn debian(target: &Target, tree: &Path) -> Result<PathBuf, String> {
    let staged = folder().join(format!("debian-{}", target.debian));
    let _ = fs::remove_dir_all(&staged);
    copy_all(tree, &staged.join("usr"))?;
    let size: u64 =
        every_file(&staged).iter().filter_map(|path| fs::metadata(path).ok()).map(|data| data.len()).sum();
    let control = format!(
        "Package: trackway\nVersion: {}\nArchitecture: {}\nMaintainer: The Trackway maintainers <maintainers@trackway.example>\n\
         Installed-Size: {}\nSection: devel\nPriority: optional\nSuggests: qemu-user, gdb-multiarch\n\
         Homepage: https://github.com/trackway/trackway\nDescription: toolkit for processor execution traces\n \
         Reads, writes, decodes, encodes, converts, checks, verifies, analyses and\n shows execution traces of Arm and RISC-V \
         processors: STF, ASTF, E-Trace,\n Tandem, ETE, perf.data and logs of simulators.\n",
        version(),
        target.debian,
        size.div_ceil(1024)
    );
    write(&staged.join("DEBIAN/control"), control.as_bytes())?;
    let package = folder().join(format!("trackway_{}_{}.deb", version(), target.debian));
    let script = format!(
        "chmod -R u+rwX,go+rX,go-w {0} && find {0} -exec touch -h -d @{1} {{}} + && \
         SOURCE_DATE_EPOCH={1} dpkg-deb --root-owner-group -Zxz --threads-max=1 --build {0} {2}",
        staged.display(),
        epoch(),
        package.display()
    );
    shell(&script, &folder())?;
    Ok(package)
}

/// SHA-256 of what was made, also as a file beside it.
fn sums(files: &[PathBuf]) -> Result<String, String> {
    let names: Vec<String> =
        files.iter().map(|path| text(Path::new(path.file_name().unwrap_or_default()))).collect();
    let script = format!("sha256sum {} | tee SHA256SUMS", names.join(" "));
    shell(&script, &folder())
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_archive_with_other_bytes_is_named() {
        let sums = "12  a.tar.gz\n34  a.deb\n";
        assert!(super::different(sums, sums).is_empty());
        assert_eq!(super::different(sums, "12  a.tar.gz\n35  a.deb\n"), ["34  a.deb"]);
        assert_eq!(super::different(sums, "").len(), 2);
    }
}
