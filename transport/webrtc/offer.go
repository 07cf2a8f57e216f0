package webrtc

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"

	"github.com/pion/sdp/v3"
	"github.com/pion/webrtc/v4"

	"riposte/transport/realtime"
)

// offer is what a caller's side wants to talk by.
type offer struct {
	SDP     string          `json:"sdp"`
	Session json.RawMessage `json:"session"` // What the session is to be, over the service's own; empty for that.
	Model   string          `json:"model"`
	object  bool            // It came as JSON.
	channel bool            // It has a data channel.

	ice       webrtc.ICEParameters // What the checks of the connection go by,
	addresses []string             // and where they are sent to: its candidates, each of them once.
}

// readOffer reads an offer in each of the forms in which clients send one: SDP as it is, a form with the fields sdp and session, or an
// object with them. The error is for Refuse.
func readOffer(contentType string, body []byte) (offer, error) {
	var o offer
	kind, params, err := mime.ParseMediaType(contentType)
	switch {
	case err == nil && kind == "application/sdp":
		o.SDP = string(body)
	case err == nil && kind == "application/json":
		if err := json.Unmarshal(body, &o); err != nil {
			return o, wrong("invalid_json", "The offer is no JSON object with sdp, and session or model: %v.", err)
		}
		o.object = true
	case err == nil && kind == "multipart/form-data" && params["boundary"] != "":
		if err := o.readForm(multipart.NewReader(bytes.NewReader(body), params["boundary"])); err != nil {
			return o, wrong("invalid_form", "The form cannot be read: %v.", err)
		}
	default:
		return o, realtime.Wrong(http.StatusUnsupportedMediaType, "unsupported_content_type",
			"The Content-Type is %.64q; it must be application/sdp, multipart/form-data with sdp and session, or application/json with them.", contentType)
	}
	return o, o.check()
}

// readForm takes the fields of a form.
func (o *offer) readForm(r *multipart.Reader) error {
	for {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		b, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		switch part.FormName() {
		case "sdp":
			o.SDP = string(b)
		case "session":
			o.Session = b
		case "model":
			o.Model = string(b)
		}
	}
}

// check says what is wrong with the SDP before anything is begun with it.
func (o *offer) check() error {
	if strings.TrimSpace(o.SDP) == "" {
		return wrong("missing_sdp", "The offer has no SDP.")
	}
	if o.Session = bytes.TrimSpace(o.Session); string(o.Session) == "null" {
		o.Session = nil
	}
	var d sdp.SessionDescription
	if err := d.Unmarshal([]byte(o.SDP)); err != nil {
		return wrong("invalid_sdp", "The offer's SDP cannot be read: %.200v.", err)
	}
	if err := checkFingerprints(d.Attributes); err != nil {
		return err
	}
	var sound, off, codec bool
	for _, m := range d.MediaDescriptions {
		if err := checkFingerprints(m.Attributes); err != nil {
			return err
		}
		switch m.MediaName.Media {
		case "audio":
			if m.MediaName.Port.Value == 0 && !bundled(m) {
				off = true
				continue
			}
			sound = true
			for _, a := range m.Attributes {
				number, name, _ := strings.Cut(a.Value, " ")
				if a.Key == "rtpmap" && strings.HasPrefix(strings.ToLower(strings.TrimSpace(name)), "opus/48000") && slices.Contains(m.MediaName.Formats, number) {
					codec = true
				}
			}
		case "application":
			o.channel = true
		}
	}
	if !sound && off {
		return wrong("no_audio", "The offer's audio is switched off (m=audio 0): make the offer with the microphone's track, or a transceiver of the kind audio that is not stopped.")
	}
	if !sound {
		return wrong("no_audio", "The offer has no audio: add the microphone's track, or a transceiver of the kind audio, before it is made.")
	}
	o.readICE(&d)
	if !codec {
		return wrong("no_opus", "The offer's audio does not have Opus (opus/48000, by a number that its line m=audio names), the one codec of this service over WebRTC.")
	}
	return nil
}

// readICE takes what ICE needs from where pion takes it: the part that leads the bundle, or the first one.
func (o *offer) readICE(d *sdp.SessionDescription) {
	o.ice.UsernameFragment, _ = d.Attribute("ice-ufrag")
	o.ice.Password, _ = d.Attribute("ice-pwd")
	leads := func(*sdp.MediaDescription) bool { return true }
	group, _ := d.Attribute(sdp.AttrKeyGroup)
	if names := strings.Split(group, " "); strings.Contains(group, "BUNDLE") && len(names) > 1 && names[1] != "" {
		leads = func(m *sdp.MediaDescription) bool { mid, _ := m.Attribute(sdp.AttrKeyMID); return mid == names[1] }
	}
	first := slices.IndexFunc(d.MediaDescriptions, leads)
	if first < 0 {
		return
	}
	m := d.MediaDescriptions[first]
	if ufrag, ok := m.Attribute("ice-ufrag"); ok && o.ice.UsernameFragment == "" {
		o.ice.UsernameFragment = ufrag
		o.ice.Password, _ = m.Attribute("ice-pwd")
	}
	for _, a := range m.Attributes {
		if a.IsICECandidate() {
			o.addresses = append(o.addresses, a.Value)
		}
	}
	slices.Sort(o.addresses)
	o.addresses = slices.Compact(o.addresses)
}

// bundled reports whether a part goes by the transport of another one, for which its port says nothing.
func bundled(m *sdp.MediaDescription) bool {
	_, only := m.Attribute("bundle-only")
	return only
}

// digests are the lengths of the fingerprints of certificates, in bytes, by what they are made with.
var digests = map[string]int{"md5": 16, "sha-1": 20, "sha-224": 28, "sha-256": 32, "sha-384": 48, "sha-512": 64}

// checkFingerprints refuses fingerprints that no certificate can have: such a call could never connect.
func checkFingerprints(attributes []sdp.Attribute) error {
	for _, a := range attributes {
		if a.Key != "fingerprint" {
			continue
		}
		hash, digest, _ := strings.Cut(strings.TrimSpace(a.Value), " ")
		length, known := digests[strings.ToLower(hash)]
		if !known {
			return wrong("invalid_fingerprint", "The offer's fingerprint is made with %.32q; this service takes sha-256, and md5 and the other kinds of sha.", hash)
		}
		sum, err := hex.DecodeString(strings.ReplaceAll(digest, ":", ""))
		if err != nil || len(sum) != length || len(digest) != 3*length-1 {
			return wrong("invalid_fingerprint", "The offer's fingerprint %.100q is none of %s: that has %d bytes, in hexadecimal, with colons between them.", digest, hash, length)
		}
	}
	return nil
}

// takesAudio reports whether an answer has taken any audio that was offered.
func takesAudio(answer string) bool {
	var d sdp.SessionDescription
	if err := d.Unmarshal([]byte(answer)); err != nil {
		return false
	}
	return slices.ContainsFunc(d.MediaDescriptions, func(m *sdp.MediaDescription) bool {
		return m.MediaName.Media == "audio" && m.MediaName.Port.Value != 0
	})
}

func wrong(code, format string, args ...any) error {
	return realtime.Wrong(http.StatusBadRequest, code, format, args...)
}
