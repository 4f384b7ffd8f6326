//! Traces that were changed on their way: text mode, hex, byte order, something before them.

use trackway::Options;
use trackway::events::Input;
use trackway::format::{Excerpt, Format, Probe, Recognised, Settings};
use trackway::image::Image;
use trackway::io::File;

/// A change that can be undone, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The change.
    pub what: String,
    /// How to undo it; `FILE` is its name.
    pub advice: String,
}

/// Bytes before a trace that are looked through.
const MOST_BEFORE: usize = 4096;
/// Bytes that recognition gets.
const HEAD: usize = 1 << 10;

/// A change after whose undoing the bytes are a trace that carries its format.
pub(super) fn transfer(options: &Options, bytes: &[u8], is_text: bool) -> Option<Transfer> {
    let formats = &carriers(options)[..];
    let found = |what: String, advice: &str| Some(Transfer { what, advice: advice.into() });
    if let Some(undone) = without_returns(bytes)
        && let Some(title) = recognised(formats, &undone)
    {
        let what =
            format!("{title}, transferred in text mode: every line feed has a carriage return before it");
        let advice = "copy it again in binary mode; `perl -pe 's/\\r\\n/\\n/g' FILE > mended` undoes it where no byte was lost";
        return found(what, advice);
    }
    let replaced = bytes.windows(3).filter(|three| *three == [0xef, 0xbf, 0xbd]).count();
    if replaced * 64 > bytes.len() {
        let what = format!("binary data that was saved as UTF-8 text: {replaced} replacement characters");
        return found(what, "the bytes are lost: copy it again in binary mode");
    }
    if let Some(undone) = unhex(bytes)
        && let Some(title) = recognised(formats, &undone)
    {
        return found(
            format!("{title}, as a dump in hex"),
            "`xxd -r FILE mended` makes the file again (`xxd -r -p` without addresses)",
        );
    }
    // Words of a text may look like a magic number.
    if is_text {
        return None;
    }
    for width in [4, 2, 8] {
        if let Some(title) = recognised(formats, &swapped(bytes, width)) {
            let what = format!("{title}, with the bytes of its {}-bit words in reverse order", 8 * width);
            let advice =
                format!("`objcopy -I binary -O binary --reverse-bytes={width} FILE mended` puts them right");
            return found(what, &advice);
        }
    }
    for before in 1..MOST_BEFORE.min(bytes.len()) {
        if let Some(title) = recognised(formats, &bytes[before..]) {
            let what = format!("{title} from byte {before} on, with something else before it");
            let advice = format!("`tail -c +{} FILE > mended` cuts it off", before + 1);
            return found(what, &advice);
        }
    }
    None
}

/// The formats whose traces carry all that is needed to read them, which have a magic number.
fn carriers(options: &Options) -> Vec<&'static dyn Format> {
    let image = Image::default();
    let nothing = Excerpt { bytes: &[], whole: true, image: &image };
    let carries = |format: &&'static dyn Format| format.neighbours(&Settings::default(), &nothing).is_empty();
    options.formats.iter().copied().filter(carries).collect()
}

/// The format that the bytes carry by themselves.
fn recognised(formats: &[&'static dyn Format], bytes: &[u8]) -> Option<&'static str> {
    let head = &bytes[..bytes.len().min(HEAD)];
    let file = File::from_input(Input::from_vec(head.to_vec())).ok()?;
    let settings = Settings::default();
    let probe = Probe { file: &file, settings: &settings };
    formats.iter().find(|format| format.recognise(&probe) == Recognised::Yes).map(|format| format.title())
}

/// The bytes with every `0d 0a` as `0a`, where no `0a` is alone.
fn without_returns(bytes: &[u8]) -> Option<Vec<u8>> {
    let feeds = bytes.iter().filter(|byte| **byte == b'\n').count();
    let pairs = bytes.windows(2).filter(|pair| *pair == b"\r\n").count();
    if feeds == 0 || feeds != pairs {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len());
    for (n, byte) in bytes.iter().enumerate() {
        if !(*byte == b'\r' && bytes.get(n + 1) == Some(&b'\n')) {
            out.push(*byte);
        }
    }
    Some(out)
}

/// The bytes that a dump in hex shows: xxd, hexdump -C, or digits alone.
pub(super) fn unhex(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut out = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (line, most) = match line.split_once(": ") {
            // xxd: two spaces end the bytes.
            Some((_, rest)) => (rest.split("  ").next().unwrap_or(""), 16),
            None => match line.split_once("  ") {
                Some((address, rest)) if address.len() == 8 => (rest.split('|').next().unwrap_or(""), 16),
                _ => (line, usize::MAX),
            },
        };
        let digits: String = line.split_whitespace().map(|word| word.trim_start_matches("0x")).collect();
        if !digits.len().is_multiple_of(2) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let pairs = digits.as_bytes().chunks(2).take(most);
        out.extend(pairs.filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()));
    }
    (!out.is_empty()).then_some(out)
}

/// The bytes with the order of each word reversed; the rest after the last whole word stays.
pub(super) fn swapped(bytes: &[u8], width: usize) -> Vec<u8> {
    let mut out = bytes.to_vec();
    out.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    out
}
