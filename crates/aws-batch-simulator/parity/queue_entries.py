"""What is peculiar about the calls to queues, each with a name by which `differences_queues.tsv` lists it.

A peculiarity changes an ordinary entry, request or message, or makes an entry of its own. It is for FIFO queues (`True`), for standard
ones (`False`) or for both (`None`).
"""

import base64

KIB_256 = 262_144


def change(what, act, kind=None):
    return what, act, kind, False


def create(what, act, kind=None):
    return what, act, kind, True


def put(name, value):
    return lambda case, entry: entry.update({name: value})


def drop(name):
    return lambda case, entry: entry.pop(name, None)


def body(text):
    """The number of the message, and this text behind it."""
    return lambda case, entry: entry.update(MessageBody=entry["MessageBody"].split(" ")[0] + " " + text)


def fill(case, entry, size, attributes=None):
    """A message of this size, its attributes included."""
    if attributes:
        entry["MessageAttributes"] = attributes
    of_attributes = sum(
        len(name) + len(value["DataType"]) + len(value.get("StringValue", "")) + len(binary(value))
        for name, value in (attributes or {}).items()
    )
    start = entry["MessageBody"].split(" ")[0] + " "
    entry["MessageBody"] = start + "x" * (size - of_attributes - len(start))


def binary(value):
    return base64.b64decode(value.get("BinaryValue", ""))


def attribute(name="name", **value):
    return put("MessageAttributes", {name: value})


def text(value="value", kind="String"):
    return {"DataType": kind, "StringValue": value}


def named(name):
    return attribute(name, **text())


def many(count):
    return put("MessageAttributes", {f"name{number}": text(str(number)) for number in range(count)})


def traced(name="AWSTraceHeader", **value):
    value = value or text("Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1")
    return put("MessageSystemAttributes", {name: value})


SOME_ATTRIBUTES = {"text": text("ä"), "bytes": {"DataType": "Binary", "BinaryValue": "AAEC"}}

IDS = [
    change("an id of 80 characters", put("Id", "i" * 80)),
    change("an id of 81 characters", put("Id", "i" * 81)),
    change("an id with hyphen and underscore", put("Id", "a-b_c")),
    change("an empty id", put("Id", "")),
    change("an id with a space", put("Id", "a b")),
    change("an id with a period", put("Id", "a.b")),
    change("an id with an umlaut", put("Id", "ä")),
    change("an entry without id", drop("Id")),
]


def again(case, entry):
    """The body and the deduplication id of an earlier message, in its group or in another."""
    earlier = case.random.choice(list(case.sent.values()) or [entry])
    for name in ("MessageBody", "MessageDeduplicationId"):
        if name in earlier:
            entry[name] = earlier[name]


SEND = [
    *IDS,
    change("no body", drop("MessageBody")),
    change("an empty body", put("MessageBody", "")),
    change("a body of a tab, a line feed and a return", body("\t\n\r")),
    change("a body outside of the basic plane", body("\U0001f600\U0010ffff")),
    change("a body of #xD7FF, #xE000 and #xFFFD", body("\ud7ff\ue000\ufffd")),
    change("a body with #x0", body("\0")),
    change("a body with #xB", body("\x0b")),
    change("a body with #x1F", body("\x1f")),
    change("a body with #xFFFE", body("\ufffe")),
    change("a body with #xFFFF", body("\uffff")),
    change("a body with #x7F and #x85", body("\x7f\x85")),
    change("a message of the largest size", lambda case, entry: fill(case, entry, case.largest)),
    change("a message of the largest size with attributes", lambda case, entry: fill(case, entry, case.largest, SIZED)),
    change("a message one byte too large", lambda case, entry: fill(case, entry, case.largest + 1)),
    change("a message one byte too large with attributes", lambda case, entry: fill(case, entry, case.largest + 1, SIZED)),
    change("a delay of 0", put("DelaySeconds", 0)),
    change("a delay of 60", put("DelaySeconds", 60), True),
    change("a delay of 900", put("DelaySeconds", 900), False),
    change("a delay of 901", put("DelaySeconds", 901)),
    change("a delay of -1", put("DelaySeconds", -1)),
    change("no attributes", put("MessageAttributes", {})),
    change("attributes of text and bytes", put("MessageAttributes", SOME_ATTRIBUTES)),
    change("10 attributes", many(10)),
    change("11 attributes", many(11)),
    change("a number", attribute(**text("-1.5e3", "Number"))),
    change("a number that is none", attribute(**text("abc", "Number"))),
    change("an empty number", attribute(**text("", "Number"))),
    change("a type with a label", attribute(**text("1", "Number.int"))),
    change("bytes with a label", attribute(DataType="Binary.png", BinaryValue="AAEC")),
    change("a text with a label", attribute(**text("a", "String.order"))),
    change("an attribute without type", attribute(StringValue="a")),
    change("an attribute with an empty type", attribute(**text("a", ""))),
    change("an attribute of an unknown type", attribute(**text("a", "Boolean"))),
    change("an attribute of a type in lower case", attribute(**text("a", "string"))),
    change("an attribute of a type that begins with a known one", attribute(**text("a", "Strings"))),
    change("an attribute of a type of 256 characters", attribute(**text("a", "String." + "t" * 249))),
    change("an attribute of a type of 257 characters", attribute(**text("a", "String." + "t" * 250))),
    change("an attribute with an empty text", attribute(**text(""))),
    change("an attribute with empty bytes", attribute(DataType="Binary", BinaryValue="")),
    change("an attribute without value", attribute(DataType="String")),
    change("bytes without value", attribute(DataType="Binary")),
    change("a text without its value, but with bytes", attribute(DataType="String", BinaryValue="AAEC")),
    change("an attribute with #x1F", attribute(**text("a\x1f"))),
    change("an attribute with a name of 256 characters", named("n" * 256)),
    change("an attribute with a name of 257 characters", named("n" * 257)),
    change("an attribute with an empty name", named("")),
    change("an attribute with hyphen, underscore and period in its name", named("a-b_c.d")),
    change("an attribute with a space in its name", named("a b")),
    change("an attribute with a slash in its name", named("a/b")),
    change("an attribute with a period at the start of its name", named(".a")),
    change("an attribute with a period at the end of its name", named("a.")),
    change("an attribute with two periods in its name", named("a..b")),
    change("an attribute with a name that begins with AWS.", named("AWS.a")),
    change("an attribute with a name that begins with amazon.", named("amazon.a")),
    change("an attribute with a name that begins with awsome", named("awsome")),
    change("a trace header", traced()),
    change("another system attribute", traced("Other", **text("a"))),
    change("a trace header of bytes", traced(DataType="Binary", BinaryValue="AAEC")),
    change("a group of 128 characters", put("MessageGroupId", "g" * 128)),
    change("a group of 129 characters", put("MessageGroupId", "g" * 129)),
    change("a group with punctuation", put("MessageGroupId", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")),
    change("a group with a space", put("MessageGroupId", "a b")),
    change("a group with an umlaut", put("MessageGroupId", "ä")),
    change("an empty group", put("MessageGroupId", "")),
    change("no group", drop("MessageGroupId"), True),
    change("a group in a standard queue", put("MessageGroupId", "g"), False),
    change("a deduplication id of 128 characters", put("MessageDeduplicationId", "d" * 128), True),
    change("a deduplication id of 129 characters", put("MessageDeduplicationId", "d" * 129), True),
    change("a deduplication id with a space", put("MessageDeduplicationId", "a b"), True),
    change("an empty deduplication id", put("MessageDeduplicationId", ""), True),
    change("no deduplication id", drop("MessageDeduplicationId"), True),
    change("a deduplication id in a standard queue", put("MessageDeduplicationId", "d"), False),
    change("a message that was sent before", again, True),
]

SIZED = {"first": text("value"), "bytes": {"DataType": "Binary", "BinaryValue": "AAECAwQ="}}


def of_numbers(choose, is_hiding):
    """An entry about a message that `choose` picks, if there is one."""

    def make(case):
        numbers = [number for number in choose(case) if number not in case.taken]
        return case.receipt_of(case.random.choice(numbers), is_hiding) if numbers else None

    return make


def older(case, entry):
    """The handle of the receive before the last one, if it was received more than once."""
    if isinstance(entry.get("ReceiptHandle"), list):
        entry["ReceiptHandle"] = [entry["ReceiptHandle"][0], 0]


def receipts(is_hiding):
    return [
        *IDS,
        create("a message that is gone", of_numbers(lambda case: case.gone, is_hiding)),
        create("a message that is visible again", of_numbers(lambda case: case.visible, is_hiding)),
        change("the first handle", older),
        change("an unknown handle", put("ReceiptHandle", "never-a-handle")),
        change("an empty handle", put("ReceiptHandle", "")),
        change("no handle", drop("ReceiptHandle")),
    ]


HIDE = [
    *receipts(True),
    change("a timeout of 43200", put("VisibilityTimeout", 43_200)),
    change("a timeout of 43201", put("VisibilityTimeout", 43_201)),
    change("a timeout of 43000", put("VisibilityTimeout", 43_000)),
    change("a timeout of -1", put("VisibilityTimeout", -1)),
    change("no timeout", drop("VisibilityTimeout")),
]

ENTRIES = {"send": SEND, "delete": receipts(False), "hide": HIDE}


def doubled(case, request):
    entries = request["Entries"]
    if len(entries) > 1:
        entries[-1]["Id"] = entries[0]["Id"]


def grown(case, request, count):
    """As many entries as this, with copies of the last one."""
    entries = request["Entries"]
    while entries and len(entries) < count:
        entries.append({**entries[-1], "Id": f"more{len(entries)}"})
    del entries[count:]


def sized(case, request, bytes_):
    """Entries of equal size that have this many bytes together."""
    entries = [case.message() for _ in range(5)]
    for entry in entries:
        fill(case, entry, bytes_ // 5)
    fill(case, entries[0], bytes_ - bytes_ // 5 * 4)
    request["Entries"] = entries


WHOLE_CALLS = [
    change("no entries", put("Entries", [])),
    change("no list of entries", drop("Entries")),
    change("two entries with one id", doubled),
    change("11 entries", lambda case, request: grown(case, request, 11)),
    change("another queue", put("QueueUrl", "never-a-queue")),
    change("no queue", drop("QueueUrl")),
]

WHOLE_SENDS = [
    *WHOLE_CALLS,
    change("messages of 1 MiB together", lambda case, request: sized(case, request, 4 * KIB_256)),
    change("messages of 1 MiB and a byte together", lambda case, request: sized(case, request, 4 * KIB_256 + 1)),
]

RECEIVES = [
    change("no messages at most", put("MaxNumberOfMessages", 0)),
    change("-1 messages at most", put("MaxNumberOfMessages", -1)),
    change("11 messages at most", put("MaxNumberOfMessages", 11)),
    change("a timeout of 0", put("VisibilityTimeout", 0)),
    change("a timeout of 43200", put("VisibilityTimeout", 43_200)),
    change("a timeout of 43201", put("VisibilityTimeout", 43_201)),
    change("a timeout of -1", put("VisibilityTimeout", -1)),
    change("a wait of -1", put("WaitTimeSeconds", -1)),
    change("a wait of 21", put("WaitTimeSeconds", 21)),
    change("no attributes", drop("MessageAttributeNames")),
    change("attributes of any name", put("MessageAttributeNames", [".*"])),
    change("attributes of a prefix", put("MessageAttributeNames", ["na.*"])),
    change("attributes of a name", put("MessageAttributeNames", ["name"])),
    change("attributes of a name that none has", put("MessageAttributeNames", ["other"])),
    change("no system attributes", drop("MessageSystemAttributeNames")),
    change("some system attributes", put("MessageSystemAttributeNames", ["ApproximateReceiveCount", "MessageGroupId"])),
    change("another queue", put("QueueUrl", "never-a-queue")),
    change("no queue", drop("QueueUrl")),
]
