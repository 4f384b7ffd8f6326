//! Addresses of the instructions in a trace of any format:
//!
//! ```sh
//! cargo run -p trackway --example pcs -- testdata/ete/count
//! ```

fn main() -> trackway::Result<()> {
    let path = std::env::args().nth(1).unwrap_or("testdata/stf/sort/trace.stf".into());
    let mut trace = trackway::Trace::open(path)?;
    let mut steps = trace.steps()?;
    let mut count = 0;
    while let Some(step) = steps.next()? {
        count += 1;
        println!("{:016x}  {}", step.pc.unwrap_or(0), step.text());
    }
    println!("{count} instructions");
    Ok(())
}
