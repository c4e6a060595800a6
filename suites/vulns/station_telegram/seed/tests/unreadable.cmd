./wxtel
decode
tests/missing.bin
