package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// kind says what a name in the table of names is one of.
type kind string

// The kinds of names.
const (
	routeName   kind = "route"
	versionName kind = "version"
	modelName   kind = "model"
	verdictName kind = "verdict"
	stageName   kind = "stage"
	statusName  kind = "status"
	wireName    kind = "wire"
	reasonName  kind = "reason"
	originName  kind = "origin"
)

// names remembers the numbers under which names are kept.
type names map[kind]map[string]int64

// Names are what turns can be told apart by, each list in the order of the alphabet. Some may have no turn any more.
type Names struct {
	Routes, Versions, Models, Verdicts, Stages, Statuses []string
}

// Names returns what filters can name.
func (s *Store) Names(ctx context.Context) (Names, error) {
	var n Names
	lists := map[kind]*[]string{
		routeName: &n.Routes, versionName: &n.Versions, modelName: &n.Models, verdictName: &n.Verdicts, stageName: &n.Stages, statusName: &n.Statuses,
	}
	all, err := s.byNumber(ctx)
	if err != nil {
		return n, err
	}
	for _, name := range all {
		if list := lists[name.kind]; list != nil {
			*list = append(*list, name.text)
		}
	}
	for _, list := range lists {
		slices.Sort(*list)
	}
	return n, nil
}

// name is an entry of the table.
type name struct {
	kind kind
	text string
}

// byNumber reads all names.
func (s *Store) byNumber(ctx context.Context) (map[int64]name, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT id, kind, name FROM names")
	if err != nil {
		return nil, fmt.Errorf("reading the names: %w", err)
	}
	defer rows.Close()
	all := map[int64]name{}
	for rows.Next() {
		var id int64
		var n name
		if err := rows.Scan(&id, &n.kind, &n.text); err != nil {
			return nil, fmt.Errorf("reading the names: %w", err)
		}
		all[id] = n
	}
	return all, rows.Err()
}

// number returns the number under which a name is kept, which it is given when it has none; nil stands for no name.
func (n names) number(ctx context.Context, tx *sql.Tx, k kind, text string) (any, error) {
	if text == "" {
		return nil, nil
	}
	if id, ok := n[k][text]; ok {
		return id, nil
	}
	var id int64
	// The update does nothing, and is there because RETURNING says nothing of a conflict without one.
	err := tx.QueryRowContext(ctx, "INSERT INTO names (kind, name) VALUES (?, ?) ON CONFLICT DO UPDATE SET name = name RETURNING id", k, text).Scan(&id)
	if err != nil {
		return nil, fmt.Errorf("keeping the %s %q: %w", k, text, err)
	}
	if n[k] == nil {
		n[k] = map[string]int64{}
	}
	n[k][text] = id
	return id, nil
}
