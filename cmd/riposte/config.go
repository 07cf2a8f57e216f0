package main

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// configPaths are the config files that are read where they exist. --config names another.
var configPaths = []string{"/etc/riposte/riposte.yaml", "riposte.yaml"}

// loadConfig reads a config file. A file has sections of keys; a section and a key, joined by a dash, are a flag's name:
//
//	stt:
//	  model: whisper-base
//
// is --stt-model=whisper-base. Unknown keys are errors. The environment and the command line go before the file.
func loadConfig(r io.Reader) (kong.Resolver, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(b, &root); err != nil {
		return nil, fmt.Errorf("config file: %w", err)
	}
	c := config{path: "config file", text: string(b), values: map[string]entry{}}
	if f, ok := r.(*os.File); ok {
		c.path = f.Name()
	}
	if len(root.Content) == 0 {
		return c, nil // an empty file sets nothing
	}
	return c, c.collect("", root.Content[0])
}

// config is a config file's settings, by flag name.
type config struct {
	path   string
	text   string // All of it.
	values map[string]entry
}

// entry is one setting in a file.
type entry struct {
	value any
	line  int
	list  bool
}

// collect flattens a mapping.
func (c config) collect(prefix string, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("%s:%d: %s must be a section of keys, such as \"stt:\" and an indented \"model: whisper-base\"",
			c.path, n.Line, orFile(strings.TrimSuffix(prefix, "-")))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := prefix + strings.NewReplacer("_", "-", ".", "-").Replace(key.Value)
		if _, twice := c.values[name]; twice {
			return fmt.Errorf("%s:%d: %s is set twice", c.path, key.Line, name)
		}
		if name == toolsSection {
			c.values[name] = entry{c.section(n, i), key.Line, false}
			continue
		}
		switch value.Kind {
		case yaml.MappingNode:
			if err := c.collect(name+"-", value); err != nil {
				return err
			}
		case yaml.SequenceNode:
			var items []string
			if err := value.Decode(&items); err != nil {
				return fmt.Errorf("%s:%d: %s: %w", c.path, value.Line, name, err)
			}
			c.values[name] = entry{strings.Join(items, ","), key.Line, true}
		default:
			c.values[name] = entry{value.Value, key.Line, false}
		}
	}
	return nil
}

// toolsSection is the one section that is a setting as it stands, and no keys of settings.
const toolsSection = "tools"

// section returns the text of a value in a mapping, at its place in a text without anything else, so that lines keep their numbers.
func (c config) section(n *yaml.Node, i int) string {
	value := n.Content[i+1]
	lines := strings.Split(c.text, "\n")
	end := len(lines)
	if i+2 < len(n.Content) {
		end = n.Content[i+2].Line - 1
	}
	from := value.Line - 1
	if from >= end || value.Column < 1 || value.Column-1 > len(lines[from]) {
		return value.Value
	}
	first := strings.Repeat(" ", value.Column-1) + lines[from][value.Column-1:]
	return strings.Repeat("\n", from) + strings.Join(append([]string{first}, lines[from+1:end]...), "\n")
}

func orFile(section string) string {
	if section == "" {
		return "the file"
	}
	return section
}

// Validate refuses keys that no flag has, and names the nearest that one has; and lists where one value is meant.
func (c config) Validate(app *kong.Application) error {
	var known []string
	flags := map[string]*kong.Flag{}
	_ = kong.Visit(app, func(n kong.Visitable, next kong.Next) error {
		if f, ok := n.(*kong.Flag); ok && f.Group != nil {
			known = append(known, f.Name)
			flags[f.Name] = f
		}
		return next(nil)
	})
	first := map[string]int{} // the first line of each thing that is wrong: a misspelt section is one, however many keys it has
	for name, e := range c.values {
		flag, why := flags[name], ""
		switch {
		case flag == nil:
			why = unknown(name, known)
		case e.list && !flag.IsSlice():
			why = oneText(name).Error()
		default:
			continue
		}
		if line, again := first[why]; !again || e.line < line {
			first[why] = e.line
		}
	}
	var wrong []string
	for why, line := range first {
		wrong = append(wrong, fmt.Sprintf("%s:%d: %s", c.path, line, why))
	}
	slices.Sort(wrong)
	if len(wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// parse says why the value is none that the flag could have.
func (e entry) parse(flag *kong.Flag) error {
	if flag.Enum != "" && !slices.Contains(flag.EnumSlice(), fmt.Sprint(e.value)) {
		return fmt.Errorf("it must be one of %s and not %q", strings.Join(flag.EnumSlice(), ", "), e.value)
	}
	value := reflect.New(flag.Target.Type()).Elem()
	return flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: kong.Scan().PushTyped(e.value, kong.FlagValueToken)}, value)
}

// oneText says that a setting is no list.
func oneText(name string) error {
	return fmt.Errorf("%q takes one text and no list: where several are meant they stand in one, separated by |", dotted(name))
}

// unknown says that there is no such setting, and which there is that may have been meant.
func unknown(name string, known []string) string {
	if slices.Contains(sections, name) {
		return fmt.Sprintf("%q is a section: its keys stand below it, indented", name)
	}
	// Who forgets the section writes the key alone.
	distance := func(k string) int {
		_, key, _ := strings.Cut(k, "-")
		return min(levenshtein.ComputeDistance(k, name), 1+levenshtein.ComputeDistance(key, name))
	}
	nearest := slices.MinFunc(known, func(a, b string) int { return distance(a) - distance(b) })
	if section, _, below := strings.Cut(name, "-"); below && distance(nearest) > (len(name)+1)/2 {
		for _, s := range append([]string{toolsSection}, sections...) {
			if levenshtein.ComputeDistance(s, section) == 1 {
				return fmt.Sprintf("there is no section %q; the nearest is %q", section, s)
			}
		}
	}
	if distance(nearest) > (len(name)+1)/2 {
		return fmt.Sprintf("there is no setting %q (riposte config lists all)", dotted(name))
	}
	return fmt.Sprintf("there is no setting %q; the nearest is %q", dotted(name), dotted(nearest))
}

// Resolve returns the file's value of a flag, unless the environment has one.
func (c config) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	e, ok := c.values[flag.Name]
	if !ok || flag.Group == nil {
		return nil, nil
	}
	for _, env := range flag.Envs {
		if _, set := os.LookupEnv(env); set {
			return nil, nil
		}
	}
	if err := e.parse(flag); err != nil {
		return nil, &fileError{fmt.Sprintf("%s:%d", c.path, e.line), dotted(flag.Name), err}
	}
	return e.value, nil
}

// fileError says that a config file sets something to what it cannot be.
type fileError struct {
	place, key string // file:line, and section.key.
	err        error
}

func (e *fileError) Error() string { return fmt.Sprintf("%s: %s: %v", e.place, e.key, e.err) }

func (e *fileError) Unwrap() error { return e.err }

// sections are the first words that flags of a section share.
var sections = []string{"log", "calls", "tls", "webrtc", "phone", "twilio", "telnyx", "vonage", "asterisk", "rest", "talk", "stt", "llm", "tts", "remote", "vad", "budget", "price", "trace", "record", "telemetry"}

// dotted writes a flag's name as the file has it: section.key.
func dotted(name string) string {
	if section, key, ok := strings.Cut(name, "-"); ok && slices.Contains(sections, section) {
		return section + "." + key
	}
	return name
}

// configCmd prints every setting as a config file.
type configCmd struct {
	settings
}

// Run prints the settings, with what they mean, as they are now.
func (c *configCmd) Run(k *kong.Context) error { return writeConfig(k.Stdout, k.Selected().Flags) }

// writeConfig writes those of the flags that are settings as a config file.
func writeConfig(w io.Writer, flags []*kong.Flag) error {
	var group, section string
	for _, f := range flags {
		if f.Group == nil {
			continue
		}
		if f.Group.Key != group {
			group = f.Group.Key
			fmt.Fprintf(w, "\n# %s\n", f.Group.Title)
		}
		key := dotted(f.Name)
		indent := ""
		if s, rest, ok := strings.Cut(key, "."); ok {
			if s != section {
				fmt.Fprintf(w, "%s:\n", s)
			}
			section, key, indent = s, rest, "  "
		} else {
			section = ""
		}
		value, err := marshal(f.Target.Interface())
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s# %s (%s)\n%s%s: %s", indent, f.Help, strings.Join(f.Envs, ", "), indent, key, value)
	}
	return nil
}

// marshal writes a value as people do: durations with their units, lists on one line.
func marshal(v any) ([]byte, error) {
	if s, ok := v.(fmt.Stringer); ok {
		v = s.String()
	}
	var n yaml.Node
	if err := n.Encode(v); err != nil {
		return nil, err
	}
	if n.Kind == yaml.SequenceNode || n.Kind == yaml.MappingNode {
		n.Style = yaml.FlowStyle
	}
	return yaml.Marshal(&n)
}
