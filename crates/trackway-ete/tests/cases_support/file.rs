//! A file of cases: blocks that start at the left margin, and their indented lines.

use std::collections::BTreeMap;
use std::sync::Arc;

use trackway_ete::{Config, Profile};
use trackway_image::{Image, Space};

/// A block: its first line, and its lines as they are in the file.
pub(crate) struct Block<'a> {
    /// Words of the first line.
    pub(crate) words: Vec<&'a str>,
    /// The first line; comments and blank lines outside blocks are blocks without words.
    pub(crate) head: &'a str,
    pub(crate) lines: Vec<&'a str>,
}

/// A file, and the definitions in it.
pub(crate) struct CaseFile<'a> {
    pub(crate) blocks: Vec<Block<'a>>,
    pub(crate) units: BTreeMap<&'a str, BTreeMap<String, u64>>,
    pub(crate) programs: BTreeMap<&'a str, Arc<Image>>,
    /// Named starts of streams.
    pub(crate) starts: BTreeMap<&'a str, Vec<u8>>,
}

/// A line without its comment.
pub(crate) fn code(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or_default().trim()
}

/// A number, in hex with `0x`.
pub(crate) fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    }
    .unwrap_or_else(|_| panic!("`{text}` is not a number"))
}

pub(crate) fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_else(|_| panic!("`{text}` is not a hex number"))
}

/// Words with repetitions: `f7*3` is `f7 f7 f7`.
fn repeated(line: &str) -> impl Iterator<Item = &str> {
    code(line).split_whitespace().flat_map(|word| {
        let (word, count) = word.split_once('*').unwrap_or((word, "1"));
        std::iter::repeat_n(word, number(count) as usize)
    })
}

/// The bytes of a line.
pub(crate) fn bytes(line: &str) -> Vec<u8> {
    repeated(line).map(|byte| hex(byte) as u8).collect()
}

/// `NAME=VALUE` words.
pub(crate) fn settings<'a>(words: &[&'a str]) -> Vec<(&'a str, u64)> {
    let pair = |word: &&'a str| word.split_once('=').map(|(name, value)| (name, number(value)));
    words.iter().filter_map(pair).collect()
}

impl<'a> CaseFile<'a> {
    pub(crate) fn read(text: &'a str) -> Self {
        let mut blocks: Vec<Block<'a>> = Vec::new();
        for line in text.lines() {
            let indented = line.starts_with(' ');
            match blocks.last_mut() {
                Some(block) if indented => block.lines.push(line),
                _ => blocks.push(Block {
                    words: code(line).split_whitespace().collect(),
                    head: line,
                    lines: Vec::new(),
                }),
            }
        }
        let mut file = CaseFile {
            blocks: Vec::new(),
            units: BTreeMap::new(),
            programs: BTreeMap::new(),
            starts: BTreeMap::new(),
        };
        let is_case = |block: &Block<'_>| block.words.first() == Some(&"case");
        let definitions = blocks.iter().position(is_case).unwrap_or(blocks.len());
        for block in &blocks[..definitions] {
            match block.words[..] {
                ["unit", name] => {
                    let words: Vec<&str> =
                        block.lines.iter().flat_map(|line| code(line).split_whitespace()).collect();
                    let set = settings(&words).into_iter().map(|(name, value)| (name.to_string(), value));
                    file.units.insert(name, set.collect());
                }
                ["program", name, ..] => {
                    file.programs.insert(name, Arc::new(image(block)));
                }
                ["start", name] => {
                    file.starts.insert(name, block.lines.iter().flat_map(|line| bytes(line)).collect());
                }
                [] => {}
                _ => panic!("`{}` is not a definition", block.head),
            }
        }
        file.blocks = blocks;
        file
    }

    /// `NAME REGISTER=VALUE … profile=P`.
    pub(crate) fn config(&self, words: &[&str]) -> Config {
        let mut registers = self.units[words[0]].clone();
        let mut profile = Profile::A;
        for word in &words[1..] {
            match word.split_once('=') {
                Some(("profile", "v7m")) => profile = Profile::V7M,
                Some(("profile", "v8m")) => profile = Profile::V8M,
                Some((name, value)) => drop(registers.insert(name.to_string(), number(value))),
                None => panic!("`{word}` is not REGISTER=VALUE"),
            }
        }
        let mut config = Config::from_registers("test", registers, None).unwrap();
        config.profile = profile;
        config
    }
}

/// `ADDRESS: WORD …`, with words of 8 digits or T32 halfwords of 4; `CONTEXTIDR=N` limits the lines after it.
fn image(block: &Block<'_>) -> Image {
    let mut image = Image::default();
    let mut space = Space::default();
    let mut stretch: (u64, Vec<u8>) = (0, Vec::new());
    let mut add = |stretch: &mut (u64, Vec<u8>), space: &Space| {
        if !stretch.1.is_empty() {
            let bytes = Arc::new(std::mem::take(&mut stretch.1));
            image.add_raw("code", stretch.0, bytes, space.clone()).unwrap();
        }
    };
    for line in &block.lines {
        if let Some(id) = code(line).strip_prefix("CONTEXTIDR=") {
            add(&mut stretch, &space);
            space.context_id = Some(number(id));
        } else if let Some((address, words)) = code(line).split_once(':') {
            let address = hex(address);
            if address != stretch.0 + stretch.1.len() as u64 {
                add(&mut stretch, &space);
                stretch.0 = address;
            }
            for word in repeated(words) {
                stretch.1.extend(&(hex(word) as u32).to_le_bytes()[..word.len() / 2]);
            }
        }
    }
    add(&mut stretch, &space);
    image
}
