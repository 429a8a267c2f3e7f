//go:build !linux

package main

import (
	"errors"
	"os"
)

func dropCached(*os.File) error { return errors.ErrUnsupported }
