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
    /// The start of the packet that is being read.
    read: Vec<u8>,
    /// The thread that the last `Hc` named: with `set scheduler-locking on` it alone moves. gdbstub keeps it to itself.
    pub(crate) resumed: Option<usize>,
}

/// Bytes of a packet with the number of a thread.
const SHORT: usize = 24;

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
        let (packet, read) = (Vec::new(), Vec::new());
        Connection { received, waiting: Vec::new(), output, packet, read, resumed: None }
    }

    /// Looks for `Hc` in the bytes that are read.
    fn look(&mut self, byte: u8) {
        match byte {
            b'$' => self.read.clear(),
            b'#' => {
                if let Some(id) = self.read.strip_prefix(b"Hc") {
                    // `p1.2`, or `2`; -1 is all of them, 0 any.
                    let id = id.rsplit(|byte| *byte == b'.').next().unwrap_or(id);
                    let id = std::str::from_utf8(id).ok().and_then(|id| usize::from_str_radix(id, 16).ok());
                    self.resumed = id.filter(|id| *id > 0);
                }
            }
            _ if self.read.len() < SHORT => self.read.push(byte),
            _ => {}
        }
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
                self.look(byte);
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
