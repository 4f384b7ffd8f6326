//! Long output on a terminal: in colour, and through a pager as git does it.

use std::io::{IsTerminal, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The pager that runs, and messages that wait for its end: they would spoil its screen.
static RUNNING: Mutex<Running> = Mutex::new(Running { pager: None, messages: Vec::new() });

struct Running {
    pager: Option<Child>,
    messages: Vec<String>,
}

fn running() -> MutexGuard<'static, Running> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True if stdout takes colours: a terminal, unless `NO_COLOR` is set.
pub(crate) fn colours() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    std::io::stdout().is_terminal() && !set("NO_COLOR") && !is_dumb
}

/// Stdout, through a pager if it is a terminal. The output is dropped before [`wait`] is called.
pub(crate) fn stdout(no_pager: bool) -> Box<dyn Write> {
    let plain = || Box::new(std::io::stdout().lock());
    if no_pager || !std::io::stdout().is_terminal() {
        return plain();
    }
    let Some(mut command) = command() else { return plain() };
    // A pager that cannot be started is not missed.
    let Ok(mut pager) = command.stdin(Stdio::piped()).spawn() else { return plain() };
    let Some(pipe) = pager.stdin.take() else { return plain() };
    running().pager = Some(pager);
    Box::new(pipe)
}

/// The pager of the environment: `TRACKWAY_PAGER`, else `PAGER`, else less; none if it is empty or `cat`.
fn command() -> Option<Command> {
    let named = std::env::var("TRACKWAY_PAGER").or_else(|_| std::env::var("PAGER"));
    let named = named.unwrap_or_else(|_| "less -FRX".into());
    let mut words = named.split_whitespace();
    let mut command = match words.next()? {
        "cat" if named.trim() == "cat" => return None,
        // Only a shell knows what these mean.
        _ if named.contains(|letter: char| "|&;<>()$`\\\"'*?[#~=%{".contains(letter)) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", &named]);
            shell
        }
        program => {
            let mut command = Command::new(program);
            command.args(words);
            command
        }
    };
    for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
        if std::env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    Some(command)
}

/// Waits until the user has left the pager, if there is one, and shows the messages that waited with it. A pager that
/// fails has been seen to fail.
pub(crate) fn wait() {
    loop {
        let mut running = running();
        let Some(pager) = &mut running.pager else { return };
        if !matches!(pager.try_wait(), Ok(None)) {
            running.pager = None;
            for message in std::mem::take(&mut running.messages) {
                print(&message);
            }
            return;
        }
        drop(running);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Prints a line to stderr, once no pager runs; a closed stderr does not stop the program.
pub(crate) fn say(line: String) {
    if crate::asked::take_message(&line) {
        return;
    }
    let mut running = running();
    match running.pager {
        Some(_) => running.messages.push(line),
        None => print(&line),
    }
}

fn print(line: &str) {
    let _ = writeln!(anstream::stderr(), "{line}");
}
