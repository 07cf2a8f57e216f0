package rest

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// upload is what a form asks for that brings a recording.
type upload struct {
	file   []byte
	name   string
	values map[string][]string
}

// mostValue is how long a field of a form may be that is no file.
const mostValue = 64 << 10

// readUpload reads a form.
func (s *Server) readUpload(x *exchange) (u upload, err error) {
	kind, params, err := mime.ParseMediaType(x.r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return u, &Problem{Status: http.StatusBadRequest, Code: "invalid_content_type",
			Message: "A recording comes in a form: send multipart/form-data with the fields file and model."}
	}
	_ = x.conn.SetReadDeadline(time.Now().Add(s.Limits.Sending)) // a recording may take longer than other requests
	body := s.body(x, s.Limits.Upload+mostForm)
	u, err = parseUpload(body, params["boundary"], s.Limits.Upload)
	if err == nil {
		_, err = io.Copy(io.Discard, body) // only behind the end of a request it is noticed when its client leaves
	}
	if err != nil {
		err = unread(err, s.Limits.Upload)
	}
	return u, err
}

// mostForm is how much the rest of a form may have: its fields, and what stands around them.
const mostForm = 1 << 20

// parseUpload reads the parts of a form, whose file may have so many bytes.
func parseUpload(r io.Reader, boundary string, most int64) (u upload, err error) {
	u.values = map[string][]string{}
	found := false
	parts := multipart.NewReader(r, boundary)
	for {
		p, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return u, err
		}
		name := p.FormName()
		limit := int64(mostValue)
		if name == "file" {
			limit = most
		}
		b, err := io.ReadAll(io.LimitReader(p, limit+1))
		switch {
		case err != nil:
			return u, err
		case int64(len(b)) > limit:
			return u, &Problem{Status: http.StatusRequestEntityTooLarge, Code: "request_too_large", Param: name,
				Message: fmt.Sprintf("%s is too long: it may have %d bytes here.", name, limit)}
		case name == "file" && found:
			return u, wrong("file", "The form has several files: send one.")
		case name == "file":
			u.file, u.name, found = b, p.FileName(), true
		default:
			u.values[name] = append(u.values[name], string(b))
		}
	}
	if !found {
		return u, missing("file")
	}
	if len(u.file) == 0 {
		return u, wrong("file", "file is empty.")
	}
	return u, nil
}

// value returns a field of the form; empty where it is missing.
func (u upload) value(name string) string {
	if v := u.values[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// list returns a field that may be there several times, with or without brackets.
func (u upload) list(name string) []string { return append(u.values[name], u.values[name+"[]"]...) }

// flag returns a field that is true or false.
func (u upload) flag(name string) (bool, error) {
	switch v := strings.ToLower(u.value(name)); v {
	case "", "false", "0":
		return false, nil
	case "true", "1":
		return true, nil
	default:
		return false, wrong(name, "%s is %s; it can be true or false.", name, quoted(v))
	}
}

// number returns a field that is a number from one to another; 0 where it is missing.
func (u upload) number(name string, from, to float64) (float64, error) {
	v := u.value(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n >= from && n <= to) {
		return 0, wrong(name, "%s is %s; it can be a number from %v to %v.", name, quoted(v), from, to)
	}
	return n, nil
}
