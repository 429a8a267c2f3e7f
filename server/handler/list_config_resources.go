package handler

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata"
)

// ListConfigResources (key 74), versions 0 to 1. v0 is KIP-714's ListClientMetricsResources; v1 has types (KIP-1142).
//
// Seen on Apache 4.4.0: v0 lists the client metrics subscriptions. v1 without types lists everything that can be described: topics and
// brokers whether or not anything is set on them, subscriptions and groups that have settings. An unknown type is UNSUPPORTED_VERSION.
// The order is by name here; Kafka has none.
func (h *Handler) listConfigResources(c Call) {
	req := kmsg.NewPtrListConfigResourcesRequest()
	if !decode(c, req) {
		return
	}
	resp := req.ResponseKind().(*kmsg.ListConfigResourcesResponse)
	types := req.ResourceTypes
	switch {
	case req.Version == 0:
		types = []int8{metadata.ResourceClientMetrics}
	case len(types) == 0:
		types = listable[:]
	}
	wanted := map[int8]bool{}
	for _, t := range types {
		if !isListable(t) {
			resp.ErrorCode = kerr.UnsupportedVersion.Code
			c.Reply(resp)
			return
		}
		wanted[t] = true
	}
	resp.ConfigResources = configResources(h.Images(), wanted)
	c.Reply(resp)
}

// listable are the resource types of KIP-1142.
var listable = [...]int8{metadata.ResourceTopic, metadata.ResourceBroker, metadata.ResourceBrokerLogger, metadata.ResourceClientMetrics, metadata.ResourceGroup}

func isListable(t int8) bool {
	for _, l := range listable {
		if l == t {
			return true
		}
	}
	return false
}

func configResources(img *metadata.Image, wanted map[int8]bool) []kmsg.ListConfigResourcesResponseConfigResource {
	var out []kmsg.ListConfigResourcesResponseConfigResource
	add := func(t int8, name string) {
		r := kmsg.NewListConfigResourcesResponseConfigResource()
		r.Name, r.Type = name, t
		out = append(out, r)
	}
	for r := range img.Configs() {
		if wanted[r.Type] && (r.Type == metadata.ResourceGroup || r.Type == metadata.ResourceClientMetrics) {
			add(r.Type, r.Name)
		}
	}
	if wanted[metadata.ResourceTopic] {
		for t := range img.Topics() {
			add(metadata.ResourceTopic, t.Name)
		}
	}
	for b := range img.Brokers() {
		for _, t := range [...]int8{metadata.ResourceBroker, metadata.ResourceBrokerLogger} {
			if wanted[t] {
				add(t, strconv.Itoa(int(b.ID)))
			}
		}
	}
	return out
}
