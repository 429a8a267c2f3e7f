package controller

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestLate: a timeout that is not above 0 has passed already, before the controller is asked.
func TestLate(t *testing.T) {
	for _, ms := range []int32{0, -1} {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.TimeoutMillis = ms
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic = "a"
		req.Topics = append(req.Topics, topic)
		var got *kmsg.CreateTopicsResponse
		(*Controller)(nil).CreateTopics(req, func(r *kmsg.CreateTopicsResponse) { got = r })
		if got == nil || len(got.Topics) != 1 || got.Topics[0].ErrorCode != kerr.RequestTimedOut.Code || got.Topics[0].ErrorMessage != nil {
			t.Errorf("timeout %d: answered %+v", ms, got)
		}
	}
}
