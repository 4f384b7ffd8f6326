// Debugs a trace with the client that VS Code's makers test adapters with, and prints what it saw as JSON:
// node dap.mjs FOLDER PORT SOURCE LINE

import { createRequire } from "node:module";
import { join } from "node:path";

const [, , folder, port, path, line] = process.argv;
const { DebugClient } = createRequire(join(folder, "node_modules/"))("@vscode/debugadapter-testsupport");

const client = new DebugClient("", "", "trackway");
await client.start(Number(port));
const seen = {};
const stopped = async (request) => (await Promise.all([client.waitForEvent("stopped"), request]))[0].body;
const frames = async () => (await client.stackTraceRequest({ threadId: 1 })).body.stackFrames;
const here = async () => {
  const [frame] = await frames();
  return { name: frame.name, line: frame.line, pc: frame.instructionPointerReference };
};

// Checks that the stop is at that line, and that the breakpoint was confirmed.
await client.hitBreakpoint({ stopOnEntry: false, position: "0" }, { path, line: Number(line) });
seen.first = await here();
seen.threads = (await client.threadsRequest()).body.threads.length;
seen.second = { ...(await stopped(client.continueRequest({ threadId: 1 }))), ...(await here()) };
seen.back = { ...(await stopped(client.reverseContinueRequest({ threadId: 1 }))), ...(await here()) };
seen.over = { ...(await stopped(client.nextRequest({ threadId: 1 }))), ...(await here()) };
seen.stepBack = { ...(await stopped(client.stepBackRequest({ threadId: 1 }))), ...(await here()) };
seen.into = { ...(await stopped(client.stepInRequest({ threadId: 1 }))), ...(await here()) };
const out = await frames();
seen.depth = out.length;
seen.out = { ...(await stopped(client.stepOutRequest({ threadId: 1 }))), ...(await here()) };
const { scopes } = (await client.scopesRequest({ frameId: out[0].id })).body;
const { variables } = (await client.variablesRequest({ variablesReference: scopes[0].variablesReference })).body;
seen.scope = scopes[0].name;
seen.registers = Object.fromEntries(variables.map((one) => [one.name, one.value]));
// A saved register on the stack, watched: the write before here.
const saved = `0x${(BigInt(seen.registers.sp) + 8n).toString(16)}:8`;
const info = (await client.dataBreakpointInfoRequest({ name: saved })).body;
await client.setBreakpointsRequest({ source: { path }, breakpoints: [] });
await client.setDataBreakpointsRequest({ breakpoints: [{ dataId: info.dataId, accessType: "write" }] });
seen.watched = await stopped(client.reverseContinueRequest({ threadId: 1 }));
seen.where = (await client.evaluateRequest({ expression: "where", context: "repl" })).body.result;
const code = await client.customRequest("disassemble", { memoryReference: seen.first.pc, instructionCount: 4 });
seen.code = code.body.instructions.map((one) => one.instruction);
const memory = await client.customRequest("readMemory", { memoryReference: seen.first.pc, count: 4 });
seen.memory = memory.body.data;
seen.refused = await client.customRequest("setVariable", { variablesReference: 1, name: "a0", value: "1" }).then(
  () => "accepted",
  (error) => error.message,
);
await client.disconnectRequest({ terminateDebuggee: true });
console.log(JSON.stringify(seen));
process.exit(0);
