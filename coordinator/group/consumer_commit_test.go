package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Who says that it is a member must be one, at its epoch; who says nothing may ask. An epoch without a member is Kafka's stumbling block.
func TestConsumerFetchValidation(t *testing.T) {
	g := newConsumerGroup("g")
	m := newConsumerMember("m")
	m.epoch = 3
	g.put(m)
	member, stranger, none := "m", "x", ""
	f := func(id *string, epoch int32, want *kerr.Error) {
		t.Helper()
		if got := g.validateFetch(id, epoch); got != want {
			t.Errorf("epoch %d: %v, want %v", epoch, got, want)
		}
	}
	f(nil, -1, nil)
	f(&member, 3, nil)
	f(&member, 2, kerr.StaleMemberEpoch)
	f(&member, -1, kerr.StaleMemberEpoch)
	f(&stranger, 3, kerr.UnknownMemberID)
	f(&none, -1, kerr.UnknownMemberID)
	f(nil, 3, kerr.UnknownServerError)
	f(nil, 0, kerr.UnknownServerError)
}
