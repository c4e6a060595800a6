INSERT INTO entries (name, fact, hash, size, body) VALUES ('certificates/269132a4f26ae2a7.json', 'tare.certificate/1', 'sha256:269132a4f26ae2a76963ea428302de09993c4bbfbf2143a6b2ce36e41fa4229b', 31, '{"schema":"tare.certificate/1"}');
INSERT INTO inbox (entry) SELECT id FROM entries
