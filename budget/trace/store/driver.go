package store

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"math"

	"modernc.org/sqlite"
)

// connector opens connections that know our function pack.
type connector struct {
	driver *sqlite.Driver
	name   string
}

func newConnector(name string) (*connector, error) {
	c := &connector{driver: new(sqlite.Driver), name: name}
	err := c.driver.RegisterFunction("pack", &sqlite.FunctionImpl{
		NArgs: -1, Deterministic: true,
		MakeAggregate: func(sqlite.FunctionContext) (sqlite.AggregateFunction, error) { return new(pack), nil },
	})
	return c, err
}

func (c *connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.name) }
func (c *connector) Driver() driver.Driver                        { return c.driver }

// pack is an aggregate: it gathers the integers of all rows, eight bytes each, and absent for NULL. To hand rows over one at a
// time costs five times as much.
type pack struct{ numbers []byte }

// absent stands for NULL among packed numbers.
const absent = math.MinInt64

func (p *pack) Step(_ *sqlite.FunctionContext, row []driver.Value) error {
	for _, v := range row {
		n, ok := v.(int64)
		if !ok {
			n = absent
		}
		p.numbers = binary.LittleEndian.AppendUint64(p.numbers, uint64(n))
	}
	return nil
}

func (p *pack) WindowInverse(_ *sqlite.FunctionContext, row []driver.Value) error {
	p.numbers = p.numbers[8*len(row):]
	return nil
}

func (p *pack) WindowValue(*sqlite.FunctionContext) (driver.Value, error) { return p.numbers, nil }
func (p *pack) Final(*sqlite.FunctionContext)                             {}
