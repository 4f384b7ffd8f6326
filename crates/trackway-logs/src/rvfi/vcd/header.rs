//! The declarations of a VCD: which signals a retirement port has, and its clock.

use trackway_format::{Error, Result};

use crate::riscv::names;
use crate::rvfi::port::NAMES;

/// A variable that may belong to a port, or be a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Variable {
    /// Scopes from the outermost, joined by dots.
    scope: String,
    name: String,
    code: Vec<u8>,
    width: u32,
}

/// The declarations that matter.
#[derive(Clone, Debug, Default)]
pub(super) struct Header {
    /// Unit of time, as it is written.
    pub(super) timescale: String,
    variables: Vec<Variable>,
    /// The last declaration was seen.
    pub(super) is_whole: bool,
}

/// The role of a signal at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A field, by its place among the names of the port.
    Field(usize),
    /// A part of a CSR: read mask, write mask, value read, value written.
    Csr(u16, usize),
}

/// A signal of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signal {
    pub(super) code: Vec<u8>,
    pub(super) width: u32,
    pub(super) role: Role,
}

/// A retirement port: all signals of one scope, and the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    pub(super) scope: String,
    pub(super) signals: Vec<Signal>,
    /// Instructions per cycle.
    pub(super) channels: u32,
    pub(super) clock: Vec<u8>,
    /// Its name, for people.
    pub(super) clock_name: String,
    /// Bits of an address.
    pub(super) xlen: u32,
}

/// Most bits of a signal that is kept.
const WIDEST: u32 = 4096;

/// Most variables that are kept: others are no part of a port.
const MOST: usize = 1 << 16;

impl Header {
    /// Reads declarations up to `$enddefinitions`.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut header = Header::default();
        let mut words = bytes.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let mut scopes: Vec<String> = Vec::new();
        let text = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
        while let Some(word) = words.next() {
            if word == b"$enddefinitions" {
                header.is_whole = true;
                break;
            }
            if !word.starts_with(b"$") || word == b"$end" {
                continue;
            }
            let body: Vec<&[u8]> = words.by_ref().take_while(|word| *word != b"$end").take(64).collect();
            match (word, &body[..]) {
                (b"$timescale", parts) => header.timescale = parts.iter().map(|part| text(part)).collect(),
                (b"$scope", [_, name, ..]) => scopes.push(text(name)),
                (b"$upscope", _) => drop(scopes.pop()),
                (b"$var", [_, width, code, name, ..]) if header.variables.len() < MOST => {
                    let width = std::str::from_utf8(width).ok().and_then(|width| width.parse().ok());
                    // `name[31:0]` and `name [31:0]` are both written.
                    let name = text(name.split(|byte| *byte == b'[').next().unwrap_or(name));
                    if let Some(width @ 1..=WIDEST) = width
                        && (name.starts_with("rvfi_") || width == 1)
                    {
                        let scope = scopes.join(".");
                        header.variables.push(Variable { scope, name, code: code.to_vec(), width });
                    }
                }
                _ => {}
            }
        }
        header
    }

    /// True if a port is declared.
    pub(super) fn has_port(&self) -> bool {
        self.variables.iter().any(|variable| variable.name == "rvfi_valid")
    }

    /// The ports, outermost scopes first: an inner scope with the same signals is the same port.
    pub(super) fn ports(&self, clock: Option<&str>, scope: Option<&str>) -> Result<Vec<Declared>> {
        let mut ports: Vec<Declared> = Vec::new();
        for valid in self.variables.iter().filter(|variable| variable.name == "rvfi_valid") {
            let inside = |port: &Declared| valid.scope.starts_with(&format!("{}.", port.scope));
            let same = |port: &Declared| port.signals.iter().any(|signal| signal.code == valid.code);
            let asked = scope.is_none_or(|scope| scope == valid.scope);
            if !asked || ports.iter().any(|port| port.scope == valid.scope || inside(port) || same(port)) {
                continue;
            }
            let own = self.variables.iter().filter(|variable| variable.scope == valid.scope);
            let signals: Vec<Signal> = own
                .filter_map(|variable| {
                    let role = role(variable.name.strip_prefix("rvfi_")?)?;
                    Some(Signal { code: variable.code.clone(), width: variable.width, role })
                })
                .collect();
            let width = |name: &str| {
                let field = NAMES.iter().position(|known| *known == name);
                signals
                    .iter()
                    .find(|signal| Some(signal.role) == field.map(Role::Field))
                    .map(|signal| signal.width)
            };
            let channels = valid.width;
            let xlen = width("pc_rdata").map_or(64, |width| width / channels);
            let clock = self.clock(&valid.scope, clock)?;
            ports.push(Declared {
                channels,
                xlen,
                clock: clock.code.clone(),
                clock_name: format!("{}.{}", clock.scope, clock.name),
                scope: valid.scope.clone(),
                signals,
            });
        }
        if ports.is_empty() {
            let text = match scope {
                Some(scope) => format!("[rvfi-vcd] scope: {scope} has no signal rvfi_valid"),
                None => {
                    "no signal rvfi_valid is declared: it is not a VCD with a retirement port".to_string()
                }
            };
            return Err(Error::Config(text));
        }
        Ok(ports)
    }

    /// The clock of a scope: of that name, or by its looks in the same scope, an outer one, any.
    fn clock(&self, scope: &str, wanted: Option<&str>) -> Result<&Variable> {
        let full = |variable: &Variable| format!("{}.{}", variable.scope, variable.name);
        let looks = |variable: &&Variable| match wanted {
            Some(wanted) => variable.name == wanted || full(variable) == wanted,
            None => {
                let name = variable.name.to_ascii_lowercase();
                variable.width == 1 && (name.contains("clk") || name.contains("clock"))
            }
        };
        // The nearest scope; in it the shortest name, `clk` before `clk_gated`.
        let distance = |variable: &&Variable| {
            let own = format!("{scope}.");
            let outer = own.starts_with(&format!("{}.", variable.scope)) || variable.scope.is_empty();
            let depth = if outer { own.len() - variable.scope.len() } else { usize::MAX };
            (depth, variable.name.len())
        };
        self.variables.iter().filter(looks).min_by_key(distance).ok_or_else(|| {
            let text = match wanted {
                Some(wanted) => format!("[rvfi-vcd] clock: no signal {wanted} is declared"),
                None => "no signal looks like a clock: name it with clock in [rvfi-vcd]".to_string(),
            };
            Error::Config(text)
        })
    }
}

fn role(name: &str) -> Option<Role> {
    if let Some(rest) = name.strip_prefix("csr_") {
        let (csr, part) = rest.rsplit_once('_')?;
        let part = ["rmask", "wmask", "rdata", "wdata"].iter().position(|known| *known == part)?;
        return Some(Role::Csr(names::csr(csr.as_bytes())?.number, part));
    }
    NAMES.iter().position(|known| *known == name).map(Role::Field)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"$timescale 1 ns $end $scope module top $end $var wire 1 ! clk $end\n\
        $scope module core0 $end\n$var wire 2 a rvfi_valid [1:0] $end $var wire 64 b rvfi_pc_rdata[63:0] $end\n\
        $var wire 64 c rvfi_csr_mstatus_wdata [63:0] $end $upscope $end\n\
        $scope module core1 $end $var wire 2 d rvfi_valid [1:0] $end $scope module inner $end\n\
        $var wire 2 e rvfi_valid $end $upscope $end $upscope $end $upscope $end $enddefinitions $end\n#0\n";

    #[test]
    fn ports_have_their_scopes_and_their_clock() {
        let header = Header::read(TEXT);
        assert!(header.is_whole && header.has_port());
        assert_eq!(header.timescale, "1ns");
        let ports = header.ports(None, None).unwrap();
        let scopes: Vec<_> = ports.iter().map(|port| (&port.scope[..], port.channels)).collect();
        assert_eq!(scopes, [("top.core0", 2), ("top.core1", 2)]);
        assert_eq!((ports[0].xlen, &ports[0].clock_name[..]), (32, "top.clk"));
        assert_eq!(ports[0].signals[2].role, Role::Csr(0x300, 3));
        assert!(header.ports(Some("clock"), None).is_err());
        assert_eq!(
            header.ports(Some("top.clk"), Some("top.core1.inner")).unwrap()[0].scope,
            "top.core1.inner"
        );
    }
}
