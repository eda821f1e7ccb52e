"""Work for the table of kinds: the interpreter's loop, dictionaries, a sort."""
import re


def heavy(n):
    s = 0
    for i in range(n):
        s += i * i % 7
    return s


def texts(n):
    words = {f'text {i * 7919 % n}': i for i in range(n)}
    return len(re.findall('[0-9]+7', ' '.join(sorted(words))))


while True:
    heavy(30000)
    texts(5000)
