//! A flattened device tree (Devicetree Specification 0.4, chapter 5): just enough to write one.

/// Tokens of the structure block (5.4.1).
const BEGIN: u32 = 1;
const END: u32 = 2;
const PROPERTY: u32 = 3;
const LAST: u32 = 9;

/// Bytes of the header (5.2), and of the reservation block (5.3), which only has its end.
const HEADER: usize = 40;
const RESERVATIONS: usize = 16;

/// A tree that is being written.
#[derive(Debug, Default)]
pub(super) struct Tree {
    structure: Vec<u8>,
    strings: Vec<u8>,
}

impl Tree {
    fn word(&mut self, word: u32) {
        self.structure.extend(word.to_be_bytes());
    }

    fn align(&mut self) {
        self.structure.resize(self.structure.len().next_multiple_of(4), 0);
    }

    /// A node, with what `inside` writes into it.
    pub(super) fn node(&mut self, name: &str, inside: impl FnOnce(&mut Self)) {
        self.word(BEGIN);
        self.structure.extend(name.as_bytes());
        self.structure.push(0);
        self.align();
        inside(self);
        self.word(END);
    }

    /// A property with these bytes.
    pub(super) fn bytes(&mut self, name: &str, value: &[u8]) {
        let wanted = [name.as_bytes(), &[0]].concat();
        let mut starts = (0..self.strings.len()).filter(|n| *n == 0 || self.strings[n - 1] == 0);
        let at = starts.find(|n| self.strings[*n..].starts_with(&wanted)).unwrap_or(self.strings.len());
        if at == self.strings.len() {
            self.strings.extend(wanted);
        }
        self.word(PROPERTY);
        self.word(value.len() as u32);
        self.word(at as u32);
        self.structure.extend(value);
        self.align();
    }

    /// A property of 32-bit cells.
    pub(super) fn cells(&mut self, name: &str, cells: &[u32]) {
        let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.to_be_bytes()).collect();
        self.bytes(name, &bytes);
    }

    /// A property with texts, each ended by a zero.
    pub(super) fn texts(&mut self, name: &str, texts: &[&str]) {
        let bytes: Vec<u8> = texts.iter().flat_map(|text| text.bytes().chain([0])).collect();
        self.bytes(name, &bytes);
    }

    /// The file (5.2): version 17, which readers of version 16 understand.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.word(LAST);
        let structure = HEADER + RESERVATIONS;
        let strings = structure + self.structure.len();
        let total = strings + self.strings.len();
        let header = [
            0xd00d_feed,
            total,
            structure,
            strings,
            HEADER,
            17,
            16,
            0,
            self.strings.len(),
            self.structure.len(),
        ];
        let mut file: Vec<u8> = header.iter().flat_map(|word| (*word as u32).to_be_bytes()).collect();
        file.resize(structure, 0);
        file.extend(self.structure);
        file.extend(self.strings);
        file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_tree_byte_by_byte() {
        let mut tree = Tree::default();
        tree.node("", |tree| {
            tree.cells("a", &[1]);
            tree.node("n", |tree| {
                tree.texts("ba", &["x"]);
                tree.cells("a", &[]);
            });
        });
        let file = tree.finish();
        let words: Vec<u32> = file.as_chunks().0.iter().map(|word| u32::from_be_bytes(*word)).collect();
        let header = [0xd00d_feed, file.len() as u32, 56, 128, 40, 17, 16, 0, 5, 72];
        assert_eq!(words[..10], header);
        assert_eq!(words[10..14], [0; 4]);
        let text = |bytes: &[u8; 4]| u32::from_be_bytes(*bytes);
        let nodes = [
            [BEGIN, 0].as_slice(),
            &[PROPERTY, 4, 0, 1],
            &[BEGIN, text(b"n\0\0\0")],
            &[PROPERTY, 2, 2, text(b"x\0\0\0")],
            // A name that is the end of another one is not mistaken for it.
            &[PROPERTY, 0, 0],
            &[END, END, LAST],
        ];
        assert_eq!(words[14..32], nodes.concat());
        assert_eq!(file[128..], *b"a\0ba\0");
    }
}
