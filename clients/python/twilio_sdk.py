"""Calls the service as Twilio does, with Twilio's own library for Python for what it has of that: it signs requests, and makes the TwiML that ours is held
against."""

import asyncio
import base64
import json
import os
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as xml

import websockets
from twilio.request_validator import RequestValidator
from twilio.twiml.voice_response import Connect, VoiceResponse

from service import RATE, URL, check, question

BASE = URL.removesuffix("/v1")
TOKEN = os.environ["RIPOSTE_TWILIO_TOKEN"]
TELEPHONE = 8000
FRAME = TELEPHONE // 50  # 20 ms, in samples.
validator = RequestValidator(TOKEN)


def webhook(form: dict, signature: str | None = None, query: str = "") -> tuple[int, str]:
    """Asks what is to become of a call."""
    address = f"{BASE}/twilio/voice{query}"
    signature = validator.compute_signature(address, form) if signature is None else signature
    request = urllib.request.Request(address, urllib.parse.urlencode(form).encode(), {"X-Twilio-Signature": signature})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def same(a: xml.Element, b: xml.Element) -> bool:
    return (a.tag, a.attrib, (a.text or "").strip()) == (b.tag, b.attrib, (b.text or "").strip()) and len(a) == len(b) and all(map(same, a, b))


def call(sid: str) -> dict:
    return {"CallSid": sid, "AccountSid": "AC1", "From": "+4930111", "To": "+4930222", "Direction": "inbound", "CallStatus": "ringing", "CallerName": "Ä & Ö"}


def mulaw(sample: int) -> int:
    """G.711, as in Sun's g711.c: 14 bits of a sample in one byte."""
    sign, value = (0x80, -sample) if sample < 0 else (0, sample)
    value = min(value, 32635) + 132
    exponent = max(0, value.bit_length() - 8)
    return ~(sign | exponent << 4 | (value >> exponent + 3) & 15) & 0xFF


def spoken() -> bytes:
    """The question as a telephone carries it."""
    samples = memoryview(question()).cast("h")
    step = RATE // TELEPHONE
    return bytes(mulaw(sum(samples[i : i + step]) // step) for i in range(0, len(samples) - step, step))


async def talk(address: str, token: str):
    """Asks the question by telephone, and returns how much of the answer came, and how many marks."""
    sound, marks, heard = spoken(), 0, 0
    signature = validator.compute_signature(address, {})
    async with websockets.connect(address.replace("wss://", "ws://", 1), additional_headers={"X-Twilio-Signature": signature}) as ws:
        await ws.send(json.dumps({"event": "connected", "protocol": "Call", "version": "1.0.0"}))
        await ws.send(json.dumps({"event": "start", "sequenceNumber": "1", "streamSid": "MZ1", "start": {
            "accountSid": "AC1", "streamSid": "MZ1", "callSid": "CA1", "tracks": ["inbound"], "customParameters": {"token": token},
            "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": TELEPHONE, "channels": 1},
        }}))  # fmt: skip

        async def speak():
            begun, n = asyncio.get_running_loop().time(), 0
            while True:
                frame = sound[n * FRAME : (n + 1) * FRAME].ljust(FRAME, b"\xff")
                n += 1
                await ws.send(json.dumps({"event": "media", "sequenceNumber": str(n + 1), "streamSid": "MZ1", "media": {
                    "track": "inbound", "chunk": str(n), "timestamp": str((n - 1) * 20), "payload": base64.b64encode(frame).decode(),
                }}))  # fmt: skip
                await asyncio.sleep(max(0, begun + n * 0.02 - asyncio.get_running_loop().time()))

        speaking = asyncio.create_task(speak())
        try:
            async with asyncio.timeout(60):
                while heard < TELEPHONE or marks < 2:
                    m = json.loads(await ws.recv())
                    if m["streamSid"] != "MZ1" or m["event"] not in ("media", "mark", "clear"):
                        raise AssertionError(m)
                    if m["event"] == "media":
                        heard += len(base64.b64decode(m["media"]["payload"], validate=True))
                    elif m["event"] == "mark":
                        marks += 1
                        await ws.send(json.dumps({"event": "mark", "streamSid": "MZ1", "mark": m["mark"]}))
        finally:
            speaking.cancel()
        await ws.send(json.dumps({"event": "stop", "streamSid": "MZ1", "stop": {"accountSid": "AC1", "callSid": "CA1"}}))
        await ws.wait_closed()
    return heard, marks


async def main():
    status, text = webhook(call("CA1"), "bm9uZSBvZiB0aGVpcnM=")
    check("a wrong signature is refused", status == 403, (status, text))
    status, text = webhook(call("CA1"), query="?route=")
    check("a right one is taken", status == 200, (status, text))
    status, text = webhook(call("CA1"))
    check("it is taken again, as Twilio asks again", status == 200, (status, text))
    got = xml.fromstring(text)
    stream = got.find("Connect/Stream")
    address, token = stream.attrib["url"], stream.find("Parameter").attrib["value"]
    wanted, connect = VoiceResponse(), Connect()
    connect.stream(url=BASE.replace("http", "wss", 1) + "/twilio/media").parameter(name="token", value=token)
    wanted.append(connect)
    wanted.hangup()
    check("the TwiML is what Twilio's library makes", same(got, xml.fromstring(str(wanted))), text)
    heard, marks = await talk(address, token)
    check("a caller is answered", heard >= TELEPHONE and marks >= 2, (heard, marks))
    try:
        await talk(address, token)
        check("a token is taken once", False)
    except websockets.ConnectionClosed as e:
        check("a token is taken once", e.rcvd and e.rcvd.code == 1008 and "used" in e.rcvd.reason, e)


asyncio.run(main())
