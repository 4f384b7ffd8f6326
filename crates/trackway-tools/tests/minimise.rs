//! A long failing trace becomes a snapshot and a few groups that fail in the same way.

mod encode;

use trackway_core::{Input, Source};
use trackway_tandem::{Profile, Record, Style, Trace};
use trackway_tools::verify::{Verifier, minimise};

#[test]
fn failing_traces_become_short() {
    for (name, at) in
        [("rv64-integer", 9000), ("rv64-sv39", 1500), ("rv64-privileged", 2500), ("rv32-float", 4000)]
    {
        let path = encode::programs()
            .into_iter()
            .find(|path| path.file_stem().is_some_and(|stem| stem == name))
            .unwrap();
        let subject = encode::subject(&path, Profile::Spec);
        let mut groups = encode::record(&subject, 12_000);
        let register = |r: &Record| matches!(r, Record::FullRegister { address: 0x1001..0x1020, .. });
        let csr_read = |r: &Record| matches!(r, Record::Instruction32(e) if e & 0x7f == 0x73);
        let damaged = groups[at..]
            .iter_mut()
            .find(|group| group.records.iter().any(register) && !group.records.iter().any(csr_read))
            .unwrap();
        for record in &mut damaged.records {
            if let Record::FullRegister { address: 0x1001..0x1020, data } = record {
                *data ^= 0x10;
            }
        }
        let bytes = encode::bytes(&groups, &subject.config, Style::Verbose);
        assert!(!encode::verify_bytes(&subject, bytes.clone(), encode::options(&subject)).passed());
        let mut open = || -> trackway_core::Result<Box<dyn Source>> {
            Ok(Box::new(Trace::open(Input::from_vec(bytes.clone()), subject.config)?.events()))
        };
        let mut prepare = |verifier: &mut Verifier| verifier.memory.load_program(&subject.program, 0);
        let minimal = minimise(&mut open, &encode::options(&subject), &mut prepare).unwrap().expect(name);
        assert!(minimal.groups <= 4, "{name}: {} groups", minimal.groups);
        assert!(minimal.trace.len() < bytes.len() / 5, "{name}: {} bytes", minimal.trace.len());
        assert_eq!(minimal.report.mismatches.len(), 1);
        // A trace that does not fail has no minimal one.
        let sound = encode::bytes(&encode::record(&subject, 2000), &subject.config, Style::Verbose);
        let mut open = || -> trackway_core::Result<Box<dyn Source>> {
            Ok(Box::new(Trace::open(Input::from_vec(sound.clone()), subject.config)?.events()))
        };
        assert!(minimise(&mut open, &encode::options(&subject), &mut prepare).unwrap().is_none());
    }
}
