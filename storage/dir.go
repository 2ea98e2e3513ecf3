package storage

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"

	"dedupd/filter"
)

// The files of a data directory. FORMAT.md describes them.
const (
	formatFile = "FORMAT"
	secretFile = "SECRET"
	lockFile   = "LOCK"
	logDir     = "log"
	coldDir    = "cold"

	formatMagic   = "dedupd data directory, format "
	formatVersion = 1
)

// directory is a data directory that is ours, and locked.
type directory struct {
	fs     vfs.FS
	path   string
	secret filter.Secret
	sum    string // of the secret, as FORMAT says
	lock   io.Closer
}

// openDirectory creates the directory or checks that it is one of ours, in a
// format that we know, complete, and used by nobody else. A directory that it
// refuses is left as it is: hence the look before the lock, which is a file.
func openDirectory(fs vfs.FS, path string) (*directory, error) {
	d := &directory{fs: fs, path: path}
	if _, err := d.inspect(); err != nil {
		return nil, err
	}
	if err := fs.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("data directory %s: %w", path, err)
	}
	var err error
	if d.lock, err = fs.Lock(fs.PathJoin(path, lockFile)); err != nil {
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
			err = fmt.Errorf("it is in use by another process: %w", err)
		}
		return nil, fmt.Errorf("locking data directory %s: %w", path, err)
	}
	if err := d.load(); err != nil {
		return nil, errors.Join(err, d.lock.Close())
	}
	return d, nil
}

// load reads the secret, or creates the directory's first files.
func (d *directory) load() error {
	fresh, err := d.inspect()
	if err != nil {
		return err
	}
	if fresh {
		return d.create()
	}
	return d.checkParts()
}

// inspect says whether the directory is still to be created, and refuses one
// that is not ours or newer.
func (d *directory) inspect() (fresh bool, err error) {
	names, err := d.fs.List(d.path)
	if err != nil && !oserror.IsNotExist(err) {
		return false, fmt.Errorf("data directory %s: %w", d.path, err)
	}
	fresh, err = d.isFresh(names)
	if err != nil || fresh {
		return fresh, err
	}
	return false, d.checkFormat()
}

// isFresh says whether the directory is still to be created: it is missing,
// empty, or its creation was cut short. FORMAT is the last file of a creation,
// so without it nothing of ours can have been stored.
func (d *directory) isFresh(names []string) (bool, error) {
	for _, name := range names {
		if name == formatFile {
			return false, nil
		}
	}
	for _, name := range names {
		switch name {
		case lockFile, secretFile, formatFile + ".tmp", secretFile + ".tmp", "lost+found":
		case logDir, coldDir: // created, still empty
			if inside, err := d.fs.List(d.fs.PathJoin(d.path, name)); err == nil && len(inside) == 0 {
				continue
			}
			fallthrough
		default:
			return false, fmt.Errorf("%s is not a dedupd data directory: it holds %q and no %s file; it was left as it is",
				d.path, name, formatFile)
		}
	}
	return true, nil
}

// create makes the directory's first files. A secret that is there already
// stays: it may be all that somebody has restored so far.
func (d *directory) create() error {
	err := d.readSecret()
	if oserror.IsNotExist(err) {
		err = d.createSecret()
	}
	if err != nil {
		return err
	}
	for _, name := range []string{logDir, coldDir} {
		if err := d.fs.MkdirAll(d.fs.PathJoin(d.path, name), 0o755); err != nil {
			return fmt.Errorf("data directory %s: %w", d.path, err)
		}
	}
	format := fmt.Sprintf("%s%d\nsecret %s\n", formatMagic, formatVersion, d.secretSum())
	if err := d.write(formatFile, format); err != nil {
		return err
	}
	return d.syncParent()
}

func (d *directory) createSecret() error {
	if _, err := rand.Read(d.secret[:]); err != nil {
		return fmt.Errorf("drawing the secret: %w", err)
	}
	return d.write(secretFile, fmt.Sprintf("%x\n", d.secret[:]))
}

// secretSum tells whether a secret is the one that the directory was made
// with. It gives nothing of the secret away that could be used.
func (d *directory) secretSum() string {
	sum := sha256.Sum256(append([]byte("dedupd secret "), d.secret[:]...))
	return hex.EncodeToString(sum[:8])
}

// write puts a small file into place as a whole: a crash leaves all of it or
// nothing.
func (d *directory) write(name, content string) error {
	tmp, path := d.fs.PathJoin(d.path, name+".tmp"), d.fs.PathJoin(d.path, name)
	err := func() error {
		f, err := d.fs.Create(tmp, vfs.WriteCategoryUnspecified)
		if err != nil {
			return err
		}
		if _, err := f.Write([]byte(content)); err != nil {
			return errors.Join(err, f.Close())
		}
		if err := f.Sync(); err != nil {
			return errors.Join(err, f.Close())
		}
		if err := f.Close(); err != nil {
			return err
		}
		if err := d.fs.Rename(tmp, path); err != nil {
			return err
		}
		return syncDir(d.fs, d.path)
	}()
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// syncParent makes the directory's own name durable.
func (d *directory) syncParent() error {
	parent := d.fs.PathDir(d.path)
	if err := syncDir(d.fs, parent); err != nil {
		return fmt.Errorf("syncing %s: %w", parent, err)
	}
	return nil
}

func syncDir(fs vfs.FS, path string) error {
	f, err := fs.OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (d *directory) checkFormat() error {
	format, err := d.read(formatFile)
	if err != nil {
		return err
	}
	line, rest, _ := strings.Cut(format, "\n")
	version, ok := strings.CutPrefix(line, formatMagic)
	n, err := strconv.Atoi(version)
	if !ok || err != nil || n < 1 {
		return fmt.Errorf("%s is not a dedupd data directory: its %s file says %.60q; it was left as it is", d.path, formatFile, format)
	}
	if n > formatVersion {
		return fmt.Errorf("%s has format %d, this version of dedupd knows formats up to %d; it was left as it is", d.path, n, formatVersion)
	}
	if _, err := fmt.Sscanf(rest, "secret %s", &d.sum); err != nil {
		return fmt.Errorf("%s: its %s file is damaged: %.60q; restore it from a backup", d.path, formatFile, format)
	}
	return nil
}

// checkParts refuses a directory that has lost a part: it would answer
// "unseen" for everything that was in it.
func (d *directory) checkParts() error {
	if err := d.readSecret(); err != nil {
		return err
	}
	if d.secretSum() != d.sum {
		return fmt.Errorf("%s: its %s file is that of another directory: with it no stored item can be found; restore the right one", d.path, secretFile)
	}
	for _, name := range []string{logDir, coldDir} {
		if _, err := d.fs.Stat(d.fs.PathJoin(d.path, name)); err != nil {
			return fmt.Errorf("%s has lost its %s directory; restore it from a backup: %w", d.path, name, err)
		}
	}
	return nil
}

func (d *directory) readSecret() error {
	secret, err := d.read(secretFile)
	if oserror.IsNotExist(err) {
		return fmt.Errorf("%s has lost its %s file: without it no stored item can be found again; restore it from a backup: %w", d.path, secretFile, err)
	}
	if err != nil {
		return err
	}
	digits, err := hex.DecodeString(strings.TrimSpace(secret))
	if err != nil || len(digits) != len(d.secret) {
		return fmt.Errorf("%s: its %s file is damaged (%d hexadecimal digits expected); restore it from a backup",
			d.path, secretFile, 2*len(d.secret))
	}
	copy(d.secret[:], digits)
	return nil
}

func (d *directory) read(name string) (string, error) {
	f, err := d.fs.Open(d.fs.PathJoin(d.path, name))
	if err != nil {
		return "", fmt.Errorf("data directory: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(f, 1024))
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("data directory %s: %s: %w", d.path, name, err)
	}
	return string(b), nil
}
