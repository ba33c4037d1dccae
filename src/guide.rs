// The text is also read in the repository, where its links and pictures are files. Of two definitions of a link the first one holds, so those
// above the text lead to modules and to the pictures below it, which rustdoc has no files for.

//! How the pacing works, which strategy to choose, and other topics in detail.
//!
//! The strategies: [`Adaptive`], [`Responsive`] and the others of [`backoff`]. Time limits and memory: [`DeliveryOptions`]. What is
//! handed back: [`Undelivered`], [`Cause`]. Single entries of many tasks: [`Producer`]. What is logged and measured: [`events`],
//! [`metrics`].
//!
//! [`Adaptive`]: crate::backoff::Adaptive
//! [`backoff`]: crate::backoff
//! [`Cause`]: crate::Cause
//! [`DeliveryOptions`]: crate::DeliveryOptions
//! [`events`]: crate::events
//! [`metrics`]: crate::metrics
//! [`Producer`]: crate::Producer
//! [`Responsive`]: crate::backoff::Responsive
//! [`Undelivered`]: crate::Undelivered
//!
//! <style>.docblock img { display: none }</style>
//!
//! [choice]: when_to_use_what
//! [delay]: #the-delay-of-responsive
//! [events]: crate::events
//! [figures]: benchmarks
//! [guarantees]: guarantees
//! [isolation]: guarantees#one-bad-entry-does-not-fail-the-others
//! [metrics]: crate::metrics
//! [once]: guarantees#at-least-once
//! [outages]: guarantees#outages-are-waited-out
//! [own]: recipes#a-target-of-your-own
//! [pace]: #the-pace-of-adaptive
//! [recipes]: recipes
//! [simulator]: https://docs.rs/aws-batch-simulator
//! [trace]: #two-throttled-calls
#![doc = include_str!("../docs/guide.md")]
//! ## Pictures
//!
//! ### The pace of `Adaptive`
#![doc = include_str!("../docs/pictures/adaptive.svg")]
//!
//! ### Two throttled calls
#![doc = include_str!("../docs/pictures/trace.svg")]
//!
//! ### The delay of `Responsive`
#![doc = include_str!("../docs/pictures/responsive.svg")]

/// Figures of this crate, with the commands that print them.
#[doc = include_str!("../docs/benchmarks.md")]
pub mod benchmarks {}

/// Programs for common tasks.
///
/// [cookbook]: crate::guide#cookbook
/// [fidelity]: https://docs.rs/aws-batch-simulator
/// [loop]: crate::guide::your_loop
/// [program]: https://docs.rs/batch-deliver
/// [simulator]: https://docs.rs/aws-batch-simulator
/// [web]: crate::guide#in-a-web-service
#[doc = include_str!("../docs/recipes.md")]
pub mod recipes {}

/// What is guaranteed, with its limits and the tests that prove it.
#[doc = include_str!("../docs/guarantees.md")]
pub mod guarantees {}

/// A hand-written loop, its faults, and what replaces it.
///
/// [when]: crate::guide#what-happens-when
#[doc = include_str!("../docs/your-loop.md")]
pub mod your_loop {}

/// This crate and the program compared with AWS's own ways and other libraries.
///
/// [compared]: crate::guide::benchmarks#compared-with-others
/// [figures]: https://docs.rs/batch-deliver
#[doc = include_str!("../docs/when-to-use-what.md")]
pub mod when_to_use_what {}
