package main

import (
	"maps"
	"net"
	"slices"

	"riposte/web/talk"
	"riposte/web/traces"
)

// talkPage returns the page on which people talk, of a service that takes calls over WebRTC or does not. It leads to the page of traces.
func (s *service) talkPage(overWebRTC bool, page *traces.Page) *talk.Page {
	set := s.settings
	routes := slices.Sorted(maps.Keys(s.routes))
	routes = slices.Insert(slices.DeleteFunc(routes, func(name string) bool { return name == defaultRoute }), 0, defaultRoute)
	return talk.New(talk.About{
		Version: version, Recogniser: set.STT.Model, Model: set.LLM.Model, Voice: set.TTS.Voice, Routes: routes, Eagerness: set.Talk.Eagerness, Speed: set.TTS.Speed,
		Keys: len(set.Keys) > 0, WebRTC: overWebRTC, Secure: set.TLS.wanted(),
	}, page.Shows)
}

// realtimeAt returns the address that clients over WebSocket connect to.
func (s *settings) realtimeAt(listener net.Addr) string {
	scheme := "ws"
	if s.TLS.wanted() {
		scheme = "wss"
	}
	return scheme + "://" + listener.String() + "/v1/realtime"
}

// pageAt returns the address at which a browser on this machine finds the page.
func (s *settings) pageAt(listener net.Addr) string {
	scheme := "http"
	if s.TLS.wanted() {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(listener.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/"
}
