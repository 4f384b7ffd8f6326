//! The layout of the screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};
use trackway::Result;

use crate::app::{App, Over};
use crate::panes::{Tone, Toned};
use crate::source::plain;

/// Columns of a register, with a blank after it.
const REGISTER: u16 = 22;

impl App {
    /// Draws the screen.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let rows = [Constraint::Length(1), Constraint::Min(3), Constraint::Length(1), Constraint::Length(1)];
        let [head, middle, detail, foot] = Layout::vertical(rows).areas(area);
        if let Err(error) = self.draw_panes(frame, head, middle, detail) {
            frame.render_widget(Paragraph::new(plain(&error.to_string())), middle);
        }
        self.draw_foot(frame, foot);
        self.draw_over(frame, middle);
    }

    fn draw_panes(&mut self, frame: &mut Frame<'_>, head: Rect, middle: Rect, detail: Rect) -> Result<()> {
        // Two columns of registers where there is room for them.
        let right = match middle.width {
            100.. => 2 * REGISTER + 1,
            60.. => REGISTER + 1,
            _ => 0,
        };
        let [left, right] =
            Layout::horizontal([Constraint::Min(20), Constraint::Length(right)]).areas(middle);
        let source = if middle.height >= 18 { middle.height / 3 } else { 0 };
        let [list, source] = Layout::vertical([Constraint::Min(3), Constraint::Length(source)]).areas(left);
        let lines = self.list(list.height.saturating_sub(2).into())?;
        self.pane(frame, list, "instructions", &lines);
        if source.height > 2 {
            let (title, lines) = self.source(usize::from(source.height) - 2)?;
            self.pane(frame, source, &title, &lines);
        }
        if right.width > 0 {
            let all = self.registers()?;
            let [registers, calls] = match all.len() {
                1 => Layout::vertical([Constraint::Length(3), Constraint::Min(3)]).areas(right),
                _ => Layout::vertical([Constraint::Fill(2), Constraint::Fill(1)]).areas(right),
            };
            self.draw_registers(frame, registers, &all);
            let lines = self.call_rows()?.into_iter().map(|(_, text)| text);
            let lines: Vec<Line<'_>> = lines.map(Line::raw).collect();
            let calls_pane = Paragraph::new(lines).wrap(Wrap { trim: false });
            frame.render_widget(calls_pane.block(Block::bordered().title("calls")), calls);
        }
        let title = self.title()?;
        frame.render_widget(Paragraph::new(title).style(Style::new().add_modifier(Modifier::BOLD)), head);
        let accesses = self.accesses()?;
        frame.render_widget(Paragraph::new(accesses), detail);
        Ok(())
    }

    fn title(&mut self) -> Result<String> {
        let (current, count) = (self.session.current(), self.session.threads().len());
        let name = &self.session.threads()[current].name;
        let source = match count {
            1 => String::new(),
            _ => format!("  source {} ({} of {count})", plain(name), current + 1),
        };
        let (total, gaps) = (self.session.replay().count()?, self.session.replay().gaps()?);
        let gaps = match gaps {
            0 => String::new(),
            1 => "  1 gap".into(),
            n => format!("  {n} gaps"),
        };
        let damage = match self.session.replay().errors()? {
            0 => String::new(),
            1 => "  damaged in 1 place".into(),
            n => format!("  damaged in {n} places"),
        };
        let name = plain(&self.options.title);
        Ok(format!("{name}{source}  instruction {} of {total}{gaps}{damage}", self.now()))
    }

    fn draw_registers(&self, frame: &mut Frame<'_>, area: Rect, all: &[Toned]) {
        let height = usize::from(area.height.saturating_sub(2)).max(1);
        let columns = usize::from((area.width.saturating_sub(1) / REGISTER).max(1));
        let rows = height.min(all.len().div_ceil(columns)).max(1);
        let missing = all.len().saturating_sub(rows * columns);
        let title = if missing > 0 { format!("registers, {missing} more: r") } else { "registers".into() };
        let lines: Vec<Line<'_>> = (0..rows)
            .map(|row| {
                let cells = (0..columns).filter_map(|column| all.get(column * rows + row));
                let width = usize::from(REGISTER);
                cells.map(|(tone, text)| Span::styled(format!("{text:<width$}"), self.style(*tone))).collect()
            })
            .collect();
        frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(title)), area);
    }

    fn pane(&self, frame: &mut Frame<'_>, area: Rect, title: &str, lines: &[Toned]) {
        let lines: Vec<Line<'_>> =
            lines.iter().map(|(tone, text)| Line::styled(text.as_str(), self.style(*tone))).collect();
        frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(title)), area);
    }

    fn draw_foot(&self, frame: &mut Frame<'_>, area: Rect) {
        let text = match &self.over {
            Over::Prompt { kind, text } => format!("{}: {text}_", kind.title()),
            Over::Text { .. } => "Esc closes".into(),
            Over::Choice { .. } => "Enter goes there, Esc closes".into(),
            Over::Nothing if self.message.is_empty() => {
                "g go to  / search  w why  x gap  t trap  ? keys  q quit".into()
            }
            Over::Nothing => plain(&self.message),
        };
        frame.render_widget(Paragraph::new(text), area);
    }

    fn draw_over(&self, frame: &mut Frame<'_>, area: Rect) {
        let (title, lines, at) = match &self.over {
            Over::Nothing | Over::Prompt { .. } => return,
            Over::Text { title, lines, first } => (title, lines.clone(), (*first, None)),
            Over::Choice { title, rows, at } => {
                let lines: Vec<String> = rows.iter().map(|row| plain(&row.1)).collect();
                let page = usize::from(area.height.saturating_sub(4)).max(1);
                (title, lines, ((at + 1).saturating_sub(page), Some(*at)))
            }
        };
        let (first, cursor) = at;
        let longest =
            lines.iter().map(|line| line.chars().count()).max().unwrap_or(0).max(title.chars().count());
        let width = (longest as u16).saturating_add(2).clamp(20, area.width.max(20)).min(area.width);
        let height = (lines.len() as u16).saturating_add(2).min(area.height);
        let place = Rect {
            x: area.x + (area.width - width) / 2,
            y: area.y + (area.height - height) / 2,
            width,
            height,
        };
        let tone = |n: usize| if cursor == Some(n) { Tone::Here } else { Tone::Plain };
        let shown: Vec<Toned> =
            lines.into_iter().enumerate().skip(first).map(|(n, line)| (tone(n), line)).collect();
        frame.render_widget(Clear, place);
        self.pane(frame, place, title, &shown);
    }

    fn style(&self, tone: Tone) -> Style {
        let style = Style::new();
        let colour = |colour: Color| if self.options.colours { style.fg(colour) } else { style };
        match tone {
            Tone::Plain => style,
            Tone::Here => style.add_modifier(Modifier::REVERSED),
            Tone::Faint => style.add_modifier(Modifier::DIM),
            Tone::Event => colour(Color::Cyan),
            Tone::Missing => colour(Color::Red).add_modifier(Modifier::BOLD),
            Tone::New => colour(Color::Green).add_modifier(Modifier::BOLD),
        }
    }
}
