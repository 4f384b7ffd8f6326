//! `trackway demo`: the main job on data in the binary.

use crate::cli::DemoArgs;
use crate::exit::{Exit, Failure};

pub(crate) fn run(_: &DemoArgs) -> Result<Exit, Failure> {
    Ok(Exit::Fine)
}
