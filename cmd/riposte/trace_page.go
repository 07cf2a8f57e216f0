package main

import (
	"context"
	"io"

	"riposte/budget/trace/export"
	"riposte/web/traces"
)

// openPage makes the page /traces ready. shut closes what it reads.
func (s *service) openPage() (page *traces.Page, shut func()) {
	set := &s.settings.Trace
	path, err := tracesAt(set.File)
	if err != nil {
		s.log.Warn("the page of traces shows none", "err", err)
	}
	page = &traces.Page{
		Path: path, Access: traces.Access(set.Page), Hosts: set.Hosts, Plan: s.settings.plan(), Version: version, Log: s.log, Export: exportFromPage, CallsCSV: export.CallsCSV,
	}
	page.Open()
	return page, func() {
		if err := page.Close(); err != nil {
			s.log.Warn("closing", "err", err)
		}
	}
}

// exportFromPage writes what riposte trace export does.
func exportFromPage(ctx context.Context, to io.Writer, x traces.Export) error {
	c := traceExportCmd{Format: x.Format, NoText: !x.Words}
	return c.write(ctx, to, x.Store, x.Filter)
}
