package handler

import (
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/protocol"
)

// ApiVersions (key 18), versions 0 to 5.
//
//	v1 throttle  v3 flexible, client software (KIP-511), features (KIP-584)  v4 features with a minimum of 0  v5 cluster and node id
//
// Seen on Apache 4.4.0: a version above 5 (also a negative one) is answered in the form of v0 with UNSUPPORTED_VERSION and only the range of ApiVersions
// itself. v3 leaves out supported features whose minimum is 0, v4 has them all. Errors carry no keys and no features.
// v5: INVALID_REQUEST if only one of cluster id and node id is given, REBOOTSTRAP_REQUIRED if one of them is not this broker's.
// The response header is v0 in every version (the server sees to that). Deviations: keys that are not served are not listed.
func (h *Handler) apiVersions(c Call) {
	version := c.Header().Version
	if a, _ := protocol.Lookup(protocol.ApiVersionsKey); !a.Serves(version) {
		c.Reply(&kmsg.ApiVersionsResponse{ErrorCode: kerr.UnsupportedVersion.Code, ApiKeys: []kmsg.ApiVersionsResponseApiKey{
			{ApiKey: a.Key, MinVersion: a.Min, MaxVersion: a.Max},
		}})
		return
	}
	req := kmsg.NewPtrApiVersionsRequest()
	if !decode(c, req) {
		return
	}
	if code := h.checkApiVersions(req); code != 0 {
		resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
		resp.ErrorCode = code
		c.Reply(resp)
		return
	}
	if version >= 3 {
		c.Conn().SetClientSoftware(req.ClientSoftwareName, req.ClientSoftwareVersion)
	}
	c.Reply(h.versions.answer(h, version))
}

// versionAnswers keeps the encoded answers under one image, by version: what every client asks first is always the same.
type versionAnswers struct {
	now atomic.Pointer[imageAnswers]
}

type imageAnswers struct {
	image    *metadata.Image
	versions [6]*encodedVersions // read only
}

// encodedVersions is an answer whose bytes are made already.
type encodedVersions struct {
	*kmsg.ApiVersionsResponse
	bytes []byte
}

// AppendTo implements kmsg.Response.
func (e *encodedVersions) AppendTo(dst []byte) []byte { return append(dst, e.bytes...) }

// answer is that of a version which is served.
func (v *versionAnswers) answer(h *Handler, version int16) kmsg.Response {
	img := h.Images()
	have := v.now.Load()
	if have == nil || have.image != img {
		have = &imageAnswers{image: img}
	}
	if e := have.versions[version]; e != nil {
		return e
	}
	more := *have
	resp := h.encodeVersions(img, version)
	more.versions[version] = &encodedVersions{resp, resp.AppendTo(nil)}
	v.now.Store(&more) // two at once: one of the two answers is made again later
	return more.versions[version]
}

func (h *Handler) encodeVersions(img *metadata.Image, version int16) *kmsg.ApiVersionsResponse {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = version
	for _, a := range h.APIs() {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MinVersion, k.MaxVersion = a.Key, a.Min, a.Max
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	addFeatures(img, resp)
	return resp
}

// isClientSoftware is what KIP-511 allows for the name and the version of a client: letters and digits, dots and dashes between them.
func isClientSoftware(s string) bool {
	for i := range len(s) {
		switch b := s[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		case (b == '-' || b == '.') && i > 0 && i < len(s)-1:
		default:
			return false
		}
	}
	return s != ""
}

func (h *Handler) checkApiVersions(req *kmsg.ApiVersionsRequest) int16 {
	if req.Version >= 3 && (!isClientSoftware(req.ClientSoftwareName) || !isClientSoftware(req.ClientSoftwareVersion)) {
		return kerr.InvalidRequest.Code
	}
	if req.Version < 5 {
		return 0
	}
	if (req.ClusterID == nil) != (req.NodeID == -1) {
		return kerr.InvalidRequest.Code
	}
	if req.ClusterID != nil && (*req.ClusterID != h.ClusterID || req.NodeID != h.NodeID) {
		return kerr.RebootstrapRequired.Code
	}
	return 0
}

// supportedFeatures are the feature levels of Kafka 4.4.0, sorted by name (seen in its answers).
var supportedFeatures = [...]kmsg.ApiVersionsResponseSupportedFeature{
	{Name: "eligible.leader.replicas.version", MinVersion: 0, MaxVersion: 1},
	{Name: "group.version", MinVersion: 0, MaxVersion: 1},
	{Name: "kraft.version", MinVersion: 0, MaxVersion: 1},
	{Name: "metadata.version", MinVersion: 7, MaxVersion: 33},
	{Name: "share.version", MinVersion: 0, MaxVersion: 2},
	{Name: "streams.version", MinVersion: 0, MaxVersion: 1},
	{Name: "transaction.version", MinVersion: 0, MaxVersion: 2},
}

func addFeatures(img *metadata.Image, resp *kmsg.ApiVersionsResponse) {
	if resp.Version < 3 {
		return
	}
	for _, f := range supportedFeatures {
		if resp.Version >= 4 || f.MinVersion > 0 { // a range from 0 can't be told before v4 (KAFKA-17011)
			resp.SupportedFeatures = append(resp.SupportedFeatures, f)
		}
	}
	resp.FinalizedFeaturesEpoch = img.Offset // as Kafka: the offset of the image that has them
	for name, level := range img.Features() {
		if level > 0 {
			resp.FinalizedFeatures = append(resp.FinalizedFeatures, kmsg.ApiVersionsResponseFinalizedFeature{Name: name, MinVersionLevel: level, MaxVersionLevel: level})
		}
	}
}
