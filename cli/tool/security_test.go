package tool

import "testing"

func TestSecurityOptions(t *testing.T) {
	f := func(p clientProperties, want string) {
		t.Helper()
		got := "options"
		opts, err := (&Env{}).securityOptions(p)
		if err != nil {
			got = err.Error()
		} else if len(opts) == 0 {
			got = "none"
		}
		if got != want {
			t.Errorf("%v\n got %s\nwant %s", p, got, want)
		}
	}
	const jaas = `org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p\"w";`
	f(clientProperties{}, "none")
	f(clientProperties{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}, "options")
	f(clientProperties{"security.protocol": "sasl_ssl", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": jaas}, "options")
	f(clientProperties{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": jaas},
		"sasl.mechanism=OAUTHBEARER is not supported by these tools; set PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
	f(clientProperties{"security.protocol": "SSL", "ssl.truststore.location": "a.jks"},
		"ssl.truststore.type=JKS is not supported by these tools; convert the store to PEM (keytool and openssl do) and set ssl.truststore.type=PEM")
	f(clientProperties{"security.protocol": "SSL", "ssl.truststore.certificates": "x"}, "Failed to load PEM SSL truststore: no certificate in it")
	f(clientProperties{"security.protocol": "x"},
		"Invalid value x for configuration security.protocol: String must be one of (case insensitive): SASL_SSL, PLAINTEXT, SSL, SASL_PLAINTEXT")
}
