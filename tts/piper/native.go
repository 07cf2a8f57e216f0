package piper

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// ErrEspeak reports that espeak-ng, which turns text into phonemes, cannot be used, and says what to do about it.
var ErrEspeak = errors.New("piper: espeak-ng")

// espeakLibrary is what the dynamic loader knows espeak-ng as. The library is under the GPL: it is loaded when a voice is
// opened, and never linked.
const espeakLibrary = "libespeak-ng.so.1"

// Numbers of speak_lib.h.
const (
	espeakSynchronous = 2
	espeakDontExit    = 0x8000
	espeakUTF8        = 1
	espeakIPA         = 2
)

// espeak is the library. It keeps its voice and its place in a text in global variables and is not safe for use by
// several threads, so all voices of the process share this one value and its lock. A clause takes under a millisecond.
var espeak struct {
	sync.Mutex
	ready bool
	voice string // The one that is set.

	initialize   func(output, bufferMS int32, data *byte, options int32) int32
	setVoice     func(name string) int32
	toPhonemes   func(text *unsafe.Pointer, textMode, phonemeMode int32) *byte
	textPosition *unsafe.Pointer // Where the library stands in the text at work; kept on the heap for it.
}

// openEspeak loads the library, once per process. data is the folder that holds espeak-ng-data, "" for the usual one.
func openEspeak(data string) error {
	espeak.Lock()
	defer espeak.Unlock()
	if espeak.ready {
		return nil
	}
	lib, err := purego.Dlopen(espeakLibrary, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return fmt.Errorf("%w: the library is missing, install it (Debian and Ubuntu: apt-get install libespeak-ng1): %w", ErrEspeak, err)
	}
	for name, fn := range map[string]any{
		"espeak_Initialize":     &espeak.initialize,
		"espeak_SetVoiceByName": &espeak.setVoice,
		"espeak_TextToPhonemes": &espeak.toPhonemes,
	} {
		if _, err := purego.Dlsym(lib, name); err != nil {
			return fmt.Errorf("%w: %s is not espeak-ng 1.50 or newer: %w", ErrEspeak, espeakLibrary, err)
		}
		purego.RegisterLibFunc(fn, lib, name)
	}
	var path *byte
	if data != "" {
		path = &append([]byte(data), 0)[0]
	}
	rate := espeak.initialize(espeakSynchronous, 0, path, espeakDontExit)
	runtime.KeepAlive(path)
	if rate <= 0 {
		return fmt.Errorf("%w: its data is missing, install it (Debian and Ubuntu: apt-get install espeak-ng-data)", ErrEspeak)
	}
	espeak.textPosition = new(unsafe.Pointer)
	espeak.ready = true
	return nil
}

// useEspeak sets the voice. The caller holds the lock.
func useEspeak(name string) error {
	if !espeak.ready {
		return fmt.Errorf("%w: not loaded", ErrEspeak)
	}
	if espeak.voice == name {
		return nil
	}
	if code := espeak.setVoice(name); code != 0 {
		espeak.voice = ""
		return fmt.Errorf("%w: it has no voice %q (error %d): is espeak.voice in the voice's .json right, and is all of espeak-ng-data installed?", ErrEspeak, name, code)
	}
	espeak.voice = name
	return nil
}

// readClauses turns text into phonemes, clause by clause. yield gets the phonemes and the bytes of text that they stand for,
// to which the library adds a character or two of the next clause, since it has to read ahead to see where a clause ends.
func readClauses(voice, text string, yield func(phonemes, span string)) error {
	espeak.Lock()
	defer espeak.Unlock()
	if err := useEspeak(voice); err != nil {
		return err
	}
	b := append([]byte(text), 0)
	var pin runtime.Pinner
	pin.Pin(&b[0])
	defer pin.Unpin()

	at := espeak.textPosition
	*at = unsafe.Pointer(&b[0])
	for from := 0; *at != nil; {
		p := cString(espeak.toPhonemes(at, espeakUTF8, espeakIPA))
		to := len(text) // The library sets its place to null when it has read everything.
		if *at != nil {
			to = int(uintptr(*at) - uintptr(unsafe.Pointer(&b[0])))
		}
		if to < from || to > len(text) {
			*at = nil
			return fmt.Errorf("%w: it lost its place in a text of %d bytes", ErrEspeak, len(text))
		}
		yield(p, text[from:to])
		from = to
	}
	return nil
}

// cString copies a zero-terminated string.
func cString(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
