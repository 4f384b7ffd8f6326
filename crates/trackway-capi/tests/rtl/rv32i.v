// A small RV32I core with an RVFI port: one instruction in each clock, memory that answers at once. Of the privileged
// part it has mtvec, mepc, mcause, ecall, ebreak and mret. `bug` plants one fault: 1 makes sra a srl, 2 compares
// with a sign where there is none, 3 stores bytes to the wrong lane.
module rv32i #(parameter RESET = 32'h80000000) (
    input      [1:0]  bug,
    input             clock,
    input             reset,
    output     [31:0] fetch_address,
    input      [31:0] fetch_data,
    output     [31:0] memory_address,
    input      [31:0] memory_read,
    output     [31:0] memory_write,
    output     [3:0]  memory_mask,
    output            rvfi_valid,
    output     [31:0] rvfi_insn,
    output            rvfi_trap,
    output     [4:0]  rvfi_rd_addr,
    output     [31:0] rvfi_rd_wdata,
    output     [31:0] rvfi_pc_rdata,
    output     [31:0] rvfi_pc_wdata,
    output     [31:0] rvfi_mem_addr,
    output     [3:0]  rvfi_mem_rmask,
    output     [31:0] rvfi_mem_rdata,
    output     [3:0]  rvfi_mem_wmask,
    output     [31:0] rvfi_mem_wdata
);
    reg [31:0] pc, mtvec, mepc, mcause;
    reg [31:0] x [0:31];

    wire [31:0] insn = fetch_data;
    wire [6:0]  opcode = insn[6:0];
    wire [2:0]  funct3 = insn[14:12];
    wire [31:0] a = insn[19:15] == 0 ? 0 : x[insn[19:15]];
    wire [31:0] b = insn[24:20] == 0 ? 0 : x[insn[24:20]];
    wire [31:0] imm_i = {{20{insn[31]}}, insn[31:20]};
    wire [31:0] imm_s = {{20{insn[31]}}, insn[31:25], insn[11:7]};
    wire [31:0] imm_b = {{20{insn[31]}}, insn[7], insn[30:25], insn[11:8], 1'b0};
    wire [31:0] imm_j = {{12{insn[31]}}, insn[19:12], insn[20], insn[30:21], 1'b0};

    wire is_load   = opcode == 7'b0000011;
    wire is_store  = opcode == 7'b0100011;
    wire is_system = opcode == 7'b1110011;
    wire is_csr    = is_system && funct3 == 3'b001;
    wire is_mret   = insn == 32'h30200073;
    wire is_trap   = insn == 32'h00000073 || insn == 32'h00100073;
    wire register  = opcode == 7'b0110011;
    wire [31:0] right = register ? b : imm_i;
    wire [31:0] address = a + (is_store ? imm_s : imm_i);
    wire [4:0]  lane = {address[1:0], 3'b000};

    wire [31:0] arithmetic = $signed(a) >>> right[4:0];

    reg [31:0] result;
    always @* begin
        case (funct3)
            3'b000: result = register && insn[30] ? a - right : a + right;
            3'b001: result = a << right[4:0];
            3'b010: result = {31'b0, $signed(a) < $signed(right)};
            3'b011: result = {31'b0, bug == 2 ? $signed(a) < $signed(right) : a < right};
            3'b100: result = a ^ right;
            3'b101: result = insn[30] && bug != 1 ? arithmetic : a >> right[4:0];
            3'b110: result = a | right;
            default: result = a & right;
        endcase
    end

    reg taken;
    always @* begin
        case (funct3)
            3'b000: taken = a == b;
            3'b001: taken = a != b;
            3'b100: taken = $signed(a) < $signed(b);
            3'b101: taken = $signed(a) >= $signed(b);
            3'b110: taken = a < b;
            default: taken = a >= b;
        endcase
    end

    wire [31:0] word = memory_read >> lane;
    reg [31:0] loaded;
    always @* begin
        case (funct3)
            3'b000: loaded = {{24{word[7]}}, word[7:0]};
            3'b001: loaded = {{16{word[15]}}, word[15:0]};
            3'b100: loaded = {24'b0, word[7:0]};
            3'b101: loaded = {16'b0, word[15:0]};
            default: loaded = word;
        endcase
    end

    reg [31:0] held;
    always @* begin
        case (insn[31:20])
            12'h305: held = mtvec;
            12'h341: held = mepc;
            12'h342: held = mcause;
            default: held = 0;
        endcase
    end

    reg [31:0] written, next;
    reg writes;
    always @* begin
        writes = 1;
        written = result;
        next = pc + 4;
        case (opcode)
            7'b0110111: written = {insn[31:12], 12'b0};
            7'b0010111: written = pc + {insn[31:12], 12'b0};
            7'b1101111: begin written = pc + 4; next = pc + imm_j; end
            7'b1100111: begin written = pc + 4; next = (a + imm_i) & ~32'd1; end
            7'b1100011: begin writes = 0; if (taken) next = pc + imm_b; end
            7'b0000011: written = loaded;
            7'b0100011: writes = 0;
            7'b0001111: writes = 0;
            7'b1110011: begin
                writes = is_csr;
                written = held;
                if (is_trap) next = {mtvec[31:2], 2'b00};
                if (is_mret) next = mepc;
            end
            default: ;
        endcase
    end

    wire [3:0] bytes = funct3[1:0] == 0 ? 4'b0001 : funct3[1:0] == 1 ? 4'b0011 : 4'b1111;
    wire [3:0] mask = bytes << (bug == 3 && funct3 == 0 ? 2'b00 : address[1:0]);
    assign fetch_address = pc;
    assign memory_address = {address[31:2], 2'b00};
    assign memory_write = b << lane;
    assign memory_mask = is_store && !reset ? mask : 4'b0000;

    wire [4:0] rd = writes ? insn[11:7] : 5'd0;
    assign rvfi_valid = !reset;
    assign rvfi_insn = insn;
    assign rvfi_trap = is_trap;
    assign rvfi_rd_addr = rd;
    assign rvfi_rd_wdata = rd == 0 ? 0 : written;
    assign rvfi_pc_rdata = pc;
    assign rvfi_pc_wdata = next;
    assign rvfi_mem_addr = memory_address;
    assign rvfi_mem_rmask = is_load ? bytes << address[1:0] : 4'b0000;
    assign rvfi_mem_rdata = memory_read;
    assign rvfi_mem_wmask = memory_mask;
    assign rvfi_mem_wdata = memory_write;

    always @(posedge clock) begin
        if (reset) begin
            pc <= RESET;
            mtvec <= 0;
            mepc <= 0;
            mcause <= 0;
        end else begin
            pc <= next;
            if (rd != 0) x[rd] <= written;
            if (is_csr && insn[31:20] == 12'h305) mtvec <= {a[31:2], 2'b00};
            if (is_csr && insn[31:20] == 12'h341) mepc <= {a[31:2], 2'b00};
            if (is_csr && insn[31:20] == 12'h342) mcause <= a;
            if (is_trap) begin
                mepc <= pc;
                mcause <= insn[20] ? 3 : 11;
            end
        end
    end
endmodule
