//! The machine as a board that firmware starts on: its device tree, and a reset ROM that hands it over, both as QEMU's
//! `virt` has them.

mod tree;

use super::board::{Machine, MachineConfig};
use super::system::RAM_BASE;
use crate::config::{Config, Paging};
use crate::program::{LoadError, Program};
use tree::Tree;

/// Nodes that others refer to.
const CORE: u32 = 1;
const INTERRUPTS: u32 = 2;
const FINISHER: u32 = 3;

/// The tree is in RAM, at a multiple of this, as near to the end as it goes.
const TREE_ALIGN: u64 = 16 << 20;

/// RAM that a tree below 4 GiB can be in.
const TREE_LIMIT: u64 = 0xc000_0000;

/// Begins the facts that OpenSBI's `fw_dynamic` looks for: `OSBI`.
const DYNAMIC: u64 = 0x4942_534f;

impl Machine {
    /// A machine with a program in RAM and a device tree, from reset. The ROM jumps to the firmware, where there is one,
    /// which then starts the program; else to the program.
    pub fn virt(
        config: MachineConfig,
        program: &Program,
        firmware: Option<&Program>,
    ) -> Result<Self, LoadError> {
        if let Some(firmware) = firmware {
            for (a, b) in pairs(program, firmware) {
                let overlap = a.physical < b.physical.saturating_add(b.size)
                    && b.physical < a.physical.saturating_add(a.size);
                if overlap {
                    let text = format!(
                        "the segment at {:#x} overlaps that of the firmware at {:#x}",
                        a.physical, b.physical
                    );
                    return Err(LoadError::new(text));
                }
            }
        }
        let mut machine = Machine::new(config, firmware.unwrap_or(program))?;
        if firmware.is_some() {
            machine.load(program)?;
        }
        // Firmware that also runs under Spike has the symbols of its host interface.
        machine.system.tohost = u64::MAX;
        machine.system.fromhost = u64::MAX;
        let tree = device_tree(&config);
        let end = (RAM_BASE + config.ram as u64).min(TREE_LIMIT);
        let at = end.saturating_sub(tree.len() as u64) / TREE_ALIGN * TREE_ALIGN;
        if at < RAM_BASE || !machine.system.load(at, &tree) {
            return Err(LoadError::new("the RAM has no room for the device tree"));
        }
        let size = if config.core.is_rv32() { 4 } else { 8 };
        // Version, the program's entry, level S, no options, hart 0.
        let dynamic = [DYNAMIC, 2, program.entry, 1, 0, 0];
        let dynamic = dynamic.iter().flat_map(|word| word.to_le_bytes()[..size].to_vec());
        let facts: Vec<u8> = at.to_le_bytes().into_iter().chain(dynamic).collect();
        machine.system.rom[32..32 + facts.len()].copy_from_slice(&facts);
        Ok(machine)
    }
}

/// Every segment of one with every segment of the other.
fn pairs<'a>(
    a: &'a Program,
    b: &'a Program,
) -> impl Iterator<Item = (&'a trackway_image::Segment, &'a trackway_image::Segment)> {
    a.segments.iter().flat_map(|one| b.segments.iter().map(move |other| (one, other)))
}

/// The device tree: the core and the devices that the machine has. QEMU's `virt` has them all, at the same places.
pub fn device_tree(config: &MachineConfig) -> Vec<u8> {
    let mut tree = Tree::default();
    tree.node("", |tree| {
        tree.cells("#address-cells", &[2]);
        tree.cells("#size-cells", &[2]);
        tree.texts("compatible", &["riscv-virtio"]);
        tree.texts("model", &["riscv-virtio,qemu"]);
        tree.node("chosen", |tree| {
            tree.texts("stdout-path", &["/soc/serial@10000000"]);
            // QEMU adds one with its own random bytes: so the shape of its tree is the same.
            tree.bytes("rng-seed", &[0; 32]);
        });
        tree.node("memory@80000000", |tree| {
            tree.texts("device_type", &["memory"]);
            let size = config.ram as u64;
            tree.cells("reg", &[0, RAM_BASE as u32, (size >> 32) as u32, size as u32]);
        });
        tree.node("cpus", |tree| core(tree, &config.core));
        tree.node("soc", devices);
        for (name, value) in [("poweroff", 0x5555), ("reboot", 0x7777)] {
            tree.node(name, |tree| {
                tree.cells("value", &[value]);
                tree.cells("offset", &[0]);
                tree.cells("regmap", &[FINISHER]);
                tree.texts("compatible", &[&format!("syscon-{name}")]);
            });
        }
    });
    tree.finish()
}

fn core(tree: &mut Tree, core: &Config) {
    tree.cells("#address-cells", &[1]);
    tree.cells("#size-cells", &[0]);
    tree.cells("timebase-frequency", &[10_000_000]);
    tree.node("cpu@0", |tree| {
        tree.texts("device_type", &["cpu"]);
        tree.cells("reg", &[core.hart_id as u32]);
        tree.texts("status", &["okay"]);
        tree.texts("compatible", &["riscv"]);
        tree.texts("riscv,isa", &[&core.extensions.isa_string(core.isa)]);
        let paging = match (core.is_rv32(), core.paging) {
            (_, Paging::Bare) => "riscv,none",
            (true, _) => "riscv,sv32",
            (false, Paging::Sv39) => "riscv,sv39",
            (false, Paging::Sv48) => "riscv,sv48",
            (false, Paging::Sv57) => "riscv,sv57",
        };
        tree.texts("mmu-type", &[paging]);
        tree.node("interrupt-controller", |tree| {
            tree.cells("#interrupt-cells", &[1]);
            tree.bytes("interrupt-controller", &[]);
            tree.texts("compatible", &["riscv,cpu-intc"]);
            tree.cells("phandle", &[CORE]);
        });
    });
}

fn devices(tree: &mut Tree) {
    tree.cells("#address-cells", &[2]);
    tree.cells("#size-cells", &[2]);
    tree.texts("compatible", &["simple-bus"]);
    tree.bytes("ranges", &[]);
    tree.node("serial@10000000", |tree| {
        tree.texts("compatible", &["ns16550a"]);
        tree.cells("reg", &[0, 0x1000_0000, 0, 0x100]);
        tree.cells("clock-frequency", &[3_686_400]);
        tree.cells("interrupts", &[super::devices::UART_INPUT.into()]);
        tree.cells("interrupt-parent", &[INTERRUPTS]);
    });
    tree.node("test@100000", |tree| {
        tree.texts("compatible", &["sifive,test1", "sifive,test0", "syscon"]);
        tree.cells("reg", &[0, 0x10_0000, 0, 0x1000]);
        tree.cells("phandle", &[FINISHER]);
    });
    tree.node("plic@c000000", |tree| {
        tree.texts("compatible", &["sifive,plic-1.0.0", "riscv,plic0"]);
        tree.cells("reg", &[0, 0xc00_0000, 0, 0x60_0000]);
        tree.cells("#address-cells", &[0]);
        tree.cells("#interrupt-cells", &[1]);
        tree.bytes("interrupt-controller", &[]);
        // External interrupts of M and S.
        tree.cells("interrupts-extended", &[CORE, 11, CORE, 9]);
        tree.cells("riscv,ndev", &[31]);
        tree.cells("phandle", &[INTERRUPTS]);
    });
    tree.node("clint@2000000", |tree| {
        tree.texts("compatible", &["sifive,clint0", "riscv,clint0"]);
        tree.cells("reg", &[0, 0x200_0000, 0, 0x1_0000]);
        // Software and timer interrupts of M.
        tree.cells("interrupts-extended", &[CORE, 3, CORE, 7]);
    });
}
