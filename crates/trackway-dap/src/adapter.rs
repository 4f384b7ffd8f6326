//! Requests one after the other.

use serde::Deserialize;
use serde_json::{Value as Json, json};
use trackway::Error;
use trackway_tools::replay::{Broken, Direction, Ended, Session, Stop, Unit};

use crate::breakpoints::Breakpoints;
use crate::view;
use crate::wire::{Request, Wire, arguments};

/// A session with an editor.
pub(crate) struct Adapter<'s> {
    pub(crate) session: &'s mut Session,
    wire: Wire,
    breakpoints: Breakpoints,
    /// Stop before the first instruction, as most editors expect of a launch.
    stops_on_entry: bool,
}

/// The work after a request was answered.
enum Then {
    Nothing,
    Event(&'static str, Json),
    Move(Move),
    End(Ended),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Continue(Direction),
    Step { direction: Direction, unit: Unit, over: bool },
    Out,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Launch {
    stop_on_entry: Option<bool>,
    /// The position to begin at.
    position: Option<String>,
    /// The folder of sources that the compiler names without one.
    cwd: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Moving {
    thread_id: usize,
    #[serde(default)]
    granularity: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Disconnect {
    terminate_debuggee: bool,
}

#[derive(Debug, Deserialize)]
struct Evaluate {
    expression: String,
    #[serde(default)]
    context: String,
}

impl<'s> Adapter<'s> {
    pub(crate) fn new(session: &'s mut Session, wire: Wire) -> Self {
        Adapter { session, wire, breakpoints: Breakpoints::default(), stops_on_entry: true }
    }

    pub(crate) fn run(mut self) -> Result<Ended, Broken> {
        while let Some(request) = self.wire.next().map_err(Broken::Connection)? {
            let (answer, then) = match self.act(&request) {
                Ok((body, then)) => (Ok(body), then),
                Err(text) => (Err(text), Then::Nothing),
            };
            self.wire.answer(&request, answer).map_err(Broken::Connection)?;
            match then {
                Then::Nothing => {}
                Then::Event(name, body) => self.wire.event(name, body).map_err(Broken::Connection)?,
                Then::Move(way) => self.go(way)?,
                Then::End(ended) => return Ok(ended),
            }
        }
        Ok(Ended::Killed)
    }

    fn act(&mut self, request: &Request) -> Result<(Json, Then), String> {
        let none = || json!({});
        let body = match request.command.as_str() {
            "initialize" => {
                return Ok((self.capabilities(), Then::Event("initialized", none())));
            }
            "launch" | "attach" => {
                let launch: Launch = arguments(request)?;
                self.stops_on_entry = launch.stop_on_entry.unwrap_or(true);
                self.breakpoints.folder = launch.cwd.or(self.breakpoints.folder.take());
                if let Some(position) = launch.position {
                    self.session.command(&format!("goto {position}"), || false)?;
                }
                none()
            }
            "configurationDone" if self.stops_on_entry => {
                let body = self.stopped("entry", "The trace", None);
                return Ok((none(), Then::Event("stopped", body)));
            }
            "configurationDone" => {
                return Ok((none(), Then::Move(Move::Continue(Direction::Forwards))));
            }
            "setBreakpoints" => self.breakpoints.set_lines(request, self.session)?,
            "setFunctionBreakpoints" => self.breakpoints.set_functions(request, self.session)?,
            "setInstructionBreakpoints" => self.breakpoints.set_instructions(request)?,
            "dataBreakpointInfo" => self.breakpoints.data_info(request, self.session)?,
            "setDataBreakpoints" => self.breakpoints.set_data(request, self.session)?,
            "setExceptionBreakpoints" => none(),
            "threads" => view::threads(self.session),
            "stackTrace" => self.breakpoints.placed(view::stack(request, self.session)?),
            "scopes" => view::scopes(request)?,
            "variables" => view::variables(request, self.session)?,
            "disassemble" => self.breakpoints.placed(view::disassemble(request, self.session)?),
            "readMemory" => view::memory(request, self.session)?,
            "evaluate" => return self.evaluate(request),
            "continue" | "reverseContinue" | "next" | "stepIn" | "stepOut" | "stepBack" => {
                let way = self.way(request)?;
                return Ok((json!({ "allThreadsContinued": false }), Then::Move(way)));
            }
            "pause" => {
                let body = self.stopped("pause", "Paused", None);
                return Ok((none(), Then::Event("stopped", body)));
            }
            "terminate" => return Ok((none(), Then::Event("terminated", none()))),
            "disconnect" => {
                let Disconnect { terminate_debuggee } = arguments(request)?;
                let ended = if terminate_debuggee { Ended::Killed } else { Ended::Detached };
                return Ok((none(), Then::End(ended)));
            }
            other => return Err(format!("{other}: not supported: a trace cannot be changed")),
        };
        Ok((body, Then::Nothing))
    }

    fn capabilities(&mut self) -> Json {
        let has_memory = !self.session.replay().trace().meta().flow_only;
        json!({
            "supportsConfigurationDoneRequest": true,
            "supportsFunctionBreakpoints": true,
            "supportsInstructionBreakpoints": true,
            "supportsDataBreakpoints": has_memory,
            "supportsDataBreakpointBytes": has_memory,
            "supportsStepBack": true,
            "supportsSteppingGranularity": true,
            "supportsDisassembleRequest": true,
            "supportsReadMemoryRequest": true,
            "supportsEvaluateForHovers": true,
            "supportsDelayedStackTraceLoading": true,
            "supportsTerminateRequest": true,
            "supportTerminateDebuggee": true,
        })
    }

    fn way(&mut self, request: &Request) -> Result<Move, String> {
        let Moving { thread_id, granularity } = arguments(request)?;
        self.session.choose(thread_id.saturating_sub(1));
        let unit = if granularity == "instruction" { Unit::Instruction } else { Unit::Line };
        let (direction, over) = match request.command.as_str() {
            "continue" => return Ok(Move::Continue(Direction::Forwards)),
            "reverseContinue" => return Ok(Move::Continue(Direction::Backwards)),
            "stepOut" => return Ok(Move::Out),
            "stepIn" => (Direction::Forwards, false),
            "next" => (Direction::Forwards, true),
            _ => (Direction::Backwards, unit == Unit::Line),
        };
        Ok(Move::Step { direction, unit, over })
    }

    /// Carries out a move, and says where it ended.
    fn go(&mut self, way: Move) -> Result<(), Broken> {
        let Adapter { session, wire, breakpoints, .. } = self;
        let stops = breakpoints.stops();
        let cancelled = || wire.is_interrupted();
        let replay = session.replay();
        let moved = match way {
            Move::Continue(direction) => replay.resume(direction, &stops, cancelled),
            Move::Step { direction, unit, over } => replay.step_by(direction, unit, over, &stops, cancelled),
            Move::Out => replay.calls().and_then(|calls| match calls.depth().checked_sub(1) {
                Some(depth) => replay.until_depth(depth, &stops, cancelled),
                // The caller is not known: the function ends with the trace.
                None => replay.resume(Direction::Forwards, &stops, cancelled),
            }),
        };
        let stop = moved.map_err(Broken::Trace)?;
        let (reason, text, hit) = match stop {
            Stop::Done => ("step", "Stepped", None),
            Stop::Code => {
                let pc = self.session.replay().pc().map_err(Broken::Trace)?;
                let (reason, id) = self.breakpoints.at(pc);
                (reason, "At a breakpoint", id)
            }
            Stop::Data(watch) => {
                let text = if way == Move::Continue(Direction::Backwards) {
                    "Before an access of watched memory"
                } else {
                    "After an access of watched memory"
                };
                ("data breakpoint", text, self.breakpoints.watching(&watch))
            }
            Stop::Begin => ("pause", "The trace begins here", None),
            Stop::End => ("pause", "The trace ends here", None),
            // The request that cancelled it says so itself.
            Stop::Cancelled => return Ok(()),
        };
        let body = self.stopped(reason, text, hit);
        self.wire.event("stopped", body).map_err(Broken::Connection)
    }

    fn stopped(&mut self, reason: &str, text: &str, hit: Option<u64>) -> Json {
        let mut body = json!({
            "reason": reason,
            "description": format!("{text}, before instruction {}", self.session.replay().now()),
            "threadId": self.session.current() + 1,
            "allThreadsStopped": true,
        });
        if let Some(id) = hit {
            body["hitBreakpointIds"] = json!([id]);
        }
        body
    }

    /// A register, or in the console a command.
    fn evaluate(&mut self, request: &Request) -> Result<(Json, Then), String> {
        let Evaluate { expression, context } = arguments(request)?;
        let failed = |error: Error| error.to_string();
        let name = expression.trim().trim_start_matches('$');
        let result = |text: String| json!({ "result": text, "variablesReference": 0 });
        if name == "pc" {
            let pc = self.session.replay().pc().map_err(failed)?;
            let text = pc.map_or("unknown".into(), |pc| format!("{pc:#x}"));
            return Ok((result(text), Then::Nothing));
        }
        let isa = self.session.replay().isa();
        if let Some(reg) = trackway_isa::reg_named(isa, name) {
            let machine = &self.session.replay().point().map_err(failed)?.machine;
            let content = machine.registers.get(reg).and_then(|known| known.content);
            let text = content.map_or("unknown".into(), |content| format!("0x{content}"));
            return Ok((result(text), Then::Nothing));
        }
        if context != "repl" {
            return Err("only registers, and commands in the console: help".into());
        }
        let wire = &mut self.wire;
        let text = self.session.command(&expression, || wire.is_interrupted())?;
        let then = if Session::moves(&expression) {
            Then::Event("stopped", self.stopped("goto", "Moved", None))
        } else {
            Then::Nothing
        };
        Ok((result(text.trim_end().to_string()), then))
    }
}
