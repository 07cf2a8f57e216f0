package main

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// durations has kong read all durations by parseDuration.
var durations = kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	d, err := parseDuration(text)
	target.SetInt(int64(d))
	return err
}))

// parseDuration reads a duration with its unit, such as 400ms. The error says how it is written.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	example := "400ms, 5s, 1m30s or 2h"
	number := strings.TrimRight(strings.ReplaceAll(text, " ", ""), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	if _, err := strconv.ParseFloat(number, 64); err == nil {
		example = fmt.Sprintf("%[1]sms, %[1]ss, %[1]sm or %[1]sh", number)
	}
	return 0, fmt.Errorf("%q is no duration: write a number with its unit and no space between, such as %s", text, example)
}

// noDuration is what yaml says of a value that is no duration.
var noDuration = regexp.MustCompile("cannot unmarshal !!\\w+ `(.*)` into time\\.Duration")

// durationError says how durations are written, where yaml could not read one.
func durationError(text string) string {
	return noDuration.ReplaceAllStringFunc(text, func(said string) string {
		_, err := parseDuration(noDuration.FindStringSubmatch(said)[1])
		if err == nil {
			return said
		}
		return err.Error()
	})
}
