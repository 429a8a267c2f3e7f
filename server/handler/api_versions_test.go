package handler

import (
	"testing"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// testHandler has an image with two finalized features at offset 3.
func testHandler() *Handler {
	img, _, err := metadata.Empty().Apply([]record.Message{
		&record.FeatureLevelRecord{Name: "metadata.version", FeatureLevel: 33},
		&record.FeatureLevelRecord{Name: "group.version", FeatureLevel: 1},
	}, 3, 1)
	if err != nil {
		panic(err)
	}
	return New(Handler{NodeID: 1, ClusterID: "cluster", Images: func() *metadata.Image { return img }, Clock: clock.System(), Log: zerolog.Nop()})
}

func apiVersions(t *testing.T, version int16, change func(*kmsg.ApiVersionsRequest)) *kmsg.ApiVersionsResponse {
	t.Helper()
	req := kmsg.NewPtrApiVersionsRequest()
	req.SetVersion(version)
	req.ClientSoftwareName, req.ClientSoftwareVersion = "test", "1.0"
	if change != nil {
		change(req)
	}
	resp := kmsg.NewPtrApiVersionsResponse() // as a client reads it
	resp.SetVersion(version)
	if err := resp.ReadFrom(serve(t, testHandler(), req).AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	return resp
}

// As the recorded answers of 4.4.0 for every version.
func TestApiVersions(t *testing.T) {
	h := testHandler()
	for v := range int16(6) {
		r := apiVersions(t, v, nil)
		if r.ErrorCode != 0 || r.Version != v || len(r.ApiKeys) != len(h.APIs()) {
			t.Fatalf("v%d: %+v", v, r)
		}
		for i, a := range h.APIs() {
			if k := r.ApiKeys[i]; k.ApiKey != a.Key || k.MinVersion != a.Min || k.MaxVersion != a.Max {
				t.Errorf("v%d: %+v, want %+v", v, k, a.API)
			}
		}
		wantSupported := map[int16]int{3: 1, 4: 7, 5: 7}[v]
		if len(r.SupportedFeatures) != wantSupported {
			t.Errorf("v%d: %d supported features, want %d", v, len(r.SupportedFeatures), wantSupported)
		}
		if v >= 3 && (r.FinalizedFeaturesEpoch != 3 || len(r.FinalizedFeatures) != 2 || r.FinalizedFeatures[0].Name != "group.version" || r.FinalizedFeatures[1].MaxVersionLevel != 33) {
			t.Errorf("v%d: finalized at %d: %v", v, r.FinalizedFeaturesEpoch, r.FinalizedFeatures)
		}
	}
}

func TestApiVersionsTooNew(t *testing.T) {
	for _, v := range []int16{6, 99, 32767, -1} {
		c := callOf(&kmsg.ApiVersionsRequest{})
		c.header.Version = v
		testHandler().Serve(c)
		r, ok := c.resp.(*kmsg.ApiVersionsResponse)
		if !ok || r.Version != 0 || r.ErrorCode != kerr.UnsupportedVersion.Code || len(r.ApiKeys) != 1 || r.ApiKeys[0].ApiKey != 18 || r.ApiKeys[0].MaxVersion != 5 {
			t.Errorf("v%d: %+v", v, c.resp)
		}
	}
}

func TestApiVersionsChecks(t *testing.T) {
	f := func(name, version string, want error) {
		t.Helper()
		r := apiVersions(t, 3, func(q *kmsg.ApiVersionsRequest) { q.ClientSoftwareName, q.ClientSoftwareVersion = name, version })
		if got := kerr.ErrorForCode(r.ErrorCode); got != want || want != nil && (len(r.ApiKeys) > 0 || r.FinalizedFeaturesEpoch != -1) {
			t.Errorf("%q %q: %v, want %v", name, version, got, want)
		}
	}
	f("", "1.0", kerr.InvalidRequest)
	f("twin", "", kerr.InvalidRequest)
	f("tw in", "1.0", kerr.InvalidRequest)
	f("-twin", "1", kerr.InvalidRequest)
	f("twin\n", "1", kerr.InvalidRequest)
	f("a.b-c", "1.0-x", nil)
	f("a", "1", nil)

	g := func(cluster *string, node int32, want error) {
		t.Helper()
		r := apiVersions(t, 5, func(q *kmsg.ApiVersionsRequest) { q.ClusterID, q.NodeID = cluster, node })
		if got := kerr.ErrorForCode(r.ErrorCode); got != want {
			t.Errorf("cluster %v node %d: %v, want %v", cluster, node, got, want)
		}
	}
	own, other := "cluster", "other"
	g(nil, -1, nil)
	g(&own, 1, nil)
	g(&own, -1, kerr.InvalidRequest)
	g(nil, 1, kerr.InvalidRequest)
	g(&other, 1, kerr.RebootstrapRequired)
	g(&own, 2, kerr.RebootstrapRequired)
}

func TestSaslOnPlaintext(t *testing.T) {
	h := testHandler()
	hs := kmsg.NewPtrSASLHandshakeRequest()
	hs.SetVersion(1)
	hs.Mechanism = "PLAIN"
	if r := serve(t, h, hs).(*kmsg.SASLHandshakeResponse); r.ErrorCode != kerr.IllegalSaslState.Code || len(r.SupportedMechanisms) != 0 {
		t.Errorf("handshake: %+v", r)
	}
	au := kmsg.NewPtrSASLAuthenticateRequest()
	au.SetVersion(2)
	au.SASLAuthBytes = []byte("\x00u\x00p")
	if r := serve(t, h, au).(*kmsg.SASLAuthenticateResponse); r.ErrorCode != kerr.IllegalSaslState.Code || r.ErrorMessage == nil {
		t.Errorf("authenticate: %+v", r)
	}
}

func BenchmarkApiVersions(b *testing.B) {
	h := testHandler()
	req := kmsg.NewPtrApiVersionsRequest()
	req.SetVersion(4)
	req.ClientSoftwareName, req.ClientSoftwareVersion = "test", "1.0"
	c := &quietCall{dataCall: dataCall{testCall: *callOf(req), conn: &dataConn{id: 1}}}
	b.ReportAllocs()
	for b.Loop() {
		h.apiVersions(c)
	}
}
