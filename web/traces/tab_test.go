package traces

import (
	"net/http/httptest"
	"testing"

	"riposte/web/browsertest"
)

// browse opens a tab in Chromium for a page.
func browse(t *testing.T, p *Page) *browsertest.Browser {
	t.Helper()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return browsertest.New(t, server.URL)
}
