package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"riposte/budget"
	"riposte/remote"
	"riposte/transport"
)

// defaultRoute is the route of calls that ask for none.
const defaultRoute = "default"

// route is what calls that come by it are held by: the service's settings, with those of a file over them.
type route struct {
	*settings
	file config
}

// routeName is what a route may be called: it stands in addresses, and labels metrics and traces.
var routeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// perCallGroups are the sections all of which may differ from call to call.
var perCallGroups = []string{"talk", "budget", "price"}

// perCall are the settings outside of these that may differ from call to call. All others belong to an
// engine of this machine, which all calls share, or to the service.
var perCall = []string{
	"llm-max-tokens", "llm-temperature", "llm-top-p", "llm-top-k", "llm-min-p", "llm-repeat-penalty", "llm-seed", "stt-language", "tts-speed", "tools",
	"phone-numbers", "phone-parameters", "phone-level",
	"phone-answering", "phone-voicemail", "phone-answering-silence", "phone-answering-greeting", "phone-answering-wait", "phone-answering-end", "phone-answering-patience",
	"phone-transfer", "phone-hang-up", "phone-keys", "phone-summary", "trace-record", "record-dir",
}

// perServer are those that name what answers a route's calls, and say how it is reached. What they name is served elsewhere, or is one that
// the service has.
var perServer = []string{
	"stt-model", "stt-fallback", "llm-model", "llm-hedge", "tts-voice", "tts-fallback",
	"stt-key", "stt-headers", "stt-fallback-key", "stt-fallback-headers", "stt-every", "stt-timeout",
	"llm-key", "llm-headers", "llm-hedge-key", "llm-hedge-headers", "llm-extra", "llm-hedge-extra", "llm-timeout", "llm-read-ahead",
	"tts-key", "tts-headers", "tts-fallback-key", "tts-fallback-headers", "tts-speaker", "tts-fallback-speaker", "tts-format", "tts-timeout",
}

// openRoutes reads the files of all routes. The error names each setting that is wrong, with its file and line.
func (s *settings) openRoutes() (map[string]*route, error) {
	routes := map[string]*route{defaultRoute: {settings: s}}
	var errs []error
	for _, setting := range s.Routes {
		name, path, ok := strings.Cut(setting, "=")
		switch _, twice := routes[name]; {
		case !ok || path == "" || !routeName.MatchString(name):
			errs = append(errs, fmt.Errorf("routes: %q is not NAME=FILE, with a name of letters, digits and ._-, such as sales=sales.yaml", setting))
		case name == defaultRoute:
			errs = append(errs, fmt.Errorf("routes: %q is the route of calls that ask for none, and has the service's own settings", name))
		case twice:
			errs = append(errs, fmt.Errorf("routes: %q is there twice", name))
		default:
			r, err := s.openRoute(path)
			if err != nil {
				errs = append(errs, fmt.Errorf("route %s: %w", name, err))
			}
			routes[name] = r
		}
	}
	if len(errs) == 0 {
		_, err := switchboardOf(routes)
		errs = append(errs, err)
	}
	return routes, errors.Join(errs...)
}

// openRoute reads a route's file, which is a config file that sets no more than may differ from call to call.
func (s *settings) openRoute(path string) (*route, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	read, err := loadConfig(f)
	if err != nil {
		return nil, err
	}
	own := *s
	r := &route{settings: &own, file: read.(config)}
	r.forgetKeys()
	if err := r.overlay(); err != nil {
		return r, err
	}
	return r, r.checkEngines(s)
}

// forgetKeys takes from the route what the service sends to servers in whose place the route names others: they are not meant to know it.
func (r *route) forgetKeys() {
	for _, n := range r.settings.namings() {
		if _, own := r.file.values[n.flag]; own {
			*n.access = access{}
		}
	}
}

// checkEngines reports where the route names an engine that only the service could load, or a speaker of one.
func (r *route) checkEngines(service *settings) error {
	has := map[budget.Stage][]string{}
	for _, n := range service.namings() {
		if n.model != "" && !remote.Named(n.model) {
			has[n.stage] = append(has[n.stage], n.model)
		}
	}
	var errs []error
	for _, n := range r.settings.namings() {
		e, own := r.file.values[n.flag]
		if own && n.model != "" && !remote.Named(n.model) && !slices.Contains(has[n.stage], n.model) {
			errs = append(errs, fmt.Errorf("%s:%d: %s is %q, which the service has not loaded: a route may name what is served elsewhere (URL#NAME), or %s",
				r.file.path, e.line, dotted(n.flag), n.model, eitherOf(has[n.stage])))
		}
	}
	for speaker, name := range map[string]string{"tts-speaker": r.TTS.Voice, "tts-fallback-speaker": r.TTS.Fallback} {
		if e, own := r.file.values[speaker]; own && !remote.Named(name) {
			errs = append(errs, fmt.Errorf("%s:%d: %s is the same for all calls where the voice is one of this machine", r.file.path, e.line, dotted(speaker)))
		}
	}
	return errors.Join(errs...)
}

// overlay puts the file's settings over those that the route has.
func (r *route) overlay() error {
	app, err := kong.New(r.settings, kong.Name("route"), kong.ExplicitGroups(settingGroups), durations)
	if err != nil {
		return err
	}
	flags := map[string]*kong.Flag{}
	for _, f := range app.Model.Flags {
		if f.Group != nil {
			flags[f.Name] = f
		}
	}
	var errs []error
	byLine := func(a, b string) int { return r.file.values[a].line - r.file.values[b].line }
	for _, name := range slices.SortedFunc(maps.Keys(r.file.values), byLine) {
		if err := r.set(name, flags); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", r.file.path, r.file.values[name].line, err))
		}
	}
	return errors.Join(errs...)
}

// set sets one setting as the file does.
func (r *route) set(name string, flags map[string]*kong.Flag) error {
	flag, value := flags[name], r.file.values[name].value
	switch {
	case flag == nil:
		return errors.New(unknown(name, slices.Sorted(maps.Keys(flags))))
	case r.file.values[name].list && !flag.IsSlice():
		return oneText(name)
	case !slices.Contains(perCallGroups, flag.Group.Key) && !slices.Contains(perCall, name) && !slices.Contains(perServer, name):
		return fmt.Errorf("%s is the same for all calls: a route may set what is in talk, budget and price, %s, and what names remote engines", dotted(name), list(perCall))
	case name == "stt-language" && value == "auto" && r.STT.Language != "auto":
		return fmt.Errorf("stt.language is auto: a route may name a language, or leave it to the service's own, which is %s", r.STT.Language)
	}
	if text, ok := value.(string); flag.Enum != "" && (!ok || !slices.Contains(flag.EnumSlice(), text)) {
		return fmt.Errorf("%s is %v: it must be one of %s", dotted(name), value, strings.Join(flag.EnumSlice(), ", "))
	}
	if err := flag.Parse(kong.Scan().PushTyped(value, kong.FlagValueToken), flag.Target); err != nil {
		return err
	}
	return r.Validate()
}

// list writes flags' names as the file has them, for people.
func list(names []string) string {
	var out []string
	for _, n := range names {
		out = append(out, dotted(n))
	}
	return strings.Join(out[:len(out)-1], ", ") + " and " + out[len(out)-1]
}

// hears reports what languages of routes the recogniser does not know.
func hears(routes map[string]*route, knows func(language string) bool) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		r := routes[name]
		e, ok := r.file.values["stt-language"]
		if remote.Named(r.STT.Model) {
			continue // nobody can tell before it is tried
		}
		if language := r.call().Language; ok && language != "" && !knows(language) {
			errs = append(errs, fmt.Errorf("route %s: %s:%d: the model %s does not know the language %q", name, r.file.path, e.line, r.STT.Model, language))
		}
	}
	return errors.Join(errs...)
}

// beginnings returns what calls begin with, by their route.
func beginnings(routes map[string]*route) map[string]transport.Settings {
	out := map[string]transport.Settings{}
	for name, r := range routes {
		begin := r.call()
		begin.Route = name
		out[name] = begin
	}
	return out
}

// route returns what a call that begins with these settings is held by.
func (s *service) route(call transport.Settings) (name string, r *settings) {
	if r := s.routes[call.Route]; r != nil {
		return call.Route, r.settings
	}
	return defaultRoute, s.settings
}

// toLearn returns what has to be at hand for calls of any route.
func (s *service) toLearn() (texts []string) {
	routes := []*settings{s.settings}
	for _, name := range slices.Sorted(maps.Keys(s.routes)) {
		routes = append(routes, s.routes[name].settings)
	}
	for _, r := range routes {
		for _, text := range slices.Concat(lines(r.Talk.Openers), []string{r.Talk.Apology}, lines(r.Talk.Waiting)) {
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return texts
}
