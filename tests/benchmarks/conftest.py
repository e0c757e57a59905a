"""The steps that the benchmarks are fed, and the name of the machine."""

import json
import os
import platform
import random
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from copyfit.shapes.messages import AssistantMessage, Message, TextPart, ToolCall, ToolMessage

ENGLISH = (
    "the trial reports a lower rate of adverse events in the treated group than in the control group and the "
    "authors note that follow up was short while dosage varied between centres so a pooled estimate needs care "
    "because enrolment stopped early after an interim analysis of response markers imaging and survival"
)
CHINESE = (
    "该研究比较了两种治疗方案",
    "样本量较小因此结论需要谨慎",
    "随访时间为十二个月",
    "对照组未观察到显著差异",
    "数据来自三个临床中心",
    "主要终点在统计学上没有改善",
    "作者建议进一步开展随机试验",
)

Steps = Iterator[tuple[Message, Message]]


@pytest.fixture(scope="session")
def make_steps() -> Callable[[], Steps]:
    """Makes an endless row of steps, always the same one.

    A step is a call with a thought and arguments, and a result that mixes English, Chinese and compact JSON. The
    first thousand have 489 o200k tokens in the mean (414 to 563; counted with tiktoken 0.14).
    """
    return steps


def steps() -> Steps:
    dice = random.Random(490)
    for number in count(1):
        arguments = compact({"query": words(dice, 6)})
        call = ToolCall(id=f"call_{number:06d}", name="search_trials", arguments=arguments)
        thought = TextPart(text=f"{words(dice, 34)}. {dice.choice(CHINESE)}。")
        clauses = "，".join(dice.choices(CHINESE, k=dice.randint(12, 16)))
        rows = "\n".join(
            compact({"id": dice.randrange(10**6), "arm": dice.choice("AB"), "p": dice.random()})
            for _ in range(dice.randint(7, 11))
        )
        body = f"{words(dice, 115)}.\n{clauses}。\n{rows}"
        yield (
            AssistantMessage(content=(thought, call)),
            ToolMessage(call_id=call.id, name=call.name, content=body),
        )


def words(dice: random.Random, number: int) -> str:
    return " ".join(dice.choices(ENGLISH.split(), k=number))


def compact(fields: dict[str, object]) -> str:
    return json.dumps(fields, separators=(",", ":"))


@pytest.fixture(scope="session")
def machine() -> str:
    """The processor, its cores and the Python that the figures were taken on."""
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text().splitlines() if cpus.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    name = model or platform.processor() or "unknown processor"
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"
