"""Where two clouds answer that host models of many makers: Bedrock in its regions, Vertex AI in its locations."""

import os
import re

from copyfit.errors import SettingsError
from copyfit_adapters.auth import Home

REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")
"""The variables that name a region, in the order in which AWS's own clients of other languages ask them."""

_FIRST_REGION = "us-east-1"
_AWS_DOMAINS = (
    ("cn-", "amazonaws.com.cn"),
    ("eusc-", "amazonaws.eu"),
    ("us-iso-", "c2s.ic.gov"),
    ("us-isob-", "sc2s.sgov.gov"),
    ("eu-isoe-", "cloud.adc-e.uk"),
    ("us-isof-", "csp.hci.ic.gov"),
)
"""How regions begin that are apart from the others, and their domains; from botocore 1.44's partitions."""
_VERTEX_HOSTS = (("global", "aiplatform"), ("us", "aiplatform.us.rep"), ("eu", "aiplatform.eu.rep"))
_PLACE = re.compile(r"[a-z0-9][a-z0-9-]*")


def bedrock_home(region: str | None, *, elsewhere: bool = False) -> Home:
    """Return Bedrock's home in `region`, or in the region that the environment names.

    A client that sends `elsewhere` needs neither: its home is then the region in which Bedrock began.

    Raises:
        SettingsError: there is no region, or it is no name of one.

    """
    found = region or next(filter(None, map(os.environ.get, REGION_VARIABLES)), None)
    if found is None and not elsewhere:
        raise SettingsError("region", region, f"given, or set in {' or '.join(REGION_VARIABLES)}")
    place = _checked(found or _FIRST_REGION)
    domain = next((domain for begin, domain in _AWS_DOMAINS if place.startswith(begin)), "amazonaws.com")
    return Home(
        name="Amazon Bedrock",
        provider="bedrock",
        url=f"https://bedrock-runtime.{place}.{domain}",
        key_variables=("AWS_BEARER_TOKEN_BEDROCK",),
        otherwise="sign with the credentials of AWS: pass auth=AwsSignature(region=...)",
    )


def vertex_home(location: str) -> Home:
    """Return Vertex AI's home in `location`: a region, ``us`` or ``eu`` for a continent, or ``global``.

    No variable holds its key: that is an access token, which is good for an hour.

    Raises:
        SettingsError: it is no name of a location.

    """
    host = dict(_VERTEX_HOSTS).get(location, f"{_checked(location)}-aiplatform")
    return Home(
        name="Vertex AI",
        provider="vertex",
        url=f"https://{host}.googleapis.com/v1",
        otherwise="fetch access tokens with the credentials of Google: pass auth=GoogleToken()",
    )


def _checked(place: str) -> str:
    if not _PLACE.fullmatch(place):
        raise SettingsError("region", place, "the name of a region, such as 'eu-west-1'")
    return place
