package handler

import (
	"github.com/rs/zerolog"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/internal/clock"
	"github.com/kaja-mq/kaja/internal/wheel"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/protocol"
)

// Handler answers requests. It holds what the handlers of all APIs need and has no state of its own: everything that changes
// belongs to one of its parts. One Handler serves all connections of a broker.
//
// Each API is a method `func (h *Handler) x(c Call)` in the file of its name, where x is the API's name in lower camel case
// (createTopics in create_topics.go, initProducerID in init_producer_id.go, describeUserSCRAMCredentials in
// describe_user_scram_credentials.go); table.go has a row for each.
type Handler struct {
	// NodeID is this broker's node.id.
	NodeID int32
	// ClusterID is the cluster's id as in meta.properties.
	ClusterID string
	// Images gives the newest cluster image; never nil once connections are accepted.
	Images func() *metadata.Image
	// Controller takes changes of the metadata.
	Controller Controller
	// Data is what the handlers of records need: partitions, producer ids, fetch sessions.
	Data *DataPlane
	// Groups coordinates groups and their offsets.
	Groups GroupCoordinator
	// Txns coordinates transactions.
	Txns TxnCoordinator
	// Config gives the broker's effective configuration now, dynamic settings included; its Static is what the process started with.
	Config func() *config.Resolver

	Clock clock.Clock
	// Wheel keeps the deadlines of parked calls; it is the broker's.
	Wheel *wheel.Wheel
	Log   zerolog.Logger

	table    dispatch
	versions *versionAnswers
}

// New completes h, whose exported fields are set: it builds the dispatch table.
func New(h Handler) *Handler {
	h.table, h.versions = newDispatch(), &versionAnswers{}
	if h.Txns != nil && h.Data.Txn == nil {
		h.Data.Txn = txnVerifier{&h}
	}
	return &h
}

// Serve hands a request to the handler of its API. A key or version that is not served ends the connection, as in Kafka; but
// ApiVersions answers all versions itself.
func (h *Handler) Serve(c Call) {
	hd := c.Header()
	a, ok := h.API(hd.Key)
	switch {
	case !ok:
		c.Close("request with an API key that is not served")
	case !a.Serves(hd.Version) && hd.Key != protocol.ApiVersionsKey:
		c.Close("request with an API version that is not served")
	default:
		a.Func(h, c)
	}
}
