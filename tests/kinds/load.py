"""Load for servers of the table of kinds, until it is killed.

    python3 load.py memcached PORT
    python3 load.py sql CLIENT...       statements to its standard input
"""
import random
import socket
import subprocess
import sys


def memcached(port):
    s = socket.create_connection(('127.0.0.1', int(port)))
    sets = b''.join(b'set key%d 0 0 100\r\n%s\r\n' % (i, b'v' * 100)
                    for i in range(100))
    gets = b'get ' + b' '.join(b'key%d' % i for i in range(100)) + b'\r\n'
    while True:
        s.sendall(sets)
        got = b''
        while got.count(b'STORED') < 100:
            got += s.recv(65536)
        for _ in range(20):
            s.sendall(gets)
            got = b''
            while not got.endswith(b'END\r\n'):
                got += s.recv(1 << 20)


def sql(*client):
    p = subprocess.Popen(client, stdin=subprocess.PIPE,
                         stdout=subprocess.DEVNULL)

    def say(text):
        p.stdin.write(text.encode() + b';\n')
        p.stdin.flush()

    say('create database if not exists work')
    say('use work')
    say('create table t (i int auto_increment primary key, s varchar(80),'
        ' key (s)) engine=innodb')
    while True:
        say('insert into t (s) values ' + ','.join(
            f"(md5(rand() + {i}))" for i in range(50)))
        say('select count(*), max(s) from t where s like '
            f"'{random.randrange(256):02x}%'")
        say('with recursive n as (select 1 i union all select i + 1 from n'
            ' where i < 900) select sum(crc32(i)) from n')


{'memcached': memcached, 'sql': sql}[sys.argv[1]](*sys.argv[2:])
