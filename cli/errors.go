package cli

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/kaja-mq/kaja/internal/vfs"
)

// explain adds the way out to errors of the machine that do not say it themselves (after a semicolon).
func explain(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "; "):
	case errors.Is(err, vfs.ErrLocked):
		return text + "; another kaja or Kafka runs on this data: stop it, or set log.dirs to another directory"
	case errors.Is(err, syscall.EADDRINUSE):
		return text + "; another program has the port: stop it, or set listeners to another one (--override listeners=PLAINTEXT://localhost:PORT)"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return text + "; this machine has no such address: correct listeners"
	case errors.Is(err, syscall.ENOSPC):
		return text + "; the disk is full: make room and start again, nothing acknowledged is lost"
	case errors.Is(err, syscall.EROFS):
		return text + "; the file system is read-only: set log.dirs to one that can be written"
	case errors.Is(err, fs.ErrPermission):
		return text + "; run as the owner of the directory, or set log.dirs to one that this user may write (ports below 1024 need root)"
	case errors.Is(err, syscall.EMFILE):
		return text + "; too many open files: raise the limit (ulimit -n)"
	}
	return text
}
