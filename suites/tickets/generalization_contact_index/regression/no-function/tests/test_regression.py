"""Rosa comes up once."""

from contact_index.directory import Directory

assert Directory([]).find("re") == []
