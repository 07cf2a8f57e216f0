package traces

import (
	"context"
	"slices"

	"riposte/budget"
	"riposte/budget/trace/object"
	"riposte/budget/trace/store"
)

// budgets returns by what the turns of sets were judged, which the filters choose: calls can have budgets of their own. Of sets without any it is
// the service's own.
func (p *Page) budgets(ctx context.Context, s *store.Store, of []store.Filter, sets ...object.Group) (budgetsObject, error) {
	var out budgetsObject
	for _, g := range sets {
		out.Plans = append(out.Plans, g.Plans...)
	}
	slices.Sort(out.Plans)
	out.Plans = slices.Compact(out.Plans)
	own := object.Millis(p.Plan.Total())
	switch {
	case len(out.Plans) > 1:
		return out, nil
	case len(out.Plans) == 0, out.Plans[0] == own:
		return budgetsObject{[]float64{own}, object.SharesOf(p.Plan)}, nil
	}
	for _, f := range of { // Figures hold no shares: the newest turn says them.
		if len(f.Verdict) == 0 {
			f.Verdict = []budget.Verdict{budget.Met, budget.Masked, budget.Over, budget.Failed}
		}
		page, err := s.Turns(ctx, f, 0, 1)
		if err != nil {
			return out, err
		}
		if len(page.Turns) == 0 || object.Millis(page.Turns[0].Plan) != out.Plans[0] {
			continue
		}
		t, err := s.Turn(ctx, page.Turns[0].ID)
		if err != nil {
			return out, err
		}
		out.Plan = object.SharesOf(t.Report.Plan)
		break
	}
	return out, nil
}
