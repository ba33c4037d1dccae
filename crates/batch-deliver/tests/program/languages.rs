//! The recipes for other languages, which run the program.

use std::path::Path;
use std::process::{Command, Output};

use aws_batch_simulator::{KeyType, TableOptions};

use crate::served::Served;

/// An interpreter and its recipe.
struct Recipe {
    /// Its names, of which a system has one.
    interpreters: &'static [&'static str],
    file: &'static str,
}

const RECIPES: [Recipe; 2] = [
    Recipe {
        interpreters: &["python3", "python"],
        file: "examples/python/load.py",
    },
    Recipe {
        interpreters: &["node"],
        file: "examples/node/load.mjs",
    },
];

impl Recipe {
    /// The command that runs it. Without its interpreter it is left out, which the hosted CI does not accept.
    fn command(&self) -> Option<Command> {
        // A package has no examples.
        let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(self.file);
        let is_there = |name: &&&str| {
            Command::new(name)
                .arg("--version")
                .output()
                .is_ok_and(|run| run.status.success())
        };
        let interpreter = self.interpreters.iter().find(is_there).filter(|_| file.exists());
        let Some(interpreter) = interpreter else {
            assert!(
                std::env::var_os("CI").is_none(),
                "{:?} for {} is missing",
                self.interpreters,
                self.file
            );
            eprintln!("SKIPPED: {} needs {:?}", self.file, self.interpreters);
            return None;
        };
        let mut command = Command::new(interpreter);
        command.arg(file);
        Some(command)
    }

    /// Runs it with a table and options, with the program of this build.
    fn run(&self, served: &Served, options: &[&str]) -> Option<Output> {
        let program = Path::new(env!("CARGO_BIN_EXE_batch-deliver")).parent().unwrap();
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(program.to_owned()).chain(std::env::split_paths(&paths));
        let mut command = self.command()?;
        command
            .args(["items", "--endpoint-url", &served.endpoint()])
            .args(options)
            .env("PATH", std::env::join_paths(paths).unwrap())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_REGION", "us-east-1");
        Some(command.output().unwrap())
    }
}

fn served() -> Served {
    Served::with_table(TableOptions::key("id", KeyType::S), 1e6)
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_generator_of_each_language_is_loaded() {
    for recipe in RECIPES {
        let served = served();
        let Some(output) = recipe.run(&served, &[]) else {
            continue;
        };
        assert_eq!(printed(&output).trim_end(), "10000 delivered", "{}", recipe.file);
        assert_eq!(served.table.len(), 10_000);
        let item = served.table.item(&serde_json::json!({"id": {"S": "order-7"}})).unwrap();
        assert_eq!(item["cents"]["N"], "259");
    }
}

#[test]
fn what_was_not_delivered_comes_back_with_its_cause() {
    for recipe in RECIPES {
        let served = served();
        served.table.poison(|item| item["id"]["S"] == "order-4711");
        let Some(output) = recipe.run(&served, &[]) else {
            continue;
        };
        let printed = printed(&output);
        let (first, second) = printed.trim_end().split_once('\n').unwrap();
        assert_eq!(first.trim_end(), "9999 delivered", "{}", recipe.file);
        assert!(second.starts_with("order-4711 refused"), "{second}");
    }
}

/// The program ends at once, while the generator still writes.
#[test]
fn a_load_that_does_not_start_is_an_error() {
    for recipe in RECIPES {
        let Some(output) = recipe.run(&served(), &["--strategy", "none"]) else {
            continue;
        };
        assert!(!output.status.success(), "{}", recipe.file);
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(words.contains("invalid value 'none'"), "{words}");
        assert!(words.contains('2'), "{words}");
    }
}
