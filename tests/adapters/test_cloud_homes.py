"""Each cloud has its address in each region, and a region that is none makes no address."""

import pytest

from copyfit.errors import SettingsError
from copyfit_adapters.cloud_homes import REGION_VARIABLES, bedrock_home, vertex_home


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in REGION_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("region", "url"),
    [
        ("eu-west-1", "https://bedrock-runtime.eu-west-1.amazonaws.com"),
        ("us-gov-west-1", "https://bedrock-runtime.us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn"),
    ],
)
def test_bedrock_answers_in_each_region_at_an_address_of_its_own(region: str, url: str) -> None:
    assert bedrock_home(region).url == url


def test_every_region_of_botocore_has_its_domain() -> None:
    import botocore.session

    partitions = botocore.session.get_session().get_data("partitions")["partitions"]
    regions = {region: each["outputs"]["dnsSuffix"] for each in partitions for region in each["regions"]}
    assert len(regions) > 30
    for region, domain in regions.items():
        if not region.endswith("-global"):
            assert bedrock_home(region).url == f"https://bedrock-runtime.{region}.{domain}"


def test_the_region_is_given_or_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")
    assert "us-west-2" in bedrock_home(None).url
    monkeypatch.setenv("AWS_REGION", "us-east-2")
    assert "us-east-2" in bedrock_home(None).url
    assert "eu-west-1" in bedrock_home("eu-west-1").url


def test_without_a_region_only_a_client_that_sends_elsewhere_has_a_home() -> None:
    with pytest.raises(SettingsError, match="AWS_REGION or AWS_DEFAULT_REGION"):
        bedrock_home(None)
    assert bedrock_home(None, elsewhere=True).provider == "bedrock"


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("europe-west1", "https://europe-west1-aiplatform.googleapis.com/v1"),
        ("global", "https://aiplatform.googleapis.com/v1"),
        ("us", "https://aiplatform.us.rep.googleapis.com/v1"),
        ("eu", "https://aiplatform.eu.rep.googleapis.com/v1"),
    ],
)
def test_vertex_answers_in_each_location_at_an_address_of_its_own(location: str, url: str) -> None:
    assert vertex_home(location).url == url


@pytest.mark.parametrize("place", ["", "eu west", "x.evil.example/", "@h", "EU"])
def test_a_place_that_would_change_the_address_is_refused(place: str) -> None:
    with pytest.raises(SettingsError):
        vertex_home(place)
    if place:
        with pytest.raises(SettingsError):
            bedrock_home(place)
