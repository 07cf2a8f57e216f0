package remote

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Address says where a model is served: the base of an OpenAI-compatible API, and the model's name there.
type Address struct {
	Base  *url.URL // Its path ends with a slash.
	Model string
}

// ErrAddress reports what should be an address and is none.
var ErrAddress = errors.New("not the address of a remote model")

// Named reports whether a setting names a remote model, and not one of this machine.
func Named(setting string) bool { return strings.Contains(setting, "://") }

// Parse reads URL#NAME, such as http://gpu1:8000/v1#qwen3-8b. The URL is what clients call the base URL, up to and with /v1.
func Parse(setting string) (Address, error) {
	const example = "such as http://gpu1:8000/v1#qwen3-8b"
	u, err := url.Parse(setting)
	switch {
	case err != nil: // its text may hold what was meant to be secret
		return Address{}, fmt.Errorf("%w: it cannot be read as a URL (it is URL#NAME, %s)", ErrAddress, example)
	case u.User != nil:
		return Address{}, fmt.Errorf("%w: %s has a user or password in it: a key belongs into the setting for it", ErrAddress, u.Host)
	case u.Scheme != "http" && u.Scheme != "https":
		return Address{}, fmt.Errorf("%w: %q is neither http nor https, %s", ErrAddress, u.Scheme, example)
	case u.Host == "" || u.Opaque != "":
		return Address{}, fmt.Errorf("%w: there is no host in %q, %s", ErrAddress, setting, example)
	case u.RawQuery != "" || u.ForceQuery:
		return Address{}, fmt.Errorf("%w: %s has a query: only scheme, host, port and path belong before the #", ErrAddress, u.Host)
	case u.Fragment == "":
		return Address{}, fmt.Errorf("%w: %q does not name the model: put #NAME behind it, %s", ErrAddress, setting, example)
	}
	a := Address{Model: u.Fragment}
	u.Fragment, u.RawFragment = "", ""
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/")+"/", ""
	a.Base = u
	return a, nil
}

// String returns the address as Parse reads it.
func (a Address) String() string {
	if a.Base == nil {
		return a.Model
	}
	return strings.TrimSuffix(a.Base.String(), "/") + "#" + a.Model
}

// Plain reports whether what is sent there can be read on its way: by http, to another machine.
func (a Address) Plain() bool {
	if a.Base.Scheme == "https" || a.Base.Hostname() == "localhost" {
		return false
	}
	ip := net.ParseIP(a.Base.Hostname())
	return ip == nil || !ip.IsLoopback()
}
