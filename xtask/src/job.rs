//! The jobs of the package `trackway-bench`.

use crate::tree;

/// A job of the manifest.
pub(crate) struct Job {
    /// Name of the bench.
    pub(crate) name: String,
    /// Features that it needs.
    features: Vec<String>,
}

impl Job {
    /// The arguments of cargo for this job.
    pub(crate) fn arguments(&self, opencsd: bool) -> Vec<String> {
        let words = ["bench", "--locked", "-p", "trackway-bench", "--bench", &self.name];
        let features = self.features.iter().map(String::as_str).chain(opencsd.then_some("opencsd"));
        words.into_iter().chain(features.flat_map(|name| ["--features", name])).map(str::to_string).collect()
    }
}

/// The jobs, in the order of the manifest.
pub(crate) fn jobs() -> Vec<Job> {
    let package = tree::Package::read(&tree::root().join("benches"));
    let benches = package.and_then(|package| package.manifest.get("bench")?.as_array().cloned());
    let job = |bench: &toml::Value| {
        let features = bench.get("required-features").and_then(toml::Value::as_array);
        let texts = features.into_iter().flatten().filter_map(|name| Some(name.as_str()?.to_string()));
        Some(Job { name: bench.get("name")?.as_str()?.to_string(), features: texts.collect() })
    };
    benches.iter().flatten().filter_map(job).collect()
}
