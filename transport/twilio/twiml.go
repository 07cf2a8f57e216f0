package twilio

import (
	"encoding/xml"
	"io"
	"net/http"
	"strings"
)

// twiml is what Twilio is told to do with a call, one after the other.
type twiml struct {
	XMLName  xml.Name `xml:"Response"`
	Say      string   `xml:"Say,omitempty"`
	Stream   *stream  `xml:"Connect>Stream,omitempty"`
	Dial     *dial    `xml:"Dial,omitempty"`
	Reject   *reject  `xml:"Reject,omitempty"`
	Redirect string   `xml:"Redirect,omitempty"`
	HangUp   *nothing `xml:"Hangup,omitempty"`
}

type stream struct {
	URL        string      `xml:"url,attr"`
	Parameters []parameter `xml:"Parameter"`
}

type parameter struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// dial connects the caller with somebody else.
type dial struct {
	Number string `xml:"Number,omitempty"`
	SIP    string `xml:"Sip,omitempty"`
}

type reject struct {
	Reason string `xml:"reason,attr"`
}

type nothing struct{}

// then adds what comes last: the address of more TwiML, or the end of the call.
func (t twiml) then(address string) twiml {
	if address != "" {
		t.Redirect = address
	} else {
		t.HangUp = &nothing{}
	}
	return t
}

// String returns it as Twilio reads it.
func (t twiml) String() string {
	var b strings.Builder
	b.WriteString(xml.Header)
	_ = xml.NewEncoder(&b).Encode(t) // texts alone
	return b.String()
}

// reply answers a request with it.
func (t twiml) reply(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/xml")
	_, _ = io.WriteString(w, t.String()) // whoever asked may be gone
}
