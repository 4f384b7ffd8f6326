//! The rules of E-Trace that [`check`](crate::check()) applies.

trackway_core::rules! { "etrace";
    /// A packet can be read with the parameters given.
    READABLE = "readable": Error, "E-Trace 6", old "readable";
    /// Packets are laid out as in the dialect given.
    DIALECT = "dialect": Error, "E-Trace 6";
    /// The program leads where packets say (where a program is given).
    PROGRAM = "program": Error, "E-Trace 11";
    /// Instructions that packets report are in the program (where one is given).
    CODE = "code": Warning, "E-Trace 11";
    /// Flow packets follow a synchronisation packet.
    SYNC_FIRST = "sync-first": Error, "E-Trace 6.2", old "sync-first";
    /// A support packet reports the modes before the first synchronisation.
    SUPPORT_FIRST = "support-first": Warning, "E-Trace 6.5", old "support-first";
    /// If no depth is reported, irdepth repeats the bit before it.
    IRDEPTH_FILL = "irdepth-fill": Error, "E-Trace 6.6", old "irdepth-fill";
    /// A report with updiscon set is followed by a format 3 packet.
    UPDISCON_SYNC = "updiscon-sync": Error, "E-Trace 6.6.2", old "updiscon-sync";
    /// A trap packet without the handler's address is followed by a packet that reports it.
    HANDLER_FOLLOWS = "handler-follows": Error, "E-Trace 6.3", old "handler-follows";
    /// The privilege is one of those defined.
    PRIVILEGE = "privilege": Warning, "E-Trace 6.2", old "privilege";
    /// Modes that are on are supported by the parameters.
    MODES = "modes": Error, "E-Trace 9.1", old "modes";
    /// The algorithm is branch trace.
    ENCODER_MODE = "encoder-mode": Warning, "E-Trace 6.5", old "encoder-mode";
    /// Packets are as short as sign extension allows.
    COMPRESSED = "compressed": Note, "E-Trace 6", old "compressed";
    /// Bits after the last field repeat its last bit.
    SPARE_BITS = "spare-bits": Warning, "E-Trace 6", old "spare-bits";
    /// Time does not decrease.
    TIME = "time": Warning, "E-Trace 6.2", old "time";
    /// After a synchronisation the first data packet of a size has address and data in full.
    DATA_FULL = "data-full": Error, "E-Trace 7.1.3", old "data-full";
    /// Codes of data packets are not reserved.
    DATA_CODES = "data-codes": Error, "E-Trace 7", old "data-codes";
    /// The data of a split load follow its request, and no id is in use twice at a time.
    SPLIT_LOADS = "split-loads": Error, "E-Trace 4.4", old "split-loads";
    /// Data packets come only while data trace is on.
    DATA_ENABLED = "data-enabled": Warning, "E-Trace 6.5", old "data-enabled";
}
