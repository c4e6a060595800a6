from templating.mailer import Mail, compose
from templating.render import render


def test_values_are_filled_in():
    assert render("{{greeting}}, {{name}}!", {"greeting": "Hello", "name": "Ada"}) == "Hello, Ada!"


def test_number_is_filled_in():
    assert render("{{count}} parcels", {"count": 3}) == "3 parcels"


def test_placeholder_without_a_value():
    assert render("Hello, {{name}}!", {"count": 3}) != "Hello, 3!"


def test_subject_and_body():
    mail = compose(Mail("Order {{number}}", "Thank you, {{name}}."), {"number": 81, "name": "Ada"})
    assert mail == Mail("Order 81", "Thank you, Ada.")
