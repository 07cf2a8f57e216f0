package web

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// A body that never ends holds its connection no longer than the limit, whether it is read or not, and however slowly it drips in.
func TestBodyLimit(t *testing.T) {
	const limit = 300 * time.Millisecond
	server := httptest.NewServer(WithBodyLimit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/refuses":
			w.WriteHeader(http.StatusUnauthorized)
			return
		case "/works":
			_, _ = io.ReadAll(r.Body)
			select {
			case <-time.After(3 * limit):
			case <-r.Context().Done():
				w.WriteHeader(http.StatusGone)
			}
			return
		}
		if _, err := io.ReadAll(r.Body); errors.Is(err, os.ErrDeadlineExceeded) {
			w.WriteHeader(http.StatusRequestTimeout)
		}
	}), limit))
	t.Cleanup(server.Close)

	for _, tt := range []struct {
		name, path, body string
		length           int
		drips            bool
		want             int
		closed           bool
	}{
		{"read, and never ends", "/reads", "{", 1000, false, http.StatusRequestTimeout, true},
		{"read, and drips in", "/reads", "{", 1000, true, http.StatusRequestTimeout, true},
		{"refused, and never ends", "/refuses", "{", 1000, false, http.StatusUnauthorized, true},
		{"refused, and never ends, and is too long to be read", "/refuses", "{", 10 << 20, false, http.StatusUnauthorized, true},
		{"whole, and then worked at for longer", "/works", "{}", 2, false, http.StatusOK, false},
		{"none, and then worked at for longer", "/works", "", 0, false, http.StatusOK, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(20 * time.Second))
			began := time.Now()
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", tt.path, tt.length, tt.body)
			if tt.drips {
				go func() {
					for {
						time.Sleep(limit / 10)
						if _, err := io.WriteString(c, "x"); err != nil {
							return
						}
					}
				}()
			}
			b := bufio.NewReader(c)
			answer, err := http.ReadResponse(b, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			if answer.StatusCode != tt.want {
				t.Errorf("answered %d, want %d", answer.StatusCode, tt.want)
			}
			if tt.closed {
				if _, err := b.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the connection is held: %v", err)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("it was held for %v", took)
				}
				return
			}
			fmt.Fprint(c, "GET /reads HTTP/1.1\r\nHost: localhost\r\n\r\n")
			if again, err := http.ReadResponse(b, nil); err != nil || again.StatusCode != http.StatusOK {
				t.Errorf("the next request on the connection: %v", err)
			}
		})
	}
}

// A WebSocket is no body, whatever its request says.
func TestBodyLimitOfHijacked(t *testing.T) {
	const limit = 50 * time.Millisecond
	server := httptest.NewServer(WithBodyLimit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		line, err := rw.ReadString('\n')
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(c, line)
	}), limit))
	t.Cleanup(server.Close)
	c, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n")
	time.Sleep(4 * limit)
	fmt.Fprint(c, "late\n")
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || strings.TrimSpace(line) != "late" {
		t.Errorf("%q, %v", line, err)
	}
}
