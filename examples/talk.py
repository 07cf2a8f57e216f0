"""Asks Riposte a question with the official OpenAI SDK and writes the spoken answer to answer.wav.

    pip install "openai[realtime]"
    python examples/talk.py question.wav        # 24 kHz, 16 bits, mono; without a file, a written question is asked

"""

import asyncio
import base64
import sys
import wave

from openai import AsyncOpenAI

RATE = 24000  # of audio/pcm, in hertz
FRAME = RATE // 50 * 2  # 20 ms, in bytes


async def talk(call, sound):
    """Plays the question in real time, then silence: the service needs some to notice that the turn is over."""
    pieces = [sound[i : i + FRAME] for i in range(0, len(sound), FRAME)]
    while True:
        piece = pieces.pop(0) if pieces else bytes(FRAME)
        await call.input_audio_buffer.append(audio=base64.b64encode(piece).decode())
        await asyncio.sleep(0.02)


async def main():
    client = AsyncOpenAI(base_url="http://127.0.0.1:8080/v1", api_key="none")
    async with client.realtime.connect(model="riposte") as call:
        await call.session.update(session={"type": "realtime", "instructions": "Answer like a pirate, in one sentence."})
        if len(sys.argv) > 1:
            with wave.open(sys.argv[1]) as w:
                if (w.getframerate(), w.getsampwidth(), w.getnchannels()) != (RATE, 2, 1):
                    sys.exit(f"{sys.argv[1]} must have {RATE} Hz, 16 bits and one channel")
                talking = asyncio.create_task(talk(call, w.readframes(w.getnframes())))
        else:
            talking = None
            question = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Where are you from?"}]}
            await call.conversation.item.create(item=question)
            await call.response.create()

        answer = b""
        async for event in call:
            if event.type == "conversation.item.input_audio_transcription.completed":
                print("heard:", event.transcript)
            elif event.type == "response.output_audio.delta":
                answer += base64.b64decode(event.delta)
            elif event.type == "response.output_audio_transcript.delta":
                print(event.delta, end="", flush=True)
            elif event.type == "error":
                print(event.error.message)
            elif event.type == "response.done" and event.response.status != "cancelled":
                break
        if talking:
            talking.cancel()
    with wave.open("answer.wav", "wb") as w:
        w.setparams((1, 2, RATE, 0, "NONE", ""))
        w.writeframes(answer)
    print(f"\n{len(answer) / 2 / RATE:.1f} s of sound in answer.wav")


asyncio.run(main())
