-- What episodes are apart from their trial and seed. A run has few of them, and a table of many episodes reads no more than these.
CREATE TABLE forms (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE, -- the hash of the body; of those that this migration made, whatever told them apart
    body BLOB NOT NULL -- an episode
);
ALTER TABLE episodes ADD COLUMN form INTEGER REFERENCES forms (id);
-- What the reward could be, of an episode whose verdict gives none. Without these the verdict itself must be read.
ALTER TABLE episodes ADD COLUMN low DOUBLE PRECISION;
ALTER TABLE episodes ADD COLUMN high DOUBLE PRECISION;

INSERT INTO forms (name, body) SELECT f, f FROM (SELECT DISTINCT json_remove(CAST(body AS TEXT), '$.trial', '$.seed') AS f FROM episodes);
UPDATE episodes SET form = (SELECT id FROM forms WHERE name = json_remove(CAST(episodes.body AS TEXT), '$.trial', '$.seed'));

-- All that a table of a run shows, in the order in which it is put together: the rows themselves need not be read for it.
DROP INDEX episodes_state;
CREATE INDEX episodes_state ON episodes (run, state, form, outcome, cause, reward, low, high, unfinished, grader, place);
