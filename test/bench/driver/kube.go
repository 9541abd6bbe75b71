// The driver's client, and how it tells the managers' requests from its own.

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/yaml"
)

// kube is a small JSON client: the driver must not cost more than the managers that it measures.
// It counts its own requests the way that kube-apiserver does, so that they can be taken off.
type kube struct {
	base  string
	http  *http.Client
	watch *http.Client

	mu  sync.Mutex
	own map[requestKey]float64
}

// requestKey is the part of apiserver_request_total's labels that we look at.
type requestKey struct{ Verb, Resource string } // Resource is "deployments" or "deployments/status"

const (
	mergePatch = "application/merge-patch+json"
	applyPatch = "application/apply-patch+yaml"
	crdBase    = "/apis/apps.kubedojo.io/v1beta1"
)

type object struct {
	Metadata struct {
		Name            string   `json:"name"`
		Namespace       string   `json:"namespace"`
		UID             string   `json:"uid"`
		ResourceVersion string   `json:"resourceVersion"`
		Generation      int64    `json:"generation"`
		Finalizers      []string `json:"finalizers"`
	} `json:"metadata"`
	Spec struct {
		Replicas       int64   `json:"replicas"`
		HolderIdentity *string `json:"holderIdentity"`
		Template       struct {
			Spec struct {
				Containers []struct {
					Image string `json:"image"`
				} `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64  `json:"observedGeneration"`
		Replicas           int64  `json:"replicas"`
		UpdatedReplicas    int64  `json:"updatedReplicas"`
		ReadyReplicas      int64  `json:"readyReplicas"`
		AvailableReplicas  int64  `json:"availableReplicas"`
		Phase              string `json:"phase"`
	} `json:"status"`
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (o *object) key() string { return o.Metadata.Namespace + "/" + o.Metadata.Name }

type list struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
	} `json:"metadata"`
	Items []object `json:"items"`
}

type statusError struct {
	code int
	msg  string
}

func (e *statusError) Error() string { return fmt.Sprintf("%d: %s", e.code, e.msg) }

func isCode(err error, codes ...int) bool {
	var s *statusError
	if !errors.As(err, &s) {
		return false
	}
	for _, c := range codes {
		if s.code == c {
			return true
		}
	}
	return false
}

func newKube(path string) (*kube, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var cfg struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
				CAData string `json:"certificate-authority-data"`
				CA     string `json:"certificate-authority"`
			} `json:"cluster"`
		} `json:"clusters"`
		Users []struct {
			User struct {
				CertData string `json:"client-certificate-data"`
				KeyData  string `json:"client-key-data"`
				Cert     string `json:"client-certificate"`
				Key      string `json:"client-key"`
			} `json:"user"`
		} `json:"users"`
	}
	if err := yaml.Unmarshal(raw, &cfg); err != nil {
		return nil, err
	}
	if len(cfg.Clusters) == 0 || len(cfg.Users) == 0 {
		return nil, errors.New("kubeconfig: no cluster or user")
	}
	pem := func(data, file string) ([]byte, error) {
		if data != "" {
			return base64.StdEncoding.DecodeString(data)
		}
		return os.ReadFile(file)
	}
	c, u := cfg.Clusters[0].Cluster, cfg.Users[0].User
	ca, err := pem(c.CAData, c.CA)
	if err != nil {
		return nil, err
	}
	cert, err := pem(u.CertData, u.Cert)
	if err != nil {
		return nil, err
	}
	key, err := pem(u.KeyData, u.Key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	client := func(timeout time.Duration) *http.Client {
		return &http.Client{Timeout: timeout, Transport: &http.Transport{
			TLSClientConfig:     &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}},
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 64,
		}}
	}
	return &kube{
		base: strings.TrimSuffix(c.Server, "/"), http: client(60 * time.Second), watch: client(0),
		own: map[requestKey]float64{},
	}, nil
}

// do sends one request; what (such as "deployments/status") is counted under verb.
func (k *kube) do(ctx context.Context, verb, what, path, contentType string, body, out any) error {
	var rd io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		rd = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			return err
		}
		rd = bytes.NewReader(raw)
	}
	method := verb
	switch verb {
	case "APPLY":
		method = http.MethodPatch
	case "LIST":
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, k.base+path, rd)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "bench-driver")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	k.mu.Lock()
	k.own[requestKey{verb, what}]++
	k.mu.Unlock()
	res, err := k.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		raw, _ := io.ReadAll(io.LimitReader(res.Body, 2000))
		return &statusError{res.StatusCode, string(raw)}
	}
	if out == nil {
		_, err = io.Copy(io.Discard, res.Body)
		return err
	}
	return json.NewDecoder(res.Body).Decode(out)
}

func (k *kube) get(ctx context.Context, what, path string) (*object, error) {
	var o object
	err := k.do(ctx, http.MethodGet, what, path, "", nil, &o)
	return &o, err
}

// each lists path in pages and returns the resourceVersion of the first page.
func (k *kube) each(ctx context.Context, what, path string, fn func(*object)) (string, error) {
	rv, cont := "", ""
	for {
		var l list
		if err := k.do(ctx, "LIST", what, path+"?limit=2000&continue="+cont, "", nil, &l); err != nil {
			return "", err
		}
		if rv == "" {
			rv = l.Metadata.ResourceVersion
		}
		for i := range l.Items {
			fn(&l.Items[i])
		}
		if cont = l.Metadata.Continue; cont == "" {
			return rv, nil
		}
	}
}

// follow watches path from rv until ctx ends; it is back up after a closed stream.
func (k *kube) follow(ctx context.Context, path, rv string, fn func(kind string, o *object)) error {
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet,
			k.base+path+"?watch=true&allowWatchBookmarks=true&resourceVersion="+rv, nil)
		if err != nil {
			return err
		}
		res, err := k.watch.Do(req)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if res.StatusCode != http.StatusOK {
			res.Body.Close()
			return fmt.Errorf("watch %s: %s", path, res.Status)
		}
		dec := json.NewDecoder(bufio.NewReaderSize(res.Body, 64<<10))
		for {
			var ev struct {
				Type   string `json:"type"`
				Object object `json:"object"`
			}
			if err := dec.Decode(&ev); err != nil {
				break
			}
			if ev.Type == "ERROR" {
				res.Body.Close()
				return fmt.Errorf("watch %s: %d %s", path, ev.Object.Code, ev.Object.Message)
			}
			rv = ev.Object.Metadata.ResourceVersion
			if ev.Type != "BOOKMARK" {
				fn(ev.Type, &ev.Object)
			}
		}
		res.Body.Close()
	}
	return nil
}

func (k *kube) ownCounts() map[requestKey]float64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := make(map[requestKey]float64, len(k.own))
	for key, n := range k.own {
		out[key] = n
	}
	return out
}

// unrelated are the kinds whose writes are no work on a WebApp. kube-apiserver writes IPAddresses itself.
var unrelated = []string{"events", "ipaddresses", "leases", "namespaces", "selfsubjectrulesreviews"}

// serverCounts reads apiserver_request_total per verb, and the number of 409 answers: the requests for WebApps and their
// children, and the writes of all other kinds, which may be children that kinds lacks.
func (k *kube) serverCounts(ctx context.Context) (map[requestKey]float64, float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.base+"/metrics", nil)
	if err != nil {
		return nil, 0, err
	}
	res, err := k.http.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer res.Body.Close()
	counts, conflicts := map[requestKey]float64{}, 0.0
	err = eachSample(res.Body, "apiserver_request_total", func(labels map[string]string, v float64) {
		what := labels["resource"]
		isKind := slices.ContainsFunc(kinds, func(kind [2]string) bool { return kind[0] == what })
		if !isKind && (!isWrite(labels["verb"]) || slices.Contains(unrelated, what)) {
			return
		}
		if labels["code"] == "409" {
			conflicts += v
		}
		if s := labels["subresource"]; s != "" {
			what += "/" + s
		}
		counts[requestKey{labels["verb"], what}] += v
	})
	return counts, conflicts, err
}

// waitIdle waits until nobody has written anything but Leases for d.
func (k *kube) waitIdle(ctx context.Context, d time.Duration) error {
	last, since := -1.0, time.Now()
	for time.Since(since) < d {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.base+"/metrics", nil)
		if err != nil {
			return err
		}
		res, err := k.http.Do(req)
		if err != nil {
			return err
		}
		writes := 0.0
		err = eachSample(res.Body, "apiserver_request_total", func(labels map[string]string, v float64) {
			if isWrite(labels["verb"]) && labels["resource"] != "leases" {
				writes += v
			}
		})
		res.Body.Close()
		if err != nil {
			return err
		}
		if writes != last {
			last, since = writes, time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not idle: %w", ctx.Err())
		case <-time.After(d / 4):
		}
	}
	return nil
}

func isWrite(verb string) bool {
	switch verb {
	case "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION":
		return true
	}
	return false
}

func webappPath(ns, name string) string { return crdBase + "/namespaces/" + ns + "/webapps/" + name }
func deployPath(ns, name string) string {
	return "/apis/apps/v1/namespaces/" + ns + "/deployments/" + name
}
func servicePath(ns, name string) string { return "/api/v1/namespaces/" + ns + "/services/" + name }
func budgetPath(ns, name string) string {
	return "/apis/policy/v1/namespaces/" + ns + "/poddisruptionbudgets/" + name
}

// available is the status that kube-controller-manager would end at.
func available(gen, replicas int64) string {
	return fmt.Sprintf(`{"status":{"observedGeneration":%d,"replicas":%d,"updatedReplicas":%d,"readyReplicas":%d,"availableReplicas":%d}}`,
		gen, replicas, replicas, replicas, replicas)
}
