"""Tables in files, read into a database."""

import csv
import os
import sqlite3

SCHEMA = """
create table books (id integer primary key, title text, author text, year integer, place text, reserved text);
create table readers (card text primary key, name text, pin text);
"""


def load(folder):
    """A database with the tables of a folder, in memory."""
    db = sqlite3.connect(":memory:")
    db.executescript(SCHEMA)
    for table, columns in {"books": 6, "readers": 3}.items():
        with open(os.path.join(folder, table + ".csv"), encoding="utf-8", newline="") as f:
            rows = list(csv.reader(f))[1:]
        db.executemany(f"insert into {table} values ({', '.join('?' * columns)})", rows)
    return db
