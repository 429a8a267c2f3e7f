package tool

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Features of a cluster and their levels, as Apache Kafka 4.4.0's tools know them.

const metadataFeature = "metadata.version"

// metadataRelease is a level of metadata.version.
type metadataRelease struct {
	level int16
	name  string
}

// Levels of metadata.version: the lowest, and the one that new clusters have.
const (
	minMetadataLevel    int16 = 7
	latestMetadataLevel int16 = 33
)

// metadataReleases are all of them, ascending; those above latestMetadataLevel are not stable yet.
func metadataReleases() []metadataRelease {
	names := strings.Fields(`3.3-IV3 3.4-IV0 3.5-IV0 3.5-IV1 3.5-IV2 3.6-IV0 3.6-IV1 3.6-IV2 3.7-IV0 3.7-IV1 3.7-IV2 3.7-IV3 3.7-IV4 3.8-IV0 3.9-IV0
		4.0-IV0 4.0-IV1 4.0-IV2 4.0-IV3 4.1-IV0 4.1-IV1 4.2-IV0 4.2-IV1 4.3-IV0 4.4-IV0 4.4-IV1 4.4-IV2 4.5-IV0`)
	list := make([]metadataRelease, len(names))
	for i, name := range names {
		list[i] = metadataRelease{minMetadataLevel + int16(i), name}
	}
	return list
}

// releaseOf finds a level by its number.
func releaseOf(level int64) (metadataRelease, bool) {
	for _, r := range metadataReleases() {
		if int64(r.level) == level {
			return r, true
		}
	}
	return metadataRelease{}, false
}

// parseRelease finds a level by a name such as 3.9 or 3.9-IV0, the last of a release if there are several. Levels that are not stable are known
// only where unstable is asked for; the error names all that are known.
func parseRelease(name string, unstable bool) (metadataRelease, error) {
	releases := metadataReleases()
	if !unstable {
		releases = slices.DeleteFunc(releases, func(r metadataRelease) bool { return r.level > latestMetadataLevel })
	}
	for _, r := range slices.Backward(releases) {
		if r.name == name || strings.HasPrefix(r.name, name+"-IV") {
			return r, nil
		}
	}
	return metadataRelease{}, &terseError{fmt.Sprintf("Unknown metadata.version '%s'. Supported metadata.version are: %s", name,
		joined(releases, ", ", func(r metadataRelease) string { return r.name }))}
}

// clusterFeature is a feature besides metadata.version.
type clusterFeature struct {
	name string
	top  int16
	// since are the levels of metadata.version from which new clusters have level 1, 2 … of the feature.
	since []int16
}

// clusterFeatures are all of them in the order in which tools list them.
func clusterFeatures() []clusterFeature {
	return []clusterFeature{
		{"kraft.version", 1, []int16{21}},
		{"transaction.version", 2, []int16{24, 24}},
		{"group.version", 1, []int16{22}},
		{"eligible.leader.replicas.version", 1, []int16{26}},
		{"share.version", 2, []int16{28, 31}},
		{"streams.version", 1, []int16{29}},
	}
}

// at is the level of a feature that a new cluster of a release has.
func (f clusterFeature) at(release int16) (level int16) {
	for _, since := range f.since {
		if since <= release {
			level++
		}
	}
	return level
}

func featureNamed(name string) (clusterFeature, bool) {
	for _, f := range clusterFeatures() {
		if f.name == name {
			return f, true
		}
	}
	return clusterFeature{}, false
}

// versionMapping prints the levels of a release; name is how it was asked for, empty for the latest.
func (e *Env) versionMapping(name string) error {
	r, shown := metadataRelease{}, name
	if name == "" {
		r, _ = releaseOf(int64(latestMetadataLevel))
		shown = r.name
	} else {
		var err error
		if r, err = parseRelease(name, true); err != nil {
			return err
		}
	}
	e.printf("%s=%d (%s)\n", metadataFeature, r.level, shown)
	for _, f := range clusterFeatures() {
		e.printf("%s=%d\n", f.name, f.at(r.level))
	}
	return nil
}

// featureDependencies prints what levels of features need of other features.
func (e *Env) featureDependencies(features []string) error {
	for _, text := range features {
		name, version, ok := strings.Cut(text, "=")
		if !ok || strings.Contains(version, "=") {
			return &terseError{fmt.Sprintf("Invalid feature format: %s. Expected format: 'feature=version' (e.g. 'group.version=1')", text)}
		}
		name, version = strings.TrimSpace(name), strings.TrimSpace(version)
		level, err := strconv.ParseInt(version, 10, 16)
		if err != nil {
			return &terseError{fmt.Sprintf("Invalid version format: %s for feature %s", version, name)}
		}
		if name == metadataFeature {
			r, ok := releaseOf(level)
			if !ok {
				return &terseError{fmt.Sprintf("Unknown metadata.version %d", level)}
			}
			e.printf("%s=%d (%s) has no dependencies.\n", name, level, r.name)
			continue
		}
		f, known := featureNamed(name)
		switch {
		case !known:
			return &terseError{"Unknown feature: " + name}
		case level < 0 || level > int64(f.top):
			return &terseError{fmt.Sprintf("Feature level %d is not supported for feature %s", level, name)}
		case name == "eligible.leader.replicas.version" && level == 1:
			e.printf("%s=%d requires:\n    metadata.version=23 (4.0-IV1)\n", name, level)
		default:
			e.printf("%s=%d has no dependencies.\n", name, level)
		}
	}
	return nil
}
