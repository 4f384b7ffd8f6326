//! Events to packets: a builder of blocks in front of the encoder.

use std::io::Write;
use std::sync::Arc;

use trackway_core::*;
use trackway_image::{Code, Image};

use crate::config::{Config, ConfigError};
use crate::encode::Encoder;
use crate::encode::blocks::BlockBuilder;

/// Encodes events of a RISC-V execution.
///
/// ```
/// use trackway_core::*;
/// use trackway_etrace::{Config, Lower};
///
/// let mut lower = Lower::new(Vec::new(), &Config::default(), Isa::Rv64, None)?;
/// let mut batch = Batch::default();
/// batch.push(0, EventKind::Step(Step::new(0x8000_0000, 0x4501, 2))); // c.li a0, 0
/// batch.push(0, EventKind::Step(Step::new(0x8000_0002, 0x8082, 2))); // c.jr ra
/// lower.put(&batch)?;
/// lower.finish()?;
/// // Support, start, the last instruction, support.
/// assert_eq!(lower.encoder().writer.packets, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Lower<W> {
    out: W,
    encoder: Encoder,
    builder: BlockBuilder,
}

impl<W: Write> Lower<W> {
    /// An encoder that writes to `out`. Runs need the image that they ran on; steps bring their encodings.
    pub fn new(out: W, config: &Config, isa: Isa, image: Option<&Image>) -> Result<Self, ConfigError> {
        Ok(Lower { out, encoder: Encoder::new(config)?, builder: BlockBuilder::new(config, isa, image) })
    }

    /// Collects the instructions of events that `image` does not have.
    pub(crate) fn keep_code(&mut self, image: Arc<Image>) {
        self.builder.keep_code(image);
    }

    /// Those instructions.
    pub fn code(&self) -> Option<Code> {
        self.builder.executed.as_ref().map(|executed| executed.code())
    }

    /// Instructions that were collected so far, those that the image has included.
    pub(crate) fn code_len(&self) -> usize {
        self.builder.executed.as_ref().map_or(0, |executed| executed.len())
    }

    /// The encoder.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    #[cfg(test)]
    pub(crate) fn encoder_mut(&mut self) -> &mut Encoder {
        &mut self.encoder
    }

    /// The output.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Hands everything so far to the operating system.
    pub(crate) fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }

    fn drain(&mut self) -> Result<()> {
        self.out.write_all(&self.encoder.writer.bytes)?;
        self.encoder.writer.clear();
        Ok(())
    }
}

impl<W: Write + Send> Sink for Lower<W> {
    fn put(&mut self, batch: &Batch) -> Result<()> {
        self.builder.put(batch, &mut self.encoder);
        self.encoder.check_error()?;
        // Block padding depends on offsets, not on earlier bytes.
        if self.encoder.writer.bytes.len() >= 1 << 16 {
            self.drain()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Account> {
        self.builder.finish(&mut self.encoder)?;
        self.drain()?;
        self.out.flush()?;
        Ok(self.encoder.account.clone())
    }
}
