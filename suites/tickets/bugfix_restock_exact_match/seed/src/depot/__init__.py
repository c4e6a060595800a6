"""The depot."""
