package controller

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// describeQuorum answers DescribeQuorum. The request must name the metadata log's only partition and nothing else, or all that it
// names is answered UNKNOWN_TOPIC_OR_PARTITION (KafkaRaftClient.handleDescribeQuorumRequest of 4.4).
func (m *machine) describeQuorum(req *kmsg.DescribeQuorumRequest) *kmsg.DescribeQuorumResponse {
	resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
	none := ""
	resp.ErrorMessage = &none // 4.4 sends the empty text from version 2
	valid := len(req.Topics) == 1 && req.Topics[0].Topic == clusterMetadataTopic && len(req.Topics[0].Partitions) == 1 &&
		req.Topics[0].Partitions[0].Partition == 0
	for _, t := range req.Topics {
		out := kmsg.NewDescribeQuorumResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			op := kmsg.NewDescribeQuorumResponseTopicPartition()
			op.Partition = p.Partition
			if valid {
				m.describeLog(&op)
			} else {
				err := failDefault(kerr.UnknownTopicOrPartition)
				op.ErrorCode, op.ErrorMessage = err.code, err.text()
				op.LeaderID, op.LeaderEpoch, op.HighWatermark = 0, 0, 0 // unset in Kafka
			}
			out.Partitions = append(out.Partitions, op)
		}
		resp.Topics = append(resp.Topics, out)
	}
	if valid {
		node := kmsg.NewDescribeQuorumResponseNode()
		node.NodeID = m.nodeID
		for _, e := range m.quorumEndpoints() {
			l := kmsg.NewDescribeQuorumResponseNodeListener()
			l.Name, l.Host, l.Port = e.Name, e.Host, e.Port
			node.Listeners = append(node.Listeners, l)
		}
		resp.Nodes = append(resp.Nodes, node)
	}
	return resp
}

// describeLog fills in the leader's view; all that is written is committed by the time that anybody reads the answer.
func (m *machine) describeLog(p *kmsg.DescribeQuorumResponseTopicPartition) {
	none := ""
	p.ErrorMessage = &none
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = m.nodeID, m.epoch, m.next
	self := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
	self.ReplicaID, self.LogEndOffset = m.nodeID, m.next
	self.LastFetchTimestamp, self.LastCaughtUpTimestamp = m.now, m.now
	p.CurrentVoters = append(p.CurrentVoters, self)
}

// quorumEndpoints are the controller's listeners. A node without one is reached by its broker's listeners; the first then bears the name that
// a controller's listener has in Kafka's own files, as tools expect one.
func (m *machine) quorumEndpoints() []Endpoint {
	if len(m.self.VoterEndpoints) > 0 || len(m.self.Broker.Endpoints) == 0 {
		return m.self.VoterEndpoints
	}
	e := m.self.Broker.Endpoints[0]
	e.Name = controllerListener
	return []Endpoint{e}
}

// controllerListener is the name of the controller's listener in config/server.properties of Apache Kafka.
const controllerListener = "CONTROLLER"
