"""Where every process of the grader's begins.

    tare_main.py SCRIPT ARGUMENT...              run the script tare_SCRIPT.py
    tare_main.py --resident SCRIPT,… MODULES     have scripts load what they need, then fork for each run that is asked for
    tare_main.py --resident session MODULES ROOT have this one run as far as it is the same for each, and fork there

A process that was forked from a resident goes on from the same place, with the same modules loaded, as one that was
started for its run alone: nothing of what it then does can tell which it is.
"""

import importlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    argv = list(sys.argv)
    if argv[1] != "--resident":
        run(argv[1], argv[2:])
    for name in argv[2].split(","):
        ready = getattr(script(name), "ready", None)
        if ready:
            ready()
    if len(argv) > 4:
        run(argv[2], argv[4:], lambda: serve(argv[3])[1:])
    name, *arguments = serve(argv[3])
    run(name, arguments)


def run(name, arguments, *serve):
    """Run a script to its end."""
    sys.argv[:] = [os.path.join(HERE, "tare_%s.py" % name)] + arguments
    script(name).main(*serve)
    sys.exit()


def serve(modules):
    """Fork for runs; this returns in each, with its script and that one's arguments."""
    sys.path.insert(0, modules)
    import tare_resident

    del sys.path[0]
    argv = tare_resident.serve(3)
    return argv[argv.index(__file__) + 1 :]


def script(name):
    return importlib.import_module("tare_" + name)


if __name__ == "__main__":
    main()
