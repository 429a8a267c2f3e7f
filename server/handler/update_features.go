package handler

import "github.com/twmb/franz-go/pkg/kmsg"

// UpdateFeatures (key 57), versions 0 to 2.
//
//	v1 upgrade type and validate-only (KIP-584, KIP-778)  v2 no results per feature
//
// Seen on Apache 4.4: one bad feature refuses all, with its error at the top and no results; on success versions 0 and 1 have a result
// for each feature whose message is "NONE". Deviations: kraft.version stays as it is, since the quorum's voters are static.
func (h *Handler) updateFeatures(c Call) {
	c.Park()
	req := kmsg.NewPtrUpdateFeaturesRequest()
	if !decode(c, req) {
		return
	}
	h.Controller.UpdateFeatures(req, func(resp *kmsg.UpdateFeaturesResponse) { c.Reply(resp) })
}
