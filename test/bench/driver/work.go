// The objects of the scenarios: made, followed, answered for (the pump plays the Deployment controller) and removed.

package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	nNamespaces = 20
	managedBy   = "webapp-controller"
	image       = "app:1"
)

func nsOf(i int) string                  { return fmt.Sprintf("bench-%02d", i%nNamespaces) }
func nameOf(prefix string, i int) string { return fmt.Sprintf("%s-%06d", prefix, i) }
func keyOf(prefix string, i int) string  { return nsOf(i) + "/" + nameOf(prefix, i) }

// parallel runs fn for 0..n-1 on w goroutines and stops at the first error.
func parallel(ctx context.Context, n, w int, fn func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range w {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := fn(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return nil
}

func (b *bench) ensureNamespaces(ctx context.Context) error {
	return parallel(ctx, nNamespaces, 4, func(ctx context.Context, i int) error {
		err := b.kube.do(ctx, http.MethodPost, "namespaces", "/api/v1/namespaces", "application/json",
			fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, nsOf(i)), nil)
		if isCode(err, http.StatusConflict) {
			return nil
		}
		return err
	})
}

func (b *bench) createWebApp(ctx context.Context, prefix string, i int, out *object) error {
	body := fmt.Sprintf(`{"apiVersion":"apps.kubedojo.io/v1beta1","kind":"WebApp","metadata":{"name":%q},"spec":{"image":%q,"replicas":2,"port":8080}}`,
		nameOf(prefix, i), image)
	var dst any
	if out != nil {
		dst = out
	}
	return b.kube.do(ctx, http.MethodPost, "webapps", crdBase+"/namespaces/"+nsOf(i)+"/webapps", "application/json", body, dst)
}

// headlessServices makes the Services i0..i1-1 beforehand, without a cluster IP and without any owner; the manager's
// forced apply adopts them (the annotation invites managers that refuse to adopt otherwise). kube-apiserver gives out
// cluster IPs one at a time under one mutex, each with a loopback POST and two walks over every IPAddress: with them,
// creation measures that mutex and nothing else.
func (b *bench) headlessServices(ctx context.Context, prefix string, i0, i1 int) error {
	if !b.headless {
		return nil
	}
	return parallel(ctx, i1-i0, 16, func(ctx context.Context, i int) error {
		i += i0
		err := b.kube.do(ctx, http.MethodPost, "services", "/api/v1/namespaces/"+nsOf(i)+"/services", "application/json", fmt.Sprintf(
			`{"apiVersion":"v1","kind":"Service","metadata":{"name":%q,"annotations":{"apps.kubedojo.io/adopt":"true"}},"spec":{"clusterIP":"None","ipFamilyPolicy":"SingleStack","selector":{"app":%q},"ports":[{"port":8080,"targetPort":1}]}}`,
			nameOf(prefix, i), nameOf(prefix, i)), nil)
		if isCode(err, http.StatusConflict) {
			return nil
		}
		return err
	})
}

// pump plays kube-controller-manager: every Deployment becomes available at once.
// It starts from the present state and ends with ctx; behind is the number of queued status writes.
type pump struct {
	behind  atomic.Int64
	patched atomic.Int64
	err     atomic.Value
	wg      sync.WaitGroup
}

func (b *bench) startPump(ctx context.Context) (*pump, error) {
	p := &pump{}
	queue := make(chan object, 1<<17)
	see := func(kind string, o *object) {
		if kind == "DELETED" || converged(o) {
			return
		}
		p.behind.Add(1)
		queue <- *o
	}
	rv, err := b.kube.each(ctx, "deployments", "/apis/apps/v1/deployments", func(o *object) { see("ADDED", o) })
	if err != nil {
		return nil, err
	}
	p.wg.Go(func() {
		if err := b.kube.follow(ctx, "/apis/apps/v1/deployments", rv, see); err != nil {
			p.err.Store(err)
		}
	})
	for range 8 {
		p.wg.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case o := <-queue:
					if err := b.makeAvailable(ctx, &o); err != nil && ctx.Err() == nil && !isCode(err, 404, 409) {
						p.err.Store(err)
					}
					p.patched.Add(1)
					p.behind.Add(-1)
				}
			}
		})
	}
	return p, nil
}

func converged(o *object) bool {
	s := o.Status
	return s.ObservedGeneration >= o.Metadata.Generation && s.Replicas == o.Spec.Replicas &&
		s.UpdatedReplicas == o.Spec.Replicas && s.AvailableReplicas == o.Spec.Replicas
}

func (b *bench) makeAvailable(ctx context.Context, o *object) error {
	return b.kube.do(ctx, http.MethodPatch, "deployments/status",
		deployPath(o.Metadata.Namespace, o.Metadata.Name)+"/status", mergePatch,
		available(o.Metadata.Generation, o.Spec.Replicas), nil)
}

// tracker counts the WebApps of one prefix that are Running.
type tracker struct {
	prefix  string
	mu      sync.Mutex
	running map[string]bool
	last    time.Time // when the latest one turned Running
	err     error
}

func (b *bench) track(ctx context.Context, prefix string) (*tracker, error) {
	t := &tracker{prefix: prefix + "-", running: map[string]bool{}}
	see := func(kind string, o *object) {
		if !strings.HasPrefix(o.Metadata.Name, t.prefix) {
			return
		}
		now := kind != "DELETED" && o.Status.Phase == "Running" && o.Status.ObservedGeneration >= o.Metadata.Generation
		t.mu.Lock()
		defer t.mu.Unlock()
		if now && !t.running[o.key()] {
			t.running[o.key()], t.last = true, time.Now()
		} else if !now {
			delete(t.running, o.key())
		}
	}
	rv, err := b.kube.each(ctx, "webapps", crdBase+"/webapps", func(o *object) { see("ADDED", o) })
	if err != nil {
		return nil, err
	}
	go func() {
		if err := b.kube.follow(ctx, crdBase+"/webapps", rv, see); err != nil {
			t.mu.Lock()
			t.err = err
			t.mu.Unlock()
		}
	}()
	return t, nil
}

func (t *tracker) wait(ctx context.Context, n int, m *manager) (time.Time, error) {
	for {
		t.mu.Lock()
		have, last, err := len(t.running), t.last, t.err
		t.mu.Unlock()
		if err != nil || have >= n {
			return last, err
		}
		if m != nil {
			if err := m.alive(); err != nil {
				return last, err
			}
		}
		select {
		case <-ctx.Done():
			return last, fmt.Errorf("%d of %d Running: %w", have, n, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// countNames is how many objects under path have the prefix.
func (b *bench) countNames(ctx context.Context, what, path, prefix string) (int, error) {
	n := 0
	_, err := b.kube.each(ctx, what, path, func(o *object) {
		if strings.HasPrefix(o.Metadata.Name, prefix+"-") {
			n++
		}
	})
	return n, err
}

// kinds are those that the managers write, and the path of each.
var kinds = [][2]string{
	{"webapps", crdBase + "/webapps"}, {"deployments", "/apis/apps/v1/deployments"}, {"services", "/api/v1/services"},
	{"poddisruptionbudgets", "/apis/policy/v1/poddisruptionbudgets"},
}

// clean removes every object of the prefix.
func (b *bench) clean(ctx context.Context, prefix string) (int, error) {
	var keys []object
	seen := map[string]bool{}
	for _, l := range kinds {
		if _, err := b.kube.each(ctx, l[0], l[1], func(o *object) {
			if strings.HasPrefix(o.Metadata.Name, prefix+"-") && !seen[o.key()] {
				seen[o.key()] = true
				keys = append(keys, *o)
			}
		}); err != nil {
			return 0, err
		}
	}
	err := parallel(ctx, len(keys), 16, func(ctx context.Context, i int) error {
		ns, name := keys[i].Metadata.Namespace, keys[i].Metadata.Name
		for _, one := range [][2]string{
			{"webapps", webappPath(ns, name)}, {"deployments", deployPath(ns, name)}, {"services", servicePath(ns, name)},
			{"poddisruptionbudgets", budgetPath(ns, name)},
		} {
			if err := b.kube.do(ctx, http.MethodDelete, one[0], one[1], "", nil, nil); err != nil && !isCode(err, 404) {
				return err
			}
		}
		return nil
	})
	return len(keys), err
}

// cleanUp is clean as a scenario.
func (b *bench) cleanUp(ctx context.Context) (result, error) {
	n, err := b.clean(ctx, b.prefix)
	return result{"removed": n}, err
}

// controllerWrites is the least that a controller must write for a new WebApp; each takes one round trip.
func (b *bench) controllerWrites(ctx context.Context, o *object, pumpToo bool) error {
	ns, name, uid := o.Metadata.Namespace, o.Metadata.Name, o.Metadata.UID
	owner := fmt.Sprintf(`[{"apiVersion":"apps.kubedojo.io/v1beta1","kind":"WebApp","name":%q,"uid":%q,"controller":true,"blockOwnerDeletion":true}]`, name, uid)
	labels := fmt.Sprintf(`{"app":%q,"app.kubernetes.io/managed-by":%q}`, name, managedBy)
	meta := fmt.Sprintf(`{"name":%q,"namespace":%q,"labels":%s,"ownerReferences":%s}`, name, ns, labels, owner)
	status := func(phase, ready, reason string, n int) string {
		var conditions []string
		for _, kind := range []string{"Ready", "DeploymentReady", "ServiceReady"} {
			conditions = append(conditions, fmt.Sprintf(
				`{"type":%q,"status":%q,"reason":%q,"message":"-","observedGeneration":1,"lastTransitionTime":"2026-01-01T00:00:00Z"}`,
				kind, ready, reason))
		}
		return fmt.Sprintf(`{"status":{"observedGeneration":1,"phase":%q,"replicas":%d,"updatedReplicas":%d,"readyReplicas":%d,"availableReplicas":%d,"selector":"app.kubernetes.io/managed-by=%s,app=%s","conditions":[%s]}}`,
			phase, n, n, n, n, managedBy, name, strings.Join(conditions, ","))
	}
	apply := "?fieldManager=webapp-controller&force=true"
	type step struct{ verb, what, path, ct, body string }
	steps := []step{
		{"APPLY", "deployments", deployPath(ns, name) + apply, applyPatch, fmt.Sprintf(
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":%s,"spec":{"replicas":2,"selector":{"matchLabels":%s},"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":0,"maxSurge":"25%%"}},"template":{"metadata":{"labels":%s},"spec":{"enableServiceLinks":false,"securityContext":{"seccompProfile":{"type":"RuntimeDefault"}},"terminationGracePeriodSeconds":30,"containers":[{"name":"app","image":%q,"ports":[{"containerPort":8080,"protocol":"TCP"}],"readinessProbe":{"tcpSocket":{"port":8080},"periodSeconds":2,"timeoutSeconds":1,"successThreshold":1,"failureThreshold":3},"terminationMessagePolicy":"FallbackToLogsOnError","securityContext":{"allowPrivilegeEscalation":false},"lifecycle":{"preStop":{"sleep":{"seconds":5}}}}]}}}}`,
			meta, labels, labels, image)},
		{"APPLY", "services", servicePath(ns, name) + apply, applyPatch, fmt.Sprintf(
			`{"apiVersion":"v1","kind":"Service","metadata":%s,"spec":{"type":"ClusterIP","selector":%s,"ports":[{"port":8080,"targetPort":8080,"protocol":"TCP"}]}}`,
			meta, labels)},
		{"APPLY", "poddisruptionbudgets", budgetPath(ns, name) + apply, applyPatch, fmt.Sprintf(
			`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":%s,"spec":{"maxUnavailable":1,"selector":{"matchLabels":%s},"unhealthyPodEvictionPolicy":"AlwaysAllow"}}`,
			meta, labels)},
		{"PATCH", "webapps/status", webappPath(ns, name) + "/status", mergePatch, status("Pending", "False", "RolloutInProgress", 0)},
	}
	if pumpToo {
		steps = append(steps, step{"PATCH", "deployments/status", deployPath(ns, name) + "/status", mergePatch, available(1, 2)})
	}
	steps = append(steps, step{"PATCH", "webapps/status", webappPath(ns, name) + "/status", mergePatch, status("Running", "True", "AllReplicasReady", 2)})
	for _, s := range steps {
		if err := b.kube.do(ctx, s.verb, s.what, s.path, s.ct, s.body, nil); err != nil {
			return fmt.Errorf("%s %s: %w", s.verb, s.what, err)
		}
	}
	return nil
}
