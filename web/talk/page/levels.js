// How loud both sides of a call are, as the page hears them.

export class Levels {
  #context
  #node
  #sources = []

  // open begins to measure, and calls take(at, microphone, answer) for every ten milliseconds. Where the browser cannot, which is so for pages
  // that are not secure, it returns null.
  static async open(take) {
    const context = new AudioContext({ latencyHint: 'interactive' })
    if (!context.audioWorklet) {
      await context.close()
      return null
    }
    const levels = new Levels()
    levels.#context = context
    await context.audioWorklet.addModule('/talk/assets/levels.worklet.js')
    levels.#node = new AudioWorkletNode(context, 'levels', { numberOfInputs: 2, numberOfOutputs: 1 })
    levels.#node.port.onmessage = ({ data }) => {
      for (let i = 0; i < data.length; i += 3) take(data[i], data[i + 1], data[i + 2])
    }
    levels.#node.connect(context.destination) // it is silent; what is connected to nothing may not run
    await context.resume()
    return levels
  }

  // microphone and answer say what is measured from now on.
  microphone(stream) {
    this.#connect(stream, 0)
  }

  answer(stream) {
    this.#connect(stream, 1)
  }

  #connect(stream, input) {
    this.#sources[input]?.disconnect()
    this.#sources[input] = stream ? this.#context.createMediaStreamSource(stream) : undefined
    this.#sources[input]?.connect(this.#node, 0, input)
  }

  // wake goes on measuring where the system has stopped it, as some do when a call comes in.
  async wake() {
    await this.#context.resume()
  }
}
