package native

import (
	"fmt"
	"slices"
	"syscall"
)

// buildRoom is what the unpacked source of a library, its objects and the result take at once: 165 MB for llama.cpp,
// less for whisper.cpp, and something to spare.
const buildRoom = 200 << 20

// gpuRoom is what a build for a GPU takes besides: llama.cpp for Vulkan was seen to take 393 MB in all. It was not
// measured for CUDA, whose code for one kind of GPU is not small either.
const gpuRoom = 250 << 20

// checkSpace fails early when the disk has too little room for what is missing.
func (s *Store) checkSpace(p Plan) error {
	var need int64
	var seen []string
	for _, name := range p.Models {
		m, err := s.Model(name)
		if err != nil {
			return err
		}
		if s.check(m) == nil {
			continue
		}
		need += 2 * m.Size() // A conversion has its source beside it.
		for _, p := range m.packages {
			if !slices.Contains(seen, p.Name) {
				seen = append(seen, p.Name)
				need += p.Size
			}
		}
	}
	for _, l := range p.builds() {
		if _, err := s.find(l, ""); err != nil {
			need += buildRoom + l.source.Size
			if l.gpu == CUDA || l.gpu == Vulkan {
				need += gpuRoom
			}
		}
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(s.dir, &disk); err != nil {
		return fmt.Errorf("looking at the disk: %w", err)
	}
	if free := int64(disk.Bavail) * disk.Bsize; free < need {
		return fmt.Errorf("about %d MB are needed, %d MB are free: %w", need>>20, free>>20, syscall.ENOSPC)
	}
	return nil
}
