//! Dependencies between crates point one way, and formats do not know each other.

use crate::tree::{self, Package};

/// Layers from the bottom up: a crate may depend on those of the layers below its own.
const LAYERS: [&[&str]; 11] = [
    &["trackway-core"],
    &["trackway-io", "trackway-isa"],
    &["trackway-image"],
    &["trackway-format"],
    &[
        "trackway-stf",
        "trackway-astf",
        "trackway-etrace",
        "trackway-tandem",
        "trackway-ete",
        "trackway-logs",
        "trackway-hart",
        "trackway-qemu",
    ],
    // Recordings that hold traces of another format.
    &["trackway-perf"],
    &["trackway"],
    &["trackway-tools", "trackway-columns"],
    // The ways to look at one trace for a long time, and the interface for programs in C.
    &["trackway-gdb", "trackway-capi", "trackway-view", "trackway-dap", "trackway-browse"],
    &["trackway-cli", "trackway-testkit"],
    // Other languages.
    &["trackway-py"],
];

/// Dependencies that point up or sideways. Dependencies of tests may.
pub(crate) fn check() -> Vec<String> {
    let crates = tree::root().join("crates");
    tree::packages()
        .iter()
        .filter(|package| package.folder.starts_with(&crates))
        .flat_map(of_package)
        .collect()
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

fn of_package(package: &Package) -> Vec<String> {
    let Some(own) = layer(&package.name) else {
        // Judges of our own code lie beside the layers.
        let judge = package.dependencies("dependencies").is_empty();
        let text = format!("{} has no layer: add it to LAYERS in xtask/src/layers.rs", package.name);
        return if judge { Vec::new() } else { vec![text] };
    };
    let wrong = |name: &String| layer(name).is_some_and(|other| other >= own);
    let dependencies = package.dependencies("dependencies").into_iter().filter(wrong);
    dependencies.map(|name| format!("{} must not depend on {name}", package.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Scratch;

    fn found(test: &str, manifest: &str) -> Vec<String> {
        let scratch = Scratch::new(test, &[("Cargo.toml", manifest)]);
        of_package(&Package::read(&scratch.0).unwrap())
    }

    #[test]
    fn a_format_that_knows_another_is_found() {
        let manifest =
            "[package]\nname = 'trackway-stf'\n[dependencies]\ntrackway-core = '1'\ntrackway-ete = '1'";
        assert_eq!(found("sideways", manifest), ["trackway-stf must not depend on trackway-ete"]);
    }

    #[test]
    fn a_dependency_upwards_is_found() {
        let manifest = "[package]\nname = 'trackway-core'\n[dependencies]\ntrackway-isa.workspace = true";
        assert_eq!(found("upwards", manifest), ["trackway-core must not depend on trackway-isa"]);
    }

    #[test]
    fn downwards_is_fine_and_so_are_tests() {
        let manifest = "[package]\nname = 'trackway-stf'\n[dependencies]\ntrackway-image = '1'\n[dev-dependencies]\ntrackway-ete = '1'";
        assert_eq!(found("down", manifest), Vec::<String>::new());
    }

    #[test]
    fn a_crate_without_a_layer_is_found() {
        let manifest = "[package]\nname = 'trackway-new'\n[dependencies]\nobject = '1'";
        assert_eq!(found("new", manifest).len(), 1);
    }
}
