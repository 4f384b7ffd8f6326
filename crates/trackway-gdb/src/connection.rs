//! Bytes from and to a debugger. A thread of its own reads, so that a search can look for an interrupt.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use gdbstub::conn::ConnectionExt;

/// Both directions.
pub(crate) struct Connection {
    received: Receiver<Vec<u8>>,
    /// Received and not read yet, the next byte last.
    waiting: Vec<u8>,
    output: Box<dyn Write>,
    /// Bytes of a packet that is being written.
    packet: Vec<u8>,
}

/// Blocks that wait to be read, at most.
const BLOCKS: usize = 64;

impl Connection {
    pub(crate) fn new(mut input: impl Read + Send + 'static, output: Box<dyn Write>) -> Self {
        let (sender, received) = sync_channel(BLOCKS);
        std::thread::spawn(move || {
            let mut block = [0; 4096];
            while let Ok(length @ 1..) = input.read(&mut block) {
                if sender.send(block[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Connection { received, waiting: Vec::new(), output, packet: Vec::new() }
    }

    fn take(&mut self, mut block: Vec<u8>) {
        block.reverse();
        self.waiting = block;
    }
}

impl gdbstub::conn::Connection for Connection {
    type Error = Error;

    fn write(&mut self, byte: u8) -> Result<()> {
        self.packet.push(byte);
        Ok(())
    }

    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        self.packet.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.output.write_all(&self.packet)?;
        self.packet.clear();
        self.output.flush()
    }
}

impl ConnectionExt for Connection {
    fn read(&mut self) -> Result<u8> {
        loop {
            if let Some(byte) = self.waiting.pop() {
                return Ok(byte);
            }
            let block = self.received.recv().map_err(|_| Error::from(ErrorKind::UnexpectedEof))?;
            self.take(block);
        }
    }

    fn peek(&mut self) -> Result<Option<u8>> {
        if self.waiting.is_empty() {
            match self.received.try_recv() {
                Ok(block) => self.take(block),
                Err(TryRecvError::Empty) => return Ok(None),
                Err(TryRecvError::Disconnected) => return Err(ErrorKind::UnexpectedEof.into()),
            }
        }
        Ok(self.waiting.last().copied())
    }
}
