//! Chunks as Arrow arrays, without copying numbers.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, DictionaryArray, Int16Array, Int32Array,
    Int64Array, RecordBatch, RecordBatchOptions, StringArray, UInt8Array, UInt32Array, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use crate::Integers;
use crate::schema::{Column, Kind, SCHEMA, Table};
use crate::selection::Selection;
use crate::store::{Bits, Chunk, Data, Pieces, Values};

/// The Arrow schema of the columns of a table that are asked for.
pub fn arrow_schema(table: &Table, selection: &Selection, integers: Integers) -> SchemaRef {
    let wanted = table.columns.iter().filter(|column| selection.has(table.name, column.name));
    let fields: Vec<Field> = wanted.map(|column| field(column, integers)).collect();
    let facts = [("trackway.schema", SCHEMA.to_string()), ("trackway.table", table.name.to_string())];
    let facts = facts.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
    Arc::new(Schema::new(fields).with_metadata(facts))
}

fn field(column: &Column, integers: Integers) -> Field {
    let is_plain = integers == Integers::Unsigned;
    let data = match column.kind {
        Kind::Byte if is_plain => DataType::UInt8,
        Kind::Byte => DataType::Int16,
        Kind::Number | Kind::Encoding if is_plain => DataType::UInt32,
        Kind::Number | Kind::Encoding => DataType::Int64,
        Kind::Count | Kind::Address | Kind::Time => match integers {
            Integers::Unsigned => DataType::UInt64,
            Integers::Signed => DataType::Int64,
            Integers::Decimal => DataType::Decimal128(20, 0),
        },
        Kind::Flag => DataType::Boolean,
        Kind::Word if is_plain => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        Kind::Word | Kind::Text => DataType::Utf8,
        Kind::Bytes => DataType::Binary,
    };
    Field::new(column.name, data, column.nullable)
}

/// Turns the chunks of one table into record batches.
#[derive(Debug)]
pub struct ToArrow {
    schema: SchemaRef,
    integers: Integers,
    /// The dictionary of each column, and the words that it was made of.
    words: Vec<Option<Made>>,
}

/// Words, and the array that was made of them.
type Made = (Arc<Vec<Arc<str>>>, ArrayRef);

impl ToArrow {
    /// For the columns of a table that are asked for.
    pub fn new(table: &Table, selection: &Selection, integers: Integers) -> Self {
        let schema = arrow_schema(table, selection, integers);
        let words = schema.fields().iter().map(|_| None).collect();
        ToArrow { schema, integers, words }
    }

    /// The schema of all batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows of a chunk.
    pub fn batch(&mut self, chunk: Chunk) -> Result<RecordBatch, ArrowError> {
        let options = RecordBatchOptions::new().with_row_count(Some(chunk.rows));
        let mut arrays = Vec::with_capacity(chunk.columns.len());
        for (n, values) in chunk.columns.into_iter().enumerate() {
            arrays.push(self.array(n, values)?);
        }
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
    }

    fn array(&mut self, n: usize, values: Values) -> Result<ArrayRef, ArrowError> {
        let nulls = values.known.map(|known| NullBuffer::new(bits(known)));
        let is_plain = self.integers == Integers::Unsigned;
        Ok(match values.data {
            Data::U8(all) if is_plain => Arc::new(UInt8Array::new(all.into(), nulls)),
            Data::U8(all) => {
                let all: Vec<i16> = all.into_iter().map(i16::from).collect();
                Arc::new(Int16Array::new(all.into(), nulls))
            }
            Data::U32(all) if is_plain => Arc::new(UInt32Array::new(all.into(), nulls)),
            Data::U32(all) => {
                let all: Vec<i64> = all.into_iter().map(i64::from).collect();
                Arc::new(Int64Array::new(all.into(), nulls))
            }
            Data::U64(all) => match self.integers {
                Integers::Unsigned => Arc::new(UInt64Array::new(all.into(), nulls)),
                Integers::Signed => {
                    let all = ScalarBuffer::<i64>::from(Buffer::from_vec(all));
                    Arc::new(Int64Array::new(all, nulls))
                }
                Integers::Decimal => {
                    let all: Vec<i128> = all.into_iter().map(i128::from).collect();
                    Arc::new(Decimal128Array::new(all.into(), nulls).with_precision_and_scale(20, 0)?)
                }
            },
            Data::Flags(all) => Arc::new(BooleanArray::new(bits(all), nulls)),
            Data::Words(codes, words) => self.words(n, codes, words, nulls)?,
            Data::Text(Pieces { starts, bytes }) => {
                let offsets = OffsetBuffer::new(starts.into());
                Arc::new(StringArray::try_new(offsets, Buffer::from_vec(bytes), nulls)?)
            }
            Data::Bytes(Pieces { starts, bytes }) => {
                let offsets = OffsetBuffer::new(starts.into());
                Arc::new(BinaryArray::try_new(offsets, Buffer::from_vec(bytes), nulls)?)
            }
        })
    }

    fn words(
        &mut self,
        n: usize,
        codes: Vec<u32>,
        words: Arc<Vec<Arc<str>>>,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, ArrowError> {
        if self.integers != Integers::Unsigned {
            let is_known = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            let word = |(row, code): (usize, &u32)| {
                words.get(*code as usize).filter(|_| is_known(row)).map(|word| &**word)
            };
            return Ok(Arc::new(codes.iter().enumerate().map(word).collect::<StringArray>()));
        }
        let made = match &self.words[n] {
            Some((of, made)) if Arc::ptr_eq(of, &words) => Arc::clone(made),
            _ => {
                let made: ArrayRef = Arc::new(StringArray::from_iter_values(words.iter()));
                self.words[n] = Some((words, Arc::clone(&made)));
                made
            }
        };
        let codes = Int32Array::new(ScalarBuffer::<i32>::from(Buffer::from_vec(codes)), nulls);
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(codes, made)?))
    }
}

fn bits(bits: Bits) -> BooleanBuffer {
    BooleanBuffer::new(Buffer::from_vec(bits.bytes), 0, bits.len)
}
