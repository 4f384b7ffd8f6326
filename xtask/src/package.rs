//! `cargo xtask package`: the crates as they are published, installed as a user would, without a registry of our own: the packed
//! crates and everything that they depend on become a directory that replaces crates.io for one `cargo install`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::process::{command, copy_all, make_folder, output, shell, text, write};
use crate::{Outcome, cargo, target, tree};

/// Packs, installs into an empty folder, and runs the demo.
pub(crate) fn run() -> Outcome {
    let folder = target().join("package-test");
    let _ = fs::remove_dir_all(&folder);
    make_folder(&folder)?;
    cargo("packing", "publish --workspace --dry-run --no-verify --allow-dirty --quiet", &[])?;
    let vendor = folder.join("vendor");
    command("cargo", &["vendor", "--locked", "--quiet", &text(&vendor)])?;
    for archive in archives(&target().join("package/tmp-crate"))? {
        add(&archive, &folder, &vendor)?;
    }
    let home = folder.join("home");
    let settings = format!(
        "[source.crates-io]\nreplace-with = \"packed\"\n[source.packed]\ndirectory = {:?}\n",
        text(&vendor)
    );
    write(&home.join("config.toml"), settings.as_bytes())?;
    let (home, root) = (text(&home), text(&folder.join("installed")));
    let script = format!("CARGO_HOME={home} cargo install --quiet --offline --root {root} trackway-cli");
    shell(&script, &folder)?;
    let program = format!("{root}/bin/trackway");
    let size = fs::metadata(&program).map_err(|error| format!("{program}: {error}"))?.len();
    output(&program, &["demo", &text(&folder.join("demo"))])?;
    println!("installed from packed crates: {program}, {:.1} MB; the demo ran", size as f64 / 1e6);
    Ok(())
}

/// Packed crates of the version that is packed now.
fn archives(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let ending = format!("-{}.crate", env!("CARGO_PKG_VERSION"));
    let is_one =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&ending));
    let found: Vec<PathBuf> = tree::entries(folder).into_iter().filter(is_one).collect();
    if found.is_empty() { Err(format!("{}: no crate was packed", folder.display())) } else { Ok(found) }
}

/// Unpacks a crate beside the vendored ones, with the checksum file that a directory source wants.
fn add(archive: &Path, folder: &Path, vendor: &Path) -> Outcome {
    let name = archive.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let unpacked = folder.join("unpacked");
    make_folder(&unpacked)?;
    shell(&format!("tar -xzf {}", archive.display()), &unpacked)?;
    copy_all(&unpacked.join(&name), &vendor.join(&name))?;
    let sum = output("sha256sum", &[&text(archive)])?;
    let sum = sum.split_whitespace().next().unwrap_or_default();
    let checksum = json!({"files": {}, "package": sum}).to_string();
    write(&vendor.join(&name).join(".cargo-checksum.json"), checksum.as_bytes())
}
