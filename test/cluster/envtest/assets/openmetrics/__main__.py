"""Reads a page of OpenMetrics with the format's reference parser, and prints what it is as JSON; exit code 1 if it is none.

The parser alone lets some things pass that the format forbids; those that concern us are checked here.
"""

import json
import re
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.utils import floatToGoString


def shown(sample):
    """A sample, with its exemplar if it has one. Values are text where JSON has no number for them."""
    exemplar = sample.exemplar
    return {
        "name": sample.name,
        "labels": sample.labels,
        "value": str(sample.value),
        **(
            {"exemplar": {"labels": exemplar.labels, "value": exemplar.value, "timestamp": float(exemplar.timestamp)}}
            if exemplar is not None
            else {}
        ),
    }


def main():
    page = sys.stdin.buffer.read().decode("utf-8")
    if not page.endswith("\n# EOF\n") and page != "# EOF\n":
        raise ValueError("the page does not end with # EOF and a line's end")
    families = list(text_string_to_metric_families(page))
    for family in families:
        if family.unit and not family.name.endswith("_" + family.unit):
            raise ValueError(f"{family.name} does not end in its unit {family.unit}")
        if not family.documentation:
            raise ValueError(f"{family.name} has no help")
        for sample in family.samples:
            if not all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", label) for label in sample.labels):
                raise ValueError(f"{sample.name} has a label that is none: {sample.labels}")
            bound = sample.labels.get("le")
            if bound is not None and bound != floatToGoString(float(bound)):
                raise ValueError(f"{sample.name} has a bound that others write {floatToGoString(float(bound))}: {bound}")
            if sample.exemplar is not None and not sample.exemplar.value <= float(bound or "inf"):
                raise ValueError(f"{sample.name} has an exemplar beyond {bound}: {sample.exemplar.value}")
    json.dump(
        [
            {
                "name": family.name,
                "type": family.type,
                "unit": family.unit,
                "help": family.documentation,
                "samples": [shown(sample) for sample in family.samples],
            }
            for family in families
        ],
        sys.stdout,
    )


try:
    main()
except ValueError as error:
    sys.exit(f"no OpenMetrics: {error}")
