package rest

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// find returns the route that answers a request for a model, of an engine that has a name of its own: that of the address, or the one
// whose name is asked for in place of a model's. The error says which names there are.
func (s *Server) find(x *exchange, name, own string) (route string, set Route, err error) {
	if name == "" {
		return "", Route{}, missing("model")
	}
	byName, isRoute := s.Routes[name]
	if !isRoute && name != own && !slices.Contains(s.Models.Aliases, name) && !slices.Contains(s.Models.Aliases, "*") {
		return "", Route{}, s.unknownModel(name)
	}
	x.note.Model = name
	if r, ok := s.Routes[x.route]; ok {
		x.note.Route = x.route
		return x.route, r, nil
	}
	if isRoute {
		x.note.Route = name
		return name, byName, nil
	}
	return "", s.Default, nil
}

func (s *Server) unknownModel(name string) error {
	return &Problem{Status: http.StatusNotFound, Code: "model_not_found", Param: "model",
		Message: "There is no model " + quoted(name) + " here. There are: " + strings.Join(s.names(), ", ") + ". The setting rest.aliases gives them other names."}
}

// names are those of all models and routes, each once.
func (s *Server) names() []string {
	all := slices.Concat([]string{s.Models.LLM, s.Models.STT, s.Models.TTS}, slices.Sorted(maps.Keys(s.Routes)))
	var out []string
	for _, n := range all {
		if n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// modelObject is a model in OpenAI's form.
type modelObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (s *Server) modelObject(name string) modelObject {
	return modelObject{ID: name, Object: "model", Created: s.Created.Unix(), OwnedBy: "riposte"}
}

// listModels answers GET /v1/models.
func (s *Server) listModels(x *exchange) error {
	data := []modelObject{}
	for _, n := range s.names() {
		data = append(data, s.modelObject(n))
	}
	return x.reply(map[string]any{"object": "list", "data": data})
}

// showModel answers GET /v1/models/{id}.
func (s *Server) showModel(x *exchange) error {
	name := x.r.PathValue("id")
	if !slices.Contains(s.names(), name) && !slices.Contains(s.Models.Aliases, name) {
		return s.unknownModel(name)
	}
	return x.reply(s.modelObject(name))
}

// quoted quotes what a client said, and no more of it than anybody reads.
func quoted(s string) string {
	const most = 64
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return `"` + s + `"`
}
