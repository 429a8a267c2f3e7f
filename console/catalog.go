package console

// Kind is the type of a metric in Prometheus' sense.
type Kind uint8

// Kinds.
const (
	Counter Kind = iota
	Gauge
	Summary
)

// String is Prometheus' word.
func (k Kind) String() string { return [...]string{"counter", "gauge", "summary"}[k] }

// Metric is an entry of the catalogue. A label whose value is "" is left out, as Prometheus does: the broker's sum of a topic's metric has
// no topic.
type Metric struct {
	Name   string
	Kind   Kind
	Labels []string
	Help   string
}

// Catalog lists every metric that kaja itself shows, by subject. Names are those that Kafka's metrics have behind the JMX exporter with its
// usual rules, and those of kafka_exporter, so that dashboards made for these work. Besides, there are client_golang's go_* and process_*.
// Read only.
func Catalog() []Metric { return catalog[:] }

var catalog = [...]Metric{
	// topics
	{"kafka_server_brokertopicmetrics_messagesin_total", Counter, []string{"topic"}, "Records that clients have written."},
	{"kafka_server_brokertopicmetrics_bytesin_total", Counter, []string{"topic"}, "Bytes of record batches that clients have written."},
	{"kafka_server_brokertopicmetrics_bytesout_total", Counter, []string{"topic"}, "Bytes of record batches that were sent to consumers."},
	{"kafka_server_brokertopicmetrics_replicationbytesin_total", Counter, []string{"topic"}, "Bytes copied from leaders."},
	{"kafka_server_brokertopicmetrics_replicationbytesout_total", Counter, []string{"topic"}, "Bytes sent to followers."},
	{"kafka_server_brokertopicmetrics_totalproducerequests_total", Counter, []string{"topic"}, "Produce requests, counted once per partition."},
	{"kafka_server_brokertopicmetrics_totalfetchrequests_total", Counter, []string{"topic"}, "Fetch requests, counted once per partition."},
	{"kafka_server_brokertopicmetrics_failedproducerequests_total", Counter, []string{"topic"}, "Produce requests that failed, counted once per partition."},
	{"kafka_server_brokertopicmetrics_failedfetchrequests_total", Counter, []string{"topic"}, "Fetch requests that failed, counted once per partition."},

	// requests
	{"kafka_network_requestmetrics_requests_total", Counter, []string{"request", "version"}, "Requests answered."},
	{"kafka_network_requestmetrics_totaltimems", Summary, []string{"request"}, "Milliseconds from a request's last byte to its answer."},
	{"kafka_network_requestmetrics_localtimems", Summary, []string{"request"}, "Milliseconds at work on a request."},
	{"kafka_network_requestmetrics_remotetimems", Summary, []string{"request"}, "Milliseconds that a request waited: for other brokers, for data, for the disk, for other members."},
	{"kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", Gauge, nil, "Part of the time since the last look (0 to 1) that the event loops had no request to work on."},
	{"kafka_network_socketserver_networkprocessoravgidle_percent", Gauge, nil, "The same: the loops read and write as well."},
	{"kafka_server_socket_server_metrics_connection_count", Gauge, []string{"listener"}, "Open connections."},
	{"kafka_server_socket_server_metrics_connection_creation_total", Counter, nil, "Connections accepted."},

	// this broker's replicas
	{"kafka_server_kafkaserver_brokerstate", Gauge, nil, "State of the broker: 1 starting, 3 running, 6 stopping."},
	{"kafka_server_replicamanager_partitioncount", Gauge, nil, "Partitions of which this broker has a replica."},
	{"kafka_server_replicamanager_leadercount", Gauge, nil, "Partitions that this broker leads."},
	{"kafka_server_replicamanager_offlinereplicacount", Gauge, nil, "Replicas of this broker whose log directory has failed."},
	{"kafka_server_replicamanager_underreplicatedpartitions", Gauge, nil, "Partitions led here of which a replica is not in sync."},
	{"kafka_server_replicamanager_underminisrpartitioncount", Gauge, nil, "Partitions led here with fewer replicas in sync than min.insync.replicas."},
	{"kafka_server_replicamanager_atminisrpartitioncount", Gauge, nil, "Partitions led here with as many replicas in sync as min.insync.replicas."},
	{"kafka_server_replicamanager_isrshrinks_total", Counter, nil, "Times that a replica fell out of sync, over all partitions."},
	{"kafka_server_replicamanager_isrexpands_total", Counter, nil, "Times that a replica came into sync, over all partitions."},

	// controller
	{"kafka_controller_kafkacontroller_activecontrollercount", Gauge, nil, "1 where the active controller is, else 0: the sum over a cluster is 1."},
	{"kafka_controller_kafkacontroller_activebrokercount", Gauge, nil, "Brokers that are alive."},
	{"kafka_controller_kafkacontroller_fencedbrokercount", Gauge, nil, "Brokers that are registered and not alive."},
	{"kafka_controller_kafkacontroller_globaltopiccount", Gauge, nil, "Topics of the cluster."},
	{"kafka_controller_kafkacontroller_globalpartitioncount", Gauge, nil, "Partitions of the cluster."},
	{"kafka_controller_kafkacontroller_offlinepartitionscount", Gauge, nil, "Partitions without a leader."},
	{"kafka_controller_kafkacontroller_preferredreplicaimbalancecount", Gauge, nil, "Partitions that another replica leads than the preferred one."},
	{"kafka_server_raft_metrics_current_leader", Gauge, nil, "Node that leads the metadata quorum, -1 none."},
	{"kafka_server_raft_metrics_current_epoch", Gauge, nil, "Epoch of the metadata quorum."},
	{"kafka_server_raft_metrics_high_watermark", Gauge, nil, "High watermark of the metadata log."},

	// logs
	{"kafka_log_log_size", Gauge, []string{"topic", "partition"}, "Bytes of the partition's log on this broker."},
	{"kafka_log_log_logstartoffset", Gauge, []string{"topic", "partition"}, "First offset in the log."},
	{"kafka_log_log_logendoffset", Gauge, []string{"topic", "partition"}, "Offset of the next record to be written."},
	{"kafka_log_log_numlogsegments", Gauge, []string{"topic", "partition"}, "Files that the log is divided into."},
	{"kafka_log_logmanager_offlinelogdirectorycount", Gauge, nil, "Log directories that have failed."},

	// groups
	{"kafka_coordinator_group_groupmetadatamanager_numgroups", Gauge, nil, "Groups that this broker coordinates."},
	{"kafka_coordinator_group_groupmetadatamanager_numoffsets", Gauge, nil, "Offsets committed in them."},
	{"kafka_coordinator_group_groupmetadatamanager_numgroupspreparingrebalance", Gauge, nil, "Classic groups that wait for members to join."},
	{"kafka_coordinator_group_groupmetadatamanager_numgroupscompletingrebalance", Gauge, nil, "Classic groups that wait for their leader's assignment."},
	{"kafka_coordinator_group_groupmetadatamanager_numgroupsstable", Gauge, nil, "Groups at work."},
	{"kafka_coordinator_group_groupmetadatamanager_numgroupsempty", Gauge, nil, "Groups without members."},
	{"kafka_server_group_coordinator_metrics_group_count", Gauge, []string{"protocol", "state"}, "Groups by kind and state."},

	// as kafka_exporter has them
	{"kafka_brokers", Gauge, nil, "Brokers that are alive."},
	{"kafka_topic_partitions", Gauge, []string{"topic"}, "Partitions of the topic."},
	{"kafka_topic_partition_current_offset", Gauge, []string{"topic", "partition"}, "Offset after the newest record that consumers see."},
	{"kafka_topic_partition_oldest_offset", Gauge, []string{"topic", "partition"}, "Offset of the oldest record."},
	{"kafka_topic_partition_leader", Gauge, []string{"topic", "partition"}, "Broker that leads the partition, -1 none."},
	{"kafka_topic_partition_leader_is_preferred", Gauge, []string{"topic", "partition"}, "1 if that is the preferred replica."},
	{"kafka_topic_partition_replicas", Gauge, []string{"topic", "partition"}, "Replicas of the partition."},
	{"kafka_topic_partition_in_sync_replica", Gauge, []string{"topic", "partition"}, "Replicas in sync."},
	{"kafka_topic_partition_under_replicated_partition", Gauge, []string{"topic", "partition"}, "1 if a replica is not in sync."},
	{"kafka_consumergroup_members", Gauge, []string{"consumergroup"}, "Members of the group."},
	{"kafka_consumergroup_current_offset", Gauge, []string{"consumergroup", "topic", "partition"}, "Offset that the group has committed."},
	{"kafka_consumergroup_current_offset_sum", Gauge, []string{"consumergroup", "topic"}, "Sum of these over the topic's partitions."},
	{"kafka_consumergroup_lag", Gauge, []string{"consumergroup", "topic", "partition"}, "Offsets from the committed one to the newest: records not committed yet, with markers of transactions and gaps of compaction."},
	{"kafka_consumergroup_lag_sum", Gauge, []string{"consumergroup", "topic"}, "Sum of these over the topic's partitions."},
}
