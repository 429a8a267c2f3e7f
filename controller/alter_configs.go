package controller

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/config"
	"github.com/kaja-mq/kaja/metadata"
)

// alteration is one resource of AlterConfigs or IncrementalAlterConfigs on its way: what the broker checks before the controller
// sees it (Kafka's ConfigAdminManager), then the controller's own checks.
type alteration struct {
	res metadata.Resource
	ops []configOp
	err apiError
	// replace tells that what is not among the operations goes away (AlterConfigs).
	replace bool
}

// LogLevel is a change of a logger's level; an empty level is back to the default.
type LogLevel struct{ Logger, Level string }

// incrementalAlterConfigs decides an IncrementalAlterConfigs request; each resource stands for itself.
func (m *machine) incrementalAlterConfigs(req *kmsg.IncrementalAlterConfigsRequest) ([]versioned, *kmsg.IncrementalAlterConfigsResponse, []LogLevel) {
	all := make([]alteration, len(req.Resources))
	for i := range req.Resources {
		r := &req.Resources[i]
		all[i].res = metadata.Resource{Type: int8(r.ResourceType), Name: r.ResourceName}
		for _, c := range r.Configs {
			all[i].ops = append(all[i].ops, configOp{c.Name, config.Op(c.Op), c.Value})
		}
	}
	records, levels := m.alter(all, m.alterConfig)
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	for i := range all {
		out := kmsg.NewIncrementalAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = req.Resources[i].ResourceType, req.Resources[i].ResourceName
		out.ErrorCode, out.ErrorMessage = all[i].err.code, all[i].err.text()
		resp.Resources = append(resp.Resources, out)
	}
	if req.ValidateOnly {
		return nil, resp, nil
	}
	return records, resp, levels
}

// alterConfigs decides an AlterConfigs request, which replaces all settings of each resource.
func (m *machine) alterConfigs(req *kmsg.AlterConfigsRequest) ([]versioned, *kmsg.AlterConfigsResponse) {
	all := make([]alteration, len(req.Resources))
	for i := range req.Resources {
		r := &req.Resources[i]
		all[i].res, all[i].replace = metadata.Resource{Type: int8(r.ResourceType), Name: r.ResourceName}, true
		for _, c := range r.Configs {
			all[i].ops = append(all[i].ops, configOp{c.Name, config.OpSet, c.Value})
		}
		if all[i].res.Type == metadata.ResourceBrokerLogger {
			all[i].err = fail(kerr.InvalidRequest, "Unknown resource type "+strconv.Itoa(int(r.ResourceType)))
		}
	}
	records, _ := m.alter(all, m.replaceConfig)
	resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	for i := range all {
		out := kmsg.NewAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = req.Resources[i].ResourceType, req.Resources[i].ResourceName
		out.ErrorCode, out.ErrorMessage = all[i].err.code, all[i].err.text()
		resp.Resources = append(resp.Resources, out)
	}
	if req.ValidateOnly {
		return nil, resp
	}
	return records, resp
}

func (m *machine) alter(all []alteration, change func(metadata.Resource, []configOp) ([]versioned, apiError)) (records []versioned, levels []LogLevel) {
	count := map[metadata.Resource]int{}
	for i := range all {
		count[all[i].res]++
	}
	for i := range all {
		a := &all[i]
		if a.err.failed() {
			continue
		}
		if count[a.res] > 1 {
			a.err = fail(kerr.InvalidRequest, "Each resource must appear at most once.")
			continue
		}
		if a.err = m.precheck(a); a.err.failed() {
			continue
		}
		if a.res.Type == metadata.ResourceBrokerLogger {
			var l []LogLevel
			l, a.err = m.loggerChanges(a)
			levels = append(levels, l...)
			continue
		}
		var recs []versioned
		recs, a.err = change(a.res, a.ops)
		records = append(records, m.readvertise(recs)...)
	}
	return m.withClearELR(records), levels
}

// precheck is what the broker that got the request refuses.
func (m *machine) precheck(a *alteration) apiError {
	seen := map[string]bool{}
	var null []string
	for _, op := range a.ops {
		if seen[op.name] {
			return fail(kerr.InvalidRequest, "Error due to duplicate config keys")
		}
		seen[op.name] = true
		if op.value == nil && op.op != config.OpDelete {
			null = append(null, op.name)
		}
	}
	if len(null) > 0 {
		return fail(kerr.InvalidRequest, "Null value not supported for : "+strings.Join(null, ","))
	}
	switch a.res.Type {
	case metadata.ResourceTopic, metadata.ResourceGroup, metadata.ResourceClientMetrics:
	case metadata.ResourceBrokerLogger:
		if err := m.checkNodeName(a.res.Name); err.failed() {
			return err
		}
	case metadata.ResourceBroker:
		if err := m.precheckBroker(a); err.failed() {
			return err
		}
	default:
		return fail(kerr.InvalidRequest, "Unknown resource type "+strconv.Itoa(int(a.res.Type)))
	}
	for _, op := range a.ops {
		if op.op < config.OpSet || op.op > config.OpSubtract {
			return failBare(kerr.UnknownServerError)
		}
	}
	return apiError{}
}

// checkNodeName demands this node's own id.
func (m *machine) checkNodeName(name string) apiError {
	id, err := strconv.ParseInt(name, 10, 32)
	switch {
	case err != nil:
		return fail(kerr.InvalidRequest, "Node id must be an integer, but it is: "+name)
	case int32(id) != m.nodeID:
		return fail(kerr.InvalidRequest, fmt.Sprintf("Unexpected broker id, expected %d, but received %s", m.nodeID, name))
	}
	return apiError{}
}

// precheckBroker checks what the broker's settings would become: may they change while it runs, and are they valid.
func (m *machine) precheckBroker(a *alteration) apiError {
	perBroker := a.res.Name != ""
	if perBroker {
		if err := m.checkNodeName(a.res.Name); err.failed() {
			return err
		}
	}
	stored := m.img.Config(a.res.Type, a.res.Name)
	set := map[string]string{}
	var deleted []string
	for _, op := range a.ops {
		switch op.op {
		case config.OpSet:
			set[op.name] = *op.value
		case config.OpDelete:
			deleted = append(deleted, op.name)
		case config.OpAppend, config.OpSubtract:
			if !config.IsList(config.ScopeBroker, op.name) {
				return configError(config.NotAList(config.ScopeBroker, op.op, op.name))
			}
			set[op.name] = config.Alter(op.op, config.CurrentForAlter(config.ScopeBroker, m.brokerConfig(), stored, op.name), *op.value)
		}
	}
	if a.replace {
		for name := range stored {
			if _, kept := set[name]; !kept {
				deleted = append(deleted, name)
			}
		}
	}
	return configError(m.brokerConfig().ValidateChange(set, deleted, perBroker))
}

// loggerChanges checks changes of this node's log levels.
func (m *machine) loggerChanges(a *alteration) ([]LogLevel, apiError) {
	var levels []LogLevel
	for _, op := range a.ops {
		level := ""
		if op.value != nil {
			level = *op.value
		}
		if err := m.static.Loggers().Validate(op.op, op.name, level); err != nil {
			return nil, configError(err)
		}
		if op.op == config.OpDelete {
			level = ""
		}
		levels = append(levels, LogLevel{op.name, level})
	}
	return levels, apiError{}
}
