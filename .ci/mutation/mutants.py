"""The mutants, what is known of them, and the copy of the sources that has them."""

import hashlib
import json
import os
import re
import subprocess
from collections import defaultdict
from pathlib import Path

from source import Source

PACKAGE = "aws-batch-delivery"
PROGRAMS = ["promise", "order", "custom_target", "isolation", "answers"]
CARGO = os.environ.get("CARGO", "cargo")

# What the copy of the library has besides: which mutant is in force, and a note of each that is come by.
SWITCH = """
pub(crate) mod mutant {
    use std::env::{var, var_os};
    use std::fs::{File, OpenOptions};
    use std::io::Write;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

    const UNKNOWN: usize = usize::MAX;
    const NONE: usize = usize::MAX - 1;
    const NOTING: usize = usize::MAX - 2;

    static CHOSEN: AtomicUsize = AtomicUsize::new(UNKNOWN);
    static NOTES: LazyLock<File> = LazyLock::new(|| {
        let path = var_os("MUTANTS_REACHED").expect("a path");
        OpenOptions::new().append(true).create(true).open(path).expect("a file for notes")
    });
    static NOTED: [AtomicBool; MUTANTS] = [const { AtomicBool::new(false) }; MUTANTS];

    #[inline]
    pub(crate) fn is(number: usize) -> bool {
        let chosen = CHOSEN.load(Relaxed);
        if chosen >= NOTING { unlikely(number, chosen) } else { chosen == number }
    }

    #[cold]
    fn unlikely(number: usize, mut chosen: usize) -> bool {
        if chosen == UNKNOWN {
            let otherwise = if var_os("MUTANTS_REACHED").is_some() { NOTING } else { NONE };
            chosen = var("MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(otherwise);
            CHOSEN.store(chosen, Relaxed);
        }
        if chosen == NOTING && !NOTED[number].swap(true, Relaxed) {
            (&*NOTES).write_all(format!("{number}\\n").as_bytes()).expect("a note");
        }
        chosen == number
    }
}
"""


def signature(mutant, lines):
    """What a mutant is called as long as its function stays as it is, wherever the function is."""
    span, function = mutant["span"], mutant["function"]
    around = function["span"] if function else span
    first, last = around["start"]["line"], around["end"]["line"]
    parts = [
        mutant["file"], function and function["function_name"], *lines[first - 1 : last], mutant["genre"], mutant["replacement"],
        *(f"{span[side]['line'] - first}:{span[side]['column']}" for side in ("start", "end")),
    ]
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]


class Mutants:
    """The mutants, what is known of them, and the copy that has them."""

    def __init__(self):
        self.root = Path(__file__).resolve().parents[2]
        self.work = self.root / "target" / "mutants"
        self.copy = self.work / "source"
        listed = subprocess.run(
            [CARGO, "mutants", "--package", PACKAGE, "--list", "--json"],
            cwd=self.root, check=True, capture_output=True, text=True,
        )
        self.all = json.loads(listed.stdout)
        files = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=self.root, check=True, capture_output=True, text=True,
        ).stdout.split()
        files = [file for file in files if (self.root / file).is_file()]
        built = [file for file in files if file.startswith(("Cargo.", "src/", "tests/", "crates/"))]
        self.digest = hashlib.sha256(b"".join((self.root / file).read_bytes() for file in built)).hexdigest()[:16]
        self.known = self.work / self.digest
        self.known.mkdir(parents=True, exist_ok=True)
        if self.copy.is_dir():
            for old in [path for path in self.copy.rglob("*") if path.is_file()]:
                if str(old.relative_to(self.copy)) not in files:
                    old.unlink()
        by_file = defaultdict(list)
        for number, mutant in enumerate(self.all):
            by_file[mutant["file"]].append((number, mutant))
        texts = {file: (self.root / file).read_text().split("\n") for file in by_file}
        for mutant in self.all:
            mutant["signature"] = signature(mutant, texts[mutant["file"]])
        for file in files:
            if file not in by_file and file != "src/lib.rs":
                self.write(file, (self.root / file).read_bytes())
        self.sources = {file: Source((self.root / file).read_bytes(), mutants) for file, mutants in by_file.items()}
        self.unplaced = set().union(*(source.failed for source in self.sources.values()))
        path = self.work / "dropped.json"
        dropped = set(json.loads(path.read_text())) if path.is_file() else set()
        self.dropped = {number for number, mutant in enumerate(self.all) if mutant["signature"] in dropped}

    def write(self, file, data):
        path = self.copy / file
        if not path.is_file() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def load(self, name, default):
        path = self.known / f"{name}.json"
        return json.loads(path.read_text()) if path.is_file() else default

    def save(self, name, value):
        (self.known / f"{name}.json").write_text(json.dumps(value))

    def render(self):
        """Writes the copy. Returns where in its files the branches are."""
        places = {}
        for file, source in self.sources.items():
            text, places[file] = source.render(self.dropped)
            self.write(file, text)
        library = (self.root / "src/lib.rs").read_text() + SWITCH.replace("MUTANTS]", f"{len(self.all)}]")
        self.write("src/lib.rs", library.encode())
        return places

    def build(self, tests):
        """The programs of the tests. What does not compile is dropped, until everything does."""
        programs = self.load("-".join(["programs", *tests]), [])
        if programs and all(Path(program).is_file() for program in programs):
            return programs
        # Optimized a little: the time goes into running the tests, not into building them.
        command = [
            CARGO, "test", "--config", f"profile.dev.package.{PACKAGE}.opt-level=1",
            "--locked", "--no-run", "--package", PACKAGE, "--lib", *(f"--test={test}" for test in tests),
            "--message-format", "json",
        ]
        environment = {**os.environ, "CARGO_TARGET_DIR": str(self.work / "build")}
        while True:
            places = self.render()
            built = subprocess.run(command, cwd=self.copy, env=environment, stdout=subprocess.PIPE, text=True)
            messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
            if built.returncode == 0:
                programs = [m["executable"] for m in messages if m.get("executable") and m["profile"]["test"]]
                self.save("-".join(["programs", *tests]), programs)
                return programs
            new = set()
            for message in messages:
                if message["reason"] == "compiler-message" and message["message"]["level"] == "error":
                    new |= self.at_fault(message["message"], places)
            if not new:
                raise SystemExit("the copy does not compile, and no mutant is to blame")
            self.dropped |= new
            (self.work / "dropped.json").write_text(json.dumps(sorted(self.all[number]["signature"] for number in self.dropped)))
            print(f"{len(self.dropped)} do not compile", flush=True)

    def at_fault(self, error, places):
        """The mutant whose branch an error of the compiler is in."""
        if (error["code"] or {}).get("code") == "E0004":
            return {int(number) for number in re.findall(r"if !crate::mutant::is\((\d+)\)", error["rendered"])}
        spans = error["spans"] + [span for child in error["children"] for span in child["spans"]]
        for span in sorted(spans, key=lambda span: not span["is_primary"]):
            around = [
                (end - start, number)
                for number, (start, end) in places.get(span["file_name"], {}).items()
                if start <= span["byte_start"] and span["byte_end"] <= end
            ]
            if around:
                return {min(around)[1]}
        return set()
