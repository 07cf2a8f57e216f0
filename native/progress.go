package native

// Progress is told what set-up does. Its methods are called by one goroutine at a time.
type Progress interface {
	// Say reports a finding, as one line.
	Say(line string)
	// Begin reports that a step starts, and returns where its progress goes.
	Begin(title string, unit Unit) Step
}

// Step is one step of set-up under way.
type Step interface {
	// Set reports how much is done, and of how much; total is 0 while that is not known.
	Set(done, total int64)
	// End reports that the step is over, well or not.
	End(err error)
}

// Unit says what the progress of a step counts.
type Unit int

// The units of progress.
const (
	Bytes Unit = iota
	Pieces
)

// silent is the Progress of those who do not want to hear.
type silent struct{}

func (silent) Say(string)              {}
func (silent) Begin(string, Unit) Step { return silent{} }
func (silent) Set(int64, int64)        {}
func (silent) End(error)               {}

// runStep runs do as one step of progress.
func runStep(progress Progress, title string, unit Unit, do func(Step) error) error {
	step := progress.Begin(title, unit)
	err := do(step)
	step.End(err)
	return err
}
