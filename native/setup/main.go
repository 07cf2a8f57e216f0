// Command setup provides everything that Riposte needs on a machine: Debian packages, native libraries and models. It is
// what the Makefile runs first; when nothing is missing it takes well under a second.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"riposte/native"
	"riposte/native/console"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "set-up:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	gpuName := flag.String("gpu", "", "build llama.cpp for this accelerator: none, cuda or vulkan")
	models := flag.String("models", "default", "which models to provide: none, default (for the service), test (for the tests) or gpu (for those on a GPU)")
	server := flag.Bool("server", false, "build llama.cpp's own server as well, for the tests of remote engines")
	link := flag.String("link", "build/native/whisper", "where to put the link to the whisper.cpp build, for the C compiler")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	gpu, err := native.ParseGPU(*gpuName)
	if err != nil {
		return err
	}
	debian := native.DebianPackages(gpu)
	plan := native.Plan{Libraries: true, GPU: gpu, Server: *server}
	switch *models {
	case "none":
	case "default":
		plan.Models = native.DefaultModels()
	case "test":
		plan.Models = native.TestModels()
		debian = append(append(debian, native.Browser...), native.Sox)
	case "gpu":
		plan.Models = native.GPUTestModels()
		if gpu == native.Vulkan {
			debian = append(debian, native.SoftwareGPU)
		}
	default:
		return fmt.Errorf("unknown set of models %q: it is one of none, default, test and gpu", *models)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("the pinned ONNX Runtime is for linux/amd64, this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	began := time.Now()
	progress := console.New(os.Stderr)
	if err := installDebian(ctx, os.Geteuid() == 0, debian, progress); err != nil {
		return err
	}
	store, err := native.Open("")
	if err != nil {
		return err
	}
	if err := store.SetUp(ctx, plan, progress); err != nil {
		return err
	}
	whisper, err := store.Whisper()
	if err != nil {
		return err
	}
	if err := relink(whisper, *link); err != nil {
		return err
	}
	progress.Say(fmt.Sprintf("set-up: everything is in place in %s (%d models, %.1f s)", store.Dir(), len(plan.Models), time.Since(began).Seconds()))
	return nil
}

// relink makes link lead to target. Compilers that run meanwhile see the one or the other, never neither.
func relink(target, link string) error {
	if now, err := os.Readlink(link); err == nil && now == target {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		return err
	}
	fresh := link + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, fresh); err != nil {
		return err
	}
	return os.Rename(fresh, link)
}
