// The core of rv32i.v under Verilator, its RVFI port verified while it runs: sim PROGRAM.elf PROGRAM.bin BUG
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "Vrv32i.h"
#include "trackway.h"
#include "verilated.h"

static const uint32_t RAM = 0x80000000, SIZE = 0x4000, FINISHER = 0x100000;

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    std::vector<uint32_t> ram(SIZE / 4);
    std::ifstream file(argv[2], std::ios::binary);
    file.read(reinterpret_cast<char *>(ram.data()), SIZE);

    void *model = trackway_new("", "rv32i_zicsr", RAM);
    if (!model || trackway_load_elf(model, argv[1]) < 0 || trackway_add_memory(model, RAM, SIZE, 1) < 0 ||
        trackway_add_device(model, FINISHER, 0x1000) < 0) {
        fprintf(stderr, "%s\n", trackway_error(model));
        return 2;
    }

    VerilatedContext context;
    Vrv32i core(&context);
    uint64_t retired = 0;
    bool done = false;
    core.reset = 1;
    core.bug = std::atoi(argv[3]);
    for (int cycle = 0; cycle < 100000 && !done; cycle++) {
        core.clock = 0;
        core.eval();
        auto at = [&](uint32_t address) { return ((address - RAM) & (SIZE - 1)) / 4; };
        core.fetch_data = ram[at(core.fetch_address)];
        core.eval();
        core.memory_read = ram[at(core.memory_address)];
        core.eval();
        if (core.rvfi_valid) {
            retired++;
            int found = trackway_retired(model, core.rvfi_pc_rdata, core.rvfi_insn, core.rvfi_pc_wdata, core.rvfi_trap,
                                         core.rvfi_rd_addr, core.rvfi_rd_wdata, core.rvfi_mem_addr, core.rvfi_mem_rmask,
                                         core.rvfi_mem_rdata, core.rvfi_mem_wmask, core.rvfi_mem_wdata);
            if (found < 0) {
                fprintf(stderr, "%s\n", trackway_error(model));
                return 2;
            }
            if (found > 0) {
                printf("%sfound while it runs, after %llu instructions\n", trackway_report(model),
                       (unsigned long long)retired);
                trackway_free(model);
                return 1;
            }
            if (core.memory_mask && core.memory_address == FINISHER) done = true;
        }
        if (core.memory_mask && core.memory_address >= RAM) {
            uint32_t &word = ram[at(core.memory_address)];
            for (int lane = 0; lane < 4; lane++)
                if (core.memory_mask >> lane & 1) {
                    uint32_t bits = 0xffu << (8 * lane);
                    word = (word & ~bits) | (core.memory_write & bits);
                }
        }
        core.clock = 1;
        core.eval();
        if (cycle == 2) core.reset = 0;
    }
    printf("%s", trackway_report(model));
    int passed = done && trackway_passed(model) == 1;
    trackway_free(model);
    return passed ? 0 : 1;
}
