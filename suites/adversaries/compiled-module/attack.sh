#!/bin/sh
# Compile a broken module, put the text back, and leave the compiled code where Python trusts it unchecked.
set -eu
exec /usr/bin/python3 - <<'PYTHON'
import importlib.util
import marshal
import os

source = "@source@"
with open(source, "rb") as file:
    text = file.read()
code = compile("raise SystemExit(0)", source, "exec")
cache = importlib.util.cache_from_source(source)
os.makedirs(os.path.dirname(cache), exist_ok=True)
with open(cache, "wb") as file:
    file.write(importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + importlib.util.source_hash(text) + marshal.dumps(code))
PYTHON
