package webrtc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/pion/sdp/v3"

	"riposte/transport/realtime"
)

// offer is what a caller's side wants to talk by.
type offer struct {
	SDP     string          `json:"sdp"`
	Session json.RawMessage `json:"session"` // What the session is to be, over the service's own; empty for that.
	Model   string          `json:"model"`
	object  bool            // It came as JSON.
	channel bool            // It has a data channel.
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
	var sound, codec bool
	for _, m := range d.MediaDescriptions {
		switch m.MediaName.Media {
		case "audio":
			sound = true
			for _, a := range m.Attributes {
				if a.Key == "rtpmap" && strings.Contains(strings.ToLower(a.Value), " opus/48000") {
					codec = true
				}
			}
		case "application":
			o.channel = true
		}
	}
	if !sound {
		return wrong("no_audio", "The offer has no audio: add the microphone's track, or a transceiver of the kind audio, before it is made.")
	}
	if !codec {
		return wrong("no_opus", "The offer's audio does not have Opus (opus/48000), the one codec of this service over WebRTC.")
	}
	return nil
}

func wrong(code, format string, args ...any) error {
	return realtime.Wrong(http.StatusBadRequest, code, format, args...)
}
