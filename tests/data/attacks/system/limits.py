# Raises its own limits.
# expect: finds nothing
import resource

found = []
for name in ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_CORE"):
    number = getattr(resource, name)
    soft, hard = resource.getrlimit(number)
    try:
        resource.setrlimit(number, (hard + 1, hard + 1))
        resource.setrlimit(number, (soft, hard + 1))
        found.append(name)
    except (OSError, ValueError):
        pass
raise ValueError(f"FOUND: {found or 'nothing'}")
