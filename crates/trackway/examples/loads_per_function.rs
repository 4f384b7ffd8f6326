//! Loads and stores by function, from the symbols of the program:
//!
//! ```sh
//! cargo run -p trackway --example loads_per_function -- testdata/stf/sort/trace.stf programs/riscv/sort.elf
//! ```

use std::collections::BTreeMap;

use trackway::events::MemKind;

fn main() -> trackway::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or("testdata/stf/sort/trace.stf".into());
    let elf = arguments.next().unwrap_or("programs/riscv/sort.elf".into());
    let mut trace = trackway::Trace::options().elf(elf).open(path)?;
    let programs = trace.programs()?;
    let mut counts: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    let mut steps = trace.steps()?;
    while let Some(step) = steps.next()? {
        let place = step.pc.and_then(|pc| programs.first()?.place(pc)).unwrap_or("?".into());
        let function = place.split('+').next().unwrap_or_default().to_string();
        for access in step.memory() {
            counts.entry(function.clone()).or_default()[usize::from(access.kind == MemKind::Write)] += 1;
        }
    }
    for (function, [loads, stores]) in counts {
        println!("{function:<24} {loads:>8} loads {stores:>8} stores");
    }
    Ok(())
}
