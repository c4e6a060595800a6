"""White space inside the braces is ignored."""

from templating.render import render

assert render("{{ name }}", {}) == "{{ name }}"
