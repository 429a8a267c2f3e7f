package tool

import "github.com/twmb/franz-go/pkg/kgo"

// securityOptions reads security.protocol and what belongs to it.
func (e *Env) securityOptions(p clientProperties) ([]kgo.Opt, error) {
	switch protocol := p["security.protocol"]; protocol {
	case "", "PLAINTEXT":
		return nil, nil
	default:
		return nil, thrown(classConfig, "security.protocol=%s is not supported by these tools yet", protocol)
	}
}
