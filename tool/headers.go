package tool

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// variable is the place of a variable of the environment in a setting.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// Expand puts variables of the environment into a setting, where it has ${NAME}. So secrets stand in no file.
func Expand(text string, getenv func(string) (string, bool)) (string, error) {
	var missing []string
	out := variable.ReplaceAllStringFunc(text, func(place string) string {
		name := place[2 : len(place)-1]
		value, ok := getenv(name)
		if !ok {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("the environment has no %s: set it, or write the value itself", strings.Join(missing, " and no "))
	}
	return out, nil
}

// Headers returns the headers of a setting.
func Headers(set map[string]string, getenv func(string) (string, bool)) (http.Header, error) {
	out := http.Header{}
	for name, value := range set {
		if name == "" || strings.ContainsAny(name, " :\r\n") {
			return nil, fmt.Errorf("%q is no name of a header", name)
		}
		value, err := Expand(value, getenv)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, fmt.Errorf("%s: its value has a line break", name)
		}
		out.Set(name, value)
	}
	return out, nil
}
