// Package track is what both sides of a call over WebRTC have in common: how its tracks of sound are agreed on, what a packet of one is, and
// how long packets are underway.
package track

import (
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/webrtc/v4"

	"riposte/audio/opus"
)

// Format is how a call says that it has Opus: any length from 10 ms on, and FEC.
const Format = "minptime=10;useinbandfec=1"

// again is the longest after which a data channel sends again what nobody has confirmed. Usually that doubles each time, up to a minute: after
// some seconds without a network everything said meanwhile would be as much later once more.
const again = time.Second

// soon is after how long the first packets of a connection are sent again: usually it is a second at first, and twice as long each time, and a call
// begins with six flights of them.
const soon = 300 * time.Millisecond

// API returns what makes connections whose one codec is Opus, whose sides report to each other what came, and whose data channels recover
// from loss within a second.
func API(e webrtc.SettingEngine) (*webrtc.API, error) {
	e.SetSCTPRTOMax(again)
	e.SetDTLSRetransmissionInterval(soon)
	var media webrtc.MediaEngine
	codec := webrtc.RTPCodecParameters{
		RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: opus.Clock, Channels: 2, SDPFmtpLine: Format},
		PayloadType:        111, // as browsers number it
	}
	if err := media.RegisterCodec(codec, webrtc.RTPCodecTypeAudio); err != nil {
		return nil, err
	}
	var steps interceptor.Registry
	if err := webrtc.ConfigureRTCPReports(&steps); err != nil {
		return nil, err
	}
	return webrtc.NewAPI(webrtc.WithMediaEngine(&media), webrtc.WithInterceptorRegistry(&steps), webrtc.WithSettingEngine(e)), nil
}
