"""Holds recorded events against the types of OpenAI's own client, and docs/conformance.md against both.

    conform.py EVENTS [TABLE [--write]]

EVENTS is what the tests of transport/realtime record (RIPOSTE_TEST_EVENTS): a line for each event, an object with the test, who sent it, the
form of the protocol, and the event. Each event of the service must have all fields that its type in the SDK requires, with values of their
types, and no field that the type does not have, but for those in OWN. TABLE must have a row for each event of the SDK's two unions, and none
that says more than the record shows. With --write it is written anew.
"""

import json
import sys
import typing
from collections import defaultdict
from pathlib import Path

import pydantic
from openai.types import realtime as ga
from openai.types.beta import realtime as beta
from openai.types.realtime.realtime_session_create_response import RealtimeSessionCreateResponse
from openai.types.realtime.realtime_transcription_session_create_response import RealtimeTranscriptionSessionCreateResponse

# Fields beside those of the types, by the end of their path. The types of session.created and session.updated are those of requests, without what
# the service's own documents show; and what begins with riposte is ours, which docs/realtime.md describes.
OWN = {
    "session.id", "session.object", "session.expires_at", "session.riposte", "session.parallel_tool_calls", "session.model",
    "turn_detection.threshold", "turn_detection.prefix_padding_ms",  # semantic_vad has them here as well
    "turn_detection.eagerness",  # of a transcription: in one of the SDK's two types
    "input_audio_buffer.dtmf_event_received.event_id",
}
OURS = "riposte."

# Why an event is not there. All others have to be in the record.
MISSING = {
    "conversation.item.input_audio_transcription.segment": "is for transcription with speakers told apart, which no model here does",
}
ELSEWHERE = {
    "conversation.item.created": "the beta's; its clients get it in place of `conversation.item.added` and `.done`",
}


def members(union) -> dict:
    """The types of a union of events, by the event's name."""
    union = typing.get_args(union)[0] if typing.get_origin(union) is typing.Annotated else union
    return {typing.get_args(t.model_fields["type"].annotation)[0]: t for t in typing.get_args(union)}


GA, CLIENT = members(ga.RealtimeServerEvent), members(ga.RealtimeClientEvent)
BETA = members(beta.RealtimeServerEvent)


def unknown(value, path: str):
    """The paths of fields that a model was given and does not have."""
    if isinstance(value, pydantic.BaseModel):
        for name in value.model_extra or {}:
            yield f"{path}.{name}"
        for name in type(value).model_fields:
            yield from unknown(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from unknown(v, path)


def check(kind, event: dict, path: str) -> list[str]:
    """What is wrong with an event of a type; nothing where it is right."""
    try:
        value = pydantic.TypeAdapter(kind).validate_python(event, strict=True)
    except pydantic.ValidationError as e:
        return [f"{path}: {'.'.join(map(str, x['loc']))}: {x['msg']} (got {str(x['input'])[:80]})" for x in e.errors()]
    return [f"{p} is a field that the type does not have" for p in sorted(set(unknown(value, path))) if not any(p.endswith(own) for own in OWN)]


def wrong(event: dict, form: str) -> list[str]:
    name = event["type"]
    if include := (event.get("session") or {}).get("include"):
        event["session"]["include"] = [i for i in include if not i.startswith(OURS)]
    types = BETA if form == "beta" else GA
    if name.startswith(OURS):
        return [] if event.get("event_id") else [f"{name} has no event_id"]
    if form == "beta" and name.startswith("transcription_session."):
        # The SDK has no type for the first of the two, and wants a client secret in the other, which is only in the answer to a request for one.
        event["session"]["client_secret"] = {"expires_at": 0, "value": ""}
        name = event["type"] = "transcription_session.updated"
    if name not in types:
        return [f"{name} is no event of the {form} protocol"]
    faults = check(types[name], event, name)
    if form == "ga" and name in ("session.created", "session.updated"):  # the stricter of the two types that there are
        s = event["session"]
        strict = RealtimeTranscriptionSessionCreateResponse if s.get("type") == "transcription" else RealtimeSessionCreateResponse
        faults += check(strict, s, "session")
    return faults


def table(seen: dict, sent: dict, old: dict) -> str:
    """The table. A row that the record still bears out stays as it is, so that new tests change nothing."""

    def row(name, evidence):
        if name in MISSING and not evidence:
            return f"| `{name}` | no | {MISSING[name]} |"
        if name in ELSEWHERE and not evidence:
            return f"| `{name}` | to beta clients | {ELSEWHERE[name]} |"
        if not evidence:
            return f"| `{name}` | no | |"
        kept = [t for t in old.get(name, []) if t in evidence]
        shown = kept or sorted(evidence)[:2]
        return f"| `{name}` | yes | {', '.join(f'`{t}`' for t in shown)} |"

    lines = ["## Events of clients", "", "| event | taken | by which tests it is sent |", "|---|---|---|"]
    lines += [row(n, sent.get(n)) for n in sorted(CLIENT)]
    lines += ["", "## Events of the service", "", "| event | sent | in which tests it is checked |", "|---|---|---|"]
    lines += [row(n, seen.get(n)) for n in sorted(GA)]
    return "\n".join(lines) + "\n"


def rows(text: str) -> dict:
    """The tests that a table names, by event."""
    out = {}
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == 3 and cells[0].startswith("`"):
            out[cells[0].strip("`")] = [t.strip().strip("`") for t in cells[2].split(",")] if cells[1] == "yes" else []
    return out


def main(events: str, doc: str | None = None, write: str | None = None) -> int:
    faults, seen, sent, count = [], defaultdict(set), defaultdict(set), 0
    refused = set()  # event IDs that an error was about
    lines = [json.loads(line) for line in Path(events).read_text().splitlines()]
    for e in lines:
        if e["from"] == "service" and e["event"].get("type") == "error":
            refused.add((e["test"], e["event"]["error"].get("event_id")))
    for e in lines:
        event, test = e["event"], e["test"].split("/")[0]
        if e["from"] == "client":
            if isinstance(event, dict) and (e["test"], event.get("event_id", "")) not in refused:
                sent[event.get("type")].add(test)
            continue
        count += 1
        found = wrong(event, e["form"])
        faults += [f"{e['test']}: {f}" for f in found]
        if not found and e["form"] == "ga":
            seen[event["type"]].add(test)
    for f in sorted(set(faults)):
        print("wrong:", f)
    if doc:
        path = Path(doc)
        text = path.read_text() if path.exists() else ""
        head, _, rest = text.partition("## Events of clients")
        told = rows(rest)
        new = table(seen, sent, told)
        if write:
            path.write_text(head + new)
        else:
            for name in sorted({*GA, *CLIENT} - told.keys()):
                faults.append(f"{doc} has no row for {name}: make conformance")
            for name in sorted({*GA, *CLIENT} - {*seen, *sent, *MISSING, *ELSEWHERE}):
                faults.append(f"{doc}: no test shows {name}, and nothing says why")
            for name, tests in told.items():
                evidence = seen.get(name, set()) | sent.get(name, set())
                faults += [f"{doc} says that {t} shows {name}, and it does not: make conformance" for t in tests if t not in evidence]
            for f in [f for f in faults if f.startswith(doc)]:
                print("wrong:", f)
    print(f"{count} events of {len(seen)} types held against openai's own: {len(set(faults))} wrong")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
