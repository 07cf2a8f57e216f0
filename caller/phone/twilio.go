package phone

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gorilla/websocket"

	"riposte/audio"
)

// stream is a call by Twilio Media Streams, both ways.
type stream struct {
	*socket
	account, call, sid string
	parameters         map[string]string
	sequence           int // Of messages, the first being 1.
	chunk              int // Of sound, the same.
}

var _ line = (*stream)(nil)

// twiml is what Twilio does with a call, as far as it connects a stream.
type twiml struct {
	XMLName xml.Name `xml:"Response"`
	Connect struct {
		Stream struct {
			URL        string      `xml:"url,attr"`
			Parameters []parameter `xml:"Parameter"`
			Other      []anything  `xml:",any"`
		} `xml:"Stream"`
		Other []anything `xml:",any"`
	} `xml:"Connect"`
}

type parameter struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type anything struct{ XMLName xml.Name }

// sid returns what Twilio calls something new.
func sid(kind string) string {
	b := make([]byte, 16)
	rand.Read(b) // it never fails
	return kind + hex.EncodeToString(b)
}

// dialTwilio has the webhook answered, and connects the stream that it says.
func (p *Phone) dialTwilio(ctx context.Context) (line, error) {
	s := &stream{account: cmp.Or(p.Account, sid("AC")), call: sid("CA"), sid: sid("MZ"), parameters: map[string]string{}}
	doc, err := p.webhook(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, x := range doc.Connect.Stream.Parameters {
		s.parameters[x.Name] = x.Value
	}
	where := doc.Connect.Stream.URL
	header := http.Header{"X-Twilio-Signature": {p.sign(where, nil)}}
	if p.Bare {
		header.Set("X-Forwarded-Proto", "https")
	}
	d := websocket.Dialer{NetDialContext: p.dialer()}
	ws, resp, err := d.DialContext(ctx, p.reach(where), header)
	if err != nil {
		return nil, refused(resp, fmt.Errorf("the stream %s: %w", where, err))
	}
	s.socket = newSocket(ws)
	return s, nil
}

// webhook tells the service of the call, and returns what is to be done with it.
func (p *Phone) webhook(ctx context.Context, s *stream) (twiml, error) {
	var doc twiml
	form := url.Values{
		"AccountSid": {s.account}, "CallSid": {s.call}, "From": {p.From}, "To": {p.To}, "Caller": {p.From}, "Called": {p.To},
		"CallStatus": {"ringing"}, "Direction": {"inbound"}, "ApiVersion": {"2010-04-01"},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.reach(p.Address), strings.NewReader(form.Encode()))
	if err != nil {
		return doc, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8")
	req.Header.Set("X-Twilio-Signature", p.sign(p.Address, form))
	if p.Bare {
		req.Header.Set("X-Forwarded-Proto", "https")
	}
	client := http.Client{Transport: &http.Transport{DialContext: p.dialer(), DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return doc, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return doc, refused(resp, fmt.Errorf("the webhook answers %s", resp.Status))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage))
	if err != nil {
		return doc, err
	}
	return readTwiML(resp.Header.Get("Content-Type"), body)
}

// reach returns where an address is connected to.
func (p *Phone) reach(address string) string {
	if scheme, rest, ok := strings.Cut(address, "://"); ok && p.Bare {
		return strings.TrimSuffix(scheme, "s") + "://" + rest
	}
	return address
}

// readTwiML reads what a webhook answers.
func readTwiML(kind string, body []byte) (doc twiml, err error) {
	if kind, _, _ = mime.ParseMediaType(kind); kind != "text/xml" && kind != "application/xml" {
		return doc, fmt.Errorf("%w: it is of the type %q, not text/xml", ErrTwiML, kind)
	}
	if err := xml.Unmarshal(body, &doc); err != nil {
		return doc, fmt.Errorf("%w: %w", ErrTwiML, err)
	}
	s := doc.Connect.Stream
	switch {
	case len(doc.Connect.Other) > 0 || len(s.Other) > 0:
		return doc, fmt.Errorf("%w: it has elements that Twilio does not know there", ErrTwiML)
	case !strings.HasPrefix(s.URL, "wss://"):
		return doc, fmt.Errorf("%w: the stream's url is %q, and must begin with wss://", ErrTwiML, s.URL)
	case strings.ContainsAny(s.URL, "?#"):
		return doc, fmt.Errorf("%w: the stream's url is %q: Twilio takes no query with it; use <Parameter>", ErrTwiML, s.URL)
	}
	for _, x := range s.Parameters {
		if x.Name == "" || len(x.Name)+len(x.Value) > 500 {
			return doc, fmt.Errorf("%w: the parameter %q has no name, or is longer than 500 characters with it", ErrTwiML, x.Name)
		}
	}
	return doc, nil
}

// sign signs a request as Twilio does: its address, and the fields of its form in the order of their names.
func (p *Phone) sign(address string, form url.Values) string {
	mac := hmac.New(sha1.New, []byte(p.Secret))
	io.WriteString(mac, address)
	for _, name := range slices.Sorted(maps.Keys(form)) {
		io.WriteString(mac, name+form.Get(name))
	}
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// refused adds what a service says to why it does not take a call.
func refused(resp *http.Response, err error) error {
	if resp == nil {
		return err
	}
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 300)) // what is beyond it is for nobody
	return fmt.Errorf("%w: %w: %s %s", ErrRefused, err, resp.Status, strings.Join(strings.Fields(string(said)), " "))
}

func (s *stream) id() string { return s.call }

func (s *stream) rate() int { return telephoneHz }

type object = map[string]any

func (s *stream) send(event string, more object) error {
	s.sequence++
	o := object{"event": event, "sequenceNumber": strconv.Itoa(s.sequence), "streamSid": s.sid}
	maps.Copy(o, more)
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return s.write(websocket.TextMessage, b)
}

func (s *stream) begin() error {
	b, err := json.Marshal(object{"event": "connected", "protocol": "Call", "version": "1.0.0"})
	if err != nil {
		return err
	}
	if err := s.write(websocket.TextMessage, b); err != nil {
		return err
	}
	return s.send("start", object{"start": object{
		"accountSid": s.account, "streamSid": s.sid, "callSid": s.call, "tracks": []string{"inbound"}, "customParameters": s.parameters,
		"mediaFormat": object{"encoding": "audio/x-mulaw", "sampleRate": telephoneHz, "channels": 1},
	}})
}

func (s *stream) say(p audio.PCM) error {
	at := s.chunk * int(frame.Milliseconds())
	s.chunk++
	return s.send("media", object{"media": object{
		"track": "inbound", "chunk": strconv.Itoa(s.chunk), "timestamp": strconv.Itoa(at), "payload": base64.StdEncoding.EncodeToString(p.AppendMuLaw(nil)),
	}})
}

func (s *stream) press(digit rune) error {
	return s.send("dtmf", object{"dtmf": object{"track": "inbound_track", "digit": string(digit)}})
}

func (s *stream) played(name string) error {
	return s.send("mark", object{"mark": object{"name": name}})
}

func (s *stream) end() {
	_ = s.send("stop", object{"stop": object{"accountSid": s.account, "callSid": s.call}}) // it may be gone
	s.part()
}

// command is what a service sends.
type command struct {
	Event string `json:"event"`
	SID   string `json:"streamSid"`
	Media *struct {
		Payload string `json:"payload"`
	} `json:"media"`
	Mark *struct {
		Name string `json:"name"`
	} `json:"mark"`
}

func (s *stream) receive(fault func(string, ...any)) (order, error) {
	text, b, err := s.read()
	if err != nil {
		return nil, err
	}
	if !text {
		fault("a binary message of %d bytes: Twilio takes text", len(b))
		return nothing{}, nil
	}
	return s.understand(b, fault), nil
}

// understand reads a message.
func (s *stream) understand(b []byte, fault func(string, ...any)) order {
	var c command
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		fault("%.80q: %v", b, err)
		return nothing{}
	}
	if d.More() {
		fault("%.80q: there is something behind the message", b)
	}
	if c.SID != s.sid {
		fault("a %s message for the stream %q, and this one is %q", c.Event, c.SID, s.sid)
	}
	if (c.Media != nil) != (c.Event == "media") || (c.Mark != nil) != (c.Event == "mark") {
		fault("%.80q: its fields are not those of its event", b)
		return nothing{}
	}
	switch c.Event {
	case "media":
		sound, err := base64.StdEncoding.DecodeString(c.Media.Payload)
		if err != nil || len(sound) == 0 {
			fault("sound of %d characters in broken base64, or none: %v", len(c.Media.Payload), err)
			return nothing{}
		}
		return play{audio.FromMuLaw(sound)}
	case "mark":
		if c.Mark.Name == "" {
			fault("a mark without a name")
		}
		return mark{c.Mark.Name}
	case "clear":
		return empty{}
	}
	fault("the event %q, which Twilio does not know", c.Event)
	return nothing{}
}
