package handler

import (
	"fmt"
	"sort"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/metadata"
)

// DescribeConfigs (key 32), versions 1 to 4.
//
//	v1 synonyms and sources (KIP-226)  v3 types and documentation (KIP-569)  v4 flexible
//
// Seen on Apache 4.4.0: no names and a null list of names both mean all of them, unknown names are left out. A value that is null stands
// in the answer with null; a secret is null and marked. Error messages are "" where there is none, not null. The cluster-wide default
// broker ("") shows only what is set on it. A setting that Kafka does not know has type UNKNOWN, is taken for a secret and for read-only.
// One resource of an unknown type fails the whole request: every resource gets INVALID_REQUEST. Entries come in no particular order there;
// here by name. The documentation is kaja's own words.
func (h *Handler) describeConfigs(c Call) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	if !decode(c, req) {
		return
	}
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	resp.Resources = make([]kmsg.DescribeConfigsResponseResource, 0, len(req.Resources))
	d := describer{img: h.Images(), broker: h.Config(), nodeID: h.NodeID, synonyms: req.IncludeSynonyms, docs: req.IncludeDocumentation}
	malformed := hasUnknownType(req.Resources)
	for i := range req.Resources {
		q := &req.Resources[i]
		r := kmsg.NewDescribeConfigsResponseResource()
		r.ResourceType, r.ResourceName, r.ErrorMessage = q.ResourceType, q.ResourceName, kmsg.StringPtr("")
		if malformed {
			r.ErrorCode, r.ErrorMessage = kerr.InvalidRequest.Code, kmsg.StringPtr(malformedRequest)
		} else {
			d.resource(q, &r)
		}
		resp.Resources = append(resp.Resources, r)
	}
	c.Reply(resp)
}

// malformedRequest is the text of INVALID_REQUEST where Kafka has none of its own.
const malformedRequest = "This most likely occurs because of a request being malformed by the client library or the message was sent to an " +
	"incompatible broker. See the broker logs for more details."

func hasUnknownType(resources []kmsg.DescribeConfigsRequestResource) bool {
	for i := range resources {
		switch int8(resources[i].ResourceType) {
		case metadata.ResourceTopic, metadata.ResourceBroker, metadata.ResourceBrokerLogger, metadata.ResourceClientMetrics, metadata.ResourceGroup:
		default:
			return true
		}
	}
	return false
}

// describer answers for one image.
type describer struct {
	img            *metadata.Image
	broker         *config.Resolver
	nodeID         int32
	synonyms, docs bool
}

func (d *describer) resource(q *kmsg.DescribeConfigsRequestResource, r *kmsg.DescribeConfigsResponseResource) {
	var entries []kmsg.DescribeConfigsResponseResourceConfig
	var code int16
	var msg string
	switch int8(q.ResourceType) {
	case metadata.ResourceTopic:
		entries, code, msg = d.topic(q.ResourceName)
	case metadata.ResourceBroker:
		entries, code, msg = d.brokerEntries(q.ResourceName)
	case metadata.ResourceBrokerLogger:
		entries, code, msg = d.loggerEntries(q.ResourceName)
	case metadata.ResourceClientMetrics:
		entries, code, msg = d.clientMetrics(q.ResourceName)
	case metadata.ResourceGroup:
		entries, code, msg = d.group(q.ResourceName)
	}
	r.ErrorCode, r.ErrorMessage = code, &msg
	r.Configs = pickNames(entries, q.ConfigNames)
}

// pickNames keeps the entries that were asked for; none means all.
func pickNames(entries []kmsg.DescribeConfigsResponseResourceConfig, names []string) []kmsg.DescribeConfigsResponseResourceConfig {
	if len(names) == 0 {
		return entries
	}
	wanted := make(map[string]bool, len(names))
	for _, n := range names {
		wanted[n] = true
	}
	kept := entries[:0]
	for _, e := range entries {
		if wanted[e.Name] {
			kept = append(kept, e)
		}
	}
	return kept
}

func (d *describer) topic(name string) ([]kmsg.DescribeConfigsResponseResourceConfig, int16, string) {
	if why := topicNameProblem(name); why != "" {
		return nil, kerr.InvalidTopicException.Code, "Topic name is invalid: " + why
	}
	if d.img.Topic(name) == nil {
		return nil, kerr.UnknownTopicOrPartition.Code, ""
	}
	own := d.img.Config(metadata.ResourceTopic, name)
	view := config.TopicOf(d.broker, own)
	var out []kmsg.DescribeConfigsResponseResourceConfig
	for i := range config.Properties(config.ScopeTopic) {
		p := &config.Properties(config.ScopeTopic)[i]
		if p.Visibility == config.Internal {
			continue
		}
		v := view.Value(p.Name)
		out = append(out, d.entry(p, p.Name, &v, false, view.Synonyms(p.Name)))
	}
	return out, 0, ""
}

func (d *describer) group(name string) ([]kmsg.DescribeConfigsResponseResourceConfig, int16, string) {
	if name == "" {
		return nil, kerr.InvalidRequest.Code, "Group name must not be empty"
	}
	own := d.img.Config(metadata.ResourceGroup, name)
	view := config.GroupOf(d.broker, own)
	var out []kmsg.DescribeConfigsResponseResourceConfig
	for i := range config.Properties(config.ScopeGroup) {
		p := &config.Properties(config.ScopeGroup)[i]
		if p.Visibility == config.Internal {
			continue
		}
		v := view.Value(p.Name)
		out = append(out, d.entry(p, p.Name, &v, false, view.Synonyms(p.Name)))
	}
	return out, 0, ""
}

func (d *describer) clientMetrics(name string) ([]kmsg.DescribeConfigsResponseResourceConfig, int16, string) {
	if name == "" {
		return nil, kerr.InvalidRequest.Code, "Client metrics subscription name must not be empty"
	}
	own := d.img.Config(metadata.ResourceClientMetrics, name)
	var out []kmsg.DescribeConfigsResponseResourceConfig
	for i := range config.Properties(config.ScopeClientMetrics) {
		p := &config.Properties(config.ScopeClientMetrics)[i]
		v, syn := p.Default, []config.SynonymValue(nil)
		if text, ok := own[p.Name]; ok {
			if norm, err := p.Parse(text); err == nil {
				v = norm
			}
			syn = []config.SynonymValue{{Name: p.Name, Value: text, Source: config.SourceDynamicClientMetrics}}
		}
		out = append(out, d.entry(p, p.Name, &v, false, syn))
	}
	return out, 0, ""
}

// brokerEntries describes this broker, or what is set on the cluster-wide default.
func (d *describer) brokerEntries(name string) ([]kmsg.DescribeConfigsResponseResourceConfig, int16, string) {
	if name == "" {
		return d.defaultBroker(), 0, ""
	}
	if code, msg := d.notThisBroker(name, "expected %d or empty string, but received %d"); code != 0 {
		return nil, code, msg
	}
	var out []kmsg.DescribeConfigsResponseResourceConfig
	for _, n := range d.brokerNames() {
		out = append(out, d.brokerEntry(n, d.broker.BrokerSynonyms(n)))
	}
	return out, 0, ""
}

func (d *describer) notThisBroker(name, format string) (int16, string) {
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return kerr.InvalidRequest.Code, "Broker id must be an integer, but it is: " + name
	}
	if int32(id) != d.nodeID {
		return kerr.InvalidRequest.Code, fmt.Sprintf("Unexpected broker id, "+format, d.nodeID, id)
	}
	return 0, ""
}

func (d *describer) defaultBroker() []kmsg.DescribeConfigsResponseResourceConfig {
	var out []kmsg.DescribeConfigsResponseResourceConfig
	for n := range d.img.Config(metadata.ResourceBroker, "") {
		var links []config.SynonymValue
		for _, s := range d.broker.BrokerSynonyms(n) {
			if s.Source == config.SourceDynamicDefaultBroker {
				links = append(links, s)
			}
		}
		e := d.brokerEntry(n, links)
		if !e.IsSensitive && len(links) > 0 { // its own value, whatever this broker overrides
			v := links[0].Value
			if p := config.PropertyOf(n); p != nil {
				if norm, err := p.Parse(v); err == nil {
					v = norm
				}
			}
			e.Value = &v
		}
		out = append(out, e)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// brokerNames are the public properties and whatever else is set, sorted.
func (d *describer) brokerNames() []string {
	names := map[string]bool{}
	for i := range config.Properties(config.ScopeBroker) {
		if p := &config.Properties(config.ScopeBroker)[i]; p.Visibility == config.Public {
			names[p.Name] = true
		}
	}
	for _, m := range []map[string]string{d.broker.Static().Given(), d.img.Config(metadata.ResourceBroker, ""), d.img.Config(metadata.ResourceBroker, strconv.Itoa(int(d.nodeID)))} {
		for n := range m {
			if !config.IsOwn(n) {
				names[n] = true
			}
		}
	}
	out := make([]string, 0, len(names))
	for n := range names {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// brokerEntry describes one setting of a broker, known or not.
func (d *describer) brokerEntry(name string, syn []config.SynonymValue) kmsg.DescribeConfigsResponseResourceConfig {
	p := config.PropertyOf(name)
	if p == nil {
		e := kmsg.NewDescribeConfigsResponseResourceConfig()
		e.Name, e.ReadOnly, e.IsSensitive = name, true, true
		d.addSynonyms(&e, syn)
		return e
	}
	var value *string
	if p.Name == name {
		if v, ok := d.broker.Value(name); ok {
			value = &v
		}
	} else if len(syn) > 0 {
		value = &syn[0].Value
	}
	return d.entry(p, name, value, p.Mode == config.ReadOnly || p.Name != name, syn)
}

// entry is one line of the answer; value is dropped if it is a secret.
func (d *describer) entry(p *config.Property, name string, value *string, readOnly bool, syn []config.SynonymValue) kmsg.DescribeConfigsResponseResourceConfig {
	e := kmsg.NewDescribeConfigsResponseResourceConfig()
	e.Name, e.ReadOnly, e.IsSensitive, e.ConfigType = name, readOnly, p.Sensitive(), kmsg.ConfigType(p.Type)
	if !e.IsSensitive {
		e.Value = value
	}
	if d.docs && p.Name == name && p.Visibility != config.DynamicOnly {
		e.Documentation = kmsg.StringPtr(p.Documentation())
	}
	d.addSynonyms(&e, syn)
	return e
}

// addSynonyms sets the source, which is that of the strongest link, and the chain if it was asked for.
func (d *describer) addSynonyms(e *kmsg.DescribeConfigsResponseResourceConfig, syn []config.SynonymValue) {
	e.Source = kmsg.ConfigSource(config.SourceDefault)
	if len(syn) > 0 {
		e.Source = kmsg.ConfigSource(syn[0].Source)
	}
	if !d.synonyms {
		return
	}
	for i := range syn {
		s := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		s.Name, s.Source = syn[i].Name, kmsg.ConfigSource(syn[i].Source)
		if !e.IsSensitive {
			s.Value = &syn[i].Value
		}
		e.ConfigSynonyms = append(e.ConfigSynonyms, s)
	}
}

// loggerEntries describes the levels of this broker's loggers. They have no type and, even when not asked for, an empty documentation.
func (d *describer) loggerEntries(name string) ([]kmsg.DescribeConfigsResponseResourceConfig, int16, string) {
	if name == "" {
		return nil, kerr.InvalidRequest.Code, "Broker id must not be empty"
	}
	if code, msg := d.notThisBroker(name, "expected %d but received %d"); code != 0 {
		return nil, code, msg
	}
	var out []kmsg.DescribeConfigsResponseResourceConfig
	for _, l := range d.broker.Static().Loggers().Levels() {
		e := kmsg.NewDescribeConfigsResponseResourceConfig()
		e.Name, e.Value, e.Source = l.Name, kmsg.StringPtr(l.Level), kmsg.ConfigSource(config.SourceDynamicBrokerLogger)
		e.Documentation = kmsg.StringPtr("")
		out = append(out, e)
	}
	return out, 0, ""
}

// topicNameProblem says what is wrong with a topic's name, "" if nothing (org.apache.kafka.common.internals.Topic.validate).
func topicNameProblem(name string) string {
	switch {
	case name == "":
		return "the empty string is not allowed"
	case name == "." || name == "..":
		return "'" + name + "' is not allowed"
	case len(name) > maxTopicName:
		return fmt.Sprintf("the length of '%s' is longer than the max allowed length %d", name, maxTopicName)
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return "'" + name + "' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
		}
	}
	return ""
}

// maxTopicName is the longest name, in bytes, whose directories fit into 255 with "-<partition>" and a suffix such as "-delete".
const maxTopicName = 249
