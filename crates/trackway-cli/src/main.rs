//! The `trackway` program with the formats of the library.

fn main() -> std::process::ExitCode {
    trackway_cli::run(trackway::FORMATS)
}
