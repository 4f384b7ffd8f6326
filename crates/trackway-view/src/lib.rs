//! A viewer for traces in the browser: a server on 127.0.0.1, and the page that it shows.
//!
//! - [`Site`] has the traces. Windows are read by the index when they are asked for (`rows.rs`, `window.rs`,
//!   `summary.rs`, `questions.rs`); the whole run is read once in the background (`overview.rs`), for levels of detail
//!   (`levels.rs`).
//! - [`Server`] answers requests (`http.rs`), but only those of its own page and of those who have its link
//!   ([`Guard`]). Nothing can be changed, and no request names a file.
//! - Large answers are tables (`tables.rs`) in a compact form (`wire.rs`), small ones JSON.
//! - [`Site::export`] writes one page that needs no server.
//!
//! The page itself is in `page/`, in TypeScript, and its built form in `page/dist`.
#![forbid(unsafe_code)]

pub mod browser;
mod compare;
mod desk;
mod export;
mod guard;
mod happenings;
mod http;
mod levels;
mod memory;
mod overview;
mod page;
mod questions;
mod rows;
mod server;
mod site;
mod sources;
mod summary;
mod tables;
mod window;
mod wire;

pub use desk::File;
pub use export::{Exported, WIDEST};
pub use guard::Guard;
pub use http::LARGEST;
pub use server::Server;
pub use site::Site;
pub use tables::list as tables;
