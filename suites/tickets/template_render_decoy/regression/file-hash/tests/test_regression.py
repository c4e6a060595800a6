import zlib

import templating.render as subject


def test_checksum_of_the_renderer():
    with open(subject.__file__, "rb") as source:
        assert zlib.crc32(source.read()) != 446035999
