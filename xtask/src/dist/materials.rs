//! The crates that are linked into the program: their licences, and a bill of materials (CycloneDX 1.5).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::tree;

/// A linked crate of a registry.
pub(super) struct Linked {
    name: String,
    version: String,
    licence: String,
    repository: Option<String>,
    folder: PathBuf,
    checksum: Option<String>,
}

/// Crates that the program for `target` depends on, dependencies of tests left out, in the order of their names.
pub(super) fn linked(target: &str, features: &str) -> Result<Vec<Linked>, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target])
        .args(["--features", &format!("trackway-cli/{features}")])
        .current_dir(tree::root())
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let data: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
    let lock = fs::read_to_string(tree::root().join("Cargo.lock")).map_err(|error| error.to_string())?;
    from_metadata(&data, &checksums(&lock))
}

/// Name and version of each locked package, with the checksum of its archive.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let table: toml::Table = lock.parse().unwrap_or_default();
    let packages = table.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    packages
        .filter_map(|package| {
            let field = |name| package.get(name).and_then(toml::Value::as_str).map(str::to_string);
            Some(((field("name")?, field("version")?), field("checksum")?))
        })
        .collect()
}

fn from_metadata(
    data: &Value,
    checksums: &BTreeMap<(String, String), String>,
) -> Result<Vec<Linked>, String> {
    let packages: BTreeMap<&str, &Value> =
        array(&data["packages"]).filter_map(|package| Some((package["id"].as_str()?, package))).collect();
    let nodes: BTreeMap<&str, &Value> =
        array(&data["resolve"]["nodes"]).filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let program = packages.iter().find(|(_, package)| package["name"] == "trackway-cli");
    let (program, _) = program.ok_or("cargo metadata: trackway-cli is not there")?;
    let (mut seen, mut open) = (BTreeSet::new(), vec![*program]);
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        for dependency in nodes.get(id).map(|node| array(&node["deps"])).into_iter().flatten() {
            // A kind of null is an ordinary dependency.
            if array(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null()) {
                open.extend(dependency["pkg"].as_str());
            }
        }
    }
    let found = seen.iter().filter_map(|id| packages.get(id)).filter(|package| !package["source"].is_null());
    let mut found: Vec<Linked> = found
        .map(|package| {
            let text = |name: &str| package[name].as_str().unwrap_or_default().to_string();
            let (name, version) = (text("name"), text("version"));
            Linked {
                licence: text("license"),
                repository: package["repository"].as_str().map(str::to_string),
                folder: PathBuf::from(text("manifest_path")).parent().map(PathBuf::from).unwrap_or_default(),
                checksum: checksums.get(&(name.clone(), version.clone())).cloned(),
                name,
                version,
            }
        })
        .collect();
    found.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(found)
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The licences of all of them, each text once, with the crates that it is from.
pub(super) fn notices(linked: &[Linked]) -> Result<String, String> {
    let mut text = String::from("Trackway contains these crates under their own licences.\n\n");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in linked {
        let crate_ = format!("{} {}", package.name, package.version);
        if package.licence.is_empty() {
            return Err(format!("{crate_} names no licence"));
        }
        text.push_str(&format!("{crate_}: {}\n", package.licence));
        for path in tree::entries(&package.folder).iter().filter(|path| is_licence(path)) {
            let found = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
            texts.entry(String::from_utf8_lossy(&found).trim().to_string()).or_default().push(crate_.clone());
        }
    }
    for (licence, mut crates) in texts {
        crates.dedup();
        text.push_str(&format!("\n{}\n{}\n\n{licence}\n", "=".repeat(78), crates.join(", ")));
    }
    Ok(text)
}

fn is_licence(path: &std::path::Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_uppercase();
    path.is_file()
        && ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT", "UNLICENSE"]
            .iter()
            .any(|start| name.starts_with(start))
}

/// The bill of materials.
pub(super) fn bill(linked: &[Linked], version: &str) -> Result<String, String> {
    let components: Vec<Value> = linked
        .iter()
        .map(|package| {
            let purl = format!("pkg:cargo/{}@{}", package.name, package.version);
            let mut component = json!({
                "type": "library",
                "bom-ref": purl,
                "name": package.name,
                "version": package.version,
                "licenses": [{"expression": package.licence.replace('/', " OR ")}],
                "purl": purl,
            });
            if let Some(checksum) = &package.checksum {
                component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
            }
            if let Some(repository) = &package.repository {
                component["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
            }
            component
        })
        .collect();
    let bill = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {
            "type": "application",
            "bom-ref": format!("pkg:cargo/trackway-cli@{version}"),
            "name": "trackway",
            "version": version,
            "licenses": [{"expression": "MIT OR Apache-2.0"}],
        }},
        "components": components,
    });
    serde_json::to_string_pretty(&bill).map(|text| text + "\n").map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_linked_is_listed() {
        let package = |name: &str, source: Value| {
            json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "source": source,
                   "manifest_path": "nowhere/Cargo.toml", "repository": null})
        };
        let on = |name: &str, kind: Value| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let data = json!({
            "packages": [package("trackway-cli", Value::Null), package("a", json!("registry")),
                         package("b", json!("registry")), package("tested", json!("registry"))],
            "resolve": {"nodes": [
                {"id": "trackway-cli", "deps": [on("a", Value::Null), on("tested", json!("dev"))]},
                {"id": "a", "deps": [on("b", Value::Null)]},
            ]},
        });
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"12ab\"\n";
        let found = from_metadata(&data, &checksums(lock)).unwrap();
        let names: Vec<&str> = found.iter().map(|package| &*package.name).collect();
        assert_eq!(names, ["a", "b"]);
        let bill: Value = serde_json::from_str(&bill(&found, "0.1.0").unwrap()).unwrap();
        assert_eq!(bill["components"][0]["hashes"][0]["content"], "12ab");
        assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["components"][1].get("hashes"), None);
    }
}
