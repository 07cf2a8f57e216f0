// Package webrtc speaks the OpenAI Realtime protocol over WebRTC: events on a data channel, which package realtime understands, and
// sound as Opus on tracks. Calls are made over HTTP by an offer, which is answered.
package webrtc
