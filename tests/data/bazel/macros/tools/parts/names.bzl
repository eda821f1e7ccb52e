"""What the repository's macros share."""

SUFFIXES = ("_a", "_b")
_hidden = "x"
CONDITIONS = {
    "//server:tuned": [":own_fast"],
    "//conditions:default": [],
}

def joined(*parts, **kwargs):
    """Parts with a line between them."""
    sep = kwargs.get("sep", "_")
    return sep.join([p for p in parts if p])

def _even(i):
    return i % 2 == 0

def evens(n):
    out = []
    for i in range(n):
        if i == 6:
            break
        if not _even(i):
            continue
        out.append(i)
    return out

struct_of_names = struct(prefix = "part", joined = joined)
