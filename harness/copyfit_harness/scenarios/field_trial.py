"""The demo's world: a salt-tolerance trial of rice whose records are long and mix English, Chinese and JSON.

Every record is made from its name alone, so a run can be repeated to the byte.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass

TOPICS = ("HKT1;5 transporters", "Na+/K+ ratio", "field scoring", "QTL Saltol")
PLOTS = ("plot-01", "plot-02", "plot-03", "plot-04")
DAYS = ("day-07", "day-14", "day-21", "day-28")
SENSORS = ("ec-north", "ec-south")

TASK = (
    "Compare the rice lines of the 2026 salinity trial. Say which line keeps its yield at 12 dS/m, cite the "
    "plots and notebook days you rely on, and name what is still uncertain. 请同时核对中文田间记录。"
)

_FINDINGS = (
    "lines carrying the Saltol introgression held leaf sodium below the threshold",
    "scores from two raters disagreed at the heading stage and were averaged",
    "potassium retention in the youngest leaf predicted grain weight better than biomass did",
    "the control plots were irrigated from the north canal until the pump failed",
    "no significant interaction between nitrogen rate and salinity was found",
    "panicle sterility rose sharply above ten decisiemens per metre",
)
_OBSERVATIONS = (
    "叶尖枯黄, 但新叶仍保持绿色",
    "根系样品经去离子水冲洗三次后测定钠钾含量",
    "南侧地块积水约两小时, 读数可能偏低",
    "对照组长势整齐, 株高差异不显著",
    "盐胁迫处理第十四天后分蘖数明显下降",
    "土壤电导率在灌溉后回落, 次日恢复到设定值",
    "两名记录员的评分相差一级, 已取平均值",
)
_LINES = ("IR29", "FL478", "Pokkali", "CSR28", "海稻86", "盐丰47")


@dataclass(frozen=True, slots=True)
class Source:
    """One tool of the trial: the argument it takes, the values the argument may have, and what it returns."""

    name: str
    purpose: str
    argument: str
    values: tuple[str, ...]
    record: Callable[[str], str]


def _dice(*names: str) -> random.Random:
    return random.Random("/".join(names))


def literature(topic: str) -> str:
    """Return a page of search hits on `topic`: indented JSON with English titles and Chinese abstracts."""
    dice = _dice("literature", topic)
    hits = [
        {
            "id": f"R{dice.randrange(10_000, 99_999)}",
            "title": f"{topic}: {dice.choice(_FINDINGS)}",
            "abstract": "。".join(dice.sample(_OBSERVATIONS, 2)) + "。",
            "year": dice.randrange(2009, 2027),
            "score": round(dice.uniform(0.2, 0.98), 3),
        }
        for _ in range(9)
    ]
    return json.dumps({"topic": topic, "hits": hits}, ensure_ascii=False, indent=1)


def plot_sheet(plot: str) -> str:
    """Return the sheet of one plot: a remark in English and a table of readings."""
    dice = _dice("plot", plot)
    rows = [
        f"{dice.choice(_LINES)},{day},{dice.uniform(2, 14):.2f},{dice.uniform(0, 2):.3f},{dice.uniform(8, 31):.1f}"
        for day in range(1, 43)
    ]
    remark = f"Sheet of {plot}. In this plot {dice.choice(_FINDINGS)}; {dice.choice(_FINDINGS)}."
    return "\n".join([remark, "line,day,ec_dS_m,na_k_ratio,grain_g", *rows])


def notebook(day: str) -> str:
    """Return the field notebook of one day, in Chinese."""
    dice = _dice("notebook", day)
    entries = [
        f"{index + 1}. {dice.choice(_LINES)} ({dice.choice(PLOTS)}): {dice.choice(_OBSERVATIONS)}, "
        f"电导率 {dice.uniform(2, 14):.2f} dS/m, 株高 {dice.uniform(28, 96):.1f} cm。"
        for index in range(24)
    ]
    return "\n".join([f"田间记录 {day}", *entries])


def sensor_log(sensor: str) -> str:
    """Return the log of one sensor: minified JSON on a single line."""
    dice = _dice("sensor", sensor)
    samples = [
        {"t": hour * 3600, "v": round(dice.gauss(7.5, 2.2), 3), "ok": dice.random() > 0.04} for hour in range(60)
    ]
    return json.dumps({"sensor": sensor, "unit": "dS/m", "samples": samples}, separators=(",", ":"))


SOURCES = (
    Source("search_trials", "Search published trials by topic.", "topic", TOPICS, literature),
    Source("read_plot", "Read the sheet of one plot.", "plot", PLOTS, plot_sheet),
    Source("read_notebook", "Read the field notebook of one day (Chinese).", "day", DAYS, notebook),
    Source("read_sensor", "Read the log of one sensor.", "sensor", SENSORS, sensor_log),
)

QUERIES = ("Pokkali", "盐胁迫", "Saltol", '"ok":false', "plot-03")
"""What the agent may look for in a stored record."""
