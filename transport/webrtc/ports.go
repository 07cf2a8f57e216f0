package webrtc

import (
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/pion/ice/v4"
)

// ports are where the packets of all calls come in and go out.
type ports struct {
	udp      ice.UDPMux
	tcp      ice.TCPMux // nil for none.
	loopback bool       // Only this machine can reach them.
}

// openPorts opens one UDP port, on one address or on each of the machine's, and one TCP port unless that is empty.
func openPorts(udp, tcp string, log *slog.Logger) (*ports, error) {
	address, err := net.ResolveUDPAddr("udp", udp)
	if err != nil {
		return nil, fmt.Errorf("the UDP port of calls over WebRTC: %w", err)
	}
	var p ports
	logger := logs{log}.NewLogger("ice")
	if address.IP == nil || address.IP.IsUnspecified() {
		// A socket for each address: from one for all, answers would leave by an address that the caller did not ask.
		mux, err := ice.NewMultiUDPMuxFromPort(address.Port, ice.UDPMuxFromPortWithLogger(logger))
		if err == nil && len(mux.GetListenAddresses()) == 0 { // a machine without a network
			mux.Close()
			p.loopback = true
			mux, err = ice.NewMultiUDPMuxFromPort(address.Port, ice.UDPMuxFromPortWithLogger(logger), ice.UDPMuxFromPortWithLoopback())
		}
		if err != nil {
			return nil, fmt.Errorf("the UDP port of calls over WebRTC: %w", err)
		}
		p.udp = mux
	} else {
		conn, err := net.ListenUDP("udp", address)
		if err != nil {
			return nil, fmt.Errorf("the UDP port of calls over WebRTC: %w", err)
		}
		p.loopback = address.IP.IsLoopback()
		p.udp = ice.NewUDPMuxDefault(ice.UDPMuxParams{UDPConn: conn, Logger: logger})
	}
	if tcp == "" {
		return &p, nil
	}
	listener, err := net.Listen("tcp", tcp)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the TCP port of calls over WebRTC: %w", err), p.close())
	}
	p.tcp = ice.NewTCPMuxDefault(ice.TCPMuxParams{Listener: listener, Logger: logger, ReadBufferSize: 64, WriteBufferSize: mostTCP})
	return &p, nil
}

// mostTCP is what may wait for a caller on TCP, in bytes: some seconds of sound. A full buffer loses packets, as a network does.
const mostTCP = 64 << 10

func (p *ports) close() error {
	var err error
	if p.tcp != nil {
		err = p.tcp.Close()
	}
	return errors.Join(p.udp.Close(), err)
}

// addresses says where the ports are.
func (p *ports) addresses() []string {
	var all []string
	for _, a := range p.udp.GetListenAddresses() {
		all = append(all, a.String())
	}
	return all
}
