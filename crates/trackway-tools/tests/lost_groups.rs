//! A group that is lost makes no false mismatch, and never passes.

mod encode;

use trackway_tandem::{Profile, Style};
use trackway_testkit::random::{Numbers, seeds};
use trackway_tools::verify::{Lack, Options, Verdict};

/// Tag that no item of either profile has.
const NO_ITEM: u8 = 0xee;

#[test]
fn a_lost_group_makes_no_mismatch_and_does_not_pass() {
    const PLACES: usize = 500;
    let seed = seeds(23..24).start;
    let names = ["sv32", "sv39", "sv48", "privileged", "atomic", "float", "mix"];
    let subjects: Vec<_> = encode::programs()
        .into_iter()
        .filter(|path| names.iter().any(|name| path.display().to_string().contains(name)))
        .flat_map(|path| [Profile::Spec, Profile::Bluespec].map(|profile| encode::subject(&path, profile)))
        .map(|subject| (encode::record(&subject, 6000), subject))
        .collect();
    let mut random = Numbers(seed);
    let (mut wrong, mut adopted) = (Vec::new(), 0);
    for n in 0..PLACES {
        let (groups, subject) = &subjects[random.below(subjects.len() as u64) as usize];
        let lost = 2 + random.below(groups.len() as u64 - 3) as usize;
        let style = if random.below(2) == 0 { Style::Verbose } else { Style::Compact };
        let mut bytes = encode::bytes(groups, &subject.config, style);
        let at = encode::bytes(&groups[..lost], &subject.config, style).len();
        bytes[at] = NO_ITEM;
        let options = encode::options(subject);
        let report = encode::verify_bytes(subject, bytes.clone(), options.clone());
        let lacks = report.lacks.count(Lack::Unreadable) + report.lacks.count(Lack::Gap);
        if report.verdict() != Verdict::Incomplete || lacks == 0 {
            let text = report.text();
            let text: Vec<&str> = text.lines().take(24).collect();
            wrong.push(format!(
                "---- {n}: group {lost}, {:?} {style:?}\n{}",
                subject.config.profile,
                text.join("\n")
            ));
        }
        let allowed = encode::verify_bytes(subject, bytes, Options { allow_gaps: lacks, ..options });
        assert_eq!(allowed.passed(), allowed.mismatches.is_empty(), "{}", allowed.text());
        adopted += report.adopted * 1000 / report.instructions.max(1);
    }
    eprintln!("{} of {PLACES} wrong, {} per mille adopted on average", wrong.len(), adopted / PLACES as u64);
    assert!(wrong.is_empty(), "{} of {PLACES}\n{}", wrong.len(), wrong[..wrong.len().min(3)].join("\n"));
}
