"""Plans of builds."""
