//! `monitor` commands: those of the session, which are about positions.

use std::fmt::Write;

use gdbstub::target::ext::monitor_cmd::{ConsoleOutput, MonitorCmd};
use trackway_tools::replay::Session;

use crate::target::Target;

impl MonitorCmd for Target<'_> {
    fn handle_monitor_cmd(&mut self, cmd: &[u8], mut out: ConsoleOutput<'_>) -> trackway::Result<()> {
        let command = String::from_utf8_lossy(cmd);
        let answer = self.session.command(&command, || false);
        let hint = match &answer {
            // The protocol has no way to say that registers changed.
            Ok(_) if Session::moves(&command) => "maintenance flush register-cache: shows it\n",
            _ => "",
        };
        let text = answer.unwrap_or_else(|error| format!("{error}\n"));
        // Writing to a console cannot fail.
        let _ = write!(out, "{text}{hint}");
        Ok(())
    }
}
