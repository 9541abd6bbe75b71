package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// The replicas that churn sets: every update of a WebApp sets the next one, so that a Deployment tells which update it follows.
const (
	leastReplicas  = 2
	replicasValues = 40
)

// update is a change of a WebApp that no Deployment event has confirmed yet.
type update struct {
	replicas int64
	sent     time.Time
}

// ledger matches updates of WebApps with the Deployments that follow them.
type ledger struct {
	mu      sync.Mutex
	pending map[string][]update
	count   int
	lags    []float64
}

func (l *ledger) add(key string, u update) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending[key] = append(l.pending[key], u)
	l.count++
}

// drop forgets an update that the API server refused.
func (l *ledger) drop(key string, replicas int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, u := range l.pending[key] {
		if u.replicas == replicas {
			l.pending[key] = append(l.pending[key][:i], l.pending[key][i+1:]...)
			l.count--
			return
		}
	}
}

// follow confirms the update that set these replicas, and the updates before it, which a manager may skip.
func (l *ledger) follow(key string, replicas int64, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, u := range l.pending[key] {
		if u.replicas != replicas {
			continue
		}
		for _, done := range l.pending[key][:i+1] {
			l.lags = append(l.lags, ms(at.Sub(done.sent)))
		}
		l.pending[key] = l.pending[key][i+1:]
		l.count -= i + 1
		return
	}
}

func (l *ledger) left() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// churn updates the specs of the converged WebApps one after the other at a fixed rate. The lag of an update is the time from
// sending it until the driver sees a Deployment that follows it. A rate that the API server does not sustain shows in updates_per_s.
func (b *bench) churn(ctx context.Context) (result, error) {
	r := result{}
	m, err := b.settledManager(ctx, 3*time.Second)
	if err != nil {
		return nil, err
	}
	defer m.stop()

	replicas := map[string]int64{}
	if _, err := b.kube.each(ctx, "webapps", crdBase+"/webapps", func(o *object) { replicas[o.key()] = o.Spec.Replicas }); err != nil {
		return nil, err
	}
	book := &ledger{pending: map[string][]update{}}
	var l list
	if err := b.kube.do(ctx, "LIST", "-", "/apis/apps/v1/deployments?limit=1", "", nil, &l); err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 1)
	go func() {
		failed <- b.kube.follow(watching, "/apis/apps/v1/deployments", l.Metadata.ResourceVersion, func(_ string, o *object) {
			book.follow(o.key(), o.Spec.Replicas, time.Now())
		})
	}()

	var refused atomic.Int64
	planned := int(b.churnFor.Seconds() * float64(b.rate))
	pause := time.Second / time.Duration(b.rate)
	h0, u0 := b.machineNow(), procUsage(m.pid())
	began := time.Now()
	var sent atomic.Int64
	err = parallel(ctx, planned, 64, func(ctx context.Context, i int) error {
		time.Sleep(time.Until(began.Add(time.Duration(i) * pause)))
		if time.Since(began) > b.churnFor {
			return nil
		}
		// One update of a WebApp follows the other after a whole round, so nothing else writes its entry.
		ns, name := nsOf(i%b.n), nameOf(b.prefix, i%b.n)
		key := ns + "/" + name
		want := leastReplicas + (replicas[key]-leastReplicas+1+int64(i/b.n))%replicasValues
		book.add(key, update{want, time.Now()})
		sent.Add(1)
		err := b.kube.do(ctx, http.MethodPatch, "webapps", webappPath(ns, name), mergePatch,
			fmt.Sprintf(`{"spec":{"replicas":%d}}`, want), nil)
		if err != nil && ctx.Err() == nil {
			book.drop(key, want)
			refused.Add(1)
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	lasted := time.Since(began)
	for book.left() > 0 {
		if err := m.alive(); err != nil {
			return nil, err
		}
		select {
		case err := <-failed:
			return nil, err
		case <-ctx.Done():
			return nil, fmt.Errorf("%d updates were not followed: %w", book.left(), ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	drained := time.Since(began)
	if err := m.waitQuiet(ctx, b.controller, time.Second); err != nil {
		return nil, err
	}
	u1 := procUsage(m.pid())
	updates := sent.Load() - refused.Load()
	r["updates"], r["refused"], r["rate"] = updates, refused.Load(), b.rate
	r["updates_per_s"] = round(float64(updates)/lasted.Seconds(), 0)
	r["followed_s"] = secs(drained)
	r["cpu_ms_per_update"] = round(1000*(u1.CPU-u0.CPU)/float64(updates), 3)
	quantiles(r, "lag", book.lags)
	r["cpu_s"] = round(u1.CPU-u0.CPU, 2)
	r["peak_rss_mib"], r["rss_mib"] = round(u1.Peak, 1), round(u1.RSS, 1)
	b.since(r, h0, b.machineNow(), u1.CPU-u0.CPU)
	return r, nil
}
