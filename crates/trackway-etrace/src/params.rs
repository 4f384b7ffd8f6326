//! Encoder parameters (table 9.1) and the registers in which hardware reports them (tables 9.2 to 9.4, section 9.2).

use trackway_format::{Key, Sample};

use crate::dialect::Dialect;

/// A parameter's field in the discovery registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Name of the field.
    pub name: &'static str,
    /// Number of the 64-bit register.
    pub register: u32,
    /// Lowest bit.
    pub offset: u32,
    /// Width in bits.
    pub width: u32,
    /// The field holds the parameter less this (0 or 1).
    pub less: u32,
}

/// A parameter: its name, range and defaults, and its field in the discovery registers.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name of table 9.1, without `_p`.
    pub name: &'static str,
    /// A sentence that describes it.
    pub about: &'static str,
    /// Smallest value.
    pub min: u32,
    /// Largest value.
    pub max: u32,
    /// Default in the draft and in version 2, as on the wire.
    pub defaults: [u32; 2],
    /// Its field in the discovery registers, if it has one.
    pub attribute: Option<Attribute>,
    get: fn(&Params) -> u32,
    set: fn(&mut Params, u32),
}

impl Parameter {
    /// Its default in a dialect.
    pub fn default(&self, dialect: Dialect) -> u32 {
        self.defaults[usize::from(dialect != Dialect::Draft)]
    }

    /// Its value.
    pub fn get(&self, params: &Params) -> u32 {
        (self.get)(params)
    }

    /// Sets it, without checking the range.
    pub fn set(&self, params: &mut Params, value: u32) {
        (self.set)(params, value);
    }
}

/// Declares the parameters: `name: min..=max, draft default, v2 default [, register.offset + width - less]`.
macro_rules! params {
    ($($(#[doc = $about:literal])* $name:ident : $min:literal ..= $max:literal, $draft:literal, $v2:literal
        $(, $attr:literal at $register:literal . $offset:literal + $width:literal less $less:literal)? ;)*) => {
        /// Encoder parameters by the names of table 9.1 without `_p`; widths in bits as on the wire, sizes as
        /// powers of two.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Params {
            $($(#[doc = $about])* pub $name: u32,)*
        }

        /// All parameters, in the order of the discovery registers.
        pub const PARAMETERS: &[Parameter] = &[$(Parameter {
            name: stringify!($name),
            about: concat!($($about),*),
            min: $min,
            max: $max,
            defaults: [$draft, $v2],
            attribute: params!(@attribute $($attr, $register, $offset, $width, $less)?),
            get: |params| params.$name,
            set: |params, value| params.$name = value,
        }),*];

        impl Params {
            /// The parameters as keys of the settings, with the defaults of version 2.
            pub(crate) const KEYS: &'static [Key] = &[$(Key {
                name: stringify!($name),
                doc: &[$($about),*],
                sample: Sample::Value(stringify!($v2)),
            }),*];

            /// The defaults of a dialect.
            pub fn new(dialect: Dialect) -> Self {
                let draft = dialect == Dialect::Draft;
                Params { $($name: if draft { $draft } else { $v2 },)* }
            }
        }
    };
    (@attribute) => { None };
    (@attribute $name:literal, $register:literal, $offset:literal, $width:literal, $less:literal) => {
        Some(Attribute { name: $name, register: $register, offset: $offset, width: $width, less: $less })
    };
}

params! {
    /// Architecture version that the encoder complies with.
    arch: 0..=15, 0, 0, "arch" at 0 . 8 + 4 less 0;
    /// The branch predictor has 2^n entries; 0: there is none.
    bpred_size: 0..=15, 0, 0, "bpred_size" at 0 . 12 + 4 less 0;
    /// The jump target cache has 2^n entries; 0: there is none.
    cache_size: 0..=15, 0, 0, "cache_size" at 0 . 16 + 4 less 0;
    /// Bits of the nested call counter; 0: there is none.
    call_counter_size: 0..=7, 0, 0, "call_counter_size" at 0 . 20 + 3 less 0;
    /// Number of comparators for filters.
    comparators: 1..=8, 1, 1, "comparators" at 0 . 23 + 3 less 1;
    /// Bits of `ctype`.
    ctype_width: 1..=2, 2, 1, "context_type_width" at 0 . 26 + 5 less 1;
    /// Bits of `context`.
    context_width: 1..=64, 1, 1, "context_width" at 0 . 31 + 5 less 1;
    /// Bits of the exception cause that filters can match.
    ecause_choice: 0..=7, 5, 5, "ecause_choice" at 0 . 36 + 3 less 0;
    /// Bits of `ecause`.
    ecause_width: 1..=64, 4, 4, "ecause_width" at 0 . 39 + 4 less 1;
    /// Number of filters.
    filters: 1..=16, 1, 1, "filters" at 0 . 43 + 4 less 1;
    /// Filters can match the context.
    filter_context: 0..=1, 1, 1, "filter_context" at 0 . 47 + 1 less 0;
    /// Filters can match cause and interrupt, for 2^n nested ones; 0: they cannot.
    filter_excint: 0..=15, 1, 1, "filter_excint" at 0 . 48 + 4 less 0;
    /// Filters can match the privilege.
    filter_privilege: 0..=1, 1, 1, "filter_privilege" at 0 . 52 + 1 less 0;
    /// Filters can match the trap value.
    filter_tval: 0..=1, 1, 1, "filter_tval" at 0 . 53 + 1 less 0;
    /// Filters can match implementation-defined inputs.
    filter_impdef: 0..=1, 0, 0, "filter_impdef" at 0 . 54 + 1 less 0;
    /// Bits of the subformat field of format 0.
    f0s_width: 0..=3, 0, 0, "f0s_width" at 0 . 55 + 2 less 0;
    /// Lowest bit of the instruction address that is traced.
    iaddress_lsb: 0..=2, 1, 1, "iaddress_lsb" at 0 . 57 + 2 less 1;
    /// Bits of the instruction address.
    iaddress_width: 8..=64, 32, 32, "iaddress_width" at 1 . 0 + 7 less 1;
    /// Bits of `ilastsize`.
    ilastsize_width: 1..=8, 1, 1, "ilastsize_width" at 1 . 7 + 7 less 1;
    /// Bits of `itype`: 3, or 4 where jumps are fully classified.
    itype_width: 3..=4, 4, 4, "itype_width" at 1 . 14 + 7 less 1;
    /// Bits of `iretire`.
    iretire_width: 1..=32, 3, 2, "iretire_width" at 1 . 21 + 7 less 1;
    /// Packets carry no context.
    nocontext: 0..=1, 0, 1, "nocontext" at 1 . 28 + 1 less 0;
    /// Bits of `privilege`.
    privilege_width: 1..=4, 3, 2, "privilege_width" at 1 . 29 + 2 less 1;
    /// Most instructions that retire in a block.
    retires: 1..=8, 1, 1, "retires" at 1 . 31 + 3 less 1;
    /// The return address stack has 2^n entries; 0: there is none.
    return_stack_size: 0..=15, 0, 0, "return_stack_size" at 1 . 34 + 4 less 0;
    /// The core marks sequentially inferable jumps.
    sijump: 0..=1, 0, 0, "sijump" at 1 . 38 + 1 less 0;
    /// Most blocks that retire in a cycle (version 2 calls it `blocks`).
    taken_branches: 1..=16, 1, 1, "taken_branches" at 1 . 39 + 4 less 1;
    /// Bits of the implementation-defined inputs.
    impdef_width: 1..=32, 1, 1, "impdef_width" at 1 . 43 + 5 less 1;
    /// Bits of `time` (version 2).
    time_width: 1..=64, 1, 1;
    /// Packets carry no time (version 2).
    notime: 0..=1, 1, 1;
    /// Bits of the data address; 0: the same as `iaddress_width`.
    daddress_width: 0..=64, 0, 0;
    /// Bits of the data bus.
    data_width: 8..=128, 64, 64;
    /// Bits of `dtype`: 1 for loads and stores, 3 with CSR accesses, 4 with atomics.
    dtype_width: 1..=4, 4, 4;
    /// Bits of the id of split loads.
    lrid_width: 0..=8, 0, 0;
    /// Bits of the instruction address on the data interface; 0: none, and filters see whole blocks.
    iaddr_lsbs_width: 0..=32, 0, 0;
    /// Bits of the block number on the data interface.
    dblock_width: 0..=4, 0, 0;
}

impl Params {
    /// Bits of an address field.
    pub fn address_bits(&self) -> u32 {
        self.iaddress_width - self.iaddress_lsb
    }

    /// Bits of the `irdepth` field (table 6.5).
    pub(crate) fn irdepth_bits(&self) -> u32 {
        self.return_stack_size + u32::from(self.return_stack_size > 0) + self.call_counter_size
    }

    /// Lowest address bit that indexes the predictor and the cache: 2 where there are no compressed
    /// instructions (3.2.6, 3.2.7).
    pub(crate) fn index_shift(&self) -> u32 {
        if self.iaddress_lsb == 2 { 2 } else { 1 }
    }

    /// The parameter of that name; `blocks` is version 2's name of `taken_branches`.
    pub fn by_name(name: &str) -> Option<&'static Parameter> {
        let name = if name == "blocks" { "taken_branches" } else { name };
        PARAMETERS.iter().find(|parameter| parameter.name == name)
    }

    /// Reads the attributes from the register image of section 9.2: two 64-bit registers, little-endian. The example
    /// puts the second one at offset 4, inside the first; it is read at 8.
    pub fn read_registers(dialect: Dialect, image: &[u8; 16]) -> Self {
        let registers = u128::from_le_bytes(*image);
        let mut params = Params::new(dialect);
        for parameter in PARAMETERS {
            if let Some(at) = parameter.attribute {
                let raw = (registers >> (64 * at.register + at.offset)) as u32 & ((1u32 << at.width) - 1);
                parameter.set(&mut params, raw + at.less);
            }
        }
        params
    }

    /// The register image of section 9.2; `Err` names a parameter that does not fit its attribute.
    pub fn write_registers(&self) -> Result<[u8; 16], &'static str> {
        let mut registers = 0u128;
        for parameter in PARAMETERS {
            let Some(at) = parameter.attribute else { continue };
            let value = parameter.get(self).checked_sub(at.less).ok_or(parameter.name)?;
            if value >> at.width != 0 {
                return Err(parameter.name);
            }
            registers |= u128::from(value) << (64 * at.register + at.offset);
        }
        Ok(registers.to_le_bytes())
    }

    /// An IP-XACT description of the discovery registers, as in section 9.2, with the parameters' values as
    /// reset values.
    ///
    /// ```
    /// use trackway_etrace::{Dialect, Params};
    /// let description = Params::new(Dialect::Draft).to_ipxact();
    /// assert!(description.contains("<ipxact:name>iaddress_width</ipxact:name>"));
    /// ```
    pub fn to_ipxact(&self) -> String {
        let field = |name: &str, about: &str, offset: u32, width: u32, value: Option<u32>| {
            let reset = value.map_or(String::new(), |value| {
                format!(
                    "                  <ipxact:resets><ipxact:reset><ipxact:value>'h{value:x}</ipxact:value></ipxact:reset></ipxact:resets>\n"
                )
            });
            format!(
                "               <ipxact:field>\n                  <ipxact:name>{name}</ipxact:name>\n                  <ipxact:description>{about}</ipxact:description>\n                  <ipxact:bitOffset>{offset}</ipxact:bitOffset>\n{reset}                  <ipxact:bitWidth>{width}</ipxact:bitWidth>\n               </ipxact:field>\n"
            )
        };
        let mut registers = String::new();
        for register in 0..2u32 {
            registers += &format!(
                "            <ipxact:register>\n               <ipxact:name>discovery_info_{register}</ipxact:name>\n               <ipxact:addressOffset>'h{:x}</ipxact:addressOffset>\n               <ipxact:size>64</ipxact:size>\n               <ipxact:access>read-only</ipxact:access>\n",
                register * 8
            );
            if register == 0 {
                registers += &field("version", "Version of the encoder", 0, 4, None);
                registers += &field("minor_revision", "Revision of the encoder", 4, 4, None);
            }
            for parameter in PARAMETERS {
                if let Some(at) = parameter.attribute.filter(|at| at.register == register) {
                    let value = parameter.get(self).saturating_sub(at.less);
                    registers += &field(at.name, parameter.about.trim(), at.offset, at.width, Some(value));
                }
            }
            registers += "            </ipxact:register>\n";
        }
        format!(
            r#"<?xml version="1.0" encoding="UTF-8"?>
<ipxact:component
  xmlns:ipxact="http://www.accellera.org/XMLSchema/IPXACT/1685-2014"
  xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xsi:schemaLocation="http://www.accellera.org/XMLSchema/IPXACT/1685-2014
                      http://www.accellera.org/XMLSchema/IPXACT/1685-2014/index.xsd">
   <ipxact:vendor>Trackway</ipxact:vendor>
   <ipxact:library>TraceEncoder</ipxact:library>
   <ipxact:name>TraceEncoder</ipxact:name>
   <ipxact:version>{version}</ipxact:version>
   <ipxact:memoryMaps>
      <ipxact:memoryMap>
         <ipxact:name>Trace Encoder Register Map</ipxact:name>
         <ipxact:addressBlock>
            <ipxact:name>Trace Encoder Register Address Block</ipxact:name>
            <ipxact:baseAddress>0</ipxact:baseAddress>
            <ipxact:range>128</ipxact:range>
            <ipxact:width>64</ipxact:width>
{registers}         </ipxact:addressBlock>
         <ipxact:addressUnitBits>8</ipxact:addressUnitBits>
      </ipxact:memoryMap>
   </ipxact:memoryMaps>
</ipxact:component>
"#,
            version = env!("CARGO_PKG_VERSION")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 9.2: no two attributes share a bit, and none leaves its register.
    #[test]
    fn section_9_2_fields_do_not_overlap() {
        let mut used = 0xffu128; // version and minor_revision
        for parameter in PARAMETERS {
            let Some(at) = parameter.attribute else { continue };
            assert!(at.offset + at.width <= 64, "{}", parameter.name);
            let bits = ((1u128 << at.width) - 1) << (64 * at.register + at.offset);
            assert_eq!(used & bits, 0, "{}", parameter.name);
            used |= bits;
        }
    }

    /// Tables 9.2 to 9.4: the defaults, in attribute form.
    #[test]
    fn tables_9_2_to_9_4_defaults() {
        let draft = Params::new(Dialect::Draft);
        let attribute = |name: &str| {
            let parameter = Params::by_name(name).unwrap();
            parameter.get(&draft) - parameter.attribute.unwrap().less
        };
        for (name, value) in [
            ("arch", 0),
            ("bpred_size", 0),
            ("cache_size", 0),
            ("call_counter_size", 0),
            ("context_width", 0),
            ("ecause_width", 3),
            ("f0s_width", 0),
            ("iaddress_lsb", 0),
            ("iaddress_width", 31),
            ("nocontext", 0),
            ("privilege_width", 2),
            ("return_stack_size", 0),
            ("sijump", 0),
            ("comparators", 0),
            ("filters", 0),
            ("ecause_choice", 5),
            ("filter_context", 1),
            ("filter_excint", 1),
            ("filter_privilege", 1),
            ("filter_tval", 1),
            ("ctype_width", 1),
            ("ilastsize_width", 0),
            ("iretire_width", 2),
            ("retires", 0),
            ("taken_branches", 0),
            ("impdef_width", 0),
        ] {
            assert_eq!(attribute(name), value, "{name}");
        }
        // The printed 4 would be 5 bits, which no itype has.
        assert_eq!(attribute("itype_width"), 3);
    }

    #[test]
    fn section_9_2_registers_come_back() {
        let mut params = Params::new(Dialect::V2);
        params.iaddress_width = 64;
        params.bpred_size = 9;
        params.cache_size = 4;
        params.return_stack_size = 3;
        params.sijump = 1;
        params.context_width = 32;
        let image = params.write_registers().unwrap();
        assert_eq!(Params::read_registers(Dialect::V2, &image), params);
        params.context_width = 33;
        assert_eq!(params.write_registers(), Err("context_width"));
        params.context_width = 1;
        params.iaddress_lsb = 0;
        assert_eq!(params.write_registers(), Err("iaddress_lsb"));
    }

    #[test]
    fn section_9_2_description_names_every_field() {
        let text = Params::new(Dialect::Draft).to_ipxact();
        for parameter in PARAMETERS.iter().filter_map(|parameter| parameter.attribute) {
            assert!(text.contains(&format!("<ipxact:name>{}</ipxact:name>", parameter.name)));
        }
        assert!(text.contains("<ipxact:bitOffset>57</ipxact:bitOffset>"));
        assert_eq!(text.matches("<ipxact:field>").count(), text.matches("</ipxact:field>").count());
    }
}
