//! A file that a thread of its own writes, while the caller makes the next bytes.

use std::io::{self, Seek, SeekFrom, Write};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

/// Bytes that are handed over at once.
const BLOCK: usize = 1 << 18;
/// Blocks that may wait: where all cores are busy the thread runs some milliseconds late.
const AHEAD: usize = 16;

/// Hands what is written to a thread, block by block. That a write failed is returned by a later call, at the latest by
/// `flush`; nothing after it is written.
pub(crate) struct BackgroundWriter {
    block: Vec<u8>,
    /// None once it is dropped.
    orders: Option<SyncSender<Order>>,
    /// Blocks to be filled again; an error ends the thread.
    spare: Receiver<Vec<u8>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

enum Order {
    Write(Vec<u8>),
    Flush(Sender<io::Result<()>>),
    Seek(SeekFrom, Sender<io::Result<u64>>),
}

impl BackgroundWriter {
    pub(crate) fn new(mut file: impl Write + Seek + Send + 'static) -> Self {
        let (orders, received) = sync_channel(AHEAD);
        let (used, spare) = channel();
        let write = move || -> io::Result<()> {
            for order in received {
                match order {
                    Order::Write(mut block) => {
                        file.write_all(&block)?;
                        block.clear();
                        // The caller may have gone.
                        let _ = used.send(block);
                    }
                    Order::Flush(answer) => drop(answer.send(file.flush())),
                    Order::Seek(to, answer) => drop(answer.send(file.seek(to))),
                }
            }
            Ok(())
        };
        let thread = Some(std::thread::spawn(write));
        BackgroundWriter { block: Vec::with_capacity(BLOCK), orders: Some(orders), spare, thread }
    }

    fn order(&mut self, order: Order) -> io::Result<()> {
        match &self.orders {
            Some(orders) if orders.send(order).is_ok() => Ok(()),
            _ => Err(self.failure()),
        }
    }

    /// The thread has ended: the reason.
    fn failure(&mut self) -> io::Error {
        self.orders = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(Err(error))) => error,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            _ => io::Error::other("an earlier write failed"),
        }
    }

    fn pass_on(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let next = self.spare.try_recv().unwrap_or_else(|_| Vec::with_capacity(BLOCK));
        let block = std::mem::replace(&mut self.block, next);
        self.order(Order::Write(block))
    }

    fn ask<T>(&mut self, order: impl FnOnce(Sender<io::Result<T>>) -> Order) -> io::Result<T> {
        self.pass_on()?;
        let (answer, answered) = channel();
        self.order(order(answer))?;
        answered.recv().unwrap_or_else(|_| Err(self.failure()))
    }
}

impl Write for BackgroundWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.block.len() + bytes.len() > BLOCK {
            self.pass_on()?;
        }
        let taken = &bytes[..bytes.len().min(BLOCK)];
        self.block.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.ask(Order::Flush)
    }
}

impl Seek for BackgroundWriter {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.ask(|answer| Order::Seek(to, answer))
    }
}

impl Drop for BackgroundWriter {
    fn drop(&mut self) {
        // As with a file: what fails now is not reported.
        let _ = self.pass_on();
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Read};
    use std::sync::{Arc, Mutex};

    /// A file in memory with room for that many bytes.
    #[derive(Clone)]
    struct Disk(Arc<Mutex<Cursor<Vec<u8>>>>, usize);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut file = self.0.lock().unwrap();
            if file.position() as usize + bytes.len() > self.1 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            file.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Disk {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.lock().unwrap().seek(to)
        }
    }

    fn disk(room: usize) -> Disk {
        Disk(Arc::default(), room)
    }

    #[test]
    fn bytes_are_written_in_order_and_places_are_kept() {
        let disk = disk(usize::MAX);
        let mut wanted = Vec::new();
        let mut background = BackgroundWriter::new(disk.clone());
        for n in 0..2000u32 {
            let piece = vec![n as u8; (n as usize * 37) % 5000];
            background.write_all(&piece).unwrap();
            wanted.extend(piece);
        }
        let large = vec![7; 3 * BLOCK + 5];
        background.write_all(&large).unwrap();
        wanted.extend(large);
        assert_eq!(background.stream_position().unwrap(), wanted.len() as u64);
        background.seek(SeekFrom::Start(10)).unwrap();
        background.write_all(b"patched").unwrap();
        wanted[10..17].copy_from_slice(b"patched");
        drop(background);
        let mut found = Vec::new();
        let mut file = disk.0.lock().unwrap();
        file.set_position(0);
        file.read_to_end(&mut found).unwrap();
        assert!(found == wanted);
    }

    #[test]
    fn a_full_disk_is_reported_at_the_latest_by_flush() {
        let mut background = BackgroundWriter::new(disk(3 * BLOCK));
        let written = (0..40).try_for_each(|_| background.write_all(&[1; BLOCK / 4 + 1]));
        let error = written.and_then(|()| background.flush()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(background.flush().is_err(), "it stays failed");
        let mut small = BackgroundWriter::new(disk(10));
        small.write_all(&[1; 11]).unwrap();
        assert_eq!(small.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
