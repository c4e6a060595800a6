"""Where every process of the grader's begins.

    tare_main.py SCRIPT ARGUMENT...           run the script tare_SCRIPT.py
    tare_main.py --resident SCRIPT,… MODULES  have scripts load what they need, then fork for each run that is asked for

A process that was forked from a resident goes on from the same place, with the same modules loaded, as one that was
started for its run alone: nothing of what it then does can tell which it is.
"""

import importlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    argv = list(sys.argv)
    if argv[1] == "--resident":
        for name in argv[2].split(","):
            ready = getattr(script(name), "ready", None)
            if ready:
                ready()
        sys.path.insert(0, argv[3])
        import tare_resident

        del sys.path[0]
        argv = tare_resident.serve(3)
        argv = argv[argv.index(__file__) :]
    sys.argv[:] = [os.path.join(HERE, "tare_%s.py" % argv[1])] + argv[2:]
    script(argv[1]).main()


def script(name):
    return importlib.import_module("tare_" + name)


if __name__ == "__main__":
    main()
