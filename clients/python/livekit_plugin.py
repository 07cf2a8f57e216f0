"""Holds a call with LiveKit's plugin for OpenAI, as it is published, in place of OpenAI."""

import asyncio

from livekit import rtc
from livekit.agents import llm
from livekit.plugins import openai

from service import KEY, RATE, URL, check, frames, understood


@llm.function_tool
async def get_weather(city: str) -> str:
    """The weather in a city."""
    return "21 degrees, sunny"


async def push(session):
    async for frame in frames():
        session.push_audio(rtc.AudioFrame(frame, RATE, 1, len(frame) // 2))


async def collect(session, generation):
    """The words, the seconds of sound and the calls of an answer. One that sounds for longer than a second is interrupted: the plugin lets the
    model say as much as it will, and a small one does not know when to stop."""
    words, seconds, calls = "", 0.0, []
    async for message in generation.message_stream:
        async for frame in message.audio_stream:
            if seconds <= 1 < seconds + frame.samples_per_channel / frame.sample_rate:
                session.interrupt()
            seconds += frame.samples_per_channel / frame.sample_rate
        async for part in message.text_stream:
            words += str(part)
    async for call in generation.function_stream:
        calls.append(call)
    return words, seconds, calls


async def main():
    model = openai.realtime.RealtimeModel(base_url=URL, api_key=KEY, model="riposte", voice="alloy")
    session = model.session()
    heard, begun, errors = asyncio.Queue(), asyncio.Queue(), []
    session.on("input_audio_transcription_completed", lambda e: heard.put_nowait(e.transcript))
    session.on("generation_created", begun.put_nowait)
    session.on("error", errors.append)
    await session.update_instructions("You are a helpful assistant.")

    pushing = asyncio.create_task(push(session))
    try:
        text = await asyncio.wait_for(heard.get(), 60)
        while not understood(text):
            text += " " + await asyncio.wait_for(heard.get(), 60)
        check("livekit: the question is understood", True)
        while True:
            words, seconds, _ = await asyncio.wait_for(collect(session, await asyncio.wait_for(begun.get(), 60)), 60)
            if words and seconds > 0.5:
                break
        check("livekit: the answer is heard", True)
    finally:
        pushing.cancel()

    await session.update_tools([get_weather])
    context = session.chat_ctx.copy()
    context.add_message(role="user", content="What is the weather in Rome?")
    await session.update_chat_ctx(context)
    reply = await asyncio.wait_for(session.generate_reply(tool_choice="required"), 60)
    _, _, calls = await asyncio.wait_for(collect(session, reply), 60)
    check("livekit: the tool is called", calls and calls[0].name == "get_weather" and "city" in calls[0].arguments, calls)
    context = session.chat_ctx.copy()
    context.items.append(llm.FunctionCallOutput(call_id=calls[0].call_id, name="get_weather", output=await get_weather("Rome"), is_error=False))
    await session.update_chat_ctx(context)
    words, _, _ = await asyncio.wait_for(collect(session, await asyncio.wait_for(session.generate_reply(tool_choice="none"), 60)), 60)
    check("livekit: its result is answered", words, words)
    # A model this small sometimes has no answer; what counts is that the service takes all that the plugin sends.
    check("livekit: nothing was refused", not [e for e in errors if "invalid_request_error" in repr(e.error)], [e.error for e in errors])
    await session.aclose()
    await model.aclose()


asyncio.run(main())
