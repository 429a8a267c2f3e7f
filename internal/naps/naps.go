package naps

import (
	"fmt"
	"strings"
	"time"
)

// wanted is the slack that the environment asks for.
func wanted(env []string) (time.Duration, error) {
	slack := Default
	for _, kv := range env {
		text, ok := strings.CutPrefix(kv, Variable+"=")
		if !ok || text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d > Max {
			return 0, fmt.Errorf("%s=%s is not a duration from 0s to %v, such as 2ms", Variable, text, Max)
		}
		slack = d
	}
	return slack, nil
}
