//! How often the same is logged.

use std::time::Duration;

use tokio::time::Instant;

/// How long the same is not logged again.
const QUIET: Duration = Duration::from_mins(1);

/// Whether the same was not logged for some time.
pub(super) fn may_warn(warned: &mut Option<Instant>) -> bool {
    let may_warn = warned.is_none_or(|warned| warned.elapsed() >= QUIET);
    if may_warn {
        *warned = Some(Instant::now());
    }
    may_warn
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_same_is_logged_once_a_minute() {
        let mut warned = None;
        assert!(may_warn(&mut warned) && !may_warn(&mut warned));
        advance(QUIET / 2).await;
        assert!(!may_warn(&mut warned));
        advance(QUIET / 2).await;
        assert!(may_warn(&mut warned) && !may_warn(&mut warned));
    }
}
