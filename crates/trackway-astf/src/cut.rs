//! Places where a trace can be cut: between two Instructions, with Header, Context and Timestamp before the second.

use trackway_core::Result;
use trackway_format::Cut;

use crate::layout::{RECORD, from_bytes, to_bytes};
use crate::record::{Context, ExtraEa, Header, Instruction, Timestamp};
use crate::records::Records;
use crate::write::string_records;

/// The first places at or after the offsets `wanted`, in order.
pub(crate) fn cuts(mut records: Records, wanted: &[u64]) -> Result<Vec<Cut>> {
    let mut cuts: Vec<Cut> = Vec::new();
    let (mut header, mut context, mut time): (Vec<u8>, Vec<u8>, Vec<u8>) = Default::default();
    let mut before = 0;
    while let Some((mut offset, chunk)) = records.chunk()? {
        let count = chunk.len();
        for record in chunk {
            let id = record[0];
            while id == Instruction::ID
                && matches!(before, Instruction::ID | ExtraEa::ID)
                && wanted.get(cuts.len()).is_some_and(|at| *at <= offset)
            {
                let prologue = [&header[..], &time, &context].concat();
                cuts.push(Cut { offset, prologue, comment_at: header.len() });
            }
            match id {
                Header::ID if offset == 0 => header = plain_header(record).to_vec(),
                Context::ID => context = record.to_vec(),
                Timestamp::ID => time = record.to_vec(),
                _ => {}
            }
            before = id;
            offset += RECORD as u64;
        }
        records.consume(count);
    }
    let missing = wanted.len() - cuts.len();
    cuts.extend(vec![Cut { offset: records.offset(), ..Cut::default() }; missing]);
    Ok(cuts)
}

/// A Header as it is before records that are not compressed.
pub(crate) fn plain_header(record: &[u8; RECORD]) -> [u8; RECORD] {
    to_bytes(&Header { compressed: false, use_zlib: false, ..Header::read(&from_bytes(record)) }.write())
}

/// A comment as records.
pub(crate) fn comment(text: &str) -> Vec<u8> {
    let size = u16::try_from(text.len()).unwrap_or(u16::MAX);
    let bytes = &text.as_bytes()[..size.into()];
    string_records(size, bytes).iter().flat_map(to_bytes).collect()
}
