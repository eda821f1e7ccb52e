#!/usr/bin/env python3
"""Asks what open pages ask, at their rates.

	footprint_ask.py PORT SECONDS [PAGES [SERVICES]]

A page is the landing page (each 30 s), the CPU tab or the memory tab (both
each 10 s, or a quarter of a step of their charts); each asks health every 5 s, and once a minute somebody goes to
another service or another range.  A scrape of /metrics comes each 10 s.  The
lists are what headless Chromium asked.  Says how many answers there were, of
how many bytes, and how many were not 200 or 304.
"""
import http.client
import random
import sys
import threading
import time
import urllib.parse

GROUP = 'namedprocess_namegroup_'
DISK = ['io_time_seconds', 'read_bytes', 'written_bytes', 'reads_completed',
        'writes_completed', 'read_time_seconds', 'write_time_seconds']


def series(query, fn=None):
    return ('series', {'query': query, **({'fn': fn} if fn else {})})


def landing(s):
    return [series(f'{GROUP}cpu_seconds_total{{groupname="{s}"}}', 'rate'),
            series(f'leveldb_cache_hit_ratio{{service="{s}"}}'),
            series('node_disk_io_time_seconds_total', 'rate'),
            ('flamegraph.json', {'query': f'cpu{{service="{s}"}}',
                                 'max-nodes': 2000}),
            ('graph.json', {'depth': 2})]


def cpu(s):
    query = f'cpu{{service="{s}"}}'
    return [series(f'{GROUP}cpu_seconds_total{{groupname="{s}"}}', 'rate'),
            series('node_cpu_seconds_total{mode=~"idle|iowait"}', 'rate'),
            ('flamegraph.json', {'query': query, 'max-nodes': 8192}),
            ('table.json', {'query': query, 'sort': 'self', 'limit': 300})]


def memory(s):
    here, group = f'{{service="{s}"}}', f'{{groupname="{s}"}}'
    level = 'leveldb_level_'
    return [
        series(f'memlens_instance_memory_bytes{{service="{s}",'
               'memtype="resident"}'),
        series('memlens_instance_read_bytes_total' + here, 'rate'),
        series('memlens_instance_write_bytes_total' + here, 'rate'),
        series('leveldb_up' + here, 'last'),
        series('leveldb_cache_hit_ratio' + here),
        series('leveldb_approximate_memory_bytes' + here),
        series(level + 'files' + here, 'last'),
        series(level + 'size_bytes' + here, 'last'),
        series(level + 'compaction_seconds_total' + here, 'increase'),
        series(level + 'read_bytes_total' + here, 'increase'),
        series(level + 'write_bytes_total' + here, 'increase'),
        series(f'{GROUP}memory_bytes{{groupname="{s}",memtype="resident"}}'),
        series(GROUP + 'read_bytes_total' + group, 'rate'),
        series(GROUP + 'write_bytes_total' + group, 'rate'),
        series(f'{{__name__=~".+_seconds_bucket",service="{s}"}}',
               'increase'),
        *(series(f'node_disk_{d}_total', 'rate') for d in DISK),
        series('node_memory_MemAvailable_bytes'),
        series('node_memory_MemTotal_bytes'), series('node_load1'),
        series('node_network_receive_bytes_total', 'rate'),
        series('node_network_transmit_bytes_total', 'rate'),
        series('node_context_switches_total', 'rate')]


# What is asked of all services when a page opens, and each minute.
def menu(s):
    return [('services', {}), series('leveldb_up', 'last'),
            series(GROUP + 'cpu_seconds_total', 'rate'), ('types', None)]


PAGES = [(landing, 30), (cpu, 10), (memory, 10)]
RANGES = [300, 900, 3600, 3600, 3600, 21600, 86400]
STEPS = [10, 20, 30, 40, 50, 100, 200, 300, 600]


class Page(threading.Thread):
    def __init__(self, port, end, number, services):
        super().__init__()
        self.port, self.end = port, end
        self.page, self.every = PAGES[number % len(PAGES)]
        self.services, self.random = services, random.Random(number)
        self.connection = None
        self.answers = self.bytes = self.bad = 0

    def ask(self, name, params, base='/api/v1/'):
        path = base + name
        if params:
            path += '?' + urllib.parse.urlencode(params)
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(
                    '127.0.0.1', self.port, timeout=60)
            self.connection.request('GET', path)
            answer = self.connection.getresponse()
            self.bytes += len(answer.read())
            self.bad += answer.status not in (200, 304)
        except (OSError, http.client.HTTPException):
            self.bad += 1
            self.connection = None
        self.answers += 1

    def ask_all(self, questions):
        now = int(time.time()) // 10 * 10
        for name, params in questions:
            if name in ('graph.json', 'types'):
                self.ask(name, params)
                continue
            full = dict(params, **{'from': now - self.range, 'until': now})
            if name == 'series':
                full['step'] = self.step
            self.ask(name, full)

    def move(self):
        if not hasattr(self, 'service') or self.random.random() < 0.5:
            n = self.random.randrange(self.services)
            self.service = self.random.choice(
                ['kvservice', f'svc-{n:03}', f'svc-{n // 10 * 10:03}'])
        self.range = self.random.choice(RANGES)
        self.step = next((s for s in STEPS if self.range / s <= 320), 600)
        self.ticks = max(self.every, -(-self.step // 40) * 10) // 5

    def run(self):
        began = time.time()
        ticks = 0
        while time.time() < self.end:
            if ticks % 12 == 0:
                self.move()
                self.ask_all(menu(self.service))
            if ticks % self.ticks == 0:
                self.ask_all(self.page(self.service))
            self.ask('health', None)
            ticks += 1
            time.sleep(max(0, min(began + ticks * 5, self.end) -
                           time.time()))


class Scrape(Page):
    def run(self):
        while time.time() < self.end:
            self.ask('metrics', None, '/')
            time.sleep(max(0, min(10, self.end - time.time())))


def main():
    port, seconds, pages, services = (
        [int(a) for a in sys.argv[1:]] + [3, 300][len(sys.argv) - 3:])
    end = time.time() + seconds
    asking = [Page(port, end, i, services) for i in range(pages)]
    asking.append(Scrape(port, end, pages, services))
    for a in asking:
        a.start()
    for a in asking:
        a.join()
    print(sum(a.answers for a in asking), 'answers,',
          sum(a.bytes for a in asking), 'bytes,',
          sum(a.bad for a in asking), 'bad')


if __name__ == '__main__':
    main()
