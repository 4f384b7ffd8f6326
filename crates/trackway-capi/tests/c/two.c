/* One model as the core, another one beside it: two PROGRAM.elf INSTRUCTIONS BAD KIND, where from instruction BAD on (0:
 * never) the results of a kind are wrong: x, f or c (fcsr). It prints the report; 0 if all agreed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trackway.h"

static void check(int ok, void *core, const char *what) {
    if (!ok) {
        printf("%s: %s\n", what, trackway_error(core));
        exit(2);
    }
}

static void *core_with(const char *elf) {
    void *core = trackway_new(NULL, "rv64gc_zfh_zba_zbb_zbc_zbs", 0x80000000);
    check(core != NULL, NULL, "trackway_new");
    check(trackway_load_elf(core, elf) == 0, core, "trackway_load_elf");
    check(trackway_add_memory(core, 0x80000000, 0x8000000, 1) == 0, core, "trackway_add_memory");
    check(trackway_add_device(core, 0x10000000, 0x1000) == 0, core, "trackway_add_device");
    check(trackway_add_device(core, 0x100000, 0x1000) == 0, core, "trackway_add_device");
    return core;
}

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    long instructions = atol(argv[2]), bad = atol(argv[3]);
    char kind = argv[4][0];

    /* Wrong arguments are refused. */
    check(trackway_new("rocket", "", 0) == NULL && strstr(trackway_error(NULL), "rocket"), NULL, "a wrong name");
    check(trackway_new(NULL, "rv64gcq", 0) == NULL && strstr(trackway_error(NULL), "q"), NULL, "a wrong ISA");
    check(trackway_step(NULL) == -1 && trackway_report(NULL) == NULL, NULL, "no core");

    void *core = core_with(argv[1]), *model = core_with(argv[1]);
    check(trackway_load_elf(model, "/nowhere") == -1 && strstr(trackway_error(model), "/nowhere"), model, "no file");
    /* The UART is ready to send. */
    check(trackway_set_mmio(core, 0x10000005, 0x60) == 0 && trackway_set_mmio(model, 0x10000005, 0x60) == 0, core, "mmio");
    check(trackway_set_x(model, 40, 0) == -1 && trackway_set_csr(model, 0xfff, 0) == -1, model, "no register");
    check(trackway_add_memory(model, 0, 16, 0) == -1, model, "too late");
    check(trackway_wrote_f(model, 32, 0) == -1 && trackway_wrote_csr(model, 0xfff, 0) == -1, model, "no such register");
    for (int r = 0; r < 32; r++)
        check(trackway_set_f(core, r, 0) == 0 && trackway_set_f(model, r, 0) == 0, model, "trackway_set_f");

    int found = 0;
    for (long n = 1; n <= instructions && found == 0; n++) {
        uint64_t before[32], floats[32], pc = trackway_pc(core);
        int wrong = n >= bad && bad != 0;
        for (int r = 0; r < 32; r++) before[r] = trackway_x(core, r), floats[r] = trackway_f(core, r);
        int trap = trackway_step(core);
        int rd = 0;
        for (int r = 1; r < 32; r++)
            if (trackway_x(core, r) != before[r]) rd = r;
        uint64_t value = trackway_x(core, rd);
        if (wrong && kind == 'x' && rd != 0) value ^= 4;
        for (int r = 0; r < 32; r++)
            if (trackway_f(core, r) != floats[r])
                check(trackway_wrote_f(model, r, trackway_f(core, r) ^ (wrong && kind == 'f' ? 4 : 0)) == 0, model, "f");
        check(trackway_wrote_csr(model, 3, trackway_csr(core, 3) ^ (wrong && kind == 'c' ? 4 : 0)) == 0, model, "csr");
        found = trackway_retired(model, pc, trackway_fetched(core), trackway_pc(core), trap, rd, value,
                                 trackway_mem_address(core), trackway_mem_read_mask(core), trackway_mem_read_data(core),
                                 trackway_mem_write_mask(core), trackway_mem_write_data(core));
        check(found >= 0, model, "trackway_retired");
    }
    printf("%s", trackway_report(model));
    check(trackway_mismatches(model) == found, model, "trackway_mismatches");
    check(strstr(trackway_junit(model, "two"), "<testsuite name=\"two\"") != NULL, model, "trackway_junit");
    trackway_free(core);
    trackway_free(model);
    trackway_free(NULL);
    return found > 0 ? 1 : 0;
}
