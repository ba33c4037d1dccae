"""What differs between the simulator and the emulators, against the list of what is known to."""

import collections


class Differences:
    """Each line of `path`: the operation, what it was called with, the emulators, the simulator's answer, theirs, and the reason."""

    def __init__(self, path):
        self.known, self.found, self.calls = set(), collections.Counter(), collections.Counter()
        self.tried, self.examples = set(), {}
        for line in path.read_text().splitlines() if path.exists() else []:
            operation, what, emulators, ours, theirs, reason = line.split("\t")
            assert reason
            self.known.update((operation, what, emulator, ours, theirs) for emulator in emulators.split(","))

    def compared(self, operation, whats, emulator):
        self.calls[emulator] += 1
        if len(set(whats)) == 1:
            self.tried.add((operation, whats[0], emulator))

    def add(self, operation, whats, emulator, ours, theirs, example):
        """Of a call with several peculiarities the known one may be any of them."""
        keys = [(operation, what, emulator, ours, theirs) for what in sorted(set(whats))]
        key = next((key for key in keys if key in self.known), None)
        key = key or (operation, " + ".join(sorted(set(whats))), emulator, ours, theirs)
        self.found[key] += 1
        self.examples.setdefault(key, example)

    def report(self):
        """Prints what differs without being listed, and what is listed and was tried without differing. Whether there is nothing."""
        unlisted = sorted(self.found.keys() - self.known)
        gone = sorted(key for key in self.known - self.found.keys() if key[:3] in self.tried)
        for emulator, calls in self.calls.items():
            known = [count for key, count in self.found.items() if key in self.known and key[2] == emulator]
            print(f"{emulator}: {calls:,} calls compared, {sum(known):,} differences of {len(known)} listed kinds")
        for key in unlisted:
            print("\nnot listed: " + "\t".join(key) + f"\n  {self.found[key]} times, such as {self.examples[key]}")
        for key in gone:
            print("\nlisted, but gone: " + "\t".join(key))
        return not unlisted and not gone
