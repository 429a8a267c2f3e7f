package config

import "strings"

// autoHost in place of a host, or alone as the whole value of advertised.listeners, answers each client with the address that it came to.
const autoHost = "auto"

// AdvertisedBy reads a value of advertised.listeners, at the start or set while the broker runs: every entry is one of the broker's
// listeners, and the one for other brokers is among them. "auto" alone stands for all listeners.
func (s *Static) AdvertisedBy(list []string) (out []Listener, _ error) {
	if len(list) == 1 && strings.EqualFold(list[0], autoHost) {
		for _, li := range s.Listeners() {
			li.Host, li.Auto = "", true
			out = append(out, li)
		}
		return out, nil
	}
	entries, err := s.endpoints("advertised.listeners", list)
	if err != nil {
		return nil, err
	}
	open := map[string]bool{}
	for _, li := range s.listeners {
		open[li.Name] = true
	}
	interBroker := s.interBroker == ""
	for _, li := range entries {
		if unspecified(li.Host) {
			return nil, refuse("listener %s advertises %s, clients cannot connect to it; set advertised.listeners to a name that they can reach, or to auto", li.Name, li.Host)
		}
		if s.IsControllerListener(li.Name) {
			continue // taken, and told to nobody
		}
		if !open[li.Name] {
			return nil, refuse("advertised.listeners has %s, which is not among listeners; add it there or remove it", li.Name)
		}
		if strings.EqualFold(li.Host, autoHost) {
			li.Host, li.Auto = "", true
		}
		interBroker = interBroker || li.Name == s.interBroker
		out = append(out, li)
	}
	if !interBroker && len(out) > 0 {
		return nil, refuse("advertised.listeners has no entry for %s, by which brokers talk to each other (inter.broker.listener.name); add one", s.interBroker)
	}
	return out, nil
}

// unspecified tells the addresses that mean all of a machine's: one can listen on them, not connect to them.
func unspecified(host string) bool { return host == "0.0.0.0" || host == "::" }
