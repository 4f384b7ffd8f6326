//! The terminal: taken over at the start, and given back however it ends.

use std::io::Result;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind};

use crate::app::App;

/// Time between two looks whether to end.
const PATIENCE: Duration = Duration::from_millis(200);

/// Gives the terminal back, also when a panic unwinds.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Shows a trace until the user quits or `ended` is true: a signal came.
///
/// # Errors
/// The terminal cannot be used.
pub fn run(app: &mut App, mut ended: impl FnMut() -> bool) -> Result<()> {
    let mut terminal = ratatui::try_init()?;
    let _restored = Restored;
    while !app.is_done() && !ended() {
        terminal.draw(|frame| app.draw(frame))?;
        if !event::poll(PATIENCE)? {
            continue;
        }
        if let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
        {
            app.key(key, &mut || ended() || is_escaped());
        }
    }
    Ok(())
}

/// The screen as text, of that size, for an output that is not a terminal.
pub fn print(app: &mut App, width: u16, height: u16) -> String {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
    let Ok(_) = terminal.draw(|frame| app.draw(frame));
    let cells = terminal.backend().buffer().content();
    let line = |row: &[Cell]| row.iter().map(Cell::symbol).collect::<String>().trim_end().to_string() + "\n";
    cells.chunks(usize::from(width.max(1))).map(line).collect()
}

/// Was Escape pressed during a search? Other keys are dropped.
fn is_escaped() -> bool {
    while let Ok(true) = event::poll(Duration::ZERO) {
        match event::read() {
            Ok(Event::Key(key)) if key.code == KeyCode::Esc => return true,
            Ok(_) => {}
            Err(_) => return true,
        }
    }
    false
}
