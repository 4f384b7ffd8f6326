/* The golden RISC-V model of trackway beside a core: docs/c.md.
 *
 * Every call takes the core that trackway_new returned. Those that return int return a negative number where
 * something is wrong, and trackway_error says what. A core is used by one thread at a time; texts are valid until the
 * next call with the same core. All arguments are integers and strings, as DPI has them (trackway.svh). */
#ifndef TRACKWAY_H
#define TRACKWAY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A core. `description` is a name (flute, qemu, ibex, spike) or a FILE.yaml of riscv-config, `isa` an ISA string such
 * as "rv32imc_zicsr"; either may be NULL or empty. Both wrong: trackway_error(NULL) says what, and NULL is returned. */
void *trackway_new(const char *description, const char *isa, uint64_t reset_pc);
void trackway_free(void *core);

/* Before the first instruction: programs and bytes in memory; where memory is (everything else faults) and whether it
 * is zero until it is written; where devices are. */
int trackway_load_elf(void *core, const char *path);
int trackway_load(void *core, uint64_t address, const void *bytes, uint64_t size);
int trackway_add_memory(void *core, uint64_t address, uint64_t size, int is_zero);
int trackway_add_device(void *core, uint64_t address, uint64_t size);

/* The core retired an instruction, or it trapped (`trap`). As in RVFI: `rd` is 0 where nothing was written; the masks
 * have a bit for each byte from `mem_address` on. Returns the number of mismatches so far. */
int trackway_retired(void *core, uint64_t pc, uint32_t instruction, uint64_t next_pc, int trap, int rd,
                     uint64_t rd_value, uint64_t mem_address, uint32_t mem_read_mask, uint64_t mem_read_data,
                     uint32_t mem_write_mask, uint64_t mem_write_data);

/* More of the instruction that the next trackway_retired is about: a floating-point register that it wrote, and the value
 * that it, or the trap that it took, left in a control register. Control registers are compared where they are handed
 * over; floating-point registers are expected of every instruction from the first call on. */
int trackway_wrote_f(void *core, uint32_t number, uint64_t value);
int trackway_wrote_csr(void *core, uint32_t number, uint64_t value);

/* The core took this interrupt; the next instruction is the first of its handler. */
int trackway_interrupt(void *core, uint32_t cause);

/* State that the model cannot know: a register that something outside set, and the value that a device returns for
 * loads from this address until it is set again (without it the value of the core counts). */
int trackway_set_csr(void *core, uint32_t number, uint64_t value);
int trackway_set_x(void *core, uint32_t number, uint64_t value);
int trackway_set_f(void *core, uint32_t number, uint64_t value);
int trackway_set_mmio(void *core, uint64_t address, uint64_t value);

/* The model alone: makes one step and compares nothing. Returns 1 where it took a trap, else 0. */
int trackway_step(void *core);
/* The instruction of that step and its access to memory, as for trackway_retired. */
uint32_t trackway_fetched(void *core);
uint64_t trackway_mem_address(void *core);
uint32_t trackway_mem_read_mask(void *core);
uint64_t trackway_mem_read_data(void *core);
uint32_t trackway_mem_write_mask(void *core);
uint64_t trackway_mem_write_data(void *core);

/* The state of the model. */
uint64_t trackway_pc(void *core);
uint64_t trackway_x(void *core, uint32_t number);
uint64_t trackway_f(void *core, uint32_t number);
uint64_t trackway_csr(void *core, uint32_t number);

/* Mismatches so far; 1 if everything was compared and agreed; all of it as text, and as JUnit XML. */
int trackway_mismatches(void *core);
int trackway_passed(void *core);
const char *trackway_report(void *core);
const char *trackway_junit(void *core, const char *name);

/* Why the last call failed. */
const char *trackway_error(void *core);

#ifdef __cplusplus
}
#endif

#endif
