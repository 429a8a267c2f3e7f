//go:build planted

package planted

import "os"

// Is tells whether the bug of that name is on.
func Is(name string) bool { return os.Getenv("KAJA_PLANTED") == name }
