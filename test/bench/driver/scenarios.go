// The scenarios: what is done to a manager, and the numbers that come of it.

package main

import (
	"context"
	"fmt"
	"net/http"
	"sort"
	"strings"
	"sync"
	"time"
)

type result map[string]any

func ms(d time.Duration) float64   { return float64(d.Microseconds()) / 1000 }
func secs(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }
func round(x float64, n int) float64 {
	var v float64
	fmt.Sscanf(fmt.Sprintf("%.*f", n, x), "%g", &v)
	return v
}

// readyManager starts the manager and waits until it is ready.
func (b *bench) readyManager(ctx context.Context) (*manager, error) {
	m, err := b.startManager()
	if err != nil {
		return nil, err
	}
	if _, err := m.waitHealth(ctx, "/readyz", 20*time.Millisecond); err != nil {
		m.stop()
		return nil, err
	}
	return m, nil
}

// settledManager starts the manager and waits until it has reconciled everything and rested for so long.
func (b *bench) settledManager(ctx context.Context, quiet time.Duration) (*manager, error) {
	m, err := b.readyManager(ctx)
	if err != nil {
		return nil, err
	}
	if _, _, err = m.waitReconciled(ctx, b.controller, b.n); err == nil {
		err = m.waitQuiet(ctx, b.controller, quiet)
	}
	if err != nil {
		m.stop()
		return nil, err
	}
	return m, nil
}

// since adds what happened on the host and in the API server between two moments.
func (b *bench) since(r result, a, z machine, managerCPU float64) {
	wall := z.at.Sub(a.at).Seconds()
	other := (z.busy - a.busy) - (z.driver - a.driver) - (z.apiserver - a.apiserver) - (z.etcd - a.etcd) - managerCPU
	r["window_s"] = round(wall, 2)
	r["driver_cpu_s"] = round(z.driver-a.driver, 2)
	r["apiserver_cpu_s"] = round(z.apiserver-a.apiserver, 2)
	r["etcd_cpu_s"] = round(z.etcd-a.etcd, 2)
	r["apiserver_rss_mib"] = round(z.apiserverRSS, 0)
	r["apiserver_peak_mib"] = round(z.apiserverPeak, 0)
	// Load of anybody else on this host, as a share of one core: a run with much of it is no measurement.
	r["foreign_cores"] = round(other/wall, 2)
	r["steal_cores"] = round((z.steal-a.steal)/wall, 3)
}

// requests splits the API requests that were not the driver's own.
func requests(r result, before, after, ownBefore, ownAfter map[requestKey]float64) (writes, reads float64) {
	detail := map[string]float64{}
	for key, n := range after {
		d := n - before[key] - (ownAfter[key] - ownBefore[key])
		if d <= 0 || key.Verb == "WATCH" {
			continue
		}
		detail[key.Verb+" "+key.Resource] = d
		if isWrite(key.Verb) {
			writes += d
		} else {
			reads += d
		}
	}
	r["manager_writes"], r["manager_reads"], r["manager_requests"] = writes, reads, detail
	return writes, reads
}

// seed brings n converged WebApps into being, with the help of the manager and the pump.
func (b *bench) seed(ctx context.Context) (result, error) {
	if err := b.ensureNamespaces(ctx); err != nil {
		return nil, err
	}
	before, _, err := b.kube.serverCounts(ctx)
	if err != nil {
		return nil, err
	}
	own := b.kube.ownCounts()
	have := map[string]bool{}
	if _, err := b.kube.each(ctx, "webapps", crdBase+"/webapps", func(o *object) { have[o.key()] = true }); err != nil {
		return nil, err
	}
	if err := b.headlessServices(ctx, b.prefix, 0, b.n); err != nil {
		return nil, err
	}
	pctx, stopPump := context.WithCancel(ctx)
	defer stopPump()
	p, err := b.startPump(pctx)
	if err != nil {
		return nil, err
	}
	t, err := b.track(pctx, b.prefix)
	if err != nil {
		return nil, err
	}
	m, err := b.readyManager(ctx)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	t0, made := time.Now(), 0
	err = parallel(ctx, b.n, 16, func(ctx context.Context, i int) error {
		if have[keyOf(b.prefix, i)] {
			return nil
		}
		return b.createWebApp(ctx, b.prefix, i, nil)
	})
	if err != nil {
		return nil, err
	}
	for i := range b.n {
		if !have[keyOf(b.prefix, i)] {
			made++
		}
	}
	if _, err := t.wait(ctx, b.n, m); err != nil {
		return nil, err
	}
	// Where another manager made the objects they are all Running from the start, but not yet as this one wants them.
	if _, _, err := m.waitReconciled(ctx, b.controller, b.n); err != nil {
		return nil, err
	}
	took := time.Since(t0)
	if err := m.waitQuiet(ctx, b.controller, 3*time.Second); err != nil {
		return nil, err
	}
	if _, err := t.wait(ctx, b.n, m); err != nil {
		return nil, err
	}
	if err, _ := p.err.Load().(error); err != nil {
		return nil, fmt.Errorf("pump: %w", err)
	}
	after, _, err := b.kube.serverCounts(ctx)
	if err != nil {
		return nil, err
	}
	r := result{"created": made, "seconds": secs(took), "per_s": round(float64(made)/took.Seconds(), 0)}
	requests(r, before, after, own, b.kube.ownCounts())
	return r, nil
}

// cold: everything exists and is converged; how long and how dear is a start until every object was reconciled once?
func (b *bench) cold(ctx context.Context) (result, error) {
	r := result{}
	before, _, err := b.kube.serverCounts(ctx)
	if err != nil {
		return nil, err
	}
	own := b.kube.ownCounts()
	version, err := b.kube.version(ctx)
	if err != nil {
		return nil, err
	}
	h0 := b.machineNow()
	m, err := b.startManager()
	if err != nil {
		return nil, err
	}
	defer m.stop()
	ready, err := m.waitHealth(ctx, "/readyz", 20*time.Millisecond)
	if err != nil {
		return nil, err
	}
	all, p, err := m.waitReconciled(ctx, b.controller, b.n)
	if err != nil {
		return nil, err
	}
	u := procUsage(m.pid())
	h1 := b.machineNow()
	time.Sleep(5 * time.Second)
	steady := procUsage(m.pid())
	after, _, err := b.kube.serverCounts(ctx)
	if err != nil {
		return nil, err
	}
	r["ready_s"], r["reconciled_s"], r["reconciles"], r["reconcile_errors"] = secs(ready), secs(all), p.reconciles, p.errors
	r["cpu_s"], r["cpu_s_after_5s"] = round(u.CPU, 2), round(steady.CPU, 2)
	r["peak_rss_mib"], r["rss_5s_mib"] = round(steady.Peak, 1), round(steady.RSS, 1)
	b.since(r, h0, h1, u.CPU)
	if writes, _ := requests(r, before, after, own, b.kube.ownCounts()); writes > 0 {
		r["written"], err = b.kube.written(ctx, version)
	}
	return r, err
}

// part is how many WebApps are the first and the last ones of create, which have the manager for themselves: programs that compile
// while they run need more CPU at first.
const part = 500

// create: m new WebApps from 16 creators until each is Running with its children.
func (b *bench) create(ctx context.Context) (result, error) {
	r := result{}
	prefix := fmt.Sprintf("c%d", time.Now().Unix())
	defer func() {
		cctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		_, _ = b.clean(cctx, prefix)
	}()
	if err := b.ensureNamespaces(ctx); err != nil {
		return nil, err
	}
	if err := b.headlessServices(ctx, prefix, 0, b.m); err != nil {
		return nil, err
	}
	pctx, stopPump := context.WithCancel(ctx)
	defer stopPump()
	p, err := b.startPump(pctx)
	if err != nil {
		return nil, err
	}
	t, err := b.track(pctx, prefix)
	if err != nil {
		return nil, err
	}
	m, err := b.settledManager(ctx, 2*time.Second)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	if err := m.forgetPeak(); err != nil {
		return nil, err
	}
	before, conflicts0, err := b.kube.serverCounts(ctx)
	if err != nil {
		return nil, err
	}
	own := b.kube.ownCounts()
	p0, _ := m.progress(ctx, b.controller)
	u0 := procUsage(m.pid())
	h0 := b.machineNow()
	var created, took time.Duration
	var cpu []float64 // at the end of each stage
	stages := []int{b.m}
	if b.m > 2*part {
		stages = []int{part, b.m - part, b.m}
	}
	for from, n := 0, 0; n < len(stages); from, n = stages[n], n+1 {
		t0 := time.Now()
		if err := parallel(ctx, stages[n]-from, 16, func(ctx context.Context, i int) error {
			return b.createWebApp(ctx, prefix, from+i, nil)
		}); err != nil {
			return nil, err
		}
		created += time.Since(t0)
		last, err := t.wait(ctx, stages[n], m)
		if err != nil {
			return nil, err
		}
		took += last.Sub(t0)
		// A manager may still write Events. Their cost belongs to this stage, and not to the next one.
		if err := b.kube.waitIdle(ctx, time.Second); err != nil {
			return nil, err
		}
		cpu = append(cpu, procUsage(m.pid()).CPU)
	}
	u1 := procUsage(m.pid())
	h1 := b.machineNow()
	for _, kind := range kinds[1:] {
		n, err := b.countNames(ctx, kind[0], kind[1], prefix)
		if err != nil {
			return nil, err
		}
		if n != b.m {
			return nil, fmt.Errorf("%d %s for %d Running WebApps", n, kind[0], b.m)
		}
	}
	if err := m.waitQuiet(ctx, b.controller, 2*time.Second); err != nil {
		return nil, err
	}
	after, conflicts1, err := b.kube.serverCounts(ctx)
	if err != nil {
		return nil, err
	}
	p1, _ := m.progress(ctx, b.controller)
	if err, _ := p.err.Load().(error); err != nil {
		return nil, fmt.Errorf("pump: %w", err)
	}
	w, rd := requests(r, before, after, own, b.kube.ownCounts())
	r["m"], r["created_s"], r["running_s"], r["per_s"] = b.m, secs(created), secs(took), round(float64(b.m)/took.Seconds(), 0)
	r["cpu_s"], r["cpu_ms_per_webapp"] = round(u1.CPU-u0.CPU, 2), round((u1.CPU-u0.CPU)*1000/float64(b.m), 2)
	if len(cpu) == 3 {
		r["first_cpu_ms"] = round((cpu[0]-u0.CPU)*1000/part, 2)
		r["last_cpu_ms"] = round((cpu[2]-cpu[1])*1000/part, 2)
	}
	r["peak_rss_mib"] = round(u1.Peak, 1)
	r["writes_per_webapp"], r["reads_per_webapp"] = round(w/float64(b.m), 2), round(rd/float64(b.m), 2)
	r["conflicts"], r["reconciles_per_webapp"] = conflicts1-conflicts0, round((p1.reconciles-p0.reconciles)/float64(b.m), 2)
	r["reconcile_errors"] = p1.errors - p0.errors
	b.since(r, h0, h1, u1.CPU-u0.CPU)
	return r, nil
}

// raw: the same writes by the driver itself, no controller anywhere.
func (b *bench) raw(ctx context.Context) (result, error) {
	r := result{}
	prefix := fmt.Sprintf("r%d", time.Now().Unix())
	defer func() {
		cctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		_, _ = b.clean(cctx, prefix)
	}()
	if err := b.ensureNamespaces(ctx); err != nil {
		return nil, err
	}
	if err := b.headlessServices(ctx, prefix, 0, 2*b.m); err != nil {
		return nil, err
	}
	objs := make([]object, b.m)
	h0 := b.machineNow()
	t0 := time.Now()
	if err := parallel(ctx, b.m, 16, func(ctx context.Context, i int) error {
		return b.createWebApp(ctx, prefix, i, &objs[i])
	}); err != nil {
		return nil, err
	}
	creates := time.Since(t0)
	t0 = time.Now()
	if err := parallel(ctx, b.m, 16, func(ctx context.Context, i int) error {
		return b.controllerWrites(ctx, &objs[i], false)
	}); err != nil {
		return nil, err
	}
	five := time.Since(t0)
	t0 = time.Now()
	if err := parallel(ctx, b.m, 16, func(ctx context.Context, i int) error {
		var o object
		if err := b.createWebApp(ctx, prefix, b.m+i, &o); err != nil {
			return err
		}
		return b.controllerWrites(ctx, &o, true)
	}); err != nil {
		return nil, err
	}
	seven := time.Since(t0)
	h1 := b.machineNow()
	r["m"] = b.m
	r["create_only_per_s"] = round(float64(b.m)/creates.Seconds(), 0)
	r["controller_5_writes_per_s"] = round(float64(b.m)/five.Seconds(), 0)
	r["all_7_writes_per_s"] = round(float64(b.m)/seven.Seconds(), 0)
	r["writes_per_s"] = round(7*float64(b.m)/seven.Seconds(), 0)
	b.since(r, h0, h1, 0)
	return r, nil
}

// eyes is the driver's own view of Deployments and WebApps while it probes.
type eyes struct {
	mu   sync.Mutex
	dep  map[string]func(o *object, at time.Time)
	app  map[string]func(o *object, at time.Time)
	errs chan error
}

func (b *bench) open(ctx context.Context) (*eyes, error) {
	e := &eyes{dep: map[string]func(*object, time.Time){}, app: map[string]func(*object, time.Time){}, errs: make(chan error, 4)}
	for path, subs := range map[string]map[string]func(*object, time.Time){
		"/apis/apps/v1/deployments": e.dep, crdBase + "/webapps": e.app,
	} {
		var l list
		if err := b.kube.do(ctx, "LIST", "-", path+"?limit=1", "", nil, &l); err != nil {
			return nil, err
		}
		go func() {
			err := b.kube.follow(ctx, path, l.Metadata.ResourceVersion, func(kind string, o *object) {
				at := time.Now()
				e.mu.Lock()
				fn := subs[o.key()]
				e.mu.Unlock()
				if fn != nil && kind != "DELETED" {
					fn(o, at)
				}
			})
			if err != nil {
				e.errs <- err
			}
		}()
	}
	return e, nil
}

func (e *eyes) on(subs map[string]func(*object, time.Time), key string, fn func(o *object, at time.Time)) func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	subs[key] = fn
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(subs, key)
	}
}

// settle plays kube-controller-manager for one Deployment and waits until its WebApp says Running again.
func (b *bench) settle(ctx context.Context, ns, name string) error {
	quiet := 0
	for {
		d, err := b.kube.get(ctx, "deployments", deployPath(ns, name))
		if err != nil {
			return err
		}
		w, err := b.kube.get(ctx, "webapps", webappPath(ns, name))
		if err != nil {
			return err
		}
		switch {
		case !converged(d):
			quiet = 0
			if err := b.makeAvailable(ctx, d); err != nil {
				return err
			}
		case d.Spec.Replicas == w.Spec.Replicas && w.Status.Phase == "Running" && w.Status.ObservedGeneration >= w.Metadata.Generation:
			if quiet++; quiet >= 3 {
				return nil
			}
		default:
			quiet = 0
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("settle: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// drift sets replicas of the Deployment by hand and returns when the driver saw the change and the repair.
func (b *bench) drift(ctx context.Context, e *eyes, ns, name string, good int64) (sent, seen, repaired time.Time, err error) {
	type moment struct {
		replicas int64
		at       time.Time
	}
	ch := make(chan moment, 64)
	defer e.on(e.dep, ns+"/"+name, func(o *object, at time.Time) { ch <- moment{o.Spec.Replicas, at} })()
	bad := good + 3
	sent = time.Now()
	if err = b.kube.do(ctx, http.MethodPatch, "deployments", deployPath(ns, name), mergePatch,
		fmt.Sprintf(`{"spec":{"replicas":%d}}`, bad), nil); err != nil {
		return
	}
	for {
		select {
		case x := <-ch:
			if x.replicas == bad && seen.IsZero() {
				seen = x.at
			}
			if x.replicas == good && !seen.IsZero() {
				return sent, seen, x.at, nil
			}
		case err = <-e.errs:
			return
		case <-ctx.Done():
			err = fmt.Errorf("drift of %s/%s was not repaired: %w", ns, name, ctx.Err())
			return
		}
	}
}

func quantiles(r result, prefix string, xs []float64) {
	sort.Float64s(xs)
	q := func(p float64) float64 { return round(xs[min(len(xs)-1, int(p*float64(len(xs))))], 2) }
	r[prefix+"_p50_ms"], r[prefix+"_p90_ms"], r[prefix+"_p99_ms"], r[prefix+"_max_ms"] = q(.5), q(.9), q(.99), round(xs[len(xs)-1], 2)
}

func (b *bench) latency(ctx context.Context) (result, error) {
	r := result{}
	m, err := b.settledManager(ctx, 3*time.Second)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	ectx, closeEyes := context.WithCancel(ctx)
	defer closeEyes()
	e, err := b.open(ectx)
	if err != nil {
		return nil, err
	}
	time.Sleep(300 * time.Millisecond)
	h0, u0 := b.machineNow(), procUsage(m.pid())
	var fromSend, fromSeen, fromSpec []float64
	for i := range b.probes {
		k := (i * 7919) % b.n
		ns, name := nsOf(k), nameOf(b.prefix, k)
		w, err := b.kube.get(ctx, "webapps", webappPath(ns, name))
		if err != nil {
			return nil, err
		}
		sent, seen, fixed, err := b.drift(ctx, e, ns, name, w.Spec.Replicas)
		if err != nil {
			return nil, err
		}
		fromSend, fromSeen = append(fromSend, ms(fixed.Sub(sent))), append(fromSeen, ms(fixed.Sub(seen)))
		if err := b.settle(ctx, ns, name); err != nil {
			return nil, err
		}
	}
	for i := range b.probes {
		k := (i*7919 + 13) % b.n
		ns, name := nsOf(k), nameOf(b.prefix, k)
		w, err := b.kube.get(ctx, "webapps", webappPath(ns, name))
		if err != nil {
			return nil, err
		}
		want := int64(5) - w.Spec.Replicas // 2 <-> 3
		ch := make(chan time.Time, 64)
		off := e.on(e.dep, ns+"/"+name, func(o *object, at time.Time) {
			if o.Spec.Replicas == want {
				ch <- at
			}
		})
		sent := time.Now()
		if err := b.kube.do(ctx, http.MethodPatch, "webapps", webappPath(ns, name), mergePatch,
			fmt.Sprintf(`{"spec":{"replicas":%d}}`, want), nil); err != nil {
			return nil, err
		}
		select {
		case at := <-ch:
			fromSpec = append(fromSpec, ms(at.Sub(sent)))
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		off()
		if err := b.settle(ctx, ns, name); err != nil {
			return nil, err
		}
	}
	u1 := procUsage(m.pid())
	r["probes"] = b.probes
	quantiles(r, "drift_to_repair", fromSend)
	quantiles(r, "drift_seen_to_repair", fromSeen)
	quantiles(r, "spec_to_deployment", fromSpec)
	r["cpu_s"] = round(u1.CPU-u0.CPU, 2)
	r["peak_rss_mib"], r["rss_mib"] = round(u1.Peak, 1), round(u1.RSS, 1)
	b.since(r, h0, b.machineNow(), u1.CPU-u0.CPU)
	return r, nil
}

// leaseWatch follows the holder of the Lease.
type leaseWatch struct {
	mu     sync.Mutex
	holder string
	since  time.Time
}

func (l *leaseWatch) get() (string, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holder, l.since
}

func (b *bench) watchLease(ctx context.Context) *leaseWatch {
	l := &leaseWatch{}
	path := "/apis/coordination.k8s.io/v1/namespaces/" + b.leaseNS + "/leases"
	go func() {
		_ = b.kube.follow(ctx, path, "0", func(kind string, o *object) {
			if o.Metadata.Name != b.leaseName {
				return
			}
			h := ""
			if kind != "DELETED" && o.Spec.HolderIdentity != nil {
				h = *o.Spec.HolderIdentity
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			if h != l.holder {
				l.holder, l.since = h, time.Now()
			}
		})
	}()
	return l
}

// failover: two managers; the leader goes away; how long until the other repairs a drift?
func (b *bench) failover(ctx context.Context) (result, error) {
	r := result{}
	elect := strings.Fields(b.electArgs)
	ectx, closeEyes := context.WithCancel(ctx)
	defer closeEyes()
	e, err := b.open(ectx)
	if err != nil {
		return nil, err
	}
	lease := b.watchLease(ectx)
	start := func() (*manager, error) {
		m, err := b.startManager(elect...)
		if err != nil {
			return nil, err
		}
		_, err = m.waitHealth(ctx, "/readyz", 20*time.Millisecond)
		return m, err
	}
	leader, err := start()
	if err != nil {
		return nil, err
	}
	defer func() { leader.stop() }()
	if _, _, err := leader.waitReconciled(ctx, b.controller, b.n); err != nil {
		return nil, err
	}
	standby, err := start()
	if err != nil {
		return nil, err
	}
	defer func() { standby.stop() }()

	var term, kill, handover, exit, killHandover []float64
	byOld := 0
	for i := range b.terms + b.kills {
		graceful := i < b.terms
		if err := leader.waitQuiet(ctx, b.controller, 2*time.Second); err != nil {
			return nil, err
		}
		time.Sleep(time.Duration(i*370%2000) * time.Millisecond) // not in step with the renewals
		old, _ := lease.get()
		if old == "" {
			return nil, fmt.Errorf("nobody holds the Lease %s/%s", b.leaseNS, b.leaseName)
		}
		k := (i*7919 + 29) % b.n
		ns, name := nsOf(k), nameOf(b.prefix, k)
		w, err := b.kube.get(ctx, "webapps", webappPath(ns, name))
		if err != nil {
			return nil, err
		}
		t0 := time.Now()
		if graceful {
			err = leader.cmd.Process.Signal(sigterm)
		} else {
			err = leader.cmd.Process.Kill()
		}
		if err != nil {
			return nil, err
		}
		for {
			_, _, fixed, err := b.drift(ctx, e, ns, name, w.Spec.Replicas)
			if err != nil {
				return nil, err
			}
			h, at := lease.get()
			if h == old || h == "" || fixed.Before(at) {
				byOld++ // the one that was told to go did it: again
				continue
			}
			if graceful {
				term, handover = append(term, ms(fixed.Sub(t0))), append(handover, ms(at.Sub(t0)))
			} else {
				kill, killHandover = append(kill, ms(fixed.Sub(t0))), append(killHandover, ms(at.Sub(t0)))
			}
			break
		}
		<-leader.done
		if graceful {
			exit = append(exit, ms(leader.exited.Sub(t0)))
		}
		if err := b.settle(ctx, ns, name); err != nil {
			return nil, err
		}
		leader, standby = standby, nil
		if standby, err = start(); err != nil {
			standby = leader
			return nil, err
		}
	}
	put := func(name string, xs []float64) {
		if len(xs) == 0 {
			return
		}
		r[name+"_all_ms"] = append([]float64(nil), xs...)
		sort.Float64s(xs)
		r[name+"_min_ms"], r[name+"_median_ms"], r[name+"_max_ms"] = xs[0], xs[len(xs)/2], xs[len(xs)-1]
	}
	put("sigterm_repair", term)
	put("sigterm_lease", handover)
	put("sigterm_exit", exit)
	put("sigkill_repair", kill)
	put("sigkill_lease", killHandover)
	r["repairs_by_the_leaving_one"] = byOld
	return r, nil
}

// startup: process start until the probes answer, again and again.
func (b *bench) startup(ctx context.Context) (result, error) {
	r := result{}
	var health, ready, stop, cpu, rss []float64
	h0 := b.machineNow()
	total := 0.0
	for range b.runs {
		m, err := b.startManager()
		if err != nil {
			return nil, err
		}
		h, err := m.waitHealth(ctx, "/healthz", 2*time.Millisecond)
		if err != nil {
			return nil, err
		}
		d, err := m.waitHealth(ctx, "/readyz", 2*time.Millisecond)
		if err != nil {
			return nil, err
		}
		u := procUsage(m.pid())
		time.Sleep(300 * time.Millisecond)
		rss = append(rss, procUsage(m.pid()).RSS)
		health, ready, cpu = append(health, ms(h)), append(ready, ms(d)), append(cpu, u.CPU*1000)
		stop = append(stop, ms(m.stop()))
		total += m.cmd.ProcessState.UserTime().Seconds() + m.cmd.ProcessState.SystemTime().Seconds()
	}
	for name, xs := range map[string][]float64{"healthz": health, "readyz": ready, "stop": stop, "cpu_at_ready": cpu} {
		sort.Float64s(xs)
		r[name+"_min_ms"], r[name+"_median_ms"], r[name+"_max_ms"] = round(xs[0], 1), round(xs[len(xs)/2], 1), round(xs[len(xs)-1], 1)
	}
	sort.Float64s(rss)
	r["rss_mib"], r["runs"] = round(rss[len(rss)/2], 1), b.runs
	b.since(r, h0, b.machineNow(), total)
	return r, nil
}

// idle: what a converged manager costs when nothing happens.
func (b *bench) idle(ctx context.Context) (result, error) {
	r := result{}
	m, err := b.settledManager(ctx, 5*time.Second)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	before, _, err := b.kube.serverCounts(ctx)
	if err != nil {
		return nil, err
	}
	own := b.kube.ownCounts()
	u0, h0 := procUsage(m.pid()), b.machineNow()
	select {
	case <-time.After(b.idleFor):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	u1, h1 := procUsage(m.pid()), b.machineNow()
	after, _, err := b.kube.serverCounts(ctx)
	if err != nil {
		return nil, err
	}
	requests(r, before, after, own, b.kube.ownCounts())
	r["seconds"], r["cpu_s"] = secs(b.idleFor), round(u1.CPU-u0.CPU, 2)
	r["rss_mib"], r["peak_rss_mib"] = round(u1.RSS, 1), round(u1.Peak, 1)
	b.since(r, h0, h1, u1.CPU-u0.CPU)
	return r, nil
}
