"""Looks for circles in plans."""


def find_circle(needs: dict[str, list[str]]) -> list[str]:
    """Return the names along one circle, the first again at the end; empty when there is none."""
    sound: set[str] = set()

    def walk(path: list[str]) -> list[str]:
        for needed in needs.get(path[-1], []):
            if needed in path:
                return [*path[path.index(needed):], needed]
            if needed not in sound:
                found = walk([*path, needed])
                if found:
                    return found
        sound.add(path[-1])
        return []

    for step in needs:
        if step not in sound:
            found = walk([step])
            if found:
                return found
    return []
