//! Says whose table, queue or bucket it is before anything in it is changed.

use crate::connection::Site;
use crate::console::Console;

/// Says in one line where each of these is, by its name. It is said in any case if it is what a question is about.
pub(super) async fn say(console: &Console, places: &[(&str, Option<&Site>)], is_asked: bool) {
    if console.is_quiet() && !is_asked {
        return;
    }
    let mut words = Vec::new();
    for (name, site) in places {
        if let Some(site) = site {
            words.push(Box::pin(site.of(name)).await);
        }
    }
    if !words.is_empty() {
        console.warn(&words.join("; "));
    }
}
