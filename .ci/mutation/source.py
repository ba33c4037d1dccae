"""A file with its mutants as branches."""

import tree_sitter
import tree_sitter_rust


class Source:
    """A file with its mutants as branches."""

    def __init__(self, data, mutants):
        self.data, self.sites, self.failed = data, {}, set()
        self.lines, at = [], 0
        for line in data.decode().split("\n"):
            self.lines.append((at, line))
            at += len(line.encode()) + 1
        language = tree_sitter.Language(tree_sitter_rust.language())
        self.root = tree_sitter.Parser(language).parse(data).root_node
        for number, mutant in mutants:
            if not self.place(number, mutant):
                self.failed.add(number)
        self.order = sorted(self.sites, key=lambda site: (site[0], -site[1]))

    def offset(self, position):
        start, line = self.lines[position["line"] - 1]
        return start + len(line[: position["column"] - 1].encode())

    def find(self, start, end, *kinds):
        """The innermost node of these kinds around a part of the text."""
        node, found = self.root, None
        while node is not None:
            if node.type in kinds:
                found = node
            inner = (c for c in node.children if c.start_byte <= start and end <= c.end_byte and c.start_byte < c.end_byte)
            node = next(inner, None)
        return found

    def text(self, start, end):
        return self.data[start:end].decode()

    def place(self, number, mutant):
        """Where the branch of a mutant goes, and what it says. Returns whether there is such a place."""
        start, end = (self.offset(mutant["span"][side]) for side in ("start", "end"))
        genre, to = mutant["genre"], mutant["replacement"]
        kind = "expression"
        if genre == "FnValue":
            # Another type than that of the rest of the function, which has no name.
            if "impl " in mutant["function"]["return_type"]:
                return False
            end, kind = start, "function"
        elif genre == "BinaryOperator":
            node = self.find(start, end, "binary_expression", "compound_assignment_expr")
            operator = node and node.child_by_field_name("operator")
            if operator is None or (operator.start_byte, operator.end_byte) != (start, end):
                return False
            to = self.text(node.start_byte, start) + to + self.text(end, node.end_byte)
            start, end = node.start_byte, node.end_byte
        elif genre == "UnaryOperator":
            node = self.find(start, end, "unary_expression")
            to, end = self.text(end, node.end_byte), node.end_byte
        elif genre == "MatchArm":
            pattern = self.find(start, end, "match_arm").child_by_field_name("pattern")
            guard = pattern.child_by_field_name("condition")
            if guard is not None:
                start, end, to = guard.start_byte, guard.end_byte, "false"
            else:
                start = end = pattern.end_byte
                kind = "arm"
        elif genre == "StructField":
            node = self.find(start, start + 1, "field_initializer", "shorthand_field_initializer")
            struct = self.find(start, start + 1, "struct_expression")
            name = struct.child_by_field_name("name")
            base = next(c for c in struct.child_by_field_name("body").children if c.type == "base_field_initializer")
            field, value = node.child_by_field_name("field"), node.child_by_field_name("value")
            if value is None:
                field = value = next(c for c in node.children if c.type == "identifier")
                kind = "shorthand"
            of, rest, field = (self.text(n.start_byte, n.end_byte) for n in (name, base, field))
            to = f"{{ let base: {of} = {rest[2:]}; base.{field} }}"
            start, end = value.start_byte, value.end_byte
        elif genre != "MatchArmGuard":
            return False
        self.sites.setdefault((start, end, kind), []).append((number, to))
        return True

    def render(self, dropped):
        """The text without what was dropped, and where in it the branch of each mutant is."""
        self.out, self.at, self.spans, self.next, self.dropped = [], 0, {}, 0, dropped
        self.part(0, len(self.data))
        return b"".join(self.out), self.spans

    def put(self, text):
        text = text.encode() if isinstance(text, str) else text
        self.out.append(text)
        self.at += len(text)

    def part(self, start, end):
        while self.next < len(self.order) and self.order[self.next][1] <= end:
            site = self.order[self.next]
            self.next += 1
            self.put(self.data[start : site[0]])
            self.site(*site)
            start = site[1]
        self.put(self.data[start:end])

    def site(self, start, end, kind):
        """All mutants of one place. Only the text that stays has further places in it, since only one mutant is in force."""
        mutants = [mutant for mutant in self.sites[start, end, kind] if mutant[0] not in self.dropped]
        opens, closes = ("(", " })") if mutants and kind in ("expression", "shorthand") else ("", "")
        if mutants and kind == "shorthand":
            self.put(self.data[start:end] + b": ")
        self.put(opens)
        for number, to in mutants:
            before = self.at
            if kind == "function":
                self.put(f"if crate::mutant::is({number}) {{ return {to}; }} ")
            elif kind == "arm":
                self.put(f" if !crate::mutant::is({number})")
            else:
                self.put(f"if crate::mutant::is({number}) {{ {to} }} else ")
            self.spans[number] = (before, self.at)
        self.put("{ " if opens else "")
        self.part(start, end)
        self.put(closes)
