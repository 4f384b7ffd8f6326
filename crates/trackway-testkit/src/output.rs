//! Output that can be read back.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// A writer whose bytes can be looked at while a sink owns it: give away a clone.
///
/// ```
/// use std::io::Write;
/// let out = trackway_testkit::output::Shared::default();
/// let mut sink: Box<dyn Write + Send> = Box::new(out.clone());
/// sink.write_all(b"ASTF")?;
/// assert_eq!(out.take(), b"ASTF");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    /// Bytes written since the last call.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
