from settings.loader import load_retries, load_timeout

OLD = {"timeout": 30, "retries": 3}
assert load_timeout(OLD) == 30 and load_retries(OLD) == 3
