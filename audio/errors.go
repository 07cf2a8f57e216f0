package audio

import "errors"

var (
	// ErrNoResampler reports that the library that changes rates is not installed.
	ErrNoResampler = errors.New("libspeexdsp cannot be loaded; install it (Debian and Ubuntu: apt-get install libspeexdsp1)")
	// ErrRate reports a rate that sound cannot have here.
	ErrRate = errors.New("the rate must be between 4000 and 192000 Hz")
	// ErrFormat reports a file that is not sound, or sound in a form that is not understood.
	ErrFormat = errors.New("not a sound file that can be read")
	// ErrCut reports a file that ends before its header says.
	ErrCut = errors.New("the file is cut short")
	// ErrNoSound reports a file without a single sample.
	ErrNoSound = errors.New("the file holds no sound")
	// ErrTooLong reports a file beyond MaxFileBytes or MaxFileDuration.
	ErrTooLong = errors.New("the file is too long")
)
