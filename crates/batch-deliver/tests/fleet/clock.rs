//! The time of a fleet, which passes faster than that of the machine.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// How many times faster the time of a fleet passes. A worker that waits for a second waits for 50 ms.
const SPEED: u32 = 20;

/// The time since a fleet has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(self) -> Duration {
        self.0.elapsed() * SPEED
    }
}

/// How long so much time of a fleet takes on the machine.
pub(crate) fn real(time: Duration) -> Duration {
    time / SPEED
}

/// What makes the clock of one worker another one than that of the services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skew {
    None,
    /// It runs at so many percent of the speed.
    Percent(u32),
    /// It is further by this much from a moment on.
    Jump {
        at: Duration,
        by: Duration,
    },
}

/// Makes the program's clock run at the speed of a fleet.
pub(crate) fn hasten(command: &mut Command, skew: Skew) {
    let mut thousandths = SPEED * 1_000;
    match skew {
        Skew::None => {}
        Skew::Percent(percent) => thousandths = SPEED * 10 * percent,
        Skew::Jump { at, by } => {
            let jump = format!("{} {}", real(at).as_millis(), by.as_millis());
            command.env("CLOCK_JUMP", jump);
        }
    }
    command
        .env("LD_PRELOAD", library())
        .env("CLOCK_SPEED", thousandths.to_string());
}

/// The library with the fast clock, compiled once for each version of its source. It lies beside what cargo builds.
fn library() -> &'static Path {
    static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
        let mut hasher = DefaultHasher::new();
        include_str!("clock.c").hash(&mut hasher);
        let name = format!("clock-{:x}", hasher.finish());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let library = folder.join(format!("{name}.so"));
        if library.exists() {
            return library;
        }
        // Another run may compile it at the same time.
        let own = folder.join(format!("{name}.{}", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fleet/clock.c");
        // Whatever links Rust has it.
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&own, &source])
            .arg("-ldl")
            .status();
        assert!(compiled.unwrap().success(), "{} cannot be compiled", source.display());
        fs::rename(own, &library).unwrap();
        library
    });
    &LIBRARY
}
