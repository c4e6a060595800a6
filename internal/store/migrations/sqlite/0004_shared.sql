-- The run that a worker plays alone, as that of one machine does; '' of one that plays all.
ALTER TABLE workers ADD COLUMN only_run TEXT NOT NULL DEFAULT '';
-- What holds for all who use the database.
CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
