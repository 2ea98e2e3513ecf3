package cold

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// buildDir is where tables are built, within the directory of the store. What a
// crash leaves in it belongs to nothing and is removed at Open.
const buildDir = "build"

// remains are the beginnings of names that a creation of ours, cut short, may
// have left. A row was never stored there.
var remains = []string{"LOCK", buildDir, "lost+found", "MANIFEST-", "OPTIONS-", "marker.", "temporary."}

// inspect refuses a directory that is not ours or in a format that Pebble cannot
// read. It changes nothing.
func inspect(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if oserror.IsNotExist(err) || err == nil && len(names) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cold: %s: %w", dir, err)
	}
	found, err := pebble.Peek(dir, fs)
	if err != nil {
		return fmt.Errorf("%w: %s was left as it is: %w", ErrForeign, dir, err)
	}
	if found.Exists {
		return nil
	}
	for _, name := range names {
		if !isRemains(name) {
			return fmt.Errorf("%w: %s holds %q and no store, it was left as it is", ErrForeign, dir, name)
		}
	}
	return nil
}

func isRemains(name string) bool {
	for _, prefix := range remains {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// clearBuild makes the build directory, empty. Call with the store locked.
func clearBuild(fs vfs.FS, dir string) error {
	build := fs.PathJoin(dir, buildDir)
	if err := fs.MkdirAll(build, 0o755); err != nil {
		return err
	}
	names, err := fs.List(build)
	if err != nil {
		return err
	}
	for _, name := range names {
		err = errors.Join(err, fs.Remove(fs.PathJoin(build, name)))
	}
	return err
}

// freeSpace is what is free in the directory; ok is false where the file system
// does not tell.
func freeSpace(fs vfs.FS, dir string) (free uint64, ok bool, err error) {
	usage, err := fs.GetDiskUsage(dir)
	if errors.Is(err, vfs.ErrUnsupported) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("cold: free space of %s: %w", dir, err)
	}
	return usage.AvailBytes, true, nil
}
