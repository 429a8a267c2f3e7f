package controller

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// call queues a request: decide gives its records and its response, refuse the response when it can't be decided.
func call[Resp any](c *Controller, decide func(m *machine) ([]versioned, Resp), refuse func(apiError) Resp, done func(Resp)) {
	c.submit(command{
		decide: func(m *machine) effects {
			records, resp := decide(m)
			return effects{records: records, reply: func() { done(resp) }}
		},
		refuse: func(err *kerr.Error) { done(refuse(failDefault(err))) },
	})
}

// late refuses a request whose timeout is not above 0: as in Kafka nothing is done then.
func late() apiError { return failBare(kerr.RequestTimedOut) }

// CreateTopics creates topics (key 19). Who may create which topic is the handler's business.
func (c *Controller) CreateTopics(req *kmsg.CreateTopicsRequest, done func(*kmsg.CreateTopicsResponse)) {
	if req.TimeoutMillis <= 0 {
		done(refuseCreateTopics(req, late()))
		return
	}
	call(c, func(m *machine) ([]versioned, *kmsg.CreateTopicsResponse) { return m.createTopics(req) },
		func(err apiError) *kmsg.CreateTopicsResponse { return refuseCreateTopics(req, err) }, done)
}

// DeleteTopics deletes topics by name or id (key 20).
func (c *Controller) DeleteTopics(req *kmsg.DeleteTopicsRequest, done func(*kmsg.DeleteTopicsResponse)) {
	if req.TimeoutMillis <= 0 {
		done(refuseDeleteTopics(req, late()))
		return
	}
	call(c, func(m *machine) ([]versioned, *kmsg.DeleteTopicsResponse) { return m.deleteTopics(req) },
		func(err apiError) *kmsg.DeleteTopicsResponse { return refuseDeleteTopics(req, err) }, done)
}

// CreatePartitions adds partitions to topics (key 37).
func (c *Controller) CreatePartitions(req *kmsg.CreatePartitionsRequest, done func(*kmsg.CreatePartitionsResponse)) {
	if req.TimeoutMillis <= 0 {
		done(refuseCreatePartitions(req, late()))
		return
	}
	call(c, func(m *machine) ([]versioned, *kmsg.CreatePartitionsResponse) { return m.createPartitions(req) },
		func(err apiError) *kmsg.CreatePartitionsResponse { return refuseCreatePartitions(req, err) }, done)
}

// AlterConfigs replaces the settings of resources (key 33).
func (c *Controller) AlterConfigs(req *kmsg.AlterConfigsRequest, done func(*kmsg.AlterConfigsResponse)) {
	call(c, func(m *machine) ([]versioned, *kmsg.AlterConfigsResponse) { return m.alterConfigs(req) },
		func(err apiError) *kmsg.AlterConfigsResponse {
			resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
			for _, r := range req.Resources {
				out := kmsg.NewAlterConfigsResponseResource()
				out.ResourceType, out.ResourceName, out.ErrorCode, out.ErrorMessage = r.ResourceType, r.ResourceName, err.code, err.text()
				resp.Resources = append(resp.Resources, out)
			}
			return resp
		}, done)
}

// IncrementalAlterConfigs changes single settings of resources (key 44), the levels of this node's loggers too.
func (c *Controller) IncrementalAlterConfigs(req *kmsg.IncrementalAlterConfigsRequest, done func(*kmsg.IncrementalAlterConfigsResponse)) {
	c.submit(command{
		decide: func(m *machine) effects {
			records, resp, levels := m.incrementalAlterConfigs(req)
			return effects{records: records, reply: func() {
				for _, l := range levels {
					if c.o.SetLogLevel != nil {
						c.o.SetLogLevel(l)
					}
				}
				done(resp)
			}}
		},
		refuse: func(err *kerr.Error) {
			resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
			e := failDefault(err)
			for _, r := range req.Resources {
				out := kmsg.NewIncrementalAlterConfigsResponseResource()
				out.ResourceType, out.ResourceName, out.ErrorCode, out.ErrorMessage = r.ResourceType, r.ResourceName, e.code, e.text()
				resp.Resources = append(resp.Resources, out)
			}
			done(resp)
		},
	})
}

// AlterClientQuotas changes quotas (key 49). Host names of ip entities are resolved before it returns (ResolveHost), which may take a while.
func (c *Controller) AlterClientQuotas(req *kmsg.AlterClientQuotasRequest, done func(*kmsg.AlterClientQuotasResponse)) {
	resolved := map[string]bool{}
	for _, host := range QuotaHosts(req) {
		resolved[host] = c.o.ResolveHost != nil && c.o.ResolveHost(host)
	}
	call(c, func(m *machine) ([]versioned, *kmsg.AlterClientQuotasResponse) {
		return m.alterClientQuotas(req, func(host string) bool { return resolved[host] })
	}, func(err apiError) *kmsg.AlterClientQuotasResponse {
		resp := req.ResponseKind().(*kmsg.AlterClientQuotasResponse)
		for i := range req.Entries {
			resp.Entries = append(resp.Entries, quotaAnswer(&req.Entries[i], err))
		}
		return resp
	}, done)
}

// AlterUserSCRAMCredentials sets and deletes SCRAM credentials (key 51).
func (c *Controller) AlterUserSCRAMCredentials(req *kmsg.AlterUserSCRAMCredentialsRequest, done func(*kmsg.AlterUserSCRAMCredentialsResponse)) {
	call(c, func(m *machine) ([]versioned, *kmsg.AlterUserSCRAMCredentialsResponse) {
		return m.alterUserScramCredentials(req)
	},
		func(err apiError) *kmsg.AlterUserSCRAMCredentialsResponse { return refuseScram(req, err) }, done)
}

// UpdateFeatures changes finalized feature levels (key 57).
func (c *Controller) UpdateFeatures(req *kmsg.UpdateFeaturesRequest, done func(*kmsg.UpdateFeaturesResponse)) {
	call(c, func(m *machine) ([]versioned, *kmsg.UpdateFeaturesResponse) { return m.updateFeatures(req) },
		func(err apiError) *kmsg.UpdateFeaturesResponse { return refuseUpdateFeatures(req, err) }, done)
}

// ElectLeaders elects preferred leaders, or any where there is none (key 43).
func (c *Controller) ElectLeaders(req *kmsg.ElectLeadersRequest, done func(*kmsg.ElectLeadersResponse)) {
	if req.TimeoutMillis <= 0 {
		done(refuseElectLeaders(req, late()))
		return
	}
	call(c, func(m *machine) ([]versioned, *kmsg.ElectLeadersResponse) { return m.electLeaders(req) },
		func(err apiError) *kmsg.ElectLeadersResponse { return refuseElectLeaders(req, err) }, done)
}

// AlterPartitionAssignments is AlterPartitionReassignments (key 45).
func (c *Controller) AlterPartitionAssignments(req *kmsg.AlterPartitionAssignmentsRequest, done func(*kmsg.AlterPartitionAssignmentsResponse)) {
	call(c, func(m *machine) ([]versioned, *kmsg.AlterPartitionAssignmentsResponse) {
		return m.alterPartitionAssignments(req)
	},
		func(err apiError) *kmsg.AlterPartitionAssignmentsResponse {
			resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
			resp.ErrorCode, resp.ErrorMessage = err.code, err.text()
			return resp
		}, done)
}

// ListPartitionReassignments tells which partitions are moving (key 46).
func (c *Controller) ListPartitionReassignments(req *kmsg.ListPartitionReassignmentsRequest, done func(*kmsg.ListPartitionReassignmentsResponse)) {
	call(c, func(m *machine) ([]versioned, *kmsg.ListPartitionReassignmentsResponse) {
		return nil, m.listPartitionReassignments(req)
	}, func(err apiError) *kmsg.ListPartitionReassignmentsResponse {
		resp := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
		resp.ErrorCode, resp.ErrorMessage = err.code, err.text()
		return resp
	}, done)
}

// DescribeQuorum tells about the metadata quorum (key 55).
func (c *Controller) DescribeQuorum(req *kmsg.DescribeQuorumRequest, done func(*kmsg.DescribeQuorumResponse)) {
	call(c, func(m *machine) ([]versioned, *kmsg.DescribeQuorumResponse) { return nil, m.describeQuorum(req) },
		func(err apiError) *kmsg.DescribeQuorumResponse {
			resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
			resp.ErrorCode, resp.ErrorMessage = err.code, err.text()
			return resp
		}, done)
}

// UnregisterBroker forgets a broker (key 64).
func (c *Controller) UnregisterBroker(req *kmsg.UnregisterBrokerRequest, done func(*kmsg.UnregisterBrokerResponse)) {
	call(c, func(m *machine) ([]versioned, *kmsg.UnregisterBrokerResponse) { return m.unregisterBroker(req) },
		func(err apiError) *kmsg.UnregisterBrokerResponse {
			resp := req.ResponseKind().(*kmsg.UnregisterBrokerResponse)
			resp.ErrorCode, resp.ErrorMessage = err.code, err.text()
			return resp
		}, done)
}

// AllocateProducerIDs hands out the next block of producer ids: first … first+count-1.
func (c *Controller) AllocateProducerIDs(done func(first int64, count int32, err error)) {
	c.submit(command{
		decide: func(m *machine) effects {
			first, records := m.allocateProducerIDs()
			return effects{records: records, reply: func() { done(first, ProducerIDBlockSize, nil) }}
		},
		refuse: func(err *kerr.Error) { done(-1, 0, err) },
	})
}
