//! A trace in another format, with the ledger of what was lost:
//!
//! ```sh
//! cargo run -p trackway --example convert -- testdata/stf/sort/trace.stf sort.tv
//! ```

fn main() -> trackway::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let from = arguments.next().unwrap_or("testdata/stf/sort/trace.stf".into());
    let to = arguments.next().map_or_else(|| std::env::temp_dir().join("trackway-example.tv"), Into::into);
    let mut trace = trackway::Trace::open(from)?;
    let conversion = trackway::convert(&mut trace, &to, &Default::default())?;
    print!("{}", conversion.ledger);
    // The proof of a conversion: read it back.
    let mut steps = trackway::Trace::open(&to)?.steps()?;
    let mut count = 0;
    while steps.next()?.is_some() {
        count += 1;
    }
    println!("{count} instructions in {}", to.display());
    Ok(())
}
