package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// partition keeps a service and its callers on cores of their own, so that neither takes the time of the other.
type partition struct {
	all, service, callers unix.CPUSet
	procs                 int // Of this process, before.
}

// keepApart keeps this process off the last n of its cores, which are for a service. undo lets it have them again.
func keepApart(n int) (a *partition, undo func(), err error) {
	a = &partition{}
	if err := unix.SchedGetaffinity(0, &a.all); err != nil {
		return nil, nil, fmt.Errorf("which cores there are: %w", err)
	}
	if cores := a.all.Count(); n < 1 || n >= cores {
		return nil, nil, fmt.Errorf("the service cannot have %d of %d cores for itself: at least one is for the callers", n, cores)
	}
	left := a.all.Count() - n
	for core := range len(a.all) * strconv.IntSize {
		switch {
		case !a.all.IsSet(core):
		case left > 0:
			a.callers.Set(core)
			left--
		default:
			a.service.Set(core)
		}
	}
	a.procs = runtime.GOMAXPROCS(a.callers.Count())
	undo = func() { _ = threadsOn(&a.all); runtime.GOMAXPROCS(a.procs) }
	if err := threadsOn(&a.callers); err != nil {
		undo()
		return nil, nil, fmt.Errorf("keep the callers off the service's cores: %w", err)
	}
	return a, undo, nil
}

// serving runs start, which starts a service: it has the cores of the thread that starts it. nil leaves it all cores.
func (a *partition) serving(start func() error) (err error) {
	if a == nil {
		return start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.SchedSetaffinity(0, &a.service); err != nil {
		return fmt.Errorf("keep the service to its cores: %w", err)
	}
	defer func() { err = errors.Join(err, unix.SchedSetaffinity(0, &a.callers)) }()
	return start()
}

// threadsOn holds all threads of this process to cores. Those that begin later have the cores of the thread that begins them.
func threadsOn(cores *unix.CPUSet) error {
	held := map[int]bool{}
	for more := true; more; {
		more = false
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil || held[id] {
				continue
			}
			if err := unix.SchedSetaffinity(id, cores); err != nil && !errors.Is(err, unix.ESRCH) { // it may have ended
				return err
			}
			held[id], more = true, true
		}
	}
	return nil
}
