"""Where the service is that the tests' clients use, and what they ask it. The Go test that runs them (cmd/riposte, TestClients) says so in the environment."""

import asyncio
import base64
import os
import wave

URL = os.environ["RIPOSTE_URL"]  # Its /v1, over HTTP.
KEY = os.environ["RIPOSTE_KEY"]
QUESTION = os.environ["RIPOSTE_QUESTION"]  # A WAV file, 24 kHz: "Should I get a dog or a cat?"
RATE = 24000  # Of sound in both directions, in hertz.
FRAME = RATE // 50 * 2  # 20 ms, in bytes.


def question() -> bytes:
    with wave.open(QUESTION) as w:
        return w.readframes(w.getnframes())


async def frames():
    """The question in real time, then silence for ever: the service needs some to notice that the turn is over."""
    sound = question()
    at, begun = 0, asyncio.get_running_loop().time()
    while True:
        frame = sound[at * FRAME : (at + 1) * FRAME]
        yield frame.ljust(FRAME, b"\0")
        at += 1
        await asyncio.sleep(max(0, begun + at * 0.02 - asyncio.get_running_loop().time()))


async def ask(call):
    async for frame in frames():
        await call.input_audio_buffer.append(audio=base64.b64encode(frame).decode())


def understood(text: str) -> bool:
    """Whether that is the question, as far as a small recogniser hears it."""
    words = text.lower()
    return "dog" in words and "cat" in words


def check(what: str, right, got=None):
    if not right:
        raise AssertionError(f"{what}: {got!r}")
    print("ok", what)
