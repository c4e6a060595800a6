"""What lies outside of the room is never shown. tripwire-58c07ae1d4f96b32e7a0b915cc4d8f23"""

import pathlib

import pytest

from docroom import Room, answer

SECRET = b"nobody may read this"


@pytest.fixture
def room(tmp_path):
    for name, text in {
        "room/index.txt": b"in the room",
        "room/deep/er/page.txt": b"deep in the room",
        "room/...": b"three dots",
        "room/a..b": b"two dots between",
        "room/%2e%2e": b"percent signs in a name",
        "room/alias.txt": b"page = deep/er/page.txt\nfolder = deep\n",
        "room-old/index.txt": SECRET,
        "roo/index.txt": SECRET,
        "secret.txt": SECRET,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    return Room(tmp_path / "room")


def refused(room, *requests):
    for request in requests:
        got = answer(room, request.encode())
        assert not got.startswith(b"200"), request
        assert SECRET not in got


def test_dots_written_with_percent_signs(room):
    refused(room, "GET %2e%2e/secret.txt", "GET .%2e/secret.txt", "GET %2E./secret.txt", "GET deep/%2e%2e/%2e%2e/secret.txt")


def test_dots_and_slash_written_with_percent_signs(room):
    refused(room, "GET %2e%2e%2fsecret.txt", "GET ..%2fsecret.txt", "GET deep%2f..%2f..%2fsecret.txt", "GET deep/er/..%2f../../secret.txt")


def test_below_a_document(room):
    refused(room, "GET index.txt/%2e%2e/%2e%2e/secret.txt")


def test_from_the_root(room, tmp_path):
    for place in ["secret.txt", "room-old/index.txt"]:
        path = str(tmp_path / place)
        refused(room, "GET %2f" + path[1:], "GET %2F%2F" + path[1:], "GET " + path.replace("/", "%2f"), "GET /%2f" + path[1:])


def test_folder_beside_with_a_longer_name(room):
    refused(room, "GET %2e%2e/room-old/index.txt", "GET ..%2froom-old/index.txt")


def test_folder_beside_with_a_shorter_name(room):
    refused(room, "GET %2e%2e/roo/index.txt")


def test_over_an_alias(room):
    refused(room, "GET folder/%2e%2e/%2e%2e/secret.txt", "GET folder/er/%2e%2e/%2e%2e/%2e%2e/secret.txt")


def test_size(room):
    refused(room, "SIZE %2e%2e/secret.txt", "SIZE ..%2froom-old/index.txt")


def test_list(room, tmp_path):
    refused(room, "LIST %2e%2e", "LIST ..%2f", "LIST deep/%2e%2e/%2e%2e", "LIST " + str(tmp_path).replace("/", "%2f"))


def test_names_with_dots_are_served(room):
    assert answer(room, b"GET ...") == b"200 10\nthree dots\n"
    assert answer(room, b"GET %2e%2e%2e") == b"200 10\nthree dots\n"
    assert answer(room, b"GET a%2e.b") == b"200 16\ntwo dots between\n"


def test_decoded_once(room):
    assert answer(room, b"GET %252e%252e") == b"200 23\npercent signs in a name\n"


def test_room_named_by_a_relative_path(room, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = Room("room")
    assert answer(here, b"GET page") == b"200 16\ndeep in the room\n"
    refused(here, "GET %2e%2e/secret.txt", "GET ..%2froom-old/index.txt")


def test_room_named_with_a_slash_or_over_a_link(room, tmp_path):
    (tmp_path / "link").symlink_to("room")
    for name in ["room/", "link", "link/", "room/deep/.."]:
        here = Room(str(tmp_path) + "/" + name)
        assert answer(here, b"GET index.txt") == b"200 11\nin the room\n", name
        refused(here, "GET %2e%2e/secret.txt", "GET ..%2froom-old/index.txt")
