package main

import (
	"errors"
	"fmt"
	"math"

	"riposte/budget/trace"
)

// priceSettings are what calls cost.
type priceSettings struct {
	Currency string  `default:"EUR" help:"What prices are in; a label, nothing is converted." group:"price"`
	Call     float64 `default:"0" help:"Price of each call." group:"price"`
	Minute   float64 `default:"0" help:"Price of a minute of a call, by the second." group:"price"`
	Heard    float64 `default:"0" help:"Price of a minute of the caller's sound, such as a recogniser's." group:"price"`
	Input    float64 `default:"0" help:"Price of 1,000 tokens that the model reads, cached ones included." group:"price"`
	Output   float64 `default:"0" help:"Price of 1,000 tokens that the model writes." group:"price"`
	Spoken   float64 `default:"0" help:"Price of 1,000 characters that are given a voice." group:"price"`
}

func (p *priceSettings) prices() trace.Prices {
	return trace.Prices{Call: p.Call, Minute: p.Minute, Heard: p.Heard, Spoken: p.Spoken, Input: p.Input, Output: p.Output}
}

func (p *priceSettings) validate() error {
	var errs []error
	for _, price := range []struct {
		name  string
		value float64
	}{{"call", p.Call}, {"minute", p.Minute}, {"heard", p.Heard}, {"input", p.Input}, {"output", p.Output}, {"spoken", p.Spoken}} {
		if !(price.value >= 0) || math.IsInf(price.value, 0) {
			errs = append(errs, fmt.Errorf("price-%s is %v: it must be a number, 0 or more", price.name, price.value))
		}
	}
	return errors.Join(errs...)
}
