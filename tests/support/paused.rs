//! Runs a delivery on tokio's paused clock, for tests that are not `async`, such as those of `proptest!`.

/// Runs the future to its end, on a runtime of its own with one thread.
pub(crate) fn paused<F: Future>(future: F) -> F::Output {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}
