package remote

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
)

// This file keeps services from asking each other in a circle: each request says, in the header Via, through whom it has come. (RFC 9110,
// section 7.6.3)

// Name is what a service is called there.
type Name string

// NewName makes one that no other service has.
func NewName() Name { return Name("riposte-" + rand.Text()) }

// mostVia is how long the header may be, in bytes: some twenty services.
const mostVia = 1 << 10

type viaKey struct{}

// Follow returns what the service is to answer a request with these headers under: requests to servers that are made for it then say where it
// has been. It reports false where that is here already, or where there is no end to it.
func (n Name) Follow(ctx context.Context, h http.Header) (context.Context, bool) {
	via := strings.Join(h.Values("Via"), ", ")
	if strings.Contains(via, string(n)) || len(via) > mostVia {
		return ctx, false
	}
	return context.WithValue(ctx, viaKey{}, via), true
}

// via returns the header of a request of the service's that is made under ctx.
func (n Name) via(ctx context.Context) string {
	own := "1.1 " + string(n)
	if before, _ := ctx.Value(viaKey{}).(string); before != "" {
		return before + ", " + own
	}
	return own
}
