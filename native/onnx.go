package native

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// onnxLibrary is the file of ONNX Runtime that programs load.
const onnxLibrary = "libonnxruntime.so"

func (s *Store) onnxDir() string {
	return filepath.Join(s.dir, "native", "onnxruntime-"+onnxRuntime.Version)
}

// unpackONNX takes ONNX Runtime out of its wheel where it is not there yet. It is built for every CPU and chooses its
// code when it is loaded.
func (s *Store) unpackONNX(ctx context.Context, progress Progress) error {
	if _, err := s.ONNXRuntime(); err == nil {
		return nil
	}
	archive, err := s.download(ctx, onnxRuntime, progress)
	if err != nil {
		return err
	}
	in, err := openWheels(ctx, []string{archive})
	if err != nil {
		return err
	}
	defer in.Close()
	err = place(s.onnxDir(), func(dir string) error {
		if err := os.Mkdir(filepath.Join(dir, "lib"), 0o755); err != nil {
			return err
		}
		for to, from := range map[string]string{
			"lib/" + onnxLibrary:    "onnxruntime/capi/libonnxruntime.so." + onnxRuntime.Version,
			"LICENSE":               "onnxruntime/LICENSE",
			"ThirdPartyNotices.txt": "onnxruntime/ThirdPartyNotices.txt",
		} {
			if err := in.extract(filepath.Join(dir, to), []string{from}, func(int64) {}); err != nil {
				return err
			}
		}
		files, err := describeAll(ctx, dir)
		if err != nil {
			return err
		}
		return writeManifest(dir, manifest{Files: files})
	})
	if err != nil {
		return fmt.Errorf("unpacking ONNX Runtime: %w", err)
	}
	return nil
}
