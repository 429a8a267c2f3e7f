package protocol

// API is what Apache Kafka 4.4.0 advertises for one API key (seen in its ApiVersions answers of every version).
type API struct {
	Key      int16
	Name     string
	Min, Max int16 // as advertised, inclusive
	// Oldest is the lowest version that is served. It differs from Min for Produce only: 0 to 2 are advertised because
	// librdkafka decides by them whether it may compress, and are not answered.
	Oldest int16
	// FirstFlexible is the first version whose requests and responses have tagged fields; none if negative.
	FirstFlexible int16
}

// Serves reports whether requests of the version are answered.
func (a API) Serves(version int16) bool { return version >= a.Oldest && version <= a.Max }

// Flexible reports whether requests and responses of the version have tagged fields, which decides on the header too.
func (a API) Flexible(version int16) bool { return a.FirstFlexible >= 0 && version >= a.FirstFlexible }

// Lookup finds an API of Kafka 4.4.0 by its key.
func Lookup(key int16) (API, bool) {
	if key < 0 || int(key) >= len(byKey) || byKey[key] < 0 {
		return API{}, false
	}
	return apis[byKey[key]], true
}

// APIs lists all APIs of Kafka 4.4.0 that are answered on a broker's listener, by ascending key. Read only.
func APIs() []API { return apis[:] }

// MaxKey is the highest API key of Kafka 4.4.0.
const MaxKey = 94

// ApiVersionsKey is the key of ApiVersions, which has rules of its own: its response header is always v0, and a version
// that is too new is answered in the form of v0.
const ApiVersionsKey = 18

// apis is the table; see API. It is sorted by key. Ranges as answered by 4.4.0, flexible versions from its message schemas.
var apis = [...]API{
	{0, "Produce", 0, 13, 3, 9},
	{1, "Fetch", 4, 18, 4, 12},
	{2, "ListOffsets", 1, 11, 1, 6},
	{3, "Metadata", 0, 13, 0, 9},
	{8, "OffsetCommit", 2, 10, 2, 8},
	{9, "OffsetFetch", 1, 10, 1, 6},
	{10, "FindCoordinator", 0, 6, 0, 3},
	{11, "JoinGroup", 0, 9, 0, 6},
	{12, "Heartbeat", 0, 4, 0, 4},
	{13, "LeaveGroup", 0, 5, 0, 4},
	{14, "SyncGroup", 0, 5, 0, 4},
	{15, "DescribeGroups", 0, 6, 0, 5},
	{16, "ListGroups", 0, 5, 0, 3},
	{17, "SaslHandshake", 0, 1, 0, -1},
	{18, "ApiVersions", 0, 5, 0, 3},
	{19, "CreateTopics", 2, 7, 2, 5},
	{20, "DeleteTopics", 1, 6, 1, 4},
	{21, "DeleteRecords", 0, 2, 0, 2},
	{22, "InitProducerId", 0, 5, 0, 2},
	{23, "OffsetForLeaderEpoch", 2, 4, 2, 4},
	{24, "AddPartitionsToTxn", 0, 5, 0, 3},
	{25, "AddOffsetsToTxn", 0, 4, 0, 3},
	{26, "EndTxn", 0, 5, 0, 3},
	{27, "WriteTxnMarkers", 1, 2, 1, 1},
	{28, "TxnOffsetCommit", 0, 6, 0, 3},
	{29, "DescribeAcls", 1, 3, 1, 2},
	{30, "CreateAcls", 1, 3, 1, 2},
	{31, "DeleteAcls", 1, 3, 1, 2},
	{32, "DescribeConfigs", 1, 4, 1, 4},
	{33, "AlterConfigs", 0, 2, 0, 2},
	{34, "AlterReplicaLogDirs", 1, 2, 1, 2},
	{35, "DescribeLogDirs", 1, 5, 1, 2},
	{36, "SaslAuthenticate", 0, 2, 0, 2},
	{37, "CreatePartitions", 0, 3, 0, 2},
	{38, "CreateDelegationToken", 1, 3, 1, 2},
	{39, "RenewDelegationToken", 1, 2, 1, 2},
	{40, "ExpireDelegationToken", 1, 2, 1, 2},
	{41, "DescribeDelegationToken", 1, 3, 1, 2},
	{42, "DeleteGroups", 0, 3, 0, 2},
	{43, "ElectLeaders", 0, 2, 0, 2},
	{44, "IncrementalAlterConfigs", 0, 1, 0, 1},
	{45, "AlterPartitionReassignments", 0, 1, 0, 0},
	{46, "ListPartitionReassignments", 0, 0, 0, 0},
	{47, "OffsetDelete", 0, 0, 0, -1},
	{48, "DescribeClientQuotas", 0, 1, 0, 1},
	{49, "AlterClientQuotas", 0, 1, 0, 1},
	{50, "DescribeUserScramCredentials", 0, 0, 0, 0},
	{51, "AlterUserScramCredentials", 0, 0, 0, 0},
	{55, "DescribeQuorum", 0, 2, 0, 0},
	{57, "UpdateFeatures", 0, 2, 0, 0},
	{60, "DescribeCluster", 0, 2, 0, 0},
	{61, "DescribeProducers", 0, 0, 0, 0},
	{64, "UnregisterBroker", 0, 0, 0, 0},
	{65, "DescribeTransactions", 0, 0, 0, 0},
	{66, "ListTransactions", 0, 2, 0, 0},
	{68, "ConsumerGroupHeartbeat", 0, 1, 0, 0},
	{69, "ConsumerGroupDescribe", 0, 1, 0, 0},
	{74, "ListConfigResources", 0, 1, 0, 0},
	{75, "DescribeTopicPartitions", 0, 0, 0, 0},
	{76, "ShareGroupHeartbeat", 1, 1, 1, 0},
	{77, "ShareGroupDescribe", 1, 1, 1, 0},
	{78, "ShareFetch", 1, 2, 1, 0},
	{79, "ShareAcknowledge", 1, 2, 1, 0},
	{80, "AddRaftVoter", 0, 1, 0, 0},
	{81, "RemoveRaftVoter", 0, 0, 0, 0},
	{83, "InitializeShareGroupState", 0, 0, 0, 0},
	{84, "ReadShareGroupState", 0, 0, 0, 0},
	{85, "WriteShareGroupState", 0, 1, 0, 0},
	{86, "DeleteShareGroupState", 0, 0, 0, 0},
	{87, "ReadShareGroupStateSummary", 0, 1, 0, 0},
	{88, "StreamsGroupHeartbeat", 0, 1, 0, 0},
	{89, "StreamsGroupDescribe", 0, 1, 0, 0},
	{90, "DescribeShareGroupOffsets", 0, 1, 0, 0},
	{91, "AlterShareGroupOffsets", 0, 0, 0, 0},
	{92, "DeleteShareGroupOffsets", 0, 0, 0, 0},
	{93, "StreamsGroupTopologyDescriptionUpdate", 0, 0, 0, 0},
	{94, "UnregisterController", 0, 0, 0, 0},
}

// byKey gives the index into apis, -1 for none.
var byKey = func() (t [MaxKey + 1]int8) {
	for i := range t {
		t[i] = -1
	}
	for i, a := range apis {
		t[a.Key] = int8(i)
	}
	return t
}()
