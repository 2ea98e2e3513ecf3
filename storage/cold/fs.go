package cold

import (
	"errors"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// pebbleFS is the file system as Pebble sees it.
//
// Pebble changes its MANIFEST by creating the new file, creating a marker that
// names it, removing the old marker, and syncing the directory once, at the end.
// On a file system that may keep any part of these after a power cut, the marker
// may name a file that is not there, or no marker is left. So the directory is
// synced after each of the two creations, which is rare.
//
// Where that last sync fails, Pebble panics, on whatever goroutine it is. A
// directory that cannot be synced is fatal here.
type pebbleFS struct {
	vfs.FS
	fatal *fatal
}

var _ vfs.FS = (*pebbleFS)(nil)

// Unwrap is part of vfs.FS.
func (fs *pebbleFS) Unwrap() vfs.FS { return fs.FS }

// Create is part of vfs.FS.
func (fs *pebbleFS) Create(path string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := fs.FS.Create(path, category)
	if err != nil || !isPointer(fs.PathBase(path)) {
		return file, err
	}
	if err := syncDir(fs.FS, fs.PathDir(path)); err != nil {
		return nil, errors.Join(err, file.Close(), fs.Remove(path))
	}
	return file, nil
}

// isPointer reports whether which state is found after a crash depends on a
// file's presence.
func isPointer(name string) bool {
	return strings.HasPrefix(name, "MANIFEST-") || strings.HasPrefix(name, "marker.")
}

// Open is part of vfs.FS.
func (fs *pebbleFS) Open(path string, opts ...vfs.OpenOption) (vfs.File, error) {
	file, err := fs.FS.Open(path, opts...)
	if err != nil || !strings.HasSuffix(path, ".sst") {
		return file, err
	}
	return checkTable(file, path)
}

// OpenDir is part of vfs.FS.
func (fs *pebbleFS) OpenDir(path string) (vfs.File, error) {
	dir, err := fs.FS.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return &pebbleDir{File: dir, fs: fs, path: path}, nil
}

// pebbleDir is an open directory.
type pebbleDir struct {
	vfs.File
	fs   *pebbleFS
	path string
}

// Sync is part of vfs.File.
func (d *pebbleDir) Sync() error {
	if err := d.File.Sync(); err != nil {
		d.fs.fatal.raise("syncing directory " + d.path + ": " + err.Error())
		park()
	}
	return nil
}

func syncDir(fs vfs.FS, path string) error {
	dir, err := fs.OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
