//! The file format of speedscope.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::Profiled;
use super::stacks::stacks;

/// The profile as one JSON object that speedscope opens.
pub fn speedscope(profiled: &Profiled<'_>) -> Json {
    let stacks = stacks(profiled);
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut frames = Vec::new();
    let mut samples = Vec::new();
    for stack in &stacks {
        let sample: Vec<usize> = stack
            .labels
            .iter()
            .map(|label| {
                *numbers.entry(label).or_insert_with(|| {
                    frames.push(json!({ "name": label }));
                    frames.len() - 1
                })
            })
            .collect();
        samples.push(sample);
    }
    let weights: Vec<u64> = stacks.iter().map(|stack| stack.instructions).collect();
    json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": concat!("trackway ", env!("CARGO_PKG_VERSION")),
        "name": profiled.name,
        "activeProfileIndex": 0,
        "shared": { "frames": frames },
        "profiles": [{
            "type": "sampled",
            "name": profiled.name,
            "unit": "none",
            "startValue": 0,
            "endValue": weights.iter().sum::<u64>(),
            "samples": samples,
            "weights": weights,
        }],
    })
}
