//! `cargo run -p trackway-fuzz --example seeds FOLDER [TARGET…]`: writes the inputs to begin with to `FOLDER/TARGET`.

use std::path::Path;

use trackway_fuzz::{TARGETS, seeds};

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or(std::io::Error::other("which folder?"))?;
    let wanted: Vec<String> = arguments.collect();
    for (name, _) in
        TARGETS.iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|of| of == name))
    {
        let folder = Path::new(&folder).join(name);
        std::fs::create_dir_all(&folder)?;
        for (n, seed) in seeds(name).iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{n:03}")), seed)?;
        }
    }
    Ok(())
}
