-- What is kept: entries under their names, numbered by the log. None of it is ever changed.
CREATE TABLE entries (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    fact TEXT NOT NULL,
    hash TEXT NOT NULL,
    size INTEGER NOT NULL,
    body BLOB -- null: it is the blob of that hash
);
CREATE INDEX entries_hash ON entries (hash);

CREATE TABLE leaves (
    number INTEGER PRIMARY KEY,
    name   TEXT NOT NULL UNIQUE,
    line   BLOB NOT NULL
);
CREATE TABLE hashes (
    place INTEGER PRIMARY KEY,
    hash  BLOB NOT NULL
);
CREATE TABLE heads (
    size INTEGER PRIMARY KEY,
    root BLOB NOT NULL
);
-- What is kept and not numbered yet. It is written in the transaction that keeps it.
CREATE TABLE inbox (
    entry INTEGER PRIMARY KEY REFERENCES entries (id)
);

CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
CREATE TRIGGER entries_keep BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;
CREATE TRIGGER leaves_stay BEFORE UPDATE ON leaves BEGIN SELECT RAISE(ABORT, 'leaves are never changed'); END;
CREATE TRIGGER leaves_keep BEFORE DELETE ON leaves BEGIN SELECT RAISE(ABORT, 'leaves are never removed'); END;
CREATE TRIGGER hashes_stay BEFORE UPDATE ON hashes BEGIN SELECT RAISE(ABORT, 'hashes are never changed'); END;
CREATE TRIGGER hashes_keep BEFORE DELETE ON hashes BEGIN SELECT RAISE(ABORT, 'hashes are never removed'); END;
CREATE TRIGGER heads_stay BEFORE UPDATE ON heads BEGIN SELECT RAISE(ABORT, 'heads are never changed'); END;
CREATE TRIGGER heads_keep BEFORE DELETE ON heads BEGIN SELECT RAISE(ABORT, 'heads are never removed'); END;

-- INSERT OR REPLACE removes a row without a DELETE that a trigger sees.
CREATE TRIGGER entries_once BEFORE INSERT ON entries WHEN EXISTS (SELECT 1 FROM entries WHERE id = NEW.id OR name = NEW.name) BEGIN SELECT RAISE(ABORT, 'an entry of that name is kept'); END;
CREATE TRIGGER leaves_once BEFORE INSERT ON leaves WHEN EXISTS (SELECT 1 FROM leaves WHERE number = NEW.number OR name = NEW.name) BEGIN SELECT RAISE(ABORT, 'leaves are never replaced'); END;
CREATE TRIGGER hashes_once BEFORE INSERT ON hashes WHEN EXISTS (SELECT 1 FROM hashes WHERE place = NEW.place) BEGIN SELECT RAISE(ABORT, 'hashes are never replaced'); END;
CREATE TRIGGER heads_once BEFORE INSERT ON heads WHEN EXISTS (SELECT 1 FROM heads WHERE size = NEW.size) BEGIN SELECT RAISE(ABORT, 'heads are never replaced'); END;

CREATE TABLE blobs (
    hash TEXT PRIMARY KEY,
    body BLOB NOT NULL
);
CREATE TRIGGER blobs_stay BEFORE UPDATE ON blobs BEGIN SELECT RAISE(ABORT, 'blobs are never changed'); END;

-- Copies that say which of several certificates is the latest of a task.
CREATE TABLE proofs (
    task TEXT PRIMARY KEY,
    hash TEXT NOT NULL
);
