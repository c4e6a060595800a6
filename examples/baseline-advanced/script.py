#!/usr/bin/env python3
"""Writes a script of a model for tare mockmodel: one conversation for each ticket of the suite, as habits.json says.

The model does what many do. It changes the code first, and says that it is done. Sent back, it runs the tests and says so again. Only
when it is sent back once more does it look for what is missing: then it changes the code to `later`, where there is one, and adds a
test. So a policy decides how far it gets. What it writes is taken from the references and the controls of each ticket.

usage: script.py SUITE > script.yaml
"""
import json
import pathlib
import re
import sys


def writes(ticket, *parts):
    """Calls that write the files of these folders of the ticket."""
    calls = []
    for part in filter(None, parts):
        root = ticket / part
        files = sorted(p for p in root.rglob("*") if p.is_file())
        if not files:
            sys.exit(f"{root} holds no file")
        for p in files:
            calls.append({"tool": "write_file", "args": {"path": str(p.relative_to(root)), "content": p.read_text()}})
    return calls


def conversation(ticket, habit):
    title = (ticket / "ticket.md").read_text().splitlines()[0].lstrip("# ")
    first = writes(ticket, habit["first"], habit.get("at_once"))
    test = sorted((ticket / "seed" / "tests").glob("test_*.py"))[0]
    look = [{"tool": "list_files", "args": {}}, {"tool": "read_file", "args": {"path": first[0]["args"]["path"]}}]
    run, new = {"tool": "run_tests", "args": {}}, {"tool": "list_files", "args": {}}
    return {
        "name": ticket.name,
        "match": re.escape(title),
        "steps": [
            {"say": "I look at the code first.", "calls": look},
            {"calls": first},
            {"say": "The change is made."},
            {"calls": [{"tool": "read_file", "args": {"path": f"tests/{test.name}"}}, run]},
            {"say": "The tests pass."},
            {"calls": [new]},
            {"say": "No file is missing."},
            {"say": "One item is open.", "calls": writes(ticket, habit.get("later") or habit["first"], habit.get("test")) + [run, new]},
            {"say": "Every item of the list is done."},
        ],
    }


def main():
    suite = pathlib.Path(sys.argv[1])
    habits = json.loads((pathlib.Path(__file__).parent / "habits.json").read_text())
    usage = {"input": 1500, "output": 120, "cache_read": 3000, "cache_write": 400}
    conversations = [conversation(suite / name, habit) for name, habit in sorted(habits.items())]
    json.dump({"usage": usage, "conversations": conversations}, sys.stdout, indent=1)  # JSON is YAML


main()
