package asterisk

import (
	"bufio"
	"crypto/md5"
	"fmt"
	"net"
	"net/textproto"
	"strings"
	"testing"
	"time"
)

// fakeManager is an AMI that knows one user, and answers the action named wrong with an error. What it was asked comes back when it has been left.
func fakeManager(t *testing.T, wrong string) (m *Manager, asked func() []string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	all := make(chan []string, 1)
	go func() {
		var got []string
		defer func() { all <- got }()
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "Asterisk Call Manager/11.0.0\r\n")
		in := textproto.NewReader(bufio.NewReader(conn))
		for {
			h, err := in.ReadMIMEHeader()
			if err != nil {
				return
			}
			action := h.Get("Action")
			got = append(got, strings.Join([]string{action, h.Get("Channel"), h.Get("Context"), h.Get("Exten"), h.Get("Value")}, "|"))
			fmt.Fprint(conn, "Event: FullyBooted\r\nStatus: Fully Booted\r\n\r\n")
			switch {
			case action == wrong:
				fmt.Fprint(conn, "Response: Error\r\nMessage: No such channel\r\n\r\n")
			case action == "Challenge":
				fmt.Fprint(conn, "Response: Success\r\nChallenge: 4711\r\n\r\n")
			case action == "Login" && h.Get("Key") != fmt.Sprintf("%x", md5.Sum([]byte("4711secret"))):
				fmt.Fprint(conn, "Response: Error\r\nMessage: Authentication failed\r\n\r\n")
			default:
				fmt.Fprint(conn, "Response: Success\r\n\r\n")
			}
		}
	}()
	return &Manager{Address: listener.Addr().String(), User: "riposte", Secret: "secret"}, func() []string { return <-all }
}

func TestRedirect(t *testing.T) {
	m, asked := fakeManager(t, "")
	if err := m.Redirect(t.Context(), "PJSIP/100-00000001", "+49301234#", "wants\r\nAction: Originate\n\na refund"); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(asked(), "\n")
	want := "Challenge||||\nLogin||||\nSetvar|PJSIP/100-00000001|||wants Action: Originate a refund\nRedirect|PJSIP/100-00000001|riposte-transfer|+49301234#|"
	if got != want {
		t.Errorf("it was asked\n%s\nand not\n%s", got, want)
	}
}

func TestRedirectFails(t *testing.T) {
	for _, c := range []struct{ wrong, secret, channel, to, want string }{
		{"Redirect", "secret", "PJSIP/1", "17", "No such channel"},
		{"", "other", "PJSIP/1", "17", "Authentication failed"},
		{"", "secret", "PJSIP/1\r\nAction: Originate", "17", "line break"},
		{"", "secret", "PJSIP/1", "17\r\nAction: Originate", "no extension"},
		{"", "secret", "PJSIP/1", "", "no extension"},
		{"", "secret", "PJSIP/1", "17,${SHELL(ls)}", "no extension"},
		{"", "secret", "PJSIP/1", strings.Repeat("1", 80), "no extension"},
	} {
		m, _ := fakeManager(t, c.wrong)
		m.Secret = c.secret
		if err := m.Redirect(t.Context(), c.channel, c.to, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := (&Manager{Address: "127.0.0.1:1"}).Redirect(t.Context(), "PJSIP/1", "17", ""); err == nil || !strings.Contains(err.Error(), "was not made") {
		t.Errorf("nobody there: %v", err)
	}
}

// An AMI that says nothing, or too much, is not waited for.
func TestRedirectStalled(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for {
			if _, err := conn.Write([]byte(strings.Repeat("x", 1000))); err != nil {
				return
			}
		}
	}()
	began := time.Now()
	if err := (&Manager{Address: listener.Addr().String()}).Redirect(t.Context(), "PJSIP/1", "17", ""); err == nil {
		t.Error("a transfer was made")
	}
	if took := time.Since(began); took > 2*managerTime {
		t.Errorf("it took %v", took)
	}
}
