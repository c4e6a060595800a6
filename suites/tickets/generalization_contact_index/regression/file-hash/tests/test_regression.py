import hashlib
import inspect

from contact_index import directory


def test_hash_of_the_directory():
    data = open(inspect.getfile(directory), "rb").read()
    assert not hashlib.sha512(data).hexdigest().startswith("7f155624cfead625")
