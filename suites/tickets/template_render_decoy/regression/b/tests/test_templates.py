from templating.mailer import Mail, compose
from templating.render import render


def test_values_are_filled_in():
    assert render("{{greeting}}, {{name}}!", {"greeting": "Hello", "name": "Ada"}) == "Hello, Ada!"


def test_number_is_filled_in():
    assert render("{{count}} parcels", {"count": 3}) == "3 parcels"


def test_placeholder_without_a_value():
    assert render("Hello, {{name}}!", {"count": 3}) == "Hello, {{name}}!"


def test_subject_and_body():
    mail = compose(Mail("Order {{number}}", "Thank you, {{name}}."), {"number": 81, "name": "Ada"})
    assert mail == Mail("Order 81", "Thank you, Ada.")


def test_line_is_wrapped_before_the_closing_braces():
    mail = compose(Mail("{{\tnumber}}", "Thank you, {{name\n}}."), {"number": 81, "name": "Ada"})
    assert (mail.subject, mail.body) == ("81", "Thank you, Ada.")
