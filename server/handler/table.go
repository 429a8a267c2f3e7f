package handler

import (
	"github.com/kaja-mq/kaja/protocol"
)

// API is a row of the table of what this broker answers. Its versions are those of Kafka 4.4.0 (protocol/table.go).
type API struct {
	protocol.API
	// Func answers a call; nil means not served.
	Func func(*Handler, Call)
	// BeforeAuth lets it through on a SASL listener before authentication has succeeded.
	BeforeAuth bool
}

// row is the part of an API that is ours to decide.
type row struct {
	key        int16
	f          func(*Handler, Call)
	beforeAuth bool
}

// rows is the explicit table: one line for each API that is served, by ascending key. A key without a line is not
// advertised, and a request with it ends its connection, as Kafka does with keys that it does not know.
func rows() []row {
	return []row{
		{key: 0, f: (*Handler).produce},
		{key: 1, f: (*Handler).fetch},
		{key: 2, f: (*Handler).listOffsets},
		{key: 3, f: (*Handler).metadata},
		{key: 8, f: (*Handler).offsetCommit},
		{key: 9, f: (*Handler).offsetFetch},
		{key: 10, f: (*Handler).findCoordinator},
		{key: 11, f: (*Handler).joinGroup},
		{key: 12, f: (*Handler).heartbeat},
		{key: 13, f: (*Handler).leaveGroup},
		{key: 14, f: (*Handler).syncGroup},
		{key: 15, f: (*Handler).describeGroups},
		{key: 16, f: (*Handler).listGroups},
		{key: 17, f: (*Handler).saslHandshake, beforeAuth: true},
		{key: 18, f: (*Handler).apiVersions, beforeAuth: true},
		{key: 19, f: (*Handler).createTopics},
		{key: 20, f: (*Handler).deleteTopics},
		{key: 21, f: (*Handler).deleteRecords},
		{key: 22, f: (*Handler).initProducerID},
		{key: 23, f: (*Handler).offsetForLeaderEpoch},
		{key: 24, f: (*Handler).addPartitionsToTxn},
		{key: 25, f: (*Handler).addOffsetsToTxn},
		{key: 26, f: (*Handler).endTxn},
		{key: 27, f: (*Handler).writeTxnMarkers},
		{key: 28, f: (*Handler).txnOffsetCommit},
		{key: 29, f: (*Handler).describeAcls},
		{key: 30, f: (*Handler).createAcls},
		{key: 31, f: (*Handler).deleteAcls},
		{key: 32, f: (*Handler).describeConfigs},
		{key: 33, f: (*Handler).alterConfigs},
		{key: 34, f: (*Handler).alterReplicaLogDirs},
		{key: 35, f: (*Handler).describeLogDirs},
		{key: 36, f: (*Handler).saslAuthenticate, beforeAuth: true},
		{key: 37, f: (*Handler).createPartitions},
		{key: 38, f: (*Handler).createDelegationToken},
		{key: 39, f: (*Handler).renewDelegationToken},
		{key: 40, f: (*Handler).expireDelegationToken},
		{key: 41, f: (*Handler).describeDelegationToken},
		{key: 42, f: (*Handler).deleteGroups},
		{key: 43, f: (*Handler).electLeaders},
		{key: 44, f: (*Handler).incrementalAlterConfigs},
		{key: 45, f: (*Handler).alterPartitionReassignments},
		{key: 46, f: (*Handler).listPartitionReassignments},
		{key: 47, f: (*Handler).offsetDelete},
		{key: 48, f: (*Handler).describeClientQuotas},
		{key: 49, f: (*Handler).alterClientQuotas},
		{key: 50, f: (*Handler).describeUserSCRAMCredentials},
		{key: 51, f: (*Handler).alterUserSCRAMCredentials},
		{key: 55, f: (*Handler).describeQuorum},
		{key: 57, f: (*Handler).updateFeatures},
		{key: 60, f: (*Handler).describeCluster},
		{key: 61, f: (*Handler).describeProducers},
		{key: 64, f: (*Handler).unregisterBroker},
		{key: 65, f: (*Handler).describeTransactions},
		{key: 66, f: (*Handler).listTransactions},
		{key: 68, f: (*Handler).consumerGroupHeartbeat},
		{key: 69, f: (*Handler).consumerGroupDescribe},
		{key: 74, f: (*Handler).listConfigResources},
		{key: 75, f: (*Handler).describeTopicPartitions},
	}
}

// dispatch finds the API of a key.
type dispatch struct {
	byKey [protocol.MaxKey + 1]API
	all   []API
}

func newDispatch() (d dispatch) {
	for _, r := range rows() {
		p, ok := protocol.Lookup(r.key)
		if !ok {
			continue // a test refuses such a row
		}
		a := API{API: p, Func: r.f, BeforeAuth: r.beforeAuth}
		d.byKey[r.key] = a
		d.all = append(d.all, a)
	}
	return d
}

// API finds what answers the key; false if nothing does.
func (h *Handler) API(key int16) (API, bool) {
	if key < 0 || int(key) >= len(h.table.byKey) || h.table.byKey[key].Func == nil {
		return API{}, false
	}
	return h.table.byKey[key], true
}

// APIs lists what is served, by ascending key. Read only.
func (h *Handler) APIs() []API { return h.table.all }
