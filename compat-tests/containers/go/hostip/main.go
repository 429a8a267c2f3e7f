// Command hostip SOCKET PODMAN_SOCKET passes Docker's API on to podman and tells of ports as Docker does: podman before version 5 leaves
// HostIp empty where Docker says 0.0.0.0, and lists ports without a binding among the bindings. The libraries for Rust and Node stumble.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: hostip SOCKET PODMAN_SOCKET")
	}
	l, err := net.Listen("unix", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "podman" },
		FlushInterval: -1, // logs and events are followed
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", os.Args[2])
		}},
		ModifyResponse: nameHostIP,
	}
	log.Fatal(http.Serve(l, proxy))
}

func nameHostIP(r *http.Response) error {
	if r.StatusCode != http.StatusOK || !strings.HasSuffix(r.Request.URL.Path, "/json") {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	_ = r.Body.Close() // read to its end
	body = bound(bytes.ReplaceAll(body, []byte(`"HostIp":""`), []byte(`"HostIp":"0.0.0.0"`)))
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// bound drops the ports without a binding from a container's description; other answers stay as they are.
func bound(body []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var c map[string]any
	if d.Decode(&c) != nil {
		return body
	}
	host, _ := c["HostConfig"].(map[string]any)
	bindings, _ := host["PortBindings"].(map[string]any)
	for port, b := range bindings {
		if b == nil {
			delete(bindings, port)
		}
	}
	if bindings == nil {
		return body
	}
	out, err := json.Marshal(c)
	if err != nil {
		return body
	}
	return out
}
