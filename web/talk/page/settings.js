// What a user has chosen. It is kept in the browser; a key only until the tab is closed.

export const defaults = {
  route: '', instructions: '', speed: null, eagerness: '', microphone: '', speaker: '', echo: true, noise: true, gain: true,
}

// parse reads settings as they were kept. What is missing or makes no sense is as it is by default.
export function parse(text) {
  let kept
  try {
    kept = JSON.parse(text)
  } catch {
    kept = null
  }
  const out = { ...defaults }
  for (const [name, usual] of Object.entries(defaults)) {
    const value = kept?.[name]
    if (name === 'speed' ? typeof value === 'number' && value >= 0.25 && value <= 1.5 : typeof value === typeof usual) out[name] = value
  }
  if (!['', 'low', 'medium', 'high'].includes(out.eagerness)) out.eagerness = ''
  return out
}

// session returns what they mean for a call. What is as the service says is left out at its beginning, and null in a call that goes on.
export function session(settings, going = false) {
  const out = { type: 'realtime' }
  const audio = {}
  if (settings.instructions.trim() || going) out.instructions = settings.instructions.trim() || null
  if (settings.eagerness) audio.input = { turn_detection: { type: 'semantic_vad', eagerness: settings.eagerness } }
  if (settings.speed !== null || going) audio.output = { speed: settings.speed }
  if (Object.keys(audio).length) out.audio = audio
  if (!going) out.include = ['riposte.turn', 'riposte.hypothesis', 'riposte.hold']
  return out
}

// constraints returns how the microphone is asked for.
export function constraints(settings) {
  return {
    audio: {
      echoCancellation: settings.echo, noiseSuppression: settings.noise, autoGainControl: settings.gain, channelCount: 1,
      ...(settings.microphone ? { deviceId: { ideal: settings.microphone } } : {}),
    },
  }
}

const place = 'riposte.talk'

// load and save know where they are kept. A browser that keeps nothing forgets them.
export function load() {
  try {
    return parse(localStorage.getItem(place))
  } catch {
    return { ...defaults }
  }
}

export function save(settings) {
  try {
    localStorage.setItem(place, JSON.stringify(settings))
  } catch {
    // nothing is kept, then
  }
}

// key returns the service's key: from the address (#key=…), from where it goes at once, or what was typed in this tab.
export function key() {
  try {
    const given = new URLSearchParams(location.hash.slice(1)).get('key')
    if (given) {
      sessionStorage.setItem(`${place}.key`, given)
      history.replaceState(null, '', location.pathname + location.search)
    }
    return sessionStorage.getItem(`${place}.key`) ?? ''
  } catch {
    return ''
  }
}

export function keepKey(text) {
  try {
    sessionStorage.setItem(`${place}.key`, text)
  } catch {
    // nothing is kept, then
  }
}
