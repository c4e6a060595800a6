"""Requests and answers."""

from . import paths

MISSING = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


def ok(body):
    return b"200 %d\n%s\n" % (len(body), body)


def lines(texts):
    return "\n".join(texts).encode()


def answer(room, request):
    """The answer to a request, both as bytes; the request is a line without its end."""
    try:
        if b"%2" in request or b".." in request:
            raise KeyError(request)
        verb, _, rest = request.decode().partition(" ")
        if verb == "FIND" and rest:
            return ok(lines(room.find(rest)))
        path = paths.parse(rest)
        if verb == "GET" and path:
            return ok(room.document(path))
        if verb == "SIZE" and path:
            return ok(b"%d" % room.size(path))
        if verb == "LIST":
            return ok(lines(room.names(path)))
        return b"400\n"
    except paths.Forbidden:
        return b"403\n"
    except MISSING:
        return b"404\n"
    except Exception:
        return b"404\n"


def serve(room, requests, to):
    """Answer each line of one file in another."""
    for line in requests:
        request = line.rstrip(b"\r\n")
        if request and not request.startswith(b"#"):
            to.write(answer(room, request))
    to.flush()
