"""Questions over all of many services at once, of a worker (many.sh).

    many.py BUILD STORE FROM UNTIL QUESTIONS [BUILD-BEFORE]

Prints "KIND FIRST P50 [FIRST P50]": ms of CPU of the first answer of a new
worker, the median of three, and of those after it, no question twice; then
the same of the build before, asked in turns.
"""
import sys

import neighbour

ALL = 'query=cpu{service=~".%2B"}&until={1}&from={0}'
KINDS = {
    'graph': '/api/v1/flamegraph.json?max-nodes=8192&' + ALL,
    'graph and timeline': '/render?format=json&max-nodes=8192&' + ALL,
}
FIRSTS = 3


def first(build, store, until, uri):
    worker = neighbour.Worker(build, store, until)
    try:
        return worker.ask(uri)
    finally:
        worker.end()


def uri_of(text, begin, until):
    return text.replace('{0}', str(begin)).replace('{1}', str(until))


def main():
    build, store, begin, until, n = sys.argv[1:6]
    begin, until = int(begin), int(until)
    builds = [build] + sys.argv[6:]
    workers = [neighbour.Worker(b, store, until) for b in builds]
    for kind, text in KINDS.items():
        uri = uri_of(text, begin, until)
        firsts, warm = [[] for _ in builds], [[] for _ in builds]
        for _ in range(FIRSTS):
            for times, b in zip(firsts, builds):
                times.append(first(b, store, until, uri))
        for w in workers:
            w.ask(uri)
        for i in range(1, int(n) + 1):
            uri = uri_of(text, begin + 10 * i, until)
            for times, w in zip(warm, workers):
                times.append(w.ask(uri))
        print(kind.replace(' ', '_'),
              *('%.1f %.1f' % (neighbour.share(f, .5),
                               neighbour.share(t, .5))
                for f, t in zip(firsts, warm)))
    for w in workers:
        w.end()


if __name__ == '__main__':
    main()
