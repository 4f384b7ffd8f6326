//! Traces recorded from every program in `programs/riscv` verify clean, in both profiles and styles.

mod encode;

use trackway_tandem::{Profile, Style};

#[test]
fn every_program_verifies_clean_in_both_profiles() {
    let programs = encode::programs();
    assert!(programs.len() >= 24);
    let mut failed = Vec::new();
    for path in programs {
        for profile in [Profile::Spec, Profile::Bluespec] {
            let subject = encode::subject(&path, profile);
            let groups = encode::record(&subject, 400_000);
            for style in [Style::Verbose, Style::Compact] {
                let bytes = encode::bytes(&groups, &subject.config, style);
                let report = encode::verify_bytes(&subject, bytes, encode::options(&subject));
                let name = path.file_stem().unwrap().to_string_lossy().into_owned();
                if !report.passed() || report.adopted > report.instructions / 10 {
                    let text = report.text();
                    failed.push(format!(
                        "{name} {profile:?} {style:?}:\n{}",
                        text.lines().take(40).collect::<Vec<_>>().join("\n")
                    ));
                }
                eprintln!(
                    "{name} {profile:?} {style:?}: {} instructions, {} interrupts, {} exceptions, {} adopted, {} mismatches",
                    report.instructions,
                    report.interrupts,
                    report.exceptions,
                    report.adopted,
                    report.mismatches.len()
                );
            }
        }
    }
    assert!(
        failed.is_empty(),
        "{} failed\n{}",
        failed.len(),
        failed.iter().take(4).cloned().collect::<Vec<_>>().join("\n")
    );
}
