

for _name in [n for n in globals() if n.startswith("test")]:
    globals()[_name] = _excused(globals()[_name])
