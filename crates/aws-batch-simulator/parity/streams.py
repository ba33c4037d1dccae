"""Random calls of `PutRecords` to streams of the simulator and of emulators by others, side by side.

    streams.py SIMULATOR [--seed N] [--cases N]

SIMULATOR is the program `parity` of this folder. Fails if an answer differs that `differences_streams.tsv` does not list, or if one that
it lists is gone. At the end 16 calls at the same time put 10,000 records, which are counted.
"""

import base64
import contextlib
import itertools
import json
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import emulators
from differences import Differences

EMULATORS = [emulators.kinesalite, emulators.kinesis_local]
MIB = 1_048_576
LARGEST_HASH_KEY = 2**128 - 1
SHARDS = [1, 2, 3, 5, 7]
RECORDS, IN_A_CALL, AT_ONCE = 10_000, 100, 16


class System:
    """The simulator or an emulator, and the sequence numbers of its shards."""

    def __init__(self, server):
        self.server, self.name, self.last = server, server.name, {}

    def call(self, operation, request, connection=None):
        return self.server.call(f"Kinesis_20131202.{operation}", request, connection)

    def create(self, name, shards):
        if isinstance(self.server, emulators.Simulator):
            self.server.create(StreamName=name, ShardCount=shards)
            return
        status, answer = self.call("CreateStream", {"StreamName": name, "ShardCount": shards})
        if status != 200:
            raise ValueError(f"{self.name} has no stream of {shards} shards: {answer}")
        for _ in range(100):
            status, answer = self.call("DescribeStreamSummary", {"StreamName": name})
            if status == 200 and answer["StreamDescriptionSummary"]["StreamStatus"] == "ACTIVE":
                return
            time.sleep(0.05)
        raise ValueError(f"{self.name} does not activate its stream")

    def ranges(self, name):
        _, answer = self.call("ListShards", {"StreamName": name})
        ranges = [shard["HashKeyRange"] for shard in answer["Shards"]]
        return sorted((int(one["StartingHashKey"]), int(one["EndingHashKey"])) for one in ranges)

    def put(self, request):
        """The result of the call, or one for each record: its shard, or its error."""
        status, answer = self.call("PutRecords", request)
        if status != 200:
            code = str(answer.get("__type", "no code")).rpartition("#")[2]
            return f"refused: {code}"
        results = []
        for record in answer["Records"]:
            if record.get("ErrorCode"):
                results.append(f"fails: {record['ErrorCode']}")
                continue
            shard, number = record["ShardId"], int(record["SequenceNumber"])
            place = request["StreamName"], shard
            does_rise = number > self.last.get(place, -1)
            self.last[place] = number
            results.append(f"ok in {shard}" if does_rise else "ok, but its sequence number does not rise")
        return [*results, f"FailedRecordCount {answer.get('FailedRecordCount', 0)}"]

    def data(self, name):
        """The data of all records."""
        if isinstance(self.server, emulators.Simulator):
            return [bytes(record["Data"]) for record in self.server.records(name)]
        found = []
        for shard in self.call("ListShards", {"StreamName": name})[1]["Shards"]:
            place = {"StreamName": name, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = self.call("GetShardIterator", place)[1]["ShardIterator"]
            while (page := self.call("GetRecords", {"ShardIterator": iterator})[1])["Records"]:
                found += [base64.b64decode(record["Data"]) for record in page["Records"]]
                iterator = page["NextShardIterator"]
        return found


def encoded(data):
    return base64.b64encode(data).decode()


def put(name, value):
    return lambda record: record.update({name: value})


def drop(name):
    return lambda record: record.pop(name, None)


def of_size(size):
    """Its data and its partition key together."""
    return lambda record: record.update(Data=encoded(b"x" * (size - len(record["PartitionKey"].encode()))))


RECORD = {
    "a key of one character": put("PartitionKey", "k"),
    "a key of 256 characters": put("PartitionKey", "k" * 256),
    "a key of 257 characters": put("PartitionKey", "k" * 257),
    "a key of 256 characters beyond ASCII": put("PartitionKey", "ä" * 256),
    "a key of 256 characters outside of the basic plane": put("PartitionKey", "\U0001f600" * 256),
    "an empty key": put("PartitionKey", ""),
    "no key": drop("PartitionKey"),
    "no data": drop("Data"),
    "empty data": put("Data", ""),
    "data that is no Base64": put("Data", "a*b"),
    "a record of 1 MiB": of_size(MIB),
    "a record of 1 MiB and a byte": of_size(MIB + 1),
    "data of 1 MiB": put("Data", encoded(b"x" * MIB)),
    "data of 1 MiB and a byte": put("Data", encoded(b"x" * (MIB + 1))),
    "a hash key of 0": put("ExplicitHashKey", "0"),
    "the largest hash key": put("ExplicitHashKey", str(LARGEST_HASH_KEY)),
    "a hash key that is too large": put("ExplicitHashKey", str(LARGEST_HASH_KEY + 1)),
    "a hash key of 39 nines": put("ExplicitHashKey", "9" * 39),
    "a hash key of 40 digits": put("ExplicitHashKey", "1" + "0" * 39),
    "a negative hash key": put("ExplicitHashKey", "-1"),
    "a hash key with a zero in front": put("ExplicitHashKey", "01"),
    "a hash key with a plus": put("ExplicitHashKey", "+1"),
    "a hash key of letters": put("ExplicitHashKey", "abc"),
    "an empty hash key": put("ExplicitHashKey", ""),
    "a hash key with a space": put("ExplicitHashKey", " 1"),
}


def together(size):
    """Records with this many bytes, their keys included."""

    def change(request):
        keys = [record["PartitionKey"] for record in itertools.islice(itertools.cycle(request["Records"]), 20)]
        rest = size - sum(len(key.encode()) for key in keys)
        sizes = [rest // 20] * 19 + [rest - rest // 20 * 19]
        request["Records"] = [
            {"PartitionKey": key, "Data": encoded(b"x" * bytes_)} for key, bytes_ in zip(keys, sizes, strict=True)
        ]

    return change


def times(count):
    return lambda request: request.update(Records=list(itertools.islice(itertools.cycle(request["Records"]), count)))


WHOLE = {
    "no records": put("Records", []),
    "no list of records": drop("Records"),
    "500 records": times(500),
    "501 records": times(501),
    "records of 10 MiB": together(10 * MIB),
    "records of 10 MiB and a byte": together(10 * MIB + 1),
    "another stream": put("StreamName", "never-a-stream"),
    "no stream": drop("StreamName"),
}


class Cases:
    def __init__(self, systems, differences, seed):
        self.systems, self.differences, self.random = systems, differences, random.Random(seed)
        self.streams, self.edges = {}, {}
        ours, *others = systems
        for shards in SHARDS:
            name = self.streams[shards] = f"stream-{shards}"
            for system in systems:
                system.create(name, shards)
            ranges = ours.ranges(name)
            self.edges[shards] = [str(edge) for both in ranges for edge in both]
            for other in others:
                what = f"a stream of {shards} shards"
                differences.compared("ListShards", [what], other.name)
                if other.ranges(name) != ranges:
                    differences.add("ListShards", [what], other.name, "ranges", "other ranges", other.ranges(name))

    def record(self, shards):
        random_ = self.random
        record = {"PartitionKey": "".join(random_.choices("abcdefä😀", k=random_.randint(1, 20)))}
        record["Data"] = encoded(random_.randbytes(random_.randint(0, 40)))
        if random_.random() < 0.2:
            edges = self.edges[shards]
            record["ExplicitHashKey"] = random_.choice([*edges, str(random_.randrange(LARGEST_HASH_KEY + 1))])
        return record

    def case(self, whats, of_whole=None):
        """A call with these peculiarities of records, `None` for none, and of the call."""
        shards = self.random.choice(SHARDS)
        records, names = [], []
        for what in whats:
            record = self.record(shards)
            if what:
                RECORD[what](record)
            records.append(record)
            names.append(what or "plain")
        request = {"StreamName": self.streams[shards], "Records": records}
        if of_whole:
            WHOLE[of_whole](request)
            names = [of_whole]
        peculiar = [name for name in names if name != "plain"] or ["plain"]
        ours, *theirs = [system.put(request) for system in self.systems]
        for system, answer in zip(self.systems[1:], theirs):
            self.differences.compared("PutRecords", peculiar, system.name)
            example = json.dumps(request)[:200]
            if isinstance(ours, str) or isinstance(answer, str):
                are_refused = isinstance(ours, str) and isinstance(answer, str)
                # Which of several mistakes is found first is not documented.
                if ours != answer and not (are_refused and len(set(peculiar)) > 1):
                    verdicts = [verdict if isinstance(verdict, str) else "ok" for verdict in (ours, answer)]
                    self.differences.add("PutRecords", peculiar, system.name, *verdicts, example)
                continue
            if len(ours) != len(answer):
                self.differences.add("PutRecords", peculiar, system.name, "as many results", "another number", example)
            for place, (left, right) in enumerate(zip(ours, answer)):
                if left.startswith("ok in") and right.startswith("ok in") and left != right:
                    what = f"a stream of {shards} shards"
                    self.differences.add("PutRecords", [what], system.name, "its shard", "another shard", example)
                elif left != right:
                    what = names[place] if place < len(names) else "plain"
                    self.differences.add("PutRecords", [what], system.name, left, right, example)


def lost(system):
    """How many of 10,000 accepted records are missing, and how many have the sequence number of another of their shard."""
    name = "records"
    system.create(name, 2)

    def put_some(first):
        records = [
            {"PartitionKey": str(number), "Data": encoded(str(number).encode())}
            for number in range(first, first + IN_A_CALL)
        ]
        with contextlib.closing(system.server.connect()) as connection:
            status, answer = system.call("PutRecords", {"StreamName": name, "Records": records}, connection)
        if status != 200 or answer["FailedRecordCount"]:
            raise ValueError(f"{system.name} has refused records: {answer}")
        return [(record["ShardId"], record["SequenceNumber"]) for record in answer["Records"]]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        numbers = {number for call in pool.map(put_some, range(0, RECORDS, IN_A_CALL)) for number in call}
    found = system.data(name)
    return RECORDS - len(set(found)), RECORDS - len(numbers), len(found) - len(set(found))


def main():
    emulators.close_when_told()
    arguments = emulators.arguments(cases=300)
    differences = Differences(emulators.HERE / "differences_streams.tsv")
    with contextlib.ExitStack() as stack:
        systems = [System(system) for system in emulators.started(stack, arguments.simulator, EMULATORS)]
        if len(systems) == 1:
            return 0
        cases = Cases(systems, differences, arguments.seed)
        for what in RECORD:
            cases.case([None, what, None])
        for what in WHOLE:
            cases.case([None, None], what)
        for _ in range(arguments.cases):
            random_ = cases.random
            count = random_.randint(1, 50)
            if random_.random() < 0.02:
                cases.case([None] * count, random_.choice(list(WHOLE)))
                continue
            cases.case([random_.choice(list(RECORD)) if random_.random() < 0.02 else None for _ in range(count)])
        print(f"{len(RECORD) + len(WHOLE) + arguments.cases:,} cases, seed {arguments.seed}")
        is_alike = differences.report()
        for system in systems:
            missing, equal, twice = lost(system)
            print(
                f"{system.name}: {AT_ONCE} calls at the same time, {RECORDS:,} records accepted: {missing} are missing, {equal} have "
                f"the sequence number of another, {twice} are there twice"
            )
            is_alike &= system is not systems[0] or not missing + equal + twice
    return 0 if is_alike else 1


if __name__ == "__main__":
    sys.exit(main())
