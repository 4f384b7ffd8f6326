//! Records as text: field by field for `dump --raw`, and as a listing like figure 1 of the spec.

use std::fmt::Write;

use trackway_core::{Error, Isa, Item, Items, Result};
use trackway_isa::Disassembler;
use trackway_isa::arm::exception_class;

use crate::config::Storage;
use crate::layout::{RECORD, Words};
use crate::record::*;
use crate::records::Records;

/// Native items of an ASTF trace, every nonzero field by name.
#[derive(Debug)]
pub struct Text {
    records: Records,
    storage: Storage,
    /// Writes the line of the listing, where notes are wanted.
    lines: Option<Lines>,
    /// Damage that `seek` met; `next` returns it.
    pending: Option<Error>,
}

impl Text {
    pub(crate) fn new(records: Records, storage: Storage) -> Self {
        Text { records, storage, lines: None, pending: None }
    }
}

impl Items for Text {
    fn next(&mut self, item: &mut Item) -> Result<bool> {
        if let Some(error) = self.pending.take() {
            return Err(error);
        }
        let Some((offset, words)) = self.records.next_words()? else { return Ok(false) };
        let record = Record::read(&words);
        (item.offset, item.len, item.name) = (offset, RECORD as u64, record.name());
        item.text.clear();
        show(&record, &mut item.text);
        item.note.clear();
        if let Some(lines) = &mut self.lines {
            lines.line(&words, &mut item.note);
        }
        Ok(true)
    }

    fn seek(&mut self, n: u64) -> Result<u64> {
        Ok(self.records.seek(n).unwrap_or_else(|error| {
            self.pending = Some(error);
            self.records.offset() / RECORD as u64
        }))
    }

    fn annotate(&mut self) {
        self.lines = Some(Lines::new(self.storage));
    }

    fn resync(&mut self) -> Result<Option<u64>> {
        Ok(self.records.resync())
    }
}

/// Writes the nonzero fields of a record, by name.
pub fn show(record: &Record, out: &mut String) {
    let start = out.len();
    record.fields(&mut |field, value| {
        let blank = if out.len() > start { " " } else { "" };
        // Writing to a String cannot fail.
        let _ = match (record, field.name) {
            (Record::Instruction(instruction), "xattr") => match instruction.attribute() {
                Attribute::Range(_) => write!(out, "{blank}ea_range={value}"),
                Attribute::Sme(index, 0) => write!(out, "{blank}sme.index={index}"),
                Attribute::Sme(index, rest) => {
                    write!(out, "{blank}sme.index={index} sme.reserved56={rest:#x}")
                }
                Attribute::None => write!(out, "{blank}reserved64={value}"),
            },
            (Record::Instruction(_), "iword") => write!(out, "{blank}iword={:#010x}", iword(record)),
            (Record::Header(_), "magic_header") => write!(out, "{blank}magic_header=\"{}\"", magic(record)),
            (Record::Context(context), "pid") => write!(out, "{blank}pid={}", context.pid),
            (Record::Context(context), "tid") => write!(out, "{blank}tid={}", context.tid),
            (Record::Timestamp(time), "value0") => write!(out, "{blank}value[0]={}", time.value0),
            (Record::Trap(trap), "ec") => write!(out, "{blank}ec={:#04x}", trap.ec),
            (_, "value1") => write!(out, "{blank}value[1]={value}"),
            (Record::StringRecord(string), "size") => write!(out, "{blank}size={}", string.size),
            (Record::StringRecord(string), "string") => {
                write!(out, "{blank}string={}", quoted(&string.string))
            }
            (Record::StringContinuation(string), _) => {
                write!(out, "{blank}string={}", quoted(&string.string))
            }
            (_, name) => write!(out, "{blank}{name}={value}"),
        };
    });
    // An empty range and the first slice are shown although they are 0.
    let _ = match record {
        Record::Instruction(instruction) if instruction.xattr == 0 => match instruction.xattr_mode {
            1 => write!(out, " ea_range=0"),
            2 => write!(out, " sme.index=0"),
            _ => Ok(()),
        },
        _ => Ok(()),
    };
    if let Record::Unknown(words) = record {
        for byte in crate::layout::to_bytes(words) {
            let _ = write!(out, "{byte:02x}");
        }
    }
}

fn iword(record: &Record) -> u32 {
    if let Record::Instruction(instruction) = record { instruction.iword } else { 0 }
}

fn magic(record: &Record) -> String {
    let Record::Header(header) = record else { return String::new() };
    header.magic_header.to_le_bytes()[..3].escape_ascii().to_string()
}

/// String bytes without the padding zeros.
fn quoted(bytes: &[u8]) -> String {
    let len = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    format!("\"{}\"", bytes[..len].escape_ascii())
}

/// Writes records as lines like those of figure 1, and keeps the context they need.
///
/// ```
/// use trackway_astf::{Instruction, Lines, Storage};
/// let mut lines = Lines::new(Storage::Raw);
/// let branch = Instruction { is_branch: true, iword: 0x54ff_fde1, pc: 0x836e12c, ..Instruction::default() };
/// let mut line = String::new();
/// lines.line(&branch.write(), &mut line);
/// assert_eq!(line, "instr     : el?  [0x000000000836e12c] b.ne #0x836e0e8 NT");
/// ```
#[derive(Debug)]
pub struct Lines {
    storage: Storage,
    disassembler: Disassembler,
    /// Exception level, and whether it uses its own stack pointer.
    mode: Option<(u8, bool)>,
    /// A vector length other than 128 bits was seen.
    scalable: bool,
    /// An incomplete string: bytes so far, and its size.
    string: Option<(Vec<u8>, usize)>,
}

impl Lines {
    /// A listing before its first record.
    pub fn new(storage: Storage) -> Self {
        Lines { storage, disassembler: Disassembler::default(), mode: None, scalable: false, string: None }
    }

    /// Writes the line of the next record, without its number and line end.
    pub fn line(&mut self, words: &Words, out: &mut String) {
        // Writing to a String cannot fail.
        let _ = match Record::read(words) {
            Record::Header(header) => self.header(&header, out),
            Record::Context(context) => self.context(&context, out),
            Record::Instruction(instruction) => self.instruction(&instruction, out),
            Record::ExtraEa(extra) => extra_ea(&extra, out),
            Record::Trap(trap) => show_trap(&trap, out),
            Record::StringRecord(string) => {
                self.string = Some((Vec::new(), usize::from(string.size)));
                self.string_part(&string.string, out)
            }
            Record::StringContinuation(string) => self.string_part(&string.string, out),
            Record::Timestamp(time) if time.unit == 1 => write!(out, "timestamp : Value: {}", time.value0),
            Record::Timestamp(time) => write!(out, "timestamp : Value: {} unit {}", time.value0, time.unit),
            Record::Unknown(words) => {
                let _ = write!(out, "unknown   : type {:#04x} ", words[0] as u8);
                show(&Record::Unknown(words), out);
                Ok(())
            }
        };
    }

    fn header(&self, header: &Header, out: &mut String) -> std::fmt::Result {
        let Header { version_major, version_minor, .. } = header;
        let compression = match self.storage {
            Storage::Raw => "none",
            Storage::Xz | Storage::LzmaAlone => "LZMA",
            Storage::Zlib | Storage::Gzip => "Zlib",
        };
        let level = header.level().as_str();
        write!(
            out,
            "fileheader: ASTF trace, version {version_major}.{version_minor} compression mode : {compression} \
             - {level} level trace"
        )
    }

    fn context(&mut self, context: &Context, out: &mut String) -> std::fmt::Result {
        self.mode = Some((context.el, context.handler));
        self.scalable |= context.evl != 0 || context.pstate_sm;
        let security = if context.secure { "secure" } else { "non-secure" };
        let stack = if context.handler { "handler" } else { "thread" };
        write!(out, "context   : CPU in EL{}, {security}, {stack}-mode", context.el)?;
        if context.pid_valid {
            write!(out, " PID: {}", context.pid)?;
        }
        if context.tid_valid {
            write!(out, " TID: {}", context.tid)?;
        }
        let mut words = Vec::new();
        if self.scalable {
            let streaming = if context.pstate_sm { "S" } else { "" };
            words.push(format!("{streaming}SVE{}", (u32::from(context.evl) + 1) * 128));
        }
        match context.mte_tcf {
            1 => words.push("TC-sync".to_string()),
            2 => words.push("TC-async".to_string()),
            3 => words.push("TC-asym".to_string()),
            _ => {}
        }
        if context.pstate_ssbs {
            words.push("SSBS".to_string());
        }
        if context.pstate_dit {
            words.push("DIT".to_string());
        }
        if context.unsupported {
            words.push("unsupported mode".to_string());
        }
        let blank = if words.is_empty() { "" } else { " " };
        write!(out, "{blank}{}", words.join(", "))
    }

    fn instruction(&mut self, record: &Instruction, out: &mut String) -> std::fmt::Result {
        let mode = match self.mode {
            Some((el, handler)) => format!("el{el}{}", if handler { 'h' } else { 't' }),
            None => "el? ".to_string(),
        };
        let text = self.disassembler.text(Isa::A64, record.pc, record.iword);
        write!(out, "instr     : {mode} [{:#018x}] {text}", record.pc)?;
        if let Attribute::Sme(index, _) = record.attribute() {
            write!(out, " i{{{index}}}")?;
        }
        if record.is_branch {
            if record.ea_valid {
                write!(out, " T v<{:#018x}>", record.ea)?;
            } else if !record.trap {
                out.push_str(" NT");
            }
        } else if let Some(access) = record.access() {
            out.push(' ');
            show_access(&access, out)?;
        }
        if record.trap {
            out.push_str(" tr");
        }
        Ok(())
    }

    fn string_part(&mut self, part: &[u8], out: &mut String) -> std::fmt::Result {
        let Some((bytes, size)) = &mut self.string else {
            return write!(out, "string    : {} (continues nothing)", quoted(part));
        };
        let left = (*size - bytes.len()).min(part.len());
        bytes.extend_from_slice(&part[..left]);
        if bytes.len() < *size {
            return write!(out, "string    : ..");
        }
        let whole = std::mem::take(bytes);
        self.string = None;
        write!(out, "string    : \"{}\"", whole.escape_ascii())
    }
}

/// An access: `v[address]`, then `t` if tagged, and `..[end]` for a range.
fn show_access(access: &Access, out: &mut String) -> std::fmt::Result {
    write!(out, "v[{:#018x}]{}", access.address, if access.tagged { "t" } else { "" })?;
    if let Some(range) = access.range {
        write!(out, "..[{:#018x}]", access.address.wrapping_add(range))?;
    }
    Ok(())
}

fn extra_ea(extra: &ExtraEa, out: &mut String) -> std::fmt::Result {
    out.push_str("extra_ea  : ");
    let (first, second) = extra.accesses();
    show_access(&first, out)?;
    if let Some(second) = second {
        out.push(' ');
        show_access(&second, out)?;
    }
    Ok(())
}

fn show_trap(trap: &Trap, out: &mut String) -> std::fmt::Result {
    let kind = TrapType(trap.trap_type);
    let virtually = if trap.is_virtual { "virtual " } else { "" };
    write!(out, "trap      : {virtually}{} to <{:#018x}>", kind.name(), trap.target_pc)?;
    if matches!(kind, TrapType::SYNCHRONOUS | TrapType::SERROR) || trap.ec != 0 {
        write!(out, " : {:06b} {}", trap.ec, exception_class(trap.ec).unwrap_or("reserved class"))?;
    }
    if trap.syscall_type != 0 {
        write!(out, " #{}", trap.syscall_index)?;
    }
    Ok(())
}
