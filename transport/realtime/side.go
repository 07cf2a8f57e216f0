package realtime

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gorilla/websocket"

	"riposte/transport"
)

// A side is a second connection of a call, by which a server watches it and steers it: it is sent the call's events, and may send its own. It
// has a queue of its own. One that does not read loses its connection; the call never waits for it.
type side struct {
	socket *socket
	number int         // Which of the call's it is: the first is 1.
	out    chan []byte // What is to be sent. Closed when nothing more will be,
	why    error       // for this reason.
	size   int64       // The bytes of what is in it. Guarded by sides.mu.
}

// sides are the connections that are attached to a call.
type sides struct {
	mu    sync.Mutex
	all   []*side
	count int  // Those that there have been.
	over  bool // The call has ended.
}

// add attaches one, if there are fewer than most.
func (s *sides) add(one *side, most int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return errGone
	}
	if len(s.all) >= most {
		return &denial{http.StatusTooManyRequests, "too_many_connections", fmt.Sprintf("%d connections are attached to this call already, which is the most.", len(s.all))}
	}
	s.count++
	one.number = s.count
	s.all = append(s.all, one)
	return nil
}

// errGone says that a call is none any more.
var errGone error = &denial{http.StatusNotFound, "call_not_found", "There is no such call, or none any more."}

// tell hands an event to all, or to the one that it is for. One whose queue is full is let go.
func (s *sides) tell(event []byte, only *side, most int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range slices.Clone(s.all) {
		if only != nil && one != only {
			continue
		}
		size := int64(len(event))
		if one.size > 0 && one.size+size > most {
			s.drop(one, transport.ErrSlowReader)
			continue
		}
		select {
		case one.out <- event:
			one.size += size
		default:
			s.drop(one, transport.ErrSlowReader)
		}
	}
}

// sent notes that an event has left a queue.
func (s *sides) sent(one *side, event []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.size -= int64(len(event))
}

// drop detaches one. The caller holds mu.
func (s *sides) drop(one *side, why error) {
	if i := slices.Index(s.all, one); i >= 0 {
		s.all = slices.Delete(s.all, i, i+1)
		one.why = why
		close(one.out)
	}
}

// leave detaches one that is gone.
func (s *sides) leave(one *side, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(one, why)
}

// close detaches all, since the call has ended.
func (s *sides) close(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, one := range slices.Clone(s.all) {
		s.drop(one, why)
	}
}

// find returns the one of a number; nil if it is gone.
func (s *sides) find(number int) *side {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		if one.number == number {
			return one
		}
	}
	return nil
}

// refMark is what begins the name of an event that came from a side.
const refMark = "\x00side "

// refOf marks the name of an event of a side's, so that what is wrong with it is told to that one alone.
func refOf(one *side, id string) string {
	switch {
	case one != nil:
		return fmt.Sprintf("%s%d %s", refMark, one.number, id)
	case strings.HasPrefix(id, refMark):
		return refMark + "0 " + id // whoever writes so is not taken for somebody else
	}
	return id
}

// whose takes the mark off. own is false for an event of the call's own client; one is nil for a side that is gone.
func (s *sides) whose(ref string) (one *side, id string, own bool) {
	rest, ok := strings.CutPrefix(ref, refMark)
	if !ok {
		return nil, ref, true
	}
	head, id, _ := strings.Cut(rest, " ")
	number, err := strconv.Atoi(head)
	if err != nil || number == 0 {
		return nil, id, true
	}
	return s.find(number), id, false
}

// attach connects a side to a call, and serves it until one of the two ends.
func (s *Server) attach(w http.ResponseWriter, r *http.Request, guest Guest, id string) {
	c := s.held.find(id)
	switch {
	case guest.secret:
		s.Refuse(w, &denial{http.StatusForbidden, "key_needed", "A client secret makes calls, and cannot attach to one: this takes one of the service's keys."})
		return
	case c == nil:
		s.Refuse(w, errGone)
		return
	}
	one := &side{out: make(chan []byte, c.limits.Queue)}
	if err := c.sides.add(one, c.limits.Sides); err != nil {
		s.Refuse(w, err)
		return
	}
	ws, err := s.upgrade(w, r)
	if err != nil {
		c.sides.leave(one, transport.ErrHungUp)
		return // it has been answered
	}
	one.socket = newSocket(ws, c.limits)
	log := s.Log.With("call", c.ID(), "side", one.number)
	log.Info("a connection is attached", "from", r.RemoteAddr, "agent", r.UserAgent())
	var reading sync.WaitGroup
	reading.Go(func() { c.sides.leave(one, c.listenTo(one)) })
	c.greet(one)
	var failed error
	for event := range one.out {
		if failed == nil {
			if failed = one.socket.Send(event); failed != nil {
				c.sides.leave(one, failed)
			}
		}
		c.sides.sent(one, event)
	}
	if failed == nil {
		one.socket.Goodbye(one.why)
	}
	one.socket.Close()
	reading.Wait()
	log.Info("a connection is detached", "why", one.why)
}

// greet tells a side what the session is, which is the first thing that it is told.
func (c *call) greet(one *side) {
	b, err := json.Marshal(fields{"type": "session.created", "event_id": newEventID(), "session": c.current().shown()})
	if err == nil {
		c.sides.tell(b, one, c.limits.Buffer)
	}
}

// listenTo takes what comes from a side until it is gone, or the call is, and says why.
func (c *call) listenTo(one *side) error {
	for {
		in, err := one.socket.Receive()
		if err != nil {
			return err
		}
		in.from = one
		select {
		case c.in <- in:
		case <-c.gone:
			return transport.ErrHungUp
		}
	}
}

// held are the calls that there are, by the names that they can be attached by.
type held struct {
	mu    sync.Mutex
	calls map[string]*call
}

func (h *held) add(c *call, names ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls == nil {
		h.calls = map[string]*call{}
	}
	for _, n := range names {
		if n != "" {
			h.calls[n] = c
		}
	}
}

func (h *held) remove(c *call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n, other := range h.calls {
		if other == c {
			delete(h.calls, n)
		}
	}
}

func (h *held) find(name string) *call {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls[name]
}

// Control answers what is asked of a call that there is:
//
//	POST /v1/realtime/calls/{id}/hangup                   its end
//	POST /v1/realtime/calls/{id}/accept, reject, refer    refused, since these are for calls over SIP
func (s *Server) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/realtime/calls/{id}/hangup", s.HangUp)
	for _, verb := range []string{"accept", "reject", "refer"} {
		mux.HandleFunc("POST /v1/realtime/calls/{id}/"+verb, s.notSIP)
	}
	return mux
}

// HangUp ends a call.
func (s *Server) HangUp(w http.ResponseWriter, r *http.Request) {
	guest, err := s.Enter(w, r)
	c := s.held.find(r.PathValue("id"))
	switch {
	case err != nil:
	case c == nil:
		err = errGone
	case guest.secret && len(s.Keys) > 0:
		err = &denial{http.StatusForbidden, "key_needed", "A client secret cannot end this call: this takes one of the service's keys."}
	}
	if err != nil {
		s.Refuse(w, err)
		return
	}
	c.end(transport.ErrHungUp)
	w.WriteHeader(http.StatusOK)
}

// notSIP refuses what is for calls over SIP.
func (s *Server) notSIP(w http.ResponseWriter, r *http.Request) {
	_, err := s.Enter(w, r)
	if err == nil {
		err = &denial{http.StatusBadRequest, "not_a_sip_call", "Only calls over SIP can be accepted, rejected and referred, and this service takes none: calls over WebRTC and WebSocket are taken as they come, and ended by /hangup."}
	}
	s.Refuse(w, err)
}

// upgrade makes a WebSocket of a request, or answers it.
func (s *Server) upgrade(w http.ResponseWriter, r *http.Request) (*websocket.Conn, error) {
	upgrader := websocket.Upgrader{
		CheckOrigin:     func(*http.Request) bool { return true }, // Enter has
		WriteBufferSize: 4 << 10,
		Subprotocols:    []string{"realtime"},
		Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
			refuse(w, status, "bad_handshake", reason.Error())
		},
	}
	return upgrader.Upgrade(w, r, nil)
}
