//! Instructions as hardware would trace them: the ETE trace unit, configured by its registers, encodes a recorded run, and the
//! decoder follows the program again.
//!
//! ```sh
//! cargo run -p trackway --example trace_unit
//! ```

use trackway::{ConvertOptions, Settings, Trace};

fn main() -> trackway::Result<()> {
    let mut settings = Settings::default();
    // TRCCONFIGR.CCI: with cycle counts.
    settings.set("ete", "TRCCONFIGR", 0x11_i64);
    let into = trackway::by_id(trackway::FORMATS, trackway::events::FormatId::new("ete"));
    let options = ConvertOptions { into, settings: Some(settings), ..ConvertOptions::default() };
    let to = std::env::temp_dir().join(format!("trackway-unit-{}.ete", std::process::id()));
    let mut recorded = Trace::options().elf("programs/aarch64/sort.elf").open("testdata/astf/sort.astf")?;
    let conversion = trackway::convert(&mut recorded, &to, &options)?;
    print!("{}", conversion.ledger);

    let mut snapshot = Trace::open(&to)?;
    let mut items = snapshot.items()?;
    let mut item = trackway::events::Item::default();
    for _ in 0..8 {
        if items.next(&mut item)? {
            println!("{:#06x} {} {}", item.offset, item.name, item.text);
        }
    }
    let mut steps = snapshot.steps()?;
    let mut count = 0;
    while steps.next()?.is_some() {
        count += 1;
    }
    println!("{count} instructions decoded from {}", to.display());
    std::fs::remove_dir_all(&to).map_err(trackway::io::FileError::at(&to))?;
    Ok(())
}
