INSERT INTO entries (name, fact, hash, size, body) VALUES ('certificates/269132a4f26ae2a7.json', 'tare.certificate/1', 'sha256:269132a4f26ae2a76963ea428302de09993c4bbfbf2143a6b2ce36e41fa4229b', 31, '{"schema":"tare.certificate/1"}');
INSERT INTO inbox (entry) SELECT id FROM entries
;
INSERT INTO runs (id, began, state, priority, attempts) VALUES ('old', 0, 'active', 0, 3);
INSERT INTO episodes (run, key, place, task, agent, trial, body, limited, provider, needs, priority, state, number, failures, not_before, grader) VALUES ('old', 'sha256:00', 0, 's/t', 'noop', 1, '{"agent":"noop","seed":0,"task":"s/t","trial":1}', 'noop', '', '', 0, 'pending', 0, 0, 0, 'sha256:00');
INSERT INTO episodes (run, key, place, task, agent, trial, body, limited, provider, needs, priority, state, number, failures, not_before, grader) VALUES ('old', 'sha256:01', 1, 's/t', 'noop', 2, '{"agent":"noop","seed":7,"task":"s/t","trial":2}', 'noop', '', '', 0, 'pending', 0, 0, 0, 'sha256:00');
INSERT INTO episodes (run, key, place, task, agent, trial, body, limited, provider, needs, priority, state, number, failures, not_before, grader) VALUES ('old', 'sha256:02', 2, 's/t', 'other', 1, '{"agent":"other","seed":0,"task":"s/t","trial":1}', 'other', '', '', 0, 'held', 0, 0, 0, 'sha256:00');
INSERT INTO needs (needs) VALUES ('');
INSERT INTO settings (name, value) VALUES ('a', 'b')
