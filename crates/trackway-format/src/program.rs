//! The program that ran, as the user names it.

use trackway_image::Image;

use crate::error::Result;

/// Files of the program that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// ELF files, `PATH[@ADDR]` each.
    pub elf: Vec<String>,
    /// Raw memory images, `PATH@ADDR` each.
    pub raw: Vec<String>,
}

impl Program {
    /// True if no file is named.
    pub fn is_empty(&self) -> bool {
        self.elf.is_empty() && self.raw.is_empty()
    }

    /// Loads the files.
    pub fn load(&self) -> Result<Image> {
        let mut image = Image::default();
        for spec in &self.elf {
            image.open_elf(spec)?;
        }
        for spec in &self.raw {
            image.open_raw(spec)?;
        }
        Ok(image)
    }
}
