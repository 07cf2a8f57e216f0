package llama

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// checkLibraries looks for damage that the dynamic loader would answer with a fault instead of an error: shared objects
// that were cut off.
func checkLibraries(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "lib*.so*"))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLibrary, err)
	}
	for _, f := range files {
		if err := checkLibrary(f); err != nil {
			return fmt.Errorf("%w: %s is damaged (%w): run `make native` again", ErrLibrary, f, err)
		}
	}
	return nil
}

// checkLibrary reports an ELF file whose segments are not all there. It has no opinion on other files.
func checkLibrary(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	magic := make([]byte, len(elf.ELFMAG))
	if _, err := f.ReadAt(magic, 0); err != nil {
		return errors.New("it is empty or cannot be read")
	}
	if !bytes.Equal(magic, []byte(elf.ELFMAG)) {
		return nil
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return err
	}
	for _, p := range e.Progs {
		if p.Type == elf.PT_LOAD && p.Off+p.Filesz > uint64(st.Size()) {
			return errors.New("it was cut off")
		}
	}
	return nil
}
