package handler

import "github.com/kaja-mq/kaja/metadata"

// viewpoint is where a client stands: the listener that it came to, and the address of this broker that it used to get there.
type viewpoint struct {
	listener string
	node     int32
	// host replaces this broker's own where advertised.listeners is auto; "" leaves the advertised one.
	host string
}

func (h *Handler) viewpoint(c Conn) viewpoint {
	v := viewpoint{listener: c.Listener(), node: h.NodeID}
	if h.Config().AdvertisesAuto(v.listener) {
		v.host = c.LocalHost()
	}
	return v
}

// endpoint is where the client can reach a broker; false when that has no such listener.
func (v *viewpoint) endpoint(b *metadata.Broker) (metadata.Endpoint, bool) {
	e, ok := b.Endpoint(v.listener)
	if ok && v.host != "" && b.ID == v.node {
		e.Host = v.host
	}
	return e, ok
}
