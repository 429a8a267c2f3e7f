package controller

import (
	"maps"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// maxConfigValueBytes is ConfigurationControlManager's bound on a value (Short.MAX_VALUE).
const maxConfigValueBytes = 32767

const valueTooLong = "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes."

const minInsyncReplicas = "min.insync.replicas"

// elrFeature makes leaders be elected from the eligible leader replicas (KIP-966).
const elrFeature = "eligible.leader.replicas.version"

// configChange sets a property, or removes it (nil).
type configChange struct {
	name  string
	value *string
}

// configOp is one operation on a property; legacy AlterConfigs uses config.OpSet and config.OpDelete only.
type configOp struct {
	name  string
	op    config.Op
	value *string
}

// scopeOf is the property table of a resource type.
func scopeOf(resourceType int8) (config.Scope, bool) {
	switch resourceType {
	case metadata.ResourceTopic:
		return config.ScopeTopic, true
	case metadata.ResourceBroker:
		return config.ScopeBroker, true
	case metadata.ResourceGroup:
		return config.ScopeGroup, true
	case metadata.ResourceClientMetrics:
		return config.ScopeClientMetrics, true
	}
	return 0, false
}

// alterConfig applies operations to a resource's settings and checks the outcome as a whole:
// ConfigurationControlManager.incrementalAlterConfigResource.
func (m *machine) alterConfig(res metadata.Resource, ops []configOp) ([]versioned, apiError) {
	scope, _ := scopeOf(res.Type)
	stored := m.img.Config(res.Type, res.Name)
	all := make(map[string]string, len(stored)+len(ops))
	for k, v := range stored {
		all[k] = v
	}
	var changes []configChange
	for _, op := range ops {
		old, had := stored[op.name]
		value := op.value
		switch op.op {
		case config.OpDelete:
			value = nil
		case config.OpAppend, config.OpSubtract:
			if !config.IsList(scope, op.name) {
				return nil, fail(kerr.InvalidConfig, "Can't "+opName(op.op)+" to key "+op.name+" because its type is not LIST.")
			}
			v := config.Alter(op.op, config.CurrentForAlter(scope, m.brokerConfig(), stored, op.name), *op.value)
			value = &v
		}
		if value == nil {
			delete(all, op.name)
		} else {
			all[op.name] = *value
		}
		// A broker's setting is written even when it is the same: brokers read key stores again on it (KAFKA-14136).
		unchanged := value == nil && !had || value != nil && had && *value == old
		if !unchanged || res.Type == metadata.ResourceBroker {
			changes = append(changes, configChange{op.name, value})
		}
	}
	if err := m.checkChange(res, changes, all); err.failed() {
		return nil, err
	}
	return m.configRecords(res, changes), apiError{}
}

// replaceConfig is what AlterConfigs does: the given settings and no others.
// ConfigurationControlManager.legacyAlterConfigResource.
func (m *machine) replaceConfig(res metadata.Resource, ops []configOp) ([]versioned, apiError) {
	stored := m.img.Config(res.Type, res.Name)
	all := make(map[string]string, len(ops))
	var changes []configChange
	for _, op := range ops {
		all[op.name] = *op.value
		if old, had := stored[op.name]; !had || old != *op.value || res.Type == metadata.ResourceBroker {
			changes = append(changes, configChange{op.name, op.value})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		if _, kept := all[name]; !kept {
			changes = append(changes, configChange{name, nil})
		}
	}
	if err := m.checkChange(res, changes, all); err.failed() {
		return nil, err
	}
	return m.configRecords(res, changes), apiError{}
}

// checkChange checks a change and the settings that it leads to, in Kafka's order.
func (m *machine) checkChange(res metadata.Resource, changes []configChange, all map[string]string) apiError {
	if err := m.checkElrSafety(res, changes); err.failed() {
		return err
	}
	for _, c := range changes {
		if c.value != nil && len(*c.value) > maxConfigValueBytes {
			return fail(kerr.InvalidConfig, valueTooLong)
		}
	}
	if err := m.validateConfigs(res, all); err.failed() {
		return err
	}
	return m.resourceExists(res)
}

func opName(op config.Op) string {
	return [...]string{"SET", "DELETE", "APPEND", "SUBTRACT"}[op]
}

// validateConfigs is ControllerConfigurationValidator: the settings of one resource after the change.
func (m *machine) validateConfigs(res metadata.Resource, configs map[string]string) apiError {
	switch res.Type {
	case metadata.ResourceTopic:
		if res.Name == "" {
			return fail(kerr.InvalidRequest, "Default topic resources are not allowed.")
		}
		if err := checkTopicName(res.Name); err.failed() {
			return err
		}
		return configError(config.ValidateTopicConfigs(m.brokerConfig(), configs))
	case metadata.ResourceBroker:
		if res.Name != "" {
			if _, err := strconv.ParseInt(res.Name, 10, 32); err != nil {
				return fail(kerr.InvalidRequest, "Unable to parse broker name as a base 10 number.")
			}
		}
		return apiError{}
	case metadata.ResourceClientMetrics:
		if res.Name == "" {
			return fail(kerr.InvalidRequest, "Subscription name can't be empty")
		}
		for _, name := range slices.Sorted(maps.Keys(configs)) {
			if err := config.ValidateClientMetrics(name, configs[name]); err != nil {
				return configError(err)
			}
		}
		return apiError{}
	case metadata.ResourceGroup:
		if res.Name == "" {
			return fail(kerr.InvalidRequest, "Default group resources are not allowed.")
		}
		return configError(config.ValidateGroupConfigs(m.brokerConfig(), configs))
	}
	return fail(kerr.InvalidRequest, "Unknown resource type "+strconv.Itoa(int(res.Type)))
}

// resourceExists is the controller's ConfigResourceExistenceChecker.
func (m *machine) resourceExists(res metadata.Resource) apiError {
	switch res.Type {
	case metadata.ResourceTopic:
		if m.img.Topic(res.Name) == nil {
			return fail(kerr.UnknownTopicOrPartition, "The topic '"+res.Name+"' does not exist.")
		}
	case metadata.ResourceBroker:
		if res.Name == "" {
			return apiError{}
		}
		id, err := strconv.ParseInt(res.Name, 10, 32)
		if err != nil {
			return fail(kerr.InvalidRequest, "Invalid broker name "+res.Name)
		}
		if m.img.Broker(int32(id)) == nil && m.img.Controller(int32(id)) == nil {
			return fail(kerr.BrokerIDNotRegistered, "No node with id "+res.Name+" found.")
		}
	}
	return apiError{}
}

// elrEnabled tells whether eligible leader replicas are in use.
func (m *machine) elrEnabled() bool {
	level, _ := m.img.Feature(elrFeature)
	return level >= 1
}

// checkElrSafety keeps min.insync.replicas in one place, at cluster level, where eligible leaders depend on it.
func (m *machine) checkElrSafety(res metadata.Resource, changes []configChange) apiError {
	if res.Type != metadata.ResourceBroker || !m.elrEnabled() {
		return apiError{}
	}
	for _, c := range changes {
		switch {
		case c.name != minInsyncReplicas:
		case res.Name != "":
			return fail(kerr.InvalidConfig, "Broker-level min.insync.replicas cannot be altered while ELR is enabled.")
		case c.value == nil:
			return fail(kerr.InvalidConfig, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
		}
	}
	return apiError{}
}

// configRecords are the records of a change.
func (m *machine) configRecords(res metadata.Resource, changes []configChange) []versioned {
	records := make([]versioned, 0, len(changes))
	for _, c := range changes {
		records = append(records, m.at(&record.ConfigRecord{ResourceType: res.Type, ResourceName: res.Name, Name: c.name, Value: c.value}))
	}
	return records
}

// withClearELR adds what follows from changes of min.insync.replicas: the eligible leaders that were judged by the old value are
// cleared, those of the topic or of all topics.
func (m *machine) withClearELR(records []versioned) []versioned {
	if !m.elrEnabled() {
		return records
	}
	for _, r := range records[:len(records):len(records)] {
		c, ok := r.Message.(*record.ConfigRecord)
		if !ok || c.Name != minInsyncReplicas {
			continue
		}
		clearing := &record.ClearElrRecord{}
		if c.ResourceType == metadata.ResourceTopic {
			clearing.TopicName = c.ResourceName
		}
		records = append(records, m.at(clearing))
	}
	return records
}
