//! Names of A64 system registers.

/// System registers by name, with op0, op1, CRn, CRm and op2 as `MRS` has them (Arm ARM, D24.2 to D24.4). In the order
/// of the names.
const NAMED: &[(&str, u16)] = &[
    ("actlr_el1", 0xc081),
    ("actlr_el2", 0xe081),
    ("actlr_el3", 0xf081),
    ("afsr0_el1", 0xc288),
    ("afsr0_el2", 0xe288),
    ("afsr0_el3", 0xf288),
    ("afsr1_el1", 0xc289),
    ("afsr1_el2", 0xe289),
    ("afsr1_el3", 0xf289),
    ("amair_el1", 0xc518),
    ("amair_el2", 0xe518),
    ("amair_el3", 0xf518),
    ("cntfrq_el0", 0xdf00),
    ("cnthctl_el2", 0xe708),
    ("cntkctl_el1", 0xc708),
    ("cntvoff_el2", 0xe703),
    ("contextidr_el1", 0xc681),
    ("contextidr_el2", 0xe681),
    ("cpacr_el1", 0xc082),
    ("cptr_el2", 0xe08a),
    ("cptr_el3", 0xf08a),
    ("csselr_el1", 0xd000),
    ("currentel", 0xc212),
    ("dacr32_el2", 0xe180),
    ("daif", 0xda11),
    ("elr_el1", 0xc201),
    ("elr_el2", 0xe201),
    ("elr_el3", 0xf201),
    ("esr_el1", 0xc290),
    ("esr_el2", 0xe290),
    ("esr_el3", 0xf290),
    ("far_el1", 0xc300),
    ("far_el2", 0xe300),
    ("far_el3", 0xf300),
    ("fpcr", 0xda20),
    ("fpexc32_el2", 0xe298),
    ("fpsr", 0xda21),
    ("hacr_el2", 0xe08f),
    ("hcr_el2", 0xe088),
    ("hpfar_el2", 0xe304),
    ("hstr_el2", 0xe08b),
    ("id_aa64pfr0_el1", 0xc020),
    ("ifsr32_el2", 0xe281),
    ("mair_el1", 0xc510),
    ("mair_el2", 0xe510),
    ("mair_el3", 0xf510),
    ("mdcr_el2", 0xe089),
    ("mdcr_el3", 0xf099),
    ("mdscr_el1", 0x8012),
    ("midr_el1", 0xc000),
    ("mpidr_el1", 0xc005),
    ("nzcv", 0xda10),
    ("oslar_el1", 0x8084),
    ("oslsr_el1", 0x808c),
    ("pan", 0xc213),
    ("par_el1", 0xc3a0),
    ("pmbidr_el1", 0xc4d7),
    ("pmblimitr_el1", 0xc4d0),
    ("pmbptr_el1", 0xc4d1),
    ("pmbsr_el1", 0xc4d3),
    ("pmscr_el1", 0xc4c8),
    ("pmscr_el2", 0xe4c8),
    ("pmsevfr_el1", 0xc4cd),
    ("pmsfcr_el1", 0xc4cc),
    ("pmsicr_el1", 0xc4ca),
    ("pmsidr_el1", 0xc4cf),
    ("pmsirr_el1", 0xc4cb),
    ("pmslatfr_el1", 0xc4ce),
    ("revidr_el1", 0xc006),
    ("scr_el3", 0xf088),
    ("sctlr_el1", 0xc080),
    ("sctlr_el2", 0xe080),
    ("sctlr_el3", 0xf080),
    ("sder32_el3", 0xf089),
    ("sp_el0", 0xc208),
    ("sp_el1", 0xe208),
    ("sp_el2", 0xf208),
    ("spsel", 0xc210),
    ("spsr_abt", 0xe219),
    ("spsr_el1", 0xc200),
    ("spsr_el2", 0xe200),
    ("spsr_el3", 0xf200),
    ("spsr_fiq", 0xe21b),
    ("spsr_irq", 0xe218),
    ("spsr_und", 0xe21a),
    ("tcr_el1", 0xc102),
    ("tcr_el2", 0xe102),
    ("tcr_el3", 0xf102),
    ("tpidr_el0", 0xde82),
    ("tpidr_el1", 0xc684),
    ("tpidr_el2", 0xe682),
    ("tpidr_el3", 0xf682),
    ("tpidrro_el0", 0xde83),
    ("trbbaser_el1", 0xc4da),
    ("trbidr_el1", 0xc4df),
    ("trblimitr_el1", 0xc4d8),
    ("trbmar_el1", 0xc4dc),
    ("trbptr_el1", 0xc4d9),
    ("trbsr_el1", 0xc4db),
    ("trbtrg_el1", 0xc4de),
    ("trcbbctlr", 0x8878),
    ("trcccctlr", 0x8870),
    ("trcconfigr", 0x8820),
    ("trceventctl0r", 0x8840),
    ("trceventctl1r", 0x8848),
    ("trcprgctlr", 0x8808),
    ("trcrsr", 0x8850),
    ("trcstallctlr", 0x8858),
    ("trcsyncpr", 0x8868),
    ("trctraceidr", 0x8801),
    ("trctsctlr", 0x8860),
    ("trcvictlr", 0x8802),
    ("trcviiectlr", 0x880a),
    ("trcvissctlr", 0x8812),
    ("trfcr_el1", 0xc091),
    ("trfcr_el2", 0xe091),
    ("ttbr0_el1", 0xc100),
    ("ttbr0_el2", 0xe100),
    ("ttbr0_el3", 0xf100),
    ("ttbr1_el1", 0xc101),
    ("ttbr1_el2", 0xe101),
    ("uao", 0xc214),
    ("vbar_el1", 0xc600),
    ("vbar_el2", 0xe600),
    ("vbar_el3", 0xf600),
    ("vmpidr_el2", 0xe005),
    ("vpidr_el2", 0xe000),
    ("vsesr_el2", 0xe293),
    ("vtcr_el2", 0xe10a),
    ("vttbr_el2", 0xe108),
];

/// The name of a system register, where it is one that programs use.
///
/// ```
/// use trackway_isa::arm::{system_register, system_register_number};
/// assert_eq!(system_register(0xda10), Some("nzcv"));
/// assert_eq!(system_register_number("ESR_EL1"), Some(0xc290));
/// ```
pub fn system_register(number: u16) -> Option<&'static str> {
    NAMED.iter().find(|(_, known)| *known == number).map(|(name, _)| *name)
}

/// The number of a system register: op0, op1, CRn, CRm and op2 as in the encoding of `MRS`. Case does not matter.
pub fn system_register_number(name: &str) -> Option<u16> {
    let letters = || name.bytes().map(|byte| byte.to_ascii_lowercase());
    let found = NAMED.binary_search_by(|(known, _)| known.bytes().cmp(letters()));
    found.ok().map(|n| NAMED[n].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_numbers_differ() {
        assert!(NAMED.is_sorted_by(|a, b| a.0 < b.0));
        for (name, number) in NAMED {
            assert_eq!(system_register(*number), Some(*name));
            assert_eq!(system_register_number(&name.to_uppercase()), Some(*number));
        }
    }
}
