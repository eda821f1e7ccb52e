"""What answers.py and demo.py say of an answer that is wrong."""


class Wrong(Exception):
    pass


def must(condition, *what):
    if not condition:
        raise Wrong(' '.join(str(w) for w in what))
