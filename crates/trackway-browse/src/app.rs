//! The state of the screen, and the keys that change it.

use std::path::PathBuf;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use trackway::{Error, Result};
use trackway_core::Isa;
use trackway_image::{Listing, program};
use trackway_isa::Style;
use trackway_tools::past::Location;
use trackway_tools::replay::{Direction, Landmark, Query, Row, Session, Shown, Stop, Stops, Unit};
use trackway_tools::sources;

use crate::source::Sources;

/// How a trace is shown.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The name of the trace.
    pub title: String,
    /// Folders that source files are read from.
    pub roots: Vec<PathBuf>,
    /// Use colours.
    pub colours: bool,
}

/// A trace on the screen.
#[derive(Debug)]
pub struct App {
    pub(crate) session: Session,
    pub(crate) options: Options,
    /// Text of the instructions of each source.
    pub(crate) listings: Vec<Listing>,
    pub(crate) sources: Sources,
    /// The first instruction of the list.
    pub(crate) top: u64,
    /// Rows of the list when it was last drawn.
    pub(crate) height: usize,
    pub(crate) over: Over,
    /// The last line of the screen.
    pub(crate) message: String,
    query: Option<Query>,
    /// Sources and positions before each jump.
    history: Vec<(usize, u64)>,
    is_done: bool,
}

/// Something over the list.
#[derive(Debug)]
pub(crate) enum Over {
    Nothing,
    Prompt {
        kind: Prompt,
        text: String,
    },
    /// Lines to read.
    Text {
        title: String,
        lines: Vec<String>,
        first: usize,
    },
    /// Instructions to choose from.
    Choice {
        title: String,
        rows: Vec<(Option<u64>, String)>,
        at: usize,
    },
}

/// The meaning of a line that is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prompt {
    Position,
    Search,
    Why,
    Memory,
    Command,
}

impl Prompt {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Prompt::Position => "go to",
            Prompt::Search => "search",
            Prompt::Why => "why",
            Prompt::Memory => "memory",
            Prompt::Command => "command",
        }
    }
}

/// Jumps that are kept.
const HISTORY: usize = 1000;

/// Longest line that can be typed.
const TYPED: usize = 200;

const HELP: &str = "\
j k, arrows   next, previous instruction   PgDn PgUp   a screen
Home End      start, end of the trace      Tab         another source
g             go to: 123, end-10, sym:main, line:FILE:N, pc:0x1000,
              time:N, mark:1, trap:1, gap:1
/             search: a part of an instruction or function; 0x10136 is
              an address, mem:0x11150:8 an access of memory
n N           next, previous match
x X           next, previous gap           t T         trap
m M           next, previous mark          u           back from a jump
o O           next, previous instruction of this function, over calls
l L           next, previous source line, over calls
f             out of this function         c           back to its call
e             frames: choose one           r           all registers
w             why: the instructions that a register or ADDR[:LEN] comes
              from; Enter goes there
v             memory at ADDR[:LEN], and where it comes from
:             where, gaps, bt, …; help lists the commands
Esc           close; cancel a search       q           quit";

impl App {
    /// At the position of the session.
    pub fn new(session: Session, options: Options) -> Self {
        let listing = |place: &trackway_tools::replay::Thread| {
            Listing::new(program(place.replay.programs(), 0), Style::default())
        };
        let listings = session.threads().iter().map(listing).collect();
        let sources = Sources::new(sources::Sources::under(&options.roots));
        App {
            session,
            options,
            listings,
            sources,
            top: 0,
            height: 20,
            over: Over::Nothing,
            message: String::new(),
            query: None,
            history: Vec::new(),
            is_done: false,
        }
    }

    /// Quitting was asked for.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Number of the instruction that the cursor is on.
    pub fn now(&self) -> u64 {
        self.session.threads()[self.session.current()].replay.now()
    }

    /// Moves to a position, as `g` does.
    pub fn go_to(&mut self, position: &str) -> Result<()> {
        let number = self.session.replay().locate(position)?;
        self.jump(number)
    }

    /// Takes a key; `cancelled` is asked while something is searched for. Errors of the trace become messages.
    pub fn key(&mut self, key: KeyEvent, cancelled: &mut dyn FnMut() -> bool) {
        self.message.clear();
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && matches!(key.code, KeyCode::Char('c' | 'C')) {
            self.is_done = true;
            return;
        }
        let done = match std::mem::replace(&mut self.over, Over::Nothing) {
            Over::Nothing => self.list_key(key.code, cancelled),
            Over::Prompt { kind, text } => self.prompt_key(kind, text, key.code, cancelled),
            Over::Text { title, lines, first } => {
                let last = lines.len().saturating_sub(1);
                let first = match key.code {
                    KeyCode::Esc | KeyCode::Char('q') | KeyCode::Enter => return,
                    code => moved(code, first, last, self.height),
                };
                self.over = Over::Text { title, lines, first };
                Ok(())
            }
            Over::Choice { title, rows, at } => self.choice_key(title, rows, at, key.code),
        };
        if let Err(error) = done {
            self.message = error.to_string();
        }
    }

    fn list_key(&mut self, code: KeyCode, cancelled: &mut dyn FnMut() -> bool) -> Result<()> {
        use Direction::{Backwards, Forwards};
        let page = self.height.saturating_sub(1).max(1) as u64;
        match code {
            KeyCode::Char('q') => self.is_done = true,
            KeyCode::Char('j') | KeyCode::Down => return self.by_row(Forwards),
            KeyCode::Char('k') | KeyCode::Up => return self.by_row(Backwards),
            KeyCode::PageDown | KeyCode::Char(' ') => {
                let (now, count) = (self.now(), self.session.replay().count()?);
                self.top = self.top.saturating_add(page).min(count);
                return self.session.replay().go(now.saturating_add(page));
            }
            KeyCode::PageUp => {
                let now = self.now();
                self.top = self.top.saturating_sub(page);
                return self.session.replay().go(now.saturating_sub(page));
            }
            KeyCode::Home => return self.jump(0),
            KeyCode::End | KeyCode::Char('G') => {
                let count = self.session.replay().count()?;
                return self.jump(count.saturating_sub(1));
            }
            KeyCode::Tab => {
                let count = self.session.threads().len();
                self.remember();
                self.session.choose((self.session.current() + 1) % count);
                self.top = self.now();
            }
            KeyCode::Char('g') => self.ask(Prompt::Position),
            KeyCode::Char('/') => self.ask(Prompt::Search),
            KeyCode::Char('w') => self.ask(Prompt::Why),
            KeyCode::Char('v') => self.ask(Prompt::Memory),
            KeyCode::Char(':') => self.ask(Prompt::Command),
            KeyCode::Char('n') => return self.search(Forwards, cancelled),
            KeyCode::Char('N') => return self.search(Backwards, cancelled),
            KeyCode::Char('x') => return self.landmark(Landmark::Gap, "gap", Forwards, cancelled),
            KeyCode::Char('X') => return self.landmark(Landmark::Gap, "gap", Backwards, cancelled),
            KeyCode::Char('t') => return self.landmark(Landmark::Trap, "trap", Forwards, cancelled),
            KeyCode::Char('T') => return self.landmark(Landmark::Trap, "trap", Backwards, cancelled),
            KeyCode::Char('m') => return self.landmark(Landmark::Mark, "mark", Forwards, cancelled),
            KeyCode::Char('M') => return self.landmark(Landmark::Mark, "mark", Backwards, cancelled),
            KeyCode::Char('o') => return self.step(Forwards, Unit::Instruction, cancelled),
            KeyCode::Char('O') => return self.step(Backwards, Unit::Instruction, cancelled),
            KeyCode::Char('l') => return self.step(Forwards, Unit::Line, cancelled),
            KeyCode::Char('L') => return self.step(Backwards, Unit::Line, cancelled),
            KeyCode::Char('f') => {
                let depth = self.session.replay().calls()?.depth();
                let Some(depth) = depth.checked_sub(1) else {
                    self.message = "the caller of this function is not known".into();
                    return Ok(());
                };
                return self.moved(|replay| replay.until_depth(depth, &Stops::default(), cancelled));
            }
            KeyCode::Char('c') => return self.moved(trackway_tools::replay::Replay::to_caller),
            KeyCode::Char('e') => return self.frames(),
            KeyCode::Char('u') | KeyCode::Backspace => {
                if let Some((source, number)) = self.history.pop() {
                    self.session.choose(source);
                    return self.session.replay().go(number);
                }
                self.message = "there was no jump before".into();
            }
            KeyCode::Char('r') => {
                let lines = self.all_registers()?;
                self.over = Over::Text { title: "registers".into(), lines, first: 0 };
            }
            KeyCode::Char('?') => self.read("keys", HELP),
            _ => {}
        }
        Ok(())
    }

    fn ask(&mut self, kind: Prompt) {
        self.over = Over::Prompt { kind, text: String::new() };
    }

    fn read(&mut self, title: &str, text: &str) {
        let lines = text.lines().map(crate::source::plain).collect();
        self.over = Over::Text { title: title.into(), lines, first: 0 };
    }

    fn prompt_key(
        &mut self,
        kind: Prompt,
        mut text: String,
        code: KeyCode,
        cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        match code {
            KeyCode::Esc => return Ok(()),
            KeyCode::Enter => return self.typed(kind, text.trim(), cancelled),
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char(letter) if text.len() < TYPED => text.push(letter),
            _ => {}
        }
        self.over = Over::Prompt { kind, text };
        Ok(())
    }

    fn typed(&mut self, kind: Prompt, text: &str, cancelled: &mut dyn FnMut() -> bool) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        match kind {
            Prompt::Position => self.go_to(text),
            Prompt::Search => match Query::parse(text) {
                Some(query) => {
                    self.query = Some(query);
                    self.search(Direction::Forwards, cancelled)
                }
                None => Err(Error::Config(format!("{text}: a text, 0xADDRESS or mem:ADDR[:LEN]"))),
            },
            Prompt::Why => self.why(text),
            Prompt::Memory => self.command(&format!("mem {text}"), cancelled),
            Prompt::Command => self.command(text, cancelled),
        }
    }

    fn command(&mut self, text: &str, cancelled: &mut dyn FnMut() -> bool) -> Result<()> {
        self.remember();
        let answer = self.session.command(text, cancelled).map_err(Error::Config)?;
        match answer.lines().count() {
            0 | 1 => self.message = crate::source::plain(answer.trim_end()),
            _ => self.read(text, &answer),
        }
        Ok(())
    }

    fn choice_key(
        &mut self,
        title: String,
        rows: Vec<(Option<u64>, String)>,
        at: usize,
        code: KeyCode,
    ) -> Result<()> {
        let at = match code {
            KeyCode::Esc | KeyCode::Char('q') => return Ok(()),
            KeyCode::Enter => match rows.get(at).and_then(|row| row.0) {
                Some(number) => return self.jump(number),
                None => at,
            },
            code => moved(code, at, rows.len().saturating_sub(1), self.height),
        };
        self.over = Over::Choice { title, rows, at };
        Ok(())
    }

    /// Moves by one row of the list: an instruction, or a run whose code is not known.
    fn by_row(&mut self, direction: Direction) -> Result<()> {
        let now = self.now();
        let number = match direction {
            Direction::Forwards => {
                let rows = self.session.replay().rows(now, 1 << 12)?;
                let row = rows.iter().find(|row| span(row).is_some_and(|(first, count)| first + count > now));
                row.and_then(span).map_or(now, |(first, count)| first + count)
            }
            Direction::Backwards => {
                let before = now.saturating_sub(1);
                let rows = self.session.replay().rows(before, 1 << 12)?;
                rows.iter().find_map(span).map_or(before, |(first, _)| first.min(before))
            }
        };
        self.session.replay().go(number)
    }

    fn jump(&mut self, number: u64) -> Result<()> {
        self.remember();
        self.session.replay().go(number)
    }

    fn remember(&mut self) {
        let here = (self.session.current(), self.now());
        if self.history.last() != Some(&here) {
            self.history.push(here);
        }
        if self.history.len() > HISTORY {
            self.history.remove(0);
        }
    }

    fn search(&mut self, direction: Direction, cancelled: &mut dyn FnMut() -> bool) -> Result<()> {
        let Some(query) = self.query.clone() else {
            self.message = "nothing was searched for: /".into();
            return Ok(());
        };
        match self.session.replay().find(&query, direction, cancelled)? {
            Some(number) => self.jump(number),
            None => {
                self.message = "not found on this side".into();
                Ok(())
            }
        }
    }

    fn landmark(
        &mut self,
        what: Landmark,
        name: &str,
        direction: Direction,
        cancelled: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        match self.session.replay().nearest(what, direction, cancelled)? {
            Some(number) => self.jump(number),
            None => {
                self.message = format!("there is no {name} on this side");
                Ok(())
            }
        }
    }

    fn step(&mut self, direction: Direction, unit: Unit, cancelled: &mut dyn FnMut() -> bool) -> Result<()> {
        self.moved(|replay| replay.step_by(direction, unit, true, &Stops::default(), cancelled))
    }

    fn moved(&mut self, go: impl FnOnce(&mut trackway_tools::replay::Replay) -> Result<Stop>) -> Result<()> {
        self.remember();
        self.message = match go(self.session.replay())? {
            Stop::Begin => "the trace begins here".into(),
            Stop::End => "the trace ends here".into(),
            Stop::Cancelled => "cancelled".into(),
            _ => String::new(),
        };
        Ok(())
    }

    fn why(&mut self, text: &str) -> Result<()> {
        let isa = self.isa();
        let what = Location::parse(text, isa).map_err(Error::Config)?;
        let why = self.session.replay().why(what, 6)?;
        let rows = self.why_rows(&why);
        let title = format!("why {text}, before instruction {}", self.now());
        self.over = Over::Choice { title, rows, at: 0 };
        Ok(())
    }

    fn frames(&mut self) -> Result<()> {
        let rows = self.call_rows()?;
        self.over = Over::Choice { title: "frames: Enter goes to the call".into(), rows, at: 0 };
        Ok(())
    }

    pub(crate) fn isa(&mut self) -> Isa {
        self.session.replay().isa()
    }
}

/// The first instruction of a row and how many it has; `None` for an event.
pub(crate) fn span(row: &Row) -> Option<(u64, u64)> {
    match &row.what {
        Shown::Instruction { .. } => Some((row.number, 1)),
        Shown::Run { count, .. } => Some((row.number, (*count).max(1))),
        Shown::Event { .. } => None,
    }
}

/// A place among `0..=last` after a key.
fn moved(code: KeyCode, at: usize, last: usize, page: usize) -> usize {
    match code {
        KeyCode::Char('j') | KeyCode::Down => at + 1,
        KeyCode::Char('k') | KeyCode::Up => at.saturating_sub(1),
        KeyCode::PageDown | KeyCode::Char(' ') => at + page,
        KeyCode::PageUp => at.saturating_sub(page),
        KeyCode::Home => 0,
        KeyCode::End | KeyCode::Char('G') => last,
        _ => at,
    }
    .min(last)
}
