//! All events of a source as lines, by either way through it.

use trackway_core::{Batch, Observer, Source};

/// An observer that keeps every event as its line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines(pub Vec<String>);

impl Observer for Lines {
    fn observe(&mut self, batch: &Batch) {
        for event in &batch.events {
            let mut line = String::new();
            batch.write_line(event, &mut line);
            self.0.push(line);
        }
    }

    fn fork(&self) -> Box<dyn Observer> {
        Box::new(Lines::default())
    }

    fn merge(&mut self, later: Box<dyn Observer>) {
        self.0.extend(later.downcast::<Self>().0);
    }
}

/// Events that `fill` delivers, errors where they come; the numbers of instructions must have no holes.
pub fn filled(source: &mut dyn Source) -> Vec<String> {
    let (mut number, mut current) = (0, 0);
    let mut batch = Batch::default();
    steps(source, |source, lines| {
        let more = source.fill(&mut batch)?;
        if more {
            // Every source counts its own.
            if std::mem::replace(&mut current, batch.source) != batch.source {
                number = 0;
            }
            assert_eq!(batch.first_instruction, number, "instructions are numbered without holes");
            number += batch.instructions();
            lines.observe(&batch);
        }
        Ok(more)
    })
}

/// The same as text, a line each.
pub fn text(source: &mut dyn Source) -> String {
    filled(source).into_iter().map(|line| line + "\n").collect()
}

/// The first events that `fill` delivers, errors where they come; `None` if there are more than `most`. For sources that may not end.
pub fn at_most(most: usize, source: &mut dyn Source) -> Option<Vec<String>> {
    let mut batch = Batch::default();
    let mut all = 0;
    let lines = steps(source, |source, lines| {
        let more = source.fill(&mut batch)?;
        if more && all <= most {
            lines.observe(&batch);
        }
        all = lines.0.len();
        Ok(more && all <= most)
    });
    (all <= most).then_some(lines)
}

/// Events that `observe` shows, errors where they come.
pub fn observed(source: &mut dyn Source) -> Vec<String> {
    steps(source, |source, lines| source.observe(lines))
}

fn steps(
    source: &mut dyn Source,
    mut step: impl FnMut(&mut dyn Source, &mut Lines) -> trackway_core::Result<bool>,
) -> Vec<String> {
    let mut lines = Lines::default();
    loop {
        match step(source, &mut lines) {
            Ok(true) => {}
            Ok(false) => return lines.0,
            Err(error) => {
                lines.0.push(format!("error {error}"));
                if !source.resync().is_ok_and(|found| found) {
                    return lines.0;
                }
            }
        }
    }
}
