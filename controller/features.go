package controller

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kaja-mq/kaja/metadata"
	"github.com/kaja-mq/kaja/metadata/record"
)

// FeatureRange is the levels of a feature that this node supports, and the level a new cluster gets.
type FeatureRange struct {
	Name      string
	Min, Max  int16
	Initial   int16 // of a cluster formatted by Kafka 4.4.0; 0 is not written
	dependsOn int16 // metadata.version that levels above 0 need, 0 none
}

const (
	metadataVersionFeature = metadata.MetadataVersionFeature
	kraftVersionFeature    = "kraft.version"
)

// Features is what Kafka 4.4.0 supports, in the order of its bootstrap records.
func Features() []FeatureRange {
	return []FeatureRange{
		{Name: metadataVersionFeature, Min: minMetadataVersion, Max: maxMetadataVersion, Initial: maxMetadataVersion},
		{Name: elrFeature, Max: 1, Initial: 1, dependsOn: 23},
		{Name: "group.version", Max: 1, Initial: 1},
		{Name: "share.version", Max: 2, Initial: 2},
		{Name: "streams.version", Max: 1, Initial: 1},
		{Name: "transaction.version", Max: 2, Initial: 2},
		{Name: kraftVersionFeature, Max: 1}, // kept by the quorum itself, not by a record of the log
	}
}

func featureOf(name string) (FeatureRange, bool) {
	for _, f := range Features() {
		if f.Name == name {
			return f, true
		}
	}
	return FeatureRange{}, false
}

// Levels of metadata.version, and those at which something became possible.
const (
	minMetadataVersion            = 7  // 3.3-IV3
	maxMetadataVersion            = 33 // 4.4-IV2
	metadataTransactionVersion    = 13 // 3.6-IV1
	controllerRegistrationVersion = 15 // 3.7-IV0
	directoryAssignmentVersion    = 17 // 3.7-IV2
	cordonedLogDirsVersion        = 30 // 4.3-IV0
)

// metadataChanges tells whether the format of the records changed at a level: MetadataVersion.didMetadataChange.
func metadataChanges(level int16) bool {
	switch level {
	case 7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33:
		return true
	}
	return false
}

// Upgrade types of UpdateFeatures v1+.
const (
	upgradeOnly     = 1
	safeDowngrade   = 2
	unsafeDowngrade = 3
)

// updateFeatures decides an UpdateFeatures request: all or nothing.
func (m *machine) updateFeatures(req *kmsg.UpdateFeaturesRequest) ([]versioned, *kmsg.UpdateFeaturesResponse) {
	updates := lastUpdates(req)
	proposed := map[string]int16{}
	for name, level := range m.img.Features() {
		proposed[name] = level
	}
	for _, u := range updates {
		proposed[u.Feature] = u.MaxVersionLevel
	}
	var records []versioned
	for i := range updates {
		rec, err := m.updateFeature(req.Version, &updates[i], proposed)
		if err.failed() {
			err.message = "The update failed for all features since the following feature had an error: " + err.message
			return nil, refuseUpdateFeatures(req, err)
		}
		if rec != nil {
			records = append(records, versioned{rec, 0})
		}
	}
	resp := req.ResponseKind().(*kmsg.UpdateFeaturesResponse)
	if req.Version < 2 {
		none := "NONE"
		for _, u := range updates {
			out := kmsg.NewUpdateFeaturesResponseResult()
			out.Feature, out.ErrorMessage = u.Feature, &none
			resp.Results = append(resp.Results, out)
		}
	}
	if req.ValidateOnly {
		return nil, resp
	}
	return m.withElrSafety(records), resp
}

func refuseUpdateFeatures(req *kmsg.UpdateFeaturesRequest, err apiError) *kmsg.UpdateFeaturesResponse {
	resp := req.ResponseKind().(*kmsg.UpdateFeaturesResponse)
	resp.ErrorCode, resp.ErrorMessage = err.code, err.text()
	return resp
}

// lastUpdates drops all but the last update of a feature named twice.
func lastUpdates(req *kmsg.UpdateFeaturesRequest) []kmsg.UpdateFeaturesRequestFeatureUpdate {
	var out []kmsg.UpdateFeaturesRequestFeatureUpdate
	for i, u := range req.FeatureUpdates {
		later := slices.ContainsFunc(req.FeatureUpdates[i+1:], func(o kmsg.UpdateFeaturesRequestFeatureUpdate) bool { return o.Feature == u.Feature })
		if !later {
			out = append(out, u)
		}
	}
	return out
}

// updateFeature is FeatureControlManager.updateFeature; no record means that nothing is to be changed.
func (m *machine) updateFeature(version int16, u *kmsg.UpdateFeaturesRequestFeatureUpdate, proposed map[string]int16) (*record.FeatureLevelRecord, apiError) {
	bad := func(why string) (*record.FeatureLevelRecord, apiError) {
		return nil, fail(kerr.InvalidUpdateVersion, fmt.Sprintf("Invalid update version %d for feature %s. %s", u.MaxVersionLevel, u.Feature, why))
	}
	kind := u.UpgradeType
	if version == 0 {
		kind = upgradeOnly
		if u.AllowDowngrade {
			kind = safeDowngrade
		}
	}
	if kind < upgradeOnly || kind > unsafeDowngrade {
		return bad("The controller does not support the given upgrade type.")
	}
	level := u.MaxVersionLevel
	if level < 0 {
		return bad("A feature version cannot be less than 0.")
	}
	if why := m.notSupported(u.Feature, level); why != "" {
		return bad(why)
	}
	current, _ := m.img.Feature(u.Feature)
	switch {
	case level < current && kind == upgradeOnly:
		return bad("Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.")
	case level > current && kind != upgradeOnly:
		return bad("Can't downgrade to a newer version.")
	case u.Feature == metadataVersionFeature:
		return m.updateMetadataVersion(current, level, kind == unsafeDowngrade)
	case u.Feature == kraftVersionFeature:
		if level > current {
			return bad("The quorum of this node has static voters.")
		}
		return nil, apiError{}
	}
	if f, _ := featureOf(u.Feature); level > 0 && f.dependsOn > proposed[metadataVersionFeature] {
		return bad(fmt.Sprintf("%s could not be set to %d because it depends on %s level %d", u.Feature, level, metadataVersionFeature, f.dependsOn))
	}
	return &record.FeatureLevelRecord{Name: u.Feature, FeatureLevel: level}, apiError{}
}

// updateMetadataVersion lets the level fall only where no record changes its format.
func (m *machine) updateMetadataVersion(current, level int16, unsafe bool) (*record.FeatureLevelRecord, apiError) {
	for v := level + 1; v <= current; v++ {
		if !metadataChanges(v) {
			continue
		}
		why := "Refusing to perform the requested downgrade because it might delete metadata information."
		if unsafe {
			why = "Unsafe metadata downgrade is not supported in this version."
		}
		return nil, fail(kerr.InvalidUpdateVersion, fmt.Sprintf("Invalid metadata.version %d. %s", level, why))
	}
	return &record.FeatureLevelRecord{Name: metadataVersionFeature, FeatureLevel: level}, apiError{}
}

// notSupported says which node does not support the level, "" when all do.
func (m *machine) notSupported(feature string, level int16) string {
	f, known := featureOf(feature)
	if why := outside("Local controller "+strconv.Itoa(int(m.nodeID)), known, f.Min, f.Max, level); why != "" {
		return why
	}
	for b := range m.img.Brokers() {
		lo, hi, ok := supported(b.Features, feature)
		if why := outside("Broker "+strconv.Itoa(int(b.ID)), ok, lo, hi, level); why != "" {
			return why
		}
	}
	for c := range m.img.Controllers() {
		if c.ID == m.nodeID {
			continue
		}
		lo, hi, ok := supported(c.Features, feature)
		if why := outside("Controller "+strconv.Itoa(int(c.ID)), ok, lo, hi, level); why != "" {
			return why
		}
	}
	return ""
}

func supported(features []metadata.SupportedFeature, name string) (lo, hi int16, ok bool) {
	for _, f := range features {
		if f.Name == name {
			return f.Min, f.Max, true
		}
	}
	return 0, 0, false
}

// outside words why a level is not supported; a feature that a node does not know has level 0.
func outside(node string, known bool, lo, hi, level int16) string {
	switch {
	case !known && level > 0, !known && node[0] == 'L':
		return node + " does not support this feature."
	case !known, level >= lo && level <= hi:
		return ""
	}
	return fmt.Sprintf("%s only supports versions %d-%d", node, lo, hi)
}

// withElrSafety adds what turning eligible leader replicas on demands: min.insync.replicas in one place, at cluster level.
func (m *machine) withElrSafety(records []versioned) []versioned {
	for _, r := range records {
		f, ok := r.Message.(*record.FeatureLevelRecord)
		if ok && f.Name == elrFeature && f.FeatureLevel >= 1 && !m.elrEnabled() {
			return append(records, m.elrSafetyRecords()...)
		}
	}
	return records
}

// elrSafetyRecords are ConfigurationControlManager.maybeGenerateElrSafetyRecords.
func (m *machine) elrSafetyRecords() []versioned {
	var records []versioned
	if _, set := m.img.Config(metadata.ResourceBroker, "")[minInsyncReplicas]; !set {
		value := strconv.FormatInt(m.static.Int(minInsyncReplicas), 10)
		records = append(records, versioned{&record.ConfigRecord{ResourceType: metadata.ResourceBroker, Name: minInsyncReplicas, Value: &value}, 0})
	}
	for res, set := range m.img.Configs() {
		if _, ok := set[minInsyncReplicas]; ok && res.Type == metadata.ResourceBroker && res.Name != "" {
			records = append(records, versioned{&record.ConfigRecord{ResourceType: metadata.ResourceBroker, ResourceName: res.Name, Name: minInsyncReplicas}, 0})
		}
	}
	return records
}
