//! `trackway stats --with`: results of the analyses that are asked for.

use std::io::Write;

use serde_json::{Value as Json, json};
use trackway_tools::asked::{
    Analysis, Answers, Dependences, Loops, Powers, Predictors, Reuse, Sharing, Strides,
};
use trackway_tools::stats::Summary;

use crate::address::{at, place};
use crate::info::shown;
use crate::json::{Object, hex};

/// The results that were asked for, by heading; `null` where the trace holds nothing of it.
pub(crate) fn groups(
    stats: &Summary,
    asked: &[Analysis],
    answers: &Answers,
    top: usize,
    sources: &[String],
) -> Vec<(&'static str, Json)> {
    let show = Show { stats, top, sources };
    let group = |analysis: Analysis| {
        let group = match analysis {
            Analysis::Predictors => answers.predictors.as_ref().map(|found| show.predictors(found)),
            Analysis::Loops => answers.loops.as_ref().map(|found| show.loops(found)),
            Analysis::Dependences => answers.dependences.as_ref().map(dependences),
            Analysis::Reuse => answers.reuse.as_ref().map(reuse),
            Analysis::Strides => answers.strides.as_ref().map(|found| show.strides(found)),
            Analysis::Sharing => answers.sharing.as_ref().map(|found| show.sharing(found)),
        };
        (analysis.as_str(), group.unwrap_or(Json::Null))
    };
    Analysis::ALL.into_iter().filter(|analysis| asked.contains(analysis)).map(group).collect()
}

struct Show<'s> {
    stats: &'s Summary,
    top: usize,
    sources: &'s [String],
}

impl Show<'_> {
    fn at(&self, name: &str, address: trackway_tools::stats::Address, more: Json) -> Json {
        let mut entry = at(name, address, self.stats, self.sources);
        if let Json::Object(more) = more {
            entry.extend(more);
        }
        entry.into()
    }

    fn predictors(&self, found: &Predictors) -> Json {
        let list = found.list.iter().map(|predicted| {
            let mut worst: Vec<_> = predicted.places.iter().filter(|(_, counts)| counts[1] > 0).collect();
            worst.sort_by_key(|(address, counts)| (std::cmp::Reverse(counts[1]), **address));
            let worst = worst.into_iter().take(self.top).map(|(address, [predictions, missed])| {
                let more = json!({ "predictions": predictions, "mispredictions": missed });
                self.at("pc", *address, more)
            });
            json!({
                "name": predicted.predictor.as_str(),
                "size": predicted.predictor.size(),
                "predictions": predicted.counts.map(|[predictions, _]| predictions),
                "mispredictions": predicted.counts.map(|[_, missed]| missed),
                "per_mille": predicted.counts.map(|[predictions, missed]| per_mille(missed, predictions)),
                "worst": worst.collect::<Vec<_>>(),
            })
        });
        let list: Vec<Json> = list.collect();
        json!({ "branches_without_outcome": found.unknown, "gaps": found.gaps, "list": list })
    }

    fn loops(&self, found: &Loops) -> Json {
        let row = |row: &trackway_tools::asked::Loop| {
            let more = json!({
                "last": hex(row.last),
                "entries": row.entries,
                "iterations": row.iterations,
                "trips_least": row.trips[0],
                "trips_mean_per_mille": per_mille(row.iterations, row.entries),
                "trips_most": row.trips[1],
                "instructions": row.instructions,
                "cut": row.cut,
            });
            self.at("header", row.header, more)
        };
        json!({
            "distinct": found.list.len(),
            "entries": found.list.iter().map(|row| row.entries).sum::<u64>(),
            "iterations": found.list.iter().map(|row| row.iterations).sum::<u64>(),
            "instructions_of_unknown_code": found.unseen,
            "gaps": found.gaps,
            "list": found.list.iter().take(self.top).map(row).collect::<Vec<_>>(),
        })
    }

    fn strides(&self, found: &Strides) -> Json {
        let row = |row: &trackway_tools::asked::Stride| {
            let more = json!({
                "executions": row.executions,
                "stride": row.most.map(|(stride, _)| stride.to_string()),
                "share_per_mille": row.most.map(|(_, count)| per_mille(count, row.strides)),
                "left_out": row.left_out,
            });
            self.at("pc", row.address, more)
        };
        json!({
            "instructions": found.list.len(),
            "accesses_of_runs": found.unseen,
            "gaps": found.gaps,
            "list": found.list.iter().take(self.top).map(row).collect::<Vec<_>>(),
        })
    }

    fn sharing(&self, found: &Sharing) -> Json {
        let name = |source: &u16| {
            self.sources.get(usize::from(*source)).cloned().unwrap_or_else(|| source.to_string())
        };
        let row = |line: &trackway_tools::asked::SharedLine| {
            json!({
                "address": hex(line.address),
                "accesses": line.accesses,
                "sources": line.sources.iter().map(name).collect::<Vec<_>>(),
            })
        };
        json!({
            "lines_shared": found.lines,
            "lines_shared_and_written": found.written,
            "lines_falsely_shared": found.falsely.len(),
            "too_long": found.too_long,
            "gaps": found.gaps,
            "list": found.falsely.iter().take(self.top).map(row).collect::<Vec<_>>(),
        })
    }
}

fn dependences(found: &Dependences) -> Json {
    json!({
        "instructions": found.instructions,
        "instructions_without_registers": found.unseen,
        "reads": found.distances.total() + found.unknown,
        "reads_without_writer": found.unknown,
        "gaps": found.gaps,
        "distances": powers(&found.distances),
    })
}

fn reuse(found: &Reuse) -> Json {
    json!({
        "exact": found.one_in == 1,
        "lines_followed_one_in": found.one_in,
        "touches": found.touches,
        "cold": found.cold,
        "too_long": found.too_long,
        "gaps": found.gaps,
        "distances": powers(&found.distances),
    })
}

fn powers(powers: &Powers) -> Json {
    powers.entries().map(|(from, count)| json!({ "from": from, "count": count })).collect()
}

/// A share in whole thousandths, rounded.
fn per_mille(part: u64, whole: u64) -> u64 {
    let whole = u128::from(whole.max(1));
    ((u128::from(part) * 1000 + whole / 2) / whole) as u64
}

/// Prints one of them.
pub(crate) fn print(out: &mut impl Write, heading: &str, facts: &Object) -> std::io::Result<()> {
    for (name, value) in facts {
        let Json::Array(entries) = value else {
            writeln!(out, "  {:<32} {:>14}", name.replace('_', " "), shown(value))?;
            continue;
        };
        for entry in entries {
            entry_line(out, heading, entry)?;
        }
    }
    Ok(())
}

fn entry_line(out: &mut impl Write, heading: &str, entry: &Json) -> std::io::Result<()> {
    let field = |name: &str| entry.get(name).map(shown).unwrap_or_default();
    let number = |name: &str| entry.get(name).and_then(Json::as_u64);
    let share =
        |name: &str| number(name).map_or("unknown".to_string(), |n| format!("{}.{} %", n / 10, n % 10));
    match heading {
        "predictors" => {
            let name = field("name");
            if number("predictions").is_none() {
                return writeln!(out, "  {name:<32} not in this trace");
            }
            let (predictions, missed) = (field("predictions"), field("mispredictions"));
            let (rate, size) = (share("per_mille"), field("size"));
            writeln!(out, "  {name:<32} {predictions} predictions, {missed} wrong ({rate}); {size}")?;
            for worst in entry.get("worst").and_then(Json::as_array).into_iter().flatten() {
                let field = |name: &str| worst.get(name).map(shown).unwrap_or_default();
                let (predictions, missed) = (field("predictions"), field("mispredictions"));
                writeln!(out, "    {:<30} {predictions} predictions, {missed} wrong", place(worst))?;
            }
            Ok(())
        }
        "loops" => {
            let mean = number("trips_mean_per_mille").unwrap_or(0);
            let cut = if number("cut") > Some(0) {
                format!(", {} cut by gaps", field("cut"))
            } else {
                String::new()
            };
            writeln!(
                out,
                "  {:<32} {} entries, {} iterations ({} to {}, mean {}.{:03}), {} instructions{cut}",
                place(entry),
                field("entries"),
                field("iterations"),
                field("trips_least"),
                field("trips_most"),
                mean / 1000,
                mean % 1000,
                field("instructions"),
            )
        }
        "strides" => {
            let (place, executions) = (place(entry), field("executions"));
            if entry.get("stride").is_none_or(Json::is_null) {
                return writeln!(out, "  {place:<32} {executions} executions");
            }
            let least = if number("left_out") > Some(0) { "at least " } else { "" };
            let (stride, share) = (field("stride"), share("share_per_mille"));
            writeln!(out, "  {place:<32} {executions} executions, stride {stride} in {least}{share}")
        }
        "sharing" => {
            let sources: Vec<String> =
                entry.get("sources").and_then(Json::as_array).into_iter().flatten().map(shown).collect();
            let (address, accesses) = (field("address"), field("accesses"));
            writeln!(out, "  {address:<32} {accesses} accesses by {}", sources.join(", "))
        }
        _ => {
            let from = number("from").unwrap_or(0);
            let to = if from < 2 { String::new() } else { format!(" to {}", from.saturating_mul(2) - 1) };
            writeln!(out, "  {:<32} {:>14}", format!("distance {from}{to}"), field("count"))
        }
    }
}
