"""Random calls to queues of the simulator and of emulators by others, side by side.

    queues.py SIMULATOR [--seed N] [--cases N]

SIMULATOR is the program `parity` of this folder. Fails if an answer differs that `differences_queues.tsv` does not list, or if one that
it lists is gone. An emulator that answers differently takes no further part in that case.
"""

import contextlib
import json
import random
import sys

import emulators
from differences import Differences
from queue_entries import ENTRIES, RECEIVES, WHOLE_CALLS, WHOLE_SENDS

EMULATORS = [emulators.elasticmq, emulators.fauxqs, emulators.localstack]
BATCHES = {"SendMessageBatch": "send", "DeleteMessageBatch": "delete", "ChangeMessageVisibilityBatch": "hide"}
NEVER_A_QUEUE = "never-a-queue"


class System:
    """The simulator or an emulator, and what it has answered in this case."""

    def __init__(self, server):
        self.server, self.name = server, server.name

    def begin(self, name, attributes):
        if isinstance(self.server, emulators.Simulator):
            self.server.create(QueueName=name, Attributes=attributes)
            self.url = f"http://127.0.0.1:{self.server.port}/000000000000/{name}"
        else:
            status, answer = self.server.call("AmazonSQS.CreateQueue", {"QueueName": name, "Attributes": attributes})
            if status != 200:
                raise ValueError(f"{self.name} has no queue for {attributes}: {answer}")
            self.url = answer["QueueUrl"]
        # The receipt handles of each message, and by each message's id the entry that was the first to send it.
        self.handles, self.ids = {}, {}

    def end(self):
        if not isinstance(self.server, emulators.Simulator):
            self.server.call("AmazonSQS.DeleteQueue", {"QueueUrl": self.url})

    def call(self, operation, request):
        request = {name: value for name, value in request.items() if value is not None}
        if request.get("QueueUrl") == NEVER_A_QUEUE:
            request["QueueUrl"] = self.url.rpartition("/")[0] + "/" + NEVER_A_QUEUE
        elif "QueueUrl" in request:
            request["QueueUrl"] = self.url
        if operation in ("DeleteMessageBatch", "ChangeMessageVisibilityBatch"):
            request["Entries"] = [self.with_handle(entry) for entry in request.get("Entries", [])]
        status, answer = self.server.call(f"AmazonSQS.{operation}", request)
        if status != 200:
            return refused(answer)
        return self.received(answer) if operation == "ReceiveMessage" else self.results(answer, request["Entries"])

    def with_handle(self, entry):
        """An entry names a message and which of its receipt handles it means."""
        entry = dict(entry)
        if isinstance(entry.get("ReceiptHandle"), list):
            number, place = entry["ReceiptHandle"]
            entry["ReceiptHandle"] = self.handles[number][place]
        return entry

    def results(self, answer, entries):
        results = {}
        places = {entry.get("Id"): place for place, entry in enumerate(entries)}
        successful = sorted(answer.get("Successful") or [], key=lambda entry: places.get(entry.get("Id"), -1))
        for entry in successful:
            result = {name: entry.get(name) for name in ("MD5OfMessageBody", "MD5OfMessageAttributes")}
            result["MD5OfMessageSystemAttributes"] = entry.get("MD5OfMessageSystemAttributes")
            if "MessageId" in entry:
                # Equal for messages that are taken for the same one.
                result["message"] = self.ids.setdefault(entry["MessageId"], entry.get("Id"))
                result["SequenceNumber"] = "SequenceNumber" in entry
            results[entry.get("Id")] = result
        for entry in answer.get("Failed") or []:
            results[entry.get("Id")] = {"fails": short(entry["Code"]), "SenderFault": entry.get("SenderFault")}
        return results

    def received(self, answer):
        messages = answer.get("Messages") or []
        for message in messages:
            self.handles.setdefault(number_of(message["Body"]), []).append(message["ReceiptHandle"])
        return [shown(message) for message in messages]


def short(code):
    """Codes without the namespace and the endings by which the protocols of SQS differ."""
    code = code.rpartition("#")[2].rpartition(".")[2].removesuffix("Exception")
    return {"MissingRequiredParameter": "MissingParameter", "NonExistentQueue": "QueueDoesNotExist"}.get(code, code)


def refused(answer):
    return "refused: " + short(str(answer.get("__type") or answer.get("Code") or "no code"))


def number_of(body):
    """Bodies begin with the number of their message."""
    return body.split(" ", 1)[0]


def shown(message):
    system = message.get("Attributes") or {}
    # These say who has sent and when, or are numbers of the emulator's own.
    present = {name: name in system for name in ("SentTimestamp", "SequenceNumber")}
    values = {name: system.get(name) for name in ("ApproximateReceiveCount", "MessageGroupId", "MessageDeduplicationId")}
    return {
        "message": number_of(message["Body"]),
        "length": len(message["Body"]),
        "MD5OfBody": message["MD5OfBody"],
        "MD5OfMessageAttributes": message.get("MD5OfMessageAttributes"),
        "MessageAttributes": {
            name: {part: attribute.get(part) for part in ("DataType", "StringValue", "BinaryValue")}
            for name, attribute in (message.get("MessageAttributes") or {}).items()
        },
        "AWSTraceHeader": system.get("AWSTraceHeader"),
        **present,
        **values,
    }


class Case:
    """One queue of each system, and what was done with it."""

    def __init__(self, systems, differences, name, random_, is_fifo, attributes):
        self.ours, *self.others = systems
        self.differences, self.random = differences, random_
        self.is_fifo, self.attributes = is_fifo, attributes
        if is_fifo:
            attributes = {**attributes, "FifoQueue": "true"}
            name += ".fifo"
        self.all = systems
        for system in systems:
            system.begin(name, attributes)
        # The ordinary messages by their numbers, and what is peculiar about each message.
        self.count, self.sent, self.what = 0, {}, {}
        # Numbers of the messages that the simulator has handed out, and of those that are gone or to be seen again.
        self.held, self.visible, self.gone = [], [], []

    @property
    def largest(self):
        return int(self.attributes["MaximumMessageSize"])

    @property
    def is_deduplicating(self):
        return self.attributes.get("ContentBasedDeduplication") == "true"

    def message(self):
        """An entry with no peculiarity."""
        self.count += 1
        entry = {"Id": f"e{self.count}", "MessageBody": f"{self.count} " + "x" * self.random.randrange(20)}
        if self.is_fifo:
            entry["MessageGroupId"] = self.random.choice("abc")
            if not self.is_deduplicating:
                entry["MessageDeduplicationId"] = str(self.count)
        return entry

    def receipt(self, is_hiding):
        """An entry about a message that is held; `None` without one that no other entry of the call is about."""
        free = [number for number in self.held if number not in self.taken]
        if not free:
            return None
        number = self.random.choice(free)
        return self.receipt_of(number, is_hiding)

    def receipt_of(self, number, is_hiding):
        self.count += 1
        self.taken.add(number)
        entry = {"Id": f"e{self.count}", "ReceiptHandle": [number, -1]}
        if is_hiding:
            entry["VisibilityTimeout"] = self.random.choice([0, 0, 30, 600])
        return entry

    def fresh(self, operation):
        if operation == "SendMessageBatch":
            return self.message()
        return self.receipt(operation == "ChangeMessageVisibilityBatch")

    def batch(self, operation, of_entries, of_call=None, size=None):
        """A call whose entries have these peculiarities, of which `None` is none."""
        self.taken = set()
        entries, whats = [], {}
        for peculiarity in of_entries:
            entry = peculiarity[1](self) if peculiarity and peculiarity[2] else self.fresh(operation)
            if entry is None:
                continue
            if peculiarity and not peculiarity[2]:
                peculiarity[1](self, entry)
            entries.append(entry)
            whats[entry.get("Id")] = peculiarity[0] if peculiarity else "plain"
        for _ in range((size or 0) - len(entries)):
            if (entry := self.fresh(operation)) is not None:
                entries.append(entry)
                whats[entry["Id"]] = "plain"
        if not entries:
            return
        request = {"QueueUrl": "", "Entries": entries}
        of_whole = ["plain"]
        if of_call:
            of_call[1](self, request)
            of_whole = [of_call[0]]
        self.do(operation, request, whats, of_whole)

    def show_one(self):
        """Makes a message that is held visible again."""
        self.taken = set()
        entry = self.receipt(True)
        if entry:
            entry["VisibilityTimeout"] = 0
            request = {"QueueUrl": "", "Entries": [entry]}
            self.do("ChangeMessageVisibilityBatch", request, {entry["Id"]: "plain"}, ["plain"])

    def do(self, operation, request, whats, of_whole):
        peculiar = [what for what in [*of_whole, *whats.values()] if what != "plain"] or ["plain"]
        ours = self.ours.call(operation, request)
        for other in list(self.others):
            theirs = other.call(operation, request)
            self.differences.compared(operation, peculiar, other.name)
            example = json.dumps(request)[:300]

            def differs(whats, ours, theirs):
                self.differences.add(operation, whats, other.name, ours, theirs, example)

            if not self.are_alike(request, ours, theirs, whats, peculiar, differs):
                self.others.remove(other)
        if operation == "SendMessageBatch" and isinstance(ours, dict):
            for entry in request["Entries"]:
                number = number_of(entry.get("MessageBody", ""))
                self.what[number] = whats.get(entry.get("Id"), "plain")
                if self.what[number] == "plain" and "fails" not in ours.get(entry.get("Id"), {"fails": ""}):
                    self.sent[number] = entry
        self.follow(operation, request, ours)

    def are_alike(self, request, ours, theirs, whats, peculiar, differs):
        """Whether both systems are in the same state afterwards."""
        if isinstance(ours, str) or isinstance(theirs, str):
            is_refused = isinstance(ours, str) and isinstance(theirs, str)
            # Which of several mistakes is found first is not documented.
            if ours != theirs and not (is_refused and len(set(peculiar)) > 1):
                verdicts = [verdict if isinstance(verdict, str) else "ok" for verdict in (ours, theirs)]
                differs(peculiar, *verdicts)
            return is_refused
        if isinstance(ours, list):
            return self.receives_alike(ours, theirs, peculiar, request.get("MaxNumberOfMessages") or 1, differs)
        are_alike = True
        for key in ours.keys() | theirs.keys():
            left, right = ours.get(key), theirs.get(key)
            what = [whats.get(key, "plain")]
            if left is None or right is None or ("fails" in left) != ("fails" in right):
                differs(what, verdict(left), verdict(right))
                are_alike = False
            elif "fails" in left:
                if left["fails"] != right["fails"]:
                    differs(what, verdict(left), verdict(right))
                if left["SenderFault"] != right["SenderFault"]:
                    differs(["a failed entry"], f"SenderFault {left['SenderFault']}", f"SenderFault {right['SenderFault']}")
            else:
                for part in left.keys() | right.keys():
                    if left.get(part) != right.get(part):
                        differs(["any message"] if part == "SequenceNumber" else what, *part_of(part, left, right))
        return are_alike

    def receives_alike(self, ours, theirs, peculiar, most, differs):
        names = [[message["message"] for message in messages] for messages in (ours, theirs)]
        timeout = " with a timeout of 0" if "a timeout of 0" in peculiar else ""
        queue = f"a {'FIFO' if self.is_fifo else 'standard'} queue{timeout}"
        if sorted(names[0]) != sorted(names[1]):
            # Which messages are the first ones is not documented; in a FIFO queue, which groups.
            if len(names[0]) == len(names[1]) == most:
                return False
            kind = "fewer" if len(names[1]) < len(names[0]) else "more" if len(names[1]) > len(names[0]) else "other"
            differs([queue], "messages", f"{kind} messages")
            return False
        if self.is_fifo:
            groups = [by_group(messages) for messages in (ours, theirs)]
            if groups[0] != groups[1]:
                differs([queue], "the order", "another order")
                return False
        by_name = {message["message"]: message for message in theirs}
        for message in ours:
            other = by_name[message["message"]]
            for part in message:
                if message[part] != other[part]:
                    whats = {self.what.get(message["message"], "plain"), *peculiar} - {"plain"} or {"plain"}
                    differs(sorted(whats), *part_of(part, message, other))
        return True

    def follow(self, operation, request, ours):
        """Keeps track of which messages the simulator has handed out."""
        if isinstance(ours, str):
            return
        if operation == "ReceiveMessage":
            for message in ours:
                number = message["message"]
                for numbers in (self.held, self.visible):
                    if number in numbers:
                        numbers.remove(number)
                (self.visible if request.get("VisibilityTimeout") == 0 else self.held).append(number)
        elif operation != "SendMessageBatch":
            for entry in request["Entries"]:
                handle = entry.get("ReceiptHandle")
                result = ours.get(entry.get("Id"), {"fails": ""})
                if "fails" in result or not isinstance(handle, list) or handle[0] not in self.held:
                    continue
                if operation == "DeleteMessageBatch":
                    self.held.remove(handle[0])
                    self.gone.append(handle[0])
                elif entry.get("VisibilityTimeout") == 0:
                    self.held.remove(handle[0])
                    self.visible.append(handle[0])

    def receive(self, peculiarities, most=None):
        request = {"QueueUrl": "", "MaxNumberOfMessages": most or self.random.choice([None, 1, 2, 5, 10, 10, 10])}
        request["MessageSystemAttributeNames"] = ["All"]
        request["MessageAttributeNames"] = ["All"]
        for _, change, _ in peculiarities:
            change(self, request)
        self.do("ReceiveMessage", request, {}, [what for what, _, _ in peculiarities] or ["plain"])


def by_group(messages):
    groups = {}
    for message in messages:
        groups.setdefault(message["MessageGroupId"], []).append(message["message"])
    return groups


def verdict(result):
    if result is None:
        return "no answer"
    return f"fails: {result['fails']}" if "fails" in result else "ok"


def part_of(part, left, right):
    """Values that are the same for all messages are named."""
    if isinstance(left[part], bool) or left[part] is None or right[part] is None:
        return [f"{part}: {'yes' if side[part] else 'none'}" for side in (left, right)]
    return f"{part}", f"another {part}"


def usable(peculiarities, is_fifo):
    return [(what, change, creates) for what, change, kind, creates in peculiarities if kind in (None, is_fifo)]


def of_calls(operation, is_fifo):
    return usable(WHOLE_SENDS if operation == "SendMessageBatch" else WHOLE_CALLS, is_fifo)


def single(case, operation, peculiarity, is_of_call):
    """One peculiarity alone, between ordinary calls."""
    case.batch("SendMessageBatch", [], size=8)
    if operation != "SendMessageBatch":
        case.receive([], most=10)
        case.batch("DeleteMessageBatch", [None])
        case.show_one()
    if operation == "ReceiveMessage":
        case.batch("SendMessageBatch", [], size=3)
        case.receive([peculiarity], most=10)
    elif is_of_call:
        case.batch(operation, [None, None], peculiarity)
    else:
        case.batch(operation, [None, peculiarity, None])
    case.receive([], most=10)


def at_random(case):
    random_ = case.random
    case.batch("SendMessageBatch", [], size=random_.randint(1, 10))
    for _ in range(random_.randint(1, 6)):
        operation = random_.choice([*BATCHES, "SendMessageBatch", "ReceiveMessage", "ReceiveMessage", "ReceiveMessage"])
        if operation == "ReceiveMessage":
            some = usable(RECEIVES, case.is_fifo)
            case.receive(random_.sample(some, random_.choice([0, 0, 0, 1, 2])))
            continue
        kinds = usable(ENTRIES[BATCHES[operation]], case.is_fifo)
        # None of them twice: two equal ids are another mistake.
        count = random_.randint(1, 10)
        some = iter(random_.sample(kinds, count))
        of_entries = [next(some) if random_.random() < 0.2 else None for _ in range(count)]
        of_call = random_.choice(of_calls(operation, case.is_fifo)) if random_.random() < 0.1 else None
        case.batch(operation, of_entries, of_call)
    case.receive([], most=10)


def attributes(random_, is_fifo):
    chosen = {"MaximumMessageSize": random_.choice(["1048576", "262144", "1024"]), "VisibilityTimeout": "30"}
    if is_fifo and random_.random() < 0.5:
        chosen["ContentBasedDeduplication"] = "true"
    return chosen


def run(systems, differences, seed, cases):
    number = 0

    def case(is_fifo):
        nonlocal number
        number += 1
        random_ = random.Random(f"{seed}-{number}")
        return Case(list(systems), differences, f"queue-{number}", random_, is_fifo, attributes(random_, is_fifo))

    singles = []
    for is_fifo in (False, True):
        for operation, kind in BATCHES.items():
            singles += [(is_fifo, operation, one, False) for one in usable(ENTRIES[kind], is_fifo)]
            singles += [(is_fifo, operation, one, True) for one in of_calls(operation, is_fifo)]
        singles += [(is_fifo, "ReceiveMessage", one, False) for one in usable(RECEIVES, is_fifo)]
    for is_fifo, operation, peculiarity, is_of_call in singles:
        one = case(is_fifo)
        single(one, operation, peculiarity, is_of_call)
        for system in one.all:
            system.end()
    for _ in range(cases):
        one = case(random.Random(f"{seed}-{number}-fifo").random() < 0.5)
        at_random(one)
        for system in one.all:
            system.end()
    return number


def main():
    emulators.close_when_told()
    arguments = emulators.arguments(cases=500)
    differences = Differences(emulators.HERE / "differences_queues.tsv")
    with contextlib.ExitStack() as stack:
        systems = [System(system) for system in emulators.started(stack, arguments.simulator, EMULATORS)]
        if len(systems) == 1:
            return 0
        cases = run(systems, differences, arguments.seed, arguments.cases)
    print(f"{cases:,} cases, seed {arguments.seed}")
    return 0 if differences.report() else 1


if __name__ == "__main__":
    sys.exit(main())
