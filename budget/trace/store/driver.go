package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"sync"

	"modernc.org/sqlite"
)

// connector opens connections that know our function gather.
type connector struct {
	driver *sqlite.Driver
	name   string

	mu        sync.Mutex
	last      int64
	gatherers map[int64]func(row []driver.Value)
}

func newConnector(name string) (*connector, error) {
	c := &connector{driver: new(sqlite.Driver), name: name, gatherers: map[int64]func([]driver.Value){}}
	err := c.driver.RegisterFunction("gather", &sqlite.FunctionImpl{
		NArgs:         -1,
		MakeAggregate: func(sqlite.FunctionContext) (sqlite.AggregateFunction, error) { return &gather{connector: c}, nil },
	})
	return c, err
}

func (c *connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.name) }
func (c *connector) Driver() driver.Driver                        { return c.driver }

// gatherer gives a function a number, by which the SQL function gather calls it until done is called. Its rows are valid
// during the call only; NULL is nil.
func (c *connector) gatherer(each func(row []driver.Value)) (number int64, done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	number = c.last
	c.gatherers[number] = each
	return number, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.gatherers, number)
	}
}

// gather is the aggregate gather(number, ...): it calls a gatherer with each row's other arguments, and returns how many rows there
// were. To hand the rows out one at a time, as an answer, costs five times as much.
type gather struct {
	connector *connector
	each      func(row []driver.Value)
	rows      int64
}

func (g *gather) Step(_ *sqlite.FunctionContext, row []driver.Value) error {
	if g.each == nil {
		number, _ := row[0].(int64)
		g.connector.mu.Lock()
		g.each = g.connector.gatherers[number]
		g.connector.mu.Unlock()
		if g.each == nil {
			return fmt.Errorf("there is no gatherer %d", number)
		}
	}
	g.each(row[1:])
	g.rows++
	return nil
}

func (g *gather) WindowInverse(*sqlite.FunctionContext, []driver.Value) error {
	return fmt.Errorf("gather is for all rows at once")
}

func (g *gather) WindowValue(*sqlite.FunctionContext) (driver.Value, error) { return g.rows, nil }
func (g *gather) Final(*sqlite.FunctionContext)                             {}
