//go:build !linux

package naps

// Lengthen checks env and does nothing: only Linux has a timer slack.
func Lengthen(_, env []string) error {
	_, err := wanted(env)
	return err
}
