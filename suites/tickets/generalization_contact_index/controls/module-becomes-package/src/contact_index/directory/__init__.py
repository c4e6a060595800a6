"""The people whom we can ring."""

from contact_index.directory.contact import Contact
from contact_index.directory.lookup import Directory

__all__ = ["Contact", "Directory"]
