//go:build !linux

package storage

import (
	"errors"
	"testing"
)

func mountForTest(*testing.T, string) (string, error) { return "", errors.ErrUnsupported }
