"""Uses the service with OpenAI's own client for Python, as it is published: calls, and the REST endpoints beside them. Every event of a call is held
against the client's types, strictly."""

import asyncio
import base64
import json

from openai import AsyncOpenAI, BadRequestError

import conform
from service import KEY, QUESTION, RATE, URL, ask, check, understood

client = AsyncOpenAI(base_url=URL, websocket_base_url=URL.replace("http", "ws", 1), api_key=KEY, max_retries=0)

WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string", "enum": ["Rome", "Oslo"]}}, "required": ["city"], "additionalProperties": False},
}


async def events(call, until: str):
    """The events up to one of a type, by their types in the SDK."""
    out = []
    while not out or out[-1].type != until:
        raw = await asyncio.wait_for(call.recv_bytes(), 60)
        faults = conform.wrong(json.loads(raw), "ga")
        if faults:
            raise AssertionError(faults)
        out.append(call.parse_event(raw))
        if out[-1].type == "error" and until != "error":
            raise AssertionError(out[-1].error)
    return out


def of(all, kind: str):
    return [e for e in all if e.type == kind]


def message(text: str) -> dict:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


async def voice():
    """A question aloud, an answer aloud."""
    async with client.realtime.connect(model="riposte") as call:
        asking = asyncio.create_task(ask(call))
        try:
            told = await events(call, "response.done")
            while told[-1].response.status == "cancelled":  # a pause in the question was taken for its end
                told += await events(call, "response.done")
        finally:
            asking.cancel()
        heard = of(told, "conversation.item.input_audio_transcription.completed")
        check("voice: the question is understood", heard and understood(heard[-1].transcript), [h.transcript for h in heard])
        done = told[-1].response
        check("voice: the answer ends", done.status in ("completed", "incomplete"), done)
        sound = b"".join(base64.b64decode(e.delta) for e in of(told, "response.output_audio.delta"))
        check("voice: it is to be heard", len(sound) > RATE, len(sound))
        words = of(told, "response.output_audio_transcript.done")
        check("voice: its words are told", words and words[-1].transcript == done.output[0].content[0].transcript != "", done)
        check("voice: its tokens are counted", done.usage.output_tokens > 0 and done.usage.total_tokens == done.usage.input_tokens + done.usage.output_tokens, done.usage)
        check("voice: limits are told", of(told, "rate_limits.updated")[0].rate_limits[0].limit > 0)


async def conversation():
    """Writing, functions, answers beside the conversation, items, a second connection, and mistakes."""
    async with client.realtime.connect(model="riposte") as call:
        created = await call.recv()
        check("conversation: the session is told", created.type == "session.created", created)
        await call.session.update(session={"type": "realtime", "output_modalities": ["text"], "tools": [WEATHER], "tool_choice": "none", "max_output_tokens": 30})
        await events(call, "session.updated")

        await call.conversation.item.create(item=message("Where is Rome?") | {"id": "question"})
        await call.response.create()
        told = await events(call, "response.done")
        text = "".join(e.delta for e in of(told, "response.output_text.delta"))
        check("text: the words are whole", text and text == of(told, "response.output_text.done")[0].text == told[-1].response.output[0].content[0].text, text)

        await call.conversation.item.create(item=message("What is the weather in Rome?"))
        await call.response.create(response={"tool_choice": {"type": "function", "name": "get_weather"}})
        told = await events(call, "response.done")
        made = of(told, "response.function_call_arguments.done")
        check("tool: it is called", len(made) == 1 and json.loads(made[0].arguments)["city"] in ("Rome", "Oslo"), told[-1])
        await call.conversation.item.create(item={"type": "function_call_output", "call_id": made[0].call_id, "output": "21 degrees, sunny"})
        await call.response.create()
        told = await events(call, "response.done")
        check("tool: its result is answered", told[-1].response.output[0].content[0].text, told[-1])

        for topic in ("one", "two"):
            await call.response.create(response={
                "conversation": "none", "metadata": {"topic": topic}, "tools": [], "instructions": "Name the city.",
                "input": [{"type": "item_reference", "id": "question"}, message("It is in Italy.")],
            })
        told = await events(call, "response.done") + await events(call, "response.done")
        beside = [e.response for e in of(told, "response.done")]
        check("beside: both are answered", {r.metadata["topic"] for r in beside} == {"one", "two"} and all(r.conversation_id is None for r in beside), beside)
        check("beside: no item is the conversation's", not of(told, "conversation.item.added"), [e.type for e in told])

        await call.conversation.item.create(previous_item_id="root", item={"id": "first", "type": "message", "role": "system", "content": [{"type": "input_text", "text": "Be brief."}]})
        added = (await events(call, "conversation.item.done"))[-1]
        check("items: one is put first", added.previous_item_id is None, added)
        await call.conversation.item.retrieve(item_id="question")
        found = (await events(call, "conversation.item.retrieved"))[-1]
        check("items: one is looked at", found.item.content[0].text == "Where is Rome?", found)
        await call.conversation.item.delete(item_id="question")
        check("items: one is taken out", (await events(call, "conversation.item.deleted"))[-1].item_id == "question")
        await call.conversation.item.create(event_id="again", item=message("x") | {"id": "first"})
        wrong = (await events(call, "error"))[-1].error
        check("items: an ID is there once", wrong.event_id == "again" and wrong.param == "item.id" and wrong.type == "invalid_request_error", wrong)

        async with client.realtime.connect(call_id=created.session.id) as side:
            await events(side, "session.created")
            await side.session.update(session={"type": "realtime", "instructions": "Sell tea."})
            both = await events(side, "session.updated"), await events(call, "session.updated")
            check("side: both are told", all(e[-1].session.instructions == "Sell tea." for e in both), both)
            await client.realtime.calls.hangup(created.session.id)
            try:
                await asyncio.wait_for(side.recv(), 20)
                raise AssertionError("the call was not hung up on")
            except AssertionError:
                raise
            except Exception as e:
                check("side: the call is hung up on", "1000" in str(e) or type(e).__name__.startswith("ConnectionClosed"), e)


async def transcription():
    """Only what was said, in writing."""
    secret = await client.realtime.client_secrets.create(session={"type": "transcription", "audio": {"input": {"transcription": {"model": "whisper-1", "language": "en"}}}})
    check("transcription: a secret is made", secret.value.startswith("ek_") and secret.session.type == "transcription", secret)
    guest = client.with_options(api_key=secret.value)
    async with guest.realtime.connect(extra_query={"intent": "transcription"}) as call:
        created = (await events(call, "session.created"))[-1]
        check("transcription: the session is one", created.session.type == "transcription", created)
        await call.session.update(session={"type": "transcription", "include": ["item.input_audio_transcription.logprobs"]})
        asking = asyncio.create_task(ask(call))
        try:
            told = await events(call, "conversation.item.input_audio_transcription.completed")
        finally:
            asking.cancel()
        delta = "".join(e.delta for e in of(told, "conversation.item.input_audio_transcription.delta"))
        check("transcription: the question is understood", understood(told[-1].transcript) and delta == told[-1].transcript, told[-1])
        sure = told[-1].logprobs
        check("transcription: how sure that is", sure and "".join(t.token for t in sure).strip() == delta and all(t.logprob <= 0 for t in sure) and any(t.logprob < 0 for t in sure), sure)
        check("transcription: nothing is answered", not of(told, "response.created"), [e.type for e in told])


async def rest():
    """What there is beside calls."""
    models = [m.id async for m in client.models.list()]
    check("models: they are listed", models, models)
    chat = await client.chat.completions.create(model="riposte", messages=[{"role": "user", "content": "Where is Rome?"}], max_tokens=12, temperature=0)
    check("chat: it is answered", chat.choices[0].message.content and chat.usage.completion_tokens > 0, chat)
    words, usage = "", None
    async for chunk in await client.chat.completions.create(
        model="riposte", messages=[{"role": "user", "content": "Where is Rome?"}], max_tokens=12, temperature=0, stream=True, stream_options={"include_usage": True}
    ):
        words += (chunk.choices[0].delta.content or "") if chunk.choices else ""
        usage = chunk.usage or usage
    check("chat: streamed it is the same", words == chat.choices[0].message.content and usage.total_tokens == chat.usage.total_tokens, (words, chat))
    tool = {"type": "function", "function": {k: v for k, v in WEATHER.items() if k != "type"}}
    called = await client.chat.completions.create(
        model="riposte", messages=[{"role": "user", "content": "What is the weather in Rome?"}], tools=[tool], tool_choice="required", max_tokens=60
    )
    check("chat: a tool is called", json.loads(called.choices[0].message.tool_calls[0].function.arguments)["city"] in ("Rome", "Oslo"), called)
    response = await client.responses.create(model="riposte", input="Where is Rome?", max_output_tokens=16)
    check("responses: it is answered", response.output_text, response)
    with open(QUESTION, "rb") as f:
        heard = await client.audio.transcriptions.create(model="whisper-1", file=f)
    check("transcriptions: the recording is understood", understood(heard.text), heard)
    with open(QUESTION, "rb") as f:
        heard = await client.audio.transcriptions.create(model="whisper-1", file=f, response_format="verbose_json", timestamp_granularities=["word"])
    check("transcriptions: words have times", heard.words and 0 <= heard.words[0].start < heard.words[-1].end <= heard.duration + 0.5, heard)
    async with client.audio.speech.with_streaming_response.create(model="tts-1", voice="alloy", input="Good day.", response_format="wav") as sound:
        spoken = b"".join([b async for b in sound.iter_bytes()])
    check("speech: it is a sound", spoken[:4] == b"RIFF" and len(spoken) > 10000, spoken[:40])
    try:
        await client.audio.speech.create(model="tts-1", voice="alloy", input="")
        raise AssertionError("nothing was spoken without an error")
    except BadRequestError as e:
        check("speech: nothing is a mistake", e.type == "invalid_request_error", e)


async def main():
    for part in (voice, conversation, transcription, rest):
        await part()
    await client.close()


asyncio.run(main())
