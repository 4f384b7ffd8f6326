// trackway.h for SystemVerilog (DPI-C): docs/c.md.
import "DPI-C" function chandle trackway_new(string description, string isa, longint unsigned reset_pc);
import "DPI-C" function void trackway_free(chandle core);
import "DPI-C" function int trackway_load_elf(chandle core, string path);
import "DPI-C" function int trackway_add_memory(chandle core, longint unsigned address, longint unsigned size, int is_zero);
import "DPI-C" function int trackway_add_device(chandle core, longint unsigned address, longint unsigned size);
import "DPI-C" function int trackway_retired(
    chandle core, longint unsigned pc, int unsigned instruction, longint unsigned next_pc, int trap, int rd,
    longint unsigned rd_value, longint unsigned mem_address, int unsigned mem_read_mask,
    longint unsigned mem_read_data, int unsigned mem_write_mask, longint unsigned mem_write_data);
import "DPI-C" function int trackway_wrote_f(chandle core, int unsigned number, longint unsigned value);
import "DPI-C" function int trackway_wrote_csr(chandle core, int unsigned number, longint unsigned value);
import "DPI-C" function int trackway_interrupt(chandle core, int unsigned cause);
import "DPI-C" function int trackway_set_csr(chandle core, int unsigned number, longint unsigned value);
import "DPI-C" function int trackway_set_x(chandle core, int unsigned number, longint unsigned value);
import "DPI-C" function int trackway_set_f(chandle core, int unsigned number, longint unsigned value);
import "DPI-C" function int trackway_set_mmio(chandle core, longint unsigned address, longint unsigned value);
import "DPI-C" function int trackway_step(chandle core);
import "DPI-C" function int unsigned trackway_fetched(chandle core);
import "DPI-C" function longint unsigned trackway_mem_address(chandle core);
import "DPI-C" function int unsigned trackway_mem_read_mask(chandle core);
import "DPI-C" function longint unsigned trackway_mem_read_data(chandle core);
import "DPI-C" function int unsigned trackway_mem_write_mask(chandle core);
import "DPI-C" function longint unsigned trackway_mem_write_data(chandle core);
import "DPI-C" function longint unsigned trackway_pc(chandle core);
import "DPI-C" function longint unsigned trackway_x(chandle core, int unsigned number);
import "DPI-C" function longint unsigned trackway_f(chandle core, int unsigned number);
import "DPI-C" function longint unsigned trackway_csr(chandle core, int unsigned number);
import "DPI-C" function int trackway_mismatches(chandle core);
import "DPI-C" function int trackway_passed(chandle core);
import "DPI-C" function string trackway_report(chandle core);
import "DPI-C" function string trackway_error(chandle core);
