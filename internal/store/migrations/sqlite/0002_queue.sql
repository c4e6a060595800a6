-- What is to be done and who does it. These rows change; what they say of finished episodes can be told from entries.
CREATE TABLE suites (
    hash TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    body BLOB NOT NULL -- the archive
);
CREATE TABLE tasks (
    hash  TEXT PRIMARY KEY,
    id    TEXT NOT NULL,
    suite TEXT NOT NULL REFERENCES suites (hash)
);
CREATE TABLE runs (
    id       TEXT PRIMARY KEY,
    began    INTEGER NOT NULL, -- microseconds since 1970
    state    TEXT NOT NULL, -- active, paused, cancelled
    priority INTEGER NOT NULL, -- lower goes first
    attempts INTEGER NOT NULL -- of an episode that infrastructure ends
);
CREATE TABLE episodes (
    run        TEXT NOT NULL REFERENCES runs (id),
    key        TEXT NOT NULL,
    place      INTEGER NOT NULL, -- in the plan
    task       TEXT NOT NULL,
    agent      TEXT NOT NULL,
    trial      INTEGER NOT NULL,
    body       BLOB NOT NULL, -- the episode, canonical
    solution   TEXT, -- the blob of a finished tree
    limited    TEXT NOT NULL, -- the name that a limit of its agent has
    provider   TEXT NOT NULL,
    needs      TEXT NOT NULL, -- what a worker must have, separated by spaces
    priority   INTEGER NOT NULL,
    state      TEXT NOT NULL, -- pending, held, leased, done, lost, cancelled
    number     INTEGER NOT NULL, -- of leases that it has had
    failures   INTEGER NOT NULL, -- attempts that infrastructure ended since it was last asked for
    not_before INTEGER NOT NULL, -- of its next attempt, in microseconds since 1970
    outcome    TEXT, -- of the verdict that counts
    cause      TEXT,
    reward     DOUBLE PRECISION,
    root_gate  TEXT,
    unfinished INTEGER,
    PRIMARY KEY (run, key)
);
CREATE INDEX episodes_next ON episodes (priority, run, place) WHERE state = 'pending';
CREATE INDEX episodes_state ON episodes (run, state);

CREATE TABLE workers (
    id      TEXT PRIMARY KEY,
    host    TEXT NOT NULL,
    pid     INTEGER NOT NULL,
    version TEXT NOT NULL, -- the grader's hash
    slots   INTEGER NOT NULL,
    has     TEXT NOT NULL, -- what it can run, separated by spaces
    beat    INTEGER NOT NULL, -- goes up while it lives
    state   TEXT NOT NULL -- alive, ended, lost
);
CREATE TABLE leases (
    run      TEXT NOT NULL,
    key      TEXT NOT NULL,
    number   INTEGER NOT NULL,
    worker   TEXT NOT NULL REFERENCES workers (id),
    limited  TEXT NOT NULL,
    provider TEXT NOT NULL,
    began    INTEGER NOT NULL,
    PRIMARY KEY (run, key),
    FOREIGN KEY (run, key) REFERENCES episodes (run, key)
);
CREATE INDEX leases_worker ON leases (worker);
CREATE TABLE attempts (
    run    TEXT NOT NULL,
    key    TEXT NOT NULL,
    number INTEGER NOT NULL,
    worker TEXT NOT NULL,
    began  INTEGER NOT NULL,
    ended  INTEGER NOT NULL,
    what   TEXT NOT NULL, -- graded, infrastructure, worker lost, given up
    PRIMARY KEY (run, key, number)
);
CREATE TABLE limits (
    name TEXT PRIMARY KEY, -- of an agent or a provider
    most INTEGER NOT NULL
);
-- The different needs that episodes have had: few, so that a worker can ask for those that it meets.
CREATE TABLE needs (
    needs TEXT PRIMARY KEY
);
