// What to do when something is in the way, in words.

// help returns {title, text, steps, commands} for a problem's code; the message is what was said of it.
export function help(code, { message = '', retry = null, host = '' } = {}) {
  const again = retry ? ` It is tried again in ${retry} s.` : ''
  const name = host.replace(/:\d+$/, '')
  switch (code) {
    case 'insecure':
      return {
        title: 'This page is not secure, so the browser gives it no microphone',
        text: 'Browsers give microphones to pages of https, and of http only on this very machine. You can write meanwhile. To talk, one of these:',
        steps: ['Let the service make a certificate of its own. The browser warns of it once; the service logs its fingerprint, to compare:',
          'Give it a certificate that your browsers trust:', 'Put a proxy before it that speaks https, and name it to the service:', 'Or let a port of this machine lead there:'],
        commands: ['riposte serve --tls-self-signed', 'riposte serve --tls-cert=cert.pem --tls-key=key.pem', `riposte serve --origins=https://${name || 'voice.example'}`,
          `ssh -L 8080:localhost:8080 ${name || 'HOST'}`],
      }
    case 'NotAllowedError':
    case 'SecurityError':
      return {
        title: 'The microphone is refused',
        text: 'The browser does not let this page listen. You can write meanwhile.',
        steps: ['Click the sign left of the address, and allow the microphone for this page.', 'Does the system let the browser listen? On macOS and Windows that is in its settings, under privacy.', 'Then press Talk again.'],
      }
    case 'NotFoundError':
    case 'NotSupportedError':
    case 'OverconstrainedError':
      return {
        title: 'There is no microphone',
        text: 'The browser finds none. You can write meanwhile.',
        steps: ['Plug one in, or switch one on.', 'Choose it in Settings, if it is not the only one.', 'Then press Talk again.'],
      }
    case 'NotReadableError':
    case 'AbortError':
      return {
        title: 'The microphone cannot be used',
        text: 'Another program may have it. You can write meanwhile.',
        steps: ['Close what else may be listening, or choose another microphone in Settings.', 'Then press Talk again.'],
      }
    case 'no_webrtc':
      return {
        title: 'There is no way for sound',
        text: 'Calls over WebRTC are switched off, or libopus is not installed; the log of the service says which. Over WebSocket only secure pages can talk.',
        steps: ['Install it (Debian: apt-get install libopus0), and start the service again without webrtc-udp=none.', 'From a terminal you can talk nevertheless:'],
        commands: [null, 'riposte call question.wav -o answer.wav'],
      }
    case 'missing_api_key':
    case 'invalid_api_key':
    case 'invalid_client_secret':
    case 'expired_client_secret':
      return { title: 'The service asks for a key', text: message, steps: ['Open Settings, and type one of its keys there.'] }
    case 'origin_not_allowed':
      return { title: 'The service does not know this page', text: message, steps: ['Name it to the service:'], commands: [`riposte serve --origins=https://${host || 'voice.example'}`] }
    case 'loading':
      return { title: 'The service is starting', text: `${message}${again}` }
    case 'too_many_calls':
      return { title: 'The service is full', text: `${message}${again}` }
    case 'too_many_offers':
      return { title: 'Too many calls are being made from here', text: `${message}${again}` }
    case 'server_shutdown':
      return { title: 'The service was stopped', text: 'The call ended with it. A new one is begun once it is back, which does not know what was said before.' }
    case 'shutting_down':
      return { title: 'The service is shutting down', text: `${message}${again}` }
    case 'session_expired':
    case 'session_idle':
    case 'session_silent':
      return { title: 'The call has ended', text: message, steps: ['Press Talk for another one.'] }
    case 'refused_socket':
      return { title: 'The service takes no call', text: message, steps: ['Press Talk again in a while.'] }
    case 'closed':
      return { title: 'The service has ended the call', text: 'It may have been stopped.', steps: ['Press Talk for another one.'] }
    case 'lost':
      return { title: 'The call was lost', text: 'The network dropped for too long. A new call was begun, which does not know what was said before.' }
    case 'unreachable':
      return { title: 'The service does not answer', text: `It may not be running, or the network is down.${again}`, steps: ['Press Talk again when it is there.'] }
    case 'unreachable_media':
      if (/^(localhost|127\.|\[::1\])/.test(host)) {
        return {
          title: 'No sound comes through',
          text: 'The service took the call, but this browser does not reach its UDP port: it is on the loopback address, which Firefox leaves out.',
          steps: ['Let sound come by this machine\'s other addresses as well; the page stays on this one:', 'Or talk from another browser.'],
          commands: ['riposte serve --webrtc-udp=0.0.0.0:8080'],
        }
      }
      return {
        title: 'No sound comes through',
        text: 'The service took the call, but its UDP port cannot be reached from here.',
        steps: ['Let it listen where you are, and let firewalls pass UDP to the same port:', 'Or let it take calls over TCP as well:', 'Behind a router, name the address by which it is reached:'],
        commands: ['riposte serve --listen=0.0.0.0:8080', 'riposte serve --webrtc-tcp=0.0.0.0:8081', 'riposte serve --webrtc-public=203.0.113.7'],
      }
  }
  if (code.startsWith('overloaded_')) return { title: 'The service has too much to do', text: `${message}${again}` }
  return { title: 'That did not work', text: `${message || code}${again}`, steps: ['Press Talk again; if it happens again, the log of the service may say more.'] }
}

// waits are the problems that pass by themselves: it is worth another try.
export const waits = (code) => code === 'loading' || code === 'too_many_calls' || code === 'too_many_offers' || code === 'shutting_down' || code.startsWith('overloaded_')
