"""The mutants, what is known of them, and the copy of the sources that has them."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

from source import Source

PACKAGE = "aws-batch-delivery"
TESTS = ["--lib", "--test", "promise", "--test", "order", "--test", "custom_target", "--test", "isolation"]

# What the copy of the library has besides: which mutant is in force, and a note of each that is come by.
SWITCH = """
pub(crate) mod mutant {
    use std::env::{var, var_os};
    use std::fs::{File, OpenOptions};
    use std::io::Write;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    static CHOSEN: LazyLock<usize> =
        LazyLock::new(|| var("MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(usize::MAX));
    static NOTES: LazyLock<Option<File>> = LazyLock::new(|| {
        let path = var_os("MUTANTS_REACHED")?;
        Some(OpenOptions::new().append(true).create(true).open(path).expect("a file for notes"))
    });
    static NOTED: [AtomicBool; MUTANTS] = [const { AtomicBool::new(false) }; MUTANTS];

    pub(crate) fn is(number: usize) -> bool {
        if let Some(mut notes) = NOTES.as_ref()
            && !NOTED[number].swap(true, Relaxed)
        {
            notes.write_all(format!("{number}\\n").as_bytes()).expect("a note");
        }
        *CHOSEN == number
    }
}
"""


class Mutants:
    """The mutants, what is known of them, and the copy that has them."""

    def __init__(self):
        self.root = Path(__file__).resolve().parents[2]
        self.work = self.root / "target" / "mutants"
        self.copy = self.work / "source"
        listed = subprocess.run(
            ["cargo", "mutants", "--package", PACKAGE, "--list", "--json"],
            cwd=self.root, check=True, capture_output=True, text=True,
        )
        self.all = json.loads(listed.stdout)
        files = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=self.root, check=True, capture_output=True, text=True,
        ).stdout.split()
        files = [file for file in files if (self.root / file).is_file()]
        digest = hashlib.sha256(b"".join((self.root / file).read_bytes() for file in files)).hexdigest()
        self.known = self.work / digest[:16]
        if not self.known.is_dir():
            shutil.rmtree(self.copy, ignore_errors=True)
            self.known.mkdir(parents=True)
        for file in files:
            self.write(file, (self.root / file).read_bytes())
        by_file = defaultdict(list)
        for number, mutant in enumerate(self.all):
            by_file[mutant["file"]].append((number, mutant))
        self.sources = {file: Source((self.root / file).read_bytes(), mutants) for file, mutants in by_file.items()}
        self.unplaced = set().union(*(source.failed for source in self.sources.values()))
        self.dropped = set(self.load("dropped", []))

    def write(self, file, data):
        path = self.copy / file
        if file in getattr(self, "sources", ()) or not path.is_file() or path.read_bytes() != data:
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
            path = self.copy / file
            if path.read_bytes() != text:
                path.write_bytes(text)
        library = (self.root / "src/lib.rs").read_text() + SWITCH.replace("MUTANTS]", f"{len(self.all)}]")
        (self.copy / "src/lib.rs").write_text(library)
        return places

    def build(self):
        """The programs of the tests. What does not compile is dropped, until everything does."""
        command = ["cargo", "test", "--locked", "--no-run", "--package", PACKAGE, *TESTS, "--message-format", "json"]
        environment = {**os.environ, "CARGO_TARGET_DIR": str(self.work / "build")}
        while True:
            places = self.render()
            built = subprocess.run(command, cwd=self.copy, env=environment, stdout=subprocess.PIPE, text=True)
            messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
            if built.returncode == 0:
                return [m["executable"] for m in messages if m.get("executable") and m["profile"]["test"]]
            new = set()
            for message in messages:
                if message["reason"] == "compiler-message" and message["message"]["level"] == "error":
                    new |= self.at_fault(message["message"], places)
            if not new:
                raise SystemExit("the copy does not compile, and no mutant is to blame")
            self.dropped |= new
            self.save("dropped", sorted(self.dropped))
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
