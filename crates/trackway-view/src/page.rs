//! The page: built from `page/` by `npm run build` and part of the program, so that a build needs no Node.

use crate::http::Response;

/// The bundle.
pub(crate) const SCRIPT: &str = include_str!("../page/dist/app.js");
/// Its styles.
pub(crate) const STYLE: &str = include_str!("../page/dist/app.css");
const INDEX: &str = include_str!("../page/dist/index.html");

/// A file of the page; it is the same for everybody.
pub(crate) fn file(path: &str) -> Option<Response> {
    Some(match path {
        "/" | "/index.html" => Response::new("text/html; charset=utf-8", INDEX),
        "/app.js" => Response::new("text/javascript; charset=utf-8", SCRIPT),
        "/app.css" => Response::new("text/css; charset=utf-8", STYLE),
        _ => return None,
    })
}
