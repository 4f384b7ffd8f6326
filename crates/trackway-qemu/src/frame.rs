//! Frames of the plugin's stream: a header of eight words, then words. `plugin/qemu/STREAM.md` has the format.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Begins each frame: `TWQ3`.
const MAGIC: u32 = u32::from_le_bytes(*b"TWQ3");

const OTHER_VERSION: &str = "the plugin is of another version than trackway: build it again";

/// Most words of a frame: the plugin's buffers are smaller.
const MOST: u32 = 1 << 20;

/// Bytes of a header, and where the number of words is in it.
const HEADER: usize = 32;
const LENGTH: u64 = 24;

/// Kind of frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// Lines `name=value` about QEMU and the program.
    Hello,
    /// Instructions: four words each, numbered from 0 for each process.
    Code,
    /// Numbers of instructions that were executed, and records between them.
    Executed,
    /// Another process is about to connect.
    Fork,
    /// The frame, which is one of [`Kind::Executed`], is in the file of its buffer.
    Filled,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: Kind,
    pub(crate) pid: u32,
    pub(crate) cpu: u32,
    pub(crate) tid: u32,
    pub(crate) sequence: u32,
    /// Number of the buffer's file; 0 for a frame that was not made in a buffer.
    pub(crate) file: u32,
    pub(crate) words: Vec<u32>,
}

fn damaged(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// The next frame; none at the end. A frame that is cut short is an error of the kind `UnexpectedEof`.
pub(crate) fn read(input: &mut impl Read) -> io::Result<Option<Frame>> {
    let mut header = [0; HEADER];
    let mut have = 0;
    while have < HEADER {
        match input.read(&mut header[have..]) {
            Ok(0) if have == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => have += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let word = |n: usize| u32::from_le_bytes(std::array::from_fn(|k| header[4 * n + k]));
    if word(0) != MAGIC {
        return Err(damaged(match word(0).to_le_bytes() {
            [b'T', b'W', b'Q', _] => OTHER_VERSION,
            _ => "not a stream of trackway's QEMU plugin",
        }));
    }
    let kind = match word(1) {
        0 => Kind::Hello,
        1 => Kind::Code,
        2 => Kind::Executed,
        3 => Kind::Fork,
        4 => Kind::Filled,
        _ => return Err(damaged(OTHER_VERSION)),
    };
    let length = word(6);
    if length > MOST {
        return Err(damaged("a frame that is longer than any"));
    }
    let mut bytes = vec![0; 4 * length as usize];
    input.read_exact(&mut bytes)?;
    let (words, file) = (bytes.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four)), word(7));
    let words = words.collect();
    Ok(Some(Frame { kind, pid: word(2), cpu: word(3), tid: word(4), sequence: word(5), file, words }))
}

/// Takes the words out of the buffer's file at `path`: the plugin may then fill it again. `bytes` is for reuse.
pub(crate) fn take(path: &Path, bytes: &mut Vec<u8>, words: &mut Vec<u32>) -> io::Result<()> {
    let file = File::options().read(true).write(true).open(path)?;
    let mut length = [0; 4];
    file.read_exact_at(&mut length, LENGTH)?;
    let length = u32::from_le_bytes(length);
    if length > MOST {
        return Err(damaged("a frame that is longer than any"));
    }
    bytes.resize(4 * length as usize, 0);
    file.read_exact_at(bytes, HEADER as u64)?;
    words.clear();
    words.extend(bytes.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four)));
    file.write_all_at(&[0; 4], LENGTH)
}

impl Frame {
    /// The lines of a [`Kind::Hello`].
    pub(crate) fn lines(&self) -> Vec<(String, String)> {
        let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let text = String::from_utf8_lossy(&bytes);
        let pair =
            |line: &str| line.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()));
        text.lines().filter_map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(kind: u32, words: &[u32]) -> Vec<u8> {
        let header = [MAGIC, kind, 7, 1, 9, 3, words.len() as u32, 5];
        header.iter().chain(words).flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn frames_are_read_and_cut_ones_say_so() {
        let two = [bytes(2, &[1, 2, 3]), bytes(3, &[])].concat();
        let mut input = &two[..];
        let frame = read(&mut input).unwrap().unwrap();
        let expected = Frame {
            kind: Kind::Executed,
            pid: 7,
            cpu: 1,
            tid: 9,
            sequence: 3,
            file: 5,
            words: vec![1, 2, 3],
        };
        assert_eq!(frame, expected);
        assert_eq!(read(&mut input).unwrap().unwrap().kind, Kind::Fork);
        assert_eq!(read(&mut input).unwrap(), None);
        for cut in 1..two.len() - 32 {
            let error = read(&mut &two[..cut]).err();
            assert_eq!(error.map(|error| error.kind()), (cut < 44).then_some(io::ErrorKind::UnexpectedEof));
        }
    }

    /// A buffer whose frame was taken is empty, for the plugin to see.
    #[test]
    fn frames_are_taken_out_of_their_files() {
        let path = std::env::temp_dir().join(format!("trackway-frame-{}", std::process::id()));
        std::fs::write(&path, [bytes(2, &[4, 5, 6]), vec![0; 100]].concat()).unwrap();
        let (mut scratch, mut words) = (Vec::new(), vec![9]);
        take(&path, &mut scratch, &mut words).unwrap();
        assert_eq!(words, [4, 5, 6]);
        take(&path, &mut scratch, &mut words).unwrap();
        assert_eq!(words, []);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn damage_is_an_error() {
        assert!(read(&mut &[0; 64][..]).is_err());
        let mut older = bytes(2, &[]);
        older[3] = b'2';
        assert!(read(&mut &older[..]).unwrap_err().to_string().contains("another version"));
        assert!(read(&mut &bytes(9, &[])[..]).is_err());
        let mut long = bytes(2, &[]);
        long[24..28].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(read(&mut &long[..]).is_err());
    }
}
