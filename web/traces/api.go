package traces

import (
	"context"
	"errors"
	"net/http"
	"time"

	"riposte/budget"
	"riposte/budget/trace/object"
	"riposte/budget/trace/store"
)

// turns lists turns.
func (p *Page) turns(ctx context.Context, r *http.Request, s *store.Store) (any, error) {
	q, err := paramsOf(r, and("from", "limit")...)
	if err != nil {
		return nil, err
	}
	f, err := filterOf(q, "", p.Now())
	if err != nil {
		return nil, err
	}
	from, limit, err := rowsOf(q)
	if err != nil {
		return nil, err
	}
	page, err := s.Turns(ctx, f, from, limit)
	if err != nil {
		return nil, err
	}
	return rowsObject{Turns: object.RowsOf(page), Next: cursor(page.Next)}, nil
}

// calls lists calls.
func (p *Page) calls(ctx context.Context, r *http.Request, s *store.Store) (any, error) {
	q, err := paramsOf(r, and("from", "limit", "format")...)
	if err != nil {
		return nil, err
	}
	f, err := filterOf(q, "", p.Now())
	if err != nil {
		return nil, err
	}
	from, limit, err := rowsOf(q)
	if err != nil {
		return nil, err
	}
	page, err := s.Calls(ctx, f, from, limit)
	if err != nil {
		return nil, err
	}
	return callsObject{Calls: object.CallsOf(page), Next: cursor(page.Next)}, nil
}

// turn returns one turn, whole, and where its neighbours in the call are.
func (p *Page) turn(ctx context.Context, r *http.Request, s *store.Store) (any, error) {
	id, err := idOf(r)
	if err != nil {
		return nil, err
	}
	t, err := s.Turn(ctx, id)
	if err != nil {
		return nil, err
	}
	sound, err := s.Sound(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNoSound) {
		return nil, err
	}
	object := turnObjectOf(t, sound)
	for other, err := range s.OfCall(ctx, t.Call) {
		if err != nil {
			return nil, err
		}
		if object.Siblings = append(object.Siblings, siblingOf(other)); len(object.Siblings) == mostSiblings {
			break
		}
	}
	return object, nil
}

// idOf reads which turn is meant.
func idOf(r *http.Request) (string, error) {
	q, err := paramsOf(r, "id")
	if err != nil {
		return "", err
	}
	id := q.Get("id")
	if id == "" {
		return "", &problem{http.StatusBadRequest, "no_id", "Which turn? Say it with id=, as lists do."}
	}
	return id, nil
}

// mostSiblings is how many turns of a call stand beside one of them.
const mostSiblings = 500

// stats returns percentiles, and by what budget they are judged.
func (p *Page) stats(ctx context.Context, r *http.Request, s *store.Store) (any, error) {
	q, err := paramsOf(r, and("by", "every")...)
	if err != nil {
		return nil, err
	}
	f, err := filterOf(q, "", p.Now())
	if err != nil {
		return nil, err
	}
	out := statsObject{Groups: []object.Group{}}
	var first, last time.Time
	if q.Get("every") != "all" {
		if first, last, err = s.Span(ctx, f); err != nil {
			return nil, err
		}
	}
	every, err := everyOf(q, first, last)
	if err != nil {
		return nil, err
	}
	by, err := dimensionOf(q.Get("by"))
	if err != nil {
		return nil, err
	}
	groups, err := s.Stats(ctx, f, store.Split{By: by, Every: every})
	if err != nil {
		return nil, err
	}
	out.Every = every.Seconds()
	if !first.IsZero() {
		out.First, out.Last = &first, &last
	}
	for _, g := range groups {
		out.Groups = append(out.Groups, object.GroupOf(g))
	}
	out.budgetsObject, err = p.budgets(ctx, s, []store.Filter{f}, out.Groups...)
	return out, err
}

// dimensionOf reads what statistics are told apart by.
func dimensionOf(text string) (store.Dimension, error) {
	switch d := store.Dimension(text); d {
	case store.ByNothing, store.ByModel, store.BySTT, store.ByTTS, store.ByRoute, store.ByVersion:
		return d, nil
	}
	return "", &problem{http.StatusBadRequest, "bad_by", "The parameter by is " + text + ": it must be model, stt, tts, route or version, or be left out."}
}

// compare returns two sets side by side: those that the parameters with a. and those that the parameters with b. choose.
func (p *Page) compare(ctx context.Context, r *http.Request, s *store.Store) (any, error) {
	var sides []string
	for _, side := range []string{"a.", "b."} {
		for _, key := range filterKeys {
			sides = append(sides, side+key)
		}
	}
	q, err := paramsOf(r, sides...)
	if err != nil {
		return nil, err
	}
	now := p.Now()
	a, err := filterOf(q, "a.", now)
	if err != nil {
		return nil, err
	}
	b, err := filterOf(q, "b.", now)
	if err != nil {
		return nil, err
	}
	c, err := s.Compare(ctx, a, b)
	if err != nil {
		return nil, err
	}
	out := comparisonObject{A: object.GroupOf(c.A), B: object.GroupOf(c.B)}
	out.budgetsObject, err = p.budgets(ctx, s, []store.Filter{a, b}, out.A, out.B)
	return out, err
}

// names returns what filters can name, and what the page can do.
func (p *Page) names(ctx context.Context, r *http.Request, s *store.Store) (any, error) {
	if _, err := paramsOf(r); err != nil {
		return nil, err
	}
	n, err := s.Names(ctx)
	if err != nil {
		return nil, err
	}
	out := namesObject{
		Routes: orEmpty(n.Routes), Versions: orEmpty(n.Versions), Models: orEmpty(n.Models), Statuses: orEmpty(n.Statuses),
		Verdicts: []budget.Verdict{budget.Met, budget.Masked, budget.Over, budget.Failed, store.NoVerdict}, Stages: budget.Stages[:],
		Plan: object.SharesOf(p.Plan), Service: p.Version, Exports: []string{},
	}
	if p.Export != nil {
		out.Exports = formats[:]
	}
	return out, nil
}

// orEmpty makes a list that is missing an empty one, for JSON.
func orEmpty(list []string) []string { return append([]string{}, list...) }
