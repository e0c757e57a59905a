"""Look up the packages that the extra `local` brings, and say how to get them where one is missing."""

from importlib import metadata

from copyfit_harness.errors import EnvironmentLacks

INSTALL_LOCAL = 'Run: pip install "copyfit[local]"'
"""The remedy for each package of the extra that is not there."""


def installed(name: str) -> metadata.Distribution:
    """Return the installed distribution `name`, without importing any of it.

    Raises:
        EnvironmentLacks: it is not installed.

    """
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError as error:
        raise EnvironmentLacks(f"The package {name} is not installed", INSTALL_LOCAL) from error
