package main

import (
	"strings"
	"testing"
)

func TestAsteriskSettings(t *testing.T) {
	whole := func(change func(*asteriskSettings)) *asteriskSettings {
		s := testSettings(t).Asterisk
		change(&s)
		return &s
	}
	if err := whole(func(s *asteriskSettings) {
		s.AudioSocket, s.Peers, s.Exchanges = "0.0.0.0:9092", []string{"10.1.2.3/16", "192.0.2.1", "2001:db8::/32"}, []string{"ws://u:p@pbx:8088", "wss://pbx.example.com:8089/asterisk"}
		s.Manager, s.ManagerUser, s.ManagerSecret = "pbx:5038", "riposte", "secret"
	}).validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*asteriskSettings){
		"asterisk-audiosocket":                      func(s *asteriskSettings) { s.AudioSocket = "9092" },
		"asterisk-peers holds \"10.1\"":             func(s *asteriskSettings) { s.Peers = []string{"10.1"} },
		"asterisk-await":                            func(s *asteriskSettings) { s.Await = 0 },
		"asterisk-announcements":                    func(s *asteriskSettings) { s.Announcements = 0 },
		"asterisk-buffer":                           func(s *asteriskSettings) { s.Buffer = 3e9 },
		"asterisk-exchanges":                        func(s *asteriskSettings) { s.Exchanges = []string{"http://pbx:8088"} },
		"asterisk-manager is":                       func(s *asteriskSettings) { s.Manager, s.ManagerUser, s.ManagerSecret = "pbx", "u", "s" },
		"asterisk-manager needs asterisk-manager-u": func(s *asteriskSettings) { s.Manager = "pbx:5038" },
		"asterisk-context":                          func(s *asteriskSettings) { s.Context = "" },
	} {
		if err := whole(change).validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
