package tool

import (
	"crypto/tls"
	"crypto/x509"
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// securityOptions reads security.protocol and what belongs to it: TLS with PEM files, which dialer uses, SASL with PLAIN and SCRAM.
func (e *Env) securityOptions(p clientProperties) ([]kgo.Opt, error) {
	var opts []kgo.Opt
	protocol := strings.ToUpper(p["security.protocol"])
	switch protocol {
	case "", "PLAINTEXT", "SASL_PLAINTEXT":
	case "SSL", "SASL_SSL":
		if _, err := e.tlsConfig(p); err != nil {
			return nil, err
		}
	default:
		return nil, thrown(classConfig, "Invalid value %s for configuration security.protocol: String must be one of (case insensitive): SASL_SSL, PLAINTEXT, SSL, SASL_PLAINTEXT",
			p["security.protocol"])
	}
	if !strings.HasPrefix(protocol, "SASL_") {
		return opts, nil
	}
	login, err := saslOption(p)
	return append(opts, login), err
}

// jaasOption is an option of a JAAS login module.
var jaasOption = regexp.MustCompile(`(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))`)

// saslOption logs in with sasl.mechanism and the user of sasl.jaas.config.
func saslOption(p clientProperties) (kgo.Opt, error) {
	jaas, ok := p["sasl.jaas.config"]
	if !ok {
		return nil, thrown(classIllegalArgument, "Could not find a 'KafkaClient' entry in the JAAS configuration. System property 'java.security.auth.login.config' is not set")
	}
	given := map[string]string{}
	for _, m := range jaasOption.FindAllStringSubmatch(jaas, -1) {
		given[m[1]] = m[3]
		if m[2] != "" {
			given[m[1]] = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(m[2])
		}
	}
	user, password := given["username"], given["password"]
	switch mechanism := p["sasl.mechanism"]; mechanism {
	case "PLAIN":
		return kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism()), nil
	case "SCRAM-SHA-256":
		return kgo.SASL(scram.Auth{User: user, Pass: password, IsToken: given["tokenauth"] == "true"}.AsSha256Mechanism()), nil
	case "SCRAM-SHA-512":
		return kgo.SASL(scram.Auth{User: user, Pass: password, IsToken: given["tokenauth"] == "true"}.AsSha512Mechanism()), nil
	case "":
		return nil, thrown(classConfig, "sasl.mechanism=GSSAPI, which is Kafka's default, is not supported by these tools; set PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
	default:
		return nil, thrown(classConfig, "sasl.mechanism=%s is not supported by these tools; set PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", mechanism)
	}
}

// tlsConfig reads the ssl. settings; stores are PEM only.
func (e *Env) tlsConfig(p clientProperties) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	trust, err := e.pem(p, "ssl.truststore", "ssl.truststore.certificates")
	if err != nil {
		return nil, err
	}
	if trust != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(trust)) {
			return nil, thrown(classConfig, "Failed to load PEM SSL truststore: no certificate in it")
		}
	}
	chain, err := e.pem(p, "ssl.keystore", "ssl.keystore.certificate.chain")
	if err != nil {
		return nil, err
	}
	if chain != "" {
		key := p["ssl.keystore.key"]
		if key == "" {
			key = chain // a PEM key store has both
		}
		pair, err := tls.X509KeyPair([]byte(chain), []byte(key))
		if err != nil {
			return nil, thrown(classConfig, "Failed to load PEM SSL keystore: %s", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if algorithm, ok := p["ssl.endpoint.identification.algorithm"]; ok && strings.TrimSpace(algorithm) == "" {
		verifyChainOnly(config)
	}
	return config, nil
}

// pem is the text of a store: from its file, or from the setting itself.
func (e *Env) pem(p clientProperties, store, inline string) (string, error) {
	if text := p[inline]; text != "" {
		return text, nil
	}
	file := p[store+".location"]
	if file == "" {
		return "", nil
	}
	if kind := strings.ToUpper(p[store+".type"]); kind != "PEM" {
		return "", thrown(classConfig, "%s.type=%s is not supported by these tools; convert the store to PEM (keytool and openssl do) and set %s.type=PEM", store, orJKS(kind), store)
	}
	data, err := e.FS.ReadFile(file)
	if err != nil {
		return "", thrown(classConfig, "Failed to load SSL store %s of type PEM", file)
	}
	return string(data), nil
}

func orJKS(kind string) string {
	if kind == "" {
		return "JKS"
	}
	return kind
}

// verifyChainOnly checks the server's certificate but not that it is of the host that was called.
func verifyChainOnly(config *tls.Config) {
	config.InsecureSkipVerify = true // VerifyConnection below does the rest of it
	config.VerifyConnection = func(state tls.ConnectionState) error {
		opts := x509.VerifyOptions{Roots: config.RootCAs, Intermediates: x509.NewCertPool()}
		for _, c := range state.PeerCertificates[1:] {
			opts.Intermediates.AddCert(c)
		}
		_, err := state.PeerCertificates[0].Verify(opts)
		return err
	}
}
